"""Damage: what happens to files, and what somebody could do to them on purpose. Everything follows from the seed."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

Files = dict[str, bytes]

RAW = "\ue000"
"""Around a token that goes into JSON as it is: what no Python value prints as."""
AGAIN = "\ue001"
"""Behind a key that stands in an object already."""
RAW_TOKENS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-1e400",
    "-0",
    "-0.0",
    "1" + "0" * 400,
    "1" + "0" * 5000,
    "1e-400",
    "0.1e308",
    "nan",
    "[" * 100_000,
    "[" * 900 + "]" * 900,
    '{"a":' * 2000 + "1" + "}" * 2000,
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\u0000"',
    '"a\x1eb\x1fc"',
    '"a\x00b"',
    '{"Name": "a", "Name": 1, "Name": "b"}',
    "1 2",
    "",
)
MOST_BYTES = 8 << 20
"""A file grows no further by raw tokens."""
MOST_PLACES = 2000
"""In a file with more values, none is repeated many times: several such damages would fill the memory."""
HOSTILE_TEXTS = (
    "",
    " ",
    "\x1b]52;c;aGVsbG8=\x07",
    "\x1b[2J",
    "\x9b31m",
    "[red]x[/red]",
    "\u202eabc",
    "=1+1",
    "../../x",
    "-rf",
    "a\nb",
    "\0",
    "x" * 20_000,
    "/".join("ab" * 500),
    " + ".join(f"/m{i}/Conv" for i in range(300)),
    "[profile 99999999999999999999]",
    "[profile -1]",
    "[profile ²]",
    "Half",
    "Row major linear FP32",
    "Two wide channel vectorized row major FP16 format where channel % 0 == 0",
    "Channel major FP16 format where channel % 99999999999999999999 == 0",
    "sm80_xmma_fprop_tilesize99999999999999999999x0x1_stage0",
    "١٢٣",
    "²",
    "0x",
    "1e999",
    "nan",
    "{ForeignNode[a...b]}",
    "__myl_",
    "[ONNX Layer: ",
    "NVIDIA Orin",
    "3s (+ 1e999ms warm up)",
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    10**15,
    10**16,
    10**30,
    10**320,
    -(10**320),
    0.0,
    -0.0,
    1e-320,
    1e15,
    1e308,
    -1e308,
    0.1,
    True,
    False,
)
CHUNKS = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\r\n",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"nan",
    b"99999999999999999999999",
    b"-",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b" " * 5000,
    b"\n" * 500,
    b"A" * 70_000,
    "²".encode(),
    "٣".encode(),
)


def damaged(files: Files, find_other: Callable[[random.Random], Files], rng: random.Random) -> Files:
    """A set with damage of one kind or another in one to three of its files.

    Args:
        files: The set, by file name.
        find_other: Chooses a set to splice from.
    """
    result = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(sorted(result))
        if rng.random() < 0.05:
            result.pop(name)
        elif name.endswith(".json") and rng.random() < 0.7:
            result[name] = (_everywhere if rng.random() < 0.2 else _in_structure)(result[name], rng)
        elif name.endswith(".log") and rng.random() < 0.7:
            result[name] = _in_lines(result[name], rng)
        else:
            result[name] = rng.choice(_WHOLE)(result[name], rng, _any_file(find_other(rng), rng))
        if not result:
            return dict(files)
    return result


def _any_file(files: Files, rng: random.Random) -> bytes:
    return files[rng.choice(sorted(files))]


# --- bytes ----------------------------------------------------------------------------------------------------------


def _cut(data: bytes, rng: random.Random, _: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _spliced(data: bytes, rng: random.Random, other: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _edited(data: bytes, rng: random.Random, _: bytes) -> bytes:
    edited = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(edited) + 1)
        end = min(len(edited), place + rng.choice((0, 0, 1, 5, 100)))
        edited[place:end] = rng.choice(CHUNKS)
    return bytes(edited)


def _flipped(data: bytes, rng: random.Random, _: bytes) -> bytes:
    flipped = bytearray(data)
    for _ in range(rng.randrange(1, 20)):
        if flipped:
            flipped[rng.randrange(len(flipped))] = rng.randrange(256)
    return bytes(flipped)


def _encoded(data: bytes, rng: random.Random, _: bytes) -> bytes:
    text = data.decode("utf-8", errors="replace")
    how = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "crlf", "cr"))
    if how in ("crlf", "cr"):
        return data.replace(b"\n", b"\r\n" if how == "crlf" else b"\r")
    return text.encode(how, errors="replace")


def _again(data: bytes, rng: random.Random, other: bytes) -> bytes:
    return data + rng.choice((b"", b"\n", b",", b"\0", b"&&&& ")) + rng.choice((data, other))


def _packed(data: bytes, rng: random.Random, other: bytes) -> bytes:
    packed = gzip.compress(data, 1)
    return rng.choice(
        (packed, packed[: rng.randrange(1, len(packed))], packed + other[:100], packed + packed)
    )


def _replaced(_: bytes, rng: random.Random, other: bytes) -> bytes:
    return rng.choice(
        (other, b"", b" ", b"null", b"[]", b"{}", b"[null]", b"[[]]", b'"x"', b"1", b"[{}]", b"\0" * 100)
    )


_WHOLE: tuple[Callable[[bytes, random.Random, bytes], bytes], ...] = (
    _cut,
    _cut,
    _spliced,
    _edited,
    _edited,
    _flipped,
    _encoded,
    _again,
    _packed,
    _replaced,
)

# --- JSON -----------------------------------------------------------------------------------------------------------


def _in_structure(data: bytes, rng: random.Random) -> bytes:
    try:
        root = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return _edited(data, rng, b"")
    holder = [root]
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        places = list(_places(holder))
        if not places:
            break
        container, key = rng.choice(places)
        _hurt(container, key, rng, places)
    return _written(holder[0] if holder else None, data, rng)


def _everywhere(data: bytes, rng: random.Random) -> bytes:
    """The same to one key wherever it stands, or in a part of the places: what no single damage meets, a rule may need."""
    try:
        root = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return _edited(data, rng, b"")
    places = [(container, key) for container, key in _places([root]) if isinstance(container, dict)]
    if not places:
        return _edited(data, rng, b"")
    wanted, share = rng.choice(sorted({key for _, key in places})), rng.choice((1.0, 0.3))
    value = rng.choice((lambda old: type(old)(), lambda _: None, lambda _: _odd_value(rng)))
    for container, key in places:
        if key == wanted and key in container and rng.random() < share:
            old = container[key]
            container[key] = None if old is None else value(old)
    return _written(root, data, rng)


def _written(root: Any, data: bytes, rng: random.Random) -> bytes:  # noqa: ANN401 - JSON
    """JSON in one of the ways that it is written, with the raw words that stand for no value of it."""
    # Lines by separators, not by an indent: that is slow, and its blanks are without end where an earlier damage nested.
    separators, is_ascii = rng.choice(((", ", ": "), (",\n", " : "))), rng.random() < 0.5
    try:
        text = json.dumps(root, separators=separators, ensure_ascii=is_ascii)
    except RecursionError:
        return _edited(data, rng, b"")
    if len(text) + sum(len(RAW_TOKENS[int(number)]) for number in _RAW_TOKEN.findall(text)) > MOST_BYTES:
        return _edited(data, rng, b"")
    text = _RAW_TOKEN.sub(lambda match: RAW_TOKENS[int(match[1])], text)
    text = re.sub(r'(?:\ue001|\\ue001)(?=")', "", text)
    return text.encode("utf-8", errors="surrogatepass")


_RAW_TOKEN = re.compile(rf'"(?:{RAW}|\\ue000)(\d+)(?:{RAW}|\\ue000)"')


def _places(root: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - JSON
    pending = [root]
    while pending:
        container = pending.pop()
        keys = range(len(container)) if isinstance(container, list) else container
        for key in keys:
            yield container, key
            if isinstance(container[key], (dict, list)):
                pending.append(container[key])


def _hurt(container: Any, key: Any, rng: random.Random, places: list[tuple[Any, Any]]) -> None:  # noqa: ANN401 - JSON
    """Do one thing to one place. What was taken away before is left alone."""
    if key >= len(container) if isinstance(container, list) else key not in container:
        return
    what = rng.randrange(12)
    if what < 6:
        container[key] = _odd_value(rng)
    elif what == 6:
        del container[key]
    elif what == 7:
        donor, place = rng.choice(places)
        try:
            container[key] = copy.deepcopy(donor[place])
        except (KeyError, IndexError, RecursionError):
            container[key] = None
    elif what == 8:
        _swap(container, key, *rng.choice(places))
    elif isinstance(container, list):
        container[key:key] = [container[key]] * (rng.choice((1, 2, 50)) if len(places) < MOST_PLACES else 1)
    elif what == 9:
        container[rng.choice(HOSTILE_TEXTS)] = container.pop(key)
    else:
        container[f"{key}{AGAIN}"] = _odd_value(rng)


def _swap(container: Any, key: Any, other: Any, place: Any) -> None:  # noqa: ANN401 - JSON
    """Exchange two values, unless one may hold the other or is gone."""
    try:
        first, second = container[key], other[place]
    except (KeyError, IndexError):
        return
    if not isinstance(first, (dict, list)) and not isinstance(second, (dict, list)):
        container[key], other[place] = second, first


def _odd_value(rng: random.Random) -> Any:  # noqa: ANN401 - JSON
    what = rng.randrange(8)
    if what == 0:
        return rng.choice((None, [], {}, [[]], [{}], [None], {"Name": None}, {"": ""}))
    if what <= 2:
        return rng.choice(NUMBERS)
    if what <= 4:
        return f"{RAW}{rng.randrange(len(RAW_TOKENS))}{RAW}"
    if what == 5:
        return [_odd_value(rng) for _ in range(rng.randrange(4))]
    if what == 6:
        return {rng.choice(("Name", "Type", "Count", "Dimensions", "count")): _odd_value(rng)}
    return rng.choice(HOSTILE_TEXTS)


# --- logs -----------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_ODD_NUMBERS = (
    b"",
    b"-1",
    b"nan",
    b"inf",
    b"1e999",
    b"9" * 30,
    b"9" * 5000,
    b"0",
    b"0x0",
    "²".encode(),
    "٣".encode(),
    b"1.2.3",
)


def _in_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 3, 10, 30))):
        place = rng.randrange(len(lines))
        what = rng.randrange(8)
        if what == 0:
            del lines[place : place + rng.choice((1, 1, 5))]
        elif what == 1:
            lines[place:place] = [lines[rng.randrange(len(lines))]] * rng.choice((1, 3))
        elif what == 2:
            lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
        elif what == 3:
            lines[place] += lines[rng.randrange(len(lines))]
        elif what == 4:
            lines[place] = rng.choice(HOSTILE_TEXTS).encode("utf-8", errors="surrogatepass")
        elif what == 5:
            cut = rng.randrange(len(lines[place]) + 1)
            lines[place] = lines[place][:cut] + rng.choice(CHUNKS) + lines[place][cut:]
        else:
            lines[place] = _NUMBER.sub(
                lambda match: rng.choice(_ODD_NUMBERS) if rng.random() < 0.3 else match[0], lines[place]
            )
        if not lines:
            return b""
    return b"\n".join(lines)
