"""What other programs put around the lines of a log comes off, whatever of it varies."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_buildlog_reader import BUILD, STAMP, read, told

from helpers import ARTIFACTS
from trex_tui.old.artifacts.file_kinds import ArtifactKind, sniff
from trex_tui.old.buildlog import lines, read_build_log
from trex_tui.old.buildlog.lines import parse_prefix
from trex_tui.old.buildlog.reader import read_outline

LOGS = ARTIFACTS / "logs"
REAL = next(LOGS.glob("trt8.4*build*.log"), None) if LOGS.is_dir() else None
MYELIN = LOGS / "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log"
LISTED = LOGS / "trt10.16.1_H100_skipInference_dumpLayerInfo_detailed.log"
needs_log = pytest.mark.skipif(not MYELIN.is_file(), reason="the real logs are not beside the project")
LEVELS = {"V": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "": "INFO"}
DATE = "2026-11-21 10:00:00,123"


def level_of(line: str) -> str:
    return LEVELS[parse_prefix(line).severity]


def dressed(prefix: Callable[[str, int], str], *, behind: str = "", blanks: bool = True) -> str:
    """The build, with a prefix made of the level of each line and its number."""
    each = (prefix(level_of(line), number) + line + behind for number, line in enumerate(BUILD.splitlines()))
    return "".join((line if blanks else line.rstrip()) + "\n" for line in each)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return told(read(tmp_path_factory.mktemp("plain") / "a.log", BUILD))


PREFIXES: dict[str, Callable[[str, int], str]] = {
    "basic": lambda level, _: f"{level}:trt:",
    "dated": lambda level, _: f"{DATE} - trt - {level} - ",
    "padded": lambda level, _: f"{level:<8}",
    "padded and more": lambda level, number: f"{DATE} {level:<8} [relay.py:{number}] ",
    "brackets": lambda level, _: f"[{DATE}] [{level.lower()}]  ",
    "loguru": lambda level, number: f"2026-11-21 10:00:00.{number:03} | {level:<8} | relay:main:42 - ",
    "rich": lambda level, number: f"{'' if number % 9 else '[10:00:07]':10} {level:<8} ",
    "glog": lambda level, number: f"{level[0]}1121 10:00:00.{number:06}  4711 relay.cc:12] ",
    "compose": lambda _, __: "trt-build-1     |  ",
    "indented": lambda _, __: "        ",
    "kubernetes": lambda level, number: f"2026-11-21T10:00:00.{number:09}Z {'stderr' if level == 'WARNING' else 'stdout'} F ",
    "gitlab": lambda level, number: f"2026-11-21T10:00:00.{number:06}Z 01{'E' if level == 'WARNING' else 'O'} ",
    "streams": lambda level, _: f"[{'stderr' if level == 'WARNING' else 'stdout'}] ",
    "job": lambda _, __: "[job/7f3a] ",
}  # fmt: skip


@pytest.mark.parametrize("name", PREFIXES)
def test_prefixes(tmp_path: Path, plain: dict[str, object], name: str) -> None:
    path = tmp_path / "a.log"
    for blanks in (True, False):
        trace = read(path, dressed(PREFIXES[name], blanks=blanks))
        assert told(trace) == plain
        assert not trace.diagnostics
        assert sniff(path).kind is ArtifactKind.BUILD_LOG
    # A log that was cut off at the end of its last line, and one behind another that has no prefix.
    several = ["holds 41 builds; the last one is shown"]
    before = BUILD.replace("conv", "old") * 40
    for text, notes in ((dressed(PREFIXES[name])[:-1], []), (before + dressed(PREFIXES[name]), several)):
        trace = read(path, text)
        assert [one.message for one in trace.diagnostics] == notes
        assert {run.status for run in trace.runs} == {"PASSED"}
        assert trace.tunings[-1].name == "conv + relu"
        assert len(trace.messages) == 1


def test_the_place_that_rich_puts_behind(tmp_path: Path, plain: dict[str, object]) -> None:
    text = dressed(PREFIXES["rich"], behind="             relay.py:42")
    assert told(read(tmp_path / "a.log", text)) == plain


def test_other_programs_between(tmp_path: Path, plain: dict[str, object]) -> None:
    """Nothing of another service or logger is taken for the rest of a warning, or for a layer."""
    noise = {"dated": f"{DATE} - web - INFO - GET /20\n", "compose": "web-1           |  GET /20\n"}
    for name, other in noise.items():
        text = dressed(PREFIXES[name]).replace("\n", f"\n{other}")
        assert told(read(tmp_path / "a.log", text)) == plain


def test_no_end_is_claimed_missing_because_of_a_prefix_of_its_own(tmp_path: Path) -> None:
    trace = read(tmp_path / "a.log", BUILD.replace("&&&& PASSED", "Sat 10:00 <7> &&&& PASSED"))
    assert [run.status for run in trace.runs] == ["PASSED"]
    assert not trace.diagnostics


# What an ILogger hands on

SAID = [line for line in BUILD.splitlines() if "[TRT]" in line or line.startswith("Layer(")]


def routed(form: str) -> str:
    """What the library says, as a program's own logger writes it; a layer list is one message of many lines."""
    formatter = logging.Formatter(form, style="{")
    out = []
    for line in SAID:
        found = parse_prefix(line)
        level = getattr(logging, level_of(line))
        record = logging.LogRecord("TRT", level, "relay.py", len(out), found.message, None, None)
        out.append(formatter.format(record) if found.severity else line)
    return "\n".join(out) + "\n"


@pytest.mark.parametrize(
    "form",
    [
        "{asctime} - {name} - {levelname} - {message}",
        "{levelname}:{name}:{message}",
        "{levelname:<8} {message}",
        "[{asctime}] [{levelname}] [{name}] {message}",
        "{asctime} {name}[{process}] {filename}:{lineno} {levelname:>8}: {message}",
        "2026-11-21T10:00:00.000000001Z [TensorRT] {levelname}: {message}",
        "[{levelname[0]}] {message}",
    ],
)
def test_messages_of_a_logger(tmp_path: Path, form: str) -> None:
    wanted = told(read(tmp_path / "wanted.log", "\n".join(SAID) + "\n"))
    text = routed(form)
    path = tmp_path / "a.log"
    for end in ("\n", "\r\n"):
        trace = read(path, text.replace("\n", end))
        assert told(trace) == wanted
        assert trace.lines == len(SAID)
        assert not trace.diagnostics
    assert sniff(path).kind is ArtifactKind.BUILD_LOG


def test_time_passes_where_the_logger_tells_the_date(tmp_path: Path) -> None:
    text = routed("{levelname} {message}").splitlines()
    dates = (f"2026-11-21 10:{number // 60:02}:{number % 60:02},000 " for number in range(len(text)))
    trace = read(
        tmp_path / "a.log", "".join(f"{date}{line}\n" for date, line in zip(dates, text, strict=True))
    )
    assert trace.stated_seconds == len(SAID) - 2  # the list of layers has no prefix of its own
    assert read(tmp_path / "b.log", "\n".join(text) + "\n").stated_seconds is None


@pytest.mark.parametrize(
    "text",
    [
        "INFO: Tactic: a plan Time: soon\nDEBUG: all is well\n",
        "Registered plugin creator - ::X\n" * 3,
        '[\n{ "count" : 3 },\n{ "name" : "INFO Tactic: 0x1 Time: 1" }\n]\n',
        '{"log": "hello\\n", "stream": "stdout"}\n' * 3,
    ],
)
def test_what_is_no_log_of_the_library(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    assert sniff(path).kind not in (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
    assert not read_build_log(path).tunings


# The whole and the outline, and pieces of any size


@pytest.mark.skipif(REAL is None, reason=f"no real logs at {LOGS}")
@pytest.mark.parametrize("name", ["dated", "loguru", "kubernetes"])
def test_a_real_log_in_any_dress_tells_the_same(tmp_path: Path, name: str) -> None:
    assert REAL is not None
    text = REAL.read_text()
    each = (PREFIXES[name](level_of(line), number) + line for number, line in enumerate(text.splitlines()))
    text = "".join(f"{line}\n" for line in each)
    whole = read_build_log(REAL)
    path = tmp_path / REAL.name
    found = read(path, text)
    for attribute in (
        "tunings",
        "passes",
        "phases",
        "runs",
        "options",
        "dumps",
        "messages",
        "performance",
        "diagnostics",
    ):
        assert getattr(found, attribute) == getattr(whole, attribute), attribute
    outlined = read_outline(path)
    assert not outlined.is_whole
    assert outlined.dumps == whole.dumps


@settings(max_examples=40)
@given(
    piece=st.integers(1, 400),
    escape=st.sampled_from(["\x1b[33m", "\x1b[0m\x1b[K", "\x1b[38;5;208m", "\x1b[?25l"]),
)
def test_an_escape_across_the_border_of_two_pieces(
    tmp_path_factory: pytest.TempPathFactory, plain: dict[str, object], piece: int, escape: str
) -> None:
    path = tmp_path_factory.mktemp("escape") / "a.log"
    text = "".join(f"{escape}{line[:30]}{escape}{line[30:]}\x1b[0m\n" for line in BUILD.splitlines())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", piece)
        assert told(read(path, text)) == plain


@given(
    st.lists(
        st.sampled_from([*BUILD.splitlines(), *routed("{levelname}:{name}:{message}").splitlines()])
        | st.text(),
        max_size=30,
    )
)
def test_any_prefix_is_survived(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    path = tmp_path_factory.mktemp("any") / "a.log"
    for before in ("", "{", f"{STAMP} ", "INFO ", '{"log": '):
        data = "\n".join(before + part for part in parts).encode("utf-8", errors="surrogatepass")
        assert read(path, data).lines <= data.count(b"\n") + 1
        assert read_outline(path).lines <= data.count(b"\n") + 1
        sniff(path)


@needs_log
@pytest.mark.parametrize(
    "prefix",
    [
        lambda level, _: f"{level:8} ",
        lambda level, _: f"{DATE} {level:8} ",
        lambda _, number: f"2026-07-07 02:00:01 [0x{number * 7919 % 2**24:06x}] ",
        lambda _, number: f"{number + 2**28:08x} ",
    ],
    ids=["padded level", "dated and padded", "thread", "sequence"],
)
def test_real_log_behind_prefixes_that_vary(tmp_path: Path, prefix: Callable[[str, int], str]) -> None:
    """Rows of Myelin's tables begin with a blank, names of layers with anything."""
    plain = read_build_log(MYELIN)
    lines = MYELIN.read_text(encoding="utf-8").split("\n")[:-1]
    dressed_log = "".join(f"{prefix(level_of(line), number)}{line}\n" for number, line in enumerate(lines))
    trace = read(tmp_path / "a.log", dressed_log)
    assert sum(one.tactic_count for one in trace.tunings) == sum(one.tactic_count for one in plain.tunings)
    assert [one.raw for one in trace.dumps[0].layers] == [one.raw for one in plain.dumps[0].layers]


@needs_log
def test_a_plain_run_before_one_with_a_prefix(tmp_path: Path) -> None:
    """Whose list of layers comes soon, and offers few lines that tell of a prefix."""
    plain = LISTED.read_text(encoding="utf-8")
    wrapped = "".join(
        f"2026-07-07T02:11:38.{number:09}Z {line}\n" for number, line in enumerate(plain.split("\n")[:-1])
    )
    dumps = read(tmp_path / "a.log", plain + wrapped).dumps
    assert [one.raw for one in dumps[0].layers] == [one.raw for one in read_build_log(LISTED).dumps[0].layers]
    assert dumps[0].bindings == ("x", "y", "z")
