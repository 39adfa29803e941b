"""`capture --dry-run`: a shell script that leaves the files of the capture, under every shell here and for every release."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fake_trtexec import ENDS, VERSIONS, calls
from fake_trtexec.kit import COMPLETE, Bench
from helpers import some
from onnx_bytes import MODEL
from test_capture_clocks import FREE, LOCK, smi, told
from trex_tui.cli.main import main

__all__ = ["smi"]

SHELLS = [name for name in ("sh", "dash", "bash", "busybox", "ksh", "zsh") if shutil.which(name)]
OWN = (".capture.json",)
HOSTILE = [
    b"a b;$(touch x)'\".onnx",
    b"-rf.onnx",
    b"new\nline\x1b[31m.onnx",
    b"caf\xe9 \xff.onnx",
    "名前%s{0}[red]\u202e.onnx".encode(),
    b"EOF\nEOF.onnx",
]


def script(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["capture", *arguments, "--dry-run"]) == 0
    return capsys.readouterr().out


def run(text: str, shell: str = "sh", **environment: str) -> subprocess.CompletedProcess[bytes]:
    words = [shell, "sh"] if shell == "busybox" else [shell]
    Path("script.sh").write_text(text, encoding="utf-8", errors="surrogateescape")
    return subprocess.run(
        [*words, "script.sh"], capture_output=True, check=False, env={**os.environ, **environment}
    )


def files(directory: Path, old: str = "", new: str = "") -> Mapping[str, bytes]:
    """The files that trtexec leaves, with one directory written for another."""
    return {
        str(path.relative_to(directory)): path.read_bytes().replace(os.fsencode(old), os.fsencode(new))
        for path in directory.rglob("*")
        if path.is_file() and not path.name.endswith(OWN)
    }


@pytest.mark.parametrize("version", ENDS)
def test_it_leaves_the_set(here: Bench, capsys: pytest.CaptureFixture[str], version: str) -> None:
    options = ["--onnx", "net.onnx", "--repeat", "2", "--trtexec", str(here.programs(version).path)]
    done = run(script(capsys, *options, "--outdir", "by hand"))
    assert done.returncode == 0, done.stderr
    assert b"next: trex-tui 'by hand'" in done.stderr
    assert done.stdout.count(b"&&&& PASSED") == 3, "the output is on the screen, too"
    assert main(["capture", *options, "--outdir", "by trex-tui"]) == 0
    ours = files(Path("by trex-tui"), ".by trex-tui.net.partial/", "DIR/")
    assert files(Path("by hand"), "by hand/", "DIR/") == ours
    assert {name for name in ours if "repeat" not in name} == {
        name for name in COMPLETE if not name.endswith(OWN)
    }
    assert main(["summary", "by hand"]) == 0
    assert not list(Path().glob(".*"))


@pytest.mark.parametrize("version", VERSIONS)
def test_without_trtexec(here: Bench, capsys: pytest.CaptureFixture[str], version: str) -> None:
    """Printed for a release, it is the script that is printed with its trtexec."""
    program = here.programs(version).path
    options = ["--onnx", "net.onnx", "--workspace", "64"]
    asked = script(capsys, *options, "--trtexec", str(program))
    assert script(capsys, *options, "--trtexec", str(program), "--for", version) == asked
    short = ".".join(version.split(".")[:2])
    stated = script(capsys, *options, "--for", short)
    assert " trtexec --onnx=" in stated
    assert stated.replace(" trtexec --", f" {program} --").splitlines()[2:] == asked.splitlines()[2:]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", some(HOSTILE))
def test_hostile_names(
    here: Bench,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: bytes,
    shell: str,
) -> None:
    """Every shell calls trtexec with the very arguments, and executes nothing else; what no shell can write is refused."""
    record = here.place / "calls"
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(record))
    model = os.fsdecode(name)
    Path(model).write_bytes(MODEL)
    if not model.isprintable():
        assert main(["capture", f"--onnx={model}", "--dry-run"]) == 2
        assert "a name has control characters" in capsys.readouterr().err
        return
    before = set(os.listdir(b"."))  # noqa: PTH208 - pathlib has no bytes
    text = script(capsys, f"--onnx={model}", f"--outdir={model}.d")
    for line in text.splitlines():
        assert line.isprintable()
    done = run(text, shell)
    assert done.returncode == 0, done.stderr
    assert {name + b".d", b"script.sh", b"calls"} == set(os.listdir(b".")) - before  # noqa: PTH208
    build, profile = calls(record)
    assert build[0] == f"--onnx={model}"
    stem = model.removesuffix(".onnx")
    assert profile[0] == f"--loadEngine={model}.d/{stem}.engine"
    assert Path(f"{model}.d/{stem}.profile.json").is_file()


class TestFailures:
    def test_a_set_is_there(self, here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        text = script(capsys, "--onnx", "net.onnx")
        assert run(text).returncode == 0
        before = here.bytes()
        done = run(text)
        assert (done.returncode, done.stdout) == (2, b"")
        assert (
            done.stderr
            == b"results/net/net.engine.build.log exists; --force prints a script that overwrites\n"
        )
        assert here.bytes() == before
        assert run(script(capsys, "--onnx", "net.onnx", "--force")).returncode == 0

    @pytest.mark.parametrize(
        ("failure", "part"),
        [
            ("unsupported_op", "exit code 1; the output is in results/net/net.engine.build.log"),
            ("no_engine", "results/net/net.engine was not written"),
            ("no_profile@profile", "results/net/net.profile.json was not written"),
        ],
    )
    @pytest.mark.parametrize("shell", SHELLS)
    def test_of_trtexec(
        self, here: Bench, capsys: pytest.CaptureFixture[str], shell: str, failure: str, part: str
    ) -> None:
        done = run(script(capsys, "--onnx", "net.onnx"), shell, FAKE_TRTEXEC_FAIL=failure)
        assert done.returncode == 3
        assert part in done.stderr.decode()
        assert (here.outdir / "net.engine.build.log").stat().st_size > 0


class TestClocks:
    @pytest.mark.parametrize("more", [[], ["--for", "10.4"]])
    @pytest.mark.parametrize("failure", ["", "crash"])
    @pytest.mark.usefixtures("here")
    def test_locked_and_freed(
        self, capsys: pytest.CaptureFixture[str], smi: Path, failure: str, more: list[str]
    ) -> None:
        text = script(
            capsys, "--onnx", "net.onnx", "--lock-clocks", "--trtexec", os.environ["TRTEXEC"], *more
        )
        assert told(smi) == []
        done = run(text, FAKE_TRTEXEC_FAIL=failure)
        assert done.returncode == (3 if failure else 0), done.stderr
        assert told(smi) == [LOCK, FREE]
