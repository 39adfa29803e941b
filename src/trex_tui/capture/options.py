"""What to capture, independent of the program that will run; checked against the files that are named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.plan import read_plan_head
from trex_tui.capture.onnx_header import ModelInput, OnnxHeader, read_onnx_header
from trex_tui.errors import TrexError, describe_os_error
from trex_tui.text import did_you_mean, plural, printable

PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4", "best")
"""Precision options of trtexec."""
_MODEL_ENDING = re.compile(r"\.onnx$", re.IGNORECASE)
_ENGINE_ENDING = re.compile(r"(?:\.onnx)?\.(?:engine|plan|trt)$", re.IGNORECASE)
_CACHE_OF_TRTEXEC = "--timingCacheFile"
_LONGEST_NAME = 200
"""Bytes; file systems allow 255, and the longest suffix that trex-tui adds has 24."""
_SHAPE = re.compile(r"(?P<name>.+):(?P<dims>[0-9]{1,9}(?:x[0-9]{1,9})*)", re.DOTALL)

Shapes = Mapping[str, tuple[int, ...]]
"""Input -> extents."""


@dataclass(frozen=True, slots=True)
class OptimizationProfile:
    """Shapes of one optimization profile, in trtexec's notation: `x:1x3x224x224,y:1x8`."""

    min_shapes: str
    opt_shapes: str
    max_shapes: str


@dataclass(frozen=True, slots=True)
class SweptFlag:
    """A flag of trtexec at one value of a sweep, such as `--avgTiming` with `--avgTiming=4`.

    Attributes:
        word: The flag with its value; empty to leave the flag out.
    """

    flag: str
    word: str


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """Options of `trex-tui capture` that decide the arguments of trtexec; paths as typed.

    Attributes:
        onnx, engine: Exactly one is set: the model to build, or the engine to profile.
        precisions: Members of `PRECISIONS`.
        shapes, min_shapes, opt_shapes, max_shapes: In trtexec's notation: `x:1x3x224x224,y:1x8`.
        profiles: Optimization profiles to build; replace the one of `min_shapes`, `opt_shapes`, `max_shapes`.
        build_only: Skip the measurement.
        profile_index: Optimization profile to measure.
        workspace_mib: Limit of the builder's scratch memory.
        compute_capability: GPUs to build for, `8.6,8.9`; only TensorRT-RTX has a choice.
        plugins: Libraries to load.
        cuda_graph: None uses a graph, except on a DLA.
        data_transfers: Measure the copies as well.
        repeat: Number of profile runs.
        passthrough: Arguments after `--`.
        swept: Flag set by a sweep, in place of that which capture sets.
    """

    onnx: str | None = None
    engine: str | None = None
    precisions: tuple[str, ...] = ()
    calib: str | None = None
    shapes: str | None = None
    min_shapes: str | None = None
    opt_shapes: str | None = None
    max_shapes: str | None = None
    profiles: tuple[OptimizationProfile, ...] = ()
    build_only: bool = False
    profile_index: int | None = None
    dla: int | None = None
    allow_gpu_fallback: bool = False
    device: int | None = None
    workspace_mib: int | None = None
    timing_cache: str | None = None
    plugins: tuple[str, ...] = ()
    optimization_level: int | None = None
    hardware_compatibility: str | None = None
    compute_capability: str | None = None
    warmup_ms: int | None = None
    duration_s: float | None = None
    iterations: int | None = None
    cuda_graph: bool | None = None
    data_transfers: bool = False
    repeat: int = 1
    passthrough: tuple[str, ...] = ()
    swept: SweptFlag | None = None

    @property
    def model(self) -> str:
        return self.onnx or self.engine or ""

    @property
    def builds(self) -> bool:
        """True if an engine is built, not only profiled."""
        return self.onnx is not None

    @property
    def measured_profile(self) -> OptimizationProfile | None:
        """The optimization profile to measure; None unless one is stated."""
        if self.profiles:
            return self.profiles[self.profile_index or 0]
        if self.min_shapes and self.opt_shapes and self.max_shapes:
            return OptimizationProfile(self.min_shapes, self.opt_shapes, self.max_shapes)
        return None

    def measured_device(self) -> int | None:
        """CUDA's number of the GPU that trtexec uses: arguments after `--` override `device`.

        Raises:
            TrexError: The value is not a number.
        """
        for word in self.passthrough:
            flag, _, value = word.partition("=")
            if flag == "--device":
                if re.fullmatch(r"[0-9]{1,9}", value) is None:
                    raise TrexError(f"{word} after --: not a GPU index; count from 0")
                return int(value)
        return self.device


def option_name(field: str) -> str:
    """Return the option of `trex-tui capture` that sets a field: `--warmup` for `warmup_ms`."""
    return f"--{re.sub('_(ms|s|mib)$', '', field).replace('_', '-')}"


def default_name(options: CaptureOptions) -> str:
    """Return the model's file name without suffix: `resnet` for `models/resnet.onnx`."""
    name = Path(options.model).name
    return (_MODEL_ENDING if options.builds else _ENGINE_ENDING).sub("", name)


def check_name(name: str) -> str:
    """Return the name if files can have it.

    Raises:
        TrexError: Files cannot have this name.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise TrexError(f"--name {name!r}: not a file name; leave out slashes")
    if len(os.fsencode(name)) > _LONGEST_NAME:
        raise TrexError(f"--name: longer than {_LONGEST_NAME} bytes; choose a shorter one")
    return name


# Options that have no effect

_BUILD_FIELDS = (
    *("precisions", "calib", "min_shapes", "max_shapes", "profiles", "workspace_mib", "timing_cache"),
    *("optimization_level", "hardware_compatibility", "compute_capability", "build_only"),
)
_MEASUREMENT_FIELDS = (
    *("profile_index", "warmup_ms", "duration_s", "iterations", "cuda_graph"),
    *("data_transfers", "repeat"),
)


def _given(options: CaptureOptions, names: Sequence[str]) -> str:
    """Return those of these options that differ from their default, as typed; 0 is a value."""
    default = CaptureOptions()
    typed: list[str] = []
    for name in names:
        if getattr(options, name) == getattr(default, name):
            continue
        if name == "precisions":
            typed += (f"--{precision}" for precision in options.precisions)
        else:
            typed.append("--profile" if name == "profiles" else option_name(name))
    return ", ".join(typed)


def check_options(options: CaptureOptions, *, is_here: bool = True) -> OnnxHeader | None:
    """Check the options and all files named with them, before anything runs.

    Args:
        is_here: Whether trtexec runs on this machine; arguments after `--` name files of the machine it runs on.

    Returns:
        The inputs of the model; None for an engine.

    Raises:
        TrexError: A file is missing or of another kind, or an option has no effect or does not fit the model.
    """
    if (options.onnx is None) == (options.engine is None):
        raise TrexError("capture needs --onnx (build and profile) or --engine (profile only)")
    if not options.builds and (idle := _given(options, _BUILD_FIELDS)):
        raise TrexError(f"{idle}: only for builds; use --onnx instead of --engine")
    if options.build_only and (idle := _given(options, _MEASUREMENT_FIELDS)):
        raise TrexError(f"{idle}: only for measurements; not with --build-only")
    caches = [("--timing-cache", options.timing_cache)]
    if is_here:
        words = [word.partition("=") for word in options.passthrough]
        caches += [(f"{flag} after --", value) for flag, _, value in words if flag == _CACHE_OF_TRTEXEC]
    for option, text in caches:
        if text is not None:
            check_cache(text, option)
    for option, text in list_named_files(options):
        check_readable(option, text)
    if options.engine is not None:
        _check_engine(Path(options.engine))
        check_shapes(options, None)
        return None
    model = Path(options.onnx or "")
    header = read_onnx_header(model)
    for location in header.weights:
        check_weights(model, location)
    check_shapes(options, header)
    return header


def _check_engine(path: Path) -> None:
    """Refuse a file that is no engine, or has metadata before the plan: trtexec fails on it without a reason."""
    try:
        head = read_plan_head(path)
    except OSError as error:
        raise TrexError(f"--engine: {path} {describe_os_error(error)}") from None
    if head is None:
        try:
            read_onnx_header(path)
        except TrexError:
            return  # of an old release, or encrypted: trtexec decides
        raise TrexError(f"--engine: {path} is an ONNX model; build and measure it with --onnx")
    if count := head.metadata_bytes:
        remedy = f"remove them (tail -c +{count + 1} FILE > plan.engine) and capture plan.engine"
        raise TrexError(f"{path}: {count} bytes of Ultralytics metadata precede the plan; {remedy}")


# Shapes


def parse_shapes(text: str, option: str) -> dict[str, tuple[int, ...]]:
    """Parse `x:1x3x224x224,y:1x8`.

    Raises:
        TrexError: The text is not in this form.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for part in text.split(","):
        match = _SHAPE.fullmatch(part)
        if match is None:
            hint = "write `:` for `=`, as in" if re.fullmatch(r"[^:=]+=[0-9x]+", part) else "write"
            raise TrexError(f"{option} {printable(part)}: not a shape; {hint} INPUT:1x3x224x224,…")
        name = match["name"].strip("'")
        if name in shapes:
            raise TrexError(f"{option}: {printable(name)} has two shapes; give one")
        shapes[name] = tuple(map(int, match["dims"].split("x")))
    return shapes


def format_shapes(shapes: Shapes) -> str:
    """Return shapes in trtexec's notation; the inverse of `parse_shapes`."""
    return ",".join(f"{name}:{'x'.join(map(str, dims))}" for name, dims in shapes.items())


def check_shapes(options: CaptureOptions, header: OnnxHeader | None) -> None:
    """Check the shapes against each other and the inputs of the model.

    Args:
        header: None if the inputs are unknown.

    Raises:
        TrexError: They do not fit; the message names the real inputs.
    """
    triple = {f"--{which}-shapes": getattr(options, f"{which}_shapes") for which in ("min", "opt", "max")}
    missing = [option for option, text in triple.items() if text is None]
    if options.profiles:
        if len(missing) < 3:
            raise TrexError(
                "--profile sets the shapes of the build; remove --min-shapes, --opt-shapes and --max-shapes"
            )
        if (index := options.profile_index or 0) >= len(options.profiles):
            raise TrexError(
                f"--profile-index {index}: {len(options.profiles)} --profile are stated, counted from 0"
            )
    if 0 < len(missing) < 3:
        given = ", ".join(option for option, text in triple.items() if text is not None)
        raise TrexError(f"{given}: a profile needs all three; add {' and '.join(missing)}")
    stated = [{option: text or "" for option, text in triple.items()}] if not missing else []
    stated += [
        {f"--profile {which}": getattr(profile, f"{which}_shapes") for which in ("min", "opt", "max")}
        for profile in options.profiles
    ]
    for profile in stated:
        parsed = {option: parse_shapes(text, option) for option, text in profile.items()}
        for option, shapes in parsed.items():
            _check_inputs(option, shapes, options.model, header)
        _check_order(parsed)
    if options.shapes is not None:
        shapes = parse_shapes(options.shapes, "--shapes")
        _check_inputs("--shapes", shapes, options.model, header)
        _check_range(options, shapes)


def _check_inputs(option: str, shapes: Shapes, model: str, header: OnnxHeader | None) -> None:
    if header is None:
        return
    for name, dims in shapes.items():
        known = header.find(name)
        if known is None:
            hint = did_you_mean(name, [known.name for known in header.inputs])
            raise TrexError(
                f"{option}: {model} has no input {printable(name)}; it has {header.describe()}"
                + (f"; {hint}" if hint else "")
            )
        _check_dimensions(option, dims, known, model)
    if not any(known.is_dynamic for known in header.inputs):
        raise TrexError(f"{option}: the shapes of {model} are fixed, {header.describe()}; remove the option")


def _check_dimensions(option: str, dims: tuple[int, ...], known: ModelInput, model: str) -> None:
    if known.shape is None:
        return
    text = f"{printable(known.name)}:{'x'.join(map(str, dims))}"
    if len(dims) != len(known.shape):
        raise TrexError(f"{option} {text}: {plural(len(dims), 'dimension')}; {model} has input {known}")
    wrong = [
        index
        for index, (given, own) in enumerate(zip(dims, known.shape, strict=True))
        if isinstance(own, int) and given != own
    ]
    if wrong and known.is_dynamic:
        raise TrexError(f"{option} {text}: dim {wrong[0]} is fixed; {model} has input {known}")


def _check_order(profile: Mapping[str, Shapes]) -> None:
    """Check that min, opt and max name the same inputs, in increasing shapes."""
    (first, low), *others = profile.items()
    for option, shapes in others:
        if lacking := [name for name in {**low, **shapes} if name not in low or name not in shapes]:
            raise TrexError(
                f"{first} and {option}: only one of them has {printable(lacking[0])}; state it in all"
            )
        for name, dims in shapes.items():
            if len(dims) != len(low[name]) or any(a > b for a, b in zip(low[name], dims, strict=True)):
                raise TrexError(
                    f"{option}: {printable(name)} is smaller than in {first}; min ≤ opt ≤ max in every dimension"
                )
        first, low = option, shapes


def _check_range(options: CaptureOptions, shapes: Shapes) -> None:
    profile = options.measured_profile
    if profile is None or not options.builds:
        return
    low, high = (parse_shapes(text, "--profile") for text in (profile.min_shapes, profile.max_shapes))
    for name, dims in shapes.items():
        if name in low and not all(a <= n <= b for a, n, b in zip(low[name], dims, high[name], strict=False)):
            ends = " to ".join("x".join(map(str, ends[name])) for ends in (low, high))
            text = "x".join(map(str, dims))
            raise TrexError(f"--shapes {printable(name)}:{text}: outside of the profile, {ends}")


# Files


def check_cache(text: str, option: str = "--timing-cache") -> None:
    """Check that a timing cache can be read, if it exists, and written: trtexec writes it only after hours of building.

    Raises:
        TrexError: It cannot be read or written.
    """
    path = Path(text)
    try:
        if os.path.lexists(path):
            is_usable = path.is_file() and os.access(path, os.R_OK | os.W_OK)
        else:
            is_usable = bool(path.name) and path.parent.is_dir() and os.access(path.parent, os.W_OK | os.X_OK)
    except (OSError, ValueError):
        is_usable = False
    if not is_usable:
        raise TrexError(
            f"{option}: {printable(text)} cannot be read and written; name a file in a directory that exists (--outdir is "
            "created when the set is complete)"
        )


def check_readable(option: str, text: str) -> Path:
    """Return the path of a file that an option names.

    Raises:
        TrexError: The file is missing or cannot be read.
    """
    path = Path(text)
    try:
        if not path.is_file():
            raise TrexError(
                f"{option}: {path} {'is not a file' if path.exists() else 'does not exist'}; check the path"
            )
        if not os.access(path, os.R_OK):
            raise TrexError(f"{option}: {path} is not readable; check its permissions")
    except (OSError, ValueError) as error:
        raise TrexError(f"{option}: {text}: {error}") from None
    return path


def list_named_files(options: CaptureOptions) -> Iterator[tuple[str, str]]:
    """Yield the files that are read, with the options that name them."""
    for option, text in (("--onnx", options.onnx), ("--engine", options.engine), ("--calib", options.calib)):
        if text is not None:
            yield option, text
    yield from (("--plugin", plugin) for plugin in options.plugins if "/" in plugin)


def check_weights(model: Path, location: str) -> Path:
    """Return the path of an external weight file of a model.

    Raises:
        TrexError: It is missing.
    """
    source = model.parent / location
    if "\0" in location or not source.is_file():
        raise TrexError(f"{model}: its weights are missing: {printable(str(source))}; copy them there")
    return source
