"""Options of a capture, independent of the trtexec that will run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass

_MODEL_ENDING = re.compile(r"\.onnx$", re.IGNORECASE)
_ENGINE_ENDING = re.compile(r"(?:\.onnx)?\.(?:engine|plan|trt)$", re.IGNORECASE)
_CACHE_OF_TRTEXEC = "--timingCacheFile"
_LONGEST_NAME = 200
"""Bytes; file systems allow 255, and the longest suffix that trex-tui adds has 24."""


@dataclass(frozen=True, slots=True)
class SweptFlag:
    """A flag of trtexec at one value of a sweep, such as `--avgTiming` with `--avgTiming=4`.

    Attributes:
        word: The flag with its value; empty to leave the flag out.
    """

    flag: str
    word: str


@dataclass(frozen=True, slots=True)
class OptimizationProfile:
    """Shapes of one optimization profile, in trtexec's notation: `x:1x3x224x224,y:1x8`."""

    min_shapes: str
    opt_shapes: str
    max_shapes: str


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
        plugins: Libraries to load.
        warmup_ms, duration_s, iterations, avg_runs, percentile, inf_streams: Measurement options; None is trtexec's
            default.
        cuda_graph: None uses a graph, except on a DLA.
        data_transfers: Measure the copies as well.
        repeat: Number of profile runs.
        passthrough: Arguments after `--`.
        swept: Flags set by a sweep, in place of those that capture sets.
    """

    onnx: str | None = None
    engine: str | None = None
    precisions: tuple[str, ...] = ()
    best: bool = False
    strongly_typed: bool = False
    no_tf32: bool = False
    calib: str | None = None
    sparsity: str | None = None
    shapes: str | None = None
    min_shapes: str | None = None
    opt_shapes: str | None = None
    max_shapes: str | None = None
    profiles: tuple[OptimizationProfile, ...] = ()
    build_only: bool = False
    profile_index: int | None = None
    load_inputs: str | None = None
    dla: int | None = None
    allow_gpu_fallback: bool = False
    device: int | None = None
    workspace_mib: int | None = None
    timing_cache: str | None = None
    plugins: tuple[str, ...] = ()
    optimization_level: int | None = None
    version_compatible: bool = False
    hardware_compatibility: str | None = None
    warmup_ms: int | None = None
    duration_s: float | None = None
    iterations: int | None = None
    avg_runs: int | None = None
    percentile: str | None = None
    inf_streams: int | None = None
    cuda_graph: bool | None = None
    data_transfers: bool = False
    repeat: int = 1
    passthrough: tuple[str, ...] = ()
    swept: tuple[SweptFlag, ...] = ()

    @property
    def model(self) -> str:
        return self.onnx or self.engine or ""

    @property
    def builds(self) -> bool:
        """True if an engine is built, not only profiled."""
        return self.onnx is not None

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


def checked_name(name: str) -> str:
    """Return the name if files can have it.

    Raises:
        TrexError: Files cannot have this name.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise TrexError(f"--name {name!r}: not a file name")
    if len(os.fsencode(name)) > _LONGEST_NAME:
        raise TrexError(f"--name: longer than {_LONGEST_NAME} bytes; choose a shorter one")
    return name


_BUILD_FIELDS = (
    *("best", "strongly_typed", "no_tf32", "calib", "sparsity", "min_shapes", "max_shapes", "workspace_mib"),
    *("timing_cache", "optimization_level", "hardware_compatibility", "build_only"),
)
_MEASUREMENT_FIELDS = (
    *("profile_index", "load_inputs", "warmup_ms", "duration_s", "iterations", "avg_runs", "percentile"),
    *("inf_streams", "cuda_graph", "data_transfers"),
)


def _typed(options: CaptureOptions, names: Sequence[str]) -> list[str]:
    """Return those of these options that differ from their default; 0 is a value."""
    default = CaptureOptions()
    return [option_name(name) for name in names if getattr(options, name) is not getattr(default, name)]


def _build_options(options: CaptureOptions) -> list[str]:
    """Return the given options that affect only a build, as typed."""
    given = _typed(options, _BUILD_FIELDS)
    given += ["--profile"] if options.profiles else []
    return [*(f"--{precision}" for precision in options.precisions), *given]


def _check_profiles(options: CaptureOptions) -> None:
    """Check that several profiles state all shapes of the build and that one of them is measured."""
    if not options.profiles:
        return
    if options.min_shapes or options.opt_shapes or options.max_shapes:
        raise TrexError(
            "--profile sets the shapes of the build; remove --min-shapes, --opt-shapes and --max-shapes"
        )
    index, count = options.profile_index or 0, len(options.profiles)
    if index >= count:
        raise TrexError(f"--profile-index {index}: {count} --profile are stated, counted from 0")


def _check_build_only(options: CaptureOptions) -> None:
    if not options.build_only:
        return
    idle = _typed(options, _MEASUREMENT_FIELDS)
    idle += ["--repeat"] if options.repeat > 1 else []
    if idle:
        raise TrexError(f"{', '.join(idle)}: only for measurements; not with --build-only")


def _input_file(text: str) -> str:
    """Return the file of `input:file`. Both parts may contain colons: the split whose file exists wins."""
    if ":" not in text:
        raise TrexError(f"--load-inputs {text}: not input:file,…")
    last = text.rpartition(":")[2]
    cuts = [at for at, char in enumerate(text) if char == ":"]
    return next((text[at + 1 :] for at in cuts if Path(text[at + 1 :]).is_file()), last)


def checked_cache(text: str, option: str = "--timing-cache") -> None:
    """Check that a timing cache can be read, if it exists, and written: trtexec writes it only after hours of building.

    Args:
        text: Its path.
        option: The option that named it, for messages.

    Raises:
        TrexError: It cannot be read or written.
    """
    path = Path(text)
    try:
        if os.path.lexists(path):
            if not path.is_file():
                raise TrexError(f"{option}: {path} is not a file; name a file")
            if not os.access(path, os.R_OK | os.W_OK):
                raise TrexError(f"{option}: {path} is not readable and writable; check its permissions")
        elif not path.parent.is_dir():
            # trtexec writes it before the set is moved into --outdir, so it cannot lie in a missing --outdir.
            first = (
                ""
                if os.path.lexists(path.parent)
                else "; create it first: --outdir is created when the set is complete"
            )
            raise TrexError(
                f"{option}: {path.parent} is not a directory, so {path.name} cannot be written there{first}"
            )
        elif not path.name or not os.access(path.parent, os.W_OK | os.X_OK):
            raise TrexError(f"{option}: {path} cannot be written; check its permissions")
    except (OSError, ValueError) as error:
        raise TrexError(f"{option}: {path!s}: {error}") from None


def _checked_caches(options: CaptureOptions, *, is_here: bool) -> None:
    if options.timing_cache is not None:
        checked_cache(options.timing_cache)
    for word in options.passthrough if is_here else ():
        flag, _, value = word.partition("=")
        if flag == _CACHE_OF_TRTEXEC:
            checked_cache(value, f"{flag} after --")


def checked_inputs(options: CaptureOptions, *, is_here: bool = True) -> None:
    """Check that the model and all files named with it exist, before anything runs.

    Args:
        options: The options.
        is_here: Whether trtexec runs on this machine; arguments after `--` name files of the machine it runs on.

    Raises:
        TrexError: A file is missing or cannot be read.
    """
    if options.builds:
        _checked_caches(options, is_here=is_here)
    if (options.onnx is None) == (options.engine is None):
        raise TrexError("capture needs --onnx (build and profile) or --engine (profile only)")
    if not options.builds and (idle := _build_options(options)):
        raise TrexError(f"{', '.join(idle)}: only for builds; use --onnx instead of --engine")
    _check_profiles(options)
    _check_build_only(options)
    for option, text in _named_files(options):
        check_readable(option, text)
    if options.engine is not None:
        _check_engine(Path(options.engine))


def _check_engine(path: Path) -> None:
    """Refuse an engine with metadata before its plan: trtexec fails on it without a reason."""
    from trex_tui.old.artifacts.plan import read_plan_head  # `--help` does not need it

    try:
        head = read_plan_head(path)
    except OSError as error:
        raise TrexError(f"--engine: {path}: {describe_reason(error)}") from None
    if head is not None and (count := head.metadata_bytes):
        remedy = f"remove them (tail -c +{count + 1} FILE > plan.engine) and capture plan.engine"
        raise TrexError(f"{path}: {count} bytes of Ultralytics metadata precede the plan; {remedy}")


def _named_files(options: CaptureOptions) -> Iterator[tuple[str, str]]:
    """Yield the files that are read, with the options that name them."""
    for option, text in (("--onnx", options.onnx), ("--engine", options.engine), ("--calib", options.calib)):
        if text is not None:
            yield option, text
    yield from (("--plugin", plugin) for plugin in options.plugins if "/" in plugin)
    for part in (options.load_inputs or "").split(","):
        if part:
            yield "--load-inputs", _input_file(part)


def input_files(options: CaptureOptions) -> list[str]:
    """Return the files that are read: model or engine, calibration, plugins named by a path, inputs."""
    return [text for _, text in _named_files(options)]


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


def quoted(argument: str) -> str:
    """One argument. What a terminal would act on, and bytes that are no UTF-8, become `$'\\x1b'` (bash, zsh, ksh)."""
    if argument.isprintable():
        return shlex.quote(argument)
    return "$'" + "".join(map(_escaped, argument)) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char == "\n":
        return "\\n"
    if char.isprintable():
        return char
    try:
        data = os.fsencode(char)
    except UnicodeEncodeError:
        data = char.encode("utf-8", errors="surrogatepass")
    # Octal: a hexadecimal escape would swallow following digits.
    return "".join(f"\\{byte:03o}" for byte in data)


def command_line(argv: Sequence[str]) -> str:
    """Return the whole command on one line."""
    return " ".join(map(quoted, argv))
