r"""DOT, the language of Graphviz.

Three layers of escapes lie over each other: the quotes of the language (only `\"` ends differently), escString in labels and
tooltips (`\N`, `\G`, `\n`, `\\`), and HTML entities, which Graphviz resolves in both. A name never stands where Graphviz
would look for a file, a link or an HTML-like label.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from trex_tui.errors import TrexError
from trex_tui.report.graph.model import HIGHLIGHT, MUTED, EdgeRole, EngineGraph, Node, NodeRole
from trex_tui.text import ELLIPSIS, format_ms, printable, shorten_middle

MOST_BYTES = 16_000
"""Graphviz up to 2.50 reads no string of more than 16 384 bytes (its scanner's buffer)."""

_SHAPES = {
    NodeRole.LAYER: "box",
    NodeRole.CONSTANT: "note",
}


def escaped(text: str, *, is_tooltip: bool = False) -> str:
    """Text as a quoted string in which Graphviz sees nothing but letters; newlines separate lines.

    What is too long for Graphviz ends in an ellipsis.

    Args:
        is_tooltip: Graphviz 2.43 resolves the escapes of tooltips twice.
    """
    backslash = "\\\\\\\\" if is_tooltip else "\\\\"
    safe = _safe(text, backslash)
    if len(safe.encode("utf-8")) > MOST_BYTES:
        safe = _safe(text[: _longest(text, backslash)], backslash) + ELLIPSIS
    return f'"{safe}"'


def _safe(text: str, backslash: str) -> str:
    lines = (printable(line).replace("\\", backslash) for line in text.split("\n"))
    return "\\n".join(line.replace("&", "&amp;").replace('"', '\\"') for line in lines)


def _longest(text: str, backslash: str) -> int:
    """How many letters fit: no escape is torn apart."""
    least, most = 0, min(len(text), MOST_BYTES)
    while least < most:
        middle = (least + most + 1) // 2
        size = len(_safe(text[:middle], backslash).encode("utf-8")) + len(ELLIPSIS.encode("utf-8"))
        least, most = (middle, most) if size <= MOST_BYTES else (least, middle - 1)
    return least


def write_dot(graph: EngineGraph) -> str:
    """The graph in DOT. Boxes have ids of their own, so that names may repeat; what can be counted stands in attributes."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: EngineGraph) -> Iterator[str]:
    yield f"digraph {escaped(graph.name)} {{"
    yield f"  graph [label={escaped(graph.title)}, labelloc=t, fontname=Helvetica, ranksep=0.35, nodesep=0.25, {_PACK}];"
    yield '  node [fontname=Helvetica, fontsize=10, style="filled,rounded", margin="0.1,0.05"];'
    yield f'  edge [color="{MUTED}", arrowsize=0.6];'
    for number, node in enumerate(graph.nodes):
        yield f"  {node.id} [{_node_attributes(node)}, sortv={number}];"
    for edge in graph.edges:
        attributes = [
            f'color="{edge.paint}"',
            f"tooltip={escaped(edge.text, is_tooltip=True)}",
            f"role={edge.role.value}",
        ]
        if edge.port is not None:
            attributes.append(f"port={edge.port}")
        if edge.role is EdgeRole.LOOP:
            attributes += ["style=dashed", "constraint=false"]
        yield f"  {graph.nodes[edge.source].id} -> {graph.nodes[edge.target].id} [{', '.join(attributes)}];"
    yield "}"


# Layers that nothing joins, as where a file holds names only, stand in rows of six, in their order (`sortv`).
_PACK = 'pack=true, packmode="array_u6"'


def _node_attributes(node: Node) -> str:
    attributes = [
        f"label={escaped(chr(10).join(node.lines))}",
        f"tooltip={escaped(node.tooltip, is_tooltip=True)}",
    ]
    attributes += [f'fillcolor="{node.paint.fill}"', f'color="{node.paint.line}"']
    attributes.append(f"shape={_SHAPES.get(node.role, 'ellipse')}")
    if node.role is not NodeRole.LAYER:
        attributes.append("style=filled")
    if node.is_highlighted:
        attributes += [f'color="{HIGHLIGHT}"', "penwidth=3"]
    attributes.append(f"role={node.role.value}")
    if node.layer is not None:
        attributes.append(f"kind={node.layer.kind.value}")
        if node.layer.precision is not None:
            attributes.append(f"precision={node.layer.precision.value}")
        if node.layer.latency_ms is not None:
            attributes.append(f"latency_ms={format_ms(node.layer.latency_ms, 6)}")
    return ", ".join(attributes)


INSTALL = "install Graphviz (apt install graphviz, dnf install graphviz, brew install graphviz)"


class DotTimeoutError(TrexError):
    """`dot` took longer than it was given."""


def dot_program() -> str | None:
    """Where `dot` lies; None if it is not installed."""
    return shutil.which("dot")


def drawn_by_dot(program: str, text: str, form: str, seconds: float) -> tuple[bytes, str]:
    """The picture, and what `dot` had to say.

    Args:
        text: DOT.
        form: `svg` or `png`.
        seconds: Time limit.

    Raises:
        DotTimeoutError: It took longer.
        TrexError: It failed; the message is its own.
    """
    try:
        done = subprocess.run(
            [program, f"-T{form}"],
            input=text.encode("utf-8"),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DotTimeoutError(f"dot took longer than {seconds:g} s") from None
    except OSError as error:
        raise TrexError(f"{program} cannot be run: {error.strerror or error}") from error
    words = " ".join(done.stderr.decode("utf-8", "replace").split())
    message = shorten_middle(printable(words), 300)
    if done.returncode != 0 or not done.stdout:
        reason = message or f"exit code {done.returncode}"
        raise TrexError(f"dot could not draw it: {reason}")
    return done.stdout, message
