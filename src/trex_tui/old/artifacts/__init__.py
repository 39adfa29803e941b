"""Find, recognize and read the files that trtexec writes. Imports the standard library only."""

from trex_tui.old import lazy_names

TYPE_CHECKING = False  # as in typing, which takes longer to import than this whole package
if TYPE_CHECKING:
    from trex_tui.old.artifacts.discover import ArtifactSet, Discovery, find, scan
    from trex_tui.old.artifacts.file_kinds import ArtifactKind
    from trex_tui.old.artifacts.records import Records, read

__all__ = ["ArtifactKind", "ArtifactSet", "Discovery", "Records", "find", "read", "scan"]

_PLACES = {
    "discover": ("ArtifactSet", "Discovery", "find", "scan"),
    "file_kinds": ("ArtifactKind",),
    "records": ("Records", "read"),
}
__getattr__ = lazy_names(__name__, _PLACES)
