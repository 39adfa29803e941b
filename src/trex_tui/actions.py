"""Every key, once: bindings, footer, help and the README's table are made from this list.

Movement is bound by the widgets that scroll; it is listed here too, marked as such, so that help is complete and a test can
find clashes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Place(str, Enum):
    """Where a key works. The values are headings of the help."""

    EVERYWHERE = "Everywhere"
    ENGINE = "Engine"
    MOVE = "Lists, tables and texts"
    LAYERS = "Layers"
    TREE = "Tree of layers"
    LATENCY = "Latency"
    ENGINES = "List of engines"
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
    Tab("layers", "Layers", "The layers as a tree.", (Place.LAYERS, Place.TREE)),
    Tab("latency", "Latency", "The layers as a table.", (Place.LATENCY,)),
)
"""In the order of their digits."""


ACTIONS: tuple[Action, ...] = (
    Action("app.help", "question_mark,f1", "help", "help", "Show the keys that work here.", Place.EVERYWHERE, True),
    Action(
        "app.palette", "ctrl+p,colon", "command_palette", "find", "Find a command, a theme or a layer by name.",
        Place.EVERYWHERE, True,
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
        "engine.filter", "slash", "filter", "filter", "Show only layers whose name has all these words; -word leaves out.",
        Place.ENGINE, True, priority=True,
    ),
    Action("engine.clear", "escape", "clear", "clear", "Clear the filter.", Place.ENGINE, True),
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
        "layers.group", "t", "next_grouping", "group", "Group by module, kind, precision, or not at all.",
        Place.LAYERS, True,
    ),
    Action("layers.order", "s", "toggle_order", "order", "Order by execution or by time.", Place.LAYERS, True),
    Action("layers.zoom", "z", "zoom", "zoom", "Give the whole room to this pane, or take it back.", Place.LAYERS),
    Action("tree.expand", "l,right", "expand", "expand", "Expand, or go to the first below.", Place.TREE),
    Action("tree.collapse", "h,left", "collapse", "collapse", "Collapse, or go to the parent.", Place.TREE),
    Action("tree.expand_all", "E", "expand_all", "expand all", "Expand everything.", Place.TREE),
    Action("tree.collapse_all", "C", "collapse_all", "collapse all", "Collapse everything.", Place.TREE),
    Action("latency.sort", "s", "choose_sort", "sort", "Choose the column to sort by.", Place.LATENCY, True),
    Action("latency.reverse", "S,r", "reverse", "reverse", "Turn the order round.", Place.LATENCY, True),
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
