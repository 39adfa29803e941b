"""The engine: the joined content of all files of one set. Immutable after load."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.artifacts.discover import ArtifactSet, find
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.artifacts.profile import Profile
from trex_tui.old.artifacts.records import Records, read
from trex_tui.old.artifacts.runs import FileRun
from trex_tui.old.artifacts.timing import Timing
from trex_tui.old.engine.build import (
    build_bindings,
    build_layers,
    build_named_layers,
    complete_bindings,
    join_profile,
    parse_optimization_profile,
    select_profile,
)
from trex_tui.old.engine.dla import DlaBlock, add_transfers, place_layers
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.model import Binding, Layer, Link, follow_tensors
from trex_tui.old.errors import Diagnostic, Severity, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural, printable

if TYPE_CHECKING:  # 130 ms to import; `graph` imports it on first use.
    import networkx as nx

    from trex_tui.old.artifacts.capture_manifest import CaptureManifest
    from trex_tui.old.artifacts.monitor import Monitor
    from trex_tui.old.artifacts.session_profile import SessionProfile


@dataclass(frozen=True, eq=False)
class Engine:
    """A TensorRT engine as its artifacts describe it.

    Attributes:
        name: Name of the set.
        source: The files it was read from.
        layers: In execution order; those of one optimization profile if the engine has several.
        bindings: Inputs and outputs of the network.
        has_graph: Whether there is layer information; without it, layers come from the profile.
        names_only: The layer information has names only: no shapes, types or tactics.
        optimization_profile: The optimization profile of `layers`.
        optimization_profiles: Number of profiles in the layer information (TensorRT 10 and later: always 1).
        profile_layers: Optimization profile -> number of its layers, for those in the layer information.
        requested_profile: The requested optimization profile; None if the files decided.
        requested_run: The requested run; None if the files decided.
        profile_iterations: Iterations of the profile run; None without a profile or if not stated.
        has_profile: Whether a profile was read.
        profile_rows_unmatched: Number of rows of the profile that name no layer.
        timing: Rows of the timing run; None if there are none.
        metadata: Options, device and performance summary, and the memory printed in a log.
        tensorrt_version: From a log, the plan or the name of a library in a log; None if no file has it.
        tensorrt_version_source: Kind of that file, followed by the name of the library if that has the version.
        layer_details_source: Kind of the log with layer types, tensors and tactics; None if they are not from a log.
        layer_info_extra: Keys of the layer information beside layers and bindings, verbatim.
        diagnostics: Unusable files and other notes.
        stated_device: Facts about the device stated by the user (`analysis.device.DeviceOverrides`); None for none.
        capture: How the set was captured; None without a manifest.
        runs: Runs in files that hold several; the engine shows one run of each file.
        log_runs: Log -> number of the measured run to read from it, if it is not the default.
        dla_blocks: Parts of the network that run on the DLA.
        monitor: Power, temperature and clocks during the run; None without such a file.
        session: Nodes of the session of ONNX Runtime that ran it; None without such a file.
        onnx: The model it was built from (`analysis.onnx_model.join.OnnxJoin`); None if none was given or it does not belong.
    """

    name: str
    source: ArtifactSet
    layers: tuple[Layer, ...]
    bindings: tuple[Binding, ...]
    has_graph: bool
    names_only: bool
    has_profile: bool
    metadata: Metadata
    timing: Timing | None = None
    profile_iterations: int | None = None
    tensorrt_version: str | None = None
    tensorrt_version_source: str | None = None
    optimization_profile: int = 0
    optimization_profiles: int = 1
    layer_info_extra: dict[str, Any] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    stated_device: Any = None
    profile_rows_unmatched: int = 0
    capture: CaptureManifest | None = None
    runs: tuple[FileRun, ...] = ()
    log_runs: Mapping[Path, int] = field(default_factory=dict)
    profile_layers: Mapping[int, int] = field(default_factory=dict)
    requested_profile: int | None = None
    requested_run: int | None = None
    layer_details_source: str | None = None
    dla_blocks: tuple[DlaBlock, ...] = ()
    monitor: Monitor | None = None
    session: SessionProfile | None = None
    onnx: Any = None

    @classmethod
    def from_records(cls, records: Records, optimization_profile: int | None = None) -> Engine:
        """Join the records of a set.

        Args:
            records: As `artifacts.read` returns them.
            optimization_profile: Profile to show, if there are several; by default the profiled one, else 0.

        Raises:
            TrexError: The optimization profile does not exist.
        """
        info, profile = records.layer_info, records.profile
        file = (profile.file if profile else None) or records.source.files.get(ArtifactKind.PROFILE)
        notes = list(records.diagnostics)
        objects: Sequence[dict[str, Any]] = ()
        if info is None:
            names = [row.name for row in profile.rows] if profile else []
            chosen, profile_layers = 0, {0: len(names)}
            if profile:
                message = "no layer information: layers are known by name and time only"
                notes.append(Diagnostic(Severity.WARNING, file, "", message))
        else:
            profile_layers = _count_profiles([raw["Name"] for raw in info.layers])
            chosen = _choose(optimization_profile, sorted(profile_layers), profile)
            selected = info.layers if len(profile_layers) == 1 else select_profile(info, chosen)
            objects = add_transfers(selected, profile)
            names = [raw["Name"] for raw in objects]
            if len(profile_layers) > 1:
                message = (
                    f"the engine has {len(profile_layers)} optimization profiles; profile {chosen} is shown"
                )
                notes.append(
                    Diagnostic(Severity.INFO, records.source.files.get(ArtifactKind.GRAPH), "", message)
                )
        joined = join_profile(names, profile, file)
        layers, dla_blocks = place_layers(
            build_layers(objects, info.bindings, joined.latencies)
            if info
            else build_named_layers(names, joined.latencies),
            records.metadata.dla_layers,
            is_asked=records.metadata.asks_for_dla,
        )
        return cls(
            name=records.source.name,
            source=records.source,
            layers=layers,
            bindings=complete_bindings(
                build_bindings(info, layers, chosen) if info else (), records.metadata.tensors
            ),
            has_graph=info is not None,
            names_only=info is not None and info.names_only,
            has_profile=profile is not None and bool(profile.rows),
            metadata=records.metadata,
            timing=records.timing,
            profile_iterations=profile.iterations if profile else None,
            tensorrt_version=records.tensorrt_version,
            tensorrt_version_source=records.tensorrt_version_source,
            optimization_profile=chosen,
            optimization_profiles=len(profile_layers),
            layer_info_extra=info.extra if info else {},
            diagnostics=(*notes, *joined.diagnostics),
            profile_rows_unmatched=joined.unmatched,
            capture=records.capture,
            runs=records.runs,
            log_runs=records.log_runs,
            profile_layers=profile_layers,
            requested_profile=optimization_profile,
            requested_run=records.requested_run,
            layer_details_source=info.details_source if info else None,
            dla_blocks=dla_blocks,
            monitor=records.monitor,
            session=records.session,
        )

    @property
    def run_number(self) -> int | None:
        """Number of the shown run in files that hold several; None without such files, or if they show different runs."""
        numbers = {run.number for run in self.runs if run.is_shown}
        return numbers.pop() if len(numbers) == 1 else None

    @property
    def files(self) -> dict[ArtifactKind, Path]:
        """Return the files of the set, by kind, including unusable ones."""
        return self.source.files

    @property
    def missing_parts(self) -> list[str]:
        """What the set lacks, in a word or two each."""
        parts = []
        if not self.has_graph:
            parts.append("bad layer info" if self.graph_unread else "no layer info")
        elif self.names_only:
            parts.append("names only")
        if not self.has_profile:
            parts.append("bad profile" if self.profile_unread else "no profile")
        return parts

    @property
    def graph_unread(self) -> bool:
        """True if there is layer information that could not be used; the reason is in `diagnostics`."""
        return not self.has_graph and (
            ArtifactKind.GRAPH in self.files or self.find_damage(ArtifactKind.GRAPH) is not None
        )

    @property
    def no_profile(self) -> str:
        """Why the engine has no profile, as a noun phrase."""
        return "unreadable profile" if self.profile_unread else "no profile in this set"

    @property
    def profile_unread(self) -> bool:
        """True if there is a profile that could not be used; the reason is in `diagnostics`."""
        return not self.has_profile and (
            ArtifactKind.PROFILE in self.files or self.find_damage(ArtifactKind.PROFILE) is not None
        )

    def find_damage(self, *kinds: ArtifactKind) -> Diagnostic | None:
        """Return the first error in files of some kinds, also in those that only their names identify; None for none."""
        for note in self.diagnostics:
            for kind in kinds:
                # Nothing else depends on a companion: its errors are warnings.
                if note.file is None or note.severity not in (
                    (Severity.ERROR, Severity.WARNING) if kind.is_companion else (Severity.ERROR,)
                ):
                    continue
                if note.file == self.files.get(kind) or _kind_suffix(note.file) == f".{kind.value}":
                    return note
        return None

    def explain_absence(self, missing: str, *kinds: ArtifactKind) -> str:
        """Return the damage of a file of these kinds, without its directory; `missing` if no such file is damaged."""
        damage = self.find_damage(*kinds)
        if damage is None or damage.file is None:
            return missing
        return f"Unusable: {printable(str(damage._replace(file=Path(damage.file.name))).rstrip('.'))}."

    def explain_need(self, need: str, *kinds: ArtifactKind) -> str:
        """Return in a phrase why a value is missing: the damaged file of these kinds, else `need`: `needs --exportX`."""
        damage = self.find_damage(*kinds)
        return need if damage is None or damage.file is None else f"{printable(damage.file.name)} is unusable"

    @property
    def device_name(self) -> str | None:
        """Name of the GPU that ran the engine, from the metadata."""
        return self.metadata.device_name

    @cached_property
    def latency_sum_ms(self) -> float | None:
        """Sum of the layers' average times; None without a profile. Not the latency of the engine: layers are profiled one
        by one, so the sum is usually larger than the time end to end."""
        known = self.known_times_ms
        return math.fsum(known) if known else None

    @cached_property
    def known_times_ms(self) -> Sequence[float]:
        """`latency_ms` of the layers that have one."""
        latencies = [layer.latency for layer in self.layers]
        return [
            latency.average_ms
            for latency in latencies
            if latency is not None and latency.average_ms is not None
        ]

    @cached_property
    def weights_bytes(self) -> int | None:
        """Sum of the layers' `weights_bytes`; if one is unknown, or without layer information, the sum in a log, else None.

        A constant that several layers read counts once per layer.
        """
        return self.stated_weights_bytes or (None if self.layers_hiding_weights else self.known_weights_bytes)

    @cached_property
    def known_weights_bytes(self) -> int | None:
        """As `weights_bytes`, over the layers with known weights: a lower bound. None without layer information."""
        if not self.has_graph or self.names_only:
            return None
        return sum(layer.weights_bytes or 0 for layer in self.layers)

    @property
    def stated_weights_bytes(self) -> int | None:
        """Sum of all weights in a log, if a layer hides its own; None without such a sum."""
        is_partial = self.known_weights_bytes is None or self.layers_hiding_weights
        return self.metadata.memory.weights_bytes if is_partial else None

    @cached_property
    def layers_hiding_weights(self) -> int:
        """Number of layers with weights of unknown size."""
        return sum(layer.weights_bytes is None for layer in self.layers)

    @cached_property
    def precision(self) -> DataType | None:
        """The precision of the engine's main work: the one with most time (most layers, without a profile) among
        convolutions, GEMMs and attention, or among all working layers if it has none of those.
        """
        working = [layer for layer in self.layers if layer.precision and layer.kind.is_work]
        main = [layer for layer in working if layer.kind.multiplies] or working
        weights: Counter[DataType] = Counter()
        timed = any(layer.latency_ms for layer in main)
        for layer in main:
            if layer.precision:
                weights[layer.precision] += (layer.latency_ms or 0.0) if timed else 1  # type: ignore[assignment]
        return weights.most_common(1)[0][0] if weights else None

    def latency_pct(self, layer: Layer) -> float | None:
        """Share of a layer in `latency_sum_ms`, in percent. Over all layers of the engine it adds up to 100."""
        total = self.latency_sum_ms
        if layer.latency_ms is None or not total:
            return None
        return 100.0 * layer.latency_ms / total

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Return every pair of a writer and a reader of a tensor."""
        return tuple(follow_tensors(self.layers)) if self.has_graph else ()

    @cached_property
    def _neighbours(self) -> tuple[dict[int, list[Link]], dict[int, list[Link]]]:
        incoming: dict[int, list[Link]] = {}
        outgoing: dict[int, list[Link]] = {}
        for link in self.links:
            incoming.setdefault(link.target, []).append(link)
            outgoing.setdefault(link.source, []).append(link)
        return incoming, outgoing

    def producers(self, layer: Layer) -> list[Link]:
        """Return the links into a layer, by input."""
        return self._neighbours[0].get(layer.index, [])

    def consumers(self, layer: Layer) -> list[Link]:
        return self._neighbours[1].get(layer.index, [])

    @cached_property
    def graph(self) -> nx.MultiDiGraph[int]:
        """Graph of a node per layer (`index`, with `layer` as data), an edge per link (with `tensor`, `port`, `is_loop`)."""
        from trex_tui.old.engine.model import build_graph

        return build_graph(self)

    def __repr__(self) -> str:
        damaged = {note.file for note in self.diagnostics if note.severity is Severity.ERROR}
        damage = f", {plural(len(damaged), 'damaged file')}" if damaged else ""
        return (
            f"<Engine {self.name!r}: {len(self.layers)} layers, "
            f"{self.device_name or 'device not stated'}{damage}>"
        )


def _choose(wanted: int | None, available: Sequence[int], profile: Profile | None) -> int:
    """Return the optimization profile to show, among the available ones."""
    if wanted is not None:
        if wanted not in available:
            raise TrexError(
                f"optimization profile {wanted} does not exist; the engine has "
                f"{', '.join(map(str, available))}"
            )
        return wanted
    if len(available) == 1 or profile is None:
        return available[0]
    profiled = _count_profiles([row.name for row in profile.rows])
    return next((number for number, _ in profiled.most_common(1) if number in available), available[0])


def _count_profiles(names: Sequence[str]) -> Counter[int]:
    """Return the number of layers of each optimization profile."""
    if any("[profile" in name for name in names):
        return Counter(map(parse_optimization_profile, names))
    return Counter({0: len(names)})


def load_engine(
    path: str | Path | Iterable[str | Path], optimization_profile: int | None = None, run: int | None = None
) -> Engine:
    """Load the one engine at a directory or file (or at several files of one set).

    Args:
        path: Directory, file or files.
        optimization_profile: Profile to show, if there are several; None for the profiled one.
        run: Run to show, from 1, if a file has several; None for the last one that fits the graph.

    Raises:
        ArtifactError: There is no usable file.
        TrexError: There are several engines: name one, or use `load_engines`.
    """
    return load_set(find_one(path), optimization_profile, run=run)


def find_one(path: str | Path | Iterable[str | Path]) -> ArtifactSet:
    """Find the one set at a path.

    Raises:
        ArtifactError: There is no usable file.
        TrexError: There are several engines.
    """
    sets = find(path)
    if len(sets) > 1:
        names = ", ".join(source.name for source in sets[:8]) + (", …" if len(sets) > 8 else "")
        raise TrexError(f"{path}: has {len(sets)} engines ({names}); choose one, or use load_engines()")
    return sets[0]


def load_engines(path: str | Path | Iterable[str | Path]) -> list[Engine]:
    """Load every engine at a path.

    Raises:
        ArtifactError: There is no engine, or a set has no usable file.
    """
    return [load_set(source) for source in find(path)]


def load_set(
    source: ArtifactSet,
    optimization_profile: int | None = None,
    begin: Callable[[Path], None] | None = None,
    run: int | None = None,
    *,
    skips_logs: bool = False,
) -> Engine:
    """Read and join one set. `begin` is called with each file before it is read; the rest is as for `artifacts.read`.

    Raises:
        ArtifactError: None of its files could be used, or none has this run.
        TrexError: The optimization profile does not exist.
    """
    with gc_paused():
        return Engine.from_records(read(source, begin, run, skips_logs=skips_logs), optimization_profile)


def _kind_suffix(file: Path) -> str:
    """Return the last part of a name before its format: `.timing` of `a.timing.json.gz`."""
    return Path(Path(file.name.removesuffix(".gz")).stem).suffix
