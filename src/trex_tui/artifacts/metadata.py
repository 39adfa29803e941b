"""What trex's log parser left of the logs: options, device and performance summary, as JSON.

Keys are the labels of trtexec's log. trex cut values at their first colon and printed latencies as bare lists whose
length depends on the TensorRT version: `[min, max, mean, median, p99]` up to 8.4, `[min, max, mean, median, p90, p95, p99]`
since (users can ask for other percentiles: then the rest of the list has no names).
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trex_tui.artifacts.input_files import decode_text, finite_number, load_json, read_head, without_depths
from trex_tui.artifacts.sniff import HEAD_BYTES, unpacked_head
from trex_tui.errors import ArtifactError, Diagnostic, Severity

_PERCENTILES_BY_LENGTH = {5: (99.0,), 7: (90.0, 95.0, 99.0)}
_PAIR = re.compile(
    r"(min|max|mean|median|percentile\((?P<p>\d{1,9}(?:\.\d{1,9})?)%\)) = (?P<value>[-+\d.eE]+)"
)
_NUMBER = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)")


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """A line of trtexec's performance summary, in milliseconds; None where it is not stated.

    Attributes:
        percentiles_ms: Percentile (99.0) -> milliseconds.
    """

    min_ms: float | None = None
    max_ms: float | None = None
    mean_ms: float | None = None
    median_ms: float | None = None
    percentiles_ms: dict[float, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metadata:
    """The sections of all metadata files of a set, verbatim, and the facts read out of them.

    Attributes:
        model_options, build_options, inference_options, device, performance: Sections; empty if absent. `device` is of
            the profile run where both runs state one.
        device_attributes: First entry of the old device dump; empty if absent.
        performance_source: Kind of the file that `performance` is from: the metadata, or a log.
    """

    model_options: dict[str, Any] = field(default_factory=dict)
    build_options: dict[str, Any] = field(default_factory=dict)
    inference_options: dict[str, Any] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    performance: dict[str, Any] = field(default_factory=dict)
    device_attributes: dict[str, Any] = field(default_factory=dict)
    performance_source: str = "profile_metadata"

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
        """A line of the performance summary: `Latency`, `Enqueue Time`, `GPU Compute Time`, `H2D Latency`, …"""
        return parse_latency(self.performance.get(label))


def number_in(value: Any) -> float | None:  # noqa: ANN401
    """The number that a value is or starts with (`"1.425 GHz"`, `"192 bits (ECC disabled)"`), or None."""
    if not isinstance(value, str):
        return finite_number(value)
    match = _NUMBER.match(value)
    return finite_number(float(match[1])) if match else None


def parse_latency(value: Any) -> LatencySummary | None:  # noqa: ANN401
    """Understand a latency line, as trex's list or as the text of the log; None if it is neither."""
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
    found: dict[str, float] = {}
    percentiles = {}
    for match in _PAIR.finditer(value):
        number = number_in(match["value"])
        if number is None:
            continue
        if match["p"]:
            percentiles[float(match["p"])] = number
        else:
            found[f"{match[1]}_ms"] = number
    return LatencySummary(**found, percentiles_ms=percentiles) if found else None


def read_metadata(paths: list[Path]) -> tuple[Metadata, list[Diagnostic]]:
    """Read and merge the metadata files of a set, build before profile; a broken file costs that file."""
    sections: dict[str, dict[str, Any]] = {}
    attributes: dict[str, Any] = {}
    notes: list[Diagnostic] = []
    for path in paths:
        try:
            root = load_json(path)
        except ArtifactError as error:
            notes.append(error.diagnostic)
            continue
        if isinstance(root, list):
            attributes = without_depths(next((entry for entry in root if isinstance(entry, dict)), {}))
        elif isinstance(root, dict):
            for key, value in root.items():
                if isinstance(value, dict):
                    sections[key] = sections.get(key, {}) | without_depths(value)
                else:
                    message = "is no section of options; ignored"
                    notes.append(Diagnostic(Severity.WARNING, path, key, message))
        else:
            notes.append(Diagnostic(Severity.ERROR, path, "", "holds no sections"))
    metadata = Metadata(
        model_options=sections.get("model_options", {}),
        build_options=sections.get("build_options", {}),
        inference_options=sections.get("inference_options", {}),
        device=sections.get("device_information", {}),
        performance=sections.get("performance_summary", {}),
        device_attributes=attributes,
    )
    return metadata, notes + _unclear_latency(metadata, paths)


def _unclear_latency(metadata: Metadata, paths: list[Path]) -> list[Diagnostic]:
    value = metadata.performance.get("Latency")
    if not isinstance(value, list) or len(value) in _PERCENTILES_BY_LENGTH:
        return []
    message = (
        f"has {len(value)} values; after min, max, mean and median it is unknown which percentiles they are"
    )
    return [Diagnostic(Severity.INFO, paths[-1], "performance_summary.Latency", message)]


_BANNER = re.compile(r"TensorRT\.trtexec \[TensorRT v(\d{1,9})\]")
_VERSION_LINE = re.compile(r"TensorRT version: (\d{1,9}\.\d{1,9}\.\d{1,9})")


def version_of_number(number: int) -> str:
    """Decode the number in trtexec's banner.

    Up to 9.3 it is major·1000 + minor·100 + patch, from 10.0 on major·10000 + minor·100 + patch.

    >>> version_of_number(8601), version_of_number(101601)
    ('8.6.1', '10.16.1')
    """
    if number < 10_000:
        return f"{number // 1000}.{number // 100 % 10}.{number % 100}"
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


def version_of_log(path: Path) -> str | None:
    """TensorRT version stated in the head of a trtexec log, or None."""
    try:
        data = unpacked_head(read_head(path, HEAD_BYTES))
    except (OSError, zlib.error):
        return None
    head = decode_text(data)
    if match := _VERSION_LINE.search(head):
        return match[1]
    if match := _BANNER.search(head):
        return version_of_number(int(match[1]))
    return None


def version_of_plan(path: Path) -> str | None:
    """TensorRT version that built a plan file: bytes 24 to 26 of plans of 8.6 and later; None where they make no sense."""
    try:
        head = read_head(path, 28)
    except OSError:
        return None
    if len(head) < 28 or not head.startswith(b"ftrt") or not 8 <= head[24] <= 20:
        return None
    return f"{head[24]}.{head[25]}.{head[26]}"
