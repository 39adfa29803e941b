"""scripts/oracle.py: rows by what they are, rules for values that differ on purpose, the comparison with a program."""

from __future__ import annotations

import gzip
import json
import shlex
import sys
from pathlib import Path

import pytest

import oracle
from helpers import REPOSITORY

OLD = {
    "engines": [{"name": "alexnet.fp16", "latency": {"p99_ms": 2.0, "p50_ms": 1.0}, "stage": None}],
    "layers": [{"index": 0, "kind": "gemm", "macs": 7}, {"index": 1, "kind": "conv", "macs": 8}],
}
NEW = {
    "engines": [{"name": "alexnet.fp16", "timing": {"latency": {"p99": 2.0, "p50": 1.5}}, "power_w": 9.0}],
    "layers": [{"index": 1, "kind": "convolution"}, {"index": 0, "kind": "gemm"}],
}
RENAMED = """
[[renamed]]
command = "summary"
from = "engines.*.latency.*_ms"
to = "engines.*.timing.latency.*"
reason = "test"
"""
OTHERS = (
    ("dropped", "*", "**.macs"),
    ("added", "summary", "engines.*.power_*"),
    ("changed", "summary", "layers.*.kind"),
    ("changed", "summary", "engines.*.timing.**"),
)


def rules(count: int) -> str:
    return RENAMED + "".join(
        f'\n[[{key}]]\ncommand = "{command}"\npath = "{path}"\nreason = "test"\n'
        for key, command, path in OTHERS[:count]
    )


def test_rows_are_identified_by_what_they_are_not_by_their_position() -> None:
    def flat(document: object) -> dict[str, object]:
        return {".".join(path): value for path, value in oracle.flatten(document)}

    layers = [{"index": 4, "name": "b", "latency_ms": 0.5}, {"index": 2, "name": "a", "latency_ms": None}]
    assert flat({"layers": layers}) == flat({"layers": layers[::-1]})
    assert flat({"layers": layers})["layers.[4].latency_ms"] == 0.5
    findings = [{"rule": "FMT001", "layers": [{"index": index}], "ms": index} for index in (3, 7)]
    assert flat(findings)["[FMT001,7].ms"] == 7
    assert [*flat([{"name": "a", "x": 1}, {"name": "a", "x": 2}])][1:] == ["[a].x", "[a#2].name", "[a#2].x"]
    assert flat({"name": "conv1", "message": "Layer is slow"}) == {"name": "conv1"}, "sentences are left out"


def test_differences_are_grouped_by_path_and_explained_by_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "inputs").mkdir()
    document = oracle.Document("summary", ("sets/alexnet",), 0, json.dumps(OLD), "")
    with gzip.open(tmp_path / "documents.jsonl.gz", "wt") as lines:
        lines.write(json.dumps(document) + "\n")
    (tmp_path / "program.py").write_text(f"import json\nprint(json.dumps({NEW!r}))\n")
    monkeypatch.setattr(oracle, "RULES", tmp_path / "rules.toml")
    program = shlex.join([sys.executable, str(tmp_path / "program.py")])

    def compare(text: str) -> tuple[int, str]:
        (tmp_path / "rules.toml").write_text(text)
        words = ["--store", str(tmp_path), "--program", program, "--commands", "summary"]
        return oracle.main(["compare", *words]), capsys.readouterr().out

    code, output = compare("")
    assert code == 1
    assert "6 equal  1 changed  4 gone  3 new  0 explained" in output.splitlines()[0]
    assert "gone     layers.*.macs  2 in 1  e.g. sets/alexnet: layers.[0].macs: 7 → null" in output
    code, output = compare(rules(3))
    header, change = output.splitlines()
    assert (code, "1 changed  0 gone  0 new  4 explained" in header) == (1, True)
    assert change.endswith("engines.[0].timing.latency.p50: 1.0 → 1.5")
    assert compare(rules(4))[0] == 0
    (tmp_path / "program.py").write_text("raise SystemExit(2)")
    code, output = compare("")
    assert (code, "sets/alexnet: exit: 0 → 2" in output) == (1, True)


def test_every_rule_has_a_reason() -> None:
    assert all(rule.reason.strip() for rule in oracle.read_rules(REPOSITORY / "scripts/oracle_paths.toml"))
