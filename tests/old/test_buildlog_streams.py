"""stdout in blocks, stderr unbuffered, both into one file: the result does not depend on the size of the blocks."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS
from trex_tui.old.buildlog import BuildTrace, read_build_log
from trex_tui.old.buildlog.reader import read_outline

LOGS = ARTIFACTS / "logs"
REAL = sorted(LOGS.glob("*.log")) if LOGS.is_dir() else []
STAMP = "[11/21/2026-10:00:00]"
STAMP_LENGTH = len(STAMP) + 1
_STDERR = re.compile(rb"\[[\d/:-]{19}\] (?:\[TRT\] )?\[[WEF]\]")

needs_logs = pytest.mark.skipif(not REAL, reason=f"no real logs at {LOGS}")


def replayed(data: bytes, block: int, more: dict[int, int] | None = None) -> bytes:
    """A log as it comes out where stdout has a buffer of so many bytes, and stderr has none.

    Args:
        more: Number of a line -> how many warnings more are written before it.
    """
    out, buffer = bytearray(), bytearray()
    for number, line in enumerate(data.splitlines(keepends=True)):
        for which in range((more or {}).get(number, 0)):
            out += f"{STAMP} [W] [TRT] one more warning, of layer {which}\n".encode()
        if _STDERR.match(line):
            out += line
        else:
            buffer += line
            whole = len(buffer) - len(buffer) % block
            out += buffer[:whole]
            del buffer[:whole]
    return bytes(out + buffer)


def counts(trace: BuildTrace) -> dict[str, object]:
    """What a log tells, wherever it stands in it."""
    return {
        "tactics": sum(one.tactic_count for one in trace.tunings),
        "tunings": sorted(one.name for one in trace.tunings),
        "reformats": len(trace.reformat_costs),
        "passes": [one.name for one in trace.passes],
        "fusions": [(step.rule, step.layer, step.other) for step in trace.fusions],
        "phases": [(one.kind, one.seconds) for one in trace.phases],
        "messages": sorted(
            (one.severity, one.count, one.text) for one in trace.messages if "one more" not in one.text
        ),
        "runs": [(run.command, run.status) for run in trace.runs],
        "options": trace.options,
        "dumps": [[layer.raw for layer in one.layers] for one in trace.dumps],
        "memory": len(trace.memory),
        "performance": trace.performance.values if trace.performance else None,
        "notes": [one.message for one in trace.diagnostics],
        "lines": trace.lines,
    }


@cache
def whole(which: int) -> tuple[bytes, dict[str, object]]:
    """A real log, and what it tells. No fixture: a falsified example would be printed with all of it."""
    return REAL[which].read_bytes(), counts(read_build_log(REAL[which]))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams") / "mixed.log"


@needs_logs
@example(which=0, block=309, more={})  # the first half is a prefix without `[TRT]`
@settings(max_examples=30)
@given(
    which=st.integers(0, max(len(REAL) - 1, 0)),
    block=st.sampled_from([512, 1024, 4096, 8192, 65536]) | st.integers(40, 9000),
    more=st.dictionaries(st.integers(0, 5000), st.integers(1, 5), max_size=8),
)
def test_blocks_of_any_size_tell_the_same(log: Path, which: int, block: int, more: dict[int, int]) -> None:
    data, wanted = whole(which)
    log.write_bytes(replayed(data, block, more))
    found = counts(read_build_log(log))
    added = sum(count for number, count in more.items() if number < len(data.splitlines()))
    assert found.pop("lines") == data.count(b"\n") + added
    assert found == {name: one for name, one in wanted.items() if name != "lines"}


def test_a_half_without_its_rest_is_no_number(tmp_path: Path) -> None:
    """A warning in the middle of a time, and another stamped line, or nothing, where the rest should stand."""
    log = tmp_path / "a.log"
    tactic = f"{STAMP} [V] [TRT] Tactic: 0x0000000000000001 Time: 0."
    said = f"{STAMP} [W] [TRT] one\n{STAMP} [E] two\n"
    heads = f"{STAMP} [V] [TRT] *************** Autotuning format combination: Float(1) -> Half(1) ***************\n"
    heads += f"{STAMP} [V] [TRT] --------------- Timing Runner: conv (CaskConvolution)\n"
    for rest, times, notes in (
        ("25\n", [0.25], 0),
        ("", [], 1),
        (f"{STAMP} [V] [TRT] Tactic: 0x0000000000000002 Time: 0.5\n", [0.5], 1),
        (f"25\n{STAMP} [V] [TRT] Tactic: 0x0000000000000002 Time: 0.5\n", [0.25, 0.5], 0),
        (f"25{STAMP} [W] [TRT] three\n\n", [0.25], 0),
        ("   the second line of an error\n25\n", [0.25], 0),
    ):
        log.write_text(f"{heads}{tactic}{said}{rest}")
        trace = read_build_log(log)
        assert [
            one.time_ms for each in trace.tunings for trial in each.trials() for one in trial.tactics
        ] == times
        assert len(trace.diagnostics) == notes
        assert trace.messages[0].text == "one"


def test_what_is_written_into_a_line_that_tells_nothing(tmp_path: Path) -> None:
    """The parser's own lines are passed over; a warning inside one is not."""
    log = tmp_path / "a.log"
    line = f"{STAMP} [V] [TRT] Searching for input: /20/Conv\n"
    for place in range(STAMP_LENGTH, len(line)):
        cut = f"{line * 3}{line[:place]}{STAMP} [W] one\n{STAMP} [W] two\n{line[place:]}{line}"
        log.write_text(cut)
        trace = read_build_log(log)
        assert [one.text for one in trace.messages] == ["one", "two"]
        assert trace == replace(read_outline(log), path=log)
    assert not trace.diagnostics
