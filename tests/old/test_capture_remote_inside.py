"""Captures elsewhere without a network: quoting, what is sent, what comes back, and the scripts under each shell here."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trtexec import install
from fake_trtexec.kit import fifo, wait_for, wait_for_end
from remote_kit import descendants, name_of
from test_capture_clocks import FREE, LOCK, SMI, told
from trex_tui import TrexError
from trex_tui.old.capture import scripts
from trex_tui.old.capture.environment_probe import (
    Answers,
    Host,
    chosen_gpus,
    read_environment,
    read_host,
    smi_queries,
)
from trex_tui.old.capture.options import CaptureOptions, checked_inputs
from trex_tui.old.capture.remote import RemoteTrtexec, read_found
from trex_tui.old.capture.shell import Shell
from trex_tui.old.capture.ssh import (
    ConnectionLostError,
    Sieve,
    Ssh,
    checked_hosts,
    cut_end,
    external_data,
    folder_name,
    moved,
    unpack,
)
from trex_tui.old.cli.capture import capture_options, capture_request
from trex_tui.old.cli.capture_run import requests_by_host
from trex_tui.old.cli.parser import build_parser

SHELLS = [one for one in ("dash", "bash", "busybox", "ksh") if shutil.which(one)] or ["sh"]
ALL = (scripts.KEEP, scripts.RUN, scripts.FIND, scripts.MAKE, scripts.SEND, scripts.FETCH)
SCRIPTS = (*ALL, scripts.ENGINE, scripts.PROBE, scripts.SMI, scripts.HOLD, scripts.ENVIRONMENT)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def sh(shell: str, script: str, *arguments: str) -> list[str]:
    applet = ["sh"] if shell == "busybox" else []
    return [shell, *applet, "-c", script, "trex-tui", *arguments]


class TestQuoting:
    @given(st.lists(TEXTS, max_size=4))
    def test_a_shell_gives_back_what_was_said(self, words: list[str]) -> None:
        """ssh hands its last argument to a login shell: that shell, and the one it starts, leave every word as it is."""
        *_, host, remote = Ssh("jet").argv('printf "<%s>" "$@"', *words)
        assert host == "jet"
        done = subprocess.run(["/bin/sh", "-c", remote], capture_output=True, check=True)
        assert done.stdout.decode() == "".join(f"<{one}>" for one in words or [""])
        assert shlex.split(remote)[-len(words) :] == words or not words

    def test_bytes(self) -> None:
        remote = Ssh("jet").argv('printf "%s" "$1"', os.fsdecode(b"caf\xe9 \xff"))[-1]
        done = subprocess.run(["/bin/sh", "-c", remote], capture_output=True, check=True)
        assert done.stdout == b"caf\xe9 \xff"

    def test_options(self) -> None:
        argv = Ssh("user@jet", "my conf").argv("true")
        assert argv[:4] == ("ssh", "-T", "-F", "my conf")
        assert "BatchMode=yes" in argv
        assert argv[-3:-1] == ("--", "user@jet")
        assert "-F" not in Ssh("jet").argv("true")

    @pytest.mark.parametrize("script", SCRIPTS)
    def test_scripts_are_one_line(self, script: str) -> None:
        assert script.isprintable()


def test_how_much_was_read_is_told(tmp_path: Path) -> None:
    """Of a file that is sent, while it is."""
    source = tmp_path / "model"
    source.write_bytes(bytes(300_000))
    seen: list[int] = []
    # What is printed behind the last byte wakes the reader, who looks once more.
    script = "dd bs=100000 count=2 >/dev/null 2>&1; echo; cat >/dev/null; echo"
    Shell().call(None, script, source=source, tick=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 300_000


class TestHosts:
    @pytest.mark.parametrize("host", ["", "-oProxyCommand=x", "a b", "a\nb", "a\x1b[31m"])
    def test_refused(self, host: str) -> None:
        with pytest.raises(TrexError, match="not a host name"):
            checked_hosts([host])

    def test_twice(self) -> None:
        with pytest.raises(TrexError, match="given twice"):
            checked_hosts(["a", "b", "a"])

    def test_folders(self) -> None:
        assert folder_name("user@jetson-1.local") == "user@jetson-1.local"
        assert folder_name("ssh://user@jet:22") == "ssh___user@jet_22"
        assert folder_name("../x") == "_._x"
        assert folder_name("..") == "_."

    def test_config(self) -> None:
        assert checked_hosts(["a"], {})[0].config is None
        assert checked_hosts(["a"], {"TREX_TUI_SSH_CONFIG": "f"})[0].config == "f"


def test_a_timing_cache_of_trtexec_there_is_not_looked_for_here(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"x")
    asked = CaptureOptions(onnx=str(tmp_path / "net.onnx"), passthrough=("--timingCacheFile=/no/where/tc",))
    checked_inputs(asked, is_here=False)
    with pytest.raises(TrexError, match="not a directory"):
        checked_inputs(asked)


def location(name: bytes) -> bytes:
    size = len(name)
    length = bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])
    return b"\x0a\x08location\x12" + length + name


def test_several_machines_have_a_timing_cache_each(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"x")
    words = ["capture", "--onnx", str(tmp_path / "net.onnx"), "--timing-cache", str(tmp_path / "tc")]
    options = build_parser().parse_args([*words, "--host", "ssh://a:22", "--host", "b"])
    request = capture_request(options, capture_options(options))
    caches = [one.options.timing_cache for _, one in requests_by_host(options.host, request)]
    assert caches == [str(tmp_path / "tc.ssh___a_22"), str(tmp_path / "tc.b")]
    options.host = ["b"]
    assert requests_by_host(options.host, request)[0][1].options.timing_cache == str(tmp_path / "tc")
    (tmp_path / "tc.b").mkdir()
    options.host = ["a", "b"]
    with pytest.raises(TrexError, match=r"--timing-cache: .*tc\.b is not a file"):
        requests_by_host(options.host, request)


class TestSending:
    def test_external_data(self, tmp_path: Path) -> None:
        model = tmp_path / "m.onnx"
        long = b"d/" + b"n" * 200
        model.write_bytes(b"x" + location(b"w.bin") + b"y" + location(long) + location(b"w.bin"))
        assert external_data(model) == ["w.bin", long.decode()]
        model.write_bytes(location(b"cut off")[:-1])
        assert external_data(model) == []
        model.write_bytes(b"")
        assert external_data(model) == []

    @pytest.mark.parametrize("name", [b"../w", b"/etc/passwd", b"a/../../b"])
    def test_weights_elsewhere(self, tmp_path: Path, name: bytes) -> None:
        model = tmp_path / "m.onnx"
        model.write_bytes(location(name))
        with pytest.raises(TrexError, match="outside its directory"):
            moved(CaptureOptions(onnx=str(model)), "/t")

    def test_weights_missing(self, tmp_path: Path) -> None:
        model = tmp_path / "m.onnx"
        model.write_bytes(location(b"w"))
        with pytest.raises(TrexError, match="its weights are missing"):
            moved(CaptureOptions(onnx=str(model)), "/t")

    def test_every_file(self, tmp_path: Path) -> None:
        for name in ("m.engine", "p.so", "a,b", "c"):
            (tmp_path / name).write_bytes(b"x")
        options = CaptureOptions(
            engine=str(tmp_path / "m.engine"),
            plugins=(str(tmp_path / "p.so"), "libthere.so"),
            load_inputs=f"x:{tmp_path / 'c'},'y:0':{tmp_path / 'c'}",
            timing_cache=str(tmp_path / "none yet"),
        )
        there, files = moved(options, "/t")
        assert there.engine == "/t/in/0/m.engine"
        assert there.plugins == ("/t/in/1/p.so", "libthere.so")
        assert there.load_inputs == "x:/t/in/2/input-0,'y:0':/t/in/3/input-1"
        assert there.timing_cache == "/t/timing.cache"
        assert [one.path for one in files] == [
            *("/t/in/0/m.engine", "/t/in/1/p.so"),
            *("/t/in/2/input-0", "/t/in/3/input-1"),
        ]


class TestComingBack:
    @given(st.binary(max_size=60), st.integers(1, 7), st.booleans())
    def test_sieve(self, text: bytes, step: int, ends: bool) -> None:
        """However it is cut in pieces, all before the mark passes and nothing of it."""
        mark = b"aab "
        before = text.split(mark)[0]
        whole = text + (mark + b"0 0\n" if ends else b"")
        got: list[bytes] = []
        sieve = Sieve(mark, got.append)
        for place in range(0, len(whole), step):
            sieve.feed(whole[place : place + step])
        sieve.close()
        expected = whole.split(mark)[0]
        assert b"".join(got) == expected
        assert expected.startswith(before) or ends

    @pytest.mark.parametrize(
        ("tail", "found"),
        [
            (b"w 0 0\n", (0, 0)),
            (b"w 137 1\n", (137, 1)),
            (b"w 0", None),
            (b"w 0 x\n", None),
            (b"w 0 0 0\n", None),
            (b"", None),
        ],
    )
    def test_end_of_a_log(self, tmp_path: Path, tail: bytes, found: tuple[int, int] | None) -> None:
        log = tmp_path / "log"
        for text in (b"", b"no newline", b"x" * 1000 + b"\r\n"):
            log.write_bytes(text + tail)
            assert cut_end(log, "w") == found
            assert log.read_bytes() == (text if found else text + tail)

    @given(st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=4), st.integers(1, 9))
    def test_files(
        self, tmp_path_factory: pytest.TempPathFactory, files: list[bytes | None], step: int
    ) -> None:
        place = tmp_path_factory.mktemp("unpack")
        whole = b"".join(b"-\n" if one is None else b"%d\n%s" % (len(one), one) for one in files)
        targets = [place / str(number) for number in range(len(files))]
        unpack(iter([whole[n : n + step] for n in range(0, len(whole), step)]), targets, "jet")
        assert [one.read_bytes() if one.exists() else None for one in targets] == files

    def test_half_a_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConnectionLostError, match="before f was transferred"):
            unpack(iter([b"10\nhal"]), [tmp_path / "f"], "jet")
        assert list(tmp_path.iterdir()) == []

    def test_two_that_fetch_to_one_place(self, tmp_path: Path) -> None:
        """The file is one of both, whole, though they come at the same time."""
        target = tmp_path / ("f" * 255)

        def first() -> Iterator[bytes]:
            yield b"6\naaa"
            unpack(iter([b"3\nbbb"]), [target], "xavier")
            assert target.read_bytes() == b"bbb"
            yield b"aaa"

        unpack(first(), [target], "jet")
        assert target.read_bytes() == b"aaaaaa"
        assert list(tmp_path.iterdir()) == [target]


def path_of(found: RemoteTrtexec) -> Path | None:
    return None if found.trtexec is None else found.trtexec.path


@pytest.mark.parametrize("shell", SHELLS)
class TestScripts:
    def test_run(self, shell: str, tmp_path: Path) -> None:
        script = "echo o1; echo e1 >&2; echo o2; kill -9 $$"
        argv = sh(shell, scripts.RUN, "w", str(tmp_path), "50", "/bin/sh", "-c", script)
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.read() == b"o1\ne1\no2\nw 137 0\n"
        assert process.returncode == 0

    @pytest.mark.parametrize("how", ["hang", "stubborn"])
    def test_life_line(self, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
        """Its input ends: so does what runs, politely or not."""
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
        argv = sh(shell, scripts.RUN, "w", str(tmp_path), "2", *trtexec)
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            pid = wait_for(pipe)
            assert process.stdin is not None
            process.stdin.close()
            assert process.stdout is not None
            last = process.stdout.read().splitlines()[-1]
        wait_for_end(pid)
        assert last.split()[1] == (b"143" if how == "hang" else b"137")

    def test_keep(self, shell: str, tmp_path: Path) -> None:
        place = tmp_path / "a 'b\n c"
        place.mkdir()
        argv = sh(shell, scripts.KEEP, "w", "5", "name")
        with subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(place)}
        ) as process:
            assert process.stdout is not None
            assert process.stdout.read().decode() == f"w\n{place}/trex-tui.name\nw\n"
            assert [one.name for one in place.iterdir()] == ["trex-tui.name"]
            assert (place / "trex-tui.name").stat().st_mode & 0o077 == 0
            assert process.stdin is not None
            process.stdin.close()
        assert process.returncode == 0
        assert list(place.iterdir()) == []

    def test_find(self, shell: str, tmp_path: Path) -> None:
        """PATH, then an unpacked TensorRT of the home directory; --trtexec before both."""
        first, second = (install(tmp_path / one, "10.4.0") for one in ("p", "TensorRT-10.4/bin"))
        environ = {"PATH": f"{first.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}

        def found(*given: str) -> list[str]:
            out = subprocess.check_output(
                sh(shell, scripts.FIND, "w", *(given or ("",))), env=environ, text=True
            )
            return out.splitlines()[1:3]

        assert found() == ["w PATH", str(first)]
        assert found("~/TensorRT-10.4/bin") == ["w --trtexec", str(second)]
        assert found("/nowhere") == []
        first.unlink()
        assert found() == [f"w {second.parent}", str(second)]

    def test_find_the_others(self, shell: str, tmp_path: Path) -> None:
        """Those behind the first are named and not asked; the first under another name is no other."""
        first, second = (install(tmp_path / one, "10.4.0") for one in ("p", "TensorRT-10.4/bin"))
        newest = install(tmp_path / "TensorRT-10.16.0.7/bin", "10.16.1")
        (tmp_path / "TensorRT-9/bin").mkdir(parents=True)
        (tmp_path / "TensorRT-9/bin/trtexec").symlink_to(first)
        environ = {"PATH": f"{first.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}

        def found(given: str = "") -> RemoteTrtexec:
            argv = sh(shell, scripts.FIND, "w", given, "1")
            return read_found(subprocess.check_output(argv, env=environ), "w", given)

        assert path_of(found()) == first
        assert found().others == (str(newest), str(second))
        assert path_of(found(str(second))) == second
        assert found(str(second)).others == (
            *(str(first), str(newest)),
            str(tmp_path / "TensorRT-9/bin/trtexec"),
        )
        assert path_of(found("trtexec")) == first
        refused = found("/nowhere")
        assert (refused.trtexec, refused.others) == (None, ())
        assert "no executable /nowhere there" in refused.refusal
        first.write_text("#!/bin/sh\nkill -SEGV $$\n")
        assert "--help fails: it crashed (SIGSEGV)" in found(str(first)).refusal
        first.write_text("#!/bin/sh\necho nothing of TensorRT\n")
        assert path_of(found()) == newest
        assert str(first) in found().others

    def test_around(self, shell: str, tmp_path: Path) -> None:
        (tmp_path / "dpkg-query").write_text(
            '#!/bin/sh\nprintf "libnvinfer6 \\nlibnvinfer10 10.3.0.30-1\\n"\n'
        )
        (tmp_path / "tegrastats").write_text("#!/bin/sh\n")
        for one in tmp_path.iterdir():
            one.chmod(0o755)
        environ = {
            "PATH": f"{tmp_path}:/usr/bin:/bin",
            "LD_LIBRARY_PATH": "/cuda/lib:/cuda/lib/stubs",
            "TMPDIR": str(tmp_path),
        }
        output = subprocess.check_output(sh(shell, scripts.ENVIRONMENT, "w", "/"), env=environ)
        host = Host()
        around = read_environment(host, Answers.read(output, "w"))
        assert around.packages == {"libnvinfer10": "10.3.0.30-1"}
        assert around.tegrastats == str(tmp_path / "tegrastats")
        assert around.stub_libraries == ("/cuda/lib/stubs",)
        assert not around.has_nvidia_smi
        assert around.uptime_s is not None
        assert host.probes["proc/self/status"]["raw"].startswith("CapEff:")
        disk = around.disk
        assert (disk.wanted, disk.is_directory, disk.is_writable) == (tmp_path, True, True)
        assert disk.free_bytes == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.2)

    @pytest.mark.parametrize("killed", [False, True])
    def test_hold(self, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
        """The clocks are let go when the input ends, also where the process that held them was killed."""
        (tmp_path / "nvidia-smi").write_text(SMI, encoding="ascii")
        (tmp_path / "nvidia-smi").chmod(0o755)
        record = tmp_path / "smi-calls"
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setenv("SMI_CALLS", str(record))
        argv = sh(shell, scripts.HOLD, "w", "0", "-lgc", "2100,2100", "GPU clocks set to", "-rgc")
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

    def test_probe(self, shell: str, tmp_path: Path) -> None:
        """An nvidia-smi that knows not all fields is asked group by group."""
        smi = tmp_path / "nvidia-smi"
        smi.write_text(
            "#!/bin/sh\ncase $1 in --query-gpu=index,name,driver_version) echo '0, RTX 4090, 550.54';; "
            "--query-gpu=temperature.gpu,*) echo '41, 20.5, [N/A], 0';; *) echo 'not a valid field'; exit 2;; esac\n"
        )
        smi.chmod(0o755)
        environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "1,GPU-ab"}
        argv = sh(shell, scripts.PROBE, "w", "/", "1", *smi_queries(with_ids=True))
        facts = read_host(Answers.read(subprocess.check_output(argv, env=environ), "w"), with_ids=True).facts
        assert facts["gpus"][0]["name"] == "RTX 4090"
        assert facts["cuda"] == chosen_gpus(environ)
        assert facts["gpus"][0]["temperature_c"] == 41
        assert facts["gpus"][0]["power_limit_w"] is None
        assert facts["kernel"] == os.uname().release
        assert facts["host_name"] == os.uname().nodename
        assert facts["memory"]["total_kib"] > 0


def test_probe_of_a_jetson() -> None:
    """Out of what the script prints: files, and nvpmodel."""

    def parts() -> Iterator[bytes]:
        yield b"noise of a profile"
        yield b"uname release\n5.15.148-tegra\n"
        yield b"file etc/nv_tegra_release\n# R36 (release), REVISION: 4.3, GCID: 1\n"
        yield b"file proc/device-tree/compatible\nnvidia,p3768\0nvidia,tegra234\0"
        yield b"file sys/class/devfreq/17000000.gpu/device/of_node/name\ngpu\0"
        yield b"file sys/class/devfreq/17000000.gpu/min_freq\n306000000\n"
        yield b"file sys/class/devfreq/17000000.gpu/max_freq\n1020000000\n"
        yield b"program nvpmodel\n/usr/sbin/nvpmodel"
        yield b"nvpmodel\n0\nNV Power Mode: MAXN_SUPER\n2\n"

    host = read_host(Answers.read(b"\nw ".join(parts()), "w"))
    facts = host.facts
    assert facts["jetson"] == {
        "l4t": "36.4.3",
        "model": None,
        "soc": "tegra234",
        "power_mode": "MAXN_SUPER",
    }
    assert facts["gpu_clock"]["locked"] is False
    assert facts["host_name"] is None
    assert facts["gpus"] == []
    assert host.probes["devfreq 17000000.gpu"]["directory"] == "/sys/class/devfreq/17000000.gpu"
