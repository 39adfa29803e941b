from __future__ import annotations

from pathlib import Path

import pytest

from lint_kit import (
    CUDA16,
    CUDA32,
    GTX_1070,
    HWC4,
    LINEAR32,
    conv,
    engine_in,
    findings,
    not_checked,
)
from trex_tui.lint.rule import Confidence


class TestCudaCores:
    def test_half_precision_on_cuda_cores(self, tmp_path: Path) -> None:
        engine = engine_in(tmp_path, [conv("slow", "a", "b", tactic=CUDA16)], [2.0])
        (found,) = findings(engine, "CONV001")
        assert found.layers == (0,)
        assert found.evidence["tensor_cores"] == "no"
        # 2 · 32 · 56² · 64² · 9 operations at 312 TFLOP/s are 0.024 ms; 25.7 MB at 1.935 TB/s, 0.0133 ms.
        assert found.savings_ms[0] == pytest.approx(2.0 - 1.5 * 0.0237, rel=1e-3)

    @pytest.mark.parametrize(
        "near",
        [
            conv("tensor cores", "a", "b"),
            conv(
                "h16816",
                "a",
                "b",
                tactic="ampere_h16816cudnn_128x64_ldg8_relu_exp_stages_64x3_small_nhwc_tn_v1",
            ),
            conv("depthwise", "a", "b", tactic=CUDA16, groups=64),
            conv("depthwise by type", "a", "b", tactic=CUDA16, layer_type="CudaDepthwiseConvolution"),
            conv("first", "a", "b", tactic=CUDA16, channels=3, dtype=HWC4),
            conv("one position", "a", "b", tactic=CUDA16, size=1, batch=1, kernel=1),
            conv("single", "a", "b", tactic=CUDA32, dtype=LINEAR32),
        ],
        ids=lambda raw: raw["Name"],
    )
    def test_near_misses(self, tmp_path: Path, near: dict[str, object]) -> None:
        engine = engine_in(tmp_path, [near], [2.0])
        assert findings(engine, "CONV001") == []

    def test_a_layer_that_the_memory_holds_back(self, tmp_path: Path) -> None:
        layers = [conv("busy", "a", "b", tactic=CUDA16, kernel=1)]
        assert findings(engine_in(tmp_path, layers, [0.02]), "CONV001") == []

    def test_a_device_without_tensor_cores(self, tmp_path: Path) -> None:
        layers = [conv("slow", "a", "b", tactic=CUDA16)]
        assert findings(engine_in(tmp_path, layers, [2.0], device=GTX_1070), "CONV001") == []

    def test_an_unknown_tactic_is_not_a_no(self, tmp_path: Path) -> None:
        engine = engine_in(tmp_path, [conv("?", "a", "b", tactic=None)], [2.0])
        assert findings(engine, "CONV001") == []
        assert [one.layers for one in not_checked(engine, "CONV001")] == [1]

    def test_an_unknown_device(self, tmp_path: Path) -> None:
        slow = conv("slow", "a", "b", tactic=CUDA16)
        engine = engine_in(tmp_path / "1", [slow], [2.0], device=None)
        assert findings(engine, "CONV001") == []
        assert "device is unknown" in not_checked(engine, "CONV001")[0].reason
        # Another kernel shows that there are tensor cores.
        engine = engine_in(tmp_path / "2", [slow, conv("fast", "b", "c")], [2.0, 0.1], device=None)
        (found,) = findings(engine, "CONV001")
        assert found.saving_ms == 2.0 - 0.005, "the shortest kernel remains"
        assert found.confidence is Confidence.LOW
