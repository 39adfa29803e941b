"""`output_diff.json` found, recognised and read; shown beside the engines it is about, and beside no others."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from helpers import chain, write_graph, write_profile
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.old.accuracy.metrics import compare, measures
from trex_tui.old.artifacts import find, scan
from trex_tui.old.artifacts.accuracy import parse_accuracy, read_accuracy
from trex_tui.old.artifacts.file_kinds import ArtifactKind, sniff
from trex_tui.old.errors import ArtifactError
from trex_tui.old.report.views.accuracy import accuracy_evidence, accuracy_sections


def side(path: Path, **more: Any) -> dict[str, Any]:
    data = path.read_bytes() if path.is_file() else b""
    return {
        "kind": "engine",
        "path": str(path),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        **more,
    }


def document(reference: dict[str, Any], test: dict[str, Any], **more: Any) -> dict[str, Any]:
    import numpy as np

    found = measures(compare(np.array([1.0, 2, 3]), np.array([1.0, 2, 3.25]), axis=0))
    outputs = [{"name": "y", "dtype_reference": "FP32", "dtype_test": "FP16", **found}]
    inputs = {"kind": "random", "samples": 1, "seed": 4}
    return {
        "schema": "trex-tui/accuracy/1",
        "reference": reference,
        "test": test,
        "inputs": inputs,
        "outputs": outputs,
        **more,
    }


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """Two engines of one name in two directories, with their plans."""
    for place, name in enumerate(("fp32", "int8")):
        folder = tmp_path / name
        folder.mkdir()
        write_graph(folder / "net.graph.json", chain("one", "two"), ["t0", "t2"])
        write_profile(folder / "net.profile.json", [("one", 1.0), ("two", 2.0 - place)])
        (folder / "net.engine").write_bytes(b"ftrt" + bytes([place]) * 40)
    return tmp_path


def diff(sets: Path, *more: str) -> int:
    return main(["diff", str(sets / "fp32"), str(sets / "int8"), *more])


def found(sets: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert diff(sets, "--json") == 0
    (one,) = json.loads(capsys.readouterr().out)["accuracy"]
    return one


class TestDiscovery:
    def test_places(self, sets: Path) -> None:
        content = document(side(sets / "fp32/net.engine"), side(sets / "int8/net.engine"))
        beside = put(sets / "int8/net.accuracy/output_diff.json", content)
        put(sets / "int8/net.accuracy/per_sample_diff.json", {"schema": "trex-tui/accuracy-samples/1"})
        put(sets / "int8/net.accuracy/samples/000000/sample.json", {"schema": "trex-tui/accuracy-sample/1"})
        loose = put(sets / "fp32/output_diff.json", content)
        seen = scan(sets)
        assert [one.files[ArtifactKind.ACCURACY] for one in seen.sets] == [loose, beside]
        assert [one.diagnostics for one in seen.sets] == [(), ()]
        assert seen.diagnostics == ()

    def test_several_engines_in_one_directory(self, sets: Path) -> None:
        write_graph(sets / "fp32/other.graph.json", chain("a"), ["t0", "t1"])
        loose = put(sets / "fp32/output_diff.json", document({}, {}))
        assert [one.files[ArtifactKind.ACCURACY] for one in find(sets / "fp32")] == [loose, loose]

    def test_alone_it_is_no_engine(self, tmp_path: Path) -> None:
        path = put(tmp_path / "output_diff.json", document({}, {}))
        with pytest.raises(ArtifactError, match="no engine found"):
            find(tmp_path)
        assert sniff(path).kind is ArtifactKind.ACCURACY

    def test_other_tools_and_broken_files(self, tmp_path: Path, sets: Path, capsys) -> None:
        assert (
            sniff(put(tmp_path / "output_diff.json", [{"name": "y", "mae": 1}])).kind is ArtifactKind.ACCURACY
        )
        part = sniff(put(tmp_path / "per_sample_diff.json", []))
        assert (part.kind, part.claims) == (None, False)
        (sets / "int8/output_diff.json").write_text('{"outputs": [')
        assert main(["summary", str(sets / "int8")]) == 0
        capsys.readouterr()
        assert "truncated" in found(sets, capsys)["refusal"]


class TestReader:
    def test_ours(self, tmp_path: Path) -> None:
        result = read_accuracy(
            put(tmp_path / "a.json", document({"path": "d/a.engine"}, {"path": "C:\\b.plan"}))
        )
        (output,) = result.outputs
        assert output.values["max_abs"] == 0.25
        assert output.counts["elements"] == 3
        assert (result.reference.name, result.test.name, result.is_ours) == ("a.engine", "b.plan", True)

    @pytest.mark.parametrize(
        "root",
        [
            [{"name": "y", "max_abs_diff": 0.5, "cosine_similarity": 0.9}],
            {"y": {"max_diff": 0.5, "cos_sim": 0.9}},
            {"outputs": {"y": {"max_abs": 0.5, "cosine": 0.9, "mae": "not a number", "sqnr": 1e400}}},
            {"results": {"per_tensor": [{"tensor": "y", "max_abs_error": 0.5, "cosine": 0.9}]}},
        ],
    )
    def test_of_others(self, tmp_path: Path, root: Any) -> None:
        (output,) = parse_accuracy(root, tmp_path).outputs
        assert output.name == "y"
        assert (output.values["max_abs"], output.values["cosine"]) == (0.5, 0.9)
        assert output.values["mae"] is output.values["sqnr_db"] is None

    def test_one_for_all(self, tmp_path: Path) -> None:
        (output,) = parse_accuracy({"mae": 0.1, "argmax_agreement": 0.98}, tmp_path).outputs
        assert (output.name, output.values["argmax_agreement_pct"]) == ("all outputs", 98)

    @pytest.mark.parametrize(
        "root", [None, [], {}, 7, [1], {"outputs": 3}, {"a": {"b": 1}}, {"outputs": [{"name": "y"}]}]
    )
    def test_nothing_in_it(self, tmp_path: Path, root: Any) -> None:
        with pytest.raises(ArtifactError, match="no metrics"):
            parse_accuracy(root, tmp_path)


class TestDiff:
    def test_shown(self, sets: Path, capsys) -> None:
        content = document(side(sets / "fp32/net.engine"), side(sets / "int8/net.engine"))
        put(sets / "int8/net.accuracy/output_diff.json", content)
        one = found(sets, capsys)
        assert (one["reference"], one["test"], one["proof"], one["refusal"]) == (0, 1, "sha256", None)
        assert one["result"]["outputs"][0]["values"]["max_abs"] == 0.25
        for form in ("text", "md"):  # html draws the same sections
            assert diff(sets, "--format", form) == 0
            out = capsys.readouterr().out.replace("\\", "")
            assert "Accuracy of net.engine against net.engine" in out
            assert "1 random input (seed 4)" in out
            assert "0.08333" in out  # MAE

    def test_onnx_reference(self, sets: Path, capsys) -> None:
        content = document({"kind": "onnx", "path": "net.onnx"}, side(sets / "int8/net.engine"))
        put(sets / "int8/net.accuracy/output_diff.json", content)
        one = found(sets, capsys)
        assert (one["reference"], one["test"], one["refusal"]) == (None, 1, None)

    @pytest.mark.parametrize("order", [("fp32", "int8"), ("int8", "fp32")])
    def test_equal_plans_are_told_apart_by_directory_and_name(self, sets: Path, order, capsys) -> None:
        """The two built the same, byte for byte: nothing but where they lie tells which is which."""
        plan = (sets / "fp32/net.engine").read_bytes()
        (sets / "int8/net.engine").write_bytes(plan)
        content = document(side(sets / "fp32/net.engine"), side(sets / "int8/net.engine"))
        put(sets / "int8/net.accuracy/output_diff.json", content)
        assert main(["diff", *(str(sets / name) for name in order), "--json"]) == 0
        (one,) = json.loads(capsys.readouterr().out)["accuracy"]
        assert (one["reference"], one["test"]) == (order.index("fp32"), order.index("int8"))
        assert (one["proof"], one["refusal"]) == ("sha256", None)
        # A third of that plan, which nobody asked about, changes nothing; nor does it that the test is told alone.
        (sets / "more").mkdir()
        write_graph(sets / "more/third.graph.json", chain("one"), ["t0", "t1"])
        (sets / "more/third.engine").write_bytes(plan)
        places = [load_engine(sets / name) for name in ("more", *order)]
        (found,) = accuracy_evidence(places)
        assert (found.reference, found.test) == (1 + order.index("fp32"), 1 + order.index("int8"))
        (alone,) = accuracy_evidence([load_engine(sets / "int8")])
        assert (alone.reference, alone.test, alone.refusal) == (None, 0, None)
        # Of another pair with that plan neither side is doubtful, but the two are not both here.
        (sets / "other").mkdir()
        write_graph(sets / "other/net.graph.json", chain("one"), ["t0", "t1"])
        (refused,) = accuracy_evidence([load_engine(sets / name) for name in ("int8", "other")])
        assert "not the compared engines" in refused.refusal
        onnx = document({"kind": "onnx", "path": "net.onnx"}, side(sets / "int8/net.engine"))
        put(sets / "int8/net.accuracy/output_diff.json", onnx)
        (against,) = accuracy_evidence([load_engine(sets / name) for name in order])
        assert (against.reference, against.test) == (None, order.index("int8"))

    def test_plan_was_built_again(self, sets: Path, capsys) -> None:
        content = document(side(sets / "fp32/net.engine"), side(sets / "int8/net.engine"))
        put(sets / "int8/net.accuracy/output_diff.json", content)
        (sets / "int8/net.engine").write_bytes(b"ftrt" + bytes([9]) * 40)
        one = found(sets, capsys)
        assert "not the compared engines" in one["refusal"]
        assert one["result"] is None
        assert diff(sets) == 0
        out = capsys.readouterr().out
        assert "not shown" in out
        assert "0.08333" not in out

    def test_without_plans(self, sets: Path, capsys) -> None:
        """By name; two of one name are told apart by their directories; a manifest's digest counts as a plan."""
        content = document(side(sets / "fp32/net.engine"), side(sets / "int8/net.engine"))
        put(sets / "int8/net.accuracy/output_diff.json", content)
        for name in ("fp32", "int8"):
            (sets / name / "net.engine").unlink()
        one = found(sets, capsys)
        assert (one["reference"], one["test"], one["proof"]) == (0, 1, "name")
        manifest = {
            "schema": "trex-tui/capture/1",
            "trtexec": {},
            "model": {},
            "host": {},
            "engine": {"sha256": "0" * 64},
        }
        put(sets / "int8/net.capture.json", manifest)
        assert found(sets, capsys)["refusal"]

    def test_hostile_names(self, tmp_path: Path) -> None:
        content = document({"path": "a\x1b[31m.engine"}, {"path": "<b>.engine"}, notes=["x\ny"])
        content["outputs"][0]["name"] = "\x1b]0;t\x07"
        content["gates"] = [{"gate": "g\x1b", "output": "y", "fell": True, "why": "\x9b"}]
        sections = list(accuracy_sections(parse_accuracy(content, tmp_path)))
        assert sections[0].is_warning
        texts = [text for one in sections for text in (one.title, *one.sentences)]
        texts += [
            text
            for one in sections
            for table in one.tables
            for index in range(len(table.columns))
            for text in table.texts(index)
        ]
        assert all(text.isprintable() for text in texts)


class TestReport:
    def test_numbers_are_those_of_the_file(self, sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
        small = {"mae": 1.234e-05, "max_abs": 3.2e-07, "rmse": 2e-05, "cosine": 0.25}
        content = document(side(sets / "fp32/net.engine"), side(sets / "int8/net.engine"))
        content["outputs"] = [
            {"name": "big", "mae": 0.0123, "elements": 900},
            {"name": "small", **small, "elements": 1_500_000},
        ]
        put(sets / "int8/net.accuracy/output_diff.json", content)
        assert main(["report", str(sets / "int8"), "--format", "json"]) == 0
        (engine,) = json.loads(capsys.readouterr().out)["engines"]
        differences, likeness = (
            {row["output"]: row for row in table["rows"]}
            for section in engine["sections"]
            if section["id"].startswith("accuracy-")
            for table in section["tables"]
        )
        assert {key: differences["small"][key] for key in ("mae", "max_abs", "rmse")} == {
            key: small[key] for key in ("mae", "max_abs", "rmse")
        }
        assert (differences["big"]["mae"], differences["big"]["max_abs"]) == (0.0123, None)
        assert (likeness["small"]["elements"], likeness["small"]["cosine"]) == (1_500_000, 0.25)
        assert main(["report", str(sets / "int8"), "--format", "html"]) == 0
        page = capsys.readouterr().out
        assert '<td data-value="1.234e-05">1.234e-05</td>' in page
        assert '<td data-value="1500000">1.5 M</td>' in page

    def test_one_engine_and_a_comparison_tell_it_once(
        self, sets: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        content = document(side(sets / "fp32/net.engine"), side(sets / "int8/net.engine"))
        put(sets / "int8/net.accuracy/output_diff.json", content)
        for paths in ([sets / "int8"], [sets / "fp32", sets / "int8"]):
            assert main(["report", *map(str, paths), "--format", "md"]) == 0
            assert capsys.readouterr().out.count("Output similarity") == 1
        assert main(["report", str(sets / "fp32"), "--format", "md"]) == 0
        assert "Output similarity" not in capsys.readouterr().out
