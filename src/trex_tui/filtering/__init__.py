"""The filter that people type: words that a layer's name must have."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trex_tui.engine.model import Layer


def compile_filter(text: str) -> Callable[[Layer], bool] | None:
    """Return a predicate over layers; None for a filter that says nothing.

    All words must occur in the name, in any order and case; a word after `-` must not. (`-` alone says nothing.)
    """
    words = text.casefold().split()
    wanted = [word for word in words if not word.startswith("-")]
    unwanted = [word[1:] for word in words if word.startswith("-") and len(word) > 1]
    if not wanted and not unwanted:
        return None

    def matches(layer: Layer) -> bool:
        name = layer.name.casefold()
        return all(word in name for word in wanted) and not any(word in name for word in unwanted)

    return matches


def filter_layers(layers: Sequence[Layer], text: str) -> list[Layer]:
    """The layers that `compile_filter(text)` lets through, in their order."""
    predicate = compile_filter(text)
    return list(layers) if predicate is None else [layer for layer in layers if predicate(layer)]
