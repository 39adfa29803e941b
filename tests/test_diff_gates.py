"""Gates of `trex-tui diff`: each judges its metric, all are printed, and what cannot be judged does not pass."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from helpers import chain, write_graph, write_profile
from trex_tui.__main__ import main

Run = Callable[..., tuple[int, list[dict[str, Any]], str]]


def write_engine(
    folder: Path,
    times: dict[str, float] | None = None,
    rows: Sequence[float] = (),
    shape: Sequence[int] | None = None,
    device: str = "",
) -> Path:
    """A set named `net` with layers in a row, and timing rows if there are any."""
    times = times or {"conv1": 1.0, "conv2": 2.0, "fc": 0.5}
    layers = chain(*times)
    for layer in layers:
        for tensor in (*layer["Inputs"], *layer["Outputs"]):
            tensor["Dimensions"] = list(shape or tensor["Dimensions"])
    write_graph(folder / "net.graph.json", layers, ["t0", f"t{len(times)}"])
    write_profile(folder / "net.profile.json", list(times.items()))
    if rows:
        write_rows(folder / "net.timing.json", rows)
    if device:
        stated = {"Selected Device": device}
        metadata = {"device_information": stated, "inference_options": {"Batch": "Explicit"}}
        (folder / "net.profile.metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    return folder


def write_rows(path: Path, rows: Sequence[float]) -> None:
    start, stamped = 1000.0, []
    for latency in rows:
        copies = {"h2dMs": 0.1 * latency, "computeMs": 0.8 * latency, "d2hMs": 0.1 * latency}
        stamps = {"startH2dMs": start, "startComputeMs": start, "endD2hMs": start + latency}
        stamped.append({**stamps, **copies, "latencyMs": latency})
        start += latency
    path.write_text(json.dumps(stamped), encoding="utf-8")


def steady_rows(seed: int, level: float = 1.0, count: int = 600) -> list[float]:
    drawn = Random(seed)
    return [round(level * (1.0 + drawn.gauss(0.0, 0.002)), 6) for _ in range(count)]


def with_slow_rows(rows: Sequence[float], share: float = 0.04, factor: float = 1.8) -> list[float]:
    chosen = set(Random(9).sample(range(len(rows)), int(len(rows) * share)))
    return [value * factor if row in chosen else value for row, value in enumerate(rows)]


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `diff --json` with gates: exit code, the gates' results, stderr."""

    def run(*arguments: str | Path, gates: Sequence[str] = ()) -> tuple[int, list[dict[str, Any]], str]:
        options = [word for gate in gates for word in ("--fail-on", gate)]
        code = main(["diff", *map(str, arguments), *options, "--json"])
        shown = capsys.readouterr()
        return code, json.loads(shown.out)["gates"], shown.err

    return run


def test_a_slow_tail_fails_the_gate_on_the_tail_and_none_on_the_median(tmp_path: Path, diff: Run) -> None:
    rows = steady_rows(1)
    main_ = write_engine(tmp_path / "main", rows=rows)
    branch = write_engine(tmp_path / "branch", rows=with_slow_rows(rows))
    gates = [
        "latency_p99_ms > +5%",
        "latency_max_ms > +5%",
        "latency_mean_ms > +1%",
        "gpu_compute_p99_ms > +5%",
    ]
    code, results, err = diff(main_, branch, "--significant", gates=[*gates, "latency_median_ms > -1%"])
    assert code == 1
    assert [result["state"] for result in results] == ["failed"] * 4 + ["passed"]
    assert [result["significance"] for result in results[:4]] == ["slower"] * 4
    assert results[-1]["significance"] == "same"
    assert "not distinguishable from noise, within one run" in results[-1]["note"]
    assert err.count("gate failed") == 4


@pytest.mark.parametrize("name", ["resnet-A100/fp16", "resnet-A100/qat", "tf-resnet-RTX3090/fp32"])
def test_a_slow_tail_of_a_real_run_fails_the_gate(
    artifacts: Path, tmp_path: Path, diff: Run, name: str
) -> None:
    folder = artifacts / "trex" / name
    shutil.copytree(folder, tmp_path / "pr", copy_function=shutil.copyfile)
    (file,) = (tmp_path / "pr").glob("*.timing.json")
    rows = json.loads(file.read_text(encoding="utf-8"))
    for row in Random(4).sample(rows, len(rows) // 25):
        row.update({key: row[key] * 1.8 for key in ("latencyMs", "computeMs")})
    file.write_text(json.dumps(rows), encoding="utf-8")
    gates = ["latency_p99_ms > +5%", "latency_median_ms > +5%"]
    code, (tail, middle), _ = diff(folder, tmp_path / "pr", "--significant", gates=gates)
    assert (code, tail["state"], middle["state"]) == (1, "failed", "passed")
    assert diff(folder, folder, "--significant", gates=gates)[0] == 0


def test_noise_fails_no_gate_that_asks_for_significance(tmp_path: Path, diff: Run) -> None:
    sides = [write_engine(tmp_path / name, rows=steady_rows(seed)) for seed, name in enumerate(("a", "b"))]
    gates = [f"latency_{name}_ms != +0" for name in ("mean", "median", "p90", "p95", "p99", "max", "min")]
    gates += ["throughput_qps != +0", "h2d_mean_ms != +0", "d2h_median_ms != +0"]
    strict, significant = diff(*sides, gates=gates), diff(*sides, "--significant", gates=gates)
    assert strict[0] == 1
    assert significant[0] == 0
    assert {result["state"] for result in significant[1]} == {"passed"}


def test_without_rows_significance_is_not_tested(tmp_path: Path, diff: Run) -> None:
    """Printed summaries have a median and no noise."""
    sides = []
    for name, latency in (("a", 1.0), ("b", 1.2)):
        folder = write_engine(tmp_path / name)
        summary = {"Latency": [latency - 0.1, latency + 0.1, latency, latency, latency, latency, latency]}
        summary["Latency"] = (
            f"min = {latency - 0.1} ms, max = {latency + 0.1} ms, mean = {latency} ms, median = {latency} ms"
        )
        (folder / "net.profile.metadata.json").write_text(
            json.dumps({"performance_summary": summary}), encoding="utf-8"
        )
        sides.append(folder)
    code, (result,), _ = diff(*sides, gates=["latency_median_ms > +5%"])
    assert (code, result["state"]) == (1, "failed")
    assert "significance not tested" in result["why"]
    code, (result,), err = diff(*sides, "--significant", gates=["latency_median_ms > +5%"])
    assert (code, result["state"], result["is_met"]) == (2, "not judged", None)
    assert "gate not judged" in err
    assert diff(*sides, "--significant", gates=["latency_median_ms > +50%"])[0] == 0


def test_gates_on_the_verdict(tmp_path: Path, diff: Run, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [
        write_engine(tmp_path / name, rows=steady_rows(3, level)) for name, level in (("a", 1.0), ("b", 1.02))
    ]
    gates = ["verdict == slower", "verdict != faster", "verdict == same", "verdict==faster"]
    code, results, _ = diff(*sides, gates=gates)
    assert code == 1
    assert [result["state"] for result in results] == ["failed", "failed", "passed", "passed"]
    assert main(["diff", *map(str, sides), "--fail-on", "verdict == slower"]) == 1
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("failed")]
    assert re.search(r"\+0\.\d{4} ms to \+0\.\d{4} ms", row)
    bare = [write_engine(tmp_path / name) for name in ("c", "d")]
    assert diff(*bare, gates=["verdict == slower"])[1][0]["state"] == "not judged"
    for wrong in ("verdict > 1", "verdict == slow", "verdict < slower"):
        assert main(["diff", *map(str, sides), "--fail-on", wrong]) == 2
        assert "verdict == slower" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["text", "md", "html"])
def test_every_gate_is_printed_whatever_becomes_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], output: str
) -> None:
    sides = [
        str(write_engine(tmp_path / "a")),
        str(write_engine(tmp_path / "b", {"conv1": 2.0, "conv2": 2.0})),
    ]
    gates = ["latency_p99_ms > +5%", "latency_sum_ms > +1%", "layers > +3"]
    options = [word for gate in gates for word in ("--fail-on", gate)]
    assert main(["diff", *sides, *options, "--format", output]) == 2
    shown = capsys.readouterr()
    assert "1 failed, 1 not judged, 1 passed" in shown.out
    for gate in gates:
        assert gate in html.unescape(shown.out.replace("\\", ""))
    assert [line.split(":")[1].strip() for line in shown.err.splitlines()] == [
        "gate not judged",
        "gate failed",
    ]
    if output == "md":
        title, *lines = shown.out.splitlines()
        assert title == "<!-- trex-tui/diff/2 -->"
        assert "1 failed" in lines[0]
        assert any(line.startswith("| failed | latency") for line in lines)


def test_layers_without_a_time_are_no_saving(
    tmp_path: Path, diff: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = write_engine(tmp_path / "a")
    holes = write_engine(tmp_path / "b")
    write_profile(holes / "net.profile.json", [("conv1", 1.0), ("fc", 0.5)])
    gates = ["latency_sum_ms > +5%", "any_layer_ms > +20%", "layers > +0"]
    for sides in ((whole, holes), (holes, whole)):
        code, results, err = diff(*sides, gates=gates)
        assert code == 2
        assert [result["state"] for result in results] == ["not judged", "not judged", "passed"]
        assert "1 of 3 layers have no time (b/net)" in err or "(a/net)" in err
    main(["diff", str(whole), str(holes), "--json"])
    headline = json.loads(capsys.readouterr().out)["differences"]["B"]["headline"]
    assert headline.startswith("Incomplete: 1 layer without a time. ")


@pytest.mark.parametrize(
    ("ending", "gate"),
    [
        ("profile", "latency_sum_ms > +5%"),
        ("timing", "latency_p99_ms > +5%"),
        ("timing", "throughput_qps < -5%"),
        ("graph", "layers > +0"),
    ],
)
def test_a_damaged_file_lets_no_gate_pass(
    tmp_path: Path, diff: Run, capsys: pytest.CaptureFixture[str], ending: str, gate: str
) -> None:
    sides = [write_engine(tmp_path / name, rows=steady_rows(1)) for name in ("a", "b")]
    file = sides[1] / f"net.{ending}.json"
    content = file.read_text(encoding="utf-8")
    file.write_text(content[: len(content) // 2], encoding="utf-8")
    for first, second in (sides, reversed(sides)):
        code, results, err = diff(first, second, gates=[gate])
        assert (code, results[0]["state"]) == (2, "not judged")
        assert f"error: {file}" in err
        assert results[0]["note"] == f"damaged file: {file.name} (b/net)"
    for output in ("text", "md", "html", "json"):
        main(["diff", *map(str, sides), "--format", output])
        assert file.name.replace(".", "\\.") in (out := capsys.readouterr().out) or file.name in out


def test_batches_that_differ_are_said_and_times_are_per_sample(
    tmp_path: Path, diff: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    one = write_engine(tmp_path / "one", rows=steady_rows(1), shape=(1, 8, 4, 4))
    many = write_engine(tmp_path / "many", rows=steady_rows(2, 3.0), shape=(4, 8, 4, 4))
    code, (result,), err = diff(one, many, gates=["latency_median_ms > +5%"])
    assert (code, result["state"]) == (2, "not judged")
    assert "batch 4 against 1: add --per-sample" in err
    assert "--per-sample" in err
    for option, state in (
        ("--per-sample", "passed"),
        ("--per-inference", "failed"),
    ):
        assert diff(one, many, option, gates=["latency_median_ms > +5%"])[1][0]["state"] == state
    main(["diff", str(one), str(many), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["is_per_sample"]
    assert not document["is_unit_stated"]
    assert document["engines"][1]["latency_sum_ms"] == pytest.approx(3.5 / 4)
    assert document["differences"]["B"]["headline"].startswith("Batch 4 against 1; times are per sample. ")


def test_gates_on_layers(tmp_path: Path, diff: Run) -> None:
    before = write_engine(tmp_path / "a", {"/block1/conv1": 1.0, "/block1/conv2": 2.0, "/block2/fc [1]": 0.5})
    after = write_engine(tmp_path / "b", {"/block1/conv1": 1.0, "/block1/conv2": 2.5, "/block2/fc [1]": 0.4})
    gates = {
        "any_layer_ms > +20%": "failed",
        "any_layer_ms > +30%": "passed",
        "any_layer_ms < -15%": "failed",
        "any_layer_ms > 2.4": "failed",
        "any_layer_ms.gemm > +20%": "passed",
        "layer_ms./block1/conv1 > +0": "passed",
        "layer_ms.'/block2/fc [1]' < -15%": "failed",
        'layer_ms."/block1/*" > +0.4': "failed",
        "layer_ms./block3/conv1 > +0": "not judged",
    }
    code, results, err = diff(before, after, gates=list(gates))
    assert code == 2
    assert {result["gate"]: result["state"] for result in results} == gates
    assert "did you mean" in err
    worst = next(result for result in results if result["gate"] == "any_layer_ms > +20%")
    assert "/block1/conv2" in worst["why"]
    assert (worst["value"], worst["baseline"]) == (2.5, 2.0)


def test_a_gate_on_a_layer_needs_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = str(write_engine(tmp_path / "a"))
    assert main(["diff", engine, engine, "--fail-on", "layer_ms > +5%"]) == 2
    assert "layer_ms.LAYER" in capsys.readouterr().err
    assert main(["diff", engine, engine, "--fail-on", "layers.conv > 0"]) == 2
    assert "did you mean convolution?" in capsys.readouterr().err


def test_counts_and_sums_are_those_of_the_tables(artifacts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = artifacts / "trex" / "resnet-A100"
    sides = [str(folder / name) for name in ("fp16", "qat")]
    main(["diff", *sides, "--json"])
    document = json.loads(capsys.readouterr().out)
    rows = [(row["precision"], row, "layers") for row in document["by_precision"]]
    rows += [(row["kind"], row, "times alone") for row in document["by_kind"]]
    assert {"noop", "INT8"} <= {name for name, *_ in rows}
    options = []
    for name, row, _ in rows:
        options += ["--fail-on", f"layers.{name.casefold()} != {row['b_layers']}"]
        options += ["--fail-on", f"latency_sum_ms.{name.casefold()} != {row['b_latency_ms']!r}"]
    main(["diff", *sides, *options, "--json"])
    gates = json.loads(capsys.readouterr().out)["gates"]
    for (name, row, what), counted, summed in zip(rows, gates[::2], gates[1::2], strict=True):
        assert counted["state"] == "passed" or what != "layers", name
        assert summed["value"] == pytest.approx(row["b_latency_ms"]), name


def test_gates_on_lint_findings(artifacts: Path, diff: Run, capsys: pytest.CaptureFixture[str]) -> None:
    folder = artifacts / "trex" / "resnet-A100"
    sides = [folder / name for name in ("fp16", "qat")]
    main(["lint", str(sides[1]), "--json"])
    findings = json.loads(capsys.readouterr().out)["engines"][0]["findings"]
    rule = findings[0]["rule"]["id"] if isinstance(findings[0]["rule"], dict) else findings[0]["rule"]
    _, results, _ = diff(
        *sides, gates=["findings > +1000", f"findings.{rule} > 1000", "findings.warning > 1000"]
    )
    assert results[0]["value"] == len(findings)
    assert results[1]["value"] == sum(rule in str(finding["rule"]) for finding in findings)
    assert main(["diff", *map(str, sides), "--fail-on", "findings.NOPE > 1"]) == 2
    assert "NOPE" in capsys.readouterr().err


def test_gates_on_the_matched_share(tmp_path: Path, diff: Run) -> None:
    before = write_engine(tmp_path / "a", {"conv1": 1.0, "conv2": 2.0})
    after = write_engine(tmp_path / "b", {"conv1": 1.0, "conv2": 2.0, "extra": 1.0})
    _, (result, loose), _ = diff(before, after, gates=["matched_pct < 90", "matched_pct < 70"])
    assert (result["state"], loose["state"]) == ("failed", "passed")
    assert result["value"] == pytest.approx(75.0)
