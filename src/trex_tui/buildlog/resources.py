"""Follows memory, the timing cache, streams and DLA through a build."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from trex_tui.buildlog.build_trace import (
    Dla,
    DlaFallback,
    LayerMemory,
    MemoryPoint,
    MemoryTotals,
    Streams,
    TimingCache,
)

_CHANGE = re.compile(
    r"\[MemUsageChange\] (?P<event>.+?): CPU (?P<cpu_change>[+-]\d{1,12}), GPU (?P<gpu_change>[+-]\d{1,12}), "
    r"now: CPU (?P<cpu>-?\d{1,12}), GPU (?P<gpu>-?\d{1,12}) \(MiB\)"
)
_SNAPSHOT = re.compile(
    r"\[MemUsageSnapshot\] (?P<event>.+?): CPU (?P<cpu>\d{1,12}) MiB, GPU (?P<gpu>\d{1,12}) MiB"
)
_PEAK = re.compile(
    r"\[MemUsageStats\] Peak memory usage of .*: CPU (?P<cpu>\d{1,12}) MiB, GPU (?P<gpu>\d{1,12}) MiB"
)
_LAYER = re.compile(
    r"Layer: (?P<name>.+) Host Persistent: (?P<host>\d{1,18})(?: bytes)? Device Persistent: (?P<device>\d{1,18})(?: bytes)? "
    r"Scratch Memory: (?P<scratch>\d{1,18})(?: bytes)?\s*$"
)
_OLD_LAYER = re.compile(
    r"Layer: (?P<name>.+?)(?: Weights: \d{1,18})? HostPersistent: (?P<host>\d{1,18}) "
    r"DevicePersistent: (?P<device>\d{1,18})\s*$"
)
"""Up to 8.0, which does not tell the scratch memory; 7.x has the weights too."""
_SILENT = re.compile(r"Skipped printing memory information for (?P<layers>\d{1,9}) layers")
_TOTAL = re.compile(
    r"(?:Total|Max) (?P<what>Host Persistent|Device Persistent|Scratch|Activation|Weights) Memory: (?P<bytes>\d{1,18})"
)
_MIB = re.compile(r"(?P<mib>\d[\d.eE+-]*) MiB\s*$")
_TOTALS = {
    "Host Persistent": "host_persistent_bytes",
    "Device Persistent": "device_persistent_bytes",
    "Scratch": "scratch_bytes",
    "Activation": "activation_bytes",
    "Weights": "weights_bytes",
}
_UNREADABLE = re.compile(r"Could not read cache from: (?P<file>.+?)\. A new cache")
_CACHE_FILE = re.compile(
    r"(?P<verb>Loaded|Saved) (?P<bytes>\d{1,18}) bytes of timing cache (?:from|to) (?P<file>.+?)\s*$"
)
_ENTRIES = re.compile(r"Serialized (?P<entries>\d{1,12}) timing cache entries")
_DELETED = re.compile(r"Deleting timing cache: (?P<entries>\d{1,12}) entries, served (?P<hits>\d{1,12}) hits")
_STREAMS = re.compile(
    r"\[MS\] Number of (?P<what>streams used|aux streams|events used) is (?P<count>\d{1,6})"
)
_DISABLED = re.compile(r"\[MS\] Multi stream is disabled (?:because|as) (?P<why>.+?)\s*$")
_AUXILIARY = re.compile(r"The engine uses (?P<count>\d{1,6}) auxiliary streams")
_PLACED = re.compile(r"\[(?P<device>Dla|Gpu)Layer\] (?:[A-Z][A-Z0-9_]*: )?(?P<name>.+?)\s*$")
_FALLBACKS = (
    re.compile(r"Layer '(?P<layer>.+)' \(\w+\): Unsupported on DLA"),
    re.compile(r"Default DLA is enabled but layer (?P<layer>.+) is not (?:supported|running) on DLA"),
    re.compile(r"DLA supports only \d+ subgraphs per DLA core\..* for layer (?P<layer>.+?)\s*$"),
    re.compile(
        r"DLA only supports FP16 and Int8 precision type\. Switching (?P<layer>.+?) device type to GPU"
    ),
    re.compile(r"Validation failed for DLA layer: (?P<layer>.+?)\. Switching to GPU"),
)
_STREAM_COUNTS = {"streams used": "streams", "aux streams": "auxiliary", "events used": "events"}
_LONGEST_SENTENCE, _LONGEST_WARNING = 400, 4000
_MOST_PLACED = 200_000


class Resources:
    """Collects what `model` calls memory, cache, streams and DLA. `strategy` and `at_s` are kept as for `Tuner`."""

    def __init__(self) -> None:
        self.points: list[MemoryPoint] = []
        self.layers: list[LayerMemory] = []
        self.totals: dict[int | None, MemoryTotals] = {}
        self.peak: tuple[int, int] | None = None
        self.context_bytes: int | None = None
        self.engine_bytes: int | None = None
        self.cache = TimingCache()
        self._streams: dict[int | None, Streams] = {}
        self.strategy: int | None = None
        self.at_s: float | None = None
        self._dla: list[str] = []
        self._gpu: list[str] = []
        self._fallbacks: list[DlaFallback] = []
        self._about_dla = ""

    @property
    def dla(self) -> Dla:
        return Dla(tuple(self._dla), tuple(self._gpu), tuple(self._fallbacks))

    def usage(self, line: int, message: str) -> None:
        if match := _CHANGE.match(message) or _SNAPSHOT.match(message):
            fields = match.groupdict()
            cpu, gpu = (int(fields[key]) if key in fields else None for key in ("cpu_change", "gpu_change"))
            event = match["event"]
            managed = event.startswith("TensorRT-managed")
            self.points.append(
                MemoryPoint(line, event, self.at_s, int(match["cpu"]), int(match["gpu"]), cpu, gpu, managed)
            )
        elif match := _PEAK.match(message):
            self.peak = (int(match["cpu"]), int(match["gpu"]))

    def layer(self, line: int, message: str) -> None:
        if match := _LAYER.match(message) or _OLD_LAYER.match(message):
            sizes = match.groupdict()
            scratch = int(sizes["scratch"]) if "scratch" in sizes else None
            held = (int(sizes["host"]), int(sizes["device"]), scratch)
            self.layers.append(LayerMemory(line, self.strategy, match["name"], *held))

    def total(self, _line: int, message: str) -> None:
        known = self.totals.get(self.strategy) or MemoryTotals(self.strategy)
        if match := _TOTAL.match(message):
            self.totals[self.strategy] = replace(known, **{_TOTALS[match["what"]]: int(match["bytes"])})
        elif match := _SILENT.match(message):
            self.totals[self.strategy] = replace(known, silent_layers=int(match["layers"]))

    def size(self, message: str) -> None:
        """A size in MiB of the execution context or the engine."""
        match = _MIB.search(message[:_LONGEST_SENTENCE])
        if match is None:
            return
        try:
            size = round(float(match["mib"]) * 2**20)
        except (ValueError, OverflowError):
            return
        if "device memory size" in message:
            self.context_bytes = size
        elif message.startswith(("Created engine", "Loaded engine with")) or self.engine_bytes is None:
            self.engine_bytes = size  # `Loaded engine size` is in whole MiB

    def about_cache(self, _line: int, message: str) -> None:
        cache = self.cache
        if message.startswith(("Local timing cache", "Global timing cache")):
            self.cache = replace(cache, mode=message.partition(" ")[0].lower())
        elif match := _UNREADABLE.match(message):
            self.cache = replace(cache, unreadable=match["file"])
        elif match := _CACHE_FILE.match(message):
            size = int(match["bytes"])
            if match["verb"] == "Loaded":
                self.cache = replace(cache, file=match["file"], loaded_bytes=size)
            else:
                self.cache = replace(cache, file=match["file"], saved_bytes=size)
        elif match := _ENTRIES.match(message):
            self.cache = replace(cache, entries=int(match["entries"]))
        elif match := _DELETED.match(message):
            hits = (cache.hits or 0) + int(match["hits"])
            self.cache = replace(cache, entries=int(match["entries"]), hits=hits)

    def about_streams(self, message: str) -> None:
        known = self._streams.get(self.strategy) or Streams()
        if match := _STREAMS.match(message):
            change: dict[str, Any] = {_STREAM_COUNTS[match["what"]]: int(match["count"])}
            self._streams[self.strategy] = replace(known, **change)
        elif match := _DISABLED.match(message):
            why = known.disabled_because or match["why"]
            self._streams[self.strategy] = replace(known, disabled_because=why)
        elif match := _AUXILIARY.match(message):
            self._streams[self.strategy] = replace(known, auxiliary=int(match["count"]))

    def streams(self, strategy: int | None) -> Streams:
        """What is known of the streams of one candidate engine, or of an engine that was loaded."""
        return self._streams.get(strategy) or self._streams.get(None) or Streams()

    def placed(self, _line: int, message: str) -> None:
        match = _PLACED.match(message)
        if match is not None and len(self._dla) + len(self._gpu) < _MOST_PLACED:
            (self._dla if match["device"] == "Dla" else self._gpu).append(match["name"])

    def about_dla(self, line: int, message: str) -> None:
        """A warning that mentions DLA: a fallback, or the reason for the one that follows."""
        text = message[:_LONGEST_WARNING]
        for pattern in _FALLBACKS:
            if match := pattern.search(text):
                layer = match["layer"]
                reason = self._about_dla if layer and layer in self._about_dla else ""
                if len(self._fallbacks) < _MOST_PLACED:
                    self._fallbacks.append(DlaFallback(line, layer, message, reason))
                self._about_dla = ""
                return
        self._about_dla = message
