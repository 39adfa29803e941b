"""Power, temperature, clocks and energy: from the files of many programs to summary, report, comparison, gates and charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import strict_json, write_sample_set
from power_kit import monitor_csv, write_power_set
from trex_tui import Severity, load_engine
from trex_tui.__main__ import main


class TestSets:
    def test_a_damaged_file_costs_itself(self, tmp_path: Path) -> None:
        write_sample_set(tmp_path)
        (tmp_path / "net.monitor.csv").write_text(monitor_csv().splitlines()[0] + "\n1,2\n", encoding="utf-8")
        engine = load_engine(tmp_path)
        assert engine.power is None
        notes = [note for note in engine.notes if note.file == tmp_path / "net.monitor.csv"]
        assert [note.severity for note in notes] == [Severity.WARNING]


class TestShown:
    def test_text(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_power_set(tmp_path, reasons=("none", "power cap", "power cap"))
        assert main(["summary", str(tmp_path)]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "GPU throttled during the measurement: power cap in 2 of 4 samples." in text
        assert "Power mean 115 W, 100 W to 130 W (GPU)" in text
        assert "Energy per inference 23 mJ" in text
        assert "Inferences per joule 43.47" in text
        assert "GPU temperature mean 51.5 °C, 50 to 53 °C" in text
        assert "Samples 4 of 8, those of the measurement; trex-tui capture, every 0.1 s" in text

    def test_names_of_rails_are_data(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_sample_set(tmp_path)
        lines = monitor_csv().splitlines()
        rows = [f"{lines[0]},rail.\x1b[31m=A1_w,rail.B_w", *(f"{line},1,2" for line in lines[1:])]
        (tmp_path / "net.monitor.csv").write_text("\n".join(rows), encoding="utf-8")
        assert main(["summary", str(tmp_path)]) == 0
        assert "\x1b" not in capsys.readouterr().out


class TestCompared:
    def gates(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
        code = main(["diff", *arguments, "--json"])
        document = strict_json(capsys.readouterr().out)
        return code, document

    @pytest.mark.parametrize(
        ("gate", "code"),
        [
            ("power_mean_w > 120", 1),
            ("power_mean_w > +5%", 1),
            ("energy_per_inference_j > 20mJ", 1),
            ("inferences_per_joule < -5%", 1),
        ],
    )
    def test_gates(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], gate: str, code: int) -> None:
        a, b = write_power_set(tmp_path / "a"), write_power_set(tmp_path / "b", (130, 140))
        found, document = self.gates(capsys, str(a), str(b), "--fail-on", gate)
        assert found == code
        assert [result["state"] for result in document["gates"]] == ["failed" if code else "passed"]

    def test_throttled_during_run_3(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folders = [write_power_set(tmp_path / f"a{number}") for number in (1, 2)]
        folders.append(write_power_set(tmp_path / "a3", reasons=("software thermal",)))
        others = [write_power_set(tmp_path / f"b{number}") for number in (1, 2)]
        assert main(["diff", "--runs", *map(str, folders), "--runs", *map(str, others)]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "throttled during run 3: software thermal in 1 sample." in text
