"""The version, alone in a file that imports nothing, so that `--version` and the build backend can read it."""

__version__ = "0.1.0"
