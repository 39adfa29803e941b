"""`trex-tui serve`: what it starts, its errors, and that a browser gets a page and a screen."""

from __future__ import annotations

import builtins
import importlib.util
import socket
import sys

import pytest

from trex_tui.old.cli import main
from trex_tui.old.cli.explore import ServeOptions, build_command
from trex_tui.old.widgets.terminal import can_draw
from tui import small_engine

needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("textual_serve") is None, reason="the extra `web` is not installed"
)


def test_options_reach_the_program_of_each_browser():
    options = ServeOptions(
        optimization_profile=1, peaks=("bandwidth=320",), ascii=True, read_only=True, onnx="m.onnx"
    )
    assert build_command(["a"], options)[1:] == [
        "-m", "trex_tui", "open", "--optimization-profile", "1", "--peak=bandwidth=320", "--onnx=m.onnx",
        "--ascii", "--read-only", "--", "a",
    ]  # fmt: skip


def test_missing_extra_is_one_line_with_the_remedy(tmp_path, capsys, monkeypatch):
    whole = builtins.__import__

    def lacking(name, *rest, **more):
        if name.startswith("textual_serve"):
            raise ModuleNotFoundError(name)
        return whole(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    monkeypatch.delitem(sys.modules, "trex_tui.old.cli.web_server", raising=False)
    assert main(["serve", str(small_engine(tmp_path))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "pip install 'trex-tui[web]'" in captured.err


def test_what_cannot_be_opened_is_told_before_anything_listens(tmp_path, capsys):
    assert main(["serve", str(tmp_path / "absent")]) == 2
    assert "does not exist" in capsys.readouterr().err


@needs_extra
@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", "0"), ("127.0.0.1", "70000"), ("999.0.0.1", "8000")]
)
def test_address_that_cannot_be_listened_on(tmp_path, capsys, host, port):
    assert main(["serve", str(small_engine(tmp_path)), "--host", host, "--port", port]) == 2
    captured = capsys.readouterr()
    assert f"cannot listen on {host}:{port}" in captured.err
    assert captured.err.count("\n") == 1


@needs_extra
def test_port_in_use(tmp_path, capsys):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        assert main(["serve", str(small_engine(tmp_path)), "--port", str(listener.getsockname()[1])]) == 2
    assert "in use" in capsys.readouterr().err


def test_browser_is_a_terminal_to_draw_in():
    served = {"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}
    assert can_draw(served, is_terminal=False)
    assert not can_draw({"TERM": "xterm"}, is_terminal=False)
