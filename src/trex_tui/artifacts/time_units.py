"""Units of time as files spell them, and quantities that carry one: `1.5 ms`."""

from __future__ import annotations

import re
from functools import lru_cache

from trex_tui.artifacts.jsonfile import finite_number

_WORDS = {
    "ms": "ms msec msecs millis millisecond milliseconds",
    "µs": "us usec usecs micros microsecond microseconds",
    "ns": "ns nsec nsecs nanos nanosecond nanoseconds",
    "s": "s sec secs second seconds",
}
UNITS = {word: unit for unit, words in _WORDS.items() for word in words.split()}
"""Word, as `plain` leaves it -> unit."""
_PER_MS = {"ms": 1.0, "µs": 1e3, "ns": 1e6, "s": 1e-3}
_QUANTITY = re.compile(
    r"\s*([-+]?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?)\s*([A-Za-z\u00b5\u03bc]{1,12})\s*"
)


@lru_cache(maxsize=1024)
def plain(key: str) -> str:
    """Small letters and digits alone, the micro sign as `u`."""
    return re.sub(r"[^a-z0-9]", "", key.replace("µ", "u").replace("μ", "u").lower())


def to_ms(value: float, unit: str | None) -> float:
    """Milliseconds of a value; without a unit it is in them."""
    return value * 1e3 if unit == "s" else value / per_ms(unit)


def per_ms(unit: str | None) -> float:
    """How many of a unit are a millisecond."""
    return _PER_MS[unit or "ms"]


def quantity(value: object) -> tuple[float | None, str | None]:
    """The number that a JSON value is and the unit of time beside it, as in `1.5 ms`; (None, None) for anything else."""
    if not isinstance(value, str):
        return finite_number(value), None
    match = _QUANTITY.fullmatch(value)
    unit = UNITS.get(plain(match[2])) if match else None
    number = finite_number(float(match[1])) if match and unit else None
    return (None, None) if number is None else (number, unit)
