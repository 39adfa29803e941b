"""`trex-tui mcp`: the tools over stdio with the SDK's client, and what they refuse to read."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from helpers import OLD_SAMPLES, REPOSITORY, real_sets, write_sample_set
from hostile import check_plain, write_hostile_set
from trex_tui.__main__ import main
from trex_tui.old.agent.roots import Roots
from trex_tui.old.agent.server import DATA
from trex_tui.old.agent.tools import MOST_TEXT, Tools, make_tools
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.artifacts.input_files import confine, is_allowed, read_text
from trex_tui.old.errors import ArtifactError, TrexError

SAMPLES = OLD_SAMPLES
NAMES = ["engines", "summary", "layers", "layer", "lint", "compare", "build_why", "explain"]
ALEXNET, INT8 = "alexnet/alexnet_fp16.graph.json", "alexnet_int8/alexnet.qat.onnx.engine.graph.json"


class Agent:
    """A client of the SDK that checks each result against the published schema."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.schemas: dict[str, Any] = {}

    async def tools(self) -> list[Any]:
        tools = (await self.client.list_tools()).tools
        self.schemas = {tool.name: tool.output_schema for tool in tools}
        return list(tools)

    async def call(self, name: str, /, **arguments: Any) -> Any:
        if not self.schemas:
            await self.tools()
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result.content[0].text
        jsonschema.validate(result.structured_content, self.schemas[name])
        return result.structured_content

    async def refusal(self, name: str, /, **arguments: Any) -> str:
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result.structured_content
        text: str = result.content[0].text
        assert "Traceback" not in text
        return text


@asynccontextmanager
async def agent_on(*directories: Path | str) -> AsyncIterator[Agent]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "trex_tui", "mcp", *map(str, directories)], env=dict(os.environ)
    )
    async with Client(server) as client:
        yield Agent(client)


@pytest.fixture(autouse=True)
def _free() -> Iterator[None]:
    """The process of the tests is confined no longer than its test."""
    yield
    confine([])


def tools_on(*directories: Path) -> Tools:
    return make_tools(list(map(str, directories)), LoadOptions())


async def test_a_session_on_the_samples() -> None:
    async with agent_on(SAMPLES) as agent:
        tools = await agent.tools()
        assert [tool.name for tool in tools] == NAMES
        for tool in tools:
            assert tool.annotations.read_only_hint
            assert DATA in tool.description
            assert tool.output_schema["type"] == "object"
        engines = await agent.call("engines")
        assert [row[0] for row in engines["rows"]][:3] == ["alexnet_fp16", "alexnet_fp32", "alexnet.qat"]
        summary = await agent.call("summary", path=ALEXNET)
        assert summary["values"]["latency"]["median_ms"] == 0.499023
        plan = await agent.call("summary", path=ALEXNET, keys=["plan"])
        assert plan["values"]["plan"]["model"]["format"] == "ONNX"
        gemms = await agent.call("layers", path=ALEXNET, filter="kind:gemm", columns=["index", "latency_ms"])
        assert gemms["columns"] == ["index", "latency_ms"]
        assert [row[0] for row in gemms["rows"]] == [11, 12, 13]
        layer = await agent.call("layer", path=ALEXNET, layer="11")
        assert layer["columns"]["kind"] == "gemm"
        assert any(finding.startswith("GEMM003: ") for finding in layer["findings"])
        lint = await agent.call("lint", path=ALEXNET, rules=["GEMM"])
        assert {row[0][:4] for row in lint["rows"]} == {"GEMM"}
        compared = await agent.call("compare", baseline=ALEXNET, other=INT8)
        assert compared["verdict"]["outcome"] == "faster"
        assert compared["reasons"][0]["cause"] == "precision"
        tactics = await agent.call("build_why", path=ALEXNET, layer="/features/features.0/Conv")
        times = [row[0] for row in tactics["rows"] if row[0] is not None]
        assert times == sorted(times)
        why = await agent.call("build_why", path=INT8, against=ALEXNET)
        assert why["columns"][2] == "because"
        explained = await agent.call("explain", name="p99")
        assert explained["terms"][0]["unit"] == "milliseconds"


def test_every_tool_states_damaged_files(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        shutil.copytree(SAMPLES / "alexnet", tmp_path / name)
    profile = tmp_path / "bad" / "alexnet_fp16.profile.json"
    profile.write_bytes(profile.read_bytes()[:1000])
    (tmp_path / "bad" / "alexnet_fp16.profile.metadata.json").write_bytes(b"")
    tools = tools_on(tmp_path)
    results = {
        "engines": tools.engines(None, 20, None),
        "summary": tools.summary("bad", []),
        "layers": tools.layers("bad", "", [], None, 20, None, reverse=False),
        "layer": tools.layer("bad", "1"),
        "lint": tools.lint("bad", [], "info", 20, None),
        "compare": tools.compare("good", "bad", "", 20, None),
        "build_why": tools.build_why("bad", None, None, 20, None),
        "build_why layer": tools.build_why("bad", "features.0/Conv", None, 20, None),
        "build_why against": tools.build_why("bad", None, "good", 20, None),
    }
    assert {name.split()[0] for name in results} == set(NAMES) - {"explain"}
    for name, result in results.items():
        notes = result["cautions"] if name == "compare" else result["notes"]
        damaged = ("profile.json", "profile.metadata.json")[name == "engines" :]
        for file in damaged:  # the list reads no content
            assert any(note.startswith("error: ") and file in note for note in notes), (name, notes)


async def test_parts_of_a_table_join_to_the_whole() -> None:
    async with agent_on(SAMPLES) as agent:
        whole = await agent.call("layers", path=ALEXNET, top=200)
        assert whole["cursor"] is None
        rows, cursor = [], None
        while len(rows) < whole["total"]:
            part = await agent.call("layers", path=ALEXNET, top=4, cursor=cursor)
            rows += part["rows"]
            cursor = part["cursor"]
        assert cursor is None
        assert rows == whole["rows"]
        assert "cursor" in await agent.refusal("layers", path=ALEXNET, cursor="-1")


async def test_errors_are_sentences_with_a_remedy() -> None:
    async with agent_on(SAMPLES) as agent:
        refusal = await agent.refusal("layers", path=ALEXNET, filter="kind:gem")
        assert "did you mean gemm?" in refusal
        assert "did you mean latency_ms" in await agent.refusal("layers", path=ALEXNET, sort="latncy_ms")
        assert "name the path of one" in await agent.refusal("summary", path=".")
        assert "no layer" in await agent.refusal("layer", path=ALEXNET, layer="zeal")
        assert "no key 'laten'" in await agent.refusal("summary", path=ALEXNET, keys=["laten"])
        assert "save the build log" in await agent.refusal("build_why", path="names_only")
        assert "unknown name" in await agent.refusal("explain", name="zealzeal")
        assert await agent.refusal("layers", path=ALEXNET, top=100_000)


async def test_a_session_on_real_sets(artifacts: Path) -> None:
    async with agent_on(artifacts) as agent:
        for parameter in real_sets():
            (real,) = parameter.values
            rows = (await agent.call("engines", path=real.folder, top=100))["rows"]
            path = next(row[1] for row in rows if Path(row[1]).name in real.files.values())
            summary = await agent.call("summary", path=path)
            layers = await agent.call("layers", path=path, top=5)
            assert layers["total"] == summary["values"]["layers"]
            assert await agent.call("layer", path=path, layer="0")
            assert await agent.call("lint", path=path)
            compared = await agent.call("compare", baseline=path, other=path)
            assert compared["reasons"] == []


async def test_hostile_names_are_data(tmp_path: Path) -> None:
    write_hostile_set(tmp_path / "one")
    write_hostile_set(tmp_path / "two", factor=1.5)
    async with agent_on(tmp_path) as agent:
        engines = await agent.call("engines")
        one, other = (row[1] for row in engines["rows"])
        results = [
            engines,
            await agent.call("summary", path=one),
            await agent.call("layers", path=one, columns=["index", "name", "layer_type", "tactic"]),
            await agent.call("layer", path=one, layer="0"),
            await agent.call("lint", path=one),
            await agent.call("compare", baseline=one, other=other),
            await agent.call("build_why", path=one, against=other),
        ]
        for text in texts_in(results):
            check_plain(text)
            assert len(text) <= MOST_TEXT


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


async def test_paths_that_lead_outside_are_refused(tmp_path: Path) -> None:
    root, secret = tmp_path / "root", tmp_path / "root-secret"
    write_sample_set(root / "net")
    write_sample_set(secret)
    (root / "link").symlink_to(secret)
    (root / "file.graph.json").symlink_to(secret / "net.graph.json")
    os.mkfifo(root / "pipe.graph.json")
    async with agent_on(root) as agent:
        outside = [
            str(secret),
            "../root-secret",
            "net/../../root-secret/net.graph.json",
            "link",
            "link/net.graph.json",
            "file.graph.json",
            "/etc/passwd",
            "a\0b",
            "/proc/self/cwd/../..",
        ]
        for path in outside:
            for name, arguments in (
                ("engines", {"path": path}),
                ("summary", {"path": path}),
                ("compare", {"baseline": "net", "other": path}),
                ("build_why", {"path": "net", "against": path}),
            ):
                refusal = await agent.refusal(name, **arguments)
                assert "does not exist below" in refusal, path
        engines = await agent.call("engines")
        assert [row[1] for row in engines["rows"]] == ["net/net.graph.json"]
        assert await agent.refusal("summary", path="pipe.graph.json")


def test_files_beside_a_set_are_not_read_outside(tmp_path: Path) -> None:
    """By the conventions of toolkits a log may lie in `models/` beside `results/`: above the directory given."""
    write_sample_set(tmp_path / "results" / "net")
    (tmp_path / "models" / "net").mkdir(parents=True)
    log = tmp_path / "results" / "net" / "net.build.log"
    log.rename(tmp_path / "models" / "net" / "net.build.log")
    rows = tools_on(tmp_path).engines(None, 20, None)["rows"]
    assert "build_log" in rows[0][2]
    rows = tools_on(tmp_path / "results").engines(None, 20, None)["rows"]
    assert "build_log" not in rows[0][2]


def test_a_link_inside_of_a_set_is_a_remark(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_sample_set(root)
    secret = tmp_path / "secret.json"
    (root / "net.profile.json").rename(secret)
    (root / "net.profile.json").symlink_to(secret)
    result = tools_on(root).summary("net.graph.json", [])
    assert result["values"]["latency_sum_ms"] is None
    with pytest.raises(ArtifactError, match="outside of the allowed directories"):
        read_text(root / "net.profile.json")


def test_archives_are_read_and_links_to_archives_outside_are_not(tmp_path: Path) -> None:
    root = tmp_path / "root"
    files = write_sample_set(tmp_path / "net")
    root.mkdir()
    for target in (root / "inside.tea", tmp_path / "outside.tea"):
        with zipfile.ZipFile(target, "w") as archive:
            for file in files.iterdir():
                archive.write(file, file.name)
    (root / "link.tea").symlink_to(tmp_path / "outside.tea")
    tools = tools_on(root)
    assert [row[1] for row in tools.engines(None, 20, None)["rows"]] == ["inside.tea"]
    assert tools.summary("inside.tea", [])["values"]["layers"] == 6
    with pytest.raises(TrexError, match="does not exist below"):
        tools.summary("link.tea", [])


def test_an_engine_is_read_again_when_a_file_changes(tmp_path: Path) -> None:
    folder = write_sample_set(tmp_path / "net")
    tools = tools_on(tmp_path)
    before = tools.summary("net", [])["values"]["latency_sum_ms"]
    rows = json.loads((folder / "net.profile.json").read_text())
    rows[2]["averageMs"] *= 3
    (folder / "net.profile.json").write_text(json.dumps(rows))
    assert tools.summary("net", [])["values"]["latency_sum_ms"] > before


def test_several_directories_have_whole_paths(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_sample_set(tmp_path / name)
    tools = tools_on(tmp_path / "a", tmp_path / "b")
    paths = [row[1] for row in tools.engines(None, 20, None)["rows"]]
    assert paths == [str(tmp_path / name / "net.graph.json") for name in ("a", "b")]
    assert all(tools.summary(path, [])["name"] for path in paths)
    assert len(tools.engines(str(tmp_path / "b"), 20, None)["rows"]) == 1


def test_nothing_is_confined_without_a_server(tmp_path: Path) -> None:
    assert is_allowed(tmp_path)
    with pytest.raises(TrexError, match="is not a directory"):
        Roots([str(tmp_path / "absent")])
    assert is_allowed(tmp_path)


def test_without_the_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in [
        name
        for name in sys.modules
        if name == "mcp" or name.startswith(("mcp.", "trex_tui.old.agent.server"))
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp", str(SAMPLES)]) == 2
    assert "pip install 'trex-tui[mcp]'" in capsys.readouterr().err


def test_copies_of_sets_outside_are_no_part(tmp_path: Path) -> None:
    """A directory whose name begins like an allowed one is outside."""
    write_sample_set(tmp_path / "net")
    shutil.copytree(tmp_path / "net", tmp_path / "net2")
    tools = tools_on(tmp_path / "net")
    with pytest.raises(TrexError, match="does not exist below"):
        tools.summary(str(tmp_path / "net2"), [])


def test_the_skill_names_every_tool() -> None:
    skill = (REPOSITORY / "docs" / "SKILL.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", skill, re.MULTILINE) == NAMES
    assert DATA.split(":")[1].strip(" .") in skill
