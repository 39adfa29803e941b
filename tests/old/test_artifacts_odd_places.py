"""Paths that do not exist, form cycles, or lead to files that must not be read completely."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from helpers import (
    GRAPH,
    PROFILE,
    chain,
    messages,
    names_of,
    write_files,
    write_graph,
    write_json,
    write_profile,
)
from trex_tui.old.artifacts import ArtifactKind, find
from trex_tui.old.artifacts.file_kinds import sniff
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(
        ArtifactError,
        match=r"no engine found: no layer information, profile, timing JSON or trtexec log here or below; check the path$",
    ):
        find(tmp_path)
    (tmp_path / "net.plan").write_bytes(b"ftrt" + bytes(28))
    with pytest.raises(
        ArtifactError, match=r"\(1 other file; the first: .*net.plan is a serialized engine, which"
    ):
        find(tmp_path)
    with pytest.raises(ArtifactError, match=r"nowhere: does not exist; check the path$"):
        find(tmp_path / "nowhere")


def test_odd_paths(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "broken").symlink_to("nowhere")
    for path, message in (
        (tmp_path / "pipe.json", "is neither a file nor a directory"),
        (tmp_path / "broken", "is a broken link"),
        (Path("/dev/null"), "is neither a file nor a directory"),
        (Path("a\0b"), "is not a valid path|does not exist"),
        (Path("x" * 5000), "cannot be opened: File name too long|does not exist"),
    ):
        with pytest.raises(ArtifactError, match=message):
            find(path)
    write_files(tmp_path, {"a.graph.json": GRAPH})
    (found,) = find(tmp_path)
    assert found.diagnostics == ()


def test_loops_of_links(tmp_path: Path) -> None:
    write_files(tmp_path / "real", {"a.graph.json": GRAPH})
    (tmp_path / "real/again").symlink_to(tmp_path)
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    (tmp_path / "self").symlink_to("self")
    (found,) = find(tmp_path)
    assert found.name == "a"


def test_a_path_through_a_file(tmp_path: Path) -> None:
    path = write_files(tmp_path, {"a.graph.json": GRAPH}) / "a.graph.json" / "deeper"
    with pytest.raises(ArtifactError):
        find(path)


def test_hidden_and_foreign_directories_are_not_searched(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a.graph.json": GRAPH, ".cache/b.graph.json": GRAPH, "node_modules/c.graph.json": GRAPH}
    )
    assert [one.name for one in find(tmp_path)] == ["a"]


def test_several_paths(tmp_path: Path) -> None:
    write_files(tmp_path / "one", {"a.graph.json": GRAPH, "a.profile.json": PROFILE})
    write_files(tmp_path / "two", {"b.graph.json": GRAPH})
    assert [one.name for one in find([tmp_path / "two", tmp_path / "one"])] == ["b", "a"]
    (found,) = find([tmp_path / "one/a.graph.json", tmp_path / "one/a.profile.json"])
    assert names_of(found.files) == {"graph": "a.graph.json", "profile": "a.profile.json"}
    (found,) = find([tmp_path / "one", tmp_path / "one"])
    assert found.name == "a"
    (found,) = find([tmp_path / "two/b.graph.json", tmp_path / "one/a.profile.json"])
    assert (found.name, found.files[ArtifactKind.PROFILE]) == ("b", tmp_path / "one/a.profile.json")


@pytest.mark.parametrize("opening", ['{"data": [', "[", ""], ids=["object", "list", "spaces"])
def test_a_huge_file_that_is_no_artifact_is_not_read_whole(tmp_path: Path, opening: str) -> None:
    path = tmp_path / "huge.json"
    filler = (b"1, " if opening else b"   ") * (1 << 18)
    with path.open("wb") as file:
        file.write(opening.encode())
        for _ in range(200 * 1024 * 1024 // len(filler)):
            file.write(filler)
    tracemalloc.start()
    sniffed = sniff(path)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    path.unlink()
    assert sniffed.kind is None
    assert sniffed.claims
    assert peak_bytes < 4 * 1024 * 1024


def test_a_graph_whose_layers_come_late(tmp_path: Path) -> None:
    path = write_json(tmp_path / "a.json", {"padding": "x" * 100_000, **GRAPH})
    assert sniff(path).kind is ArtifactKind.GRAPH


def test_a_profile_of_another_engine(tmp_path: Path) -> None:
    write_graph(tmp_path / "a.graph.json", chain("one", "two"))
    write_profile(tmp_path / "a.profile.json", [("three", 1.0), ("four", 2.0)])
    engine = load_engine(tmp_path)
    assert messages(engine.diagnostics) == [
        "does not match this graph: none of its 2 rows names a layer; profile this engine"
    ]
    assert engine.latency_sum_ms is None
