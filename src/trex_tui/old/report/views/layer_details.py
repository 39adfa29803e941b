"""Details of a layer or a group of layers as lines. Text and numbers only, no terminal."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from trex_tui.old.analysis.columns import Derived
from trex_tui.old.analysis.compute import Compute
from trex_tui.old.analysis.dataflow import Neighbour, list_consumers, list_producers
from trex_tui.old.analysis.modules import Group, Grouping, Share, by_onnx_node
from trex_tui.old.analysis.structure import hottest, sum_latency_ms
from trex_tui.old.analysis.tactic_parts import UNKNOWN_LIBRARY, list_parts
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.dtypes import format_intensity
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.layer_names import describe_layer_name
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.engine.tactics import parse_tactic
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.dla import role_text
from trex_tui.old.text import (
    format_bytes,
    format_count,
    format_ms,
    format_pct,
    format_shape,
    join_words,
    plural,
    printable,
    shorten_middle,
    shorten_name_list,
)

if TYPE_CHECKING:
    from trex_tui.old.lint.model import Judged

LONGEST_HEADING = 200
"""Characters of a name in the heading; longer ones are shown in full below."""
MOST_NEIGHBOURS = 40
"""Number of producers or consumers that are listed; the others are summed up."""
MOST_SLOWEST = 10
_HIDDEN_ATTRIBUTES = frozenset({"Metadata"})


@dataclass(frozen=True, slots=True)
class Line:
    """A line, not yet made safe for a terminal.

    Attributes:
        style: `heading`, `section`, `plain`, `muted`, or `warning`.
        label: Label before the text.
        indent: Cells before label and text.
        target: Index of the layer, or the finding, that the line leads to; None for most.
    """

    text: str
    style: str = "plain"
    label: str = ""
    indent: int = 0
    target: int | Judged | None = None


def layer_lines(
    engine: Engine,
    layer: Layer,
    facts: Derived | str | None = None,
    findings: Sequence[Line] = (),
    build: Sequence[Line] = (),
    onnx: Sequence[Line] = (),
) -> Iterator[Line]:
    """Return lines about a layer.

    Args:
        facts: Results computed over the whole engine; None while they are computed; a text with the reason if they
            are missing.
        findings: Lint findings about the layer; omitted if empty.
        build: Lines from the build log; omitted if empty.
        onnx: Nodes of the layer in a model; without them, the nodes in its metadata are listed.
    """
    yield Line(shorten_middle(printable(layer.name), LONGEST_HEADING), "heading")
    yield Line(_format_summary(engine, layer, facts))
    yield Line(_describe(layer))
    if meaning := describe_layer_name(layer.name, layer.layer_type, layer.parameter_type):
        yield Line(meaning, "muted")
    yield from _time_lines(engine, layer)
    if role := role_text(engine, layer):
        yield Line(role)
    if findings:
        yield Line("Findings", "section")
        yield from findings
    yield from onnx
    if not onnx and engine.onnx is None and layer.name.startswith("{ForeignNode["):
        yield Line(
            "--onnx FILE shows the nodes between its ends.",
            "muted",
        )
    outside = {binding.name for binding in engine.bindings}
    yield from _tensor_lines("Inputs", layer.inputs, layer.constant_inputs, outside)
    yield from _tensor_lines("Outputs", layer.outputs, frozenset(), outside)
    yield from _byte_lines(layer)
    yield from _neighbour_lines("Producers", "←", list_producers(engine, layer))
    yield from _neighbour_lines("Consumers", "→", list_consumers(engine, layer))
    yield from _tactic_lines(layer)
    if build:
        yield Line("Build", "section")
        yield from build
    yield from _compute_lines(layer, facts)
    if layer.onnx_nodes and not onnx:
        yield Line(f"ONNX nodes ({len(layer.onnx_nodes)})", "section")
        yield from (Line(node, indent=2) for node in layer.onnx_nodes)
    if len(printable(layer.name)) > LONGEST_HEADING:
        yield Line("Full name", "section")
        yield Line(layer.name, indent=2)
    shown = {key: value for key, value in layer.attributes.items() if key not in _HIDDEN_ATTRIBUTES}
    if shown:
        yield Line("Raw attributes", "section")
        for key, value in shown.items():
            yield Line(value if isinstance(value, str) else json.dumps(value), label=key, indent=2)


def _describe(layer: Layer) -> str:
    types = [
        type_
        for type_ in (layer.layer_type, layer.parameter_type)
        if type_ and type_.casefold() != layer.kind.value
    ]
    words = [
        layer.kind.value,
        layer.precision.value if layer.precision else _describe_unknown_precision(layer),
    ]
    words += [" / ".join(dict.fromkeys(types))] if types else []
    words += ["name only"] if layer.layer_type is None else []
    words += [f"stream {layer.stream}"] if layer.stream is not None else []
    words += [layer.device.value] if layer.device else []
    return " · ".join(words)


def _describe_unknown_precision(layer: Layer) -> str:
    types = layer.mixed_input_types
    return f"precision unknown (inputs {join_words(types)})" if types else "precision unknown"


# Time


@per_engine
def _times(engine: Engine) -> list[float]:
    return sorted(layer.latency_ms for layer in engine.layers if layer.latency_ms is not None)


def _format_summary(engine: Engine, layer: Layer, facts: Derived | str | None) -> str:
    """Return time, share, rank, index and bound of the layer, as far as they are known."""
    words = []
    if layer.latency_ms is not None:
        times = _times(engine)
        rank = len(times) - bisect_right(times, layer.latency_ms) + 1
        words += [f"{format_ms(layer.latency_ms)} ms", f"{format_pct(engine.latency_pct(layer))} %"]
        words += [f"rank {rank}/{len(engine.layers)}"]
    words += [f"layer {layer.index}"]
    point = facts.roofline.points.get(layer.index) if isinstance(facts, Derived) else None
    if point is not None:
        words += [f"{point.bound.value}-bound"] if point.bound else []
        if point.bound is None and layer.latency_ms and isinstance(facts, Derived):
            device = facts.roofline.device
            is_unknown = device.bandwidth_reason and device.compute_reason
            words += ["bound unknown (needs --peak)"] if is_unknown else []
        words += [f"{format_pct(point.roof_pct)} % of roof"] if point.roof_pct is not None else []
        words += [format_intensity(point.intensity, layer.precision)] if point.intensity is not None else []
    return " · ".join(words)


def _time_lines(engine: Engine, layer: Layer) -> Iterator[Line]:
    if layer.latency is None or layer.latency_ms is None:
        reason = "no row in the profile" if engine.has_profile else engine.no_profile
        yield Line(f"latency unknown: {reason}", "muted")
        return
    more = []
    if layer.latency.median_ms is not None:
        more.append(f"median {format_ms(layer.latency.median_ms)} ms")
    if spread := layer.latency.spread:
        more += [f"p99 {format_ms(spread.p99_ms)} ms"] if spread.p99_ms is not None else []
        more += [f"CV {format_pct(spread.cv_pct)} %"] if spread.cv_pct is not None else []
    if layer.latency.total_ms is not None and engine.profile_iterations:
        more.append(
            f"total {_format_total_ms(layer.latency.total_ms)} ms in {plural(engine.profile_iterations, 'iteration')}"
        )
    if more:
        yield Line(" · ".join(more), "muted")


def _format_total_ms(value: float) -> str:
    """Format a sum over a run with six digits."""
    digits = 4 if value < 100.0 else 3 if value < 1000.0 else 1
    return format_ms(value, digits)


# Tensors and bytes


def _tensor_lines(
    title: str, tensors: Sequence[Tensor], constants: frozenset[str], outside: set[str]
) -> Iterator[Line]:
    if not tensors:
        return
    yield Line(f"{title} ({len(tensors)})", "section")
    for tensor in tensors:
        logical, allocated = tensor.logical_bytes, tensor.allocated_bytes
        size = format_bytes(logical) if logical is not None else "size unknown"
        if allocated is not None and allocated != logical:
            size += f", {format_bytes(allocated)} allocated"
        yield Line(f"{format_shape(tensor.shape)} · {tensor.description} · {size}", indent=2)
        words = [tensor.name]
        words += ["constant"] if tensor.name in constants else []
        words += ["binding of the network"] if tensor.name in outside else []
        words += [f"in memory of the {tensor.location.lower()}"] if tensor.location == "Host" else []
        yield Line(" · ".join(words), "muted", indent=4)


def _byte_lines(layer: Layer) -> Iterator[Line]:
    if layer.layer_type is None:
        return
    yield Line("Bytes", "section")
    known = layer.io_bytes is not None
    io = (
        f"{format_bytes(layer.io_bytes)}, {format_bytes(layer.io_allocated_bytes)} allocated"
        if known
        else "unknown"
    )
    yield Line(io, label="in and out", indent=2)
    weights = format_bytes(layer.weights_bytes) if layer.weights_bytes is not None else "unknown"
    yield Line(weights, label="weights", indent=2)
    if layer.footprint_allocated_bytes is not None:
        yield Line(f"{format_bytes(layer.footprint_allocated_bytes)} allocated", label="all", indent=2)


# Neighbours


def _neighbour_lines(title: str, sign: str, others: Sequence[Neighbour]) -> Iterator[Line]:
    if not others:
        return
    yield Line(f"{title} ({len(others)})", "section")
    for neighbour in others[:MOST_NEIGHBOURS]:
        yield _link_line(neighbour.layer, f"{sign}{' ◉' if neighbour.is_loop else ''}")
    rest = [neighbour.layer for neighbour in others[MOST_NEIGHBOURS:]]
    if rest:
        yield Line(f"+{len(rest)} more, {format_ms(sum_latency_ms(rest))} ms", "muted", indent=2)


def _link_line(layer: Layer, sign: str) -> Line:
    time = "time unknown" if layer.latency_ms is None else f"{format_ms(layer.latency_ms)} ms"
    words = f"{sign} {layer.index} · {time} · {layer.kind.value} · {shorten_name_list(layer.name)}"
    return Line(words, indent=2, target=layer.index)


# The tactic


def _tactic_lines(layer: Layer) -> Iterator[Line]:
    if not layer.tactic and not layer.tactic_value:
        return
    yield Line("Tactic", "section")
    yield Line(layer.tactic or "no name", indent=2)
    tactic = parse_tactic(layer.tactic)
    if tactic is not None and tactic.library != UNKNOWN_LIBRARY:
        yield from (Line(text, label=label, indent=2) for label, text in list_parts(tactic) if text)
    elif layer.tactic:
        yield Line("unknown name pattern", "muted", indent=2)
    if layer.tactic_value:
        yield Line(layer.tactic_value, label="id", indent=2)


# What it computes


def _compute_lines(layer: Layer, facts: Derived | str | None) -> Iterator[Line]:
    if layer.layer_type is None or not layer.kind.is_work:
        return
    yield Line("Compute", "section")
    if facts is None:
        yield Line("being computed …", "muted", indent=2)
        return
    if isinstance(facts, str):
        yield Line(facts, "muted", indent=2)
        return
    product = _describe_product(facts.compute[layer.index])
    if product:
        yield Line(product, label="M×N×K", indent=2)
    sentences = facts.roofline.describe(layer.index)
    if all(sentence.startswith(("assumed:", "not ")) for sentence in sentences):
        sentences = [sentence for sentence in sentences if sentence.startswith("not ")]
    for sentence in sentences:
        style = "muted" if sentence.startswith(("assumed:", "not ")) else "plain"
        yield Line(sentence, style, indent=2)


def _describe_product(compute: Compute) -> str:
    extents = (compute.m, compute.n, compute.k)
    if compute.macs is None or None in extents:
        return ""
    words = "×".join(str(extent) for extent in extents)
    batch = f" in a batch of {compute.batch}" if compute.batch and compute.batch > 1 else ""
    return f"{words}{batch}: {format_count(compute.macs)} MACs"


# Groups


@per_engine
def node_shares(engine: Engine) -> dict[str, Share]:
    """Return the time of each ONNX node by its name, cached with the engine."""
    return {share.name: share for share in by_onnx_node(engine)}


def group_lines(engine: Engine, group: Group, grouping: Grouping) -> Iterator[Line]:
    """Return lines about a group of layers."""
    yield Line(shorten_middle(printable(group.name), LONGEST_HEADING), "heading")
    yield Line(plural(len(group.layers), "layer"))
    yield from _group_time_lines(engine, group)
    if grouping is Grouping.ONNX:
        share = node_shares(engine).get(group.path[-1])
        if share is not None and share.latency_ms is not None:
            yield Line("Time of the layers whose first ONNX node it is.", "muted")
            words = f"{format_ms(share.latency_ms)} ms in {plural(share.layers, 'layer')}"
            yield Line(f"With layer times split equally among their nodes: {words}.", "muted")
    kinds: dict[str, int] = {}
    for layer in group.layers:
        kinds[layer.kind.value] = kinds.get(layer.kind.value, 0) + 1
    most = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    yield Line("Kinds", "section")
    yield Line(" · ".join(f"{count} {kind}" for kind, count in most), indent=2)
    slowest = hottest(group.layers, MOST_SLOWEST)
    if slowest:
        yield Line("Slowest", "section")
        yield from (_link_line(layer, "·") for layer in slowest)


def _group_time_lines(engine: Engine, group: Group) -> Iterator[Line]:
    total = engine.latency_sum_ms
    if group.latency_ms is None or not total:
        yield Line(f"latency unknown: {engine.no_profile}", "muted")
        return
    share = format_pct(100.0 * group.latency_ms / total)
    yield Line(f"{format_ms(group.latency_ms)} ms · {share} % of all layers")
    without = sum(layer.latency_ms is None for layer in group.layers)
    if without:
        yield Line(f"{plural(without, 'layer')} without a time", "muted")


def find_targets(lines: Sequence[Line]) -> list[int]:
    """Find the lines that lead to a layer or a finding."""
    return [number for number, line in enumerate(lines) if line.target is not None]


def label_width(lines: Sequence[Line]) -> int:
    """Return the width of the labels of a block of lines, so that the texts are aligned."""
    return max(chain((len(printable(line.label)) for line in lines if line.label), (0,)))
