"""`trex-tui keys`, and the table in the README that is made from it. UPDATE_GOLDENS=1 writes the README's anew."""

from __future__ import annotations

import json
import os
import re

import pytest

from helpers import REPOSITORY
from trex_tui.cli import main
from trex_tui.cli.explore import KEYS_SCHEMA, keys_document, keys_markdown, keys_text
from trex_tui.widgets.actions import ACTIONS, key_label

README = REPOSITORY / "README.md"
MARKED = re.compile(r"(<!-- keys: [^>]*-->\n)(.*?)(<!-- /keys -->)", re.DOTALL)


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


def test_readme_has_the_table():
    text = README.read_text(encoding="utf-8")
    found = MARKED.search(text)
    assert found is not None
    wanted = f"\n{keys_markdown()}\n"
    if os.environ.get("UPDATE_GOLDENS"):
        README.write_text(MARKED.sub(lambda match: match[1] + wanted + match[3], text), encoding="utf-8")
    else:
        assert found[2] == wanted
