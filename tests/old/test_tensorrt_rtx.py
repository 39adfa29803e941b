"""`tensorrt_rtx` of TensorRT-RTX as a trtexec: its banner, its options, a capture with it, and its versions from 1.0 on.

Written from its public documentation: no real log or file of it was at hand.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fake_trtexec import RTX, install
from trex_tui.__main__ import main
from trex_tui.old.analysis.trtexec_runs import parse_version
from trex_tui.old.artifacts.banner import find_banner, find_stated_version
from trex_tui.old.artifacts.file_kinds import ArtifactKind, sniff
from trex_tui.old.artifacts.metadata import version_of_log
from trex_tui.old.buildlog.reader import shared_log
from trex_tui.old.capture import scripts
from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.plan import Names, plan
from trex_tui.old.capture.rerun import read_rerun_options
from trex_tui.old.capture.trtexec import find_trtexec
from trex_tui.old.errors import TrexError

NAMES = Names(Path("out"), "m")


class TestBanner:
    @pytest.mark.parametrize(
        "name",
        [
            "TensorRT-RTX.tensorrt_rtx [TensorRT-RTX v10600] [b76]",
            "TensorRT_RTX.tensorrt_rtx [TensorRT_RTX v10600] [b76]",
            "TensorRT.tensorrt_rtx [TensorRT v10600] [b76]",
            "TensorRT.trtexec [TensorRT v10600] [b76]",
            "TensorRT.trtexec [TensorRT v1600] [b76]",
        ],
    )
    def test_every_likely_name(self, name: str, tmp_path: Path) -> None:
        command = "tensorrt_rtx --onnx=m.onnx --saveEngine=m.plan"
        banner = find_banner(f"before\n&&&& RUNNING {name} # {command}\nafter", is_trtexec=True)
        assert banner is not None
        assert (banner.status, banner.version, banner.build) == ("RUNNING", "RTX 1.6.0", 76)
        assert banner.command == command
        log = tmp_path / "m.log"
        log.write_text(
            f"&&&& RUNNING {name} # {command}\n[07/07/2026-02:11:26] [I] Start\n", encoding="utf-8"
        )
        assert sniff(log).kind is ArtifactKind.BUILD_LOG
        assert version_of_log(log) == "RTX 1.6.0"
        trace = shared_log(log)
        assert trace.tensorrt_version == "RTX 1.6.0"
        assert [run.command for run in trace.runs] == [command]

    def test_other_programs(self) -> None:
        text = "&&&& PASSED TensorRT.sample_onnx_mnist [TensorRT v8601] # ./sample\n"
        assert find_banner(text, is_trtexec=True) is None
        banner = find_banner(text)
        assert banner is not None
        assert banner.version == "8.6.1"

    @pytest.mark.parametrize(
        ("line", "version"),
        [
            ("TensorRT version: 10.16.1", "10.16.1"),
            ("TensorRT version: 8003", "8.0.3"),
            ("TensorRT version: 1.6.0", "RTX 1.6.0"),
            ("TensorRT-RTX version: 1.6.0 (JIT)", "RTX 1.6.0"),
            ("TensorRT version: unknown", None),
        ],
    )
    def test_stated_version(self, line: str, version: str | None) -> None:
        assert find_stated_version(line) == version

    def test_a_version_is_no_old_one_of_tensorrt(self) -> None:
        assert parse_version("8.2.1") == (8, 2, 1)
        assert parse_version("RTX 1.6.0") is None


class TestFound:
    def test_on_the_path(self, tmp_path: Path) -> None:
        program = install(tmp_path / "bin", RTX)
        environ = {"PATH": f"{program.parent}:/usr/bin:/bin"}
        found = find_trtexec(None, environ, tmp_path)
        assert (found.path, found.version, found.is_rtx, found.numbers) == (program, RTX, True, None)
        assert found.describe() == f"tensorrt_rtx of TensorRT RTX 1.6.0: {program}"
        assert find_trtexec(str(program.parent), {}).path == program

    def test_trtexec_comes_first(self, tmp_path: Path) -> None:
        install(tmp_path / "bin", RTX)
        install(tmp_path / "opt/TensorRT-8.6.1/bin", "8.6.1")
        environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        assert find_trtexec(None, environ, tmp_path).version == "8.6.1"

    def test_unpacked(self, tmp_path: Path) -> None:
        program = install(tmp_path / "opt/TensorRT-RTX-1.6.0.10/bin", RTX)
        assert find_trtexec(None, {"PATH": "/usr/bin:/bin"}, tmp_path).path == program

    @pytest.mark.parametrize("shell", ["sh", "bash"])
    @pytest.mark.parametrize("place", ["bin", "TensorRT-RTX-1.6.0.10/bin", "named"])
    def test_by_the_script_of_another_machine(self, tmp_path: Path, shell: str, place: str) -> None:
        program = install(tmp_path / place, RTX)
        given = str(program.parent) if place == "named" else ""
        path = shutil.which(shell)
        assert path is not None
        environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
        output = subprocess.run(
            [path, "-c", scripts.FIND, shell, "mark", given],
            env=environ,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        assert f"\n{program}\nmark help\n&&&& RUNNING TensorRT.tensorrt_rtx [TensorRT-RTX v10600]" in output


class TestPlan:
    def test_two_runs(self, programs: Any) -> None:
        build, profile = plan(CaptureOptions(onnx="m.onnx"), programs(RTX), NAMES)
        assert set(build.argv[1:]) == {
            *("--onnx=m.onnx", "--saveEngine=out/m.engine", "--verbose", "--profilingVerbosity=detailed"),
            "--skipInference",
        }
        assert set(profile.argv[1:]) == {
            *("--loadEngine=out/m.engine", "--verbose", "--dumpProfile", "--rtxCudaGraphStrategy=wholeGraph"),
            "--exportLayerInfo=out/m.graph.json",
            "--exportTimes=out/m.timing.json",
            "--exportProfile=out/m.profile.json",
        }
        assert profile.uses_graph
        again = profile.without_graph(programs(RTX))
        assert again is not None
        assert "--rtxCudaGraphStrategy=disable" in again.argv
        assert again.without_graph(programs(RTX)) is None

    def test_without_graph_and_with_transfers(self, programs: Any) -> None:
        options = CaptureOptions(onnx="m.onnx", cuda_graph=False, data_transfers=True)
        profile = plan(options, programs(RTX), NAMES)[1]
        assert {"--rtxCudaGraphStrategy=disable", "--includeDataTransfers"} <= set(profile.argv)

    def test_what_it_lacks_is_refused(self, programs: Any) -> None:
        with pytest.raises(TrexError, match=r"--dla .*not in trtexec of TensorRT RTX 1\.6\.0"):
            plan(CaptureOptions(onnx="m.onnx", dla=0), programs(RTX), NAMES)

    def test_measured_again(self) -> None:
        options, notes = read_rerun_options(
            ["tensorrt_rtx", "--loadEngine=m.plan", "--rtxCudaGraphStrategy=disable"], RTX
        )
        assert options.cuda_graph is False
        assert options.data_transfers is False
        assert not notes


def test_a_capture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = install(tmp_path / "bin", RTX)
    Path("net.onnx").write_bytes(b"a model")
    assert main(["capture", "--onnx", "net.onnx", "--trtexec", str(program), "--outdir", "out"]) == 0
    assert "TensorRT RTX 1.6.0" in capsys.readouterr().err
    assert main(["summary", "out", "--json"]) == 0
    (engine,) = json.loads(capsys.readouterr().out)["engines"]
    assert engine["tensorrt_version"] == RTX
    assert engine["layers"] == 5
    for command in ("summary", "lint"):
        assert main([command, "out"]) in (0, 1)
        assert capsys.readouterr().out
