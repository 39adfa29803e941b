"""Captures elsewhere without a network: quoting, what is sent, what comes back, and the scripts under each shell here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trtexec import install
from fake_trtexec.kit import fifo, wait_for, wait_for_end
from onnx_bytes import MODEL, tanh_model
from remote_kit import descendants, name_of
from test_capture_clocks import FREE, LOCK, SMI, told
from trex_tui.capture import remote
from trex_tui.capture.clocks import HOLD
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.remote import move_options, unpack
from trex_tui.capture.shell import (
    describe_refusal,
)
from trex_tui.cli.main import main
from trex_tui.errors import TrexError

SHELLS = [one for one in ("dash", "bash", "busybox", "ksh") if shutil.which(one)] or ["sh"]


def sh(shell: str, script: str, *arguments: str) -> list[str]:
    applet = ["sh"] if shell == "busybox" else []
    return [shell, *applet, "-c", script, "trex-tui", *arguments]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "a", "--host", "b"], "one machine at a time"),
        (["--timing-cache", "/no/where/tc"], "--timing-cache: /no/where/tc cannot be read and written"),
        (
            ["--", "--timingCacheFile=/no/where/tc"],
            "--timingCacheFile after --: /no/where/tc cannot be read and written",
        ),
        (["--host", "a", "--timing-cache", "/"], "--timing-cache: / cannot be read and written"),
    ],
)
def test_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    (tmp_path / "net.onnx").write_bytes(MODEL)
    try:
        code = main(["capture", "--onnx", str(tmp_path / "net.onnx"), *arguments])
    except SystemExit as error:  # argparse
        code = int(str(error.code))
    assert code == 2
    assert told in capsys.readouterr().err


class TestSending:
    @pytest.mark.parametrize("name", ["../w", "/etc/passwd", "a/../../b"])
    def test_weights_elsewhere(self, tmp_path: Path, name: str) -> None:
        model = tmp_path / "m.onnx"
        model.write_bytes(tanh_model("fp32", (1, 8), weights=name))
        with pytest.raises(TrexError, match="outside its directory"):
            move_options(CaptureOptions(onnx=str(model)), "/t")


class TestComingBack:
    @given(st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=4), st.integers(1, 9))
    def test_files(
        self, tmp_path_factory: pytest.TempPathFactory, files: list[bytes | None], step: int
    ) -> None:
        place = tmp_path_factory.mktemp("unpack")
        whole = b"".join(b"-\n" if one is None else b"%d\n%s" % (len(one), one) for one in files)
        targets = [place / str(number) for number in range(len(files))]
        unpack(iter([whole[n : n + step] for n in range(0, len(whole), step)]), targets, "jet")
        assert [one.read_bytes() if one.exists() else None for one in targets] == files


@pytest.mark.parametrize("shell", SHELLS)
class TestScripts:
    @pytest.mark.parametrize("how", ["hang", "stubborn"])
    def test_life_line(self, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
        """Its input ends: so does what runs, politely or not."""
        (tmp_path / "keeper").touch()
        pipe = fifo(tmp_path / "fifo")
        monkeypatch.setenv("FAKE_TRTEXEC_FAIL", how)
        monkeypatch.setenv("FAKE_TRTEXEC_FIFO", str(pipe))
        model = tmp_path / "m"
        model.write_bytes(b"x")
        trtexec = [
            str(install(tmp_path / "t", "10.4.0")),
            f"--onnx={model}",
            f"--saveEngine={tmp_path / 'e'}",
        ]
        argv = sh(shell, remote.RUN, "w", str(tmp_path), "2", *trtexec)
        with subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            pid = wait_for(pipe)
            assert process.stdin is not None
            process.stdin.close()
            assert process.stderr is not None
            last = process.stderr.read().splitlines()[-1]
        wait_for_end(pid)
        assert last.split()[1] == (b"143" if how == "hang" else b"137")

    def test_what_keepers_left(self, shell: str, tmp_path: Path) -> None:
        """Of one that was killed, nothing stays; what others keep, or is not ours, is left alone."""
        gone = subprocess.Popen(["true"])
        gone.wait()
        host = os.uname().nodename
        keepers = {
            "dead": f"{gone.pid} {host}\n",
            "alive": f"{os.getpid()} {host}\n",
            "of-another": "1 other\n",
        }
        for name, text in keepers.items():
            (tmp_path / f"trex-tui.{name}").mkdir()
            (tmp_path / f"trex-tui.{name}" / "keeper").write_text(text, encoding="ascii")
        (tmp_path / "trex-tui.empty").mkdir()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "keeper").write_text(keepers["dead"], encoding="ascii")
        (tmp_path / "trex-tui.link").symlink_to(tmp_path / "elsewhere")
        before = sorted(one.name for one in tmp_path.iterdir())
        argv = sh(shell, remote.KEEP, "w", "5", "name")
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
        )
        assert done.returncode == 0
        assert sorted(one.name for one in tmp_path.iterdir()) == [
            name for name in before if name != "trex-tui.dead"
        ]
        assert (tmp_path / "elsewhere" / "keeper").exists()

    @pytest.mark.parametrize("state", ["gone", "over"])
    def test_nothing_is_made_again(self, shell: str, tmp_path: Path, state: str) -> None:
        """What was on its way when the line was cut arrives after the directory was deleted."""
        place = tmp_path / "d"
        if state == "over":
            place.mkdir()
            (place / "over").touch()
        before = sorted(tmp_path.rglob("*"))
        for script, *arguments in (
            (remote.MAKE, "w", str(place), "in/0"),
            (remote.SEND, "w", str(place), "in/0", "m.onnx"),
            (remote.RUN, "w", str(place), "5", "touch", str(tmp_path / "ran")),
        ):
            done = subprocess.run(sh(shell, script, *arguments), input=b"x", capture_output=True, check=False)
            assert done.returncode == 1
            assert b"w 0 0" not in done.stderr
        assert sorted(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize("killed", [False, True])
    def test_hold(self, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
        """The clocks are let go when the input ends, also where the process that held them was killed."""
        (tmp_path / "nvidia-smi").write_text(SMI, encoding="ascii")
        (tmp_path / "nvidia-smi").chmod(0o755)
        record = tmp_path / "smi-calls"
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setenv("SMI_CALLS", str(record))
        argv = sh(shell, HOLD, "w", "0", "2100,2100")
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(4)]
            assert (lines[0], lines[-1]) == (b"w\n", b"w\n")
            assert b"GPU clocks set to" in lines[1]
            assert told(record) == [LOCK]
            for signal_number in (signal.SIGTERM, signal.SIGHUP):
                process.send_signal(signal_number)
            if killed:
                (inner,) = (one for one in descendants(process.pid) if name_of(one) == name_of(process.pid))
                os.kill(inner, signal.SIGKILL)
                wait_for_end(inner)
            process.stdin.close()
            assert process.stdout.read().endswith(b"\nw 0\n")
        assert told(record) == [LOCK, FREE]


class TestRefusals:
    """Each reason of ssh with its remedy, and no other."""

    CHANGED = (
        "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
        "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n"
        "Offending ED25519 key in /home/me/known hosts:3\n"
        "  remove with:\n  ssh-keygen -f '/home/me/known hosts' -R '[jet]:22'\n"
        "Host key for jet has changed and you have requested strict checking.\nHost key verification failed.\n"
    )

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (CHANGED, "has changed"),
            ("No ED25519 host key is known for jet and you have requested strict checking.\n", "is unknown"),
            ("Host key verification failed.\n", "is unknown; connect once by hand and check it: ssh 'a b'"),
            ("me@jet: Permission denied (publickey,password).\n", "ssh-copy-id"),
            ("ssh: Could not resolve hostname jet: Name or service not known\n", "~/.ssh/config"),
            ("kex_exchange_identification: read: Connection reset by peer\n", "Connection reset by peer"),
            ("", "without a message"),
        ],
    )
    def test_told_apart(self, text: str, told: str) -> None:
        assert told in describe_refusal(text, "a b")
