"""What an engine takes from its logs: layers, times, options, performance and memory, as the records of the JSON files.

trtexec prints its options at every verbosity: a banner with the command line, then sections such as `=== Build Options ===`
with a `label: value` per line. Metadata that trex made from a log cuts each value at its first colon; the log has the whole
value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trex_tui.artifacts.layer_info import NAMES_ONLY, LayerInfo
from trex_tui.artifacts.metadata import Facts, StatedMemory, StatedTensor
from trex_tui.artifacts.profile import Profile, ProfileRow
from trex_tui.buildlog.tactics import parse_id
from trex_tui.buildlog.trace import LIST_FORMS, BuildTrace, LayerList, MemoryTotals, PrintedBinding
from trex_tui.errors import Note, Severity

_FORMS = {
    "inspector": "--dumpLayerInfo, or IEngineInspector",
    "builder": "the builder's list: no weights",
    "names": "names only: the engine was built without --profilingVerbosity=detailed",
}
_OTHER_PROFILE = " [profile "
_EXTENT = re.compile(r"-1|\d{1,12}")
_EXACT_DECIMALS = 4
"""Decimals of the average times of TensorRT 8 and later; those of 7 have two, and are recomputed."""
_ROUNDING_PCT = 0.05
"""Largest error of a percentage in a printed table of layers."""
_ROUNDING = 0.5

# --- layers ------------------------------------------------------------------------------------------------------------


def find_layer_info(traces: Mapping[str, BuildTrace]) -> LayerInfo | None:
    """Return the most detailed list of layers in the logs of an engine, by their kind; the first of several; None without."""
    found = _find_list(traces)
    if found is None:
        return None
    kind, trace, listed = found
    names_only = listed.form == "names"
    message = f"layers are taken from the log ({_FORMS[listed.form]})"
    severity = Severity.INFO if listed.form == "inspector" else Severity.WARNING
    return LayerInfo(
        layers=tuple({"Name": layer.name} if names_only else layer.raw for layer in listed.layers),
        bindings=_bindings(trace, listed),
        io_tensors=listed.io_tensors,
        names_only=names_only,
        notes=(Note(severity, trace.path, f"line {listed.line}", message),),
        details_source=None if names_only else kind,
    )


def _find_list(traces: Mapping[str, BuildTrace]) -> tuple[str, BuildTrace, LayerList] | None:
    found = [
        (kind, trace, listed) for kind, trace in traces.items() if (listed := trace.layer_list) is not None
    ]
    return max(found, key=lambda item: LIST_FORMS.index(item[2].form), default=None)


_MYELIN_CONSTANT = re.compile(r"^__mye\d|_constant(?:Half|Float|BF?\d+|Int\d+)$")
"""Names that Myelin gives to weights and other constants."""


def _bindings(trace: BuildTrace, listed: LayerList) -> tuple[str, ...]:
    """Return inputs and outputs of the network: as listed, as fed by trtexec, or tensors only read or only written."""
    printed = trace.network_tensors or trace.bindings
    if listed.bindings or printed:
        return listed.bindings or tuple(dict.fromkeys(tensor.name for tensor in _inputs_first(printed)))
    read = dict.fromkeys(tensor["Name"] for layer in listed.layers for tensor in layer.raw.get("Inputs", ()))
    written = dict.fromkeys(
        tensor["Name"] for layer in listed.layers for tensor in layer.raw.get("Outputs", ())
    )
    inputs = (name for name in read if name not in written and not _MYELIN_CONSTANT.search(name))
    return (*inputs, *(name for name in written if name not in read))


def _inputs_first(tensors: Iterable[PrintedBinding]) -> list[PrintedBinding]:
    return sorted(tensors, key=lambda tensor: not tensor.is_input)


def complete_layer_info(info: LayerInfo, traces: Mapping[str, BuildTrace]) -> LayerInfo:
    """Add layer information from the logs of an engine: types, tensors and tactics if the file has only names, and names of
    kernels if it has only their numbers.

    Args:
        info: Layer information of the file.
        traces: By the kind of the log.
    """
    if info.names_only:
        info = _with_details(info, traces)
    kernel_names = [trace.kernel_names for trace in traces.values()]
    layers = tuple(_with_kernel_name(raw, kernel_names) for raw in info.layers)
    return info if layers == info.layers else replace(info, layers=layers)


def _with_kernel_name(raw: dict[str, Any], kernel_names: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    value = raw.get("TacticValue")
    if raw.get("TacticName") or not isinstance(value, str):
        return raw
    number = parse_id(value) or ""
    name = next(filter(None, (names.get(number) for names in kernel_names)), None)
    return raw if name is None else raw | {"TacticName": name}


def find_layers_of_profile(rows: Sequence[ProfileRow], traces: Mapping[str, BuildTrace]) -> LayerInfo | None:
    """Return the most detailed list of layers in the logs if it has every row of a profile; None without such a list."""
    found = _find_list(traces)
    if found is None or found[2].form == "names":
        return None
    names = {layer.name for layer in found[2].layers}
    return find_layer_info(traces) if all(row.name in names for row in rows) else None


_Key = tuple[str, int]
"""Name of a layer, and the number of layers with that name before it."""


def _with_details(info: LayerInfo, traces: Mapping[str, BuildTrace]) -> LayerInfo:
    """Take the details from the most detailed list in a log, if it belongs to the same engine."""
    found = _find_list(traces)
    if found is None or found[2].form == "names":
        return info
    kind, trace, listed = found
    names = [raw["Name"] for raw in info.layers]
    where, stranger = f"line {listed.line}", _find_stranger(names, listed)
    if stranger is not None:
        message = (
            f"its list of layers is of another engine and is not used: only one of the two has {stranger}"
        )
        return replace(info, notes=(*info.notes, Note(Severity.WARNING, trace.path, where, message)))
    keys, listed_keys = _count_names(names), _count_names(layer.name for layer in listed.layers)
    details = dict(zip(listed_keys, (layer.raw for layer in listed.layers), strict=True))
    known = sum(key in details for key in keys)
    if not known:
        return info  # Myelin layers alone: nothing proves that both lists belong to one engine.
    share = f"all {known} layers" if known == len(keys) else f"{known} of {len(keys)} layers"
    message = (
        f"layer types, shapes, types and tactics of {share} are taken from the log ({_FORMS[listed.form]})"
    )
    notes = (note for note in info.notes if note.message != NAMES_ONLY)
    return replace(
        info,
        layers=tuple(details.get(key) or raw for key, raw in zip(keys, info.layers, strict=True)),
        bindings=info.bindings or _bindings(trace, listed),
        io_tensors=info.io_tensors or listed.io_tensors,
        names_only=False,
        notes=(*notes, Note(Severity.INFO, trace.path, where, message)),
        details_source=kind,
    )


def _find_stranger(names: Sequence[str], listed: LayerList) -> str | None:
    """Return a layer that only one of two lists has, so that they belong to different engines; None for the same engine.

    The builder lists a Myelin layer as one layer, which the inspector of TensorRT 10 lists as its kernels, and it lists
    reformats without effect.
    """
    in_log, known = {layer.name for layer in listed.layers}, set(names)
    is_opened = False
    for layer in listed.layers:
        if layer.name not in known and layer.layer_type != "NoOp":
            if layer.layer_type != "Myelin":
                return layer.name
            is_opened = True
    has_profiles = any(_OTHER_PROFILE in name for name in in_log)
    others = (name for name in names if name not in in_log and (has_profiles or _OTHER_PROFILE not in name))
    return None if is_opened else next(others, None)


def _count_names(names: Iterable[str]) -> list[_Key]:
    """Return each name with the number of equal names before it."""
    seen: Counter[str] = Counter()
    counted = []
    for name in names:
        counted.append((name, seen[name]))
        seen[name] += 1
    return counted


# --- times -------------------------------------------------------------------------------------------------------------


def find_profile(trace: BuildTrace) -> Profile | None:
    """Return the profile table of a log; None without a table. A table with fewer rows than its total has time is stated to
    be a part.
    """
    table = trace.profile
    if table is None or not table.rows:
        return None
    rows = tuple(_exact(row, table.iterations, table.decimals) for row in table.rows)
    unit = {2: "10 µs", 3: "1 µs", 4: "0.1 µs"}.get(table.decimals, f"{10 ** (3 - table.decimals):g} µs")
    rounded = f"which is rounded to {unit}"
    if rows != table.rows:
        rounded = f"as Time / {table.iterations} iterations, since its averages are rounded to {unit}"
    message = f"times of {len(rows)} layers are taken from the table in the log, {rounded}; layers without time are missing"
    note = Note(Severity.WARNING, trace.path, f"line {table.line}", message)
    profile = Profile(rows, table.iterations, (note,))
    if table.total is None:
        most_pct = sum((row.percentage or 0.0) + _ROUNDING_PCT for row in rows)
        return profile.with_total(trace.path) if most_pct < 100.0 else profile
    total_ms, error_ms = table.total.average_ms, _ROUNDING * 10.0**-table.decimals
    if table.total.total_ms is not None and rows != table.rows:
        total_ms, error_ms = table.total.total_ms / (table.iterations or 1), 0.01 / (table.iterations or 1)
    return profile.with_total(trace.path, total_ms or 0.0, error_ms)


def _exact(row: ProfileRow, iterations: int | None, decimals: int) -> ProfileRow:
    """Return a row with the average of its total time, if the printed one has fewer decimals and agrees."""
    if decimals >= _EXACT_DECIMALS or not iterations or row.total_ms is None or row.average_ms is None:
        return row
    average = row.total_ms / iterations
    agrees = abs(average - row.average_ms) <= (_ROUNDING + 0.1) * 10.0**-decimals
    return row._replace(average_ms=average) if agrees else row


# --- facts -------------------------------------------------------------------------------------------------------------


def with_log(facts: Facts, trace: BuildTrace, kind: str) -> Facts:
    """Fill the sections that no metadata file has. `kind` is that of the log, for the sources of the numbers."""
    changes: dict[str, Any] = {}
    sources = dict(facts.sources)
    built, ran = trace.options, trace.run_options
    sections = {
        "model_options": built.model or _model_of_parser(trace),
        # Up to 8.6 they are printed in any case, with their defaults.
        "build_options": {} if trace.only_loads else built.build,
        "inference_options": ran.inference,
        "device": ran.device or built.device,
        "performance": _performance(trace),
    }
    for name, values in sections.items():
        if values and not getattr(facts, name):
            changes[name] = dict(values)
            sources[name] = kind
    if trace.only_loads and (core := ran.system.get("DLACore")):
        changes["run_dla_core"] = core
    if trace.dla.dla_layers:
        changes["dla_layers"] = trace.dla.dla_layers
    memory, tensors = _memory(facts.memory, trace), _tensors(facts.tensors, trace)
    return replace(facts, memory=memory, tensors=tensors, sources=sources, **changes)


def _performance(trace: BuildTrace) -> dict[str, str]:
    """Return the printed summary; without one, the means of the trace averages and the queries per second."""
    if trace.performance is not None:
        return trace.performance.values
    values = {}
    runs = sum(row.runs for row in trace.averages)
    for label, key in (
        ("Latency", "host_ms"),
        ("Enqueue Time", "enqueue_ms"),
        ("GPU Compute Time", "gpu_ms"),
    ):
        known = [(row.runs, getattr(row, key)) for row in trace.averages if getattr(row, key) is not None]
        if runs and len(known) == len(trace.averages):
            values[label] = f"mean = {sum(count * value for count, value in known) / runs:.6g} ms"
    seconds = [phase.seconds for phase in trace.phases if phase.kind == "inference"]
    if trace.queries and seconds and seconds[-1] > 0:
        values["Throughput"] = f"{trace.queries / seconds[-1]:.6g} qps"
    return values


def _model_of_parser(trace: BuildTrace) -> dict[str, str]:
    """Return file and format of the model as the ONNX parser prints them; empty without a file."""
    file = trace.onnx.get("Input filename")
    return {"Format": "ONNX", "Model": file} if file else {}


def _memory(known: StatedMemory, trace: BuildTrace) -> StatedMemory:
    """Merge known values with those of a log; for the size of an engine the builder prints more digits than a run."""
    of_engine = [totals for totals in trace.memory_totals if totals.strategy in (trace.winner, None)]
    totals = of_engine[-1] if of_engine else MemoryTotals(None)
    context = trace.context  # of a build of several strategies it is that of the last one, not of the winner
    activations, persistent = totals.activation_bytes, totals.device_persistent_bytes
    stated = StatedMemory(
        weights_bytes=totals.weights_bytes,
        activation_bytes=context.activation_bytes if activations is None else activations,
        scratch_bytes=totals.scratch_bytes,
        context_bytes=context.context_bytes,
        engine_bytes=trace.engine_bytes,
        engine_mib=trace.engine_mib,
        persistent_bytes=context.device_persistent_bytes if persistent is None else persistent,
    )
    return known._replace(**{name: value for name, value in stated._asdict().items() if value is not None})


def _tensors(known: tuple[StatedTensor, ...], trace: BuildTrace) -> tuple[StatedTensor, ...]:
    """Merge known tensors with those of a log: first as they were fed to the engine, then those of the network."""
    tensors = {tensor.name: tensor for tensor in known}
    # With other input formats the types that the parser prints are not those of the engine.
    is_retyped = trace.shown_run is not None and "IOFormats=" in trace.shown_run.command
    for binding in (*trace.bindings, *trace.network_tensors):
        is_unknown = is_retyped and binding in trace.network_tensors
        dtype = None if is_unknown else binding.dtype
        tensor = StatedTensor(binding.name, binding.is_input, _shape(binding), dtype)
        before = tensors.get(binding.name)
        if before is None or (before.shape is None and tensor.shape is not None):
            tensors[binding.name] = tensor
    return tuple(tensors.values())


def _shape(binding: PrintedBinding) -> tuple[int, ...] | None:
    extents = binding.dimensions.split("x")
    if not all(_EXTENT.fullmatch(extent) for extent in extents):
        return None
    return tuple(int(extent) for extent in extents)
