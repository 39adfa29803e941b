"""How an engine was built and run, out of metadata and logs, with the sources.

Logs are read when the first rule needs one, and once. A verbose one may take seconds; a set without logs costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from trex_tui.artifacts.metadata import number_in
from trex_tui.artifacts.naming import ArtifactKind
from trex_tui.buildlog.log_records import LogOptions, read_log_options
from trex_tui.engine.engine import Engine
from trex_tui.errors import ArtifactError

if TYPE_CHECKING:
    from trex_tui.buildlog import BuildTrace

_WORKSPACE = re.compile(r"workspace:\s*([-+\d.eE]+)\s*MiB")
_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class TrtexecRun:
    """Options of one run of trtexec.

    Attributes:
        arguments: Words of its command line; empty if no file has it.
        options: Label -> value as printed. Of values that trex cut at a colon only the head is there.
        inference: The same of the inference options.
        device: The same of the device section of a log.
        chosen_shapes: What trtexec says where it chose shapes by itself.
        source: Kinds of the files, for people; empty if no file tells anything.
    """

    arguments: tuple[str, ...]
    options: dict[str, str]
    inference: dict[str, str]
    device: dict[str, str]
    chosen_shapes: tuple[str, ...]
    source: str

    @property
    def is_stated(self) -> bool:
        return bool(self.options or self.arguments)

    def enabled(self, label: str) -> bool:
        return self.options.get(label, "").strip().lower() == "enabled"

    def number(self, label: str) -> float | None:
        """The number that an option is or starts with; None if it is not stated."""
        return number_in(self.options.get(label))

    def argument(self, *names: str) -> str | None:
        """Value of `--name=value`, empty for a bare `--name`; None if it was not given."""
        for word in self.arguments:
            name, _, value = word.partition("=")
            if name in names:
                return value
        return None

    @property
    def workspace_mib(self) -> float | None:
        """The workspace as trtexec understood it, in MiB; None if it is the default or not stated."""
        match = _WORKSPACE.search(self.options.get("Memory Pools", ""))
        return number_in(match[1]) if match else self.number("Workspace")


@lru_cache(maxsize=8)
def build_run(engine: Engine) -> TrtexecRun:
    """The run that built the engine. Metadata or a log of a run that loaded it says nothing about the build."""
    head = _head(engine, ArtifactKind.BUILD_LOG)
    stated = _texts(engine.metadata.build_options)
    if stated.get("Load engine"):
        stated = {}
    in_log = head.sections.get("Build Options", {}) | head.sections.get("System Options", {})
    kinds = [ArtifactKind.BUILD_LOG] if in_log or head.arguments else []
    kinds += [ArtifactKind.BUILD_METADATA] if stated else []
    return _run(head, stated | in_log, {}, kinds)


@lru_cache(maxsize=8)
def timed_run(engine: Engine) -> TrtexecRun:
    """The run that timed the engine: one of its own, or the build's where that went on to infer."""
    kind = ArtifactKind.PROFILE_LOG
    if kind not in engine.files:
        kind = ArtifactKind.BUILD_LOG
    head = _head(engine, kind, of_timed_run=True)
    build = head.sections.get("Build Options", {})
    if kind is ArtifactKind.BUILD_LOG and "Enabled" in (build.get("Skip inference"), build.get("Build only")):
        head = LogOptions()
    inference = _texts(engine.metadata.inference_options)
    in_log = head.sections.get("Inference Options", {})
    kinds = [kind] if in_log else []
    kinds += [ArtifactKind.PROFILE_METADATA] if inference else []
    return _run(head, {}, inference | in_log, kinds)


def _run(
    head: LogOptions, options: dict[str, str], inference: dict[str, str], kinds: Iterable[ArtifactKind]
) -> TrtexecRun:
    return TrtexecRun(
        arguments=head.arguments,
        options=options,
        inference=inference,
        device=head.sections.get("Device Information", {}),
        chosen_shapes=head.chosen_shapes,
        source=", ".join(kind.value for kind in kinds),
    )


def _head(engine: Engine, kind: ArtifactKind, *, of_timed_run: bool = False) -> LogOptions:
    path = engine.files.get(kind)
    return LogOptions() if path is None else read_log_options(path, of_timed_run=of_timed_run)


def _texts(section: dict[str, object]) -> dict[str, str]:
    return {label: str(value) for label, value in section.items() if isinstance(value, str | int | float)}


def engine_version(engine: Engine) -> tuple[int, ...] | None:
    """TensorRT's version as numbers: (10, 16, 1); None if no file states it."""
    return parse_version(engine.tensorrt_version)


def parse_version(text: str | None) -> tuple[int, ...] | None:
    """A version as numbers, for comparing; None where there is none."""
    return tuple(int(part) for part in _NUMBER.findall(text or "")) or None


def read_trace(engine: Engine, kind: ArtifactKind) -> BuildTrace | None:
    """What a log of the set tells; None if there is none or it cannot be opened. Shared with whoever else reads it."""
    path = engine.files.get(kind)
    if path is None:
        return None
    from trex_tui.buildlog.reader import shared_log  # 25 ms, and most sets have no log

    try:
        return shared_log(path)
    except ArtifactError:
        return None


def timed_log(engine: Engine) -> BuildTrace | None:
    """The log of the run that timed the engine: one of its own, or the build's where that went on to infer."""
    kind = ArtifactKind.PROFILE_LOG
    return read_trace(engine, kind if kind in engine.files else ArtifactKind.BUILD_LOG)
