from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import strategies as st

from helpers import layer, tensor
from lint_kit import (
    A100,
    LINEAR32,
    RTX_3090,
    TC16,
    WINOGRAD,
    conv,
    engine_in,
    findings,
    not_checked,
    product,
    severity,
)
from trex_tui.lint.rule import Confidence, FindingSeverity

SIMT = "sm80_xmma_gemm_f16f16_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna2_alignc2"
GEMV = "sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n_launch_param4x32x32_strided_unit_stride"
SPLIT_K = TC16 + "_splitK4"


class TestReadingWeights:
    def test_bound_by_its_weights(self, tmp_path: Path) -> None:
        # 32 MiB at 1.935 TB/s take 0.0173 ms.
        layers = [product("fc", "a", "b", rows=1, columns=4096, inner=4096, tactic=GEMV)]
        (found,) = findings(engine_in(tmp_path, layers, [0.02]), "GEMM003")
        assert found.confidence is Confidence.HIGH
        assert found.saving_ms == pytest.approx(0.01, rel=1e-3)

    @pytest.mark.parametrize(
        ("rows", "time"), [(1, 0.05), (64, 0.02)], ids=["waits for its launch", "many rows"]
    )
    def test_near_misses(self, tmp_path: Path, rows: int, time: float) -> None:
        layers = [product("fc", "a", "b", rows=rows, columns=4096, inner=4096)]
        assert findings(engine_in(tmp_path, layers, [time]), "GEMM003") == []

    def test_what_it_needs(self, tmp_path: Path) -> None:
        layers = [product("fc", "a", "b", rows=1, columns=4096, inner=4096, tactic=GEMV)]
        engine = engine_in(tmp_path / "1", layers)
        assert findings(engine, "GEMM003") == []
        assert "--exportProfile" in not_checked(engine, "GEMM003")[0].reason
        engine = engine_in(tmp_path / "2", layers, [0.02], device=None)
        assert findings(engine, "GEMM003") == []
        assert "bandwidth" in not_checked(engine, "GEMM003")[0].reason

    def test_without_a_device_the_engine_shows_what_the_memory_does(self, tmp_path: Path) -> None:
        layers = [
            product("fc1", "a", "b", rows=1, columns=4096, inner=4096, tactic=GEMV),
            product("fc2", "b", "c", rows=1, columns=4096, inner=4096, tactic=GEMV),
            product("slow", "c", "d", rows=1, columns=4096, inner=4096, tactic=GEMV),
            product("tiny", "d", "e", rows=1, columns=16, inner=4096, tactic=GEMV),
        ]
        engine = engine_in(tmp_path, layers, [0.1, 0.12, 0.3, 0.005], device=None)
        found = findings(engine, "GEMM003")
        assert [one.layers for one in found] == [(0,), (1,)]
        assert {one.confidence for one in found} == {Confidence.MEDIUM}
        assert {one.group for one in found} == {
            "matrix-vector products read their weights near the best rate of this engine"
        }


def wave_conv(name: str, **more: object) -> dict[str, object]:
    """M = 12544, N = 256 in tiles of 128×256, one per SM: 98 tiles."""
    tactic = TC16.replace("128x64x64", "128x256x64")
    raw = {"channels": 256, "maps": 256, "size": 14, "batch": 64, "tactic": tactic}
    return conv(name, "a", name, **(raw | more))  # type: ignore[arg-type]


class TestWaves:
    @pytest.mark.parametrize(
        "more",
        [
            {"tactic": WINOGRAD, "dtype": LINEAR32, "batch": 1},
            {"tactic": SPLIT_K, "batch": 1},
            {"groups": 4, "batch": 1},
            {"batch": 64},
        ],
        ids=["Winograd", "split-K", "grouped", "many tiles"],
    )
    def test_near_misses(self, tmp_path: Path, more: dict[str, object]) -> None:
        engine = engine_in(tmp_path, [wave_conv("x", **more)], [1.0], device=RTX_3090)
        assert findings(engine, "GEMM004") == []

    def test_less_than_a_wave_is_told_for_the_engine(self, tmp_path: Path) -> None:
        small = [wave_conv(f"small{place}", batch=1) for place in range(3)]
        engine = engine_in(tmp_path, [*small, wave_conv("large", batch=128)], [1.0] * 4, device=A100)
        (found,) = findings(engine, "GEMM004")
        assert found.layers == (0, 1, 2)
        assert found.saving_ms is None
        assert "--infStreams" in found.remedy

    def test_what_it_needs(self, tmp_path: Path) -> None:
        engine = engine_in(tmp_path / "1", [wave_conv("x")], [1.0], device=None)
        assert findings(engine, "GEMM004") == []
        assert "SMs" in not_checked(engine, "GEMM004")[0].reason
        engine = engine_in(tmp_path / "2", [wave_conv("x")], device=RTX_3090)
        assert "--exportProfile" in not_checked(engine, "GEMM004")[0].reason


def einsum(name: str, *, columns: int) -> dict[str, object]:
    inputs = [tensor("a", 4096, 32, 56), tensor("b", 4096, 56, columns)]
    tactic = (
        "cutlass3x_sm100_tensorop_s64x64x16gemm_f16_f16_f32_f16_f16_64x64x64_0_nnn_align8_1sm_bias_f16_relu"
    )
    return layer(name, "gemm", inputs, [tensor("c", 4096, 32, columns)], TacticName=tactic)


class TestEmptyTiles:
    def test_a_batch_of_products_with_one_column(self, tmp_path: Path) -> None:
        (found,) = findings(engine_in(tmp_path, [einsum("e", columns=1)], [0.17]), "GEMM005")
        assert "0.8 % used" in found.message
        assert "sum" in found.remedy
        # The bytes are the lower bound: 4096 · (32 · 56 + 56 + 32) halves.
        assert found.saving_ms == pytest.approx(0.17 - 2 * 4096 * 1880 / 1.93536e9, rel=1e-3)

    def test_near_misses(self, tmp_path: Path) -> None:
        assert findings(engine_in(tmp_path / "1", [einsum("e", columns=48)], [0.17]), "GEMM005") == []
        # The same product at the memory's pace: nothing to win.
        assert findings(engine_in(tmp_path / "2", [einsum("e", columns=1)], [0.01]), "GEMM005") == []
        one_row = [conv("head", "a", "b", size=1, batch=1, kernel=1)]
        assert findings(engine_in(tmp_path / "3", one_row, [1.0]), "GEMM005") == []

    def test_a_convolution_with_one_output_channel(self, tmp_path: Path) -> None:
        """A heatmap of one channel in a tile for 64: the worst of the heads of a detector."""
        (found,) = findings(engine_in(tmp_path, [conv("heat", "a", "b", maps=1)], [2.0]), "GEMM005")
        assert "N 1," in found.message

    def test_without_a_profile(self, tmp_path: Path) -> None:
        (found,) = findings(engine_in(tmp_path, [einsum("e", columns=1)]), "GEMM005")
        assert found.saving_ms is None
        assert severity("GEMM005", found) is FindingSeverity.WARNING


extent = st.integers(1, 5000)
