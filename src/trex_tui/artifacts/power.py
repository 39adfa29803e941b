"""Read power, temperature and clocks of a run: `<name>.monitor.csv` of `trex-tui capture`, and logs of other programs.

Supported are tegrastats of JetPack 4 to 7, `nvidia-smi --query-gpu=… --format=csv` with and without header, units and time
stamps, the CSV of jtop's logger, and lines of time, millivolts and milliamperes. Columns are arrays with NaN for unknown
values.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trex_tui.artifacts.sensors import (
    POWER_LOG,
    QUANTITIES,
    TEGRASTATS,
    Sample,
    feeding_rails,
    guess_smi_header,
    is_jtop_header,
    is_smi_header,
    is_smi_row,
    jtop_parser,
    number,
    parse_power_log,
    parse_tegrastats,
    smi_parser,
    split_cells,
)
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural

if TYPE_CHECKING:
    from trex_tui.artifacts.layer_samples import LayerSample

COLUMNS = (
    *("utc", "run_s", "stage", "stage_s", "source"),
    *QUANTITIES,
    "throttle_reasons",
)
"""Columns of `<name>.monitor.csv`, followed by `rail.NAME_w` for each power rail of the board."""
RAIL, RAIL_UNIT = "rail.", "_w"
MEASURING = "measuring"
"""The stage of trtexec in which queries are timed, warm-up included."""
_DEFAULT_INTERVAL_S = 1.0
"""Interval of tegrastats, whose lines have no time stamp before JetPack 6."""
_SAMPLE_LINES = 200
"""Number of lines from which headings are guessed."""


class Producer(str, Enum):
    """The program that wrote the file."""

    TREX_TUI = "trex-tui capture"
    TEGRASTATS = "tegrastats"
    NVIDIA_SMI = "nvidia-smi"
    JTOP = "jtop"
    POWER_LOG = "power log"


@dataclass(frozen=True, slots=True)
class PowerLog:
    """The samples of a file, column by column; every column has one value per sample.

    Attributes:
        producer: The program that wrote it.
        samples: Number of samples.
        columns: Key of `QUANTITIES` -> values, NaN if unknown; quantities that no sample has are missing.
        rails: Power rail -> watts.
        power_of: Subject of `power_w`: `VDD_IN`, `GPU`, or the rails that are added up.
        local_s: Seconds since 1970 in the local time of the machine; empty without time stamps.
        run_s: Seconds since trtexec was started; empty if unknown.
        stages: Stage of trtexec, per sample; empty if unknown.
        stage_s: Seconds since that stage began.
        reasons: Throttle reasons, per sample; None for a sample without this information. Empty if no sample has it.
        interval_s: Median time between samples; None for fewer than two.
        is_interval_assumed: The file has no time stamps, and the interval is the default of the program.
        idle_w: Power of the idle board, from another file; None without one.
        layer_samples: Times of single calls of layers with their time stamps, from the profile of the set.
    """

    producer: Producer
    samples: int
    columns: Mapping[str, array[float]]
    rails: Mapping[str, array[float]] = field(default_factory=dict)
    power_of: str = ""
    local_s: Sequence[float] = ()
    run_s: Sequence[float] = ()
    stages: Sequence[str] = ()
    stage_s: Sequence[float] = ()
    reasons: Sequence[tuple[str, ...] | None] = ()
    interval_s: float | None = None
    is_interval_assumed: bool = False
    idle_w: float | None = None
    layer_samples: Sequence[LayerSample] = ()
    notes: tuple[Note, ...] = ()


def find_producer(head: str) -> Producer | None:
    """Return the program that wrote a file, by its head; None if it is not a log of power or clocks."""
    if TEGRASTATS.search(head):
        return Producer.TEGRASTATS
    lines = [line for line in head.splitlines()[:20] if line.strip()]
    if not lines:
        return None
    first = split_cells(lines[0])
    if first[:4] == list(COLUMNS[:4]):
        return Producer.TREX_TUI
    if is_jtop_header(first):
        return Producer.JTOP
    if len(first) > 1 and (is_smi_header(first) or is_smi_row(first)):
        return Producer.NVIDIA_SMI
    return Producer.POWER_LOG if POWER_LOG.match(lines[0]) else None


def read_power_log(path: Path) -> PowerLog:
    """Read a file of samples.

    Raises:
        ArtifactError: It cannot be read, or has no samples.
    """
    from trex_tui.artifacts.open import read_text

    text = read_text(path)
    producer = find_producer(text[: 1 << 16])
    if producer is None:
        raise ArtifactError(
            path,
            "has no samples of power, temperature or clocks; record it with capture --monitor, tegrastats or nvidia-smi",
        )
    lines = [line for line in text.splitlines() if line.strip()]
    notes: list[Note] = []
    rows, left_out, remark = _READERS[producer](lines)
    if not rows:
        raise ArtifactError(path, f"has no readable sample of {producer.value}; record it again")
    if remark:
        notes.append(Note(Severity.INFO, path, "", remark))
    if left_out:
        message = f"{plural(left_out, 'line')} of {len(lines)} could not be read; skipped"
        notes.append(Note(Severity.WARNING, path, "", message))
    rows = _choose_gpu(rows, path, notes)
    return replace(_make_log(producer, rows), notes=tuple(notes))


@dataclass(slots=True)
class _Row:
    """A sample with the values that only trex-tui records."""

    sample: Sample
    run_s: float = math.nan
    stage: str = ""
    stage_s: float = math.nan


class _Read(NamedTuple):
    """Result of parsing: samples, number of skipped lines, and assumptions."""

    rows: list[_Row]
    left_out: int
    remark: str = ""


def _read_tegrastats(lines: Sequence[str]) -> _Read:
    return _split(map(parse_tegrastats, lines))


def _read_power_log(lines: Sequence[str]) -> _Read:
    return _split(map(parse_power_log, lines))


def _split(samples: Iterable[Sample | None], remark: str = "") -> _Read:
    """Skip and count lines without any known value."""
    rows, left_out = [], 0
    for sample in samples:
        if sample is None or not (sample.values or sample.rails):
            left_out += 1
        else:
            rows.append(_Row(sample))
    return _Read(rows, left_out, remark)


def _read_smi(lines: Sequence[str]) -> _Read:
    cells = [split_cells(line) for line in lines]
    header, remark = cells[0], ""
    if not is_smi_header(header):
        header = guess_smi_header(cells[:_SAMPLE_LINES])
        place = header.index("power.draw") + 1 if "power.draw" in header else None
        what = "the power is not known" if place is None else f"column {place} is read as the power"
        remark = f"has no header: {what}; write it without noheader for all columns"
    parse = smi_parser(header)
    # Loops around nvidia-smi print the header repeatedly.
    return _split((parse(row) for row in cells if row != header), remark)


def _read_jtop(lines: Sequence[str]) -> _Read:
    cells = [split_cells(line) for line in lines]
    parse = jtop_parser(cells[0])
    return _split(parse(row) for row in cells[1:])


def _read_own(lines: Sequence[str]) -> _Read:
    """Read `<name>.monitor.csv`; added or removed columns do not matter."""
    header = split_cells(lines[0])
    places = {name: place for place, name in enumerate(header)}
    rails = {
        name[len(RAIL) : -len(RAIL_UNIT)]: place
        for name, place in places.items()
        if name.startswith(RAIL) and name.endswith(RAIL_UNIT)
    }
    rows, left_out = [], 0
    for line in lines[1:]:
        cells = split_cells(line)
        if len(cells) != len(header):
            left_out += 1
            continue
        texts = {name: cells[place] for name, place in places.items()}
        sample = Sample()  # its `utc` is for people: the log beside it has local time
        for quantity in QUANTITIES:
            sample.put(quantity, number(texts.get(quantity, "")))
        for name, place in rails.items():
            if (watts := number(cells[place])) is not None:
                sample.put_rail(name, watts)
        reasons = texts.get("throttle_reasons", "")
        # `none` is a GPU that was not throttled; an empty cell is a program that does not report it.
        sample.reasons = tuple(part.strip() for part in reasons.split(";")) if reasons else None
        sample.reasons = () if reasons == "none" else sample.reasons
        if not (sample.values or sample.rails):
            left_out += 1
            continue
        run_s, stage_s = (number(texts.get(name, "")) for name in ("run_s", "stage_s"))
        rows.append(
            _Row(
                sample,
                math.nan if run_s is None else run_s,
                texts.get("stage", ""),
                math.nan if stage_s is None else stage_s,
            )
        )
    return _Read(rows, left_out)


_READERS: dict[Producer, Callable[[Sequence[str]], _Read]] = {
    Producer.TREX_TUI: _read_own,
    Producer.TEGRASTATS: _read_tegrastats,
    Producer.NVIDIA_SMI: _read_smi,
    Producer.JTOP: _read_jtop,
    Producer.POWER_LOG: _read_power_log,
}


def _choose_gpu(rows: list[_Row], path: Path, notes: list[Note]) -> list[_Row]:
    """Return the rows of the GPU with the highest power, of several: the others are unrelated to the engine."""
    powers: dict[str, list[float]] = {}
    for row in rows:
        powers.setdefault(row.sample.gpu, []).append(row.sample.values.get("power_w", 0.0))
    if len(powers) < 2:
        return rows
    chosen = max(powers, key=lambda gpu: math.fsum(powers[gpu]) / len(powers[gpu]))
    message = f"has samples of {len(powers)} GPUs; using {chosen!r} (highest power)"
    notes.append(Note(Severity.INFO, path, "", message))
    return [row for row in rows if row.sample.gpu == chosen]


def _make_log(producer: Producer, rows: Sequence[_Row]) -> PowerLog:
    samples = [row.sample for row in rows]
    columns = {
        quantity: column
        for quantity in QUANTITIES
        if not all(map(math.isnan, column := _column(sample.values.get(quantity) for sample in samples)))
    }
    names = list(dict.fromkeys(name for sample in samples for name in sample.rails))
    stamps = _rising(sample.local_s for sample in samples)
    run_s = array("d", [row.run_s for row in rows])
    has_run = not any(map(math.isnan, run_s))
    interval = _median_step(run_s if has_run else stamps)
    is_assumed = interval is None and producer is Producer.TEGRASTATS and len(rows) > 1
    has_reasons = any(sample.reasons is not None for sample in samples)
    return PowerLog(
        producer,
        len(rows),
        columns,
        {name: _column(sample.rails.get(name) for sample in samples) for name in names},
        " + ".join(feeding_rails(dict.fromkeys(names)))
        if names
        else ("GPU" if producer in (Producer.NVIDIA_SMI, Producer.TREX_TUI) else "the measured supply"),
        stamps,
        run_s if has_run else (),
        [row.stage for row in rows] if any(row.stage for row in rows) else (),
        array("d", [row.stage_s for row in rows]),
        [sample.reasons for sample in samples] if has_reasons else (),
        _DEFAULT_INTERVAL_S if is_assumed else interval,
        is_assumed,
    )


def _column(values: Iterable[float | None]) -> array[float]:
    return array("d", [math.nan if value is None else value for value in values])


def _rising(stamps: Iterable[float | None]) -> Sequence[float]:
    """Return the time stamps if every sample has one and they increase; else none."""
    known: list[float] = []
    for stamp in stamps:
        if stamp is None or (known and stamp < known[-1]):
            return ()
        known.append(stamp)
    return array("d", known)


def _median_step(stamps: Sequence[float]) -> float | None:
    steps = sorted(late - early for early, late in pairwise(stamps))
    return round(steps[len(steps) // 2], 6) if steps else None


# The idle board


def read_idle_power_w(path: Path) -> float:
    """Read the power of the idle board, in watts; `idling_power.json` holds microwatts.

    Raises:
        ArtifactError: The file does not have it.
    """
    from trex_tui.artifacts.open import finite_number, load_json

    root = load_json(path)
    value = finite_number(root.get("avg_idle_power")) if isinstance(root, dict) else None
    if value is None or value < 0:
        raise ArtifactError(path, "has no avg_idle_power in microwatts; record it again")
    return value / 1e6
