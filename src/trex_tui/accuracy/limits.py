"""What may not be exceeded: each output is judged over all samples together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trex_tui.errors import TrexError

GATES = {
    "--max-mae": ("mae", False),
    "--max-abs": ("max_abs", False),
    "--max-rel": ("max_rel", False),
    "--max-rmse": ("rmse", False),
    "--min-cosine": ("cosine", True),
    "--min-sqnr": ("sqnr_db", True),
    "--min-argmax-agreement": ("argmax_agreement_pct", True),
}
"""Option -> the measure, and whether the limit is the least."""
TOLERANCE = "--rtol/--atol"


@dataclass(frozen=True, slots=True)
class LimitResult:
    """One gate on one output.

    Attributes:
        gate: `--max-mae 0.01`.
        fell: Whether the output is beyond the limit.
        value: Its value; None where it has none.
        why: One sentence.
    """

    gate: str
    output: str
    fell: bool
    value: float | None
    why: str


def judge(
    limits: Mapping[str, float], tolerance: tuple[float, float] | None, outputs: Sequence[Mapping[str, Any]]
) -> list[LimitResult]:
    """Judge every output by every gate.

    What is finite on one side alone is no number that a mean could hold: an output with such an element fails every gate.

    Args:
        limits: Option of `GATES` -> limit.
        tolerance: rtol and atol, if a gate is on them.
        outputs: `measures` of each output, with its name.

    Raises:
        TrexError: A gate can be judged of no output.
    """
    results: list[LimitResult] = []
    for option, limit in limits.items():
        judged = [one for output in outputs if (one := _judge(option, limit, output))]
        if not judged:
            raise TrexError(f"{option}: no output has a {GATES[option][0]}, so the gate cannot be judged")
        results += judged
    if tolerance is not None:
        results += [_tolerate(tolerance, output) for output in outputs]
    return results


def _judge(option: str, limit: float, output: Mapping[str, Any]) -> LimitResult | None:
    measure, is_least = GATES[option]
    gate, name, value = f"{option} {limit:g}", output["name"], output[measure]
    if beyond := _nonfinite(output):
        return LimitResult(gate, name, True, value, beyond)
    reason = output["reasons"].get(measure, "")
    if value is not None:
        fell = value < limit if is_least else value > limit
        sign = ("<" if fell else "≥") if is_least else (">" if fell else "≤")
        return LimitResult(gate, name, fell, value, f"{measure} {value:.6g} {sign} {limit:g}")
    if measure == "argmax_agreement_pct" or not output["compared"]:
        return None
    return LimitResult(gate, name, output["max_abs"] != 0, None, f"{measure} has no value: {reason}")


def _tolerate(tolerance: tuple[float, float], output: Mapping[str, Any]) -> LimitResult:
    rtol, atol = tolerance
    gate, name, outside = f"--rtol {rtol:g} --atol {atol:g}", output["name"], output["outside"]
    if beyond := _nonfinite(output):
        return LimitResult(gate, name, True, outside, beyond)
    why = f"{outside or 0} of {output['compared']} elements differ by more than {atol:g} + {rtol:g} · |reference|"
    return LimitResult(gate, name, bool(outside), outside, why)


def _nonfinite(output: Mapping[str, Any]) -> str:
    count = output["nonfinite_mismatch"]
    if not count:
        return ""
    return f"{count} of {output['elements']} elements are NaN or infinite on one side, and something else on the other"
