"""`python -m trex_tui`."""

import sys

from trex_tui.cli import run

sys.exit(run())
