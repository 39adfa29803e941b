"""`trex-tui serve`: what it starts, what it says when it cannot, and that a browser gets a page and a screen."""

from __future__ import annotations

import asyncio
import builtins
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from trex_tui.cli import main
from trex_tui.cli.serve import ServeOptions, build_command, quoted
from trex_tui.widgets.terminal import can_draw
from tui import small_engine

HOSTILE = ["$(touch owned)", "a b", "`touch owned`", "-rf", "';touch owned;'", "x\ny", '"', "*", "\\"]
TIMEOUT_S = 20

needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("textual_serve") is None, reason="the extra `web` is not installed"
)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_options_reach_the_program_of_each_browser():
    options = ServeOptions(optimization_profile=1, peaks=("bandwidth=320",), ascii=True)
    assert build_command(["a"], options)[1:] == [
        "-m", "trex_tui", "open", "--optimization-profile", "1", "--peak=bandwidth=320", "--ascii", "--", "a",
    ]  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")
@pytest.mark.parametrize("path", HOSTILE)
def test_no_path_acts_on_the_shell(tmp_path, path):
    show = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", "--", path]
    done = subprocess.run(quoted(show), shell=True, capture_output=True, text=True, check=True, cwd=tmp_path)  # noqa: S602
    assert json.loads(done.stdout) == ["--", path]
    assert list(tmp_path.iterdir()) == []


def test_missing_extra_is_one_line_with_the_remedy(tmp_path, capsys, monkeypatch):
    whole = builtins.__import__

    def lacking(name, *rest, **more):
        if name.startswith("textual_serve"):
            raise ModuleNotFoundError(name)
        return whole(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
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


@pytest.fixture
def server(tmp_path):
    """The program, serving an engine from a directory with a hostile name, on a free port of this machine alone."""
    net = small_engine(tmp_path / "a 'b' $(touch owned)")
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "serve", str(net), "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    )
    yield process, port
    process.kill()
    process.communicate()


async def page_of(port: int) -> tuple[int, str, str]:
    """The page and its policy, as soon as there is one."""
    for _ in range(TIMEOUT_S * 20):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=TIMEOUT_S) as answer:
                return answer.status, answer.read().decode(), answer.headers["Content-Security-Policy"]
        except (urllib.error.URLError, ConnectionError):
            await asyncio.sleep(0.05)
    pytest.fail("nothing listens")


async def drawn_by(port: int, wanted: bytes) -> bytes:
    """What the program behind the page draws, until it draws `wanted`."""
    import aiohttp

    seen = b""
    url = f"http://127.0.0.1:{port}/ws?width=120&height=40"
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket_:
        async with asyncio.timeout(TIMEOUT_S):
            async for message in socket_:
                if message.type is aiohttp.WSMsgType.BINARY:
                    seen += message.data
                if wanted in seen:
                    break
    return seen


@needs_extra
@pytest.mark.skipif(sys.version_info < (3, 11), reason="asyncio.timeout")
async def test_browser_gets_a_page_and_the_screen(server, tmp_path):
    process, port = server
    status, page, policy = await page_of(port)
    assert status == 200
    # Whatever textual-serve's page asks for: a font of Google's, for one.
    sources = {word for part in policy.split(";") for word in part.split()[1:] if "//" in word}
    assert sources == {f"http://127.0.0.1:{port}"}
    assert "default-src" in policy
    assert f"ws://127.0.0.1:{port}/ws" in page
    assert b"MaxPool" in await drawn_by(port, b"MaxPool")
    assert not (tmp_path / "owned").exists()
    process.send_signal(signal.SIGINT)
    out, narration = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert out == ""
    assert f"127.0.0.1:{port}" in narration.replace("\n", "")
