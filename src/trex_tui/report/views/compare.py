"""A comparison of engines: verdict, reasons that add up, sums, blocks, and the same as an object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import pandas as pd

from trex_tui.analysis.engines import COLUMNS as ENGINE_COLUMNS
from trex_tui.analysis.engines import make_row
from trex_tui.analysis.gates import GateResult
from trex_tui.column import Column
from trex_tui.compare.blocks import describe_columns, key_of, letter
from trex_tui.compare.builds import BuildDifference
from trex_tui.compare.changes import Change, ChangeKind
from trex_tui.compare.comparison import Comparison, total_by
from trex_tui.compare.noise import LEVEL
from trex_tui.compare.reasons import BECOMES, CAUSE_NAMES, Cause
from trex_tui.compare.verdicts import Verdict
from trex_tui.engine.filter import FilterError, find_matches
from trex_tui.engine.names import ShortNames, first_nodes
from trex_tui.errors import Note, TrexError
from trex_tui.frames import frame_of
from trex_tui.report.charts import Chart
from trex_tui.report.document import Document, Section, drop_empty_columns
from trex_tui.report.selection import sort_rows
from trex_tui.report.views.gates import count_gates, explain_gate, gates_section
from trex_tui.report.views.verdicts import (
    count_evidence,
    describe_basis,
    describe_difference,
    describe_verdict,
    evidence_section,
)
from trex_tui.text import plural, printable

VERSION = 2
"""Of the JSON."""
Group = Literal["kind", "precision"]
_MOST_PARTS, _MOST_VALUES = 3, 24
_MOST_BARS, _BAR = 12, "bar"


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
    top: int | None = None
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
        place = frame.columns.tolist().index(key_of(position, "layers"))
        frame.insert(
            place, key_of(position, "names"), [tuple(names[layer] for layer in own) for own in layers]
        )
    columns = describe_columns(len(comparison.engines))
    return Section("blocks", frame=frame, columns=[column for key, column in columns.items() if key in frame])


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
        parts.append(f"gates: {count_gates(shown.gates)}")
    return " · ".join(parts)


def list_sections(shown: Shown) -> Iterator[Section]:
    """Yield cautions, gates, the differences with their reasons, the engines, sums, blocks and builds."""
    comparison = shown.comparison
    if comparison.cautions:
        texts = [printable(caution.text) for caution in comparison.cautions]
        yield Section("cautions", "Cautions", sentences=texts, is_warning=True)
    if shown.gates:
        yield gates_section(shown.gates)
    for position in comparison.others:
        yield difference_section(comparison, position)
        yield evidence_section(comparison, position)
    yield _engines_section(comparison)
    for group in ("kind", "precision"):
        section = totals_section(comparison, group)
        if section.frame is not None and len(section.frame) > 1:
            yield section
    yield blocks_section(shown)
    for builds in shown.builds:
        yield builds_section(shown, builds)


# Differences, engines and sums


def difference_section(comparison: Comparison, position: int) -> Section:
    """Return the verdict on an engine, and a row per cause with their sum."""
    difference = comparison.differences[position]
    title = f"{letter(position)} against A: {describe_verdict(comparison, position)}"
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


def _engines_section(comparison: Comparison) -> Section:
    rows = []
    for position, (side, engine) in enumerate(zip(comparison.sides, comparison.engines, strict=True)):
        facts = make_row(engine)
        facts["latency_sum_ms"] = side.latency_sum_ms
        for key in ("latency_median_ms", "energy_per_inference_j"):
            facts[key] = None if facts[key] is None else facts[key] / side.per
        label = printable(side.label) + (" (baseline)" if position == 0 else "")
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
    frame = frame_of({column.key: [row[column.key] for row in rows] for column in columns})
    return drop_empty_columns(Section("engines", "Engines", frame=frame, columns=columns, noun="engine"))


def totals_section(comparison: Comparison, group: Group) -> Section:
    """Return the times of each engine by a property of the layers, and their sum."""
    table = total_by(comparison, group)
    whole = pd.DataFrame([{group: "Σ", **table.drop(columns=group).sum(min_count=1).to_dict()}])
    frame = pd.concat([table, whole], ignore_index=True)
    known = describe_columns(len(comparison.engines))
    keys = list(map(str, frame))
    shown = [known[key] for key in keys if key.endswith(("latency_ms", "delta_ms"))]
    shown += [replace(known[key], priority=6) for key in keys if key.endswith("_layers")]
    return Section(
        f"by-{group}", f"By {group}, {comparison.unit}", frame=frame, columns=[Column(group, ""), *shown]
    )


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
    known = describe_columns(len(engines))
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
    ends = sorted((0, *others))
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
    known = describe_columns(len(comparison.engines))
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
    blocks, engine = shown.comparison.blocks, letter(builds.engine)
    choices = builds.choices[builds.choices["block"].isin(shown.index)]
    sentences = list(map(printable, builds.problems))
    if len(choices):
        sentences.append(builds.summary)
    elif len(builds.problems) < 2:
        sentences.append("No tactic changed.")
    frame = choices.head(2 * shown.top if shown.top else len(choices)).reset_index(drop=True)
    is_first = frame.index % 2 == 0
    frame["label"] = blocks["label"].reindex(frame["block"]).array
    frame["delta_ms"] = blocks[key_of(builds.engine, "delta_ms")].reindex(frame["block"]).array
    frame["delta_ms"] = frame["delta_ms"].where(is_first)
    for key in ("label", "because"):
        frame[key] = frame[key].where(is_first, "")
    columns = (
        Column("label", "block", "Name of the block, in the row of the baseline.", width=20, priority=0),
        Column("delta_ms", "Δ ms", "Difference of the measured times of the layers."),
        Column("because", "because", "Why the builds differ, according to their logs.", priority=1),
        Column("engine", "", "The engine.", priority=0),
        Column("tactic", "tactic", "Tactic of the engine.", width=16, priority=2),
        Column("builder_ms", "builder ms", "Time that the builder measured for its choice.", priority=2),
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
    title = f"Why the builder chose other tactics for {engine} than for A"
    section = Section(
        f"why-{engine.lower()}",
        title,
        sentences=sentences,
        frame=frame,
        columns=columns,
        shorten={"label": shown.names.fit},
    )
    return drop_empty_columns(section) if len(frame) else replace(section, frame=None)


# Charts


def make_chart(shown: Shown, what: str) -> Chart:
    """Return a bar per engine of the times by kind, precision or block, the largest difference first."""
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
                _BAR: [f"{group} {letter(position)}" for group in groups],
                "group": groups,
                "engine": f"{letter(position)} {printable(side.label)}",
                "latency_ms": table[key_of(position, "latency_ms")].array,
            }
        )
        for position, side in enumerate(comparison.sides)
    ]
    frame = pd.concat(parts).sort_index(kind="stable").dropna(subset=["latency_ms"]).reset_index(drop=True)
    left = len(shown.index) - len(table) if what == "block" else 0
    note = f"{plural(left, 'block')} with smaller differences not shown." if left else ""
    if frame.empty:
        note = "No layer times (needs --exportProfile)."
    time = Column("latency_ms", f"Time, {comparison.unit}")
    engine = Column("engine", "Engine")
    return Chart("bar", f"Time by {what}", frame, time, Column(_BAR, what.title()), engine, note=note)


# Values for programs


def _describe_data(shown: Shown) -> dict[str, Any]:
    """Return what programs get beside the tables; with a filter the table of blocks leaves out some of `blocks_total`."""
    comparison = shown.comparison
    verdicts = {letter(position): _verdict_data(verdict) for position, verdict in comparison.verdicts.items()}
    return {
        "baseline": "A",
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
            {
                "engine": letter(builds.engine),
                "problems": builds.problems,
                "choices": builds.choices[builds.choices["block"].isin(shown.index)],
            }
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
        "why": describe_basis(verdict),
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
