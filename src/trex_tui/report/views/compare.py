"""A comparison of engines: verdict, reasons that add up, sums, blocks, and the same as an object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import pandas as pd

from trex_tui.analysis.engines import COLUMNS as ENGINE_COLUMNS
from trex_tui.analysis.engines import make_row
from trex_tui.analysis.gates import FAILED, NOT_JUDGED, PASSED, GateResult
from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import Column
from trex_tui.compare.blocks import describe_columns, key_of, letter
from trex_tui.compare.builds import TACTIC_DIGITS, BlockBuild, BuildDifference
from trex_tui.compare.changes import Change, ChangeKind
from trex_tui.compare.comparison import Comparison, has_other_batch, has_other_device, total_by
from trex_tui.compare.layers import Evidence
from trex_tui.compare.noise import LEVEL, Judgement, Outcome
from trex_tui.compare.reasons import BECOMES, CAUSE_NAMES, Cause, describe_causes
from trex_tui.compare.verdicts import Verdict, explain_need
from trex_tui.engine.filter import FilterError, find_matches
from trex_tui.engine.names import ShortNames, first_nodes
from trex_tui.errors import Note, TrexError
from trex_tui.report.charts import Chart
from trex_tui.report.document import Document, Section, drop_empty_columns
from trex_tui.report.selection import sort_rows
from trex_tui.text import MISSING, format_ms, format_signed_ms, plural, printable

VERSION = 2
"""Of the JSON."""
DEFAULT_TOP = 20
"""Blocks that people see without `--top`."""
Group = Literal["kind", "precision"]
_MOST_GROUPS = 20
_MOST_PARTS, _MOST_VALUES = 3, 24
_MOST_BARS = 12


@dataclass(frozen=True, eq=False)
class Shown:
    """A comparison, and the part of it to show.

    Attributes:
        comparison: The whole comparison, to which totals always refer.
        index: Blocks in the order to show.
        top: Number of blocks that people see; None for all.
        filter_text: The filter; empty for none.
        gates: Results of the gates.
        builds: Per engine but the baseline, why the builder chose other tactics; empty if not requested.
        notes: Of files that belong to none of the engines.
    """

    comparison: Comparison
    index: pd.Index
    top: int | None = DEFAULT_TOP
    filter_text: str = ""
    gates: Sequence[GateResult] = ()
    builds: Sequence[BuildDifference] = ()
    notes: Sequence[Note] = ()

    @property
    def all_notes(self) -> list[Note]:
        """The notes of all runs, and of files that belong to none."""
        runs = (run for own in self.comparison.runs for run in own)
        return list(dict.fromkeys([*self.notes, *(note for run in runs for note in run.notes)]))

    @cached_property
    def names(self) -> ShortNames:
        """Short names of the layers of all engines, and of the blocks."""
        engines = self.comparison.engines
        layers = [
            pair
            for engine in engines
            for pair in zip(engine.layers["name"], first_nodes(engine), strict=True)
        ]
        labels = self.comparison.blocks["label"].tolist()
        return ShortNames.of_layers([*layers, *zip(labels, labels, strict=True)])


def compare_document(shown: Shown) -> Document:
    """Return the comparison with all sections."""
    comparison = shown.comparison
    sections = [replace(section, audience="people") for section in list_sections(shown)]
    sections += [
        Section(f"by_{group}", frame=total_by(comparison, group), audience="programs")
        for group in ("kind", "precision")
    ]
    sections.append(replace(_all_blocks(shown), audience="programs"))
    return Document(
        "diff", _title(shown), sections, shown.all_notes, data=_describe_data(shown), version=VERSION
    )


def blocks_document(shown: Shown) -> Document:
    """Return the blocks alone, for formats of tables: a row per block in the order of execution."""
    return Document("diff", _title(shown), [_all_blocks(shown)], shown.all_notes, version=VERSION)


def _all_blocks(shown: Shown) -> Section:
    comparison = shown.comparison
    frame = comparison.blocks.loc[shown.index.sort_values()].reset_index()
    for position, engine in enumerate(comparison.engines):
        names, layers = engine.layers["name"].tolist(), frame[key_of(position, "layers")]
        place = frame.columns.get_indexer([key_of(position, "layers")])[0]
        frame.insert(
            place, key_of(position, "names"), [tuple(names[layer] for layer in own) for own in layers]
        )
    columns = describe_columns(len(comparison.engines), comparison.baseline)
    return Section("blocks", frame=frame, columns=[column for key, column in columns.items() if key in frame])


def chart_document(shown: Shown, what: str) -> Document:
    """Return the chart of the times by kind, precision or block."""
    chart = make_chart(shown, what)
    section = Section("chart", chart=chart, data={"chart": what, "note": chart.note, "rows": chart.frame})
    return Document("chart", _title(shown), [section], shown.notes)


def _title(shown: Shown) -> str:
    """Return names, the verdicts and the gates."""
    comparison = shown.comparison
    parts = []
    for position, side in enumerate(comparison.sides):
        verdict = comparison.verdicts.get(position)
        parts.append(
            f"{letter(position)} {printable(side.label)}" + (f": {verdict.outcome.value}" if verdict else "")
        )
    if shown.gates:
        parts.append(f"gates: {_count_gates(shown.gates)}")
    return " · ".join(parts)


def list_sections(shown: Shown) -> Iterator[Section]:
    """Yield cautions, gates, the differences with their reasons, the engines, sums, blocks and builds."""
    comparison = shown.comparison
    if comparison.cautions:
        texts = [printable(caution.text) for caution in comparison.cautions]
        yield Section("cautions", "Cautions", sentences=texts, is_warning=True)
    if shown.gates:
        yield _gates_section(shown.gates)
    for position in comparison.others:
        yield difference_section(comparison, position)
        yield _evidence_section(comparison, position)
    yield _engines_section(comparison)
    for group in ("kind", "precision"):
        section = totals_section(comparison, group)
        if section.frame is not None and len(section.frame) > 1:
            yield section
    yield blocks_section(shown)
    for builds in shown.builds:
        yield builds_section(shown, builds)


# Verdicts and reasons


def describe_verdict(comparison: Comparison, position: int) -> str:
    """Return `faster −0.2098 ms (−42.05 %), 95 % interval −0.2103 to −0.2093 ms`, as far as it is known."""
    verdict, difference = comparison.verdicts[position], comparison.differences[position]
    judgement = verdict.judgement
    if not difference.is_related:
        return "different networks"
    if judgement.outcome is not Outcome.UNKNOWN:
        by = " by single layer times" if verdict.is_by_layers else ""
        text = f"{judgement.outcome.value}{by} {_describe_change(judgement.difference, judgement.difference_pct)}"
        if judgement.interval is None:
            return text
        low, high = (format_signed_ms(edge) for edge in judgement.interval)
        return f"{text}, {100 * LEVEL:.0f} % interval {low} to {high} ms"
    if judgement.values is not None:
        change = _describe_change(judgement.difference, judgement.difference_pct)
        return f"{change} by printed medians, noise unknown"
    if difference.delta_ms is not None:
        return f"{_describe_change(difference.delta_ms, difference.delta_pct)} by layer times, noise unknown"
    return "unknown"


def _describe_change(delta_ms: float | None, pct: float | None) -> str:
    text = MISSING if delta_ms is None else f"{format_signed_ms(delta_ms)} ms"
    return text if pct is None else f"{text} ({pct:+.2f} %)".replace("-", "−")


def describe_difference(comparison: Comparison, position: int) -> str:
    """Return the difference of layer times and its causes in a sentence, and first what makes it no matter of kernels."""
    side, first = comparison.sides[position], comparison.sides[comparison.baseline]
    difference = comparison.differences[position]
    if not difference.is_related:
        count = f"{first.matched_layers} of {plural(first.layers, 'layer')}"
        return f"Different networks: {count} of {letter(comparison.baseline)} match. Compare totals only."
    parts = []
    if has_other_batch(side, first):
        parts.append(f"batch {side.batch} against {first.batch}")
    if has_other_device(side, first):
        parts.append(f"{side.device} against {first.device}")
    if parts:
        parts[-1] += f"; times are per {'sample' if comparison.is_per_sample else 'inference'}"
    if abs(difference.unattributed_ms) > 0.0005:
        missing = side.untimed_layers + first.untimed_layers
        parts.append(f"incomplete: {plural(missing, 'layer')} without a time")
    start = ", ".join(parts)
    start = f"{start[:1].upper()}{start[1:]}. " if start else ""
    return start + _describe_times(comparison, position)


def _describe_times(comparison: Comparison, position: int) -> str:
    verdict, difference = comparison.verdicts[position], comparison.differences[position]
    engine, baseline = letter(position), letter(comparison.baseline)
    delta, noise = difference.delta_ms, difference.noise
    if delta is None or noise is None:
        is_engine = comparison.sides[position].latency_sum_ms is None
        files = comparison.engines[position if is_engine else comparison.baseline]
        why = explain_need(files, FileKind.PROFILE, "needs --exportProfile")
        return f"{engine if is_engine else baseline} has no profile ({why}): layer times are not compared."
    share = "" if difference.delta_pct is None else f" ({abs(difference.delta_pct):.1f} %)"
    is_noise, outcome = abs(delta) <= noise.sum_ms, verdict.outcome
    word = "slower" if delta > 0 else "faster"
    causes = describe_causes(difference.reasons)
    because = f": {causes}" if causes else ""
    agrees = f"layer times agree within noise ({format_signed_ms(delta)} ms)"
    whole = f"{engine} is {abs(delta):.4f} ms{share} {word} than {baseline} by the sum of layer times"
    if outcome is Outcome.SAME:
        rest = agrees if is_noise else whole.replace(f" than {baseline} by", " by")
        return f"{engine} and {baseline} do not differ beyond noise end to end; {rest}."
    if outcome is Outcome.UNKNOWN and is_noise:
        return f"{engine} and {baseline} take the same: {agrees}."
    if outcome is Outcome.UNKNOWN or (outcome.value == word and not is_noise):
        return f"{whole}{because}."
    pct = verdict.judgement.difference_pct
    change = "" if pct is None else f" ({pct:+.2f} %)".replace("-", "−")
    end_to_end = f"{engine} is {outcome.value} than {baseline} end to end{change}"
    if is_noise:
        return f"{end_to_end}; {agrees}."
    sums = f"{abs(delta):.4f} ms{share} {'more' if delta > 0 else 'less'}"
    return f"{end_to_end}, but its layer times add up to {sums}{because}."


def difference_section(comparison: Comparison, position: int) -> Section:
    """Return the verdict on an engine, and a row per cause with their sum."""
    difference = comparison.differences[position]
    title = (
        f"{letter(position)} against {letter(comparison.baseline)}: {describe_verdict(comparison, position)}"
    )
    section = Section(
        f"difference-{letter(position).lower()}", title, sentences=[describe_difference(comparison, position)]
    )
    reasons = difference.reasons
    if reasons.empty:
        return section
    frame = reasons.drop(columns=["blocks", "layers"]).rename(
        columns={
            "decrease_ms": "decrease_delta_ms",
            "increase_ms": "increase_delta_ms",
            "baseline_layers": "layers",
        }
    )
    counts = zip(reasons["baseline_layers"], reasons["layers"], strict=True)
    frame["layers"] = [f"{before}:{after}" for before, after in counts]
    frame["cause"] = [CAUSE_NAMES[Cause(cause)] for cause in reasons["cause"]]
    whole = pd.DataFrame([{"cause": "Σ", "delta_ms": difference.delta_ms}])
    columns = (
        Column("cause", "cause", "Cause of the difference.", priority=0),
        Column("delta_ms", f"Δ {comparison.unit}", "Sum of the differences of its layers.", priority=0),
        Column("decrease_delta_ms", "faster", "Sum of the negative differences."),
        Column("increase_delta_ms", "slower", "Sum of the positive differences."),
        Column("layers", "layers", "Number of layers in each engine."),
        Column("what", "what", "Layers by kind and change, the largest difference first.", priority=1),
    )
    return replace(section, frame=pd.concat([frame, whole], ignore_index=True), columns=columns, noun="cause")


def describe_end_to_end(verdict: Verdict) -> str:
    """Return the basis of a verdict as a sentence without full stop."""
    judgement = verdict.judgement
    what = "the sum of single layer times" if verdict.is_by_layers else "the median latency"
    shown = _describe_interval(judgement)
    if judgement.outcome is Outcome.UNKNOWN:
        printed = f"printed medians differ by {shown}, " if judgement.values else ""
        return f"{printed}significance not tested: {judgement.reason}"
    tick = judgement.tick or 0.0
    if judgement.outcome is not Outcome.SAME:
        words = f"{what} is {'higher' if judgement.outcome is Outcome.SLOWER else 'lower'}"
    elif abs(judgement.difference or 0.0) <= tick * 1.000001:
        words = f"{what} differs by at most a timer tick ({tick:.4g} ms)"
    else:
        words = f"the difference of {what} may be noise"
    text = f"{words}, {judgement.scope}: {shown}"
    return f"{text}; {judgement.reason}" if judgement.reason else text


def _describe_interval(judgement: Judgement) -> str:
    shown = _describe_change(judgement.difference, judgement.difference_pct)
    if judgement.interval is not None:
        low, high = judgement.interval
        shown += f", 95 % interval {low:+.4g} to {high:+.4g} ms".replace("-", "−")
    return shown


def _evidence_section(comparison: Comparison, position: int) -> Section:
    verdict, difference = comparison.verdicts[position], comparison.differences[position]
    lines = [f"End to end: {printable(describe_end_to_end(verdict))}."]
    if verdict.outcome is not Outcome.UNKNOWN and verdict.judgement.method:
        lines.append(f"Method: {verdict.judgement.method}.")
    if noise := difference.noise:
        threshold = f"{noise.pct:.1f} % ({noise.source}) or a tick of the timer ({noise.tick_ms:.4g} ms)"
        lines.append(f"Unchanged layers: times within {threshold}.")
    if judged := _count_verdicts(comparison, position):
        lines.append(judged)
    counts = count_evidence(comparison, position)
    texts = [
        f"{count} by {evidence}" for evidence, count in counts.items() if evidence != Evidence.NONE.value
    ]
    if alone := counts.get(Evidence.NONE.value):
        texts.append(f"{alone} in one engine only")
    lines.append(f"Blocks matched: {', '.join(texts) or 'none'}.")
    suffix = "" if len(comparison.engines) == 2 else f" on {letter(position)}"
    return Section(f"evidence-{letter(position).lower()}", f"Evidence{suffix}", sentences=lines)


def count_evidence(comparison: Comparison, position: int) -> dict[str, int]:
    """Return the number of blocks per evidence, of those with layers of the engine or the baseline."""
    ends = [comparison.blocks[key_of(end, "layers")].map(bool) for end in (comparison.baseline, position)]
    evidence = comparison.blocks["evidence"].where(ends[0] & ends[1], Evidence.NONE.value)[ends[0] | ends[1]]
    counts = evidence.value_counts()
    return {kind.value: int(counts[kind.value]) for kind in Evidence if kind.value in counts}


def _count_verdicts(comparison: Comparison, position: int) -> str:
    key = key_of(position, "verdict")
    if key not in comparison.blocks:
        return ""
    words = {"slower": "slower", "faster": "faster", "same": "within noise", "unknown": "not judged"}
    counts = Counter(comparison.blocks[key].dropna())
    parts = [f"{counts[outcome]} {word}" for outcome, word in words.items() if counts[outcome]]
    judged = plural(counts.total(), "block")
    return (
        f"Single times of layers judge {judged}: {', '.join(parts)} (95 % each, within one run)."
        if parts
        else ""
    )


# Gates and engines


def _count_gates(gates: Iterable[GateResult]) -> str:
    counts = Counter(result.state for result in gates)
    return ", ".join(f"{counts[state]} {state}" for state in (FAILED, NOT_JUDGED, PASSED) if counts[state])


def _gates_section(gates: Sequence[GateResult]) -> Section:
    """Return a row for each gate and engine; failed ones first, then those that are not judged."""
    order = (FAILED, NOT_JUDGED, PASSED)
    rows = [
        (
            result.state,
            printable(result.gate.text),
            printable(result.subject),
            *(format_metric(result.gate.metric, value) for value in (result.value, result.baseline)),
            _format_compared(result),
            _format_range(result),
            printable(result.note),
        )
        for result in sorted(gates, key=lambda result: order.index(result.state))
    ]
    titles = (
        "gate",
        "condition",
        "engine",
        "value",
        "baseline",
        "change",
        "95 % interval of the change",
        "note",
    )
    columns = [
        Column(f"gate_{number}", title, priority=min(number, 5)) for number, title in enumerate(titles)
    ]
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    is_bad = any(result.is_met is not False for result in gates)
    section = Section(
        "gates", "Gates", sentences=[f"{_count_gates(gates)}."], frame=frame, columns=columns, noun="gate"
    )
    return drop_empty_columns(replace(section, is_warning=is_bad))


def format_metric(metric: str, value: float | None) -> str | None:
    """Return the value of a metric with its unit; the interval of a verdict is that of the median latency."""
    if value is None:
        return None
    return Column("verdict_ms" if metric == "verdict" else metric, "").format(value, with_unit=True)


def _format_signed(metric: str, value: float) -> str:
    return ("−" if value < 0 else "+") + (format_metric(metric, abs(value)) or "")


def _format_compared(result: GateResult) -> str | None:
    gate = result.gate
    if not gate.is_relative or result.is_met is None:
        return None
    if result.compared is None:
        return "more than any percentage"
    if not result.compared:
        return "no change"
    if gate.is_percent:
        return f"{result.compared:+.2f} %".replace("-", "−")
    return _format_signed(gate.metric, result.compared)


def _format_range(result: GateResult) -> str | None:
    if result.interval is None:
        return None
    low, high = (_format_signed(result.gate.metric, edge) for edge in result.interval)
    return f"{low} to {high}"


def explain_gate(result: GateResult) -> str:
    """Return the result of a gate in a sentence without full stop."""
    gate, subject = result.gate, printable(result.subject)
    if result.is_met is None or gate.word:
        return f"{subject}: {gate.name}: {printable(result.note)}"
    words = f"{subject}: {gate.name} is {format_metric(gate.metric, result.value)}"
    if compared := _format_compared(result):
        words += f", {compared} against {format_metric(gate.metric, result.baseline)}"
    return f"{words}; {printable(result.note)}" if result.note else words


def _engines_section(comparison: Comparison) -> Section:
    rows = []
    for position, (side, engine) in enumerate(zip(comparison.sides, comparison.engines, strict=True)):
        facts = make_row(engine)
        facts["latency_sum_ms"] = side.latency_sum_ms
        for key in ("latency_median_ms", "energy_per_inference_j"):
            facts[key] = None if facts[key] is None else facts[key] / side.per
        label = printable(side.label) + (" (baseline)" if position == comparison.baseline else "")
        rows.append(
            {**facts, "letter": letter(position), "engine": label, "matched_layers": side.matched_layers}
        )
    unit = comparison.unit
    keys = ("device", "tensorrt", "precision", "layers")
    columns = [Column("letter", "", priority=0), Column("engine", "engine", width=16, priority=0)]
    columns += [ENGINE_COLUMNS[key] for key in keys]
    columns += [
        Column("matched_layers", "matched", "Layers in a block with a layer of another engine."),
        replace(ENGINE_COLUMNS["latency_sum_ms"], title=f"Σ layers {unit}", priority=1),
        replace(ENGINE_COLUMNS["latency_median_ms"], title=f"median {unit}"),
        *(ENGINE_COLUMNS[key] for key in ("weights_bytes", "batch", "power_mean_w")),
        replace(
            ENGINE_COLUMNS["energy_per_inference_j"],
            title="J per sample" if comparison.is_per_sample else "J",
        ),
    ]
    frame = pd.DataFrame(rows)[[column.key for column in columns]].convert_dtypes()
    return drop_empty_columns(Section("engines", "Engines", frame=frame, columns=columns, noun="engine"))


# Sums


def totals_section(comparison: Comparison, group: Group) -> Section:
    """Return the times of each engine by a property of the layers, and their sum; those after the largest are one row."""
    table = total_by(comparison, group)
    rest = table.iloc[_MOST_GROUPS:]
    others = [_sum_rows(group, plural(len(rest), "other"), rest)] if len(rest) else []
    frame = pd.concat([table.head(_MOST_GROUPS), *others, _sum_rows(group, "Σ", table)], ignore_index=True)
    known = describe_columns(len(comparison.engines), comparison.baseline)
    keys = list(map(str, frame))
    shown = [known[key] for key in keys if key.endswith(("latency_ms", "delta_ms"))]
    shown += [replace(known[key], priority=6) for key in keys if key.endswith("_layers")]
    return Section(
        f"by-{group}", f"By {group}, {comparison.unit}", frame=frame, columns=[Column(group, ""), *shown]
    )


def _sum_rows(group: str, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([{group: name, **rows.drop(columns=group).sum(min_count=1).to_dict()}])


# Blocks


class _Blocks(NamedTuple):
    """The blocks as a table whose columns can be named."""

    frame: pd.DataFrame
    columns: Mapping[str, Column]

    def column(self, key: str) -> pd.Series:
        return self.frame["label" if key == "name" else key]


def choose_blocks(
    comparison: Comparison, filter_text: str = "", sort: str | None = None, *, is_reversed: bool = False
) -> pd.Index:
    """Return the blocks with a layer that matches a filter in any engine, in an order.

    Args:
        sort: A column of the blocks; None for the largest difference in time first.

    Raises:
        TrexError: The filter is invalid, or there is no such column.
    """
    blocks, engines = comparison.blocks, comparison.engines
    frame = blocks
    if filter_text.strip():
        try:
            matches = [find_matches(engine, filter_text, others=engines).to_numpy(bool) for engine in engines]
        except FilterError as error:
            raise TrexError(f"--filter: {error.pointed}") from None
        is_chosen = [
            pd.Series(
                [rows[[*own]].any() for own in blocks[key_of(position, "layers")]], blocks.index, dtype=bool
            )
            for position, rows in enumerate(matches)
        ]
        frame = blocks[pd.concat(is_chosen, axis=1).any(axis=1)]
    known = describe_columns(len(engines), comparison.baseline)
    if sort is not None:
        columns = {key: column for key, column in known.items() if key in frame}
        rows = pd.Series(True, index=frame.index)
        return sort_rows(_Blocks(frame, columns), rows, sort, is_reversed=is_reversed)
    deltas = frame[[key_of(position, "delta_ms") for position in comparison.others]].abs().max(axis=1)
    index = deltas.sort_values(ascending=False, kind="stable", na_position="last").index
    return index[::-1] if is_reversed else index


def describe_changes(comparison: Comparison, block: int, others: Sequence[int] = ()) -> str:
    """Describe the changes of a block: `precision FP16⇒INT8, tactic`, `only in B`; with several engines who differs.

    Args:
        others: Engines that are compared with the baseline; by default all.
    """
    others = others or comparison.others
    ends = sorted((comparison.baseline, *others))
    layers = {end: comparison.blocks[key_of(end, "layers")].iloc[block] for end in ends}
    there = [letter(end) for end in ends if layers[end]]
    if len(there) == 1:
        return f"only in {there[0]}"
    by_text: dict[str, list[str]] = {}
    for position in others:
        if text := ", ".join(map(_describe_block_change, comparison.changes[position][block])):
            by_text.setdefault(text, []).append(letter(position))
    if len(ends) == 2:
        return "; ".join(by_text)
    absent = [letter(end) for end in ends if not layers[end]]
    texts = [f"{', '.join(letters)}: {text}" for text, letters in by_text.items()]
    return "; ".join([f"not in {', '.join(absent)}", *texts] if absent else texts)


def _describe_block_change(change: Change) -> str:
    kind, before, after = change.kind, printable(change.before), printable(change.after)
    if change.parts:
        names = [part.part for part in change.parts]
        more = ["…"] if len(names) > _MOST_PARTS else []
        return f"{kind.value} ({', '.join(names[:_MOST_PARTS] + more)})"
    if kind is ChangeKind.TACTIC or len(before) + len(after) > _MOST_VALUES or "→" in before + after:
        return kind.value
    return f"{kind.value} {before}{BECOMES}{after}"


def blocks_section(shown: Shown) -> Section:
    """Return the blocks that differ, in time or otherwise."""
    comparison = shown.comparison
    blocks = comparison.blocks.loc[shown.index]
    layers = [blocks[key_of(position, "layers")].map(len) for position in range(len(comparison.engines))]
    moved = [blocks[key_of(position, "delta_ms")].fillna(0.0).ne(0.0) for position in comparison.others]
    changed = [blocks[key_of(position, "changed")].map(bool) for position in comparison.others]
    absent = [count.eq(0) for count in layers]
    rows = blocks[pd.concat([*moved, *changed, *absent], axis=1).any(axis=1)].head(shown.top or len(blocks))
    if rows.empty:
        has_layers = any(side.layers for side in comparison.sides)
        text = (
            "No differences: all blocks have the same time and layers." if has_layers else "No layers known."
        )
        return Section("blocks", "Layers", sentences=[text])
    frame = rows.copy()
    frame["shape"] = [
        ":".join(map(str, counts)) for counts in zip(*(own[rows.index] for own in layers), strict=True)
    ]
    frame["changed"] = [describe_changes(comparison, block) for block in rows.index]
    for position in range(len(comparison.engines)):  # 0 where an engine has no layer would look like a time
        key = key_of(position, "latency_ms")
        frame[key] = frame[key].where(layers[position][rows.index].gt(0))
    known = describe_columns(len(comparison.engines), comparison.baseline)
    keys = [key for key in map(str, frame) if key.endswith(("_latency_ms", "_delta_ms", "_verdict"))]
    columns = [
        replace(known["label"], priority=0),
        Column("shape", "layers", "Number of layers in each engine."),
        known["evidence"],
        *(replace(known[key], priority=0) for key in keys),
        Column("changed", "changed", "What differs from the baseline.", width=24, priority=1),
    ]
    total = len(comparison.blocks)
    count = (
        f"{len(rows)} of {plural(total, 'block')}"
        if len(rows) < total
        else f"all of {plural(total, 'block')}"
    )
    rest = f"{count}; filter: {shown.filter_text}" if shown.filter_text else count
    shorten = {"label": shown.names.fit}
    return Section(
        "blocks", "Layers", sentences=[rest], frame=frame, columns=columns, noun="block", shorten=shorten
    )


# Builds


def builds_section(shown: Shown, builds: BuildDifference) -> Section:
    """Return why the builder chose other tactics: two rows for each block whose tactic changed."""
    comparison = shown.comparison
    engine, baseline = letter(builds.engine), letter(comparison.baseline)
    blocks = builds.of(shown.index)
    sentences = list(map(printable, builds.problems))
    if blocks:
        sentences.append(builds.summary)
    elif len(builds.problems) < 2:
        sentences.append("No tactic changed.")
    rows = [row for block in blocks[: shown.top] for row in _list_choices(comparison, builds.engine, block)]
    columns = (
        Column("label", "block", "Name of the block, in the row of the baseline.", width=20, priority=0),
        Column("delta_ms", "Δ ms", "Difference of the measured times of the layers."),
        Column("because", "because", "Why the builds differ, according to their logs.", priority=1),
        Column("engine", "", "The engine.", priority=0),
        Column("tactic", "tactic", "Tactic of the engine.", width=16, priority=2),
        Column("builder", "builder ms", "Time that the builder measured for its choice.", priority=2),
        Column("margin_pct", "second %", "Margin of the second fastest tactic."),
        Column("timed", "timed", "Tactics timed in the formats of the choice."),
        Column("skipped", "skipped", "Tactics not timed in these formats."),
        Column(
            "other",
            "other engine's tactic",
            "What became of the other engine's tactic.",
            width=16,
            priority=1,
        ),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns]).convert_dtypes()
    title = f"Why the builder chose other tactics for {engine} than for {baseline}"
    shorten = {"label": shown.names.fit}
    section = Section(
        f"why-{engine.lower()}", title, sentences=sentences, frame=frame, columns=columns, shorten=shorten
    )
    return drop_empty_columns(section) if rows else replace(section, frame=None)


def _list_choices(comparison: Comparison, engine: int, build: BlockBuild) -> Iterator[tuple[Any, ...]]:
    row = comparison.blocks.iloc[build.block]
    heads = (row["label"], row[key_of(engine, "delta_ms")], build.because.value), ("", None, "")
    for head, choice in zip(heads, build.choices, strict=True):
        is_known = not choice.problem
        yield (
            *head,
            letter(choice.engine),
            choice.tactic,
            format_ms(choice.chosen.time_ms, TACTIC_DIGITS) if choice.chosen else None,
            choice.margin_pct,
            len(choice.candidates) if is_known else None,
            choice.skipped if is_known else None,
            str(choice.other) if is_known else choice.problem,
        )


# Charts


def make_chart(shown: Shown, what: str) -> Chart:
    """Return bars of the times of each engine by kind, precision or block, the largest difference first."""
    comparison = shown.comparison
    if what == "block":
        names = ShortNames.of_layers(zip(*(comparison.blocks["label"],) * 2, strict=True))
        table = comparison.blocks.loc[shown.index].head(_MOST_BARS)
        groups = [f"{names.fit(label, 40)} #{block}" for block, label in table["label"].items()]
    else:
        table = total_by(comparison, what).head(_MOST_BARS)
        groups = table[what].tolist()
    parts = [
        pd.DataFrame(
            {
                "group": groups,
                "engine": f"{letter(position)} {printable(side.label)}",
                "latency_ms": table[key_of(position, "latency_ms")].array,
            }
        )
        for position, side in enumerate(comparison.sides)
    ]
    frame = pd.concat(parts, ignore_index=True).dropna(subset=["latency_ms"])
    left = len(shown.index) - len(table) if what == "block" else 0
    note = f"{plural(left, 'block')} with smaller differences not shown." if left else ""
    if frame.empty:
        note = "No layer times (needs --exportProfile)."
    time = Column("latency_ms", f"Time, {comparison.unit}")
    engine = Column("engine", "Engine")
    return Chart("bar", f"Time by {what}", frame, time, Column("group", what.title()), engine, note=note)


# Values for programs


def _describe_data(shown: Shown) -> dict[str, Any]:
    """Return what programs get beside the tables; with a filter the table of blocks leaves out some of `blocks_total`."""
    comparison = shown.comparison
    verdicts = {letter(position): _verdict_data(verdict) for position, verdict in comparison.verdicts.items()}
    return {
        "baseline": letter(comparison.baseline),
        "is_per_sample": comparison.is_per_sample,
        "is_unit_stated": comparison.is_unit_stated,
        "engines": [_engine_data(comparison, position) for position in range(len(comparison.engines))],
        "cautions": [
            {**caution._asdict(), "engine": letter(caution.engine)} for caution in comparison.cautions
        ],
        "verdict": next(iter(verdicts.values())),
        "verdicts": verdicts,
        "differences": {
            letter(position): _difference_data(comparison, position) for position in comparison.others
        },
        "changes": [
            {"block": block, "engine": letter(position), **change._asdict()}
            for position in comparison.others
            for block in sorted(shown.index)
            for change in comparison.changes[position][block]
        ],
        "filter": shown.filter_text or None,
        "blocks_total": len(comparison.blocks),
        "gates": [
            {**result._asdict(), "gate": result.gate.text, "state": result.state, "why": explain_gate(result)}
            for result in shown.gates
        ],
        "why": [
            {"engine": letter(builds.engine), "problems": builds.problems, "blocks": builds.of(shown.index)}
            for builds in shown.builds
        ],
    }


def _engine_data(comparison: Comparison, position: int) -> dict[str, Any]:
    side, engine = comparison.sides[position], comparison.engines[position]
    facts = make_row(engine)
    return {
        "engine": letter(position),
        "name": side.label,
        "files": {kind.value: path for kind, path in engine.files.items()},
        "runs": [run.name for run in comparison.runs[position]],
        **side._asdict(),
        **{key: facts[key] for key in ("latency_median_ms", "precision", "weights_bytes")},
    }


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
    judgement = verdict.judgement
    return {
        "outcome": judgement.outcome,
        "is_by_layers": verdict.is_by_layers,
        "why": describe_end_to_end(verdict),
        "difference_ms": judgement.difference,
        "difference_pct": judgement.difference_pct,
        "interval_ms": judgement.interval,
        "level": LEVEL,
        "medians_ms": judgement.values,
        "tick_ms": judgement.tick,
        **{key: getattr(judgement, key) for key in ("runs", "rows", "scope", "method")},
    }


def _difference_data(comparison: Comparison, position: int) -> dict[str, Any]:
    difference = comparison.differences[position]
    return {
        **difference._asdict(),
        "headline": describe_difference(comparison, position),
        "matches": count_evidence(comparison, position),
        "changes": Counter(change.kind.value for block in comparison.changes[position] for change in block),
    }
