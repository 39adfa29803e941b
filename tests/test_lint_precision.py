from __future__ import annotations

from pathlib import Path

import pytest

from helpers import tensor
from lint_kit import (
    CUDA32,
    FP16_32,
    INT8_32,
    LINEAR16,
    LINEAR32,
    TC8,
    conv,
    copy_of,
    engine_in,
    findings,
    not_checked,
    severity,
    step,
)
from trex_tui.lint.rule import FindingSeverity


def pool(name: str, source: str, target: str, dtype: str, **more: object) -> dict[str, object]:
    attributes = {"ParameterType": "Pooling", "PoolingType": "MAX"} | more
    return step(name, "TiledPooling", source, target, (dtype, dtype), **attributes)


class TestWideLayers:
    def test_single_among_halves(self, tmp_path: Path) -> None:
        layers = [
            conv("half", "a", "b"),
            conv("wide", "b", "c", tactic=CUDA32, dtype=LINEAR32),
            pool("pool", "c", "d", LINEAR32),
            pool("fine", "d", "e", LINEAR16),
        ]
        engine = engine_in(tmp_path, layers, [1.0, 1.0, 0.5, 0.5])
        found = findings(engine, "PREC001")
        assert found[0].layers == (1, 2)
        assert found[0].saving_ms == pytest.approx(0.75)

    @pytest.mark.parametrize(
        "near",
        [
            copy_of("reformat", "b", "c", (LINEAR32, LINEAR32)),
            step("small", "PointWise", "b", "c", (LINEAR32, LINEAR32), shape=(1, 100)),
            step("indices", "PointWise", "b", "c", ("Row major linear INT32", "Row major linear INT32")),
            step("opaque", "Myelin", "b", "c", (LINEAR32, LINEAR32)),
            step("last", "CudaSoftMax", "b", "output", (LINEAR32, LINEAR32), ParameterType="SoftMax"),
            pool("short", "b", "c", LINEAR32),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_near_misses(self, tmp_path: Path, near: dict[str, object]) -> None:
        time = 0.004 if near["Name"] == "short" else 1.0
        engine = engine_in(tmp_path, [conv("half", "a", "b"), near], [1.0, time], bindings=["output"])
        assert findings(engine, "PREC001") == []

    def test_an_engine_in_single_is_not_its_matter(self, tmp_path: Path) -> None:
        layers = [conv(f"c{place}", "a", "b", tactic=CUDA32, dtype=LINEAR32) for place in range(3)]
        assert findings(engine_in(tmp_path, layers, [1.0] * 3), "PREC001") == []

    def test_without_a_profile_they_are_told_together(self, tmp_path: Path) -> None:
        layers = [conv("half", "a", "b"), pool("p", "b", "c", LINEAR32), pool("q", "c", "d", LINEAR32)]
        (found,) = findings(engine_in(tmp_path, layers), "PREC001")
        assert found.layers == (1, 2)
        assert found.saving_ms is None


def island(middle: str, *, last: str = INT8_32) -> list[dict[str, object]]:
    """A quantized convolution, a pool in the given type, a conversion, a convolution."""
    return [
        conv("before", "a", "b", dtype=INT8_32, out=middle, tactic=TC8),
        pool("pool", "b", "c", middle),
        copy_of("Q", "c", "d", (middle, last), origin="QDQ"),
        conv("behind", "d", "e", dtype=last, tactic=TC8),
    ]


class TestIslands:
    def test_a_pool_in_halves(self, tmp_path: Path) -> None:
        (found,) = findings(engine_in(tmp_path, island(FP16_32), [1.0, 1.0, 0.5, 1.0]), "PREC002")
        assert found.layers == (0, 1, 2)
        written = 32 * 64 * 56 * 56 / 1.93536e9
        assert found.savings_ms == {0: pytest.approx(written), 1: pytest.approx(0.5), 2: 0.5}
        assert "after 'before'" in found.remedy
        assert severity("PREC002", found) is FindingSeverity.WARNING

    def test_told_once(self, tmp_path: Path) -> None:
        engine = engine_in(tmp_path, island(LINEAR32), [1.0, 1.0, 0.5, 1.0])
        assert len(findings(engine, "PREC002")) == 1
        assert findings(engine, "PREC001") == []

    def test_a_softmax_is_worth_knowing(self, tmp_path: Path) -> None:
        layers = island(FP16_32)
        layers[1] |= {"LayerType": "SoftMax", "ParameterType": "SoftMax"}
        (found,) = findings(engine_in(tmp_path, layers, [1.0] * 4), "PREC002")
        assert severity("PREC002", found) is FindingSeverity.INFO
        assert "Few of these operators" in found.remedy

    def test_a_skip_input_that_is_quantized_already(self, tmp_path: Path) -> None:
        """Q and DQ are missing behind the addition, not on its skip input."""
        layers = [
            conv("first", "a", "s", dtype=INT8_32, tactic=TC8),
            copy_of("DQ", "s", "f", (INT8_32, LINEAR32), origin="QDQ"),
            conv("second", "s", "b", dtype=INT8_32, tactic=TC8),
            conv(
                "third",
                "b",
                "c",
                dtype=INT8_32,
                out=LINEAR32,
                tactic=TC8,
                extra=[tensor("f", 32, 64, 56, 56, dtype=LINEAR32)],
            ),
            pool("average", "c", "d", LINEAR32),
            copy_of("Q", "d", "e", (LINEAR32, INT8_32), origin="QDQ"),
            conv("last", "e", "g", dtype=INT8_32, tactic=TC8),
        ]
        engine = engine_in(tmp_path, layers, [1.0, 0.2, 1.0, 2.0, 0.4, 0.3, 1.0])
        (found,) = findings(engine, "PREC002")
        assert found.layers == (1, 3, 4, 5)
        assert "after 'third'" in found.remedy
        for rule in ("QDQ001", "QDQ003", "PREC001"):
            assert findings(engine, rule) == [], rule

    def test_what_a_float_product_reads_is_no_island(self, tmp_path: Path) -> None:
        layers = [*island(FP16_32), conv("float", "c", "f", dtype=FP16_32)]
        assert findings(engine_in(tmp_path, layers, [1.0] * 5), "PREC002") == []

    def test_quantized_pools_and_edges_are_fine(self, tmp_path: Path) -> None:
        quantized = engine_in(tmp_path / "1", [*island(INT8_32)[:2], conv("c", "c", "d", dtype=INT8_32)])
        assert findings(quantized, "PREC002") == []
        last = engine_in(tmp_path / "2", island(FP16_32)[:2])
        assert findings(last, "PREC002") == []
        into_float = engine_in(tmp_path / "3", island(FP16_32, last=FP16_32))
        assert findings(into_float, "PREC002") == []


class TestWholeEngine:
    def single(self) -> list[dict[str, object]]:
        return [
            conv("a", "a", "b", tactic=CUDA32, dtype=LINEAR32),
            conv("b", "b", "c", tactic=CUDA32, dtype=LINEAR32),
        ]

    def test_all_in_single(self, tmp_path: Path) -> None:
        (found,) = findings(engine_in(tmp_path, self.single(), [1.0, 2.0]), "PREC003")
        assert found.layers == (0, 1)
        assert 1.5 <= (found.saving_ms or 0) <= 3.0

    def test_int8_without_halves(self, tmp_path: Path) -> None:
        layers = [conv("q", "a", "b", dtype=INT8_32, tactic=TC8)]
        (found,) = findings(engine_in(tmp_path / "1", layers, [1.0], precision="FP32+INT8"), "PREC003")
        assert "--best" in found.remedy
        assert findings(engine_in(tmp_path / "2", layers, [1.0], precision="FP32+FP16+INT8"), "PREC003") == []

    def test_a_builder_that_chose_single_needs_no_advice_to_try_halves(self, tmp_path: Path) -> None:
        engine = engine_in(tmp_path, self.single(), [1.0, 1.0], precision="FP32+FP16+INT8")
        assert findings(engine, "PREC003") == []

    def test_unknown_device(self, tmp_path: Path) -> None:
        engine = engine_in(tmp_path, self.single(), [1.0, 1.0], device=None)
        assert findings(engine, "PREC003") == []
        assert "device is unknown" in not_checked(engine, "PREC003")[0].reason
