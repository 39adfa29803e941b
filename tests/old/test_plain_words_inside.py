"""Words that key help, glossary, README, docs and docstrings do not use; see the language rules of the project."""

from __future__ import annotations

from test_plain_words import STILTED
from trex_tui.old.widgets.actions import ACTIONS


def test_key_help_is_plain():
    assert [action.id for action in ACTIONS if STILTED.search(action.help.lower())] == []
