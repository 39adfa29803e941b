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
from trex_tui.screens.lint_job import LintJob, SuppressionAsked
from trex_tui.screens.pane import LayerChosen, LayerJumped, LayerOpened, ShowsLint, TablePane
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.chrome import SummaryLine
from trex_tui.widgets.linked_text import LinkedText, LinkFollowed
from trex_tui.widgets.table import VirtualTable
from trex_tui.widgets.table_columns import muted, textual_columns
from trex_tui.widgets.table_model import TableColumn

STAKE = "stake_ms"


def finding_columns() -> list[TableColumn[Entry]]:
    """The columns of the findings, with the colours of a terminal."""

    def colour(entry: Entry) -> str:
        return severity_style(entry.severity)

    return textual_columns(
        SCREEN_COLUMNS,
        mark={"style": colour},
        rule={"style": colour},
        title={"style": lambda entry: "" if entry.severity in LEVELS else "$muted"},
        where={"style": muted},
        confidence={"style": muted},
    )


LOOKING = "The rules are looking …"
CLEAN = "Nothing was found."
NO_MATCH = "No finding is about a layer that matches the filter."


class LintPane(TablePane[Entry], ShowsLint):
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
        self.table = VirtualTable(finding_columns(), id="lint-table", empty_text=LOOKING)
        self.words: LinkedText = LinkedText(id="lint-words")

    def compose(self) -> ComposeResult:
        yield SummaryLine(id="lint-summary")
        with Container(id="lint-parts"):
            yield self.table
            yield self.words

    def on_mount(self) -> None:
        self._tell()

    def show_lint(self, job: LintJob) -> None:
        """Show what was found, or why nothing was; the cursor stays where it was if that is there still."""
        self.result = job.result
        if job.problem:
            self._looking = f"The rules could not look: {job.problem}"
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

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Show the findings about these layers; those about the engine as a whole only without a filter."""
        self._layers = frozenset(layer.index for layer in layers) if filter_text else None
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

    def get_layer(self, row: Entry) -> Layer | None:
        """The layer of the finding that `n` and `N` chose, at first its first; None if it is about none."""
        if not row.layers:
            return None
        return self.engine.layers[row.layers[min(self._step, len(row.layers) - 1)]]

    @property
    def is_on_group(self) -> bool:
        entry = self.table.cursor_item
        return entry is not None and not entry.layers

    def row_changed(self) -> None:
        self._step = 0
        self._explain(from_top=True)

    def view_state(self) -> object:
        return super().view_state(), self.rule

    def restore_view(self, state: object, old: Engine) -> None:
        order, self.rule = cast("tuple[object, str]", state)
        super().restore_view(order, old)

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
        self.table.sort_by(None if self.table.sort_keys else STAKE)

    def action_choose_rule(self) -> None:
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
        entry = self.table.cursor_item
        if entry is None or entry.severity is None:
            self.notify("Only a finding can be left out.", markup=False)
            return
        self.post_message(SuppressionAsked(entry.rule, entry.layers))
