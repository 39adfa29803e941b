"""Sets of files: which files make a set, how sets are named, and what is told about the rest."""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import (
    ARTIFACTS,
    GRAPH,
    PROFILE,
    REAL_SETS,
    REPOSITORY,
    messages,
    names_of,
    timing_row,
    write_files,
    write_json,
)
from trex_tui.api import load_engine
from trex_tui.artifacts.discover import Discovery, find_one, find_sets, name_sets
from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.stems import engine_stem
from trex_tui.errors import ArtifactError, Severity

STAMP = "[08/12/2023-10:00:00] [I]"
BUILD_LOG = (
    f"&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=a.onnx --saveEngine=a\n{STAMP} hello\n"
)
PROFILE_LOG = (
    f"&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --loadEngine=a\n{STAMP} hello\n"
)
TIMING = [timing_row(300.0, 0.5)]
BUILD = {"model_options": {"Format": "ONNX"}, "build_options": {"Precision": "FP32"}}
PERFORMANCE = {"performance_summary": {"Throughput": 2.0, "Latency": [1, 2, 3, 4, 5]}}
DEVICE = [{"Name": "A100", "ComputeCapability": [8, 0], "CUDA_VERSION": 11040}]
PLAN = b"ftrt" + bytes(20) + bytes([10, 16, 1, 11]) + b"\0\xff" * 40
TIMES = {
    "config": {"backend": "tensorrt"},
    "latencies": [0.001],
    "avg_latency": 0.001,
    "avg_throughput": 1000.0,
}


def sets_of(found: Discovery) -> dict[str, dict[str, str]]:
    return {source.name: names_of(source.files) for source in found.sets}


def test_all_real_sets_are_found_under_their_names() -> None:
    if not ARTIFACTS.is_dir():
        pytest.skip(f"no real artifacts at {ARTIFACTS}")
    found = find_sets([ARTIFACTS / folder for folder in {one.folder for one in REAL_SETS}])
    by_directory = {
        (source.directory, next(iter(source.files.values())).name): source for source in found.sets
    }
    for real in REAL_SETS:
        source = by_directory[real.directory, next(iter(real.files.values()))]
        assert names_of(source.files) == real.files
        assert source.name == real.name
        assert source.notes == ()


def test_names_that_trex_gives(tmp_path: Path) -> None:
    stem = "resnet.onnx.engine"
    files: dict[str, Any] = {
        f"{stem}.graph.json": GRAPH,
        f"{stem}.profile.json": PROFILE,
        f"{stem}.timing.json": TIMING,
        f"{stem}.build.metadata.json": BUILD,
        f"{stem}.profile.metadata.json": PERFORMANCE,
        f"{stem}.metadata.json": DEVICE,
        f"{stem}.build.log": BUILD_LOG,
        f"{stem}.profile.log": PROFILE_LOG,
        stem: PLAN,
    }
    source = find_one(write_files(tmp_path, files))
    assert source.name == "resnet"
    assert list(source.files) == [kind for kind in FileKind if kind in source.files]
    assert sorted(names_of(source.files).values()) == sorted(files)
    assert source.notes == ()


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"alexnet_fp16.graph.json": GRAPH, "alexnet_fp16.profile.json": PROFILE}, "alexnet_fp16"),
        ({"times.json": TIMING, "profile.json": PROFILE, "trtexec_stdout.log": BUILD_LOG}, "run7"),
        ({"layers_int8.json": GRAPH, "profile_int8.json": PROFILE}, "int8"),
        ({"layerinfo.json": GRAPH, "profile.json": PROFILE}, "run7"),
        ({"alexnet.graph.json": GRAPH, "profile.json": PROFILE, "trtexec_stdout.log": BUILD_LOG}, "alexnet"),
        ({"net-layer-info.json": GRAPH, "net_times.json": TIMING}, "net"),
        ({"a.json": GRAPH, "b.json": PROFILE, "c.json": TIMING}, "a"),
        ({"vgg.graph.json": GRAPH, "b.json": PROFILE}, "vgg"),
        ({"GRAPH.JSON": GRAPH, "PROFILE.JSON": PROFILE}, "run7"),
        ({"graph.txt": GRAPH, "profile": PROFILE}, "run7"),
        ({"model.graph.json": GRAPH}, "run7"),
        ({"trt_engine_info.json": GRAPH}, "run7"),
    ],
)
def test_other_names(tmp_path: Path, files: dict[str, Any], name: str) -> None:
    source = find_one(write_files(tmp_path / "run7", files))
    assert source.name == name
    assert sorted(path.name for path in source.files.values()) == sorted(files)
    assert source.notes == ()


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("resnet.onnx.engine.profile.metadata.json", "resnet.onnx"),
        ("resnet.onnx.engine", "resnet.onnx"),
        ("model.plan", "model"),
        ("alexnet_fp16_graph.json", "alexnet_fp16"),
        ("layers_fp16.json", "fp16"),
        ("trtexec_stdout.log", ""),
        ("timing.json", ""),
        ("a.build.log.gz", "a"),
        ("trt8.6.0_exportLayerInfo_names_only.json", "trt8.6.0_exportLayerInfo_names_only"),
        ("_run_on_acc_0_engine_layer_information.json", "_run_on_acc_0"),
        ("_run_on_acc_0_engine_engine_exectuion_profile.trace", "_run_on_acc_0"),
        ("trtexec.md", "trtexec.md"),
    ],
)
def test_stems(name: str, stem: str) -> None:
    assert engine_stem(Path(name)) == stem


def test_two_sets_in_a_directory(tmp_path: Path) -> None:
    files = {"a.graph.json": GRAPH, "a.profile.json": PROFILE, "b.graph.json": GRAPH, "b.timing.json": TIMING}
    assert sets_of(find_sets(write_files(tmp_path, files))) == {
        "a": {"graph": "a.graph.json", "profile": "a.profile.json"},
        "b": {"graph": "b.graph.json", "timing": "b.timing.json"},
    }
    with pytest.raises(
        ArtifactError, match=r"has 2 engines; name a file of one: .*a\.graph\.json, .*b\.graph\.json"
    ):
        find_one(tmp_path)


def test_numbers_in_names_are_in_their_order(tmp_path: Path) -> None:
    for name in ("build-10", "build-9", "build-1000000000000000000000", "a"):
        write_files(tmp_path / name, {"graph.json": GRAPH})
    write_files(tmp_path / "batch", {f"batch{batch}.graph.json": GRAPH for batch in (16, 1, 2)})
    names = ["a", "batch1", "batch2", "batch16", "build-9", "build-10", "build-1000000000000000000000"]
    assert [source.name for source in find_sets(tmp_path).sets] == names


@pytest.mark.parametrize(
    "files",
    [
        {"alexnet.graph.json": GRAPH, "resnet.profile.json": PROFILE},
        {"layers_fp16.json": GRAPH, "profile_int8.json": PROFILE},
    ],
)
def test_names_that_contradict_stay_apart(tmp_path: Path, files: dict[str, Any]) -> None:
    assert len(find_sets(write_files(tmp_path, files)).sets) == 2


def test_a_file_that_fits_no_set(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH, "b.graph.json": GRAPH, "profile.json": PROFILE})
    found = find_sets(tmp_path)
    assert list(sets_of(found)) == ["a", "b"]
    (note,) = found.notes
    assert (note.severity, note.file) == (Severity.WARNING, tmp_path / "profile.json")
    assert note.message == "is a profile that matches no set here: no other file has its stem"


def test_two_graphs_claim_one_stem(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH, "a_layers.json": GRAPH, "a.profile.json": PROFILE})
    source = find_one(tmp_path)
    assert names_of(source.files) == {"graph": "a.graph.json", "profile": "a.profile.json"}
    (note,) = source.notes
    assert (note.severity, note.file) == (Severity.ERROR, tmp_path / "a_layers.json")
    assert note.message == "is a second graph for 'a'; using a.graph.json"
    # Named, it is what is opened.
    assert names_of(find_one(tmp_path / "a_layers.json").files)["graph"] == "a_layers.json"


def test_files_given_together_are_one_set(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/x.json": GRAPH, "b/y.json": PROFILE})
    source = find_one(tmp_path / "a/x.json")
    assert list(source.files) == [FileKind.GRAPH]
    (source,) = find_sets([tmp_path / "a/x.json", tmp_path / "b/y.json"]).sets
    assert (source.name, list(source.files)) == ("x", [FileKind.GRAPH, FileKind.PROFILE])


# Names


def test_names_are_the_directories_that_differ(tmp_path: Path) -> None:
    """Torch-TensorRT's names say nothing: all sets were called `trt_profiling`."""
    for way in ("torch_trt", "torch_onnx_trt"):
        for model in ("alexnet", "resnet18"):
            write_files(tmp_path / way / "results" / model / "trt_profiling", {"trt_engine_info.json": GRAPH})
    write_files(tmp_path / "torch_trt/results/vgg16/trt_profiling", {"trt_engine_info.json": GRAPH})
    assert [source.name for source in find_sets(tmp_path).sets] == [
        "torch_onnx_trt/alexnet",
        "torch_onnx_trt/resnet18",
        "torch_trt/alexnet",
        "torch_trt/resnet18",
        "vgg16",
    ]


def test_equal_names_of_one_directory(tmp_path: Path) -> None:
    stems = ["vit", "vit.onnx"]
    write_files(tmp_path, {f"one/{stem}.engine.graph.json": GRAPH for stem in stems})
    assert sorted(source.name for source in find_sets(tmp_path).sets) == stems
    write_files(tmp_path, {"two/vit.graph.json": GRAPH})
    sets = find_sets(tmp_path).sets
    assert sorted(source.name for source in sets) == ["one/vit", "two/vit", "vit.onnx"]
    assert name_sets(sets) == list(sets)  # over again, as for the sets of several paths
    # One set reached by two ways has the same files: only a number is left.
    ways = find_sets([tmp_path / "two", tmp_path / "one" / ".." / "two"]).sets
    assert [source.name for source in ways] == ["vit", "vit~2"]


# Other directories


def test_logs_and_engine_lie_in_models(tmp_path: Path) -> None:
    write_files(tmp_path / "results/alexnet", {"alexnet_fp16.graph.json": GRAPH})
    write_files(tmp_path / "results/vgg", {"vgg.graph.json": GRAPH})
    files: dict[str, Any] = {
        "alexnet_fp16.engine": PLAN,
        "alexnet_fp16.build.log": BUILD_LOG,
        "alexnet_fp32.build.log": BUILD_LOG,
        "only.profile.log": PROFILE_LOG,
        "alexnet_fp16.profile.json": PROFILE,
    }
    write_files(tmp_path / "models/alexnet", files)
    assert sets_of(find_sets(tmp_path / "results")) == {
        "alexnet_fp16": {
            "graph": "alexnet_fp16.graph.json",
            "build_log": "alexnet_fp16.build.log",
            "profile_log": "only.profile.log",
            "engine": "alexnet_fp16.engine",
        },
        "vgg": {"graph": "vgg.graph.json"},
    }


def test_a_benchmark_is_joined_with_the_layer_times_below(tmp_path: Path) -> None:
    """The edge-vision repository writes JSON in a string, and the times in seconds beside `trt_profiling/`."""
    folder = tmp_path / "raw_data" / "alexnet"
    files = {"trt_engine_info.json": GRAPH, "trt_layer_latency.json": {"one": [0.4, 0.5], "two": [0.1, 0.2]}}
    write_files(folder / "trt_profiling", files)
    for run in (9, 10):
        write_json(folder / f"alexnet_tensorrt_{run}.json", json.dumps(TIMES, indent=4))
    write_json(folder / "alexnet_onnx.json", json.dumps({**TIMES, "config": {"backend": "onnx"}}, indent=4))
    write_files(folder, {"alexnet_power_log.log": "20241121-00:00:01.50,5000.0,800.0\n"})
    write_json(folder.parent / "idling_power.json", {"avg_idle_power": 3e6})
    joined = {
        "graph": "trt_engine_info.json",
        "profile": "trt_layer_latency.json",
        "timing": "alexnet_tensorrt_10.json",
        "monitor": "alexnet_power_log.log",
        "idle_power": "idling_power.json",
    }
    found = find_sets(tmp_path)
    assert sets_of(found)["alexnet"] == joined
    assert [source.name for source in found.sets] == ["alexnet_tensorrt_9", "alexnet"]
    assert messages(found.notes) == ["1 other JSON file: alexnet_onnx.json"]
    assert names_of(find_one(folder / "trt_profiling").files) == joined


def test_a_comparison_of_outputs_lies_in_a_directory_of_its_own(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a.graph.json": GRAPH, "a.accuracy/output_diff.json": [{"name": "y", "max_abs": 1.0}]}
    )
    assert names_of(find_one(tmp_path).files) == {"graph": "a.graph.json", "accuracy": "output_diff.json"}


def test_a_repeated_measurement_has_the_manifest_above(tmp_path: Path) -> None:
    manifest = {"schema": "trex-tui/capture/1", "status": "complete"}
    write_files(tmp_path, {"vit.repeat-2/vit.graph.json": GRAPH, "vit.capture.json": manifest})
    assert list(find_one(tmp_path / "vit.repeat-2").files) == [FileKind.GRAPH, FileKind.MANIFEST]


# Logs alone


SAVES = BUILD_LOG.replace("v8601", "v101601")
ANOTHER = PROFILE_LOG.replace("--loadEngine=a", "--loadEngine=b")


@pytest.mark.parametrize(
    ("files", "sets"),
    [
        (
            {"a.build.log": BUILD_LOG, "a.profile.log": PROFILE_LOG, "b.build.log": BUILD_LOG},
            [("a", ["a.build.log", "a.profile.log"]), ("b", ["b.build.log"])],
        ),
        ({"build.log": BUILD_LOG, "profile.log": PROFILE_LOG}, [("run7", ["build.log", "profile.log"])]),
        ({"trtexec_stdout.log": PROFILE_LOG}, [("run7", ["trtexec_stdout.log"])]),
        (  # saved and loaded under one name, by one release
            {"x.log": SAVES, "y.log": PROFILE_LOG, "z.log": ANOTHER},
            [("x", ["x.log", "y.log"]), ("z", ["z.log"])],
        ),
        (  # which of two runs is of the engine is not told
            {"x.log": SAVES, "y.log": PROFILE_LOG, "z.log": PROFILE_LOG},
            [("x", ["x.log"]), ("y", ["y.log"]), ("z", ["z.log"])],
        ),
        ({"a.build.log": BUILD_LOG, "a.engine": PLAN}, [("a", ["a.build.log", "a.engine"])]),
    ],
)
def test_only_logs(tmp_path: Path, files: dict[str, Any], sets: list[tuple[str, list[str]]]) -> None:
    found = find_sets(write_files(tmp_path / "run7", files))
    assert [(source.name, list(names_of(source.files).values())) for source in found.sets] == sets


def test_logs_of_a_failed_capture_are_no_engine(tmp_path: Path) -> None:
    write_files(tmp_path / "vit.failed", {"vit.build.log": BUILD_LOG})
    with pytest.raises(ArtifactError, match="no layer information, times or log"):
        find_sets(tmp_path)


# What is no set


def test_foreign_files_are_one_count(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a.graph.json": GRAPH, **{f"c{n}/config{n}.json": {"answer": n} for n in range(15)}}
    )
    found = find_sets(tmp_path)
    (note,) = found.notes
    assert (note.severity, note.file) == (Severity.INFO, tmp_path)
    assert note.message.startswith("15 other JSON files: config0.json, config1.json, ")
    assert note.message.endswith("and 9 more")
    assert found.sets[0].notes == ()


@pytest.mark.parametrize("name", ["README.md", "help.txt", "model.bin", "a.toml", "a.py"])
def test_files_that_claim_nothing_are_left_alone(tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH, name: b"\0\1\2" * 99 if name == "model.bin" else "# text"})
    assert find_one(tmp_path).notes == find_sets(tmp_path).notes == ()


def test_a_document_that_quotes_a_log_is_named_by_its_file(tmp_path: Path) -> None:
    text = f"# Results\n```\n{STAMP} === Performance summary ===\n{STAMP} Throughput: 2 qps\n```\n"
    write_files(tmp_path, {"docs/trtexec.md": text, "src/log_test.py": text})
    (source,) = find_sets(tmp_path).sets
    assert (source.name, list(source.files)) == ("trtexec.md", [FileKind.BUILD_LOG])
    assert messages(source.notes) == ["is a document: the build log that it quotes is read"]
    write_files(tmp_path, {"docs/a.graph.json": GRAPH})
    source = find_one(tmp_path)
    assert names_of(source.files) == {"graph": "a.graph.json"}
    assert messages(source.notes) == ["is a document that quotes a build log; name it to open that"]
    assert find_one(tmp_path / "docs" / "trtexec.md").name == "trtexec.md"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"look at samples with `trex-tui demo`, or measure a model: trex-tui capture --onnx MODEL$"),
        ({"n.json": {"a": 1}}, r"trex-tui capture --onnx MODEL \(1 other JSON file\)$"),
        (
            {"x.onnx": "\x08\x08\x12\x07pytorch"},
            r"profile x\.onnx on its GPU: trex-tui capture --onnx .*/x\.onnx$",
        ),
        (
            {"x.onnx": "\x08\x08\x12\x07pytorch", "my x.engine": PLAN},
            r"profile my x\.engine on its GPU: trex-tui capture --engine '.*/my x\.engine'$",
        ),
    ],
)
def test_a_directory_without_a_set_gets_the_command_that_helps(
    tmp_path: Path, files: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArtifactError, match=message):
        find_sets(write_files(tmp_path, files))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.onnx", "\x08\x08\x12\x07pytorch", "is an ONNX model; build and profile it on its GPU: trex-tui capture --onnx "),
        ("x.engine", PLAN, "is a TensorRT 10.16.1 plan, without layers or times beside it; profile it on its GPU: trex-tui "),
        ("x.engine", b"vtrt" + bytes(20) + bytes([1, 7, 1, 116]), "is a TensorRT-RTX 1.7.1 plan, "),
        ("x.build.metadata.json", BUILD, "is a build metadata: no layer information, profile or timing JSON next to it"),
        ("nothing", None, "does not exist; check the path"),
    ],
)  # fmt: skip
def test_a_hopeless_file_gets_the_command_that_helps(
    tmp_path: Path, name: str, content: Any, message: str
) -> None:
    if content is not None:
        write_files(tmp_path, {name: content})
    with pytest.raises(ArtifactError) as failure:
        find_sets(tmp_path / name)
    assert failure.value.note.message.startswith(message)
    assert "nothing to open" not in str(failure.value)


def test_the_only_damaged_file_is_the_error(tmp_path: Path) -> None:
    path = write_files(tmp_path, {"a.graph.json": '{"Lay'}) / "a.graph.json"
    with pytest.raises(ArtifactError, match="is truncated") as failure:
        find_sets(tmp_path)
    assert failure.value.note.file == path


# Names that a set would use, which cannot be opened


@pytest.fixture
def odd_files(tmp_path: Path) -> Iterator[Path]:
    write_files(
        tmp_path, {"net.graph.json": GRAPH, "net.engine": b"", "net.onnx": b"", "net.timing.json": b""}
    )
    (tmp_path / "net.profile.json").symlink_to("../.git/annex/objects/x")
    (tmp_path / "net.capture.json").symlink_to("net.capture.json")
    (tmp_path / "net.build.metadata.json").symlink_to("/dev/zero")
    (tmp_path / "net.profile.log").mkdir()
    os.mkfifo(tmp_path / "net.build.log")
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(tmp_path)  # the path of a socket is short
        try:
            server.bind("net.metadata.json")
        finally:
            os.chdir(before)
        yield tmp_path


def test_files_that_cannot_be_opened_are_errors(odd_files: Path) -> None:
    """They were passed over without a word, and the remedy was to export what was there."""
    (odd_files / "notes.txt").symlink_to("nowhere")
    os.mkfifo(odd_files / "queue")
    source = find_one(odd_files)
    assert names_of(source.files) == {"graph": "net.graph.json"}
    warned = [note.file for note in source.notes if note.severity is not Severity.ERROR]
    assert warned == [odd_files / "net.onnx"]  # only --onnx reads it
    told = {note.file.name: note.message for note in source.notes if note.file}
    irregular = "cannot be read: it is not a regular file; name a regular file"
    assert told == {
        "net.build.log": irregular,
        "net.build.metadata.json": irregular,
        "net.metadata.json": irregular,
        "net.capture.json": "cannot be read: Too many levels of symbolic links; check the links of the path",
        "net.engine": "is empty; copy or export it again",
        "net.onnx": "is empty; copy or export it again",
        "net.timing.json": "is empty; copy or export it again",
        "net.profile.json": "is a link to a missing file, ../.git/annex/objects/x; fetch that file, or remove the link",
        "net.profile.log": "is a directory, but has the name of a file; rename it",
    }


def test_a_link_to_a_directory_above_is_followed_once(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH})
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [source.name for source in find_sets(tmp_path).sets] == ["a"]


def test_no_more_than_some_files_are_looked_at(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/x.graph.json": GRAPH, "b/y.graph.json": GRAPH, "b/z.graph.json": GRAPH})
    found = find_sets(tmp_path, most_files=2)
    assert [source.name for source in found.sets] == ["x"]
    assert messages(found.notes) == ["more than 2 files: the rest was not searched; pass narrower paths"]
    with pytest.raises(ArtifactError, match="more than 1 files: the rest was not searched"):
        find_sets(tmp_path / "b", most_files=1)


def test_a_named_file_is_opened_without_notes_on_its_neighbours(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.graph.json").write_text('{"Layers": [{"Name": "x"}], "Bindings": []}')
    (tmp_path / "c.profile.json").write_text('[{"name": "x", ')
    assert any(note.file == tmp_path / "c.profile.json" for note in find_sets(tmp_path).notes)
    only = tmp_path / "only"
    only.mkdir()
    (only / "a.graph.json").write_text('{"Layers": [{"Name": "x"}], "Bindings": []}')
    (only / "other.profile.json").write_text('[{"name": "x", ')
    assert len(find_sets(only).sets[0].notes) == 1
    assert find_sets(only / "a.graph.json").sets[0].notes == ()


def test_packed_json_is_read(tmp_path: Path) -> None:
    for path in sorted((REPOSITORY / "sample_artifacts" / "resnet-a100" / "fp16").glob("*.json")):
        (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    packed, plain = (
        load_engine(tmp_path),
        load_engine(REPOSITORY / "sample_artifacts" / "resnet-a100" / "fp16"),
    )
    assert (packed.name, [kind.value for kind in packed.files]) == (
        plain.name,
        [kind.value for kind in plain.files],
    )
    assert packed.latency_sum_ms == plain.latency_sum_ms
    assert len(packed.queries) == len(plain.queries)
