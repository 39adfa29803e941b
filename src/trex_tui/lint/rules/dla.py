"""DLA: layers that fell back to the GPU, and the transfers between the devices.

No public artifact holds a detailed DLA engine; names and types are those in documentation, threads and profiles.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from trex_tui.analysis.structure import dla_facts
from trex_tui.buildlog.trace import Dla, DlaFallback
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import Context, build_log, format_time, has_layers, issue, quote
from trex_tui.lint.rule import HIGH, WARNING, Finding, Findings, Remedy, finding, not_checked, rule
from trex_tui.text import plural, printable, shorten_middle

_RUNTIME = (
    "DLA Runtime Configuration: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/dla-runtime-configuration.html"
)
LOADABLES = 16
"""Subgraphs (loadables) per DLA core."""
_NAMED_LAYERS = 3
_LONGEST_REASON = 200


def _computes(context: Context, layer: int) -> bool:
    """Return whether a layer computes on the GPU; copies and layers without work do not."""
    moves = context.kinds[layer] in (LayerKind.REFORMAT, LayerKind.SHUFFLE)
    return context.devices[layer] != "DLA" and context.is_work(layer) and not moves


def _blocks(context: Context) -> list[int]:
    return list(context.engine.dla_blocks["layer"]) if len(context.engine.dla_blocks) else []


def _crossings(context: Context) -> list[int]:
    """Return the rows that copy and convert data for the DLA, in execution order."""
    roles = context.values("dla_role")
    return [layer for layer, role in enumerate(roles) if role not in (None, "block", "wait")]


@rule(
    "DLA001",
    "Layers fell back from DLA to GPU",
    WARNING,
    looks_for="Build log messages about layers that the DLA cannot run; without messages, compute layers on the GPU "
    "in an engine built with --useDLACore.",
    why="Each layer that the DLA cannot run splits its subgraph and costs a copy in both directions.",
    remedy="Replace the operator, shape or type that the build log names, or deliberately move the whole "
    "head to the GPU.",
    references=(
        "DLA Supported Layers and Restrictions: "
        "https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/dla-layer-restrictions.html",
        _RUNTIME,
    ),
    not_when="Engines without any DLA; constants. TensorRT 11.0 to 11.3 has no DLA at all.",
)
def fallback(context: Context) -> Findings:
    missing_log = build_log(context)
    dla = None if missing_log else context.log.dla
    by_reason: dict[str, list[DlaFallback]] = {}
    for message in dla.fallbacks if dla else ():
        if message.layer_type != "CONSTANT":
            by_reason.setdefault(_reason(message), []).append(message)
    for reason, messages in by_reason.items():
        if not (dla and dla.subgraph_limit is not None and "subgraphs" in reason):
            yield _describe_reason(context, reason, messages)
    if dla and dla.subgraph_limit is not None:
        yield _describe_limit(dla)
    if by_reason or (dla and dla.subgraph_limit is not None):
        return
    is_asked = context.build.argument("--useDLACore") is not None or bool(
        context.build.options.get("DLACore")
    )
    blocks = _blocks(context)
    if not blocks and not is_asked:
        return  # no DLA anywhere: nothing can have fallen back
    if missing_log:
        yield not_checked(f"the reasons for a fallback are only in the build log: {missing_log}")
    facts = dla_facts(context.engine)
    between = {layer for group in (facts.fallbacks if facts else ()) for layer in group}
    left = [
        layer for layer in range(len(context.engine)) if _computes(context, layer) and layer not in between
    ]
    if is_asked and left:
        yield finding(
            f"{plural(len(left), 'layer')} on the GPU ({context.format_time(*left)}, copies excluded) in an "
            f"engine built for the DLA with {plural(len(blocks), 'DLA block')}.",
            left,
            evidence={
                "gpu_layers": len(left),
                "gpu_ms": context.sum_ms(left),
                "dla_blocks": len(blocks),
                "layer_types": ", ".join(sorted({context.layer_types[layer] or "" for layer in left})),
            },
        )


def _describe_limit(dla: Dla) -> Finding:
    """Return a finding for the number of subgraphs, which is one budget for all layers that fell back because of it."""
    on_dla, on_gpu = len(dla.dla_layers), len(dla.gpu_layers)
    beyond = list(
        dict.fromkeys(message.layer for message in dla.fallbacks if "subgraphs" in _reason(message))
    )
    named = f" (first {', '.join(map(quote, beyond[:_NAMED_LAYERS]))})" if beyond else ""
    places = f" ({on_dla} layers on the DLA, {on_gpu} on the GPU)" if on_dla and on_gpu else ""
    return finding(
        f"The limit of {dla.subgraph_limit} DLA subgraphs is reached{places}: all further layers run on "
        f"the GPU, also those that the DLA supports{named}.",
        confidence=HIGH,
        evidence={
            "subgraph_limit": dla.subgraph_limit,
            "fallback_layers": len(beyond),
            "dla_layers": on_dla,
            "gpu_layers": on_gpu,
        },
        remedy=(
            "Mend the other fallbacks first: each unsupported layer splits a subgraph in two. Or place a "
            "contiguous part on the DLA and the rest on the GPU (--layerDeviceTypes).",
            "Mend the other fallbacks first: each unsupported layer splits a subgraph in two. Or place a "
            "contiguous part on the DLA and the rest on the GPU (setDeviceType of each layer).",
        ),
    )


_REMEDIES: dict[str, Remedy] = {
    "shapes are equal": "Build with equal minimum, optimal and maximum shapes, or with static ones.",
    "FP16 and INT8 only": "Allow FP16 or INT8 in the build: the DLA has no other types.",
}
"""Words of a reason -> its remedy."""


def _describe_reason(context: Context, reason: str, messages: list[DlaFallback]) -> Finding:
    """Return a finding for a reason in the log, or for the layers without one."""
    names = list(dict.fromkeys(message.layer for message in messages))
    types = Counter(
        message.layer_type.replace("_", " ").lower() for message in messages if message.layer_type
    )
    of_types = ", ".join(f"{count} {name}" if count > 1 else name for name, count in types.most_common())
    # A layer of the engine consists of several layers of the network.
    gpu_layers = [
        layer for layer, name in enumerate(context.names) if not {name, *name.split(" + ")}.isdisjoint(names)
    ]
    named = ", ".join(quote(name) for name in names[:_NAMED_LAYERS] if name)
    more = f" and {len(names) - _NAMED_LAYERS} more" if len(names) > _NAMED_LAYERS else ""
    time = f"; {context.format_time(*gpu_layers)}" if context.sum_ms(gpu_layers) is not None else ""
    of_types = f"; {of_types}" if of_types else ""
    which = f" ({named}{more}{of_types}{time})" if named else ""
    subject = plural(len(names), "layer") if named else "Layers"
    return finding(
        f"{subject} fell back from the DLA to the GPU, {printable(reason) or 'no reason in the log'}{which}.",
        gpu_layers,
        confidence=HIGH,
        evidence={
            "fallback_layers": len(names),
            "reason": reason or None,
            "layer_types": dict(types),
            "gpu_ms": context.sum_ms(gpu_layers),
            "log_line": messages[0].line,
        },
        remedy=next((remedy for words, remedy in _REMEDIES.items() if words in reason), ""),
    )


def _reason(message: DlaFallback) -> str:
    """Return the builder's reason without the layer's name, so that equal reasons can be grouped."""
    text = message.detail.partition("Switching ")[0].partition("\n")[0]
    for piece in (f"Layer '{message.layer}'", f"'{message.layer}'", message.layer):
        text = text.replace(piece, "") if piece.strip("'") else text
    stated = shorten_middle(" ".join(text.split()).strip(" :.,"), _LONGEST_REASON)
    return stated or message.reason


@rule(
    "DLA002",
    "Frequent crossings between GPU and DLA",
    WARNING,
    looks_for="Two or more DLA blocks, or copies to and from the DLA's memory (`to nvm`, `from nvm`).",
    why="Every crossing copies, reformats and waits.",
    remedy="Keep one block; pass inputs and outputs in DLA formats (--inputIOFormats=int8:dla_hwc4 or fp16:chw16).",
    references=(_RUNTIME, issue(3143), issue(3438)),
    columns=("name", "layer_type", "dla_role", "latency_ms"),
    not_when="The row that waits for a block: its time is that of the DLA. Crossings around GPU layers "
    "between two blocks are in DLA003.",
    needs=(has_layers,),
    estimate="copies and reformats at DLA boundaries, waits excluded",
    formula="time of copies to and from nvm, their ends, and reformats around DLA blocks",
)
def transitions(context: Context) -> Findings:
    facts, blocks, roles = dla_facts(context.engine), _blocks(context), context.values("dla_role")
    rows = _crossings(context)
    copies = [row for row in rows if roles[row] in ("copy to DLA", "copy from DLA")]
    if facts is None or (len(blocks) < 2 and not copies):
        return
    inner = {row for first, last in _gaps(context) for row in rows if first < row < last}
    outer = [row for row in rows if row not in inner]
    total = context.sum_ms(outer)
    limit = f"; a DLA core holds {LOADABLES} of them" if len(blocks) > LOADABLES else ""
    beside = " (without those around GPU layers between blocks)" if inner else ""
    yield finding(
        f"{plural(len(blocks), 'DLA block')}{limit}, {plural(facts.crossings, 'crossing')} between GPU and "
        f"DLA: their copies and reformats{beside} take {format_time(total, context.pct(total))}.",
        [*blocks, *outer],
        savings=context.times(outer),
        evidence={
            "dla_blocks": len(blocks),
            "dla_ms": facts.dla_ms,
            "copies_to_dla": sum(roles[row] == "copy to DLA" for row in rows),
            "copies_from_dla": sum(roles[row] == "copy from DLA" for row in rows),
            "reformats": sum(roles[row] == "conversion" for row in rows),
        },
    )


def _gaps(context: Context) -> list[tuple[int, int]]:
    """Return the pairs of neighbouring blocks with layers that compute on the GPU between them."""
    return [
        (first, last)
        for first, last in pairwise(_blocks(context))
        if any(_computes(context, layer) for layer in range(first + 1, last))
    ]


@rule(
    "DLA003",
    "GPU layers between DLA blocks",
    WARNING,
    looks_for="Compute layers on the GPU between two DLA blocks, with the copies and conversions around them.",
    why="The DLA waits while data is copied to the GPU, processed and copied back.",
    remedy=(
        "Replace these layers with ones that the DLA supports, so that both blocks merge; or end the DLA "
        "part before them (--layerDeviceTypes) and run the rest on the GPU.",
        "Replace these layers with ones that the DLA supports, so that both blocks merge; or end the DLA "
        "part before them (setDeviceType of each layer) and run the rest on the GPU.",
    ),
    references=(_RUNTIME, issue(3438)),
    columns=("name", "kind", "device", "dla_role", "latency_ms"),
    not_when="Layers before the first block and after the last.",
    needs=(has_layers,),
    estimate="copies and conversions between the blocks, waits excluded",
    formula="time of copies and conversions between the two blocks, without the wait",
)
def fallback_between_blocks(context: Context) -> Findings:
    for first, last in _gaps(context):
        layers = [layer for layer in range(first + 1, last) if _computes(context, layer)]
        rows = [row for row in _crossings(context) if first < row < last]
        named = ", ".join(context.quote(layer) for layer in layers[:_NAMED_LAYERS])
        more = f" and {len(layers) - _NAMED_LAYERS} more" if len(layers) > _NAMED_LAYERS else ""
        crossing_ms = context.sum_ms(rows)
        cost = (
            f"take {format_time(crossing_ms, context.pct(crossing_ms))}"
            if rows
            else "have no row in the files"
        )
        work = " and ".join(sorted({context.kinds[layer] for layer in layers}))
        yield finding(
            f"{plural(len(layers), 'layer')} on the GPU between the DLA blocks {first} and {last} ({named}{more}; "
            f"{context.format_time(*layers)}): the copies and conversions between the blocks {cost}.",
            [*layers, *rows],
            savings=context.times(rows),
            evidence={
                "gpu_layers": len(layers),
                "gpu_ms": context.sum_ms(layers),
                "crossing_rows": len(rows),
                "crossing_ms": crossing_ms,
            },
            group=f"times {work} layers on the GPU between two DLA blocks",
        )


RULES = (fallback, transitions, fallback_between_blocks)
