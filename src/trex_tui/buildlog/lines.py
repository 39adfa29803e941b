"""Lines of a log: decoding, the prefixes of every producer, and the banner.

Whoever prints the messages of the library puts something before them: `PREFIXES` has every form. What docker, journald, a CI
or Python's logging add in front of that varies without limit, and is learned from lines that show where it ends.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from trex_tui.artifacts.open import COPY_AGAIN, PIECE_BYTES, PackedError, open_bytes, read_piece, unpack
from trex_tui.artifacts.sensors import parse_time
from trex_tui.errors import ArtifactError, describe_os_error

# --- prefixes ----------------------------------------------------------------------------------------------------------

_LETTERS = {
    **dict.fromkeys(("VERBOSE", "DEBUG", "GRAPH", "TRACE", "LOG", "D"), "V"),
    **dict.fromkeys(("INFO", "NOTICE", "SUCCESS", "FIXME"), "I"),
    **dict.fromkeys(("WARNING", "WARN"), "W"),
    **dict.fromkeys(("ERROR", "!"), "E"),
    **dict.fromkeys(("INTERNAL_ERROR", "INTERNAL ERROR", "CRITICAL", "FATAL", "C"), "F"),
}
"""Levels of loggers -> severity of TensorRT's."""
_WORDS = "|".join(sorted((word for word in _LETTERS if len(word) > 1), key=len, reverse=True))
_DATE = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
PREFIXES: tuple[tuple[str, str], ...] = (
    ("TensorRT's Python logger, up to 8.0", rf"(?P<library>\[(?:TensorRT|TRT)\]) (?P<level>{_WORDS}): "),
    ("DeepStream", rf"(?P<level>{_WORDS}): (?P<library>\[?(?:TensorRT|TRT)\]?):? "),
    ("nvdsinfer of DeepStream", rf"(?P<level>{_WORDS}): (?=\S*nvdsinfer\S*:\d+ |\[\w+ Engine Info\])"),
    ("GStreamer", rf"\d+:\d\d:\d\d\.\d{{9}} +\d+ 0x[0-9a-f]+ (?P<level>{_WORDS}) +\S+ \S+:\d+:\S+:? "),
    ("Torch-TensorRT", rf"(?P<level>{_WORDS}): ?(?P<library>\[Torch-TensorRT[^\]]{{0,80}}\]) - "),
    ("Torch-TensorRT through Python", rf"(?P<level>{_WORDS}):(?P<library>torch_tensorrt[^:]{{0,80}}):"),
    (
        "ONNX Runtime's TensorRT provider",
        rf"(?P<date>{_DATE})\S* \[[VIWEF]:onnxruntime:[^\]]{{0,200}}\] (?P<library>\[{_DATE} +(?P<level>{_WORDS})\]) ",
    ),
    (
        "ONNX Runtime's TensorRT provider in a program's logger",
        rf"[VIWEF] onnxruntime: (?P<library>\[{_DATE} +(?P<level>{_WORDS})\]) ",
    ),
    ("ONNX Runtime", rf"(?P<date>{_DATE})\S* \[(?P<level>[VIWEF]):onnxruntime:[^\]]{{0,200}}\] "),
    ("errors of Polygraphy", r"\[(?P<level>!)\] (?P<library>)"),
    ("trtexec without time stamps", r"\[(?P<level>[VIWEF])\] (?P<library>\[TRT\] )?"),
    ("logging.basicConfig of Python", rf"(?P<level>{_WORDS}):(?P<library>[\w.-]+):"),
    ("Python, dated", rf"(?P<date>{_DATE})[\d.,]* - (?P<library>[\w.-]+) - (?P<level>{_WORDS}) - "),
    (
        "Python, in brackets",
        rf"\[(?P<date>{_DATE})[\d.,]*\] \[(?P<library>)(?P<level>(?i:{_WORDS}))\] +(?:\[[\w.-]+\] )?",
    ),
    (
        "Python, level first",
        rf"(?:(?P<date>{_DATE})[\d.,]* )?(?P<library>)(?P<level>{_WORDS})(?: +\[\S+:\d+\])? +(?=\S)",
    ),
    ("loguru", rf"(?P<date>{_DATE})\.\d+ +\| (?P<library>)(?P<level>{_WORDS}) +\| \S+ - "),
    ("glog", r"(?P<library>)(?P<level>[DIWEF])\d{4} [\d:.]+ +\d+ \S+:\d+\] "),
    ("TensorRT's Python logger without time stamps", r"(?P<library>\[TRT\]) \[(?P<level>[VIWEF])\] "),
    ("jetson-inference", r"(?P<library>\[TRT\]) {2,}"),
)
"""Producer -> what it puts before a message. Groups: `level`, `library` if the message is the library's own, `date`."""
_STAMPED = re.compile(
    r"\[(?P<stamp>\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)\] "
    r"(?:\[(?P<level>[VIWEF])\] ?(?P<library>\[TRT\] ?)?|\[TRT\] \[(?P<python>[VIWEF])\] ?)"
)
"""The prefix with a time stamp: `[V] msg` is trtexec, `[V] [TRT] msg` the library, `[TRT] [V] msg` the library in Python."""
_INDENTED = re.compile(r" +(?=\[[VIWEF]\] \[TRT\] \S)")
"""Before a message in a list of a document."""
STAMP_INSIDE = "/20"
"""Part of every time stamp; a second one after the prefix may mean that two streams were mixed into one line."""
_FORMS = tuple(re.compile(pattern) for _, pattern in PREFIXES)


class Prefix(NamedTuple):
    """A line split into its parts.

    Attributes:
        severity: V, I, W, E or F; empty if the line has no prefix of its own.
        is_library: Printed by the library, not by trtexec or another program.
        stamp: Seconds, from an arbitrary start; None without a time.
        message: The rest of the line.
        before: Text before the time stamp.
    """

    severity: str
    is_library: bool
    stamp: int | None
    message: str
    before: str = ""


def parse_prefix(line: str) -> Prefix:
    """Split one line. A line without any prefix is all message, with no severity."""
    if match := _STAMPED.search(line):
        is_library = bool(match["library"] or match["python"])
        level = match["level"] or match["python"] or ""
        return Prefix(
            level, is_library, _parse_date(match["stamp"]), line[match.end() :], line[: match.start()]
        )
    if line[:1] == " " and (match := _INDENTED.match(line)):
        line = line[match.end() :]
    if line[:1] in _BEGINNINGS:
        for form in _FORMS:
            if match := form.match(line):
                groups = match.groupdict()
                level = (groups.get("level") or "I").upper()
                stamp = _parse_date(groups["date"]) if groups.get("date") else None
                return Prefix(
                    _LETTERS.get(level, level), groups.get("library") is not None, stamp, line[match.end() :]
                )
    return Prefix("", False, None, line)


_BEGINNINGS = frozenset("[0123456789") | {word[0] for word in _LETTERS}


@lru_cache(maxsize=64)
def _parse_date(text: str) -> int | None:
    """Return the seconds since 1970 of a date and time, in the time zone of the log; None for an invalid date."""
    seconds = parse_time(text)
    return None if seconds is None else int(seconds)


# --- what other programs add -------------------------------------------------------------------------------------------

_MARK = re.compile(
    r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] |(?:\[TRT\] )?\[[VIWEF]\] |&&&& (?:RUNNING|PASSED|FAILED) "
)
"""Where a message or a banner of TensorRT begins."""
_LONGEST_RELAY, _MOST_RELAYS = 200, 8


def _strip_relays(pieces: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the lines of a log without what docker, journald, a CI or a logger puts before them, keeping their number.

    It is learned from lines that show where it ends. Lines of other programs behind it become empty.
    """
    relay: re.Pattern[str] | None = None
    for lines in pieces:
        relay = relay or _learn_relay(lines)
        if relay is None:
            yield lines
        else:
            matches = [(line, relay.match(line)) for line in lines]
            yield [
                line[match.end() :] if match else line if _MARK.match(line) else "" for line, match in matches
            ]


def _learn_relay(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern of what is before most marks, whatever its numbers and blanks are."""
    marked = [
        (line, _MARK.search(line, 0, _LONGEST_RELAY))
        for line in lines
        if line[3:4] != "/" and ("[" in line or "&&&& " in line)
    ]
    befores = Counter(line[: match.start()] for line, match in marked if match is not None)
    kinds: Counter[str] = Counter()
    for before, count in befores.items():
        kinds[_generalize(before)] += count
    plain = kinds.pop("", 0) + sum(line[3:4] == "/" for line in lines)
    if not kinds or kinds.total() <= plain:
        return None
    return re.compile("|".join(sorted(kinds, key=len, reverse=True)[:_MOST_RELAYS]))


def _generalize(before: str) -> str:
    """Return a pattern of a text with other numbers, and other blanks except at its end."""
    body, end = before.rstrip(), before[len(before.rstrip()) :]
    parts = re.split(r"(\d+|\s+)", body)
    return (
        "".join(
            r"\d+" if part.isdecimal() else r"\s+" if part.isspace() else re.escape(part) for part in parts
        )
        + end
    )


# --- bytes -------------------------------------------------------------------------------------------------------------

_ENDLESS_LINE = 64 << 20
"""Length from which a line is not text and its file not a log: a file full of zeros."""
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""A colour, or another control sequence of a terminal (ECMA-48, 5.4)."""
_LONGEST_BEFORE = 400
"""Maximum number of characters before a banner in its line."""
_JOINED = re.compile(r"(?:(?:\\r)?\\n| / )(?=\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] |&&&& )")
"""Between two messages of a log that a report has written in one line."""


@dataclass(slots=True)
class ReadState:
    """State of the file after the last piece.

    Attributes:
        damage: Why it could not be read to its end, as the end of a sentence; empty if it could.
        cut_off: Whether its last line is incomplete.
        replaced: Number of U+FFFD, which stand for bytes that are no text.
        replaced_line: The line of the first.
        read_bytes: Bytes of the file read so far, before decompression.
    """

    damage: str = ""
    cut_off: bool = False
    replaced: int = 0
    replaced_line: int = 1
    read_bytes: int = 0


def read_lines(path: Path, state: ReadState) -> Iterator[list[str]]:
    """Yield lists of lines of a file without their ends; afterwards `state` is complete.

    An incomplete last line is returned only if it is a banner, since a number in it may be truncated. Prefixes added by other
    programs are removed.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    try:
        file = open_bytes(path, may_be_pipe=True)
    except OSError as error:
        raise ArtifactError(path, describe_os_error(error)) from error
    with file:
        yield from _strip_relays(_split_lines(_decode(file, state), state))


def _decode(file: BinaryIO, state: ReadState) -> Iterator[str]:
    decoder: codecs.IncrementalDecoder | None = None
    try:
        for data in unpack(_read_pieces(file, state)):
            if decoder is None:
                is_wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as PowerShell redirects
                decoder = codecs.getincrementaldecoder("utf-16" if is_wide else "utf-8-sig")(errors="replace")
            text = decoder.decode(data)
            if not state.replaced:
                state.replaced_line += text.partition("\ufffd")[0].count("\n")
            state.replaced += text.count("\ufffd")
            yield text
    except OSError as error:
        state.damage = describe_os_error(error, "cannot be read to its end")
    except PackedError as error:
        state.damage = str(error)
    if decoder is not None:
        yield decoder.decode(b"", final=True)


def _read_pieces(file: BinaryIO, state: ReadState) -> Iterator[bytes]:
    while data := read_piece(file, PIECE_BYTES):
        state.read_bytes += len(data)
        yield data


def _split_lines(texts: Iterator[str], state: ReadState) -> Iterator[list[str]]:
    parts: list[str] = []
    for text in texts:
        parts.append(text)
        if "\n" not in text:
            if sum(map(len, parts)) > _ENDLESS_LINE:
                state.damage = (
                    f"has a line of more than {_ENDLESS_LINE >> 20} million characters; {COPY_AGAIN}"
                )
                return
            continue
        whole, _, rest = "".join(parts).rpartition("\n")
        lines, parts = _separate(whole), [rest]
        if "\r" in text or "\r" in lines[0]:
            lines = [line.rstrip("\r") for line in lines]
        if "\x1b" in text or "\x1b" in lines[0]:
            lines = [_ESCAPE.sub("", line) for line in lines]
        yield lines
    *lines, rest = _separate("".join(parts))
    if lines:
        yield lines
    if BANNER.search(rest[:_LONGEST_BEFORE]):
        yield [rest.rstrip("\r")]
    else:
        state.cut_off = bool(rest.strip())


def _separate(text: str) -> list[str]:
    is_joined = "\\n[" in text or " / [" in text
    return (_JOINED.sub("\n", text) if is_joined else text).split("\n")


def split_mixed(line: str) -> tuple[list[Prefix], str]:
    """Return the messages in a line with time stamps, and the half of another that is left over.

    stdout is written in blocks, and a block may end in the middle of a line, behind which stderr puts a warning. The rest of
    the line follows behind the warnings.
    """
    starts = [match.start() for match in _STAMPED.finditer(line)]
    parts = [line[start:end] for start, end in zip([0, *starts], [*starts, None], strict=True)]
    prefixes = list(map(parse_prefix, parts))
    is_half = [bool(after.severity) and after.severity in "WEF" for after in prefixes[1:]]
    halves = [part for part, is_cut in zip(parts, is_half, strict=False) if is_cut]
    whole = [
        prefix
        for prefix, is_cut in zip(prefixes, [*is_half, False], strict=True)
        if prefix.severity and not is_cut
    ]
    return whole, halves[-1] if halves else ""


# --- banner and versions -----------------------------------------------------------------------------------------------

_PRODUCT = r"TensorRT(?:[-_ ]?RTX)?"
BANNER = re.compile(
    rf"&&&& (?P<status>RUNNING|PASSED|FAILED|WAIVED|TASK_\w+) (?P<program>{_PRODUCT}\.\S+)"
    rf"(?: \[(?P<product>{_PRODUCT}) v(?P<number>\d{{1,9}})\])?(?: \[b(?P<build>\d{{1,9}})\])?"
    r"(?:[^#\n]*# (?P<command>[^\n]*))?"
)
"""`&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # command`; that of TensorRT-RTX's program is of the same form."""
_STATED_VERSION = re.compile(
    rf"(?:(?P<product>{_PRODUCT}) version:|TensorRT: starting export with TensorRT"
    r"|Loaded Module: tensorrt \| Version:) "
    r"(?P<version>\d{1,9}(?:\.\d{1,9}){0,4})"
)
_LIBRARY = re.compile(
    r"(?:lib)?nv(?:infer|onnxparser)(?:_[A-Za-z]\w*?)?(?:\.so\.(?P<so>\d{1,3}(?:\.\d{1,3}){0,2})|_(?P<dll>\d{1,3})\.dll)"
)
_PROGRAMS = ("trtexec", "tensorrt_rtx")
_RTX = "RTX "
_FIRST_MAJOR = 7
"""TensorRT-RTX has versions of its own, from 1.0 on, which are written `RTX 1.3.0`; trtexec has no such release."""


class Run(NamedTuple):
    """One run of a program, between its banners.

    Attributes:
        line: Of its first banner; without one, behind the run before.
        program: `TensorRT.trtexec`, or the name of another program of NVIDIA's samples.
        tensorrt_version: Decoded from the banner; None for 7.x.
        build: `b11` of 10.4 and later, as a number.
        status: `PASSED`, `FAILED` or `WAIVED`; None without such a banner: the run died, or the log is truncated. That of a
            single banner is also `RUNNING`, `TASK_BEGIN` or `TASK_END`.
    """

    line: int
    program: str
    tensorrt_version: str | None
    build: int | None
    command: str
    status: str | None

    @property
    def loads_engine(self) -> bool:
        """True if the run loaded an engine from a file instead of building one."""
        return "--loadEngine" in self.command

    def argument(self, name: str) -> str | None:
        """Return the value of `--NAME=VALUE`, the last of several, empty for a flag; None if the option is not given."""
        values = [word.partition("=") for word in self.command.split() if word.startswith("-")]
        return next((value for key, _, value in reversed(values) if key.lstrip("-") == name), None)


def find_banner(text: str, *, is_trtexec: bool = False) -> Run | None:
    """Return the first banner in a text as a run in line 0; None without one.

    Args:
        is_trtexec: Skip those of other programs than trtexec and `tensorrt_rtx`.
    """
    for match in BANNER.finditer(text):
        if match["program"].partition(".")[2] in _PROGRAMS or not is_trtexec:
            number, build = match["number"], match["build"]
            is_rtx = "rtx" in f"{match['program']} {match['product']}".lower()
            version = _with_product(version_of_number(int(number)), is_rtx=is_rtx) if number else None
            command = (match["command"] or "").strip()
            return Run(0, match["program"], version, int(build) if build else None, command, match["status"])
    return None


def find_stated_version(text: str) -> str | None:
    """Return the version in the first line `TensorRT version: 10.16.1`, or that of an export by Ultralytics; 8.0 prints 8003.
    None without one.
    """
    match = _STATED_VERSION.search(text)
    if match is None:
        return None
    version = match["version"]
    if version.isdecimal() and len(version) > 3:
        version = version_of_number(int(version))
    return _with_product(version, is_rtx="RTX" in (match["product"] or ""))


def _with_product(version: str, *, is_rtx: bool) -> str:
    return f"{_RTX}{version}" if is_rtx or 0 < int(version.partition(".")[0]) < _FIRST_MAJOR else version


def is_rtx_version(version: str) -> bool:
    """Return whether a version is one of TensorRT-RTX."""
    return version.startswith(_RTX)


def version_of_number(number: int) -> str:
    """Decode the number in a banner.

    Up to 9.3 it is major·1000 + minor·100 + patch, from 10.0 on major·10000 + minor·100 + patch. Both forms of TensorRT-RTX's
    1.3.0, 1300 and 10300, result in the same.

    >>> version_of_number(8601), version_of_number(101601), version_of_number(10300)
    ('8.6.1', '10.16.1', '1.3.0')
    """
    if number < 10_000:
        return f"{number // 1000}.{number // 100 % 10}.{number % 100}"
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


def version_of_library(text: str) -> tuple[str, str] | None:
    r"""Return the version in the most precise name of a TensorRT library, and that name; None without one.

    >>> version_of_library("Loaded shared library libnvinfer_builder_resource.so.10.4.0")
    ('10.4.0', 'libnvinfer_builder_resource.so.10.4.0')
    >>> version_of_library(r"C:\bin\nvinfer_10.dll")
    ('10', 'nvinfer_10.dll')
    """
    names = [(match["so"] or match["dll"], match[0]) for match in _LIBRARY.finditer(text)]
    return max(names, key=lambda name: name[0].count("."), default=None)
