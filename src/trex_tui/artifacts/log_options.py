"""What a trtexec log states of a run: the command line, and the options as trtexec understood them.

trtexec prints them before it does anything, at every verbosity: a banner with the command line, then sections such as
`=== Build Options ===` with a `label: value` per line. Metadata that trex made of a log cuts each value at its first colon;
the log has them whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trex_tui.errors import ArtifactError


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What a log states of one run.

    Attributes:
        arguments: Words of the command line, `trtexec` itself first; empty without a banner.
        sections: Heading -> label -> value, all as printed: `sections["Build Options"]["Memory Pools"]`.
        chosen_shapes: What trtexec says where it chose a shape because none was given.
    """

    arguments: tuple[str, ...] = ()
    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    chosen_shapes: tuple[str, ...] = ()


def read_log_options(path: Path, *, of_timed_run: bool = False) -> LogOptions:
    """Read the options in a log, packed with gzip or not; none if the file cannot be opened or is none.

    Args:
        path: The log.
        of_timed_run: Of several runs in it, ask for the one that was timed instead of the one that built the engine.
    """
    from trex_tui.artifacts.buildlog.parts import read_sections
    from trex_tui.artifacts.buildlog.sections import SECTIONS

    try:
        trace = read_sections(path)
    except ArtifactError:
        return LogOptions()
    run = trace.timed_run if of_timed_run else trace.shown_run
    options = trace.run_options if of_timed_run else trace.options
    sections = {heading: getattr(options, name) for heading, name in SECTIONS.items()}
    return LogOptions(
        tuple(run.command.split()) if run is not None else (),
        {heading: values for heading, values in sections.items() if values},
        trace.chosen_shapes if of_timed_run or run == trace.timed_run else (),
    )
