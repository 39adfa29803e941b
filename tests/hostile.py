"""An engine in which every string is an attack, and what must hold of whatever is made of it.

A new command is a line in `COMMANDS`, a new format a function in `JUDGES`.
"""

from __future__ import annotations

import csv
import io
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from helpers import STAMP, strict_json, timing_row, write_json

TERMINAL = "\x1b[2J\x1b]52;c;aGk=\x07\x1b]0;title\x1b\\\x9b31m\x08\x7f\u202e\u2066\u200b\u2028"
MARKUP = "[red]x[/red][@click=app.quit]y[/][link=https://evil.example]z[/link]"
WEB = "<script>alert(1)</script><img src=x onerror=alert(1)>&lt;\"'--><a href=https://evil.example>w</a>"
FORGE = "|col|`code`**b** ![i](https://evil.example/p.png) [l](javascript:alert(1)) @team #1 <!-- -->"
LINES = "\r\n# heading\n::error::x%0Ay\n- item"
SHELL = "$(touch pwned)`touch pwned`;touch pwned"
ODD = "\0\ud800\ufeff"
ALL = TERMINAL + MARKUP + WEB + FORGE + LINES + SHELL + ODD
STARTS = ("=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1", '"=1', "plain")
"""What a spreadsheet takes for a formula, and what it does not."""
FOLDER = "=d [red]&<b>|$(x)`\x1b]0;t\x07\u202e"
STEM = "=n [red]&<b>|$(x)`\x1b[31m"


def attack(start: str, field: str) -> str:
    """The text of a field, different in each."""
    return f"{start} {field} {ALL}"


def _tensor(start: str, field: str, *shape: int) -> dict[str, Any]:
    return {
        "Name": attack(start, field),
        "Location": attack(start, "location"),
        "Dimensions": list(shape),
        "Format/Datatype": f"Half {ALL}",
    }


def _layers() -> list[dict[str, Any]]:
    kinds = (
        "CaskConvolution",
        "Reformat",
        "kgen",
        "gemm",
        "PluginV2",
        "CudaSoftMax",
        "NoOp",
        attack("=t", "type"),
    )
    return [
        {
            "Name": attack(start, "name"),
            "LayerType": kinds[place],
            "ParameterType": attack(start, "parameter"),
            "Inputs": [_tensor(start, f"t{place}", 1, 24, 8, 8)],
            "Outputs": [_tensor(start, f"t{place + 1}", 1, 24, 8, 8)],
            "Weights": {"Type": "Half", "Count": 432},
            "TacticName": f"sm80_xmma_fprop_{attack(start, 'tactic')}",
            "TacticValue": attack(start, "value"),
            "StreamId": place % 2,
            "Metadata": f"[ONNX Layer: {attack(start, 'node')}]\x1e[ONNX Layer: /a/{attack(start, 'other')}]",
            "PluginType": attack(start, "plugin"),
            "Origin": attack(start, "origin"),
            attack(start, "key"): attack(start, "attribute"),
        }
        for place, start in enumerate(STARTS)
    ]


def _log() -> bytes:
    name = attack("=log", "layer").replace("\r", " ").replace("\n", " ")
    verbose = STAMP.replace("[I]", "[V] [TRT]")
    lines = [
        f"&&&& RUNNING TensorRT.trtexec [TensorRT v100400] # trtexec --onnx={name} --saveEngine={name}",
        f"{STAMP} === Model Options ===",
        f"{STAMP} Format: ONNX",
        f"{STAMP} Model: {name}",
        f"{STAMP} === Build Options ===",
        f"{STAMP} Precision: FP32+FP16 {name}",
        f"{verbose} =============== Computing costs for {name}",
        f"{verbose} *************** Autotuning format combination: Half(512,64,8,1) -> Half(512,64,8,1) ***************",
        f"{verbose} --------------- Timing Runner: {name} (CaskConvolution[0x80000009])",
        f"{verbose} Tactic Name: sm80_{name} Tactic: 0x0000000000000001 Time: 0.0123",
        f"{verbose} Fastest Tactic: 0x0000000000000001 Time: 0.0123",
        f"{verbose} >>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x0000000000000001",
        f"{STAMP.replace('[I]', '[W] [TRT]')} {name}",
        f"{STAMP.replace('[I]', '[E]')} Error[1]: {name}",
        f"&&&& FAILED TensorRT.trtexec [TensorRT v100400] # {name}",
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", errors="surrogatepass")


def write_hostile_set(folder: Path, factor: float = 1.0) -> Path:
    """Graph, profile, times, both metadata and a log, in a folder and with names that are attacks too; returns the folder."""
    place = folder / FOLDER
    place.mkdir(parents=True)
    layers = _layers()
    names = [layer["Name"] for layer in layers]
    write_json(
        place / f"{STEM}.graph.json", {"Layers": layers, "Bindings": [attack("=b", "t0"), attack("=b", "t8")]}
    )
    rows = [
        {"name": name, "timeMs": 10.0, "averageMs": factor * (0.1 + at), "medianMs": 0.1, "percentage": 1.0}
        for at, name in enumerate(names)
    ]
    write_json(
        place / f"{STEM}.profile.json", [{"count": 100}, *rows, {**rows[0], "name": attack("=r", "stranger")}]
    )
    write_json(place / f"{STEM}.timing.json", [timing_row(300.0 + at, 0.2) for at in range(30)])
    options = {attack("=k", "option"): attack("=v", "option"), "Precision": attack("=p", "precision")}
    device = {"Selected Device": attack("=g", "device"), "Compute Capability": attack("8.6", "capability")}
    write_json(
        place / f"{STEM}.build.metadata.json",
        {"model_options": options, "build_options": options, "device_information": device},
    )
    run = {"Duration": attack("3s", "duration"), "CUDA Graph": attack("Enabled", "graph"), **options}
    write_json(
        place / f"{STEM}.profile.metadata.json",
        {"inference_options": run, "performance_summary": {"Latency": attack("min = 1 ms", "latency")}},
    )
    (place / f"{STEM}.build.log").write_bytes(_log())
    (place / f"{STEM}.stray.json").write_text('{"a": 1}', encoding="utf-8")
    return place


COMMANDS = (  # Words, where `{set}`, `{other}` and `{log}` are places, and a key of `JUDGES`.
    ("summary {set}", "text"),
    ("summary --json {set}", "json"),
    ("layers {set}", "text"),
    ("layers {set} --format csv", "csv"),
    ("layers {set} --format md --columns name,kind,tactic,onnx_nodes", "md"),
    ("layers {set} --format json", "json"),
    ("layers {set} --columns nothing", "text"),
    ("lint {set}", "text"),
    ("lint {set} --format json", "json"),
    ("lint {set} --format md", "md"),
    ("lint {set} --format github", "github"),
    ("lint {set} --format sarif", "sarif"),
    ("diff {set} {other}", "text"),
    ("diff {set} {other} --format json", "json"),
    ("diff {set} {other} --format csv", "csv"),
    ("diff {set} {other} --format md", "md"),
    ("diff {set} {other} --format html", "html"),
    ("build-log {log}", "text"),
    ("build-log {log} --layer log", "text"),
    ("build-log {log} --json", "json"),
    ("export {set} --format trex-metadata", "metadata"),
    ("summary {set} --format md", "md"),
    ("summary {set} --format html", "html"),
    ("summary {set} --by kind,name --format csv", "csv"),
    ("layers {set} --format html", "html"),
    ("layers {set} --chart layers", "text"),
    ("layers {set} --chart bar --format svg", "svg"),
    ("engines {set} {other}", "text"),
    ("engines {set} {other} --json", "text"),
    ("engines {set} {other} --format html", "text"),
    ("report {set} --format html", "html"),
    ("report {set} {other} --format html", "html"),
    ("report {set} --format md", "md"),
    ("report {set} --format json", "json"),
    ("times {set}", "text"),
    ("memory {set} {other}", "text"),
    ("memory {set} {other} --format html", "html"),
    ("dla --onnx {model}", "text"),
    ("dla --onnx {model} --format md", "md"),
    ("precision-risk --onnx {model}", "text"),
    ("precision-risk --onnx {model} --format csv", "csv"),
    ("precision-risk --onnx {model} --format html", "html"),
    ("nsys --trace {trace}", "text"),
    ("nsys --trace {trace} --format csv", "csv"),
    ("nsys --trace {trace} --format html", "html"),
    ("times {set} --json", "text"),  # in which there are no names of layers
    ("export {set} -o - --format dot", "text"),
    ("export {set} -o - --format svg", "svg"),
    ("export {set} -o - --format graphml", "xml"),
    ("export {set} -o - --format json", "json"),
    ("export {set} -o - --format csv", "csv"),
    ("export {set} -o - --format trace", "json"),
)

_MAY_ACT = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def check_plain(text: str) -> None:
    """Nothing that a terminal acts on, and nothing that reads otherwise than it is."""
    found = _MAY_ACT.search(text)
    assert not found, ascii(text[max(0, found.start() - 80) : found.end() + 20])


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def judge_json(text: str) -> None:
    """Every parser takes it, and names are in it as they are."""
    assert any("\x1b]52;c;aGk=\x07" in one for one in _strings(strict_json(text)))


def judge_csv(text: str) -> None:
    """As many cells in each row; in none a formula."""
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) > len(STARTS)
    assert {len(row) for row in rows} == {len(rows[0])}
    formulas = [
        cell for row in rows for cell in row if cell[:1] in "=+-@\t\r" and cell and not _is_number(cell)
    ]
    assert formulas == []


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", cell) is not None


def judge_markdown(text: str) -> None:
    """No tag, link, mention or table column that we did not write."""
    assert "<script" not in text
    ours = re.sub(r"^<!-- trex-tui/[a-z]+/\d+ -->\n", "", text)
    assert not re.search(r"<(?!/?(?:details|summary|b|br|sub)>)[a-z!/]", ours)
    assert not re.search(r"(?<!\\)\]\((?!#)", text), "a link"
    assert "@team" not in text
    assert "://evil" not in text
    assert "# heading" not in text.splitlines()
    widths: set[int] = set()
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            widths.add(len(re.findall(r"(?<!\\)\|", line)))
        else:
            assert len(widths) < 2, widths
            widths.clear()


def judge_github(text: str) -> None:
    """Commands of ours only, each on its line."""
    for line in text.splitlines():
        assert re.match(r"::(error|warning|notice) file=|::(error|warning|notice) title=", line), line


class _Tags(HTMLParser):
    known = re.compile(
        "html|head|meta|title|style|body|header|main|section|article|nav|aside|h[1-4]|p|a|table|thead|tbody|tr|th|td|ul|ol|"
        "li|dl|dt|dd|span|div|b|strong|em|i|small|code|pre|details|summary|br|hr|footer|caption|colgroup|col|figure|"
        "figcaption|svg|g|defs|title|desc|rect|path|text|tspan|line|polyline|polygon|circle|clippath|"
        "button|input|label|kbd|script"
    )

    def __init__(self) -> None:
        super().__init__()
        self.said = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert self.known.fullmatch(tag), tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in ("src", "srcset", "action", "formaction"), name
            assert not name.endswith("href") or (value or "").startswith("#"), value
            assert name == "title" or "evil" not in (value or ""), "a name is text, and a tooltip is"

    def handle_comment(self, data: str) -> None:
        assert re.fullmatch(r" trex-tui/[a-z-]+/\d+ ", data), f"a comment: {data}"

    def handle_data(self, data: str) -> None:
        assert data.strip() != "alert(1)" or self.cdata_elem is None, "a script that is not ours"
        self.said += data


def judge_html(text: str) -> None:
    """Tags of ours only, nothing loaded from elsewhere, and the names as text."""
    tags = _Tags()
    tags.feed(text)
    tags.close()
    assert "[red]x[/red]" in tags.said


def judge_xml(text: str) -> None:
    """Well-formed, without a declaration of entities, and the names as text."""
    assert "<!ENTITY" not in text
    root = ElementTree.fromstring(text)
    said = "".join(part for one in root.iter() for part in (one.text or "", *one.attrib.values()))
    assert any(part in said for part in ("[red]x[/red]", "<script>alert(1)</script>", "pwned"))


_PASSIVE = {
    *("svg", "g", "defs", "title", "desc", "style", "text", "tspan", "a", "rect", "path", "line", "polyline"),
    *("polygon", "circle", "ellipse", "clipPath", "marker", "linearGradient", "stop"),
}


def judge_svg(text: str) -> None:
    """A picture that does nothing and loads nothing."""
    judge_xml(text)
    for one in ElementTree.fromstring(text).iter():
        assert one.tag.rpartition("}")[2] in _PASSIVE, one.tag
        for name, value in one.attrib.items():
            key = name.rpartition("}")[2]
            assert not key.startswith("on"), name
            assert key != "href" or value.startswith("#"), value


def judge_sarif(text: str) -> None:
    """JSON, whose addresses are addresses."""
    document = strict_json(text)
    uris = [artifact["location"]["uri"] for run in document["runs"] for artifact in run["artifacts"]]
    assert uris
    assert all(re.fullmatch(r"[A-Za-z0-9._~:/%!$'()*+,;=@-]+", uri) for uri in uris), uris
    assert any("=n" in one or "%3Dn" in one for one in _strings(document))


JUDGES: dict[str, Callable[[str], None]] = {
    "text": lambda _: None,
    "json": judge_json,
    "metadata": judge_json,
    "csv": judge_csv,
    "md": judge_markdown,
    "github": judge_github,
    "html": judge_html,
    "sarif": judge_sarif,
    "svg": judge_svg,
    "xml": judge_xml,
}


def judge(form: str, output: bytes) -> None:
    """Whether the output of a command is what it should be, byte for byte."""
    text = output.decode("utf-8", errors="strict")
    if form in ("json", "sarif"):
        assert text.isascii()
    check_plain(text)
    JUDGES[form](text)


def write_hostile_model(path: Path) -> Path:
    """An ONNX model in which every name is an attack; a node of each overflows in FP16."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    tensors = ["x", *(attack(start, "tensor").replace("\ud800", "") for start in STARTS)]
    nodes = [
        helper.make_node("Mul", [before, "large"], [after], after.replace("tensor", "node"))
        for before, after in pairwise(tensors)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in (tensors[0], tensors[-1])
    ]
    weight = numpy_helper.from_array(np.float32(4e5), "large")
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def write_hostile_trace(path: Path) -> Path:
    """A trace of Nsight Systems in which every range is an attack."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, correlationId INT)")
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, globalTid INT, correlationId INT)"
        )
        database.execute(
            "CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, eventType INT, text TEXT, textId INT)"
        )
        insert = "INSERT INTO NVTX_EVENTS VALUES (?, ?, 1, 59, ?, NULL)"
        database.execute(insert, (0, 1000, "ExecutionContext::enqueue"))
        for number, start in enumerate(STARTS):
            at = 10 + 50 * number
            text = attack(start, "range").replace("\ud800", "").replace("\0", "")
            database.execute(insert, (at, at + 40, text))
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, 1, ?)", (at + 5, number))
            database.execute(
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?)", (at + 9, at + 30, number)
            )
    return path
