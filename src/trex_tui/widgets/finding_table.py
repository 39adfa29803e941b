"""The list of findings, as columns of the table."""

from __future__ import annotations

from trex_tui.colours import severity_style
from trex_tui.engine.engine import Engine
from trex_tui.lint.model import Severity
from trex_tui.reports.findings import Entry
from trex_tui.text import format_ms
from trex_tui.widgets.table_model import Column

STAKE = "stake_ms"


def finding_columns(engine: Engine) -> list[Column[Entry]]:
    """What tells most first; what was found and where share the rest of the line."""

    def _where(entry: Entry) -> str:
        return engine.layers[entry.layers[0]].name if entry.layers else "the engine"

    return [
        Column(
            "mark", "", lambda entry: entry.mark, width=1, style=_style, description="How much it matters."
        ),
        Column(
            "rule", "Rule", lambda entry: entry.rule, width=10, style=_style, description="Id of the rule."
        ),
        Column(
            STAKE,
            "At stake",
            lambda entry: entry.stake_ms,
            format=format_ms,
            align="right",
            width=9,
            description="stake_ms: milliseconds that could be won, by the rule's estimate.",
        ),
        Column(
            "layers",
            "Layers",
            lambda entry: len(entry.layers) or None,
            align="right",
            width=6,
            priority=1,
            description="How many layers it is about.",
        ),
        Column("title", "Finding", lambda entry: entry.title, flex=True, width=40, style=_message_style),
        Column("where", "Where", _where, flex=True, width=20, priority=2, style=lambda _: "$muted"),
        Column(
            "confidence",
            "Sure",
            lambda entry: entry.judged.confidence.value if entry.judged else None,
            width=6,
            priority=3,
            style=lambda _: "$muted",
            description="How sure the rule is of its milliseconds.",
        ),
    ]


def _style(entry: Entry) -> str:
    return severity_style(entry.severity)


def _message_style(entry: Entry) -> str:
    return "" if entry.severity in (Severity.ERROR, Severity.WARNING, Severity.INFO) else "$muted"
