"""The program over TensorRT's Python API, against a stand-in for it: what `capture` gets where there is no trtexec."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from capture_bench import Bench
from fake_tensorrt import install
from fake_trtexec.kit import COMPLETE
from trex_tui.api import load_engine
from trex_tui.capture.trtexec import TrtexecNotFoundError, find_python
from trex_tui.cli.main import main

BUILT = ["net.capture.json", "net.engine", "net.engine.build.log"]


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("HOME", str(bench.place))
    monkeypatch.setenv("FAKE_TENSORRT_CALLS", str(bench.place / "calls"))
    monkeypatch.delenv("FAKE_TENSORRT_FAIL", raising=False)
    return bench


def use(monkeypatch: pytest.MonkeyPatch, here: Bench, *arguments: object) -> None:
    directory = install(here.place / "api", *arguments)  # type: ignore[arg-type]
    monkeypatch.setenv("PYTHONPATH", str(directory), prepend=os.pathsep)


def noted(here: Bench, key: str) -> list[list[str]]:
    lines = (here.place / "calls").read_text(encoding="utf-8").splitlines()
    return [words[1:] for line in lines if (words := json.loads(line))[0] == key]


def capture(*arguments: str) -> int:
    return main(["capture", "--onnx", "net.onnx", *arguments])


class TestCapture:
    def test_a_set(
        self, here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """On a machine with a GPU: all the files of trtexec, which everything reads."""
        use(monkeypatch, here)
        assert capture("--duration", "0", "--iterations", "25", "--device", "0", "--warmup", "0") == 0
        out, err = capsys.readouterr()
        assert out == "results/net\n"
        assert f"the Python API of TensorRT 10.4.0: {sys.executable}" in err
        assert "Latency  median 0.5 ms" in err
        assert here.names() == COMPLETE
        engine = load_engine(here.outdir)
        assert list(engine.layers["name"]) == ["conv1 + relu1", "softmax"]
        assert list(engine.layers["latency_ms"]) == [0.1, 0.2]
        assert not [note for note in engine.notes if note.is_damage]
        assert main(["summary", "results/net", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)["engines"][0]
        assert (told["timing"]["latency"]["count"], told["timing"]["latency"]["median_ms"]) == (25, 0.5)
        assert told["timing"]["throughput_printed_qps"] > 0
        manifest = json.loads((here.outdir / "net.capture.json").read_text(encoding="utf-8"))
        assert manifest["status"] == "complete"
        assert noted(here, "upload")[0][0] == "32"

    def test_dynamic_shapes(self, here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        use(monkeypatch, here)
        shapes = ["--min-shapes", "t0:1x8", "--opt-shapes", "t0:2x8", "--max-shapes", "t0:4x8"]
        quick = ["--duration", "0", "--iterations", "1", "--warmup", "0"]
        assert capture(*shapes, *quick, "--timing-cache", "tc") == 0
        assert noted(here, "input_shape") == [["t0", "2", "8"]]
        assert noted(here, "allocate")[0] == ["64"]
        assert Path("tc").read_bytes() == b"cache"
        plan = json.loads((here.outdir / "net.engine").read_bytes().rpartition(b"API ")[2])
        assert plan["profiles"] == [{"t0": [[1, 8], [2, 8], [4, 8]]}]
        again = ["--engine", "results/net/net.engine", "--outdir", "again", "--shapes", "t0:2x8"]
        assert main(["capture", *again, *quick, "--profile-index", "0"]) == 0

    def test_without_a_gpu(
        self, here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The build half, said so."""
        use(monkeypatch, here, "tensorrt_rtx", "1.3.0.56", 0)
        assert capture("--compute-capability", "8.6,8.9") == 0
        out, err = capsys.readouterr()
        assert out == "results/net\n"
        assert here.names() == BUILT
        assert "no GPU here: the engine is built, but not measured" in err
        assert err.splitlines()[-1].endswith("run trex-tui capture --engine on a machine with a GPU")
        assert noted(here, "set_compute_capability") == [["Enum.SM86", "0"], ["Enum.SM89", "1"]]
        assert noted(here, "device") == []
        assert main(["capture", "--engine", "results/net/net.engine", "--outdir", "again"]) == 2
        assert "finds no GPU to measure on" in capsys.readouterr().err

    def test_of_rtx(self, here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        use(monkeypatch, here, "tensorrt_rtx", "1.3.0.56", 1)
        assert capture("--duration", "0", "--iterations", "1", "--warmup", "0", "--timing-cache", "rc") == 0
        assert noted(here, "graph") == [["Enum.WHOLE_GRAPH_CAPTURE"]]
        assert noted(here, "set_runtime_cache") == [[]]
        assert Path("rc").read_bytes() == b"cache"
        assert here.names() == COMPLETE

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--fp8"], "--fp8: not in the Python API of TensorRT 10.4.0"),
            (["--compute-capability", "8.6"], "only the Python API of TensorRT-RTX builds for chosen GPUs"),
            (["--hardware-compatibility", "all"], None),
        ],
    )
    def test_options_that_it_lacks(
        self,
        here: Bench,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        arguments: list[str],
        told: str | None,
    ) -> None:
        use(monkeypatch, here)
        code = capture(*arguments)
        err = capsys.readouterr().err
        if told is None:
            assert (code, "Unknown hardwareCompatibilityLevel option: all" in err) == (3, True)
        else:
            assert (code, told in err) == (2, True)

    @pytest.mark.parametrize(
        ("failure", "told", "left"),
        [
            ("parse", "operator GridSample3D", ["capture.json", "engine.build.log"]),
            ("build", "No kernel for softmax", ["capture.json", "engine.build.log"]),
            ("load", "", ["capture.json", "engine", "engine.build.log", "engine.profile.log"]),
        ],
    )
    def test_failures(
        self,
        here: Bench,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        failure: str,
        told: str,
        left: list[str],
    ) -> None:
        use(monkeypatch, here)
        monkeypatch.setenv("FAKE_TENSORRT_FAIL", failure)
        assert capture() == 3
        out, err = capsys.readouterr()
        assert out == ""
        assert told in err
        assert [name.removeprefix("net.failed/net.") for name in here.names()] == left


class TestProgram:
    def test_first_that_imports(self, here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """One that is broken does not hide the next."""
        use(monkeypatch, here, "tensorrt_rtx", "1.3.0.56", 2)
        (here.place / "api/tensorrt.py").write_text("raise OSError('libnvinfer.so.10: cannot open')", "utf-8")
        found = find_python(os.environ)
        assert (found.version, found.build, found.devices, found.is_rtx) == ("RTX 1.3.0", 56, 2, True)
        assert found.knows("--computeCapability")
        assert not found.knows("--fp16")
        assert not found.knows("--timingCacheFile")
        (here.place / "api/tensorrt_rtx.py").unlink()
        with pytest.raises(
            TrtexecNotFoundError, match=r"tensorrt: libnvinfer\.so\.10: cannot open.*pip install"
        ):
            find_python(os.environ)
