from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS
from lint_kit import (
    HWC4,
    HWC8,
    INT8_32,
    LINEAR16,
    LINEAR32,
    conv,
    copy_of,
    engine_in,
    findings,
    fused,
    names,
    severity,
    step,
)
from trex_tui.api import load_engine
from trex_tui.engine.dtypes import parse_data_type, parse_format
from trex_tui.engine.model import Port
from trex_tui.lint.config import LintConfig
from trex_tui.lint.remedies import Platform
from trex_tui.lint.rule import FindingSeverity
from trex_tui.lint.rules.formats import find_binding
from trex_tui.lint.run import run_rules

INSERTED = "Reformatting CopyNode for"


def between(*middle: dict[str, Any]) -> list[dict[str, Any]]:
    """Layers from tensor `b` to tensor `c`, between two convolutions."""
    return [conv("before", "a", "b"), *middle, conv("behind", "c", "d")]


def plugin(source: str, target: str) -> dict[str, Any]:
    return step("norm", "PluginV2", source, target, (LINEAR16, LINEAR16), ParameterType="PluginV2")


class TestEdge:
    def test_input_and_output(self, tmp_path: Path) -> None:
        layers = [
            copy_of(f"{INSERTED} Input Tensor 0 to c", "input", "b", (LINEAR32, HWC8)),
            conv("c", "b", "c"),
            copy_of(f"{INSERTED} Output Tensor 0 to c", "c", "d", (HWC8, LINEAR32)),
            step("NoOp", "NoOp", "d", "output", (LINEAR32, LINEAR32)),
        ]
        engine = engine_in(tmp_path, layers, [0.01, 1.0, 0.5, 0.0], bindings=["output"])
        found = findings(engine, "FMT004")
        assert [name.removeprefix(INSERTED) for name in names(engine, found)] == [
            " Input Tensor 0 to c",
            " Output Tensor 0 to c",
        ]
        assert [severity("FMT004", one) for one in found] == [FindingSeverity.INFO, FindingSeverity.WARNING]
        assert "--inputIOFormats=fp16:hwc8" in found[0].remedy
        assert "--outputIOFormats=fp16:hwc8" in found[1].remedy
        assert found[1].saving_ms == 0.5

    def test_a_layout_that_is_not_stated(self, tmp_path: Path) -> None:
        layers = [
            copy_of(f"{INSERTED} Input Tensor 0 to c", "input", "b", ("Half", "Half")),
            conv("c", "b", "c"),
        ]
        (found,) = findings(engine_in(tmp_path, layers, [0.1, 1.0]), "FMT004")
        assert "fp16:chw" not in found.remedy
        assert "--inputIOFormats" in found.remedy

    def test_a_transpose_of_the_model(self, tmp_path: Path) -> None:
        layers = [
            step("Transpose", "Shuffle", "input", "b", (LINEAR32, LINEAR32), ParameterType="Shuffle"),
            conv("c", "b", "c"),
        ]
        (found,) = findings(engine_in(tmp_path, layers, [0.1, 1.0]), "FMT004")
        assert "--inputs-as-nchw" in found.remedy

    @pytest.mark.parametrize(
        "first",
        [
            copy_of("Q", "input", "b", (LINEAR16, INT8_32), origin="QDQ"),
            fused("Cast", "input", "b", ("Half", "Half")),
            step("pointwise", "PointWise", "input", "b", (LINEAR32, LINEAR16)),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_near_misses(self, tmp_path: Path, first: dict[str, Any]) -> None:
        assert findings(engine_in(tmp_path, [first, conv("c", "b", "c")], [0.1, 1.0]), "FMT004") == []

    def test_inside_the_network(self, tmp_path: Path) -> None:
        layers = between(copy_of("r", "b", "c", (LINEAR16, HWC8)))
        assert findings(engine_in(tmp_path, layers, [1.0, 0.5, 1.0]), "FMT004") == []

    def test_without_a_profile(self, tmp_path: Path) -> None:
        layers = [
            copy_of(f"{INSERTED} Input Tensor 0 to c", "input", "b", (LINEAR32, HWC8)),
            conv("c", "b", "c"),
        ]
        (found,) = findings(engine_in(tmp_path, layers), "FMT004")
        assert found.saving_ms is None

    @pytest.mark.parametrize(
        ("text", "shape", "expected"),
        [
            (HWC8, (1, 64, 8, 8), "fp16:hwc8"),
            (HWC4, (1, 3, 8, 8), "fp16:chw4"),
            (HWC4, (1, 12, 8, 8), None),
            (INT8_32, (1, 64, 8, 8), "int8:chw32"),
            (LINEAR32, (1, 3, 8, 8), "fp32:chw"),
            ("Half", (1, 10), "fp16:chw"),
            ("N/A due to dynamic shapes", (-1, 3), None),
        ],
    )
    def test_names_of_bindings(self, text: str, shape: tuple[int, ...], expected: str | None) -> None:
        dtype, layout = parse_data_type(text), parse_format(text)
        port = Port("t", shape, dtype and dtype.value, layout.layout, layout.text, None, None, None, False)
        assert find_binding(port, Platform()) == expected


class TestShareOfMovement:
    @pytest.mark.parametrize(
        ("time", "expected"), [(0.3, FindingSeverity.WARNING), (0.15, FindingSeverity.INFO), (0.05, None)]
    )
    def test_share(self, tmp_path: Path, time: float, expected: FindingSeverity | None) -> None:
        layers = between(copy_of("r", "b", "c", (LINEAR16, HWC8)))
        found = findings(engine_in(tmp_path, layers, [1.0, time, 1.0]), "FMT005")
        assert [severity("FMT005", one) for one in found] == ([] if expected is None else [expected])
        assert all(one.saving_ms is None for one in found), "the findings on single layers have the savings"


@pytest.mark.skipif(not (ARTIFACTS / "torch-trt").is_dir(), reason="needs the recorded engines")
def test_advice_for_torch_tensorrt_names_no_option_of_trtexec() -> None:
    """Its inputs have the types and the layout of the model."""
    for model in ("alexnet", "mobilenet_v2", "resnet18"):
        result = run_rules(load_engine(ARTIFACTS / "torch-trt" / model), LintConfig(shows_all=True))
        assert not [one.remedy for one in result.findings if "IOFormats" in one.remedy]
