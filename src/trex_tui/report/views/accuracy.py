"""The outputs of two networks, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from trex_tui.analysis.gates import GateResult
from trex_tui.analysis.outputs import COLUMNS
from trex_tui.report.document import Document, Section, drop_empty_columns
from trex_tui.report.views.gates import gates_section
from trex_tui.text import plural, printable


def accuracy_document(content: Mapping[str, Any], gates: Sequence[GateResult]) -> Document:
    """Return the result of a comparison.

    Args:
        content: Its values, as `artifacts.outputs` reads them.
        gates: Results of the gates.
    """
    rows = [{column: _cell(column, output) for column in COLUMNS} for output in content["outputs"]]
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).convert_dtypes()
    is_finite = not any(output[key] for output in content["outputs"] for key in _NOT_FINITE)
    columns = [column for column in COLUMNS.values() if not (is_finite and column.key in _NOT_FINITE)]
    name, reference = (printable(content[side]["path"]) for side in ("test", "reference"))
    title = f"Accuracy of {name} against {reference}"
    table = Section(
        "outputs",
        title,
        sentences=_describe(content),
        frame=frame,
        columns=columns,
        noun="output",
        audience="people",
    )
    sections = [drop_empty_columns(table)]
    if gates:
        sections.insert(0, replace(gates_section(gates), audience="people"))
    return Document("accuracy", title, sections, data=content, version=2)


_NOT_FINITE = ("nan_reference", "nan_test", "inf_reference", "inf_test")


def _cell(column: str, output: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a cell
    if column == "output":
        return output["name"]
    if column == "types":
        types = dict.fromkeys(output[f"dtype_{side}"] or "unknown" for side in ("reference", "test"))
        return " → ".join(types)
    return output[column]


def _describe(content: Mapping[str, Any]) -> list[str]:
    inputs = content["inputs"]
    samples = plural(inputs["samples"], f"{'random ' if inputs['kind'] == 'random' else ''}sample")
    origin = f"seed {inputs['seed']}" if inputs["kind"] == "random" else inputs["origin"]
    sentences = [f"{samples} ({printable(origin)})."]
    sentences += [
        f"{printable(output['name'])}: no {measure}: {reason}."
        for output in content["outputs"]
        for measure in ("cosine", "sqnr_db", "max_rel")
        if (reason := output["reasons"].get(measure))
    ]
    return [*sentences, *(f"{note[:1].upper()}{note[1:]}." for note in content["notes"])]
