"""Read the JSON of trex's log parser: options, device and performance summary.

Keys are the labels of trtexec's log. trex cut values at their first colon and wrote latencies as bare lists whose length
depends on the TensorRT version: `[min, max, mean, median, p99]` up to 8.4, `[min, max, mean, median, p90, p95, p99]` since
(users can request other percentiles: then the rest of the list has no names).
"""

from __future__ import annotations

import zlib
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.old.artifacts.banner import find_banner, find_stated_version
from trex_tui.old.artifacts.file_kinds import HEAD_BYTES, ArtifactKind, unpacked_head
from trex_tui.old.artifacts.input_files import (
    decode_text,
    finite_number,
    load_json,
    read_head,
    without_depths,
)
from trex_tui.old.artifacts.plan import read_plan_head
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern

_PERCENTILES_BY_LENGTH = {5: (99.0,), 7: (90.0, 95.0, 99.0)}
_PAIR = lazy_pattern(
    r"(min|max|mean|median|percentile\((?P<p>\d{1,9}(?:\.\d{1,9})?)%\)) = (?P<value>[-+\d.eE]+)"
)
_NUMBER = lazy_pattern(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")


_FIELDS = {"device_information": "device", "performance_summary": "performance"}
"""Section of a file -> field of `Metadata`, if the two differ."""


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
        engine_bytes: Size of the serialized engine.
        engine_mib: The same in whole MiB, rounded down, if a log has no more.
    """

    weights_bytes: int | None = None
    activation_bytes: int | None = None
    scratch_bytes: int | None = None
    context_bytes: int | None = None
    engine_bytes: int | None = None
    engine_mib: int | None = None


_NO_MEMORY = StatedMemory()


class StatedTensor(NamedTuple):
    """An input or output of the network from a log; None where not stated."""

    name: str
    is_input: bool
    shape: tuple[int, ...] | None = None
    dtype: str | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
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

    def __repr__(self) -> str:
        return f"<Metadata: {', '.join(self.sources) or 'no sections'}>"

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


def find_metadata_kind(root: dict[str, Any]) -> ArtifactKind:
    """Return the run of an object of sections: the profile run if it has sections of only that run."""
    is_profile = "performance_summary" in root or "inference_options" in root
    return ArtifactKind.PROFILE_METADATA if is_profile else ArtifactKind.BUILD_METADATA


@dataclass(slots=True)
class _Sections:
    """Merged sections of several files; fields as in `Metadata`."""

    merged: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    build_device: dict[str, Any] = field(default_factory=dict)
    notes: list[Diagnostic] = field(default_factory=list)


def read_metadata(paths: list[Path]) -> tuple[Metadata, list[Diagnostic]]:
    """Read and merge the metadata files of a set, build before profile; a broken file is skipped."""
    sections = _read_sections(paths)
    merged = sections.merged
    metadata = Metadata(
        model_options=merged.get("model_options", {}),
        build_options=merged.get("build_options", {}),
        inference_options=merged.get("inference_options", {}),
        device=merged.get("device_information", {}),
        performance=merged.get("performance_summary", {}),
        device_attributes=sections.attributes,
        build_device=sections.build_device,
        sources=sections.sources,
    )
    return metadata, sections.notes + _unclear_latency(metadata, paths)


def read_metadata_document(paths: list[Path]) -> tuple[dict[str, dict[str, Any]], list[Diagnostic]]:
    """Read and merge metadata files verbatim: the sections by name, `device_attributes` for an old device dump."""
    sections = _read_sections(paths)
    attributes = {"device_attributes": sections.attributes} if sections.attributes else {}
    return sections.merged | attributes, sections.notes


def _read_sections(paths: list[Path]) -> _Sections:
    sections = _Sections()
    for path in paths:
        try:
            root = load_json(path)
        except ArtifactError as error:
            sections.notes.append(error.diagnostic)
            continue
        if isinstance(root, list):
            first = next((entry for entry in root if isinstance(entry, dict)), {})
            sections.attributes = without_depths(first)
        elif isinstance(root, dict):
            _add_sections(sections, root, path)
        else:
            sections.notes.append(
                Diagnostic(Severity.ERROR, path, "", "holds no sections; write it with `trex-tui metadata`")
            )
    return sections


def _add_sections(sections: _Sections, root: dict[str, Any], path: Path) -> None:
    kind = find_metadata_kind(root).value
    for key, value in root.items():
        if not isinstance(value, dict):
            message = "is not a section of options; ignored"
            sections.notes.append(Diagnostic(Severity.WARNING, path, key, message))
        elif key == "device_attributes":
            sections.attributes = without_depths(value)
        else:
            sections.merged[key] = sections.merged.get(key, {}) | without_depths(value)
            name = _FIELDS.get(key, key)
            sections.sources[name] = kind
            if name == "device" and kind == ArtifactKind.BUILD_METADATA.value:
                sections.build_device = sections.merged[key]


def _unclear_latency(metadata: Metadata, paths: list[Path]) -> list[Diagnostic]:
    value = metadata.performance.get("Latency")
    if not isinstance(value, list) or len(value) in _PERCENTILES_BY_LENGTH:
        return []
    message = f"has {len(value)} values; percentiles after min, max, mean and median are unknown"
    return [Diagnostic(Severity.INFO, paths[-1], "performance_summary.Latency", message)]


_LIBRARY = lazy_pattern(
    r"(?:lib)?nv(?:infer|onnxparser)(?:_[A-Za-z]\w*?)?(?:\.so\.(?P<so>\d{1,3}(?:\.\d{1,3}){0,2})|_(?P<dll>\d{1,3})\.dll)"
)


def version_of_log(path: Path) -> str | None:
    """Return the TensorRT version in the head of a trtexec log, or None."""
    head = _head_of_log(path)
    banner = find_banner(head, is_trtexec=True)
    return find_stated_version(head) or (banner and banner.version)


def library_of_log(path: Path) -> tuple[str, str] | None:
    """Return the version in the head of a log, as `version_of_library`."""
    return version_of_library(_head_of_log(path))


def version_of_library(text: str) -> tuple[str, str] | None:
    r"""Return the version in the most precise name of a TensorRT library, and that name; None without one.

    >>> version_of_library("Loaded shared library libnvinfer_builder_resource.so.10.4.0")
    ('10.4.0', 'libnvinfer_builder_resource.so.10.4.0')
    >>> version_of_library(r"C:\bin\nvinfer_10.dll")
    ('10', 'nvinfer_10.dll')
    """
    names = [(match["so"] or match["dll"], match[0]) for match in _LIBRARY.finditer(text)]
    return max(names, key=lambda name: name[0].count("."), default=None)


def _head_of_log(path: Path) -> str:
    try:
        return decode_text(unpacked_head(read_head(path, HEAD_BYTES)))
    except (OSError, zlib.error):
        return ""


def version_of_plan(path: Path) -> str | None:
    """Return the TensorRT version that built a plan file; None where it states none, as plans before 8.6."""
    try:
        head = read_plan_head(path)
    except OSError:
        return None
    return None if head is None else head.version
