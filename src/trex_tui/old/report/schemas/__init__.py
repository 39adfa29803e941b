"""JSON Schemas of the documents: a file for each beside this module, made by `scripts/make_schemas.py`.

The description of each key is its definition in the glossary.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

from trex_tui.old.errors import TrexError
from trex_tui.old.text import did_you_mean

DOCUMENTS = {
    "summary": ("Engines: files, plan, times, memory, compute", "summary --json"),
    "cross-table": ("Layers of engines in groups", "summary --by --json"),
    "layers": ("Layers of an engine", "layers --json"),
    "lint": ("Findings of the lint rules", "lint --json"),
    "lint-rules": ("The lint rules", "lint --rules --json"),
    "diff": ("Comparison of engines", "diff --json"),
    "report": ("Sections of a report as raw values", "report --json"),
    "engines": ("Table of engines", "engines --json"),
    "history": ("Builds of a model in order, changes and their causes", "history --json"),
    "scaling": ("Throughput and latency over batches or shapes", "scaling --json"),
    "times": ("End-to-end latency, percentiles, stability", "times --json"),
    "graph": ("Graph of layers and tensors, in the node-link form", "export --format json"),
    "explain": ("Definitions of numbers and words", "explain --json"),
    "keys": ("Keys of the explorer", "keys --json"),
    "build-log": ("Phases, tactics, fusions and messages of a build", "build-log --json"),
    "doctor": ("Checks of a machine before a capture", "doctor --json"),
    "doctor-hosts": ("Checks of several machines", "doctor --host A --host B --json"),
    "capture": ("Manifest of a captured set", "capture, in NAME.capture.json"),
    "sweep": ("Points of a sweep", "capture --sweep --json"),
    "accuracy": ("Differences between the outputs of two sides", "accuracy --json"),
    "accuracy-samples": ("Differences sample by sample", "accuracy, in per_sample_diff.json"),
    "schemas": ("The documents and their versions", "schema --json"),
}
"""Name of a document -> content, and what writes it."""


def schema_text(name: str) -> str:
    """Return the JSON Schema of a document as it is in its file.

    Raises:
        TrexError: There is no such document.
    """
    name = name.removeprefix("trex-tui/").partition("/")[0]
    if name not in DOCUMENTS:
        advice = did_you_mean(name, list(DOCUMENTS)) or "`trex-tui schema` lists the documents"
        raise TrexError(f"{name}: no such document; {advice}")
    return (resources.files(__name__) / f"{name}.json").read_text(encoding="utf-8")


@lru_cache(maxsize=len(DOCUMENTS))
def read_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document; shared, so not to be changed."""
    schema: dict[str, Any] = json.loads(schema_text(name))
    return schema


def document_version(name: str) -> str:
    """Return the value of `schema` in the document: `trex-tui/summary/2`."""
    return str(read_schema(name)["properties"]["schema"]["const"])


def list_documents() -> dict[str, Any]:
    """Return the object that `schema --json` prints."""
    return {
        "schema": "trex-tui/schemas/1",
        "schemas": [
            {"name": name, "version": document_version(name), "content": content, "written_by": command}
            for name, (content, command) in DOCUMENTS.items()
        ],
    }


def list_text() -> str:
    """Return a line per document: name, version, content."""
    width = max(map(len, DOCUMENTS))
    versions = {name: document_version(name).rpartition("/")[2] for name in DOCUMENTS}
    return "".join(
        f"{name:<{width}}  {versions[name]}  {content}  ({command})\n"
        for name, (content, command) in DOCUMENTS.items()
    )
