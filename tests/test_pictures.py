"""The pictures of the documentation show their screens."""

from __future__ import annotations

from html import unescape

import pytest

from helpers import REPOSITORY

SHOWN = {
    "overview": "Hottest layers",
    "latency": "3 Latency",
    "layers": "2 Layers",
    "engines": "5 engines",
    "lint": "6 Lint",
    "compare": "8 Compare",
    "lanes": "─≠─",
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_shows_its_screen(name):
    text = unescape((REPOSITORY / "docs/pictures" / f"{name}.svg").read_text(encoding="utf-8"))
    text = text.replace("\xa0", " ")
    assert SHOWN[name] in text
    assert "Make it larger" not in text


def test_every_picture_is_known():
    assert {path.stem for path in (REPOSITORY / "docs/pictures").glob("*.svg")} == set(SHOWN)
