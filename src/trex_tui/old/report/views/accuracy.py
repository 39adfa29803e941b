"""Results of `accuracy`: sections, and the loaded engines that they compare.

A result names its two sides by path, size and SHA-256. It is shown beside engines only if they match: by the digest of the
plan if known, else by name. A result about other engines is named, not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.accuracy import AccuracyResult, ComparedSide, OutputDifference, read_accuracy
from trex_tui.old.artifacts.file_kinds import ArtifactKind, engine_stem
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import Cell, Column, Section, make_table
from trex_tui.old.text import MISSING, format_pct, plural, printable

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine

_OUTPUT = Column("output", "output", value=lambda output: output.name, flex=True)


def _digits(value: float) -> str:
    """Format with four significant digits: differences span many powers of ten."""
    return f"{value:.4g}"


def _value(key: str, title: str, format_: Callable[[float], str]) -> Column:
    return Column(key, title, value=lambda output: output.values.get(key), is_number=True, format=format_)


# Two tables, so that each fits 80 columns.
_DIFFERENCES = (
    _OUTPUT,
    Column(
        "types",
        "type",
        value=lambda output: output.dtypes,
        format=lambda types: " → ".join(dict.fromkeys(type_ or MISSING for type_ in types)),
    ),
    _value("mae", "MAE", _digits),
    _value("max_abs", "max |d|", _digits),
    _value("max_rel", "max rel", _digits),
    _value("mean_rel", "mean rel", _digits),
    _value("rmse", "RMSE", _digits),
)
LIKENESS = (
    _OUTPUT,
    _value("cosine", "cosine", "{:.6f}".format),
    Column(
        "sqnr_db",
        "SQNR dB",
        value=lambda output: _sqnr(output),
        is_number=True,
        unit="decibels",
        format="{:.2f}".format,
    ),
    _value("argmax_agreement_pct", "argmax %", format_pct),
    Column("elements", "elements", value=lambda output: output.counts.get("elements"), is_number=True),
    Column(
        "nonfinite",
        "not finite",
        value=lambda output: _nonfinite(output.counts),
        is_number=True,
        format=lambda counts: " / ".join(map(str, counts)),
        help="Elements that are NaN or infinite, of the reference and of the test.",
    ),
)


@dataclass(frozen=True, slots=True)
class AccuracyEvidence:
    """A result file beside the loaded engines, and the engines that it compares.

    Attributes:
        path: The file.
        reference, test: Indices of the engines of its sides; None for other engines.
        proof: How the sides were recognized: `sha256` or `name`; None if the result is refused.
        refusal: Why it is not shown; None if it is.
        result: None if it is refused.
    """

    path: Path
    reference: int | None = None
    test: int | None = None
    proof: str | None = None
    refusal: str | None = None
    result: AccuracyResult | None = None


def accuracy_evidence(engines: Sequence[Engine]) -> list[AccuracyEvidence]:
    """Read each result file beside the engines once, and find the engines it compares."""
    paths = dict.fromkeys(
        path for engine in engines if (path := engine.files.get(ArtifactKind.ACCURACY)) is not None
    )
    return [_evidence(path, engines) for path in paths]


def _evidence(path: Path, engines: Sequence[Engine]) -> AccuracyEvidence:
    try:
        result = read_accuracy(path)
    except ArtifactError as error:
        return AccuracyEvidence(path, refusal=f"{path} {error.diagnostic.message}")
    references, first = _find_engines(result.reference, engines)
    tests, second = _find_engines(result.test, engines)
    reference, test = _distinguish(result, references, tests, engines)
    proof = "name" if "name" in (first, second) else "sha256"
    # For a single engine the other side is named; for several, only results among them are shown.
    is_known = reference is not None or result.reference.kind == "onnx" or len(engines) == 1
    if test is not None and reference != test and is_known:
        return AccuracyEvidence(path, reference, test, proof, result=result)
    about = f"{_name(result.test)} against {_name(result.reference)}"
    why = f"{path} is about {about}, not the compared engines; not shown"
    return AccuracyEvidence(path, refusal=why)


def _find_engines(side: ComparedSide, engines: Sequence[Engine]) -> tuple[list[int], str]:
    """Find the engines that a side may be, and the evidence; several may have identical plans."""
    if side.kind == "onnx":
        return [], ""
    verdicts = [_same_plan(side, engine) for engine in engines]
    if same := [index for index, verdict in enumerate(verdicts) if verdict]:
        return same, "sha256"
    named = [
        index
        for index, (verdict, engine) in enumerate(zip(verdicts, engines, strict=True))
        if verdict is None and _same_name(side, engine)
    ]
    if len(named) > 1:  # as results/fp32/net.engine and results/int8/net.engine
        named = [index for index in named if _is_beside(side, engines[index])]
    return (named, "name") if len(named) == 1 else ([], "")


def _distinguish(
    result: AccuracyResult, references: Sequence[int], tests: Sequence[int], engines: Sequence[Engine]
) -> tuple[int | None, int | None]:
    """Find the engine of each side, never one for both; of equal plans those with matching names and directories.

    An engine that matches both sides is the test: the reference is another copy of its plan.
    """
    firsts: Sequence[int | None] = references or (None,)
    seconds: Sequence[int | None] = tests or (None,)
    pairs = [(first, other) for first in firsts for other in seconds if first is None or first != other]
    if not pairs:
        return None, tests[0]

    def strangeness(pair: tuple[int | None, int | None]) -> int:
        sides = zip((result.reference, result.test), pair, strict=True)
        known = [(side, engines[index]) for side, index in sides if index is not None]
        return sum(2 * (not _same_name(*pair)) + (not _is_beside(*pair)) for pair in known)

    return min(pairs, key=strangeness)


def _same_plan(side: ComparedSide, engine: Engine) -> bool | None:
    """Return whether the engine's plan is that file; None if one of the two is unknown."""
    from trex_tui.old.capture.manifest import compute_sha256, read_manifest

    if side.sha256 is None:
        return None
    plan = engine.files.get(ArtifactKind.PLAN)
    try:
        if plan is not None:
            if side.size_bytes is not None and plan.stat().st_size != side.size_bytes:
                return False
            return compute_sha256(plan) == side.sha256
    except OSError:
        return None
    first = next(iter(engine.files.values()))
    manifest = read_manifest(first.with_name(f"{engine_stem(first)}.capture.json"))
    entry = manifest.get("engine") if isinstance(manifest, dict) else None
    digest = entry.get("sha256") if isinstance(entry, dict) else None
    return digest == side.sha256 if isinstance(digest, str) else None


def _same_name(side: ComparedSide, engine: Engine) -> bool:
    stem = engine_stem(Path(side.name)) if side.name else ""
    own = {engine_stem(path) for kind, path in engine.files.items() if kind is not ArtifactKind.ACCURACY}
    return bool(stem) and stem in own


def _is_beside(side: ComparedSide, engine: Engine) -> bool:
    """Return whether the engine's files are in the directory of the side's plan."""
    return Path(side.path).absolute().parent == next(iter(engine.files.values())).absolute().parent


def accuracy_sections(result: AccuracyResult, evidence: AccuracyEvidence | None = None) -> Iterator[Section]:
    """Yield sections of a result: failed gates first, then sentences and a row per output.

    Args:
        evidence: How the sides were recognized, if engines are loaded.
    """
    fallen = [gate for gate in result.gates if gate.fell]
    if result.gates:
        lines = [
            f"{'FELL' if gate.fell else 'held'}  {printable(gate.gate)}  {printable(gate.output)}  —  {printable(gate.why)}"
            for gate in (*fallen, *(gate for gate in result.gates if not gate.fell))
        ]
        yield Section("accuracy-gates", "Accuracy gates", sentences=lines, is_warning=bool(fallen))
    title = f"Accuracy of {_name(result.test)} against {_name(result.reference)}"
    sentences = list(_sentences(result, evidence))
    differences = make_table("differences", _DIFFERENCES, result.outputs, noun="output")
    yield Section("accuracy", title, sentences=sentences, tables=[differences])
    likeness = make_table("likeness", LIKENESS, result.outputs, noun="output")
    yield Section("accuracy-likeness", "Output similarity", tables=[likeness])


def engines_sections(engines: Sequence[Engine]) -> Iterator[Section]:
    """Yield sections of each result file beside the engines; results of other engines are only named."""
    sections: list[Section] = []
    for evidence in accuracy_evidence(engines):
        if evidence.result is not None:
            sections += accuracy_sections(evidence.result, evidence)
        else:
            sections.append(Section("accuracy", "Accuracy", sentences=[printable(evidence.refusal or "")]))
    for number, section in enumerate(sections, start=1):
        yield replace(section, id=f"accuracy-{number}")


def _sentences(result: AccuracyResult, evidence: AccuracyEvidence | None) -> Iterator[str]:
    samples = max((output.counts.get("samples", 0) for output in result.outputs), default=0)
    kind = result.inputs.get("kind")
    what = "random input" if kind == "random" else "input"
    if samples:
        seed = result.inputs.get("seed")
        more = f" (seed {seed})" if kind == "random" and isinstance(seed, int) else ""
        yield f"{plural(samples, what)}{more}; metrics over all samples."
    if evidence is not None and evidence.proof:
        how = "by SHA-256 of the plan" if evidence.proof == "sha256" else "by name only (no plan to check)"
        yield f"From {printable(str(result.path))}; engines matched {how}."
    for output in result.outputs:
        if count := output.counts.get("nonfinite_mismatch"):
            yield (
                f"{printable(output.name)}: {plural(count, 'element')} NaN or infinite on one side only; "
                "excluded from means."
            )
        elif any(output.counts.get(key) for key in ("nan_reference", "inf_reference")):
            yield (
                f"{printable(output.name)}: NaN or infinite elements are equal on both sides; excluded from "
                "means."
            )
    yield from (f"Note: {printable(note)}." for note in result.notes)


def _sqnr(output: OutputDifference) -> Cell | float | None:
    value = output.values.get("sqnr_db")
    if value is None and output.reasons.get("sqnr_db", "").startswith("infinite"):
        return Cell(None, "∞")
    return value


def _nonfinite(counts: Mapping[str, int]) -> tuple[int, ...] | None:
    """Return the numbers of elements that are NaN or infinite, of the reference and of the test."""
    names = (("nan_reference", "inf_reference"), ("nan_test", "inf_test"))
    if not any(name in counts for pair in names for name in pair):
        return None
    return tuple(sum(counts.get(name, 0) for name in pair) for pair in names)


def _name(side: ComparedSide) -> str:
    return printable(side.name or "an unnamed engine")
