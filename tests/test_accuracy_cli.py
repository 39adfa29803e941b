"""`trex-tui accuracy` from the outside: through a stand-in for trtexec, and through onnxruntime for real."""

from __future__ import annotations

import json

import pytest

from trex_tui.__main__ import main

NAMES = ["--ref", "fp32.engine", "--test", "int8.engine"]


def accuracy(*arguments: str) -> int:
    try:
        return main(["accuracy", *arguments])
    except SystemExit as ended:  # argparse
        return int(ended.code or 0)


class TestEngines:
    @pytest.mark.usefixtures("here")
    @pytest.mark.parametrize("option", ["--tensor", "--output"])
    def test_one_output(self, option: str, capsys) -> None:
        """--output is the former name of --tensor."""
        assert accuracy(*NAMES, "--no-save", "--json", option, "t5") == 0
        assert [output["name"] for output in json.loads(capsys.readouterr().out)["outputs"]] == ["t5"]

    @pytest.mark.usefixtures("here")
    def test_gates_in_the_language_of_diff(self, capsys) -> None:
        gates = ["--fail-on", "mae > 0.001", "--fail-on", "cosine < 0.9"]
        assert accuracy(*NAMES, *gates, "--no-save", "--json") == 1
        out, err = capsys.readouterr()
        assert [one["gate"] for one in json.loads(out)["gates"]] == ["mae > 0.001", "cosine < 0.9"]
        assert "gate failed: mae > 0.001: t5: mae 0.0" in err
        assert accuracy(*NAMES, "--fail-on", "mea > 1", "--no-save") == 2
        assert "mae" in capsys.readouterr().err
