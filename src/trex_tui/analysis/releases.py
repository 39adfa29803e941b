"""Which release, producer and GPU has an option of trtexec or a feature of the builder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

Version = tuple[int, ...]


class Option(NamedTuple):
    """An option or a feature of the builder, and who has it.

    Attributes:
        name: `--fp16`, or words such as `strongly typed`.
        first_version: The first release of TensorRT that has it; empty for no limit.
        until_version: The first release that no longer has it; empty for no limit.
        producer: `trtexec`, `tensorrt_rtx`, `torch_tensorrt`, …; empty for all.
        min_compute_capability: 89 for sm_89; 0 for any GPU.
    """

    name: str
    first_version: Version = ()
    until_version: Version = ()
    producer: str = ""
    min_compute_capability: int = 0

    def fits(
        self, version: Version | None, producer: str = "", compute_capability: int | None = None
    ) -> bool | None:
        """Return whether a release, producer and GPU have the option; None if that depends on an unknown fact.

        A release is one of TensorRT: TensorRT-RTX has other numbers (`parse_version`).
        """
        if self.producer and producer and self.producer != producer:
            return False
        if version and self.first_version and version < self.first_version[: len(version)]:
            return False
        if version and self.until_version and version >= self.until_version[: len(version)]:
            return False
        if compute_capability is not None and compute_capability < self.min_compute_capability:
            return False
        is_unknown = not version and bool(
            self.first_version or self.until_version or (self.producer and not producer)
        )
        is_unknown = is_unknown or (compute_capability is None and self.min_compute_capability > 0)
        return None if is_unknown else True


_FEATURES = (
    Option("strongly typed", (10, 0)),
    Option("INT4 weights", (10, 0)),
    Option("FP8", (8, 6), min_compute_capability=89),
    Option("FP4", (10, 8), min_compute_capability=100),
    Option("fp16:chw4", (8, 0), (10, 12)),
    Option("int8:chw4", (8, 0)),
    Option("kernels of closed blocks", (10, 0)),
    Option("timing cache", producer="trtexec"),
    Option("--runtimeCacheFile", producer="tensorrt_rtx"),
    Option("--rtxCudaGraphStrategy", producer="tensorrt_rtx"),
    Option("--specializeStrategyDS", producer="tensorrt_rtx"),
)
"""Features that remedies name; kCHW4 exists for FP16 and INT8 alone (include/NvInferRuntimeBase.h of every release)."""
_OF_ENTERPRISE = {
    "--best",
    "--bf16",
    "--calib",
    "--errorOnTimingCacheMiss",
    "--fp16",
    "--fp8",
    "--int4",
    "--int8",
}
_OF_ENTERPRISE |= {
    "--layerPrecisions",
    "--precisionConstraints",
    "--tacticSources",
    "--timingCacheFile",
    "--useDLACore",
}
"""Options that tensorrt_rtx refuses or ignores: it is strongly typed, and tunes at run time."""


def parse_version(text: str | None) -> Version | None:
    """Parse a version into numbers, for comparison; None for an invalid text, and of TensorRT-RTX, which counts anew."""
    numbers = tuple(int(part) for part in re.findall(r"\d{1,9}", text or ""))
    return None if not numbers or "rtx" in (text or "").lower() else numbers


def _read_options() -> Iterator[Option]:
    table = json.loads(files("trex_tui.capture").joinpath("trtexec_flags.json").read_text(encoding="utf-8"))
    releases: list[str] = table["releases"]
    versions = [parse_version(release) or () for release in releases]
    for name, spans in table["flags"].items():
        first, last = (releases.index(end) for end in (spans.split("-")[0], spans.split("-")[-1]))
        until = versions[last + 1] if last + 1 < len(versions) else ()
        yield Option(name, versions[first], until, "trtexec" if name in _OF_ENTERPRISE else "")


OPTIONS = {option.name: option for option in (*_read_options(), *_FEATURES)}
"""Options of trtexec and features, by name."""
