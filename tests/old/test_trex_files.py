"""Every accepted input under trex's names: what trex can read, the result of our reader afterwards, and the messages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from helpers import (
    ARTIFACTS,
    REPOSITORY,
    STAMP,
    chain,
    real_sets,
    tensor,
    timing_row,
    write_graph,
    write_json,
    write_profile,
)
from trex_tui.old.artifacts import find, scan
from trex_tui.old.buildlog import lines
from trex_tui.old.cli import main
from trex_tui.old.engine.engine import load_set
from trex_tui.old.report.trex_files import write_trex_files
from trex_tui.old.report.views.engine import engine_summary

STRICT = "written as strict JSON in UTF-8: control characters escaped, invalid numbers null"
LOGS = sorted(path.name for path in (ARTIFACTS / "logs").glob("*.log")) if ARTIFACTS.is_dir() else []


def convert(*arguments: object) -> int:
    return main(["export", *map(str, arguments), "--format", "trex"])


def converted(*arguments: object, code: int = 0) -> dict[str, Any]:
    """Run the command, and the same once more for what it says."""
    *paths, _, directory = arguments
    sets = scan(list(map(str, paths))).sets
    assert convert(*arguments) == code
    (one,) = write_trex_files(sets, Path(str(directory)))
    files = [
        {"kind": file.kind.value, "target": str(target), "changes": list(file.changes)}
        for file, target in one.files
    ]
    return {"files": files, "missing": one.missing, "remarks": one.remarks}


def summary(path: Path) -> dict[str, Any]:
    """What `summary --json` says, without names of files and what is said about them."""
    (found,) = find(path)
    document = engine_summary(load_set(found))
    for key in ("name", "files", "diagnostics", "layer_details_source"):
        del document[key]
    for part in document["plan"].values():
        del part["sources"]
    if document["latency"]:
        del document["latency"]["source"]
    if document["timing"]:
        del document["timing"]["origin"]
    return document


def read_as_trex(folder: Path, stem: str) -> dict[str, Any]:
    """Load a set with the demands that trex makes, and fail where it would."""
    graph = json.loads((folder / f"{stem}.graph.json").read_text(encoding="utf-8"))
    assert isinstance(graph["Layers"][0], dict)
    assert graph["Bindings"]
    assert all(isinstance(one, str) for one in graph["Bindings"])
    for layer in graph["Layers"]:
        assert isinstance(layer["Name"], str)
        assert layer["LayerType"]
        for one in (*layer["Inputs"], *layer["Outputs"]):
            assert {"Name", "Dimensions", "Format/Datatype"} <= set(one)
    found = {"graph": graph}
    profile = folder / f"{stem}.profile.json"
    if profile.exists():
        rows = [row for row in json.loads(profile.read_text(encoding="utf-8")) if len(row) in (4, 5)]
        assert all({"name", "timeMs", "averageMs", "percentage"} <= set(row) for row in rows)
        found["profile"] = rows
    for name, sections in (
        ("build", ("model_options", "build_options")),
        ("profile", ("performance_summary", "device_information")),
    ):
        path = folder / f"{stem}.{name}.metadata.json"
        if path.exists():
            found[name] = json.loads(path.read_text(encoding="utf-8"))
            assert set(sections) <= set(found[name])
    return found


@pytest.mark.parametrize("real", real_sets())
def test_real_sets_come_through_byte_for_byte(real, tmp_path):
    paths = real.paths()
    one = converted(*(paths if len(paths) > 1 else paths[:1]), "-o", tmp_path)
    assert {file["kind"] for file in one["files"]} == set(real.files)
    for file in one["files"]:
        assert file["changes"] == []
        assert Path(file["target"]).read_bytes() == real.path(file["kind"]).read_bytes()
        if ".engine." in real.path(file["kind"]).name:
            assert Path(file["target"]).name == real.path(file["kind"]).name
    (again,) = find(tmp_path)
    assert {kind.value for kind in again.files} == set(real.files)
    if "names_only" not in real.name:
        (graph,) = tmp_path.glob("*.graph.json")
        read_as_trex(tmp_path, graph.name.removesuffix(".graph.json"))
    else:
        assert "trex cannot open" in one["remarks"][0]
    if (
        sum(len(one.read_bytes()) for one in paths) < 400_000
    ):  # the largest say nothing that the others do not
        assert summary(tmp_path) == summary(paths[0])


@pytest.mark.parametrize("name", LOGS)
def test_real_logs(name, tmp_path):
    log = ARTIFACTS / "logs" / name
    one = converted(log, "-o", tmp_path)
    kinds = {file["kind"] for file in one["files"]}
    assert kinds & {"graph", "profile", "profile_metadata"}
    # The log of the other run of the same engine, where it lies beside this one, belongs to the set.
    made = [path for path in tmp_path.glob("*.engine.*.log") if path.read_bytes() == log.read_bytes()]
    assert len(made) == 1
    assert summary(made[0]) == summary(log)


def test_packed_log_and_other_names(tmp_path):
    """A gzipped log, UTF-16, and names that say little: the metadata is that of the log."""
    source = REPOSITORY / "tests/old/sample_artifacts/alexnet"
    folder, plain = tmp_path / "in", tmp_path / "plain"
    folder.mkdir()
    for name in ("graph", "profile"):
        text = (source / f"alexnet_fp16.{name}.json").read_text(encoding="utf-8")
        (folder / f"{name}.json").write_text(text, encoding="utf-16")
    (folder / "trtexec.log.gz").write_bytes(gzip.compress((source / "alexnet_fp16.profile.log").read_bytes()))
    one = converted(folder, "-o", plain)
    assert {file["kind"]: file["changes"][0] for file in one["files"]} == {
        "graph": STRICT,
        "profile": STRICT,
        "profile_log": "unpacked",
        "profile_metadata": "created from the log",
    }
    found = read_as_trex(plain, "in")
    stated = json.loads((source / "alexnet_fp16.profile.metadata.json").read_text(encoding="utf-8"))
    assert found["profile"] == json.loads((plain / "in.profile.metadata.json").read_text())
    assert found["profile"]["performance_summary"] == stated["performance_summary"]
    assert (plain / "in.engine.profile.log").read_bytes() == (
        source / "alexnet_fp16.profile.log"
    ).read_bytes()
    assert summary(plain) == summary(folder)


class TestGraph:
    def test_tensorrt_11(self, tmp_path):
        def eleven(name: str, dtype: str, layout: str) -> dict[str, Any]:
            return {"Name": name, "Dimensions": [1, 8], "Datatype": dtype, "Format": layout}

        layer = {
            "Name": "one",
            "LayerType": "kgen",
            "Inputs": [eleven("x", "Float", "Row major linear FP32 format (kLINEAR)")],
            "Outputs": [
                eleven("y", "Half", "Row major linear FP16 format (kLINEAR)"),
                eleven("z", "FP8", "Row major linear"),
            ],
        }
        both = [{"Name": "x", "IOMode": "Input"}, {"Name": "y", "IOMode": "Output"}]
        write_json(tmp_path / "net.graph.json", {"Layers": [layer], "I/O Tensors": both})
        one = converted(tmp_path, "-o", tmp_path / "out")
        assert one["files"][0]["changes"] == [
            "layers and tensors have the keys that trex needs, such as Format/Datatype",
            "Bindings are the names of the inputs and outputs listed",
        ]
        graph = read_as_trex(tmp_path / "out", "net")["graph"]
        assert graph["Bindings"] == ["x", "y"]
        (made,) = graph["Layers"]
        formats = [one["Format/Datatype"] for one in (*made["Inputs"], *made["Outputs"])]
        assert formats == ["Row major linear FP32", "Row major linear FP16 format", "FP8"]
        assert made["Inputs"][0]["Datatype"] == "Float"
        before, after = summary(tmp_path / "net.graph.json"), summary(tmp_path / "out")
        for document in (before, after):
            for one in (*document["bindings"]["inputs"], *document["bindings"]["outputs"]):
                del one["format"]  # the text is another, its meaning the same
        assert before == after

    def test_repairs(self, tmp_path):
        """A bare list, raw control characters, no bindings, lists and names that lack."""
        layers = chain("a\x1eb", "c")
        layers[0]["ParameterType"] = "Convolution"
        del layers[1]["Outputs"]
        layers += [7, {"LayerType": "kgen", "Inputs": [tensor("c"), "odd"], "Outputs": [tensor("end", 4)]}]
        text = json.dumps(layers).replace("\\u001e", "\x1e")
        (tmp_path / "net.graph.json").write_text(text, encoding="utf-8")
        one = converted(tmp_path / "net.graph.json", "-o", tmp_path / "out")
        changes = one["files"][0]["changes"]
        assert "the list of layers is in an object" in changes
        assert any(change.startswith("layers and tensors have the keys") for change in changes)
        assert any(change.startswith("Bindings inferred") for change in changes)
        graph = read_as_trex(tmp_path / "out", "net")["graph"]
        assert graph["Layers"][0]["Name"] == "a\x1eb"
        assert {"t0", "end"} <= set(graph["Bindings"])
        before, after = summary(tmp_path / "net.graph.json"), summary(tmp_path / "out")
        for one in (before, after):
            del one["bindings"], one["plan"]["model"]
        assert before == after

    def test_broken_file_costs_that_file(self, tmp_path):
        write_graph(tmp_path / "net.graph.json", chain("a"), ["t0", "t1"])
        write_profile(tmp_path / "net.profile.json", [("a", 1.0)])
        (tmp_path / "net.timing.json").write_text('[{"latencyMs": 1')
        one = converted(tmp_path, "-o", tmp_path / "out", code=2)
        assert {file["kind"] for file in one["files"]} == {"graph", "profile"}
        assert any("left out" in remark and "truncated" in remark for remark in one["remarks"])
        assert any(what.startswith("timing") for what in one["missing"])


class TestProfileAndTiming:
    @pytest.mark.parametrize(
        "line",
        [
            '{ "name" : "a"b\\c", "timeMs" : 1, "averageMs" : 0.1, "percentage" : 100 }',
            '{ "name" : "a", "timeMs" : 0, "averageMs" : 0, "percentage" : -nan }',
        ],
    )
    def test_what_is_no_json(self, tmp_path, line):
        path = tmp_path / "net.profile.json"
        path.write_text(f'[\n  {{ "count" : 10 }}\n, {line}\n]\n')
        one = converted(path, "-o", tmp_path / "out")
        assert one["files"][0]["changes"] == [STRICT]
        records = json.loads((tmp_path / "out/net.profile.json").read_text())
        assert records[0] == {"count": 10}
        assert len(records[1]) == 4
        assert summary(path) == summary(tmp_path / "out")

    def test_more_keys_than_trex_takes(self, tmp_path):
        row = {"name": "a", "timeMs": 1, "averageMs": 0.1, "medianMs": 0.1, "percentage": 100, "minMs": 0.05}
        write_json(tmp_path / "net.profile.json", [{"count": 10}, row])
        assert converted(tmp_path / "net.profile.json", "-o", tmp_path / "out")["files"][0]["changes"]
        assert len(json.loads((tmp_path / "out/net.profile.json").read_text())[1]) == 5

    def test_timing_of_another_tool(self, tmp_path):
        write_json(tmp_path / "net.timing.json", {"unit": "us", "times": [{"latency": 100, "compute": 90}]})
        one = converted(tmp_path / "net.timing.json", "-o", tmp_path / "out")
        read_as = "read as 1 row at times of latency in µs, compute in µs"
        assert one["files"][0]["changes"] == ["rows and keys are trtexec's", read_as]
        made = json.loads((tmp_path / "out/net.timing.json").read_text())
        assert made == [{"latencyMs": pytest.approx(0.1), "computeMs": pytest.approx(0.09)}]

    def test_what_trtexec_has_no_key_for(self, tmp_path):
        """An enqueue in one number stays one, and is read again; what was left out is told."""
        row = {"latencyMs": 1.0, "enqueueMs": 0.25}
        path = write_json(tmp_path / "net.timing.json", {"times": [row, {"latencyMs": -1}, 7]})
        one = converted(path, "-o", tmp_path / "out")
        assert one["files"][0]["changes"][0] == (
            "rows and keys are trtexec's, but for enqueueMs: trtexec writes a start and an end instead"
        )
        assert one["remarks"] == [
            "timing.json: 1 entries are not timing rows; skipped",
            "timing.json: 1 of 2 rows have a negative latency; read as unknown",
        ]
        made = tmp_path / "out/net.timing.json"
        assert json.loads(made.read_text()) == [row, {}]
        assert summary(made)["timing"]["enqueue"]["median_ms"] == 0.25
        assert summary(made)["timing"] == summary(path)["timing"]

    def test_metadata_without_a_section(self, tmp_path):
        write_graph(tmp_path / "net.graph.json", chain("a"), ["t0", "t1"])
        write_json(tmp_path / "net.profile.metadata.json", {"performance_summary": {"Throughput": 5.0}})
        files = {file["kind"]: file for file in converted(tmp_path, "-o", tmp_path / "out")["files"]}
        assert files["profile_metadata"]["changes"] == ["got an empty device_information, which trex needs"]
        assert read_as_trex(tmp_path / "out", "net")["profile"]["performance_summary"] == {"Throughput": 5.0}
        assert summary(tmp_path / "net.graph.json") == summary(tmp_path / "out")

    def test_timing_of_tensorrt_7(self, tmp_path):
        old = {"inMs": "h2dMs", "outMs": "d2hMs", "startInMs": "startH2dMs"}
        row = timing_row(1.0, 0.5)
        seven = {
            next((short for short, long in old.items() if long == key), key): one for key, one in row.items()
        }
        write_json(tmp_path / "net.timing.json", [seven, 5])
        one = converted(tmp_path / "net.timing.json", "-o", tmp_path / "out")
        assert one["files"][0]["changes"] == ["rows and keys are trtexec's"]
        assert one["remarks"] == ["timing.json: 1 entries are not timing rows; skipped"]
        assert json.loads((tmp_path / "out/net.timing.json").read_text()) == [row]


class TestCommand:
    @pytest.fixture
    def net(self, tmp_path: Path) -> Path:
        write_graph(tmp_path / "in/net.graph.json", chain("a\x1b[31m"), ["t0", "t1"])
        (tmp_path / "in/net.engine").write_bytes(b"ftrt" + bytes(24))
        return tmp_path

    def test_a_bomb_is_left_out(self, net, monkeypatch):
        """A packed log that no log can be costs itself; nothing near its size is written."""
        monkeypatch.setattr(lines, "_HARMLESS_BYTES", 1 << 20)
        log = f"&&&& RUNNING TensorRT.trtexec # trtexec --onnx=net.onnx\n{STAMP} === Model Options ===\n"
        bomb = log.encode() + (b"-" * 1023 + b"\n") * (8 << 10)
        (net / "in/net.build.log.gz").write_bytes(gzip.compress(bomb))
        done = converted(net / "in", "-o", net / "out", code=2)
        assert any("unpacks to more than 250 times its size" in one for one in done["remarks"]), done[
            "remarks"
        ]
        assert sorted(one.name for one in (net / "out").iterdir()) == ["net.graph.json"]

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("net.profile.json", b"{"),
            ("net.profile.json.gz", gzip.compress(b'[{"count": 1}]', mtime=0)),
            ("net.times.json", b'[{"latencyMs": 1}'),
        ],
        ids=["cut", "packed", "cut times"],
    )
    def test_what_cannot_be_read_is_not_passed_over(self, net, capsys, name: str, content: bytes):
        (net / "in" / name).write_bytes(content)
        assert convert(net / "in", "-o", net / "out") == 2
        told = "".join(capsys.readouterr())
        assert name in told
        assert "missing: " in told
        assert [one.name for one in (net / "out").iterdir()] == ["net.graph.json"]

    def test_what_is_no_artifact_may_lie_beside(self, net):
        (net / "in/config.json").write_text('{"classes": 80}')
        assert convert(net / "in", "-o", net / "out") == 0
        assert convert(net / "in", net / "in/config.json", "-o", net / "other") == 2

    def test_never_overwrites_unasked(self, net, capsys):
        out = net / "out"
        assert convert(net / "in", "-o", out) == 0
        (out / "net.graph.json").write_text("mine")
        assert convert(net / "in", "-o", out) == 2
        assert (
            "net.graph.json exists and was not written by `trex-tui export --format trex`"
            in capsys.readouterr().err
        )
        assert (out / "net.graph.json").read_text() == "mine"
        assert convert(net / "in", "-o", out, "--force") == 0
        assert sorted(one.name for one in out.iterdir()) == ["net.graph.json"]

    def test_never_onto_itself(self, net, capsys):
        before = (net / "in/net.graph.json").read_bytes()
        assert convert(net / "in", "-o", net / "in", "--force") == 2
        assert "is an input file; write elsewhere" in capsys.readouterr().err
        assert (net / "in/net.graph.json").read_bytes() == before

    def test_text_and_engine(self, net, capsys):
        assert convert(net / "in", "-o", net / "out", "--with-engine") == 0
        out = capsys.readouterr().err
        assert out.startswith("trex-tui: net\n")
        assert "copied unchanged" in out
        assert "missing: timing" in out
        assert (net / "out/net.engine").read_bytes() == (net / "in/net.engine").read_bytes()

    def test_names_of_trex_stay(self, net):
        """Notebooks make `resnet.onnx.engine.graph.json` out of `resnet.onnx.engine`."""
        write_graph(net / "a/net.onnx.engine.graph.json", chain("a"), ["t0", "t1"])
        (net / "a/net.onnx.engine").write_bytes(b"ftrt" + bytes(24))
        log = (REPOSITORY / "tests/old/sample_artifacts/alexnet/alexnet_fp16.profile.log").read_bytes()
        (net / "a/net.onnx.engine.profile.log.gz").write_bytes(gzip.compress(log))
        write_graph(net / "a/b/net.plan.graph.json", chain("a"), ["t0", "t1"])
        (net / "a/b/net.plan").write_bytes(b"ftrt" + bytes(24))
        write_graph(net / "a/c/layers_net.onnx.json", chain("a"), ["t0", "t1"])
        assert convert(net / "a", "-o", net / "out", "--with-engine") == 0
        assert sorted(str(one.relative_to(net / "out")) for one in (net / "out").rglob("*.*")) == [
            "a/net.onnx.engine",
            "a/net.onnx.engine.graph.json",
            "a/net.onnx.engine.profile.log",
            "a/net.onnx.engine.profile.metadata.json",
            "b/net.plan",
            "b/net.plan.graph.json",
            "c/net.graph.json",
        ]
        for name in ("net.onnx.engine", "net.onnx.engine.graph.json"):
            (net / "a" / name).unlink()
        assert convert(net / "a/net.onnx.engine.profile.log.gz", "-o", net / "log") == 0
        assert (net / "log/net.onnx.engine.profile.metadata.json").exists()

    def test_two_sets_of_one_name(self, net, capsys):
        for name in ("layers_net.json", "net.onnx.graph.json"):
            write_graph(net / "two" / name, chain("a"), ["t0", "t1"])
        assert convert(net / "two", "-o", net / "out") == 0
        capsys.readouterr()
        (net / "two/net.onnx.graph.json").rename(net / "two/graph_net.onnx.json")
        assert convert(net / "two", "-o", net / "other") == 0
        assert {one.name for one in (net / "other").iterdir()} == {"net.graph.json", "net.onnx.graph.json"}

    def test_equal_names_and_nothing(self, net, capsys):
        write_graph(net / "other/net.graph.json", chain("b"), ["t0", "t1"])
        assert convert(net / "in", net / "other", "-o", net / "out") == 0
        assert (net / "out/in/net.graph.json").exists()
        assert (net / "out/other/net.graph.json").exists()
        capsys.readouterr()
        (net / "empty").mkdir()
        assert convert(net / "empty", "-o", net / "out") == 2
        assert "no engine found" in capsys.readouterr().err
