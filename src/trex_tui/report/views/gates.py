"""Results of gates: a table and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pandas as pd

from trex_tui.analysis.gates import FAILED, NOT_JUDGED, PASSED, GateResult
from trex_tui.column import Column
from trex_tui.report.document import Section, drop_empty_columns
from trex_tui.text import printable

_STATES = (FAILED, NOT_JUDGED, PASSED)
_LEAST_PRIORITY = 5


def count_gates(gates: Iterable[GateResult]) -> str:
    """Return `1 failed, 2 passed`."""
    counts = Counter(result.state for result in gates)
    return ", ".join(f"{counts[state]} {state}" for state in _STATES if counts[state])


def gates_section(gates: Sequence[GateResult]) -> Section:
    """Return a row for each gate and engine; failed ones first, then those that are not judged."""
    rows = [
        {
            "gate": result.state,
            "condition": printable(result.gate.text),
            "engine": printable(result.subject),
            "value": format_metric(result.gate.metric, result.value),
            "baseline": format_metric(result.gate.metric, result.baseline),
            "change": _format_compared(result),
            "95 % interval of the change": _format_interval(result),
            "note": printable(result.note),
        }
        for result in sorted(gates, key=lambda result: _STATES.index(result.state))
    ]
    columns = [Column(key, key, priority=min(number, _LEAST_PRIORITY)) for number, key in enumerate(rows[0])]
    is_bad = any(result.is_met is not False for result in gates)
    sentences, frame = [f"{count_gates(gates)}."], pd.DataFrame(rows)
    section = Section("gates", "Gates", sentences=sentences, frame=frame, columns=columns, noun="gate")
    return drop_empty_columns(replace(section, is_warning=is_bad))


def format_metric(metric: str, value: float | None) -> str | None:
    """Return the value of a metric with its unit; the interval of a verdict is that of the median latency."""
    if value is None:
        return None
    return Column("verdict_ms" if metric == "verdict" else metric, "").format(value, with_unit=True)


def _format_signed(metric: str, value: float) -> str:
    return ("−" if value < 0 else "+") + (format_metric(metric, abs(value)) or "")


def _format_compared(result: GateResult) -> str | None:
    gate = result.gate
    if not gate.is_relative or result.is_met is None:
        return None
    if result.compared is None:
        return "more than any percentage"
    if not result.compared:
        return "no change"
    if gate.is_percent:
        return f"{result.compared:+.2f} %".replace("-", "−")
    return _format_signed(gate.metric, result.compared)


def _format_interval(result: GateResult) -> str | None:
    if result.interval is None:
        return None
    return " to ".join(_format_signed(result.gate.metric, edge) for edge in result.interval)


def explain_gate(result: GateResult) -> str:
    """Return the result of a gate in a sentence without full stop."""
    gate, subject = result.gate, printable(result.subject)
    if result.is_met is None or gate.word:
        return f"{subject}: {gate.name}: {printable(result.note)}"
    words = f"{subject}: {gate.name} is {format_metric(gate.metric, result.value)}"
    if compared := _format_compared(result):
        words += f", {compared} against {format_metric(gate.metric, result.baseline)}"
    return f"{words}; {printable(result.note)}" if result.note else words
