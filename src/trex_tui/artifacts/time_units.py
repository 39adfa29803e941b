"""Units of time in files of other tools: at the end of a key (`latency_us`), or beside the numbers (`"unit": "us"`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_UNITS = {
    **dict.fromkeys(("ms", "msec", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "microseconds"), "µs"),
    **dict.fromkeys(("ns", "nsec", "nanoseconds"), "ns"),
    **dict.fromkeys(("s", "sec", "seconds"), "s"),
}
MS = {"ms": 1.0, "µs": 1e-3, "ns": 1e-6, "s": 1e3}
"""Unit -> milliseconds."""
_IN_SECONDS = re.compile(r"(.*[^A-Za-z0-9])s\W*|(.*[a-z0-9])S")
"""A key with the unit `s`, as opposed to a plural."""


class UnknownUnitError(ValueError):
    """A file states a unit that is not a unit of time."""


def plain(text: str) -> str:
    """Return the lower-case letters and digits of a key.

    >>> plain("Latency (ms)"), plain("gpu_time_µs")
    ('latencyms', 'gputimeus')
    """
    return re.sub(r"[^a-z0-9]", "", text.replace("µ", "u").replace("μ", "u").lower())


def split_unit(key: str) -> Iterator[tuple[str, str | None]]:
    """Yield the ways to split a key into plain words and a unit at its end, the most likely first; None for no unit.

    >>> list(split_unit("avg_us"))
    [('avgus', None), ('avg', 'µs')]
    """
    name = plain(key)
    seconds = _IN_SECONDS.fullmatch(key)
    stems: list[tuple[str, str | None]] = [(plain(seconds[1] or seconds[2]), "s")] if seconds else []
    stems.append((name, None))
    stems += [
        (name.removesuffix(word), unit)
        for word, unit in _UNITS.items()
        if len(word) > 1 and name.endswith(word)
    ]
    for stem, unit in stems:
        yield stem, unit
        if stem.endswith("in"):  # latency_in_ms
            yield stem.removesuffix("in"), unit


def stated_unit(node: Mapping[str, Any]) -> str | None:
    """Return the unit that an object states for its numbers; None for none.

    Raises:
        UnknownUnitError: It is not a unit of time.
    """
    text = node.get("unit", node.get("units"))
    if not isinstance(text, str):
        return None
    unit = _UNITS.get(plain(text))
    if unit is None:
        raise UnknownUnitError(text)
    return unit
