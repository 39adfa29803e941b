"""Engines for the tests of graphs and exports: hostile, reused memory, loops, names only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers import layer, tensor, write_graph, write_json, write_profile
from trex_tui.old.engine import Engine, load_engine

HOSTILE = (
    "<b>bold</b>",
    "<<table><tr><td>x</td></tr></table>>",
    "a & b &amp; &#60;script&#62; &lt;",
    r"\N \G \L \l \r \n \E \T \H \\",
    "ends in a backslash\\",
    'quote " and \\" and \\\\"',
    "new\nline\rand\ttab",
    "\x1b]0;title\x07\x1b[31m\x00\x1e\x1f\x7f\x9b",
    "\u202egnp.exe\u2066\u200b\ufeff\u2028",
    "lone \ud800 surrogate",
    "{a|b}|<port>:n",
    "a -> b; } digraph { /* x */ // y # z",
    "]]> <!-- --> <?xml?> <![CDATA[",
    '=HYPERLINK("http://x","y")',
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "漢字 and 🦖 and é",
    "x" * 40_000,
    "&" * 17_000,
    "",
    " ",
    "twice",
    "twice",
)


def chain_of(names: Sequence[str], folder: Path) -> Engine:
    """An engine in which each layer reads what the one before wrote; tensors are called like the layers that write them."""
    layers = [
        layer(
            name,
            "kgen",
            [tensor(f"{names[place - 1]}{place - 1}" if place else "in", 1, 8)],
            [tensor(f"{name}{place}", 1, 8)],
            TacticName=name,
            Metadata=f"[ONNX Layer: {name}]",
            Note=name,
        )
        for place, name in enumerate(names)
    ]
    write_graph(folder / "net.graph.json", layers, ["in", f"{names[-1]}{len(names) - 1}"])
    rows: list[dict[str, Any]] = [{"count": 10}]
    rows += [{"name": name, "timeMs": 1, "averageMs": 0.1, "percentage": 1} for name in names]
    write_json(folder / "net.profile.json", rows)
    return load_engine(folder)


def reusing_engine(folder: Path) -> Engine:
    """Five layers on one scratch tensor: `s` holds two values, and `state` goes around a loop."""
    layers = [
        layer("a", "kgen", [tensor("in", 4), tensor("state", 4)], [tensor("s", 4)], StreamId=0),
        layer("b", "kgen", [tensor("s", 4), tensor("weights", 9)], [tensor("t", 4)], StreamId=1),
        layer("c", "kgen", [tensor("t", 4)], [tensor("s", 8)], StreamId=0),
        layer("d", "kgen", [tensor("t", 4)], [tensor("s", 4)], StreamId=0),
        layer("e", "kgen", [tensor("s", 8)], [tensor("state", 4), tensor("out", 4)], StreamId=1),
    ]
    write_graph(folder / "loop.graph.json", layers, ["in", "out"])
    write_profile(
        folder / "loop.profile.json", [("a", 1.0), ("b", 0.5), ("c", 0.25), ("d", 0.125), ("e", 2.0)]
    )
    return load_engine(folder)


def names_only_engine(folder: Path) -> Engine:
    """Names of layers and bindings, no tensors."""
    write_json(folder / "only.graph.json", {"Layers": ["conv", "relu", "fc"], "Bindings": ["in", "out"]})
    return load_engine(folder)
