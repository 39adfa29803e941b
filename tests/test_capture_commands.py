"""From options to commands: every release, every option, refusals, quoting."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trtexec import VERSIONS
from trex_tui.capture.options import (
    CaptureOptions,
    OptimizationProfile,
)
from trex_tui.capture.plan import RunPlan, flag_name, make_plan
from trex_tui.capture.script import command_line
from trex_tui.capture.staging import Names
from trex_tui.capture.trtexec import parse_version
from trex_tui.errors import TrexError

NAMES = Names(Path("out"), "m")


def planned(programs: Any, version: str, **options: Any) -> tuple[RunPlan, ...]:
    if "engine" not in options:
        options = {"onnx": "m.onnx", **options}
    return make_plan(CaptureOptions(**options), programs(version), NAMES)


def both(programs: Any, version: str, **options: Any) -> tuple[set[str], set[str]]:
    build, profile = planned(programs, version, **options)
    return set(build.argv[1:]), set(profile.argv[1:])


class TestVersions:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_the_two_runs(self, programs: Any, version: str) -> None:
        numbers = parse_version(version)
        build, profile = both(programs, version)
        assert build == {
            *("--onnx=m.onnx", "--saveEngine=out/m.engine", "--verbose", "--profilingVerbosity=detailed"),
            "--skipInference" if numbers >= (8, 6) else "--buildOnly",
        }
        measured = {"--useCudaGraph", "--noDataTransfers", "--useSpinWait", "--separateProfileRun"}
        assert profile == {
            *("--loadEngine=out/m.engine", "--verbose", "--dumpProfile"),
            "--exportLayerInfo=out/m.graph.json",
            "--exportTimes=out/m.timing.json",
            "--exportProfile=out/m.profile.json",
            *(set() if numbers >= (11,) else measured),
        }


TWO = (
    OptimizationProfile("x:1,y:1", "x:2,y:1", "x:4,y:1"),
    OptimizationProfile("x:4,y:1", "x:8,y:1", "x:16,y:1"),
)


class TestProfiles:
    def test_several(self, programs: Any) -> None:
        """Shapes stand behind the profile that they are of; the first is measured at its typical shapes."""
        build, profile = planned(programs, "10.4.0", profiles=TWO)
        first = build.argv.index("--profile=0")
        assert build.argv[first : first + 8] == (
            *("--profile=0", "--minShapes=x:1,y:1", "--optShapes=x:2,y:1", "--maxShapes=x:4,y:1"),
            *("--profile=1", "--minShapes=x:4,y:1", "--optShapes=x:8,y:1", "--maxShapes=x:16,y:1"),
        )
        assert "--shapes=x:2,y:1" in profile.argv
        _, profile = planned(programs, "10.4.0", profiles=TWO, profile_index=1)
        assert {"--useProfile=1", "--shapes=x:8,y:1"} <= set(profile.argv)
        _, profile = planned(programs, "10.4.0", profiles=TWO, profile_index=1, shapes="x:5,y:1")
        assert "--shapes=x:5,y:1" in profile.argv


class TestRefusals:
    @pytest.mark.parametrize(
        ("version", "options", "parts"),
        [
            (
                "11.1.0",
                {"precisions": ("fp16",)},
                ["--fp16", "11.1.0", "8.0.1 to 10.16", "the model states the types"],
            ),
            ("8.6.1", {"precisions": ("bf16",)}, ["--bf16", "9.1.0 to 10.16"]),
            ("8.5.1", {"optimization_level": 3}, ["--optimization-level", "8.6.1 and later"]),
            ("8.6.1", {"profile_index": 1}, ["--profile-index", "9.1.0 and later"]),
            ("8.4.1", {"passthrough": ("--maxTactics=3",)}, ["--maxTactics", "10.4.0 and later"]),
            ("10.4.0", {"passthrough": ("--saveEngine=x",)}, ["--saveEngine", "capture sets it"]),
            ("10.4.0", {"compute_capability": "8.6"}, ["--compute-capability", "TensorRT-RTX"]),
        ],
    )
    def test_an_option_of_another_version(
        self, programs: Any, version: str, options: dict[str, Any], parts: list[str]
    ) -> None:
        with pytest.raises(TrexError) as stop:
            planned(programs, version, **options)
        for part in parts:
            assert part in str(stop.value)


class TestPassthrough:
    def test_what_a_person_writes_replaces_ours(self, programs: Any) -> None:
        """trtexec refuses an option that is there twice."""
        rest = ("--useSpinWait", "--shapes=x:7")
        runs = planned(
            programs, "10.4.0", min_shapes="x:1", opt_shapes="x:2", max_shapes="x:8", passthrough=rest
        )
        for run in runs:
            flags = [flag_name(one) for one in run.argv]
            assert flags.count("--shapes") == flags.count("--useSpinWait") == 1
            assert "--shapes=x:7" in run.argv

    @pytest.mark.parametrize(
        ("options", "rest", "part"),
        [
            (
                {"warmup_ms": 100},
                "--warmUp=7",
                "--warmup and --warmUp after --: the same option of trtexec",
            ),
            ({"workspace_mib": 9}, "--memPoolSize=workspace:7", "--workspace and --memPoolSize after --"),
            ({"shapes": "x:1"}, "--shapes=x:2", "--shapes and --shapes after --"),
            ({"profiles": TWO}, "--minShapes=x:1", "--profile and --minShapes after --"),
        ],
    )
    def test_what_is_typed_twice(self, programs: Any, options: dict[str, Any], rest: str, part: str) -> None:
        """Neither is dropped in silence."""
        with pytest.raises(TrexError) as stop:
            planned(programs, "10.4.0", passthrough=(rest,), **options)
        assert str(stop.value).count(part) == 1


class TestQuoting:
    @pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
    @given(st.lists(st.binary(min_size=1, max_size=12).map(lambda one: one.replace(b"\0", b"0")), max_size=5))
    def test_a_shell_reads_back_the_same_bytes(self, arguments: list[bytes]) -> None:
        texts = [os.fsdecode(one) for one in [*arguments, b"a b;$(touch x)'\".onnx", b"\x1b9\n8\xff7"]]
        script = f"printf '%s\\0' {command_line(texts)}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
        assert done.stdout.split(b"\0")[:-1] == [os.fsencode(one) for one in texts]
