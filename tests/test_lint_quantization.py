from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import layer, tensor
from lint_kit import (
    FP16_32,
    INT8_32,
    LINEAR16,
    TC8,
    conv,
    copy_of,
    engine_in,
    findings,
    fused,
    severity,
    step,
)
from trex_tui.lint.context import Context
from trex_tui.lint.regions import find_islands
from trex_tui.lint.rule import Confidence, FindingSeverity

FP8, FP4 = "FP8", "FP4E2M1"


def between(middle: dict[str, Any]) -> list[dict[str, Any]]:
    """Something from tensor `b` to tensor `c`, away from the network's edges."""
    first = fused("Relu", "a", "b", ("Half", "Half"))
    last = fused("Sigm", "c", "d", ("Half", "Half"))
    return [first, middle, last]


class TestDangling:
    @pytest.mark.parametrize(
        ("middle", "role"),
        [
            (step("s", "Scale", "b", "c", (LINEAR16, INT8_32), ParameterType="Scale"), "quantizes"),
            (step("s", "Scale", "b", "c", (INT8_32, LINEAR16), ParameterType="Scale"), "dequantizes"),
            (copy_of("r", "b", "c", (FP16_32, INT8_32), origin="QDQ"), "quantizes"),
            (copy_of("r", "b", "c", (FP16_32, INT8_32)), "quantizes"),
            (fused("MulMinMaxRounCast", "b", "c", ("Half", "Int8")), "quantizes"),
            (fused("CastMul", "b", "c", ("Int8", "Half")), "dequantizes"),
            (fused("MulMinMaxRounCast", "b", "c", ("Half", FP8)), "quantizes"),
            (step("q", "Quantize", "b", "c", ("Half", FP4)), "quantizes"),
            (step("d", "Dequantize", "b", "c", ("Int4", "Half")), "dequantizes"),
            (step("rq", "Scale", "b", "c", (INT8_32, INT8_32), Origin="QDQ"), "requantizes"),
        ],
    )
    def test_in_every_form(self, tmp_path: Path, middle: dict[str, Any], role: str) -> None:
        engine = engine_in(tmp_path, between(middle), [0.1, 0.2, 0.1])
        (found,) = findings(engine, "QDQ001")
        assert found.layers == (1,)
        assert found.savings_ms == {1: 0.2}
        assert found.confidence is Confidence.HIGH
        assert severity("QDQ001", found) is FindingSeverity.WARNING
        assert dict(found.evidence)["role"] == role

    @pytest.mark.parametrize(
        "middle",
        [
            copy_of("layout", "b", "c", (INT8_32, "Row major linear INT8")),
            copy_of("type", "b", "c", (LINEAR16, "Row major linear FP32")),
            step("affine", "Scale", "b", "c", (LINEAR16, LINEAR16), ParameterType="Scale"),
            step(
                "pointwise with its Q", "PointWiseV2", "b", "c", (FP16_32, INT8_32), ParameterType="PointWise"
            ),
            step("NoOp", "NoOp", "b", "c", (FP16_32, INT8_32)),
            conv("fused", "b", "c", dtype=INT8_32, out=FP16_32, tactic=TC8),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_near_misses(self, tmp_path: Path, middle: dict[str, Any]) -> None:
        assert findings(engine_in(tmp_path, between(middle), [0.1, 0.2, 0.1]), "QDQ001") == []

    def test_takes_no_time(self, tmp_path: Path) -> None:
        middle = copy_of("r", "b", "c", (FP16_32, INT8_32), origin="QDQ")
        assert findings(engine_in(tmp_path, between(middle), [0.1, 0.0, 0.1]), "QDQ001") == []

    def test_at_the_networks_edge(self, tmp_path: Path) -> None:
        layers = [
            copy_of("Q", "input", "b", (LINEAR16, INT8_32), origin="QDQ"),
            conv("c", "b", "c", dtype=INT8_32, tactic=TC8),
            copy_of("DQ", "c", "output", (INT8_32, LINEAR16), origin="QDQ"),
        ]
        engine = engine_in(tmp_path, layers, [0.1, 1.0, 0.1], bindings=["output"])
        found = findings(engine, "QDQ001")
        assert [severity("QDQ001", one) for one in found] == [FindingSeverity.INFO, FindingSeverity.INFO]
        assert found[0].remedy.startswith(
            "Let the caller do it: a model without this Q, whose input is INT8."
        )
        assert found[1].remedy.startswith(
            "Let the caller do it: a model without this DQ, whose output is INT8."
        )

    def test_weights_and_dynamic_scales_have_words_of_their_own(self, tmp_path: Path) -> None:
        weights = layer(
            "DQ",
            "kgen",
            [tensor("x.weights", 64, 64, dtype="Int4")],
            [tensor("w", 64, 64)],
            TacticName="__myl_CastMul_0x",
        )
        (found,) = findings(engine_in(tmp_path / "1", [weights], [0.1]), "QDQ001")
        assert "weights" in found.message
        dynamic = step("dq", "DynamicQuantize", "b", "c", ("Half", FP4))
        (found,) = findings(engine_in(tmp_path / "2", between(dynamic), [0.1, 0.1, 0.1]), "QDQ001")
        assert severity("QDQ001", found) is FindingSeverity.INFO

    def test_without_a_profile(self, tmp_path: Path) -> None:
        middle = copy_of("r", "b", "c", (FP16_32, INT8_32), origin="QDQ")
        (found,) = findings(engine_in(tmp_path, between(middle)), "QDQ001")
        assert found.saving_ms is None


def block(output: str = FP16_32, **more: Any) -> list[dict[str, Any]]:
    """A quantized convolution, a Q if it writes floating point, another quantized convolution."""
    q = copy_of("Q", "b", "c", (output, INT8_32), origin="QDQ")
    first = conv("first", "a", "b", dtype=INT8_32, out=output, tactic=TC8, **more)
    second = conv("second", "c" if output != INT8_32 else "b", "d", dtype=INT8_32, tactic=TC8)
    return [first, *([q] if output != INT8_32 else []), second]


class TestFloatResult:
    def test_quantized_again(self, tmp_path: Path) -> None:
        engine = engine_in(tmp_path, block(), [1.0, 0.5, 1.0])
        (found,) = findings(engine, "PREC002")
        assert found.layers == (0, 1)
        assert severity("PREC002", found) is FindingSeverity.WARNING
        # Half of the 12.8 MB written, over 1.935 TB/s, and the Q.
        assert found.savings_ms == {0: pytest.approx(32 * 64 * 56 * 56 / 1.93536e9), 1: 0.5}

    def test_behind_a_reformat(self, tmp_path: Path) -> None:
        first, _, second = block()
        layers = [
            first,
            copy_of("R", "b", "r", (FP16_32, LINEAR16)),
            copy_of("Q", "r", "c", (LINEAR16, INT8_32), origin="QDQ"),
            second,
        ]
        (found,) = findings(engine_in(tmp_path, layers, [1.0, 0.3, 0.5, 1.0]), "PREC002")
        assert found.layers == (0, 1, 2)


def skip(dtype: str) -> dict[str, Any]:
    return tensor("skip", 32, 64, 56, 56, dtype=dtype)


class TestResidual:
    def test_as_a_kernel(self, tmp_path: Path) -> None:
        add = fused("CastMulCastMulAddReluMulMinMaxRounCast", "a", "b", ("Int8", "Int8"))
        add["Inputs"].append(tensor("skip", 32, 64, 56, 56, dtype="Int8"))
        (found,) = findings(engine_in(tmp_path / "1", [add], [0.3]), "QDQ003")
        assert found.saving_ms == pytest.approx(0.2)
        other = fused("CastMulCastMulAddRelu", "a", "b", ("Int8", "Half"))
        assert findings(engine_in(tmp_path / "2", [other], [0.3]), "QDQ003") == []


class TestMostlyFloat:
    def test_a_quantized_backbone(self, tmp_path: Path) -> None:
        layers = [conv("q", "a", "b", dtype=INT8_32, tactic=TC8), conv("h", "b", "c"), conv("i", "c", "d")]
        (found,) = findings(engine_in(tmp_path, layers, [1.0, 2.0, 3.0]), "QDQ004")
        assert found.layers == (1, 2)
        assert found.confidence is Confidence.LOW
        assert found.savings_ms == {1: 1.0, 2: 1.5}

    def test_near_misses(self, tmp_path: Path) -> None:
        quantized = conv("q", "a", "b", dtype=INT8_32, tactic=TC8)
        assert (
            findings(engine_in(tmp_path / "1", [quantized, conv("h", "b", "c")], [2.0, 1.0]), "QDQ004") == []
        )
        assert findings(engine_in(tmp_path / "2", [conv("h", "b", "c")], [1.0]), "QDQ004") == []


def test_a_long_island_is_found_at_once(tmp_path: Path) -> None:
    last = 2000
    steps = [fused("Sigm", f"t{number}", f"t{number + 1}", ("Half", "Half")) for number in range(last)]
    first = step("dq", "Dequantize", "q", "t0", ("Int8", "Half"))
    end = step("q", "Quantize", f"t{last}", "r", ("Half", "Int8"))
    edges = [fused("Relu", "a", "q", ("Int8", "Int8")), fused("Abs", "r", "z", ("Int8", "Int8"))]
    engine = engine_in(tmp_path, [edges[0], first, *steps, end, edges[1]])
    (island,) = find_islands(Context(engine))
    assert len(island.work) == last
