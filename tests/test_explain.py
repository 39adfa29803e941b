"""`trex-tui explain`: numbers, words, rules, names of layers and of tactics."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import strict_json
from trex_tui.__main__ import main

SAMPLES = Path(__file__).resolve().parents[1] / "sample_artifacts"
Capture = pytest.CaptureFixture[str]


def out(capsys: Capture, *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_a_column(capsys: Capture) -> None:
    assert out(capsys, "layers.latency_pct").startswith(
        "latency_pct\n"
        "Share of the layer in the time of all layers.\n"
        "Also     %, pct, share\n"
        "Unit     %\n"
        "Formula  100 · latency_ms / Σ latency_ms; a profile with missing rows states Σ\n"
        "Source   profile: averageMs\n"
        "Of       layers (`layers`, filters, charts)\n"
    )


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("latency p99", "latency_p99_ms"),
        ("[HostToDeviceCopy 0]", "[HostToDeviceCopy 0]"),
        ("engines[0].memory.traffic_bytes", "traffic_bytes"),
        ("Critical path", "critical path"),
        ("fp16", "FP16"),
        ("kgen", "kgen"),
        ("gap", "Gap between layers and latency (`summary`)"),
    ],
)
def test_ways_to_name_it(capsys: Capture, query: str, first: str) -> None:
    assert out(capsys, query).splitlines()[0] == first


def test_all_names(capsys: Capture) -> None:
    text = out(capsys)
    for part in ("latency_p99_ms", "Layers (`layers`, filters, charts)", "CONV001", "kgen"):
        assert part in text
    engines = out(capsys, "engines")
    assert "latency_p99_ms" in engines
    assert "kgen" not in engines


def test_a_family_of_rules(capsys: Capture) -> None:
    head, meaning, *rules = out(capsys, "qdq").split("\n\n")[0].splitlines()
    assert (head, meaning[:12]) == ("QDQ", "Quantization")
    assert rules
    assert all(rule.startswith("QDQ0") for rule in rules)


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("critcal path", "did you mean critical path"),
        ("zzzzzz", "`trex-tui explain` lists all names"),
    ],
)
def test_unknown_names(capsys: Capture, query: str, hint: str) -> None:
    assert main(["explain", query]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"trex-tui: error: unknown name {query!r}; {hint}")
    assert captured.err.count("\n") == 1


DATA = {"graph", "profile", "timing", "build_metadata", "profile_metadata", "build_log", "gaps", "gap", "other", "files",
        "layers_without_macs"}  # fmt: skip
"""Kinds of files, keys whose own keys are texts, and the name of a table."""


def keys_of(value: object, found: set[str]) -> set[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            found.add(key)
            if key not in DATA:
                keys_of(inner, found)
    elif isinstance(value, list):
        for inner in value:
            keys_of(inner, found)
    return found


@pytest.mark.parametrize("command", ["summary", "times", "engines", "layers"])
def test_every_key_of_json_is_explained(command: str, capsys: Capture) -> None:
    from trex_tui.report.terms import explain

    folder = SAMPLES / "alexnet" if command == "layers" else SAMPLES
    assert main([command, "--json", str(folder)]) == 0
    keys = keys_of(strict_json(capsys.readouterr().out), set()) - DATA
    pools = {key for key in keys if key.startswith(("dla", "tactic"))}
    assert [key for key in sorted(keys - pools) if not explain(key)] == []


def test_the_glossary_is_short() -> None:
    from trex_tui.report.terms import GLOSSARY, LAYER_TYPES

    assert sum(map(len, GLOSSARY.values())) + len(LAYER_TYPES) <= 180
