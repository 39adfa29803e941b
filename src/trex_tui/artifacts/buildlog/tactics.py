"""The tactics that a builder timed, kept in columns: a build times millions of them, and an object each would cost gigabytes.

A log says which kernel a tactic is and how long it took; 20 bytes hold that. `Tactics` and `MyelinTactics` are sequences that
make an object only when one is looked at.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, overload

_T = TypeVar("_T")

NO_TACTIC = 0xD15EA5EDD15EA5ED
"""What the builder prints as the fastest where no tactic was valid (its time is `inf`)."""


@dataclass(frozen=True, slots=True)
class Tactic:
    """One tactic that was timed.

    Attributes:
        id: The 64 bits of its number, unsigned; equal to `TacticValue` of the layer information.
        name: Name of the kernel; None where the log gives numbers only (shuffles, reformats, cuBLAS, all of cuDNN).
        time_ms: None where the log prints no finite time.
    """

    id: int
    name: str | None
    time_ms: float | None

    @property
    def hex(self) -> str:
        """The number as TensorRT 8.2 and later print it: `0x632674f65e3422ae`."""
        return hex_id(self.id)


@dataclass(frozen=True, slots=True)
class MyelinTactic:
    """One row of a Myelin autotuning table (TensorRT 10 and later).

    Attributes:
        number: `tactic_id`, which counts from 0 within a table.
        time_ms: `cost(in ms)`.
        ratio: `cost/fastest_cost`.
        correlation: `prediction_correlation`, how well Myelin's model foresaw the time.
        kernel: `kernel_name`.
        hash: `tactic_hash`; no 64-bit tactic number.
        parameters: `tunable_parameter` and whatever follows it, verbatim.
    """

    number: int
    time_ms: float | None
    ratio: float | None
    correlation: float | None
    kernel: str
    hash: int
    parameters: str

    @property
    def hex(self) -> str:
        """The hash as the table prints it: `0x3e1a352cfdccf`."""
        return f"0x{self.hash:x}"


def hex_id(number: int) -> str:
    """A tactic number as TensorRT 8.2 and later print it, 16 digits."""
    return f"0x{number:016x}"


def parse_id(text: str) -> int | None:
    """The 64 bits of a tactic number: hexadecimal, or signed decimal as TensorRT 8.0 prints; None for anything else.

    >>> parse_id("-1") == parse_id("0xffffffffffffffff")
    True
    """
    try:
        number = int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    except ValueError:
        return None
    return number & 0xFFFF_FFFF_FFFF_FFFF if -(2**63) <= number < 2**64 else None


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(slots=True)
class Columns:
    """What all tactics of one log are kept in. Only the reader writes to it.

    Attributes:
        ids, times, names: One entry per tactic; `names` are places in `texts`.
        numbers, costs, ratios, correlations, kernels, hashes, parameters: One entry per row of Myelin's tables.
        texts: Names and parameters, each once; the first is the empty one.
    """

    ids: array[int] = field(default_factory=lambda: array("Q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    names: array[int] = field(default_factory=lambda: array("I"))
    numbers: array[int] = field(default_factory=lambda: array("Q"))
    costs: array[float] = field(default_factory=lambda: array("d"))
    ratios: array[float] = field(default_factory=lambda: array("d"))
    correlations: array[float] = field(default_factory=lambda: array("d"))
    kernels: array[int] = field(default_factory=lambda: array("I"))
    hashes: array[int] = field(default_factory=lambda: array("Q"))
    parameters: array[int] = field(default_factory=lambda: array("I"))
    texts: list[str] = field(default_factory=lambda: [""])


class _View(Sequence[_T], Generic[_T]):
    """A stretch of the columns."""

    __slots__ = ("_columns", "_start", "_stop")

    def __init__(self, columns: Columns, start: int, stop: int) -> None:
        self._columns = columns
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> _T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...

    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        places = range(self._start, self._stop)[index]
        if isinstance(places, int):
            return self._at(places)
        return [self._at(place) for place in places]

    def __iter__(self) -> Iterator[_T]:
        return map(self._at, range(self._start, self._stop))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)}>"

    @abstractmethod
    def _at(self, place: int) -> _T: ...


class Tactics(_View[Tactic]):
    """Tactics of one runner, in the order they were timed."""

    __slots__ = ()

    def _at(self, place: int) -> Tactic:
        columns = self._columns
        name = columns.texts[columns.names[place]]
        return Tactic(columns.ids[place], name or None, _known(columns.times[place]))

    @property
    def times_ms(self) -> array[float]:
        """All times; NaN or infinite where one was not measured."""
        return self._columns.times[self._start : self._stop]


class MyelinTactics(_View[MyelinTactic]):
    """Rows of one Myelin table, the fastest first."""

    __slots__ = ()

    def _at(self, place: int) -> MyelinTactic:
        columns = self._columns
        return MyelinTactic(
            columns.numbers[place],
            _known(columns.costs[place]),
            _known(columns.ratios[place]),
            _known(columns.correlations[place]),
            columns.texts[columns.kernels[place]],
            columns.hashes[place],
            columns.texts[columns.parameters[place]],
        )

    @property
    def times_ms(self) -> array[float]:
        """All costs; NaN or infinite where one is no number."""
        return self._columns.costs[self._start : self._stop]
