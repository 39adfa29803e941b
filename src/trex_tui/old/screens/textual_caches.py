"""Clears Textual's caches that would keep removed panes and their engine."""

from __future__ import annotations

from typing import Any

from textual._styles_cache import StylesCache
from textual.screen import Screen


def share_style_pairs() -> None:
    """Have one cache of pairs of styles for all widgets.

    Textual means a class method and leaves the decorator out. Its cache then has widgets for keys: the last thousand stay,
    with every line that they have drawn, which is 5 MB for each reload of an engine.
    """
    method: Any = vars(StylesCache).get("get_inner_outer")
    if method is not None and not isinstance(method, (classmethod, staticmethod)):
        StylesCache.get_inner_outer = classmethod(method)  # type: ignore[method-assign, assignment]


def forget_widgets(screen: Screen[Any]) -> None:
    """Drop the last thousand answers of `query_one`, which refer to removed widgets."""
    screen._query_one_cache.clear()
