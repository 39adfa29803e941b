"""What every form of the report is made from, and the words that the forms share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import Diagnostic
from trex_tui.lint.config import LintConfig
from trex_tui.lint.model import NotChecked, Severity
from trex_tui.lint.result import Judged, LintResult
from trex_tui.text import format_ms, format_pct, plural, printable, shorten_middle


@dataclass(frozen=True, slots=True)
class EngineReport:
    """An engine, and what lint says about it."""

    engine: Engine
    result: LintResult

    def layers_of(self, judged: Judged) -> list[Layer]:
        """Layers of a finding."""
        return [self.engine.layers[index] for index in judged.layers]

    def pct(self, ms: float | None) -> float | None:
        """A time in percent of the sum over layers."""
        total = self.engine.latency_sum_ms
        return None if ms is None or not total else 100.0 * ms / total


@dataclass(frozen=True, slots=True)
class LintReport:
    """What `trex-tui lint` tells.

    Attributes:
        engines: In the order they were found.
        config: What was asked for.
        diagnostics: Those of files that belong to no engine, and of rules that could not be had.
    """

    engines: tuple[EngineReport, ...]
    config: LintConfig
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether a finding is as severe as the command is to fail on."""
        return any(one.result.fails(self.config.fail_on) for one in self.engines)

    @property
    def broken_rules(self) -> tuple[str, ...]:
        """Ids of the rules that broke for any engine."""
        return tuple(sorted({name for one in self.engines for name in one.result.failed}))


def fingerprint(report: EngineReport, judged: Judged) -> str:
    """The same for the same finding of a later run: a hash of engine, rule, and names and places of the layers among
    those of the same name. 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in (report.engine.name, judged.rule.id):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    for layer in report.layers_of(judged):
        digest.update(f"{layer.name}\0{layer.occurrence}\0".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def count_words(result: LintResult) -> str:
    """`1 error, 2 warnings, 3 infos`, without those there are none of; `no findings`; `no rule ran`."""
    if not result.rules:
        return "no rule ran"
    parts = [
        plural(result.counts[severity], severity.value)
        for severity in Severity
        if severity is not Severity.GOOD and result.counts[severity]
    ]
    return ", ".join(parts) or "no findings"


def total_words(report: EngineReport) -> str:
    """What all findings could win together."""
    stakes = report.result.stakes
    if stakes.total_ms is None:
        return "milliseconds at stake unknown" if report.result.findings else ""
    words = f"{format_ms(stakes.total_ms)} ms at stake"
    share = report.pct(stakes.layers_ms)
    if share is not None:
        words += f" ({format_pct(share)} % of the layers' time)"
    if stakes.end_to_end_ms is not None:
        words += f", {format_ms(stakes.end_to_end_ms)} ms end to end"
    return words


def stake_words(report: EngineReport, judged: Judged) -> str:
    """Time of the layers and the part of it that could be won; `unknown` without a profile."""
    if judged.stake_ms is None:
        if judged.layer_ms is None:
            return "stake unknown" if judged.layers else "no stake"
        return f"stake unknown, layers take {_time(report, judged.layer_ms)}"
    words = f"stake {_time(report, judged.stake_ms)}"
    if judged.layer_ms is not None and judged.layer_ms > judged.stake_ms:
        words += f" of {format_ms(judged.layer_ms)} ms"
    return words


def _time(report: EngineReport, ms: float) -> str:
    share = report.pct(ms)
    return f"{format_ms(ms)} ms" + (f" ({format_pct(share)} %)" if share is not None else "")


def not_checked_words(result: LintResult) -> list[tuple[str, str]]:
    """Ids of rules and why they could not look, rules with the same reason together."""
    by_reason: dict[str, list[NotChecked]] = {}
    for one in result.not_checked:
        by_reason.setdefault(one.reason, []).append(one)
    words = []
    for reason, several in by_reason.items():
        names = [
            one.rule + (f" ({plural(one.layers, 'layer')})" if one.layers is not None else "")
            for one in several
        ]
        words.append((", ".join(names), printable(reason)))
    return words


def left_out_words(result: LintResult) -> str:
    """How many findings are not shown; empty if all are."""
    return f"{plural(result.milder, 'milder finding')} not shown" if result.milder else ""


def names_words(layers: Sequence[Layer], most: int, width: int = 0) -> list[str]:
    """Index and name of the first layers, harmless, and how many more there are.

    Args:
        width: Longer names lose their middle; 0 for no limit.
    """
    names = [printable(layer.name) for layer in layers[:most]]
    words = [
        f"{layer.index} {shorten_middle(name, width) if width else name}"
        for layer, name in zip(layers, names, strict=False)
    ]
    return words + ([f"and {len(layers) - most} more"] if len(layers) > most else [])
