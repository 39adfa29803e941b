from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS, tensor
from lint_kit import (
    FP16_32,
    HWC4,
    HWC8,
    INT8_32,
    LINEAR16,
    LINEAR32,
    conv,
    engine_of,
    findings,
    kernel,
    names,
    not_checked,
    reformat,
    severity,
    step,
)
from trex_tui.api import load_engine
from trex_tui.engine.dtypes import parse_data_type, parse_format
from trex_tui.engine.model import Port
from trex_tui.lint.config import LintConfig
from trex_tui.lint.context import Context
from trex_tui.lint.remedies import Platform
from trex_tui.lint.rule import FindingSeverity
from trex_tui.lint.rules.formats import find_binding
from trex_tui.lint.rules.fusion import copies_around_plugin
from trex_tui.lint.run import run_rules

INSERTED = "Reformatting CopyNode for"


def between(*middle: dict[str, Any]) -> list[dict[str, Any]]:
    """Layers from tensor `b` to tensor `c`, between two convolutions."""
    return [conv("before", "a", "b"), *middle, conv("behind", "c", "d")]


class TestTypeConversion:
    @pytest.mark.parametrize(
        "middle",
        [
            reformat("reformat", "b", "c", (LINEAR32, HWC8)),
            step("slice", "Slice", "b", "c", (LINEAR32, LINEAR16), ParameterType="Slice"),
            step("slice to INT8", "Slice", "b", "c", (FP16_32, INT8_32), ParameterType="Slice"),
            step("shuffle", "Shuffle", "b", "c", (LINEAR16, LINEAR32), ParameterType="Shuffle"),
            kernel("Cast", "b", "c", ("Half", "BFloat16")),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_converts(self, tmp_path: Path, middle: dict[str, Any]) -> None:
        (found,) = findings(engine_of(tmp_path, between(middle), [1.0, 0.2, 1.0]), "FMT001")
        assert found.layers == (1,)

    @pytest.mark.parametrize(
        "middle",
        [
            reformat("layout", "b", "c", (LINEAR16, HWC8)),
            reformat("two names of one type", "b", "c", ("Half", LINEAR16)),
            reformat("and of another", "b", "c", ("Float", LINEAR32)),
            reformat("Q", "b", "c", (FP16_32, INT8_32)),
            reformat("indices", "b", "c", ("Row major linear INT32", LINEAR16)),
            step("pointwise", "PointWiseV2", "b", "c", (LINEAR16, LINEAR32), ParameterType="PointWise"),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_near_misses(self, tmp_path: Path, middle: dict[str, Any]) -> None:
        assert findings(engine_of(tmp_path, between(middle), [1.0, 0.2, 1.0]), "FMT001") == []

    def test_the_edge_is_told_elsewhere(self, tmp_path: Path) -> None:
        layers = [
            reformat(f"{INSERTED} Input Tensor 0 to c", "input", "b", (LINEAR32, HWC8)),
            conv("c", "b", "c"),
        ]
        engine = engine_of(tmp_path, layers, [1.0, 1.0])
        assert findings(engine, "FMT001") == []
        assert len(findings(engine, "FMT004")) == 1

    def test_the_plugin_that_asks_for_it(self, tmp_path: Path) -> None:
        plugin = step("NMS", "PluginV2", "r", "c", (LINEAR32, LINEAR32), ParameterType="PluginV2")
        layers = between(reformat("r", "b", "r", (HWC8, LINEAR32)), plugin)
        engine = engine_of(tmp_path, layers, [1.0, 0.2, 0.5, 1.0])
        assert not findings(engine, "FMT001")
        (found,) = copies_around_plugin.look(Context(engine))
        assert "'NMS'" in found.message

    def test_without_a_profile(self, tmp_path: Path) -> None:
        (found,) = findings(engine_of(tmp_path, between(reformat("r", "b", "c", (LINEAR32, HWC8)))), "FMT001")
        assert found.saving_ms is None


def plugin(source: str, target: str) -> dict[str, Any]:
    return step("norm", "PluginV2", source, target, (LINEAR16, LINEAR16), ParameterType="PluginV2")


class TestSandwich:
    def test_a_plugin_between(self, tmp_path: Path) -> None:
        layers = between(
            reformat("there", "b", "p", (HWC8, LINEAR16)),
            plugin("p", "q"),
            step("NoOp", "NoOp", "q", "s", (LINEAR16, LINEAR16)),
            reformat("back", "s", "c", (LINEAR16, "Channel major FP16 format where channel % 16 == 0")),
        )
        engine = engine_of(tmp_path, layers, [1.0, 0.2, 0.5, 0.0, 0.3, 1.0])
        assert not findings(engine, "FMT002")
        (found,) = copies_around_plugin.look(Context(engine))
        assert found.layers == (1, 2, 4)
        assert found.savings_ms == {1: 0.2, 4: 0.3}

    def test_nothing_between(self, tmp_path: Path) -> None:
        layers = between(
            reformat("there", "b", "p", (HWC8, LINEAR32)), reformat("back", "p", "c", (LINEAR32, HWC8))
        )
        (found,) = findings(engine_of(tmp_path, layers, [1.0, 0.2, 0.3, 1.0]), "FMT002")
        assert "nothing in between" in found.message

    def test_near_misses(self, tmp_path: Path) -> None:
        there, back = (
            reformat("there", "b", "p", (HWC8, LINEAR16)),
            reformat("back", "q", "c", (LINEAR16, HWC8)),
        )
        convolved = between(there, conv("worth it", "p", "q", dtype=LINEAR16), back)
        elsewhere = between(there, plugin("p", "q"), reformat("on", "q", "c", (LINEAR16, FP16_32)))
        forked = [*between(there, plugin("p", "q"), back), conv("fork", "p", "f", dtype=LINEAR16)]
        same = between(
            reformat("wider", "b", "p", (HWC8, "Channel major FP16 format where channel % 16 == 0")),
            plugin("p", "q"),
            reformat("back", "q", "c", (LINEAR16, HWC8)),
        )
        for place, layers in enumerate((convolved, elsewhere, forked, same)):
            engine = engine_of(tmp_path / str(place), layers, [0.1] * len(layers))
            assert findings(engine, "FMT002") == [], place

    def test_a_long_way_back(self, tmp_path: Path) -> None:
        steps = [
            step(f"s{place}", "PointWise", f"t{place}", f"t{place + 1}", (LINEAR16, LINEAR16))
            for place in range(9)
        ]
        there = reformat("there", "b", "t0", (HWC8, LINEAR16))
        back = reformat("back", "t9", "c", (LINEAR16, HWC8))
        assert findings(engine_of(tmp_path / "1", between(there, *steps, back)), "FMT002") == []
        back = reformat("back", "t8", "c", (LINEAR16, HWC8))
        assert len(findings(engine_of(tmp_path / "2", between(there, *steps[:8], back)), "FMT002")) == 1

    def test_layouts_that_are_not_stated(self, tmp_path: Path) -> None:
        layers = between(
            kernel("CastResh", "b", "p", ("Half", "Float")), kernel("Cast", "p", "c", ("Float", "Half"))
        )
        engine = engine_of(tmp_path, layers, [1.0, 0.2, 0.3, 1.0])
        assert findings(engine, "FMT002") == []
        assert [one.layers for one in not_checked(engine, "FMT002")] == [2]


class TestDearReformat:
    def test_half_of_what_it_serves(self, tmp_path: Path) -> None:
        name = "Reformatting CopyNode for Input Tensor 0 to behind"
        layers = between(
            reformat(name, "b", "n", (LINEAR16, HWC8)), step("NoOp", "NoOp", "n", "c", (HWC8, HWC8))
        )
        (found,) = findings(engine_of(tmp_path, layers, [1.0, 0.6, 0.0, 1.0]), "FMT003")
        assert found.layers == (1,)
        assert "60 % of the time that 'behind'" in found.message

    def test_output_reformats_serve_the_layer_before(self, tmp_path: Path) -> None:
        layers = between(
            reformat("Reformatting CopyNode for Output Tensor 0 to before", "b", "c", (LINEAR16, HWC8))
        )
        assert findings(engine_of(tmp_path / "1", layers, [1.0, 0.3, 0.1]), "FMT003") == []
        assert len(findings(engine_of(tmp_path / "2", layers, [0.1, 0.3, 1.0]), "FMT003")) == 1

    def test_near_misses(self, tmp_path: Path) -> None:
        cheap = between(reformat("r", "b", "c", (LINEAR16, HWC8)))
        assert findings(engine_of(tmp_path / "1", cheap, [1.0, 0.4, 1.0]), "FMT003") == []
        typed = between(reformat("r", "b", "c", (LINEAR32, HWC8)))
        assert findings(engine_of(tmp_path / "2", typed, [1.0, 0.6, 1.0]), "FMT003") == [], "FMT001 tells"
        quantizing = between(reformat("r", "b", "c", (FP16_32, INT8_32)))
        assert findings(engine_of(tmp_path / "3", quantizing, [1.0, 0.6, 1.0]), "FMT003") == [], (
            "QDQ001 tells"
        )

    def test_everything_costs_as_much_at_the_floor(self, tmp_path: Path) -> None:
        layers = between(reformat("r", "b", "c", (LINEAR16, HWC8)))
        layers += [step(f"s{n}", "PointWise", f"d{n}", f"d{n + 1}", (HWC8, HWC8)) for n in range(20)]
        assert findings(engine_of(tmp_path, layers, [0.005] * len(layers)), "FMT003") == []

    def test_needs_times(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, between(reformat("r", "b", "c", (LINEAR16, HWC8))))
        assert findings(engine, "FMT003") == []
        assert "--exportProfile" in not_checked(engine, "FMT003")[0].reason


class TestEdge:
    def test_input_and_output(self, tmp_path: Path) -> None:
        layers = [
            reformat(f"{INSERTED} Input Tensor 0 to c", "input", "b", (LINEAR32, HWC8)),
            conv("c", "b", "c"),
            reformat(f"{INSERTED} Output Tensor 0 to c", "c", "d", (HWC8, LINEAR32)),
            step("NoOp", "NoOp", "d", "output", (LINEAR32, LINEAR32)),
        ]
        engine = engine_of(tmp_path, layers, [0.01, 1.0, 0.5, 0.0], bindings=["output"])
        found = findings(engine, "FMT004")
        assert [name.removeprefix(INSERTED) for name in names(engine, found)] == [
            " Input Tensor 0 to c",
            " Output Tensor 0 to c",
        ]
        assert [severity("FMT004", one) for one in found] == [FindingSeverity.INFO, FindingSeverity.WARNING]
        assert "--inputIOFormats=fp16:hwc8" in found[0].remedy
        assert "--outputIOFormats=fp16:hwc8" in found[1].remedy
        assert found[1].saving_ms == 0.5

    def test_a_transpose_of_the_model(self, tmp_path: Path) -> None:
        layers = [
            step("Transpose", "Shuffle", "input", "b", (LINEAR32, LINEAR32), ParameterType="Shuffle"),
            conv("c", "b", "c"),
        ]
        (found,) = findings(engine_of(tmp_path, layers, [0.1, 1.0]), "FMT004")
        assert "--inputs-as-nchw" in found.remedy

    @pytest.mark.parametrize(
        "first",
        [
            reformat("Q", "input", "b", (LINEAR16, INT8_32), origin="QDQ"),
            kernel("Cast", "input", "b", ("Half", "Half")),
            step("pointwise", "PointWise", "input", "b", (LINEAR32, LINEAR16)),
            reformat("short", "input", "b", (LINEAR32, HWC8)),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_near_misses(self, tmp_path: Path, first: dict[str, Any]) -> None:
        time = 0.0004 if first["Name"] == "short" else 0.1
        assert findings(engine_of(tmp_path, [first, conv("c", "b", "c")], [time, 1.0]), "FMT004") == []

    def test_inside_the_network(self, tmp_path: Path) -> None:
        layers = between(reformat("r", "b", "c", (LINEAR16, HWC8)))
        assert findings(engine_of(tmp_path, layers, [1.0, 0.5, 1.0]), "FMT004") == []

    def test_without_a_profile(self, tmp_path: Path) -> None:
        layers = [
            reformat(f"{INSERTED} Input Tensor 0 to c", "input", "b", (LINEAR32, HWC8)),
            conv("c", "b", "c"),
        ]
        (found,) = findings(engine_of(tmp_path, layers), "FMT004")
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
        layers = between(reformat("r", "b", "c", (LINEAR16, HWC8)))
        found = findings(engine_of(tmp_path, layers, [1.0, time, 1.0]), "FMT005")
        assert [severity("FMT005", one) for one in found] == ([] if expected is None else [expected])
        assert all(one.saving_ms is None for one in found), "the findings on single layers have the savings"

    def test_every_form_of_quantization_counts(self, tmp_path: Path) -> None:
        layers = between(step("Q", "Scale", "b", "c", (LINEAR16, INT8_32), ParameterType="Scale"))
        assert len(findings(engine_of(tmp_path, layers, [1.0, 0.5, 1.0]), "FMT005")) == 1

    def test_needs_times(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, between(reformat("r", "b", "c", (LINEAR16, HWC8))))
        assert "--exportProfile" in not_checked(engine, "FMT005")[0].reason


class TestCopies:
    def test_same_type_and_size(self, tmp_path: Path) -> None:
        linear = (LINEAR16, LINEAR16)
        layers = between(kernel("ReshMove", "b", "r", linear), kernel("Cast", "r", "c", linear))
        layers[0] = kernel("Relu", "a", "b")
        found = findings(engine_of(tmp_path, layers, [1.0, 0.2, 0.3, 1.0]), "FMT006")
        assert [one.saving_ms for one in found] == [0.2, 0.3]

    def test_the_plugin_behind_it(self, tmp_path: Path) -> None:
        layers = [kernel("Cast", "input", "b"), plugin("b", "c"), conv("c", "c", "d")]
        engine = engine_of(tmp_path, layers, [0.2, 0.3, 1.0])
        assert not findings(engine, "FMT006")
        (found,) = copies_around_plugin.look(Context(engine))
        assert "'norm'" in found.message

    @pytest.mark.parametrize(
        "middle",
        [
            kernel("Cast", "b", "c", ("Half", "Float")),
            kernel("TranResh", "b", "c"),
            kernel("CastMul", "b", "c"),
            reformat("native", "b", "c", (LINEAR16, LINEAR16), origin="SLICE"),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_near_misses(self, tmp_path: Path, middle: dict[str, Any]) -> None:
        layers = [kernel("Relu", "a", "b"), middle, conv("behind", "c", "d")]
        assert findings(engine_of(tmp_path, layers, [1.0, 0.2, 1.0]), "FMT006") == []

    def test_flattening_a_vectorised_layout_is_work(self, tmp_path: Path) -> None:
        layers = [conv("conv", "a", "b", dtype=HWC8), kernel("Res", "b", "c"), conv("behind", "c", "d")]
        assert findings(engine_of(tmp_path, layers, [1.0, 0.2, 1.0]), "FMT006") == []

    def test_a_slice_and_an_output(self, tmp_path: Path) -> None:
        part = kernel("Move", "b", "c")
        part["Outputs"] = [tensor("c", 1, 64, 56, 56)]
        layers = [kernel("Relu", "a", "b"), part, kernel("Move", "c", "output")]
        assert findings(engine_of(tmp_path, layers, [1.0] * 3, bindings=["output"]), "FMT006") == []

    def test_layouts_that_are_not_stated(self, tmp_path: Path) -> None:
        """Before TensorRT 11 generated kernels have types alone: the copy may change the layout."""
        layers = [kernel("Relu", "a", "b"), kernel("Move", "b", "c"), conv("behind", "c", "d")]
        assert findings(engine_of(tmp_path, layers, [1.0, 0.2, 1.0]), "FMT006") == []

    def test_a_value_that_a_loop_changes(self, tmp_path: Path) -> None:
        linear = (LINEAR16, LINEAR16)
        layers = [kernel("Move", "input", "state", linear), kernel("Tanh", "state", "state", linear)]
        assert findings(engine_of(tmp_path, layers), "FMT006") == []


@pytest.mark.skipif(not (ARTIFACTS / "torch-trt").is_dir(), reason="needs the recorded engines")
def test_advice_for_torch_tensorrt_names_no_option_of_trtexec() -> None:
    """Its inputs have the types and the layout of the model."""
    for model in ("alexnet", "mobilenet_v2", "resnet18"):
        result = run_rules(load_engine(ARTIFACTS / "torch-trt" / model), LintConfig(shows_all=True))
        assert not [one.remedy for one in result.findings if "IOFormats" in one.remedy]
