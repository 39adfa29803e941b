"""Columns of the table of engines: every fact that a row of `trex-tui engines` has, with unit, formula and cost.

Their values are computed in `engine_values`, which a table of cached rows does not import.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import IntEnum
from typing import Any

from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import unit_of_key

_TIMED = "timing file, else the summary that trtexec printed"
_LAYERS = "layer information"
_SAME_MODEL = "names of inputs and outputs, and of the nodes in the names of layers"
KIND_ENDING = "_time_pct"
"""End of the columns with the share of a kind: `gemm_time_pct`."""


class Need(IntEnum):
    """Files that a column reads in addition to those always read; each level includes those below."""

    FILES = 0
    LOGS = 1
    """The logs of a set whose JSON files state the same facts but this one."""
    LINT = 2
    """All files, and all rules of lint."""


class Better(IntEnum):
    """The direction in which a measure improves."""

    LOWER = -1
    NEITHER = 0
    HIGHER = 1


@dataclass(frozen=True, slots=True, eq=False)
class FleetColumn:
    """A column of the table of engines.

    Attributes:
        name: Flat snake_case, the unit at the end.
        title: Short heading.
        dtype: As in `engine.columns.LayerColumn`; a list of texts is `object`.
        description: Definition, one or two sentences.
        formula: How it is computed; empty for values stated in a file.
        source: File kind.
        aliases: Short names for the command line and the filter.
        need: What it reads.
        better: Direction in which a measure improves.
        is_measure: Groups have its minimum, median and maximum.
        is_default: In the table without `--columns`.
    """

    name: str
    title: str
    dtype: str
    description: str
    formula: str = ""
    source: str = ""
    aliases: tuple[str, ...] = ()
    vocabulary: Mapping[str, str] = field(default_factory=dict)
    is_list: bool = False
    is_free_text: bool = False
    need: Need = Need.FILES
    better: Better = Better.NEITHER
    is_measure: bool = False
    is_default: bool = False

    @property
    def unit(self) -> str:
        """Unit at the end of the name; empty for counts and words."""
        return unit_of_key(self.name)

    @property
    def is_of_engine(self) -> bool:
        """True if the value needs the engine; others come from the path of its files or from other rows."""
        return self.name not in ("engine", "directory", "model", "similar", "error")

    @property
    def is_number(self) -> bool:
        """True if the column is right-aligned and sorts large values first."""
        return self.dtype in ("float64", "Int64")


def _measure(
    name: str,
    title: str,
    description: str,
    *,
    better: Better = Better.LOWER,
    dtype: str = "float64",
    is_default: bool = False,
    **more: Any,  # noqa: ANN401 - fields of the result
) -> FleetColumn:
    return FleetColumn(
        name, title, dtype, description, better=better, is_measure=True, is_default=is_default, **more
    )


def _text(
    name: str,
    title: str,
    description: str,
    *,
    is_default: bool = False,
    **more: Any,  # noqa: ANN401 - fields of the result
) -> FleetColumn:
    return FleetColumn(name, title, "string", description, is_default=is_default, **more)


COLUMNS: tuple[FleetColumn, ...] = (
    _text(
        "engine",
        "engine",
        "Name of the engine, unique in the table.",
        is_default=True,
        is_free_text=True,
        aliases=("name",),
    ),
    FleetColumn(
        "run",
        "run",
        "Int64",
        "Number of the run in files with several runs.",
        is_default=True,
    ),
    _text(
        "model",
        "model",
        "Name of the group of engines with equal inputs and outputs and mostly equal nodes.",
        formula=_SAME_MODEL,
        is_default=True,
        is_free_text=True,
    ),
    FleetColumn(
        "similar",
        "similar",
        "object",
        "Other models whose inputs, outputs and nine tenths of the convolutions and matrix products have equal shapes: "
        "perhaps the same network under other names. Engines are not grouped by it.",
        source="layer information",
        is_list=True,
        is_free_text=True,
    ),
    _text("directory", "directory", "Directory of the files.", is_free_text=True, aliases=("dir",)),
    _text(
        "device",
        "device",
        "Device of the run.",
        source="metadata or log",
        is_default=True,
        is_free_text=True,
    ),
    _text(
        "tensorrt",
        "TensorRT",
        "Version of TensorRT.",
        source="engine file, log or manifest",
        is_default=True,
        is_free_text=True,
        aliases=("trt",),
    ),
    _text(
        "precision",
        "precision",
        "Precision of the main work: the one with most time among convolutions, GEMMs and attention.",
        source=_LAYERS,
        is_default=True,
        vocabulary={dtype.value.casefold(): dtype.value for dtype in DataType},
    ),
    FleetColumn(
        "batch",
        "batch",
        "Int64",
        "Samples per query.",
        source="inputs, else options of the run or the build",
        is_default=True,
    ),
    _measure(
        "latency_median_ms",
        "median ms",
        "Median latency end to end.",
        source=_TIMED,
        is_default=True,
        aliases=("median",),
    ),
    _measure(
        "latency_p99_ms",
        "p99 ms",
        "99th percentile of the latency end to end.",
        source=_TIMED,
        is_default=True,
        aliases=("p99",),
    ),
    _measure(
        "throughput_qps",
        "qps",
        "Queries per second.",
        better=Better.HIGHER,
        source="summary that trtexec printed, else timing file",
        is_default=True,
        aliases=("qps",),
    ),
    FleetColumn(
        "queries",
        "queries",
        "Int64",
        "Queries of the timing run, without its warm-up.",
        source=_TIMED,
    ),
    _measure(
        "per_sample_ms",
        "ms per sample",
        "Median latency per sample.",
        formula="latency_median_ms / batch",
        is_default=True,
    ),
    _measure(
        "samples_per_s",
        "samples/s",
        "Samples per second.",
        better=Better.HIGHER,
        formula="throughput_qps * batch",
    ),
    _measure(
        "weights_bytes",
        "weights",
        "Sum of the weights of all layers; unknown if one layer hides its own and no log has the sum.",
        dtype="Int64",
        source=f"{_LAYERS}, else a log",
        is_default=True,
        aliases=("weights",),
    ),
    _measure(
        "engine_bytes",
        "engine size",
        "Size of the engine file; without it, as a log states it in bytes.",
        dtype="Int64",
        source="engine file, else a log",
        need=Need.LOGS,
    ),
    _measure(
        "activation_peak_bytes",
        "peak memory",
        "Activations that are live at once, at most; the weights are separate.",
        dtype="Int64",
        formula="largest sum of live tensors over the layers",
        source=_LAYERS,
        is_default=True,
        aliases=("peak",),
    ),
    _measure(
        "context_bytes",
        "context",
        "Device memory of the execution context, as a log states it.",
        dtype="Int64",
        source="log",
        need=Need.LOGS,
    ),
    FleetColumn(
        "layers",
        "layers",
        "Int64",
        "Number of layers.",
        source=f"{_LAYERS}, else the profile",
        is_measure=True,
        is_default=True,
    ),
    _measure(
        "latency_sum_ms",
        "layer times ms",
        "Sum of the layer times, which usually exceeds the latency.",
        source="profile",
    ),
    FleetColumn(
        "main_kinds",
        "% by kind",
        "object",
        "Kinds of layers with at least 5 % of the layer times, with their share in percent.",
        source="profile",
        is_list=True,
        is_default=True,
        is_free_text=True,
        aliases=("kinds",),
    ),
    *(
        FleetColumn(
            f"{kind.value}{KIND_ENDING}",
            f"{kind.value} %",
            "float64",
            f"Share of the layer times in layers of the kind {kind.value}.",
            formula="100 * time of the kind / latency_sum_ms",
            source="profile",
        )
        for kind in LayerKind
    ),
    _measure(
        "energy_per_inference_j",
        "J",
        "Energy per query.",
        source="log of power, temperature and clocks",
        is_default=True,
        aliases=("energy",),
    ),
    _measure(
        "energy_per_sample_j",
        "J per sample",
        "Energy per sample.",
        formula="energy_per_inference_j / batch",
    ),
    _measure(
        "power_mean_w",
        "W",
        "Mean power during the run.",
        source="log of power, temperature and clocks",
    ),
    _measure(
        "findings",
        "findings",
        "Number of findings of lint, suppressed ones excluded. All rules run, which takes most of the time.",
        dtype="Int64",
        need=Need.LINT,
    ),
    FleetColumn(
        "saving_ms",
        "saving ms",
        "float64",
        "Possible saving of all findings together.",
        need=Need.LINT,
        is_measure=True,
        aliases=("saving",),
    ),
    _text("date", "date", "Start of the capture.", source="manifest", is_default=True),
    FleetColumn(
        "missing",
        "missing",
        "object",
        "Layer information and profile that are missing or damaged, or have names only.",
        source="all files",
        is_list=True,
        is_free_text=True,
    ),
    FleetColumn(
        "cautions",
        "cautions",
        "object",
        "Reasons to doubt the numbers: conditions of the capture, files that changed since, damaged files.",
        source="manifest",
        is_list=True,
        is_default=True,
        is_free_text=True,
    ),
    _text(
        "error",
        "error",
        "Why the files of the engine could not be read; such a row has no other values.",
        is_default=True,
        is_free_text=True,
    ),
)
COLUMNS_BY_NAME = {column.name: column for column in COLUMNS}
ALIASES = {alias: column.name for column in COLUMNS for alias in column.aliases}
DEFAULT_COLUMNS = tuple(column.name for column in COLUMNS if column.is_default)
MEASURES = tuple(column for column in COLUMNS if column.is_measure)
"""Columns that need the engine; the others come from its place and from the other rows."""
