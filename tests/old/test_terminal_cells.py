"""Only changed cells are written, and the terminal shows what it would show if all were."""

from __future__ import annotations

import re

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trex_tui.old.screens.changed_cells import ChangedCells

COLUMNS, ROWS = 24, 6
STYLES = (
    "",
    "1",
    "2",
    "1;2",
    "3;4",
    "7",
    "9",
    "31",
    "97;44",
    "38;2;1;2;3",
    "48;2;9;8;7",
    "1;38;2;1;2;3;48;2;9;8;7",
    "38;5;200;48;5;17",
    "7;38;2;1;2;3",
    "4;48;2;9;8;7",
)
TEXTS = st.text(st.sampled_from("ab  │█é漢e\u0301"), min_size=1, max_size=10)
SEGMENTS = st.lists(st.tuples(st.sampled_from(STYLES), TEXTS), min_size=1, max_size=4)
FRAMES = st.lists(
    st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, COLUMNS // 2), SEGMENTS), max_size=6),
    max_size=6,
)


class Recorder:
    """A terminal's file that keeps what is written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        """All is written already."""

    def take(self) -> str:
        text, self.text = self.text, ""
        return text


def words(written: str) -> list[str]:
    """The text without its sequences."""
    return re.findall(r"\w+", re.sub("\x1b[^a-zA-Z]*[a-zA-Z]", " ", written))


def changed_cells(*, erases_in_colour: bool = False) -> tuple[ChangedCells, Recorder]:
    file = Recorder()
    return ChangedCells(file, lambda: (COLUMNS, ROWS), erases_in_colour=erases_in_colour), file


def drawn(row: int, column: int, segments: list[tuple[str, str]]) -> str:
    """A line as Textual writes it, cut at the right edge as Textual cuts it."""
    pieces = [f"\x1b[{row + 1};{column + 1}H"]
    for style, text in segments:
        for character in text:
            width = 2 if character == "漢" else 0 if character == "\u0301" else 1
            if column + width > COLUMNS - 1 or (
                not width and len(pieces) == 1
            ):  # a mark needs a character before it
                break
            column += width
            pieces.append(f"\x1b[{style}m{character}\x1b[0m" if style else character)
    return "".join(pieces)


def cells(screen: pyte.Screen) -> list[list[object]]:
    """What a person sees: blanks have no foreground unless something is drawn on them."""
    rows: list[list[object]] = []
    for y in range(ROWS):
        row: list[object] = []
        for x in range(COLUMNS):
            cell = screen.buffer[y][x]
            is_blank = cell.data == " " and not (cell.reverse or cell.underscore or cell.strikethrough)
            row.append((" ", cell.bg) if is_blank else cell)
        rows.append(row)
    return rows


def compare_screens(frames: list[list[str]], *, erases_in_colour: bool) -> str:
    """Draw frames of whole lines on two terminals, on one of them only what changes; return the last that it got."""
    whole, changed = pyte.Screen(COLUMNS, ROWS), pyte.Screen(COLUMNS, ROWS)
    to_whole, to_changed = pyte.Stream(whole), pyte.Stream(changed)
    output, file = changed_cells(erases_in_colour=erases_in_colour)
    written = ""
    for frame in frames:
        for text in frame:
            to_whole.feed(text)
            output.write(text)
        output.flush()
        written = file.take()
        to_changed.feed(written)
        assert cells(changed) == cells(whole)
    return written


def whole_line(row: int, column: int, segments: list[tuple[str, str]]) -> str:
    """A line that begins with blanks: half of a wide character is a matter of the terminal."""
    return f"\x1b[{row + 1};1H" + " " * (COLUMNS - 1) + drawn(row, column, segments)


@settings(max_examples=60, deadline=None)
@given(FRAMES, st.booleans())
def test_the_screen_is_the_same_as_if_everything_were_written(
    frames: list[list[tuple[int, int, list[tuple[str, str]]]]], erases_in_colour: bool
) -> None:
    lines = [[whole_line(*line) for line in frame] for frame in frames]
    compare_screens(lines, erases_in_colour=erases_in_colour)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, ROWS - 1)), min_size=2, max_size=5))
def test_lines_that_move_are_the_same_as_if_everything_were_written(places: list[tuple[int, int]]) -> None:
    lines = [[(STYLES[number], f"layer {number // 2} é"), ("", " " * number)] for number in range(9 + ROWS)]
    frames = [
        [
            whole_line(row, 0, [("7", "cursor"), *lines[top + row]] if row == cursor else lines[top + row])
            for row in range(ROWS)
        ]
        for top, cursor in places
    ]
    compare_screens(frames, erases_in_colour=True)


@pytest.mark.parametrize(("shift", "row"), [(1, ROWS - 1), (-1, 1)])
def test_of_lines_that_move_only_the_new_one_is_written(shift: int, row: int) -> None:
    header = whole_line(0, 0, [("1", "header")])
    frames = [
        [header, *(whole_line(line, 0, [("", f"layer{top + line}")]) for line in range(1, ROWS))]
        for top in (5, 5 + shift)
    ]
    written = compare_screens(frames, erases_in_colour=False)
    assert words(written) == [f"layer{5 + shift + row}"]


def test_what_is_shown_already_is_not_written_again() -> None:
    output, file = changed_cells()
    frame = "".join(drawn(row, 0, [("1;38;2;1;2;3", "name"), ("", " value")]) for row in range(ROWS))
    output.write(frame)
    output.flush()
    assert "name" in file.take()
    output.write(frame)
    output.flush()
    assert file.take() == ""


def test_one_changed_cell_is_one_cell() -> None:
    output, file = changed_cells()
    output.write("\x1b[1;1H\x1b[38;2;1;2;3mlayer 1 of the engine\x1b[0m\x1b[1;1H")
    output.flush()
    file.take()
    output.write("\x1b[1;1H\x1b[38;2;1;2;3mlayer 2 of the engine\x1b[0m\x1b[1;1H")
    output.flush()
    assert file.take() == "\x1b[6C2\x1b[1H"


def test_cells_of_one_style_are_written_one_after_the_other() -> None:
    output, file = changed_cells()
    output.write("".join(drawn(row, 0, [("32", "label"), ("31", " value")]) for row in range(ROWS)))
    output.flush()
    assert re.findall(r"\d\dm", file.take()) == ["31m", "32m"]


def test_many_blanks_are_erased_where_that_keeps_the_background() -> None:
    output, file = changed_cells(erases_in_colour=True)
    output.write("\x1b[1;1H\x1b[44mname" + " " * 14 + "value\x1b[0m\x1b[1;1H")
    output.flush()
    assert file.take() == "\x1b[1H\x1b[0;44mname\x1b[14X\x1b[14Cvalue\x1b[1H"


def test_frames_between_two_flushes_are_one() -> None:
    output, file = changed_cells()
    for word in ("first", "other", "third"):
        output.write(f"\x1b[1;1H{word}")
    output.flush()
    assert words(file.take()) == ["third"]


def test_after_a_change_by_the_terminal_itself_everything_is_written_again() -> None:
    output, file = changed_cells()
    output.write("\x1b[1;1Hlayers\x1b[2;1Htimes")
    output.flush()
    file.take()
    output.forget()
    output.write("\x1b[1;1Hlayers")
    output.flush()
    assert words(file.take()) == ["layers", "times"]


def test_cells_outside_a_smaller_terminal_are_not_written() -> None:
    size = [COLUMNS, ROWS]
    file = Recorder()
    output = ChangedCells(file, lambda: (size[0], size[1]))
    output.write("\x1b[1;1Hlayers and times\x1b[5;1Hfooter")
    output.flush()
    file.take()
    size[:] = [6, 2]
    output.forget()
    output.write("\x1b[1;1Hlayers")
    output.flush()
    assert words(file.take()) == ["layers"]


@pytest.mark.parametrize(
    "sequence", ["\x1b[?1003h", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\x1b[<u", "\x07"]
)
def test_what_is_no_cell_goes_to_the_terminal_behind_the_cells_before_it(sequence: str) -> None:
    output, file = changed_cells()
    output.write(f"\x1b[1;1Hcells{sequence}")
    text = file.take()
    assert text.endswith(sequence)
    assert "cells" in text


def test_leaving_the_alternate_screen_forgets_its_cells() -> None:
    output, file = changed_cells()
    output.write("\x1b[1;1Hcells")
    output.flush()
    output.write("\x1b[?1049l\x1b[?1049h")
    file.take()
    output.write("\x1b[1;1Hcells")
    output.flush()
    assert "cells" in file.take()


def test_the_screen_of_the_shell_gets_no_cells() -> None:
    output, file = changed_cells()
    output.write("\x1b[1;1Hcells")
    output.flush()
    file.take()
    output.write("\x1b[?1049l\x1b[?25h\x1b[?1004l")
    output.flush()
    assert file.take() == "\x1b[?1049l\x1b[?25h\x1b[?1004l"


def test_a_synchronized_frame_stays_one() -> None:
    output, file = changed_cells()
    output.write("\x1b[?2026h")
    output.write("\x1b[1;1Hcells")
    output.write("\x1b[?2026l")
    output.flush()
    text = file.take()
    assert text.startswith("\x1b[?2026h")
    assert text.endswith("\x1b[?2026l")


def test_links_of_the_text_stay() -> None:
    output, file = changed_cells()
    output.write("\x1b[1;1H\x1b]8;id=1;https://example.org\x1b\\docs\x1b]8;;\x1b\\ here")
    output.flush()
    assert re.search(r"\x1b]8;id=1;https://example.org\x1b\\(.*)\x1b]8;;\x1b\\$", file.text)[1].endswith(
        "mdocs\x1b[5C"
    )
