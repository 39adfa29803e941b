"""What the head of a trtexec log states: the command line, and the options as trtexec understood them.

trtexec prints them before it does anything, at every verbosity: a banner with the command line, then sections such as
`=== Build Options ===` with a `label: value` per line. Metadata that trex made of a log cuts each value at its first colon;
the log has them whole. The reader of whole logs reads the head too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trex_tui.errors import ArtifactError


@dataclass(frozen=True, slots=True)
class LogHead:
    """The head of a log: of the first run in it.

    Attributes:
        arguments: Words of the command line, `trtexec` itself first; empty without a banner.
        sections: Heading -> label -> value, all as printed: `sections["Build Options"]["Memory Pools"]`.
        chosen_shapes: What trtexec says where it chose a shape because none was given.
    """

    arguments: tuple[str, ...] = ()
    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    chosen_shapes: tuple[str, ...] = ()


def read_log_head(path: Path) -> LogHead:
    """Read the head of a log, packed with gzip or not; an empty one if the file cannot be opened or is none."""
    from trex_tui.artifacts.buildlog.parts import read_head
    from trex_tui.artifacts.buildlog.sections import SECTIONS

    try:
        trace = read_head(path)
    except ArtifactError:
        return LogHead()
    command = next((run.command for run in trace.runs if run.program == "TensorRT.trtexec"), "")
    sections = {heading: getattr(trace.options, name) for heading, name in SECTIONS.items()}
    return LogHead(
        tuple(command.split()),
        {heading: values for heading, values in sections.items() if values},
        trace.chosen_shapes,
    )
