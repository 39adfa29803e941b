"""What is said about a copy: the terminal takes it over OSC 52, and does not tell whether it did."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from textual import on
from textual.message import Message
from textual.reactive import reactive

from trex_tui.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
from trex_tui.analysis.dataflow import Neighbour, consumers_of, producers_of
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.export import ExportFormat
from trex_tui.report.views.layers import layers_document
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.main_screen import MainScreen
from trex_tui.screens.pane import EnginePane
from trex_tui.screens.text_screens import ExplainScreen
from trex_tui.text import format_ms, plural, printable, shorten_middle
from trex_tui.widgets.table_columns import LATENCY_COLUMNS

if TYPE_CHECKING:
    from trex_tui.app import TrexApp

MOST_BYTES = 74_994
"""As much as several terminals take at once: 100 000 bytes of escape sequence, base64 in it."""


def copied_words(what: str, text: str, environ: Mapping[str, str]) -> str:
    """What was copied, and what may keep it from arriving.

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


_MOST_NAME = 60


class EngineServices(MainScreen):
    """The part of the screen of an engine that hands something out."""

    engine: Engine
    current_layer: reactive[Layer | None] = reactive(None, repaint=False)

    @property
    def pane(self) -> EnginePane:
        """The pane on screen."""
        raise NotImplementedError

    @property
    def matching(self) -> Sequence[Layer]:
        """The layers that the filter leaves."""
        raise NotImplementedError

    @property
    def _trex_app(self) -> TrexApp:
        return cast("TrexApp", self.app)

    def _chosen_layers(self) -> tuple[Engine, list[Layer]]:
        """The marked layers; the one under the cursor where none is, or the current one; and their engine."""
        if self.pane.copied is not None:
            return self.pane.copied
        current = self.pane.cursor_layer or self.current_layer
        return self.engine, self.pane.marked_layers or ([current] if current is not None else [])

    # Copy

    def action_copy_name(self) -> None:
        """Copy the name of the current layer, or the names of the marked ones."""
        _, layers = self._chosen_layers()
        what = plural(len(layers), "name")
        self._copy("\n".join(layer.name for layer in layers), layers, what, "name of ")

    def action_copy_json(self) -> None:
        """Copy the current layer, or the marked ones, as `layers --format json` prints them."""
        engine, layers = self._chosen_layers()
        document = layers_document(engine, layers, ALL_COLUMNS)["layers"]
        text = json.dumps(document[0] if len(layers) == 1 else document, indent=2)
        self._copy(text, layers, f"{plural(len(layers), 'layer')} as JSON", "JSON of ")

    def _copy(self, text: str, layers: Sequence[Layer], many: str, one: str) -> None:
        if not layers:
            self.notify("No layer is selected: nothing to copy.", severity="warning", markup=False)
            return
        # A lone surrogate, from a file that is not UTF-8, cannot be sent.
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
        self.app.copy_to_clipboard(text)
        name = shorten_middle(printable(layers[0].name), _MOST_NAME)
        words = copied_words(one + name if len(layers) == 1 else many, text, os.environ)
        self.notify(words, markup=False)

    # Explain

    def action_explain(self) -> None:
        """Explain the current column and its value here, or ask which."""
        column = self.pane.explained_column
        if column is not None:
            self._explain(column.name)
            return
        titles = {one.name: f"{one.title}  ({one.name})" for one in ALL_COLUMNS}
        self.app.push_screen(ChooseScreen("Explain", titles, "latency_ms"), self._explain)

    def _explain(self, name: str | None) -> None:
        if name is not None:
            layer = self.pane.cursor_layer or self.current_layer
            self.app.push_screen(ExplainScreen(self.engine, ALL_COLUMNS_BY_NAME[name], layer))

    # Export

    def exported(self, form: ExportFormat) -> tuple[list[Layer], list[Column]]:
        """The layers and columns of an export: the marked layers if any are, else what is shown.

        Args:
            form: A table for people has the columns of the table of layers, data has all where no table is on screen.
        """
        shown = self.pane.shown_table
        if shown is None:
            names = self._trex_app.settings.columns or LATENCY_COLUMNS
            known = [ALL_COLUMNS_BY_NAME[name] for name in names if name in ALL_COLUMNS_BY_NAME]
            shown = list(self.matching), known if form is ExportFormat.MARKDOWN else list(ALL_COLUMNS)
        layers, columns = shown
        return self.pane.marked_layers or layers, columns

    # Reload

    def action_reload(self) -> None:
        """Read the files again."""
        self._trex_app.read_engine_again(self.engine)


LONGEST_TRAIL = 500


@dataclass
class LayerJumped(Message):
    """A person goes from one layer to another that may be anywhere; the keyboard stays where it is."""

    layer: Layer


@dataclass
class NeighboursAsked(Message):
    """A person wants to choose among all consumers of a layer, or all its producers."""

    layer: Layer
    outgoing: bool


@dataclass(slots=True)
class Trail:
    """The layers that a person came from, and those that going back has left."""

    behind: list[Layer] = field(default_factory=list)
    ahead: list[Layer] = field(default_factory=list)

    def leave(self, here: Layer | None, there: Layer) -> None:
        """Remember where a jump began. What was ahead is forgotten, as in a browser."""
        if here is not None and here is not there:
            self.behind = [*self.behind, here][-LONGEST_TRAIL:]
            self.ahead = []

    def back(self, here: Layer | None) -> Layer | None:
        """Where the last jump began; None if there is no way back."""
        return self._step(self.behind, self.ahead, here)

    def forward(self, here: Layer | None) -> Layer | None:
        """Where going back began."""
        return self._step(self.ahead, self.behind, here)

    @staticmethod
    def _step(source: list[Layer], target: list[Layer], here: Layer | None) -> Layer | None:
        if not source:
            return None
        if here is not None:
            target.append(here)
        return source.pop()


class WalkingScreen(EngineServices):
    """A screen with a current layer from which one can walk."""

    def __init__(self) -> None:
        super().__init__()
        self.trail = Trail()

    @property
    def layer_here(self) -> Layer | None:
        """The layer a walk begins at; None where the cursor is on a group."""
        raise NotImplementedError

    def stand_on(self, layer: Layer) -> None:
        """Make a layer the current one, wherever it is; the keyboard stays where it is."""
        raise NotImplementedError

    def jump(self, layer: Layer) -> None:
        """Go to a layer, and remember the way back."""
        self.trail.leave(self.layer_here, layer)
        self.stand_on(layer)

    @on(LayerJumped)
    def _layer_jumped(self, event: LayerJumped) -> None:
        self.jump(event.layer)

    @on(NeighboursAsked)
    def _neighbours_asked(self, event: NeighboursAsked) -> None:
        self._ask(event.layer, outgoing=event.outgoing)

    def action_producer(self) -> None:
        """Go to the layer that feeds this one."""
        self._walk(outgoing=False)

    def action_consumer(self) -> None:
        """Go to the layer that this one feeds."""
        self._walk(outgoing=True)

    def action_trail_back(self) -> None:
        """Go back to where the last jump began."""
        self._follow(self.trail.back(self.layer_here), "There is no way back: no jump led here.")

    def action_trail_forward(self) -> None:
        """Go where going back began."""
        self._follow(self.trail.forward(self.layer_here), "There is nothing ahead.")

    def _follow(self, layer: Layer | None, otherwise: str) -> None:
        if layer is None:
            self.notify(otherwise, markup=False)
        else:
            self.stand_on(layer)

    def _walk(self, *, outgoing: bool) -> None:
        layer = self.layer_here
        if layer is None:
            self.notify("Choose a layer first: a group has no links of its own.", markup=False)
        else:
            self._ask(layer, outgoing=outgoing)

    def _ask(self, layer: Layer, *, outgoing: bool) -> None:
        """Go to the only neighbour, or offer them all."""
        others = (consumers_of if outgoing else producers_of)(self.engine, layer)
        if not others:
            self.notify(self._why_none(layer, outgoing=outgoing), markup=False)
        elif len(others) == 1:
            self.jump(others[0].layer)
        else:
            words = "Consumers of" if outgoing else "Producers of"
            options = {str(one.layer.index): self._option(one) for one in others}
            title = f"{words} layer {layer.index}"
            self.app.push_screen(ChooseScreen(title, options), self._chosen)

    def _chosen(self, key: str | None) -> None:
        if key is not None:
            self.jump(self.engine.layers[int(key)])

    def _why_none(self, layer: Layer, *, outgoing: bool) -> str:
        if not self.engine.has_graph or layer.layer_type is None:
            return "The files do not tell what feeds what: only names are known."
        if outgoing:
            return "No layer reads what this one writes."
        return "No layer writes what this one reads: it comes from outside, or is constant."

    def _option(self, one: Neighbour) -> str:
        """A line that fits into the window: number, time, kind, name, and the tensor between."""
        room = max(16, int(self.app.size.width * 0.96) - 8 - 36)
        name = shorten_middle(printable(one.layer.name), room * 2 // 3)
        tensor = shorten_middle(printable(", ".join(one.tensors)), room - len(name))
        loop = "◉ " if one.is_loop else ""
        time = f"{format_ms(one.layer.latency_ms)} ms"
        return f"{one.layer.index:>5} {time:>12} {one.layer.kind.value:<11} {loop}{name}  {tensor}"
