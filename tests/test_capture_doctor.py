"""`trex-tui doctor` on machines made of files: servers, Jetsons, containers, nothing at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trex_tui.__main__ import main


class TestCommand:
    def test_what_is_missing(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["doctor", "--trtexec", "/absent"]) == 1
        out, _ = capsys.readouterr()
        assert out.startswith("error")
        assert "  do: " in out
        assert out.splitlines()[-1].startswith("capture cannot run here: trtexec")

    def test_bad_usage(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stop:
            main(["doctor", "--frobnicate"])
        assert stop.value.code == 2
        assert capsys.readouterr().out == ""

    def test_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["doctor", "--json", "--trtexec", "/absent"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert (found["schema"], found["can_capture"], found["trtexec"]) == ("trex-tui/doctor/1", False, None)
        assert found["host"]["host_name"] is None
        assert {"name", "status", "found", "remedy"} == set(found["checks"][0])

    def test_a_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        target = tmp_path / "doctor.json"
        assert main(["doctor", "--trtexec", "/absent", "-o", str(target)]) == 1
        assert capsys.readouterr() == ("", f"trex-tui: wrote {target}\n")
        assert json.loads(target.read_text(encoding="utf-8"))["schema"] == "trex-tui/doctor/1"
        target.write_text("mine")
        assert main(["doctor", "--trtexec", "/absent", "-o", str(target)]) == 2
        assert target.read_text() == "mine"
