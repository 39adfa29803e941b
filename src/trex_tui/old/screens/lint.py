"""Screen of the lint findings, with details of the selected one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from rich.cells import cell_len, set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from trex_tui.old.analysis.short_names import short_names
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.model import Judged, LintResult
from trex_tui.old.report.colours import severity_style
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.report.views.lint import (
    LEVELS,
    SCREEN_COLUMNS,
    EngineReport,
    Entry,
    finding_lines,
    fit_summary,
    fold_not_checked,
    list_entries,
)
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.explanation import ShownNumber, finding_numbers, saving_numbers
from trex_tui.old.screens.jobs import LintJob, SuppressionAsked
from trex_tui.old.screens.pane import LayerChosen, LayerOpened, ShowsLint, TablePane
from trex_tui.old.text import ELLIPSIS
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.chrome import SummaryLine
from trex_tui.old.widgets.expandable_table import COLLAPSED_SIGN, EXPANDED_SIGN
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.table_columns import muted, textual_columns
from trex_tui.old.widgets.table_model import TableColumn
from trex_tui.old.widgets.text_view import LinkedText, LinkFollowed

SAVING = "saving_ms"


def finding_columns(
    engine: Engine, title_text: Callable[[Entry], str], longest_title: Callable[[], int | None]
) -> list[TableColumn[Entry]]:
    """The columns of the findings, with the colours of a terminal; titles have room before names of layers."""
    names, more = short_names(engine), len(f"{len(engine.layers)} +{len(engine.layers)}")

    def colour(entry: Entry) -> str:
        return severity_style(entry.severity)

    return textual_columns(
        SCREEN_COLUMNS,
        "findings",
        mark={"style": colour},
        rule={"style": colour},
        title={
            "style": lambda entry: "" if entry.severity in LEVELS else "$muted",
            "text": title_text,
            "longest": longest_title,
            "shorten": lambda entry, width: _cut(title_text(entry), width),
        },
        where={
            "text": lambda entry: entry.describe_place(),
            "shorten": lambda entry, width: entry.describe_place(width),
            "longest": lambda: None if names.longest is None else names.longest + more + 1,
        },
        confidence={"style": muted},
    )


def _cut(title: str, width: int) -> str:
    """Cut a title at its end."""
    return title if cell_len(title) <= width else set_cell_size(title, width - 1).rstrip() + ELLIPSIS


LOOKING = "Checking rules …"
CLEAN = "No findings."
NO_MATCH = "No finding matches the filter."


class LintPane(TablePane[Entry], ShowsLint):
    """Table of findings, with details of the selected one."""

    DEFAULT_CSS = """
    /* Lint: details of the finding below the list; beside it if there is room. */
    LintPane {
        layout: vertical;
        & > #lint-parts { height: 1fr; layout: vertical; }
        & #lint-table { height: 1fr; }
        & #lint-words {
            height: 1fr;
            padding: 0 1;
            background: $surface;
            border-top: solid $panel;
            border-title-color: $text-muted;
            border-title-align: right;
            &:focus { border-top: solid $primary; }
        }
        &.-only-table #lint-words { display: none; }
        &.-only-words #lint-table { display: none; }
    }

    EngineScreen.-wide LintPane {
        & > #lint-parts { layout: horizontal; }
        & #lint-table { width: 3fr; height: 100%; }
        & #lint-words {
            width: 2fr;
            height: 100%;
            border-top: none;
            border-left: solid $panel;
            &:focus { border-left: solid $primary; }
        }
        &.-only-words #lint-words { width: 1fr; border-left: none; }
    }
    """
    SCOPED_CSS = False

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LINT)
    table_id = "findings"

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.result: LintResult | None = None
        self._looking = LOOKING
        """Text until there is a result."""
        self.rule = ""
        """Id of the only rule whose findings are shown; empty for all."""
        self._layers: frozenset[int] | None = None
        """Layers that match the filter; None without one."""
        self._is_expanded = False
        """True if each rule that was not checked has a row."""
        self._step = 0
        """Index of the current layer among those of the finding."""
        self._explained: Entry | None = None
        """The finding beside the table, whose layer `_step` counts."""
        self.table = VirtualTable(self._columns(), id="lint-table", empty_text=LOOKING)
        self.words: LinkedText = LinkedText(id="lint-words")
        self.summary = SummaryLine(id="lint-summary")

    def compose(self) -> ComposeResult:
        yield self.summary
        with Container(id="lint-parts"):
            yield self.table
            yield self.words

    def on_mount(self) -> None:
        self._tell()

    def show_lint(self, job: LintJob) -> None:
        """Show the findings, or the reason why there are none; the cursor stays if its row still exists."""
        self.result = job.result
        self.table.set_columns(self._columns())
        if job.problem:
            self._looking = f"Rules not checked: {job.problem}"
        self._fill()

    def _fill(self) -> None:
        shown = [entry for entry in self._entries() if self._is_shown(entry)]
        if not self.rule:
            shown = fold_not_checked(shown, is_expanded=self._is_expanded)
        self.table.empty_text = (
            NO_MATCH if self._layers is not None else CLEAN if self.result else self._looking
        )
        self.table.set_rows(shown, keep=lambda entry: (entry.rule, entry.state, entry.layers, entry.message))
        self._tell()

    def _columns(self) -> list[TableColumn[Entry]]:
        return finding_columns(self.engine, self._title, self._longest_title)

    def _longest_title(self) -> int | None:
        """Return the cells of the longest title of a rule with a finding."""
        if self.result is None:
            return None
        judged = (*self.result.findings, *self.result.positives, *self.result.suppressed)
        return max((len(each.rule.title) for each in judged), default=None)

    def _entries(self) -> list[Entry]:
        return list_entries(EngineReport(self.engine, self.result)) if self.result else []

    def _title(self, entry: Entry) -> str:
        sign = (EXPANDED_SIGN if self._is_expanded else COLLAPSED_SIGN) + " "
        return (sign if entry.is_group else "") + entry.title

    def open_row(self, row: Entry) -> None:
        """Go to the layer of a finding; expand or collapse the rules that were not checked."""
        if row.is_group:
            self._is_expanded = not self._is_expanded
            self._fill()
        else:
            super().open_row(row)

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
        line = self.summary
        room = max(0, self.size.width - 2)
        line.text = (
            fit_summary(EngineReport(self.engine, self.result), room) if self.result else self._looking
        )
        if self.rule:
            line.text += f" · only {self.rule}"

    def _explain(self, *, from_top: bool) -> None:
        entry = self._explained = self.table.cursor_item
        if entry is None or self.result is None:
            self.words.show_lines(
                [Line(self._looking if self.result is None else CLEAN, "muted")], from_top=True
            )
            return
        from trex_tui.old.lint.registry import registry

        self.words.show_lines(list(finding_lines(entry, registry().rules)), from_top=from_top)
        layers = entry.layers
        position = f"layer {self._step + 1} of {len(layers)} · n N" if len(layers) > 1 else ""
        self.words.border_title = position

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Show the findings about these layers; those about the engine as a whole only without a filter."""
        self._layers = frozenset(layer.index for layer in layers) if filter_text else None
        self._fill()

    def show_layer(self, layer: Layer | None) -> None:
        """Move the cursor to the worst finding about the layer, unless the current one is about it; stay if none is."""
        if layer is None:
            return
        here = self.table.cursor_item
        about = [
            entry
            for entry in self.table.shown_rows
            if entry.severity in LEVELS and layer.index in entry.layers
        ]
        if about and (here is None or layer.index not in here.layers):
            self.table.move_to(about[0])
            here = about[0]
        if here is not None and layer.index in here.layers:
            self._step = here.layers.index(layer.index)
            self._explain(from_top=False)

    def show_finding(self, judged: Judged, layer: Layer | None) -> None:
        """Move the cursor to a finding and one of its layers; clear a rule filter that hides it."""
        if self.rule not in ("", judged.rule.id):
            self.rule = ""
            self._fill()
        entry = next((entry for entry in self.table.shown_rows if entry.judged == judged), None)
        if entry is not None:
            self.table.move_to(entry)
            self._step = entry.layers.index(layer.index) if layer and layer.index in entry.layers else 0
            self._explain(from_top=True)

    def get_layer(self, row: Entry) -> Layer | None:
        """Return the layer of the finding chosen with `n` and `N`, initially its first; None if it has none."""
        if not row.layers:
            return None
        return self.engine.layers[row.layers[min(self._step, len(row.layers) - 1)]]

    @property
    def is_on_group(self) -> bool:
        entry = self.table.cursor_item
        return entry is not None and not entry.layers

    def row_changed(self) -> None:
        if self.table.cursor_item != self._explained:
            self._step = 0
            self._explain(from_top=True)

    def view_state(self) -> object:
        return super().view_state(), self.rule, self._is_expanded

    def restore_view(self, state: object, old: Engine) -> None:
        order, self.rule, self._is_expanded = cast("tuple[object, str, bool]", state)
        super().restore_view(order, old)

    @on(LinkFollowed)
    def _link_followed(self, event: LinkFollowed) -> None:
        event.stop()
        assert isinstance(event.target, int)
        self.post_message(LayerOpened(self.engine.layers[event.target]))

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Give the keys of a search precedence while it is active."""
        if action == "step_layer":
            return not self.is_searched
        return super().check_action(action, parameters)

    def numbers(self) -> list[ShownNumber]:
        """The columns and the details of the finding, then the savings of all findings."""
        if self.result is None:
            return []
        entry = self.table.cursor_item
        judged = None if entry is None else entry.judged
        details = [] if entry is None or judged is None else finding_numbers(entry.report, judged)
        return [*super().numbers(), *details, *saving_numbers(self.engine, self.result)]

    @property
    def first_column(self) -> str | None:
        return super().first_column or SAVING

    @property
    def explained_thing(self) -> str:
        entry = self.table.cursor_item
        return "" if entry is None else f"{entry.rule}: {entry.title}".removeprefix(": ")

    def action_step_layer(self, step: int) -> None:
        """Make the next or previous layer of the finding the current one; the engine's other screens follow."""
        entry = self.table.cursor_item
        if entry is None or not entry.layers:
            self.notify("This finding is about the whole engine.", markup=False)
            return
        self._step = (self._step + step) % len(entry.layers)
        self._explain(from_top=False)
        self.post_message(LayerChosen(self.engine.layers[entry.layers[self._step]]))

    def action_toggle_order(self) -> None:
        self.table.sort_by(None if self.table.sort_keys else SAVING)

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
            self.notify("Only findings can be suppressed.", markup=False)
            return
        self.post_message(SuppressionAsked(entry.rule, entry.layers))
