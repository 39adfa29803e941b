"""Build and run of an engine, from metadata and logs, with the sources.

Logs are read on first use, and once. A verbose log may take seconds; a set without logs costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trex_tui.old.analysis.structure import find_batch
from trex_tui.old.analysis.trtexec_options import (
    PROFILE_SHAPES,
    RUN_OPTIONS,
    RUN_SHAPES,
    Option,
    options_in_arguments,
    parse_switch,
)
from trex_tui.old.artifacts.banner import is_rtx_version
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.artifacts.metadata import number_in
from trex_tui.old.buildlog.log_options import LogOptions, StatedOptions
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.buildlog import BuildTrace

_WORKSPACE = re.compile(r"workspace:\s*([-+\d.eE]+)\s*MiB")
_NUMBER = re.compile(r"\d{1,9}")
_SMALL = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class TrtexecRun:
    """Options of one run of trtexec.

    Attributes:
        arguments: Words of its command line; empty if no file has it.
        options: Label -> value as printed. Values that trex cut at a colon are incomplete.
        inference: The same for the inference options.
        device: Label -> value of the device section, from its log and metadata.
        head: Facts that only its log has.
        chosen_shapes: Messages about shapes that trtexec chose itself.
        source: Kinds of the files, for display; empty without a source.
    """

    arguments: tuple[str, ...]
    options: dict[str, str]
    inference: dict[str, str]
    device: dict[str, str]
    head: StatedOptions
    chosen_shapes: tuple[str, ...]
    source: str

    @property
    def is_stated(self) -> bool:
        return bool(self.options or self.arguments)

    def enabled(self, label: str) -> bool:
        return self.options.get(label, "").strip().lower() == "enabled"

    def number(self, label: str) -> float | None:
        """Return the number that an option is or starts with; None if it is not stated."""
        return number_in(self.options.get(label))

    def argument(self, *names: str) -> str | None:
        """Return the value of `--name=value`, empty for a bare `--name`; None if it was not given."""
        for word in self.arguments:
            name, _, value = word.partition("=")
            if name in names:
                return value
        return None

    def has(self, *names: str) -> bool:
        """Return whether one of the arguments was given."""
        return self.argument(*names) is not None

    def has_enabled(self, label: str) -> bool | None:
        """Return whether an inference option is on, from its log or the command line; None if in neither."""
        stated = self.inference.get(label, "") or options_in_arguments(self.arguments, RUN_OPTIONS).get(
            label, ""
        )
        return parse_switch(stated.strip())

    @property
    def workspace_mib(self) -> float | None:
        """Return the workspace as trtexec parsed it, in MiB; None if it is the default or not stated."""
        match = _WORKSPACE.search(self.options.get("Memory Pools", ""))
        return number_in(match[1]) if match else self.number("Workspace")


@per_engine
def build_run(engine: Engine) -> TrtexecRun:
    """Return the run that built the engine. Metadata or a log of a run that loaded it has no facts about the build."""
    head = log_head(engine, ArtifactKind.BUILD_LOG)
    stated = _texts(engine.metadata.build_options)
    if stated.get("Load engine"):
        stated = {}
    if head.stated.build.get("Load engine"):
        head = LogOptions()
    in_log = head.stated.build | head.stated.system
    kinds = [ArtifactKind.BUILD_LOG] if in_log or head.arguments else []
    kinds += [ArtifactKind.BUILD_METADATA] if stated else []
    return _run(head, stated | in_log, {}, _texts(engine.metadata.build_device), kinds)


@per_engine
def timed_run(engine: Engine) -> TrtexecRun:
    """Return the run that timed the engine: a separate one, or the build's if that continued with inference."""
    kind = ArtifactKind.PROFILE_LOG
    if kind not in engine.files:
        kind = ArtifactKind.BUILD_LOG
    head = log_head(engine, kind, of_timed_run=True)
    build = head.stated.build
    if kind is ArtifactKind.BUILD_LOG and "Enabled" in (build.get("Skip inference"), build.get("Build only")):
        head = LogOptions()
    inference = _texts(engine.metadata.inference_options)
    in_log = head.stated.inference
    kinds = [kind] if in_log else []
    kinds += [ArtifactKind.PROFILE_METADATA] if inference else []
    return _run(head, {}, inference | in_log, _texts(engine.metadata.device), kinds)


def _run(
    head: LogOptions,
    options: dict[str, str],
    inference: dict[str, str],
    device: dict[str, str],
    kinds: Iterable[ArtifactKind],
) -> TrtexecRun:
    return TrtexecRun(
        arguments=head.arguments,
        options=options,
        inference=inference,
        device=device | head.stated.device,
        head=head.stated,
        chosen_shapes=head.chosen_shapes,
        source=", ".join(kind.value for kind in kinds),
    )


def log_head(engine: Engine, kind: ArtifactKind, *, of_timed_run: bool = False) -> LogOptions:
    """Return the options in the head of a log; empty without one."""
    path = engine.files.get(kind)
    if path is None:
        return LogOptions()
    from trex_tui.old.buildlog.log_records import read_log_options  # 25 ms, and most sets have no log

    return read_log_options(path, of_timed_run=of_timed_run, run=engine.log_runs.get(path))


_DEVICE_LABELS = ("Selected Device", "Compute Capability", "SMs")


def device_differences(engine: Engine) -> list[tuple[str, str, str]]:
    """Return label, value of the build and value of the timed run, if the two have different devices."""
    built, ran = build_run(engine).device, timed_run(engine).device
    pairs = [(label, built.get(label, ""), ran.get(label, "")) for label in _DEVICE_LABELS]
    return [pair for pair in pairs if pair[1] and pair[2] and _comparable(pair[1]) != _comparable(pair[2])]


def _comparable(value: str) -> object:
    """Return numbers by value: trex writes 30.0 for the 30 of a log."""
    number = number_in(value)
    return value.strip() if number is None else number


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples per inference.

    Attributes:
        source: Source of the size, for display.
    """

    size: int
    source: str


def find_batch_size(engine: Engine) -> Batch | None:
    """Return the batch: of an implicit-batch engine from its run, else of static inputs, else of the shapes that were run,
    else of the optimal shapes of the build.

    None if inputs disagree, nothing states it, or it is unknown whether the batch is explicit.
    """
    size, is_onnx = find_batch(engine), engine.metadata.model_options.get("Format") == "ONNX"
    if is_onnx and size is not None:  # before logs are read
        return Batch(size, "first extent of the inputs")
    run, built = timed_run(engine), build_run(engine).options
    stated, largest = run.inference.get("Batch", ""), built.get("Max batch", "")
    is_explicit = is_onnx or not _SMALL.fullmatch(stated) or largest.lower() == "explicit batch"
    if not is_explicit and (_SMALL.fullmatch(largest) or int(stated) > 1 or size in (None, int(stated))):
        return Batch(int(stated), "--batch of the run") if int(stated) else None
    if size is not None:
        return Batch(size, "first extent of the inputs") if is_explicit else None
    shapes = list(_shapes(run.inference, RUN_SHAPES))
    source = "shapes of the run"
    if not shapes:
        shapes, source = (
            list(_shapes(build_run(engine).options, PROFILE_SHAPES)),
            "optimal shapes of the build",
        )
    extents = {shape[0] for shape in shapes if len(shape) > 1}
    return Batch(extents.pop(), source) if len(extents) == 1 else None


def _shapes(options: dict[str, str], shapes: Option) -> Iterator[list[int]]:
    """Yield the shapes of all inputs; for a range the optimal one."""
    for label, text in options.items():
        if label.startswith(shapes.labels):
            yield from (entry.get("shape") or entry["opt"] for entry in shapes.parse(text) or ())


def _texts(section: dict[str, object]) -> dict[str, str]:
    return {label: _text(value) for label, value in section.items() if value is not None}


def _text(value: object) -> str:
    """Return a value as trtexec prints it: metadata of other tools has switches, lists and objects where a log has text."""
    if isinstance(value, bool):
        return "Enabled" if value else "Disabled"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(part)}" for key, part in value.items())
    if isinstance(value, list):
        return "+".join(map(_text, value))
    return str(value)


def engine_version(engine: Engine) -> tuple[int, ...] | None:
    """Return TensorRT's version as numbers: (10, 16, 1); None if not in any file."""
    return parse_version(engine.tensorrt_version)


def parse_version(text: str | None) -> tuple[int, ...] | None:
    """Parse a version into numbers, for comparison; None for an invalid text, and of TensorRT-RTX, which counts anew."""
    if text and is_rtx_version(text):
        return None
    return tuple(int(part) for part in _NUMBER.findall(text or "")) or None


def read_trace(engine: Engine, kind: ArtifactKind) -> BuildTrace | None:
    """Return the content of a log of the set, cached; None without a log or if it cannot be opened."""
    path = engine.files.get(kind)
    if path is None:
        return None
    from trex_tui.old.buildlog.reader import shared_log  # 25 ms, and most sets have no log

    try:
        return shared_log(path, run=engine.log_runs.get(path))
    except ArtifactError:
        return None


def timed_log(engine: Engine) -> BuildTrace | None:
    """Return the log of the run that timed the engine: a separate one, or the build's if that continued with inference."""
    kind = ArtifactKind.PROFILE_LOG
    return read_trace(engine, kind if kind in engine.files else ArtifactKind.BUILD_LOG)
