"""What can be done with an engine on every screen of it: copy, export, explain, read again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.reactive import reactive

from trex_tui.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.reports.layers import layers_document
from trex_tui.screens.choose import ChooseScreen
from trex_tui.screens.explain import ExplainScreen
from trex_tui.screens.frame import MainScreen
from trex_tui.screens.pane import EnginePane
from trex_tui.services.clipboard import copied_words
from trex_tui.services.export import ExportFormat
from trex_tui.text import plural, printable, shorten_middle
from trex_tui.widgets.columns import LATENCY_COLUMNS

if TYPE_CHECKING:
    from trex_tui.app import TrexApp

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
