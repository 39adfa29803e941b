"""Tactics are read by the column where a log looks as it should; line by line gives the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS
from trex_tui.old.buildlog import BuildTrace, lines, read_build_log
from trex_tui.old.buildlog.tuner import TacticWriter

LOGS = ARTIFACTS / "logs"
REAL = sorted(LOGS.glob("*.log")) if LOGS.is_dir() else []
PREFIX = "[11/21/2026-10:00:00] [V] [TRT] "

needs_logs = pytest.mark.skipif(not REAL, reason=f"no real logs at {LOGS}")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fast") / "part.log"


def read(path: Path, data: bytes, *, piece: int = lines.PIECE_BYTES) -> tuple[BuildTrace, str]:
    """What a log tells; averages apart, as NaN in them is equal to nothing."""
    path.write_bytes(data)
    with mock.patch.object(lines, "PIECE_BYTES", piece):
        trace = read_build_log(path)
    return replace(trace, trace=None), repr(trace.trace)


def read_slowly(path: Path, data: bytes) -> tuple[BuildTrace, str]:
    with mock.patch.object(TacticWriter, "take", return_value=False):
        return read(path, data)


@needs_logs
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem[:20])
def test_both_ways_and_a_foreign_prefix_tell_the_same(log: Path, path: Path) -> None:
    data = path.read_bytes()
    fast = read(log, data)
    assert fast == read_slowly(log, data)
    assert fast == read(log, data, piece=1 << 20)
    dressed = b"".join(b"worker_1  | " + line for line in data.splitlines(keepends=True))
    assert read(log, dressed) == fast


@needs_logs
@settings(max_examples=25)
@given(
    which=st.integers(0, max(len(REAL) - 1, 0)),
    ends=st.tuples(st.floats(0, 1), st.floats(0, 0.3)),
    piece=st.integers(200, 40_000),
    hurt=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([b"", b" ", b"x", b"\n", b" Time: ", b"/20"])), max_size=4
    ),
)
def test_any_part_of_a_real_log_tells_the_same_both_ways(
    log: Path, which: int, ends: tuple[float, float], piece: int, hurt: list[tuple[float, bytes]]
) -> None:
    data = REAL[which].read_bytes()
    start = int(ends[0] * len(data))
    data = data[start : start + int(ends[1] * len(data))]
    for share, what in hurt:
        place = int(share * len(data))
        data = data[:place] + what + data[place + 1 :]
    assert read(log, data, piece=piece) == read_slowly(log, data)


TIMED = st.builds(
    "{}{} Tactic: {} Time: {}".format,
    st.just("Tactic Name: "),
    st.sampled_from(["kernel_a", "kernel b numSplitK: 1", "-", "", " ", "kernel Tactic: 0x1"]),
    st.sampled_from(
        [
            "0x0000000000000001",
            "-7",
            "12",
            "0x1",
            "0xfffffffffffffffff",
            "0x00x0000000000001",
            "0x000000000000001 ",
            "none",
            "",
        ]
    ),
    st.sampled_from(["0.5", "inf", "nan", "1e-3", "", "0.5 ", "0.5 ms"]),
)
ODD = st.sampled_from(
    [
        "Tactic: 0x0000000000000003 Time: 0.25",
        "Tactic: 0x0000000000000003 time: 0.25",
        "Tactic: 0x0000000000000003 skipped. Scratch requested: 4096, available: 1024",
        "Tactic Device request: 4096MB Available: 1024MB. Device memory is insufficient to use tactic.",
        "conv Set Tactic Name: kernel_c Tactic: 0x0000000000000003",
        "conv Set Tactic Name: kernel_d",
        "Fastest Tactic: 0x0000000000000001 Time: 0.25",
        "--------------- Timing Runner: conv (CaskConvolution)",
        "--------------- Timing Runner: relu (CaskConvolution)",
        "*************** Autotuning format combination: Float(1,1) -> Half(1,1) ***************",
        ">>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x0000000000000001",
        " (foreignNode)    0, 0.5, 1.0, 0.9, kernel_a, 0x1,",
        "Start parsing network model.",
        "Engine generation completed in 1.5 seconds.",
    ]
)


@given(st.lists(TIMED | ODD, max_size=40), st.integers(100, 2000))
def test_made_up_lines_tell_the_same_both_ways(log: Path, messages: list[str], piece: int) -> None:
    data = "".join(f"{PREFIX}{message}\n" for message in messages).encode()
    assert read(log, data, piece=piece) == read_slowly(log, data)
