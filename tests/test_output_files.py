"""One rule for all commands: an existing file needs `--force`, and files appear whole."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from helpers import chain, write_graph, write_profile
from trex_tui.__main__ import main

FOREIGN = "important,of,mine\n1,2,3\n"
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    write_graph(tmp_path / "set/net.graph.json", chain("a", "b"), ["t0", "t2"])
    write_profile(tmp_path / "set/net.profile.json", [("a", 1.0), ("b", 2.0)])
    return tmp_path / "set"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *(("export", f"x.{ending}") for ending in ("dot", "graphml", "json", "csv", "parquet", "xlsx", "perfetto.json")),
        *(("layers", f"x.{ending}") for ending in ("txt", "json", "csv", "md", "html")),
        ("summary", "x.json"),
        ("engines", "x.csv"),
        ("report", "x.html"),
    ],
)  # fmt: skip
def test_an_existing_file_needs_force(
    command: str, name: str, engine: Path, tmp_path: Path, capsys: Captured
) -> None:
    if needed := {"parquet": "pyarrow", "xlsx": "xlsxwriter", "html": "jinja2"}.get(name.rpartition(".")[2]):
        pytest.importorskip(needed)
    target = tmp_path / name
    arguments = [command, str(engine), "-o", str(target)]
    target.write_text(FOREIGN, encoding="utf-8")
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert str(target) in err
    assert "write elsewhere, or replace it with --force" in err
    assert target.read_text(encoding="utf-8") == FOREIGN
    assert main([*arguments, "--force"]) == 0
    assert target.read_bytes() != FOREIGN.encode()


@pytest.mark.parametrize("most_bytes", [0, 10, 300])
def test_a_full_disk_leaves_the_old_file(
    engine: Path, tmp_path: Path, capsys: Captured, most_bytes: int
) -> None:
    """Files of a limited size stand for the disk: the system refuses to write more in the same way."""
    target = tmp_path / "x.json"
    target.write_text(FOREIGN, encoding="utf-8")
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        code = main(["layers", str(engine), "-o", str(target), "--force"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert code == 2
    assert "cannot be written: File too large" in capsys.readouterr().err
    assert target.read_text(encoding="utf-8") == FOREIGN
    assert {path.name for path in tmp_path.iterdir()} == {"set", "x.json"}


def test_a_companion_that_is_not_ours_is_kept(engine: Path, tmp_path: Path, capsys: Captured) -> None:
    (engine / "net.profile.json").write_text('[{"count": 1}, {"name": "a", "averageMs"', encoding="utf-8")
    companion = tmp_path / "x.csv.diagnostics.csv"
    companion.write_text(FOREIGN, encoding="utf-8")
    assert main(["layers", str(engine), "-o", str(tmp_path / "x.csv")]) == 2
    assert companion.read_text(encoding="utf-8") == FOREIGN
    assert not (tmp_path / "x.csv").exists()
    assert main(["layers", str(engine), "-o", str(tmp_path / "x.csv"), "--force"]) == 0
    assert "is truncated" in companion.read_text(encoding="utf-8")
    (engine / "net.profile.json").unlink()
    assert main(["layers", str(engine), "-o", str(tmp_path / "x.csv"), "--force"]) == 0
    assert not companion.exists()
    assert f"removed stale {companion}" in capsys.readouterr().err
