"""Write the parts of docs/ that are made from the program: options, keys, the glossary, the Python API.

    python scripts/make_docs.py           write them
    python scripts/make_docs.py --check   exit 1 where one is not what the program says

A made part stands between `<!-- made: NAME -->` and `<!-- /made -->`; all around it is written by hand.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from lint_rules_page import rules_markdown
from python_api import api_markdown
from trex_columns import BY_TYPE, FRAME, columns_table
from trex_tui.analysis.gates import GateMetrics as Metrics
from trex_tui.compare.gates import METRICS
from trex_tui.old.accuracy.metrics import GATE_METRICS
from trex_tui.old.analysis.gates import GateMetrics
from trex_tui.old.cli.command_parser import GLOBAL_OPTIONS
from trex_tui.old.cli.parser import build_parser
from trex_tui.old.lint.config import COUNTS
from trex_tui.old.report.glossary.explanation import words_markdown
from trex_tui.old.widgets.actions import TABS, Place, keys_table

DOCS = Path(__file__).resolve().parent.parent / "docs"
_GATES: dict[str, GateMetrics | Metrics] = {
    "diff": METRICS,
    "lint": COUNTS,
    "accuracy": GATE_METRICS,
}
_MADE = re.compile(r"(<!-- made: (?P<name>[\w ,.-]+) -->\n)(?P<body>.*?)(<!-- /made -->)", re.DOTALL)


def made_parts(text: str) -> Iterator[tuple[str, str]]:
    """Name and body of each made part of a document."""
    for found in _MADE.finditer(text):
        yield found["name"], found["body"]


def renewed(text: str) -> str:
    """The document with its made parts as the program is now.

    Raises:
        KeyError: There is no part of such a name.
    """
    return _MADE.sub(lambda found: f"{found[1]}{_part(found['name'])}{found[4]}", text)


def _part(name: str) -> str:
    kind, _, which = name.partition(" ")
    if kind == "keys":
        return _keys(Place(which))
    if kind == "command":
        return _options_table(own_actions(commands()[which]))
    if kind == "globals":
        return _options_table(global_actions(build_parser()))
    if kind == "words":
        return f"\n{words_markdown()}\n"
    if kind == "gates":
        return _gates(_GATES[which])
    if kind == "lint-rules":
        return rules_markdown()
    if kind == "python-api":
        return api_markdown()
    if kind == "trex-columns":
        return columns_table(FRAME if which == "plan.df" else BY_TYPE)
    raise KeyError(name)


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command, by its name."""
    (choices,) = (
        action.choices for action in build_parser()._actions if action.choices and action.dest == "command"
    )
    return dict(choices)  # type: ignore[arg-type]


def tabs() -> list[str]:
    """The titles of the explorer's screens."""
    return [tab.title for tab in TABS]


def _keys(place: Place) -> str:
    rows = [(keys, sentence) for where, keys, sentence in keys_table() if where == place.value]
    lines = ["", "| keys | |", "|---|---|"]
    lines += [
        f"| {' '.join(f'`{key}`' for key in keys.split(' '))} | {sentence} |" for keys, sentence in rows
    ]
    return "\n".join([*lines, "", ""])


def _gates(metrics: GateMetrics | Metrics) -> str:
    lines = ["", "| metric | part or word |", "|---|---|"]
    rows: dict[str, list[str]] = {}
    for name in metrics.names:
        detail = ", ".join(
            f"`{part}`" for part in (*metrics.parts.get(name, ()), *metrics.words.get(name, ()))
        )
        if noun := metrics.part_nouns.get(name):
            detail = f"{noun}: {detail}" if detail else noun
        rows.setdefault(detail, []).append(name)
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {detail} |" for detail, names in rows.items()]
    return "\n".join([*lines, "", ""])


def global_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options of every command."""
    titles = (GLOBAL_OPTIONS, "engine options")
    return [
        action for group in parser._action_groups if group.title in titles for action in group._group_actions
    ]


def own_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Arguments and options of a command alone."""
    known = global_actions(parser)
    return [action for action in parser._actions if action not in known]


def _options_table(actions: list[argparse.Action]) -> str:
    """A table of options. The parser's own help text is laid out differently by each Python."""
    lines = ["", "| argument | |", "|---|---|"]
    for action in actions:
        if isinstance(action, argparse._HelpAction) or action.help == argparse.SUPPRESS:
            continue
        lines.append(f"| {_spelled(action)} | {_cell(sentence_of(action))} |")
    return "\n".join([*lines, "", ""])


def _spelled(action: argparse.Action) -> str:
    value = value_of(action)
    if not action.option_strings:
        return f"`{value}`"
    return " ".join(f"`{option} {value}`" if value else f"`{option}`" for option in action.option_strings)


def value_of(action: argparse.Action) -> str:
    """The value of an option, or an argument, as a usage has it."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    choices = ",".join(map(str, action.choices or ()))
    one = f"{{{choices}}}" if choices else str(action.metavar or action.dest.upper())
    shapes = {"?": f"[{one}]", "*": f"[{one} …]", "+": f"{one} …", argparse.REMAINDER: "…"}
    return shapes.get(action.nargs, one) if isinstance(action.nargs, str) else one


def sentence_of(action: argparse.Action) -> str:
    """The help of an argument."""
    said = (action.help or "").replace("%%", "%")
    return re.sub(r"%\((\w+)\)s", lambda found: str(getattr(action, found[1], "")), said)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "\\<")


def main() -> int:
    """Write, or check."""
    stale = []
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if (new := renewed(text)) != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(new, encoding="utf-8")
    print("\n".join(stale) or "all is as the program says")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
