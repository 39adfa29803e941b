"""Serve the explorer to browsers: one process per browser, behind a token, within limits.

The page and its script are from textual-serve; the rest is not, because its server responds to every web page that the
browser has open, accepts messages of any size, and leaves processes behind. `SECURITY.md` lists the checks.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import re
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import jinja2
import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve._binary_encode import load as unpack

from trex_tui.old.lazy_dataclass import dataclass

MOST_FRAME_BYTES = 64 << 10
"""Size limit of a message from the page: more than typing, and a large paste."""
MOST_UNREAD_BYTES = 1 << 20
"""Limit of input that an explorer has not read yet."""
WIDEST, HIGHEST = 640, 240
"""Columns and rows of a screen: a 4K display at six pixels a column."""
HEARTBEAT_S = 15.0
GRACE_S = 1.0
"""Time for an explorer to end before it is killed."""
CHUNK_BYTES = 64 << 10
CHUNK_WAIT_S = 30.0
"""Timeout for a part of a download; the explorer may be busy."""
MOST_DOWNLOADS = 16
"""Limit of files that a browser has not fetched yet."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_HEAD_BYTES = 5
_HOST = re.compile(r"[A-Za-z0-9._:\[\]-]{1,260}")
_FILES = Path(textual_serve.__file__).parent


class BadFrameError(ValueError):
    """A message that textual-serve's page does not send."""


def read_frame(text: str) -> tuple[str, Any]:
    """Return the kind of a message from the page, and its content: text, or a size within the limits.

    Raises:
        BadFrameError: The message is invalid.
    """
    try:
        envelope = json.loads(text)
    except (ValueError, RecursionError):
        raise BadFrameError("no JSON") from None
    match envelope:
        case ["stdin" | "ping" as kind, str(content), *_]:
            return kind, content
        case ["resize", {"width": int(width), "height": int(height)}, *_]:
            return "resize", limit_size(width, height)
        case ["focus" | "blur" as kind, *_]:
            return kind, None
    raise BadFrameError("unknown message")


def limit_size(width: int, height: int) -> tuple[int, int]:
    """Return columns and rows between 1 and the limits."""
    return min(max(width, 1), WIDEST), min(max(height, 1), HIGHEST)


def is_own_host(header: str, names: Sequence[str]) -> bool:
    """Return whether a Host header names this server: by an address, as localhost, or by one of its names.

    A page of another site can make its own name resolve to this machine, and then has the same origin as the server. It
    cannot do that with an address.
    """
    if not _HOST.fullmatch(header):
        return False
    try:
        name = urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in {"localhost", *(own.lower() for own in names)}
    return True


def is_same_origin(origin: str, host: str) -> bool:
    """Return whether an Origin header belongs to a page that this server sent under the name `host`."""
    return origin.lower() in {f"http://{host.lower()}", f"https://{host.lower()}"}


def content_policy(host: str) -> str:
    """Return the content security policy of the page: this server only, though the page names an external font."""
    return (
        "default-src 'self' data: blob:; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
        f"style-src 'self' 'unsafe-inline'; connect-src 'self' ws://{host} wss://{host}; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )


def disposition(name: str) -> str:
    """Return the Content-Disposition of a file to save, safe for any name."""
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


@dataclass(frozen=True, slots=True)
class Download:
    """A file that an explorer offers to its browser."""

    explorer: Explorer
    key: str
    name: str
    media_type: str


@dataclass(eq=False, slots=True)
class Explorer:
    """The process of one browser, and the messages between both.

    Attributes:
        arguments: Arguments of the process.
        browser: The connection; the process ends with it and vice versa.
        offered: Files that the browser may fetch, by key.
    """

    arguments: Sequence[str]
    browser: web.WebSocketResponse
    offered: dict[str, Download] = field(default_factory=dict)
    _chunks: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(1))
    _fetching: asyncio.Lock = field(default_factory=asyncio.Lock)
    _process: asyncio.subprocess.Process | None = None

    async def run(self, width: int, height: int) -> None:
        """Run until the process or the browser ends."""
        environment = {
            "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver",
            "TEXTUAL_FPS": "60",
            "TEXTUAL_COLOR_SYSTEM": "truecolor",
            "TERM_PROGRAM": "textual",
            "TERM_PROGRAM_VERSION": version("textual-serve"),
            "COLUMNS": str(width),
            "ROWS": str(height),
        }
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self.arguments,
            stdin=pipe,
            stdout=pipe,
            env=os.environ | environment,
            start_new_session=True,  # Ctrl-C in the terminal of the server is for the server.
        )
        ways = [asyncio.create_task(self._read_process()), asyncio.create_task(self._read_browser())]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in done:
                way.result()
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await self._end()

    async def read(self, key: str) -> bytes:
        """Read the next part of a file; empty at its end.

        Raises:
            asyncio.TimeoutError: The process does not respond.
        """
        async with self._fetching:
            request = {"type": "deliver_chunk_request", "key": key, "size": CHUNK_BYTES, "name": None}
            self._send_meta(request)
            return await asyncio.wait_for(self._chunks.get(), CHUNK_WAIT_S)

    async def _read_process(self) -> None:
        output = self._stream("stdout")
        try:
            while await output.readline() not in (b"__GANGLION__\n", b""):
                pass  # Before the first packet.
            while True:
                head = await output.readexactly(_HEAD_BYTES)
                payload = await output.readexactly(int.from_bytes(head[1:], "big"))
                if head[:1] == b"D":
                    await self.browser.send_bytes(payload)
                elif head[:1] == b"M" and not await self._take_meta(json.loads(payload)):
                    return
                elif head[:1] == b"P":
                    self._take_chunk(payload)
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # The process or the browser has ended.

    async def _take_meta(self, meta: dict[str, Any]) -> bool:
        """Handle a message of the process; False at its end."""
        if meta["type"] == "deliver_file_start" and len(self.offered) < MOST_DOWNLOADS:
            key = str(meta["key"])
            self.offered[key] = Download(self, key, Path(meta["path"]).name, meta["mime_type"])
            await self.browser.send_str(json.dumps(["deliver_file_start", key]))
        return bool(meta["type"] != "exit")

    def _take_chunk(self, payload: bytes) -> None:
        answer: Any = unpack(payload)
        chunk = answer[2]
        with suppress(asyncio.QueueFull):  # An answer after its timeout.
            self._chunks.put_nowait(chunk if isinstance(chunk, bytes) else chunk.encode())

    async def _read_browser(self) -> None:
        with suppress(ConnectionError):
            async for message in self.browser:
                try:
                    if message.type is not WSMsgType.TEXT:
                        raise BadFrameError("no text")
                    await self._take_frame(*read_frame(message.data))
                except BadFrameError as error:
                    await self.browser.close(code=WSCloseCode.POLICY_VIOLATION, message=str(error).encode())
                    return

    async def _take_frame(self, kind: str, content: Any) -> None:  # noqa: ANN401 - by the kind
        if kind == "stdin":
            self._send(b"D", content.encode("utf-8", "replace"))
        elif kind == "resize":
            self._send_meta({"type": "resize", "width": content[0], "height": content[1]})
        elif kind == "ping":
            await self.browser.send_str(json.dumps(["pong", content]))
        else:
            self._send_meta({"type": kind})

    def _send_meta(self, meta: dict[str, object]) -> None:
        self._send(b"M", json.dumps(meta).encode())

    def _send(self, kind: bytes, payload: bytes) -> None:
        # Not drained: a task that waits for the process would not see the end of the connection.
        stream = self._stream("stdin")
        if stream.transport.get_write_buffer_size() > MOST_UNREAD_BYTES:
            raise BadFrameError("too much input")
        stream.write(kind + len(payload).to_bytes(4, "big") + payload)

    def _stream(self, name: str) -> Any:  # noqa: ANN401 - a reader or a writer
        return getattr(self._process, name)

    async def _end(self) -> None:
        """Let the process end, and kill it if it does not end in time."""
        assert self._process is not None
        self._stream("stdin").close()

        async def ended() -> None:
            # A process blocked in a write does not end, and unread output keeps asyncio from seeing the end.
            while await self._stream("stdout").read(CHUNK_BYTES):
                pass
            await self._process.wait()  # type: ignore[union-attr]  # asserted above

        try:
            await asyncio.wait_for(ended(), GRACE_S)
        except asyncio.TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await ended()


class WebServer:
    """Serves the page, the messages and the downloads.

    Args:
        arguments: Arguments of the process of each browser.
        host: The address to listen on, or its name.
        most_sessions: Largest number of concurrent browsers with an explorer.
    """

    def __init__(self, arguments: Sequence[str], host: str, port: int, most_sessions: int) -> None:
        self._arguments, self._most_sessions = arguments, most_sessions
        self._host, self._port = host, port
        self._token = secrets.token_urlsafe(24)
        self._names = [host, socket.gethostname()]
        self._explorers: set[Explorer] = set()
        self._begun = 0
        """Number of browsers that have an explorer, or are about to."""
        templates = jinja2.FileSystemLoader(_FILES / "templates")
        self._page = jinja2.Environment(loader=templates, autoescape=True).get_template("app_index.html")

    @property
    def url(self) -> str:
        """URL to open, with the token."""
        try:
            is_any = ipaddress.ip_address(self._host).is_unspecified
        except ValueError:
            is_any = False
        host = socket.gethostname() if is_any else self._host
        return f"http://{f'[{host}]' if ':' in host else host}:{self._port}/{self._token}/"

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""

        @web.middleware
        async def check_host(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not is_own_host(request.headers.get("Host", ""), self._names):
                raise web.HTTPForbidden(text="Unknown host name for this server.\n")
            return await handler(request)

        application = web.Application(middlewares=[check_host])
        application.add_routes(
            [
                web.get("/", self._send_page),
                web.get("/{token}/", self._send_page),
                web.get("/{token}/ws", self._connect),
                web.get("/download/{key}", self._send_download),
                web.static("/static", _FILES / "static"),
            ]
        )
        application.on_response_prepare.append(self._add_headers)
        application.on_shutdown.append(self._disconnect)
        # No log of requests: it would contain the token.
        web.run_app(application, host=self._host, port=self._port, print=self._announce, access_log=None)

    def _announce(self, _: str) -> None:
        """Print the URL once the server listens."""
        sys.stderr.write(
            f"Open {self.url}\nAnyone with this address can read your files. Press Ctrl-C to stop.\n"
        )
        sys.stderr.flush()

    async def _disconnect(self, _: web.Application) -> None:
        for explorer in list(self._explorers):
            await explorer.browser.close(code=WSCloseCode.GOING_AWAY)

    async def _add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        host = request.headers.get("Host", "")
        response.headers["Content-Security-Policy"] = content_policy(host if _HOST.fullmatch(host) else "")
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        response.headers.setdefault("Cache-Control", "no-store")

    def _check_token(self, given: str) -> None:
        if not secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode()):
            raise web.HTTPForbidden(text="Open the address that `trex-tui serve` printed.\n")

    async def _send_page(self, request: web.Request) -> web.StreamResponse:
        self._check_token(request.match_info.get("token", ""))
        size = request.query.get("fontsize", "")
        page = self._page.render(
            font_size=min(int(size), 200) if re.fullmatch("[0-9]{1,3}", size) else 16,
            app_websocket_url=f"ws://{request.headers['Host']}/{self._token}/ws",
            config={"static": {"url": "/static/"}},
            application={"name": "trex-tui"},
        )
        response = web.Response(text=page, content_type="text/html")
        # The script of the page fetches downloads without the token.
        response.set_cookie(
            self._cookie, self._token, path="/download", httponly=True, samesite="Strict", max_age=None
        )
        return response

    @property
    def _cookie(self) -> str:
        return f"trex-tui-{self._port}"

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        """Run an explorer for a page of this server."""
        self._check_token(request.match_info["token"])
        if not is_same_origin(request.headers.get("Origin", ""), request.headers["Host"]):
            raise web.HTTPForbidden(text="The page comes from another server.\n")
        if self._begun >= self._most_sessions:
            raise web.HTTPServiceUnavailable(text="All sessions are in use; raise --max-sessions.\n")
        self._begun += 1
        try:
            return await self._explore(request)
        finally:
            self._begun -= 1

    async def _explore(self, request: web.Request) -> web.StreamResponse:
        browser = web.WebSocketResponse(
            heartbeat=HEARTBEAT_S, max_msg_size=MOST_FRAME_BYTES, compress=False, timeout=GRACE_S
        )
        await browser.prepare(request)
        explorer = Explorer(self._arguments, browser)
        sizes = (request.query.get("width", ""), request.query.get("height", ""))
        width, height = (int(text) if re.fullmatch("[0-9]{1,9}", text) else 0 for text in sizes)
        self._explorers.add(explorer)
        try:
            await explorer.run(*limit_size(width or 80, height or 24))
        finally:
            self._explorers.discard(explorer)
            await browser.close()
        return browser

    async def _send_download(self, request: web.Request) -> web.StreamResponse:
        self._check_token(request.cookies.get(self._cookie, ""))
        key = request.match_info["key"]
        offers = (explorer.offered.pop(key, None) for explorer in self._explorers)
        download = next(filter(None, offers), None)
        if download is None:
            raise web.HTTPNotFound(text="No such file, or already downloaded.\n")
        response = web.StreamResponse()
        response.content_type = download.media_type
        response.headers["Content-Disposition"] = disposition(download.name)
        response.headers["Content-Security-Policy"] = "sandbox"
        await response.prepare(request)
        try:
            while chunk := await download.explorer.read(key):
                await response.write(chunk)
        except (asyncio.TimeoutError, ConnectionError, BadFrameError):
            if request.transport is not None:
                request.transport.abort()  # An incomplete file must not look complete.
            return response
        await response.write_eof()
        return response
