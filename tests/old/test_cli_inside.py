"""The commands, in process and as real processes."""

from __future__ import annotations

import csv
import io
import shlex
from pathlib import Path
from typing import Any

import pytest

from helpers import strict_json
from test_cli import sample
from trex_tui.__main__ import main
from trex_tui.old.analysis.columns import ALL_COLUMNS
from trex_tui.old.analysis.filter import parse

__all__ = ["sample"]


class TestLayersInside:
    def columns_of(self, document: dict[str, Any], column: str) -> list[Any]:
        return [row[column] for row in document["layers"]]

    def layers(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
        assert main(["layers", "--format", "json", *arguments]) == 0
        return strict_json(capsys.readouterr().out)

    def test_json(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        document = self.layers(capsys, str(sample))
        assert list(document) == ["schema", "engine", "layers", "diagnostics"]
        assert (document["schema"], document["engine"]) == ("trex-tui/layers/1", "net")
        assert list(document["layers"][0]) == [column.name for column in ALL_COLUMNS]
        assert self.columns_of(document, "index") == [0, 1, 2, 3, 4, 5]
        assert self.columns_of(document, "latency_ms") == [0.01, 0.05, 0.0, 0.12, 0.02, None]
        assert self.columns_of(document, "name")[4] == 'evil \x1b[31m|name|, "quoted"'

    def test_csv(self, sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["layers", str(sample), "--format", "csv"]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert list(rows[0]) == [column.name for column in ALL_COLUMNS]
        assert [row["latency_ms"] for row in rows] == ["0.01", "0.05", "0.0", "0.12", "0.02", ""]

    def test_filter_in_the_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            main(["layers", "--help"])
        examples = [
            line
            for line in capsys.readouterr().out.splitlines()
            if line.startswith("  trex-tui") and " --filter " in line
        ]
        assert len(examples) == 5
        for example in examples:
            words = shlex.split(example)
            parse(words[words.index("--filter") + 1])
