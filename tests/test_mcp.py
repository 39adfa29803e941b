"""`trex-tui mcp`: the tools over stdio with the SDK's client, and what they refuse to read."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY

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
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    shutil.copytree(SAMPLES / "alexnet", inside / "set")
    shutil.copytree(SAMPLES / "resnet18", outside)
    (inside / "link").symlink_to(outside)
    (inside / "graph.json").symlink_to(outside / "resnet18_fp16.graph.json")
    async with agent(inside) as client:
        assert await call(client, "summary", path="set")
        for path in ("../outside", str(outside), "link", "graph.json"):
            assert "resnet18_fp16" not in str(await client.call_tool("summary", {"path": path}))
        assert "begins with -" in await refusal(client, "summary", path="--output=x")
        assert "no column" in await refusal(client, "layers", path="set", filter="nosuch:1")
    assert not (inside / "x").exists()
