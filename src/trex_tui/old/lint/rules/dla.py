"""DLA: layers that fell back to the GPU, and the transfers between the devices.

No public artifact holds a detailed DLA engine; names and types are those in documentation, threads and profiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex_tui.old.analysis.dla import DlaUse, FallbackGroup, computes, find_dla_use
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.analysis.trtexec_runs import build_run
from trex_tui.old.engine.dla import DlaRole
from trex_tui.old.engine.model import Device, Layer
from trex_tui.old.lint.context import Context, build_log, format_time, issue, latencies, quote
from trex_tui.old.lint.model import Confidence, Finding, Findings, Severity, finding, not_checked, rule
from trex_tui.old.text import plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.old.buildlog.build_trace import DlaFallback

_RUNTIME = (
    "DLA Runtime Configuration: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/dla-runtime-configuration.html"
)
LOADABLES = 16
"""Subgraphs (loadables) per DLA core."""
_NAMED_LAYERS = 3
_LONGEST_REASON = 200


def layers(context: Context) -> str:
    """Layers of any kind."""
    return "" if context.layers else "no layers: run trtexec with --exportLayerInfo or --exportProfile"


def _find_fallbacks(use: DlaUse | None) -> tuple[FallbackGroup, ...]:
    return use.fallbacks if use else ()


@rule(
    "DLA001",
    "Layers fell back from DLA to GPU",
    Severity.WARNING,
    looks_for="Build log messages about layers that the DLA cannot run; without messages, compute layers on the GPU "
    "in an engine built with --useDLACore.",
    why="Each layer that the DLA cannot run splits its subgraph and costs a copy in both directions.",
    remedy=(
        "Replace the operator, shape or type that the build log names, or deliberately move the whole head "
        "to the GPU."
    ),
    references=(
        "DLA Supported Layers and Restrictions: "
        "https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/dla-layer-restrictions.html",
        _RUNTIME,
    ),
    columns=("layer_type", "kind", "latency_ms"),
    not_when="Engines without any DLA; constants. TensorRT 11.0 to 11.3 has no DLA at all.",
    needs=(layers,),
)
def fallback(context: Context) -> Findings:
    run = build_run(context.engine)
    is_asked = run.argument("--useDLACore") is not None or bool(run.options.get("DLACore"))
    missing_log = build_log(context)
    by_reason: dict[str, list[DlaFallback]] = {}
    for message in () if missing_log else context.log.dla.fallbacks:
        if "(CONSTANT)" not in message.message:  # a constant computes nothing: its device does not matter
            by_reason.setdefault(_reason(message), []).append(message)
    if by_reason:
        for reason, messages in by_reason.items():
            yield _describe_reason(context, reason, messages)
        return
    use = find_dla_use(context.engine)
    blocks = use.blocks if use else ()
    if not blocks and not is_asked:
        return  # no DLA anywhere: nothing can have fallen back
    if missing_log:
        yield not_checked(f"the reasons for a fallback are only in the build log: {missing_log}")
    between = {layer.index for group in _find_fallbacks(use) for layer in group.layers}
    left = [
        layer
        for layer in context.layers
        if layer.device is not Device.DLA and computes(layer) and layer.index not in between
    ]
    if is_asked and left:
        yield finding(
            f"{plural(len(left), 'layer')} on the GPU ({context.format_time(*left)}, copies excluded) in an "
            f"engine built for the DLA with {plural(len(blocks), 'DLA block')}.",
            left,
            evidence={
                "gpu_layers": len(left),
                "gpu_ms": sum_latency_ms(left),
                "dla_blocks": len(blocks),
                "layer_types": ", ".join(sorted({layer.layer_type or "" for layer in left})),
            },
        )


def _describe_reason(context: Context, reason: str, messages: list[DlaFallback]) -> Finding:
    """Return a finding for a reason in the log, or for the layers without one."""
    names = list(dict.fromkeys(message.layer for message in messages))
    # A layer of the engine consists of several layers of the network.
    gpu_layers = [
        layer for layer in context.layers if not {layer.name, *layer.name.split(" + ")}.isdisjoint(names)
    ]
    named = ", ".join(quote(name) for name in names[:_NAMED_LAYERS] if name)
    more = f" and {len(names) - _NAMED_LAYERS} more" if len(names) > _NAMED_LAYERS else ""
    time = f", {context.format_time(*gpu_layers)}" if gpu_layers else ""
    return finding(
        f"{plural(len(names), 'layer')} fell back from the DLA to the GPU ({named}{more}{time}): "
        f"{printable(reason) or 'no reason in the log'}.",
        gpu_layers,
        confidence=Confidence.HIGH,
        evidence={
            "fallback_layers": len(names),
            "reason": reason or None,
            "gpu_ms": sum_latency_ms(gpu_layers),
            "log_line": messages[0].line,
        },
    )


def _reason(message: DlaFallback) -> str:
    """Return the builder's reason without the layer's name, so that equal reasons can be grouped."""
    text = message.reason or (message.message if "only supports" in message.message else "")
    text = text.partition("Switching ")[0].partition("\n")[0]
    for piece in (f"Layer '{message.layer}'", f"'{message.layer}'", message.layer):
        text = text.replace(piece, "") if piece.strip("'") else text
    return shorten_middle(" ".join(text.split()).strip(" :.,"), _LONGEST_REASON)


@rule(
    "DLA002",
    "Frequent crossings between GPU and DLA",
    Severity.WARNING,
    looks_for="Two or more DLA blocks, or copies to and from the DLA's memory (`to nvm`, `from nvm`).",
    why="Every crossing copies, reformats and waits.",
    remedy=(
        "Keep one block; pass inputs and outputs in DLA formats (--inputIOFormats=int8:dla_hwc4, fp16:chw16)."
    ),
    references=(_RUNTIME, issue(3143), issue(3438)),
    columns=("name", "layer_type", "dla_role", "latency_ms"),
    not_when="The row that waits for a block: its time is that of the DLA. Crossings around GPU layers between two blocks "
    "are in DLA003.",
    needs=(layers,),
)
def transitions(context: Context) -> Findings:
    use = find_dla_use(context.engine)
    if use is None or (len(use.blocks) < 2 and not _copies(use, DlaRole.COPY_TO_DLA, DlaRole.COPY_FROM_DLA)):
        return
    inner = {row.index for group in use.fallbacks for row in group.crossing_rows}
    rows = [row for row in use.crossing_rows if row.index not in inner]
    savings = latencies(rows)
    total = sum_latency_ms(rows)
    limit = f"; a DLA core holds {LOADABLES} of them" if len(use.blocks) > LOADABLES else ""
    beside = " (without those around GPU layers between blocks)" if inner else ""
    blocks = [times.layer for times in use.blocks]
    yield finding(
        f"{plural(len(blocks), 'DLA block')}{limit}, {plural(use.crossings, 'crossing')} between GPU and "
        f"DLA: their copies and reformats{beside} take {format_time(total, context.pct(total))}.",
        [*blocks, *rows],
        savings=savings,
        formula=(
            "time of copies to and from nvm, their ends, and reformats around DLA blocks, without waits"
        ),
        evidence={
            "dla_blocks": len(blocks),
            "dla_ms": use.dla_ms,
            "copies_to_dla": len(_copies(use, DlaRole.COPY_TO_DLA)),
            "copies_from_dla": len(_copies(use, DlaRole.COPY_FROM_DLA)),
            "reformats": len(_copies(use, DlaRole.CONVERSION)),
        },
    )


def _copies(use: DlaUse, *roles: DlaRole) -> list[Layer]:
    return [row for row in use.crossing_rows if use.roles[row.index][0] in roles]


def _name_work(group: FallbackGroup) -> str:
    """Return the work of the layers of a group, by kind: `pointwise and softmax layers`."""
    kinds = sorted({layer.kind.value for layer in group.layers})
    return f"{' and '.join(kinds)} layers" if kinds else "no known layers"


@rule(
    "DLA003",
    "GPU layers between DLA blocks",
    Severity.WARNING,
    looks_for=(
        "Compute layers on the GPU between two DLA blocks, with the copies and conversions around them."
    ),
    why="The DLA waits while data is copied to the GPU, processed and copied back.",
    remedy="Replace these layers with ones that the DLA supports, so that both blocks merge; or end the DLA part "
    "before them (--layerDeviceTypes) and run the rest on the GPU.",
    references=(_RUNTIME, issue(3438)),
    columns=("name", "kind", "device", "dla_role", "latency_ms"),
    not_when="Layers before the first block and after the last.",
    needs=(layers,),
)
def fallback_between_blocks(context: Context) -> Findings:
    for group in _find_fallbacks(find_dla_use(context.engine)):
        named = ", ".join(quote(layer.name) for layer in group.layers[:_NAMED_LAYERS])
        rest = len(group.layers) - _NAMED_LAYERS
        more = f" and {rest} more" if rest > 0 else ""
        crossing_ms = sum_latency_ms(group.crossing_rows)
        if group.crossing_rows:
            cost = f"take {format_time(crossing_ms, context.pct(crossing_ms))}"
        else:
            cost = "have no row in the files"
        yield finding(
            f"{plural(len(group.layers), 'layer')} on the GPU between the DLA blocks {group.before.index} and "
            f"{group.after.index} ({named}{more}; {context.format_time(*group.layers)}): the copies and conversions between "
            f"the blocks {cost}.",
            [*group.layers, *group.crossing_rows],
            savings=group.crossing_rows,
            formula="time of copies and conversions between the two blocks, without the wait",
            evidence={
                "gpu_layers": len(group.layers),
                "gpu_ms": sum_latency_ms(group.layers),
                "crossing_rows": len(group.crossing_rows),
                "crossing_ms": crossing_ms,
            },
            group=f"times {_name_work(group)} on the GPU between two DLA blocks",
        )
