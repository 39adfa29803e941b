"""Nothing writes over what it reads, by whatever name it gets there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_artifacts_archive import BUILD_LOG, packed

from helpers import chain, timing_row, write_graph, write_json, write_profile
from trex_tui.__main__ import main
from trex_tui.old.accuracy.comparison import AccuracyRequest, run_comparison
from trex_tui.old.accuracy.sides import RunOptions
from trex_tui.old.artifacts import archive, find
from trex_tui.old.artifacts.output_files import Inputs, list_inputs
from trex_tui.old.errors import TrexError

REFUSED = "an input file; write elsewhere"


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    archive.forget()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set with an archive, and links to its files."""
    write_graph(tmp_path / "set/net.graph.json", chain("a", "b"), ["t0", "t2"])
    write_profile(tmp_path / "set/net.profile.json", [("a", 1.0), ("b", 2.0)])
    write_json(tmp_path / "set/net.timing.json", [timing_row(300.0 + place, 0.5) for place in range(20)])
    packed(tmp_path / "set/net.tea", **{"net.build.log": BUILD_LOG})
    os.link(tmp_path / "set/net.timing.json", tmp_path / "hard.json")
    (tmp_path / "soft.json").symlink_to("set/net.graph.json")
    (tmp_path / "through").symlink_to("set")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TARGETS = [
    "set/net.profile.json",
    "set/../set/net.profile.json",
    "through/net.profile.json",
    "hard.json",
    "soft.json",
    "set/net.tea",
]


@pytest.mark.parametrize("named", ["set", "set/net.tea", "set/net.graph.json"])
def test_no_command_writes_over_its_input(
    folder: Path, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for target in TARGETS:
        for command in (["export", "--format", "csv"], ["report", "--force", "--format", "md"]):
            assert main([command[0], named, *command[1:], "-o", target]) == 2
            assert capsys.readouterr().err.splitlines()[-1].endswith(REFUSED)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    (folder / "hard.json").unlink()
    assert main(["export", named, "--format", "csv", "-o", "hard.json"]) == 0


@pytest.mark.usefixtures("folder")
def test_which_file_it_is_is_said() -> None:
    inputs = list_inputs(find("set"))
    with pytest.raises(TrexError, match=f"^hard.json is set/net.timing.json, {REFUSED}$"):
        inputs.check(Path("hard.json"))
    with pytest.raises(TrexError, match=f"^set/net.tea is .*set/net.tea, {REFUSED}$"):
        inputs.check(Path("set/net.tea"))
    for other in ("new.json", "set", "no/such", "a\0b"):
        inputs.check(Path(other))
    assert archive.find_archive(Path("set/net.graph.json")) is None


def test_an_archive_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write_graph(folder / "x.graph.json", chain("a"), ["t0", "t1"]).read_text()
    (folder / "x.graph.json").unlink()
    tea = packed(folder / "alone/x.tea", **{"x.graph.json": dump})
    before = tea.read_bytes()
    for arguments in (["export", "--format", "csv"], ["report", "--format", "html", "--force"]):
        assert main([arguments[0], str(tea), *arguments[1:], "-o", "alone/x.tea"]) == 2
        assert main([arguments[0], "alone", *arguments[1:], "-o", str(tea)]) == 2
        assert REFUSED in capsys.readouterr().err
    assert tea.read_bytes() == before


def test_files_of_trex_and_times(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out").mkdir()
    os.link("set/net.profile.json", "out/net.profile.json")
    assert main(["export", "set", "--format", "trex", "-o", "out", "--force"]) == 2
    assert f"out/net.profile.json is set/net.profile.json, {REFUSED}" in capsys.readouterr().err
    rows = write_json(folder / "st/summary.json", {"times": [0.5] * 30})
    before = rows.read_bytes()
    assert main(["times", "st/summary.json", "--outdir", "st", "--force"]) == 2
    (folder / "sp").mkdir()
    (folder / "sp/summary.csv").symlink_to("../set/net.timing.json")
    assert main(["times", "set", "--outdir", "sp", "--force"]) == 2
    assert capsys.readouterr().err.count(REFUSED) == 2
    assert rows.read_bytes() == before
    assert (folder / "sp/summary.csv").is_symlink()


def test_a_directory_that_is_replaced(folder: Path) -> None:
    with pytest.raises(
        TrexError, match=r"^through would be replaced, but set/net.graph.json in it is an input file"
    ):
        Inputs(["set/net.graph.json"]).check_directory(Path("through"))
    Inputs(["set/net.graph.json"]).check_directory(Path("se"))
    (folder / "set/output_diff.json").write_text("{}")
    for reference, given in (("set/a.onnx", ()), ("a.onnx", ("x:y:set/in.bin",))):
        request = AccuracyRequest(
            Path(reference),
            Path("b.onnx"),
            RunOptions({}, {}),
            load_inputs=given,
            outdir=Path("set"),
            force=True,
        )
        with pytest.raises(TrexError, match=r"^set would be replaced, but set/"):
            run_comparison(request, None, None, None)  # type: ignore[arg-type]


def test_times_leaves_no_files_of_another_engine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(folder / "other/b.graph.json", {"Layers": ["one"], "Bindings": []})
    printed = {"performance_summary": {"Throughput": 1995.29, "Latency": [1, 9, 2, 3, 4, 5, 6]}}
    write_json(folder / "other/b.profile.metadata.json", printed)
    out = folder / "st"
    assert main(["times", "set", "--outdir", "st"]) == 0
    (out / "mine.csv").write_text("mine")
    first = {path.name for path in out.iterdir()}
    listed = json.loads((out / "summary.json").read_text())
    listed["files"] += ["mine.csv", "../set/net.timing.json", "../hard.json"]
    write_json(out / "summary.json", listed)
    capsys.readouterr()
    assert main(["times", "other", "--outdir", "st"]) == 0
    told = capsys.readouterr().err.splitlines()
    second = {path.name for path in out.iterdir()}
    kept = {"latency_percentiles.csv", "latency_percentiles.svg", "summary.csv", "summary.json", "mine.csv"}
    assert second == kept
    assert {line for line in told if " removed " in line} == {
        f"trex-tui: removed stale st/{name}" for name in first - second
    }
    assert (folder / "set/net.timing.json").exists()
    assert (folder / "hard.json").exists()
