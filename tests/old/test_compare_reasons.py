"""Reasons of a difference: by cause, with both directions, apart from noise, in a sentence that follows the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from compare_cases import check, conv, load_real, nodes, pointwise, reformat, write_engine

from helpers import REAL_SETS, layer, tensor, write_profile
from trex_tui.old.analysis.compare import Cause, ChangeKind, Comparison, Outcome, Pin, Reason, compare
from trex_tui.old.artifacts import find
from trex_tui.old.engine.engine import Engine, load_set

COUNT = 12
STEADY = [0.5 + 0.0001 * (7 * place % 11) for place in range(200)]


def convs(folder: Path, times: Sequence[float], *, rows: Sequence[float] = (), tactic: str = "k") -> Engine:
    """Convolutions in a row; the tactic of each is the same, or one of its own for `tactic{}`."""
    layers = [
        conv(
            f"/c{place}/Conv",
            f"t{place}",
            f"t{place + 1}",
            Metadata=nodes(f"/c{place}/Conv"),
            TacticName=tactic.format(place),
        )
        for place in range(len(times))
    ]
    return write_engine(folder, layers, times, latencies=rows)


def reasons_of(comparison: Comparison) -> dict[Cause, Reason]:
    difference = comparison.differences[1]
    assert difference is not None
    check(comparison)
    return {reason.cause: reason for reason in difference.reasons}


def headline_of(comparison: Comparison) -> str:
    difference = comparison.differences[1]
    assert difference is not None
    return difference.headline


def test_both_directions_of_a_cause_are_in_one_reason(tmp_path: Path) -> None:
    before = convs(tmp_path / "a", [0.1, 0.2, 0.3], tactic="old{}")
    after = convs(tmp_path / "b", [0.05, 0.25, 0.2], tactic="new{}")
    (kernel,) = reasons_of(compare([before, after])).values()
    assert kernel.cause is Cause.KERNEL
    assert (kernel.delta_ms, kernel.decrease_ms, kernel.increase_ms) == (
        pytest.approx(-0.1),
        pytest.approx(-0.15),
        pytest.approx(0.05),
    )
    assert kernel.layers == (3, 3)
    assert kernel.blocks == (2, 0, 1)


def test_scatter_of_equal_layers_is_no_reason(tmp_path: Path) -> None:
    """The same engine, times scattered by 2 %: not faster, and no layer is a reason."""
    drawn = Random(1)
    times = [0.05 + 0.01 * (5 * place % 7) for place in range(40)]
    other = [time * drawn.gauss(1.0, 0.02) for time in times]
    found = compare([convs(tmp_path / "a", times, rows=STEADY), convs(tmp_path / "b", other, rows=STEADY)])
    difference = found.differences[1]
    assert difference is not None
    assert difference.noise is not None
    assert difference.noise.pct > 3.0
    assert difference.noise.source == "spread of 40 equal layers"
    assert list(reasons_of(found)) == [Cause.UNCHANGED]
    assert "beyond noise" in difference.headline
    assert "faster" not in difference.headline
    assert "slower" not in difference.headline


def test_a_layer_beyond_the_scatter_stands_out(tmp_path: Path) -> None:
    times = [0.1] * COUNT
    other = [0.1 * (1.0 + 0.01 * (place % 3 - 1)) for place in range(COUNT)]
    other[4] = 0.2
    reasons = reasons_of(compare([convs(tmp_path / "a", times), convs(tmp_path / "b", other)]))
    assert reasons[Cause.TIME].blocks == (4,)
    assert reasons[Cause.TIME].delta_ms == pytest.approx(0.1)
    assert reasons[Cause.UNCHANGED].layers == (COUNT - 1, COUNT - 1)


def test_a_little_in_every_layer_is_no_noise(tmp_path: Path) -> None:
    """All layers 2 % slower, each within 3 %: a lower clock, not noise."""
    times = [0.1 + 0.01 * place for place in range(COUNT)]
    found = compare([convs(tmp_path / "a", times), convs(tmp_path / "b", [1.02 * time for time in times])])
    (reason,) = reasons_of(found).values()
    assert reason.cause is Cause.TIME
    assert len(reason.blocks) == COUNT
    assert "2.0 %) slower" in headline_of(found)


def test_another_kernel_within_noise_is_unchanged(tmp_path: Path) -> None:
    times = [0.1, 0.2, 0.3, 0.4]
    before = convs(tmp_path / "a", times, tactic="old{}")
    after = convs(tmp_path / "b", [0.1001, 0.1999, 0.5, 0.4], tactic="new{}")
    reasons = reasons_of(compare([before, after]))
    assert reasons[Cause.KERNEL].blocks == (2,)
    (part,) = reasons[Cause.UNCHANGED].parts
    assert (part.detail, part.count) == ("with another kernel", 3)


def test_runs_of_an_engine_show_the_scatter_of_its_layers(tmp_path: Path) -> None:
    times = [0.1 + 0.01 * place for place in range(COUNT)]
    again = [time * (1.0 + 0.04 * (-1) ** place) for place, time in enumerate(times)]
    first, second = (convs(tmp_path / name, values) for name, values in (("a", times), ("again", again)))
    other = convs(tmp_path / "b", [time * 1.05 if place == 3 else time for place, time in enumerate(times)])
    alone = compare([first, other])
    repeated = compare([first, other], repeats=[[second], []])
    assert Cause.TIME in reasons_of(alone)
    assert list(reasons_of(repeated)) == [Cause.UNCHANGED]
    difference = repeated.differences[1]
    assert difference is not None
    assert difference.noise is not None
    assert difference.noise.source == "spread between runs"


@pytest.mark.parametrize(
    ("rows", "outcome", "words"),
    [
        (
            STEADY,
            Outcome.SAME,
            "do not differ beyond noise end to end; by the sum of layer times B is 0.1000 ms",
        ),
        (
            [row - 0.1 for row in STEADY],
            Outcome.FASTER,
            "but its layer times add up to 0.1000 ms (5.4 %) more: +",
        ),
        ([row + 0.1 for row in STEADY], Outcome.SLOWER, "B is 0.1000 ms (5.4 %) slower than A by the sum"),
        (
            (),
            Outcome.UNKNOWN,
            "B is 0.1000 ms (5.4 %) slower than A by the sum of layer times: +0.1000 ms time only.",
        ),
    ],
)
def test_the_headline_obeys_the_verdict(
    tmp_path: Path, rows: Sequence[float], outcome: Outcome, words: str
) -> None:
    times = [0.1 + 0.01 * place for place in range(COUNT)]
    slower = [time + 0.1 if place == 5 else time for place, time in enumerate(times)]
    found = compare([convs(tmp_path / "a", times, rows=STEADY), convs(tmp_path / "b", slower, rows=rows)])
    assert found.verdict.outcome is outcome
    assert words in headline_of(found)
    assert ("kernel" in headline_of(found) or "time only" in headline_of(found)) is (
        outcome is not Outcome.SAME
    )


def test_layer_times_without_a_difference_are_no_reason_for_one_end_to_end(tmp_path: Path) -> None:
    times = [0.1 + 0.01 * place for place in range(COUNT)]
    found = compare(
        [
            convs(tmp_path / "a", times, rows=STEADY),
            convs(tmp_path / "b", times, rows=[row + 0.1 for row in STEADY]),
        ]
    )
    assert headline_of(found) == (
        "B is slower than A end to end (+19.98 %); layer times agree within noise (+0.0000 ms)."
    )


def test_a_layer_that_is_fused_in_is_fusion_not_precision(tmp_path: Path) -> None:
    """A convolution in INT8 and a ReLU in FP32 become one layer in INT8."""
    metadata = nodes("/a/Conv", "/a/Relu")
    apart = [
        conv("/a/Conv", "x", "a", dtype="Int8", Metadata=nodes("/a/Conv")),
        pointwise("/a/Relu", "a", "y", dtype="Float", Metadata=nodes("/a/Relu")),
    ]
    fused = [conv("/a/Conv + /a/Relu", "x", "y", dtype="Int8", Metadata=metadata)]
    found = compare(
        [write_engine(tmp_path / "a", apart, [0.3, 0.2]), write_engine(tmp_path / "b", fused, [0.3])]
    )
    (reason,) = reasons_of(found).values()
    assert (reason.cause, reason.layers) == (Cause.FUSION, (2, 1))


def test_a_sum_that_is_fused_in_is_fusion_not_another_shape(tmp_path: Path) -> None:
    """Numbers of nodes differ, as they do from export to export: that alone is no fusion."""
    plain = conv("Conv_3", "x", "y")
    summed = conv("Conv_7 + Add_9", "x", "y")
    summed["Inputs"].append(tensor("z", 1, 64, 56, 56))
    numbered = conv("Conv_7", "x", "y")
    one, other, same = (
        write_engine(tmp_path / name, [raw], [time])
        for name, raw, time in (("a", plain, 0.1), ("b", summed, 0.2), ("c", numbered, 0.2))
    )
    pin = [Pin(0, 1, 0)]
    fused, unchanged = compare([one, other], pins=pin), compare([one, same], pins=pin)
    assert list(reasons_of(fused)) == [Cause.FUSION]
    assert [change.kind for change in fused.blocks[0].changes] == [ChangeKind.FUSION]
    assert (fused.blocks[0].changes[0].before, fused.blocks[0].changes[0].after) == ("without", "with Add_9")
    assert list(reasons_of(unchanged)) == [Cause.TIME]
    assert unchanged.blocks[0].changes == ()


def test_extents_of_one_are_no_other_shape(tmp_path: Path) -> None:
    """A GEMM of 1×64 is a convolution of 1×64×1×1."""
    engines = []
    for name, shape, time in (("a", (1, 64), 0.1), ("b", (1, 64, 1, 1), 0.2), ("c", (1, 32, 1, 1), 0.3)):
        raw = layer("/a/Gemm", "CaskConvolution", [tensor("x", *shape)], [tensor("y", *shape)])
        engines.append(write_engine(tmp_path / name, [raw | {"ParameterType": "Convolution"}], [time]))
    assert list(reasons_of(compare(engines[:2]))) == [Cause.TIME]
    assert list(reasons_of(compare(engines[::2]))) == [Cause.SHAPES]


def test_copies_and_quantization_are_causes_of_their_own(tmp_path: Path) -> None:
    quantize = layer(
        "/q/QuantizeLinear", "Scale", [tensor("r", 1, 64, 56, 56)], [tensor("x", 1, 64, 56, 56, dtype="Int8")]
    )
    quantize["ParameterType"] = "QuantizeLinear"
    main = conv("/a/Conv", "x", "y", Metadata=nodes("/a/Conv"))
    before = write_engine(tmp_path / "a", [main], [0.1])
    after = write_engine(
        tmp_path / "b",
        [reformat("Reformatting CopyNode for Input Tensor 0 to /q", "in", "r"), quantize, main],
        [0.05, 0.02, 0.1],
    )
    reasons = reasons_of(compare([before, after]))
    assert reasons[Cause.REFORMATS].text == "1 reformat only in B"
    assert reasons[Cause.QDQ].text == "1 Q/DQ layer only in B"


def test_another_device_or_batch_is_the_cause_and_no_kernel(artifacts: Path) -> None:
    """A kernel of another device is no reason why this one is slower."""
    del artifacts
    by_name = {source.name: source for source in REAL_SETS}
    pair = [load_real(by_name[name]) for name in ("resnet-A100/fp16/resnet", "resnet18_fp16")]
    reasons = reasons_of(compare(pair))
    assert next(iter(reasons)) is Cause.DEVICE
    assert not {Cause.KERNEL, Cause.PRECISION, Cause.TIME} & reasons.keys()


def test_layers_without_a_time_are_a_reason_of_their_own(tmp_path: Path) -> None:
    before = convs(tmp_path / "a", [0.1, 0.2, 0.3])
    convs(tmp_path / "b", [0.1, 0.2, 0.3])
    write_profile(tmp_path / "b" / "net.profile.json", [("/c0/Conv", 0.1), ("/c2/Conv", 0.3)])
    found = compare([before, load_set(find(tmp_path / "b")[0])])
    check(found)
    difference = found.differences[1]
    assert difference is not None
    assert [reason.cause for reason in difference.reasons] == [Cause.NO_TIME]
    assert difference.reasons[0].delta_ms == pytest.approx(-0.2)


def test_the_timer_of_a_short_profile_is_known_by_its_steps(tmp_path: Path) -> None:
    """Times are multiples of 1.024 µs: a step is noise, three are none."""
    ticks = [20, 21, 23, 26, 30, 35, 41, 48, 56, 65]
    other = [*ticks]
    other[0], other[1] = 21, 24
    step = 0.001024
    found = compare(
        [convs(tmp_path / name, [step * tick for tick in of]) for name, of in (("a", ticks), ("b", other))]
    )
    difference = found.differences[1]
    assert difference is not None
    assert difference.noise is not None
    assert difference.noise.tick_ms == pytest.approx(step)
    reasons = reasons_of(found)
    assert reasons[Cause.TIME].blocks == (1,)
    assert reasons[Cause.UNCHANGED].delta_ms == pytest.approx(step)
