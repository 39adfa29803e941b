"""The explorer in a browser: textual-serve starts one for each that connects."""

from __future__ import annotations

import ipaddress
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trex_tui.errors import TrexError

if TYPE_CHECKING:
    import argparse

MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where to listen, and how to open what is served."""

    host: str = "127.0.0.1"
    port: int = 8000
    optimization_profile: int | None = None
    peaks: tuple[str, ...] = ()
    ascii: bool = False


def run_serve(options: argparse.Namespace) -> int:
    """Serve the explorer of some paths."""
    from trex_tui.artifacts import scan

    paths = options.paths or ["."]
    scan(paths)  # What cannot be opened is told here, not in every browser.
    return serve(
        paths,
        ServeOptions(
            options.host, options.port, options.optimization_profile, tuple(options.peak), options.ascii
        ),
    )


def build_command(paths: Sequence[str], options: ServeOptions) -> list[str]:
    """The arguments of the program that each browser gets; a path that begins with `-` stays a path."""
    arguments = [sys.executable, "-m", "trex_tui", "open"]
    if options.optimization_profile is not None:
        arguments += ["--optimization-profile", str(options.optimization_profile)]
    arguments += [f"--peak={peak}" for peak in options.peaks]
    arguments += ["--ascii"] if options.ascii else []
    return [*arguments, "--", *paths]


def quoted(arguments: Sequence[str]) -> str:
    """The arguments as the line that textual-serve hands to a shell: nothing in a path acts on that shell."""
    return subprocess.list2cmdline(arguments) if os.name == "nt" else shlex.join(arguments)


def serve(paths: Sequence[str], options: ServeOptions) -> int:
    """Serve until Ctrl-C; return the exit code.

    Raises:
        TrexError: textual-serve is not installed, or the address cannot be listened on.
    """
    try:
        from textual_serve.server import Server
    except ModuleNotFoundError as error:
        raise TrexError("serve needs textual-serve: pip install 'trex-tui[web]'") from error
    _check_address(options)
    if not _is_loopback(options.host):
        sys.stderr.write(
            f"trex-tui: warning: whoever reaches {options.host}:{options.port} can read what you can\n"
        )
    from rich.console import Console

    host = f"[{options.host}]" if ":" in options.host else options.host
    url = f"http://{host}:{options.port}"
    server = _private(Server)(
        quoted(build_command(paths, options)), options.host, options.port, "trex-tui", url
    )
    server.console = Console(stderr=True)
    server.serve()
    return 0


def policy(url: str) -> str:
    """What textual-serve's page may load: what it brings itself, under the address it has or the one it was told.

    Args:
        url: Where the server says that it is; a browser may know it by another name.
    """
    own = f"'self' {url}"
    return (
        f"default-src {own} data: blob:; script-src {own} 'unsafe-inline' 'unsafe-eval'; "
        f"style-src {own} 'unsafe-inline'; connect-src {own} ws: wss:"
    )


def _private(base: type[Any]) -> type[Any]:
    """A server whose page loads nothing from elsewhere: textual-serve's asks Google for a font."""

    class PrivateServer(base):  # type: ignore[misc]
        async def _make_app(self) -> Any:  # noqa: ANN401 - aiohttp's
            async def forbid_elsewhere(_: object, response: Any) -> None:  # noqa: ANN401 - aiohttp's
                response.headers["Content-Security-Policy"] = policy(self.public_url)

            app = await super()._make_app()
            app.on_response_prepare.append(forbid_elsewhere)
            return app

    return PrivateServer


def _check_address(options: ServeOptions) -> None:
    """Say in a line why nothing can listen there, before anything is started."""
    address_text = f"{options.host}:{options.port}"
    if not 0 < options.port <= MOST_PORT:
        raise TrexError(f"cannot listen on {address_text}: a port is 1 to {MOST_PORT}")
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, number) as listener:
            if os.name != "nt":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except (OSError, UnicodeError) as error:
        raise TrexError(
            f"cannot listen on {address_text}: {getattr(error, 'strerror', None) or error}"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
