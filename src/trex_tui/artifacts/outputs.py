"""Read `output_diff.json`: the differences between the outputs of two engines.

Written by `trex-tui accuracy`, and by toolkits under the same name: a list or an object of outputs, each with some of the
measures under one of several names. A missing measure is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.open import finite_number, load_json
from trex_tui.errors import ArtifactError, Note, Severity

SCHEMA = "trex-tui/accuracy/"
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
_COUNTS = (
    *("samples", "elements", "compared", "nan_reference", "inf_reference", "nan_test", "inf_test"),
    *("nonfinite_mismatch", "outside", "argmax_rows"),
)
_MOST_NESTED = 3


class ComparedSide(NamedTuple):
    """The reference or the test.

    Attributes:
        kind: `engine` or `onnx`; empty if unknown.
        path: As given; empty if unknown.
        size_bytes, sha256: Of the file; None if unknown.
    """

    kind: str = ""
    path: str = ""
    size_bytes: int | None = None
    sha256: str | None = None
    tensorrt_version: str | None = None

    @property
    def name(self) -> str:
        return self.path.replace("\\", "/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """One output, over all samples.

    Attributes:
        values: Measure of `MEASURES` -> value; None if missing.
        counts: `samples`, `elements`, `nan_test`, … as far as stated.
        reasons: Measure -> why it has no value.
        dtypes: Of reference and test; None if unknown.
    """

    name: str
    values: Mapping[str, float | None]
    counts: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    dtypes: tuple[str | None, str | None] = (None, None)


class GateVerdict(NamedTuple):
    """A gate with its result."""

    gate: str
    output: str
    fell: bool
    why: str


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """Content of the file.

    Attributes:
        inputs: Description of the inputs, as written: `kind`, `samples`, `seed`, …
        is_ours: Whether `trex-tui accuracy` wrote it.
    """

    path: Path
    reference: ComparedSide
    test: ComparedSide
    outputs: tuple[OutputDifference, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    gates: tuple[GateVerdict, ...] = ()
    is_ours: bool = False
    remarks: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def read_accuracy(path: Path) -> AccuracyResult:
    """Read one file.

    Raises:
        ArtifactError: It is not JSON, or has no measure of any output.
    """
    notes: list[Note] = []
    result = parse_accuracy(load_json(path, notes), path)
    return replace(result, notes=(*notes, *result.notes))


def parse_accuracy(root: Any, path: Path) -> AccuracyResult:  # noqa: ANN401 - any JSON value
    """Parse the content of a file.

    Raises:
        ArtifactError: It has no measure of any output.
    """
    document: Mapping[str, Any] = root if isinstance(root, dict) else {}
    notes: list[Note] = []
    outputs = tuple(_outputs(root, path, notes))
    if not outputs:
        raise ArtifactError(path, "has no metrics of outputs; write it with `trex-tui accuracy --json`")
    inputs = document.get("inputs")
    return AccuracyResult(
        path=path,
        reference=_side(document, "reference", "ref", "baseline"),
        test=_side(document, "test", "candidate", "target"),
        outputs=outputs,
        inputs=inputs if isinstance(inputs, dict) else {},
        gates=tuple(_gates(document.get("gates"))),
        remarks=tuple(note for note in _list(document.get("notes")) if isinstance(note, str)),
        is_ours=str(document.get("schema", "")).startswith(SCHEMA),
        notes=tuple(notes),
    )


def _outputs(root: Any, path: Path, notes: list[Note]) -> list[OutputDifference]:  # noqa: ANN401
    outputs = []
    for name, entry in _entries(root):
        values = {measure: _first(entry, measure, *others) for measure, others in MEASURES.items()}
        if values["argmax_agreement_pct"] is None:
            share = _first(entry, "argmax_agreement", "top1_agreement", "top1_match")
            values["argmax_agreement_pct"] = None if share is None else share * 100 if share <= 1 else share
        reasons = entry.get("reasons")
        if all(value is None for value in values.values()) and not isinstance(reasons, dict):
            notes.append(Note(Severity.WARNING, path, name, "no known metrics; skipped"))
            continue
        outputs.append(
            OutputDifference(
                name,
                values,
                {key: value for key in _COUNTS if (value := _count(entry.get(key))) is not None},
                {str(key): str(reason) for key, reason in reasons.items()}
                if isinstance(reasons, dict)
                else {},
                (_text(entry.get("dtype_reference")) or None, _text(entry.get("dtype_test")) or None),
            )
        )
    return outputs


def _entries(root: Any, depth: int = 0) -> list[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401
    """Return names and measures from a list with names, an object by name, or either of them below a known key."""
    if isinstance(root, list):
        named = [
            (entry.get("name") or entry.get("tensor") or entry.get("output"), entry)
            for entry in root
            if isinstance(entry, dict)
        ]
        return [
            (str(name) if name is not None else f"output {index}", entry)
            for index, (name, entry) in enumerate(named)
        ]
    if not isinstance(root, dict) or depth > _MOST_NESTED:
        return []
    for key in ("outputs", "tensors", "per_output", "per_tensor", "results", "metrics"):
        if isinstance(root.get(key), (list, dict)):
            return _entries(root[key], depth + 1)
    known = {name for measure, others in MEASURES.items() for name in (measure, *others)}
    if known & root.keys():
        return [("all outputs", root)]
    return [
        (str(name), entry) for name, entry in root.items() if isinstance(entry, dict) and known & entry.keys()
    ]


def _first(entry: Mapping[str, Any], *names: str) -> float | None:
    return next((value for name in names if (value := finite_number(entry.get(name))) is not None), None)


def _count(value: Any) -> int | None:  # noqa: ANN401
    return value if type(value) is int and value >= 0 else None


def _side(document: Mapping[str, Any], *names: str) -> ComparedSide:
    raw = next((document[name] for name in names if name in document), None)
    if isinstance(raw, str):
        return ComparedSide(path=raw)
    if not isinstance(raw, dict):
        return ComparedSide()
    return ComparedSide(
        _text(raw.get("kind")),
        _text(raw.get("path")) or _text(raw.get("name")),
        _count(raw.get("bytes")),
        _text(raw.get("sha256")) or None,
        _text(raw.get("tensorrt_version")) or None,
    )


def _gates(raw: Any) -> list[GateVerdict]:  # noqa: ANN401
    return [
        GateVerdict(
            _text(gate.get("gate")),
            _text(gate.get("output")),
            gate.get("fell") is True,
            _text(gate.get("why")),
        )
        for gate in _list(raw)
        if isinstance(gate, dict)
    ]


def _list(value: Any) -> list[Any]:  # noqa: ANN401
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:  # noqa: ANN401
    return value if isinstance(value, str) else ""
