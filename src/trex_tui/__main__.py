"""`python -m trex_tui`."""

import sys

from trex_tui.cli.main import main, run

__all__ = ["main", "run"]

if __name__ == "__main__":
    sys.exit(run())
