"""Text for users: printable names and readable numbers.

Names in artifacts are data. They may hold escape sequences, newlines, separators (TensorRT itself writes U+001E and U+001F
into names), bidirectional marks or lone surrogates. Everything shown in a terminal passes through `printable`. This module
imports nothing heavy: the headless commands and the screens share it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

MISSING = "–"
"""Shown for an unknown value. Unknown is not zero."""

ELLIPSIS = "…"


_SCALES = {
    "": 1.0,
    "k": 1e3,
    "m": 1e6,
    "g": 1e9,
    "t": 1e12,
    "ki": 2.0**10,
    "mi": 2.0**20,
    "gi": 2.0**30,
    "ti": 2.0**40,
}
_QUANTITY_UNITS: dict[str, dict[str, float]] = {
    "milliseconds": {"": 1.0, "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3},
    "percent": {"": 1.0, "%": 1.0},
    "watts": {"": 1.0, "mw": 1e-3, "w": 1.0},
    "seconds": {"": 1.0, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0},
    "millijoules": {"": 1.0, "uj": 1e-3, "µj": 1e-3, "μj": 1e-3, "mj": 1.0, "j": 1e3},
    "joules": {"": 1.0, "uj": 1e-6, "µj": 1e-6, "μj": 1e-6, "mj": 1e-3, "j": 1.0},
    "bytes": _SCALES | {f"{scale}b": factor for scale, factor in _SCALES.items()},
}  # fmt: skip
_NUMBER = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(.*)", re.DOTALL)


@lru_cache(maxsize=4096)
def printable(text: str) -> str:
    """Return `text` with every character that a terminal might act on made visible.

    C0 controls and DEL become Unicode control pictures (ESC is `␛`); everything else that is not printable (C1 controls,
    bidirectional and zero-width marks, lone surrogates, line separators) becomes its `\\uXXXX` escape.
    """
    if text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(char) == "Zs":
        return " "
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_BRANDS = ("NVIDIA ", "GeForce ", " GPU")


def short_device_name(name: str) -> str:
    """Return a device name without `NVIDIA `, which older drivers omit."""
    return name.removeprefix(_BRANDS[0]).strip()


def fit_device_name(name: str, width: int) -> str:
    """Return a device name in a number of characters: as much of the brand is omitted as necessary, then its middle."""
    for brand in _BRANDS:
        if len(name) > width:
            name = name.replace(brand, "")
    return shorten_middle(name, width)


def shorten_middle(text: str, width: int) -> str:
    """Cut `text` to `width` characters, keeping head and tail: the tail of a layer name distinguishes it from others."""
    if len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail = (width - 1) * 3 // 5
    head = width - 1 - tail
    return text[:head] + ELLIPSIS + text[len(text) - tail :]


def format_ms(value: float | None, digits: int = 4) -> str:
    """Format milliseconds with a fixed number of decimals, so that columns align and close values stay distinct."""
    return MISSING if value is None or math.isnan(value) else f"{value:.{digits}f}"


def format_signed_ms(value: float) -> str:
    """Format a difference in milliseconds with its sign: a real minus, to distinguish it from a dash; none for zero."""
    text = format_ms(abs(value))
    return text if not float(text) else f"{'−' if value < 0 else '+'}{text}"


def format_pct(value: float | None) -> str:
    """Format a percentage with two decimals, without the sign."""
    return MISSING if value is None or math.isnan(value) else f"{value:.2f}"


def format_count(value: float | None) -> str:
    """Format a count, with SI prefixes from ten thousand on: 9 876, 12.3 k, 4.56 M."""
    if value is None or math.isnan(value):
        return MISSING
    if abs(value) < 10_000:
        return f"{value:,.0f}".replace(",", " ")
    scaled, prefix = value / 1000, "k"
    for larger in ("M", "G", "T"):
        if abs(scaled) < 999.5:
            break
        scaled, prefix = scaled / 1000, larger
    return f"{scaled:.3g} {prefix}" if abs(scaled) < 999.5 else f"{scaled:.0f} {prefix}"


def format_watts(value: float) -> str:
    """Format power with its unit: 14.2 W, 131.9 W, 0.019 W."""
    return f"{value:.4g} W"


def format_energy(value: float) -> str:
    """Format energy in joules with its unit, four significant digits: 1.234 J, 12.3 mJ, 45 µJ."""
    for unit, factor in (("J", 1.0), ("mJ", 1e3)):
        if abs(value) * factor >= 1.0:
            return f"{value * factor:.4g} {unit}"
    return f"{value * 1e6:.4g} µJ"


def format_bytes(value: float | None) -> str:
    """Format a size in binary units, three significant digits: 512 B, 36.0 KiB, 117 MiB."""
    if value is None or math.isnan(value):
        return MISSING
    if abs(value) < 1024:
        return f"{value:.0f} B"
    size, unit = value / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if abs(size) < 1000:
            break
        size, unit = size / 1024, larger
    decimals = 0 if abs(size) >= 99.95 else 1 if abs(size) >= 9.995 else 2
    return f"{size:.{decimals}f} {unit}"


_EIGHTHS = " ▏▎▍▌▋▊▉"


def format_bar(fraction: float | None, cells: int) -> str:
    """Return a bar from the left in eighths of a cell, 0 to 1 of `cells` long; anything above zero is visible."""
    if fraction is None or not fraction > 0 or cells <= 0:
        return ""
    full, rest = divmod(max(1, round(8 * cells * min(fraction, 1.0))), 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")


def format_shape(shape: Sequence[int]) -> str:
    """Return extents joined by `×`; `?` for a dynamic one, `scalar` for none."""
    return "×".join("?" if extent < 0 else str(extent) for extent in shape) or "scalar"


_UNITS_OF_KEYS = {"_bytes": "bytes", "_pct": "percent", "_ms": "milliseconds", "_w": "watts", "_j": "joules"}
"""End of a key -> its unit, as `parse_quantity` takes it."""


def unit_of_key(key: str) -> str:
    """Return the unit at the end of a key, for `parse_quantity`; empty for others.

    >>> unit_of_key("latency_p99_ms"), unit_of_key("layers")
    ('milliseconds', '')
    """
    return next((unit for end, unit in _UNITS_OF_KEYS.items() if key.endswith(end)), "")


def natural_key(text: str) -> list[tuple[int, str]]:
    """Return a sort key in which 9 is before 10."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return `1 layer`, `2 layers`; `many` for irregular plurals."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


def join_words(words: Iterable[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    *first, last = words
    return ", ".join(first) + " and " + last if first else last


def parse_quantity(text: str, unit: str) -> float | None:
    """Parse a number with a unit, `4Mi`, `50us`, `2%`; None if it is not finite, or the unit does not fit.

    Args:
        unit: As columns name it: `milliseconds`, `bytes`, `percent`, or empty for a count.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    factor = _QUANTITY_UNITS.get(unit, _SCALES).get(match[2].casefold())
    if factor is None:
        return None
    value = float(match[1]) * factor
    return value if math.isfinite(value) else None


def close_matches(word: str, known: Collection[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the known words similar to an unknown one, the most similar first."""
    from difflib import get_close_matches

    return get_close_matches(word, list(known), most, cutoff)


def did_you_mean(word: str, known: Collection[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return `did you mean A or B?` ignoring case, names that begin with the word first; empty if nothing is similar."""
    names = {name.casefold(): name for name in known}
    folded = word.casefold()
    similar = [name for name in names if len(folded) > 1 and name.startswith(folded)]
    similar = list(dict.fromkeys([*similar, *close_matches(folded, names, most, cutoff)]))[:most]
    return f"did you mean {' or '.join(names[name] for name in similar)}?" if similar else ""


_LISTED_NAMES = re.compile(r"\{([^{}]{80,})\}")


def shorten_name_list(text: str) -> str:
    """Shorten long lists of names between braces, as in names of DLA blocks, to the first and the last name.

    >>> shorten_name_list("{" + ",".join(f"layer{n}" for n in range(100)) + "} output reformatter 0")
    '{layer0,…98 more…,layer99} output reformatter 0'
    """
    return _LISTED_NAMES.sub(_shorten_list, text) if "{" in text else text


def _shorten_list(match: re.Match[str]) -> str:
    names = match[1].split(",")
    if len(names) < 3:
        return match[0]
    first, last = shorten_middle(names[0], 60), shorten_middle(names[-1], 60)
    return f"{{{first},{ELLIPSIS}{len(names) - 2} more{ELLIPSIS},{last}}}"


def as_sentence(text: str) -> str:
    """Return a text with a capital at the beginning and a full stop at the end."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
