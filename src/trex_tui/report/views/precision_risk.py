"""The nodes of a model that lose accuracy in FP16, with the options that keep them in FP32."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from trex_tui.accuracy.precision_risk import COLUMNS, LARGE_ERROR, PrecisionRisk
from trex_tui.engine.model import Engine
from trex_tui.report.document import Document, Section, drop_empty_columns
from trex_tui.text import plural, printable

_UNQUOTABLE = frozenset(",:'")
"""Characters that the lists of trtexec cannot contain."""


def precision_risk_document(risk: PrecisionRisk, engine: Engine | None, top: int) -> Document:
    """Return the result of `precision-risk`.

    Args:
        engine: The engine whose layers are in the result; None for the model alone.
        top: Number of rows for people; 0 for all.
    """
    risky = risk.risky
    names = risky["node"].tolist()
    shown = risky if len(risky) else risk.nodes
    table = Section(
        "nodes",
        "Nodes",
        frame=shown.head(top or len(shown)),
        columns=[column for column in COLUMNS.values() if column.key in shown],
        total=len(shown),
        noun="node",
        audience="people",
    )
    sections = [Section("verdict", sentences=_describe(risk, engine)), drop_empty_columns(table)]
    data = {
        "model": str(risk.path),
        "nodes_total": risk.total,
        "inputs": risk.inputs,
        "nodes": risk.nodes,
        "nodes_fp32": names,
        "layer_precisions": "",
    }
    if names:
        is_weak, is_strong = _typings(engine)
        sentences = []
        if is_weak:
            option, lost = _layer_options(names)
            data["layer_precisions"] = option
            sentences.append(f"TensorRT 8.4 to 10, weakly typed: {option}")
            sentences += [f"{plural(lost, 'name')} cannot be written in these options."] if lost else []
        if is_strong:
            patterns = " ".join(shlex.quote(f"^{re.escape(name)}$") for name in names)
            sentences.append(
                "Strongly typed, and TensorRT 11: keep these nodes in FP32 in the model, for example with "
                f"python -m modelopt.onnx.autocast --onnx_path {shlex.quote(str(risk.path))} --nodes_to_exclude {patterns}"
            )
        sections.append(Section("options", "Keep in FP32", sentences=list(map(printable, sentences))))
    title = f"Precision risk of {printable(risk.path.name)}"
    return Document("precision-risk", title, sections, () if engine is None else engine.notes, data=data)


def _describe(risk: PrecisionRisk, engine: Engine | None) -> list[str]:
    nodes = plural(len(risk.nodes), "floating-point node")
    risky = risk.risky
    if len(risky):
        counts = risky["risk"].value_counts(sort=False)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        sentences = [f"{len(risky)} of {nodes} can lose accuracy in FP16: {kinds}."]
    else:
        sentences = [f"No overflow in FP16 and no error above {LARGE_ERROR:.0%} in {nodes}."]
    if engine is not None and len(risky):
        wide = risky["layer_precision"].isin(["FP32", "TF32"]) | risky["layer_precision"].isna()
        sentences.append(f"{int((~wide).sum())} of them run below FP32 in {printable(engine.name)}.")
    sentences.append("Errors are those of each node alone; they add up along the network.")
    return sentences + [f"{doubt[:1].upper()}{doubt[1:]}." for doubt in map(printable, risk.doubts)]


def _typings(engine: Engine | None) -> tuple[bool, bool]:
    """Return whether options for weakly and for strongly typed networks may fit the release of the engine."""
    version = "" if engine is None else engine.facts.tensorrt_version or ""
    release = int(version.partition(".")[0] or 0) if version.partition(".")[0].isdecimal() else 0
    return release < 11, release == 0 or release >= 9


def _layer_options(names: Sequence[str]) -> tuple[str, int]:
    """Return the options of trtexec that keep nodes in FP32, and the number of names that they cannot have."""
    usable = [name for name in names if not _UNQUOTABLE & set(name)]
    types = ",".join(f"{name}:fp32" for name in usable)
    options = ["--precisionConstraints=obey", f"--layerPrecisions={types}", f"--layerOutputTypes={types}"]
    return " ".join(map(shlex.quote, options)) if usable else "", len(names) - len(usable)
