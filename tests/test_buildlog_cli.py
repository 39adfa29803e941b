"""`trex-tui build-log` and `trex-tui metadata`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import strict_json
from test_buildlog_reader import BUILD
from trex_tui.artifacts.metadata import read_metadata
from trex_tui.artifacts.sniff import sniff
from trex_tui.cli import main

EVIL = "evil \x1b[31m|\x9b2J"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "net.build.log"
    path.write_text(BUILD.replace("kernel_a", EVIL.replace(" ", "_")), encoding="utf-8")
    return path


def test_overview(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    warned = next(
        number for number, line in enumerate(BUILD.splitlines(), start=1) if "layer 7 is odd" in line
    )
    for line in (
        "PASSED       TensorRT.trtexec trtexec --onnx=net.onnx --verbose",
        "Precision    FP32+FP16",
        "engine build                                   2.500",
        "vertical fusions                      2      1                    ",
        "Tuned        1 layer, 3 tactics timed, 1 skipped; reformats: 0 tactics",
        "Engine       1 layer; the log tells the choice of 1",
        f"warning, line {warned} (2 times): Some thing in layer 7 is odd",
    ):
        assert line.rstrip() in out.splitlines()


def test_layer(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log), "--layer", "CONV", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "      0.250000 ms  0x0000000000000002  kernel b numSplitK: 1  <- chosen" in out
    assert "      … and 1 more" in out
    assert "skipped 0x0000000000000003 (workspace): needs 4.00 KiB, there are 1.00 KiB" in out
    assert "  <- in the engine" in out


def test_json(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log), "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    assert document["schema"] == "trex-tui/build-log/2"
    assert document["tuning"] == {
        "layers": 1,
        "combinations": 1,
        "tactics": 3,
        "myelin_tactics": 0,
        "skipped": 1,
        "reformat_costs": 0,
        "reformat_tactics": 0,
    }
    assert [one["name"] for one in document["tunings"]] == ["conv + relu"]
    assert document["layers"][0]["chosen"]["time_ms"] == 0.25
    assert main(["build-log", str(log), "--json", "--layer", "conv + relu"]) == 0
    (tuning,) = strict_json(capsys.readouterr().out)["tunings"]
    tactics = tuning["combinations"][0]["runners"][0]["tactics"]
    assert [one["time_ms"] for one in tactics] == [0.5, 0.25, 0.75]
    (skipped,) = tuning["combinations"][0]["runners"][0]["skipped"]
    assert (skipped["tactic"], skipped["requested_bytes"]) == ("0x0000000000000003", 4096)


def test_metadata(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metadata", str(log)]) == 0
    document = strict_json(capsys.readouterr().out)
    assert document == {"build_options": {"Precision": "FP32+FP16", "Input build shape": "a=1x1, b=2x2"}}
    target = tmp_path / "net.build.metadata.json"
    assert main(["metadata", str(log), "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert sniff(target).kind is not None
    metadata, notes = read_metadata([target])
    assert (metadata.builder_precision, notes) == ("FP32+FP16", [])
    target.write_text("mine")
    assert main(["metadata", str(log), "-o", str(target)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert main(["metadata", str(log), "-o", str(tmp_path / "no" / "where.json")]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build-log", "{log}", "--layer", "nothing"], "no layer 'nothing' was tuned"),
        (["build-log", "{folder}/absent.log"], "absent.log: cannot be read: No such file or directory"),
        (["build-log", "{folder}"], "cannot be read: Is a directory"),
        (["build-log", "{folder}/text.txt"], "text.txt: is no log of trtexec or of a TensorRT builder"),
        (
            ["metadata", "{folder}/text.txt"],
            "text.txt: holds no section of options, no device and no performance summary",
        ),
    ],
)
def test_bad_input_is_one_line(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (log.parent / "text.txt").write_text("hello\n")
    assert main([one.format(log=log, folder=log.parent) for one in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trex-tui: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_cut_off_logs_say_so_on_stderr(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(BUILD[:-100])
    assert main(["build-log", str(log), "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(strict_json(out)["diagnostics"]) == 2
    assert err == ""
    assert main(["build-log", str(log)]) == 0
    assert "cut off in the middle of a line" in capsys.readouterr().err


def test_nothing_heavy_is_loaded(log: Path) -> None:
    code = (
        "import sys; from trex_tui.cli import main; main(['build-log', sys.argv[1], '--json']); "
        "print(sorted({'pandas', 'numpy', 'networkx', 'rich', 'textual'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(log)], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
