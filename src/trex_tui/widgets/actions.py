"""Every key, once: bindings, footer, palette, `?` and the documentation are made from this table.

A new key is a line here and a method `action_NAME` of the class of its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textual.binding import Binding, BindingType


class Tab(NamedTuple):
    """A tab of an engine; its digit is its place in `TABS`."""

    id: str
    title: str
    tooltip: str
    words: str = ""


TABS = (
    Tab("overview", "Overview", "Engine at a glance: performance, what dominates, findings.", "summary plan info"),
    Tab("layers", "Layers", "Layer tree with the details of a layer.", "tree module details tactic kernel"),
    Tab("latency", "Latency", "Sortable table of the layers.", "table slowest hottest profile"),
    Tab("charts", "Charts", "Charts of the run and of the layers.", "histogram roofline percentiles plot"),
    Tab("memory", "Memory", "Weights, activations and their lifetimes.", "weights activations bytes"),
    Tab("lint", "Lint", "Findings, possible savings and remedies.", "problems findings rules savings"),
    Tab("build", "Build", "Build log: phases, passes, tactics, memory, messages.", "log builder tactics passes"),
    Tab("compare", "Compare", "Engines side by side, block by block.", "diff side by side A/B baseline"),
)  # fmt: skip

APP, ENGINE, ENGINES, MOVE, TREE, TEXT, GRAPH, DIALOG = (
    "app",
    "engine",
    "engines",
    "move",
    "tree",
    "text",
    "graph",
    "dialog",
)
PLACES = {
    APP: "Everywhere",
    ENGINE: "Engine",
    **{tab.id: tab.title for tab in TABS},
    TREE: "Trees",
    TEXT: "Texts and details",
    GRAPH: "Neighbours of a layer",
    MOVE: "Tables",
    ENGINES: "List of engines",
    DIALOG: "Windows",
}
"""Place where keys work -> heading in the help. A tab's keys work while the focus is in the tab."""
NEVER, LAST, SOMETIMES, OFTEN, ALWAYS = range(5)
"""Value of a key in the footer: those of small value leave first where it is narrow."""


class Action(NamedTuple):
    """A key and what it does.

    Attributes:
        keys: Textual's names, separated by commas; empty for the palette alone.
        action: Name of the method without `action_`, with arguments.
        title: For the footer and the palette: a verb or noun, at most three words.
        tooltip: One sentence in the imperative.
        place: Where it works: `app`, `engine` (every tab), the id of a tab, …
        value: In the footer.
        words: Synonyms that the palette finds.
        is_priority: It works before the widget with the focus sees the key.
    """

    keys: str
    action: str
    title: str
    tooltip: str
    place: str
    value: int = NEVER
    words: str = ""
    is_priority: bool = False

    @property
    def id(self) -> str:
        """Name in key maps, and in the map from bindings to actions."""
        return f"{self.place}.{self.action.partition('(')[0].replace('.', '_')}.{self.keys.partition(',')[0].replace('+', '_')}"


ACTIONS = (
    # Latency
    Action("s", "choose_sort", "sort", "Choose the sort column.", "latency", OFTEN, "order by"),
    Action("r,S", "reverse_sort", "reverse", "Reverse the sort.", "latency", SOMETIMES),
    Action("c", "choose_columns", "columns", "Choose the columns and their order.", "latency", OFTEN, "show hide fields"),
    Action("a", "then_by", "then by", "Add a secondary sort column.", "latency", LAST),
    # Layers
    Action("t", "next_grouping", "group", "Group by module, kind, precision, ONNX node, bound, stream, or not.", "layers", OFTEN, "tree"),
    Action("T", "choose_grouping", "group by", "Choose the grouping.", "layers"),
    Action("s", "toggle_sort", "sort", "Toggle sort: execution order or time.", "layers", SOMETIMES),
    Action("v", "toggle_neighbours", "neighbours", "Toggle details and neighbours (sandwich).", "layers", OFTEN, "sandwich producers consumers graph"),
    # Overview
    Action("a", "toggle_all", "all options", "Show or hide options at their default.", "overview", OFTEN, "unfold builder settings"),
    # Charts
    Action("n", "next_chart(1)", "next", "Next chart.", "charts", OFTEN),
    Action("p", "next_chart(-1)", "previous", "Previous chart.", "charts", OFTEN),
    Action("c", "choose_chart", "charts", "Choose a chart.", "charts", SOMETIMES, "plot histogram roofline"),
    Action("v", "choose_axis('y')", "value", "Choose the column that is drawn.", "charts", SOMETIMES, "axis y"),
    Action("x", "choose_axis('x')", "x axis", "Choose the column of the x axis.", "charts", LAST, "axis"),
    Action("C", "choose_axis('color')", "color", "Choose the column that colors tell apart.", "charts", LAST),
    Action("L", "toggle_log", "log axes", "Toggle logarithmic axes.", "charts", LAST, "scale linear"),
    # Memory
    Action("s", "choose_sort", "sort", "Choose the sort column.", "memory", OFTEN, "order by"),
    Action("r,S", "reverse_sort", "reverse", "Reverse the sort.", "memory", LAST),
    Action("p", "go_to_peak", "peak", "Go to the layer where most activations are live.", "memory", OFTEN, "maximum live"),
    # Lint
    Action("s", "toggle_sort", "sort", "Toggle sort: severity or saving.", "lint", OFTEN, "order by"),
    Action("t", "toggle_reformats", "reformats", "Toggle findings and reformats.", "lint", OFTEN, "layout conversion copies"),
    Action("c", "choose_rule", "rule", "Show the findings of one rule.", "lint", OFTEN, "filter family"),
    Action("x", "suppress", "suppress", "Suppress the finding in trex-tui.toml.", "lint", SOMETIMES, "ignore accept"),
    Action("n", "next_layer(1)", "next layer", "Go through the layers of the finding.", "lint", SOMETIMES),
    Action("N", "next_layer(-1)", "previous layer", "Go back through the layers of the finding.", "lint"),
    # Build
    Action("t", "next_view(1)", "view", "Next view of the build.", "build", OFTEN, "phases passes tactics memory strategies messages"),
    Action("T", "next_view(-1)", "previous view", "Previous view of the build.", "build"),
    Action("s", "choose_sort", "sort", "Choose the sort column.", "build", SOMETIMES, "order by"),
    Action("r,S", "reverse_sort", "reverse", "Reverse the sort.", "build", LAST),
    Action("o", "open_log", "log", "Open the log at this line in $PAGER.", "build", OFTEN, "less pager file line"),
    Action("escape,h,left", "leave_layer", "back", "Go back to the layers.", "build", SOMETIMES),
    # Compare
    Action("L", "switch_view", "side by side", "Show the engines side by side, or the blocks as a list by difference.", "compare", OFTEN, "diff A/B lanes ranked list"),
    Action("v", "toggle_causes", "causes", "Show or hide the causes of the difference, which add up, evidence and cautions.", "compare", OFTEN, "why reasons verdict evidence cautions totals"),
    Action("d", "toggle_changed", "changed", "Show only what changed, or all.", "compare", OFTEN, "difference equal same"),
    Action("x", "swap", "swap", "Swap A and B: choose the baseline.", "compare", OFTEN, "baseline exchange"),
    Action("n", "next_change(1)", "next change", "Go to the next change.", "compare", SOMETIMES, "difference"),
    Action("N", "next_change(-1)", "previous change", "Go to the previous change.", "compare"),
    Action("c", "choose_other", "compare", "Choose an engine to compare with.", "compare", OFTEN, "diff side by side A/B with other"),
    Action("A", "add_other", "add engine", "Add an engine: four at most.", "compare", NEVER, "third fourth"),
    Action("s", "choose_sort", "sort", "Choose the sort column: difference, execution, time.", "compare", SOMETIMES, "order by"),
    Action("r,S", "reverse_sort", "reverse", "Reverse the sort.", "compare", LAST),
    Action("b", "per_sample", "per sample", "Times per sample, or per inference.", "compare", NEVER, "batch"),
    # Trees
    Action("l,right", "expand", "expand", "Expand, or go to the first child.", TREE),
    Action("h,left", "collapse", "collapse", "Collapse, or go to the parent.", TREE),
    Action("E", "expand_all", "expand all", "Expand all.", TREE),
    Action("C", "collapse_all", "collapse all", "Collapse all.", TREE),
    # Texts
    Action("l,right", "next_link", "next link", "Go to the next link.", TEXT, LAST),
    Action("h,left", "previous_link", "previous link", "Go to the previous link.", TEXT),
    Action("enter", "follow", "go to", "Follow the link.", TEXT, LAST),
    # Neighbours
    Action("l,right", "beside(1)", "right", "Go to the box on the right.", GRAPH),
    Action("h,left", "beside(-1)", "left", "Go to the box on the left.", GRAPH),
    Action("j,down", "across(1)", "down", "Go to the consumers.", GRAPH),
    Action("k,up", "across(-1)", "up", "Go to the producers.", GRAPH),
    Action("enter", "open", "go to", "Go to the layer of the box.", GRAPH, LAST),
    # Tables
    Action("j,down", "move(1)", "down", "Down one row.", MOVE),
    Action("k,up", "move(-1)", "up", "Up one row.", MOVE),
    Action("g,home", "jump(0)", "first", "Go to the first row.", MOVE),
    Action("G,end", "jump(-1)", "last", "Go to the last row.", MOVE),
    Action("ctrl+d", "page(0.5)", "half page down", "Down half a page.", MOVE),
    Action("ctrl+u", "page(-0.5)", "half page up", "Up half a page.", MOVE),
    Action("ctrl+f,pagedown", "page(1)", "page down", "Down one page.", MOVE),
    Action("ctrl+b,pageup", "page(-1)", "page up", "Up one page.", MOVE),
    Action("enter", "choose", "open", "Open, expand or show details.", MOVE, SOMETIMES),
    # Every tab of an engine
    Action("slash", "filter", "filter", "Filter layers: words, kind:gemm, pct>2, -word.", ENGINE, ALWAYS, "search find grep"),
    Action("f", "search", "find", "Find a word in this list; all rows stay.", ENGINE, LAST, "search"),
    Action("n", "next_match(1)", "next match", "Go to the next match.", ENGINE),
    Action("N", "next_match(-1)", "previous match", "Go to the previous match.", ENGINE),
    Action("escape", "escape", "back", "Clear the filter, then the marks, then go back.", ENGINE, SOMETIMES),
    Action("minus", "back", "back", "Go back: tab, layer, filter, scroll position.", ENGINE),
    Action("plus", "forward", "forward", "Go forward again.", ENGINE),
    Action("left_square_bracket", "producer", "producer", "Go to a producer of the layer.", ENGINE, LAST, "input upstream"),
    Action("right_square_bracket", "consumer", "consumer", "Go to a consumer of the layer.", ENGINE, LAST, "output downstream"),
    Action("J", "by_time(1)", "faster layer", "Go to the next layer by time.", ENGINE),
    Action("K", "by_time(-1)", "slower layer", "Go to the previous layer by time.", ENGINE),
    Action("space", "mark", "mark", "Mark or unmark the row for copy and export.", ENGINE, LAST, "select"),
    Action("z", "zoom", "zoom", "Zoom the pane, or show all again.", ENGINE, LAST, "maximize"),
    Action("y", "copy", "copy", "Copy names: marked or current (works over SSH).", ENGINE, SOMETIMES, "clipboard yank"),
    Action("Y", "copy_json", "copy as JSON", "Copy rows as JSON: marked or current.", ENGINE, NEVER, "clipboard"),
    Action("e", "export", "export", "Write this view to a file: CSV, JSON, Markdown, HTML …", ENGINE, SOMETIMES, "save write csv json markdown"),
    Action("i", "explain", "explain", "Explain the numbers: value, unit, formula, file.", ENGINE, SOMETIMES, "what means definition"),
    Action("u", "choose_run", "run", "Choose a run or an optimization profile.", ENGINE, LAST, "profile"),
    Action("R", "reload", "reload", "Read the files again.", ENGINE, NEVER, "refresh"),
    Action("", "reset_views", "reset views", "Forget chosen columns and groupings.", ENGINE, NEVER, "default usual"),
    Action("exclamation_mark", "notes", "notes", "Show damage and doubts of the files.", ENGINE, NEVER, "errors warnings problems"),
    Action("tab", "app.focus_next", "next pane", "Go to the next pane.", ENGINE, LAST),
    Action("shift+tab", "app.focus_previous", "previous pane", "Go to the previous pane.", ENGINE),
    Action("q,ctrl+o", "close", "close", "Go back to the list of engines, or quit.", ENGINE, ALWAYS, "leave exit quit engines list"),
    *(Action(str(digit), f"show('{tab.id}')", tab.title, tab.tooltip, ENGINE, NEVER, tab.words)
      for digit, tab in enumerate(TABS, start=1)),
    # List of engines
    Action("space", "mark", "mark", "Mark or unmark the engine for a comparison.", ENGINES, OFTEN, "select"),
    Action("equals_sign", "compare", "compare", "Compare the marked engines side by side.", ENGINES, OFTEN, "diff side by side A/B"),
    Action("slash", "filter", "filter", "Filter engines: words, device:orin, p99<5.", ENGINES, ALWAYS, "search find grep"),
    Action("s", "choose_sort", "sort", "Choose the sort column.", ENGINES, OFTEN, "order by"),
    Action("r,S", "reverse_sort", "reverse", "Reverse the sort.", ENGINES, LAST),
    Action("c", "choose_columns", "columns", "Choose the columns and their order.", ENGINES, SOMETIMES, "show hide fields"),
    Action("escape", "escape", "clear", "Clear the filter, then the marks.", ENGINES, SOMETIMES),
    Action("y", "copy", "copy", "Copy names: marked or current (works over SSH).", ENGINES, SOMETIMES, "clipboard yank"),
    Action("Y", "copy_json", "copy as JSON", "Copy rows as JSON: marked or current.", ENGINES, NEVER, "clipboard"),
    Action("e", "export", "export", "Write the list to a file: CSV, JSON, Markdown, HTML …", ENGINES, SOMETIMES, "save write csv json"),
    Action("i", "explain", "explain", "Explain the numbers: value, unit, formula.", ENGINES, SOMETIMES, "what means definition"),
    Action("R", "reload", "reload", "Read the files again.", ENGINES, NEVER, "refresh"),
    Action("exclamation_mark", "notes", "notes", "Show damage and doubts of the files.", ENGINES, NEVER, "errors warnings problems"),
    # Dialogs
    Action("escape,q", "cancel", "close", "Close this window.", DIALOG, ALWAYS),
    # Everywhere
    Action("question_mark,f1", "help", "help", "Show the keys; type to filter, Enter runs one.", APP, ALWAYS, "keys shortcuts"),
    Action("ctrl+p,colon", "command_palette", "palette", "Find a command, a tab or a layer; :123 goes to layer 123.", APP, ALWAYS),
    Action("o", "open", "open", "Open another path.", APP, NEVER, "file directory"),
    Action("q", "quit", "quit", "Quit.", APP, ALWAYS, "exit leave"),
    Action("ctrl+c,ctrl+q", "quit", "quit at once", "Quit at once.", APP, NEVER, "exit", is_priority=True),
    Action("ctrl+l", "redraw", "redraw", "Draw the screen again.", APP),
    Action("ctrl+z", "suspend_process", "suspend", "Suspend to the shell.", APP, NEVER, is_priority=True),
)  # fmt: skip
BY_ID = {action.id: action for action in ACTIONS}


def bindings(*places: str) -> list[BindingType]:
    """Return the bindings of places, for the `BINDINGS` of a class."""
    return [
        Binding(
            action.keys,
            action.action,
            action.title,
            show=action.value > NEVER,
            tooltip=action.tooltip,
            id=action.id,
            priority=action.is_priority,
        )
        for action in ACTIONS
        if action.place in places and action.keys
    ]


_KEY_NAMES = {
    "question_mark": "?", "slash": "/", "colon": ":", "exclamation_mark": "!", "escape": "Esc", "space": "Space",
    "left_square_bracket": "[", "right_square_bracket": "]", "minus": "-", "plus": "+", "equals_sign": "=",
    "enter": "Enter", "tab": "Tab", "shift+tab": "Shift-Tab", "up": "↑", "down": "↓", "left": "←", "right": "→",
    "home": "Home", "end": "End", "pageup": "PgUp", "pagedown": "PgDn", "f1": "F1",
}  # fmt: skip


def spell_keys(keys: str) -> str:
    """Return the keys of an action as people write them: `j ↓`, `Ctrl-d`."""
    return (
        " ".join(_KEY_NAMES.get(key, key.replace("ctrl+", "Ctrl-")) for key in keys.split(","))
        if keys
        else ":"
    )


def keys_table() -> Iterator[tuple[str, str, str]]:
    """Yield heading, keys and sentence of every action, by place: for help and documentation."""
    for place, heading in PLACES.items():
        for action in ACTIONS:
            if action.place == place:
                yield heading, spell_keys(action.keys), action.tooltip
