"""Actions on layers: copy names and values to the clipboard, go to a producer or consumer, and go back.

The terminal takes the clipboard over OSC 52, and gives no answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from textual.screen import Screen

from trex_tui.old.analysis.columns import ALL_COLUMNS
from trex_tui.old.analysis.dataflow import Neighbour, list_consumers, list_producers
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.render_json import row_objects
from trex_tui.old.report.views.layer_table import layers_table
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.text import format_ms, plural, printable, shorten_middle

MOST_BYTES = 74_994
"""Size that several terminals accept: an escape sequence of 100 000 bytes with base64."""
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


def _copy(screen: Screen[Any], text: str, layers: Sequence[Layer], many: str, prefix: str) -> None:
    if not layers:
        screen.notify("No layer selected.", severity="warning", markup=False)
        return
    name = shorten_middle(printable(layers[0].name), _MOST_NAME)
    copy_text(screen, text, prefix + name if len(layers) == 1 else many)


def copy_text(screen: Screen[Any], text: str, what: str) -> None:
    """Copy a text, and show a toast."""
    # A lone surrogate, from a file that is not UTF-8, cannot be sent.
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    screen.app.copy_to_clipboard(text)
    screen.notify(describe_copy(what, text, os.environ), markup=False)


def describe_copy(what: str, text: str, environ: Mapping[str, str]) -> str:
    """Return the toast about the copied text, with conditions that may prevent the copy.

    Args:
        what: `name of /conv1`, `3 layers as JSON`.
        text: The copied text.
        environ: The environment, which shows tmux and screen.
    """
    sentences = [f"Copied the {what}."]
    if environ.get("TMUX"):
        sentences.append("For the clipboard in tmux: set -g set-clipboard on")
    elif environ.get("STY"):
        sentences.append("GNU screen does not support the clipboard.")
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MOST_BYTES:
        sentences.append(f"{size // 1000} kB exceed the limit of many terminals; e exports to a file.")
    return " ".join(sentences)


def choose_neighbour(
    screen: Screen[Any], engine: Engine, layer: Layer, go: Callable[[Layer], None], *, outgoing: bool
) -> None:
    """Go to the only consumer or producer of a layer, or offer all of them."""
    neighbours = (list_consumers if outgoing else list_producers)(engine, layer)
    if not neighbours:
        screen.notify(_why_none(engine, layer, outgoing=outgoing), markup=False)
    elif len(neighbours) == 1:
        go(neighbours[0].layer)
    else:
        room = max(16, int(screen.app.size.width * 0.96) - 8 - 36)
        options = {str(neighbour.layer.index): _option(neighbour, room) for neighbour in neighbours}
        title = f"{'Consumers' if outgoing else 'Producers'} of layer {layer.index}"
        screen.app.push_screen(
            ChooseScreen(title, options), lambda key: go(engine.layers[int(key)]) if key is not None else None
        )


def _why_none(engine: Engine, layer: Layer, *, outgoing: bool) -> str:
    if not engine.has_graph or layer.layer_type is None:
        return "Connections unknown (names only)."
    if outgoing:
        return "No consumers."
    return "No producers (network input or constant)."


def _option(neighbour: Neighbour, room: int) -> str:
    """Format a neighbour for the window: number, time, kind, name, and the tensor between."""
    layer = neighbour.layer
    name = shorten_middle(printable(layer.name), room * 2 // 3)
    tensor = shorten_middle(printable(", ".join(neighbour.tensors)), room - len(name))
    loop = "◉ " if neighbour.is_loop else ""
    time = f"{format_ms(layer.latency_ms)} ms"
    return f"{layer.index:>5} {time:>12} {layer.kind.value:<11} {loop}{name}  {tensor}"
