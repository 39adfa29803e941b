"""The Python API: engines whose results are frames, pictures and pages. `trex_tui` exports its names."""
