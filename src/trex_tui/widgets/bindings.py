"""Textual bindings out of the table of actions."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from trex_tui.widgets.actions import Place, actions_in


def bindings_in(*places: Place) -> list[BindingType]:
    """The bindings of some places, without those that widgets bind themselves."""
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
