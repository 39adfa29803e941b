"""The line that always says which engine this is, what ran it, how fast, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.widget import Widget

from trex_tui.analysis.conditions import ConditionKind, doubts
from trex_tui.analysis.latency import end_to_end
from trex_tui.engine.engine import Engine
from trex_tui.errors import Severity
from trex_tui.text import format_bytes, format_ms, plural, printable, shorten_middle

SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class Fact:
    """A part of the header.

    Attributes:
        text: Safe for a terminal.
        priority: The largest number goes first where there is no room.
        style: A theme token.
        right: Whether it stands at the right end.
    """

    text: str
    priority: int
    style: str = ""
    right: bool = False


def header_facts(engine: Engine) -> list[Fact]:
    """What the header says of an engine, in order."""
    facts = [Fact(shorten_middle(printable(engine.name), 40), 0, "bold $accent")]
    if engine.device_name:
        facts.append(Fact(printable(engine.device_name).removeprefix("NVIDIA "), 3))
    if engine.tensorrt_version:
        facts.append(Fact(f"TensorRT {printable(engine.tensorrt_version)}", 4))
    if engine.precision:
        facts.append(Fact(engine.precision.value, 2))
    facts += [Fact(text, 5, "bold $warning") for text in missing_parts(engine)]
    if any(one.kind is ConditionKind.THROTTLED for one in doubts(engine)):
        facts.append(Fact("throttled", 2, "bold $warning"))
    latency = end_to_end(engine)
    if latency is not None:
        facts.append(Fact(f"{format_ms(latency.summary.median_ms)} ms", 1, "bold", right=True))
        if latency.throughput_qps is not None:
            facts.append(Fact(f"{latency.throughput_qps:.0f} qps", 6, right=True))
    elif engine.latency_sum_ms is not None:
        facts.append(Fact(f"{format_ms(engine.latency_sum_ms)} ms in layers", 6, right=True))
    facts.append(Fact(plural(len(engine.layers), "layer"), 7, right=True))
    if engine.weights_bytes is not None:
        facts.append(Fact(format_bytes(engine.weights_bytes), 8, right=True))
    if engine.diagnostics:
        worst = min(engine.diagnostics, key=lambda one: list(Severity).index(one.severity)).severity
        style = {Severity.ERROR: "bold $error", Severity.WARNING: "$warning", Severity.INFO: "$muted"}[worst]
        facts.append(Fact(f"! {plural(len(engine.diagnostics), 'note')}", 2, style, right=True))
    return facts


def missing_parts(engine: Engine) -> list[str]:
    """What a complete set would have and this one has not, in a word or two each."""
    parts = []
    if not engine.has_graph:
        parts.append("bad layer info" if engine.graph_unread else "no layer info")
    elif engine.names_only:
        parts.append("names only")
    if not engine.has_profile:
        parts.append("bad profile" if engine.profile_unread else "no profile")
    return parts


def fit_facts(facts: list[Fact], width: int) -> list[Fact]:
    """The facts that fit into `width` cells, the most important first; the first of all is always there."""
    kept: dict[int, Fact] = {}
    for place, fact in sorted(enumerate(facts), key=lambda one: one[1].priority):
        if not kept or _needed([*kept.values(), fact]) <= width:
            kept[place] = fact
    return [kept[place] for place in sorted(kept)]


def _needed(facts: list[Fact]) -> int:
    return sum(cell_len(fact.text) + len(SEPARATOR) for fact in facts) + 2


class EngineHeader(Widget):
    """One line; facts that do not fit are left out, the name and the latency last."""

    DEFAULT_CSS = """
    EngineHeader {
        height: 1;
        background: $panel;
        color: $foreground;
        padding: 0 1;
    }
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(id="header")
        self._facts = header_facts(engine)

    def render(self) -> RenderResult:
        """The facts: identity at the left, figures at the right."""
        width = self.content_size.width
        facts = fit_facts(self._facts, width)
        left = _joined([fact for fact in facts if not fact.right])
        right = _joined([fact for fact in facts if fact.right])
        gap = max(1, width - left.cell_length - right.cell_length)
        return Content.assemble(left, " " * gap, right).truncate(width, ellipsis=True)


def _joined(facts: list[Fact]) -> Content:
    separator = Content.styled(SEPARATOR, "$muted")
    return separator.join([Content.styled(fact.text, fact.style) for fact in facts])
