"""Why the builder chose another tactic: blocks of a comparison joined with the logs of both builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS
from test_compare_builds import (
    FAST,
    HALF,
    NAME,
    NAMES,
    OTHER,
    SLOW,
    STAMP,
    combination,
    skipped,
    timed,
    write_build,
)
from trex_tui.old.analysis.compare import compare
from trex_tui.old.analysis.compare.builds import Because, BlockBuild, BuildComparison, Fate, load_build
from trex_tui.old.engine import load_engine
from trex_tui.old.report.views.compare_builds import why_lines

FLOAT = "Float(4096,1024,32,1)"
LINEAR = "Half(1024,1:8,32,1)"


def cached(formats: str, number: int, time_ms: float) -> list[str]:
    return [
        f"{NAME} [{formats} -> {formats}] got cached result: CaskConvolution, tactic 0x{number:016x}, {time_ms} ms"
    ]


def explain(*folders: Path) -> BlockBuild:
    comparison = compare([load_engine(folder) for folder in folders])
    builds = [load_build(engine, index) for index, engine in enumerate(comparison.engines)]
    (block,) = BuildComparison(comparison, builds).explain(1).blocks
    return block


def test_a_build_that_skipped_the_tactic_of_the_other(tmp_path: Path) -> None:
    before = write_build(
        tmp_path / "a", FAST, [combination(HALF, [timed(FAST, 0.02), timed(SLOW, 0.03)], FAST)]
    )
    after = write_build(tmp_path / "b", SLOW, [combination(HALF, [skipped(FAST), timed(SLOW, 0.03)], SLOW)])
    found = explain(before, after)
    assert found.because is Because.SKIPPED
    assert "B: A's tactic skipped: needs 832 KiB of workspace, 2.62 KiB available." in found.why
    assert "A: B's tactic timed: 0.030000 ms (+50.0 %), rank 2." in found.why
    first, second = found.choices
    assert [(one.name, one.time_ms) for one in first.candidates] == [(NAMES[FAST], 0.02), (NAMES[SLOW], 0.03)]
    assert (first.margin_pct, len(second.skipped)) == (pytest.approx(50.0), 1)
    assert (first.other.fate, second.other.fate) == (Fate.TIMED, Fate.SKIPPED)


def test_builds_that_timed_both_with_another_order(tmp_path: Path) -> None:
    before = write_build(
        tmp_path / "a", FAST, [combination(HALF, [timed(FAST, 0.02), timed(SLOW, 0.03)], FAST)]
    )
    after = write_build(
        tmp_path / "b", SLOW, [combination(HALF, [timed(FAST, 0.05), timed(SLOW, 0.03)], SLOW)]
    )
    found = explain(before, after)
    assert found.because is Because.TIMES
    assert "B: A's tactic timed: 0.050000 ms (+66.7 %), rank 2." in found.why


def test_a_near_tie_is_chance(tmp_path: Path) -> None:
    before = write_build(
        tmp_path / "a", FAST, [combination(HALF, [timed(FAST, 0.02), timed(SLOW, 0.0202)], FAST)]
    )
    after = write_build(
        tmp_path / "b", SLOW, [combination(HALF, [timed(FAST, 0.0201), timed(SLOW, 0.02)], SLOW)]
    )
    found = explain(before, after)
    assert found.because is Because.NEAR_TIE
    assert "A: near tie, the second is +1.0 %." in found.why


def test_a_tactic_that_was_timed_in_other_formats_only(tmp_path: Path) -> None:
    before = write_build(tmp_path / "a", FAST, [combination(LINEAR, [timed(FAST, 0.02)], FAST)])
    after = write_build(
        tmp_path / "b",
        SLOW,
        [combination(LINEAR, [timed(FAST, 0.04)], FAST), combination(HALF, [timed(SLOW, 0.03)], SLOW)],
    )
    found = explain(before, after)
    assert found.because is Because.FORMATS
    assert found.choices[1].other.fate is Fate.OTHER_FORMATS
    assert "B: A's tactic timed in other formats: 0.040000 ms (+33.3 %)." in found.why


def test_a_tactic_that_the_other_build_does_not_know(tmp_path: Path) -> None:
    before = write_build(tmp_path / "a", FAST, [combination(HALF, [timed(FAST, 0.02)], FAST)])
    after = write_build(tmp_path / "b", SLOW, [combination(HALF, [timed(SLOW, 0.03)], SLOW)], version=8601)
    found = explain(before, after)
    assert found.because is Because.NOT_TRIED
    assert "B: A's tactic not tried." in found.why


def test_a_choice_out_of_the_timing_cache(tmp_path: Path) -> None:
    """What else the build could have taken is not in its log."""
    before = write_build(
        tmp_path / "a", FAST, [combination(HALF, [timed(FAST, 0.02), timed(OTHER, 0.03)], FAST)]
    )
    after = write_build(tmp_path / "b", SLOW, [cached(HALF, SLOW, 0.025)])
    found = explain(before, after)
    assert found.because is Because.CACHE
    assert found.choices[1].is_cached
    assert found.choices[1].other.fate is Fate.UNKNOWN
    assert "B: from the timing cache." in found.why
    assert found.choices[1].chosen is not None
    assert found.choices[1].chosen.time_ms == 0.025


def test_a_layer_that_was_not_timed_has_the_timings_of_an_equal_one(tmp_path: Path) -> None:
    """As 8.2 builds: of equal layers, the log has the timings of the first."""
    formats = "Half(2048,1:8,64,2) -> Half(8192,1:8,256,8)"
    engines = []
    for name, times in (("a", {FAST: 0.02, SLOW: 0.03}), ("b", {FAST: 0.03, SLOW: 0.02})):
        chosen = min(times, key=lambda number: times[number])
        lines = [
            "=============== Computing costs for ",
            f"*************** Autotuning format combination: {formats} ***************",
        ]
        lines.append("--------------- Timing Runner: conv_1 (CaskConvolution)")
        for number, time in times.items():
            lines += [
                f"conv_1 Set Tactic Name: {NAMES[number]} Tactic: 0x{number:016x}",
                f"Tactic: 0x{number:016x} Time: {time}",
            ]
        lines.append(f">>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x{chosen:016x}")
        lines.append("Engine Layer Information:")
        listed = [
            f"Layer(CaskConvolution): {layer_name}, Tactic: 0x{chosen:016x}, {source} (Half[1,16:8,32,32]) -> "
            f"{target} (Half[1,64:8,32,32])"
            for layer_name, source, target in (("conv_1", "x", "a"), ("conv_2", "b", "c"))
        ]
        banner = "TensorRT.trtexec [TensorRT v8203] # trtexec --onnx=net.onnx --fp16 --verbose"
        text = [
            f"&&&& RUNNING {banner}",
            *(f"{STAMP} {line}" for line in lines),
            *listed,
            f"&&&& PASSED {banner}",
        ]
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.build.log").write_text("\n".join(text) + "\n", encoding="utf-8")
        engines.append(load_engine(tmp_path / name))
    comparison = compare(engines)
    builds = BuildComparison(comparison, [load_build(one, at) for at, one in enumerate(engines)])
    found = {block.choices[0].layer: block for block in builds.explain(1).blocks}
    assert found[0].choices[0].reused_from is None
    assert [choice.reused_from for choice in found[1].choices] == ["conv_1", "conv_1"]
    assert "B: timed for an identical layer." in found[1].why
    assert found[1].because is Because.TIMES


def test_a_log_that_is_not_verbose_is_named(tmp_path: Path) -> None:
    folder = write_build(tmp_path / "a", FAST, None)
    banner = "TensorRT.trtexec [TensorRT v8401] # trtexec --onnx=net.onnx"
    text = (
        f"&&&& RUNNING {banner}\n[11/21/2026-10:00:01] [I] Engine built in 2.5 sec.\n&&&& PASSED {banner}\n"
    )
    (folder / "net.build.log").write_text(text, encoding="utf-8")
    build = load_build(load_engine(folder), 0)
    assert build.facts is None
    assert build.problem == "The log of A is not verbose: build with `trtexec --verbose`."


def test_details_of_a_block_have_the_candidates(tmp_path: Path) -> None:
    before = write_build(
        tmp_path / "a", FAST, [combination(HALF, [timed(FAST, 0.02), timed(SLOW, 0.03)], FAST)]
    )
    after = write_build(tmp_path / "b", SLOW, [combination(HALF, [skipped(FAST), timed(SLOW, 0.03)], SLOW)])
    comparison = compare([load_engine(folder) for folder in (before, after)])
    builds = BuildComparison(comparison, [load_build(one, at) for at, one in enumerate(comparison.engines)])
    block = builds.explain_block(comparison.blocks[0], 1)
    assert block is not None
    lines = list(why_lines(block))
    chosen = [line.text for line in lines if line.label == "chosen"]
    assert chosen == ["0.020000 ms · sm80_xmma_fast", "0.030000 ms · sm80_xmma_slow"]
    assert any(line.text == "2 timed · 0 skipped" for line in lines)


def test_real_builds_of_one_network_are_joined() -> None:
    """MNIST on a GTX 1070 with 8.4 and on an RTX 3090 with 8.6: every block whose tactic changed has both sides."""
    logs = [
        ARTIFACTS / "logs" / f"trt8.{name}_fp16_dynshape{end}.log"
        for name, end in (
            ("4.1_GTX1070_build_verbose", ""),
            ("6.0_RTX3090_build_verbose", "_skipInference"),
        )
    ]
    if not all(log.is_file() for log in logs):
        pytest.skip("no real artifacts")
    comparison = compare([load_engine(log) for log in logs])
    builds = BuildComparison(comparison, [load_build(one, at) for at, one in enumerate(comparison.engines)])
    difference = builds.explain(1)
    assert difference.problems == ()
    assert len(difference.blocks) == 6
    for block in difference.blocks:
        assert block.because is Because.PRECISION
        for choice in block.choices:
            check_choice(choice)


def check_choice(choice: Any) -> None:
    times = [one.time_ms for one in choice.candidates]
    assert times == sorted(times)
    assert choice.chosen is not None
    assert choice.problem == ""
    assert choice.other_precision_ms > 0
