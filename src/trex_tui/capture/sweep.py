"""A sweep: the captures of one axis, such as `fp16,int8`, `batch=1,8` or `avgTiming=4,8`, each in its own directory."""

from __future__ import annotations

import re
from dataclasses import replace

from trex_tui.capture.onnx_header import OnnxHeader
from trex_tui.capture.options import (
    PRECISIONS,
    CaptureOptions,
    SweptFlag,
    check_shapes,
    format_shapes,
    parse_shapes,
)
from trex_tui.capture.plan import OWN_FLAGS
from trex_tui.errors import TrexError
from trex_tui.text import printable

_PRECISION, _BATCH = "precision", "batch"
_FLAG = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_VALUE = re.compile(r"[A-Za-z0-9.+:_-]{1,100}")
_REFUSED = {
    **dict.fromkeys(
        ("shapes", "minShapes", "optShapes", "maxShapes", "profile"),
        "only the batch of the shapes can be swept; write batch=1,8",
    ),
    **dict.fromkeys(
        ("calib", "loadInputs", "timingCacheFile", "tempdir", "plugins", "staticPlugins", "dynamicPlugins"),
        "takes files; run one capture for each",
    ),
    **dict.fromkeys(("device", "useDLACore"), "one capture uses one device; run one capture for each"),
    **{flag.lstrip("-"): "capture sets it; remove it" for flag in OWN_FLAGS},
}
_MOST_POINTS = 100


def plan_points(options: CaptureOptions, text: str, header: OnnxHeader | None) -> dict[str, CaptureOptions]:
    """Return the captures of a sweep, in the order of its values, by the names of their directories: `fp16`, `batch8`.

    Args:
        text: `fp16,int8`, `batch=1,8` or `avgTiming=4,8`.
        header: Inputs of the model; None if they are unknown.

    Raises:
        TrexError: The text is not a valid axis, or it conflicts with the options or the model.
    """
    name, equals, values = text.partition("=")
    axis, values = (name.removeprefix("--"), values) if equals else (_PRECISION, text)
    if equals and (_FLAG.fullmatch(axis) is None or axis == _PRECISION):
        raise TrexError(
            f"--sweep {text}: not a trtexec option; write fp16,int8 or batch=1,8 or avgTiming=4,8"
        )
    if why := _REFUSED.get(axis):
        raise TrexError(f"--sweep {axis}: {why}")
    points: dict[str, CaptureOptions] = {}
    for value in values.split(","):
        if _VALUE.fullmatch(value) is None:
            raise TrexError(f"--sweep {printable(text)}: not a value: {printable(value)!r}; as in batch=1,8")
        folder = value.replace(":", "_")
        if axis != _PRECISION:
            folder = f"{axis}{folder}" if value[0].isdigit() else f"{axis}-{folder}"
        if folder.lower() in map(str.lower, points):
            raise TrexError(f"--sweep {text}: {value} is repeated; leave it out once")
        points[folder] = _apply(options, axis, value, header)
    if len(points) > _MOST_POINTS:
        raise TrexError(f"--sweep: more than {_MOST_POINTS} values; use fewer")
    return points


def _apply(options: CaptureOptions, axis: str, value: str, header: OnnxHeader | None) -> CaptureOptions:
    if axis == _PRECISION:
        return _with_precision(options, value)
    if axis == _BATCH:
        if not value.isdecimal() or not int(value):
            raise TrexError(f"--sweep batch={value}: not a whole number from 1; write batch=1,8")
        changed = replace(options, shapes=format_shapes(_shapes_of_batch(options, int(value), header)))
        check_shapes(changed, header)
        return changed
    flag = f"--{axis}"
    return replace(options, swept=SweptFlag(flag, {"on": flag, "off": ""}.get(value, f"{flag}={value}")))


def _with_precision(options: CaptureOptions, value: str) -> CaptureOptions:
    parts = value.split("+")
    if parts not in (["fp32"], ["best"]) and not set(parts) <= set(PRECISIONS) - {"best"}:
        known = ", ".join(("fp32", *PRECISIONS))
        raise TrexError(f"--sweep {value}: not a precision; choose {known}, or join some as in fp16+int8")
    if not options.builds:
        raise TrexError(f"--sweep {value}: only for builds; use --onnx instead of --engine")
    if options.precisions:
        typed = ", ".join(f"--{precision}" for precision in options.precisions)
        raise TrexError(f"{typed} and --sweep {value}: give the precision once, or as in fp16+int8")
    return replace(options, precisions=tuple(name for name in PRECISIONS if name in parts))


def _shapes_of_batch(
    options: CaptureOptions, batch: int, header: OnnxHeader | None
) -> dict[str, tuple[int, ...]]:
    """Return the shapes to measure, with this batch size as dim 0.

    With an optimization profile, the inputs change whose dim 0 differs between the smallest and largest shapes; with a model,
    those whose dim 0 is dynamic; otherwise all. Without a profile, an engine is built for this batch size alone.

    Raises:
        TrexError: The shapes are unknown, or the batch size is fixed.
    """
    where = f"--sweep batch={batch}"
    profile = options.measured_profile
    text = options.shapes or (profile.opt_shapes if profile else None)
    shapes = parse_shapes(text, "--shapes") if text else _shapes_of_model(header, where)
    if profile is not None:
        low, high = (parse_shapes(ends, "--profile") for ends in (profile.min_shapes, profile.max_shapes))
        batched = [name for name in shapes if low.get(name, (0,))[0] != high.get(name, (0,))[0]]
        remedy = "widen --max-shapes, or state --shapes alone to build an engine for each batch"
    elif header is not None:
        batched = [known.name for known in header.inputs if known.shape and isinstance(known.shape[0], str)]
        batched = [name for name in batched if name in shapes]
        remedy = f"the model has {header.describe()}; export it with a dynamic dim 0"
    else:
        batched, remedy = list(shapes), ""
    if not batched:
        raise TrexError(f"{where}: dim 0 of no input can change; {remedy}")
    return {name: (batch, *dims[1:]) if name in batched else dims for name, dims in shapes.items()}


def _shapes_of_model(header: OnnxHeader | None, where: str) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the dynamic inputs, with 1 for dim 0."""
    if header is None:
        raise TrexError(f"{where}: the shapes of the inputs are unknown; add --shapes INPUT:1x3x224x224")
    shapes = {}
    for known in header.inputs:
        if not known.is_dynamic:
            continue
        rest = (known.shape or ("",))[1:]
        if not known.shape or any(isinstance(extent, str) for extent in rest):
            example = "x".join(["1", *(str(extent) if isinstance(extent, int) else "N" for extent in rest)])
            raise TrexError(
                f"{where}: more than dim 0 of input {known} is dynamic; add --shapes {printable(known.name)}:{example}"
            )
        shapes[known.name] = (1, *(int(extent) for extent in rest))
    if not shapes:
        raise TrexError(
            f"{where}: the shapes of the model are fixed, {header.describe()}; export it with a dynamic dim 0"
        )
    return shapes
