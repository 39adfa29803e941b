"""DLA: layers that left the accelerator, and the way there and back.

No public artifact holds a detailed DLA engine; names and types here are those that documentation and threads show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Device, Layer
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import indices, time_of, time_text, whole_time
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.trtexec_runs import build_log, build_run
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
_NO_LAYERS = "no layers: run trtexec with --exportLayerInfo or --exportProfile"
LOADABLES = 16
"""Subgraphs that one DLA core holds."""
LEAST_BLOCKS = 2
_TOLD = 3
_LONGEST_REASON = 200


def dla_blocks(context: Context) -> list[Layer]:
    """Layers that run on the DLA, each a subgraph of the network."""
    return [layer for layer in context.layers if layer.device is Device.DLA]


def _asked_for_dla(context: Context) -> bool:
    run = build_run(context.engine)
    return run.argument("--useDLACore") is not None or bool(run.options.get("DLACore"))


def _fallback(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.layers:
        yield NotChecked("DLA001", _NO_LAYERS)
        return
    blocks, asked = dla_blocks(context), _asked_for_dla(context)
    log = build_log(context, "DLA001")
    fallbacks = (
        [] if isinstance(log, NotChecked) else [one for one in log.dla.fallbacks if not _is_constant(one)]
    )
    if not blocks and not asked and not fallbacks:
        return  # no DLA anywhere: nothing can have left it
    if fallbacks:
        yield from _reasons(context, fallbacks)
        return
    if isinstance(log, NotChecked):
        yield NotChecked("DLA001", f"the reasons for a fallback stand only in the build log: {log.reason}")
    left = [layer for layer in context.layers if layer.device is Device.GPU and _computes(layer)]
    if not asked or not left:
        return
    total = time_of(left)
    yield Finding(
        "DLA001",
        f"The engine was built for the DLA; left to the GPU, copies aside: {plural(len(left), 'layer')}, "
        f"{time_text(total, context.pct(total))}, beside {plural(len(blocks), 'DLA block')}.",
        indices(left),
        confidence=Confidence.MEDIUM,
        evidence=(
            Evidence("gpu_layers", len(left)),
            Evidence("gpu_ms", total),
            Evidence("dla_blocks", len(blocks)),
            Evidence("layer_types", ", ".join(sorted({one.layer_type or "" for one in left}))),
        ),
    )


def _is_constant(one: DlaFallback) -> bool:
    """A constant computes nothing: where it lies does not matter."""
    return "(CONSTANT)" in one.message


def _reasons(context: Context, fallbacks: Sequence[DlaFallback]) -> Iterator[Finding]:
    """One finding for each reason that the log gives, and one for the layers without."""
    by_reason: dict[str, list[DlaFallback]] = {}
    for one in fallbacks:
        by_reason.setdefault(_reason(one), []).append(one)
    for reason, group in by_reason.items():
        names = list(dict.fromkeys(one.layer for one in group))
        found = [layer for layer in context.layers if not _parts(layer.name).isdisjoint(names)]
        total = time_of(found)
        told = ", ".join(f"'{shorten_middle(printable(name), 60)}'" for name in names[:_TOLD] if name)
        more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
        why = printable(reason) or "the log says no more"
        time = f", {time_text(total, context.pct(total))}" if found else ""
        yield Finding(
            "DLA001",
            f"{plural(len(names), 'layer')} fell back from the DLA to the GPU ({told}{more}{time}): {why}.",
            indices(found),
            confidence=Confidence.HIGH,
            evidence=(
                Evidence("fallback_layers", len(names)),
                Evidence("reason", reason or None),
                Evidence("gpu_ms", total),
                Evidence("log_line", group[0].line),
            ),
        )


def _reason(one: DlaFallback) -> str:
    """What the builder gives as the reason, without the layer's name, so that one reason is one."""
    text = one.reason or (one.message if "only supports" in one.message else "")
    text = text.partition("Switching ")[0].partition("\n")[0]
    for piece in (f"Layer '{one.layer}'", f"'{one.layer}'", one.layer):
        text = text.replace(piece, "") if piece.strip("'") else text
    return shorten_middle(" ".join(text.split()).strip(" :.,"), _LONGEST_REASON)


def _parts(name: str) -> set[str]:
    """Names of the network's layers that a layer of the engine is made of."""
    return {name, *name.split(" + ")}


def _computes(layer: Layer) -> bool:
    return layer.kind.is_work and layer.kind not in (LayerKind.REFORMAT, LayerKind.SHUFFLE)


def _transitions(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.layers:
        yield NotChecked("DLA002", _NO_LAYERS)
        return
    blocks = dla_blocks(context)
    to_dla = [layer for layer in context.layers if _TO_DLA.search(layer.name)]
    from_dla = [layer for layer in context.layers if _FROM_DLA.search(layer.name)]
    finish = [layer for layer in context.layers if _FINISH.search(layer.name)]
    if len(blocks) < LEAST_BLOCKS and not to_dla and not from_dla:
        return
    around = [one for block in blocks for one in _reformats_beside(context, block)]
    # The wait for the accelerator stands on the first row that copies out of its memory: that time is the DLA's work.
    paid = {one.index: one for one in (*to_dla, *finish, *from_dla[1:], *around)}
    stakes = whole_time(paid[index] for index in sorted(paid))
    total = sum(stakes.values()) if stakes else None
    crossings = 2 * len(blocks) or len(to_dla) + len(from_dla)
    limit = f"; a DLA core holds {LOADABLES} of them" if len(blocks) > LOADABLES else ""
    yield Finding(
        "DLA002",
        f"{plural(len(blocks), 'DLA block')}{limit}, {plural(crossings, 'crossing')} between GPU and DLA: copies and "
        f"reformats for them take {time_text(total, context.pct(total))}.",
        indices([*blocks, *to_dla, *from_dla, *finish, *around]),
        confidence=Confidence.MEDIUM,
        stakes_ms=stakes,
        formula="latency_ms of copies to nvm, copy finish, all but the first copy from nvm, and reformats beside DLA blocks",
        evidence=(
            Evidence("dla_blocks", len(blocks)),
            Evidence("copies_to_dla", len(to_dla)),
            Evidence("copies_from_dla", len(from_dla)),
            Evidence("reformats", len(around)),
        ),
    )


def _reformats_beside(context: Context, block: Layer) -> list[Layer]:
    beside = (*context.producers(block), *context.consumers(block))
    return [one for one in beside if one.kind is LayerKind.REFORMAT]


RULES: tuple[Rule, ...] = (
    Rule(
        id="DLA001",
        title="Layers fell back from the DLA to the GPU",
        severity=Severity.WARNING,
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
        check=_fallback,
        not_when="Engines without any DLA; constants. TensorRT 11.0 to 11.3 has no DLA at all.",
    ),
    Rule(
        id="DLA002",
        title="Work goes back and forth between GPU and DLA",
        severity=Severity.WARNING,
        looks_for="Two or more DLA blocks, or copies to and from the DLA's memory (`to nvm`, `from nvm`).",
        why="Every crossing copies and reformats a tensor and waits.",
        remedy="Keep one block; give inputs and outputs in DLA formats (--inputIOFormats=int8:dla_hwc4, fp16:chw16).",
        references=(
            _RUNTIME,
            "NVIDIA/TensorRT#3143: https://github.com/NVIDIA/TensorRT/issues/3143",
            "NVIDIA/TensorRT#3438: https://github.com/NVIDIA/TensorRT/issues/3438",
        ),
        columns=("name", "layer_type", "latency_ms"),
        check=_transitions,
        not_when="The first row that copies from the DLA: it holds the wait for the DLA, which is the DLA's own time.",
    ),
)
