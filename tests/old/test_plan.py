"""The plan summary: model, device, builder and run, from metadata, logs and manifests of all releases."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from test_one_number import plain_text
from test_reports import drawn

from helpers import (
    ARTIFACTS,
    OLD_SAMPLES,
    STAMP,
    chain,
    golden,
    layer,
    tensor,
    write_graph,
    write_json,
)
from trex_tui.__main__ import main
from trex_tui.old.analysis.trtexec_options import (
    BUILD_OPTIONS,
    RUN_OPTIONS,
    Option,
    options_in_arguments,
    parse_pools,
    parse_shapes,
)
from trex_tui.old.analysis.trtexec_runs import find_batch_size
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.report.views.plan import CUT, Fact, find_plan, plan_document
from trex_tui.old.report.views.summary import print_summaries

SAMPLES = sorted(path for path in (OLD_SAMPLES).glob("*") if path.is_dir())
SETS = [
    *(pytest.param(path, id=path.name) for path in SAMPLES),
    *(
        pytest.param(path, id=path.name, marks=pytest.mark.skipif(not path.exists(), reason=f"no {path}"))
        for path in (
            ARTIFACTS / "trex/resnet-A100/fp16",
            ARTIFACTS / "trex/mobilenet-qat-8.4EA",
            ARTIFACTS / "logs/trt10.16.1_H100_dumpProfile_noSeparate.log",
            ARTIFACTS / "logs/trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log",
            ARTIFACTS / "logs/trt8.6.0_RTX3090_loadEngine_dumpLayerInfo_verbose.log",
        )
    ),
]


def made(folder: Path, *, shape: Sequence[int] = (4, 8), **files: Any) -> Engine:
    """A set with a graph whose input has this shape, and further files: metadata, logs, a manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    layers = [layer("one", "kgen", [tensor("x", *shape)], [tensor("y", *shape)])]
    write_graph(folder / "net.graph.json", layers, ["x", "y"])
    for name, content in files.items():
        kind = name.replace("_", ".")
        if isinstance(content, str):
            (folder / f"net.{kind}").write_text(content, encoding="utf-8")
        else:
            write_json(folder / f"net.{kind}.json", content)
    return load_engine(folder)


def log_of(argument: str = "--onnx=net.onnx", **sections: dict[str, str]) -> str:
    """A log with these sections of options."""
    lines = [f"&&&& RUNNING TensorRT.trtexec [TensorRT v100400] # trtexec {argument}"]
    for name, options in sections.items():
        lines.append(f"{STAMP} === {name.replace('_', ' ')} ===")
        lines += [f"{STAMP} {label}: {value}" for label, value in options.items()]
        lines.append(f"{STAMP} ")
    return "\n".join(lines) + "\n"


def facts(engine: Engine, part: str) -> dict[str, Fact]:
    return {fact.key: fact for one in find_plan(engine) if one.id == part for fact in one.facts}


class TestOptions:
    def test_keys_and_labels_are_unique(self) -> None:
        for table in (BUILD_OPTIONS, RUN_OPTIONS):
            keys = [option.key for option in table]
            assert len(keys) == len(set(keys))
            assert all(
                option.help and option.help[0].isupper() and option.help[-1] != "." for option in table
            )

    @pytest.mark.parametrize(
        ("text", "pools"),
        [
            ("workspace: 1024 MiB, dlaSRAM: default", {"workspace": 1 << 30, "dlaSRAM": None}),
            ("16 MiB", {"workspace": 16 << 20}),
            ("workspace: 0.000976562 MiB", {"workspace": 1024}),
            ("workspace:4096", {"workspace": 4 << 30}),
            ("workspace", None),
            ("workspace: 3 parsecs", None),
            ("", None),
        ],
    )
    def test_pools(self, text: str, pools: object) -> None:
        assert parse_pools(text) == pools

    def test_shapes(self) -> None:
        assert parse_shapes("x=1x3+4x3+16x3, y:0=2") == [
            {"name": "x", "min": [1, 3], "opt": [4, 3], "max": [16, 3]},
            {"name": "y:0", "shape": [2]},
        ]
        assert parse_shapes("x=1x3+4x3") is None
        assert parse_shapes("x") is None

    @pytest.mark.parametrize(
        ("argument", "table", "stated"),
        [
            ("--avgTiming=4", BUILD_OPTIONS, {"avgTiming": "4"}),
            ("--best", BUILD_OPTIONS, {"Precision": "FP32+FP16+INT8"}),
            ("--stronglyTyped", BUILD_OPTIONS, {"Precision": "Strongly Typed"}),
            ("--refit", BUILD_OPTIONS, {"Refit": "Enabled"}),
            ("--noCompilationCache", BUILD_OPTIONS, {"Enable Compilation Cache": "Disabled"}),
            ("--memPoolSize=workspace:64", BUILD_OPTIONS, {"Memory Pools": "workspace:64"}),
            ("--memPoolSize=workspace:64M", BUILD_OPTIONS, {}),
            ("--noDataTransfers", RUN_OPTIONS, {"Data transfers": "Disabled"}),
            ("--warmUp=500", RUN_OPTIONS, {"Warm-up": "500"}),
            ("--saveEngine=e", RUN_OPTIONS, {}),
        ],
    )
    def test_command_line(self, argument: str, table: Sequence[Option], stated: object) -> None:
        assert options_in_arguments(["trtexec", argument], table) == stated


class TestSources:
    def test_a_size_without_a_pool_is_not_cut(self, tmp_path: Path) -> None:
        """TensorRT 8.2 prints `Workspace: 4096 MiB`."""
        engine = made(tmp_path, build_metadata={"build_options": {"Workspace": "4096 MiB"}})
        pools = facts(engine, "builder")["memory_pools_bytes"]
        assert (pools.value, pools.text) == ({"workspace": 4 << 30}, "workspace 4.00 GiB")

    def test_log_wins_over_cut_metadata(self, tmp_path: Path) -> None:
        cut = {"build_options": {"Memory Pools": "workspace", "Precision": "FP32", "avgTiming": "8"}}
        alone = made(tmp_path / "alone", build_metadata=cut)
        pools = facts(alone, "builder")["memory_pools_bytes"]
        assert (pools.value, pools.reason, pools.text) == (None, CUT, f"– ({CUT})")
        log = log_of(
            Build_Options={"Memory Pools": "workspace: 64 MiB, dlaSRAM: default", "Precision": "FP32"}
        )
        pools = facts(made(tmp_path / "both", build_metadata=cut, build_log=log), "builder")[
            "memory_pools_bytes"
        ]
        assert (pools.value, pools.source) == ({"workspace": 64 << 20, "dlaSRAM": None}, "build_log")
        assert pools.text == "workspace 64.0 MiB, others default"

    def test_labels_of_other_releases(self, tmp_path: Path) -> None:
        old = log_of(
            Build_Options={"Max batch": "explicit batch", "Workspace": "16 MiB"},
            Inference_Options={"Streams": "2", "Duration": "5s (+ 100ms warm up)"},
        )
        engine = made(tmp_path, build_log=old)
        builder, run = facts(engine, "builder"), facts(engine, "run")
        assert builder["memory_pools_bytes"].value == {"workspace": 16 << 20}
        assert (run["streams"].value, run["duration_s"].value, run["warmup_ms"].value) == (2, 5, 100)

    def test_unknown_labels_and_values_appear_as_they_are(self, tmp_path: Path) -> None:
        options = {
            "Precision": "FP32",
            "Novel": "much: more",
            "Novel switch": "Disabled",
            "avgTiming": "many",
        }
        engine = made(tmp_path, build_log=log_of(Build_Options=options))
        assert plan_document(engine)["builder"]["other"] == {
            "Novel": "much: more",
            "Novel switch": "Disabled",
            "avgTiming": "many",
        }
        text = drawn(200, lambda console: print_summaries([engine], console))
        assert re.search(r"^Novel +much: more$", text, re.MULTILINE)
        assert "Novel switch" not in text
        assert "Novel switch" in drawn(
            200, lambda console: print_summaries([engine], console, is_unfolded=True)
        )

    def test_manifest(self, tmp_path: Path) -> None:
        manifest = {
            "schema": "trex-tui/capture/1",
            "model": {"path": "m/net.onnx"},
            "host": {"before": {"gpus": [{"name": "NVIDIA X", "compute_capability": "8.9"}]}},
            "runs": [
                {"role": "build", "passed": True, "command": ["trtexec", "--onnx=m/net.onnx", "--fp16"]},
                {"role": "profile", "passed": True, "command": ["trtexec", "--useCudaGraph", "--duration=7"]},
            ],
        }
        document = plan_document(made(tmp_path, capture=manifest))
        assert document["model"]["file"] == "m/net.onnx"
        assert document["device"]["name"] == "NVIDIA X"
        assert document["device"]["compute_capability"] == "8.9"
        assert document["builder"]["precision"] == "FP32+FP16"
        assert (document["run"]["cuda_graph"], document["run"]["duration_s"]) == (True, 7)
        assert document["run"]["spin_wait"] is None, "the default depends on the release"
        assert document["run"]["sources"] == ["capture_manifest"]

    def test_a_run_that_loads_says_nothing_of_the_build(self, tmp_path: Path) -> None:
        options = {"Precision": "FP32", "Load engine": "net.engine"}
        engine = made(tmp_path, build_log=log_of(Build_Options=options))
        assert facts(engine, "builder") == {}
        assert "needs a build log" in drawn(200, lambda console: print_summaries([engine], console))

    def test_nothing_is_stated(self, tmp_path: Path) -> None:
        engine = load_engine(write_graph(tmp_path / "a.graph.json", chain("one")))
        document = plan_document(engine)
        assert document["builder"]["avg_timing"] is None
        assert document["device"]["sms"] is None
        assert document["run"]["sources"] == []


class TestDevice:
    def test_built_on_another_gpu(self, tmp_path: Path) -> None:
        def device(name: str, sms: object) -> dict[str, Any]:
            return {"device_information": {"Selected Device": name, "SMs": sms}}

        build = {"build_options": {"Precision": "FP32"}}
        engine = made(
            tmp_path / "a",
            build_metadata={**build, **device("NVIDIA A", "10")},
            profile_metadata={"inference_options": {}, **device("NVIDIA B", 20.0)},
        )
        (warning,) = plan_document(engine)["device"]["warnings"]
        assert warning.startswith("Built on NVIDIA A, SMs 10; run on NVIDIA B, SMs 20.0.")
        assert facts(engine, "device")["name"].value == "NVIDIA B"
        same = made(
            tmp_path / "b",
            build_metadata={**build, **device("NVIDIA A", "10")},
            profile_metadata={"inference_options": {}, **device("NVIDIA A", 10.0)},
        )
        assert plan_document(same)["device"]["warnings"] == []

    def test_units_and_what_cannot_be(self, tmp_path: Path) -> None:
        device = {
            "Selected Device": "NVIDIA A",
            "Shared Memory per SM": "100 KiB",
            "Memory Bus Width": "192 bits (ECC enabled)",
            "Application Compute Clock Rate": "1425 MHz",
            "SMs": "-3",
            "Novel": "1",
        }
        engine = made(tmp_path, profile_metadata={"inference_options": {}, "device_information": device})
        document = plan_document(engine)["device"]
        assert document["shared_memory_per_sm_bytes"] == 102400
        assert (document["memory_bus_bits"], document["ecc"]) == (192, True)
        assert document["clock_ghz"] == pytest.approx(1.425)
        assert (document["sms"], document["other"]) == (None, {"Novel": "1"})
        assert document["missing"] == {"sms": "trtexec: SMs is -3 (implausible)"}


class TestBatch:
    def test_static_input(self, tmp_path: Path) -> None:
        batch = find_batch_size(made(tmp_path))
        assert batch is not None
        assert (batch.size, batch.source) == (4, "first extent of the inputs")

    def test_implicit_batch(self, tmp_path: Path) -> None:
        run = {"inference_options": {"Batch": "16"}}
        build = {"build_options": {"Max batch": "32", "Precision": "FP32"}}
        batch = find_batch_size(made(tmp_path, build_metadata=build, profile_metadata=run))
        assert batch is not None
        assert batch.size == 16

    def test_a_printed_1_may_be_explicit(self, tmp_path: Path) -> None:
        run = {"inference_options": {"Batch": "1"}}
        assert find_batch_size(made(tmp_path / "a", profile_metadata=run)) is None
        known = made(
            tmp_path / "b", profile_metadata=run, build_metadata={"model_options": {"Format": "ONNX"}}
        )
        batch = find_batch_size(known)
        assert batch is not None
        assert batch.size == 4

    def test_dynamic_input(self, tmp_path: Path) -> None:
        build = log_of(Build_Options={"Input build shape (profile 0)": "x=1x8+2x8+16x8"})
        batch = find_batch_size(made(tmp_path / "a", shape=(-1, 8), build_log=build))
        assert batch is not None
        assert (batch.size, batch.source) == (2, "optimal shapes of the build")
        run = log_of("--loadEngine=net.engine", Inference_Options={"Input inference shape": "x=5x8"})
        batch = find_batch_size(made(tmp_path / "b", shape=(-1, 8), build_log=build, profile_log=run))
        assert batch is not None
        assert (batch.size, batch.source) == (5, "shapes of the run")


@pytest.mark.parametrize("path", SETS)
def test_one_plan_in_all_outputs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has the raw values, and text, HTML, Markdown and the report's JSON have the same texts."""

    def run(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out

    (engine,) = json.loads(run("summary", path, "--json"))["engines"]
    (report,) = json.loads(run("report", path, "--format", "json"))["engines"]
    sections = {section["id"]: section for section in report["sections"]}
    text = run("summary", path, "--all")
    brief = run("summary", path)
    html = unescape(run("report", path, "--format", "html"))
    markdown = plain_text(run("report", path, "--format", "md"))
    for part in find_plan(load_engine(path)):
        stated = engine["plan"][part.id]
        section = sections[part.id]
        labels = {(pair["label"], pair["text"]) for pair in (*section["facts"], *section["folded"])}
        for fact in part.facts:
            assert stated[fact.key] == json.loads(json.dumps(fact.value))
            assert (fact.key in stated["at_default"]) == fact.is_default
            if not fact.label:
                continue
            assert (fact.label, fact.text) in labels
            shown = " ".join(fact.text.split())
            assert f"{fact.label} {shown}" in " ".join(text.split())
            assert f"<dt>{fact.label}</dt><dd>{fact.text}</dd>" in html
            assert f"**{fact.label}:** {fact.text}" in markdown
        assert not section["folded"] or f"\n{len(section['folded'])} more: --all\n" in brief


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("alexnet", "edge-vision/results/alexnet"),
        ("resnet_A100", "trex/resnet-A100/fp16"),
        ("mobilenet_8_4", "trex/mobilenet-qat-8.4EA"),
        ("log_only", "logs/trt10.16.1_H100_dumpProfile_noSeparate.log"),
    ],
)
def test_golden_of_real_sets(name: str, path: str, tmp_path: Path) -> None:
    source = ARTIFACTS / path
    if not source.exists():
        pytest.skip(f"no {source}")
    target = tmp_path / source.name
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
    check_golden(name, target, tmp_path)


def test_golden_of_a_captured_set(tmp_path: Path) -> None:
    source = OLD_SAMPLES / "alexnet"
    shutil.copytree(source, tmp_path / "alexnet")
    check_golden("captured", tmp_path / "alexnet", tmp_path)


def check_golden(name: str, path: Path, folder: Path) -> None:
    engine = load_engine(path)
    shown = drawn(1000, lambda console: print_summaries([engine], console)).replace(f"{folder}/", "")
    assert shown == golden(f"summary_{name}.txt", shown)


def test_values_of_other_tools_read_as_those_of_a_log(tmp_path: Path) -> None:
    options = {
        "Precision": ["FP32", "FP16"],
        "Refit": False,
        "Memory Pools": {"workspace": "1024 MiB"},
        "x": 3,
    }
    builder = plan_document(made(tmp_path, build_metadata={"build_options": options}))["builder"]
    assert builder["precision"] == "FP32+FP16"
    assert builder["refit"] is False
    assert builder["memory_pools_bytes"] == {"workspace": 2**30}
    assert builder["other"] == {"x": "3"}
