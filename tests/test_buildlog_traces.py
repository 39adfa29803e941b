"""Real logs against an independent count of their lines: tactics, formats, passes, memory, results."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from log_kit import BUILD_10, BUILD_84, BUILD_86, LOGS, PROFILE_10, RUN_10, read
from trex_tui.buildlog.reader import read_log
from trex_tui.buildlog.tactics import RunnerTrial
from trex_tui.buildlog.trace import BuildTrace

BUILDS = (BUILD_84, BUILD_86, BUILD_10)
pytestmark = pytest.mark.skipif(not LOGS.is_dir(), reason=f"no real logs at {LOGS}")
builds = pytest.mark.parametrize("path", BUILDS, ids=lambda path: path.stem.partition("_")[0])


@cache
def lines_of(path: Path) -> list[str]:
    """Names hold characters at which `splitlines` breaks."""
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def count(path: Path, pattern: str) -> int:
    return sum(bool(re.search(pattern, line)) for line in lines_of(path))


def trials_of(trace: BuildTrace) -> list[RunnerTrial]:
    trials = [trial for tuning in trace.tunings for trial in tuning.trials()]
    return trials + [trial for cost in trace.reformat_costs for trial in cost.combination.runners]


@builds
def test_each_tactic_is_its_line(path: Path) -> None:
    printed = [
        (match[2], match[1] or None, float(match[3]))
        for line in lines_of(path)
        if (match := re.search(r"\] Tactic(?: Name: (.*) Tactic|): (0x[0-9a-f]+) Time: (\S+)$", line))
    ]
    trials = sorted(trials_of(read_log(path)), key=lambda trial: trial.line)
    found = [tuple(tactic) for trial in trials for tactic in trial.tactics]
    if path is BUILD_84:  # there the name is on the line before
        names = [
            line.split("Set Tactic Name: ")[1].split()[0]
            for line in lines_of(path)
            if " Set Tactic Name: " in line
        ]
        # The builder sets the names of two tactics again when it makes the engine, and does not time them.
        assert [name for _, name, _ in found if name] == names[:-2]
        found = [(number, None, time) for number, _, time in found]
    assert found == printed
    rows = count(path, r"\(foreignNode\) +\d+, 0\.")
    assert sum(len(table.tactics) for trial in trials for table in trial.myelin) == rows
    assert sum(trial.tactic_count for trial in trials) == len(printed) + rows > 300


@builds
def test_layers_formats_and_choices(path: Path) -> None:
    trace, text = read_log(path), "\n".join(lines_of(path))
    combinations = [part for tuning in trace.tunings for part in tuning.combinations]
    assert sum(not part.is_cached for part in combinations) == count(path, "Autotuning format combination: ")
    cached = re.findall(r"\[TRT\] (.+) \[[^\]]+\] got cached result", text)
    assert trace.cache.cached_results == len(cached)
    assert sum(part.is_cached for part in combinations) == sum(
        "Optimizer Reformat" not in name for name in cached
    )
    chosen = [part.chosen_runner for part in combinations if part.chosen_runner and not part.is_cached]
    assert chosen == re.findall(r"Chose Runner Type: (\S+) Tactic", text)
    for part in combinations:
        trial = next((trial for trial in part.runners if trial.runner == part.chosen_runner), None)
        if trial is not None and trial.fastest_ms is not None:
            assert part.chosen_ms == trial.fastest_ms
    heads = {
        line.partition("Computing costs for")[2].strip()
        for line in lines_of(path)
        if "= Computing costs" in line
    }
    names = {tuning.name for tuning in trace.tunings}
    assert heads - {""} <= names


@builds
def test_runners(path: Path) -> None:
    trials, text = trials_of(read_log(path)), "\n".join(lines_of(path))
    assert len(trials) == count(path, "Timing Runner: ") + count(path, ": No valid tactics for ")
    outcomes = Counter(trial.outcome for trial in trials)
    assert outcomes["no valid tactic"] == count(
        path, "has no valid tactics for this config|: No valid tactics for "
    )
    assert not outcomes["unfinished"]
    stated = sum(map(float, re.findall(r"profiling completed in (\S+) seconds", text)))
    assert sum(trial.seconds or 0.0 for trial in trials) == pytest.approx(stated)
    for trial in trials:
        if trial.fastest_ms is not None and trial.fastest is not None:
            assert trial.fastest.time_ms == trial.fastest_ms


@builds
def test_what_skipped_tactics_needed(path: Path) -> None:
    printed: list[tuple[int, int, int, int]] = []
    needed = (0, 0)
    for place, line in enumerate(lines_of(path), start=1):
        if match := re.search(r"Exceeded mem budget of (\d+)\. Need (\d+)", line):
            needed = int(match[2]), int(match[1])
        elif match := re.search(r"Tactic: (\S+) skipped\. Scratch requested: (\d+), available: (\d+)", line):
            printed.append((place, int(match[1], 16), int(match[2]), int(match[3])))
        elif match := re.search(r"requested size of (\d+) detected for tactic (\w+)", line):
            assert needed[1] == int(match[1])
            printed.append((place, int(match[2], 16), *needed))
    trace = read_log(path)
    found = [(tactic.line, int(tactic.id or "", 16), tactic[3], tactic[4]) for tactic in trace.skipped]
    assert found == printed
    assert len(found) == {BUILD_84: 2, BUILD_86: 0, BUILD_10: 14}[path]
    assert sorted(trace.skipped) == sorted(skipped for trial in trials_of(trace) for skipped in trial.skipped)


@builds
def test_passes_and_fusions(path: Path) -> None:
    trace = read_log(path)
    printed = re.findall(r"\] (?:After )?([^\]]+): (\d+) layers$", "\n".join(lines_of(path)), re.MULTILINE)
    assert [(part.name, str(part.layers)) for part in trace.passes] == printed
    kinds = Counter(step.kind for step in trace.fusions)
    assert kinds["fused"] == count(path, r"\w+: Fusing .* with ")
    assert kinds["removed"] == count(path, r"\[TRT\] Removing ")
    assert kinds["converted"] == count(path, r"(?:Convert|Swap the) layer type of ")


@builds
def test_the_builders_list(path: Path) -> None:
    printed = [
        (match[2], match[1], match[3])
        for line in lines_of(path)
        if (match := re.match(r"Layer\((\w+)\): (.*), Tactic: (\S+), ", line))
    ]
    found = read_log(path).layer_list
    assert found is not None
    assert [(layer.name, layer.layer_type, layer.raw["TacticValue"]) for layer in found.layers] == printed


def test_backend_strategies() -> None:
    trace = read_log(BUILD_10)
    assert [tuple(strategy)[1:] for strategy in trace.strategies] == [
        (4, "initial", 0.3344),
        (3, "chosen", 0.310688),
        (2, "skipped", 0.32816),
    ]
    assert trace.winner == 3
    assert {tuning.strategy for tuning in trace.tunings} == {4, 3, 2}
    assert trace.streams.disabled_because == "cannot find an opportunity to leverage it"
    assert trace.non_conforming == ("{ForeignNode[node_conv2d...node_relu]}",)
    assert (read_log(BUILD_86).winner, read_log(BUILD_84).winner, read_log(BUILD_84).strategies) == (
        2,
        None,
        (),
    )


def test_phases() -> None:
    for path, built, generated in (
        (BUILD_84, 2.94838, [2.07813]),
        (BUILD_86, 9.55249, [5.7269]),
        (BUILD_10, 24.4854, [15.4838, 7.75278, 0.43392]),
    ):
        phases = read_log(path).phases
        assert [phase.seconds for phase in phases if phase.kind == "engine build"] == [built]
        assert [phase.seconds for phase in phases if phase.kind == "engine generation"] == generated
    compiled = [phase for phase in read_log(BUILD_10).phases if phase.kind == "subgraph compilation"]
    assert len(compiled) == count(BUILD_10, "Subgraph compilation completed")
    assert compiled[0].layer == "{ForeignNode[node_linear]}"


def test_memory_and_cache() -> None:
    for path in sorted(LOGS.glob("*.log")):
        trace = read_log(path)
        assert len(trace.memory) == count(path, r"\[MemUsageChange\]|\[MemUsageSnapshot\]")
    old, new = read_log(BUILD_84), read_log(BUILD_10)
    assert (old.cache.mode, old.cache.entries, old.cache.hits) == ("local", 72, 0)
    assert (new.cache.mode, new.cache.entries) == ("global", 170)
    assert new.cache.unreadable == "model-trained.TimingCache"
    totals = {total.strategy: total for total in new.memory_totals}[3]
    assert (totals.weights_bytes, totals.scratch_bytes) == (6551296, 133120)
    assert [point.is_managed for point in old.memory if "TensorRT-managed" in point.event] == [True] * 3
    loaded = read_log(RUN_10).context
    assert loaded.context_bytes == pytest.approx(1.91406 * 2**20, abs=1)
    assert (loaded.activation_bytes, loaded.device_persistent_bytes) == (2007040, 0)


def test_warnings_are_counted() -> None:
    for path in sorted(LOGS.glob("*.log")):
        printed = count(path, r"^\[[^\]]*\] \[[WEF]\] (?!  )")
        assert sum(read_log(path).count_messages().values()) == printed, path.name


def test_profile_table() -> None:
    table = read_log(PROFILE_10).profile
    assert table is not None
    assert (table.iterations, len(table.rows), table.decimals) == (18362, 15, 4)
    name = "Reformatting CopyNode for Input Tensor 0 to {ForeignNode[node_conv2d_1...node_relu_1]}"
    assert tuple(table.rows[3]) == (name, 101.96, 0.0056, 0.0044, 6.7)
    assert table.total is not None
    assert table.total.total_ms == pytest.approx(sum(row.total_ms or 0.0 for row in table.rows), abs=0.1)


def test_a_cut_log_keeps_what_was_before(tmp_path: Path) -> None:
    data = BUILD_86.read_bytes()
    whole = read_log(BUILD_86)
    for size in range(0, len(data), 23_456):
        trace = read(tmp_path / "a.log", data[:size])
        finished = data[:size][: data[:size].rfind(b"\n") + 1]
        timed = sum(b"] Tactic" in line and b" Time: " in line for line in finished.splitlines())
        assert sum(trial.tactic_count for trial in trials_of(trace)) == timed
        for name in ("phases", "memory", "reformats", "bindings"):
            part = getattr(trace, name)
            assert part == getattr(whole, name)[: len(part)]
        if trace.layer_list is not None and trace.layer_list.form == "builder":
            assert len(trace.layer_list.layers) == finished.count(b"\nLayer(")
