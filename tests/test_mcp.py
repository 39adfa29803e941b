"""`trex-tui mcp`: the tools over stdio with the SDK's client, and what they refuse to read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY, write_sample_set
from trex_tui.__main__ import main
from trex_tui.artifacts.open import confine, is_allowed
from trex_tui.cli import mcp as tools

mcp = pytest.importorskip("mcp")
SAMPLES = REPOSITORY / "sample_artifacts"
TOOLS = ["engines", "summary", "layers", "lint", "diff", "build_log", "explain"]


@asynccontextmanager
async def agent(*directories: Path) -> AsyncIterator[Any]:
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "trex_tui", "mcp", *map(str, directories)]
    )
    async with mcp.Client(server) as client:
        yield client


async def call(client: Any, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content[0].text
    return result.structured_content


async def refusal(client: Any, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error, result.structured_content
    text: str = result.content[0].text
    assert "Traceback" not in text
    return text


async def test_tools_return_the_documents_of_the_commands() -> None:
    async with agent(SAMPLES) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        assert len((await call(client, "engines"))["rows"]) >= 7
        (engine,) = (await call(client, "summary", path="alexnet"))["engines"]
        assert engine["name"] == "alexnet_fp16"
        gemms = await call(client, "layers", path="alexnet", filter="kind:gemm", top=2)
        assert len(gemms["layers"]) == 2
        assert (await call(client, "lint", path="resnet-a100/qat"))["engines"][0]["findings"]
        compared = await call(client, "diff", path="resnet-a100/fp16", other="resnet-a100/qat")
        assert compared["differences"]
        assert await call(client, "build_log", path="build-log")
        assert await call(client, "explain", word="latency_pct")


async def test_nothing_outside_of_the_directories_is_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "inside-not"
    write_sample_set(inside / "net")
    write_sample_set(outside)
    (inside / "link").symlink_to(outside)
    (inside / "file.graph.json").symlink_to(outside / "net.graph.json")
    os.mkfifo(inside / "pipe.graph.json")
    paths = [
        str(outside),
        "../inside-not",
        "net/../../inside-not/net.graph.json",
        "link",
        "link/net.graph.json",
    ]
    paths += ["file.graph.json", "/etc/passwd", "/etc/nothing", "a\0b", "/proc/self/cwd/../.."]
    async with agent(inside) as client:
        (row,) = (await call(client, "engines"))["rows"]
        assert row["engine"] == "net"
        for path in paths:
            for name, more in (
                ("engines", {}),
                ("summary", {}),
                ("build_log", {}),
                ("diff", {"other": "net"}),
            ):
                assert "is not in the given directories" in await refusal(client, name, path=path, **more)
        assert await refusal(client, "summary", path="pipe.graph.json")
        assert "begins with -" in await refusal(client, "summary", path="--output=x")
        assert "unknown name" in await refusal(client, "explain", word="/etc/passwd")
        assert await call(client, "summary", path="net")
    assert not (inside / "x").exists()


@pytest.fixture
def only_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Confine this process, as the server does its own."""

    def enter(root: Path) -> None:
        monkeypatch.chdir(root)
        confine([root])

    yield enter
    confine([])


Confine = Callable[[Path], None]


def test_files_beside_a_set_are_not_read_outside(tmp_path: Path, only_in: Confine) -> None:
    """By the conventions of toolkits a log may lie in `models/` beside `results/`: above the directory given."""
    write_sample_set(tmp_path / "results" / "net")
    (tmp_path / "models" / "net").mkdir(parents=True)
    log = tmp_path / "results" / "net" / "net.build.log"
    log.rename(tmp_path / "models" / "net" / "net.build.log")
    for root, path, has_log in ((tmp_path, "results/net", True), (tmp_path / "results", "net", False)):
        only_in(root)
        (engine,) = tools.summary(path)["engines"]
        assert ("build_log" in engine["files"]) == has_log


def test_every_tool_states_damaged_files(tmp_path: Path, only_in: Confine) -> None:
    for name in ("good", "bad"):
        write_sample_set(tmp_path / name)
    profile = tmp_path / "bad" / "net.profile.json"
    profile.write_bytes(profile.read_bytes()[:200])
    only_in(tmp_path)
    for result in (
        tools.engines(),
        tools.summary("bad"),
        tools.layers("bad"),
        tools.lint("bad"),
        tools.diff("good", "bad"),
    ):
        assert "net.profile.json" in json.dumps(result["diagnostics"]) + json.dumps(result.get("engines", []))


async def test_refusals_are_sentences_and_the_server_stays() -> None:
    async with agent(SAMPLES) as client:
        assert "did you mean gemm?" in await refusal(client, "layers", path="alexnet", filter="kind:gem")
        assert "no column" in await refusal(client, "layers", path="alexnet", filter="nosuch:1")
        assert "not a whole number" in await refusal(client, "layers", path="alexnet", top=-5)
        assert "keep its output as NAME.build.log" in await refusal(client, "build_log", path="alexnet")
        assert len(await refusal(client, "summary", path="x" * 100_000)) < 1000
        assert "\x1b" not in await refusal(client, "explain", word="\x1b[31m")
        assert await call(client, "summary", path="alexnet")


def test_without_the_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert main(["mcp", str(SAMPLES)]) == 2
    assert "install trex-tui with its extra mcp" in capsys.readouterr().err
    assert is_allowed("/")
