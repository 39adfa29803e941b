"""The page of a report: what a browser makes of it, and what any reader of HTML can check."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from browser import Page, browsing, find_chromium
from helpers import chain, layer, tensor, timing_row, write_graph, write_json, write_profile
from trex_tui.__main__ import main

RUNS = "window.hacked=1"
HOSTILE = (
    f"<script>{RUNS}</script>",
    f"<img src=x onerror={RUNS}>",
    f"</svg></title></desc><script>{RUNS}</script>",
    f'" onload="{RUNS}" x="',
    f"' onclick='{RUNS}'",
    f"</style><script>{RUNS}</script><!--",
    f"<svg onload={RUNS}>",
    "\u202edesrever\u202c \x1b[31m \x00 \x07 \ud800",
    "]]> &amp; &lt;b&gt; `a` | *b* [x](javascript:x) https://example.invalid/",
)
STEM = f"net<img src=x onerror={RUNS}>"
VOID = {"meta", "br", "img", "link"}


def write_hostile(folder: Path, slower: float = 1.0) -> Path:
    """A set in which every text that a file may hold is an attack; layer `i` takes `i + 1` ms, the last is unknown."""
    layers = [
        layer(
            name,
            name,
            [tensor(f"t{place}{name}", 1, 64, 8, 8)],
            [tensor(f"t{place + 1}{HOSTILE[(place + 1) % len(HOSTILE)]}", 1, 64, 8, 8)],
            TacticName=name,
            Metadata=f"[ONNX Layer: /mod{name}/op]",
        )
        for place, name in enumerate(HOSTILE)
    ]
    write_graph(folder / f"{STEM}.graph.json", layers, [f"t0{HOSTILE[0]}"])
    times = [(name, slower * (place + 1.0)) for place, name in enumerate(HOSTILE[:-1])]
    rows = [{"count": 9}] + [
        {"name": name, "timeMs": time * 9, "averageMs": time, "medianMs": time, "percentage": 1}
        for name, time in times
    ]
    write_json(folder / f"{STEM}.profile.json", rows)
    write_json(folder / f"{STEM}.timing.json", [timing_row(300.0 + place, 0.2) for place in range(60)])
    write_json(
        folder / f"{STEM}.profile.metadata.json",
        {
            "performance_summary": {},
            "inference_options": {"Duration": HOSTILE[0]},
            "device_information": {"Selected Device": HOSTILE[2]},
            "build_options": {"Precision": HOSTILE[1]},
        },
    )
    return folder


def write_report(folder: Path, *options: str) -> Path:
    """The report of two hostile engines."""
    sets = [write_hostile(folder / "a"), write_hostile(folder / "b", 2.0)]
    target = folder / "report.html"
    assert main(["report", *map(str, sets), "-o", str(target), *options]) == 0
    return target


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def interactive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("interactive"), "--interactive")


class Reader(HTMLParser):
    """Elements, attributes and texts, with every element closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.sources: dict[str, str] = {}
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            self.sources[self.open[-1]] = self.sources.get(self.open[-1], "") + data
        self.texts.append(data)


def policy_of(page: Reader) -> str:
    return next(
        str(value) for _, name, value in page.attributes if name == "content" and "default-src" in str(value)
    )


def hash_of(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_page_is_sound_and_holds_nothing_but_ours(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    page = Reader(text)
    policy = policy_of(page)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert f"style-src {hash_of(page.sources['style'])}" in policy
    assert {
        name for _, name, _ in page.attributes if name.startswith("on") or name in ("style", "src")
    } == set()
    assert {value[:1] for _, name, value in page.attributes if name == "href" and value} == {"#"}
    assert page.tags.isdisjoint({"script", "img", "link", "iframe", "object", "embed", "base", "form"})
    assert not re.search(r"url\(|@import", page.sources["style"])
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800]", text)


def test_an_interactive_page_names_its_scripts(interactive: Path) -> None:
    text = interactive.read_text(encoding="utf-8")
    policy = policy_of(Reader(text))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 2
    assert f"script-src {' '.join(map(hash_of, scripts))}" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "script-src 'unsafe" not in policy
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert len(json.loads(data)) > 6
    assert text.count("<script") == 3


@pytest.mark.parametrize("options", [(), ("--interactive",)], ids=["tables", "interactive"])
def test_without_altair_tables_and_a_sentence(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    folder = str(write_hostile(tmp_path))
    code = main(["report", folder, "--format", "html", *options])
    out, err = capsys.readouterr()
    if options:
        assert (code, out) == (2, "")
        assert "--interactive needs Altair" in err
        return
    assert code == 0
    assert "with its extra report" in out
    assert "<figure" not in out
    assert out.count("<table>") > 5


def test_without_jinja_a_line_of_help(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(["report", str(write_hostile(tmp_path)), "--format", "html"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "HTML needs Jinja2: install trex-tui with its extra report" in err


def test_anchors_lead_somewhere_and_are_unique(written: Path) -> None:
    page = Reader(written.read_text(encoding="utf-8"))
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {str(value)[1:] for _, name, value in page.attributes if name == "href"} <= set(ids)


def test_every_name_is_there_as_text(written: Path) -> None:
    told = "\n".join(Reader(written.read_text(encoding="utf-8")).texts)
    for name in HOSTILE[:-2]:
        assert name in told
    assert "\\u202edesrever\\u202c" in told


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium on the path; Debian: apt-get install chromium")
    with browsing(program, tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture
def page(browser: Page, interactive: Path) -> Page:
    browser.open(interactive)
    return browser


COLUMN = """
(() => {
  const table = [...document.querySelectorAll("table")].find((one) => one.tHead.textContent.includes("Tactic"));
  const head = [...table.tHead.rows[0].cells].find((one) => one.textContent === %s);
  if (%s) head.querySelector("button").click();
  return [head.getAttribute("aria-sort"), [...table.tBodies[0].rows].map((row) => row.cells[head.cellIndex].textContent)];
})()
"""


def column(page: Page, heading: str, *, click: bool) -> tuple[str | None, list[str]]:
    order, cells = page.evaluate(COLUMN % (json.dumps(heading), json.dumps(click)))
    return order, cells


@pytest.mark.parametrize("name", ["written", "interactive"])
def test_a_browser_runs_nothing_of_what_names_say(
    browser: Page, name: str, request: pytest.FixtureRequest
) -> None:
    file: Path = request.getfixturevalue(name)
    browser.events.clear()
    browser.open(file)
    assert browser.evaluate("typeof window.hacked") == "undefined"
    harmful = "document.querySelectorAll('img, link, iframe, [onload], [onerror], [onclick]').length"
    assert browser.evaluate(harmful) == 0
    assert browser.evaluate("document.querySelectorAll('svg').length") > 10
    assert [request for request in browser.requests if not request.startswith("data:")] == [file.as_uri()]
    assert browser.complaints == []


def test_a_click_sorts_by_value(page: Page) -> None:
    _, before = column(page, "#", click=False)
    order, times = column(page, "ms", click=True)
    values = [float(time) for time in times]
    assert (order, values) == ("descending", sorted(values, reverse=True))
    order, times = column(page, "ms", click=True)
    assert (order, [float(time) for time in times]) == ("ascending", sorted(values))
    order, _ = column(page, "ms", click=True)
    assert (order, column(page, "#", click=False)[1]) == (None, before)
    order, kinds = column(page, "Kind", click=True)
    assert (order, kinds) == ("ascending", sorted(kinds))
    assert column(page, "ms", click=False)[0] is None
    order, places = column(page, "#", click=True)
    assert [int(place) for place in places] == sorted(map(int, places), reverse=True)
    assert page.complaints == []


def test_keys_reach_the_heads(page: Page) -> None:
    table = "[...document.querySelectorAll('table')].find((one) => one.tHead.textContent.includes('Tactic'))"
    page.evaluate(f"{table}.querySelector('th:nth-child(1) button').focus()")
    before = column(page, "#", click=False)[0]
    for kind in ("keyDown", "keyUp"):
        page.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            code="Enter",
            text="\r",
            windowsVirtualKeyCode=13,
        )
    assert column(page, "#", click=False)[0] != before


def test_colours_follow_the_reader(page: Page) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        features: list[dict[str, Any]] = [{"name": "prefers-color-scheme", "value": scheme}]
        page.call("Emulation.setEmulatedMedia", features=features)
        grounds[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert page.evaluate("getComputedStyle(document.querySelector('details')).display") == "none"


def test_an_interactive_page_sorts_by_raw_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name, ms in (("a", 1.0), ("b", 0.75)):
        write_graph(tmp_path / name / f"{name}.graph.json", chain("one"), ["t0", "t1"])
        write_profile(tmp_path / name / f"{name}.profile.json", [("one", ms)])
    paths = [str(tmp_path / name) for name in "ab"]
    assert main(["report", *paths, "--format", "html", "--interactive"]) == 0
    page = capsys.readouterr().out
    assert (
        '<td class="number" data-value="0.75">0.7500</td><td class="number" data-value="-0.25">−0.2500</td>'
        in page
    )


def test_endless_names_make_no_endless_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = [f"{place}{'x' * 16_000}{place}" for place in range(60)]
    write_graph(tmp_path / "a.graph.json", chain(*names), ["t0", "t60"])
    write_profile(tmp_path / "a.profile.json", [(name, 1.0) for name in names])
    for form, most in (("html", 400_000), ("md", 40_000)):
        assert main(["report", str(tmp_path), "--format", form]) == 0
        assert len(capsys.readouterr().out) < most
