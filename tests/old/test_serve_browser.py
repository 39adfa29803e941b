"""`trex-tui serve` with browsers: what they get, who gets nothing, what is limited, and that explorers end with them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import sys
import threading
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browser import browsing, find_chromium
from tui import small_engine
from web_kit import LIMIT_S, browsing_to, environment_of, is_alive, serving, until

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(
        importlib.util.find_spec("textual_serve") is None, reason="the extra `web` is not installed"
    ),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc"),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The program, serving an engine from a directory with a hostile name."""
    folder = tmp_path_factory.mktemp("served") / "a 'b' $(touch owned)"
    with serving(small_engine(folder)) as program:
        yield program


async def answer(served, path, **headers):
    """Status and text of an answer, with its headers."""
    import aiohttp

    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{served.origin}{path}", headers=headers) as response,
    ):
        return response.status, await response.text(), response.headers


async def refused(served, url="", **headers):
    """The status of a websocket that is refused."""
    import aiohttp

    with pytest.raises(aiohttp.WSServerHandshakeError) as error:
        async with browsing_to(served, url, **headers):
            pass
    return error.value.status


@asynccontextmanager
async def browsing_when_free(served):
    """Connect as soon as the server takes one more session: it may count one a moment longer than its process lives."""
    import aiohttp

    end = time.monotonic() + LIMIT_S
    async with AsyncExitStack() as stack:
        browser = None
        while browser is None:
            try:
                browser = await stack.enter_async_context(browsing_to(served))
            except aiohttp.WSServerHandshakeError as error:
                if error.status != 503 or time.monotonic() > end:
                    raise
                await asyncio.sleep(0.02)
        yield browser


async def test_page_loads_from_the_server_only(served):
    status, page, headers = await answer(served, f"/{served.token}/")
    assert status == 200
    assert f"ws://{served.host}/{served.token}/ws" in page
    policy = headers["Content-Security-Policy"]
    # Whatever textual-serve's page asks for: a font of Google's, for one.
    sources = {word for part in policy.split(";") for word in part.split()[1:] if "//" in word}
    assert sources == {f"ws://{served.host}", f"wss://{served.host}"}
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/wrong/", {}),
        ("/wrong/ws", {}),
        ("/download/x", {}),
        ("/TOKEN/", {"Host": "evil.example"}),
        ("/TOKEN/", {"Host": "localhost.evil.example"}),
        ("/TOKEN/", {"Host": "127.0.0.1 evil.example"}),
        ("/static/js/textual.js", {"Host": "evil.example"}),
    ],
)
async def test_who_has_no_token_or_uses_another_name_gets_nothing(served, path, headers):
    status, text, _ = await answer(served, path.replace("TOKEN", served.token), **headers)
    assert status in (400, 403)
    assert served.token not in text


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:9999", "[::1]:{port}"])
async def test_addresses_of_this_machine_and_of_tunnels_are_served(served, host):
    host = host.format(port=served.port)
    status, page, _ = await answer(served, f"/{served.token}/", Host=host)
    assert (status, f"ws://{host}/{served.token}/ws" in page) == (200, True)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/TOKEN/ws", {"Origin": "http://evil.example"}),
        ("/TOKEN/ws", {"Origin": "http://127.0.0.1:1"}),
        ("/TOKEN/ws", {"Origin": "null"}),
        ("/TOKEN/ws", {"Origin": ""}),
        ("/TOKEN/ws", {"Host": "evil.example", "Origin": "http://evil.example"}),
        ("/wrong/ws", {}),
        ("/ws/", {}),
    ],
)
async def test_a_websocket_of_another_page_is_refused_and_starts_nothing(served, path, headers):
    url = f"ws://{served.host}{path.replace('TOKEN', served.token)}"
    assert await refused(served, url, **headers) == 403
    await served.until_explorers(0)


async def test_a_browser_gets_the_screen_within_limits_and_nothing_stays(served):
    async with browsing_to(
        served, f"ws://{served.host}/{served.token}/ws?width=20000&height=20000"
    ) as browser:
        await browser.until(b"MaxPool")
        (explorer,) = served.explorers
        environment = environment_of(explorer)
        assert (environment["COLUMNS"], environment["ROWS"]) == ("640", "240")
        await browser.websocket.send_str(json.dumps(["resize", {"width": 10**9, "height": -5}]))
        await browser.websocket.send_str(json.dumps(["resize", {"width": 120, "height": 40}]))
        await browser.type("?")
        await browser.until(b"Down one line.")
    await served.until_explorers(0)
    assert not is_alive(explorer)
    assert not list(Path(served.process.args[4]).parent.rglob("owned"))


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (json.dumps(["stdin", "a" * (4 << 20)]), 1009),
        ("[" * 60000, 1008),
        ("{}", 1008),
        ('["stdin", 5]', 1008),
        ('["resize", {"width": "1", "height": 1}]', 1008),
        (b"\x00\x01", 1008),
    ],
    ids=["4 MB", "nested", "object", "number", "no size", "binary"],
)
async def test_a_frame_that_the_page_does_not_send_ends_the_connection(served, frame, code):
    async with browsing_to(served) as browser:
        send = browser.websocket.send_str if isinstance(frame, str) else browser.websocket.send_bytes
        with suppress(ConnectionError):  # The server does not read all of what is too large.
            await send(frame)
        assert await browser.end() in (code, 1006)
    await served.until_explorers(0)


async def test_an_explorer_that_is_busy_ends_with_its_connection(served):
    """It has keys to work on for minutes."""
    async with browsing_to(served) as browser:
        await browser.until(b"MaxPool")
        (explorer,) = served.explorers
        keys = "".join(str(1 + number % 8) for number in range(60_000))
        for _ in range(5):
            await browser.websocket.send_str(json.dumps(["stdin", keys]))
        resident = Path(f"/proc/{explorer}/statm").read_text().split()[1]
        assert int(resident) * os.sysconf("SC_PAGE_SIZE") < 600 << 20
    await served.until_explorers(0)


async def test_an_explorer_that_is_stopped_is_killed_with_its_connection(served):
    async with browsing_to(served) as browser:
        await browser.until(b"MaxPool")
        (explorer,) = served.explorers
        os.kill(explorer, signal.SIGSTOP)
    await served.until_explorers(0)


async def test_a_person_quits(served):
    async with browsing_to(served) as browser:
        await browser.until(b"MaxPool")
        await browser.type("q")
        assert await browser.end() == 1000
    await served.until_explorers(0)


async def test_an_export_is_a_download(served):
    import aiohttp

    folder = Path(served.process.args[4])
    before = sorted(folder.parent.rglob("*"))
    async with browsing_to(served) as browser:
        await browser.until(b"MaxPool")
        await browser.type("3")
        await browser.until("▼ ms".encode())
        await browser.type("e")
        await browser.until(b"Download 9 layers")
        await browser.type("\r")
        key = await browser.file()
        assert (await answer(served, f"/download/{key}"))[0] == 403
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            await (await session.get(served.url)).read()
            response = await session.get(f"{served.origin}/download/{key}")
            content = await response.text()
            assert response.headers["Content-Disposition"].startswith(
                'attachment; filename="tiny.layers.csv"'
            )
            again = await session.get(f"{served.origin}/download/{key}")
            assert again.status == 404
        assert content.count("\n") == 10
        assert "/head/fc/Gemm" in content
    assert sorted(folder.parent.rglob("*")) == before


async def test_sessions_are_counted(tmp_path):
    with serving(small_engine(tmp_path / "engine"), "--max-sessions", "1") as served:
        async with browsing_to(served) as browser:
            await browser.until(b"MaxPool")
            assert await refused(served) == 503
        await served.until_explorers(0)
        async with browsing_when_free(served) as browser:
            await browser.until(b"MaxPool")


async def test_read_only_opens_nothing_else(tmp_path):
    with serving(small_engine(tmp_path / "engine"), "--read-only") as served:
        async with browsing_to(served) as browser:
            await browser.until(b"MaxPool")
            await browser.type("o")
            await browser.until(b"Read-only")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGKILL, -9)])
async def test_explorers_end_with_the_server(tmp_path, number, code):
    with serving(small_engine(tmp_path / "engine")) as served:
        async with browsing_to(served) as browser:
            await browser.until(b"MaxPool")
            (explorer,) = served.explorers
            served.process.send_signal(number)
            await browser.end()
            out, _ = await asyncio.to_thread(served.process.communicate, timeout=LIMIT_S)
            assert (served.process.returncode, out) == (code, "")
            await until(lambda: not is_alive(explorer), "the end of the explorer")


PAGE = """<!doctype html><title>elsewhere</title><script>
window.outcome = "";
for (const path of ["/TOKEN/ws", "/ws"]) {
  const socket = new WebSocket("ws://HOST" + path + "?width=80&height=24");
  socket.onmessage = () => { window.outcome += "read "; };
  socket.onclose = () => { window.outcome += "refused "; };
}
fetch("http://HOST/TOKEN/").then(a => a.text()).then(() => { window.outcome += "fetched "; },
                                                     () => { window.outcome += "unread "; });
</script>"""


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium")
async def test_chromium_draws_the_page_and_lets_no_other_page_near(served, tmp_path):
    """The other page even knows the token."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    text = PAGE.replace("TOKEN", served.token).replace("HOST", served.host)
    (elsewhere / "index.html").write_text(text, encoding="utf-8")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=str(elsewhere))) as other:
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            await asyncio.to_thread(_look_with_chromium, served, other.server_port, tmp_path)
        finally:
            other.shutdown()
            thread.join()
    await served.until_explorers(0)


def _look_with_chromium(served, port, folder):
    with browsing(find_chromium(), folder / "profile") as page:
        page.open_url(f"http://localhost:{port}/")
        _poll(page, "window.outcome.trim().split(' ').length === 3")
        assert sorted(page.evaluate("window.outcome").split()) == ["refused", "refused", "unread"]
        assert served.explorers == []
        page.open_url(served.url)
        _poll(page, "document.body.classList.contains('-first-byte')")
        assert len(served.explorers) == 1
        asked = {url.split("/")[2] for url in page.requests if url.startswith(("http:", "https:"))}
        assert asked <= {
            served.host,
            "fonts.googleapis.com",
        }  # The policy stops the font; the question is noted.


def _poll(page, condition):
    deadline = time.monotonic() + LIMIT_S
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"waited in vain for {condition}"
        time.sleep(0.05)
