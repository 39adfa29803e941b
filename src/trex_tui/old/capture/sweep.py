"""Sweeps: turn axes such as `fp16,int8` and `batch=1,8` into the captures of their product.

A point is a capture with its own options and directory. Points whose builds have equal arguments share an engine: the first
one builds it, the others reuse it.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from trex_tui.old.capture import PRECISIONS
from trex_tui.old.capture.machine import Machine
from trex_tui.old.capture.manifest import Manifest, run_key
from trex_tui.old.capture.options import CaptureOptions, SweptFlag
from trex_tui.old.capture.plan import BUILD, OWN_FLAGS, Names, RunPlan
from trex_tui.old.capture.process import Stop
from trex_tui.old.capture.rehearsal import rehearse
from trex_tui.old.capture.reuse import is_complete, read_inputs, read_model
from trex_tui.old.capture.run import CaptureRequest
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass

_PRECISION, _BATCH = "precision", "batch"
_FLAG = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_WHOLE = re.compile(r"[0-9]{1,9}")
_ON, _OFF = "on", "off"
_DLA = "--useDLACore"
_SHAPES = frozenset(("--shapes", "--minShapes", "--optShapes", "--maxShapes", "--profile", "--inputProfile"))
_FILES = frozenset(
    (
        *("--calib", "--loadInputs", "--timingCacheFile", "--tempdir", "--plugins", "--staticPlugins"),
        *("--dynamicPlugins", "--setPluginsToSerialize", "--leanDLLPath", "--remoteAutoTuningConfig"),
    )
)
_MOST_POINTS = 500
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Axis:
    """One `--sweep`.

    Attributes:
        name: `precision`, `batch`, or a flag of trtexec without its dashes.
    """

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One combination of values.

    Attributes:
        name: Name of its directory: `fp16_batch8`.
        values: Name of the axis -> value.
    """

    name: str
    values: tuple[tuple[str, str], ...]
    request: CaptureRequest


def parse_axis(text: str) -> Axis:
    """Parse `fp16,int8`, `batch=1,8` or `avgTiming=4,8`.

    Raises:
        TrexError: The text is not a valid axis.
    """
    name, equals, values = text.partition("=")
    name, values = (name.removeprefix("--"), values) if equals else (_PRECISION, text)
    axis = Axis(name, tuple(values.split(",")))
    if equals and (_FLAG.fullmatch(name) is None or name == _PRECISION):
        raise TrexError(
            f"--sweep {text}: not a trtexec option; write fp16,int8 or batch=1,8 or avgTiming=4,8"
        )
    for value in axis.values:
        if not value or not value.isprintable() or " " in value:
            raise TrexError(
                f"--sweep {text}: a value is empty or has a space; write values as in batch=1,8,32"
            )
        if axis.values.count(value) > 1:
            raise TrexError(f"--sweep {text}: {value} is repeated; leave it out once")
        _check_value(axis, value)
    return axis


def _check_value(axis: Axis, value: str) -> None:
    flag = f"--{axis.name}"
    if axis.name == _PRECISION:
        parts = value.split("+")
        is_single = parts in (["fp32"], ["best"])
        if not is_single and not (set(parts) <= set(PRECISIONS) and len(set(parts)) == len(parts)):
            known = ", ".join(("fp32", *PRECISIONS, "best"))
            raise TrexError(f"--sweep {value}: not a precision; choose {known}, or join some as in fp16+int8")
    elif axis.name == _BATCH or flag == _DLA:
        if _WHOLE.fullmatch(value) is None or (axis.name == _BATCH and not int(value)):
            raise TrexError(f"--sweep {axis.name}={value}: not a whole number")
    elif flag in OWN_FLAGS:
        raise TrexError(f"--sweep {axis.name}: capture sets {flag}; remove it")
    elif flag in _SHAPES:
        raise TrexError(f"--sweep {axis.name}: only the batch of the shapes can be swept; write batch=1,8")
    elif flag in _FILES:
        raise TrexError(f"--sweep {axis.name}: takes files; run one capture for each")
    elif flag == "--device":
        raise TrexError("--sweep device: clocks and power apply to one GPU; run one capture for each GPU")


def plan_points(request: CaptureRequest, axes: Sequence[Axis]) -> list[SweepPoint]:
    """Return the captures, in the order of the axes; the last axis changes fastest.

    Raises:
        TrexError: The axes conflict with each other or with the options.
    """
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise TrexError(f"--sweep {twice}: given twice; put all values in one --sweep")
    points: list[SweepPoint] = []
    for values in itertools.product(*(axis.values for axis in axes)):
        if len(points) == _MOST_POINTS:
            raise TrexError(f"--sweep: more than {_MOST_POINTS} points; use fewer values")
        options = request.options
        for axis, value in zip(axes, values, strict=True):
            options = _apply(options, axis.name, value)
        name = "_".join(_describe(axis.name, value) for axis, value in zip(axes, values, strict=True))
        if len(os.fsencode(name)) > _LONGEST_NAME:
            raise TrexError(f"--sweep: {name} is too long for a directory name; sweep fewer options at once")
        point = replace(request, options=options, outdir=request.outdir / name)
        points.append(SweepPoint(name, tuple(zip(names, values, strict=True)), point))
    if len({point.name.lower() for point in points}) < len(points):
        raise TrexError("--sweep: two values have the same directory name; sweep them separately")
    return points


def _describe(axis: str, value: str) -> str:
    """Return a part of a directory name: `fp16`, `batch8`, `useCudaGraph-on`."""
    text = re.sub(r"[^A-Za-z0-9.+-]", "_", value)
    if axis == _PRECISION:
        return text
    return f"{axis}{text}" if text[0].isdigit() else f"{axis}-{text}"


def _apply(options: CaptureOptions, axis: str, value: str) -> CaptureOptions:
    if axis == _PRECISION:
        return _with_precision(options, value)
    if axis == _BATCH:
        return replace(options, shapes=_shapes_of_batch(options, int(value)))
    flag = f"--{axis}"
    if flag == _DLA:
        if options.dla is not None:
            raise TrexError(f"--dla and --sweep {axis}: the same option of trtexec; remove one")
        return replace(options, dla=int(value))
    word = {_ON: flag, _OFF: ""}.get(value, f"{flag}={value}")
    return replace(options, swept=(*options.swept, SweptFlag(flag, word)))


def _with_precision(options: CaptureOptions, value: str) -> CaptureOptions:
    if not options.builds:
        raise TrexError(f"--sweep {value}: only for builds; use --onnx instead of --engine")
    typed = [f"--{precision}" for precision in options.precisions]
    typed += ["--best"] * options.best + ["--strongly-typed"] * options.strongly_typed
    if typed:
        raise TrexError(
            f"{', '.join(typed)} and --sweep {value}: give the precision once, or as in fp16+int8"
        )
    parts = value.split("+")
    precisions = tuple(precision for precision in PRECISIONS if precision in parts)
    return replace(options, precisions=precisions, best=value == "best")


# Batch


def _shapes_of_batch(options: CaptureOptions, batch: int) -> str:
    """Return the shapes to measure, with this batch size as first dimension.

    With an optimization profile, the inputs change whose first dimension differs between the smallest and largest shapes.
    Without a profile all inputs change, and an engine is built for this batch size alone.

    Raises:
        TrexError: The shapes are unknown, or the batch size is outside the profile.
    """
    low, typical, high = options.min_shapes, options.opt_shapes, options.max_shapes
    if options.profiles:
        profile = options.profiles[options.profile_index or 0]
        low, typical, high = profile.min_shapes, profile.opt_shapes, profile.max_shapes
    text = options.shapes or typical or high or low
    if text is None:
        remedy = "add --shapes INPUT:1x3x224x224"
        if options.builds:
            remedy += ", or --min-shapes, --opt-shapes and --max-shapes for one engine for all batches"
        raise TrexError(f"--sweep batch={batch}: the shapes of the inputs are unknown; {remedy}")
    shapes = _parse_shapes(text)
    if low is None and high is None:
        if len({dimensions[0] for dimensions in shapes.values()}) > 1:
            raise TrexError(
                f"--sweep batch={batch}: the inputs of {text} differ in the first dimension; state --min-shapes, "
                "--opt-shapes and --max-shapes, which show the inputs that have a batch"
            )
        changed = set(shapes)
    else:
        smallest, largest = _parse_shapes(low or text), _parse_shapes(high or text)
        ends = {
            name: (smallest.get(name, dimensions)[0], largest.get(name, dimensions)[0])
            for name, dimensions in shapes.items()
        }
        changed = {name for name, (first, last) in ends.items() if first != last}
        if not changed:
            raise TrexError(
                f"--sweep batch={batch}: no input changes its first dimension between the smallest and largest shapes; "
                "widen --max-shapes, or state --shapes alone to build an engine for each batch"
            )
        for name in sorted(changed):
            first, last = ends[name]
            if not first <= batch <= last:
                raise TrexError(
                    f"--sweep batch={batch}: {name} takes {first} to {last}; change --min-shapes or --max-shapes"
                )
    return ",".join(
        f"{name}:{'x'.join(map(str, (batch, *dimensions[1:]) if name in changed else dimensions))}"
        for name, dimensions in shapes.items()
    )


def _parse_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Return input -> dimensions for `x:1x3x224x224,y:1x8`."""
    shapes = {}
    for part in text.split(","):
        name, _, extents = part.rpartition(":")
        dimensions = extents.split("x")
        if not name or not all(_WHOLE.fullmatch(extent) for extent in dimensions):
            raise TrexError(f"--sweep batch=…: {part} is not a shape such as INPUT:1x3x224x224")
        shapes[name] = tuple(map(int, dimensions))
    return shapes


# Before the first point


def find_engine_key(request: CaptureRequest, trtexec: Trtexec) -> tuple[str, ...] | None:
    """Return the arguments that decide the engine of a point; None if none is built.

    Raises:
        TrexError: This trtexec does not know an option.
    """
    first = request.plan(trtexec)[0]
    return tuple(run_key(first)) if first.role == BUILD else None


def check_points(
    points: Sequence[SweepPoint], machine: Machine, trtexec: Trtexec, stop: Stop, note: Callable[[str], None]
) -> list[bool]:
    """Check that trtexec accepts all commands and that no set is in the way; each distinct command is checked once.

    Returns:
        For each point whether its set is complete and need not be measured again; only with `--resume`.

    Raises:
        TrexError: trtexec rejects a command, or a set would be replaced without `--force`.
    """
    requests = [point.request for point in points]
    complete = _find_complete(requests, machine, trtexec)
    for request, is_done in zip(requests, complete, strict=True):
        if not is_done:
            request.check_target()
    seen: set[tuple[str, ...]] = set()
    for request in requests:
        names = Names(request.outdir, request.name)
        runs: list[RunPlan] = []
        for run in machine.plan(request.options, trtexec, names):
            key = (run.role, *run_key(run))
            runs += [] if key in seen else [run]
            seen.add(key)
        rehearse(machine, runs, trtexec, stop, note)
    return complete


def _find_complete(requests: Sequence[CaptureRequest], machine: Machine, trtexec: Trtexec) -> list[bool]:
    first = requests[0]
    names = [Names(request.outdir, request.name) for request in requests]
    if not first.resume or not any(name.manifest.is_file() for name in names):
        return [False] * len(requests)
    now = Manifest(first.name, first.outdir, first.options, trtexec)
    try:
        now.model, now.inputs = read_model(Path(first.options.model)), read_inputs(first.options)
    except OSError as error:
        raise TrexError(f"{first.options.model}: {describe_reason(error)}") from error
    now.before = machine.probe(with_ids=False)
    return [
        is_complete(name, request.plan(trtexec), now) for name, request in zip(names, requests, strict=True)
    ]
