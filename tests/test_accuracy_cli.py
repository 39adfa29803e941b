"""`trex-tui accuracy` from the outside: through a stand-in for trtexec, and through onnxruntime for real."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from accuracy_kit import INT8_STEP, tensor, write_engine, write_onnx
from fake_trtexec import calls
from fake_trtexec.kit import Bench, fifo, is_running, wait_for
from trex_tui.artifacts.outputs import read_accuracy
from trex_tui.cli.main import main

NAMES = ["--ref", "fp32.engine", "--test", "int8.engine"]


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An FP32 and a coarser engine in the current directory, trtexec of 10.4, and temporary files to look for."""
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("TRTEXEC", str(bench.programs("10.4.0").path))
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(bench.place / "calls"))
    (bench.place / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(bench.place / "tmp"))
    write_engine(bench.place / "fp32.engine")
    write_engine(bench.place / "int8.engine", step=INT8_STEP)
    return bench.place


def accuracy(*arguments: str) -> int:
    try:
        return main(["accuracy", *arguments])
    except SystemExit as ended:  # argparse
        return int(ended.code or 0)


def is_clean(here: Path) -> bool:
    """Nothing is left but what was there, and the result."""
    hidden = [one.name for one in here.iterdir() if one.name.startswith(".")]
    return not hidden and not list((here / "tmp").iterdir())


class TestEngines:
    @pytest.mark.parametrize("version", ["8.2.1", "11.1.0"])
    def test_every_release(self, here: Path, bench: Bench, version, capsys) -> None:
        write_engine(here / "fp32.engine", version)
        write_engine(here / "int8.engine", version, step=INT8_STEP)
        assert accuracy(*NAMES, "--trtexec", str(bench.programs(version).path), "--json") == 0
        document = json.loads(capsys.readouterr().out)
        (output,) = document["outputs"]
        assert (output["name"], output["samples"], output["elements"]) == ("t5", 1, 128)
        assert 0 < output["max_abs"] <= INT8_STEP / 2 + 1e-5  # rounding to multiples of the step
        assert document["test"]["tensorrt_version"] == version
        assert document["gates"] == []
        assert json.loads((here / "int8.accuracy/output_diff.json").read_text()) == document
        runs = calls(here / "calls")
        assert len(runs) == 4
        assert sum(any(one.startswith("--loadInputs=t0:") for one in run) for run in runs) == 2
        assert is_clean(here)

    def test_what_is_kept(self, here: Path, capsys) -> None:
        """Total and samples; readers find it beside the engine, and the list of engines shows it."""
        assert accuracy(*NAMES, "--samples", "2", "--seed", "5") == 0
        out, err = capsys.readouterr()
        assert "Accuracy of int8.engine against fp32.engine" in out
        assert "2 random samples (seed 5)" in out
        assert err.splitlines()[-1] == "trex-tui: kept in int8.accuracy/output_diff.json"
        assert "\x1b" not in out + err
        document = json.loads((here / "int8.accuracy/output_diff.json").read_text())
        (total,) = document["outputs"]
        samples = [one["outputs"][0] for one in document["samples"]]
        assert total["mae"] == pytest.approx(sum(one["mae"] for one in samples) / 2)
        assert total["max_abs"] == max(one["max_abs"] for one in samples)
        (result,) = read_accuracy(here / "int8.accuracy/output_diff.json")
        assert result["mae"] == total["mae"]
        # A result is not replaced unasked, and the same seed gives the same numbers.
        assert accuracy(*NAMES) == 2
        assert "--force" in capsys.readouterr().err
        assert accuracy(*NAMES, "--samples", "2", "--seed", "5", "--force") == 0
        assert json.loads((here / "int8.accuracy/output_diff.json").read_text()) == document

    def test_given_inputs(self, here: Path, capsys) -> None:
        values = np.random.default_rng(1).uniform(-1, 1, (3, 1, 8, 4, 4)).astype("f4")
        for number, one in enumerate(values):
            (here / f"samples/{number}").mkdir(parents=True)
            np.save(here / f"samples/{number}/t0.npy", one)
        assert accuracy(*NAMES, "--load-inputs", "samples", "--no-save", "--json") == 0
        document = json.loads(capsys.readouterr().out)
        assert document["inputs"]["samples"] == 3
        one = ["--load-inputs", "t0:samples/0/t0.npy", "--no-save", "--json"]
        assert accuracy(*NAMES, *one) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["outputs"][0]["mae"] == document["samples"][0]["outputs"][0]["mae"]

    def test_gates_and_nan(self, here: Path, monkeypatch, capsys) -> None:
        """A NaN at the same place on both sides is counted, is in no mean, and fells no gate."""
        monkeypatch.setenv("FAKE_TRTEXEC_FAIL", "nan_output,final_shape")
        gates = ["--fail-on", "mae > 0.001", "--fail-on", "cosine < 0.9"]
        assert accuracy(*NAMES, *gates, "--no-save", "--json") == 1
        out, err = capsys.readouterr()
        document = json.loads(out)
        assert [one["fell"] for one in document["gates"]] == [True, False]
        output = document["outputs"][0]
        assert (output["nan_reference"], output["nan_test"], output["nonfinite_mismatch"]) == (1, 1, 0)
        assert output["compared"] == 127
        assert "gate failed: mae > 0.001: t5: mae is 0.0" in err
        assert not (here / "int8.accuracy").exists()
        assert is_clean(here)

    def test_types_shapes_and_names(self, here: Path, capsys) -> None:
        """FP16 against FP32 and INT32 against INT64, a dynamic batch, a colon in a name, two outputs."""
        outputs = {"y": tensor("fp32", -1, 10), "z": tensor("int32", -1)}
        write_engine(
            here / "a.engine",
            inputs={"x:0": tensor("fp32", -1, 4), "ids": tensor("int64", 6)},
            outputs=outputs,
        )
        write_engine(
            here / "b.engine",
            inputs={"ids": tensor("int32", 6), "x:0": tensor("fp16", -1, 4)},
            outputs={**outputs, "y": tensor("fp16", -1, 10)},
        )
        options = ["--ref", "a.engine", "--test", "b.engine", "--shapes", "x:0:3x4", "--range", "ids:0:99"]
        assert accuracy(*options, "--json", "--no-save", "--", "--useProfile=0") == 0
        document = json.loads(capsys.readouterr().out)
        y, z = document["outputs"]
        assert (y["elements"], z["elements"]) == (30, 3)
        # Both got the same numbers, whatever their types; FP16 outputs are rounded.
        assert z["max_abs"] == 0
        assert 0 < y["max_rel"] < 2**-11
        assert z["argmax_agreement_pct"] is None
        assert any("input x:0: FP32 in the reference, FP16" in note for note in document["notes"])
        assert [one["dtype"] for one in document["inputs"]["tensors"]] == ["FP16", "INT32"]
        run = next(one for one in calls(here / "calls") if any(a.startswith("--loadInputs") for a in one))
        assert {"--shapes='x:0':3x4", "--useProfile=0"} <= set(run)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "why"),
        [
            (["--range", "q:1:2"], "--range: no input q"),
            (
                ["--shapes", "t0:2x8x4x4"],
                "fp32.engine: --shapes t0:2x8x4x4 does not match the input 1x8x4x4, which is fixed",
            ),
            (["--load-inputs", "t0:nowhere.bin"], "nowhere.bin cannot be read: No such file"),
            (["--", "--loadInputs=x:y"], "--loadInputs after --: accuracy sets this option"),
            (["--", "--noCudaGraph"], "--noCudaGraph: not in trtexec of TensorRT 10.4.0"),
            (["--shapes", "t0"], "--shapes t0: not a shape"),
            (["--fail-on", "mae > nan"], "not a number"),
        ],
    )
    def test_options(self, here: Path, options, why, capsys) -> None:
        assert accuracy(*NAMES, *options) == 2
        assert why in capsys.readouterr().err
        assert is_clean(here)


class TestFailures:
    @pytest.mark.parametrize(
        ("failure", "why"),
        [
            ("plan_device", "fp32.engine: "),
            ("no_output", "but wrote no outputs"),
            ("half_output", "its outputs are unusable: is truncated"),
        ],
    )
    def test_trtexec(self, here: Path, monkeypatch, failure, why, capsys) -> None:
        monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
        assert accuracy(*NAMES) == 3
        out, err = capsys.readouterr()
        assert out == ""
        assert why in err.splitlines()[-1]
        assert "Traceback" not in err
        assert not (here / "int8.accuracy").exists()
        assert is_clean(here)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_interrupted(self, here: Path, number) -> None:
        pipe = fifo(here / "fifo")
        process = subprocess.Popen(
            [sys.executable, "-m", "trex_tui", "accuracy", *NAMES],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "TMPDIR": str(here / "tmp"),
                "FAKE_TRTEXEC_FAIL": "hang",
                "FAKE_TRTEXEC_FIFO": str(pipe),
            },
        )
        pid = wait_for(pipe)
        process.send_signal(number)
        out, err = process.communicate(timeout=150)
        assert (process.returncode, out) == (128 + number, b"")
        assert err.splitlines()[-1] == b"trex-tui: interrupted; nothing was kept"
        assert not is_running(pid)
        assert is_clean(here)


class TestOnnx:
    """For real, on the CPU."""

    @pytest.fixture(autouse=True)
    def _runtime(self) -> None:
        pytest.importorskip("onnxruntime", reason="no onnxruntime: pip install 'trex-tui[accuracy]'")

    def test_two_models(self, here: Path, capsys) -> None:
        write_onnx(here / "a.onnx", tensor("fp32", -1, 8))
        write_onnx(here / "b.onnx", tensor("fp32", -1, 8), error=0.25)
        options = ["--ref", "a.onnx", "--test", "b.onnx", "--samples", "3"]
        assert accuracy(*options) == 2
        assert "input x has dynamic shapes; add" in capsys.readouterr().err
        for shape in ("4x9", "8"):
            assert accuracy(*options, "--shapes", f"x:{shape}") == 2
            why = f"a.onnx: --shapes x:{shape} does not match the input -1x8"
            assert capsys.readouterr().err.splitlines()[-1].endswith(why)
        assert accuracy(*options, "--shapes", "x:4x8", "--json") == 0
        document = json.loads(capsys.readouterr().out)
        (output,) = document["outputs"]
        assert output["mae"] == pytest.approx(0.25, rel=1e-6)
        assert output["argmax_agreement_pct"] == 100
        assert output["elements"] == 96
        assert calls(here / "calls") == []  # trtexec was not needed
        assert is_clean(here)

    def test_without_onnxruntime(self, here: Path, monkeypatch, capsys) -> None:
        write_onnx(here / "a.onnx", tensor("fp32", 1, 8))
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        assert accuracy("--ref", "a.onnx", "--test", "int8.engine") == 2
        assert "with its extra accuracy" in capsys.readouterr().err
