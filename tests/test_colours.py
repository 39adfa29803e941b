"""Colours: contrast in every theme that is offered, and differences that colour-blind people see."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from textual.color import Color

from trex_tui.app import TrexApp
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.report.charts.figure import HERE_STYLE
from trex_tui.report.colours import DARK, LIGHT, kind_style, precision_style, severity_style
from trex_tui.widgets.theme import theme_variables

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
TOKENS += ("bits-32", "bits-16", "bits-8", "bits-4", "current", "footer-key-foreground")
GROUNDS = ("background", "surface", "panel")
SCALE = ("bits-32", "bits-16", "bits-8", "bits-4", "current")
LEAST_DIFFERENCE = 15
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
    assert contrast(variables["block-cursor-foreground"], variables["block-cursor-background"]) >= 4.5


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_precisions_and_the_current_layer_differ_for_the_colour_blind(colours, sight):
    distances = {
        (first, second): float(np.linalg.norm(lab(colours[first], sight) - lab(colours[second], sight)))
        for first, second in combinations(SCALE, 2)
    }
    assert min(distances.values()) >= LEAST_DIFFERENCE, distances


def test_the_terminals_own_colours_have_no_blue_text_on_black():
    variables = variables_of("ansi-dark")
    assert [token for token in TOKENS if variables[token] == "ansi_blue"] == []
    for name in ("ansi-dark", "ansi-light"):
        assert len({variables_of(name)[token] for token in SCALE[:4]}) == 4


def test_one_colour_is_only_for_the_current_layer():
    assert HERE_STYLE.endswith("$current")
    styles = [*map(kind_style, LayerKind), *map(precision_style, DataType)]
    styles += map(severity_style, ("error", "warning", "info", "good"))
    assert not [style for style in styles if "current" in style]
    widths = {
        precision_style(dtype) for dtype in (DataType.FP32, DataType.FP16, DataType.INT8, DataType.INT4)
    }
    assert len(widths) == 4
