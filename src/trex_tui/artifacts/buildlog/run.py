"""What a log tells about a run: command line and options, performance summary, trace averages, time per layer, layers."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from trex_tui.artifacts.profile import ProfileRow


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program, between its banners.

    Attributes:
        program: `TensorRT.trtexec`, or the name of another program of NVIDIA's samples.
        tensorrt_version: As decoded from the banner; None for 7.x.
        build: `b11` of 10.4 and later, as a number.
        command: The command line, as the banner has it.
        status: `PASSED`, `FAILED` or `WAIVED`; None if there is no such banner: the run died, or the log is cut off.
    """

    line: int
    program: str
    tensorrt_version: str | None
    build: int | None
    command: str
    status: str | None

    @property
    def loads_engine(self) -> bool:
        """Whether it ran an engine out of a file, and built none."""
        return "--loadEngine" in self.command


@dataclass(frozen=True, slots=True)
class Options:
    """The sections `=== … Options ===` and `=== Device Information ===`: label -> value, whole and verbatim.

    All of one run. Values of a label that repeats within a section, and lines below a label without a value, are joined by
    `, `.
    """

    model: dict[str, str] = field(default_factory=dict)
    build: dict[str, str] = field(default_factory=dict)
    system: dict[str, str] = field(default_factory=dict)
    inference: dict[str, str] = field(default_factory=dict)
    reporting: dict[str, str] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Performance:
    """`=== Performance summary ===`, as printed.

    Attributes:
        values: Label (`Latency`, `Throughput`, …) -> everything behind the colon; `metadata.parse_latency` reads the pairs.
        warnings: The sentences with a star behind the summary, each with its advice.
        explanations: Label -> definition, out of a verbose log.
    """

    line: int
    values: dict[str, str]
    warnings: tuple[str, ...] = ()
    explanations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceAverages:
    """`Average on N runs`, one entry per line, in milliseconds; NaN where a line has no such number.

    Attributes:
        omitted: Lines that trtexec left out (`... Omitting N lines`, 9.1 and later).
    """

    line: int
    runs: array[int]
    gpu_ms: array[float]
    host_ms: array[float]
    enqueue_ms: array[float]
    end_to_end_ms: array[float]
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """`=== Profile (N iterations ) ===`, out of `--dumpProfile`.

    Attributes:
        rows: In execution order, without `Total`; rounded as printed, coarser than `--exportProfile`.
        total: The row of that name; None if the log ends before.
    """

    line: int
    iterations: int | None
    rows: tuple[ProfileRow, ...]
    total: ProfileRow | None = None


class DumpForm(str, Enum):
    """Which of three lists of layers it is, the richest last."""

    NAMES = "names"
    """`--dumpLayerInfo` of an engine without detailed verbosity."""
    BUILDER = "builder"
    """`Engine Layer Information` of a verbose build: types, tactics, tensors."""
    INSPECTOR = "inspector"
    """`--dumpLayerInfo` of an engine with detailed verbosity: all that the JSON has."""


@dataclass(frozen=True, slots=True)
class DumpedTensor:
    """A tensor of a dumped layer.

    Attributes:
        dtype: `Half`, `Float`, … as printed; empty if not told.
        extents: Elements per dimension; -1 for a dynamic one (8.2 prints -2), None if one is no number.
        vector: Elements per vector of a vectorised layout, and the dimension it lies in: (8, 1); None for none.
    """

    name: str
    dtype: str
    extents: tuple[int, ...] | None
    vector: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class DumpedLayer:
    """A layer as the builder printed it in the end, which is what runs.

    Attributes:
        layer_type: `CaskConvolution`, `Reformat`, `NoOp`, …; None if only the name is known.
        tactic_id: Its 64 bits; None if not told.
        raw: The layer as an object of `--exportLayerInfo`, with the keys that the log fills.
    """

    line: int
    name: str
    layer_type: str | None
    tactic_id: int | None
    inputs: tuple[DumpedTensor, ...]
    outputs: tuple[DumpedTensor, ...]
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LayerDump:
    """The final layers of the engine.

    Attributes:
        bindings: Names behind `Bindings:`; empty for the builder's form.
    """

    line: int
    form: DumpForm
    layers: tuple[DumpedLayer, ...]
    bindings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrintedBinding:
    """`Input binding for x with dimensions 1x3x224x224 and type fp32 is created.`

    Attributes:
        dtype: None up to 8.x, which does not print it.
    """

    line: int
    name: str
    is_input: bool
    dimensions: str
    dtype: str | None
