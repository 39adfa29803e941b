"""The frame of a trtexec log: line prefixes, banners, the option sections that every run prints first."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

from samples import options
from samples.model import Engine

PLUGINS = ("BatchedNMS_TRT", "EfficientNMS_TRT", "InstanceNormalization_TRT", "ROIAlign_TRT", "ScatterND")
"""Some of the plugin creators that register themselves; a real log lists more than forty."""
_UNSPACED = frozenset({"Dump refittable layers"})
"""Labels that trtexec prints without a space before the value."""
_BUILD_NUMBERS = {(11, 0, 0): 114, (10, 4, 0): 26}


@dataclass(frozen=True, slots=True)
class Command:
    """A trtexec command line and what its option sections say about it.

    Attributes:
        model: Model Options, which are the same in all versions from 9 on.
        given: Per section, the labels whose value is not the default.
        prints_build_options: Not so when an engine is loaded, since TensorRT 9.
    """

    arguments: str
    model: tuple[tuple[str, str], ...]
    given: Mapping[str, Mapping[str, str]]
    prints_build_options: bool = True


@dataclass(slots=True)
class Log:
    """Lines of a log with a clock that only moves when told to.

    Attributes:
        start: Invented date of the run; a log shows it, and it must not change from one generation to the next.
    """

    start: datetime.datetime
    lines: list[str] = field(default_factory=list)
    _seconds: float = 0.0

    def tick(self, seconds: float) -> None:
        self._seconds += seconds

    def tick_to(self, seconds: float) -> None:
        """Let the clock show at least this much since the start."""
        self._seconds = max(self._seconds, seconds)

    def line(self, message: str, severity: str = "I") -> None:
        now = self.start + datetime.timedelta(seconds=int(self._seconds))
        self.lines.append(f"[{now:%m/%d/%Y-%H:%M:%S}] [{severity}] {message}")

    def trt(self, message: str, severity: str = "V") -> None:
        """A message of libnvinfer."""
        self.line(f"[TRT] {message}", severity)

    def bare(self, message: str) -> None:
        """A line without prefix: banners and the continuation of messages of several lines."""
        self.lines.append(message)

    def pairs(self, title: str, pairs: options.Pairs) -> None:
        self.line(f"=== {title} ===")
        for label, value in pairs:
            self.line(f"{label}:{'' if label in _UNSPACED else ' '}{value}")

    def text(self) -> str:
        return "\n".join([*self.lines, ""])


def banner(state: str, version: tuple[int, int, int], arguments: str) -> str:
    """`&&&& RUNNING …`; the number of the version has five or six digits from 10 on, and a build number from 10.4 on."""
    major, minor, patch = version
    number = major * 10000 + minor * 100 + patch if major >= 10 else major * 1000 + minor * 100 + patch
    build = f" [b{_BUILD_NUMBERS[version]}]" if (major, minor) >= (10, 4) else ""
    return f"&&&& {state} TensorRT.trtexec [TensorRT v{number}]{build} # {arguments}"


def write_head(log: Log, engine: Engine, command: Command) -> None:
    """Everything up to the registration of plugins."""
    release = engine.release
    log.bare(banner("RUNNING", engine.version, command.arguments))
    if release >= 1100:
        log.line(
            "TF32 is enabled by default. Add --noTF32 flag to further improve accuracy with some performance cost."
        )
    log.pairs("Model Options", list(command.model))
    titles = ["Build Options"] if command.prints_build_options else []
    if not command.prints_build_options:
        log.line("")
    for title in [*titles, "System Options", "Inference Options", "Reporting Options"]:
        log.pairs(title, options.section(title, release, command.given.get(title, {})))
        if title in ("System Options", "Reporting Options"):
            log.line("")
    log.pairs("Device Information", options.device_information(engine.device, release))
    log.line("")
    if release >= 806:
        log.line(
            "Note: The application clock rates do not reflect the actual clock rates that the GPU is currently running at."
        )
        log.line("")
    log.line(f"TensorRT version: {'.'.join(map(str, engine.version))}")
    if release >= 806:
        log.line("Loading standard plugins")
    for plugin in PLUGINS:
        log.trt(f"Registered plugin creator - ::{plugin} version 1")
    log.tick(0.4)
