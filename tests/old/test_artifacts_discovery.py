"""Finding sets: by content first, by name second, and never in silence."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from helpers import GRAPH, PROFILE, messages, names_of, timing_row, write_files
from trex_tui.old.artifacts import ArtifactKind, find, scan
from trex_tui.old.artifacts.banner import version_of_number
from trex_tui.old.artifacts.discover import ArtifactSet, with_unique_names
from trex_tui.old.artifacts.file_kinds import engine_stem, sniff
from trex_tui.old.artifacts.metadata import version_of_log, version_of_plan
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.engine import load_engine, load_engines
from trex_tui.old.errors import ArtifactError, Severity, TrexError

TIMING = [timing_row(300.0, 0.5)]
BUILD = {"model_options": {"Format": "ONNX"}, "build_options": {"Precision": "FP32"}}
PERFORMANCE = {"performance_summary": {"Throughput": 2.0, "Latency": [1, 2, 3, 4, 5]}}
DEVICE = [{"Name": "A100", "ComputeCapability": [8, 0], "CUDA_VERSION": 11040}]
STAMP = "[08/12/2023-10:00:00] [I]"
BUILD_LOG = (
    f"&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=a.onnx --saveEngine=a\n{STAMP} hello\n"
)
PROFILE_LOG = (
    f"&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --loadEngine=a\n{STAMP} hello\n"
)
HELP = "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --help\n=== Model Options ===\n  --onnx=<file>\n"
PLAN = b"ftrt" + bytes(20) + bytes([10, 16, 1, 11]) + b"\0\xff" * 40


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
    (found,) = find(write_files(tmp_path, files))
    assert found.name == "resnet"
    assert names_of(found.files) == {
        "graph": f"{stem}.graph.json",
        "profile": f"{stem}.profile.json",
        "timing": f"{stem}.timing.json",
        "build_metadata": f"{stem}.build.metadata.json",
        "profile_metadata": f"{stem}.profile.metadata.json",
        "metadata": f"{stem}.metadata.json",
        "build_log": f"{stem}.build.log",
        "profile_log": f"{stem}.profile.log",
        "engine": stem,
    }
    assert found.diagnostics == ()
    assert load_engine(tmp_path).tensorrt_version == "10.16.1"


DAMAGED_GZIP = "is a damaged gzip file; copy or export it again"


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
    ],
)
def test_other_names(tmp_path: Path, files: dict[str, Any], name: str) -> None:
    (found,) = find(write_files(tmp_path / "run7", files))
    assert found.name == name
    assert sorted(path.name for path in found.files.values()) == sorted(files)
    assert found.diagnostics == ()


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("resnet.onnx.engine.profile.metadata.json", "resnet.onnx"),
        ("resnet.onnx.engine", "resnet.onnx"),
        ("model.plan", "model"),
        ("alexnet_fp16.graph.json", "alexnet_fp16"),
        ("alexnet_fp16_graph.json", "alexnet_fp16"),
        ("layers_fp16.json", "fp16"),
        ("trtexec_stdout.log", ""),
        ("timing.json", ""),
        ("a.build.log.gz", "a"),
        ("trt8.6.0_exportLayerInfo_names_only.json", "trt8.6.0_exportLayerInfo_names_only"),
    ],
)
def test_stems(name: str, stem: str) -> None:
    assert engine_stem(Path(name)) == stem


def test_two_sets_in_a_directory(tmp_path: Path) -> None:
    files = {"a.graph.json": GRAPH, "a.profile.json": PROFILE, "b.graph.json": GRAPH, "b.timing.json": TIMING}
    first, second = find(write_files(tmp_path, files))
    assert (first.name, names_of(first.files)) == (
        "a",
        {"graph": "a.graph.json", "profile": "a.profile.json"},
    )
    assert (second.name, names_of(second.files)) == (
        "b",
        {"graph": "b.graph.json", "timing": "b.timing.json"},
    )
    assert [engine.name for engine in load_engines(tmp_path)] == ["a", "b"]
    with pytest.raises(TrexError, match=r"has 2 engines \(a, b\); choose one"):
        load_engine(tmp_path)


def test_numbers_in_names_are_in_their_order(tmp_path: Path) -> None:
    """Builds count: build-10 follows build-9. The numbers 9 and 09 are equal; then the texts decide."""
    for name in ("build-10", "build-9", "build-09", "build-1000000000000000000000", "a"):
        write_files(tmp_path / name, {"graph.json": GRAPH})
    write_files(tmp_path / "batch", {f"batch{batch}.graph.json": GRAPH for batch in (16, 1, 2)})
    assert [source.name for source in scan(tmp_path).sets] == [
        *("a", "batch1", "batch2", "batch16"),
        *("build-09", "build-9", "build-10", "build-1000000000000000000000"),
    ]


@pytest.mark.parametrize(
    "files",
    [
        {"alexnet.graph.json": GRAPH, "resnet.profile.json": PROFILE},
        {"layers_fp16.json": GRAPH, "profile_int8.json": PROFILE},
    ],
)
def test_names_that_contradict_stay_apart(tmp_path: Path, files: dict[str, Any]) -> None:
    assert len(find(write_files(tmp_path, files))) == 2


def test_a_file_that_fits_no_set(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH, "b.graph.json": GRAPH, "profile.json": PROFILE})
    found = scan(tmp_path)
    assert [one.name for one in found.sets] == ["a", "b"]
    (note,) = found.diagnostics
    assert note.file == tmp_path / "profile.json"
    assert (note.severity, note.message) == (
        Severity.WARNING,
        "is a profile matches no set here: no other file has its stem",
    )


def test_equal_names_are_told_apart_by_their_directories(tmp_path: Path) -> None:
    for folder in ("fp16/run", "fp32/run"):
        write_files(tmp_path / folder, {"net.graph.json": GRAPH})
    assert [one.name for one in find(tmp_path)] == ["fp16/run/net", "fp32/run/net"]


def test_equal_names_of_one_directory_are_told_apart_by_their_files(tmp_path: Path) -> None:
    stems = ["net", "net.onnx", "net.onnx.onnx"]
    write_files(tmp_path, {f"one/{stem}.engine.graph.json": GRAPH for stem in stems})
    assert sorted(one.name for one in find(tmp_path)) == stems
    write_files(tmp_path, {"two/net.graph.json": GRAPH})
    names = ["net.onnx", "net.onnx.onnx", "one/net", "two/net"]
    sets = find(tmp_path)
    assert sorted(one.name for one in sets) == names
    # Over again, as for the sets of several paths, it changes nothing.
    assert with_unique_names(sets) == sets
    # One set reached by two ways has the same files: only a number is left.
    ways = find([tmp_path / "two", tmp_path / "one" / ".." / "two"])
    assert [one.name for one in ways] == ["net", "net~2"]


def test_no_name_reaches_the_root() -> None:
    files = {ArtifactKind.GRAPH: Path("net.graph.json")}
    sets = [ArtifactSet("net", Path(place), files) for place in ("/run", "/a/run")]
    assert [one.name for one in with_unique_names(sets)] == ["run/net", "a/run/net"]


def test_two_graphs_claim_one_stem(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH, "a_layers.json": GRAPH, "a.profile.json": PROFILE})
    (found,) = find(tmp_path)
    assert names_of(found.files) == {"graph": "a.graph.json", "profile": "a.profile.json"}
    (note,) = found.diagnostics
    assert (note.severity, note.file) == (Severity.ERROR, tmp_path / "a_layers.json")
    assert note.message == "is a second graph for 'a'; using a.graph.json"
    # Named, it is what is opened.
    assert names_of(find(tmp_path / "a_layers.json")[0].files)["graph"] == "a_layers.json"


PROFILE_FORM = 'closest known: a profile, {"layers": [{"name": …, "averageMs": …}]}'
KNOWN_FORMS = "known are layer information, profiles, timing files, metadata of trtexec"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "config.json",
            {"answer": 42, "Layers": 5},
            f"is JSON of an unknown kind (keys: answer, Layers); {PROFILE_FORM}",
        ),
        ("list.json", [1, 2, 3], f"is a JSON list of an unknown kind (keys: none); {KNOWN_FORMS}"),
        ("rows.json", [{"ms": 1}], f"is a JSON list of an unknown kind (keys: ms); {KNOWN_FORMS}"),
        ("empty.json", b"", "is empty; copy or export it again"),
        ("empty.log", b"", "is empty; copy or export it again"),
        ("blank.json", " \n" * 10, "starts with white space only; copy or export it again"),
        ("note.json", "hello", "is text, but not JSON or a trtexec log; name a file that trtexec exported"),
        (
            "junk.json",
            bytes(range(256)) * 8,
            "is binary but not a TensorRT plan; name a file that trtexec exported",
        ),
        ("help.log", HELP, "is trtexec output, but not the log of a run"),
        ("a.json.gz", gzip.compress(b'{"Layers": []}', mtime=0), "is compressed JSON; unpack it first"),
        (
            "a.log.gz",
            b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\xff" * 50,
            DAMAGED_GZIP,
        ),
        (
            "cut.log.gz",
            gzip.compress(BUILD_LOG.encode() * 99, mtime=0)[:40],
            DAMAGED_GZIP,
        ),
    ],
)
def test_what_is_no_artifact_is_diagnosed(tmp_path: Path, name: str, content: Any, message: str) -> None:
    write_files(tmp_path, {"net.graph.json": GRAPH, name: content})
    (found,) = find(tmp_path)
    assert names_of(found.files) == {"graph": "net.graph.json"}
    assert [(one.severity, one.file, one.message) for one in found.diagnostics] == [
        (Severity.ERROR, tmp_path / name, message)
    ]
    with pytest.raises(ArtifactError) as failure:
        find(tmp_path / name)
    assert str(failure.value) == f"{tmp_path / name}: {message}"


@pytest.mark.parametrize("name", ["README.md", "help.txt", "model.onnx", "kernel.bin"])
def test_files_that_claim_nothing_are_left_alone(tmp_path: Path, name: str) -> None:
    content = {"help.txt": HELP, "kernel.bin": b"\0\1\2" * 99}.get(name, "# text")
    write_files(tmp_path, {"net.graph.json": GRAPH, name: content})
    (found,) = find(tmp_path)
    assert names_of(found.files) == {"graph": "net.graph.json"}
    assert found.diagnostics == ()


def test_truncated_graph_leaves_the_rest(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": '{"Layers": [{"Name": "one", "Lay', "a.profile.json": PROFILE})
    engine = load_engine(tmp_path)
    assert (engine.has_graph, [(one.name, one.latency_ms) for one in engine.layers]) == (
        False,
        [("one", 1.0)],
    )
    notes = messages(engine.diagnostics)
    assert notes[0].startswith("is truncated: the JSON ends in the middle")
    assert notes[1:] == ["no layer information: layers are known by name and time only"]


def test_only_a_truncated_graph(tmp_path: Path) -> None:
    path = write_files(tmp_path, {"a.graph.json": '{"Layers": [{"Name": "one", "Lay'}) / "a.graph.json"
    with pytest.raises(ArtifactError, match="is truncated") as failure:
        load_engine(tmp_path)
    assert failure.value.diagnostic.file == path


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
    by_name = {one.name: one for one in find(tmp_path / "results")}
    assert names_of(by_name["alexnet_fp16"].files) == {
        "graph": "alexnet_fp16.graph.json",
        "build_log": "alexnet_fp16.build.log",
        "profile_log": "only.profile.log",
        "engine": "alexnet_fp16.engine",
    }
    assert names_of(by_name["vgg"].files) == {"graph": "vgg.graph.json"}
    assert load_engine(tmp_path / "results/alexnet").tensorrt_version == "10.16.1"


def test_logs_of_a_flat_results_directory(tmp_path: Path) -> None:
    write_files(tmp_path / "results", {"a.graph.json": GRAPH, "b.graph.json": GRAPH})
    write_files(tmp_path / "models", {"b.build.log": BUILD_LOG, "c.profile.log": PROFILE_LOG})
    first, second = find(tmp_path / "results")
    assert names_of(first.files) == {"graph": "a.graph.json"}
    assert names_of(second.files) == {"graph": "b.graph.json", "build_log": "b.build.log"}


@pytest.mark.parametrize(
    ("head", "version"),
    [
        (PLAN, "10.16.1"),
        (b"ftrt" + bytes(20) + bytes([8, 6, 1, 6]), "8.6.1"),
        (b"ftrt" + bytes(20), None),
        (b"ftrt" + bytes(24), None),
        (b"ftrt" + bytes(20) + b"\xff\xff\xff\xff", None),
    ],
)
def test_version_of_a_plan(tmp_path: Path, head: bytes, version: str | None) -> None:
    path = tmp_path / "a.engine"
    path.write_bytes(head)
    assert sniff(path).kind is ArtifactKind.PLAN
    assert version_of_plan(path) == version


@pytest.mark.parametrize(
    ("number", "version"),
    [
        (8003, "8.0.3"),
        (8401, "8.4.1"),
        (9200, "9.2.0"),
        (100001, "10.0.1"),
        (101601, "10.16.1"),
        (110100, "11.1.0"),
    ],
)
def test_version_numbers_of_the_banner(number: int, version: str) -> None:
    assert version_of_number(number) == version


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", ["utf-8", "utf-16"])
def test_version_of_a_log(tmp_path: Path, pack: Any, form: str) -> None:
    path = tmp_path / "a.build.log"
    path.write_bytes(pack(BUILD_LOG.encode(form)))
    assert sniff(path).kind is ArtifactKind.BUILD_LOG
    assert version_of_log(path) == "8.6.1"
    path.write_bytes(pack(f"{BUILD_LOG}{STAMP} TensorRT version: 8.6.12\n".encode(form)))
    assert version_of_log(path) == "8.6.12"


def test_version_of_a_damaged_log(tmp_path: Path) -> None:
    path = tmp_path / "a.build.log.gz"
    path.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\xff" * 50)
    assert version_of_log(path) is None
    assert version_of_log(tmp_path / "nothing.log") is None


LIBRARY = "Loaded shared library"


@pytest.mark.parametrize(
    ("lines", "version", "library"),
    [
        (f"{LIBRARY} libnvinfer_builder_resource.so.10.4.0", "10.4.0", "libnvinfer_builder_resource.so.10.4.0"),
        (f"{LIBRARY} libnvinfer_builder_resource_sm90.so.10.16.2", "10.16.2", "libnvinfer_builder_resource_sm90.so.10.16.2"),
        (f"{LIBRARY} /usr/lib/libnvinfer.so.8.6.1.6", "8.6.1", "libnvinfer.so.8.6.1"),
        (f"{LIBRARY} libnvinfer_plugin.so.9\n{STAMP} [TRT] {LIBRARY} libnvinfer.so.9.2.0", "9.2.0", "libnvinfer.so.9.2.0"),
        (r"Loaded shared library C:\TensorRT\bin\nvinfer_builder_resource_10.dll", "10", "nvinfer_builder_resource_10.dll"),
        (f"{LIBRARY} libcudnn.so.8.9.0", None, None),
        (f"{LIBRARY} libnvinfer.so", None, None),
    ],
)  # fmt: skip
def test_version_of_a_library(tmp_path: Path, lines: str, version: str | None, library: str | None) -> None:
    """A log that states no version names libraries."""
    log = f"{STAMP} [TRT] {lines}\n{STAMP} [TRT] Loaded engine size: 5 MiB\n"
    write_files(tmp_path, {"a.build.log": log})
    engine = load_engine(tmp_path)
    assert engine.tensorrt_version == version
    assert engine.tensorrt_version_source == (f"build_log: {library}" if library else None)
    trace = read_build_log(tmp_path / "a.build.log")
    assert (trace.tensorrt_version, trace.tensorrt_library) == (version, library)


def test_a_stated_version_precedes_that_of_a_library(tmp_path: Path) -> None:
    """Also one of another log: NVIDIA's own library names differ in the last number."""
    build = f"{STAMP} [TRT] {LIBRARY} libnvinfer_builder_resource.so.10.16.2\n{STAMP} [TRT] Loaded engine size: 5 MiB\n"
    write_files(tmp_path, {"a.build.log": build, "a.profile.log": PROFILE_LOG})
    engine = load_engine(tmp_path)
    assert (engine.tensorrt_version, engine.tensorrt_version_source) == ("10.16.1", "profile_log")


def log_sets(directory: Path) -> list[tuple[str, list[str]]]:
    return [(one.name, list(names_of(one.files).values())) for one in find(directory)]


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
        ({"net_build.log": BUILD_LOG, "run.log": ANOTHER}, [("net", ["net_build.log", "run.log"])]),
        (  # saved and loaded under one name, by one release
            {"x.log": SAVES, "y.log": PROFILE_LOG, "z.log": ANOTHER},
            [("x", ["x.log", "y.log"]), ("z", ["z.log"])],
        ),
        (  # which of two runs is of the engine is not told
            {"x.log": SAVES, "y.log": PROFILE_LOG, "z.log": PROFILE_LOG},
            [("x", ["x.log"]), ("y", ["y.log"]), ("z", ["z.log"])],
        ),
        ({"x.log": BUILD_LOG, "y.log": PROFILE_LOG}, [("x", ["x.log"]), ("y", ["y.log"])]),
        ({"a.build.log": BUILD_LOG, "a.engine": PLAN}, [("a", ["a.build.log", "a.engine"])]),
    ],
)
def test_only_logs(tmp_path: Path, files: dict[str, Any], sets: list[tuple[str, list[str]]]) -> None:
    assert log_sets(write_files(tmp_path / "run7", files)) == sets


def test_logs_of_another_directory_are_no_engine_of_their_own(tmp_path: Path) -> None:
    write_files(tmp_path / "results/net", {"net.graph.json": GRAPH})
    write_files(tmp_path / "models/net", {"net.build.log": BUILD_LOG, "other.build.log": BUILD_LOG})
    assert log_sets(tmp_path) == [
        ("other", ["other.build.log"]),
        ("net", ["net.graph.json", "net.build.log"]),
    ]


def test_logs_of_a_failed_capture_are_no_engine(tmp_path: Path) -> None:
    write_files(tmp_path / "net.failed", {"net.build.log": BUILD_LOG})
    with pytest.raises(ArtifactError, match="no engine found"):
        find(tmp_path)


def test_configuration_beside_artifacts_is_none_of_them(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH})
    (tmp_path / "trex-tui.toml").write_text('[[lint.suppress]]\nrules = ["CONV"]\nreason = "x"\n')
    found = scan([tmp_path])
    assert [one.name for one in found.sets] == ["a"]
    assert found.diagnostics == ()


def test_a_log_that_is_named_stands_for_its_engine(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.build.log": BUILD_LOG, "a.profile.log": PROFILE_LOG, "b.build.log": BUILD_LOG})
    (found,) = find(tmp_path / "a.build.log")
    assert (found.name, names_of(found.files)) == (
        "a",
        {"build_log": "a.build.log", "profile_log": "a.profile.log"},
    )
    (found,) = find(tmp_path / "b.build.log")
    assert names_of(found.files) == {"build_log": "b.build.log"}
    write_files(tmp_path, {"a.graph.json": GRAPH})
    (found,) = find(tmp_path / "a.build.log")
    assert list(names_of(found.files)) == ["graph", "build_log", "profile_log"]


@pytest.mark.parametrize("name", ["net.output.json", "a_output.log", "net.outputs.json"])
def test_values_of_outputs_are_no_profile(tmp_path: Path, name: str) -> None:
    """What `--exportOutput` writes has names and lists of numbers, as times of layers have."""
    output = '[\n  { "name" : "y"\n  , "dimensions" : "1x3"\n  , "values" : [ 0.1, 0.2, 0.3 ] }\n]\n'
    (tmp_path / name).write_text(output)
    (found,) = find(write_files(tmp_path, {"net.graph.json": GRAPH, "net.profile.json": PROFILE}))
    assert names_of(found.files) == {"graph": "net.graph.json", "profile": "net.profile.json"}
    assert not any("second profile" in note.message for note in load_engine(tmp_path).diagnostics)
    assert sniff(tmp_path / name).kind is None
