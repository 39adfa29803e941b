"""PREC004: what the builder itself says about precision that it changed or lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import issue
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.trtexec_runs import TERSE, build_log
from trex_tui.text import plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.buildlog import BuildTrace

_AFFECTED = re.compile(
    r"(?P<count>\d{1,9}) weights? (?:is|are) affected by this issue: Detected (?P<what>[^\n]{1,120}?)\.?\s*(?:\n|$)"
)
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class _Note:
    """A warning to look for.

    Attributes:
        pattern: In the text of the warning.
        sentence: What to say.
    """

    pattern: re.Pattern[str]
    sentence: str
    remedy: str


_NOTES = (
    _Note(
        re.compile(r"Attempting to cast down to INT32"),
        "INT64 weights of the model are cast to INT32: harmless unless an index or a constant exceeds 2³¹.",
        "Nothing where indices are small; else export with INT32, or use TensorRT 10 or later, which has INT64.",
    ),
    _Note(
        re.compile(r"Weakly-typed networks have been deprecated"),
        "The network is weakly typed: the builder chooses the precision of each layer by time alone, and TensorRT 11 no "
        "longer builds such networks.",
        "Export a strongly typed model (AutoCast of the Model Optimizer does), and build with --stronglyTyped.",
    ),
)


def _builder_notes(context: Context) -> Iterator[Finding | NotChecked]:
    trace = build_log(context, "PREC004")
    if isinstance(trace, NotChecked):
        yield trace
        return
    yield from _non_conforming(context, trace)
    yield from _affected_weights(trace)
    for note in _NOTES:
        found = [one for one in trace.messages if one.severity == "W" and note.pattern.search(one.text)]
        if found:
            yield Finding(
                "PREC004",
                note.sentence,
                confidence=Confidence.HIGH,
                evidence=(
                    Evidence("warning", shorten_middle(printable(found[0].text), _LONGEST)),
                    Evidence("times", sum(one.count for one in found)),
                    Evidence("log_line", found[0].line),
                ),
                remedy=note.remedy,
            )
    if not trace.is_verbose:
        yield NotChecked("PREC004", TERSE)


def _non_conforming(context: Context, trace: BuildTrace) -> Iterator[Finding]:
    for name in trace.non_conforming:
        layers = context.layers_by_tuning.get(name, ())
        yield Finding(
            "PREC004",
            f"'{shorten_middle(printable(name), 60)}' runs an implementation of another precision than was requested.",
            layers,
            confidence=Confidence.HIGH,
            evidence=(
                Evidence("name", name),
                Evidence("precision", context.layers[layers[0]].precision if layers else None),
            ),
            remedy="--precisionConstraints=obey makes the build fail instead, =prefer keeps it quiet; if accuracy is "
            "fine, so is the layer.",
        )


def _affected_weights(trace: BuildTrace) -> Iterator[Finding]:
    for message in trace.messages:
        for match in _AFFECTED.finditer(message.text) if message.severity == "W" else ():
            count, what = int(match["count"]), printable(match["what"])
            yield Finding(
                "PREC004",
                f"{plural(count, 'weight tensor')} lost values on the way to a narrower type: {what}.",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                evidence=(
                    Evidence("weights", count),
                    Evidence("detected", what),
                    Evidence("log_line", message.line),
                ),
                remedy="Compare the accuracy with FP32. If it suffers: the verbose log names the weights; clip or scale "
                "them, or keep their layers in FP32.",
            )


RULES: tuple[Rule, ...] = (
    Rule(
        id="PREC004",
        title="The builder changed or lost precision",
        severity=Severity.INFO,
        looks_for="Notes of the builder: a non-conforming implementation, weights that become subnormal, overflow or are NaN "
        "in a narrower type (warning), INT64 cast down, weak typing.",
        why="Such an engine may be less accurate than what was asked for, and only the log says so.",
        remedy="Clip or scale the weights, keep the layer in FP32, or export a strongly typed model.",
        references=(issue(1310),),
        columns=(),
        check=_builder_notes,
    ),
)
