"""No engine is lost: after a failed run, Ctrl-C or a full disk it is kept, the message names it, and --resume takes it."""

from __future__ import annotations

import pytest

from fake_trtexec import calls
from fake_trtexec.kit import COMPLETE, Bench
from trex_tui.__main__ import main

HINT = "--resume measures it without building again"


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("TRTEXEC", str(bench.programs("10.4.0").path))
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(bench.place / "calls"))
    return bench


def runs(here: Bench) -> list[str]:
    """The role of every run so far."""
    return [
        "profile" if any(word.startswith("--loadEngine") for word in words) else "build"
        for words in calls(here.place / "calls")
    ]


def resume(here: Bench) -> None:
    """Capture again: complete, without a build."""
    (here.place / "calls").unlink()
    assert main(["capture", "--onnx", "net.onnx", "--resume"]) == 0
    assert runs(here) == ["profile"]
    assert here.names() == COMPLETE
    assert not list(here.outdir.parent.glob(".*"))


@pytest.mark.parametrize("failure", ["crash@profile", "no_profile@profile", "runtime_oom@profile"])
def test_a_failed_profile_run(
    here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failure: str
) -> None:
    monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
    assert main(["capture", "--onnx", "net.onnx"]) == 3
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"trex-tui: the engine is kept: results/net/net.failed/net.engine; {HINT}"
    )
    monkeypatch.delenv("FAKE_TRTEXEC_FAIL")
    resume(here)


@pytest.mark.parametrize("failure", ["unsupported_op", "no_engine"])
def test_a_failed_build_promises_nothing(
    here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failure: str
) -> None:
    assert here.programs("10.4.0")
    monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
    assert main(["capture", "--onnx", "net.onnx"]) == 3
    assert "--resume" not in capsys.readouterr().err
