"""What is wrong with the engine, what it costs, and what to do: the findings, and all about the one under the cursor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.lint.model import LintResult
from trex_tui.report.colours import severity_style
from trex_tui.report.views.layer_details import Line
from trex_tui.report.views.lint import (
    LEVELS,
    SCREEN_COLUMNS,
    EngineReport,
    Entry,
    finding_lines,
    fit_summary,
    list_entries,
)
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.lint_job import SuppressionAsked
from trex_tui.screens.navigation import LayerJumped
from trex_tui.screens.pane import EnginePane, LayerChosen, LayerOpened
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.chrome import SummaryLine
from trex_tui.widgets.linked_text import LinkedText, LinkFollowed
from trex_tui.widgets.table import RowHighlighted, RowSelected, VirtualTable
from trex_tui.widgets.table_columns import muted, textual_columns
from trex_tui.widgets.table_model import Column as TableColumn

STAKE = "stake_ms"


def finding_columns() -> list[TableColumn[Entry]]:
    """The columns of the findings, with the colours of a terminal."""
    by_severity = {"style": lambda entry: severity_style(entry.severity)}
    return textual_columns(
        SCREEN_COLUMNS,
        mark=by_severity,
        rule=by_severity,
        title={"style": lambda entry: "" if entry.severity in LEVELS else "$muted"},
        layers={"format": str},
        where={"style": muted},
        confidence={"style": muted},
    )


LOOKING = "The rules are looking …"
CLEAN = "Nothing was found."
NO_MATCH = "No finding is about a layer that matches the filter."


class LintPane(EnginePane):
    """The findings as a table; what one means below or beside it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LINT)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.result: LintResult | None = None
        self._looking = LOOKING
        """What to say before there is a result."""
        self.rule = ""
        """Id of the only rule whose findings are shown; empty for all."""
        self._layers: frozenset[int] | None = None
        """What the filter leaves; None without one."""
        self._step = 0
        """Which of the finding's layers the cursor stands on."""
        self.table: VirtualTable[Entry] = VirtualTable(finding_columns(), id="lint-table", empty_text=LOOKING)
        self.words = LinkedText(id="lint-words")

    def compose(self) -> ComposeResult:
        """Counts, findings, what the one under the cursor means."""
        yield SummaryLine(id="lint-summary")
        with Container(id="lint-parts"):
            yield self.table
            yield self.words

    def on_mount(self) -> None:
        """Say that the rules are looking."""
        self._tell()

    def show_lint(self, result: LintResult) -> None:
        """Show what was found; the cursor stays where it was if that is there still."""
        self.result = result
        self._fill()

    def show_lint_problem(self, problem: str) -> None:
        """Say why there are no findings."""
        self.result, self._looking = None, f"The rules could not look: {problem}"
        self._fill()

    def _fill(self) -> None:
        shown = [entry for entry in self._entries() if self._is_shown(entry)]
        self.table.empty_text = (
            NO_MATCH if self._layers is not None else CLEAN if self.result else self._looking
        )
        self.table.set_rows(shown, keep=lambda entry: (entry.rule, entry.state, entry.layers, entry.message))
        self._tell()

    def _entries(self) -> list[Entry]:
        return list_entries(EngineReport(self.engine, self.result)) if self.result else []

    def _is_shown(self, entry: Entry) -> bool:
        if self.rule and entry.rule != self.rule:
            return False
        return self._layers is None or not self._layers.isdisjoint(entry.layers)

    def on_resize(self) -> None:
        """The line above has another room now."""
        self._tell_head()

    def _tell(self) -> None:
        self._tell_head()
        self._explain(from_top=True)

    def _tell_head(self) -> None:
        line = self.query_one(SummaryLine)
        room = max(0, self.size.width - 2)
        line.text = (
            fit_summary(EngineReport(self.engine, self.result), room) if self.result else self._looking
        )
        if self.rule:
            line.text += f" · only {self.rule}"

    def _explain(self, *, from_top: bool) -> None:
        entry = self.table.cursor_item
        if entry is None or self.result is None:
            self.words.show_lines(
                [Line(self._looking if self.result is None else CLEAN, "muted")], from_top=True
            )
            return
        from trex_tui.lint.registry import registry

        self.words.show_lines(list(finding_lines(entry, registry().rules)), from_top=from_top)
        layers = entry.layers
        place = f"layer {self._step + 1} of {len(layers)} · n N" if len(layers) > 1 else ""
        self.words.border_title = place

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:
        """Show the findings about these layers; those about the engine as a whole only without a filter."""
        self._layers = frozenset(layer.index for layer in layers) if is_filtered else None
        self._fill()

    def show_layer(self, layer: Layer | None) -> None:
        """Stand on the worst finding about the layer, unless the one under the cursor is about it; on the same if none is."""
        if layer is None:
            return
        here = self.table.cursor_item
        about = [entry for entry in self.table.shown_rows if layer.index in entry.layers]
        if about and (here is None or layer.index not in here.layers):
            self.table.move_to(about[0])
            here = about[0]
        if here is not None and layer.index in here.layers:
            self._step = here.layers.index(layer.index)
            self._explain(from_top=False)

    @property
    def cursor_layer(self) -> Layer | None:
        """The layer of the finding that `n` and `N` chose, at first its first; None if it is about none."""
        entry = self.table.cursor_item
        if entry is None or not entry.layers:
            return None
        return self.engine.layers[entry.layers[min(self._step, len(entry.layers) - 1)]]

    @property
    def is_on_group(self) -> bool:
        """Whether the finding is about the engine as a whole."""
        entry = self.table.cursor_item
        return entry is not None and not entry.layers

    @property
    def main_part(self) -> VirtualTable[Entry]:
        """The table; it comes back if the words had all the room."""
        self.remove_class("-only-words")
        return self.table

    def view_state(self) -> object:
        """Order and rule."""
        return self.table.sort_keys, self.rule

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - of no engine
        """Order and rule again."""
        keys, self.rule = cast("tuple[tuple[object, ...], str]", state)
        if keys:
            self.table.sort_by(STAKE)

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted[Entry]) -> None:
        event.stop()
        self._step = 0
        self._explain(from_top=True)
        if self.display and self.cursor_layer is not None:
            self.post_message(LayerChosen(self.cursor_layer))

    @on(RowSelected)
    def _selected(self, event: RowSelected[Entry]) -> None:
        event.stop()
        if self.cursor_layer is not None:
            self.post_message(LayerOpened(self.cursor_layer))
        else:
            self.remove_class("-only-table")
            self.screen.set_focus(self.words)

    @on(LinkFollowed)
    def _link_followed(self, event: LinkFollowed) -> None:
        event.stop()
        layer = self.engine.layers[event.index]
        self.post_message(LayerJumped(layer))
        self.post_message(LayerOpened(layer))

    # Actions

    def action_step_layer(self, step: int) -> None:
        """Make the next or previous layer of the finding the current one; the engine's other screens follow."""
        entry = self.table.cursor_item
        if entry is None or not entry.layers:
            self.notify("This is about the engine as a whole, not about a layer.", markup=False)
            return
        self._step = (self._step + step) % len(entry.layers)
        self._explain(from_top=False)
        self.post_message(LayerChosen(self.engine.layers[entry.layers[self._step]]))

    def action_toggle_order(self) -> None:
        """Order by severity, or by the milliseconds at stake."""
        self.table.sort_by(None if self.table.sort_keys else STAKE)

    def action_choose_rule(self) -> None:
        """Show the findings of one rule only, or of all again."""
        if self.result is None:
            return
        counts = Counter(entry.rule for entry in self._entries())
        options = {"": "all rules", **{rule: f"{rule:<11} {count}" for rule, count in counts.items()}}
        self.app.push_screen(ChooseScreen("Show the findings of", options, self.rule), self._show_rule)

    def _show_rule(self, rule: str | None) -> None:
        if rule is not None:
            self.rule = rule
            self._fill()

    def action_suppress(self) -> None:
        """Leave the finding out, with a reason."""
        entry = self.table.cursor_item
        if entry is None or entry.judged is None or entry.suppressed is not None:
            self.notify("Only a finding can be left out.", markup=False)
            return
        self.post_message(SuppressionAsked(entry.rule, entry.layers))

    def action_zoom(self) -> None:
        """Give the whole room to the part that has the keyboard, or take it back."""
        if self.has_class("-only-table") or self.has_class("-only-words"):
            self.remove_class("-only-table", "-only-words")
        else:
            self.add_class("-only-words" if self.screen.focused is self.words else "-only-table")
