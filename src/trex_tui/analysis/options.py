"""Options of trtexec as the logs, metadata and commands of an engine state them, and its batch.

A *label* is the text before the first colon in trtexec's log, and the key in trex's metadata. Releases renamed some of them:
a setting has all its labels. trex cut each value at its second colon; `Setting.is_cut` detects such values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import number_in
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine, per_engine
from trex_tui.errors import ArtifactError
from trex_tui.frames import plain_values
from trex_tui.text import format_bytes, format_shape

if TYPE_CHECKING:
    from trex_tui.buildlog.trace import BuildTrace

# Settings: options as files state them

_SWITCH = {"enabled": True, "enable": True, "disabled": False, "disable": False, "1": True, "0": False}
_NUMBER = re.compile(r"\s*([-+]?\d{1,18}(?:\.\d{1,18})?)(?![\d.])")
_WARM_UP = re.compile(r"\+ (\d{1,12}(?:\.\d{1,12})?)\s*ms warm")
_POOL = re.compile(
    r"\s*(?:(?P<name>[A-Za-z]\w{0,40}):)?\s*(?P<size>default|\d{1,18}(?:\.\d{1,18})?)\s*(?P<unit>[A-Za-z]*)\s*"
)
_POOL_UNITS = {"": 20, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30}
_SHAPE = re.compile(r"\d{1,12}(?:x\d{1,12})*|scalar")
_VERBOSITIES = {"0": "layer names only", "1": "none", "2": "detailed"}
_BRACKETS = (("{", "}"), ("[", "]"), ("(", ")"))
_LONGEST_LIST = 6


def parse_switch(text: str) -> bool | None:
    """Return whether a text means on or off; None for other texts."""
    return _SWITCH.get(text.strip().lower())


def _typing(text: str) -> bool | None:
    return "strongly typed" in text.lower() if text else None


def _number(text: str) -> float | int | None:
    match = _NUMBER.match(text)
    if match is None:
        return None
    return int(match[1]) if "." not in match[1] else float(match[1])


def _warmup(text: str) -> float | int | None:
    """Return the milliseconds in `3s (+ 200ms warm up)`, or a bare number."""
    match = _WARM_UP.search(text)
    if match:
        return _number(match[1])
    return _number(text) if _NUMBER.fullmatch(text) else None


def parse_pools(text: str) -> dict[str, int | None] | None:
    """Return pool -> bytes, None for the default: `workspace: 1024 MiB, dlaSRAM: default`, or `16 MiB` of TensorRT 8.2."""
    pools: dict[str, int | None] = {}
    for part in text.split(","):
        match = _POOL.fullmatch(part)
        power = _POOL_UNITS.get(match["unit"].lower()) if match else None
        if match is None or (power is None and match["size"] != "default"):
            return None
        size = None if match["size"] == "default" else round(float(match["size"]) * 2 ** (power or 0))
        pools[match["name"] or "workspace"] = size
    return pools


def parse_shapes(text: str) -> list[dict[str, Any]] | None:
    """Return inputs with their shape, or with `min`, `opt` and `max`: `x=4x1x28x28`, `x=1x3+4x3+16x3, y=2`."""
    inputs = []
    for part in text.split(", "):
        name, equals, shapes = part.strip().rpartition("=")
        texts = shapes.split("+")
        if not equals or len(texts) not in (1, 3) or not all(map(_SHAPE.fullmatch, texts)):
            return None
        parsed = [[] if shape == "scalar" else list(map(int, shape.split("x"))) for shape in texts]
        keys = ("shape",) if len(parsed) == 1 else ("min", "opt", "max")
        inputs.append({"name": name, **dict(zip(keys, parsed, strict=True))})
    return inputs


def _verbosity(text: str) -> str | None:
    return _VERBOSITIES.get(text, text.replace("_", " ")) or None


def format_value(value: Any) -> str:  # noqa: ANN401 - a parsed value
    """Write the value of a setting for people."""
    if isinstance(value, bool):
        return "enabled" if value else "disabled"
    if isinstance(value, dict):
        known = [f"{name} {format_bytes(size)}" for name, size in value.items() if size is not None]
        return ", ".join(known + ([f"{'others ' * bool(known)}default"] if None in value.values() else []))
    if isinstance(value, list):
        texts = [_format_input(entry) for entry in value[:_LONGEST_LIST]]
        rest = len(value) - _LONGEST_LIST
        return "; ".join(texts) + (f"; {rest} more" if rest > 0 else "")
    return "default" if value == -1 else str(value)


def _format_input(entry: Mapping[str, Any]) -> str:
    if "shape" in entry or entry["min"] == entry["max"]:
        return f"{entry['name']} {format_shape(entry.get('shape', entry.get('opt')))}"
    low, best, high = (format_shape(entry[key]) for key in ("min", "opt", "max"))
    return f"{entry['name']} {low} to {high}, optimized for {best}"


class Setting(NamedTuple):
    """An option as trtexec prints it.

    Attributes:
        key: Name in JSON, the unit at its end.
        labels: As trtexec prints it, separated by `|`; the first is the current one.
        parse: Returns the typed value of a text; None for an invalid text.
        default: Texts of the default in lower case, separated by `|`; None if it depends on the release.
        flags: Flags on the command line; without a value they enable it, those after `!` disable it.
        is_main: Shown at its default too.
        has_colon: A complete value that is not the default has a colon, unless `parse` accepts it without.
    """

    key: str
    title: str
    labels_text: str
    parse: Callable[[str], Any]
    default: str | None
    flags: str
    help: str
    is_main: bool = False
    has_colon: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.labels_text.split("|"))

    @property
    def defaults(self) -> tuple[str, ...]:
        return () if self.default is None else tuple(self.default.split("|"))

    def is_default(self, text: str) -> bool:
        if text.lower() in self.defaults:
            return True
        value = self.parse(text)
        return value is not None and format_value(value).lower() in self.defaults

    def is_cut(self, text: str) -> bool:
        """Return whether a value in trex's metadata is only the part before a colon."""
        if not text or self.is_default(text):
            return False
        is_whole = ":" in text or (self.parse is not str and self.parse(text) is not None)
        return is_cut(text) or (self.has_colon and not is_whole)


def is_cut(text: str) -> bool:
    """Return whether a text ends inside brackets or quotes, or is a drive letter."""
    is_open = any(text.count(first) > text.count(last) for first, last in _BRACKETS)
    return is_open or text.count('"') % 2 == 1 or (len(text) == 1 and text.isalpha())


_OFF = "disabled|0"
BUILD_SETTINGS = (
    Setting("precision", "Precision", "Precision", str,
        None, "", "Precisions the builder may choose from", is_main=True),
    Setting("strongly_typed", "Strongly typed", "Precision", _typing,
        "disabled", "", "Types are those of the model"),
    Setting("memory_pools_bytes", "Memory pools", "Memory Pools|Workspace", parse_pools,
        "default", "--memPoolSize --workspace", "Memory that the builder may use, by pool", True, True),
    Setting("optimization_level", "Optimization level", "BuilderOptimizationLevel", _number,
        "-1|3", "--builderOptimizationLevel", "Search effort of the builder, 0 to 5; -1 for its default, 3"),
    Setting("sparsity", "Sparsity", "Sparsity", str.lower,
        "disabled|disable", "--sparsity", "Use of sparse kernels"),
    Setting("tactic_sources", "Tactic sources", "Tactic sources", str,
        "using default tactic sources", "--tacticSources", "Libraries of tactics"),
    Setting("timing_cache_mode", "Timing cache", "timingCacheMode", str,
        "local|global", "", "Storage of tactic times: local to the build, global in a file, or none"),
    Setting("timing_cache_file", "Timing cache file", "timingCacheFile", str,
        "", "--timingCacheFile", "File of the timing cache"),
    Setting("refit", "Refit", "Refit", parse_switch, _OFF, "--refit", "Weights can be replaced in the engine"),
    Setting("strip_weights", "Weights stripped", "Strip weights|Weightless", parse_switch,
        _OFF, "--stripWeights --weightless", "The engine has no weights"),
    Setting("dla_core", "DLA core", "DLACore", _number,
        "|-1", "--useDLACore", "DLA core that layers are placed on"),
    Setting("dla_gpu_fallback", "GPU fallback for DLA", "Allow GPU fallback for DLA", parse_switch,
        _OFF, "--allowGPUFallback", "Layers that the DLA cannot run go to the GPU"),
    Setting("avg_timing", "avgTiming", "avgTiming", _number,
        "8", "--avgTiming", "Timing runs per tactic that are averaged"),
    Setting("min_timing", "minTiming", "minTiming", _number,
        "1", "--minTiming", "Minimum timing runs per tactic, up to TensorRT 9"),
    Setting("max_aux_streams", "Auxiliary streams", "MaxAuxStreams", _number,
        "-1", "--maxAuxStreams", "Maximum number of auxiliary streams; -1 is TensorRT's choice"),
    Setting("max_tactics", "Tactics per layer", "MaxTactics", _number,
        "-1", "--maxTactics", "Maximum number of tactics per layer; -1 for no limit"),
    Setting("layer_precisions", "Layer precisions", "LayerPrecisions", str,
        "", "--layerPrecisions", "Precisions requested for layers", has_colon=True),
    Setting("layer_device_types", "Layer devices", "Layer Device Types", str,
        "", "--layerDeviceTypes", "Devices requested for layers", has_colon=True),
    Setting("version_compatible", "Version compatible", "Version Compatible", parse_switch,
        _OFF, "--versionCompatible --vc", "Later releases can run the engine"),
    Setting("restricted_mode", "Restricted mode", "Restricted mode", parse_switch,
        _OFF, "--restricted", "The safe scope is enforced"),
    Setting("direct_io", "Direct I/O", "DirectIO mode", parse_switch,
        _OFF, "--directIO", "Reformats at inputs and outputs are avoided"),
    Setting("heuristic", "Tactic heuristic", "Heuristic", parse_switch,
        _OFF, "--heuristic", "Tactics are predicted instead of timed"),
    Setting("compilation_cache", "Compilation cache", "Enable Compilation Cache", parse_switch,
        "enabled", "!--noCompilationCache", "Compiled kernels are cached"),
    Setting("input_formats", "Input formats", "Input(s)s format", str,
        "fp32:chw|chw|", "--inputIOFormats", "Types and layouts requested for inputs", has_colon=True),
    Setting("output_formats", "Output formats", "Output(s)s format", str,
        "fp32:chw|chw|", "--outputIOFormats", "Types and layouts requested for outputs", has_colon=True),
    Setting("profiling_verbosity", "Profiling verbosity", "Profiling verbosity", _verbosity,
        "0|layer_names_only", "--profilingVerbosity", "Detail of the layer information in the engine"),
    Setting("static_plugins", "Static plugins", "Loaded static plugins|Plugins", str,
        "", "--staticPlugins --plugins", "Plugin libraries"),
)  # fmt: skip
RUN_SETTINGS = (
    Setting("duration_s", "Duration", "Duration", _number,
        "3", "--duration", "Minimum duration of the measurement", is_main=True),
    Setting("warmup_ms", "Warm-up", "Duration|Warm-up", _warmup,
        "200", "--warmUp", "Time before measuring starts", is_main=True),
    Setting("iterations", "Iterations", "Iterations", _number,
        "10", "--iterations", "Minimum number of queries"),
    Setting("cuda_graph", "CUDA graph", "CUDA Graph", parse_switch, None, "--useCudaGraph !--noCudaGraph",
        "Queries are launched as a CUDA graph; default since 11", is_main=True),
    Setting("spin_wait", "Spin-wait", "Spin-wait", parse_switch, None, "--useSpinWait !--noSpinWait",
        "The host waits actively; default since 11", is_main=True),
    Setting("data_transfers", "Transfers", "Data transfers", parse_switch,
        None, "--includeDataTransfers !--noDataTransfers", "Inputs and outputs are copied; default up to 10", is_main=True),
    Setting("streams", "Streams", "Inference Streams|Streams", _number,
        "1", "--infStreams --streams", "Concurrent queries"),
    Setting("sleep_ms", "Sleep time", "Sleep time", _number,
        "0ms|0", "--sleepTime", "Delay before each query on the stream"),
    Setting("idle_ms", "Idle time", "Idle time", _number, "0ms|0", "--idleTime", "Pause between queries"),
    Setting("expose_dma", "Exposed transfers", "ExposeDMA", parse_switch,
        _OFF, "--exposeDMA", "Transfers do not overlap with compute"),
    Setting("multithreading", "Multithreading", "Multithreading", parse_switch,
        _OFF, "--threads", "Each stream has its own thread"),
    Setting("separate_profiling", "Separate profiling", "Separate profiling", parse_switch,
        _OFF, "--separateProfileRun", "Layers are timed in a separate run; always since TensorRT 11"),
    Setting("average_runs", "Averages", "Averages", _number,
        "10 inferences|10", "--avgRuns", "Queries per printed average"),
)  # fmt: skip
PROFILE_SHAPES = Setting("optimization_profiles", "Optimization profiles", "Input build shape", parse_shapes,
    "model|", "", "Shapes of the inputs by optimization profile")  # fmt: skip
RUN_SHAPES = Setting("shapes", "Shapes", "Input inference shape", parse_shapes,
    "model|", "", "Shapes of the inputs that were run")  # fmt: skip
"""Prefixes of labels: `Input build shape (profile 0)`, `Input build shapes`."""
_USUAL = frozenset(
    (
        "",
        "-1",
        "0",
        "0.000000",
        "100.000000%",
        "default",
        "disabled",
        "explicit batch",
        "full",
        "model",
        "none",
    )
) | {"same as build", "use default preview flags.", "{ in_memory: allow, temporary: allow }"}
_FOLDED = re.compile(r"Export |Dump |Save |Load |Skip |Device$|Verbose|Profile$|NVTX|Percentile|Build only")
"""Defaults of the other options, and the labels of those that say nothing about the engine or its times."""


# Runs of trtexec


class TrtexecRun(NamedTuple):
    """What files state about one run of trtexec.

    Attributes:
        arguments: Words of its command line; empty if no file has it.
        options: Label -> value as printed: of the build, or of the inference. Values that trex cut are incomplete.
        device: Label -> value of the device section.
        logged: Labels that its log states; the others are from metadata, which trex may have cut.
        chosen_shapes: Messages about shapes that trtexec chose itself.
        source: Kinds of the files, for display; empty without a source.
    """

    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = {}
    device: Mapping[str, str] = {}
    logged: frozenset[str] = frozenset()
    chosen_shapes: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_stated(self) -> bool:
        return bool(self.options or self.arguments)

    def argument(self, *names: str) -> str | None:
        """Return the value of `--name=value`, empty for a bare `--name`; None if it was not given."""
        words = (word.partition("=") for word in self.arguments)
        return next((value for name, _, value in words if name in names), None)

    def value(self, setting: Setting) -> Any:  # noqa: ANN401 - a parsed value
        """Return the typed value of a setting; None if it is not stated, or cut."""
        label = next((label for label in setting.labels if label in self.options), None)
        if label is None or (label not in self.logged and setting.is_cut(self.options[label])):
            return None
        return setting.parse(self.options[label].strip())


def find_log(engine: Engine, kind: FileKind) -> BuildTrace | None:
    """Return the content of a log of the set; None without one, or if it cannot be opened."""
    path = engine.files.get(kind)
    if path is None:
        return None
    from trex_tui.buildlog.reader import read_log

    try:
        return read_log(path, run=engine.log_runs.get(path))
    except ArtifactError:
        return None


def timed_log(engine: Engine) -> BuildTrace | None:
    """Return the log of the run that timed the engine: a separate one, or the build's if that continued with inference."""
    kind = FileKind.PROFILE_LOG if FileKind.PROFILE_LOG in engine.files else FileKind.BUILD_LOG
    return find_log(engine, kind)


@per_engine
def build_run(engine: Engine) -> TrtexecRun:
    """Return the run that built the engine. Metadata or a log of a run that loaded it has no facts about the build."""
    trace, metadata = find_log(engine, FileKind.BUILD_LOG), _texts(engine.facts.build_options)
    metadata = {} if metadata.get("Load engine") else metadata
    if trace is not None and trace.options.build.get("Load engine"):
        trace = None
    in_log = {**trace.options.build, **trace.options.system} if trace else {}
    arguments = tuple(trace.shown_run.command.split()) if trace and trace.shown_run else ()
    kinds = [FileKind.BUILD_LOG] * bool(in_log or arguments) + [FileKind.BUILD_METADATA] * bool(metadata)
    chosen = trace.chosen_shapes if trace and trace.shown_run == trace.timed_run else ()
    device = {**_texts(engine.facts.build_device), **(trace.options.device if trace else {})}
    run = TrtexecRun(arguments, metadata | in_log, device, frozenset(in_log), chosen)
    return _complete(run, kinds, engine.capture.build_command if engine.capture else (), BUILD_SETTINGS)


@per_engine
def timed_run(engine: Engine) -> TrtexecRun:
    """Return the run that timed the engine: a separate one, or the build's if that continued with inference."""
    trace, metadata = timed_log(engine), _texts(engine.facts.inference_options)
    kind = FileKind.PROFILE_LOG if FileKind.PROFILE_LOG in engine.files else FileKind.BUILD_LOG
    build = trace.run_options.build if trace else {}
    if kind is FileKind.BUILD_LOG and "Enabled" in map(build.get, ("Skip inference", "Build only")):
        trace = None
    in_log = trace.run_options.inference if trace else {}
    in_log = {**in_log, **trace.run_options.reporting} if trace and in_log else {}
    arguments = tuple(trace.timed_run.command.split()) if trace and trace.timed_run else ()
    kinds = [kind] * bool(in_log) + [FileKind.PROFILE_METADATA] * bool(metadata)
    device = {**_texts(engine.facts.device), **(trace.run_options.device if trace else {})}
    chosen = trace.chosen_shapes if trace else ()
    run = TrtexecRun(arguments, metadata | in_log, device, frozenset(in_log), chosen)
    return _complete(run, kinds, engine.capture.command if engine.capture else (), RUN_SETTINGS)


def _complete(
    run: TrtexecRun, kinds: list[FileKind], command: Sequence[str], settings: Sequence[Setting]
) -> TrtexecRun:
    """Return the run with its source; with the options of the command in the manifest, if no other file has any."""
    if not run.options and command:
        options, kinds = options_in_arguments(command, settings), [FileKind.MANIFEST]
        run = run._replace(options=options, logged=frozenset(options))
    return run._replace(source=", ".join(kind.value for kind in kinds))


def _texts(section: Mapping[str, object]) -> dict[str, str]:
    return {label: _write(value) for label, value in section.items() if value is not None}


def _write(value: object) -> str:
    """Return a value as trtexec prints it: metadata of other tools has switches, lists and objects where a log has text."""
    if isinstance(value, bool):
        return "Enabled" if value else "Disabled"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_write(part)}" for key, part in value.items())
    return "+".join(map(_write, value)) if isinstance(value, list) else str(value)


def options_in_arguments(arguments: Sequence[str], settings: Sequence[Setting]) -> dict[str, str]:
    """Return label -> value of the options on a command line; missing options are unknown.

    >>> options_in_arguments(["trtexec", "--avgTiming=4", "--refit", "--fp16"], BUILD_SETTINGS)
    {'Precision': 'FP32+FP16', 'avgTiming': '4', 'Refit': 'Enabled'}
    """
    given = {name: (value, equals) for name, equals, value in (word.partition("=") for word in arguments[1:])}
    stated: dict[str, str] = {}
    for setting in settings:
        if setting.key == "precision" and (precisions := _precision(given)):
            stated[setting.labels[0]] = precisions
        for flag in setting.flags.split():
            value, equals = given.get(flag.removeprefix("!"), (None, ""))
            if value is None or (flag == "--memPoolSize" and re.search(r"\d[A-Za-z]", value)):
                continue  # Releases parse units differently; the log has the result.
            switched = "Disabled" if flag[0] == "!" else "Enabled"
            label = setting.labels[-1 if setting.key == "warmup_ms" else 0]
            stated[label] = value if equals and setting.parse is not parse_switch else switched
    if "--shapes" in given:
        stated[RUN_SHAPES.labels[0]] = _join_shapes([given["--shapes"][0]])
        stated[PROFILE_SHAPES.labels[0]] = _join_shapes([given["--shapes"][0]] * 3)
    ranges = [given[name][0] for name in ("--minShapes", "--optShapes", "--maxShapes") if name in given]
    if len(ranges) == 3:
        stated[PROFILE_SHAPES.labels[0]] = _join_shapes(ranges)
    return stated


def _precision(given: Mapping[str, object]) -> str:
    """Return the precisions of these flags as trtexec prints them; empty without any."""
    if "--stronglyTyped" in given:
        return "Strongly Typed"
    flags = {"--fp16": "FP16", "--bf16": "BF16", "--int8": "INT8", "--fp8": "FP8", "--int4": "INT4"}
    names = ["FP16", "INT8"] if "--best" in given else [name for flag, name in flags.items() if flag in given]
    return "+".join(["FP32", *names]) if names else ""


def _join_shapes(values: Sequence[str]) -> str:
    """Return `x=1x3+4x3+16x3` for the values `x:1x3`, `x:4x3` and `x:16x3`."""
    inputs: dict[str, list[str]] = {}
    for part in (part for value in values for part in value.split(",")):
        name, _, shape = part.rpartition(":")
        inputs.setdefault(name.strip("'\""), []).append(shape)
    return ", ".join(f"{name}={'+'.join(shapes)}" for name, shapes in inputs.items())


# Facts


def find_flag(engine: Engine, key: str) -> bool | None:
    """Return whether a switch of the timed run is on, by its log, metadata or command line; None if none states it."""
    run = timed_run(engine)
    setting = next(setting for setting in RUN_SETTINGS if setting.key == key)
    value = run.value(setting)
    if value is None:
        value = run._replace(options=options_in_arguments(run.arguments, [setting])).value(setting)
    return value if isinstance(value, bool) else None


class StatedOption(NamedTuple):
    """An option that a run states.

    Attributes:
        key: Key of its setting; None for one without a setting.
        label: As trtexec prints it.
        value: Typed value; None for one that trex cut, and without a setting.
        text: For people.
        is_default: None without a setting.
        is_cut: Whether trex cut the value.
        is_folded: Shown on request only.
    """

    key: str | None
    label: str
    value: Any
    text: str
    is_default: bool | None
    is_cut: bool
    is_folded: bool


def list_settings(run: TrtexecRun, settings: Sequence[Setting], shapes: Setting) -> list[StatedOption]:
    """Return the stated settings in their order, then the shapes, then all other options with their text."""
    rows: list[StatedOption] = []
    for setting in settings:
        label = next((label for label in setting.labels if label in run.options), None)
        if label is None:
            continue
        text, value = run.options[label].strip(), run.value(setting)
        cut = label not in run.logged and setting.is_cut(text)
        is_default = not cut and setting.is_default(text)
        if value in (None, "") and not cut and not is_default:
            continue  # an unknown form
        is_folded = (is_default or cut) and not setting.is_main
        value = None if value == "" else value
        shown = (text or "none") if value is None else format_value(value)
        rows.append(StatedOption(setting.key, label, value, shown, is_default, cut, is_folded))
    used = {row.label for row in rows}
    labels = [label for label in run.options if label.startswith(shapes.labels)]
    stated = [label for label in labels if not shapes.is_default(run.options[label])]
    parsed = {label: shapes.parse(run.options[label]) for label in stated}
    if labels and None not in parsed.values():
        inputs = [_with_profile(label, entry) for label, entries in parsed.items() for entry in entries]
        text = format_value(inputs) if inputs else "from the model"
        rows.append(StatedOption(shapes.key, labels[0], inputs or None, text, not inputs, False, not inputs))
        used.update(labels)
    for label in (label for label in run.options if label not in used):
        text = run.options[label]
        cut = label not in run.logged and is_cut(text)
        is_folded = cut or text.strip().lower() in _USUAL or _FOLDED.match(label) is not None
        rows.append(StatedOption(None, label, None, text, None, cut, is_folded))
    return rows


def _with_profile(label: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    number = re.search(r"\(profile (\d{1,4})\)", label)
    return {"profile": int(number[1]), **entry} if number else dict(entry)


def build_settings(engine: Engine) -> list[StatedOption]:
    """Return the settings of the run that built the engine, as `list_settings`."""
    return list_settings(build_run(engine), BUILD_SETTINGS, PROFILE_SHAPES)


def run_settings(engine: Engine) -> list[StatedOption]:
    """Return the settings of the run that timed the engine, as `list_settings`."""
    run = timed_run(engine)
    options = {label: text for label, text in run.options.items() if label != "Batch"}
    return list_settings(run._replace(options=options), RUN_SETTINGS, RUN_SHAPES)


def device_differences(engine: Engine) -> list[tuple[str, str, str]]:
    """Return label, value of the build and value of the timed run, if the two have different devices."""
    built, ran = build_run(engine).device, timed_run(engine).device
    labels = ("Selected Device", "Compute Capability", "SMs")
    pairs = [(label, built.get(label, ""), ran.get(label, "")) for label in labels]
    return [pair for pair in pairs if pair[1] and pair[2] and _comparable(pair[1]) != _comparable(pair[2])]


def _comparable(value: str) -> object:
    """Return numbers by value: trex writes 30.0 for the 30 of a log."""
    number = number_in(value)
    return value.strip() if number is None else number


def find_batch(engine: Engine) -> tuple[int, str] | None:
    """Return samples per inference, and the source of the number.

    Of an implicit-batch engine from its run, else of static inputs, else of the shapes that were run, else of the optimal
    shapes of the build. None if inputs disagree, nothing states it, or an explicit batch is possible and not certain.
    """
    first = "dim 0 of the inputs"
    size, is_onnx = _batch_of_inputs(engine), engine.facts.model_options.get("Format") == "ONNX"
    if is_onnx and size is not None:  # before logs are read
        return size, first
    run, built = timed_run(engine).options, build_run(engine).options
    stated, largest = run.get("Batch", ""), built.get("Max batch", "")
    is_number, is_range = (re.fullmatch(r"[0-9]{1,9}", text) is not None for text in (stated, largest))
    is_explicit = is_onnx or not is_number or largest.lower() == "explicit batch"
    if not is_explicit and (is_range or int(stated) > 1 or size in (None, int(stated))):
        return (int(stated), "--batch of the run") if int(stated) and not engine.throughput_doubt else None
    if size is not None:
        return (size, first) if is_explicit else None
    for options, shapes, source in (
        (run, RUN_SHAPES, "shapes of the run"),
        (built, PROFILE_SHAPES, "optimal shapes of the build"),
    ):
        texts = (text for label, text in options.items() if label.startswith(shapes.labels))
        found = [entry.get("shape") or entry["opt"] for text in texts for entry in shapes.parse(text) or ()]
        if found:
            sizes = {shape[0] for shape in found if len(shape) > 1}
            return (sizes.pop(), source) if len(sizes) == 1 else None
    return None


def _batch_of_inputs(engine: Engine) -> int | None:
    inputs = engine.bindings[engine.bindings["role"].eq("input").fillna(False)]
    sizes = {shape[0] for shape in plain_values(inputs["shape"]) if shape and len(shape) > 1}
    size = sizes.pop() if len(sizes) == 1 else None
    return size if size is not None and size > 0 else None


SETTINGS = by_key(
    *(
        Column(setting.key, setting.title, f"{setting.help}.", source=f"trtexec: {setting.labels[0]}")
        for setting in (*BUILD_SETTINGS, PROFILE_SHAPES, *RUN_SETTINGS, RUN_SHAPES)
    )
)
"""Descriptions of the settings, by key."""
