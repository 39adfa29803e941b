"""The module of each block: of the side that knows it, in the spelling of the baseline.

An engine whose names have numbers in place of paths knows no modules; matched with one that does, its layers lie in the
modules of the other. Exports that put a prefix before their modules, or spell them otherwise, are told apart by the blocks
that both have layers in: what only one of them has is then put where its neighbours are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from trex_tui.analysis.compare.traits import Traits
from trex_tui.analysis.modules import module_path
from trex_tui.engine.model import Layer

Path = tuple[str, ...]


def find_modules(
    traits: Sequence[Traits], baseline: int, groups: Sequence[Sequence[Sequence[int]]]
) -> list[Path]:
    """The module of each block, outermost first; empty where no engine states one near it.

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
    """The module of the layer that does most of the work, else of the first that has one."""
    if len(layers) < 2:
        return module_path(traits.engine.layers[layers[0]]) if layers else ()
    members: list[Layer] = [traits.engine.layers[index] for index in layers]
    members.sort(key=lambda layer: (not layer.kind.multiplies, not layer.kind.is_work, layer.index))
    return next((path for path in map(module_path, members) if path), ())


def _learn_spellings(
    owns: Sequence[Sequence[Path]], modules: Sequence[Path], count: int
) -> list[dict[Path, Path]]:
    """Per engine, the starts of its paths that blocks have otherwise, and how most of them have it."""
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
