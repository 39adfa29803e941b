"""Every key, once: bindings, footer, help and docs/screens.md are generated from this list.

Movement is bound by the widgets that scroll; it is listed here too, marked as such, so that help is complete and a test can
find clashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from textual.binding import BindingType


class Place(str, Enum):
    """Place where a key works; the values are headings of the help."""

    EVERYWHERE = "Everywhere"
    ENGINE = "Engine"
    MOVE = "Lists, tables and texts"
    OVERVIEW = "Overview"
    FACTS = "Facts of the overview"
    LAYERS = "Layers"
    TREE = "Tree of layers"
    DETAILS = "Details of a layer"
    NEIGHBOURHOOD = "Neighbourhood of a layer"
    LATENCY = "Latency"
    CHARTS = "Charts"
    CHART = "Marks of a chart"
    MEMORY = "Memory"
    LINT = "Lint"
    BUILD = "Build"
    COMPARE = "Compare"
    BLOCKS = "Blocks of a comparison"
    LANES = "Lanes of a comparison"
    BARS = "Bars of a comparison"
    ENGINES = "List of engines"
    FLEET_CHARTS = "Charts of engines"
    BUILDS = "History of builds"
    LOADING = "While reading"
    DIALOG = "Windows"


@dataclass(frozen=True, slots=True)
class Action:
    """A command with its keys.

    Attributes:
        id: Stable name, for custom key maps.
        keys: Textual's names of the keys, separated by commas.
        action: Textual's action, without its arguments being interpreted here.
        title: One to three words, for the footer.
        help: One sentence.
        place: Place where it works.
        footer: Whether the footer shows it.
        spare: It leaves the footer where there is no room for all: the smaller numbers first, of equals the last in this
            list; those without a number after all of them.
        bound_by_widget: The widget binds it; nothing else may.
        priority: It is looked for before the key reaches any widget: it works over a window too, and keys typed right
            behind it find the keyboard where it put it.
        overrides: Id of the action that has the same key further out, and gets it back whenever this one is not possible.
    """

    id: str
    keys: str
    action: str
    title: str
    help: str
    place: Place
    footer: bool = False
    spare: int = 0
    bound_by_widget: bool = False
    priority: bool = False
    overrides: str = ""


def _movement(id: str, keys: str, help: str) -> Action:  # noqa: A002 - the field's name
    name = id.removeprefix("table.")
    return Action(id, keys, name, help, help, Place.MOVE, bound_by_widget=True)


@dataclass(frozen=True, slots=True)
class Tab:
    """Tab of an engine: id, title, description, and the places whose keys work on it."""

    id: str
    title: str
    help: str
    places: tuple[Place, ...]


TABS: tuple[Tab, ...] = (
    Tab("overview", "Overview", "Engine summary and time breakdown.", (Place.OVERVIEW, Place.FACTS)),
    Tab(
        "layers",
        "Layers",
        "Layer tree and layer details.",
        (Place.LAYERS, Place.TREE, Place.DETAILS, Place.NEIGHBOURHOOD),
    ),
    Tab("latency", "Latency", "Layer table.", (Place.LATENCY,)),
    Tab("charts", "Charts", "Charts of runs and layers.", (Place.CHARTS, Place.CHART)),
    Tab("memory", "Memory", "Weights, activations and their lifetimes.", (Place.MEMORY,)),
    Tab("lint", "Lint", "Problems, possible savings and remedies.", (Place.LINT, Place.DETAILS)),
    Tab("build", "Build", "Build log: passes, tactics, memory, warnings.", (Place.BUILD,)),
    Tab(
        "compare",
        "Compare",
        "Comparison with other engines, block by block.",
        (Place.COMPARE, Place.BLOCKS, Place.LANES, Place.BARS, Place.DETAILS),
    ),
)
"""In the order of their digits."""


ACTIONS: tuple[Action, ...] = (
    # Spare keys of Compare come before those of all screens: swapping and totals are used more often there than copying.
    Action(
        "compare.other", "c", "choose_other", "compare", "Choose an engine to compare with.", Place.COMPARE, True
    ),
    Action("compare.add", "A", "add_other", "add", "Add an engine (at most four).", Place.COMPARE),
    Action("compare.sort", "s", "choose_sort", "sort", "Choose the sort column of blocks.", Place.COMPARE, True),
    Action("compare.reverse", "S,r", "reverse", "reverse", "Reverse sort.", Place.COMPARE),
    Action(
        "compare.changed", "d", "only_changed", "changed", "Toggle: only structural changes.",
        Place.COMPARE, True, spare=True,
    ),
    Action(
        "compare.swap", "x", "swap", "swap", "Swap baseline.",
        Place.COMPARE, True, spare=True,
    ),
    Action(
        "compare.matrix", "t", "next_matrix", "totals", "Cycle totals: kind, precision, module.", Place.COMPARE, True,
        spare=True,
    ),
    Action(
        "compare.block", "v", "tell_block", "block", "Toggle block and overall details.",
        Place.COMPARE, True, spare=True,
    ),
    Action(
        "compare.cautions", "w", "cautions", "cautions", "Toggle full cautions.", Place.COMPARE
    ),
    Action("compare.align", "a", "choose_align", "align", "Choose the evidence for matching layers.", Place.COMPARE),
    Action(
        "compare.pin", "m", "pin", "pin", "Pin a layer; pin a second one to match them manually.", Place.COMPARE
    ),
    Action(
        "compare.unpin", "M", "unpin", "unpin", "Unpin the block, or the last pin.", Place.COMPARE
    ),
    Action("compare.per_batch", "b", "per_batch", "per sample", "Toggle times per sample or per inference.", Place.COMPARE),
    Action("compare.zoom", "z", "zoom", "zoom", "Zoom pane.", Place.COMPARE),
    Action(
        "compare.lanes", "L", "lanes", "lanes", "Toggle side-by-side view in execution order.",
        Place.COMPARE, True, spare=2,
    ),
    Action(
        "compare.bars", "B", "bars", "bars", "Show the times of all engines as bars.", Place.COMPARE, True, spare=3
    ),
    Action("bars.group", "t", "next_chart", "group by", "Cycle bars: kind, precision, module, block.", Place.BARS, True),
    Action("lanes.left", "h,left", "choose_lane(0)", "left lane", "Select the left lane (A).", Place.LANES),
    Action("lanes.right", "l,right", "choose_lane(1)", "right lane", "Select the right lane.", Place.LANES),
    Action("blocks.expand", "l,right", "expand", "expand", "Show the block's layers.", Place.BLOCKS),
    Action("blocks.collapse", "h,left", "collapse", "collapse", "Hide the block's layers, or go to the block.", Place.BLOCKS),
    Action("blocks.expand_all", "E", "expand_all", "expand all", "Show the layers of all blocks.", Place.BLOCKS),
    Action("blocks.collapse_all", "C", "collapse_all", "collapse all", "Hide the layers of all blocks.", Place.BLOCKS),
    Action("app.help", "question_mark,f1", "help", "help", "Show available keys.", Place.EVERYWHERE, True),
    Action(
        "app.palette", "ctrl+p,colon", "command_palette", "palette", "Find a command or a layer; :123 goes to layer 123.",
        Place.EVERYWHERE, True,
    ),
    Action(
        "app.open", "o", "open_path", "open", "Open a path or a recent engine.",
        Place.EVERYWHERE,
    ),
    Action(
        "app.export", "e", "export", "export", "Export the view: CSV, JSON, Markdown or SVG.",
        Place.EVERYWHERE, True, spare=1,
    ),
    Action("app.close", "q", "close", "quit", "Quit.", Place.EVERYWHERE, True),
    Action(
        "app.quit", "ctrl+c,ctrl+q", "quit", "quit at once", "Quit immediately.", Place.EVERYWHERE, priority=True
    ),
    Action("app.redraw", "ctrl+l", "redraw", "redraw", "Redraw the screen.", Place.EVERYWHERE, priority=True),
    Action(
        "app.suspend", "ctrl+z", "suspend_process", "suspend", "Suspend to the shell.", Place.EVERYWHERE, priority=True
    ),
    *(
        Action(f"engine.{tab.id}", str(digit), f"show('{tab.id}')", tab.title.lower(), tab.help, Place.ENGINE)
        for digit, tab in enumerate(TABS, start=1)
    ),
    Action(
        "engine.filter", "slash", "filter", "filter", "Filter layers: words, kind:gemm, pct>2, -word.",
        Place.ENGINE, True, priority=True,
    ),
    Action(
        "engine.search", "f", "search", "search", "Search the list in view; all rows stay.", Place.ENGINE,
        True, spare=1, priority=True,
    ),
    Action("engine.next_match", "n", "next_match(1)", "next match", "Go to the next match of the search.", Place.ENGINE),
    Action(
        "engine.previous_match", "N", "next_match(-1)", "previous match", "Go to the previous match of the search.",
        Place.ENGINE,
    ),
    Action(
        "engine.clear", "escape", "clear", "undo",
        "End the search, then clear the filter, then the marks, then go back.", Place.ENGINE, True,
    ),
    Action(
        "engine.copy", "y", "copy_name", "copy", "Copy layer names (marked or current; works over SSH).",
        Place.ENGINE, True, spare=1,
    ),
    Action(
        "engine.copy_json", "Y", "copy_json", "copy as JSON", "Copy layers as JSON (marked or current).", Place.ENGINE
    ),
    Action(
        "engine.explain", "i", "explain", "explain", "Explain the numbers on this screen.",
        Place.ENGINE, True, spare=1,
    ),
    Action(
        "engine.capture", "P", "capture", "profile again", "Profile again with trtexec (asks first).",
        Place.ENGINE,
    ),
    Action(
        "engine.run", "u", "choose_run", "run", "Choose a run or an optimization profile.",
        Place.ENGINE, True, spare=1,
    ),
    Action("engine.reload", "R", "reload", "reload", "Reload the files.", Place.ENGINE),
    Action(
        "engine.producer", "left_square_bracket", "producer", "producer",
        "Go to a producer of this layer.", Place.ENGINE,
    ),
    Action(
        "engine.consumer", "right_square_bracket", "consumer", "consumer",
        "Go to a consumer of this layer.", Place.ENGINE,
    ),
    Action("engine.faster", "J", "step_by_time(1)", "faster layer", "Go to the next layer by time.", Place.ENGINE),
    Action("engine.slower", "K", "step_by_time(-1)", "slower layer", "Go to the previous layer by time.", Place.ENGINE),
    Action(
        "engine.trail_back", "minus", "trail_back", "go back",
        "Go back to where the last jump began: tab, layer, filter, scroll position.", Place.ENGINE
    ),
    Action(
        "engine.trail_forward", "plus,alt+right", "trail_forward", "forward", "Go forward again.", Place.ENGINE
    ),
    Action("engine.notes", "exclamation_mark", "notes", "notes", "Show problems in the input files.", Place.ENGINE),
    Action(
        "engine.back", "q,ctrl+o", "back", "engines", "Go back to the list of engines.",
        Place.ENGINE, True, overrides="app.close",
    ),
    Action("engine.next_pane", "tab", "app.focus_next", "next pane", "Go to the next pane.", Place.ENGINE),
    Action(
        "engine.previous_pane", "shift+tab", "app.focus_previous", "previous pane", "Go to the previous pane.",
        Place.ENGINE,
    ),
    Action(
        "engine.divider_back", "left_parenthesis", "move_divider(-1)", "divider left",
        "Move the divider left or up (the mouse drags it).", Place.ENGINE,
    ),
    Action(
        "engine.divider_forward", "right_parenthesis", "move_divider(1)", "divider right",
        "Move the divider right or down.", Place.ENGINE,
    ),
    Action(
        "engines.notes", "exclamation_mark", "notes", "notes", "Show skipped files.",
        Place.ENGINES, True, spare=3,
    ),
    Action(
        "engines.mark", "space", "mark", "mark", "Mark or unmark the engine for comparison.",
        Place.ENGINES, True,
    ),
    Action(
        "engines.compare", "equals_sign", "compare", "compare",
        "Compare the marked engines.",
        Place.ENGINES, True,
    ),
    Action(
        "engines.variant", "m", "compare_variant", "same model",
        "Compare with the same model on another device, precision or batch.", Place.ENGINES, True, spare=4,
    ),
    Action(
        "engines.charts", "p", "charts", "charts", "Show charts: Pareto, layer times by kind, trend.", Place.ENGINES, True,
        spare=8,
    ),
    Action(
        "engines.history", "H", "history", "history", "Show the builds of a model, and what changed.", Place.ENGINES, True,
        spare=7,
    ),
    Action(
        "engines.group", "t", "group_engines", "group",
        "Cycle grouping: model, device, precision, batch, TensorRT, none.", Place.ENGINES, True, spare=2,
    ),
    Action(
        "engines.filter", "slash", "filter", "filter", "Filter engines: words, device:orin, latency_p99_ms<5.",
        Place.ENGINES, True, priority=True,
    ),
    Action("engines.sort", "s", "choose_sort", "sort", "Choose the sort column.", Place.ENGINES, True),
    Action("engines.reverse", "S,r", "reverse", "reverse", "Reverse sort.", Place.ENGINES),
    Action(
        "engines.columns", "c", "choose_columns", "columns", "Choose columns and their order.", Place.ENGINES, True,
        spare=1,
    ),
    Action("engines.clear", "escape", "clear", "clear", "Clear the filter, then the marks.", Place.ENGINES),
    Action(
        "engines.explain", "i", "explain", "explain", "Explain the numbers of the engine.", Place.ENGINES, True, spare=1,
    ),
    Action("engines.copy", "y", "copy_name", "copy", "Copy engine names (marked or current).", Place.ENGINES, True, spare=1),
    Action("engines.copy_json", "Y", "copy_json", "copy as JSON", "Copy the engine as JSON.", Place.ENGINES),
    Action("engines.reload", "R", "reload", "reload", "Reload the list of engines.", Place.ENGINES),
    Action("fleet.next", "n", "next_chart", "next", "Next chart.", Place.FLEET_CHARTS, True),
    Action("fleet.previous", "p", "previous_chart", "previous", "Previous chart.", Place.FLEET_CHARTS, True, spare=2),
    Action("fleet.model", "t", "next_model", "model", "Cycle models.", Place.FLEET_CHARTS, True),
    Action(
        "fleet.value", "v", "choose_column('y')", "value", "Choose the measure of the vertical axis.",
        Place.FLEET_CHARTS, True,
    ),
    Action(
        "fleet.color", "C", "choose_column('color')", "color", "Choose the colour column.", Place.FLEET_CHARTS, True,
        spare=1,
    ),
    Action(
        "fleet.columns", "a", "choose_role", "columns", "Choose the columns of both axes and of the colour.",
        Place.FLEET_CHARTS, True, spare=5,
    ),
    Action(
        "fleet.mark", "space", "mark", "mark", "Mark or unmark the engine for comparison.", Place.FLEET_CHARTS, True,
    ),
    Action("fleet.compare", "equals_sign", "compare", "compare", "Compare the marked engines.", Place.FLEET_CHARTS, True),
    Action(
        "fleet.explain", "i", "explain", "explain", "Explain the numbers of the engine.", Place.FLEET_CHARTS, True, spare=1,
    ),
    Action("fleet.copy", "y", "copy_name", "copy", "Copy the name of the engine.", Place.FLEET_CHARTS, True, spare=1),
    Action("fleet.copy_json", "Y", "copy_json", "copy as JSON", "Copy the engine as JSON.", Place.FLEET_CHARTS),
    Action(
        "fleet.back", "q,escape,minus,ctrl+o", "back", "engines", "Go back to the list of engines.",
        Place.FLEET_CHARTS, True, overrides="app.close",
    ),
    Action("builds.next", "n", "step_change(1)", "next change", "Go to the next build with a change.", Place.BUILDS, True),
    Action(
        "builds.previous", "N", "step_change(-1)", "previous change", "Go to the previous build with a change.",
        Place.BUILDS,
    ),
    Action(
        "builds.compare", "equals_sign", "compare", "compare", "Compare the build with its predecessor.",
        Place.BUILDS, True,
    ),
    Action(
        "builds.order", "s", "choose_order", "sort", "Choose the order of builds: date, TensorRT version or path.",
        Place.BUILDS, True,
    ),
    Action("builds.model", "t", "next_history", "model", "Cycle histories: models, devices, batches.", Place.BUILDS, True),
    Action("builds.zoom", "z", "zoom", "zoom", "Zoom pane.", Place.BUILDS),
    Action("builds.next_pane", "tab", "app.focus_next", "next pane", "Go to the next pane.", Place.BUILDS),
    Action(
        "builds.explain", "i", "explain", "explain", "Explain the numbers of the build.", Place.BUILDS, True, spare=1,
    ),
    Action("builds.copy", "y", "copy_name", "copy", "Copy the name of the build.", Place.BUILDS, True, spare=1),
    Action("builds.copy_json", "Y", "copy_json", "copy as JSON", "Copy the build as JSON.", Place.BUILDS),
    Action(
        "builds.back", "q,escape,minus,ctrl+o", "back", "engines", "Go back to the list of engines.",
        Place.BUILDS, True, overrides="app.close",
    ),
    Action(
        "loading.cancel", "escape,q", "cancel", "cancel", "Cancel loading.",
        Place.LOADING, True, overrides="app.close",
    ),
    Action("dialog.close", "escape,q", "dismiss_dialog", "close", "Close the window.", Place.DIALOG, True),
    _movement("table.cursor_down", "j,down", "Down one line."),
    _movement("table.cursor_up", "k,up", "Up one line."),
    _movement("table.first", "g,home", "Go to the first line."),
    _movement("table.last", "G,end", "Go to the last line."),
    _movement("table.half_page_down", "ctrl+d", "Down half a page."),
    _movement("table.half_page_up", "ctrl+u", "Up half a page."),
    _movement("table.page_down", "pagedown", "Down one page."),
    _movement("table.page_up", "pageup", "Up one page."),
    Action(
        "table.narrow", "left_curly_bracket", "resize_column(-1)", "narrower",
        "Narrow the chosen column, by default the names (the mouse drags the border).", Place.MOVE,
        bound_by_widget=True,
    ),
    Action(
        "table.widen", "right_curly_bracket", "resize_column(1)", "wider",
        "Widen the chosen column, by default the names.", Place.MOVE, bound_by_widget=True,
    ),
    Action(
        "table.reset_widths", "vertical_line", "reset_widths", "reset widths", "Reset the widths of columns.",
        Place.MOVE, bound_by_widget=True,
    ),
    _movement("table.select", "enter", "Open, expand or show details."),
    Action(
        "overview.zoom", "z", "zoom", "zoom", "Zoom facts.",
        Place.OVERVIEW, True,
    ),
    Action(
        "overview.all", "a", "toggle_all", "all options", "Toggle options at their default.",
        Place.OVERVIEW, True, spare=2,
    ),
    Action("facts.right", "l,right", "side(1)", "right", "Go to the column on the right.", Place.FACTS),
    Action("facts.left", "h,left", "side(-1)", "left", "Go to the column on the left.", Place.FACTS),
    Action(
        "layers.group", "t", "next_grouping", "group",
        "Cycle grouping: module, kind, precision, bound, kernel family, shape, ONNX node, stream, none.",
        Place.LAYERS, True,
    ),
    Action("layers.choose_group", "T", "choose_grouping", "group by", "Choose the grouping.", Place.LAYERS),
    Action("layers.order", "s", "toggle_order", "sort", "Toggle sort: execution order or time.", Place.LAYERS, True),
    Action("layers.zoom", "z", "zoom", "zoom", "Zoom pane.", Place.LAYERS),
    Action(
        "layers.neighbourhood", "v", "neighbourhood", "neighbours",
        "Toggle neighbourhood and details.", Place.LAYERS, True, spare=1,
    ),
    Action(
        "layers.deeper", "greater_than_sign", "deeper(1)", "deeper", "Increase neighbour depth.",
        Place.LAYERS,
    ),
    Action(
        "layers.shallower", "less_than_sign", "deeper(-1)", "shallower", "Decrease neighbour depth.",
        Place.LAYERS,
    ),
    Action("details.next_link", "l,right", "next_link(1)", "next link", "Select the next link.", Place.DETAILS),
    Action(
        "details.previous_link", "h,left", "next_link(-1)", "previous link", "Select the previous link.", Place.DETAILS
    ),
    Action("neighbourhood.right", "l,right", "step(0, 1)", "right", "Go to the box on the right.", Place.NEIGHBOURHOOD),
    Action("neighbourhood.left", "h,left", "step(0, -1)", "left", "Go to the box on the left.", Place.NEIGHBOURHOOD),
    Action("tree.expand", "l,right", "expand", "expand", "Expand, or go to the first child.", Place.TREE),
    Action("tree.collapse", "h,left", "collapse", "collapse", "Collapse, or go to the parent.", Place.TREE),
    Action("tree.expand_all", "E", "expand_all", "expand all", "Expand all.", Place.TREE),
    Action("tree.collapse_all", "C", "collapse_all", "collapse all", "Collapse all.", Place.TREE),
    Action("latency.sort", "s", "choose_sort", "sort", "Choose the sort column.", Place.LATENCY, True),
    Action("latency.reverse", "S,r", "reverse", "reverse", "Reverse sort.", Place.LATENCY, True),
    Action(
        "latency.then_by", "a", "then_by", "then by", "Add a secondary sort column.",
        Place.LATENCY,
    ),
    Action(
        "latency.columns", "c", "choose_columns", "columns", "Choose columns and their order.", Place.LATENCY, True,
        spare=1,
    ),
    Action(
        "latency.mark", "space", "mark", "mark", "Mark or unmark for copy, export and sum.",
        Place.LATENCY,
    ),
    Action(
        "charts.next", "n,right", "next_chart", "next", "Next chart.", Place.CHARTS, True,
        overrides="engine.next_match",
    ),
    Action(
        "charts.previous", "p,left", "previous_chart", "previous", "Previous chart.", Place.CHARTS, True, spare=2
    ),
    Action(
        "charts.choose", "c", "choose_chart", "charts", "Choose a chart.", Place.CHARTS, True, spare=3
    ),
    Action(
        "charts.axes", "t", "turn_axes", "axes", "Cycle axes: M×N, N×K, M×K.", Place.CHARTS, True
    ),
    Action("charts.value", "v", "choose_value", "value", "Choose the value column.", Place.CHARTS, True),
    Action("charts.color", "C", "choose_color", "color", "Choose the colour column.", Place.CHARTS, True),
    Action(
        "charts.columns", "a", "choose_role", "columns", "Choose the columns of x, value, size and colour.", Place.CHARTS,
        True, spare=5,
    ),
    Action("charts.zoom", "z", "zoom", "zoom", "Zoom chart.", Place.CHARTS),
    Action(
        "charts.enter", "enter,l", "enter_chart", "marks", "Put the cursor on a mark of the chart.", Place.CHARTS, True,
        spare=4, overrides="table.select",
    ),
    Action("chart.open", "enter", "open", "go to", "Go to the layer or engine, or filter by the group.", Place.CHART, True),
    Action("chart.right", "l,right", "walk(1, 0)", "right", "Go to the next mark to the right.", Place.CHART),
    Action("chart.left", "h,left", "walk(-1, 0)", "left", "Go to the next mark to the left.", Place.CHART),
    Action("chart.down", "j,down", "walk(0, 1)", "down", "Go to the mark below.", Place.CHART),
    Action("chart.up", "k,up", "walk(0, -1)", "up", "Go to the mark above.", Place.CHART),
    Action("memory.sort", "s", "choose_sort", "sort", "Choose the sort column.", Place.MEMORY, True),
    Action("memory.reverse", "S,r", "reverse", "reverse", "Reverse sort.", Place.MEMORY, True),
    Action(
        "memory.peak", "p", "go_to_peak", "peak", "Go to the memory peak.", Place.MEMORY, True
    ),
    Action("memory.zoom", "z", "zoom", "zoom", "Zoom pane.", Place.MEMORY),
    Action("lint.order", "s", "toggle_order", "sort", "Toggle sort: severity or saving.", Place.LINT, True),
    Action(
        "lint.next_layer", "n", "step_layer(1)", "next layer", "Next layer of the finding, unless a search is on.",
        Place.LINT, True, overrides="engine.next_match",
    ),
    Action(
        "lint.previous_layer", "N", "step_layer(-1)", "previous layer",
        "Previous layer of the finding, unless a search is on.", Place.LINT, overrides="engine.previous_match",
    ),
    Action("lint.rule", "c", "choose_rule", "rule", "Filter by rule.", Place.LINT, True),
    Action(
        "lint.suppress", "x", "suppress", "suppress", "Suppress finding (this session).",
        Place.LINT, True, spare=True,
    ),
    Action(
        "lint.write", "W", "screen.write_suppressions", "save",
        "Save suppressions to trex-tui.toml (asks first).", Place.LINT,
    ),
    Action("lint.zoom", "z", "zoom", "zoom", "Zoom pane.", Place.LINT),
    Action(
        "build.view", "t", "next_view", "view", "Cycle views: phases, passes, layers, memory, strategies, warnings.",
        Place.BUILD, True,
    ),
    Action("build.choose_view", "T", "choose_view", "views", "Choose a view.", Place.BUILD),
    Action("build.sort", "s", "choose_sort", "sort", "Choose the sort column.", Place.BUILD, True),
    Action("build.reverse", "S,r", "reverse", "reverse", "Reverse sort.", Place.BUILD),
    Action(
        "build.into", "l", "go_into", "go to",
        "Go to the engine layer, or expand.", Place.BUILD, True, spare=True,
    ),
    Action(
        "build.out", "h", "go_out", "back", "Go back to the layers, or collapse.",
        Place.BUILD, True, spare=True,
    ),
    Action(
        "build.leave", "escape", "leave_tactics", "back", "Go back to the layers.", Place.BUILD,
        overrides="engine.clear",
    ),
    Action("build.expand_all", "E", "expand_all", "expand all", "Expand all.", Place.BUILD),
    Action("build.collapse_all", "C", "collapse_all", "collapse all", "Collapse all.", Place.BUILD),
    Action("build.zoom", "z", "zoom", "zoom", "Zoom pane.", Place.BUILD),
    Action(
        "table.column_left", "left", "column_left", "column left", "Select the column to the left.", Place.LATENCY,
        bound_by_widget=True,
    ),
    Action(
        "table.column_right", "right", "column_right", "column right", "Select the column to the right.",
        Place.LATENCY, bound_by_widget=True,
    ),
)  # fmt: skip


def actions_in(*places: Place) -> list[Action]:
    """The actions of some places, in the order of the list."""
    return [action for action in ACTIONS if action.place in places]


_KEY_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "exclamation_mark": "!",
    "escape": "Esc",
    "space": "Space",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "left_square_bracket": "[",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "vertical_line": "|",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "minus": "-",
    "equals_sign": "=",
    "plus": "+",
    "alt+right": "Alt-→",
    "enter": "Enter",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "home": "Home",
    "end": "End",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "f1": "F1",
}


def key_label(keys: str) -> str:
    """Return the keys of an action as shown: `j ↓`, `Ctrl-d`."""
    return " ".join(map(_one_label, keys.split(",")))


def _one_label(key: str) -> str:
    if key in _KEY_NAMES:
        return _KEY_NAMES[key]
    return f"Ctrl-{key.removeprefix('ctrl+')}" if key.startswith("ctrl+") else key


def keys_table(places: Iterable[Place] = Place) -> list[tuple[str, str, str]]:
    """Heading, keys and sentence of every action, for help and docs."""
    return [
        (place.value, key_label(action.keys), action.help)
        for place in places
        for action in ACTIONS
        if action.place is place
    ]


def bindings_in(*places: Place) -> list[BindingType]:
    """Return the bindings of some places, without those that widgets define themselves."""
    from textual.binding import Binding  # The command that lists the keys does without Textual.

    return [
        Binding(
            action.keys,
            action.action,
            action.title,
            show=action.footer,
            id=action.id,
            tooltip=action.help,
            priority=action.priority,
        )
        for action in actions_in(*places)
        if not action.bound_by_widget
    ]
