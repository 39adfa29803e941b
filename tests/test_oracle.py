"""scripts/oracle.py: values of documents, rules for those that differ on purpose, the comparison with a program."""

from __future__ import annotations

import gzip
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
sys.path.insert(0, str(SCRIPTS))
import oracle  # noqa: E402


def flat(document: Any) -> dict[str, Any]:
    return {".".join(path): value for path, value in oracle.flatten(document)}


def test_rows_are_identified_by_what_they_are_not_by_their_position() -> None:
    layers = [{"index": 4, "name": "b", "latency_ms": 0.5}, {"index": 2, "name": "a", "latency_ms": None}]
    assert flat({"layers": layers}) == flat({"layers": layers[::-1]})
    assert flat({"layers": layers})["layers.[4].latency_ms"] == 0.5
    edges = [{"source": "a", "target": "b", "tensor": "t", "port": 1}]
    assert flat({"edges": edges})["edges.[a,b,t].port"] == 1
    findings = [{"rule": "FMT001", "layers": [{"index": index}], "ms": index} for index in (3, 7)]
    assert flat(findings)["[FMT001,7].ms"] == 7
    assert list(flat([{"name": "a", "x": 1}, {"name": "a", "x": 2}])) == [
        "[a].name",
        "[a].x",
        "[a#2].name",
        "[a#2].x",
    ]
    assert flat([None, {"x": 1}]) == {"[0]": None, "[1].x": 1}


OLD = {
    "engines": [{"name": "alexnet.fp16", "latency": {"p99_ms": 2.0, "p50_ms": 1.0}, "stage": None}],
    "layers": [{"index": 0, "kind": "gemm", "macs": 7}, {"index": 1, "kind": "conv", "macs": 8}],
}
NEW = {
    "engines": [{"name": "alexnet.fp16", "timing": {"latency": {"p99": 2.0, "p50": 1.5}}, "power_w": 9.0}],
    "layers": [{"index": 1, "kind": "convolution"}, {"index": 0, "kind": "gemm"}],
}
EXPLAINED = """
[[renamed]]
command = "summary"
from = "engines.*.latency.*_ms"
to = "engines.*.timing.latency.*"
reason = "test"

[[dropped]]
command = "*"
path = "**.macs"
reason = "test"

[[added]]
command = "summary"
path = "engines.*.power_*"
set = "alex"
reason = "test"

[[changed]]
command = "summary"
path = "layers.*.kind"
reason = "test"
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One recorded summary, and a program that prints NEW."""
    (tmp_path / "inputs").mkdir()
    document = oracle.Document("summary", ("sets/alexnet",), 0, json.dumps(OLD), "")
    with gzip.open(tmp_path / "documents.jsonl.gz", "wt") as lines:
        lines.write(json.dumps(document) + "\n")
    (tmp_path / "program.py").write_text(f"import json\nprint(json.dumps({NEW!r}))\n")
    (tmp_path / "rules.toml").write_text("")
    monkeypatch.setattr(oracle, "RULES", tmp_path / "rules.toml")
    return tmp_path


def compare(store: Path, *options: str) -> int:
    program = shlex.join([sys.executable, str(store / "program.py")])
    return oracle.main(
        ["compare", "--store", str(store), "--program", program, "--commands", "summary", *options]
    )


def test_differences_are_grouped_by_path(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(store) == 1
    output = capsys.readouterr().out
    assert "6 equal  1 changed  4 gone  3 new  0 explained" in " ".join(output.splitlines()[:1])
    assert "gone     layers.*.macs  2 in 1  e.g. sets/alexnet: layers.[0].macs: 7 → null" in output
    assert 'sets/alexnet: layers.[1].kind: "conv" → "convolution"' in output
    assert compare(store, "--no-group", "--show", "0") == 1
    assert len(capsys.readouterr().out.splitlines()) == 9
    assert compare(store, "--json") == 1
    (document,) = json.loads(capsys.readouterr().out)
    assert (document["command"], document["gone"], len(document["groups"])) == ("summary", 4, 7)


def test_rules_explain_differences(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (store / "rules.toml").write_text(EXPLAINED)
    assert compare(store) == 1
    header, change = capsys.readouterr().out.splitlines()
    assert "1 changed  0 gone  0 new  4 explained" in header
    assert change.endswith("engines.[0].timing.latency.p50: 1.0 → 1.5")
    exception = '\n[[changed]]\ncommand = "summary"\npath = "engines.*.timing.**"\nreason = "test"\n'
    (store / "rules.toml").write_text(EXPLAINED + exception)
    assert compare(store) == 0


def test_every_rule_has_a_reason() -> None:
    assert all(rule.reason.strip() for rule in oracle.read_rules(SCRIPTS / "oracle_paths.toml"))
