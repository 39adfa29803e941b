"""Which layers stand in the graph, and which are marked in it."""

from __future__ import annotations

from collections.abc import Iterable

from trex_tui.engine.engine import Engine
from trex_tui.errors import TrexError
from trex_tui.filtering import FilterError, filter_layers, select, unparse
from trex_tui.filtering.grammar import Word
from trex_tui.text import plural, printable, shorten_middle

_MOST_NAMED = 3


def matching(engine: Engine, text: str, option: str) -> frozenset[int]:
    """Indices of the layers that an expression of the filter language lets through; perhaps none.

    Args:
        option: What the expression was given with, for the message.

    Raises:
        TrexError: The expression makes no sense.
    """
    try:
        return frozenset(layer.index for layer in filter_layers(engine, text))
    except FilterError as error:
        raise TrexError(f"{option}: {error.pointed}") from None


def _queried(engine: Engine, text: str) -> frozenset[int]:
    found = matching(engine, text, "--query")
    if not found:
        raise TrexError(f"--query: {text!r} fits none of the {plural(len(engine.layers), 'layer')}")
    return found


def layer_named(engine: Engine, text: str) -> int:
    """Index of the one layer that a person means.

    By its whole name, else by its index, else by its whole name in any case, else by a part that no other name has: found
    as a bare word of the filter finds it, in any case.

    Raises:
        TrexError: No layer is meant, or several.
    """
    layers = engine.layers
    found = [layer.index for layer in layers if layer.name == text]
    number = text.removeprefix("#")
    if not found and number.isascii() and number.isdecimal() and len(number) < 10:
        if int(number) >= len(layers):
            raise TrexError(f"--around: there is no layer {number}; there are {len(layers)}, the first is 0")
        return int(number)
    if not found:
        having = select(engine, Word(text))
        folded = text.casefold()
        found = [layer.index for layer in having if layer.name.casefold() == folded]
        found = found or [layer.index for layer in having]
    if len(found) == 1:
        return found[0]
    if not found:
        raise TrexError(
            f"--around: no layer has {text!r} in its name, in any case; its index will do as well"
        )
    some = ", ".join(
        f"{index} {shorten_middle(printable(layers[index].name), 40)}" for index in found[:_MOST_NAMED]
    )
    more = ", …" if len(found) > _MOST_NAMED else ""
    raise TrexError(
        f"--around: {plural(len(found), 'layer')} could be meant ({some}{more}); name one by its index, "
        f"or all of them with --query {unparse(Word(text))!r} --radius N"
    )


def with_neighbours(engine: Engine, indices: Iterable[int], radius: int) -> frozenset[int]:
    """The layers, with those up to `radius` links downstream and those up to `radius` links upstream."""
    start = frozenset(indices)
    return start.union(
        _reached(engine, start, radius, downstream=True), _reached(engine, start, radius, downstream=False)
    )


def _reached(engine: Engine, start: frozenset[int], radius: int, *, downstream: bool) -> set[int]:
    seen, level = set(start), list(start)
    for _ in range(radius):
        beyond = []
        for index in level:
            layer = engine.layers[index]
            links = engine.consumers(layer) if downstream else engine.producers(layer)
            for link in links:
                other = link.target if downstream else link.source
                if other not in seen:
                    seen.add(other)
                    beyond.append(other)
        level = beyond
        if not level:
            break
    return seen


def chosen_layers(
    engine: Engine, query: str | None, around: str | None, radius: int | None
) -> frozenset[int] | None:
    """Indices of the layers to draw; None for all.

    `around` draws a layer and what is up to `radius` (2) links from it; `query` those that match, with what is up to
    `radius` (0) links from them. Both together: what both draw.

    Raises:
        TrexError: As `matching` and `layer_named`, or nothing is left to draw.
    """
    if around is None:
        return None if query is None else with_neighbours(engine, _queried(engine, query), radius or 0)
    near = with_neighbours(engine, [layer_named(engine, around)], 2 if radius is None else radius)
    if query is None:
        return near
    found = near & _queried(engine, query)
    if not found:
        raise TrexError("--around and --query have no layer in common")
    return found
