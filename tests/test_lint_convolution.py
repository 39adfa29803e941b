from __future__ import annotations

from pathlib import Path

import pytest

from lint_kit import (
    CUDA16,
    CUDA32,
    DP4A,
    GTX_1070,
    HWC4,
    INT8_4,
    INT8_32,
    LINEAR32,
    RTX_3090,
    TC8,
    TC16,
    WINOGRAD,
    conv,
    engine_of,
    findings,
    kernel,
    not_checked,
    reformat,
    severity,
    step,
)
from trex_tui.lint.rule import Confidence, FindingSeverity


class TestCudaCores:
    def test_half_precision_on_cuda_cores(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [conv("slow", "a", "b", tactic=CUDA16)], [2.0])
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
        engine = engine_of(tmp_path, [near], [2.0])
        assert findings(engine, "CONV001") == []

    def test_a_layer_that_the_memory_holds_back(self, tmp_path: Path) -> None:
        layers = [conv("busy", "a", "b", tactic=CUDA16, kernel=1)]
        assert findings(engine_of(tmp_path, layers, [0.02]), "CONV001") == []

    def test_a_device_without_tensor_cores(self, tmp_path: Path) -> None:
        layers = [conv("slow", "a", "b", tactic=CUDA16)]
        assert findings(engine_of(tmp_path, layers, [2.0], device=GTX_1070), "CONV001") == []

    def test_an_unknown_tactic_is_not_a_no(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [conv("?", "a", "b", tactic=None)], [2.0])
        assert findings(engine, "CONV001") == []
        assert [one.layers for one in not_checked(engine, "CONV001")] == [1]

    def test_an_unknown_device(self, tmp_path: Path) -> None:
        slow = conv("slow", "a", "b", tactic=CUDA16)
        engine = engine_of(tmp_path / "1", [slow], [2.0], device=None)
        assert findings(engine, "CONV001") == []
        assert "device is unknown" in not_checked(engine, "CONV001")[0].reason
        # Another kernel shows that there are tensor cores.
        engine = engine_of(tmp_path / "2", [slow, conv("fast", "b", "c")], [2.0, 0.1], device=None)
        (found,) = findings(engine, "CONV001")
        assert found.saving_ms == 2.0 - 0.005, "the shortest kernel remains"
        assert found.confidence is Confidence.LOW

    def test_without_a_profile(self, tmp_path: Path) -> None:
        (found,) = findings(engine_of(tmp_path, [conv("slow", "a", "b", tactic=CUDA16)]), "CONV001")
        assert found.saving_ms is None
        assert "time unknown" in found.message


class TestSingle:
    def test_tf32_pays_on_a_data_centre_gpu(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [conv("slow", "a", "b", tactic=CUDA32, dtype=LINEAR32)], [2.0])
        (found,) = findings(engine, "CONV002")
        assert found.savings_ms[0] == pytest.approx(2.0 * (1 - 19.5 / 156), rel=0.01)

    def test_winograd_counts_for_more(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [conv("slow", "a", "b", tactic=WINOGRAD, dtype=LINEAR32)], [2.0])
        (found,) = findings(engine, "CONV002")
        assert found.savings_ms[0] == pytest.approx(2.0 * (1 - 2.25 * 19.5 / 156), rel=0.01)

    def test_geforce_wins_nothing(self, tmp_path: Path) -> None:
        layers = [conv("slow", "a", "b", tactic=CUDA32, dtype=LINEAR32)]
        assert findings(engine_of(tmp_path, layers, [2.0], device=RTX_3090), "CONV002") == []

    def test_half_precision_is_not_its_matter(self, tmp_path: Path) -> None:
        assert findings(engine_of(tmp_path, [conv("x", "a", "b", tactic=CUDA16)], [2.0]), "CONV002") == []

    def test_unknown_device(self, tmp_path: Path) -> None:
        layers = [conv("slow", "a", "b", tactic=CUDA32, dtype=LINEAR32)]
        engine = engine_of(tmp_path, layers, [2.0], device=None)
        assert findings(engine, "CONV002") == []
        assert [one.layers for one in not_checked(engine, "CONV002")] == [1]


class TestPadding:
    @pytest.mark.parametrize(
        ("more", "waste"),
        [
            ({"channels": 64, "maps": 50}, 1 - 50 / 56),
            ({"channels": 24, "maps": 144, "dtype": INT8_32, "tactic": TC8}, 1 - 24 * 144 / (32 * 160)),
            ({"channels": 36, "maps": 60, "groups": 2}, 1 - 18 * 30 / (24 * 32)),
        ],
    )
    def test_padded(self, tmp_path: Path, more: dict[str, int], waste: float) -> None:
        (found,) = findings(engine_of(tmp_path, [conv("odd", "a", "b", **more)], [2.0]), "CONV003")
        shown = dict(found.evidence)
        assert shown["waste_pct"] == pytest.approx(100 * waste, abs=0.06)
        assert 0 < (found.saving_ms or 0) <= 2.0 * waste + 1e-9

    @pytest.mark.parametrize(
        "more",
        [
            {"channels": 64, "maps": 64},
            {"channels": 512, "maps": 1001},
            {"channels": 3, "maps": 64},
            {"channels": 24, "maps": 24, "groups": 24},
            {"channels": 24, "maps": 24, "dtype": INT8_4, "tactic": DP4A},
            {"channels": 50, "maps": 50, "dtype": LINEAR32, "tactic": CUDA32},
        ],
    )
    def test_near_misses(self, tmp_path: Path, more: dict[str, int]) -> None:
        assert findings(engine_of(tmp_path, [conv("x", "a", "b", **more)], [2.0]), "CONV003") == []

    def test_severity_goes_by_time(self, tmp_path: Path) -> None:
        layers = [conv("odd", "a", "b", maps=50), conv("even", "b", "c", channels=64)]
        (found,) = findings(engine_of(tmp_path / "1", layers, [1.0, 1.0]), "CONV003")
        assert severity("CONV003", found) is FindingSeverity.WARNING
        (found,) = findings(engine_of(tmp_path / "2", layers, [0.1, 10.0]), "CONV003")
        assert severity("CONV003", found) is FindingSeverity.INFO

    def test_dynamic(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [conv("x", "a", "b", channels=-1, size=8)], [2.0])
        assert findings(engine, "CONV003") == []
        assert [one.layers for one in not_checked(engine, "CONV003")] == [1]


class TestFirst:
    def test_quantized_for_nothing(self, tmp_path: Path) -> None:
        layers = [
            step("Q", "Scale", "input", "q", (LINEAR32, INT8_4), shape=(32, 3, 224, 224)),
            conv("stem", "q", "c", channels=3, size=224, dtype=INT8_4, out=LINEAR32, tactic=DP4A),
            reformat("R", "c", "h", (LINEAR32, "Half"), shape=(32, 64, 224, 224)),
            kernel("Relu", "h", "output", shape=(32, 64, 224, 224)),
        ]
        engine = engine_of(tmp_path, layers, [0.5, 1.0, 0.4, 0.1], bindings=["input", "output"])
        (found,) = findings(engine, "CONV004")
        assert found.layers == (0, 1)
        assert severity("CONV004", found) is FindingSeverity.WARNING
        assert found.savings_ms[0] == 0.5
        # 16-bit elements of input and output, four times over the bandwidth.
        halves = 4 * 2 * 32 * 67 * 224 * 224 / 1.93536e9
        assert found.savings_ms[1] == pytest.approx(1.0 - halves)
        assert found.remedy.startswith("It writes FP32")

    def test_quantized_through_is_faster_than_in_halves(self, tmp_path: Path) -> None:
        layers = [
            step("Q", "Scale", "input", "q", (LINEAR32, INT8_4), shape=(32, 3, 224, 224)),
            conv("stem", "q", "c", channels=3, size=224, dtype=INT8_4, out=INT8_32, tactic=DP4A),
        ]
        assert findings(engine_of(tmp_path, layers, [0.5, 1.0]), "CONV004") == []

    @pytest.mark.parametrize(("batch", "expected"), [(32, Confidence.MEDIUM), (1, Confidence.LOW)])
    def test_small_batches_are_guessed(self, tmp_path: Path, batch: int, expected: Confidence) -> None:
        stem = conv("stem", "a", "b", channels=3, size=224, batch=batch, dtype=LINEAR32, tactic=CUDA32)
        (found,) = findings(engine_of(tmp_path / "1", [stem, conv("rest", "b", "c")], [1.0, 1.0]), "CONV004")
        assert found.confidence is expected
        alone = engine_of(tmp_path / "2", [stem], [1.0])
        assert findings(alone, "CONV004") == [], "all is FP32: PREC003"

    def test_on_tensor_cores_it_is_worth_knowing(self, tmp_path: Path) -> None:
        layers = [conv("stem", "a", "b", channels=3, size=224, dtype=HWC4), conv("rest", "b", "c")]
        (found,) = findings(engine_of(tmp_path / "1", layers, [0.1, 0.9]), "CONV004")
        assert severity("CONV004", found) is FindingSeverity.INFO
        assert found.saving_ms is None
        assert "space to depth" in found.remedy
        assert findings(engine_of(tmp_path / "2", layers, [0.09, 0.91]), "CONV004") == []

    def test_what_is_quantized_later_is_an_island(self, tmp_path: Path) -> None:
        layers = [
            conv("stem", "a", "b", channels=3, size=224, dtype=INT8_4, out=LINEAR32, tactic=DP4A),
            step("Q", "Scale", "b", "c", (LINEAR32, INT8_32), shape=(32, 64, 224, 224)),
            conv("rest", "c", "d", dtype=INT8_32),
        ]
        engine = engine_of(tmp_path, layers, [1.0, 0.5, 1.0])
        assert findings(engine, "CONV004") == []
        (island,) = findings(engine, "PREC002")
        assert island.layers == (0, 1)
        assert island.remedy.endswith("so that it writes 8 bits.")

    @pytest.mark.parametrize(("channels", "words"), [(1, "reads 1 channel of"), (3, "reads 3 channels of")])
    def test_number_of_channels(self, tmp_path: Path, channels: int, words: str) -> None:
        stem = conv("stem", "a", "b", channels=channels, size=224, dtype=HWC4)
        (found,) = findings(engine_of(tmp_path, [stem], [1.0]), "CONV004")
        assert words in found.message

    def test_near_misses(self, tmp_path: Path) -> None:
        cheap = [conv("stem", "a", "b", channels=3, size=224, dtype=HWC4), conv("rest", "b", "c")]
        assert findings(engine_of(tmp_path / "1", cheap, [0.02, 0.98]), "CONV004") == []
        wide = [conv("wide", "a", "b", channels=8)]
        assert findings(engine_of(tmp_path / "2", wide, [1.0]), "CONV004") == []
        fused = [conv("fused", "a", "b", channels=3, layer_type="conv_act_pool")]
        assert findings(engine_of(tmp_path / "3", fused, [1.0]), "CONV004") == []

    def test_without_a_profile(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [conv("stem", "a", "b", channels=3, tactic=TC16)])
        assert findings(engine, "CONV004") == []
        assert "--exportProfile" in not_checked(engine, "CONV004")[0].reason
