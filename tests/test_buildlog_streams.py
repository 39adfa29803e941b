"""stdout in blocks, stderr at once, both into one file: what a log tells does not depend on the size of the blocks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS
from trex_tui.artifacts.buildlog import BuildTrace, read_build_log

LOGS = ARTIFACTS / "logs"
REAL = sorted(LOGS.glob("*.log")) if LOGS.is_dir() else []
STAMP = "[11/21/2026-10:00:00]"
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
    # Blocks of fewer bytes than a line let a warning come between the lines of a layer list; that is for `dump` to mind.
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
        "memory": len(trace.memory),
        "performance": trace.performance.values if trace.performance else None,
        "notes": [one.message for one in trace.diagnostics],
        "lines": trace.lines,
    }


@pytest.fixture(scope="module")
def wholes() -> list[tuple[bytes, dict[str, object]]]:
    return [(path.read_bytes(), counts(read_build_log(path))) for path in REAL]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("streams") / "mixed.log"


@needs_logs
@settings(max_examples=30)
@given(
    which=st.integers(0, max(len(REAL) - 1, 0)),
    block=st.sampled_from([512, 1024, 4096, 8192, 65536]) | st.integers(40, 9000),
    more=st.dictionaries(st.integers(0, 5000), st.integers(1, 5), max_size=8),
)
def test_blocks_of_any_size_tell_the_same(
    wholes: list[tuple[bytes, dict[str, object]]], log: Path, which: int, block: int, more: dict[int, int]
) -> None:
    data, wanted = wholes[which]
    log.write_bytes(replayed(data, block, more))
    found = counts(read_build_log(log))
    added = sum(count for number, count in more.items() if number < len(data.splitlines()))
    assert found.pop("lines") == data.count(b"\n") + added
    assert found == {name: one for name, one in wanted.items() if name != "lines"}
