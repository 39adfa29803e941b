"""Captures elsewhere without a network: quoting, what is sent, what comes back, and the scripts under each shell here."""

from __future__ import annotations

from pathlib import Path

import pytest

from trex_tui.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "-x", "--dry-run"], "--host"),
        (["--host", "a", "--host", "a"], "given twice"),
        (["--with-engine"], "--with-engine needs --host or --archive"),
        (["--timing-cache", "/no/where/tc"], "--timing-cache: /no/where is not a directory"),
        (
            ["--", "--timingCacheFile=/no/where/tc"],
            "--timingCacheFile after --: /no/where is not a directory",
        ),
        (["--", "--timingCacheFile"], "--timingCacheFile after --: "),
        (["--host", "a", "--timing-cache", "/"], "--timing-cache: / is not a file"),
    ],
)
def test_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    (tmp_path / "net.onnx").write_bytes(b"x")
    try:
        code = main(["capture", "--onnx", str(tmp_path / "net.onnx"), *arguments])
    except SystemExit as error:  # argparse
        code = int(str(error.code))
    assert code == 2
    assert told in capsys.readouterr().err
