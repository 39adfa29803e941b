"""What GPUs can do per SM and clock, and where their drivers mislead.

`gpu_peaks.json` holds them, each with its sources and whether it was read there or inferred. This module gives them types.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

READ = "read"
"""The figure stands in its sources."""

INFERRED = "inferred"
"""The figure was worked out, carried over from a related part, or recalled."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "==": lambda value, bound: abs(value - bound) < 0.0005,  # clocks are reported to the MHz
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Source:
    """A document: its title, and what kind of evidence it is (NVIDIA's own text, a copy of it, a third party, …)."""

    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class Rate:
    """Dense multiply-accumulates that an SM finishes per clock.

    Attributes:
        name: `fp32_cuda`, `fp16_tc_acc32`, …: type, unit (CUDA cores or tensor cores), accumulator.
        mac_per_sm_clock: One multiply-accumulate is two operations.
        tag: `READ` or `INFERRED`.
        sources: Where it comes from.
    """

    name: str
    mac_per_sm_clock: int
    tag: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Architecture:
    """A compute capability.

    Attributes:
        rates: By name, for parts sold as GeForce and for all others.
        is_integrated: Shares the memory of the host; then the driver's memory clock and bus width mean nothing.
        sparsity_doubles: 2:4 sparse weights double the tensor rates.
        tensor_clock_scale: Clock of the published tensor peaks over the clock that the driver reports.
        note: What to know about the rates; may be empty.
    """

    compute_capability: str
    name: str
    rates: Mapping[bool, Mapping[str, Rate]]
    is_integrated: bool = False
    sparsity_doubles: bool = False
    tensor_clock_scale: float = 1.0
    tensor_clock_tag: str = INFERRED
    tensor_clock_sources: tuple[Source, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Correction:
    """A value that replaces what the driver of one product reports, or scales what its architecture suggests.

    Attributes:
        name: Pattern for the device name without `NVIDIA `.
        any_of: Alternatives; each is a list of (quantity, operator, bound) that must all hold.
        product: What such a device is sold as.
    """

    name: re.Pattern[str]
    any_of: tuple[tuple[tuple[str, str, float], ...], ...]
    product: str
    value: float
    tag: str
    sources: tuple[Source, ...]
    note: str

    def applies(self, name: str, quantities: Mapping[str, float | None]) -> bool:
        """Whether a device of this (shortened) name and these reported quantities is meant; a missing one never fits."""
        return bool(self.name.search(name)) and any(
            all(_holds(quantities.get(quantity), sign, bound) for quantity, sign, bound in conditions)
            for conditions in self.any_of
        )


def _holds(value: float | None, sign: str, bound: float) -> bool:
    return value is not None and _OPERATORS[sign](value, bound)


@dataclass(frozen=True, slots=True)
class GpuPeaks:
    """All of `gpu_peaks.json`.

    Attributes:
        architectures: By compute capability, `8.6`.
        integrated: Compute capabilities whose memory belongs to the host, also those without rates.
        geforce_names: Patterns of names whose FP32 accumulation may run at half rate.
        corrections: By quantity (`bandwidth_gb_per_s`, `clock_ghz`, `tensor_factor`); the first that applies wins.
        cautions: Pattern of a name, and a sentence about such devices.
    """

    architectures: Mapping[str, Architecture]
    integrated: frozenset[str]
    geforce_names: tuple[re.Pattern[str], ...]
    corrections: Mapping[str, tuple[Correction, ...]]
    cautions: tuple[tuple[re.Pattern[str], str], ...] = field(default=())

    def correction(
        self, quantity: str, name: str, quantities: Mapping[str, float | None]
    ) -> Correction | None:
        """The correction of a quantity for a device, or None."""
        return next((one for one in self.corrections[quantity] if one.applies(name, quantities)), None)

    def is_geforce(self, name: str) -> bool:
        """Whether a device counts as GeForce, whose FP32 accumulation may be halved."""
        return any(pattern.search(name) for pattern in self.geforce_names)


def short_name(name: str) -> str:
    """A device name without `NVIDIA `, which older drivers leave out."""
    return name.removeprefix("NVIDIA ").strip()


@lru_cache(maxsize=1)
def gpu_peaks() -> GpuPeaks:
    """Read the table, once."""
    from importlib.resources import files  # 10 ms, and only needed where a roofline is

    root = json.loads(files("trex_tui.analysis").joinpath("gpu_peaks.json").read_text(encoding="utf-8"))
    sources = {key: Source(one["title"], one["kind"]) for key, one in root["sources"].items()}
    architectures = {
        capability: _architecture(capability, one, sources)
        for capability, one in root["architectures"].items()
    }
    for capability, twin in root["same_architecture"].items():
        architectures[capability] = architectures[twin]
    integrated = {capability for capability, one in architectures.items() if one.is_integrated}
    return GpuPeaks(
        architectures,
        frozenset(integrated.union(root["integrated_without_rates"])),
        tuple(re.compile(one["name"]) for one in root["geforce_names"]),
        {
            quantity: tuple(_correction(one, sources) for one in rows)
            for quantity, rows in root["corrections"].items()
        },
        tuple((re.compile(one["name"]), one["note"]) for one in root["cautions"]),
    )


def _named(sources: Mapping[str, Source], keys: list[str]) -> tuple[Source, ...]:
    return tuple(sources[key] for key in keys)


def _architecture(capability: str, raw: dict[str, Any], sources: Mapping[str, Source]) -> Architecture:
    rates: dict[bool, dict[str, Rate]] = {True: {}, False: {}}
    for name, one in raw["rates"].items():
        for geforce, variant in ((True, "geforce"), (False, "other")):
            value = one.get(variant, one)
            rates[geforce][name] = Rate(name, value["mac"], value["tag"], _named(sources, one["src"]))
    scale = raw.get("tensor_clock_scale", {"value": 1.0, "tag": INFERRED, "src": []})
    return Architecture(
        compute_capability=capability,
        name=raw["name"],
        rates=rates,
        is_integrated=raw["integrated"],
        sparsity_doubles=raw["sparsity_doubles"],
        tensor_clock_scale=scale["value"],
        tensor_clock_tag=scale["tag"],
        tensor_clock_sources=_named(sources, scale["src"]),
        note=raw.get("note", ""),
    )


def _correction(raw: dict[str, Any], sources: Mapping[str, Source]) -> Correction:
    alternatives = tuple(
        tuple((quantity, sign, bound) for quantity, sign, bound in one) for one in raw["any_of"]
    )
    return Correction(
        re.compile(raw["name"]),
        alternatives,
        raw["product"],
        raw["value"],
        raw["tag"],
        _named(sources, raw["src"]),
        raw["note"],
    )
