"""Device facts stated by the user: by option, by configuration file, and their precedence."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import strict_json, write_sample_set
from trex_tui.__main__ import main


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory and no configuration of the person who runs the tests."""
    directory = tmp_path / "work"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return directory


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return write_sample_set(tmp_path / "net")


class TestCommands:
    def test_summary(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["summary", "--json", str(sample), "--peak", "bandwidth=320", "--peak", "sms=30"]) == 0
        (engine,) = strict_json(capsys.readouterr().out)["engines"]
        assert engine["device"]["peak_bandwidth_bytes_per_s"] == 320e9
        assert engine["device"]["sms"] == 30

    def test_layers(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        columns = ["--columns", "footprint_allocated_bytes,roof_ms", "--format", "json"]
        assert main(["layers", str(sample), *columns]) == 0
        without = strict_json(capsys.readouterr().out)["layers"]
        assert main(["layers", str(sample), *columns, "--peak", "bandwidth=1"]) == 0
        stated = strict_json(capsys.readouterr().out)["layers"]
        assert all(one["roof_ms"] is None for one in without)
        size = stated[0]["footprint_allocated_bytes"]
        assert stated[0]["roof_ms"] == pytest.approx(1e3 * size / 1e9)

    def test_a_wrong_statement_is_a_sentence(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["summary", str(sample), "--peak", "speed=3"]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("trex-tui: error: ")
        assert "speed" in captured.err
