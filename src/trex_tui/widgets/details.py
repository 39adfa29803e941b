"""Details of a layer, or of a group of layers, as lines with links to layers and findings."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from textual.content import Content

from trex_tui.analysis.compute import WORKING, products
from trex_tui.analysis.device import find_device
from trex_tui.analysis.roofline import COLUMNS as ROOFLINE
from trex_tui.analysis.roofline import DETAILS, roofline
from trex_tui.analysis.structure import describe, find_reformats
from trex_tui.column import Column
from trex_tui.engine.model import Engine, Port, per_engine
from trex_tui.engine.names import describe_name, short_names
from trex_tui.engine.tactics import list_parts, parse_tactic
from trex_tui.frames import plain_values, total
from trex_tui.lint.run import LintResult
from trex_tui.report.absence import no_profile
from trex_tui.text import (
    MISSING,
    format_bytes,
    format_count,
    format_ms,
    format_pct,
    format_shape,
    plural,
    printable,
    shorten_middle,
)
from trex_tui.widgets.text import Line, styled
from trex_tui.widgets.theme import LETTERS, SEVERITIES, kind_style, precision_style

MOST_NEIGHBOURS = 5
MOST_SLOWEST = 10
_LONGEST_HEADING = 200
_WIDE = 56
"""Cells of the details from which a neighbour has its kind beside its name."""
_LETTERS = {severity: letter for letter, severity in LETTERS.items()}
_ROOFLINE = {
    "flops_per_byte": "intensity", "achieved_flops_per_s": "achieved", "peak_flops_per_s": "peak",
    "achieved_bytes_per_s": "traffic", "bandwidth_pct": "of bandwidth", "roof_ms": "roof",
}  # fmt: skip
"""Column of the roofline -> label."""
_HIDDEN = frozenset({"Metadata", "Inputs", "Outputs", "Name", "Weights", "Bias"})


def layer_lines(
    engine: Engine, layer: int, lint: LintResult | None = None, width: int = 80
) -> Iterator[Line]:
    """Yield what is known about a layer: two header lines, tactic, tensors, findings, neighbours, compute, bytes, ONNX.

    Args:
        width: Cells in which links to neighbours fit in a line.
    """
    values = {key: plain_values(engine.layers[key].iloc[[layer]])[0] for key in engine.layers}
    yield Line(styled((shorten_middle(printable(values["name"]), _LONGEST_HEADING), "bold")))
    yield Line(Content(_summarize(engine, layer)))
    yield Line(_describe_types(values))
    meaning = describe_name(values["name"], values["layer_type"], values["parameter_type"])
    yield from _muted([meaning, *_describe_times(engine, values), _describe_reformat(engine, layer)])
    yield from _tactic_lines(values["tactic"], values["tactic_value"])
    outside = set(engine.bindings["name"]) if len(engine.bindings) else set()
    yield from _tensor_lines("Inputs", engine.inputs[layer], outside)
    yield from _tensor_lines("Outputs", engine.outputs[layer], outside)
    yield from _finding_lines(lint, layer)
    links = engine.links
    yield from _neighbour_lines(
        engine, width, "Producers", "←", links.loc[links["target"].eq(layer), "source"]
    )
    yield from _neighbour_lines(
        engine, width, "Consumers", "→", links.loc[links["source"].eq(layer), "target"]
    )
    if values["layer_type"] is not None and values["kind"] in WORKING:
        yield from _compute_lines(engine, layer)
    if values["layer_type"] is not None:
        sizes = ("io_bytes", "io_allocated_bytes", "weights_bytes", "footprint_allocated_bytes")
        facts = [
            (engine.columns[key].title, engine.columns[key].format(engine.column(key).iloc[layer]))
            for key in sizes
        ]
        yield from _facts("Bytes", [(title, text) for title, text in facts if text != MISSING])
    if values["onnx_nodes"]:
        yield from _heading(f"ONNX nodes ({len(values['onnx_nodes'])})")
        yield from (Line(Content(f"  {printable(node)}"), indent=4) for node in values["onnx_nodes"])
    attributes = engine.attributes[layer] if layer < len(engine.attributes) else {}
    raw = {key: value for key, value in attributes.items() if key not in _HIDDEN}
    texts = [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in raw.items()]
    yield from _facts("Raw attributes", texts)


def group_lines(engine: Engine, title: str, layers: Sequence[int]) -> Iterator[Line]:
    """Yield what is known about a group of layers: time, kinds, the slowest."""
    rows = engine.layers.loc[list(layers)]
    yield Line(styled((shorten_middle(printable(title), _LONGEST_HEADING), "bold")))
    time, all_ms = total(rows["latency_ms"]), engine.latency_total_ms
    words = [plural(len(rows), "layer")]
    if time is not None and all_ms:
        words += [f"{format_ms(time)} ms", f"{format_pct(100 * time / all_ms)} % of all"]
    unknown = int(rows["latency_ms"].isna().sum())
    words += [f"{unknown} without a time"] if unknown and engine.has_profile else []
    yield Line(Content(" · ".join(words)))
    yield from _muted([] if engine.has_profile else [no_profile(engine)])
    for key in ("kind", "precision"):
        counts = rows[key].value_counts()
        if len(counts):
            yield from _heading(engine.columns[key].title)
            yield Line(
                Content("  " + " · ".join(f"{count} {word}" for word, count in counts.items())), indent=2
            )
    slowest = rows["latency_ms"].dropna().nlargest(MOST_SLOWEST).index
    if len(slowest):
        yield from _heading("Slowest")
        yield from (_link(engine, layer, "·") for layer in slowest)


# Header


@per_engine
def _times(engine: Engine) -> list[float]:
    return sorted(engine.layers["latency_ms"].dropna().tolist())


def _summarize(engine: Engine, layer: int) -> str:
    """Return time, share, rank, number and bound, as far as they are known."""

    def write(key: str) -> str:
        return engine.columns[key].format(engine.column(key).iloc[layer], with_unit=True)

    words = []
    time = plain_values(engine.layers["latency_ms"].iloc[[layer]])[0]
    if time is not None:
        times = _times(engine)
        rank = len(times) - bisect_left(times, time) - times.count(time) + 1
        words += [f"{format_ms(time)} ms", write("latency_pct"), f"rank {rank}/{len(engine)}"]
    words.append(f"layer {layer}")
    row = roofline(engine).iloc[layer]
    if isinstance(row["bound"], str):
        words.append(f"{row['bound']}-bound")
    words += [f"{write('roof_pct')} of roof"] if "–" not in write("roof_pct") else []
    words += [write("flops_per_byte")] if "–" not in write("flops_per_byte") else []
    return " · ".join(words)


def _describe_types(values: Mapping[Any, Any]) -> Content:
    kind, precision = str(values["kind"]), values["precision"]
    types = dict.fromkeys(str(values[key]) for key in ("layer_type", "parameter_type") if values[key])
    rest = [" / ".join(type_ for type_ in types if type_.casefold() != kind)]
    rest += ["name only"] if values["layer_type"] is None else []
    rest += [f"stream {values['stream']}"] if values["stream"] is not None else []
    rest += [str(values["device"])] if values["device"] else []
    shown = str(precision) if precision else "precision unknown"
    style = precision_style(shown)
    parts: list[tuple[str, str] | str] = [(kind, kind_style(kind)), " · ", (shown, style)]
    return styled(*parts, *(f" · {printable(word)}" for word in rest if word))


def _describe_times(engine: Engine, values: Mapping[Any, Any]) -> Iterator[str]:
    if values["latency_ms"] is None:
        yield "No time: the profile has no row of the layer." if engine.has_profile else no_profile(engine)
        return
    words = [
        f"{name} {engine.columns[key].format(values[key], with_unit=True)}"
        for name, key in (("median", "median_ms"), ("p99", "p99_ms"), ("CV", "cv_pct"))
        if values.get(key) is not None
    ]
    if values["total_ms"] is not None and engine.iterations:
        words.append(f"total {format_ms(values['total_ms'])} ms in {plural(engine.iterations, 'iteration')}")
    yield " · ".join(words)


def _describe_reformat(engine: Engine, layer: int) -> str:
    """Return what a reformat does and why: from → to, bytes, producers and consumers; empty for other layers."""
    rows = find_reformats(engine)
    rows = rows[rows["layer"].eq(layer)]
    if rows.empty:
        return ""
    row = rows.iloc[0]
    sizes = [ports[layer][0].bytes for ports in (engine.inputs, engine.outputs)]
    parts = [f"{row['source']} → {row['target']}"]
    if None not in sizes:
        first, last = (format_bytes(size) for size in sizes)
        parts.append(first if first == last else f"{first} → {last}")
    names = short_names(engine)
    ends = []
    for word, layers in (("after", row["producers"]), ("for", row["consumers"])):
        shown = ", ".join(
            _name_with_precision(engine, names.fit(engine.layers["name"][end], 30), end) for end in layers[:2]
        )
        ends.append(
            f"{word} {shown}"
            if layers
            else f"{word} the {'input' if word == 'after' else 'output'} of the network"
        )
    return " · ".join([*parts, ", ".join(ends)])


def _name_with_precision(engine: Engine, name: str, layer: int) -> str:
    precision = plain_values(engine.layers["precision"].iloc[[layer]])[0]
    return f"{name} ({precision})" if precision else name


# Parts


def _heading(title: str) -> Iterator[Line]:
    yield Line(styled((title, "bold $primary")))


def _muted(texts: Iterable[str]) -> Iterator[Line]:
    for text in filter(None, texts):
        yield Line(styled((printable(text), "$muted")))


def _facts(title: str, facts: Iterable[tuple[str, str]]) -> Iterator[Line]:
    known = [(name, text) for name, text in facts if text]
    width = max((len(name) for name, _ in known), default=0)
    if known:
        yield from _heading(title)
    for name, text in known:
        yield Line(styled((f"  {printable(name):<{width}}  ", "$muted"), printable(text)), indent=width + 4)


def _tactic_lines(name: str | None, value: str | None) -> Iterator[Line]:
    """Yield the parts of the kernel's name in a line, its whole name, and the other parts."""
    if not name and not (value or "").strip("0x"):
        return
    yield from _heading("Tactic")
    tactic = parse_tactic(name)
    parts = dict(list_parts(tactic)) if tactic is not None else {}
    first = [parts.get(key, "") for key in ("family", "tile", "stages", "instruction")]
    tensor = {"yes": "tensor cores", "no": "no tensor cores"}.get(parts.get("tensor cores", ""), "")
    stages = f"{first[2]} stages" if first[2] else ""
    line = " · ".join(filter(None, (parts.get("library", ""), first[0], first[1], stages, first[3], tensor)))
    if line:
        yield Line(Content(f"  {printable(line)}"), indent=2)
    yield Line(Content(f"  {printable(name or 'no name')}"), indent=4)
    rest = [
        (key, parts.get(key, ""))
        for key in ("types", "written for", "warps", "filter", "split K", "epilogue", "special")
    ]
    for key, text in [*rest, ("id", value or "")]:
        if text:
            yield Line(styled((f"  {key:<11} ", "$muted"), printable(text)), indent=14)


def _tensor_lines(title: str, ports: Sequence[Port], outside: set[str]) -> Iterator[Line]:
    if not ports:
        return
    yield from _heading(f"{title} ({len(ports)})")
    for port in ports:
        size = format_bytes(port.bytes) if port.bytes is not None else "size unknown"
        if port.allocated_bytes not in (None, port.bytes):
            size += f", {format_bytes(port.allocated_bytes)} allocated"
        notes = [size, "constant" if port.is_constant else "", "binding" if port.name in outside else ""]
        notes += ["host memory"] if port.location == "Host" else []
        words = " · ".join(filter(None, (format_shape(port.shape), describe(port), *notes)))
        yield Line(styled(f"  {words} ", (f" {printable(port.name)}", "$muted")), indent=4)


def _finding_lines(lint: LintResult | None, layer: int) -> Iterator[Line]:
    findings = lint.by_layer.get(layer, ()) if lint is not None else ()
    if not findings:
        return
    yield from _heading("Findings")
    for finding in findings:
        severity = finding.severity.value
        style = SEVERITIES.get(severity, "")
        saving = finding.savings_ms.get(layer)
        saving_text = f"  {format_ms(saving)} ms saving" if saving else ""
        sign = f"  {_LETTERS.get(severity, ' ')} {finding.rule.id}"
        yield Line(
            styled(
                (sign, style),
                f"  {printable(finding.rule.title)}",
                (saving_text, "bold"),
                ("\u00a0›", "$muted"),
            ),
            finding,
            4,
        )


def _neighbour_lines(
    engine: Engine, width: int, title: str, sign: str, layers: Iterable[int]
) -> Iterator[Line]:
    others = sorted(set(layers))
    if not others:
        return
    yield from _heading(f"{title} ({len(others)})")
    yield from (_link(engine, layer, sign, width) for layer in others[:MOST_NEIGHBOURS])
    if rest := others[MOST_NEIGHBOURS:]:
        time = total(engine.layers["latency_ms"][rest])
        more = f"  {len(rest)} more" + (f", {format_ms(time)} ms" if time is not None else "")
        yield from _muted([more + f": {', '.join(map(str, rest[:20]))}{' …' if len(rest) > 20 else ''}"])


def _link(engine: Engine, layer: int, sign: str, width: int = 80) -> Line:
    row = {key: plain_values(engine.layers[key].iloc[[layer]])[0] for key in ("name", "kind", "latency_ms")}
    time = "" if row["latency_ms"] is None else f"{format_ms(row['latency_ms'])} ms "
    kind = f"{row['kind']} " if width >= _WIDE else ""
    name = short_names(engine).fit(row["name"], max(16, width - len(time) - len(kind) - 12))
    return Line(
        styled(f"  {sign} {layer:<4} {time}", (kind, kind_style(row["kind"])), f"{name} ", ("›", "$muted")),
        int(layer),
        9,
    )


def _compute_lines(engine: Engine, layer: int) -> Iterator[Line]:
    work, point = products(engine).iloc[layer], roofline(engine).iloc[layer]
    facts = []
    sizes = plain_values(work[["gemm_m", "gemm_n", "gemm_k"]])
    if None not in sizes:
        batch = plain_values(work[["gemm_batch"]])[0]
        times = f" in a batch of {batch}" if batch and batch > 1 else ""
        facts.append(("M×N×K", "×".join(map(str, sizes)) + times))
    macs = plain_values(work[["macs"]])[0]
    facts += [("MACs", format_count(macs))] if macs is not None else []
    columns: dict[str, Column] = {**ROOFLINE, **DETAILS}
    for key, label in _ROOFLINE.items():
        value = plain_values(point[[key]])[0]
        if value is not None:
            text = columns[key].format(value, with_unit=True)
            facts.append((label, re.sub(r" ([kMGT]) (?=FLOP|B)", r" \1", text)))
    formula = plain_values(point[["peak_formula"]])[0]
    yield from _facts("Compute", [*facts, ("peak is", formula or "")])
    yield from _muted([f"  No roofline: {'; '.join(point['reasons'])}." if len(point["reasons"]) else ""])
    assumptions = dict.fromkeys([*point["assumptions"], *find_device(engine).assumptions])
    yield from _muted(f"  assumes {text}" for text in assumptions if facts)
