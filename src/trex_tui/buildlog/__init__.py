"""The log of a build or of a run, understood: `read_build_log` makes a `BuildTrace` of it."""

from trex_tui.buildlog.build_trace import BuildTrace
from trex_tui.buildlog.reader import read_build_log

__all__ = ["BuildTrace", "read_build_log"]
