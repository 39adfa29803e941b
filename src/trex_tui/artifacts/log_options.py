"""What the head of a trtexec log states: the command line, and the options as trtexec understood them.

trtexec prints them before it does anything, at every verbosity: a banner with the command line, then sections such as
`=== Build Options ===` with a `label: value` per line. Metadata that trex made of a log cuts each value at its first colon;
the log has them whole.
"""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from trex_tui.artifacts.jsonfile import decode_text
from trex_tui.artifacts.sniff import GZIP_MARK

MOST_BYTES = 1 << 20
"""How much of a log is read. The options stand in the first kilobytes; the shapes that trtexec chose follow the engine's
deserialization."""

_BANNER = re.compile(r"&&&& RUNNING TensorRT\.trtexec \[TensorRT v\d+\](?: \[b\d+\])? # (?P<words>.+)")
_SECTION = re.compile(r"\[I\] === (?P<name>[^=]+?) ===\s*$")
_OPTION = re.compile(r"\[I\] (?P<label>[^:]{1,80}?)\s*:\s*(?P<value>.*?)\s*$")
_END = re.compile(r"\[I\]\s*$|\[I\] (?:\[TRT\]|TensorRT version)")
_CHOSEN_SHAPE = re.compile(
    r"\[W\].*?(?P<text>Automatically (?:overriding|setting) shape to:? ?\S+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class LogHead:
    """The head of a log.

    Attributes:
        arguments: Words of the command line, `trtexec` itself first; empty without a banner.
        sections: Heading -> label -> value, all as printed: `sections["Build Options"]["Memory Pools"]`.
        chosen_shapes: What trtexec says where it chose a shape because none was given.
    """

    arguments: tuple[str, ...] = ()
    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    chosen_shapes: tuple[str, ...] = ()


def read_log_head(path: Path) -> LogHead:
    """Read the head of a log, packed with gzip or not; an empty one if the file cannot be read or is none."""
    try:
        with path.open("rb") as file:
            packed = file.read(len(GZIP_MARK)) == GZIP_MARK
        with gzip.open(path) if packed else path.open("rb") as opened:
            text = decode_text(opened.read(MOST_BYTES))
    except (OSError, EOFError, zlib.error):
        return LogHead()
    return parse_log_head(text)


def parse_log_head(text: str) -> LogHead:
    """Take the head of a log apart."""
    arguments: tuple[str, ...] = ()
    sections: dict[str, dict[str, str]] = {}
    chosen: list[str] = []
    section: dict[str, str] | None = None
    for line in text.splitlines():
        if match := _SECTION.search(line):
            section = sections.setdefault(match["name"], {})
        elif not arguments and (match := _BANNER.search(line)):
            arguments = tuple(match["words"].split())
        elif match := _CHOSEN_SHAPE.search(line):
            chosen.append(match["text"])
        elif _END.search(line):
            section = None
        elif section is not None and (match := _OPTION.search(line)):
            section.setdefault(match["label"].strip(), match["value"])
    return LogHead(arguments, sections, tuple(chosen))
