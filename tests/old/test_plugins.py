"""Plug-ins: the example package, installed as a package manager does, and plug-ins that fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY, write_files, write_sample_set
from trex_tui import load_engine
from trex_tui.old.artifacts import readers
from trex_tui.old.artifacts.file_kinds import ArtifactKind, sniff
from trex_tui.old.artifacts.input_files import _conversions
from trex_tui.old.artifacts.readers import Reader
from trex_tui.old.cli import main
from trex_tui.old.errors import ArtifactError
from trex_tui.old.plugins import _is_named
from trex_tui.old.report import plugin_sections as sections
from trex_tui.old.report.document import Section

EXAMPLE = REPOSITORY / "examples" / "trex-tui-example"
TIMES = "layer,milliseconds\n/features/Conv + /features/Relu,0.25\n/classifier/Gemm_myl1_0,0.75\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that the example package is installed in: no network, no dependencies."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("plugins")
    source = shutil.copytree(EXAMPLE, folder / "source")
    words = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            *words,
            str(folder / "site"),
            str(source),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    if "No module named pip" in done.stderr:
        pytest.skip("this environment has no pip")
    assert done.returncode == 0, done.stderr
    return folder / "site"


def run(site: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "trex_tui", *map(str, arguments)],
        env=dict(os.environ) | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_rule_of_the_example(site: Path, tmp_path: Path) -> None:
    write_sample_set(tmp_path)
    assert "EXAMPLE001  info" in run(site, "lint", "--rules").stdout
    document = json.loads(run(site, "lint", tmp_path, "--select", "EXAMPLE", "--json").stdout)
    (finding,) = document["engines"][0]["findings"]
    assert finding["rule"] == "EXAMPLE001"
    assert [layer["index"] for layer in finding["layers"]] == [3]
    assert "EXAMPLE001" in run(site, "explain", "EXAMPLE001").stdout


def test_the_reader_of_the_example(site: Path, tmp_path: Path) -> None:
    write_sample_set(tmp_path)
    (tmp_path / "net.profile.json").unlink()
    write_files(tmp_path, {"net.times.csv": TIMES})
    document = json.loads(run(site, "summary", tmp_path, "--json").stdout)
    (engine,) = document["engines"]
    assert engine["files"]["profile"].endswith("net.times.csv")
    assert engine["latency_sum_ms"] == 1.0
    assert engine["by_kind"]["gemm"]["latency_ms"] == 0.75
    assert (
        json.loads(run(Path("/"), "summary", tmp_path, "--json").stdout)["engines"][0]["latency_sum_ms"]
        is None
    )


def test_a_file_that_the_reader_of_the_example_cannot_read(site: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"net.csv": TIMES.replace("0.75", "fast")})
    done = run(site, "summary", tmp_path / "net.csv")
    assert done.returncode == 2
    assert (
        "reader layer times as CSV failed: ValueError: could not convert string to float: 'fast'"
        in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_the_section_of_the_example(site: Path, tmp_path: Path) -> None:
    write_sample_set(tmp_path)
    document = json.loads(run(site, "report", tmp_path, "--json").stdout)
    (section,) = [part for part in document["engines"][0]["sections"] if part["id"] == "example"]
    assert section["tables"][0]["rows"][0] == {"kind": "reformat", "layers": 1}
    page = run(site, "report", tmp_path, "--format", "html").stdout
    assert "Kinds (example)" in page


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("a-1.dist-info/entry_points.txt", "[trex_tui.readers]\na = b:c", True),
        ("a.egg-info/entry_points.txt", "[ trex_tui.readers ]\na = b:c", True),
        ("a.egg/EGG-INFO/PKG-INFO", "", True),
        ("a-1.dist-info/entry_points.txt", "[console_scripts]\na = b:c", False),
        ("a-1.dist-info/METADATA", "trex_tui.readers", False),
        ("a.egg-info", "trex_tui.readers", False),
    ],
)
def test_installed_packages_are_searched_only_where_one_names_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, text: str, expected: bool
) -> None:
    """importlib.metadata takes 30 ms, and few people have plug-ins."""
    file = tmp_path / "site" / place
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    monkeypatch.setattr("sys.meta_path", [])
    monkeypatch.setattr("sys.path", [str(tmp_path / "absent"), str(tmp_path / "site")])
    assert bool(_is_named("trex_tui.readers")) is expected
    archive = tmp_path / "all.zip"
    archive.write_bytes(b"PK")
    monkeypatch.setattr("sys.path", [str(archive)])
    assert _is_named("trex_tui.readers"), "what is in an archive is unknown"
    monkeypatch.setattr("sys.path", [])
    assert not _is_named("trex_tui.readers")


# Plug-ins that fail


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[EntryPoint]]]:
    """Entry points of each group, as if installed."""
    installed: dict[str, list[EntryPoint]] = {}
    monkeypatch.setattr("trex_tui.old.plugins._is_named", lambda _: True)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: installed.get(group, []))
    for cached in (readers.all_readers, sections._all_plugins):
        cached.cache_clear()
    yield installed
    for cached in (readers.all_readers, sections._all_plugins):
        cached.cache_clear()
    _conversions.clear()


def failing(*_: Any) -> Any:
    raise ValueError("no\nluck")


def strange(_: Any) -> Any:
    return ["no section"]


READERS = [
    "no reader",
    Reader("plan", ArtifactKind.PLAN, failing, failing),
    Reader("first", ArtifactKind.PROFILE, failing, failing),
    Reader(
        "second", ArtifactKind.PROFILE, lambda path, _: path.suffix == ".xyz", lambda _: {"no": "profile"}
    ),
]


def entry(group: str, value: str) -> EntryPoint:
    return EntryPoint("ours", f"{__name__}:{value}", group)


def test_readers_that_fail(plugins: dict[str, list[EntryPoint]], tmp_path: Path) -> None:
    plugins[readers.GROUP] = [entry(readers.GROUP, "READERS"), entry(readers.GROUP, "absent")]
    write_files(tmp_path, {"a.xyz": "1 2 3", "b.txt": "text"})
    assert sniff(tmp_path / "b.txt").kind is None
    assert sniff(tmp_path / "a.xyz").kind is ArtifactKind.PROFILE
    with pytest.raises(ArtifactError):
        load_engine(tmp_path / "a.xyz")
    found, problems = readers.all_readers()
    assert [reader.name for reader in found] == ["first", "second"]
    assert len(problems) == 3
    assert any("cannot be loaded: AttributeError" in str(problem) for problem in problems)


def test_problems_of_readers_are_stated(
    plugins: dict[str, list[EntryPoint]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugins[readers.GROUP] = [entry(readers.GROUP, "absent")]
    write_sample_set(tmp_path)
    write_files(tmp_path, {"notes.txt": "text"})
    assert main(["summary", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert any("cannot be loaded" in note["message"] for note in document["diagnostics"])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("failing", "failed: ValueError: no luck"),
        ("strange", "failed: TypeError: str is not a Section"),
        ("absent", "cannot be loaded: AttributeError"),
    ],
)
def test_sections_that_fail(
    plugins: dict[str, list[EntryPoint]],
    value: str,
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plugins[sections.GROUP] = [entry(sections.GROUP, value)]
    write_sample_set(tmp_path)
    assert main(["report", str(tmp_path), "--json"]) == 0
    parts = json.loads(capsys.readouterr().out)["engines"][0]["sections"]
    (part,) = [part for part in parts if part["id"] == "plugin"]
    assert reason in part["sentences"][0]
    assert len(parts) > 5


def test_a_section_of_a_plugin(plugins: dict[str, list[EntryPoint]], tmp_path: Path) -> None:
    plugins[sections.GROUP] = [entry(sections.GROUP, "good")]
    write_sample_set(tmp_path)
    target = tmp_path / "report.md"
    assert main(["report", str(tmp_path), "-o", str(target)]) == 0
    assert "A sentence of net." in target.read_text(encoding="utf-8")


def good(engine: Any) -> Iterator[Section]:
    yield Section("ours", "Ours", sentences=[f"A sentence of {engine.name}."])
