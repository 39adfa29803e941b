"""`trex-tui keys`, and the tables of docs/screens.md."""

from __future__ import annotations

import json
import re

import pytest

from helpers import REPOSITORY
from trex_tui.old.cli import main
from trex_tui.old.cli.explore import KEYS_SCHEMA, keys_document, keys_markdown, keys_text
from trex_tui.old.widgets.actions import ACTIONS, key_label


@pytest.mark.parametrize(
    ("form", "wanted"),
    [([], keys_text()), (["--format", "text"], keys_text()), (["--format", "md"], keys_markdown())],
)
def test_command_prints_the_table(capsys, form, wanted):
    assert main(["keys", *form]) == 0
    captured = capsys.readouterr()
    assert captured.out == wanted
    assert captured.err == ""


def test_json_has_every_action_with_its_stable_name(capsys):
    assert main(["keys", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == keys_document()
    assert document["schema"] == KEYS_SCHEMA
    found = {one["id"]: one for one in document["keys"]}
    assert set(found) == {action.id for action in ACTIONS}
    for action in ACTIONS:
        assert " ".join(found[action.id]["keys"]) == key_label(action.keys)
        assert found[action.id]["help"] == action.help


def test_text_has_every_sentence_under_its_heading():
    for action in ACTIONS:
        assert action.help in keys_text()
        assert f"\n{action.place.value}\n" in f"\n{keys_text()}"


def test_docs_have_the_keys_of_every_place():
    screens = (REPOSITORY / "docs" / "screens.md").read_text(encoding="utf-8")
    places = set(re.findall(r"<!-- made: keys ([^>]*) -->", screens))
    assert places == {action.place.value for action in ACTIONS}
