"""Read `output_diff.json`: the differences between the outputs of two engines.

Written by `trex-tui accuracy`, and by toolkits under the same name: a list or an object of outputs, each with some of the
measures under one of several names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trex_tui.artifacts.open import finite_number, load_json
from trex_tui.errors import ArtifactError

MEASURES: dict[str, tuple[str, ...]] = {
    "mae": ("mean_abs", "mean_abs_error", "mean_abs_diff", "mean_absolute_error", "avg_abs_diff"),
    "max_abs": ("max_abs_error", "max_abs_diff", "max_absolute_error", "max_diff", "max_error"),
    "max_rel": ("max_rel_error", "max_rel_diff", "max_relative_error"),
    "mean_rel": ("mean_rel_error", "mean_rel_diff", "mean_relative_error"),
    "rmse": ("root_mean_squared_error",),
    "cosine": ("cosine_similarity", "cos_sim", "cosine_sim"),
    "sqnr_db": ("sqnr", "snr_db", "snr"),
    "argmax_agreement_pct": (),
}
"""Measure -> its other names."""
_SHARES = ("argmax_agreement", "top1_agreement", "top1_match")
"""Names of the agreement as a fraction."""
_NAMES = frozenset(name for measure, others in MEASURES.items() for name in (measure, *others))
_HOLDERS = ("outputs", "tensors", "per_output", "per_tensor", "results", "metrics")


def read_accuracy(path: Path) -> list[dict[str, float]]:
    """Return the measures of every output, as far as the file states them.

    Raises:
        ArtifactError: It is not JSON, or has no measure of any output.
    """
    outputs = [values for entry in _find_entries(load_json(path)) if (values := _read_measures(entry))]
    if not outputs:
        raise ArtifactError(path, "has no metrics of outputs; write it with `trex-tui accuracy --json`")
    return outputs


def _find_entries(root: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - any JSON value
    """Yield the outputs of a list, of an object by name, or of either of them below a known key."""
    if isinstance(root, list):
        yield from (entry for entry in root if isinstance(entry, dict))
    elif isinstance(root, dict) and depth <= len(_HOLDERS):
        holder = next((root[key] for key in _HOLDERS if isinstance(root.get(key), (list, dict))), None)
        if holder is not None:
            yield from _find_entries(holder, depth + 1)
        else:
            yield from [root] if _NAMES & root.keys() else filter(_is_output, root.values())


def _is_output(entry: object) -> bool:
    return isinstance(entry, dict) and bool(_NAMES & entry.keys())


def _read_measures(entry: Mapping[str, Any]) -> dict[str, float]:
    values = {measure: _first(entry, measure, *others) for measure, others in MEASURES.items()}
    if values["argmax_agreement_pct"] is None and (share := _first(entry, *_SHARES)) is not None:
        values["argmax_agreement_pct"] = share * 100 if share <= 1 else share
    return {measure: value for measure, value in values.items() if value is not None}


def _first(entry: Mapping[str, Any], *names: str) -> float | None:
    return next((value for name in names if (value := finite_number(entry.get(name))) is not None), None)
