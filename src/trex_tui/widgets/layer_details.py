"""Everything that is known of one layer, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.content import Content

from trex_tui.analysis.grouping import Group
from trex_tui.engine.engine import Engine
from trex_tui.engine.links import Link
from trex_tui.engine.model import Layer, Tensor
from trex_tui.text import (
    format_bytes,
    format_ms,
    format_pct,
    format_shape,
    plural,
    printable,
    shorten_middle,
)
from trex_tui.widgets.scroll import TextScroll
from trex_tui.widgets.wrapped_lines import TextLine, WrappedLines

Line = tuple[str, str]
"""A style token and a line of text; the token is one of `heading`, `label`, `plain`, `muted`."""

LONGEST_HEADING = 200
"""A name with more characters is cut in the heading, and stands in full further down."""
_HIDDEN_ATTRIBUTES = frozenset({"Metadata"})


def layer_lines(engine: Engine, layer: Layer) -> Iterator[Line]:
    """What the details pane says of a layer, line by line. Not yet made safe for a terminal."""
    yield "heading", shorten_middle(printable(layer.name), LONGEST_HEADING)
    yield "plain", _first_words(layer)
    yield from _time_lines(engine, layer)
    yield from _tensor_lines("Inputs", layer.inputs)
    yield from _tensor_lines("Outputs", layer.outputs)
    if layer.layer_type is not None:
        weights = format_bytes(layer.weights_bytes) if layer.weights_bytes is not None else "unknown"
        yield "label", "Bytes"
        yield "plain", f"  I/O {format_bytes(layer.io_bytes)} · weights {weights}"
    if layer.tactic or layer.tactic_value:
        yield "label", "Tactic"
        yield "plain", f"  {layer.tactic or 'no name'}"
        if layer.tactic_value:
            yield "muted", f"  {layer.tactic_value}"
    if layer.onnx_nodes:
        yield "label", f"ONNX nodes ({len(layer.onnx_nodes)})"
        yield from (("plain", f"  {node}") for node in layer.onnx_nodes)
    yield from _neighbour_lines("From", engine, engine.producers(layer), outgoing=False)
    yield from _neighbour_lines("To", engine, engine.consumers(layer), outgoing=True)
    if len(printable(layer.name)) > LONGEST_HEADING:
        yield "label", "Full name"
        yield "plain", f"  {layer.name}"
    shown = {key: value for key, value in layer.attributes.items() if key not in _HIDDEN_ATTRIBUTES}
    if shown:
        yield "label", "Attributes"
        for key, value in shown.items():
            yield "plain", f"  {key}: {value if isinstance(value, str) else json.dumps(value)}"


def _first_words(layer: Layer) -> str:
    types = [one for one in (layer.layer_type, layer.parameter_type) if one]
    words = [layer.kind.value, layer.precision.value if layer.precision else "precision unknown"]
    words += [" / ".join(dict.fromkeys(types))] if types else ["only its name is known"]
    words += [f"stream {layer.stream}"] if layer.stream is not None else []
    words += [layer.device.value] if layer.device else []
    return " · ".join(words)


def _time_lines(engine: Engine, layer: Layer) -> Iterator[Line]:
    if layer.latency is None:
        reason = "no profile in this set" if not engine.has_profile else "the profile has no row for it"
        yield "muted", f"latency unknown: {reason}"
        return
    slower = sum((one.latency_ms or 0.0) > (layer.latency_ms or 0.0) for one in engine.layers)
    share = format_pct(engine.latency_pct(layer))
    rank = f"no. {slower + 1} of {len(engine.layers)} by time"
    yield "plain", f"{format_ms(layer.latency_ms)} ms · {share} % of all layers · {rank}"
    if layer.latency.median_ms is not None:
        yield "muted", f"median {format_ms(layer.latency.median_ms)} ms"


def _tensor_lines(title: str, tensors: Sequence[Tensor]) -> Iterator[Line]:
    if not tensors:
        return
    yield "label", f"{title} ({len(tensors)})"
    for tensor in tensors:
        size = tensor.logical_bytes
        words = f"  {format_shape(tensor.shape)} · {tensor.description}"
        yield "plain", words + f" · {format_bytes(size) if size is not None else 'size unknown'}"
        yield "muted", f"    {tensor.name}"


def _neighbour_lines(title: str, engine: Engine, links: Sequence[Link], *, outgoing: bool) -> Iterator[Line]:
    if not links:
        return
    others = dict.fromkeys(link.target if outgoing else link.source for link in links)
    yield "label", f"{title} ({len(others)})"
    for index in others:
        other = engine.layers[index]
        yield (
            "plain",
            f"  {other.index:>4} {other.name} ({other.kind.value}, {format_ms(other.latency_ms)} ms)",
        )


def group_lines(engine: Engine, group: Group) -> Iterator[Line]:
    """What the details pane says of a group."""
    yield "heading", shorten_middle(printable(group.name), LONGEST_HEADING)
    yield "plain", plural(len(group.layers), "layer")
    total = engine.latency_sum_ms
    if group.latency_ms is None or not total:
        yield "muted", "latency unknown: no profile in this set"
    else:
        share = format_pct(100.0 * group.latency_ms / total)
        yield "plain", f"{format_ms(group.latency_ms)} ms · {share} % of all layers"


class LayerDetails(TextScroll):
    """The details pane."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.shown: Layer | Group | None = None

    def compose(self) -> ComposeResult:
        """One block of text."""
        yield WrappedLines()

    def show(self, engine: Engine, entry: Layer | Group | None) -> None:
        """Show a layer or a group, from its top."""
        self.shown = entry
        if entry is None:
            lines: list[Line] = [("muted", "Nothing is selected.")]
        elif isinstance(entry, Layer):
            lines = list(layer_lines(engine, entry))
        else:
            lines = list(group_lines(engine, entry))
        self.query_one(WrappedLines).show([_text_line(line) for line in lines])
        self.scroll_home(animate=False)


_STYLES = {"heading": "bold", "label": "$primary", "plain": "", "muted": "$muted"}


def _text_line(line: Line) -> TextLine:
    style, text = line
    shown = printable(text)
    indent = len(shown) - len(shown.lstrip(" "))
    return TextLine(Content.styled(shown, _STYLES[style]), indent + 2 if indent else 0)
