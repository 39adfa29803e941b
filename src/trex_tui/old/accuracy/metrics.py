"""Differences between two outputs: sums accumulated over samples, and the measures computed from them.

Everything is accumulated in double precision. An element that is NaN or infinite on either side is in no sum; it is counted,
and counted again if the other side does not have the same value.

With reference r, test t and d = t − r over all compared elements:

    mae = mean |d|                     rmse = √mean d²               max_abs = max |d|
    max_rel = max |d| / |r|, mean_rel = mean of the same, both over r ≠ 0
    cosine = Σ r·t / √(Σ r² · Σ t²)    sqnr_db = 10 · log10(Σ r² / Σ d²)
    argmax_agreement_pct: share of the positions along the class axis with the same index of the largest value

A gate judges each output over all samples together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.gates import Gate, GateError, GateMetrics, GateResult
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.accuracy.tensors import Array

GATE_METRICS = GateMetrics(
    names=("mae", "max_abs", "max_rel", "rmse", "cosine", "sqnr_db", "argmax_agreement_pct"),
    examples=("mae > 0.01", "argmax_agreement_pct < 99"),
)
_HELD = {">": "≤", ">=": "<", "<": "≥", "<=": ">", "==": "≠", "!=": "="}
_LARGEST = frozenset(("max_abs", "max_rel"))


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of one output over some samples; can be added.

    Attributes:
        samples: Number of samples.
        elements: Number of elements on each side.
        compared: Elements that are finite on both sides: the base of all sums.
        nan_reference, inf_reference, nan_test, inf_test: Elements of each side that are not finite.
        nonfinite_mismatch: Elements that are not finite on one side and differ on the other.
        nonzero: Compared elements whose reference is not zero: the base of the relative differences.
        outside: Compared elements with |d| > atol + rtol · |r|.
        rows, agreeing_rows: Positions along the class axis, and those with the same index of the largest value.
    """

    samples: int = 0
    elements: int = 0
    compared: int = 0
    nan_reference: int = 0
    inf_reference: int = 0
    nan_test: int = 0
    inf_test: int = 0
    nonfinite_mismatch: int = 0
    abs_error: float = 0.0
    squared_error: float = 0.0
    squared_reference: float = 0.0
    squared_test: float = 0.0
    product: float = 0.0
    rel_error: float = 0.0
    nonzero: int = 0
    max_abs: float = 0.0
    max_rel: float = 0.0
    outside: int = 0
    rows: int = 0
    agreeing_rows: int = 0

    def __add__(self, other: Sums) -> Sums:
        pairs = (
            (sum_field.name, getattr(self, sum_field.name), getattr(other, sum_field.name))
            for sum_field in fields(Sums)
        )
        return Sums(**{name: max(a, b) if name in _LARGEST else a + b for name, a, b in pairs})


def class_axis(shape: tuple[int, ...]) -> int | None:
    """Return the axis of the classes: channels of maps and batches, the last axis of everything else; None for no axis.

    >>> class_axis((8, 1000)), class_axis((1, 19, 512, 1024)), class_axis((1, 77, 30522)), class_axis((1,))
    (1, 1, 2, None)
    """
    if not shape:
        return None
    axis = 1 if len(shape) in (4, 5) else len(shape) - 1
    return axis if shape[axis] > 1 else None


def compare(
    reference: Array, test: Array, *, rtol: float = 0.0, atol: float = 0.0, axis: int | None = None
) -> Sums:
    """Compare one output of one sample.

    Args:
        reference, test: Arrays of the same shape.
        rtol, atol: Tolerance; outside if |d| > atol + rtol · |r|.
        axis: The class axis; None for no argmax.
    """
    import numpy as np

    if reference.shape != test.shape:
        raise ValueError(f"shapes {reference.shape} and {test.shape}")
    left, right = np.asarray(reference, np.float64), np.asarray(test, np.float64)
    finite_left, finite_right = np.isfinite(left), np.isfinite(right)
    both = finite_left & finite_right
    with np.errstate(over="ignore", invalid="ignore"):
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        r, t = left[both], right[both]
        d = np.abs(t - r)
        known = r != 0
        relative = d[known] / np.abs(r[known])
        rows, agreeing = (0, 0) if axis is None else _argmax(left, right, axis)
        return Sums(
            samples=1,
            elements=int(left.size),
            compared=int(r.size),
            nan_reference=int(np.isnan(left).sum()),
            inf_reference=int(np.isinf(left).sum()),
            nan_test=int(np.isnan(right).sum()),
            inf_test=int(np.isinf(right).sum()),
            nonfinite_mismatch=int((~both & ~same).sum()),
            abs_error=float(d.sum()),
            squared_error=float((d * d).sum()),
            squared_reference=float((r * r).sum()),
            squared_test=float((t * t).sum()),
            product=float((r * t).sum()),
            rel_error=float(relative.sum()),
            nonzero=int(known.sum()),
            max_abs=float(d.max(initial=0.0)),
            max_rel=float(relative.max(initial=0.0)),
            outside=int((d > atol + rtol * np.abs(r)).sum()),
            rows=rows,
            agreeing_rows=agreeing,
        )


def _argmax(left: Array, right: Array, axis: int) -> tuple[int, int]:
    """Return the number of positions without NaN, and how many of them agree. The first of equal values counts."""
    import numpy as np

    usable = ~(np.isnan(left).any(axis=axis) | np.isnan(right).any(axis=axis))
    agree = np.argmax(left, axis=axis) == np.argmax(right, axis=axis)
    return int(usable.sum()), int((agree & usable).sum())


def measures(sums: Sums) -> dict[str, Any]:
    """Return the measures of some sums; None for undefined values, whose reason is in `reasons`."""
    reasons: dict[str, str] = {}
    values: dict[str, Any] = {
        "samples": sums.samples,
        "elements": sums.elements,
        "compared": sums.compared,
        **{name: getattr(sums, name) for name in ("nan_reference", "inf_reference", "nan_test", "inf_test")},
        "nonfinite_mismatch": sums.nonfinite_mismatch,
    }
    count = sums.compared
    if not count:
        for name in ("mae", "max_abs", "rmse", "max_rel", "mean_rel", "cosine", "sqnr_db", "outside"):
            values[name], reasons[name] = None, "no elements are finite on both sides"
    else:
        values["mae"] = sums.abs_error / count
        values["max_abs"] = sums.max_abs
        values["rmse"] = math.sqrt(sums.squared_error / count)
        if sums.nonzero and math.isfinite(sums.rel_error):
            values["max_rel"], values["mean_rel"] = sums.max_rel, sums.rel_error / sums.nonzero
        else:
            why = "every reference is zero" if not sums.nonzero else "too large for a number"
            values.update(max_rel=None, mean_rel=None)
            reasons.update(max_rel=why, mean_rel=why)
        values["cosine"] = _cosine(sums, reasons)
        values["sqnr_db"] = _sqnr_db(sums, reasons)
        values["outside"] = sums.outside
    values["zero_reference"] = count - sums.nonzero
    values["argmax_rows"] = sums.rows
    values["argmax_agreement_pct"] = 100 * sums.agreeing_rows / sums.rows if sums.rows else None
    if not sums.rows:
        reasons["argmax_agreement_pct"] = "no class axis, or only NaN"
    for name, value in values.items():
        if isinstance(value, float) and not math.isfinite(value):
            values[name], reasons[name] = None, "too large for a number"
    values["reasons"] = reasons
    return values


def _cosine(sums: Sums, reasons: dict[str, str]) -> float | None:
    if sums.squared_error == 0:
        return 1.0  # two zero vectors agree in direction
    length = math.sqrt(sums.squared_reference) * math.sqrt(sums.squared_test)
    if not length:
        side = "reference" if not sums.squared_reference else "test"
        reasons["cosine"] = f"the {side} is zero everywhere"
        return None
    return max(-1.0, min(1.0, sums.product / length))


def _sqnr_db(sums: Sums, reasons: dict[str, str]) -> float | None:
    if sums.squared_error == 0:
        reasons["sqnr_db"] = "infinite: the outputs are equal"
        return None
    if not sums.squared_reference:
        reasons["sqnr_db"] = "the reference is zero everywhere"
        return None
    return 10 * (math.log10(sums.squared_reference) - math.log10(sums.squared_error))


def judge_gates(
    gates: Sequence[Gate], tolerance: tuple[float, float] | None, outputs: Sequence[Mapping[str, Any]]
) -> list[GateResult]:
    """Judge every output by every gate.

    An element that is finite on one side only cannot enter a mean: its output fails every gate.

    Args:
        tolerance: rtol and atol, if a gate uses them.
        outputs: `measures` of each output, with its name.

    Raises:
        GateError: A gate cannot be judged for any output.
    """
    results: list[GateResult] = []
    for gate in gates:
        judged = [result for output in outputs if (result := _judge(gate, output))]
        if not judged:
            raise GateError(f"{gate.text}: no output has a {gate.metric}; gate not judged")
        results += judged
    if tolerance is not None:
        results += [_judge_tolerance(tolerance, output) for output in outputs]
    return results


def _judge(gate: Gate, output: Mapping[str, Any]) -> GateResult | None:
    value = output[gate.metric]
    if beyond := _nonfinite(output):
        return GateResult(gate, output["name"], True, value, None, None, beyond)
    if value is not None:
        fell = gate.falls(value)
        sign = gate.operator if fell else _HELD[gate.operator]
        why = f"{gate.metric} {value:.6g} {sign} {gate.number:g}"
        return GateResult(gate, output["name"], fell, value, None, value, why)
    if gate.metric == "argmax_agreement_pct" or not output["compared"]:
        return None
    why = f"{gate.metric} has no value: {output['reasons'].get(gate.metric, '')}"
    return GateResult(gate, output["name"], output["max_abs"] != 0, None, None, None, why)


def _judge_tolerance(tolerance: tuple[float, float], output: Mapping[str, Any]) -> GateResult:
    rtol, atol = tolerance
    outside = output["outside"]
    gate = Gate(f"--rtol {rtol:g} --atol {atol:g}", "outside", "", ">", 0)
    why = f"{outside or 0} of {output['compared']} elements differ by more than {atol:g} + {rtol:g} · |reference|"
    beyond = _nonfinite(output)
    return GateResult(gate, output["name"], bool(beyond or outside), outside, None, outside, beyond or why)


def _nonfinite(output: Mapping[str, Any]) -> str:
    count = output["nonfinite_mismatch"]
    if not count:
        return ""
    return f"{count} of {output['elements']} elements are NaN or infinite on one side only"
