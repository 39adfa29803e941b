"""Every key, once: bindings, footer, help and the README's table are made from this list.

Movement is bound by the widgets that scroll; it is listed here too, marked as such, so that help is complete and a test can
find clashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.binding import BindingType


class Place(str, Enum):
    """Where a key works. The values are headings of the help."""

    EVERYWHERE = "Everywhere"
    ENGINE = "Engine"
    MOVE = "Lists, tables and texts"
    OVERVIEW = "Overview"
    LAYERS = "Layers"
    TREE = "Tree of layers"
    DETAILS = "Details of a layer"
    NEIGHBOURHOOD = "Neighbourhood of a layer"
    LATENCY = "Latency"
    CHARTS = "Charts"
    MEMORY = "Memory"
    LINT = "Lint"
    BUILD = "Build"
    COMPARE = "Compare"
    BLOCKS = "Blocks of a comparison"
    ENGINES = "List of engines"
    LOADING = "While reading"
    DIALOG = "Windows"


@dataclass(frozen=True, slots=True)
class Action:
    """A thing a person can do with a key.

    Attributes:
        id: Stable name, for key maps of a person's own.
        keys: Textual's names of the keys, separated by commas.
        action: Textual's action, without its arguments being interpreted here.
        title: A word or two, for the footer.
        help: One sentence.
        place: Where it works.
        footer: Whether the footer shows it.
        spare: It leaves the footer where there is no room for all: the smaller numbers first, of equals the last in this
            list; 0 never leaves.
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
    """A screen of an engine: its identifier, its title, what it is, and the places whose keys work on it."""

    id: str
    title: str
    help: str
    places: tuple[Place, ...]


TABS: tuple[Tab, ...] = (
    Tab("overview", "Overview", "What the engine is, and where its time goes.", (Place.OVERVIEW,)),
    Tab(
        "layers",
        "Layers",
        "The layers as a tree, and all about each.",
        (Place.LAYERS, Place.TREE, Place.DETAILS, Place.NEIGHBOURHOOD),
    ),
    Tab("latency", "Latency", "The layers as a table.", (Place.LATENCY,)),
    Tab("charts", "Charts", "Charts of the run and of the layers.", (Place.CHARTS,)),
    Tab("memory", "Memory", "Weights, activations, and what is live when.", (Place.MEMORY,)),
    Tab("lint", "Lint", "What is wrong, what it costs, what to do.", (Place.LINT, Place.DETAILS)),
    Tab("build", "Build", "What the builder did: passes, tactics, memory, warnings.", (Place.BUILD,)),
    Tab(
        "compare",
        "Compare",
        "Other engines beside this one, block by block.",
        (Place.COMPARE, Place.BLOCKS, Place.DETAILS),
    ),
)
"""In the order of their digits."""


ACTIONS: tuple[Action, ...] = (
    # What is spare here stands before what is spare everywhere: who compares swaps and sums up more often than they copy.
    Action(
        "compare.other", "c", "choose_other", "with", "Choose the engine to compare with.", Place.COMPARE, True
    ),
    Action("compare.add", "A", "add_other", "add", "Add a further engine, up to four in all.", Place.COMPARE),
    Action("compare.sort", "s", "choose_sort", "sort", "Choose what blocks are ordered by.", Place.COMPARE, True),
    Action("compare.reverse", "S,r", "reverse", "reverse", "Turn the order round.", Place.COMPARE),
    Action(
        "compare.changed", "d", "only_changed", "changed", "Show only blocks that changed in more than time, or all.",
        Place.COMPARE, True, spare=True,
    ),
    Action(
        "compare.swap", "x", "swap", "swap", "Make the other engine the baseline, A; of several, choose.",
        Place.COMPARE, True, spare=True,
    ),
    Action(
        "compare.matrix", "t", "next_matrix", "totals", "Sum up by kind, by precision, by module.", Place.COMPARE, True,
        spare=True,
    ),
    Action(
        "compare.block", "v", "tell_block", "block", "Tell all about the block under the cursor, or about the whole.",
        Place.COMPARE, True, spare=True,
    ),
    Action("compare.align", "a", "choose_align", "align", "Choose the evidence that may match layers.", Place.COMPARE),
    Action(
        "compare.pin", "m", "pin", "pin", "Pin a layer; on one of another engine, match the two by hand.", Place.COMPARE
    ),
    Action(
        "compare.unpin", "M", "unpin", "unpin", "Take back the pins of the block, or else the last one.", Place.COMPARE
    ),
    Action("compare.per_batch", "b", "per_batch", "per sample", "Times per sample, or per inference.", Place.COMPARE),
    Action("compare.zoom", "z", "zoom", "zoom", "Give the whole room to this pane, or take it back.", Place.COMPARE),
    Action("blocks.expand", "l,right", "expand", "expand", "Show the layers of the block.", Place.BLOCKS),
    Action("blocks.collapse", "h,left", "collapse", "collapse", "Hide them, or go to the block.", Place.BLOCKS),
    Action("blocks.expand_all", "E", "expand_all", "expand all", "Show the layers of all blocks.", Place.BLOCKS),
    Action("blocks.collapse_all", "C", "collapse_all", "collapse all", "Hide the layers of all blocks.", Place.BLOCKS),
    Action("app.help", "question_mark,f1", "help", "help", "Show the keys that work here.", Place.EVERYWHERE, True),
    Action(
        "app.palette", "ctrl+p,colon", "command_palette", "find", "Find a command, a theme or a layer by name.",
        Place.EVERYWHERE, True,
    ),
    Action(
        "app.open", "o", "open_path", "open", "Open another engine, by its path or from those opened lately.",
        Place.EVERYWHERE,
    ),
    Action(
        "app.export", "e", "export", "export", "Export what is shown: CSV, JSON, Markdown, or SVG of the screen.",
        Place.EVERYWHERE, True, spare=1,
    ),
    Action("app.close", "q", "close", "quit", "Quit.", Place.EVERYWHERE, True),
    Action(
        "app.quit", "ctrl+c,ctrl+q", "quit", "quit at once", "Quit, from everywhere.", Place.EVERYWHERE, priority=True
    ),
    Action(
        "app.suspend", "ctrl+z", "suspend_process", "suspend", "Suspend to the shell.", Place.EVERYWHERE, priority=True
    ),
    *(
        Action(f"engine.{tab.id}", str(digit), f"show('{tab.id}')", tab.title.lower(), tab.help, Place.ENGINE)
        for digit, tab in enumerate(TABS, start=1)
    ),
    Action(
        "engine.filter", "slash", "filter", "filter", "Show only layers that match: words, kind:gemm, pct>2, -word.",
        Place.ENGINE, True, priority=True,
    ),
    Action("engine.clear", "escape", "clear", "clear", "Clear the filter; then the marks.", Place.ENGINE, True),
    Action(
        "engine.copy", "y", "copy_name", "copy", "Copy the name of the layer, or of those marked, over SSH too.",
        Place.ENGINE, True, spare=1,
    ),
    Action(
        "engine.copy_json", "Y", "copy_json", "copy as JSON", "Copy the layer, or those marked, as JSON.", Place.ENGINE
    ),
    Action(
        "engine.explain", "i", "explain", "explain", "Explain a number: definition, unit, formula, source.",
        Place.ENGINE, True, spare=1,
    ),
    Action(
        "engine.capture", "P", "capture", "measure again", "Measure the engine once more with trtexec here, after asking.",
        Place.ENGINE,
    ),
    Action("engine.reload", "R", "reload", "reload", "Read the files again.", Place.ENGINE),
    Action(
        "engine.producer", "left_square_bracket", "producer", "producer",
        "Go to the layer that feeds this one; with several, choose.", Place.ENGINE,
    ),
    Action(
        "engine.consumer", "right_square_bracket", "consumer", "consumer",
        "Go to the layer that this one feeds; with several, choose.", Place.ENGINE,
    ),
    Action("engine.trail_back", "minus", "trail_back", "where I was", "Go back to the layer I was on.", Place.ENGINE),
    Action(
        "engine.trail_forward", "plus,alt+right", "trail_forward", "forward", "Go forward again.", Place.ENGINE
    ),
    Action("engine.notes", "exclamation_mark", "notes", "notes", "What was wrong with the files.", Place.ENGINE),
    Action(
        "engine.back", "q,ctrl+o", "back", "engines", "Go back to the list of engines, if there is one.",
        Place.ENGINE, True, overrides="app.close",
    ),
    Action("engine.next_pane", "tab", "app.focus_next", "next pane", "Go to the next pane.", Place.ENGINE),
    Action(
        "engine.previous_pane", "shift+tab", "app.focus_previous", "previous pane", "Go to the previous pane.",
        Place.ENGINE,
    ),
    Action(
        "engines.notes", "exclamation_mark", "notes", "notes", "Which files were of no use, and why.",
        Place.ENGINES, True,
    ),
    Action(
        "engines.mark", "space", "mark", "mark", "Mark the engine to compare it, or take the mark away.",
        Place.ENGINES, True,
    ),
    Action(
        "engines.compare", "equals_sign", "compare", "compare", "Compare the marked engines with the one marked first.",
        Place.ENGINES, True,
    ),
    Action("engines.reload", "R", "reload", "reload", "Look for engines again, and read them.", Place.ENGINES),
    Action(
        "loading.cancel", "escape,q", "cancel", "cancel", "Stop reading: go back, or quit where nothing is open.",
        Place.LOADING, True, overrides="app.close",
    ),
    Action("dialog.close", "escape,q", "dismiss_dialog", "close", "Close the window.", Place.DIALOG, True),
    _movement("table.cursor_down", "j,down", "A line down."),
    _movement("table.cursor_up", "k,up", "A line up."),
    _movement("table.first", "g,home", "The first line."),
    _movement("table.last", "G,end", "The last line."),
    _movement("table.half_page_down", "ctrl+d", "Half a page down."),
    _movement("table.half_page_up", "ctrl+u", "Half a page up."),
    _movement("table.page_down", "pagedown", "A page down."),
    _movement("table.page_up", "pageup", "A page up."),
    _movement("table.select", "enter", "Go into it: open, expand, or show its details."),
    Action(
        "overview.zoom", "z", "zoom", "zoom", "Give the whole room to the facts, or show the hottest layers again.",
        Place.OVERVIEW, True,
    ),
    Action(
        "layers.group", "t", "next_grouping", "group", "Group by module, kind, precision, ONNX node, stream, or not.",
        Place.LAYERS, True,
    ),
    Action("layers.choose_group", "T", "choose_grouping", "group by", "Choose what to group by.", Place.LAYERS),
    Action("layers.order", "s", "toggle_order", "order", "Order by execution or by time.", Place.LAYERS, True),
    Action("layers.zoom", "z", "zoom", "zoom", "Give the whole room to this pane, or take it back.", Place.LAYERS),
    Action(
        "layers.neighbourhood", "v", "neighbourhood", "neighbours",
        "Show the layer between its producers and consumers, or its details.", Place.LAYERS, True, spare=1,
    ),
    Action(
        "layers.deeper", "greater_than_sign", "deeper(1)", "deeper", "Among its neighbours: follow one link more.",
        Place.LAYERS,
    ),
    Action(
        "layers.shallower", "less_than_sign", "deeper(-1)", "shallower", "Among its neighbours: follow one link less.",
        Place.LAYERS,
    ),
    Action("details.next_link", "l,right", "next_link(1)", "next link", "Choose the next layer named.", Place.DETAILS),
    Action(
        "details.previous_link", "h,left", "next_link(-1)", "previous link", "Choose the layer named before.", Place.DETAILS
    ),
    Action("neighbourhood.right", "l,right", "step(0, 1)", "right", "The box to the right.", Place.NEIGHBOURHOOD),
    Action("neighbourhood.left", "h,left", "step(0, -1)", "left", "The box to the left.", Place.NEIGHBOURHOOD),
    Action("tree.expand", "l,right", "expand", "expand", "Expand, or go to the first below.", Place.TREE),
    Action("tree.collapse", "h,left", "collapse", "collapse", "Collapse, or go to the parent.", Place.TREE),
    Action("tree.expand_all", "E", "expand_all", "expand all", "Expand everything.", Place.TREE),
    Action("tree.collapse_all", "C", "collapse_all", "collapse all", "Collapse everything.", Place.TREE),
    Action("latency.sort", "s", "choose_sort", "sort", "Choose the column to sort by.", Place.LATENCY, True),
    Action("latency.reverse", "S,r", "reverse", "reverse", "Turn the order round.", Place.LATENCY, True),
    Action(
        "latency.then_by", "a", "then_by", "then by", "Choose a further column, which decides where the others tie.",
        Place.LATENCY,
    ),
    Action(
        "latency.columns", "c", "choose_columns", "columns", "Choose the columns, and their order.", Place.LATENCY, True,
        spare=1,
    ),
    Action(
        "latency.mark", "space", "mark", "mark", "Mark the layer, for copy, export and sum, or take the mark away.",
        Place.LATENCY,
    ),
    Action("charts.next", "n,right", "next_chart", "next", "The next chart.", Place.CHARTS, True),
    Action(
        "charts.previous", "p,left", "previous_chart", "previous", "The chart before.", Place.CHARTS, True, spare=2
    ),
    Action(
        "charts.choose", "c", "choose_chart", "charts", "Choose a chart by what it answers.", Place.CHARTS, True, spare=3
    ),
    Action(
        "charts.axes", "t", "turn_axes", "axes", "Show the next two of M, N and K against each other.", Place.CHARTS, True
    ),
    Action("charts.zoom", "z", "zoom", "zoom", "Give the whole room to the chart, or take it back.", Place.CHARTS),
    Action("memory.sort", "s", "choose_sort", "sort", "Choose the column to sort by.", Place.MEMORY, True),
    Action("memory.reverse", "S,r", "reverse", "reverse", "Turn the order round.", Place.MEMORY, True),
    Action(
        "memory.peak", "p", "go_to_peak", "peak", "Go to the layer at which most memory is live.", Place.MEMORY, True
    ),
    Action("memory.zoom", "z", "zoom", "zoom", "Give the whole room to this pane, or take it back.", Place.MEMORY),
    Action("lint.order", "s", "toggle_order", "order", "Order by severity, or by what is at stake.", Place.LINT, True),
    Action(
        "lint.next_layer", "n", "step_layer(1)", "next layer", "Go to the next layer of the finding; other screens follow.",
        Place.LINT, True,
    ),
    Action("lint.previous_layer", "N", "step_layer(-1)", "previous layer", "Go to the layer before.", Place.LINT),
    Action("lint.rule", "c", "choose_rule", "rule", "Show the findings of one rule only, or of all.", Place.LINT, True),
    Action(
        "lint.suppress", "x", "suppress", "leave out", "Leave the finding out, with a reason; nothing is written yet.",
        Place.LINT, True, spare=True,
    ),
    Action(
        "lint.write", "W", "screen.write_suppressions", "write",
        "Write what was left out into trex-tui.toml, after asking.", Place.LINT,
    ),
    Action("lint.zoom", "z", "zoom", "zoom", "Give the whole room to this pane, or take it back.", Place.LINT),
    Action(
        "build.view", "t", "next_view", "view", "Show phases, passes, layers, memory, strategies, or warnings.",
        Place.BUILD, True,
    ),
    Action("build.choose_view", "T", "choose_view", "views", "Choose what to show of the build.", Place.BUILD),
    Action("build.sort", "s", "choose_sort", "sort", "Choose the column to sort by.", Place.BUILD, True),
    Action("build.reverse", "S,r", "reverse", "reverse", "Turn the order round.", Place.BUILD),
    Action(
        "build.into", "l", "go_into", "into",
        "Go to the layer of the engine that was tuned; expand a pass or a strategy.", Place.BUILD, True, spare=True,
    ),
    Action(
        "build.out", "h", "go_out", "back", "Go back from tactics to the layers; collapse, or go to the parent.",
        Place.BUILD, True, spare=True,
    ),
    Action(
        "build.leave", "escape", "leave_tactics", "back", "Go back from the tactics to the layers.", Place.BUILD,
        overrides="engine.clear",
    ),
    Action("build.expand_all", "E", "expand_all", "expand all", "Expand everything.", Place.BUILD),
    Action("build.collapse_all", "C", "collapse_all", "collapse all", "Collapse everything.", Place.BUILD),
    Action(
        "build.explain", "i", "explain_build", "explain", "Explain a column, and where its numbers come from.",
        Place.BUILD, overrides="engine.explain",
    ),
    Action("build.zoom", "z", "zoom", "zoom", "Give the whole room to this pane, or take it back.", Place.BUILD),
    Action(
        "table.column_left", "left", "column_left", "column left", "Choose the column to the left.", Place.LATENCY,
        bound_by_widget=True,
    ),
    Action(
        "table.column_right", "right", "column_right", "column right", "Choose the column to the right.",
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
    "left_square_bracket": "[",
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
    """The keys of an action as people write them: `j ↓`, `Ctrl-d`."""
    return " ".join(map(_one_label, keys.split(",")))


def _one_label(key: str) -> str:
    if key in _KEY_NAMES:
        return _KEY_NAMES[key]
    return f"Ctrl-{key.removeprefix('ctrl+')}" if key.startswith("ctrl+") else key


def keys_table(places: Iterable[Place] = Place) -> list[tuple[str, str, str]]:
    """Heading, keys and sentence of every action, for help and README."""
    return [
        (place.value, key_label(action.keys), action.help)
        for place in places
        for action in ACTIONS
        if action.place is place
    ]


def bindings_in(*places: Place) -> list[BindingType]:
    """The bindings of some places, without those that widgets bind themselves."""
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
