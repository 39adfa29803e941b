"""Read the JSON of trex's log parser: options, device and performance summary.

Keys are the labels of trtexec's log. trex cut values at their first colon and wrote latencies as bare lists whose length
depends on the TensorRT version: `[min, max, mean, median, p99]` up to 8.4, `[min, max, mean, median, p90, p95, p99]` since
(users can request other percentiles: then the rest of the list has no names).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.open import finite_number, load_json, without_depths
from trex_tui.errors import ArtifactError, Note, Severity

_PERCENTILES_BY_LENGTH = {5: (99.0,), 7: (90.0, 95.0, 99.0)}
_PAIR = re.compile(
    r"(min|max|mean|median|[Pp]ercentile\((?P<p>\d{1,9}(?:\.\d{1,9})?)%\)) ?=? ?(?P<value>[-+\d.][-+\d.eE]*)"
)
_NUMBER = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")


_FIELDS = {"device_information": "device", "performance_summary": "performance"}
"""Section of a file -> field of `Facts`, if the two differ."""


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """A line of trtexec's performance summary, in milliseconds; None where not stated.

    Attributes:
        percentiles_ms: Percentile (99.0) -> milliseconds.
    """

    min_ms: float | None = None
    max_ms: float | None = None
    mean_ms: float | None = None
    median_ms: float | None = None
    percentiles_ms: dict[float, float] = field(default_factory=dict)


class StatedMemory(NamedTuple):
    """Bytes of an engine from a log; None where not stated.

    Attributes:
        weights_bytes, activation_bytes, scratch_bytes: Sums of the builder, for the engine that was kept.
        context_bytes: Device memory of the execution context, which holds the activations.
        persistent_bytes: Device memory that the layers keep while an execution context exists.
        engine_bytes: Size of the serialized engine.
        engine_mib: The same in whole MiB, rounded down, if a log has no more.
    """

    weights_bytes: int | None = None
    activation_bytes: int | None = None
    scratch_bytes: int | None = None
    context_bytes: int | None = None
    engine_bytes: int | None = None
    engine_mib: int | None = None
    persistent_bytes: int | None = None


_NO_MEMORY = StatedMemory()


class StatedTensor(NamedTuple):
    """An input or output of the network from a log; None where not stated."""

    name: str
    is_input: bool
    shape: tuple[int, ...] | None = None
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The sections of all metadata files of a set, verbatim, and facts derived from them.

    Attributes:
        model_options, build_options, inference_options, device, performance: Sections; empty if absent. `device` belongs to
            the profile run if both runs have one.
        device_attributes: First entry of the old device dump; empty if absent.
        memory, tensors: Memory, inputs and outputs in the logs of the set, if they were read.
        dla_layers: Names of the layers that a log lists as running on the DLA.
        run_dla_core: `DLACore` of a run that loaded the engine, as printed in its log; None without one.
        build_device: The device section of the build, if a separate file has it; else empty.
        sources: Name of a section -> kind of its file, the last of several: metadata, or a log.
        tensorrt_version: From a plan, a log or a manifest: no JSON file of trtexec has it.
        tensorrt_version_source: Kind of the file with the version, with the name of the library if that has it.
    """

    model_options: dict[str, Any] = field(default_factory=dict)
    build_options: dict[str, Any] = field(default_factory=dict)
    inference_options: dict[str, Any] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    performance: dict[str, Any] = field(default_factory=dict)
    device_attributes: dict[str, Any] = field(default_factory=dict)
    memory: StatedMemory = _NO_MEMORY
    tensors: tuple[StatedTensor, ...] = ()
    build_device: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    dla_layers: tuple[str, ...] = ()
    run_dla_core: str | None = None
    tensorrt_version: str | None = None
    tensorrt_version_source: str | None = None

    def __repr__(self) -> str:
        return f"<Facts: {', '.join(self.sources) or 'no sections'}>"

    @property
    def asks_for_dla(self) -> bool:
        """True if the engine was built for a DLA core, or ran with one."""
        cores = (number_in(core) for core in (self.build_options.get("DLACore"), self.run_dla_core))
        return any(core is not None and core >= 0 for core in cores)

    @property
    def device_name(self) -> str | None:
        for name in (self.device.get("Selected Device"), self.device_attributes.get("Name")):
            if isinstance(name, str) and name.strip():
                return name.strip()
        return None

    @property
    def throughput_qps(self) -> float | None:
        return number_in(self.performance.get("Throughput"))

    @property
    def builder_precision(self) -> str | None:
        """Precisions the builder was allowed, as trtexec prints them: `FP32+FP16`."""
        value = self.build_options.get("Precision")
        return value.strip() or None if isinstance(value, str) else None

    def latency(self, label: str = "Latency") -> LatencySummary | None:
        """Return a line of the performance summary: `Latency`, `Enqueue Time`, `GPU Compute Time`, `H2D Latency`, …"""
        return parse_latency(self.performance.get(label))


def number_in(value: Any) -> float | None:  # noqa: ANN401
    """Return the number that a value is or starts with (`"1.425 GHz"`, `"192 bits (ECC disabled)"`), or None."""
    if not isinstance(value, str):
        return finite_number(value)
    match = _NUMBER.match(value)
    return finite_number(float(match[1])) if match else None


def parse_latency(value: Any) -> LatencySummary | None:  # noqa: ANN401
    """Parse a latency line, as trex's list or as the text of the log; None if it is neither."""
    if isinstance(value, list):
        numbers = [number_in(item) for item in value]
        if len(numbers) < 4 or all(number is None for number in numbers):
            return None
        names = _PERCENTILES_BY_LENGTH.get(len(numbers), ())
        percentiles = {
            name: number for name, number in zip(names, numbers[4:], strict=False) if number is not None
        }
        return LatencySummary(numbers[0], numbers[1], numbers[2], numbers[3], percentiles)
    if not isinstance(value, str):
        return None
    summary: dict[str, float] = {}
    percentiles = {}
    for match in _PAIR.finditer(value):
        number = number_in(match["value"])
        if number is None:
            continue
        if match["p"]:
            percentiles[float(match["p"])] = number
        else:
            summary[f"{match[1]}_ms"] = number
    return LatencySummary(**summary, percentiles_ms=percentiles) if summary else None


def read_metadata(paths: list[Path]) -> tuple[Facts, list[Note]]:
    """Read and merge the metadata files of a set, build before profile; a broken file is skipped."""
    sections: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    attributes: dict[str, Any] = {}
    build_device: dict[str, Any] = {}
    notes: list[Note] = []
    for path in paths:
        try:
            root: Any = load_json(path, notes)
        except ArtifactError as error:
            notes.append(error.note)
            continue
        if isinstance(root, list):  # the dump of old trex
            root = {"device_attributes": next((entry for entry in root if isinstance(entry, dict)), {})}
        if not isinstance(root, dict):
            message = "holds no sections; write it with `trex-tui export --format trex-metadata`"
            notes.append(Note(Severity.ERROR, path, "", message))
            continue
        is_profile = "performance_summary" in root or "inference_options" in root
        kind = FileKind.PROFILE_METADATA if is_profile else FileKind.BUILD_METADATA
        for key, value in root.items():
            if not isinstance(value, dict):
                notes.append(Note(Severity.WARNING, path, key, "is not a section of options; ignored"))
            elif key == "device_attributes":
                attributes = without_depths(value)
            else:
                sections[key] = sections.get(key, {}) | without_depths(value)
                sources[_FIELDS.get(str(key), str(key))] = kind.value
                if key == "device_information" and not is_profile:
                    build_device = sections[key]
    facts = Facts(
        model_options=sections.get("model_options", {}),
        build_options=sections.get("build_options", {}),
        inference_options=sections.get("inference_options", {}),
        device=sections.get("device_information", {}),
        performance=sections.get("performance_summary", {}),
        device_attributes=attributes,
        build_device=build_device,
        sources=sources,
    )
    latency = facts.performance.get("Latency")
    if isinstance(latency, list) and len(latency) not in _PERCENTILES_BY_LENGTH:
        message = f"has {len(latency)} values; percentiles after min, max, mean and median are unknown"
        notes.append(Note(Severity.INFO, paths[-1], "performance_summary.Latency", message))
    return facts, notes
