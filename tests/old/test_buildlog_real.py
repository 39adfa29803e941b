"""Real logs of 8.4, 8.6 and 10.16, against counts made by plain searching."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from helpers import ARTIFACTS
from trex_tui.old.analysis.build import layer_choices, near_ties, phase_shares
from trex_tui.old.buildlog import BuildTrace, read_build_log
from trex_tui.old.buildlog.build_trace import DumpForm, FusionKind, PhaseKind, StrategyVerdict
from trex_tui.old.buildlog.layer_tuning import TuningOutcome, parse_id

LOGS = ARTIFACTS / "logs"
V84 = "trt8.4.1_GTX1070_build_verbose_fp16_dynshape"
V86 = "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference"
V10 = "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape"
BUILDS = (V84, V86, V10)
RUN_86 = "trt8.6.0_RTX3090_loadEngine_dumpLayerInfo_verbose"
RUN_10 = "trt10.16.1_H100_loadEngine_cudagraph_verbose"
PROFILE_10 = "trt10.16.1_H100_dumpProfile_noSeparate"
DUMP_10 = "trt10.16.1_H100_skipInference_dumpLayerInfo_detailed"

pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason=f"no real logs at {LOGS}")


def path_of(name: str) -> Path:
    return LOGS / f"{name}.log"


def text_of(name: str) -> list[str]:
    return path_of(name).read_text(encoding="utf-8", errors="replace").splitlines()


def count(name: str, pattern: str) -> int:
    return sum(bool(re.search(pattern, line)) for line in text_of(name))


@pytest.fixture(scope="module")
def traces() -> dict[str, BuildTrace]:
    return {path.stem: read_build_log(path) for path in sorted(LOGS.glob("*.log"))}


@pytest.mark.parametrize("name", BUILDS)
def test_tactics_are_as_many_as_lines_that_time_one(traces: dict[str, BuildTrace], name: str) -> None:
    trace = traces[name]
    found = sum(one.tactic_count for one in trace.tunings)
    found += sum(one.combination.tactic_count for one in trace.reformat_costs)
    own = count(name, r"\] Tactic(?: Name: .*|): 0x[0-9a-f]+ Time: ")
    rows = count(name, r"\(foreignNode\) +\d+, 0\.")
    assert found == own + rows > 300
    assert sum(one.myelin_count for one in trace.tunings) == rows
    operators = [
        table.operator
        for one in trace.tunings
        for trial in one.trials()
        for table in sorted(trial.myelin, key=lambda table: table.line)
    ]
    assert operators == re.findall(r"Autotuning op (.*?): \[ONNX", "\n".join(text_of(name)))


@pytest.mark.parametrize("name", BUILDS)
def test_each_tactic_is_the_line_it_stands_on(traces: dict[str, BuildTrace], name: str) -> None:
    printed = [
        (parse_id(match[2]), match[1] or None, float(match[3]))
        for line in text_of(name)
        if (match := re.search(r"\] Tactic(?: Name: (.*) Tactic|): (0x[0-9a-f]+) Time: (\S+)$", line))
    ]
    trace = traces[name]
    trials = [one for tuning in trace.tunings for one in tuning.trials()]
    trials += [one for cost in trace.reformat_costs for one in cost.combination.runners]
    found = [
        (one.id, one.name, one.time_ms)
        for trial in sorted(trials, key=lambda trial: trial.line)
        for one in trial.tactics
    ]
    if name == V84:  # there the name stands on the line before
        names = [
            line.split("Set Tactic Name: ")[1].split()[0]
            for line in text_of(name)
            if " Set Tactic Name: " in line
        ]
        # The builder sets the names of two tactics again when it makes the engine, and does not time them.
        assert [one[1] for one in found if one[1]] == names[:-2]
        found = [(number, None, time) for number, _, time in found]
    assert found == printed


@pytest.mark.parametrize("name", BUILDS)
def test_layers_formats_runners_and_choices(traces: dict[str, BuildTrace], name: str) -> None:
    trace = traces[name]
    heads = [
        line.partition("Computing costs for")[2].strip()
        for line in text_of(name)
        if "= Computing costs for" in line
    ]
    cached = [
        match[1]
        for line in text_of(name)
        if (match := re.search(r"\[TRT\] (.+) \[[^\]]+\] got cached result", line))
        and "Optimizer Reformat" not in match[1]
    ]
    headless = {one for one in cached if one not in heads}
    tuned = Counter(one.name for one in trace.tunings)
    assert set(tuned) == ({*heads, *cached} if name == V10 else set(tuned))
    assert sum(tuned.values()) >= len(heads) + len(headless)
    combinations = [one for tuning in trace.tunings for one in tuning.combinations]
    assert sum(not one.is_cached for one in combinations) == count(name, r"Autotuning format combination: ")
    assert sum(one.is_cached for one in combinations) == len(cached)
    assert trace.cache.cached_results == count(name, "got cached result")
    chosen = [one.chosen_runner for one in combinations if one.chosen_runner and not one.is_cached]
    assert chosen == re.findall(r"Chose Runner Type: (\S+) Tactic", "\n".join(text_of(name)))
    for one in combinations:
        if one.chosen_trial is not None and one.chosen_trial.fastest_ms is not None:
            assert one.chosen_ms == one.chosen_trial.fastest_ms
    assert sum(len(one.skipped) for one in trace.tunings) == count(
        name, r" skipped\. Scratch requested|Skipping tactic "
    )


@pytest.mark.parametrize("name", BUILDS)
def test_what_skipped_tactics_needed_and_had(traces: dict[str, BuildTrace], name: str) -> None:
    printed: list[tuple[int, int, int, int]] = []
    needed: tuple[int, int] | None = None
    # Names hold characters at which `splitlines` breaks, and lines are told by number here.
    text = path_of(name).read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.split("\n"), start=1):
        if match := re.search(r"Exceeded mem budget of (\d+)\. Need (\d+)", line):
            needed = int(match[2]), int(match[1])
        elif match := re.search(r"Tactic: (\S+) skipped\. Scratch requested: (\d+), available: (\d+)", line):
            printed.append((number, int(match[1], 16), int(match[2]), int(match[3])))
        elif match := re.search(r"requested size of (\d+) detected for tactic (\w+)", line):
            assert needed is not None
            assert needed[1] == int(match[1])
            printed.append((number, int(match[2], 16), *needed))
    trace = traces[name]
    costs = [trial for cost in trace.reformat_costs for trial in cost.combination.runners]
    skipped = [one for tuning in trace.tunings for one in tuning.skipped]
    skipped += [one for trial in costs for one in trial.skipped]
    found = sorted((one.line, one.id, one.requested_bytes, one.available_bytes) for one in skipped)
    assert found == printed
    assert len(found) == {V84: 2, V86: 0, V10: 14}[name]


@pytest.mark.parametrize("name", BUILDS)
def test_runners(traces: dict[str, BuildTrace], name: str) -> None:
    trace = traces[name]
    trials = [one for tuning in trace.tunings for one in tuning.trials()]
    reformats = [one for cost in trace.reformat_costs for one in cost.combination.runners]
    invalid = count(name, "has no valid tactics for this config|: No valid tactics for ")
    headed = count(name, "Timing Runner: ")
    assert len(trials) + len(reformats) == headed + count(name, ": No valid tactics for ")
    assert sum(one.outcome is TuningOutcome.NO_VALID_TACTIC for one in trials + reformats) == invalid
    assert not [one for one in trials + reformats if one.outcome is TuningOutcome.UNFINISHED]
    stated = [
        float(one) for one in re.findall(r"profiling completed in (\S+) seconds", "\n".join(text_of(name)))
    ]
    total = sum(one.seconds for one in trials + reformats if one.seconds is not None)
    assert total == pytest.approx(sum(stated))
    for one in trials + reformats:
        times = [tactic.time_ms for tactic in one.tactics if tactic.time_ms is not None]
        if one.fastest_ms is not None and times:
            assert min(times) == one.fastest_ms
            assert one.fastest is not None
            assert one.fastest.time_ms == one.fastest_ms


@pytest.mark.parametrize("name", BUILDS)
def test_passes_and_fusions(traces: dict[str, BuildTrace], name: str) -> None:
    trace = traces[name]
    printed = re.findall(r"\] (?:After )?([^\]]+): (\d+) layers$", "\n".join(text_of(name)), re.MULTILINE)
    assert [(one.name, str(one.layers)) for one in trace.passes] == printed
    kinds = Counter(one.kind for one in trace.fusions)
    assert kinds[FusionKind.FUSED] == count(name, r"\w+: Fusing .* with ")
    assert kinds[FusionKind.REMOVED] == count(name, r"\[TRT\] Removing ")
    assert kinds[FusionKind.CONVERTED] == count(name, r"(?:Convert|Swap the) layer type of ")
    assert sum(kinds.values()) == count(name, r"\] Running: ")
    assert all(one.rule for one in trace.fusions)


@pytest.mark.parametrize("name", BUILDS)
def test_the_choice_of_every_layer_is_the_engines(traces: dict[str, BuildTrace], name: str) -> None:
    trace = traces[name]
    printed = [
        (match[2], match[1], parse_id(match[3]))
        for line in text_of(name)
        if (match := re.match(r"Layer\((\w+)\): (.*), Tactic: (\S+), ", line))
    ]
    assert trace.dump is not None
    assert [(one.name, one.layer_type, one.tactic_id) for one in trace.dump.layers] == printed
    choices = layer_choices(trace)
    assert [one.name for one in choices] == [one[0] for one in printed]
    for one in choices:
        if one.name.startswith("Reformatting CopyNode"):
            assert one.reformat is not None
            assert one.reformat.cost_ms is not None
            continue
        assert one.agrees is True, one.name
        assert one.combination is not None
        assert one.combination.chosen_id == one.tactic_id
        assert one.layer_type in ("NoOp", one.combination.chosen_runner)
        assert one.chosen is not None
        assert one.chosen.time_ms > 0
    assert len(trace.reformats) >= sum(one.reformat is not None for one in choices) > 0


def test_formats_that_went_into_the_engine(traces: dict[str, BuildTrace]) -> None:
    choices = {one.name: one for one in layer_choices(traces[V86])}
    conv = choices["Conv-4 + ReLU-5"]
    assert conv.combination is not None
    assert (conv.combination.text, conv.is_ambiguous) == ("Half(784,1:8,56,4) -> Half(1568,1:8,112,8)", False)
    assert conv.precision is not None
    assert conv.precision.value == "FP16"
    assert conv.other_precision is not None
    assert (conv.other_precision.precision.value, conv.other_precision.time_ms) == ("FP32", 0.017538)
    assert conv.chosen is not None
    assert conv.second is not None
    assert (conv.chosen.time_ms, conv.second.time_ms) == (0.00821867, 0.00897571)
    assert conv.margin_pct == pytest.approx(9.211, abs=1e-3)
    ties = near_ties(choices.values())
    assert [one.name for one in ties] == ["MaxPool-3"]
    # Two types that are as good as each other: lost by a hair.
    pool = choices["MaxPool-6"]
    assert {one.precision.value: one.time_ms for one in pool.precisions} == {
        "FP32": 0.00233364,
        "FP16": 0.00233585,
    }


def test_a_result_out_of_the_cache_has_its_rivals_from_the_strategy_that_timed_it(
    traces: dict[str, BuildTrace],
) -> None:
    pool = next(one for one in layer_choices(traces[V10]) if one.name == "node_max_pool2d")
    assert pool.combination is not None
    assert pool.combination.is_cached
    assert pool.second is not None
    assert pool.second.time_ms == 0.002969


def test_backend_strategies(traces: dict[str, BuildTrace]) -> None:
    trace = traces[V10]
    told = [(one.number, one.verdict, one.estimate) for one in trace.strategies]
    assert told == [
        (4, StrategyVerdict.INITIAL, 0.3344),
        (3, StrategyVerdict.CHOSEN, 0.310688),
        (2, StrategyVerdict.SKIPPED, 0.32816),
    ]
    assert trace.winner == 3
    assert {one.strategy for one in trace.tunings} == {4, 3, 2}
    assert trace.streams.disabled_because == "cannot find an opportunity to leverage it"
    assert trace.non_conforming == ("{ForeignNode[node_conv2d...node_relu]}",)
    assert (traces[V86].winner, traces[V84].winner, traces[V84].strategies) == (2, None, ())


def test_phases_of_all_builds(traces: dict[str, BuildTrace]) -> None:
    for name, built, generated in (
        (V84, 2.94838, [2.07813]),
        (V86, 9.55249, [5.7269]),
        (V10, 24.4854, [15.4838, 7.75278, 0.43392]),
    ):
        shares = phase_shares(traces[name])
        assert [one.seconds for one in shares if one.kind is PhaseKind.ENGINE_BUILD] == [built]
        assert [one.seconds for one in shares if one.kind is PhaseKind.ENGINE_GENERATION] == generated
    compiled = [one for one in traces[V10].phases if one.kind is PhaseKind.SUBGRAPH_COMPILATION]
    assert len(compiled) == count(V10, "Subgraph compilation completed")
    assert compiled[0].layer == "{ForeignNode[node_linear]}"


def test_memory_and_cache(traces: dict[str, BuildTrace]) -> None:
    old, new = traces[V84], traces[V10]
    for trace in traces.values():
        name = trace.path.stem
        assert len(trace.memory) == count(name, r"\[MemUsageChange\]|\[MemUsageSnapshot\]")
        assert len(trace.layer_memory) == count(name, r"\] Layer: .* Scratch Memory")
    assert (old.peak_cpu_mib, old.peak_gpu_mib) == (24, 438)
    assert (old.cache.mode, old.cache.entries, old.cache.hits) == ("local", 72, 0)
    assert (new.cache.mode, new.cache.entries, new.cache.saved_bytes) == ("global", 170, 107579)
    assert new.cache.unreadable == "model-trained.TimingCache"
    totals = {one.strategy: one for one in new.memory_totals}
    assert (totals[3].weights_bytes, totals[3].scratch_bytes, totals[3].silent_layers) == (6551296, 133120, 1)
    assert old.memory_totals[0].activation_bytes == 2408456
    assert [one.is_managed for one in old.memory if "TensorRT-managed" in one.event] == [True] * 3


def test_warnings_are_counted_and_not_lost(traces: dict[str, BuildTrace]) -> None:
    for name, trace in traces.items():
        plain = count(name, r"^\[[^\]]*\] \[[WEF]\] (?!  )")
        assert sum(trace.count_messages().values()) == plain, name
    (unstable,) = traces[RUN_86].messages
    assert unstable.text.startswith(
        "* GPU compute time is unstable, with coefficient of variance = 45.3157%. If not"
    )
    assert traces[RUN_86].performance is not None
    assert len(traces[RUN_86].performance.warnings) == 1


def test_runs(traces: dict[str, BuildTrace]) -> None:
    trace = traces[RUN_10]
    assert trace.performance is not None
    assert trace.performance.values["Throughput"] == "24896.9 qps"
    assert trace.performance.values["Latency"].endswith("percentile(99%) = 0.0390625 ms")
    assert len(trace.performance.explanations) == 8
    assert trace.trace is not None
    assert (len(trace.trace.runs), trace.trace.omitted) == (count(RUN_10, "Average on 10 runs"), 70692)
    assert trace.context_bytes == pytest.approx(1.91406 * 2**20, abs=1)
    assert trace.only_loads
    assert [(one.name, one.is_input, one.dtype) for one in trace.bindings] == [
        ("x", True, "fp32"),
        ("y", False, "fp32"),
        ("z", False, "int64"),
    ]
    old = traces[V84].trace
    assert old is not None
    assert len(old.gpu_ms) == count(V84, "Average on 10 runs") == 1852
    assert old.gpu_ms[0] == 0.153806


def test_profile_table(traces: dict[str, BuildTrace]) -> None:
    table = traces[PROFILE_10].profile
    assert table is not None
    assert (table.iterations, len(table.rows)) == (18362, 15)
    row = table.rows[3]
    assert (
        row.name == "Reformatting CopyNode for Input Tensor 0 to {ForeignNode[node_conv2d_1...node_relu_1]}"
    )
    assert (row.total_ms, row.average_ms, row.median_ms, row.percentage) == (101.96, 0.0056, 0.0044, 6.7)
    assert table.total is not None
    assert table.total.total_ms == pytest.approx(sum(one.total_ms or 0 for one in table.rows), abs=0.1)


def test_dumps_of_the_inspector(traces: dict[str, BuildTrace]) -> None:
    names = traces[RUN_86].dump
    assert names is not None
    assert (names.form, len(names.layers), names.bindings) == (DumpForm.NAMES, 15, ("tensor-0", "tensor-15"))
    detailed = traces[DUMP_10].dump
    assert detailed is not None
    assert (detailed.form, len(detailed.layers), detailed.bindings) == (
        DumpForm.INSPECTOR,
        9,
        ("x", "y", "z"),
    )
    conv = detailed.layers[0].raw
    assert conv["Weights"] == {"Type": "Float", "Count": 800}
    assert (conv["Kernel"], conv["Stride"], conv["Groups"]) == ([5, 5], [1, 1], 1)
    assert conv["TacticName"].startswith("sm")
    assert detailed.layers[4].raw["Metadata"].count("[ONNX Layer: ") == 2


def test_options_are_whole(traces: dict[str, BuildTrace]) -> None:
    build = traces[V10].options.build
    assert build["Memory Pools"].startswith("workspace: 0.000976562 MiB, dlaSRAM: default, ")
    assert build["Tempfile Controls"] == "{ in_memory: allow, temporary: allow }"
    assert build["Input build shape (profile 0)"] == "x=1x1x28x28+4x1x28x28+16x1x28x28"
    assert traces[V10].options.device["Device 0"].startswith('"NVIDIA H100 PCIe" UUID: GPU-')
    assert traces[V84].options.device["Selected Device"] == "NVIDIA GeForce GTX 1070"
    assert len(build) == 50
    onnx = traces[V10].onnx
    assert onnx is not None
    assert (onnx.values["Opset version"], onnx.values["Producer name"]) == ("18", "pytorch")
    assert (traces[V10].network_inputs, traces[V10].network_outputs) == (("x",), ("y", "z"))
