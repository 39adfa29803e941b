"""Replace or complete the JSON files of a set from its logs: layers, times, options and performance.

trtexec prints its options at every verbosity: a banner with the command line, then sections such as `=== Build Options ===`
with a `label: value` per line. Facts that trex made from a log cuts each value at its first colon; the log has the whole
value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trex_tui.artifacts.layer_info import NAMES_ONLY, LayerInfo
from trex_tui.artifacts.metadata import (
    Facts,
    StatedMemory,
    StatedTensor,
)
from trex_tui.artifacts.profile import Profile, ProfileRow
from trex_tui.buildlog.layer_tuning import parse_id
from trex_tui.buildlog.log_options import LogOptions
from trex_tui.buildlog.reader import read_log
from trex_tui.buildlog.trace import (
    BuildTrace,
    DumpForm,
    LayerDump,
    MemoryTotals,
    PrintedBinding,
)
from trex_tui.errors import ArtifactError, Note, Severity

_FORMS = {
    DumpForm.INSPECTOR: "--dumpLayerInfo, or IEngineInspector",
    DumpForm.BUILDER: "the builder's list: no weights",
    DumpForm.NAMES: "names only: the engine was built without --profilingVerbosity=detailed",
}
_OTHER_PROFILE = " [profile "
_EXTENT = re.compile(r"-1|\d{1,12}")


def find_layer_info(traces: Mapping[str, BuildTrace], *, has_placed: bool = False) -> LayerInfo | None:
    """Return the most detailed list of layers in the logs of an engine, the first of several; None without a list.

    Args:
        traces: By the kind of the log.
        has_placed: Use the list of layers on the GPU if there is no other; it lacks reformats, so that times do not fit.
    """
    found = _find_dump(traces)
    if found is None:
        return _find_placed(traces.values()) if has_placed else None
    kind, trace, dump = found
    names_only = dump.form is DumpForm.NAMES
    message = f"layers are taken from the log ({_FORMS[dump.form]})"
    severity = Severity.INFO if dump.form is DumpForm.INSPECTOR else Severity.WARNING
    note = Note(severity, trace.path, f"line {dump.line}", message)
    layers = tuple({"Name": layer.name} if names_only else layer.raw for layer in dump.layers)
    source = None if names_only else kind
    return LayerInfo(
        layers, _bindings(trace, dump), names_only=names_only, notes=(note,), details_source=source
    )


def _find_placed(traces: Iterable[BuildTrace]) -> LayerInfo | None:
    """Return the layers that a log without any other list names as running on the GPU; None without them.

    With layers on the DLA, which have a list of their own, their order is unknown.
    """
    for trace in traces:
        if trace.dla.gpu_layers and not trace.dla.dla_layers:
            names = trace.dla.gpu_layers
            message = (
                f"names of {len(names)} layers are taken from the log (Layers Running on GPU: without reformats that the "
                "builder adds later)"
            )
            note = Note(Severity.WARNING, trace.path, "", message)
            return LayerInfo(tuple({"Name": name} for name in names), (), names_only=True, notes=(note,))
    return None


def _find_dump(traces: Mapping[str, BuildTrace]) -> tuple[str, BuildTrace, LayerDump] | None:
    order = list(DumpForm)
    dumps = [(kind, trace, trace.dump) for kind, trace in traces.items() if trace.dump is not None]
    return max(dumps, key=lambda item: order.index(item[2].form), default=None)


def complete_layer_info(info: LayerInfo, traces: Mapping[str, BuildTrace]) -> LayerInfo:
    """Add layer information from the logs of an engine: types, tensors and tactics if the file has only names, and names of
    kernels if it has only their numbers.

    Args:
        info: Layer information of the file.
        traces: By the kind of the log.
    """
    if info.names_only:
        info = _with_details(info, traces)
    layers = tuple(_with_kernel_name(raw, traces.values()) for raw in info.layers)
    return info if layers == info.layers else replace(info, layers=layers)


def _with_details(info: LayerInfo, traces: Mapping[str, BuildTrace]) -> LayerInfo:
    """Take the details from the most detailed list in a log, if it belongs to the same engine."""
    found = _find_dump(traces)
    if found is None or found[2].form is DumpForm.NAMES:
        return info
    kind, trace, dump = found
    names = [raw["Name"] for raw in info.layers]
    where, stranger = f"line {dump.line}", _find_stranger(names, dump)
    if stranger is not None:
        message = (
            f"its list of layers is of another engine and is not used: only one of the two has {stranger}"
        )
        note = Note(Severity.WARNING, trace.path, where, message)
        return replace(info, notes=(*info.notes, note))
    details = dict(
        zip(
            _count_names(layer.name for layer in dump.layers),
            (layer.raw for layer in dump.layers),
            strict=True,
        )
    )
    keys = _count_names(names)
    known = sum(key in details for key in keys)
    if not known:
        return info  # Myelin layers alone: nothing proves that both lists belong to one engine.
    kernels = _find_kernels(keys, dump)
    share = f"all {known} layers" if known == len(keys) else f"{known} of {len(keys)} layers"
    message = (
        f"layer types, shapes, types and tactics of {share} are taken from the log ({_FORMS[dump.form]})"
    )
    note = Note(Severity.INFO, trace.path, where, message)
    return replace(
        info,
        layers=tuple(
            details.get(key) or raw | kernels.get(key, {}) for key, raw in zip(keys, info.layers, strict=True)
        ),
        bindings=info.bindings or _bindings(trace, dump),
        names_only=False,
        notes=(*(note for note in info.notes if note.message != NAMES_ONLY), note),
        details_source=kind,
    )


_Key = tuple[str, int]


def _find_kernels(keys: Sequence[_Key], dump: LayerDump) -> dict[_Key, dict[str, Any]]:
    """Return the kernels that replace one Myelin layer between the same neighbours in both lists, with its name, and with its
    tensors if it is a single kernel.
    """
    listed = _count_names(layer.name for layer in dump.layers)
    blocks = dict(zip(listed, dump.layers, strict=True))
    kernels: dict[_Key, dict[str, Any]] = {}
    in_file = _group_between(keys, blocks.keys())
    for place, only_in_log in _group_between(listed, set(keys)).items():
        opened = [blocks[key] for key in only_in_log if blocks[key].layer_type == "Myelin"]
        members = in_file.get(place, [])
        if len(opened) == 1:
            raw = opened[0].raw
            tensors = {side: raw[side] for side in ("Inputs", "Outputs")} if len(members) == 1 else {}
            kernels.update((key, {"ForeignNode": raw["Name"], **tensors}) for key in members)
    return kernels


def _group_between(
    keys: Iterable[_Key], anchors: Collection[_Key]
) -> dict[tuple[_Key | None, _Key | None], list[_Key]]:
    """Group the keys by the two neighbouring anchors around them; None stands for the beginning and the end."""
    groups: dict[tuple[_Key | None, _Key | None], list[_Key]] = {}
    before: _Key | None = None
    group: list[_Key] = []
    for key in (*keys, None):
        if key is not None and key not in anchors:
            group.append(key)
            continue
        if group:
            groups[before, key] = group
        before, group = key, []
    return groups


def _find_stranger(names: Sequence[str], dump: LayerDump) -> str | None:
    """Return a layer that only one of two lists has, so that they belong to different engines; None for the same engine.

    The builder lists a Myelin layer as one layer, which the inspector of TensorRT 10 lists as its kernels, and it lists
    reformats without effect.
    """
    listed, known = {layer.name for layer in dump.layers}, set(names)
    is_opened = False
    for layer in dump.layers:
        if layer.name not in known and layer.layer_type != "NoOp":
            if layer.layer_type != "Myelin":
                return layer.name
            is_opened = True
    has_profiles = any(_OTHER_PROFILE in name for name in listed)
    others = (name for name in names if name not in listed and (has_profiles or _OTHER_PROFILE not in name))
    return None if is_opened else next(others, None)


def _count_names(names: Iterable[str]) -> list[tuple[str, int]]:
    """Return each name with the number of equal names before it."""
    seen: Counter[str] = Counter()
    counted = []
    for name in names:
        counted.append((name, seen[name]))
        seen[name] += 1
    return counted


def _with_kernel_name(raw: dict[str, Any], traces: Iterable[BuildTrace]) -> dict[str, Any]:
    value = raw.get("TacticValue")
    if raw.get("TacticName") or not isinstance(value, str):
        return raw
    number = parse_id(value)
    names = (trace.kernel_names.get(number) for trace in traces if number is not None)
    name = next(filter(None, names), None)
    return raw if name is None else raw | {"TacticName": name}


def find_layers_of_profile(rows: Sequence[ProfileRow], traces: Mapping[str, BuildTrace]) -> LayerInfo | None:
    """Return the most detailed list of layers in the logs if it has every row of a profile; None without such a list."""
    found = _find_dump(traces)
    if found is None or found[2].form is DumpForm.NAMES:
        return None
    listed = {layer.name for layer in found[2].layers}
    return find_layer_info(traces) if all(row.name in listed for row in rows) else None


def _bindings(trace: BuildTrace, dump: LayerDump) -> tuple[str, ...]:
    """Return inputs and outputs of the network: as listed, as fed by trtexec, or tensors only read or only written."""
    if dump.bindings:
        return dump.bindings
    if trace.network_inputs or trace.network_outputs:
        return tuple(dict.fromkeys((*trace.network_inputs, *trace.network_outputs)))
    if trace.bindings:
        return tuple(dict.fromkeys(binding.name for binding in trace.bindings))
    read = dict.fromkeys(tensor["Name"] for layer in dump.layers for tensor in layer.raw.get("Inputs", ()))
    written = dict.fromkeys(
        tensor["Name"] for layer in dump.layers for tensor in layer.raw.get("Outputs", ())
    )
    inputs = [name for name in read if name not in written]
    return (*inputs, *(name for name in written if name not in read))


def find_profile(trace: BuildTrace) -> Profile | None:
    """Return the profile table of a log; None without a table."""
    table = trace.profile
    if table is None or not table.rows:
        return None
    message = (
        f"times of {len(table.rows)} layers are taken from the table in the log, "
        "which is rounded to 0.1 µs and leaves out layers without time"
    )
    note = Note(Severity.WARNING, trace.path, f"line {table.line}", message)
    return Profile(table.rows, table.iterations, (note,), file=trace.path)


def with_log(metadata: Facts, trace: BuildTrace, kind: str) -> Facts:
    """Fill the sections that no metadata file has. `kind` is that of the log, for the sources of the numbers."""
    changes: dict[str, Any] = {}
    sources = dict(metadata.sources)
    built, ran = trace.options, trace.run_options
    sections = {
        "model_options": built.model or _model_of_parser(trace),
        # Up to 8.6 they are printed in any case, with their defaults.
        "build_options": {} if trace.only_loads else built.build,
        "inference_options": ran.inference,
        "device": ran.device or built.device,
    }
    for name, values in sections.items():
        if values and not getattr(metadata, name):
            changes[name] = dict(values)
            sources[name] = kind
    if trace.performance is not None and not metadata.performance:
        changes["performance"] = dict(trace.performance.values)
        sources["performance"] = kind
    memory, tensors = _memory(metadata.memory, trace), _tensors(metadata.tensors, trace)
    if trace.only_loads and (core := ran.system.get("DLACore")):
        changes["run_dla_core"] = core
    if trace.dla.dla_layers:
        changes["dla_layers"] = trace.dla.dla_layers
    return replace(metadata, memory=memory, tensors=tensors, sources=sources, **changes)


def _model_of_parser(trace: BuildTrace) -> dict[str, str]:
    """Return file and format of the model as the ONNX parser prints them; empty without a file."""
    file = trace.onnx.values.get("Input filename") if trace.onnx else None
    return {"Format": "ONNX", "Model": file} if file else {}


def _memory(known: StatedMemory, trace: BuildTrace) -> StatedMemory:
    """Merge known values with those of a log; for the size of an engine the builder prints more digits than a run."""
    of_engine = [totals for totals in trace.memory_totals if totals.strategy in (trace.winner, None)]
    totals = of_engine[-1] if of_engine else MemoryTotals(None)
    stated = StatedMemory(
        weights_bytes=totals.weights_bytes,
        activation_bytes=totals.activation_bytes,
        scratch_bytes=totals.scratch_bytes,
        context_bytes=trace.context_bytes,
        engine_bytes=trace.engine_bytes,
        engine_mib=trace.engine_mib,
    )
    values = {name: value for name, value in stated._asdict().items() if value is not None}
    return known._replace(**values)


def _tensors(known: tuple[StatedTensor, ...], trace: BuildTrace) -> tuple[StatedTensor, ...]:
    """Merge known tensors with those of a log: first as they were fed to the engine, then those of the network."""
    printed = (*trace.bindings, *trace.network_tensors)
    tensors = {tensor.name: tensor for tensor in known}
    for binding in printed:
        is_network = binding in trace.network_tensors
        is_retyped = is_network and trace.shown_run is not None and "IOFormats=" in trace.shown_run.command
        tensor = StatedTensor(
            binding.name, binding.is_input, _shape(binding), None if is_retyped else binding.dtype
        )
        before = tensors.get(binding.name)
        if before is None or (before.shape is None and tensor.shape is not None):
            tensors[binding.name] = tensor
    return tuple(tensors.values())


def _shape(binding: PrintedBinding) -> tuple[int, ...] | None:
    extents = binding.dimensions.split("x")
    if not all(_EXTENT.fullmatch(extent) for extent in extents):
        return None
    return tuple(int(extent) for extent in extents)


def read_log_options(path: Path, *, of_timed_run: bool = False, run: int | None = None) -> LogOptions:
    """Read the options in a log, compressed or not; empty if the file cannot be opened or is not a log.

    Args:
        path: The log.
        of_timed_run: If it has several runs, read the timed one instead of the one that built the engine.
        run: Number of the measured run; None for the last.
    """
    try:
        trace = read_log(path, run)
    except ArtifactError:
        return LogOptions()
    banner = trace.timed_run if of_timed_run else trace.shown_run
    return LogOptions(
        tuple(banner.command.split()) if banner is not None else (),
        trace.run_options if of_timed_run else trace.options,
        trace.chosen_shapes if of_timed_run or banner == trace.timed_run else (),
    )
