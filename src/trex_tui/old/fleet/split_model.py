"""Models that Torch-TensorRT split into several engines: `_run_on_acc_0`, `_run_on_acc_2`, … of one directory.

Its partitioner numbers the parts of a module from 0, those for TensorRT (`_run_on_acc_N`) and those for PyTorch
(`_run_on_gpu_N`) together. Parts for PyTorch write no files: their numbers are missing, and their times unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import engine_stem
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

_PART = re.compile(r"(?P<model>.*?)_?_run_on_acc_(?P<number>\d{1,6})", re.DOTALL)
_MOST_NAMED = 5
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ModelPart:
    """One engine of a split model.

    Attributes:
        number: Position among the parts.
        latency_sum_ms: Sum of its layers' times; None without a profile.
        latency_pct: Share in the sum over all engines; None if unknown.
    """

    engine: Engine
    number: int
    latency_sum_ms: float | None
    latency_pct: float | None


@dataclass(frozen=True, slots=True)
class SplitModel:
    """The engines of one model.

    Attributes:
        name: Name of the directory, or the part of the files' names before the number.
        parts: At least two, in order of their numbers.
        latency_sum_ms: Sum over the engines with times; None if there is none.
        without_times: Engines without times, which are in no sum.
        missing: Numbers between those of the engines: parts that PyTorch runs, or whose files are elsewhere.
    """

    name: str
    parts: tuple[ModelPart, ...]
    latency_sum_ms: float | None
    without_times: int
    missing: tuple[int, ...]

    @property
    def layers(self) -> int:
        return sum(len(part.engine.layers) for part in self.parts)

    def hottest(self, top: int) -> list[tuple[ModelPart, Layer]]:
        """Return the slowest layers over all engines."""
        timed = [
            (part, layer)
            for part in self.parts
            for layer in part.engine.layers
            if layer.latency_ms is not None
        ]
        return sorted(timed, key=lambda entry: -(entry[1].latency_ms or 0.0))[:top]

    def describe_missing(self) -> str:
        """Return a sentence about the missing numbers; empty for none."""
        if not self.missing:
            return ""
        named = ", ".join(map(str, self.missing[:_MOST_NAMED]))
        more = f" and {len(self.missing) - _MOST_NAMED} more" if len(self.missing) > _MOST_NAMED else ""
        word = plural(len(self.missing), "part").partition(" ")[2].capitalize()
        return (
            f"{word} {named}{more}: not TensorRT (PyTorch runs them), or their files are elsewhere; no times."
        )


def find_split_models(engines: Sequence[Engine]) -> list[SplitModel]:
    """Return the models of which several engines are given, in the order of their first engines."""
    return [
        _make_model(name, parts) for name, parts in _find_parts((engine.source, engine) for engine in engines)
    ]


def find_parts(items: Iterable[tuple[ArtifactSet, Item]]) -> list[tuple[str, list[Item]]]:
    """Return the split models among sets: name, and the items of its parts in order of their numbers."""
    return [(name, [parts[number] for number in sorted(parts)]) for name, parts in _find_parts(items)]


def _find_parts(items: Iterable[tuple[ArtifactSet, Item]]) -> list[tuple[str, dict[int, Item]]]:
    found: dict[tuple[Path, str], dict[int, Item]] = {}
    for source, item in items:
        stem = engine_stem(next(iter(source.files.values()), Path()))
        if match := _PART.fullmatch(stem):
            key = source.directory.absolute(), match["model"]
            found.setdefault(key, {}).setdefault(int(match["number"]), item)
    return [(name or directory.name, parts) for (directory, name), parts in found.items() if len(parts) > 1]


def _make_model(name: str, engines: dict[int, Engine]) -> SplitModel:
    sums = [engine.latency_sum_ms for engine in engines.values()]
    known = [time for time in sums if time is not None]
    whole = math.fsum(known) if known else None
    parts = [
        ModelPart(
            engine,
            number,
            engine.latency_sum_ms,
            100.0 * engine.latency_sum_ms / whole if whole and engine.latency_sum_ms is not None else None,
        )
        for number, engine in sorted(engines.items())
    ]
    missing = tuple(number for number in range(parts[-1].number) if number not in engines)
    return SplitModel(name, tuple(parts), whole, len(sums) - len(known), missing)
