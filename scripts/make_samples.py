"""Write the modelled sample sets: `python scripts/make_samples.py [OUTDIR]`, by default into `sample_artifacts/`.

The sets look like what `trtexec` writes, but nothing in them was measured: networks are built from their published
architectures, formats from what TensorRT 8.5 to 11.0 are known to write, and times from a model with a fixed seed. What
each set models, and from which facts, is said in `sample_artifacts/README.md` and in the modules of `scripts/samples/`.
The output is the same byte for byte on every run and every machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from samples.catalogue import SETS

DEFAULT_DIRECTORY = Path(__file__).resolve().parent.parent / "sample_artifacts"


def write_samples(directory: Path) -> list[Path]:
    """Write all sets below `directory` and return the files written; other files there are left alone."""
    written = []
    for name, make in SETS.items():
        folder = directory / name
        folder.mkdir(parents=True, exist_ok=True)
        for file_name, text in make().items():
            path = folder / file_name
            path.write_bytes(text.encode())
            written.append(path)
    return written


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Write the modelled sample sets.")
    parser.add_argument("directory", nargs="?", type=Path, default=DEFAULT_DIRECTORY, metavar="OUTDIR")
    directory = parser.parse_args().directory
    written = write_samples(directory)
    size = sum(path.stat().st_size for path in written)
    print(f"{len(written)} files, {size / 1e6:.2f} MB in {directory}")


if __name__ == "__main__":
    main()
