"""A whole visit in a real pseudo-terminal: open, group, filter, jump, chart, copy, export, quit; on all sorts of it."""

from __future__ import annotations

import base64
import csv
import re
from pathlib import Path

import pytest

from helpers import DIGITS, TO_LATENCY, TO_LAYERS, some
from small_engines import NET, POOLING
from test_terminal import COLOUR, Terminal, engine, start

__all__ = ["engine", "start"]

pytestmark = pytest.mark.terminal
RICH_COLOUR = re.compile(rb"\x1b\[[\d;]*[34]8;[25]")
"""A colour that is none of the terminal's own sixteen."""
TO_CHARTS = DIGITS["charts"]
CLEAR_LINE = "\x15"


def visit(terminal: Terminal, target: Path) -> None:
    """What a person does from the command to the file that they take home; each key after what the one before showed."""
    terminal.shows("Hottest layers")
    terminal.shows("q quit")
    # Group.
    terminal.send(TO_LAYERS)
    terminal.shows("By module")
    terminal.send("t")
    terminal.shows("By kind")
    # Filter.
    terminal.send("/")
    terminal.shows("keep")
    terminal.send("conv -layer1")
    terminal.until(
        lambda: "convolution" in terminal.text and "pooling" not in terminal.text, "what the filter leaves"
    )
    terminal.send("\r")
    terminal.shows("t group")
    # Jump to a layer that the filter hides, which clears the filter.
    terminal.send(":")
    terminal.shows("Command, layer name")
    terminal.send("pool stem")
    terminal.shows(f"layer {POOLING}: pooling")
    terminal.send("\r")
    terminal.shows("0.0400 ms · 4.37 %")
    # Charts begin with the first that there is data for.
    terminal.send(TO_CHARTS)
    terminal.shows("Time by kind: 9 layers")
    terminal.shows(f"● layer {POOLING}  /stem/pool/MaxPool")
    # Copy.
    terminal.send("y")
    copied = b"\x1b]52;c;" + base64.b64encode(NET[POOLING][0].encode())
    terminal.until(lambda: copied in terminal.written, "the name on its way to the clipboard")
    # Export the table.
    terminal.send(TO_LATENCY)
    terminal.shows("▼ ms")
    terminal.send("e")
    terminal.shows("Export 9 layers")
    terminal.shows("tiny.layers.csv")
    terminal.send(CLEAR_LINE)
    terminal.until(lambda: "tiny.layers.csv" not in terminal.text, "an empty line")
    terminal.send(str(target))
    terminal.shows(target.name[-8:])
    terminal.send("\r")
    terminal.until(target.is_file, "the file")
    terminal.shows("Exported")
    terminal.send("q")


@pytest.mark.parametrize(
    ("environment", "colours"),
    some(
        [
            pytest.param({"TERM": "xterm-256color"}, "many", id="xterm-256color"),
            pytest.param({"TERM": "vt100"}, "sixteen", id="vt100"),
            pytest.param({"NO_COLOR": "1"}, "none", id="no-color"),
            pytest.param({"TERM": "xterm-16color"}, "sixteen", id="xterm-16color"),
        ],
        2,
    ),
)
def test_a_whole_visit(start, engine, tmp_path, environment, colours):
    target = tmp_path / "taken home.csv"
    terminal = start(engine, **environment)
    visit(terminal, target)
    assert terminal.finish() == 0
    terminal.check_restored()
    assert bool(COLOUR.search(terminal.written)) is (colours != "none")
    assert bool(RICH_COLOUR.search(terminal.written)) is (colours == "many")
    with target.open(encoding="utf-8", newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert sorted(names) == sorted(name for name, *_ in NET)
    assert list(tmp_path.iterdir()) == [target]


def test_a_visit_in_ascii_is_ascii_to_the_last_byte(start, engine):
    terminal = start(engine, TERM="vt100", TREX_TUI_ASCII="1")
    terminal.shows("Hottest layers")
    for key, shown in [
        (TO_LAYERS, "By module"), ("t", "By kind"), ("ttttttt", "In execution order"), ("v", "depth 1 of 3"),
        ("v", "rank "), (TO_LATENCY, "v ms"), ("/", "keep"), ("lat", "latency_ms>"), ("\x1b", "s sort"),
        (TO_CHARTS, "Time by kind: 9 layers"), ("n", "Time by precision: 9"),
        ("n", "Of the time, by precision"), ("n", "Time by kernel: 9"),
        ("n", "1 layer in 1 origin"),
        ("n", "Time of each layer"), ("n", "Precision of each layer"), ("n", "colours show kind"),
        ("n", "Scatter"), ("n", "p50"),
        ("n", "Cumulative time"), ("nnnnn", "Activation memory by layer"), ("n", "Modules (icicle"),
        (DIGITS["memory"], "live at layer"), ("?", "Reverse sort."), ("q", "q quit"),
    ]:  # fmt: skip
        terminal.send(key)
        terminal.shows(shown)
    terminal.send("q")
    assert terminal.finish() == 0
    assert terminal.written.isascii()
