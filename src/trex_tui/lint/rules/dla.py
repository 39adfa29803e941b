"""DLA: layers that left the accelerator, and the way there and back.

No public artifact holds a detailed DLA engine; names and types here are those that documentation and threads show.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trex_tui.analysis.structure import sum_latency_ms
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Device, Layer
from trex_tui.lint.context import Context, build_log
from trex_tui.lint.lint_text import format_time, issue, latencies, quote
from trex_tui.lint.model import Confidence, Finding, Findings, Severity, finding, not_checked, rule
from trex_tui.lint.trtexec_runs import build_run
from trex_tui.text import plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.buildlog.build_trace import DlaFallback

_RUNTIME = (
    "DLA Runtime Configuration: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/dla-runtime-configuration.html"
)
_TO_DLA = re.compile(r" to nvm$")
_FROM_DLA = re.compile(r" from nvm$")
_FINISH = re.compile(r"copy finish$")
LOADABLES = 16
"""Subgraphs that one DLA core holds."""
_NAMED_LAYERS = 3
_LONGEST_REASON = 200


def layers(context: Context) -> str:
    """Layers of any kind."""
    return "" if context.layers else "no layers: run trtexec with --exportLayerInfo or --exportProfile"


def _find_blocks(context: Context) -> list[Layer]:
    """Layers that run on the DLA, each a subgraph of the network."""
    return [layer for layer in context.layers if layer.device is Device.DLA]


@rule(
    "DLA001",
    "Layers fell back from the DLA to the GPU",
    Severity.WARNING,
    looks_for="Messages of the build log about layers that the DLA cannot run, with their reasons; without any, an "
    "engine built with --useDLACore in which layers that compute run on the GPU.",
    why="Each layer that the DLA cannot run splits its subgraph and costs a copy in both directions.",
    remedy="Replace the operator, shape or type that the build log names, or move the whole head to the GPU on purpose.",
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
        if "(CONSTANT)" not in message.message:  # a constant computes nothing: where it lies does not matter
            by_reason.setdefault(_reason(message), []).append(message)
    if by_reason:
        for reason, messages in by_reason.items():
            yield _describe_reason(context, reason, messages)
        return
    blocks = _find_blocks(context)
    if not blocks and not is_asked:
        return  # no DLA anywhere: nothing can have left it
    if missing_log:
        yield not_checked(f"the reasons for a fallback stand only in the build log: {missing_log}")
    left = [layer for layer in context.layers if layer.device is Device.GPU and _computes(layer)]
    if is_asked and left:
        yield finding(
            f"The engine was built for the DLA; left to the GPU, copies aside: {plural(len(left), 'layer')}, "
            f"{context.format_time(*left)}, beside {plural(len(blocks), 'DLA block')}.",
            left,
            evidence={
                "gpu_layers": len(left),
                "gpu_ms": sum_latency_ms(left),
                "dla_blocks": len(blocks),
                "layer_types": ", ".join(sorted({layer.layer_type or "" for layer in left})),
            },
        )


def _describe_reason(context: Context, reason: str, messages: list[DlaFallback]) -> Finding:
    """A finding for a reason that the log gives, or for the layers without."""
    names = list(dict.fromkeys(message.layer for message in messages))
    # A layer of the engine is made of several of the network.
    gpu_layers = [
        layer for layer in context.layers if not {layer.name, *layer.name.split(" + ")}.isdisjoint(names)
    ]
    named = ", ".join(quote(name) for name in names[:_NAMED_LAYERS] if name)
    more = f" and {len(names) - _NAMED_LAYERS} more" if len(names) > _NAMED_LAYERS else ""
    time = f", {context.format_time(*gpu_layers)}" if gpu_layers else ""
    return finding(
        f"{plural(len(names), 'layer')} fell back from the DLA to the GPU ({named}{more}{time}): "
        f"{printable(reason) or 'the log says no more'}.",
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
    """What the builder gives as the reason, without the layer's name, so that one reason is one."""
    text = message.reason or (message.message if "only supports" in message.message else "")
    text = text.partition("Switching ")[0].partition("\n")[0]
    for piece in (f"Layer '{message.layer}'", f"'{message.layer}'", message.layer):
        text = text.replace(piece, "") if piece.strip("'") else text
    return shorten_middle(" ".join(text.split()).strip(" :.,"), _LONGEST_REASON)


def _computes(layer: Layer) -> bool:
    return layer.kind.is_work and layer.kind not in (LayerKind.REFORMAT, LayerKind.SHUFFLE)


@rule(
    "DLA002",
    "Work goes back and forth between GPU and DLA",
    Severity.WARNING,
    looks_for="Two or more DLA blocks, or copies to and from the DLA's memory (`to nvm`, `from nvm`).",
    why="Every crossing copies and reformats a tensor and waits.",
    remedy="Keep one block; give inputs and outputs in DLA formats (--inputIOFormats=int8:dla_hwc4, fp16:chw16).",
    references=(_RUNTIME, issue(3143), issue(3438)),
    columns=("name", "layer_type", "latency_ms"),
    not_when="The first row that copies from the DLA: it holds the wait for the DLA, which is the DLA's own time.",
    needs=(layers,),
)
def transitions(context: Context) -> Findings:
    blocks = _find_blocks(context)
    to_dla, from_dla, finish = (
        [layer for layer in context.layers if pattern.search(layer.name)]
        for pattern in (_TO_DLA, _FROM_DLA, _FINISH)
    )
    if len(blocks) < 2 and not to_dla and not from_dla:
        return
    around = [
        neighbour
        for block in blocks
        for neighbour in (*context.producers(block), *context.consumers(block))
        if neighbour.kind is LayerKind.REFORMAT
    ]
    # The wait for the accelerator stands on the first row that copies out of its memory: that time is the DLA's work.
    savings = latencies((*to_dla, *finish, *from_dla[1:], *around))
    total = sum(savings[index] for index in sorted(savings)) if savings else None
    crossings = 2 * len(blocks) or len(to_dla) + len(from_dla)
    limit = f"; a DLA core holds {LOADABLES} of them" if len(blocks) > LOADABLES else ""
    yield finding(
        f"{plural(len(blocks), 'DLA block')}{limit}, {plural(crossings, 'crossing')} between GPU and DLA: copies and "
        f"reformats for them take {format_time(total, context.pct(total))}.",
        [*blocks, *to_dla, *from_dla, *finish, *around],
        savings=savings,
        formula="latency_ms of copies to nvm, copy finish, all but the first copy from nvm, and reformats beside DLA blocks",
        evidence={
            "dla_blocks": len(blocks),
            "copies_to_dla": len(to_dla),
            "copies_from_dla": len(from_dla),
            "reformats": len(around),
        },
    )
