"""Names and values of layers for the clipboard: the terminal takes them over OSC 52, and does not tell whether it did."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from textual.screen import Screen

from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.render_json import row_objects
from trex_tui.report.views.layers import layers_table
from trex_tui.text import plural, printable, shorten_middle

MOST_BYTES = 74_994
"""As much as several terminals take at once: 100 000 bytes of escape sequence, base64 in it."""
_MOST_NAME = 60


def copy_names(screen: Screen[Any], layers: Sequence[Layer]) -> None:
    """Copy the names of layers."""
    text = "\n".join(layer.name for layer in layers)
    _copy(screen, text, layers, plural(len(layers), "name"), "name of ")


def copy_json(screen: Screen[Any], engine: Engine, layers: Sequence[Layer]) -> None:
    """Copy layers as `layers --format json` prints them; one of them alone without a list."""
    rows = row_objects(layers_table(engine, layers, ALL_COLUMNS))
    text = json.dumps(rows[0] if len(layers) == 1 else rows, indent=2)
    _copy(screen, text, layers, f"{plural(len(layers), 'layer')} as JSON", "JSON of ")


def _copy(screen: Screen[Any], text: str, layers: Sequence[Layer], many: str, one: str) -> None:
    if not layers:
        screen.notify("No layer is selected: nothing to copy.", severity="warning", markup=False)
        return
    # A lone surrogate, from a file that is not UTF-8, cannot be sent.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    screen.app.copy_to_clipboard(text)
    name = shorten_middle(printable(layers[0].name), _MOST_NAME)
    screen.notify(describe_copy(one + name if len(layers) == 1 else many, text, os.environ), markup=False)


def describe_copy(what: str, text: str, environ: Mapping[str, str]) -> str:
    """Say what was copied, and what may keep it from arriving.

    Args:
        what: `name of /conv1`, `3 layers as JSON`.
        text: What was copied.
        environ: The environment, which tells of tmux and screen.
    """
    sentences = [f"Copied the {what}."]
    if environ.get("TMUX"):
        sentences.append("tmux passes it on to the clipboard with: set -g set-clipboard on")
    elif environ.get("STY"):
        sentences.append("GNU screen does not pass it on to the clipboard.")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        sentences.append(f"{size // 1000} kB are more than many terminals take; e exports to a file.")
    return " ".join(sentences)
