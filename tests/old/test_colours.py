"""Colours: contrast in every theme that is offered, and differences that colour-blind people see."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from textual.color import Color

from trex_tui.old.app import TrexApp
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.report import colours
from trex_tui.old.report.charts.figure import HERE_STYLE
from trex_tui.old.report.colours import kind_style, precision_style, severity_style
from trex_tui.old.widgets.theme import theme_variables

TOKENS = (
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
    "foreground",
    "muted",
    "text-muted",
)
TOKENS += ("bits-32", "bits-16", "bits-8", "bits-4", "current")
TOKENS += ("footer-key-foreground", "footer-description-foreground")
GROUNDS = ("background", "surface", "panel")
SCALE = ("bits-32", "bits-16", "bits-8", "bits-4", "current")
LEAST_DIFFERENCE = 15
SOURCES = Path(colours.__file__).parents[1]
_TOKEN = re.compile(r"\$([a-z][a-z0-9-]*)")
XTERM = {
    "red": "#cd0000", "green": "#00cd00", "yellow": "#cdcd00", "blue": "#0000ee", "magenta": "#cd00cd", "cyan": "#00cdcd",
    "white": "#e5e5e5", "bright_black": "#7f7f7f", "bright_red": "#ff0000", "bright_green": "#00ff00",
    "bright_yellow": "#ffff00", "bright_blue": "#5c5cff", "bright_magenta": "#ff00ff",
    "bright_cyan": "#00ffff", "bright_white": "#ffffff",
}  # fmt: skip
"""The 16 colours of xterm; a dark ground needs others than a light one."""
OFFERED = TrexApp([]).available_themes

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> np.ndarray:
    parts = np.array(Color.parse(colour).normalized)
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(first: str, second: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (first, second))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, sight: str) -> np.ndarray:
    ratios = TO_XYZ @ np.clip(SIGHTS[sight] @ linear(colour), 0, 1) / WHITE
    roots = np.where(ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116)
    return np.array([116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])])


def variables_of(name: str) -> dict[str, str]:
    theme = OFFERED[name]
    return theme_variables(theme, {**theme.to_color_system().generate(), **theme.variables})


@pytest.mark.parametrize("name", sorted(name for name, theme in OFFERED.items() if not theme.ansi))
def test_text_can_be_read_in_every_theme(name):
    variables = variables_of(name)
    low = {
        (token, ground): round(ratio, 2)
        for token in TOKENS
        for ground in GROUNDS
        if (ratio := contrast(variables[token], variables[ground])) < 4.5
    }
    assert not low
    surface = Color.parse(variables["surface"])
    for cursor in ("block-cursor", "block-cursor-blurred"):
        ground = surface + Color.parse(variables[f"{cursor}-background"])
        assert contrast(variables[f"{cursor}-foreground"], ground.hex) >= 4.5, cursor


def test_every_token_of_the_sources_is_checked():
    """Tokens that widgets and style sheets give to text; grounds, cursors and attributes of text are none."""
    files = [*SOURCES.glob("widgets/*.py"), *SOURCES.glob("screens/*.py"), *SOURCES.glob("report/**/*.py")]
    used = {
        name for file in [*files, SOURCES / "app.tcss"] for name in _TOKEN.findall(file.read_text("utf-8"))
    }
    known = variables_of("trex-dark")
    others = {
        name for name in known if name.startswith("block-cursor") or name in (*GROUNDS, "panel-lighten-2")
    }
    assert {name for name in used if name in known} - others <= {*TOKENS, "text-warning"}


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("name", sorted(name for name, theme in OFFERED.items() if not theme.ansi))
def test_precisions_and_the_current_layer_differ_for_the_colour_blind(name, sight):
    tokens = variables_of(name)
    distances = {
        (first, second): float(np.linalg.norm(lab(tokens[first], sight) - lab(tokens[second], sight)))
        for first, second in combinations(SCALE, 2)
    }
    assert min(distances.values()) >= LEAST_DIFFERENCE, distances


@pytest.mark.parametrize(("name", "ground"), [("ansi-dark", "#000000"), ("ansi-light", "#ffffff")])
def test_the_terminals_own_colours_can_be_read(name, ground):
    variables = variables_of(name)
    colours = {token: variables[token].removeprefix("ansi_") for token in TOKENS}
    low = {
        token: colour
        for token, colour in colours.items()
        if colour != "default" and contrast(XTERM[colour], ground) < 4.5
    }
    assert not low
    assert len({colours[token] for token in SCALE}) == 5
    reserved = {token for token in TOKENS if colours[token] == colours["current"]}
    assert reserved == {"current"}


def distances_in_16_colours(theme: str, sight: str, tokens: Sequence[str]) -> dict[tuple[str, str], float]:
    variables = variables_of(theme)
    shown = {"default": "#000000" if theme == "ansi-light" else "#ffffff", **XTERM}
    places = {token: lab(shown[variables[token].removeprefix("ansi_")], sight) for token in tokens}
    return {
        (first, second): float(np.linalg.norm(places[first] - places[second]))
        for first, second in combinations(tokens, 2)
    }


@pytest.mark.parametrize("sight", SIGHTS)
def test_precisions_differ_for_the_colour_blind_in_16_colours(sight):
    assert min(distances_in_16_colours("ansi-dark", sight, SCALE).values()) >= LEAST_DIFFERENCE
    precisions = [token for token in SCALE if token != "current"]
    assert min(distances_in_16_colours("ansi-light", sight, precisions).values()) >= LEAST_DIFFERENCE


@pytest.mark.parametrize("sight", SIGHTS)
def test_no_other_of_16_colours_can_be_read_on_white(sight):
    """The current layer is 14.9 from 8 bits (protanopia): all five readable colours are used, and it has a sign as well."""
    readable = {colour for colour, value in XTERM.items() if contrast(value, "#ffffff") >= 4.5}
    variables = variables_of("ansi-light")
    assert {variables[token].removeprefix("ansi_") for token in SCALE} == {*readable, "default"}
    low = {
        pair: round(distance, 1)
        for pair, distance in distances_in_16_colours("ansi-light", sight, SCALE).items()
        if distance < LEAST_DIFFERENCE
    }
    assert low == ({("bits-8", "current"): 14.9} if sight == "protanopia" else {})


def test_one_colour_is_only_for_the_current_layer():
    assert HERE_STYLE.endswith("$current")
    styles = [*map(kind_style, LayerKind), *map(precision_style, DataType)]
    styles += map(severity_style, ("error", "warning", "info", "good"))
    assert not [style for style in styles if "current" in style]
    widths = {
        precision_style(dtype) for dtype in (DataType.FP32, DataType.FP16, DataType.INT8, DataType.INT4)
    }
    assert len(widths) == 4
