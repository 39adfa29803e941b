"""`trex-tui capture` from the outside: exit codes, streams, hostile names, Ctrl-C, the live view."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fake_trtexec import ENDS, calls
from fake_trtexec.kit import COMPLETE, Bench, fifo, is_running, wait_for
from trex_tui.cli.main import main


def capture(*arguments: str) -> int:
    return main(["capture", *arguments])


_SHAPES = "min=t0:1x8,opt=t0:2x8,max=t0:4x8"


class TestCommand:
    def test_the_end(self, here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        """The last lines state the latency of `summary`, the engine, and the next command."""
        assert capture("--onnx", "net.onnx", "--repeat", "2", "--outdir", "o ut") == 0
        *_, latency, engine, following = capsys.readouterr().err.splitlines()
        assert main(["summary", "o ut/net.graph.json", "--json"]) == 0
        (told,) = json.loads(capsys.readouterr().out)["engines"]
        printed = told["timing"]["throughput_printed_qps"]
        assert latency == f"trex-tui: Latency  median 0.495605 ms, p99 0.500977 ms, {printed:g} qps"
        size = (here.place / "o ut/net.engine").stat().st_size
        assert engine == f"trex-tui: Engine   {size} B, built in 0:00"
        assert following == "trex-tui: next: trex-tui 'o ut'"

    @pytest.mark.parametrize("version", ENDS)
    def test_build_only(self, here: Bench, capsys: pytest.CaptureFixture[str], version: str) -> None:
        """The engine and its log; it can be measured into the same set, which keeps them."""
        program = str(here.programs(version).path)
        assert capture("--onnx", "net.onnx", "--build-only", "--trtexec", program) == 0
        err = capsys.readouterr().err
        measured = ("profile", "graph", "timing")
        assert here.names() == [name for name in COMPLETE if not any(word in name for word in measured)]
        assert "[1/1] build: " in err
        assert main(next_command(err)) == 0, "as it stands"
        assert here.names() == COMPLETE

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            (["--onnx", "absent.onnx"], "absent.onnx does not exist"),
            (["--onnx", "net.onnx", "--", "--saveEngine=x"], "capture sets it"),
            (
                ["--onnx", "net.onnx", "--build-only", "--repeat", "2", "--warmup", "0"],
                "--warmup, --repeat: only for measurements",
            ),
            (["--onnx", "net.onnx", "--build-only", "--host", "jet"], "add --with-engine"),
            (
                ["--onnx", "net.onnx", "--profile", _SHAPES, "--opt-shapes", "x:1"],
                "--profile sets the shapes",
            ),
        ],
    )
    def test_bad_input(
        self, here: Bench, capsys: pytest.CaptureFixture[str], arguments: list[str], part: str
    ) -> None:
        assert capture(*arguments) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert part in err
        assert not here.outdir.exists()

    def test_an_engine_behind_metadata_of_ultralytics(
        self, here: Bench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert capture("--onnx", "net.onnx") == 0
        plan = next(here.outdir.glob("*.engine")).read_bytes()
        text = b'{"task": "detect"}'
        engine = Path("yolo.engine")
        engine.write_bytes(len(text).to_bytes(4, "little") + text + plan)
        capsys.readouterr()
        assert capture("--engine", "yolo.engine", "--outdir", "again") == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert (
            "yolo.engine: 22 bytes of Ultralytics metadata precede the plan; remove them (tail -c +23" in err
        )
        assert not Path("again").exists()
        engine.write_bytes(engine.read_bytes()[22:])
        assert capture("--engine", "yolo.engine", "--outdir", "again") == 0


def start(here: Bench, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """The command as a process of its own; capture tests of signals need no terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "capture", "--onnx", "net.onnx", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TRTEXEC": str(here.programs("10.4.0").path), **environment},
    )


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
    def test_ends_trtexec_keeps_logs(
        self, here: Bench, capsys: pytest.CaptureFixture[str], number: signal.Signals
    ) -> None:
        pipe = fifo(here.place / "fifo")
        process = start(here, FAKE_TRTEXEC_FAIL="hang@profile", FAKE_TRTEXEC_FIFO=str(pipe))
        pid = wait_for(pipe)
        process.send_signal(number)
        out, err = process.communicate(timeout=150)
        assert (process.returncode, out) == (128 + number, b"")
        assert b"Traceback" not in err
        assert err.decode().splitlines()[-3:-1] == [
            "trex-tui: interrupted; the logs are in results/net/net.failed",
            "trex-tui: the engine is kept: results/net/net.failed/net.engine",
        ]
        assert not is_running(pid)
        log = here.outdir / "net.failed/net.engine.profile.log"
        assert b"Starting inference" in log.read_bytes()
        assert not list(here.outdir.parent.glob(".*"))
        assert main(next_command(err.decode())) == 0, "as it stands"
        assert here.names() == COMPLETE
        capsys.readouterr()
        assert main(["build-log", "results/net", "--json"]) == 0, "the set has the log of its build"


class TestNextCommand:
    """What is printed works as it stands: names are quoted, and all that the engine needs is carried."""

    @pytest.mark.parametrize(
        "place", ["plain", "a b;$(touch x)'\".onnx", "-dash", "ünï", "new\nline\x1b[31m"]
    )
    @pytest.mark.parametrize("failure", ["crash@profile", None])
    def test_in_any_place(
        self,
        here: Bench,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        place: str,
        failure: str | None,
    ) -> None:
        """Read by a shell, which prints the words that it would start."""
        program = here.place / place / "trtexec"
        program.parent.mkdir()
        program.symlink_to(here.programs("10.4.0").path)
        monkeypatch.delenv("TRTEXEC")
        if failure:
            monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
        given = [f"--trtexec={program}", "--device=0", f"--outdir=o/{place}", f"--plugin={program}"]
        given += ["--min-shapes=t0:1x8", "--opt-shapes=t0:2x8", "--max-shapes=t0:4x8"]
        given += [] if failure else ["--build-only"]
        code = capture("--onnx", "net.onnx", *given, "--", "--avgTiming=2")
        assert code == (3 if failure else 0)
        monkeypatch.delenv("FAKE_TRTEXEC_FAIL", raising=False)
        record = here.place / "calls"
        monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(record))
        assert main(next_command(capsys.readouterr().err)) == 0
        (words,) = calls(record)
        assert {"--device=0", f"--staticPlugins={program}", "--shapes=t0:2x8"} <= set(words)
        assert words[-1] == "--avgTiming=2"
        assert {one.name for one in (here.place / "o" / place).iterdir()} >= set(COMPLETE)


def next_command(err: str) -> list[str]:
    """The words of the last `next:` of `trex-tui capture`, as a shell reads them."""
    lines = [line for line in err.splitlines() if line.startswith("trex-tui: next: trex-tui ")]
    text = lines[-1].removeprefix("trex-tui: next: trex-tui ")
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True)
    return [os.fsdecode(word) for word in done.stdout.split(b"\0")[:-1]]


_BARE = """\
import sys
from trex_tui.cli.main import main
code = main(sys.argv[1:])
loaded = {name.partition(".")[0] for name in sys.modules} & {"pandas", "networkx", "numpy", "textual"}
sys.exit(f"loaded: {sorted(loaded)}" if loaded else code)
"""


class TestImports:
    """On a board nothing heavy is loaded; it need not be there."""

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (["capture", "--onnx", "net.onnx"], 0),
            (["capture", "--onnx", "net.onnx", "--dry-run", "--for", "10.4"], 0),
            (["capture", "--onnx", "none.onnx"], 2),
            (["doctor"], None),
        ],
    )
    def test_neither_pandas_nor_networkx(self, here: Bench, arguments: list[str], code: int | None) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _BARE, *arguments],
            env={**os.environ, "TRTEXEC": str(here.programs("10.4.0").path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "loaded:" not in done.stderr
        assert "Traceback" not in done.stderr
        assert code is None or done.returncode == code
