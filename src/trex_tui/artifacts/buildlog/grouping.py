"""Warnings and errors that say the same, counted."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trex_tui.artifacts.buildlog.model import Message

MOST_GROUPS = 2000
"""Kinds of messages kept apart; what comes after is counted as one."""
LONGEST_TEXT = 4000

_VARYING = re.compile(r"0x[0-9a-fA-F]+|'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ABOUT_LAYER = re.compile(
    r"(?<=\b[Ll]ayer )\S.*?(?= (?:is|a|on|exceeds|has)\b)|(?<=for layer ).*|^\S+(?=: )|(?<=- )\S+(?= weights)"
)
_REST = "further messages of other kinds"


@dataclass(slots=True)
class _Group:
    severity: str
    text: str
    count: int
    line: int
    last_line: int
    is_trtexec: bool


class Messages:
    """Collects messages of severity W, E and F."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}
        self._last: _Group | None = None

    def add(self, line: int, severity: str, message: str, *, is_trtexec: bool) -> None:
        """One message."""
        text = message.strip()
        if not text:
            return
        if message.startswith("  ") and self._last is not None and self._last.severity == severity:
            self.more(line, text)  # trtexec indents the second half of its advice
            return
        key = (severity, _VARYING.sub("#", _ABOUT_LAYER.sub("#", text[:LONGEST_TEXT])))
        group = self._groups.get(key)
        if group is None and len(self._groups) >= MOST_GROUPS:
            key = (severity, "")
            text = _REST
            group = self._groups.get(key)
        if group is None:
            group = _Group(severity, text[:LONGEST_TEXT], 0, line, line, is_trtexec)
            self._groups[key] = group
        group.count += 1
        group.last_line = line
        self._last = group if group.count == 1 else None

    def more(self, line: int, text: str) -> None:
        """A line without a prefix: the rest of the message on the line before, where that is the first of its kind."""
        last = self._last
        if last is not None and line == last.last_line + 1:
            last.last_line = line
            if (rest := text.strip()) and len(last.text) < LONGEST_TEXT:
                last.text = f"{last.text} {rest}"[:LONGEST_TEXT]

    def finished(self) -> tuple[Message, ...]:
        """All groups, in order of appearance."""
        return tuple(
            Message(one.severity, one.text, one.count, one.line, one.last_line, one.is_trtexec)
            for one in self._groups.values()
        )
