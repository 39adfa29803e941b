"""Gates on the newest build of a history: `latency_p99_ms > last5 + 3%` compares with the five before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from trex_tui.old.analysis.compare.gate_metrics import format_compared, format_metric
from trex_tui.old.analysis.gates import Gate, GateError, GateMetrics, GateResult, parse_gate
from trex_tui.old.analysis.statistics import median
from trex_tui.old.fleet.history import MEASURES, History
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

METRICS = GateMetrics(
    names=tuple(measure.key for measure in MEASURES),
    examples=("latency_p99_ms > last5 + 3%", "layers > last1 + 0"),
    has_baseline=True,
)
_LAST = re.compile(r"\blast\s*(\d+)\s*(?=[+\-−])", re.IGNORECASE)
_SIGN = re.compile(r"([+\-−])\s+(?=\d)")


@dataclass(frozen=True, slots=True)
class HistoryGate:
    """A gate, and the number of earlier builds that it compares with; 0 if it compares with none."""

    gate: Gate
    last: int


def parse_history_gate(text: str) -> HistoryGate:
    """Parse a gate. A signed number without `lastN` is the difference to the build before.

    Raises:
        GateError: The text is not a gate.
    """
    found = _LAST.search(text)
    if found is not None and int(found[1]) < 1:
        raise GateError(f"gate {text!r}: last0 names no build; write last1 or more")
    gate = parse_gate(_SIGN.sub(r"\1", _LAST.sub("", text)), METRICS)
    last = int(found[1]) if found is not None else 1
    return HistoryGate(replace(gate, text=text.strip()), last if gate.is_relative else 0)


def judge_history(history: History, gates: Sequence[HistoryGate]) -> list[GateResult]:
    """Judge gates for the newest build."""
    return [_judge(history, each) for each in gates]


def _judge(history: History, given: HistoryGate) -> GateResult:
    gate, newest = given.gate, history.builds[-1]
    value = newest.mean(gate.metric)
    if value is None:
        return _not_judged(history, gate, f"{newest.name} has no {gate.metric}")
    if not given.last:
        fell = gate.falls(value)
        why = f"{gate.metric} of {newest.name} is {format_metric(gate.metric, value)}"
        return GateResult(gate, history.name, fell, value, None, value, why)
    earlier = [build.mean(gate.metric) for build in history.builds[:-1]]
    known = [number for number in earlier if number is not None][-given.last :]
    if len(known) < given.last:
        builds = plural(given.last, "earlier build")
        return _not_judged(history, gate, f"needs {builds} with {gate.metric}; there are {len(known)}")
    baseline = median(known)
    compared = gate.compare(value, baseline)
    why = (
        f"{gate.metric} of {newest.name} is {format_metric(gate.metric, value)}, "
        f"{format_compared(gate, compared)} against {format_metric(gate.metric, baseline)} "
        f"({'the build before' if given.last == 1 else f'median of {given.last} builds'})"
    )
    return GateResult(gate, history.name, gate.falls(compared), value, baseline, compared, why)


def _not_judged(history: History, gate: Gate, note: str) -> GateResult:
    return GateResult(gate, history.name, None, None, None, None, note, note=note)
