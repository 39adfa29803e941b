"""The engine: a table of layers, a table of tensors, a table of queries, and a graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import pandas as pd

from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import Facts
from trex_tui.column import RARE, Column
from trex_tui.engine.doubts import doubt_throughput, find_jumps
from trex_tui.engine.graph import build_graph, find_links
from trex_tui.errors import Note
from trex_tui.frames import plain_values

if TYPE_CHECKING:
    import networkx as nx

    from trex_tui.artifacts.manifest import CaptureManifest
    from trex_tui.artifacts.power import PowerLog
    from trex_tui.buildlog.trace import BuildTrace

_Result = TypeVar("_Result")


class Port(NamedTuple):
    """An input or output of a layer: a row of `Engine.tensors` as plain values, None where unknown.

    Attributes:
        shape: Elements per dimension; -1 for a dynamic one, () for a scalar.
        format: Layout in short, `NHWC8`; `format_text` is the text of the file.
        is_constant: Whether it holds weights: no layer produces it, no binding names it, and its shape is fixed.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str | None
    format: str | None
    format_text: str | None
    location: str | None
    bytes: int | None
    allocated_bytes: int | None
    is_constant: bool


@dataclass(frozen=True, eq=False)
class Engine:
    """One engine and its measurements. The frames are never changed; unknown is NA.

    Attributes:
        name: Name of the set.
        files: The files it was read from, by kind; unusable ones too.
        layers: A row per layer as read; the index is the execution order, 0…n-1. Columns: name, occurrence, kind,
            layer_type, parameter_type, precision, tactic, tactic_value, stream, device, onnx_nodes (tuples),
            weights_bytes, constant_bytes (the part of the weights that is among the inputs), latency_ms, median_ms, total_ms,
            trtexec_pct, p99_ms, cv_pct. Computed columns: `column`.
        tensors: A row per input or output of a layer: layer, role (`input`, `output`), port, name, shape (tuples), dtype,
            format, format_text, location, volume, bytes, allocated_bytes (with padding), is_constant.
        bindings: A row per input or output of the network: name, role (NA if not stated), shape, dtype, format,
            min_shape, opt_shape, max_shape (of dynamic inputs).
        queries: A row per query of the shown run: start_ms, latency_ms, enqueue_ms, h2d_ms, compute_ms, d2h_ms,
            end_to_end_ms, and stamps: end_enqueue_ms, start_h2d_ms, start_compute_ms, … NA where the file lacks a column.
        facts: Device, TensorRT, options, performance summary and memory, as logs and metadata state them.
        attributes: The layers' objects of the layer information, verbatim, for attributes without a column.
        columns: Every column of the layers, those that are computed too. Rooms above this one add theirs.
        notes: Damage and doubts; every renderer shows them.
        calls: A row per single time of a layer: layer, time_ms. Empty for profiles of trtexec, which have means only.
        runs: A row per run of files that hold several: file, number, is_shown, layers, iterations, sum_ms, queries,
            median_ms, throughput_qps, options. Empty without such files.
        has_graph: Whether there is layer information; without it layers come from the profile.
        has_names_only: The layer information has names only: no shapes, types or tactics.
        has_profile: Whether times of layers were read.
        iterations: Iterations of the profile run; None if not stated.
        stated_total_ms: Time of one iteration that a profile with missing rows states; None if no row is missing.
        unmatched_rows: Number of rows of the profile that name no layer.
        optimization_profile: The optimization profile of `layers`.
        optimization_profiles: Optimization profile -> number of its layers.
        details_source: Kind of the log that layer types, tensors and tactics come from; None if they are not from a log.
        dla_blocks: A row per block that runs on the DLA: layer, evidence, wait, and tuples of the rows that move its data.
        capture: How the set was captured; None without a manifest.
        power: Samples of power, temperature and clocks during the run; None without such a file.
        onnx: The model that it was built from, joined; None without one.
        stated_device: Facts about the device that the user stated (`--peak`, settings); None for none.
    """

    name: str
    files: Mapping[FileKind, Path]
    layers: pd.DataFrame
    tensors: pd.DataFrame
    bindings: pd.DataFrame
    queries: pd.DataFrame
    facts: Facts
    columns: Mapping[str, Column] = field(repr=False)
    attributes: list[dict[str, Any]] = field(default_factory=list, repr=False)
    notes: tuple[Note, ...] = ()
    calls: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    runs: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    has_graph: bool = True
    has_names_only: bool = False
    has_profile: bool = False
    iterations: int | None = None
    stated_total_ms: float | None = None
    unmatched_rows: int = 0
    optimization_profile: int = 0
    optimization_profiles: Mapping[int, int] = field(default_factory=lambda: {0: 0})
    details_source: str | None = None
    dla_blocks: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    capture: CaptureManifest | None = None
    power: PowerLog | None = None
    onnx: Any = None
    stated_device: Any = None
    log_runs: Mapping[Path, int] = field(default_factory=dict, repr=False)
    _computed: dict[str, pd.Series] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.layers)

    def __repr__(self) -> str:
        return f"<Engine {self.name!r}: {len(self)} layers, {self.facts.device_name or 'device not stated'}>"

    def column(self, key: str) -> pd.Series:
        """Return a column of all layers: as read, or computed at its first use and kept.

        Raises:
            KeyError: There is no such column.
        """
        if key in self.layers:
            return self.layers[key]
        if key not in self._computed:
            compute = self.columns[key].compute
            if compute is None:
                raise KeyError(key)
            self._computed[key] = compute(self).rename(key)
        return self._computed[key]

    def frame(self, *keys: str) -> pd.DataFrame:
        """Return a table of the layers with these columns; about forty by default, `frame(*columns)` for all."""
        keys = keys or tuple(key for key, column in self.columns.items() if column.priority < RARE)
        return pd.DataFrame({key: self.column(key) for key in keys}, index=self.layers.index)

    @cached_property
    def latency_sum_ms(self) -> float | None:
        """Sum of the layers' mean times; None without times. Layers are timed one by one: usually more than the latency."""
        known = self.layers["latency_ms"].dropna()
        return math.fsum(known) if len(known) else None

    @property
    def latency_total_ms(self) -> float | None:
        """Time to which shares refer: `latency_sum_ms`, or the total that a profile with missing rows states."""
        return self.stated_total_ms or self.latency_sum_ms

    @cached_property
    def known_weights_bytes(self) -> int | None:
        """Weights of the layers that list theirs; a constant that several layers read counts once. None without details."""
        if not self.has_graph or self.has_names_only:
            return None
        constants = self.tensors[self.tensors["is_constant"] & self.tensors["bytes"].notna()]
        listed = self.layers["weights_bytes"] - self.layers["constant_bytes"]
        return int(listed.sum() + constants.groupby("name")["bytes"].max().sum())

    @cached_property
    def jumps(self) -> list[tuple[int, int]]:
        """The jumps among the layers: layer and target, `len(self)` for the end."""
        return find_jumps(self.layers["name"].tolist(), self.attributes)

    @property
    def has_loops(self) -> bool:
        """Whether a jump may repeat layers: sums over the layers are then lower bounds."""
        return any(target <= layer for layer, target in self.jumps)

    @cached_property
    def links(self) -> pd.DataFrame:
        """A row per tensor from layer to layer: source, target, tensor, port, dtype, bytes, is_loop."""
        return find_links(self.tensors)

    @cached_property
    def graph(self) -> nx.MultiDiGraph[int]:
        """The layers as nodes 0…n-1, the links as edges, with scalar attributes for any networkx algorithm or writer."""
        return build_graph(self)

    @property
    def throughput_doubt(self) -> str:
        """Why the stated throughput cannot be true; empty if it can."""
        return doubt_throughput(self.facts)

    @cached_property
    def inputs(self) -> list[list[Port]]:
        """The inputs of each layer, by port."""
        return self._ports("input")

    @cached_property
    def outputs(self) -> list[list[Port]]:
        """The outputs of each layer, by port."""
        return self._ports("output")

    def _ports(self, role: str) -> list[list[Port]]:
        rows = self.tensors[self.tensors["role"].eq(role)]
        ports: list[list[Port]] = [[] for _ in range(len(self))]
        values = [plain_values(rows[key]) for key in Port._fields]
        for layer, *row in zip(rows["layer"].tolist(), *values, strict=True):
            ports[layer].append(Port(*row))
        return ports

    @cached_property
    def build(self) -> BuildTrace | None:
        """Everything the build log says, read at first use; None without a readable log."""
        from trex_tui.buildlog.reader import read_log  # a verbose log takes seconds

        path = self.files.get(FileKind.BUILD_LOG) or self.files.get(FileKind.PROFILE_LOG)
        return None if path is None else read_log(path, run=self.log_runs.get(path))


def per_engine(compute: Callable[[Engine], _Result]) -> Callable[[Engine], _Result]:
    """Compute the result of a function of an engine once, and keep it as long as the engine."""
    results: WeakKeyDictionary[Engine, _Result] = WeakKeyDictionary()

    @wraps(compute)
    def find(engine: Engine) -> _Result:
        if engine not in results:
            results[engine] = compute(engine)
        return results[engine]

    return find
