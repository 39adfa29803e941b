"""The commands, in process and as real processes."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from helpers import chain, real_sets, strict_json, write_graph, write_json, write_sample_set
from trex_tui.__main__ import main

SUMMARY_KEYS = {
    "name",
    "files",
    "tensorrt_version",
    "device",
    "precision",
    "layers",
    "by_kind",
    "by_precision",
    "latency_sum_ms",
    "profile_iterations",
    "timing",
    "model",
    "memory",
    "compute",
    "diagnostics",
}
BRIEF = ["#", "Layer", "Kind", "Prec", "ms", "%", "Tactic"]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return write_sample_set(tmp_path / "net")


@pytest.fixture
def several(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        write_graph(tmp_path / f"{name}.graph.json", chain("one"))
    return tmp_path


class TestInterface:
    def test_without_a_terminal(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A first argument that is no command is a path to explore."""
        assert main([str(sample)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err == f"trex-tui: error: not a terminal; use `trex-tui summary {sample}` instead\n"

    def test_the_default_path(
        self, sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(sample)
        assert main(["summary", "--json"]) == 0
        assert strict_json(capsys.readouterr().out)["engines"][0]["name"] == "net"


class TestSummary:
    def test_schema(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["summary", str(sample), "--json"]) == 0
        out, err = capsys.readouterr()
        document = strict_json(out)
        assert err == ""
        assert list(document) == ["schema", "engines", "diagnostics"]
        assert document["schema"] == "trex-tui/summary/3"
        (engine,) = document["engines"]
        assert set(engine) >= SUMMARY_KEYS
        assert [one["name"] for one in engine["model"]["inputs"]] == ["input"]
        (gemm,) = (row for row in engine["by_kind"] if row["kind"] == "gemm")
        assert {"layers": 1, "latency_ms": 0.12, "latency_pct": 60.0}.items() <= gemm.items()
        assert engine["timing"]["latency"]["p99_ms"] == pytest.approx(0.21, rel=0.01)
        assert list(engine["diagnostics"][0]) == ["severity", "file", "where", "message"]

    @pytest.mark.parametrize("real", real_sets())
    def test_real_sets(self, real: Any, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["summary", "--json", str(real.path("graph"))]) == 0
        out, err = capsys.readouterr()
        (engine,) = strict_json(out)["engines"]
        assert err == ""
        assert engine["layers"] == len(real.layers()) == sum(one["layers"] for one in engine["by_kind"])
        assert set(engine) >= SUMMARY_KEYS

    def test_several_engines(self, several: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["summary", "--json", str(several)]) == 0
        assert [one["name"] for one in strict_json(capsys.readouterr().out)["engines"]] == ["a", "b"]
        assert main(["summary", str(several)]) == 0
        out, err = capsys.readouterr()
        assert [line for line in out.splitlines() if line in ("a", "b")] == ["a", "b"]
        assert err == ""

    def test_one_broken_engine_costs_only_itself(
        self, several: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        broken = several / "b.graph.json"
        broken.write_text('{"Layers": [{"Name": "one"', encoding="utf-8")
        assert main(["summary", "--json", str(several)]) == 0
        document = strict_json(capsys.readouterr().out)
        assert [one["name"] for one in document["engines"]] == ["a"]
        (note,) = document["diagnostics"]
        assert (note["severity"], note["file"], note["where"]) == ("error", str(broken), "line 1 column 27")
        assert main(["summary", str(several)]) == 0
        out, err = capsys.readouterr()
        assert re.match(r"error: .*b\.graph\.json:1: is truncated.*\n\na\n", out)
        assert err.startswith(f"trex-tui: error: {broken}:1: is truncated")

    def test_all_broken(self, several: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in "ab":
            (several / f"{name}.graph.json").write_text('{"Layers": [', encoding="utf-8")
        assert main(["summary", str(several)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"trex-tui: error: {several / 'b.graph.json'}:1: is truncated")
        assert err.count("\n") == 1


class TestLayers:
    def columns_of(self, document: dict[str, Any], column: str) -> list[Any]:
        return [row[column] for row in document["layers"]]

    def layers(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
        assert main(["layers", "--format", "json", *arguments]) == 0
        return strict_json(capsys.readouterr().out)

    def test_table(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["layers", str(sample)]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == BRIEF
        assert lines[7] == "6 layers (1 without a time) · 0.2000 ms · 100.00 % of all"
        assert "tilesize128x64x32" in lines[2]
        assert "warning: " in lines[9]
        assert "\x1b" not in "".join(lines)

    @pytest.mark.parametrize(
        ("arguments", "order"),
        [
            (["--sort", "latency_ms"], [3, 1, 4, 0, 2, 5]),
            (["--sort", "latency_ms", "--reverse"], [2, 0, 4, 1, 3, 5]),
            (["--sort", "kind"], [1, 3, 4, 2, 0, 5]),
            (["--sort", "name", "--top", "2"], [3, 1]),
            (["--reverse"], [5, 4, 3, 2, 1, 0]),
            (["--top", "3"], [0, 1, 2]),
            (["--top", "0"], [0, 1, 2, 3, 4, 5]),
            (["--top", "99"], [0, 1, 2, 3, 4, 5]),
        ],
    )
    def test_order(
        self, sample: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], order: list[int]
    ) -> None:
        assert self.columns_of(self.layers(capsys, str(sample), *arguments), "index") == order

    def test_a_filter_that_matches_nothing(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["layers", str(sample), "--filter", "type:CudaSoft", "--format", "csv"]) == 0
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == 1
        assert "trex-tui: 0 of 6 layers match: no layer_type 'CudaSoft'; did you mean CudaSoftMax?\n" in err
        assert main(["lint", str(sample), "--filter", "laeyr"]) == 0
        assert "trex-tui: 0 of 6 layers match: no name contains 'laeyr'\n" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("kind:gem", "no kind 'gem' at column 6: kind:^gem; did you mean gemm?"),
            ("prec:int9", "no precision 'int9' at column 6: prec:^int9; did you mean INT8?"),
            ("attr.Orgin:x", "no column 'attr.Orgin' at column 1: ^attr.Orgin:x; did you mean attr.Origin?"),
        ],
    )
    @pytest.mark.parametrize("command", ["layers", "lint"])
    def test_unknown_values(
        self, sample: Path, capsys: pytest.CaptureFixture[str], command: str, text: str, hint: str
    ) -> None:
        assert main([command, str(sample), "--filter", text]) == 2
        assert capsys.readouterr().err.splitlines()[-1] == f"trex-tui: error: --filter: {hint}"

    def test_short_names_and_attributes(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        columns = "name,ms,weights,attr.origin,attr.*"
        assert main(["layers", str(sample), "--columns", columns, "--sort", "pct", "--format", "csv"]) == 0
        rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
        assert list(rows[0])[:4] == ["name", "latency_ms", "weights_bytes", "attr.Origin"]
        assert {"attr.Weights", "attr.Bias"} <= set(rows[0])
        assert rows[0]["name"] == "/classifier/Gemm_myl1_0"
        assert [row["attr.Weights"] for row in rows if row["attr.Weights"]] == [
            '{"Type": "Half", "Count": 432}'
        ]

    @pytest.mark.parametrize("option", ["--columns", "--sort"])
    def test_unknown_column(self, sample: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
        assert main(["layers", str(sample), option, "speeds"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err == "trex-tui: error: no column 'speeds'; `trex-tui explain` lists the columns\n"

    def test_several_engines(self, several: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["layers", str(several)]) == 2
        assert capsys.readouterr() == (
            "",
            "trex-tui: error: 2 engines found (a, b); give the path of one\n",
        )

    def test_diagnostics_go_to_stderr(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (sample / "stray.json").write_text("{}", encoding="utf-8")
        assert main(["layers", str(sample), "--format", "csv"]) == 0
        out, err = capsys.readouterr()
        assert len(list(csv.reader(io.StringIO(out)))) == 7
        assert err.splitlines() == [
            f"trex-tui: warning: {sample / 'net.profile.json'}: has no row for 1 of 6 layers (the first: 'softmax')",
            f"trex-tui: info: {sample}: 1 other JSON file: stray.json",
        ]

    def test_optimization_profile(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = str(write_graph(tmp_path / "a.graph.json", chain("one", "one [profile 11]")))
        document = self.layers(capsys, path, "--optimization-profile", "11")
        assert self.columns_of(document, "name") == ["one [profile 11]"]
        assert main(["layers", path, "--optimization-profile", "2"]) == 2
        assert (
            capsys.readouterr().err
            == "trex-tui: error: optimization profile 2 does not exist; the engine has profile 0, 11\n"
        )


@pytest.mark.parametrize("command", ["summary", "layers", "lint"])
@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", ""),
        (b" \n" * 9, ""),
        (b'{"Layers": [\n{"Name": "a"},\n{"Na', ":3"),
        (b'{"Layers": [\n{]}, {"Name": "b"}]}', ":2"),
        (b"[" * 200_000, ""),
        (b'{"Layers": [' + b"9" * 5000 + b"]}", ""),
        (bytes(range(256)), ""),
        (b"hello", ""),
        (b'{"answer": 42}', ""),
    ],
    ids=["empty", "blank", "truncated", "syntax", "deep", "long number", "binary", "text", "other"],
)
def test_a_broken_file_has_line_cause_and_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, content: bytes, line: str
) -> None:
    file = tmp_path / "net.graph.json"
    file.write_bytes(content)
    assert main([command, str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"trex-tui: error: {re.escape(str(file))}{line}: \w.+; \w.+\n", err), err


BAD_INPUTS = {
    "absent": "does not exist; check the path",
    "empty": "no layer information, tim",
    "junk.json": "is binary but not a TensorRT plan",
    "packed.zip": "is a zip archive; unpack it",
    "cut.graph.json": "is truncated: the JSON ends in the middle",
    "other.json": "is JSON of an unknown kind (keys: answer)",
    "void.json": "is empty",
    "\x1b[31mred.json": "does not exist",
}


@pytest.mark.parametrize("command", [["summary"], ["summary", "--json"], ["layers"]])
@pytest.mark.parametrize(("name", "message"), BAD_INPUTS.items(), ids=list(range(len(BAD_INPUTS))))
def test_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], name: str, message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "junk.json").write_bytes(bytes(range(256)))
    (tmp_path / "cut.graph.json").write_text('{"Layers": [', encoding="utf-8")
    (tmp_path / "void.json").write_bytes(b"")
    (tmp_path / "packed.zip").write_bytes(b"PK\x03\x04\x14\0\0\0")
    write_json(tmp_path / "other.json", {"answer": 42})
    assert main([*command, str(tmp_path / name)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trex-tui: error: ")
    assert message in err
    assert err.count("\n") == 1
    assert err.rstrip("\n").isprintable()
