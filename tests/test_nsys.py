"""`trex-tui nsys` on a made trace: tables as Nsight Systems exports them, with times that are known."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY
from trex_tui.cli.main import main

ALEXNET = REPOSITORY / "sample_artifacts/alexnet"
CONV, POOL = "/features/features.0/Conv + /features/features.1/Relu", "/features/features.2/MaxPool"
US = 1000
PERIOD, THREAD = 1000 * US, 0x1000001
SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, shortName INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, bytes INT, copyKind INT, correlationId INT);
CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, textId INT);
"""


def write_trace(path: Path, inferences: int = 5, *, is_registered: bool = True, first_us: int = 0) -> Path:
    """A trace with an inference each 1,000 µs.

    Enqueue 0 to 100 µs, with two layers of two and one kernels: busy 100 to 300 (two overlapping) and 350 to 400; a copy
    of 80 µs and a kernel of another library of 60 µs between inferences.
    """
    path.unlink(missing_ok=True)
    texts = {"TensorRT:ExecutionContext::enqueue": 1, CONV: 2, POOL: 3}
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(SCHEMA)
        database.executemany(
            "INSERT INTO StringIds VALUES (?, ?)", [(number, text) for text, number in texts.items()]
        )
        for number in range(inferences):
            begin, call = number * PERIOD, number * 10
            late = first_us * US if number == 0 else 0
            for text, start, end in ((*list(texts)[:1], 0, 100), (CONV, 10, 50), (POOL, 60, 90)):
                name, identity = (None, texts[text]) if is_registered else (text, None)
                row = (begin + start * US, begin + end * US, 59, name, THREAD, identity)
                database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?)", row)
            # launched at, thread, kernel from, to
            kernels = (
                (20, THREAD, 100, 250),
                (30, THREAD, 200, 300),
                (70, THREAD, 350, 400),
                (500, THREAD, 600, 660),
            )
            for offset, (at, thread, start, end) in enumerate(kernels):
                row = (begin + start * US, begin + end * US + late, 0, 7, call + offset, 1)
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?)", row)
                row = (begin + at * US, begin + (at + 5) * US, thread, call + offset, 1)
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", row)
            row = (begin + 700 * US, begin + 780 * US, 4096, 1, call + 9)
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?)", row)
    return path


def ask(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    assert main(["nsys", "--trace", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("is_registered", [True, False])
def test_parts_of_the_period(tmp_path: Path, capsys: pytest.CaptureFixture[str], is_registered: bool) -> None:
    document = ask(capsys, write_trace(tmp_path / "app.sqlite", is_registered=is_registered))
    expected = {
        "inferences": 5,
        "period_ms": 1.0,
        "gpu_busy_ms": 0.25,
        "gpu_idle_ms": 0.05,
        "between_ms": 0.7,
        "enqueue_ms": 0.1,
        "copies_ms": 0.08,
        "other_kernels_ms": 0.06,
        "first_ms": 0.4,
    }
    assert {key: document[key] for key in expected} == pytest.approx(expected)
    layers = {row["layer"]: (row["gpu_ms"], row["kernels"]) for row in document["layers"]}
    assert layers == {CONV: (pytest.approx(0.25), 2), POOL: (pytest.approx(0.05), 1)}


def test_beside_what_trtexec_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = write_trace(tmp_path / "app.sqlite")
    document = ask(capsys, trace, ALEXNET)
    profile = json.loads((ALEXNET / "alexnet_fp16.profile.json").read_text())
    times = {row["name"]: row["averageMs"] for row in profile if "name" in row}
    assert {row["layer"]: row["latency_ms"] for row in document["layers"]} == pytest.approx(
        {CONV: times[CONV], POOL: times[POOL]}
    )
    assert document["trtexec_compute_ms"] > 0
    assert main(["nsys", "--trace", str(trace), str(ALEXNET)]) == 0
    text = capsys.readouterr().out
    assert "5 inferences, one each 1.0000 ms: GPU busy 0.2500 ms (25.00 %)" in text
    assert "lost between inferences, in the application" in text
    assert "Copies take 0.0800 ms per inference" in text
    assert "trtexec:" in text


def test_a_slow_first_inference_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = write_trace(tmp_path / "app.sqlite", first_us=9000)
    assert main(["nsys", "--trace", str(trace)]) == 0
    assert "The first inference takes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("app.nsys-rep", b"\0" * 40, "is a report; export it: nsys export --type sqlite app.nsys-rep"),
        ("app.sqlite", b"no database at all", "is no SQLite export"),
        ("app.sqlite", b"SQLite format 3\0" + b"\xff" * 200, "cannot be read as an export of Nsight Systems"),
        ("app.sqlite", b"", "is no SQLite export"),
        ("missing.sqlite", None, "No such file"),
    ],
)
def test_what_is_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert main(["nsys", "--trace", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("CUPTI_ACTIVITY_KIND_KERNEL", "has no kernels; record with `nsys profile -t cuda,nvtx`"),
        ("NVTX_EVENTS", "has no NVTX range of an inference"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "no kernel belongs to an inference"),
    ],
)
def test_a_trace_without_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], table: str, message: str
) -> None:
    trace = write_trace(tmp_path / "app.sqlite")
    with closing(sqlite3.connect(trace, isolation_level=None)) as database:
        database.execute(f"DROP TABLE {table}")
    assert main(["nsys", "--trace", str(trace)]) == 2
    assert message in capsys.readouterr().err


def test_rows_that_are_no_numbers_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = write_trace(tmp_path / "app.sqlite")
    with closing(sqlite3.connect(trace, isolation_level=None)) as database:
        for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS"):
            database.execute(f"INSERT INTO {table} (start, end) VALUES ('x', NULL)")
            database.execute(f"INSERT INTO {table} (start, end) VALUES (1e300, x'00ff')")
    assert ask(capsys, trace)["gpu_busy_ms"] == pytest.approx(0.25)


def test_a_column_of_another_release_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "app.sqlite"
    with closing(sqlite3.connect(trace, isolation_level=None)) as database:
        database.executescript(SCHEMA.replace("correlationId INT, shortName", "other INT, shortName"))
    assert main(["nsys", "--trace", str(trace)]) == 2
    assert "no such column: correlationId" in capsys.readouterr().err
