"""The tour, walked: the keys of docs/tour.md in their order, and what is bold there looked for on the screen."""

from __future__ import annotations

import re

from tui import LARGE, running

from helpers import OLD_SAMPLES, REPOSITORY

TOUR = (REPOSITORY / "docs" / "tour.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\d+\. (.*?)(?=^\d+\. |^## )", re.MULTILINE | re.DOTALL)
TOKEN = re.compile(r"`(?P<key>[^`]+)`|\*\*(?P<word>[^*]+)\*\*|“(?P<typed>[^”]+)”")
OTHER = re.compile(r"Other\s+things to type: .*")
NAMED = {
    "Esc": "escape",
    "Enter": "enter",
    "/": "slash",
    "?": "question_mark",
    "[": "left_square_bracket",
    "]": "right_square_bracket",
    "-": "minus",
}


async def test_the_tour_can_be_walked():
    steps = STEP.findall(TOUR)
    assert len(steps) >= 10
    seen = pressed = 0
    async with running(OLD_SAMPLES / "alexnet", LARGE, tab="overview") as session:
        for step in steps:
            for token in TOKEN.finditer(OTHER.sub("", step)):
                if token["word"]:
                    await session.until(lambda word=token["word"]: word in session.text, token["word"])
                    seen += 1
                elif token["typed"]:
                    await session.press(*token["typed"])
                else:
                    await session.press(NAMED.get(token["key"], token["key"]))
                    pressed += 1
    assert seen >= 7
    assert pressed >= 20
