"""Power, temperature and clocks of a run, and the energy per inference: facts, warnings, and the table of layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trex_tui.old.analysis.energy import (
    LayerEnergy,
    PowerStatistics,
    Quantity,
    Scope,
    describe_throttling,
    layer_energies,
    power_statistics,
)
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.document import Column, Section, make_table
from trex_tui.old.report.render_json import plain
from trex_tui.old.text import format_energy, format_watts, printable

_SCOPES = {
    Scope.MEASUREMENT: "those of the measurement",
    Scope.BUSY: "those with a busy GPU",
    Scope.FILE: "all of the file",
}
_STATISTICS = (
    ("GPU temperature", "gpu_temperature_c", "°C"),
    ("GPU clock", "gpu_clock_mhz", "MHz"),
    ("Memory clock", "memory_clock_mhz", "MHz"),
    ("GPU utilization", "gpu_utilization_pct", "%"),
    ("Memory used", "memory_used_mib", "MiB"),
)
"""Label, attribute of `PowerStatistics`, unit."""
COLUMNS = (
    Column("name", "Layer", value=lambda layer: layer.name, flex=True, help="Name of the layer."),
    Column(
        "calls",
        "Calls",
        value=lambda layer: layer.calls,
        is_number=True,
        help="Calls of the layer in the profile.",
    ),
    Column(
        "measured_calls",
        "Measured",
        value=lambda layer: layer.measured_calls,
        is_number=True,
        help="Calls during which a sample of power was taken; the estimate rests on these.",
    ),
    Column(
        "samples",
        "Samples",
        value=lambda layer: layer.samples,
        is_number=True,
        help="Samples of power during these calls.",
    ),
    Column(
        "time_ms",
        "ms",
        value=lambda layer: layer.time_ms,
        is_number=True,
        help="Mean time of the measured calls.",
    ),
    Column(
        "power_w",
        "W",
        value=lambda layer: layer.power_w,
        is_number=True,
        help="Mean over the measured calls of the mean of the samples between start and end.",
    ),
    Column(
        "power_above_idle_w",
        "W above idle",
        value=lambda layer: layer.power_above_idle_w,
        is_number=True,
        help="The same without the power of the idle board.",
    ),
    Column(
        "energy_mj",
        "mJ",
        value=lambda layer: layer.energy_mj,
        is_number=True,
        help="Estimate: mean over the measured calls of power · time.",
    ),
    Column(
        "energy_above_idle_mj",
        "mJ above idle",
        value=lambda layer: layer.energy_above_idle_mj,
        is_number=True,
        help="The same without the power of the idle board.",
    ),
)


def power_document(engine: Engine) -> dict[str, Any] | None:
    """Return `power` of `summary --json`; None without samples."""
    power = power_statistics(engine)
    if power is None:
        return None
    return {**plain(power), "layers": [plain(layer) for layer in _layers(engine)]}


def power_sections(engine: Engine) -> Iterator[Section]:
    """Yield facts about power, and the energy of layers; nothing without samples."""
    power = power_statistics(engine)
    if power is None:
        return
    throttled = describe_throttling(power)
    sentences = [f"GPU throttled during the measurement: {printable(throttled)}."] if throttled else []
    yield Section(
        "power",
        "Power",
        sentences=[*sentences, *power.notes],
        facts=power_facts(power),
        is_warning=bool(sentences),
    )
    if layers := _layers(engine):
        table = make_table("layer_energy", COLUMNS, layers, noun="layer")
        note = "Estimate: board power of the samples during calls of the layer, times its time."
        yield Section("layer-energy", "Energy of layers", sentences=[note], tables=[table])


def _layers(engine: Engine) -> list[LayerEnergy]:
    """Return layers with a sample, the one with most energy first."""
    known = [layer for layer in layer_energies(engine).values() if layer.energy_mj is not None]
    return sorted(known, key=lambda layer: -(layer.energy_mj or 0.0))


def power_facts(power: PowerStatistics) -> list[tuple[str, str]]:
    """Return known facts, by label."""
    facts = []
    if power.power_w is not None:
        what = printable(power.power_of)
        facts.append(
            (
                "Power",
                f"mean {format_watts(power.power_w.mean)}, peak {format_watts(power.power_w.max)} ({what})",
            )
        )
    if power.idle_w is not None:
        facts.append(("Idle power", format_watts(power.idle_w)))
    if power.energy_per_inference_j is not None:
        facts.append(("Energy per inference", format_energy(power.energy_per_inference_j)))
    if power.energy_above_idle_j is not None:
        facts.append(("Energy above idle", format_energy(power.energy_above_idle_j)))
    if power.inferences_per_joule is not None:
        facts.append(("Inferences per joule", f"{power.inferences_per_joule:.4g}"))
    facts += [
        (label, _describe(quantity, unit))
        for label, attribute, unit in _STATISTICS
        if (quantity := getattr(power, attribute)) is not None
    ]
    if len(power.rails_w) > 1:
        rails = (f"{printable(name)} {format_watts(rail.mean)}" for name, rail in power.rails_w.items())
        facts.append(("Power rails", ", ".join(rails)))
    facts.append(("Throttling", _throttling_text(power)))
    facts.append(("Samples", _samples_text(power)))
    return facts


def _describe(quantity: Quantity, unit: str) -> str:
    mean, low, high = (f"{value:.4g}" for value in (quantity.mean, quantity.min, quantity.max))
    return f"{mean} {unit}" if low == high else f"mean {mean} {unit}, {low} to {high} {unit}"


def _throttling_text(power: PowerStatistics) -> str:
    if power.throttling is None:
        return f"not stated by {power.producer}" if power.samples else "unknown: no usable samples"
    return printable(describe_throttling(power)) or "none"


def _samples_text(power: PowerStatistics) -> str:
    count = (
        f"{power.samples} of {power.all_samples}" if power.samples < power.all_samples else f"{power.samples}"
    )
    every = "" if power.interval_s is None else f", every {power.interval_s:.3g} s"
    every += " (assumed)" if power.is_interval_assumed else ""
    return f"{count}, {_SCOPES[power.scope]}; {power.producer}{every}"
