"""Indented JSON text is that of the standard library."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex_tui.old.report.json_text import format_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=20,
)


@given(VALUES)
def test_text_is_that_of_the_standard_library(value: object) -> None:
    assert format_json(value) == json.dumps(value, indent=2, allow_nan=False)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_an_error(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        format_json({"a": [value]})
    with pytest.raises(TypeError):
        format_json({"a": object()})
