"""`trex-tui history`: models, order, planted changes with their causes, gates, bisection."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY
from trex_tui.old.analysis.gates import GateError
from trex_tui.old.cli import main
from trex_tui.old.fleet.git_history import write_commits
from trex_tui.old.fleet.history_gates import parse_history_gate

sys.path.insert(0, str(REPOSITORY / "scripts"))

from samples.builds import plant_kernel, plant_lost_fusion, write_builds

SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
ALEXNET = SAMPLES / "alexnet"
ROWS = 200
"""Timing rows of a build where their number does not matter: the sample's 2,000 take ten times as long to write and read."""


def read(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    code = main(["history", *arguments, "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {}, err


@pytest.mark.parametrize("pct", [2.0, 5.0])
def test_a_planted_latency_is_found(pct: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_builds(tmp_path, 12, lambda number: 1.0 + pct / 100.0 * (number >= 8))
    code, document, _ = read(capsys, str(folder), "--key", "path")
    (history,) = document["histories"]
    assert code == 0
    assert [row["number"] for row in history["builds"]] == list(range(1, 13))
    assert [row["build"] for row in history["builds"]][8:10] == [
        "build-9/alexnet_fp16",
        "build-10/alexnet_fp16",
    ]
    medians = [row for row in history["changes"] if row["measure"] == "latency_median_ms"]
    assert [row["number"] for row in medians] == [8]
    assert medians[0]["difference_pct"] == pytest.approx(pct, abs=0.5)
    assert medians[0]["scope"] == "between builds"


def test_a_planted_kernel_is_the_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_builds(tmp_path, 10, lambda number: 1.0 + 0.04 * (number >= 6), plant_kernel(6), rows=ROWS)
    code, document, _ = read(capsys, str(folder), "--key", "path", "--bisect", "1", "10")
    (history,) = document["histories"]
    assert code == 0
    assert {row["number"] for row in history["causes"]} == {6}
    assert {row["cause"] for row in history["causes"]} == {"kernel"}
    assert [(row["number"], row["cause"]) for row in history["first_builds"]] == [(6, "kernel")]


def test_a_lost_layer_is_an_exact_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_builds(tmp_path, 7, lambda _: 1.0, plant_lost_fusion(4), rows=ROWS)
    _, document, _ = read(capsys, str(folder), "--key", "path")
    (history,) = document["histories"]
    layers = [row for row in history["changes"] if row["measure"] == "layers"]
    assert [(row["number"], row["level_before"], row["level_after"]) for row in layers] == [(4, 14, 15)]
    assert history["causes"]


def test_noise_alone_is_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, document, _ = read(capsys, str(write_builds(tmp_path, 9, lambda _: 1.0, rows=ROWS)), "--key", "path")
    (history,) = document["histories"]
    assert not history["changes"]


def test_builds_without_dates_are_in_the_order_of_the_paths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_builds(tmp_path, 12, lambda number: 1.05 if number >= 9 else 1.0, rows=50)
    _, document, _ = read(capsys, str(folder))
    (history,) = document["histories"]
    assert [row["build"].split("/")[0] for row in history["builds"]] == [f"build-{n}" for n in range(1, 13)]
    assert {row["number"] for row in history["changes"]} == {9}
    assert len(history["undated"]) == 12
    _, document, _ = read(capsys, str(folder / "build-10"), str(folder / "build-2"))
    assert [row["build"].split("/")[0] for row in document["histories"][0]["builds"]] == [
        *("build-10", "build-2")
    ]


def test_a_copy_of_a_set_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_builds(tmp_path, 7, lambda _: 1.0, rows=50)
    _, document, _ = read(capsys, str(folder))
    for number in (8, 9):
        shutil.copytree(folder / "build-2", folder / f"build-{number}")
    _, copied, _ = read(capsys, str(folder))
    (before,), (after,) = document["histories"], copied["histories"]
    assert after["copies"] == [{"number": 8, "copy_of": 2}, {"number": 9, "copy_of": 2}]
    assert before["levels"] == after["levels"], "copies tell nothing about the noise"
    assert main(["history", str(folder)]) == 0
    assert "count once: 8 of 2, 9 of 2" in capsys.readouterr().out


def test_a_date_in_the_future_is_a_caution(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dates = {"a": "2099-01-01T00:00:00+00:00", "b": "2025-03-01T09:00:00+09:00", "c": "2025-03-01T01:00:00Z"}
    for name, date in dates.items():
        shutil.copytree(ALEXNET, tmp_path / name)
        manifest = tmp_path / name / "alexnet_fp16.capture.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "started": date}))
    _, document, _ = read(capsys, str(tmp_path))
    assert [row["build"][0] for row in document["histories"][0]["builds"]] == ["b", "c", "a"]
    assert main(["engines", str(tmp_path), "--format", "json", "--no-cache"]) == 0
    cautions = [row["cautions"] for row in json.loads(capsys.readouterr().out)["rows"]]
    assert ["future (2099-01-01)" in " ".join(texts) for texts in cautions] == [True, False, False]


def test_the_first_build_of_a_model_may_pass(capsys: pytest.CaptureFixture[str]) -> None:
    gate = ("--fail-on", "latency_p99_ms > last1 + 3%")
    for options, expected in ((gate, 2), ((*gate, "--allow-first"), 0)):
        code, document, err = read(capsys, str(ALEXNET), *options)
        assert code == expected, err
        assert document["histories"][0]["gates"][0]["state"] == "not judged"
        assert "needs 1 earlier build" in err
    energy = ("--fail-on", "energy_per_inference_j > last1 + 3%", "--allow-first")
    code, _, err = read(capsys, str(ALEXNET), str(SAMPLES / "alexnet_fp32"), *energy)
    assert (code, "has no energy_per_inference_j" in err) == (2, True)


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight builds, the last two 10 % slower. Not to be changed."""
    folder = tmp_path_factory.mktemp("slower")
    return write_builds(folder, 8, lambda number: 1.1 if number >= 7 else 1.0, rows=ROWS)


@pytest.mark.parametrize(
    ("gate", "code", "words"),
    [
        ("latency_p99_ms > last5 + 3%", 1, "failed"),
        ("latency_p99_ms > last5 + 30%", 0, ""),
        ("latency_median_ms > +3%", 0, ""),
        ("latency_median_ms > 0.1", 1, "failed"),
        ("layers > last3 + 0", 0, ""),
        ("latency_p99_ms > last50 + 3%", 2, "not judged"),
        ("energy_per_inference_j > last1 + 3%", 2, "not judged"),
        ("latency_p99_ms > last0 + 3%", 2, "last1 or more"),
        ("latency > last5 + 3%", 2, "unknown metric"),
    ],
)
def test_gates(gate: str, code: int, words: str, slower: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ended, _, err = read(capsys, str(slower), "--key", "path", "--fail-on", gate)
    assert ended == code, err
    assert words in err


def test_a_gate_keeps_its_text() -> None:
    given = parse_history_gate("latency_p99_ms > last5 + 3%")
    assert (given.gate.text, given.gate.number, given.gate.is_percent, given.last) == (
        "latency_p99_ms > last5 + 3%",
        3.0,
        True,
        5,
    )
    with pytest.raises(GateError):
        parse_history_gate("last5 + 3%")


def test_models_are_never_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    _, document, _ = read(capsys, str(SAMPLES))
    names = [{row["build"] for row in history["builds"]} for history in document["histories"]]
    assert {"alexnet_fp16"} in names
    assert {"alexnet_fp32"} in names, "another precision"
    assert {"squeezenet_fp16"} in names


def test_two_builds_are_judged_within_their_runs(capsys: pytest.CaptureFixture[str]) -> None:
    _, document, _ = read(capsys, str(ALEXNET), str(SAMPLES / "alexnet_fp32"))
    (history,) = document["histories"]
    (median,) = [row for row in history["changes"] if row["measure"] == "latency_median_ms"]
    assert (median["scope"], median["is_confirmed"]) == ("within one run", False)
    assert "precision" in {row["cause"] for row in history["causes"]}


def test_a_broken_set_does_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_builds(tmp_path, 4, lambda _: 1.0, rows=ROWS)
    (folder / "build-2" / "alexnet_fp16.graph.json").write_text("{")
    code, document, err = read(capsys, str(folder), "--key", "path")
    assert code == 0
    assert "alexnet_fp16.graph.json" in err
    assert any("alexnet_fp16.graph.json" in note["file"] for note in document["diagnostics"])
    assert sum(len(history["builds"]) for history in document["histories"]) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--key", "date"), "use --key path"),
        (("--key", "tensorrt"), "use --key path"),
        (("--key", "path", "--bisect", "3", "1"), "GOOD is not before BAD"),
        (("--key", "path", "--bisect", "1", "9"), "a number from 1 to 3"),
    ],
)
def test_errors(
    arguments: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = read(capsys, str(write_builds(tmp_path, 3, lambda _: 1.0, rows=ROWS)), *arguments)
    assert code == 2
    assert words in err


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_formats(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_builds(tmp_path, 8, lambda number: 1.0 + 0.1 * (number >= 5), rows=ROWS)
    shutil.copytree(SAMPLES / "names_only", folder / "names")
    assert main(["history", str(folder), "--format", form, "--fail-on", "latency_p99_ms > 9"]) == 2
    out = capsys.readouterr().out
    assert "median" in out
    assert "not judged" in out


def test_spread_counts_tactics_and_ranges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = []

    def edit(number: int, graph: Any, profile: Any) -> None:
        layer = next(layer for layer in graph["Layers"] if "TacticName" in layer)
        changed.append(layer["Name"])
        if number % 2:
            layer["TacticName"] = "sm80_other_kernel"
            for row in profile:
                if row.get("name") == layer["Name"]:
                    row.update(averageMs=row["averageMs"] + 0.5, medianMs=row["medianMs"] + 0.5)

    folder = write_builds(tmp_path, 4, lambda _: 1.0, edit, rows=ROWS)
    _, document, _ = read(capsys, str(folder), "--key", "path", "--spread")
    spread = document["histories"][0]["spread"]
    first = spread["layers"][0]
    assert spread["changing_layers"] == 1
    assert (first["block"], first["tactics"], first["builds"]) == (changed[0], 2, 4)
    assert first["range_ms"] == pytest.approx(0.5)
    assert [row["tactics"] for row in spread["layers"][1:]].count(2) == 0
    assert any("--timingCacheFile" in sentence for sentence in spread["advice"])


def test_near_ties_come_from_the_build_logs(capsys: pytest.CaptureFixture[str]) -> None:
    _, document, _ = read(capsys, str(ALEXNET), str(SAMPLES / "alexnet_fp32"), "--spread")
    spread = document["histories"][0]["spread"]
    assert spread["build_logs"] >= 1
    ties = [row["near_tie_pct"] for row in spread["layers"] if row["near_tie_pct"] is not None]
    assert len(ties) == spread["near_ties"]
    assert all(0 <= tie < 2 for tie in ties)


def test_directories_of_variants_are_histories_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builds = write_builds(tmp_path / "made", 3, lambda _: 1.0, rows=ROWS)
    for number in range(1, 4):
        for variant in ("fp16", "best"):
            shutil.copytree(builds / f"build-{number}", tmp_path / "nightly" / str(number) / variant)
    _, document, _ = read(capsys, str(tmp_path / "nightly"), "--key", "path")
    names = [[row["build"] for row in history["builds"]] for history in document["histories"]]
    assert sorted(map(len, names)) == [3, 3]
    assert all(len({name.split("/")[1] for name in history}) == 1 for history in names), names


@pytest.mark.parametrize(
    "places",
    [
        ("fp16/net", "int8/net", "best/net"),
        ("fp16/run/net", "int8/run/net", "best/run/net"),
        ("net_fp16", "net_int8", "net-best"),
    ],
)
def test_one_set_per_precision_is_no_series_unless_named_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], places: tuple[str, ...]
) -> None:
    builds = write_builds(tmp_path / "made", 1, lambda _: 1.0, rows=ROWS)
    for place in places:
        target = tmp_path / "tree" / place
        for file in (builds / "build-1").iterdir():
            kind = file.name.partition(".")[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target.parent / f"{target.name}.{kind}")
    sizes = [len(history["builds"]) for history in read(capsys, str(tmp_path / "tree"))[1]["histories"]]
    assert sizes == [1, 1, 1]
    files = [
        str(next((tmp_path / "tree" / place).parent.glob(f"{Path(place).name}.graph.json")))
        for place in places
    ]
    sizes = [len(history["builds"]) for history in read(capsys, *files)[1]["histories"]]
    assert sizes == [3]


def git(repository: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(repository), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A commit per build, and after each a commit that changes another file below the same path. Not to be changed."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("committed")
    builds = write_builds(folder / "made", 8, lambda number: 1.0 + 0.05 * (number >= 6), rows=ROWS)
    root = folder / "repo"
    root.mkdir()
    git(root, "init", "-q")
    for number in range(1, 9):
        shutil.copytree(builds / f"build-{number}", root / "perf" / "-net *", dirs_exist_ok=True)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", f"build {number}")
        (root / "perf" / "notes.md").write_text(str(number))
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "notes")
    return root


@pytest.fixture
def repository(committed: Path, tmp_path: Path) -> Path:
    """A copy of `committed` for one test."""
    return shutil.copytree(committed, tmp_path / "repo")


def test_commits_are_builds(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(path for path in repository.rglob("*") if ".git" not in path.parts)
    for place in (f"{repository}:perf", f"{repository}:perf/-net *", str(repository)):
        code, document, err = read(capsys, "--git", place)
        assert code == 0, err
        (history,) = document["histories"]
        assert len(history["builds"]) == 8, "a commit that does not change the set is no build"
        medians = [row for row in history["changes"] if row["measure"] == "latency_median_ms"]
        assert [row["number"] for row in medians] == [6]
    assert sorted(path for path in repository.rglob("*") if ".git" not in path.parts) == before


def test_links_in_commits_are_not_followed(repository: Path, tmp_path: Path) -> None:
    (repository / "perf" / "link.json").symlink_to("/etc/passwd")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "link")
    commits = write_commits(repository, "perf", tmp_path / "out")
    assert not [file for commit in commits for file in commit.blobs if file.name == "link.json"]
    assert not list((tmp_path / "out").rglob("link.json"))


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("{root}:absent", "no commit of"),
        ("{root}/perf:x", "no commit of"),
        ("nowhere:x", "no such directory"),
        ("{root}/../broken:x", "is no git repository, or a damaged one"),
        ("{root}/../fresh:x", "has no commit; commit the sets first"),
    ],
)
def test_errors_of_git(place: str, words: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository.parent / "broken" / ".git").mkdir(parents=True)
    git(repository.parent, "init", "-q", "fresh")
    code, _, err = read(capsys, "--git", place.format(root=repository))
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


def test_key_git_reads_the_commits_of_a_directory(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, expected, _ = read(capsys, "--git", f"{repository}:perf")
    for path in (str(repository / "perf"), "."):
        monkeypatch.chdir(repository / "perf")
        code, document, err = read(capsys, path, "--key", "git")
        assert code == 0, err
        assert document == expected


def test_key_git_needs_one_directory_of_a_repository(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, words in (
        ([str(tmp_path / "elsewhere")], "is no directory of a git repository"),
        ([str(repository), str(repository)], "2 paths given"),
    ):
        code, _, err = read(capsys, *arguments, "--key", "git")
        assert code == 2
        assert words in err


def test_git_takes_no_paths(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = read(capsys, str(repository), "--git", str(repository))
    assert (code, "cannot be combined" in err) == (2, True)


def test_a_kernel_without_effect_on_the_latency_is_a_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(number: int, graph: Any, _: Any) -> None:
        if number in (2, 6, 7, 8):
            layer = next(layer for layer in graph["Layers"] if "TacticName" in layer)
            layer["TacticName"] = "sm80_other_kernel"

    _, document, _ = read(capsys, str(write_builds(tmp_path, 8, lambda _: 1.0, edit)), "--key", "path")
    (history,) = document["histories"]
    assert [row["number"] for row in history["builds"] if row["changed"]] == [6]
    assert {(row["number"], row["cause"]) for row in history["causes"]} == {(6, "tactic")}
