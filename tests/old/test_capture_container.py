"""`capture --docker` with a stand-in for docker that runs the entry point here; no container was ever started by a test."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from itertools import pairwise

import pytest

from fake_trtexec import calls
from fake_trtexec.kit import COMPLETE, Bench, fifo, is_running, wait_for
from trex_tui.old.cli import main

DOCKER = """\
#!/bin/sh
printf '%s\\n' "$@" >> "$DOCKER_CALLS"; echo -- >> "$DOCKER_CALLS"
[ "$1" != rm ] || exit 0
shift
while :; do case $1 in
--entrypoint) e=$2; shift 2 ;;
--mount|--user|--gpus|--runtime|-e|-w|--name|--pull) shift 2 ;;
--rm|--init) shift ;;
*) break ;;
esac; done
case $1 in absent) echo "docker: Error response from daemon: No such image: absent" >&2; exit 125 ;; esac
shift
PATH=$IMAGE_PATH:$PATH
exec "$e" "$@"
"""


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A docker on PATH whose images hold the trtexec of 10.4."""
    monkeypatch.chdir(bench.place)
    program = bench.place / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(DOCKER, encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("DOCKER_CALLS", str(bench.place / "docker-calls"))
    monkeypatch.setenv("IMAGE_PATH", str(bench.programs("10.4.0").path.parent))
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(bench.place / "calls"))
    monkeypatch.delenv("TRTEXEC", raising=False)
    return bench


def docker_calls(here: Bench) -> list[list[str]]:
    text = (here.place / "docker-calls").read_text(encoding="utf-8")
    return [part.splitlines() for part in text.split("--\n") if part]


def mounts(words: list[str]) -> list[str]:
    """The directories of `--mount`, as docker reads them."""
    found = []
    for word, value in pairwise(words):
        if word == "--mount":
            (fields,) = csv.reader([value])
            assert fields == ["type=bind", fields[1], fields[1].replace("source=", "target=")]
            found.append(fields[1].removeprefix("source="))
    return found


def capture(*arguments: str) -> int:
    return main(["capture", "--onnx", "net.onnx", "--docker", "image:24.09", *arguments])


def test_a_set(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert capture() == 0
    assert here.names() == COMPLETE
    assert "trtexec of TensorRT 10.4.0: trtexec" in capsys.readouterr().err
    runs = docker_calls(here)
    assert len(runs) == 5, "--help, two rehearsals, two runs"
    for words in runs:
        assert words[:6] == ["run", "--rm", "--init", "--pull", "never", "--gpus"]
        assert mounts(words) == [str(here.place)]
        assert f"{os.getuid()}:{os.getgid()}" in words
        assert words[words.index("-w") + 1] == str(here.place)
        assert words[words.index("--entrypoint") + 1 :][:3] == ["/bin/sh", "image:24.09", "-c"]
    assert len(calls(here.place / "calls")) == 2


def test_files_elsewhere(here: Bench, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Their directories are lent, those behind links too."""
    place = tmp_path_factory.mktemp('a, "b"')
    (place / "real.onnx").write_bytes(b"model")
    (here.place / "link.onnx").symlink_to(place / "real.onnx")
    (place / "c").write_bytes(b"x")
    other = tmp_path_factory.mktemp("out")
    arguments = ["--calib", str(place / "c"), "--int8", "--outdir", str(other / "a/b/c"), "--name", "net"]
    assert main(["capture", "--onnx", "link.onnx", "--docker", "x", *arguments]) == 0
    assert mounts(docker_calls(here)[-1]) == sorted(map(str, (here.place, place, other)))


def test_dry_run(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert capture("--dry-run", "--for", "10.4") == 0
    text = capsys.readouterr().out
    assert not (here.place / "docker-calls").exists()
    assert subprocess.run(["sh", "-c", text], capture_output=True, check=False).returncode == 0
    assert (here.outdir / "net.profile.json").is_file()
    assert len(docker_calls(here)) == 2


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--docker", "absent"], "docker has no image absent; run docker pull first"),
        (["--host", "jet"], "--docker applies to this machine only"),
        (["--percentile", "a"], "rejects --percentile=a"),
        (["--trtexec", "/absent/trtexec"], "trtexec --help fails: exit code 127"),
        (["--outdir", "/x"], "is in /, which cannot be mounted"),
    ],
)
def test_refused(here: Bench, capsys: pytest.CaptureFixture[str], arguments: list[str], part: str) -> None:
    assert capture(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert part in err
    assert not here.outdir.exists()


def test_no_docker(here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(here.place))
    assert capture() == 2
    assert "docker not found on PATH" in capsys.readouterr().err


def test_no_trtexec_in_the_image(
    here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IMAGE_PATH", str(here.place))
    assert capture() == 2
    assert "exit code 127: no trtexec in this image" in capsys.readouterr().err


def test_interrupted(here: Bench) -> None:
    """The container is removed, whatever became of docker's client."""
    pipe = fifo(here.place / "fifo")
    process = subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "capture", "--onnx", "net.onnx", "--docker", "x"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "FAKE_TRTEXEC_FAIL": "hang@profile", "FAKE_TRTEXEC_FIFO": str(pipe)},
    )
    pid = wait_for(pipe)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=150)
    assert process.returncode == 130
    assert b"the engine is kept" in err
    assert not is_running(pid)
    *_, run, removed = docker_calls(here)
    assert removed == ["rm", "--force", run[run.index("--name") + 1]]
