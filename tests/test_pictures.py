"""The pictures of the documentation show their tabs."""

from __future__ import annotations

from html import unescape

import pytest

import make_pictures
from helpers import REPOSITORY


@pytest.mark.parametrize("name", make_pictures.PICTURES)
def test_a_picture_shows_its_tab(name: str) -> None:
    text = unescape((REPOSITORY / "docs/pictures" / f"{name}.svg").read_text(encoding="utf-8"))
    assert make_pictures.PICTURES[name][3] in text.replace("\xa0", " ")


def test_every_picture_is_known() -> None:
    assert {path.stem for path in (REPOSITORY / "docs/pictures").glob("*.svg")} == set(make_pictures.PICTURES)
