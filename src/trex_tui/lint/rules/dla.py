"""DLA: layers that fell back to the GPU, and the transfers between the devices.

No public artifact holds a detailed DLA engine; names and types are those in documentation, threads and profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trex_tui.analysis.structure import dla_facts
from trex_tui.buildlog.trace import DlaFallback
from trex_tui.lint.context import Context, build_log, format_time, issue, quote
from trex_tui.lint.rule import HIGH, WARNING, Finding, Findings, Remedy, Rule, finding, not_checked
from trex_tui.text import plural, printable, shorten_middle

_RUNTIME = (
    "DLA Runtime Configuration: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/dla-runtime-configuration.html"
)
LOADABLES = 16
"""Subgraphs (loadables) per DLA core."""
_NAMED_LAYERS = 3
_LONGEST_REASON = 200


def _name(names: Sequence[str]) -> str:
    """Return the first names, quoted, and the number of further ones."""
    more = f" and {len(names) - _NAMED_LAYERS} more" if len(names) > _NAMED_LAYERS else ""
    return ", ".join(map(quote, names[:_NAMED_LAYERS])) + more


def _either(text: str) -> Remedy:
    """Return a remedy with the option of trtexec, or with the call of the API where that does not exist."""
    return tuple(text.format(how) for how in ("--layerDeviceTypes", "setDeviceType of each layer"))


@Rule(
    "DLA001",
    "Layers fell back from DLA to GPU",
    WARNING,
    looks_for="Build log messages about layers that the DLA cannot run, one finding per reason; the limit of "
    "subgraphs. Without messages, compute layers on the GPU in an engine built with --useDLACore.",
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
    limit = dla.subgraph_limit if dla else None
    by_reason: dict[str, list[DlaFallback]] = {}
    for message in dla.fallbacks if dla else ():
        if message.layer_type != "CONSTANT":
            by_reason.setdefault(_reason(message), []).append(message)
    beyond = [reason for reason in by_reason if limit is not None and "subgraphs" in reason]
    for reason, messages in by_reason.items():
        if reason not in beyond:
            yield _describe_reason(context, reason, messages)
    if dla and limit is not None:
        names = list(dict.fromkeys(message.layer for reason in beyond for message in by_reason[reason]))
        yield finding(
            f"The limit of {limit} DLA subgraphs is reached ({len(dla.dla_layers)} layers on the DLA, "
            f"{len(dla.gpu_layers)} on the GPU): all further layers run on the GPU, also those that the DLA "
            f"supports{f' ({_name(names)})' if names else ''}.",
            confidence=HIGH,
            evidence={"subgraph_limit": limit, "fallback_layers": len(names)},
            remedy=_either(
                "Mend the other fallbacks first: each unsupported layer splits a subgraph in two. Or place a "
                "contiguous part on the DLA and the rest on the GPU ({})."
            ),
        )
    if by_reason or limit is not None:
        return
    build, blocks = context.build, len(context.engine.dla_blocks)
    is_asked = build.argument("--useDLACore") is not None or bool(build.options.get("DLACore"))
    if missing_log and (blocks or is_asked):
        yield not_checked(f"the reasons for a fallback are only in the build log: {missing_log}")
    on_gpu = [layer for layer, device in enumerate(context.devices) if device != "DLA"]
    left = [layer for layer in on_gpu if context.is_work(layer) and not context.is_movement(layer)]
    if is_asked and left:
        yield finding(
            f"{plural(len(left), 'layer')} on the GPU ({context.format_time(*left)}, copies excluded) in an "
            f"engine built for the DLA with {plural(blocks, 'DLA block')}.",
            left,
            evidence={"gpu_layers": len(left), "gpu_ms": context.sum_ms(left), "dla_blocks": blocks},
        )


_REMEDIES: dict[str, Remedy] = {
    "shapes are equal": "Build with equal minimum, optimal and maximum shapes, or with static ones.",
    "FP16 and INT8 only": "Allow FP16 or INT8 in the build: the DLA has no other types.",
}
"""Words of a reason -> its remedy."""


def _describe_reason(context: Context, reason: str, messages: list[DlaFallback]) -> Finding:
    """Return a finding for a reason in the log, or for the layers without one."""
    names = list(filter(None, dict.fromkeys(message.layer for message in messages)))
    types = Counter(
        message.layer_type.replace("_", " ").lower() for message in messages if message.layer_type
    )
    # A layer of the engine consists of several layers of the network.
    layers = [
        layer for layer, name in enumerate(context.names) if not {name, *name.split(" + ")}.isdisjoint(names)
    ]
    details = [_name(names)] if names else []
    details += [f"{count} {name}" if count > 1 else name for name, count in types.most_common()]
    details += [context.format_time(*layers)] if context.sum_ms(layers) is not None else []
    which = f" ({'; '.join(details)})" if details else ""
    return finding(
        f"{plural(len(names), 'layer') if names else 'Layers'} fell back from the DLA to the GPU, "
        f"{printable(reason) or 'no reason in the log'}{which}.",
        layers,
        confidence=HIGH,
        evidence={
            "fallback_layers": len(names),
            "reason": reason or None,
            "layer_types": dict(types),
            "gpu_ms": context.sum_ms(layers),
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


@Rule(
    "DLA002",
    "Frequent crossings between GPU and DLA",
    WARNING,
    looks_for="Two or more DLA blocks, or copies to and from the DLA's memory (`to nvm`, `from nvm`).",
    why="Every crossing copies, reformats and waits.",
    remedy="Keep one block; pass inputs and outputs in DLA formats (--inputIOFormats=int8:dla_hwc4 or fp16:chw16).",
    references=(_RUNTIME, issue(3143), issue(3438)),
    columns=("name", "layer_type", "dla_role", "latency_ms"),
    not_when="The row that waits for a block: its time is that of the DLA.",
    estimate="copies and reformats at DLA boundaries, waits excluded",
    formula="time of copies to and from nvm, their ends, and reformats around DLA blocks",
)
def transitions(context: Context) -> Findings:
    facts, roles = dla_facts(context.engine), context.values("dla_role")
    rows = [layer for layer, role in enumerate(roles) if role not in (None, "block", "wait")]
    has_copies = any((roles[row] or "").startswith("copy ") for row in rows)
    if facts is None or (facts.blocks < 2 and not has_copies):
        return
    between = [layer for group in facts.fallbacks for layer in group]
    limit = f"; a DLA core holds {LOADABLES} of them" if facts.blocks > LOADABLES else ""
    inner = ""
    if between:
        named = _name([context.names[layer] for layer in between])
        inner = f"; between the blocks run {named} on the GPU ({context.format_time(*between)})"
    yield finding(
        f"{plural(facts.blocks, 'DLA block')}{limit}, {plural(facts.crossings, 'crossing')} between GPU and DLA: their "
        f"copies and reformats take {format_time(context.sum_ms(rows), context.share_of(rows))}{inner}.",
        [*context.engine.dla_blocks["layer"], *rows, *between],
        savings=context.times(rows),
        evidence={"dla_blocks": facts.blocks, "dla_ms": facts.dla_ms, "gpu_layers_between": len(between)},
        remedy=_either(
            "Replace the layers between the blocks with ones that the DLA supports, so that the blocks merge; or end the "
            "DLA part before them and run the rest on the GPU ({})."
        )
        if between
        else ""
        if facts.blocks > 1
        else "Pass inputs and outputs in DLA formats (--inputIOFormats=int8:dla_hwc4 or fp16:chw16).",
    )


RULES = (fallback, transitions)
