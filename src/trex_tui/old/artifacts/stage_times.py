"""Layer times per stage of TensorRT-Edge-LLM: `layer_prefill_inputlen128.csv`, `layer_decode_pastkvlen128.csv`.

`llm_bench --profile --outputDir DIR` writes a file per stage, as its source (`benchLogger`) shows; no real file was at hand.
The stages of one engine are its runs: prefill, decode and verification are stages of the language model, while draft models,
visual and audio encoders are engines of their own. Its programs also print a table per stage (`--dumpProfile`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trex_tui.old.artifacts.input_files import COPY_AGAIN, finite_number, is_allowed, read_head, read_text
from trex_tui.old.artifacts.layer_spread import LayerSpread
from trex_tui.old.artifacts.log_prefixes import STAGE_HEADLINE
from trex_tui.old.errors import ArtifactError

_NAME = re.compile(
    r"layer_(?P<stage>.*(?:prefill|decode|verify|draft|visual|vision|audio).*)\.csv",
    re.IGNORECASE | re.DOTALL,
)
_HEAD_BYTES = 1 << 12
_LAYER, _MEAN, _STD = "layer_name", "time_ms_mean", "time_ms_std"
_FIRST_PARAMETER = "batch_size"
_OTHER_ENGINES = ("draft", "visual", "audio", "vision")
_MAIN_ENGINE = "llm"
_STAGES = ("prefill", "decode")
_MOST_STAGES = 64


_PRINTED_ROW = re.compile(
    r" *(?P<total>\d+\.\d+) +(?P<average>\d+\.\d+) +(?P<median>\d+\.\d+) +(?P<percentage>\d+\.\d) {3}(?P<name>.+?)\s*$"
)
_SUM = "Stage Total"


class PrintedStage(NamedTuple):
    """A printed table: total, average, median in ms, share in percent and name of each layer, most time first.

    Attributes:
        is_whole: Whether the line of the sum follows the rows.
    """

    stage: str
    iterations: int
    rows: list[tuple[str, float, float, float, float]]
    is_whole: bool


def read_printed_stages(text: str) -> list[PrintedStage]:
    """Return the printed tables in the output of a program, in order; those without rows are left out."""
    stages: list[PrintedStage] = []
    for line in text.split("\n"):
        if "=== " in line and (match := STAGE_HEADLINE.search(line)):
            stages.append(PrintedStage(match["stage"].strip(), int(match["count"]), [], is_whole=False))
        elif stages and not stages[-1].is_whole and (row := _PRINTED_ROW.match(line)):
            if row["name"] == _SUM:
                stages[-1] = stages[-1]._replace(is_whole=True)
                continue
            figures = [float(row[key]) for key in ("total", "average", "median", "percentage")]
            stages[-1].rows.append((row["name"], figures[0], figures[1], figures[2], figures[3]))
    return [stage for stage in stages if stage.rows]


class StageRow(NamedTuple):
    """Time of one layer; None where the file has no number."""

    name: str
    mean_ms: float | None
    cv_pct: float | None


class StageTable(NamedTuple):
    """Content of the file.

    Attributes:
        stage: `prefill batch_size=1 input_len=128`.
        damage: What could not be read, as the end of a sentence; empty for a whole file.
    """

    path: Path
    rows: tuple[StageRow, ...]
    stage: str
    damage: str

    @property
    def spreads(self) -> tuple[LayerSpread | None, ...]:
        """Spread of each row: the file has no single times."""
        return tuple(None if row.cv_pct is None else LayerSpread((), None, row.cv_pct) for row in self.rows)


def is_stage_table(head: str) -> bool:
    """Return whether a file is such a table, by its first line."""
    columns = _split_line(head.lstrip("\ufeff").split("\n", 1)[0])
    return columns[:1] == [_LAYER] and _MEAN in columns


def stage_engine(path: Path) -> str | None:
    """Return the engine that the stage in a file name belongs to; None for a name of another form.

    >>> stage_engine(Path("layer_prefill_inputlen128.csv")), stage_engine(Path("layer_visual_448x448.csv"))
    ('llm', 'visual')
    """
    match = _NAME.fullmatch(path.name)
    if match is None:
        return None
    stage = match["stage"].lower()
    return next((name for name in _OTHER_ENGINES if name in stage), _MAIN_ENGINE)


def find_stages(path: Path) -> list[Path]:
    """Return the files in the directory of all stages of an engine, given one of them: prefill, decode, then others."""
    engine = stage_engine(path)
    if engine is None:
        return [path]
    try:
        files = [file for file in path.parent.iterdir() if file != path and stage_engine(file) == engine]
    except OSError:
        return [path]
    others = [file for file in sorted(files)[:_MOST_STAGES] if is_allowed(file) and _is_table(file)]
    return sorted([path, *others], key=_stage_order)


def _is_table(path: Path) -> bool:
    try:
        return path.is_file() and is_stage_table(
            read_head(path, _HEAD_BYTES).decode("utf-8", errors="replace")
        )
    except OSError:
        return False


def _stage_order(path: Path) -> tuple[int, str]:
    name = path.name.lower()
    place = next((index for index, stage in enumerate(_STAGES) if f"_{stage}" in name), len(_STAGES))
    return place, path.name


def read_stage_table(path: Path) -> StageTable:
    """Read the times of a stage, in the order of the layers.

    Raises:
        ArtifactError: The file cannot be read, or has no row with a name and a time.
    """
    lines = read_text(path).lstrip("\ufeff").split("\n")
    header = _split_line(lines[0])
    if _LAYER not in header or _MEAN not in header:
        raise ArtifactError(path, f"has no times of layers; {COPY_AGAIN}")
    rows, lost, parameters = [], 0, ""
    for line in lines[1:]:
        if not line.strip():
            continue
        cells = _split_line(line)
        if len(cells) != len(header):
            lost += 1
            continue
        values = dict(zip(header, cells, strict=True))
        rows.append(_read_row(values))
        parameters = parameters or _describe_parameters(header, cells)
    if not any(row.mean_ms is not None for row in rows):
        raise ArtifactError(path, f"has no times of layers; {COPY_AGAIN}")
    damage = f"is truncated or damaged: {len(rows)} rows read, {lost} lost; {COPY_AGAIN}" if lost else ""
    return StageTable(path, tuple(rows), f"{_name_stage(path, header)} {parameters}".strip(), damage)


def _split_line(line: str) -> list[str]:
    """Split a line into cells. Quotes within a name are not escaped in such files, so some of them are lost."""
    try:
        return [cell.strip() for cell in next(csv.reader([line.rstrip("\r")]), [])]
    except csv.Error:
        return []


def _read_row(values: dict[str, str]) -> StageRow:
    mean, deviation = _time(values[_MEAN]), _time(values.get(_STD, ""))
    cv = 100.0 * deviation / mean if mean and deviation is not None else None
    return StageRow(values[_LAYER], mean, cv)


def _time(text: str) -> float | None:
    try:
        number = finite_number(float(text))
    except ValueError:
        return None
    return number if number is not None and number >= 0 else None


def _describe_parameters(header: Sequence[str], cells: Sequence[str]) -> str:
    if _FIRST_PARAMETER not in header:
        return ""
    first = header.index(_FIRST_PARAMETER)
    return " ".join(f"{key}={value}" for key, value in zip(header[first:], cells[first:], strict=True))


def _name_stage(path: Path, header: Sequence[str]) -> str:
    """Return the stage in the name of the file, without the sizes that its columns state; else by these columns."""
    if match := _NAME.fullmatch(path.name):
        words = [word for word in match["stage"].split("_") if not any(sign.isdecimal() for sign in word)]
        return "_".join(words)
    return "prefill" if "input_len" in header else "decode" if "past_kv_len" in header else ""
