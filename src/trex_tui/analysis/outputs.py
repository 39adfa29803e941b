"""Differences between two outputs: sums over samples, measures computed from them, and gates.

Everything is accumulated in double precision. An element that is NaN or infinite on either side is in no sum; it is counted,
and counted again if the other side does not have the same value. With reference r, test t and d = t − r over the others:

    mae = mean |d|                     rmse = √mean d²               max_abs = max |d|
    max_rel = max |d| / |r|, mean_rel = mean of the same, both over r ≠ 0
    cosine = Σ r·t / √(Σ r² · Σ t²)    sqnr_db = 10 · log10(Σ r² / Σ d²)
    argmax_agreement_pct: share of the positions along the class axis with the same index of the largest value
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import add
from typing import Any

import numpy as np

from trex_tui.analysis.gates import Gate, GateError, GateMetrics, GateResult, judge
from trex_tui.column import Column, by_key
from trex_tui.text import plural

Array = np.ndarray[Any, np.dtype[Any]]
METRICS = GateMetrics(
    names=("mae", "max_abs", "max_rel", "mean_rel", "rmse", "cosine", "sqnr_db", "argmax_agreement_pct"),
    examples=("mae > 0.01", "argmax_agreement_pct < 99"),
)
COLUMNS = by_key(
    Column("output", "output", "Name of the output.", priority=0),
    Column("types", "type", "Type in the reference and in the test.", priority=2, is_list=True),
    Column("mae", "MAE", "Mean absolute difference.", formula="mean |d|", priority=1),
    Column("max_abs", "max |d|", "Largest absolute difference.", formula="max |d|", priority=1),
    Column("max_rel", "max rel", "Largest relative difference.", formula="max |d| / |r|", priority=3),
    Column("mean_rel", "mean rel", "Mean relative difference.", formula="mean |d| / |r|", priority=6),
    Column("rmse", "RMSE", "Root of the mean squared difference.", formula="√mean d²", priority=5),
    Column("cosine", "cosine", "Cosine of the angle between both.", formula="Σ r·t / √(Σ r² · Σ t²)",
        priority=1),
    Column("sqnr_db", "SQNR dB", "Signal to noise.", formula="10 · log10(Σ r² / Σ d²)", priority=3),
    Column("argmax_agreement_pct", "argmax", "Positions with the same largest class.", priority=2),
    Column("elements", "elements", "Elements of all samples.", priority=7),
    Column("nan_reference", "NaN ref", "NaN in the reference.", priority=4),
    Column("nan_test", "NaN test", "NaN in the test.", priority=4),
    Column("inf_reference", "Inf ref", "Infinite values in the reference.", priority=4),
    Column("inf_test", "Inf test", "Infinite values in the test.", priority=4),
)  # fmt: skip
"""Columns of the table of outputs."""
_LARGEST = frozenset(("max_abs", "max_rel"))
_NOT_FINITE = ("nan_reference", "inf_reference", "nan_test", "inf_test")


Sums = dict[str, float]
"""Sums of one output over some samples, as `compare` returns them."""


def add_sums(first: Sums, second: Sums) -> Sums:
    """Return the sums over the samples of both; the first may be empty."""
    return {key: (max if key in _LARGEST else add)(first.get(key, 0), value) for key, value in second.items()}


def class_axis(shape: tuple[int, ...]) -> int | None:
    """Return the axis of the classes: channels of maps and batches, the last axis of everything else; None for no axis.

    >>> class_axis((8, 1000)), class_axis((1, 19, 512, 1024)), class_axis((1, 77, 30522)), class_axis((1,))
    (1, 1, 2, None)
    """
    if not shape:
        return None
    axis = 1 if len(shape) in (4, 5) else len(shape) - 1
    return axis if shape[axis] > 1 else None


def compare(reference: Array, test: Array) -> Sums:
    """Compare one output of one sample; labels (whole numbers) have no class axis.

    Returns:
        Numbers of samples, elements, NaN and infinite ones; `nonfinite_mismatch`, elements not finite on one side that
        differ on the other; `compared`, those finite on both sides, the base of all sums; `nonzero`, those with a reference
        other than 0, the base of the relative differences; `rows`, positions along the class axis, and `agreeing_rows`.

    Raises:
        ValueError: The shapes differ.
    """
    if reference.shape != test.shape:
        raise ValueError(f"shapes {reference.shape} and {test.shape}")
    axis = class_axis(reference.shape) if reference.dtype.kind == "f" else None
    left, right = np.asarray(reference, np.float64), np.asarray(test, np.float64)
    both = np.isfinite(left) & np.isfinite(right)
    with np.errstate(over="ignore", invalid="ignore"):
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        r, t = left[both], right[both]
        d = np.abs(t - r)
        known = r != 0
        relative = d[known] / np.abs(r[known])
        rows, agreeing = (0, 0) if axis is None else _count_argmax(left, right, axis)
        return {
            "samples": 1,
            "elements": int(left.size),
            "compared": int(r.size),
            "nan_reference": int(np.isnan(left).sum()),
            "inf_reference": int(np.isinf(left).sum()),
            "nan_test": int(np.isnan(right).sum()),
            "inf_test": int(np.isinf(right).sum()),
            "nonfinite_mismatch": int((~both & ~same).sum()),
            "abs_error": float(d.sum()),
            "squared_error": float((d * d).sum()),
            "squared_reference": float((r * r).sum()),
            "squared_test": float((t * t).sum()),
            "product": float((r * t).sum()),
            "rel_error": float(relative.sum()),
            "nonzero": int(known.sum()),
            "max_abs": float(d.max(initial=0.0)),
            "max_rel": float(relative.max(initial=0.0)),
            "rows": rows,
            "agreeing_rows": agreeing,
        }


def _count_argmax(left: Array, right: Array, axis: int) -> tuple[int, int]:
    """Return the number of positions without NaN, and how many of them agree. The first of equal values counts."""
    usable = ~(np.isnan(left).any(axis=axis) | np.isnan(right).any(axis=axis))
    agree = np.argmax(left, axis=axis) == np.argmax(right, axis=axis)
    return int(usable.sum()), int((agree & usable).sum())


def measure(sums: Sums) -> dict[str, Any]:
    """Return the measures of some sums; None for undefined values, whose reason is in `reasons`."""
    reasons: dict[str, str] = {}
    values: dict[str, Any] = {
        name: sums[name] for name in ("samples", "elements", "compared", *_NOT_FINITE, "nonfinite_mismatch")
    }
    count, has_base = sums["compared"], bool(sums["nonzero"] and math.isfinite(sums["rel_error"]))
    values |= {
        "mae": sums["abs_error"] / count if count else None,
        "max_abs": sums["max_abs"] if count else None,
        "max_rel": sums["max_rel"] if has_base else None,
        "mean_rel": sums["rel_error"] / sums["nonzero"] if has_base else None,
        "rmse": math.sqrt(sums["squared_error"] / count) if count else None,
        "cosine": _cosine(sums, reasons),
        "sqnr_db": _sqnr_db(sums, reasons),
        "argmax_rows": sums["rows"],
        "argmax_agreement_pct": 100 * sums["agreeing_rows"] / sums["rows"] if sums["rows"] else None,
    }
    if not sums["rows"]:
        reasons["argmax_agreement_pct"] = "no class axis, or only NaN"
    for name in METRICS.names:
        if values[name] is not None and not math.isfinite(values[name]):
            values[name], reasons[name] = None, "too large for a number"
        elif values[name] is None and not count and name != "argmax_agreement_pct":
            reasons[name] = "no elements are finite on both sides"
        elif values[name] is None and name in ("max_rel", "mean_rel"):
            reasons[name] = "too large for a number" if sums["nonzero"] else "every reference is zero"
    return {**values, "reasons": reasons}


def _cosine(sums: Sums, reasons: dict[str, str]) -> float | None:
    if not sums["compared"]:
        return None
    if sums["squared_error"] == 0:
        return 1.0  # two zero vectors agree in direction
    length = math.sqrt(sums["squared_reference"]) * math.sqrt(sums["squared_test"])
    if not length:
        side = "test" if sums["squared_reference"] else "reference"
        reasons["cosine"] = f"the {side} is zero everywhere"
        return None
    return max(-1.0, min(1.0, sums["product"] / length))


def _sqnr_db(sums: Sums, reasons: dict[str, str]) -> float | None:
    if not sums["compared"]:
        return None
    if sums["squared_error"] == 0:
        reasons["sqnr_db"] = "infinite: the outputs are equal"
        return None
    if not sums["squared_reference"]:
        reasons["sqnr_db"] = "the reference is zero everywhere"
        return None
    return 10 * (math.log10(sums["squared_reference"]) - math.log10(sums["squared_error"]))


def judge_outputs(gates: Sequence[Gate], outputs: Sequence[Mapping[str, Any]]) -> list[GateResult]:
    """Judge every output by every gate, over all samples together.

    An element that is finite on one side only cannot enter a mean: its output fails every gate. Equal outputs pass gates on
    measures that they leave undefined, such as an infinite SQNR.

    Args:
        outputs: `measure` of each output, with its name.

    Raises:
        GateError: No output has a class axis for a gate on it.
    """
    results: list[GateResult] = []
    for gate in gates:
        judged = [result for output in outputs if (result := _judge(gate, output))]
        if not judged:
            raise GateError(f"{gate.text}: no output has a {gate.metric}; gate not judged")
        results += judged
    return results


def _judge(gate: Gate, output: Mapping[str, Any]) -> GateResult | None:
    value, name = output[gate.metric], output["name"]
    if strangers := output["nonfinite_mismatch"]:
        text = f"{strangers} of {plural(output['elements'], 'element')} NaN or infinite on one side only"
        return GateResult(gate, name, is_met=True, value=value, note=text)
    if value is not None:
        return judge(gate, value, subject=name)
    if gate.metric == "argmax_agreement_pct" or not output["compared"]:
        return None
    reason = output["reasons"].get(gate.metric, "it has no value")
    return GateResult(gate, name, is_met=output["max_abs"] != 0, note=f"{gate.metric}: {reason}")
