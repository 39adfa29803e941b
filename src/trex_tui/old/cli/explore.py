"""`trex-tui open`, `serve` and `keys`: the explorer in this terminal or in a browser, and the table of its keys.

Each browser gets its own explorer process (`web_server`).
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from trex_tui.old.cli.engine_parsers import MOST_SESSIONS
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.cli.signals import remove_unpacked
from trex_tui.old.errors import NOT_THERE, ExitCode, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.widgets.actions import ACTIONS, Place, key_label, keys_table
from trex_tui.old.widgets.terminal import can_draw, check_driver, prepare_environment

if TYPE_CHECKING:
    import argparse


def run_open(options: argparse.Namespace) -> NoReturn:
    """Run the explorer, and end the process.

    Raises:
        TrexError: A path does not exist, or there is no terminal.
    """
    paths = options.paths or ["."]
    missing = next((path for path in paths if not os.path.lexists(path)), None)
    if missing is not None:
        raise TrexError(f"{missing}: {NOT_THERE}")
    if not can_draw(os.environ, is_terminal=sys.stdin.isatty() and sys.stderr.isatty()):
        raise TrexError(f"not a terminal; use `trex-tui summary {' '.join(paths)}` instead")
    prepare_environment(os.environ)
    check_driver(os.environ)
    from trex_tui.old.screens.driver import collecting_when_idle

    with collecting_when_idle():
        from trex_tui.old.app import run_app
        from trex_tui.old.cli.engines import load_options

        _leave_at_once(run_app(paths, load_options(options), is_read_only=options.read_only))


def _leave_at_once(code: int) -> NoReturn:
    """End the process at once: the terminal is restored, and all output is written.

    The interpreter would take another second or two to free an engine of 20 000 layers object by object.
    """
    from contextlib import suppress

    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a closed terminal must not change the exit code
            stream.flush()
    remove_unpacked()
    os._exit(code)


MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Address, number of sessions and paths of the server."""

    host: str = "127.0.0.1"
    port: int = 8000
    optimization_profile: int | None = None
    run: int | None = None
    peaks: tuple[str, ...] = ()
    ascii: bool = False
    read_only: bool = False
    max_sessions: int = MOST_SESSIONS
    onnx: str | None = None
    no_onnx: bool = False


def run_serve(options: argparse.Namespace) -> int:
    """Serve the explorer for some paths."""
    from trex_tui.old.artifacts import scan

    paths = options.paths or ["."]
    scan(paths)  # An error is reported here once, not in every browser.
    return serve(
        paths,
        ServeOptions(
            options.host,
            options.port,
            options.optimization_profile,
            options.run,
            tuple(options.peak),
            options.ascii,
            options.read_only,
            options.max_sessions,
            options.onnx,
            options.no_onnx,
        ),
    )


def build_command(paths: Sequence[str], options: ServeOptions) -> list[str]:
    """Return the arguments of the program for each browser; a path that begins with `-` stays a path."""
    arguments = [sys.executable, "-m", "trex_tui", "open"]
    if options.optimization_profile is not None:
        arguments += ["--optimization-profile", str(options.optimization_profile)]
    if options.run is not None:
        arguments += ["--run", str(options.run)]
    arguments += [f"--peak={peak}" for peak in options.peaks]
    arguments += [] if options.onnx is None else [f"--onnx={options.onnx}"]
    arguments += ["--no-onnx"] if options.no_onnx else []
    arguments += ["--ascii"] if options.ascii else []
    arguments += ["--read-only"] if options.read_only else []
    return [*arguments, "--", *paths]


def serve(paths: Sequence[str], options: ServeOptions) -> int:
    """Serve until Ctrl-C; return the exit code.

    Raises:
        TrexError: textual-serve is not installed, or the address cannot be used.
    """
    try:
        from trex_tui.old.cli.web_server import WebServer
    except ModuleNotFoundError as error:
        raise TrexError("serve needs textual-serve: pip install 'trex-tui[web]'") from error
    _check_address(options)
    if not _is_loopback(options.host):
        complain("warning: the connection is not encrypted; the secret address is visible in its traffic")
    WebServer(build_command(paths, options), options.host, options.port, options.max_sessions).run()
    return 0


def _check_address(options: ServeOptions) -> None:
    """Check that the address can be used, before anything is started."""
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


KEYS_SCHEMA = "trex-tui/keys/1"


def keys_text() -> str:
    """Return keys and descriptions under a heading per area."""
    rows = keys_table()
    width = max(len(keys) for _, keys, _ in rows)
    lines: list[str] = []
    heading = ""
    for context, keys, sentence in rows:
        if context != heading:
            lines += ["", context] if lines else [context]
            heading = context
        lines.append(f"  {keys:<{width}}  {sentence}")
    return "\n".join(lines) + "\n"


def keys_markdown() -> str:
    """Return a table per area; keys as code."""
    lines = ["| where | keys | |", "|---|---|---|"]
    heading = ""
    for context, keys, sentence in keys_table():
        marked = " ".join(f"`{key}`" for key in keys.split(" "))
        lines.append(f"| {context if context != heading else ''} | {marked} | {sentence} |")
        heading = context
    return "\n".join(lines) + "\n"


def keys_document() -> dict[str, Any]:
    """Return the object that `keys --format json` prints; `id` is stable."""
    return {
        "schema": KEYS_SCHEMA,
        "keys": [
            {
                "id": action.id,
                "place": place.value,
                "keys": key_label(action.keys).split(" "),
                "title": action.title,
                "help": action.help,
            }
            for place in Place
            for action in ACTIONS
            if action.place is place
        ],
    }


def run_keys(options: argparse.Namespace) -> int:
    """Print the keys."""
    result = ResultWriter(options)
    if result.format == "json":
        result.write_json(keys_document())
    else:
        result.write(keys_markdown() if result.format == "md" else keys_text())
    return int(ExitCode.OK)
