"""Read `output_diff.json`: the differences between the outputs of two engines.

Written by `trex-tui accuracy`, and by toolkits under the same name: a list or an object of outputs, each with some of the
measures under one of several names. A missing measure is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
_SHARES = ("argmax_agreement", "top1_agreement", "top1_match")
"""Names of the agreement as a fraction."""
_NAMES = frozenset(name for measure, others in MEASURES.items() for name in (measure, *others))
_HOLDERS = ("outputs", "tensors", "per_output", "per_tensor", "results", "metrics")
_COUNTS = (
    *("samples", "elements", "compared", "nan_reference", "inf_reference", "nan_test", "inf_test"),
    *("nonfinite_mismatch", "outside", "argmax_rows"),
)


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
        remarks: Sentences of `trex-tui accuracy` about the result.
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
    return parse_accuracy(load_json(path, notes), path, notes)


def parse_accuracy(root: Any, path: Path, notes: list[Note] | None = None) -> AccuracyResult:  # noqa: ANN401
    """Parse the content of a file.

    Raises:
        ArtifactError: It has no measure of any output.
    """
    notes = [] if notes is None else notes
    document: Mapping[str, Any] = root if isinstance(root, dict) else {}
    outputs = []
    for name, entry in _find_entries(root):
        output = _read_output(name, entry)
        if output.reasons or any(value is not None for value in output.values.values()):
            outputs.append(output)
        else:
            notes.append(Note(Severity.WARNING, path, name, "no known metrics; skipped"))
    if not outputs:
        raise ArtifactError(path, "has no metrics of outputs; write it with `trex-tui accuracy --json`")
    gates = [gate for gate in _get(document, "gates", list) if isinstance(gate, dict)]
    return AccuracyResult(
        path=path,
        reference=_read_side(document, "reference", "ref", "baseline"),
        test=_read_side(document, "test", "candidate", "target"),
        outputs=tuple(outputs),
        inputs=_get(document, "inputs", dict),
        gates=tuple(
            GateVerdict(
                _get(gate, "gate", str),
                _get(gate, "output", str),
                gate.get("fell") is True,
                _get(gate, "why", str),
            )
            for gate in gates
        ),
        is_ours=str(document.get("schema", "")).startswith(SCHEMA),
        remarks=tuple(remark for remark in _get(document, "notes", list) if isinstance(remark, str)),
        notes=tuple(notes),
    )


def _find_entries(root: Any, depth: int = 0) -> list[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401
    """Return names and measures from a list with names, an object by name, or either of them below a known key."""
    if isinstance(root, list):
        entries = [entry for entry in root if isinstance(entry, dict)]
        names = [entry.get("name") or entry.get("tensor") or entry.get("output") for entry in entries]
        return [
            (f"output {index}" if name is None else str(name), entry)
            for index, (name, entry) in enumerate(zip(names, entries, strict=True))
        ]
    if not isinstance(root, dict) or depth > len(_HOLDERS):
        return []
    holder = next((root[key] for key in _HOLDERS if isinstance(root.get(key), (list, dict))), None)
    if holder is not None:
        return _find_entries(holder, depth + 1)
    if _NAMES & root.keys():
        return [("all outputs", root)]
    return [
        (str(name), entry)
        for name, entry in root.items()
        if isinstance(entry, dict) and _NAMES & entry.keys()
    ]


def _read_output(name: str, entry: Mapping[str, Any]) -> OutputDifference:
    values = {measure: _first(entry, measure, *others) for measure, others in MEASURES.items()}
    if values["argmax_agreement_pct"] is None and (share := _first(entry, *_SHARES)) is not None:
        values["argmax_agreement_pct"] = share * 100 if share <= 1 else share
    counts = {key: entry[key] for key in _COUNTS if type(entry.get(key)) is int and entry[key] >= 0}
    reasons = {str(key): str(reason) for key, reason in _get(entry, "reasons", dict).items()}
    dtypes = (_get(entry, "dtype_reference", str) or None, _get(entry, "dtype_test", str) or None)
    return OutputDifference(name, values, counts, reasons, dtypes)


def _first(entry: Mapping[str, Any], *names: str) -> float | None:
    return next((value for name in names if (value := finite_number(entry.get(name))) is not None), None)


def _read_side(document: Mapping[str, Any], *names: str) -> ComparedSide:
    raw = next((document[name] for name in names if name in document), None)
    if isinstance(raw, str):
        return ComparedSide(path=raw)
    if not isinstance(raw, dict):
        return ComparedSide()
    size = raw.get("bytes")
    return ComparedSide(
        _get(raw, "kind", str),
        _get(raw, "path", str) or _get(raw, "name", str),
        size if type(size) is int and size >= 0 else None,
        _get(raw, "sha256", str) or None,
        _get(raw, "tensorrt_version", str) or None,
    )


def _get(root: Mapping[str, Any], key: str, kind: type[Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value of a type; an empty one for any other."""
    value = root.get(key)
    return value if isinstance(value, kind) else kind()
