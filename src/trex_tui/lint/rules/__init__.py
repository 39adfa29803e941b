"""All rules: the built-in ones, a file per family, and those of other packages.

A package provides rules by an entry point of the group `trex_tui.lint_rules`, which names a `Rule`, an iterable of them, or a
module that has some as `RULES`::

    [project.entry-points."trex_tui.lint_rules"]
    ours = "our_package.rules"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from trex_tui.errors import Note, Severity, TrexError
from trex_tui.lint.rule import Rule
from trex_tui.lint.rules import (
    attention,
    build,
    convolution,
    dla,
    formats,
    fusion,
    gemm,
    launch,
    measure,
    plugin,
    precision,
    quantization,
    requests,
    roof,
)
from trex_tui.text import did_you_mean, printable

GROUP = "trex_tui.lint_rules"
ID = re.compile(r"[A-Z]{2,}[0-9]{3}|[A-Z]{2,}-[A-Z]{2,}")
"""Form of ids: `CONV001`, `OK-TC`."""
RULES = (
    *attention.RULES,
    *build.RULES,
    *convolution.RULES,
    *dla.RULES,
    *formats.RULES,
    *fusion.RULES,
    *gemm.RULES,
    *launch.RULES,
    *measure.RULES,
    *plugin.RULES,
    *precision.RULES,
    *quantization.RULES,
    *requests.RULES,
    *roof.RULES,
)
FAMILIES = {
    "ATTN": "Attention that TensorRT split into separate layers.",
    "BUILD": "Build settings, and the tactics that were tried and chosen.",
    "CONV": "Convolutions, GEMMs and attention that do not run on tensor cores.",
    "DLA": "Layers that left the accelerator, and the transitions to and from it.",
    "FMT": "Reformats, transposes and casts: time without work on the network.",
    "FUSE": "Work that TensorRT could have fused into a neighbour's kernel.",
    "GEMM": "Matrix products with shapes that do not suit tiles, or bound by weights.",
    "HOT": "Layers that dominate the time.",
    "LAUNCH": "Time spent on starting work.",
    "MEASURE": "Quality of the measurements.",
    "OK": "Strengths.",
    "PLUG": "Copies and pointwise layers that plugins cause.",
    "PREC": "Layers and engines in wider types than needed, or with precision lost in the build.",
    "QDQ": "Quantization that needs separate kernels, or is undone directly after its layer.",
    "REQ": "Precisions, types and devices that were requested for layers, against those that run.",
    "ROOF": "Layers far below the limits of the device or of this engine.",
}
"""Subjects of the families of rules."""


class RuleSet(NamedTuple):
    """Rules by id, and notes about those of other packages that could not be loaded."""

    by_id: Mapping[str, Rule]
    notes: tuple[Note, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(self.by_id.values())

    def find(self, rule_id: str) -> Rule:
        """Return the rule of an id, ignoring case.

        Raises:
            TrexError: The rule does not exist; the message has the most similar ids.
        """
        wanted = rule_id.strip().upper()
        if wanted not in self.by_id:
            raise TrexError(_unknown(f"no rule {rule_id!r}", wanted, list(self.by_id)))
        return self.by_id[wanted]

    def check_name(self, name: str) -> str:
        """Return the canonical form of an id or a family, ignoring case.

        Raises:
            TrexError: It is neither.
        """
        wanted = name.strip().upper().rstrip("-")
        known = [*self.by_id, *dict.fromkeys(rule.family for rule in self.rules)]
        if wanted not in known:
            raise TrexError(_unknown(f"no rule or family {name!r}", wanted, known))
        return wanted


def _unknown(complaint: str, wanted: str, known: Sequence[str]) -> str:
    return f"{printable(complaint)}; {similar(wanted, known) or '`trex-tui lint --rules` lists them'}"


def similar(wanted: str, known: Sequence[str]) -> str:
    """Return `did you mean A or B?`; empty if nothing is similar."""
    return did_you_mean(wanted, known, 3, 0.5)


@lru_cache(maxsize=1)
def load_rules() -> RuleSet:
    """Return the rules of this installation."""
    return collect(RULES, entry_points(group=GROUP))


def collect(rules: Iterable[Rule], plugins: Iterable[EntryPoint] = ()) -> RuleSet:
    """Return rules by id, with those of plug-ins. A plug-in that fails, or has an id already in use, is a note."""
    by_id = {rule.id: rule for rule in rules}
    notes: list[Note] = []
    for entry in sorted(plugins, key=lambda entry: (entry.name, entry.value)):
        where = f"lint rules {entry.name!r} ({entry.value})"
        try:
            offered = _list_rules(entry.load())
        except Exception as error:  # noqa: BLE001 - a foreign module: whatever it raises costs its rules
            message = f"cannot be loaded: {type(error).__name__}: {' '.join(str(error).split())}"
            notes.append(Note(Severity.WARNING, None, where, message))
            continue
        for rule in offered:
            if problem := _find_problem(rule, by_id):
                notes.append(Note(Severity.WARNING, None, where, f"{problem}; skipped"))
            else:
                by_id[rule.id] = rule
    return RuleSet(dict(sorted(by_id.items())), tuple(notes))


def _list_rules(source: Any) -> list[Any]:  # noqa: ANN401 - whatever an entry point names
    return [source] if isinstance(source, Rule) else list(getattr(source, "RULES", source))


def _find_problem(rule: Any, known: Mapping[str, Rule]) -> str:  # noqa: ANN401 - whatever a plug-in offers
    if not isinstance(rule, Rule):
        return f"{type(rule).__name__} is not a Rule"
    if not ID.fullmatch(rule.id):
        return f"{rule.id!r} is not an id such as CONV001 or OK-TC"
    return f"duplicate id {rule.id}" if rule.id in known else ""
