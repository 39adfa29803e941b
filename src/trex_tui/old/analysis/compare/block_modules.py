"""Find the module of each block, spelled as in the baseline.

An engine whose names have numbers instead of paths has no modules; its layers get the modules of their matches in the other
engine. Exports that add a prefix to module names, or spell them differently, are translated by means of blocks with layers of
both; a block of one engine gets the module of its neighbours.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.analysis.modules import module_path
from trex_tui.old.engine.model import Layer

Path = tuple[str, ...]


def find_modules(
    traits: Sequence[Traits], baseline: int, groups: Sequence[Sequence[Sequence[int]]]
) -> list[Path]:
    """Return the module of each block, outermost first; empty if no engine names one near it.

    Args:
        groups: Per block and engine, the indices of its layers.
    """
    order = (baseline, *(index for index in range(len(traits)) if index != baseline))
    owns = [[_own_path(traits[index], layers) for index, layers in enumerate(group)] for group in groups]
    modules: list[Path] = [next((own[index] for index in order if own[index]), ()) for own in owns]
    spellings = _learn_spellings(owns, modules, len(traits))
    for place, own in enumerate(owns):
        holders = [index for index in order if groups[place][index]]
        if holders[0] != baseline and modules[place]:
            teller = next(index for index in order if own[index])
            modules[place] = _respell(modules[place], spellings[teller])
    _lend_to_neighbours(traits, groups, modules)
    return modules


def _own_path(traits: Traits, layers: Sequence[int]) -> Path:
    """Return the module of the layer that does most of the work, else of the first layer with a module."""
    if len(layers) < 2:
        return module_path(traits.engine.layers[layers[0]]) if layers else ()
    members: list[Layer] = [traits.engine.layers[index] for index in layers]
    members.sort(key=lambda layer: (not layer.kind.multiplies, not layer.kind.is_work, layer.index))
    return next((path for path in map(module_path, members) if path), ())


def _learn_spellings(
    owns: Sequence[Sequence[Path]], modules: Sequence[Path], count: int
) -> list[dict[Path, Path]]:
    """Return, per engine, the path prefixes that are spelled differently in blocks, and their most common spelling."""
    votes: list[dict[Path, Counter[Path]]] = [defaultdict(Counter) for _ in range(count)]
    for own, module in zip(owns, modules, strict=True):
        for index, path in enumerate(own):
            if path and module:
                shared = 0
                while shared < min(len(path), len(module)) and path[-1 - shared] == module[-1 - shared]:
                    shared += 1
                votes[index][path[: len(path) - shared]][module[: len(module) - shared]] += 1
    return [{start: counts.most_common(1)[0][0] for start, counts in own.items()} for own in votes]


def _respell(path: Path, spellings: dict[Path, Path]) -> Path:
    for length in range(len(path), -1, -1):
        if path[:length] in spellings:
            return spellings[path[:length]] + path[length:]
    return path


def _lend_to_neighbours(
    traits: Sequence[Traits], groups: Sequence[Sequence[Sequence[int]]], modules: list[Path]
) -> None:
    """Give blocks without a module that of the layers that read from them, else of those that they read from."""
    places = [[0] * len(own) for own in traits]
    for place, group in enumerate(groups):
        for index, layers in enumerate(group):
            for layer in layers:
                places[index][layer] = place
    lent = {}
    for place, group in enumerate(groups):
        if modules[place]:
            continue
        for neighbours in ([own.after for own in traits], [own.before for own in traits]):
            known = Counter(
                path
                for index, layers in enumerate(group)
                for layer in layers
                for other in neighbours[index][layer]
                if (path := modules[places[index][other]])
            )
            if known:
                lent[place] = known.most_common(1)[0][0]
                break
    for place, path in lent.items():
        modules[place] = path
