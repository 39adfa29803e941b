"""`trex-tui mcp`: the tools of agents, over the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex_tui.old.errors import ExitCode, TrexError

if TYPE_CHECKING:
    import argparse


def run_mcp(options: argparse.Namespace) -> int:
    """Serve until standard input ends.

    Raises:
        TrexError: The library is not installed, a path is not a directory, or the configuration is invalid.
    """
    try:
        from trex_tui.old.agent.server import serve
    except ModuleNotFoundError as error:
        raise TrexError("mcp needs the library mcp: pip install 'trex-tui[mcp]'") from error
    from trex_tui.old.agent.tools import make_tools
    from trex_tui.old.cli.engines import load_options

    wanted = load_options(options)
    serve(make_tools(options.paths or ["."], wanted))
    return int(ExitCode.OK)
