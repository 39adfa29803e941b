"""Every number is explained: the keys of all JSON documents, the labels and columns of all sections, the metrics of gates."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from explained import assert_keys_explained, assert_labels_explained, assert_sections_explained

from helpers import OLD_SAMPLES, real_sets, strict_json
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.old.accuracy.metrics import GATE_METRICS
from trex_tui.old.analysis.build import build_facts
from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.compare import compare
from trex_tui.old.analysis.compare.builds import BuildComparison, load_build
from trex_tui.old.analysis.compare.gate_metrics import METRICS
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lint.config import COUNTS
from trex_tui.old.lint.registry import registry
from trex_tui.old.lint.run import run
from trex_tui.old.report.document import Section
from trex_tui.old.report.glossary.lint import FAMILIES
from trex_tui.old.report.glossary.registry import (
    SUBJECTS,
    TABLES,
    all_subjects,
    find_path,
    find_terms,
    normalize,
    walk_keys,
)
from trex_tui.old.report.render_json import table_object
from trex_tui.old.report.views import build
from trex_tui.old.report.views.build_details import item_lines, tuned_lines
from trex_tui.old.report.views.compare import Shown, filtered, sections
from trex_tui.old.report.views.layer_details import layer_lines
from trex_tui.old.report.views.lint import EngineReport
from trex_tui.old.report.views.report import engine_part
from trex_tui.old.report.views.summary import brief_sections

SAMPLES = OLD_SAMPLES
COMPLETE = ("alexnet", "alexnet_int8", "transformer_fp8", "names_only")
PAIR = [str(SAMPLES / "alexnet"), str(SAMPLES / "alexnet_int8")]
LOGS = sorted(SAMPLES.glob("*/*.log"))
DOCUMENTS = {
    "summary": ["summary", str(SAMPLES)],
    "times": ["times", str(SAMPLES)],
    "lint": ["lint", str(SAMPLES), "--format", "json", "--fail-on", "never"],
    "lint-rules": ["lint", "--rules", "--format", "json"],
    "diff": ["diff", *PAIR, str(SAMPLES / "alexnet_fp32"), "--fail-on", "latency_p99_ms > 100"],
    "report": ["report", *PAIR, "--format", "json"],
    "history": [
        "history",
        str(SAMPLES / "alexnet"),
        str(SAMPLES / "alexnet_fp32"),
        "--bisect",
        "1",
        "2",
        "--spread",
    ],
    "scaling": ["scaling", str(SAMPLES)],
    "engines": ["engines", str(SAMPLES), "--by", "precision,device"],
    "layers": ["layers", PAIR[0], "--format", "json"],
    "keys": ["keys", "--format", "json"],
    "explain": ["explain", "p99", "CONV001"],
}
TIMES_FILES = {
    "summary.csv": "metric",
    "latency_percentiles.csv": "latency_percentiles",
    "latency_series.csv": "series",
    "enqueue_compute_series.csv": "series",
}
"""File of `times --outdir` -> the path below which its columns, or metrics, are explained."""


def load_samples(*names: str) -> list[Engine]:
    return [load_engine(SAMPLES / name) for name in names]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_keys_of_documents(capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments = DOCUMENTS[name]
    main(arguments if "--format" in arguments else [*arguments, "--json"])
    assert_keys_explained(name, strict_json(capsys.readouterr().out))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_keys_of_build_logs(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    assert main(["build-log", str(log), "--json"]) == 0
    assert_keys_explained("build-log", strict_json(capsys.readouterr().out))


def test_keys_of_real_build_logs(capsys: pytest.CaptureFixture[str], artifacts: Path) -> None:
    for log in sorted((artifacts / "logs").glob("*.log")):
        assert main(["build-log", str(log), "--json"]) == 0
        assert_keys_explained("build-log", strict_json(capsys.readouterr().out))


def test_keys_of_a_manifest() -> None:
    (path,) = SAMPLES.glob("*/*.capture.json")
    assert_keys_explained("capture", json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("real", real_sets())
def test_keys_of_real_sets(capsys: pytest.CaptureFixture[str], real: Any) -> None:
    paths = list(map(str, real.paths()))
    assert main(["summary", *paths, "--json"]) == 0
    assert_keys_explained("summary", strict_json(capsys.readouterr().out))
    main(["lint", *paths, "--format", "json", "--fail-on", "never"])
    assert_keys_explained("lint", strict_json(capsys.readouterr().out))


def test_a_key_without_a_term_is_reported() -> None:
    document = {"engines": [{"latency": {"p99_ms": 1.0, "zeal_ms": 2.0}}]}
    with pytest.raises(AssertionError, match=r"summary\.engines\.latency\.zeal_ms: add a Term"):
        assert_keys_explained("summary", document)


def test_keys_that_are_data_are_none() -> None:
    document = {"by_kind": {"gemm": {"layers": 2}}, "roofline": {"layers_by_bound": {"compute": 3}}}
    assert set(walk_keys(document, ("summary", "engines"))) == {
        ("summary", "engines", "by_kind"),
        ("summary", "engines", "by_kind", "*", "layers"),
        ("summary", "engines", "roofline"),
        ("summary", "engines", "roofline", "layers_by_bound"),
    }


# Labels and columns


@pytest.mark.parametrize("name", COMPLETE)
def test_labels_and_columns_of_an_engine(name: str) -> None:
    (engine,) = load_samples(name)
    assert_sections_explained(brief_sections(engine))
    part = engine_part(1, EngineReport(engine, run(engine)), 5)
    assert_sections_explained(part.sections)


@pytest.mark.parametrize("name", COMPLETE)
def test_labels_of_the_details_of_layers(name: str) -> None:
    """Labels of attributes are keys of the file."""
    (engine,) = load_samples(name)
    facts = derived(engine)
    for layer in engine.layers:
        labels = {line.label for line in layer_lines(engine, layer, facts) if line.label}
        assert_labels_explained(labels - layer.attributes.keys())


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_labels_of_the_details_of_a_build(log: Path) -> None:
    """Labels of a pass are also names of fusions, out of the log."""
    trace = read_build_log(log)
    facts = build_facts(trace)
    items = [*trace.phases, *trace.passes, *trace.fusions, *trace.memory, *trace.strategies, *trace.messages]
    lines = [line for item in items for line in item_lines(facts, item)]
    lines += [line for tuned in facts.tuned for line in tuned_lines(None, facts, tuned)]
    rules = {fusion.rule for fusion in trace.fusions}
    assert_labels_explained({line.label for line in lines if line.label} - rules)


@pytest.mark.parametrize("name", ["alexnet", "alexnet_fp32"])
def test_labels_of_times(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    assert main(["times", str(SAMPLES / name)]) == 0
    labels = re.findall(r"^  ([A-Z][a-z]+) {2,}\S", capsys.readouterr().out, re.MULTILINE)
    assert labels
    assert_labels_explained(labels)
    assert main(["times", str(SAMPLES / name), "--outdir", str(tmp_path / "out")]) == 0
    for file, table in TIMES_FILES.items():
        head, *rows = (tmp_path / "out" / file).read_text(encoding="utf-8").splitlines()
        keys = [row.split(",")[0] for row in rows] if table == "metric" else head.split(",")
        assert not [key for key in keys if find_path(("times", table, key)) is None], file


def test_labels_and_columns_of_a_comparison() -> None:
    comparison = compare(load_samples("alexnet", "alexnet_int8", "alexnet_fp32"))
    assert_sections_explained(sections(Shown(comparison, filtered(comparison, ""))))


def test_keys_and_columns_of_why(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(SAMPLES / name) for name in ("alexnet", "alexnet_int8")]
    assert main(["diff", *paths, "--why", "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    assert document["why"][0]["blocks"]
    assert_keys_explained("diff", document)
    comparison = compare(load_samples("alexnet", "alexnet_int8"))
    builds = BuildComparison(
        comparison, [load_build(one, index) for index, one in enumerate(comparison.engines)]
    )
    shown = Shown(comparison, filtered(comparison, ""), builds=[builds.explain(1)])
    assert_sections_explained(sections(shown))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_labels_and_columns_of_a_build_log(log: Path) -> None:
    trace = read_build_log(log)
    facts = build_facts(trace)
    keys = ("phases", "passes", "layers", "tactics", "memory", "strategies", "messages")
    tables = [build.build_listing(facts, key).table for key in keys]
    shown = Section("build", "Build", facts=list(build.overview_facts(trace, None)), tables=tables)
    assert_sections_explained([shown, *build.memory_sections(trace)])


def test_headings_of_json_tables_are_labels_of_a_term() -> None:
    """The table of a comparison is explained by the keys of its columns, as a report in JSON has them."""
    (engine,) = load_samples("alexnet")
    for section in brief_sections(engine):
        for table in section.tables:
            for column in table_object(table)["columns"]:
                assert find_path(("report", table.id, column["name"])) or find_terms(column["name"])


# The terms themselves


def test_each_path_has_one_term() -> None:
    paths = Counter(path for subject in all_subjects()[1:] for term in subject.terms for path in term.paths)
    assert [path for path, count in paths.items() if count > 1] == []


def test_a_column_with_a_help_has_no_term_as_well() -> None:
    own = {path for subject in SUBJECTS for term in subject.terms for path in term.paths}
    twice = {
        f"{table}.{column.key}"
        for tables in TABLES.values()
        for table, columns in tables
        for column in columns
        if column.help and f"{table}.{column.key}" in own
    }
    assert twice == set()


def test_definitions_are_sentences() -> None:
    for subject in all_subjects():
        assert subject.shown
        assert subject.source
        for term in subject.terms:
            assert term.definition.endswith((".", ".)")), term.key
            assert term.definition.isprintable(), term.key


def test_metrics_of_gates() -> None:
    gates = [gate for subject in all_subjects() for term in subject.terms for gate in term.gates]
    assert sorted(gates) == sorted({*METRICS.names, *COUNTS.names, *GATE_METRICS.names})
    assert all(find_terms(gate) for gate in gates)


def test_families_of_rules() -> None:
    assert set(registry().families) <= set(FAMILIES)


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("throughput", "engines.throughput_qps"),
        ("QPS", "engines.throughput_qps"),
        ("p99", "latency.p99_ms"),
        ("latency_p99_ms", "latency.p99_ms"),
        ("Critical path", "critical_path"),
        ("critical-path", "critical_path"),
        ("gap", "engines.gap"),
        ("saving", "engines.saving_ms"),
        ("stability", "timing.stability"),
        ("live memory", "peak_live_activation_bytes"),
        ("peak_live_activation_bytes", "peak_live_activation_bytes"),
        ("activation_peak_bytes", "peak_live_activation_bytes"),
        ("memory.traffic_bytes", "traffic_bytes"),
        ("engines[0].memory.traffic_bytes", "traffic_bytes"),
        ("summary.engines.by_kind.gemm.latency_ms", "by_kind.*.latency_ms"),
        ("enqueue", "timing.enqueue"),
        ("H2D", "timing.h2d"),
        ("D2H Latency", "timing.d2h"),
        ("GPU compute", "timing.compute"),
        ("host walltime", "Total Host Walltime"),
        ("latency_pct", "latency_pct"),
    ],
)
def test_names_of_a_term(query: str, key: str) -> None:
    assert find_terms(query)[0].term.key == key


def test_every_label_finds_its_term() -> None:
    for subject in all_subjects():
        for term in subject.terms:
            for label in filter(normalize, term.labels):
                found = find_terms(label)
                assert found
                assert any(entry.term is term for entry in (*found, *find_terms(term.key))), label
