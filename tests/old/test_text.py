"""Names made harmless, numbers made readable."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex_tui.old.text import (
    format_bytes,
    format_count,
    format_ms,
    format_pct,
    format_shape,
    is_number_with_unit,
    plural,
    printable,
    shorten_middle,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name", "plain name"),
        ("Faltung 畳み込み ✓", "Faltung 畳み込み ✓"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\x1eb\x1fc", "a␞b␟c"),
        ("tab\tline\nend\r", "tab␉line␊end␍"),
        ("nul\0del\x7f", "nul␀del␡"),
        ("\x9b31m", "\\u009b31m"),
        ("left\u202eright", "left\\u202eright"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\u2028", "\\u2028"),
        ("no\u00a0break\u3000wide", "no break wide"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_printable_is_printable(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (99, "abcdefghij"),
        (10, "abcdefghij"),
        (9, "abcd…ghij"),
        (6, "ab…hij"),
        (2, "a…"),
        (1, "…"),
        (0, ""),
        (-3, ""),
    ],
)
def test_shorten_middle(width: int, shown: str) -> None:
    assert shorten_middle("abcdefghij", width) == shown


@given(st.text(max_size=40), st.integers(0, 50))
def test_shorten_middle_never_exceeds_the_width(text: str, width: int) -> None:
    shown = shorten_middle(text, width)
    assert len(shown) == min(len(text), width)
    if len(text) > width > 1:
        head, _, tail = shown.partition("…") if "…" not in text else ("", "", "")
        assert text.startswith(head)
        assert text.endswith(tail)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.0000"), (0.49951, "0.4995"), (12345.6, "12345.6000"), (None, "–"), (math.nan, "–")],
)
def test_format_ms(value: float | None, shown: str) -> None:
    assert format_ms(value) == shown


def test_format_ms_with_other_digits() -> None:
    assert format_ms(0.49951, 2) == "0.50"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0.00"), (99.999, "100.00"), (None, "–"), (math.nan, "–")]
)
def test_format_pct(value: float | None, shown: str) -> None:
    assert format_pct(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (9_876, "9 876"),
        (9_999, "9 999"),
        (10_000, "10 k"),
        (12_345, "12.3 k"),
        (999_400, "999 k"),
        (999_600, "1 M"),
        (4_560_000, "4.56 M"),
        (7.5e9, "7.5 G"),
        (7.5e12, "7.5 T"),
        (7.5e15, "7500 T"),
        (-12_345, "-12.3 k"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_format_count(value: float | None, shown: str) -> None:
    assert format_count(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (36_864, "36.0 KiB"),
        (122_683_392, "117 MiB"),
        (1024**2 - 1, "1.00 MiB"),
        (5 * 1024**3, "5.00 GiB"),
        (3 * 1024**5, "3072 TiB"),
        (-2048, "-2.00 KiB"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_format_bytes(value: float | None, shown: str) -> None:
    assert format_bytes(value) == shown


@pytest.mark.parametrize(
    ("shape", "shown"), [((1, 3, 224, 224), "1×3×224×224"), ((-1, 16), "?×16"), ((), "scalar")]
)
def test_format_shape(shape: tuple[int, ...], shown: str) -> None:
    assert format_shape(shape) == shown


def test_plural() -> None:
    assert [plural(0, "layer"), plural(1, "layer"), plural(2, "layer")] == ["0 layers", "1 layer", "2 layers"]
    assert plural(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize(
    ("before", "after", "belong"),
    [
        ("(+12", "%).", True),
        ("took 0.5571", "ms", True),
        ("all 14", "layers have", True),
        ("at layer", "1", False),
        ("number 1", "by time", False),
        ("", "%", False),
    ],
)
def test_a_number_stays_with_its_unit(before, after, belong):
    assert is_number_with_unit(before, after) is belong
