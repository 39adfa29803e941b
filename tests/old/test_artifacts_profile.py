"""Profiles: both generations of keys, and the invalid JSON that trtexec writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import messages, profile_line, profile_text, write_graph, write_json
from trex_tui.old.artifacts.profile import ProfileRow, read_profile
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError, Severity


def write(path: Path, *lines: str, count: int = 10) -> Path:
    path.write_text(profile_text(lines, count), encoding="utf-8")
    return path


def test_four_keys(tmp_path: Path) -> None:
    profile = read_profile(write(tmp_path / "p.json", profile_line("a", 0.5), profile_line("b", 1.5)))
    assert profile.iterations == 10
    assert profile.rows == (ProfileRow("a", 5.0, 0.5, None, 1.5), ProfileRow("b", 15.0, 1.5, None, 1.5))
    assert profile.diagnostics == ()


def test_five_keys(tmp_path: Path) -> None:
    profile = read_profile(write(tmp_path / "p.json", profile_line("a", 1.5e-05, median=0.25)))
    assert profile.rows == (ProfileRow("a", 0.00015, 1.5e-05, 0.25, 1.5),)


def test_names_repeat(tmp_path: Path) -> None:
    profile = read_profile(write(tmp_path / "p.json", profile_line("a", 0.5), profile_line("a", 1.5)))
    assert [(row.name, row.average_ms) for row in profile.rows] == [("a", 0.5), ("a", 1.5)]


def test_count_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.profile.json", count=0)
    profile = read_profile(path)
    assert (profile.rows, profile.iterations) == ((), 0)
    assert messages(profile.diagnostics) == ["has no layers: nothing was profiled"]
    engine = load_engine(path)
    assert (engine.has_profile, engine.latency_sum_ms, engine.layers) == (False, None, ())


NAMES = [
    'say "hi"',
    'say "hi", "timeMs" : 1',
    "back\\slash",
    "ends in \\",
    "path\\to\\new",
    "no \\u0041 escape",
    "separator \x1e in it",
    'separator \x1e in a "quoted" one',
    "line \u2028 separator and \x85",
    "tab\there",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_unescaped_names(tmp_path: Path, name: str, newline: str) -> None:
    """Whether the file happens to be valid JSON or not, a name is what stands between the quotes."""
    text = profile_text(
        [profile_line("first", 1.0), profile_line(name, 0.5, median=0.25), profile_line("last", 2.0)]
    )
    path = tmp_path / "p.json"
    path.write_bytes(text.replace("\n", newline).encode())
    profile = read_profile(path)
    assert [(row.name, row.average_ms, row.median_ms) for row in profile.rows] == [
        ("first", 1.0, None),
        (name, 0.5, 0.25),
        ("last", 2.0, None),
    ]
    assert profile.iterations == 10
    assert {note.severity for note in profile.diagnostics} <= {Severity.INFO}


def test_escapes_of_other_writers_are_json(tmp_path: Path) -> None:
    rows = [{"count": 3}, {"name": 'a "b" \\ \x1e', "timeMs": 3, "averageMs": 1, "percentage": 100}]
    profile = read_profile(write_json(tmp_path / "p.json", rows))
    assert profile.rows == (ProfileRow('a "b" \\ \x1e', 3.0, 1.0, None, 100.0),)


def test_unescaped_name_meets_the_escaped_one_of_the_graph(tmp_path: Path) -> None:
    name = 'scope\\new "layer"'
    write(tmp_path / "a.profile.json", profile_line(name, 0.5))
    engine = load_engine(write_graph(tmp_path / "a.graph.json", [name]))
    assert [(one.name, one.latency_ms) for one in engine.layers] == [(name, 0.5)]


@pytest.mark.parametrize("printed", ["nan", "-nan", "inf", "-inf"])
def test_no_number(tmp_path: Path, printed: str) -> None:
    profile = read_profile(write(tmp_path / "p.json", profile_line("a", 0.5), profile_line("b", printed)))
    assert profile.rows[1] == ProfileRow("b", None, None, None, 1.5)
    notes = messages(profile.diagnostics)
    assert notes[0].startswith(
        "is not valid JSON (trtexec does not escape names and prints nan); all 2 records"
    )
    assert notes[1:] == ["1 of 2 records have no average time"]


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-1.5", "1e300", "1e999", "true", '"1"', "null", "9" * 400]
)
def test_values_that_are_no_times(tmp_path: Path, value: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(f'[{{"count": 1}}, {{"name": "a", "timeMs": 1, "averageMs": {value}, "percentage": 2}}]')
    assert read_profile(path).rows == (ProfileRow("a", 1.0, None, None, 2.0),)


def test_truncated(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(profile_text([profile_line("a", 0.5), profile_line("b", 1.5)])[:-30], encoding="utf-8")
    profile = read_profile(path)
    assert [row.name for row in profile.rows] == ["a"]
    (note,) = profile.diagnostics
    assert note.severity is Severity.ERROR
    assert note.message.startswith("is truncated")
    assert note.message.endswith("1 records were read by line, 1 lines lost (first: line 4)")


def test_entries_that_are_no_records(tmp_path: Path) -> None:
    rows = [{"count": True}, {"count": "5"}, 7, {"name": 7}, {"name": "a", "averageMs": 1}]
    profile = read_profile(write_json(tmp_path / "p.json", rows))
    assert [row.name for row in profile.rows] == ["a"]
    assert profile.iterations is None
    assert messages(profile.diagnostics) == ["4 entries are not profile records; skipped"]


@pytest.mark.parametrize("text", ["", "{}", "no JSON at all", '[ { "count" :'])
def test_unusable(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError):
        read_profile(path)


@pytest.mark.parametrize("form", ["utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, form: str) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(profile_text([profile_line("層", 0.5)]).replace("\n", "\r\n").encode(form))
    assert [row.name for row in read_profile(path).rows] == ["層"]


@pytest.mark.parametrize(("factor", "count"), [(1, 1), (625, 625), (625.4, None)])
def test_iterations_without_a_count_are_the_total_over_the_average(
    tmp_path: Path, factor: float, count: int | None
) -> None:
    """Pasted profiles often lack the first entry."""
    times = {"a": 0.0296961, "b": 0.0440321, "c": 0.0}
    rows = [{"name": name, "timeMs": ms * factor, "averageMs": ms} for name, ms in times.items()]
    path = write_json(tmp_path / "p.json", rows)
    assert read_profile(path).iterations == count
