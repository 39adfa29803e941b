"""Measuring the engine of a set again: file, options, name and directory, derived from the set."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from trex_tui.old.artifacts import find
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.rerun import Rerun, plan_rerun
from trex_tui.old.cli.capture import capture_options
from trex_tui.old.cli.parser import build_parser

PLAN = b"ftrt" + bytes(24)
PROFILE = '[{ "count" : 5 }\n, { "name" : "a", "timeMs" : 1, "averageMs" : 0.2, "percentage" : 100 }\n]\n'
BANNER = "&&&& RUNNING TensorRT.trtexec [TensorRT v100400] [b26] # {}\n[07/07/2026-02:11:26] [I] === Model Options ===\n"


def made(folder: Path, files: dict[str, str | bytes]) -> ArtifactSet:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    return find(folder)[0]


def again(words: str, version: str | None = "10.4.0", folder: Path = Path("/nowhere")) -> Rerun:
    source = ArtifactSet("net", folder, {})
    return plan_rerun(source, ["trtexec", *shlex.split(words)], version)


class TestOptions:
    def test_as_it_was_measured(self) -> None:
        found = again(
            "--loadEngine=x --useCudaGraph --noDataTransfers --useSpinWait --shapes=ids:8x128,mask:8x1 --warmUp=500 "
            "--duration=10 --iterations=7 --avgRuns=3 --percentile=50,99.9 --infStreams=2 --device=1 --useProfile=1"
        )
        assert found.options == CaptureOptions(
            shapes="ids:8x128,mask:8x1", profile_index=1, device=1, warmup_ms=500, duration_s=10, iterations=7,
            avg_runs=3, percentile="50,99.9", inf_streams=2,
        )  # fmt: skip
        assert found.notes == ()

    @pytest.mark.parametrize(
        ("words", "version", "graph", "transfers"),
        [
            ("--useCudaGraph --noDataTransfers", "8.6.1", None, False),
            ("--loadEngine=x", "10.4.0", False, True),
            ("--loadEngine=x", "11.1.0", None, False),
            ("--noCudaGraph --includeDataTransfers", "11.1.0", False, True),
            ("--loadEngine=x", None, None, False),
        ],
    )
    def test_defaults_of_the_release(self, words, version, graph, transfers) -> None:
        options = again(words, version).options
        assert (options.cuda_graph, options.data_transfers) == (graph, transfers)

    def test_options_that_capture_has_no_name_for(self) -> None:
        """They go behind `--`: of the window, of the command for a shell, and of none of them silently nothing."""
        found = again(
            "--loadEngine=x --versionCompatible --useCudaGraph --noDataTransfers --useSpinWait --dumpProfile "
            "--separateProfileRun --duration=0.5 --idleTime=20 --warmUp=2.5 --threads --useDLACore=1"
        )
        wanted = CaptureOptions(
            dla=1, version_compatible=True, duration_s=0.5, cuda_graph=True,
            passthrough=("--idleTime=20", "--warmUp=2.5", "--threads"),
        )  # fmt: skip
        assert found.options == wanted
        assert found.notes == ()
        words = shlex.split(found.command())[1:]
        assert capture_options(build_parser().parse_args(words)) == replace(wanted, engine="ENGINE")
        longer = found.with_length(7, None)
        assert "--duration=7" in longer.command()

    def test_what_is_not_as_it_was_is_said(self) -> None:
        """Nothing is left out without a word, options included that no release has yet."""
        found = again(
            "--onnx=m --fp16 --optShapes=x:8 --maxTactics=16 --dumpProfile --tensorCoreMood=good --exportOutput=/etc/x "
            "--plugins=a.so --plugins=b.so"
        )
        assert found.options.shapes == "x:8", "what trtexec measures where it has just built"
        assert found.notes == (
            "the earlier run had --tensorCoreMood=good, which was not taken over",
            "the earlier run had --exportOutput=/etc/x, which was not taken over",
            "the earlier run had --plugins=a.so,b.so: files listed in other files are not loaded",
            "omitted (the engine is already built): --fp16, --maxTactics=16",
            "this run waits with --useSpinWait, the earlier did not",
            "this run profiles layers with --separateProfileRun, the earlier timed while it profiled",
        )
        (note,) = again("").notes
        assert "is unknown" in note

    def test_files_and_odd_values_are_not_taken(self) -> None:
        found = again(
            "--useCudaGraph --noDataTransfers --useSpinWait --plugins=/tmp/evil.so --loadInputs=x:/etc/passwd "
            "--shapes=x:1x3,--plugins=y --warmUp=1e9 --duration=٣ --iterations=--help --percentile=;rm"
        )
        assert found.options == CaptureOptions()
        assert [note.removeprefix("the earlier run had --").split("=")[0] for note in found.notes] == [
            "plugins", "loadInputs", "shapes", "warmUp", "duration", "iterations", "percentile",
        ]  # fmt: skip

    def test_the_command_asks_for_the_same(self) -> None:
        found = again("--shapes=x:1x3 --duration=5 --warmUp=9 --useDLACore=0 --allowGPUFallback --device=2")
        words = shlex.split(found.command())[1:]
        options = capture_options(build_parser().parse_args(words))
        assert options.engine == "ENGINE"
        assert options == CaptureOptions(
            engine="ENGINE", shapes="x:1x3", duration_s=5, warmup_ms=9, dla=0, allow_gpu_fallback=True, device=2,
            cuda_graph=False, data_transfers=True,
        )  # fmt: skip


class TestFiles:
    def test_engine_of_the_set_and_a_free_name(self, tmp_path: Path) -> None:
        files = {"net.profile.json": PROFILE, "net.engine": PLAN, "net.again-2.graph.json": "{}"}
        found = plan_rerun(made(tmp_path, files))
        assert found.options.engine == str(tmp_path / "net.engine")
        assert (found.outdir, found.name, found.problem) == (tmp_path, "net.again-3", "")

    def test_a_set_that_was_measured_again_has_the_engine_of_the_first(self, tmp_path: Path) -> None:
        files = {"net.profile.json": PROFILE, "net.again-2.profile.json": PROFILE, "net.plan": PLAN}
        made(tmp_path, {**files, "other.engine": PLAN})
        source = next(one for one in find(tmp_path) if one.name == "net.again-2")
        found = plan_rerun(source)
        assert found.options.engine == str(tmp_path / "net.plan")
        assert found.name == "net.again-3"

    def test_what_is_called_engine_must_be_one(self, tmp_path: Path) -> None:
        found = plan_rerun(made(tmp_path, {"net.profile.json": PROFILE, "net.engine": "no plan"}))
        assert "no engine file" in found.problem
        assert found.options.engine is None

    def test_options_out_of_the_log(self, tmp_path: Path) -> None:
        files = {"net.profile.json": PROFILE, "net.engine": PLAN}
        log = BANNER.format("trtexec --loadEngine=net.engine --useCudaGraph --shapes=x:1x3")
        source = made(tmp_path / "a", {**files, "net.profile.log": log})
        assert plan_rerun(source, (), "10.4.0").options.shapes == "x:1x3"
        log = BANNER.format("trtexec --loadEngine=my net.engine --useCudaGraph --shapes=x:1x3")
        source = made(tmp_path / "b", {**files, "net.profile.log": log})
        assert plan_rerun(source, (), "10.4.0").options.shapes is None, "the banner does not quote"

    def test_files_without_a_name_of_their_own(self, tmp_path: Path) -> None:
        found = plan_rerun(made(tmp_path / "a b;$(x)", {"profile.json": PROFILE}))
        assert found.name == "a b;$(x).again-2"
        assert shlex.split(found.command())[-1] == found.name

    def test_a_directory_that_cannot_be_listed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        source = made(tmp_path, {"net.profile.json": PROFILE, "net.engine": PLAN})

        def refuse(_: Path) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "iterdir", refuse)
        assert "Permission denied" in plan_rerun(source).problem
