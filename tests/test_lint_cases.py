"""What lint says about real cases: each was wrong or missed once. Cases that are kinds, not files, are made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import ARTIFACTS
from lint_kit import HWC8, INT8_32, LINEAR16, TC8, conv, engine_in, fused, weighed
from trex_tui.api import load_engine
from trex_tui.lint.config import LintConfig
from trex_tui.lint.rule import ERROR, INFO, WARNING, Finding
from trex_tui.lint.run import LintResult, run_rules

CASES = ARTIFACTS.parent / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases at {CASES}")


def lint(case: str) -> LintResult:
    result = run_rules(load_engine(CASES / case))
    assert result.failed == ()
    return result


def found(result: LintResult, rule: str) -> list[Finding]:
    return [one for one in result.findings if one.rule.id == rule]


def test_a_blocked_enqueue_is_no_slow_launch() -> None:
    result = lint("01-enqueue-blocked")
    assert not found(result, "LAUNCH002")
    assert any("the host blocks in enqueue (1664 ms" in missing.reason for missing in result.not_checked)
    (shapes,) = found(result, "MEASURE004")
    assert "'hidden_states' 1×10816×64 instead of 1×6032×64" in shapes.message


def test_products_too_small_for_any_peak() -> None:
    result = lint("02-tiny-batched-gemm/int8")
    first, second = result.findings[:2]
    assert (first.rule.id, first.severity) == ("BUILD002", ERROR)
    assert first.remedy == "Write --memPoolSize=workspace:2048M."
    assert second.rule.id == "GEMM006"
    assert "2 layers compute 212992 products of 3×3 · 3×1 each by cublas" in second.message
    assert "multiplication and a sum" in second.remedy
    others = (one for one in result.findings if one is not second)
    assert max(one.saving_ms or 0.0 for one in others) < 0.02 * 2580, (
        "a narrower type promises nothing to them"
    )
    assert not found(result, "LAUNCH002")


def test_a_narrower_type_for_tiny_products_is_no_advice() -> None:
    assert not found(lint("02-tiny-batched-gemm/int8"), "QDQ004")


def test_logits_are_not_quantized() -> None:
    result = lint("qdq002-softmax")
    assert not [
        one.rule.id for one in (*result.findings, *result.minor) if one.rule.family in ("QDQ", "PREC")
    ]


def test_what_no_layer_writes_is_an_input_where_none_is_stated() -> None:
    (quantizes,) = found(lint("07-inspector-print/layer_info.json"), "QDQ001")
    assert "at the network's edge" in quantizes.message


def test_a_reformat_at_the_edge_is_no_movement_inside() -> None:
    assert not found(lint("fmt004-fp32-chw4"), "FMT005")


def test_a_wide_convolution_needs_no_larger_batch() -> None:
    (tiles,) = found(lint("02-tiny-batched-gemm/fp16"), "GEMM005")
    assert "A larger batch does not help" in tiles.remedy


def test_requests_for_names_that_are_no_layers() -> None:
    (request,) = found(lint("03-constraints-ignored"), "REQ001")
    assert "2 names that no layer of the network has" in request.message
    assert "runs in FP16" in request.message
    assert "--layerPrecisions=/blocks.0/norm1/" in request.remedy


def test_fallbacks_of_the_dla_by_reason() -> None:
    result = lint("04-dla-fallback-log")
    reasons, limit = found(result, "DLA001")
    assert "6 layers fell back from the DLA to the GPU, unsupported on DLA" in reasons.message
    assert "limit of 16 DLA subgraphs is reached" in limit.message
    assert not found(result, "LAUNCH002"), "a CUDA graph excludes the DLA"


def test_shapes_of_profiles_for_the_dla() -> None:
    result = run_rules(load_engine(CASES / "09-other-prefixes" / "ds10.log"))
    (fallback,) = found(result, "DLA001")
    assert fallback.message.startswith("Layers fell back from the DLA to the GPU, DLA needs profiles whose")
    assert "equal minimum, optimal and maximum shapes" in fallback.remedy


def test_int8_without_calibration() -> None:
    result = run_rules(load_engine(CASES / "09-other-prefixes" / "ds.log"))
    assert any("no calibration file" in one.message for one in found(result, "PREC004"))


def test_verbosity_that_was_given_is_no_advice() -> None:
    result = lint("05-banner-command")
    (hot,) = found(result, "HOT001")
    assert not [finding.rule for finding in result.findings if "--profilingVerbosity" in finding.remedy]
    assert "TensorRT 10 and later list its kernels" in hot.remedy


def test_shares_refer_to_the_stated_total() -> None:
    hot = found(run_rules(load_engine(CASES / "06-truncated-table", run=1)), "HOT001")
    assert all("83." not in one.message for one in hot)


def test_weights_quantized_alone() -> None:
    for name in ("07-inspector-print/good", "07-inspector-print/layer_info.json"):
        result = lint(name)
        (weights,) = found(result, "QDQ005")
        assert "'/fc2/Gemm_myl0_4' runs in TF32: its weights have Q and DQ" in weights.message
        assert "OK-QDQ" not in {one.rule.id for one in result.positives}


def test_memory_of_a_board() -> None:
    (skipped,) = found(run_rules(load_engine(CASES / "08-fallback-of-parts" / "skipped.log")), "BUILD001")
    assert "the first needs 1000 MB with 302 MB free" in skipped.message
    assert "drop_caches" in skipped.remedy


def test_the_row_that_waits_for_the_dla() -> None:
    result = lint("15-dla-two-outputs")
    (movement,) = found(result, "FMT005")
    assert movement.layer_ms == pytest.approx(8.98, abs=0.01), "without the 31 ms of the DLA"
    (hot,) = found(result, "HOT001")
    assert "77.6 % of the engine" in hot.message


def test_why_an_activation_is_not_fused() -> None:
    merged, residual = found(lint("17-not-fused-why"), "FUSE001")
    assert "a || b" in merged.remedy
    assert "after the activation" in residual.remedy
    assert "3 activations in this engine are fused" in residual.remedy


def test_a_closed_block_may_be_attention() -> None:
    (hot,) = found(lint("18-closed-block-claims"), "HOT001")
    assert "97.7 %" in hot.message
    assert "mark an output inside the range" in hot.remedy


def test_unstable_by_the_log() -> None:
    (unstable,) = found(lint("19-stability-first-screen"), "MEASURE002")
    assert "coefficient of variation 22.3591 % (trtexec), p99 1.94 × median" in unstable.message


def test_fp32_has_no_layout_of_four_channels() -> None:
    result = lint("fmt004-fp32-chw4")
    assert not any("fp32:chw4" in one.remedy for one in (*result.findings, *result.minor))


@pytest.mark.parametrize("case", ["prec003-closed-blocks", "prec003-control"])
def test_closed_blocks_in_fp32(case: str) -> None:
    (wide,) = found(lint(case), "PREC003")
    assert "All 2 convolution, GEMM or attention layers (1 of them closed blocks) run in FP32" in wide.message


def test_tensorrt_rtx_has_no_tactics_to_time() -> None:
    logs = sorted((ARTIFACTS / "rtx").glob("*.log"))
    assert logs
    for path in logs:
        try:
            engine = load_engine(path)
        except Exception:  # noqa: BLE001 - a failed run is no engine
            continue
        result = run_rules(engine, LintConfig(shows_all=True))
        said = {one.rule.id for one in (*result.findings, *result.remarks)}
        assert not said & {"BUILD003", "QDQ001"}, path.name


# Kinds


def test_merged_products_have_no_epilogue(tmp_path: Path) -> None:
    """A fused that reads both halves of a merged product cannot be one, as in SwiGLU."""
    merged = conv("up + gate", "a", "b", maps=128, dtype=HWC8)
    half = fused("SiluMul", "b", "c", (HWC8, HWC8), shape=(32, 64, 56, 56))
    assert weighed(engine_in(tmp_path, [merged, half], [1.0, 0.5]), "FUSE001") == []


def test_small_savings_of_a_large_engine_are_minor(tmp_path: Path) -> None:
    layers = [
        conv("first", "a", "b", dtype=INT8_32, tactic=TC8),
        fused("CastMul", "b", "c", (INT8_32, LINEAR16)),
        conv("second", "c", "d"),
    ]
    result = run_rules(engine_in(tmp_path, layers, [500.0, 0.1, 500.0]))
    assert not result.findings or all(one.severity in (INFO, WARNING) for one in result.findings)
    assert all((one.saving_ms or 1.0) >= 0.005 * 1000 for one in result.findings)
