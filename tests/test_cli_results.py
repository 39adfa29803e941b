"""`--format`, `--json`, `-o` and `--force` mean the same in every command that has a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import OLD_SAMPLES, write_sample_set
from trex_tui.__main__ import main

Captured = pytest.CaptureFixture[str]
SUBJECTS = {
    "summary": ["net"],
    "layers": ["net"],
    "lint": ["net"],
    "diff": ["net", "net"],
    "report": ["net"],
    "engines": ["net"],
    "times": ["net"],
    "export": ["net"],
    "explain": [],
    "build-log": ["build.log"],
}
"""Arguments of each command that needs no trtexec."""
FOREIGN = "mine\n"
TABLES = ("layers", "diff", "export", "times")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_sample_set(tmp_path / "net")
    log = next((OLD_SAMPLES / "alexnet").glob("*build.log*"))
    (tmp_path / "build.log").write_bytes(log.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    code = main([*arguments])
    return (code, *capsys.readouterr())


@pytest.mark.parametrize("command", SUBJECTS)
def test_json_is_a_format(command: str, capsys: Captured) -> None:
    code, out, _ = run(capsys, command, *SUBJECTS[command], "--json")
    assert code in (0, 1)
    assert json.loads(out)
    assert run(capsys, command, *SUBJECTS[command], "--format", "json")[1] == out
    assert run(capsys, command, *SUBJECTS[command], "--json", "-o", "-")[1] == out


@pytest.mark.parametrize("command", sorted(SUBJECTS.keys() - {"export"}))
def test_the_help_names_the_schema(command: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    schema = json.loads(run(capsys, command, *SUBJECTS[command], "--json")[1])["schema"]
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"(schema {schema})" in capsys.readouterr().out


@pytest.mark.parametrize("command", SUBJECTS)
def test_the_ending_chooses_the_format(command: str, here: Path, capsys: Captured) -> None:
    expected = run(capsys, command, *SUBJECTS[command], "--json")[1]
    code, out, err = run(capsys, command, *SUBJECTS[command], "-o", "x.json")
    assert code in (0, 1)
    assert out == ""
    assert (here / "x.json").read_text(encoding="utf-8") == expected
    assert "trex-tui: wrote x.json" in err


@pytest.mark.parametrize("command", [name for name, paths in SUBJECTS.items() if paths])
def test_inputs_are_never_overwritten(command: str, here: Path, capsys: Captured) -> None:
    target = "build.log" if "build.log" in SUBJECTS[command] else "net/net.graph.json"
    before = (here / target).read_bytes()
    code, out, err = run(capsys, command, *SUBJECTS[command], "--json", "-o", target, "--force")
    assert (code, out) == (2, "")
    assert "an input file" in err
    assert (here / target).read_bytes() == before


@pytest.mark.parametrize("command", [name for name in SUBJECTS if name not in ("export", "report")])
def test_text_goes_to_a_file_as_to_a_pipe(command: str, here: Path, capsys: Captured) -> None:
    code, out, _ = run(capsys, command, *SUBJECTS[command])
    assert run(capsys, command, *SUBJECTS[command], "-o", "result.txt")[0] == code
    assert (here / "result.txt").read_text(encoding="utf-8") == out


@pytest.mark.parametrize("command", TABLES)
def test_tables_are_csv(command: str, capsys: Captured) -> None:
    code, out, _ = run(capsys, command, *SUBJECTS[command], "--format", "csv")
    assert code == 0
    assert out.count("\n") > 1
    assert "," in out.splitlines()[0]


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        ("summary", "x.csv", "x.csv: no csv here; choose --format text, json, md, html"),
        ("report", "x", "x: unknown extension; choose --format md, html, json"),
        ("summary", "no/x.json", "directory no does not exist; create it first"),
    ],
)
def test_refused_targets(command: str, name: str, message: str, capsys: Captured) -> None:
    code, out, err = run(capsys, command, "net", "-o", name)
    assert (code, out) == (2, "")
    assert err == f"trex-tui: error: {message}\n"


@pytest.mark.parametrize("command", ["layers", "lint", "diff", "export"])
def test_a_filter_may_begin_with_a_minus(command: str, capsys: Captured) -> None:
    extra = ["--format", "json"]
    assert run(capsys, command, *SUBJECTS[command], *extra, "--filter", "-conv")[0] in (0, 1)


class TestErrors:
    def fails(self, capsys: Captured, *arguments: str) -> str:
        with pytest.raises(SystemExit) as end:
            main([*arguments])
        out, err = capsys.readouterr()
        assert (end.value.code, out) == (2, "")
        return err

    def test_an_unknown_option_names_the_nearest(self, capsys: Captured) -> None:
        assert self.fails(capsys, "layers", "net", "--fromat", "csv") == (
            "usage: trex-tui layers [OPTION ...] [PATH ...]\n"
            "trex-tui: error: unknown option --fromat; did you mean --format?\n"
            "Try `trex-tui layers --help`.\n"
        )
        assert "did you mean --filter?" in self.fails(capsys, "lint", "net", "--fliter=conv")
        assert "unknown option --xyzzy\n" in self.fails(capsys, "lint", "net", "--xyzzy")
        assert "unknown option --nope\n" in self.fails(capsys, "--nope")

    def test_a_wrong_value_names_the_option(self, capsys: Captured) -> None:
        err = self.fails(capsys, "layers", "net", "--format", "cvs")
        assert "argument --format: invalid choice 'cvs'; did you mean csv?\n" in err
        err = self.fails(capsys, "layers", "net", "--format", "xyzzy")
        assert "argument --format: invalid choice 'xyzzy'; choose from text, json, csv, md" in err
        assert "usage: trex-tui layers [OPTION ...] [PATH ...]\n" in err
        assert err.endswith("Try `trex-tui layers --help`.\n")

    def test_an_argument_too_many(self, capsys: Captured) -> None:
        assert "unexpected argument 'x'" in self.fails(capsys, "demo", "x")

    def test_a_command_is_mistyped(self, capsys: Captured) -> None:
        assert run(capsys, "help", "xyzzy")[2] == (
            "trex-tui: error: no command 'xyzzy'; `trex-tui --help` lists the commands\n"
        )
        for arguments in (["laeyrs", "net"], ["laeyrs", "net", "--sort", "name"], ["help", "laeyrs"]):
            code, out, err = run(capsys, *arguments)
            assert (code, out) == (2, "")
            assert (
                err == "trex-tui: error: laeyrs: no such file or command; did you mean `trex-tui layers`?\n"
            )


class TestHelp:
    def shown(self, capsys: Captured, *arguments: str) -> str:
        try:
            code = main([*arguments])
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    def test_help_is_a_command(self, capsys: Captured) -> None:
        assert self.shown(capsys, "help") == self.shown(capsys, "--help") == self.shown(capsys, "-h")
        layers = self.shown(capsys, "layers", "--help")
        assert "\nList, filter and sort the layers of one engine.\n" in layers
        assert self.shown(capsys, "help", "layers") == layers

    def test_version(self, capsys: Captured) -> None:
        expected = run(capsys, "--version")
        assert expected[1].startswith("trex-tui ")
        assert run(capsys, "-V") == expected


def test_ascii_holds_for_every_command(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("TREX_TUI_ASCII", "")
    assert "█" in run(capsys, "summary", "net")[1]
    shown = run(capsys, "summary", "net", "--ascii")[1]
    assert "█" not in shown
    assert "####" in shown
