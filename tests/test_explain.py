"""`trex-tui explain`: terms, columns and rules by every name they have."""

from __future__ import annotations

import pytest

from helpers import strict_json
from trex_tui.__main__ import main

Capture = pytest.CaptureFixture[str]


def out(capsys: Capture, *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_a_column(capsys: Capture) -> None:
    assert out(capsys, "latency_pct").startswith(
        "latency_pct\n"
        "  Share of `latency_ms` in its sum over all layers of the engine.\n"
        "  label   % · pct · share\n"
        "  unit    percent\n"
        "  formula 100 · latency_ms / Σ latency_ms\n"
        "  source  profile: averageMs\n"
        "  shown   Layers, Charts, Memory; layers, export, --filter\n"
    )


def test_a_number_of_the_timing_run(capsys: Capture) -> None:
    assert out(capsys, "throughput") == (
        "engines.throughput_qps\n"
        "  Queries per second over the whole run. Queries overlap, so it can exceed 1 /\n"
        "  latency.\n"
        "  label   throughput · qps\n"
        "  unit    queries per second\n"
        "  formula queries / (last endD2hMs − first startH2dMs), as trtexec does\n"
        "  source  performance_summary: Throughput; else timing rows: startH2dMs,\n"
        "          endD2hMs\n"
        "  shown   Overview, Charts; summary, times, report\n"
        "  gate    throughput_qps\n"
    )


def test_several_in_the_order_asked(capsys: Capture) -> None:
    text = out(capsys, "macs", "p99")
    assert text.index("macs\n") < text.index("latency.p99_ms\n")


def test_terms_with_the_same_end_are_named(capsys: Capture) -> None:
    assert "\nsee also by_kind.*.latency_ms, hottest.latency_ms, " in out(capsys, "latency_ms")


def test_lines_fit_80_columns(capsys: Capture) -> None:
    for name in ("gap", "p99", "latency_ms", "stability", "layers"):
        assert max(map(len, out(capsys, name).splitlines())) <= 80


def test_a_rule(capsys: Capture) -> None:
    text = out(capsys, "conv001")
    main(["lint", "--explain", "CONV001"])
    assert text == capsys.readouterr().out


def test_a_family_of_rules(capsys: Capture) -> None:
    head, meaning, _, *rules = out(capsys, "qdq").splitlines()
    assert (head, meaning[:2]) == ("QDQ", "  ")
    assert rules
    assert all(rule.startswith("QDQ0") for rule in rules)


def test_json_has_null_where_there_is_nothing(capsys: Capture) -> None:
    term = strict_json(out(capsys, "--json", "layers.tactic"))["terms"][0]
    assert (term["unit"], term["formula"]) == (None, None)


@pytest.mark.parametrize(
    ("query", "key"), [("latency p99", "latency.p99_ms"), ("peak live", "peak_live_activation_bytes")]
)
def test_the_beginning_of_a_name(capsys: Capture, query: str, key: str) -> None:
    assert out(capsys, query).startswith(f"{key}\n")


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("throughputt", "did you mean throughput"),
        ("critcal path", "did you mean critical_path"),
        ("CONV0001", "did you mean CONV001"),
        ("zzzzzz", "`trex-tui explain` lists all names"),
    ],
)
def test_unknown_names(capsys: Capture, query: str, hint: str) -> None:
    assert main(["explain", query]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"trex-tui: error: unknown name {query!r}; {hint}")
    assert captured.err.count("\n") == 1
