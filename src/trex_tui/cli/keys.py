"""`trex-tui keys`: the table of keys, for a terminal, a README and a script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from trex_tui.cli.output import print_json
from trex_tui.errors import ExitCode
from trex_tui.widgets.actions import ACTIONS, Place, key_label, keys_table

if TYPE_CHECKING:
    import argparse

KEYS_SCHEMA = "trex-tui/keys/1"


def keys_text() -> str:
    """Keys and sentences under a heading per place."""
    rows = keys_table()
    width = max(len(keys) for _, keys, _ in rows)
    lines: list[str] = []
    heading = ""
    for place, keys, sentence in rows:
        if place != heading:
            lines += ["", place] if lines else [place]
            heading = place
        lines.append(f"  {keys:<{width}}  {sentence}")
    return "\n".join(lines) + "\n"


def keys_markdown() -> str:
    """A table per place; keys as code."""
    lines = ["| where | keys | |", "|---|---|---|"]
    heading = ""
    for place, keys, sentence in keys_table():
        marked = " ".join(f"`{key}`" for key in keys.split(" "))
        lines.append(f"| {place if place != heading else ''} | {marked} | {sentence} |")
        heading = place
    return "\n".join(lines) + "\n"


def keys_document() -> dict[str, Any]:
    """The object that `keys --format json` prints; `id` is stable."""
    return {
        "schema": KEYS_SCHEMA,
        "keys": [
            {
                "id": action.id,
                "place": place.value,
                "keys": key_label(action.keys).split(" "),
                "title": action.title,
                "help": action.help,
            }
            for place in Place
            for action in ACTIONS
            if action.place is place
        ],
    }


def run_keys(options: argparse.Namespace) -> int:
    """Print the keys."""
    if options.format == "json":
        print_json(keys_document())
    else:
        sys.stdout.write(keys_markdown() if options.format == "md" else keys_text())
    return int(ExitCode.OK)
