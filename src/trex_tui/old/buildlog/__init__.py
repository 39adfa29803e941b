"""Parse the log of a build or of a run: `read_build_log` returns a `BuildTrace`."""

from trex_tui.old import lazy_names

TYPE_CHECKING = False  # as in typing, which takes longer to import than this whole package
if TYPE_CHECKING:
    from trex_tui.old.buildlog.build_trace import BuildTrace
    from trex_tui.old.buildlog.reader import read_build_log

__all__ = ["BuildTrace", "read_build_log"]

_PLACES = {"build_trace": ("BuildTrace",), "reader": ("read_build_log",)}
__getattr__ = lazy_names(__name__, _PLACES)
