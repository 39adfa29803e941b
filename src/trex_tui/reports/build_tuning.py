"""How a layer was tuned, in lines: what was tried, what was chosen, what came next, what other formats would have cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from trex_tui.analysis.build_layers import CACHED, BuildFacts, TacticRow, TunedLayer
from trex_tui.analysis.build_trace import NEAR_TIE_PCT, Contender, LayerChoice
from trex_tui.artifacts.buildlog.tactics import hex_id
from trex_tui.artifacts.buildlog.tuning import FormatCombination, LayerTuning, SkippedTactic, SkipReason
from trex_tui.engine.engine import Engine
from trex_tui.reports.build_log import myelin_words
from trex_tui.reports.build_resources import reformat_words
from trex_tui.reports.layer_text import Line
from trex_tui.text import format_bytes, format_ms, plural

DIGITS = 6
"""Decimals of a tactic's milliseconds: they are told apart by tens of nanoseconds."""
MOST_ROWS = 40
"""Rows of a table of Myelin's, and formats, that the words show."""


def in_ms(value: float | None) -> str:
    """The builder's time of a tactic, with its unit."""
    return f"{format_ms(value, DIGITS)} ms"


def line_of(number: int) -> Line:
    """Where in the log it stands."""
    return Line(f"line {number}", "muted", label="in the log")


def _contender_words(one: Contender) -> str:
    number = hex_id(one.id) if one.id is not None else ""
    return " · ".join(part for part in (in_ms(one.time_ms), one.runner, one.name or "", number) if part)


def tuned_lines(engine: Engine, facts: BuildFacts, tuned: TunedLayer) -> Iterator[Line]:
    """How a layer was tuned: how much was tried, what was chosen, and what came next."""
    tuning = tuned.tuning
    yield Line(tuning.name, "heading")
    yield Line(_tried_words(tuning))
    if tuned.choice is not None:
        yield from _choice_lines(tuned.choice)
    elif tuned.chosen_ms is not None:
        yield Line(in_ms(tuned.chosen_ms), label="chosen")
    yield from _fate_lines(engine, facts, tuned)
    for one in facts.trace.reformats:
        if one.consumer == tuning.name and one.strategy == tuning.strategy:
            yield Line(reformat_words(one), label="reformatted")
    yield line_of(tuning.line)


def _tried_words(tuning: LayerTuning) -> str:
    words = f"{plural(tuning.tactic_count, 'tactic')} timed{myelin_words(tuning.myelin_count)}"
    words += (
        f"{',' if tuning.myelin_count else ''} in {plural(len(tuning.combinations), 'format combination')}"
    )
    words += f", {len(tuning.skipped)} skipped" if tuning.skipped else ""
    if tuning.is_cached:
        return words + f"; every result came {CACHED}"
    if tuning.seconds is not None:
        return words + f", {tuning.seconds:.3f} s"
    if tuning.began_s is not None and tuning.ended_s is not None:
        return (
            words
            + f", about {tuning.ended_s - tuning.began_s:.0f} s by the time stamps, which are whole seconds"
        )
    return words + ", time not told"


def _choice_lines(choice: LayerChoice) -> Iterator[Line]:
    if choice.chosen is not None:
        yield Line(_contender_words(choice.chosen), label="chosen")
    elif choice.tuning is not None:
        yield Line("the log does not tell", label="chosen")
    fastest = choice.fastest
    if fastest is not None and choice.chosen is not None:
        is_it = (fastest.runner, fastest.id) == (choice.chosen.runner, choice.chosen.id)
        yield Line("the chosen one" if is_it else _contender_words(fastest), label="fastest")
    if choice.second is not None:
        margin = choice.margin_pct
        words = _contender_words(choice.second) + (f" · {margin:+.2f} %" if margin is not None else "")
        yield Line(words, label="second best")
    elif choice.chosen is not None:
        yield Line("nothing else was timed in these formats", "muted", label="second best")
    if choice.is_near_tie:
        yield Line(f"the margin is below {NEAR_TIE_PCT:g} %: which one won is chance", label="near tie")
    if choice.combination is not None:
        sure = " (or another that agrees with the engine)" if choice.is_ambiguous else ""
        yield Line(choice.combination.text + sure, label="formats")
    if choice.agrees is False:
        yield Line("The engine's tactic is not the one that the log chose: is it the log of this engine?")
    yield from _precision_lines(choice)


def _precision_lines(choice: LayerChoice) -> Iterator[Line]:
    """What other types of input would have cost."""
    for one in choice.precisions:
        if one.precision == choice.precision:
            continue
        words = in_ms(one.time_ms)
        if choice.chosen is not None and choice.chosen.time_ms > 0:
            words += f", {100 * (one.time_ms / choice.chosen.time_ms - 1):+.1f} %"
        yield Line(words + ", without reformats it may need", label=f"in {one.precision.value}")


def _fate_lines(engine: Engine, facts: BuildFacts, tuned: TunedLayer) -> Iterator[Line]:
    strategy, winner = tuned.tuning.strategy, facts.trace.winner
    if strategy is not None and len(facts.trace.strategies) > 1:
        kept = "which the engine was made with" if strategy == winner else "which was not kept"
        yield Line(f"{strategy}, {kept}", label="strategy")
    if not tuned.layers:
        if strategy in (winner, None):
            yield Line("no layer of this engine came of it, as far as names tell", "muted", label="engine")
        return
    for index in tuned.layers[:MOST_ROWS]:
        layer = engine.layers[index]
        time = f"{format_ms(layer.latency_ms)} ms" if layer.latency_ms is not None else "time unknown"
        yield Line(f"layer {index} · {time} · {layer.name}", label="engine")
    if len(tuned.layers) > MOST_ROWS:
        yield Line(f"and {len(tuned.layers) - MOST_ROWS} more", "muted")


def tactics_lines(facts: BuildFacts, tuned: TunedLayer, row: TacticRow | None) -> Iterator[Line]:
    """Below the histogram: the tactic under the cursor, the formats, and what was skipped."""
    if row is not None:
        yield from _row_lines(tuned, row)
    built = {id(facts.choices[index].combination) for index in tuned.layers}
    combinations = tuned.tuning.combinations
    yield Line(plural(len(combinations), "format combination"), "section")
    for number, one in enumerate(combinations[:MOST_ROWS], start=1):
        yield Line(_formats_words(one, in_engine=id(one) in built), label=str(number), indent=2)
    if len(combinations) > MOST_ROWS:
        yield Line(f"and {len(combinations) - MOST_ROWS} more", "muted", indent=2)
    yield from skipped_lines(tuned.tuning.skipped)


def _row_lines(tuned: TunedLayer, row: TacticRow) -> Iterator[Line]:
    yield Line("Under the cursor", "section")
    yield Line(row.name or "the log gives no name", label="kernel", indent=2)
    number = hex_id(row.id) if row.id is not None else ""
    yield Line(" · ".join(part for part in (row.runner, number) if part), label="runner", indent=2)
    if row.operator:
        yield Line(row.operator, label="operator", indent=2)
    formats = tuned.tuning.combinations[row.formats - 1].text
    yield Line(f"{row.formats}: {formats}", label="formats", indent=2)
    if row.skipped is not None:
        yield Line(row.skipped.message, label="skipped", indent=2)
    else:
        yield Line(in_ms(row.time_ms) + (f", {CACHED}" if row.is_cached else ""), label="time", indent=2)
    yield Line(f"line {row.line} and below", "muted", label="in the log", indent=2)


def _formats_words(one: FormatCombination, *, in_engine: bool) -> str:
    words = [one.text]
    if one.chosen_runner is not None:
        words.append(f"{in_ms(one.chosen_ms)} {one.chosen_runner}")
    else:
        words.append("no valid tactic" if one.runners else "nothing was tried")
    words.append(CACHED if one.is_cached else plural(one.tactic_count, "tactic"))
    idle = [trial.runner for trial in one.runners if not len(trial.tactics)]
    if idle:
        words.append(f"{', '.join(f'{runner}: {_outcome(one, runner)}' for runner in dict.fromkeys(idle))}")
    return " · ".join(words) + (" · in the engine" if in_engine else "")


def _outcome(one: FormatCombination, runner: str) -> str:
    return next(trial.outcome.value for trial in one.runners if trial.runner == runner)


_REASONS = {
    SkipReason.WORKSPACE: "more scratch memory than the workspace allows",
    SkipReason.DEVICE_MEMORY: "too little memory free on the device",
    SkipReason.OTHER: "another reason",
}


def skipped_lines(skipped: Sequence[SkippedTactic]) -> Iterator[Line]:
    """Tactics that were not timed, counted by reason."""
    if not skipped:
        return
    yield Line(f"{plural(len(skipped), 'tactic')} skipped", "section")
    for reason, count in Counter(one.reason for one in skipped).most_common():
        same = [one for one in skipped if one.reason is reason]
        most = max((one.requested_bytes for one in same if one.requested_bytes is not None), default=None)
        given = next((one.available_bytes for one in same if one.available_bytes is not None), None)
        words = f"{count}: {_REASONS[reason]}"
        words += f", up to {format_bytes(most)} asked for" if most is not None else ""
        words += f", {format_bytes(given)} available" if given is not None else ""
        yield Line(words, indent=2)
        yield Line(f"line {same[0].line}: {same[0].message}", "muted", indent=4)


def layer_build_lines(facts: BuildFacts | None, index: int) -> list[Line]:
    """What the log says of a layer of the engine, for its details; empty until the log has been read."""
    if facts is None or index >= len(facts.choices):
        return []
    choice, tuned = facts.choices[index], facts.by_layer.get(index)
    lines: list[Line] = []
    if tuned is not None:
        lines.append(Line(_tried_words(tuned.tuning)))
        if tuned.tuning.name != choice.name:
            lines.append(Line(tuned.tuning.name, label="tuned as part of"))
        lines += _choice_lines(choice)
    if choice.reformat is not None:
        lines.append(Line(reformat_words(choice.reformat), label="inserted for"))
    if not lines:
        lines.append(Line("the log tells of no tuning of this layer", "muted"))
    return [Line(one.text, one.style, one.label, 2, one.target) for one in lines]
