"""Modelled trtexec output: networks, runs and logs that `make_samples.py` writes to `sample_artifacts/`."""
