"""Results of the tools, as types: the protocol publishes their JSON Schema."""

from __future__ import annotations

from typing import Any

# pydantic, which reads these types, refuses those of typing before Python 3.12.
from typing_extensions import TypedDict


class Rows(TypedDict):
    """A part of a table.

    Attributes:
        columns: Name of each column, the unit at the end; the tool explain defines it.
        rows: Values in the order of `columns`; null is unknown.
        total: Number of rows of the whole table.
        cursor: For the next part, with the same arguments; null at the end.
        notes: Remarks, in sentences.
    """

    columns: list[str]
    rows: list[list[Any]]
    total: int
    cursor: str | None
    notes: list[str]


class Summary(TypedDict):
    """Facts about an engine; null is unknown.

    Attributes:
        values: Keys and values of `trex-tui summary --json`.
        more: Further keys, to be asked for in `keys`.
        notes: Remarks on files that could not be read, and what was assumed.
    """

    name: str
    values: dict[str, Any]
    more: list[str]
    notes: list[str]


class LayerDetails(TypedDict):
    """Everything about a layer.

    Attributes:
        columns: Columns with a known value.
        attributes: Keys and values of the file, as they are.
        producers: Indices of the layers that it reads from.
        consumers: Indices of the layers that read from it.
        findings: Lint findings with the layer.
        notes: Remarks on files that could not be read, and what was assumed.
    """

    index: int
    name: str
    columns: dict[str, Any]
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    attributes: dict[str, Any]
    producers: list[int]
    consumers: list[int]
    findings: list[str]
    notes: list[str]


class Difference(TypedDict):
    """Comparison of an engine (B in texts) with a baseline (A); a negative delta is faster than the baseline.

    Attributes:
        verdict: Whether the end-to-end latency changed beyond noise, and why that is known.
        cautions: What makes the engines hard to compare, and their damaged files.
        headline: The difference of the layers in a sentence.
        reasons: Causes of the difference, the largest first; they add up.
        blocks: Layers that were matched, the largest difference first.
    """

    baseline: str
    other: str
    verdict: dict[str, Any]
    cautions: list[str]
    headline: str
    reasons: list[dict[str, Any]]
    blocks: Rows


class Explanations(TypedDict):
    """Definitions.

    Attributes:
        terms: Key, definition, unit, formula and source of numbers and words.
        rules: Lint rules of that name.
    """

    terms: list[dict[str, Any]]
    rules: list[dict[str, Any]]
