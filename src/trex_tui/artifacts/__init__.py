"""Find, recognise and read the files that trtexec writes. Imports the standard library only."""

from trex_tui.artifacts.discover import ArtifactSet, Discovery, find, scan
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.records import Records, read

__all__ = ["ArtifactKind", "ArtifactSet", "Discovery", "Records", "find", "read", "scan"]
