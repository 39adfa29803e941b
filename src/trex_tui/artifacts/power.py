"""Read power, temperature and clocks of a run: `<name>.monitor.csv` of `trex-tui capture`, and logs of other programs.

Supported are tegrastats of JetPack 4 to 7, `nvidia-smi --query-gpu=… --format=csv` with and without header, units and time
stamps, `nvidia-smi dmon`, and lines of time, millivolts and milliamperes. Columns are arrays with NaN for unknown values.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from pathlib import Path

from trex_tui.artifacts.layer_samples import LayerSample
from trex_tui.artifacts.open import finite_number, load_json, read_text
from trex_tui.artifacts.sensors import (
    POWER_LOG,
    QUANTITIES,
    TEGRASTATS,
    Sample,
    dmon_as_query,
    feeding_rails,
    guess_smi_header,
    is_smi_header,
    is_smi_row,
    number,
    parse_power_log,
    parse_tegrastats,
    smi_parser,
    split_cells,
)
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural

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
"""Number of lines from which program and headings are guessed."""


class Producer(str, Enum):
    """The program that wrote the file."""

    TREX_TUI = "trex-tui capture"
    TEGRASTATS = "tegrastats"
    NVIDIA_SMI = "nvidia-smi"
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
    first = next((line for line in head.splitlines() if line.strip()), "")
    cells = split_cells(dmon_as_query([first])[0])
    if cells[:4] == list(COLUMNS[:4]):
        return Producer.TREX_TUI
    if len(cells) > 1 and (is_smi_header(cells) or is_smi_row(cells)):
        return Producer.NVIDIA_SMI
    return Producer.POWER_LOG if POWER_LOG.match(first) else None


def read_power_log(path: Path) -> PowerLog:
    """Read a file of samples.

    Raises:
        ArtifactError: It cannot be read, or has no samples.
    """
    notes: list[Note] = []
    lines = [line for line in read_text(path, notes).splitlines() if line.strip()]
    producer = find_producer("\n".join(lines[:_SAMPLE_LINES]))
    if producer is None:
        message = "has no samples of power, temperature or clocks; record it with capture --monitor, tegrastats or nvidia-smi"
        raise ArtifactError(path, message)
    lines = list(dmon_as_query(lines))
    parsed: Iterable[Sample | None]
    if producer is Producer.TEGRASTATS:
        parsed = map(parse_tegrastats, lines)
    elif producer is Producer.POWER_LOG:
        parsed = map(parse_power_log, lines)
    elif producer is Producer.NVIDIA_SMI:
        parsed = _parse_smi(lines, path, notes)
    else:
        parsed = _parse_own(lines)
    samples = list(parsed)
    known = [sample for sample in samples if sample is not None and (sample.values or sample.rails)]
    if not known:
        raise ArtifactError(path, f"has no readable sample of {producer.value}; record it again")
    if left_out := len(samples) - len(known):
        message = f"{plural(left_out, 'line')} of {len(lines)} could not be read; skipped"
        notes.append(Note(Severity.WARNING, path, "", message))
    known = _choose_gpu(known, path, notes)
    return replace(_make_log(producer, known), notes=tuple(notes))


def _parse_smi(lines: Sequence[str], path: Path, notes: list[Note]) -> Iterable[Sample | None]:
    cells = [split_cells(line) for line in lines]
    header = cells[0]
    if not is_smi_header(header):
        header = guess_smi_header(cells[:_SAMPLE_LINES])
        place = header.index("power.draw") + 1 if "power.draw" in header else None
        what = "the power is not known" if place is None else f"column {place} is read as the power"
        message = f"has no header: {what}; write it without noheader for all columns"
        notes.append(Note(Severity.INFO, path, "", message))
    # Loops around nvidia-smi print the header repeatedly.
    return map(smi_parser(header), (row for row in cells if row != header))


def _parse_own(lines: Sequence[str]) -> Iterable[Sample | None]:
    """Parse `<name>.monitor.csv`; added or removed columns do not matter."""
    header = split_cells(lines[0])
    for line in lines[1:]:
        cells = split_cells(line)
        if len(cells) != len(header):
            yield None
            continue
        texts = dict(zip(header, cells, strict=True))
        sample = Sample(
            stage=texts.get("stage", "")
        )  # its `utc` is for people: the log beside it has local time
        for quantity in QUANTITIES:
            sample.put(quantity, number(texts.get(quantity, "")))
        for name, text in texts.items():
            if name.startswith(RAIL) and name.endswith(RAIL_UNIT) and (watts := number(text)) is not None:
                sample.put_rail(name[len(RAIL) : -len(RAIL_UNIT)], watts)
        # `none` is a GPU that was not throttled; an empty cell is a program that does not report it.
        if reasons := texts.get("throttle_reasons", ""):
            parts = () if reasons == "none" else reasons.split(";")
            sample.reasons = tuple(part.strip() for part in parts)
        run_s, stage_s = (number(texts.get(name, "")) for name in ("run_s", "stage_s"))
        sample.run_s = math.nan if run_s is None else run_s
        sample.stage_s = math.nan if stage_s is None else stage_s
        yield sample


def _choose_gpu(samples: list[Sample], path: Path, notes: list[Note]) -> list[Sample]:
    """Return the samples of the GPU with the highest power, of several: the others are unrelated to the engine."""
    powers: dict[str, list[float]] = {}
    for sample in samples:
        powers.setdefault(sample.gpu, []).append(sample.values.get("power_w", 0.0))
    if len(powers) < 2:
        return samples
    chosen = max(powers, key=lambda gpu: math.fsum(powers[gpu]) / len(powers[gpu]))
    message = f"has samples of {len(powers)} GPUs; using {chosen!r} (highest power)"
    notes.append(Note(Severity.INFO, path, "", message))
    return [sample for sample in samples if sample.gpu == chosen]


def _make_log(producer: Producer, samples: Sequence[Sample]) -> PowerLog:
    columns = {
        quantity: _column(sample.values.get(quantity) for sample in samples) for quantity in QUANTITIES
    }
    rails = list(dict.fromkeys(name for sample in samples for name in sample.rails))
    power_of = " + ".join(feeding_rails(dict.fromkeys(rails)))
    if not rails:
        power_of = "GPU" if producer in (Producer.NVIDIA_SMI, Producer.TREX_TUI) else "the measured supply"
    stamps = _rising(sample.local_s for sample in samples)
    run_s = array("d", [sample.run_s for sample in samples])
    has_run = not any(map(math.isnan, run_s))
    interval = _median_step(run_s if has_run else stamps)
    is_assumed = interval is None and producer is Producer.TEGRASTATS and len(samples) > 1
    has_reasons = any(sample.reasons is not None for sample in samples)
    return PowerLog(
        producer,
        len(samples),
        {quantity: column for quantity, column in columns.items() if not all(map(math.isnan, column))},
        {name: _column(sample.rails.get(name) for sample in samples) for name in rails},
        power_of,
        stamps,
        run_s if has_run else (),
        [sample.stage for sample in samples] if any(sample.stage for sample in samples) else (),
        array("d", [sample.stage_s for sample in samples]),
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


def read_idle_power_w(path: Path) -> float:
    """Read the power of the idle board, in watts; `idling_power.json` holds microwatts.

    Raises:
        ArtifactError: The file does not have it.
    """
    root = load_json(path)
    value = finite_number(root.get("avg_idle_power")) if isinstance(root, dict) else None
    if value is None or value < 0:
        raise ArtifactError(path, "has no avg_idle_power in microwatts; record it again")
    return value / 1e6
