"""Remove prefixes that other programs add to every line of a log: docker, journald, a CI, Python's logging.

The prefix is learned from lines that show where it ends: those with a time stamp of TensorRT's, trtexec's banners, and, in
programs that pass the messages of their `ILogger` to Python's logging, well-known messages of the library. Numbers, blanks,
names of levels and of streams in it vary; the rest is constant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from trex_tui.buildlog.banner import MARK

STAMPED = re.compile(
    r"\[(?P<stamp>\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)\] "
    r"(?:\[(?P<severity>[VIWEF])\] ?(?P<library>\[TRT\] ?)?|\[TRT\] \[(?P<severity2>[VIWEF])\] ?)"
)
"""`[MM/DD/YYYY-HH:MM:SS] [V] msg` is trtexec, `… [V] [TRT] msg` the library, `… [TRT] [V] msg` the library through Python's
`trt.Logger`."""
UNSTAMPED = re.compile(
    r"(?:\[(?:TensorRT|TRT)\] (?P<word>VERBOSE|INFO|WARNING|ERROR|INTERNAL_ERROR): "
    r"|(?P<word2>VERBOSE|INFO|WARNING|ERROR): \[?(?:TensorRT|TRT)\]?:? "
    r"|\[TRT\] \[(?P<letter>[VIWEF])\] "
    r"|\[TRT\] {2,}"
    r"|\[(?P<letter2>[VIWEF])\] (?P<library>\[TRT\] )?)"
)
"""Older Python and other programs print `[TensorRT] VERBOSE: msg`, `INFO: [TRT]: msg` or `[TRT]    msg`; without their time
stamps lines of trtexec are `[V] msg` and `[V] [TRT] msg`."""
ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""A colour, or another control sequence of a terminal (ECMA-48, 5.4)."""

STAGE_HEADLINE = re.compile(
    r"=== (?P<stage>[^\n]{0,200}?) ?Layer Performance Profile \((?P<count>\d{1,9}) iterations\) ===[ \t\r]*$",
    re.MULTILINE,
)
"""Headline of a table that programs of TensorRT-Edge-LLM print."""
_BARE = re.compile(
    r"^\[[VIWEF]\] (?:\[TRT\] \S|=== \w|Error\[\d+\]: )|^=== Performance summary ===", re.MULTILINE
)
"""A line of trtexec without its time stamp, or the begin of a summary without any prefix."""
_MESSAGE = re.compile(
    r"Registered plugin creator - |Plugin creator already registered - |Registering (?:layer|tensor): "
    r"|Searching for input: |Parsing node: |Importing initializer: |Adding network (?:input|output): "
    r"|\[MemUsage(?:Change|Snapshot|Stats)\] |Loaded engine size: |Deserialization required \d"
    r"|Original: \d+ layers|={15} Computing |\*{15} Autotuning |-{15} Timing Runner: |>{15} Chose Runner "
    r"|Tactic: \S+ Time: |Tactic Name: \S+ Tactic: |Engine Layer Information:|Engine generation completed in "
    r"|Applying generic optimizations to the graph|Total (?:Host|Device|Scratch|Activation|Weights) "
    r"(?:Persistent )?Memory: |Tactic Device request: \d"
)
"""Messages that only the library prints, of TensorRT 8 to 11."""
_LETTERS = {
    "INTERNAL_ERROR": "F",
    "CRITICAL": "F",
    "FATAL": "F",
    "ERROR": "E",
    "WARNING": "W",
    "WARN": "W",
    "NOTICE": "I",
    "SUCCESS": "I",
    "INFO": "I",
    "DEBUG": "V",
    "TRACE": "V",
    "VERBOSE": "V",
    "D": "V",
    "C": "F",
}
"""Levels of other loggers -> severity of TensorRT's."""
_WORDS = "|".join(word for word in _LETTERS if len(word) > 1)
_LEVEL = f"(?i:{_WORDS})"
_TOKEN = re.compile(
    rf"(?P<level>(?<![A-Za-z]){_LEVEL}(?![A-Za-z]))\s*"
    r"|\[(?P<letter>[DVIWEFC])\]|(?P<glued>(?<![A-Za-z])[DVIWEFC](?=\d{4} ))|(?P<stream>std(?:out|err))"
    r"|(?P<hexadecimal>0x[0-9A-Fa-f]+|\b(?=[0-9a-f]*\d)[0-9a-f]{6,32}\b)|(?P<number>\d+)|(?P<blank>\s+)"
    r"|(?P<month>(?<![A-Za-z])[A-Z][a-z]{2}(?= ))|(?P<flag>(?<![A-Za-z])[A-Z](?![A-Za-z]))"
)
_PATTERNS = {
    "stream": "(?:stdout|stderr)",
    "hexadecimal": "(?:0x)?[0-9A-Fa-f]+",
    "number": r"\d+",
    "blank": r"\s*",
    "month": "[A-Z][a-z]{2}",
    "flag": "[A-Z]",
}
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d:\d\d:\d\d)")
_PLACE = re.compile(r"(?<=\S)\s+[\w.]+\.py:\d+\s*$")
"""Source location, which `rich` puts after the message."""
_OTHERS = re.compile(
    rf"\W{{0,3}}(?:\d{{4}}-\d\d-\d\d[T ]|[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d |(?:{_WORDS})\b|\S{{1,100}}\s+\| )"
)
"""Lines that look like those of another program."""
_LONGEST = 200
_MOST_SHAPES = 8
_ENOUGH = 40
"""Number of lines from which the prefix is learned."""
_LOOKED_AT = 8
"""Number of lines of a piece that are checked for the start of a prefix."""


class _Shape(NamedTuple):
    """A prefix without its variable parts.

    Attributes:
        pattern: Pattern of the prefix, except for blanks at its end.
        has_level: Whether it contains the severity.
    """

    pattern: str
    has_level: bool


@lru_cache(maxsize=256)
def _find_shape(before: str) -> _Shape:
    text = before.rstrip()
    matches = list(_TOKEN.finditer(text))
    letters = [match for match in matches if match["letter"] or match["glued"]]
    words = [match for match in matches if match["level"]]
    # The letter is nearer to the message: a relay may mark the whole stream as INFO.
    capitals = [match for match in words if match["level"].isupper()]
    level = next(iter(letters[-1:] or capitals or words), None)
    parts = []
    end = 0
    for match in matches:
        parts.append(re.escape(text[end : match.start()]))
        name = "(?P<level>" if match is level else "(?:"
        if match["level"]:
            parts.append(rf"{name}{_LEVEL})\s*" if match.end() < len(text) else f"{name}{_LEVEL})")
        elif match["letter"]:
            parts.append(rf"\[{name}[DVIWEFC])\]")
        elif match["glued"]:
            parts.append(f"{name}[DVIWEFC])")
        else:
            parts.append(_PATTERNS[match.lastgroup or "blank"])
        end = match.end()
    parts.append(re.escape(text[end:]))
    return _Shape("".join(parts), level is not None)


def _find_prefix_end(line: str) -> tuple[int, bool] | None:
    """Return the end of the prefix, and whether the line has no mark of TensorRT; None if the prefix is unclear."""
    if (match := UNSTAMPED.match(line)) and (
        match["letter2"] is None or match["library"] or line.startswith("=== ", match.end())
    ):
        return 0, False  # `[V] ` alone is as well the level of another logger, but for a heading of trtexec
    if match := STAMPED.search(line) or MARK.search(line):
        return match.start(), False
    if match := _MESSAGE.search(line):
        return match.start(), True
    return None


class PrefixStripper:
    """Removes the foreign prefix from the lines of one log, and adds TensorRT's if there was none."""

    def __init__(self, befores: Iterable[str], *, is_routed: bool, has_places: bool) -> None:
        self._is_routed = is_routed
        self._has_places = has_places
        self._blanks: dict[str, dict[str, int]] = {}
        self._patterns: list[tuple[re.Pattern[str], dict[str, int]]] = []
        self._strangers: Counter[_Shape] = Counter()
        for before in befores:
            self._note(before)
        self._compile()

    def _note(self, before: str) -> None:
        text = _find_shape(before).pattern
        match = re.match(text, before)
        level = _find_level(match) if match else ""
        blanks = self._blanks.setdefault(text, {})
        blanks[level] = max(len(before) - len(before.rstrip()), blanks.get(level, 0))

    def _compile(self) -> None:
        self._patterns = [(re.compile(text), blanks) for text, blanks in self._blanks.items()]

    def strip(self, line: str) -> str:
        """Return a line without its prefix; empty for lines of another program."""
        for pattern, blanks in self._patterns:
            if match := pattern.match(line):
                rest = _strip_blanks(line[match.end() :], _find_level(match), blanks)
                if self._has_places:
                    rest = _PLACE.sub("", rest)
                return f"{_make_mark(match)}{rest}" if self._is_routed else rest
        if not self._is_routed and (prefix := _find_prefix_end(line)) and not prefix[1]:
            return self._learn(line, prefix[0])
        return "" if _OTHERS.match(line) else line

    def _learn(self, line: str, end: int) -> str:
        """Learn a prefix of a new form: a single occurrence may be a split line, two are a prefix."""
        if not 0 < end <= _LONGEST:
            return line
        shape = _find_shape(line[:end])
        self._strangers[shape] += 1
        if self._strangers[shape] < 2 or len(self._blanks) >= _MOST_SHAPES:
            if len(self._strangers) > 1000:
                self._strangers.clear()
            return line
        self._note(line[:end])
        self._compile()
        return line[end:]


def _find_level(match: re.Match[str]) -> str:
    return (match.groupdict().get("level") or "").upper()


def _strip_blanks(rest: str, level: str, known: dict[str, int]) -> str:
    """Remove the blanks of the prefix before the text: if levels are padded, each has its own number.

    A message may begin with blanks too. If none follow, those of the prefix may be missing.
    """
    most = known.get(level)
    if most is None:
        widths = {len(word) + count for word, count in known.items()}
        most = max(known.values()) if len(widths) != 1 else max(widths.pop() - len(level), 0)
    return rest[min(most, len(rest) - len(rest.lstrip())) :]


def _make_mark(match: re.Match[str]) -> str:
    """Return what TensorRT would have printed before a message."""
    word = match["level"].upper()
    letter = _LETTERS.get(word, word)
    date = _DATE.search(match[0])
    if date is None:
        return f"[TRT] [{letter}] "
    return f"[{date[2]}/{date[3]}/{date[1]}-{date[4]}] [{letter}] [TRT] "


def learn_prefixes(lines: Iterable[str]) -> PrefixStripper | None:
    """Return the stripper for the prefix that most lines share; None if there is none, or no two lines have the same."""
    telling = [(line, prefix_end) for line in lines if (prefix_end := _find_prefix_end(line)) is not None]
    marked = [(line, end) for line, (end, is_bare) in telling if not is_bare]
    is_routed = not marked
    if is_routed:
        marked = [(line, end) for line, (end, _) in telling]
    befores = [line[:end] for line, end in marked if 0 < end <= _LONGEST]
    if is_routed:
        befores = [before for before in befores if _find_shape(before).has_level]
    if 2 * len(befores) <= len(marked):
        return None
    shapes = Counter(map(_find_shape, befores))
    known = {shape for shape, count in shapes.most_common(_MOST_SHAPES) if count > 1}
    if is_routed:
        # The beginning of a message before a well-known one is not part of the prefix, and makes it longer.
        known = {shape for shape in known if 4 * shapes[shape] >= len(befores)}
    if not known:
        return None
    places = sum(_PLACE.search(line) is not None for line, _ in marked)
    kept = [before for before in befores if _find_shape(before) in known]
    return PrefixStripper(kept, is_routed=is_routed, has_places=2 * places > len(marked))


def strip_prefixes(pieces: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the lines of a log without a foreign prefix, keeping their number."""
    stripper: PrefixStripper | None = None
    telling = 0
    for lines in pieces:
        if stripper is None and telling < _ENOUGH:
            telling += sum(1 for line in lines if _find_prefix_end(line) is not None)
            stripper = learn_prefixes(lines) if telling else None
        if stripper is not None:
            yield list(map(stripper.strip, lines))
        else:
            # A log with prefixes may follow one without.
            lines, stripper = _strip_from_first(lines)
            yield lines


def _has_prefix(line: str) -> bool:
    """Return whether a line shows that it has a prefix; fast for lines of a plain log."""
    if line[3:4] == "/" or not line:
        return False
    prefix = _find_prefix_end(line)
    return prefix is not None and prefix[0] > 0 and not prefix[1]


def _strip_from_first(lines: list[str]) -> tuple[list[str], PrefixStripper | None]:
    """Strip lines from the first one with a prefix on; also return the stripper, None if none has a prefix."""
    looked_at = [*lines[:: max(1, len(lines) // _LOOKED_AT)], *lines[-3:]]
    if not any(map(_has_prefix, looked_at)):
        return lines, None
    first = next(index for index, line in enumerate(lines) if _has_prefix(line))
    stripper = learn_prefixes(lines[first:])
    return ([*lines[:first], *map(stripper.strip, lines[first:])], stripper) if stripper else (lines, None)


def is_routed_log(text: str) -> bool:
    """Return whether a file begins as the log of a program that passes on the library's messages with severities, or as a log
    of trtexec without time stamps.
    """
    if _BARE.search(text):
        return True
    if not _MESSAGE.search(text):
        return False
    lines = [ESCAPE.sub("", line) for line in text.splitlines()]
    return any(UNSTAMPED.match(line) for line in lines) or learn_prefixes(lines) is not None
