"""Patterns that are compiled at their first use."""

from __future__ import annotations

from trex_tui.old.lazy_pattern import lazy_pattern


def test_a_lazy_pattern_is_compiled_once_and_is_like_a_pattern() -> None:
    pattern = lazy_pattern(r"(?P<a>\d+)")
    assert "search" not in vars(pattern)
    match = pattern.search("x12")
    assert match is not None
    assert match["a"] == "12"
    assert vars(pattern)["search"] == pattern.search
    assert pattern.sub("-", "1 2") == "- -"
    assert pattern.pattern == r"(?P<a>\d+)"
    assert pattern.groupindex == {"a": 1}
