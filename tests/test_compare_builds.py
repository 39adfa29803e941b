"""Why the builder chose another tactic: blocks of a comparison joined with the logs of both builds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers import layer, strict_json, tensor, write_graph, write_profile
from trex_tui.__main__ import main

NAME = "/a/Conv"
STAMP = "[11/21/2026-10:00:00] [V] [TRT]"
HALF = "Half(4096,1024,32,1)"
FAST, SLOW, OTHER = 0xF100000000000001, 0xF100000000000002, 0xF100000000000003
NAMES = {FAST: "sm80_xmma_fast", SLOW: "sm80_xmma_slow", OTHER: "sm80_xmma_other"}


def timed(number: int, time_ms: float) -> list[str]:
    return [
        f"{NAME} (CaskConvolution) Set Tactic Name: {NAMES[number]} Tactic: 0x{number:016x}",
        f"Tactic: 0x{number:016x} Time: {time_ms}",
    ]


def skipped(number: int) -> list[str]:
    return [f"Tactic: 0x{number:016x} skipped. Scratch requested: 851968, available: 2688"]


def combination(formats: str, lines: Sequence[list[str]], chosen: int | None) -> list[str]:
    text = [f"*************** Autotuning format combination: {formats} -> {formats} ***************"]
    text.append(f"--------------- Timing Runner: {NAME} (CaskConvolution)")
    text += [line for group in lines for line in group]
    if chosen is not None:
        text.append(f">>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x{chosen:016x}")
    return text


def write_build(
    folder: Path,
    tactic: int,
    combinations: Sequence[list[str]] | None,
    time_ms: float = 0.1,
    version: int = 8401,
) -> Path:
    """An engine of one convolution with a tactic, and the log of its build."""
    raw = layer(NAME, "CaskConvolution", [tensor("x", 1, 4, 32, 32)], [tensor("y", 1, 4, 32, 32)])
    raw |= {"ParameterType": "Convolution", "TacticName": NAMES[tactic], "TacticValue": f"0x{tactic:016x}"}
    write_graph(folder / "net.graph.json", [raw], ["x", "y"])
    write_profile(folder / "net.profile.json", [(NAME, time_ms)])
    if combinations is not None:
        banner = f"TensorRT.trtexec [TensorRT v{version}] # trtexec --onnx=net.onnx --fp16 --verbose"
        lines = ["=============== Computing costs for ", *(line for group in combinations for line in group)]
        (folder / "net.build.log").write_text(
            "\n".join(
                [
                    f"&&&& RUNNING {banner}",
                    *(f"{STAMP} {line}" for line in lines),
                    f"{STAMP} Formats and tactics selection completed in 1.5 seconds.",
                    f"&&&& PASSED {banner}",
                ]
            )
            + "\n",
            encoding="utf-8",
        )
    return folder


def test_one_log_alone_is_explained_and_the_other_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write_build(tmp_path / "a", FAST, None)
    after = write_build(
        tmp_path / "b", SLOW, [combination(HALF, [timed(FAST, 0.05), timed(SLOW, 0.03)], SLOW)]
    )
    assert main(["diff", str(before), str(after), "--why"]) == 0
    out = capsys.readouterr().out
    assert "A has no build log: save the output of `trtexec --verbose`" in out
    assert "net.build.log" in out
    assert "timed: 0.050000 ms (+66.7 %), rank 2" in out
    assert "no log" in out


def test_without_logs_there_is_a_sentence_for_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [write_build(tmp_path / name, number, None) for name, number in (("a", FAST), ("b", SLOW))]
    assert main(["diff", *map(str, folders), "--why", "--json"]) == 0
    (why,) = strict_json(capsys.readouterr().out)["why"]
    assert [text[:20] for text in why["problems"]] == ["A has no build log: ", "B has no build log: "]
    assert why["choices"] == []
    assert main(["diff", *map(str, folders), "--json"]) == 0
    assert strict_json(capsys.readouterr().out)["why"] == []


@pytest.mark.parametrize("form", ["text", "md", "html", "json"])
def test_every_form_has_the_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    before = write_build(
        tmp_path / "a", FAST, [combination(HALF, [timed(FAST, 0.02), timed(SLOW, 0.03)], FAST)]
    )
    after = write_build(tmp_path / "b", SLOW, [combination(HALF, [skipped(FAST), timed(SLOW, 0.03)], SLOW)])
    assert main(["diff", str(before), str(after), "--why", "--format", form]) == 0
    out = capsys.readouterr().out.replace("\\", "")
    assert NAMES[FAST] in out
    assert "skipped" in out
    assert "832" in out or "851968" in out
