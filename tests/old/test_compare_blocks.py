"""Comparisons as a whole: every layer once, times that add up, what changed, why, and what to beware of."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from compare_cases import (
    check,
    conv,
    fused,
    load_real,
    names_in,
    nodes,
    pointwise,
    reformat,
    renamed,
    shuffled,
    with_permuted_names,
    without,
    write_engine,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import REAL_SETS, examples, write_profile
from trex_tui.old.analysis.compare import Align, Cause, CautionKind, ChangeKind, Match, Outcome, Pin, compare
from trex_tui.old.analysis.compare.gate_metrics import METRICS, judge
from trex_tui.old.analysis.gates import parse_gate
from trex_tui.old.artifacts import find
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.report.views.compare_story import describe_engines

BY_NAME = {one.name: one for one in REAL_SETS}
A100 = ("resnet-A100/fp32/resnet", "resnet-A100/fp16/resnet", "resnet-qat")
PAIRS = [
    A100[:2],
    A100[1:],
    ("tf-resnet-RTX3090/fp32/resnet", "tf-resnet-RTX3090/fp16/resnet"),
    ("mobilenet-qat-8.4EA/mobilenet.qat", "mobilenet-qat-TITANRTX/mobilenet.qat"),
    ("alexnet_fp16", "resnet18_fp16"),
    ("resnet18_fp16", "resnet-qat"),
    ("tofp16", "diffusion-controlnet"),
    A100,
]


def real(names: tuple[str, ...], artifacts: Path) -> list[Engine]:
    del artifacts  # only to be skipped without them
    return [load_real(BY_NAME[name]) for name in names]


@pytest.mark.parametrize("mode", list(Align))
@pytest.mark.parametrize("names", PAIRS, ids=["/".join(one) for one in PAIRS])
def test_real_engines_add_up(names: tuple[str, ...], mode: Align, artifacts: Path) -> None:
    engines = real(names, artifacts)
    check(compare(engines, align=mode))


def test_the_a100_series_is_explained_and_ranked(artifacts: Path) -> None:
    found = compare(real(A100, artifacts))
    assert found.ranking == (1, 2, 0)
    assert found.ranked_by == "median latency of the timing rows"
    half, quantized = found.differences[1], found.differences[2]
    assert half is not None
    assert quantized is not None
    assert half.delta_ms == pytest.approx(1.016832 - 2.123776)
    assert "faster" in half.headline
    assert (half.reasons[0].cause, half.reasons[0].text) == (
        Cause.PRECISION,
        "20 convolutions TF32⇒FP16, 1 convolution FP32⇒FP16, 1 pooling FP32⇒FP16",
    )
    assert half.reasons[0].parts[0].delta_ms == pytest.approx(-0.707584)
    (added,) = (reason for reason in quantized.reasons if reason.cause is Cause.QDQ)
    assert (added.delta_ms, added.text) == (pytest.approx(0.232448), "10 Q/DQ layers only in C")
    assert [verdict and verdict.outcome for verdict in found.verdicts] == [
        None,
        Outcome.FASTER,
        Outcome.FASTER,
    ]
    kinds = {row.key: row.layers for row in found.by_kind}
    assert kinds["convolution"] == (21, 21, 21)
    assert kinds["quantize"] == (0, 0, 10)


def test_unrelated_engines_say_so_first(artifacts: Path) -> None:
    found = compare(real(("alexnet_fp16", "resnet18_fp16"), artifacts))
    assert found.cautions[0].kind is CautionKind.MODEL
    assert "different models" in found.cautions[0].text
    assert found.differences[1] is not None
    assert not found.differences[1].related
    assert found.verdict.outcome is Outcome.FASTER


def test_devices_clocks_and_batches_are_said_loudly(artifacts: Path) -> None:
    found = compare(real(("resnet-A100/fp32/resnet", "mobilenet-qat-TITANRTX/mobilenet.qat"), artifacts))
    kinds = [caution.kind for caution in found.cautions]
    assert kinds[:4] == [CautionKind.MODEL, CautionKind.DEVICE, CautionKind.CLOCKS, CautionKind.BATCH]
    text = " ".join(caution.text for caution in found.cautions)
    assert "TITAN RTX" in text
    assert "A100" in text
    assert "1 in mobilenet.qat, 32 in resnet" in text
    assert "1 iteration" in text


def test_per_batch_divides_every_time(artifacts: Path) -> None:
    engines = real(("resnet-qat", "resnet18_fp16"), artifacts)
    plain, per = compare(engines, per_batch=False), compare(engines, per_batch=True)
    check(per)
    assert per.sides[0].latency_sum_ms == pytest.approx((plain.sides[0].latency_sum_ms or 0.0) / 32)
    assert per.sides[1].latency_sum_ms == plain.sides[1].latency_sum_ms
    assert per.ranking == (0, 1)
    assert plain.ranking == (1, 0)
    assert per.verdict.difference_ms != plain.verdict.difference_ms
    words = "All times are per sample: divided by the batch (resnet-qat by 32, resnet18_fp16 by 1)."
    assert words in [caution.text for caution in per.cautions]
    assert describe_engines(per, 80).startswith("⚠ ")
    assert " · per sample · A " in describe_engines(per, 200)
    assert " · per sample · " in describe_engines(per, 80)
    assert "per sample" not in describe_engines(plain, 200)
    (held,) = judge(per, [parse_gate("latency_p99_ms > 0.001", METRICS)])
    assert " ms per sample" in held.why


@pytest.mark.parametrize("per_batch", [False, True])
def test_the_line_above_tells_every_verdict(artifacts: Path, per_batch: bool) -> None:
    """Of three engines in 80 columns names give way, then milliseconds."""
    found = compare(real(A100, artifacts), per_batch=per_batch)
    wide, narrow = describe_engines(found, 200), describe_engines(found, 78)
    assert len(wide) <= 200
    assert len(narrow) <= 78
    for place in found.others:
        verdict = found.verdicts[place]
        assert verdict is not None
        for line in (wide, narrow):
            assert verdict.outcome.value in line.partition(f"{'ABC'[place]}")[2]
    assert narrow.count(" %)") == wide.count(" %)")


def test_any_engine_may_be_the_baseline(artifacts: Path) -> None:
    engines = real(A100, artifacts)
    found = compare(engines, baseline=2)
    check(found)
    assert found.verdicts[2] is None
    assert found.others == (0, 1)
    forth, back = compare(engines[:2]), compare(engines[:2], baseline=1)
    assert (forth.differences[1].delta_ms or 0.0) == -(back.differences[0].delta_ms or 0.0)  # type: ignore[union-attr]


def test_what_only_the_others_have_is_matched_among_them(artifacts: Path) -> None:
    """Two INT8 engines against FP16: their Q/DQ layers are in blocks together, though the baseline has none."""
    fp16, int8 = real(A100[1:], artifacts)
    found = compare([fp16, int8, renamed(int8, []).engine])
    check(found)
    quantized = [block for block in found.blocks if block.kind == "quantize"]
    assert len(quantized) == 10
    assert {block.shape for block in quantized} == {"0:1:1"}
    third = found.differences[2]
    assert third is not None
    assert third.matches == found.differences[1].matches  # type: ignore[union-attr]


@settings(max_examples=examples(20))
@given(st.integers(0, 10_000))
def test_engines_changed_in_any_way_still_add_up(seed: int) -> None:
    drawn = Random(seed)
    wanted = (*A100, "alexnet_fp16", "resnet18_fp16")
    sources = [one for one in REAL_SETS if one.name in wanted and one.path("graph").is_file()]
    engine = load_real(drawn.choice(sources))
    engines = [engine]
    for _ in range(drawn.randint(1, 3)):
        other = engine
        for _ in range(drawn.randint(1, 4)):
            index = drawn.randrange(len(other.layers))
            make = drawn.choice(["without", "renamed", "shuffled", "names", "fused"])
            if make == "without":
                other = without(other, index).engine
            elif make == "renamed":
                other = renamed(other, [index]).engine
            elif make == "shuffled":
                other = shuffled(other, seed).engine
            elif make == "names":
                other = with_permuted_names(other, seed).engine
            else:
                other = fused(other, 0.3, seed).engine
        engines.append(other)
    mode = drawn.choice(list(Align))
    check(compare(engines, baseline=drawn.randrange(len(engines)), align=mode))


def small(folder: Path, *, half: bool) -> Engine:
    dtype = "Half" if half else "Float"
    layers = [
        conv(
            "/a/Conv + /a/Relu",
            "x",
            "a",
            dtype=dtype,
            TacticName=f"kernel_{dtype}",
            Weights={"Type": dtype, "Count": 100},
            Metadata=nodes("/a/Conv", "/a/Relu"),
        ),
        conv("/b/Conv", "a", "b", 32, dtype=dtype, Metadata=nodes("/b/Conv")),
    ]
    times = [0.5, 0.25]
    if half:
        layers.insert(0, reformat("Reformatting CopyNode for Input Tensor 0 to /a/Conv + /a/Relu", "in", "x"))
        layers.append(pointwise("/b/Relu", "b", "y", 32, Metadata=nodes("/b/Relu")))
        times = [0.05, 0.2, 0.1, 0.04]
    else:
        layers[1]["Name"] = "/b/Conv + /b/Relu"
        layers[1]["Metadata"] = nodes("/b/Conv", "/b/Relu")
    return write_engine(folder, layers, times, bindings=["in", "x", "y"] if half else ["x", "b"])


def test_a_block_tells_what_changed(tmp_path: Path) -> None:
    found = compare([small(tmp_path / "full", half=False), small(tmp_path / "half", half=True)])
    check(found)
    assert names_in(found) == [
        ([], ["Reformatting CopyNode for Input Tensor 0 to /a/Conv + /a/Relu"]),
        (["/a/Conv + /a/Relu"], ["/a/Conv + /a/Relu"]),
        (["/b/Conv + /b/Relu"], ["/b/Conv", "/b/Relu"]),
    ]
    alone, first, second = found.blocks
    assert (alone.latency_ms, alone.deltas_ms, alone.ratio) == ((0.0, 0.05), (0.0, 0.05), None)
    assert alone.is_one_sided
    changes = {change.kind: (change.before, change.after) for change in first.changes}
    assert changes == {
        ChangeKind.PRECISION: ("FP32", "FP16"),
        ChangeKind.TACTIC: ("kernel_Float", "kernel_Half"),
        ChangeKind.FORMATS: ("FP32 → FP32", "FP16 → FP16"),
        ChangeKind.WEIGHTS: ("400 B", "200 B"),
        ChangeKind.REFORMATS: ("none", "1"),
    }
    assert (first.match, first.confidence, first.label, first.module) == (
        Match.ONNX,
        1.0,
        "/a/Conv + /a/Relu",
        ("a",),
    )
    assert second.shape == "1:2"
    assert {change.kind: (change.before, change.after) for change in second.changes}[ChangeKind.FUSION] == (
        "1 layer",
        "2 layers",
    )
    assert second.latency_ms == (0.25, pytest.approx(0.14))
    assert second.ratio == pytest.approx(0.56)
    assert [block.index for block in found.by_delta()] == [1, 2, 0]


def test_the_whole_is_explained_in_sentences(tmp_path: Path) -> None:
    found = compare([small(tmp_path / "full", half=False), small(tmp_path / "half", half=True)]).differences[
        1
    ]
    assert found is not None
    assert [(reason.cause, reason.text) for reason in found.reasons] == [
        (Cause.PRECISION, "2 convolutions FP32⇒FP16"),
        (Cause.REFORMATS, "1 reformat only in B"),
    ]
    assert found.headline == (
        "B is 0.3600 ms (48.0 %) faster than A by the sum of layer times: "
        "−0.4100 ms precision, +0.0500 ms reformats."
    )
    assert found.changes[ChangeKind.PRECISION] == 2
    assert found.matches == {Match.NONE: 1, Match.ONNX: 2}


def test_without_a_profile_times_are_unknown_not_zero(tmp_path: Path) -> None:
    layers = [conv("/a/Conv", "x", "a"), conv("/b/Conv", "a", "b", 32)]
    timed = write_engine(tmp_path / "timed", layers, [0.2, 0.1])
    untimed = write_engine(tmp_path / "untimed", layers[:1])
    found = compare([timed, untimed])
    assert [block.latency_ms for block in found.blocks] == [(0.2, None), (0.1, None)]
    assert all(block.delta_ms is None and block.ratio is None for block in found.blocks)
    assert found.differences[1] is not None
    assert found.differences[1].delta_ms is None
    assert "no profile" in found.differences[1].headline
    assert found.ranking == (0, 1)
    assert any(caution.kind is CautionKind.PROFILE and caution.engine == 1 for caution in found.cautions)
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert "timing rows" in found.verdict.why


def test_a_time_missing_in_a_block_is_unattributed(tmp_path: Path) -> None:
    layers = [conv("/a/Conv", "x", "a"), conv("/b/Conv", "a", "b", 32)]
    whole = write_engine(tmp_path / "whole", layers, [0.2, 0.1])
    write_engine(tmp_path / "part", layers)
    write_profile(tmp_path / "part" / "net.profile.json", [("/a/Conv", 0.15)])
    part = load_set(find(tmp_path / "part")[0])
    found = compare([whole, part])
    check(found)
    difference = found.differences[1]
    assert difference is not None
    assert difference.delta_ms == pytest.approx(-0.15)
    assert difference.unattributed_ms == pytest.approx(-0.1)
    assert any("1 of 2 layers" in caution.text for caution in found.cautions)


def test_a_pin_goes_before_all_evidence(tmp_path: Path) -> None:
    layers = [conv("/a/Conv", "x", "a"), conv("/b/Conv", "a", "b"), conv("/c/Conv", "b", "c")]
    one, other = (write_engine(tmp_path / name, layers, [0.1, 0.2, 0.3]) for name in "ab")
    found = compare([one, other], pins=[Pin(0, 1, 2)])
    check(found)
    block = found.find_block(0, 0)
    assert block.layers == ((0,), (2,))
    assert (block.match, block.confidence) == (Match.MANUAL, 1.0)
    assert found.find_block(0, 1).layers == ((1,), (1,))
    many = compare([one, other], pins=[Pin(0, 1, 0), Pin(0, 1, 1)])
    assert many.find_block(0, 0).layers == ((0,), (0, 1))


def test_comparisons_are_deterministic(artifacts: Path) -> None:
    one, other = (compare(real(A100, artifacts)) for _ in range(2))
    assert one.blocks == other.blocks
    assert one.verdicts == other.verdicts
    assert one.differences == other.differences
