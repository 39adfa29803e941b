"""REQ: precisions, types and devices that were requested for layers by name, against those that run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from trex_tui.buildlog.trace import Request
from trex_tui.engine.dtypes import parse_data_type
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import COMMAND_LINE_PROGRAMS, Context, build_log, issue, per_context, quote
from trex_tui.lint.rule import GOOD, HIGH, INFO, WARNING, Finding, Findings, Rule, finding
from trex_tui.text import plural

_NAMED = 3
_MOST_NODES = 6
_NO_NETWORK_NAME = re.compile(r"__my[lel]|\{ForeignNode\[|Reformatting CopyNode|PWN\(|_gemm_mha_v\d|.* \+ ")
"""Names that TensorRT gives to kernels and fused layers: no layer of the network has one."""
_OPTIONS = {
    "precision": "--layerPrecisions",
    "output type": "--layerOutputTypes",
    "device": "--layerDeviceTypes",
}


class Answer(NamedTuple):
    """A request, and what became of it.

    Attributes:
        state: `obeyed`, `overridden`, `closed` (inside a closed block or generated kernel), `kernel` (the name of a kernel or
            fused layer, not of a layer of the network), `unknown` (no layer has the name).
        layers: Layers of the engine with the name.
        realised: Type or device that runs.
    """

    request: Request
    state: str
    layers: tuple[int, ...] = ()
    realised: str = ""


def requests(context: Context) -> str:
    """Precisions, output types or devices that the build requested for layers by name."""
    if missing := build_log(context):
        return missing
    return "" if context.log.requests else "the build requested nothing for layers by name"


@per_context
def find_answers(context: Context) -> list[Answer]:
    """Return what became of each request of the build log."""
    return [] if build_log(context) else [_answer(context, request) for request in context.log.requests]


def _answer(context: Context, request: Request) -> Answer:
    own = [layer for layer, name in enumerate(context.names) if fnmatchcase(name, request.layer)]
    if _NO_NETWORK_NAME.match(request.layer):
        return Answer(request, "kernel", tuple(own), _realised(context, request, own))
    holding = own or [layer for layer in range(len(context.engine)) if _holds(context, layer, request.layer)]
    if not holding:
        return Answer(request, "unknown")
    closed = [layer for layer in holding if _is_closed(context, layer)]
    realised = _realised(context, request, holding)
    if closed and request.kind != "device":
        return Answer(request, "closed", tuple(holding), realised)
    wanted = [_parse(request.kind, part) for part in request.value.split("+")]
    is_obeyed = set(realised.split(", ")) <= set(wanted)
    return Answer(request, "obeyed" if is_obeyed else "overridden", tuple(holding), realised)


def _holds(context: Context, layer: int, name: str) -> bool:
    """Return whether a layer of the engine was made from a layer of the network, by its nodes or its name."""
    if any(fnmatchcase(node, name) for node in context.nodes[layer]):
        return True
    parts = re.split(r" \+ | \|\| |PWN\(|\)|, ", context.names[layer])
    return any(fnmatchcase(part.strip(), name) for part in parts if part.strip())


def _is_closed(context: Context, layer: int) -> bool:
    """Return whether the types inside a layer differ from those of its tensors: closed blocks and generated kernels."""
    return LayerKind(context.kinds[layer]) is LayerKind.MYELIN or context.layer_types[layer] == "kgen"


def _parse(kind: str, text: str) -> str:
    dtype = None if kind == "device" else parse_data_type(text)
    return dtype.value if dtype else text.upper()


def _realised(context: Context, request: Request, layers: Iterable[int]) -> str:
    if request.kind == "device":
        values = [context.devices[layer] or "GPU" for layer in layers]
    elif request.kind == "output type":
        values = [port.dtype for layer in layers for port in context.outputs[layer] if port.dtype]
    else:
        values = [
            "FP32" if value == "TF32" else value for layer in layers if (value := context.precisions[layer])
        ]
    return ", ".join(sorted(set(values)))


def _describe(answers: Iterable[Answer]) -> str:
    listed = list(answers)
    named = ", ".join(quote(answer.request.layer) for answer in listed[:_NAMED])
    return named + (f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else "")


def _evidence(answers: list[Answer]) -> dict[str, object]:
    return {
        "requests": len(answers),
        "requested": ", ".join(sorted({answer.request.value for answer in answers})),
        "realised": ", ".join(sorted({answer.realised for answer in answers if answer.realised})) or None,
        "names": ", ".join(answer.request.layer for answer in answers[:_MOST_NODES]),
    }


@Rule(
    "REQ001",
    "Request for a layer not obeyed",
    WARNING,
    looks_for="--layerPrecisions, --layerOutputTypes and --layerDeviceTypes in the log of the build: "
    "names that are no layers of "
    "the network, requests without --precisionConstraints, layers that run in another type or on another device.",
    why="TensorRT ignores unknown names without a word, and precisions that are not constrained.",
    remedy="Use the names of the ONNX nodes.",
    references=(COMMAND_LINE_PROGRAMS, issue(3889), issue(4225)),
    columns=("name", "onnx_nodes", "precision", "output_formats", "device"),
    not_when="Layers inside a closed block or a generated kernel, whose types are not stated (REQ002).",
    needs=(requests,),
)
def ignored_requests(context: Context) -> Findings:
    answers = find_answers(context)
    types = [answer for answer in answers if answer.request.kind != "device"]
    if (
        types
        and not any(answer.request.constraints for answer in types)
        and not context.platform.is_strongly_typed
    ):
        yield finding(
            f"{plural(len(types), 'type was', 'types were')} requested for layers without constraints: the "
            "builder ignores them.",
            sorted({layer for answer in types for layer in answer.layers}),
            confidence=HIGH,
            evidence=_evidence(types),
            remedy=(
                "Add --precisionConstraints=obey or =prefer.",
                "Set the constraint of the builder (kOBEY_PRECISION_CONSTRAINTS).",
            ),
        )
        answers = [answer for answer in answers if answer.request.kind == "device"]
    for kind in ("precision", "output type", "device"):
        of_kind = [answer for answer in answers if answer.request.kind == kind]
        yield from _describe_names(context, kind, of_kind)
        yield from _describe_overridden(kind, [answer for answer in of_kind if answer.state == "overridden"])


def _describe_names(context: Context, kind: str, answers: list[Answer]) -> Iterator[Finding]:
    """Yield a finding for names that are no layers of the network, with the option line in names of ONNX nodes."""
    wrong = [answer for answer in answers if answer.state in ("kernel", "unknown")]
    if not wrong:
        return
    running = [answer for answer in wrong if answer.realised]
    runs = ""
    if running:
        runs = f"; {quote(running[0].request.layer)} runs {'on ' if kind == 'device' else 'in '}{running[0].realised}"
    values = ", ".join(dict.fromkeys(answer.request.value.upper() for answer in wrong))
    yield finding(
        f"{values} was requested for {plural(len(wrong), 'name')} that no layer of the network has: "
        f"{_describe(wrong)}. TensorRT ignores such requests{runs}.",
        sorted({layer for answer in wrong for layer in answer.layers}),
        confidence=HIGH,
        evidence=_evidence(wrong),
        remedy=_advise_names(context, kind, wrong),
    )


def _advise_names(context: Context, kind: str, answers: list[Answer]) -> tuple[str, ...] | str:
    """Return the option line in names of ONNX nodes, as far as the engine states them."""
    pairs = {
        node: answer.request.value
        for answer in answers
        for layer in answer.layers
        for node in context.nodes[layer]
    }
    plain = "Use the names of the ONNX nodes, not those of kernels or fused layers."
    if not pairs:
        return plain
    listed = ",".join(f"{node}:{value}" for node, value in list(pairs.items())[:_MOST_NODES])
    more = ",…" if len(pairs) > _MOST_NODES else ""
    return (f"Use the names of the ONNX nodes: {_OPTIONS[kind]}={listed}{more}", plain)


def _describe_overridden(kind: str, answers: list[Answer]) -> Iterator[Finding]:
    by_type: dict[tuple[str, str], list[Answer]] = {}
    for answer in answers:
        by_type.setdefault((answer.request.value, answer.realised), []).append(answer)
    for (value, realised), alike in by_type.items():
        layers = sorted({layer for answer in alike for layer in answer.layers})
        where = "on " if kind == "device" else "in "
        constraint = alike[0].request.constraints
        yield finding(
            f"{value.upper()} was requested for {plural(len(alike), 'layer')} that "
            f"{'runs' if len(alike) == 1 else 'run'} {where}{realised or 'an unknown type'}: {_describe(alike)}.",
            layers,
            confidence=HIGH,
            evidence=_evidence(alike),
            remedy="The device does not support the layer, or it was fused with one of another device: see DLA001."
            if kind == "device"
            else (
                "--precisionConstraints=obey makes the build fail instead of choosing another type."
                if constraint == "prefer"
                else "Request the type for its inputs' and outputs' layers too, or export the model with casts."
            ),
        )


@Rule(
    "REQ002",
    "Request inside a closed block or generated kernel",
    INFO,
    looks_for="Precisions and output types that were requested for layers which run inside a closed block "
    "or a generated kernel.",
    why="The files state the types of its inputs and outputs only: whether the request is obeyed inside is unknown.",
    remedy="Compare the accuracy, or mark the layer's output to split the block.",
    references=(issue(3889),),
    columns=("name", "onnx_nodes", "precision"),
    needs=(requests,),
)
def hidden_requests(context: Context) -> Findings:
    hidden = [answer for answer in find_answers(context) if answer.state == "closed"]
    if not hidden:
        return
    realised = ", ".join(sorted({answer.realised for answer in hidden if answer.realised})) or "unknown types"
    yield finding(
        f"{plural(len(hidden), 'requested layer')} {'is' if len(hidden) == 1 else 'are'} inside closed "
        f"blocks or generated kernels, with {realised} outside: {_describe(hidden)}.",
        sorted({layer for answer in hidden for layer in answer.layers}),
        confidence=HIGH,
        evidence=_evidence(hidden),
    )


@Rule(
    "OK-REQ",
    "Requests for layers obeyed",
    GOOD,
    looks_for="Every type and device that was requested for a layer by name runs.",
    columns=("name", "precision", "device"),
)
def obeyed_requests(context: Context) -> Findings:
    if ignored_requests.find(context) or hidden_requests.find(context):
        return
    answers = find_answers(context)
    if not answers:
        return
    yield finding(
        f"{plural(len(answers), 'request')} for layers obeyed.",
        sorted({layer for answer in answers for layer in answer.layers}),
        confidence=HIGH,
        evidence={"requests": len(answers)},
    )


RULES = (ignored_requests, hidden_requests, obeyed_requests)
