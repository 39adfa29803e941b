"""A log in place of the JSON files: layers, times, options and performance, as far as it tells them.

What a trtexec log states of a run: the command line, and the options as trtexec understood them.

trtexec prints them before it does anything, at every verbosity: a banner with the command line, then sections such as
`=== Build Options ===` with a `label: value` per line. Metadata that trex made of a log cuts each value at its first colon;
the log has them whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trex_tui.artifacts.layer_info import LayerInfo
from trex_tui.artifacts.metadata import Metadata, number_in, parse_latency
from trex_tui.artifacts.profile import Profile
from trex_tui.buildlog.build_trace import BuildTrace, DumpForm, LayerDump, StatedOptions
from trex_tui.errors import ArtifactError, Diagnostic, Severity

_FORMS = {
    DumpForm.INSPECTOR: "--dumpLayerInfo",
    DumpForm.BUILDER: "the builder's list: no weights, kernels by number only",
    DumpForm.NAMES: "names only: the engine was built without --profilingVerbosity=detailed",
}
_NUMBERS = ("Throughput", "Total Host Walltime", "Total GPU Compute Time")
_LISTED_PERCENTILES = ((99.0,), (90.0, 95.0, 99.0))
"""What readers take a bare list of 5 or 7 numbers for; with other percentiles the text stays, which names them."""
_ROLES = {
    "build": ("model_options", "build_options", "device_information"),
    "profile": ("performance_summary", "inference_options", "device_information"),
}
_DEVICE_NUMBERS = ("Compute Capability", "SMs", "Compute Clock Rate", "Memory Bus Width", "Memory Clock Rate")


def find_layer_info(trace: BuildTrace) -> LayerInfo | None:
    """The richest list of layers in a log; None if it has none."""
    dump = trace.dump
    if dump is None:
        return None
    names_only = dump.form is DumpForm.NAMES
    message = f"layers are taken from the log ({_FORMS[dump.form]})"
    severity = Severity.INFO if dump.form is DumpForm.INSPECTOR else Severity.WARNING
    note = Diagnostic(severity, trace.path, f"line {dump.line}", message)
    layers = tuple({"Name": layer.name} if names_only else layer.raw for layer in dump.layers)
    return LayerInfo(layers, _bindings(trace, dump), names_only=names_only, diagnostics=(note,))


def _bindings(trace: BuildTrace, dump: LayerDump) -> tuple[str, ...]:
    """Inputs and outputs of the network: as listed, as fed by trtexec, or what only is read or only written."""
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
    """The profile table in a log; None if it has none."""
    table = trace.profile
    if table is None or not table.rows:
        return None
    message = (
        f"times of {len(table.rows)} layers are taken from the table in the log, "
        "which is rounded to 0.1 µs and leaves out layers without time"
    )
    note = Diagnostic(Severity.WARNING, trace.path, f"line {table.line}", message)
    return Profile(table.rows, table.iterations, (note,))


def with_log(metadata: Metadata, trace: BuildTrace, kind: str) -> Metadata:
    """Fill the sections that no metadata file has. `kind` is the log's, for what is told about where numbers are from."""
    changes: dict[str, Any] = {}
    built, ran = trace.options, trace.run_options
    sections = {
        "model_options": built.model,
        # Up to 8.6 they are printed all the same, with their defaults.
        "build_options": {} if trace.only_loads else built.build,
        "inference_options": ran.inference,
        "device": ran.device or built.device,
    }
    for name, values in sections.items():
        if values and not getattr(metadata, name):
            changes[name] = dict(values)
    if trace.performance is not None and not metadata.performance:
        changes["performance"] = dict(trace.performance.values)
        changes["performance_source"] = kind
    return replace(metadata, **changes)


def metadata_document(trace: BuildTrace) -> dict[str, dict[str, Any]]:
    """What trex's log parsers write, as one object: of a build its options, of a run its performance, and the device.

    Unlike trex's, values are whole (it cut them at their second colon). As there, a latency is a list of min, max, mean,
    median, and the percentiles in the order printed, where these are the usual ones; the figures that trex makes numbers
    of are numbers.
    """
    sections = _sections(trace, trace.options)
    if trace.only_loads:
        del (
            sections["model_options"],
            sections["build_options"],
        )  # trtexec prints them all the same, with their defaults
    elif trace.performance is None:
        del sections["inference_options"]
    return {name: values for name, values in sections.items() if values}


def role_document(trace: BuildTrace, role: str) -> dict[str, dict[str, Any]]:
    """What trex keeps in a file of its own: of the log of a `build`, or of the `profile` run. Sections may be empty."""
    sections = _sections(trace, trace.run_options if role == "profile" else trace.options)
    return {name: sections[name] for name in _ROLES[role]}


def _sections(trace: BuildTrace, on: StatedOptions) -> dict[str, dict[str, Any]]:
    """All sections: options of the build, what was measured and how; the device as the run with options `on` printed it."""
    options = trace.options
    values = trace.performance.values if trace.performance is not None else {}
    return {
        "model_options": dict(options.model),
        "build_options": dict(options.build),
        "performance_summary": {label: _performance(label, text) for label, text in values.items()},
        "inference_options": dict(trace.run_options.inference),
        "device_information": {
            label: _number(text) if label in _DEVICE_NUMBERS else text for label, text in on.device.items()
        },
    }


def _performance(label: str, text: str) -> Any:  # noqa: ANN401 - a JSON value
    if label in _NUMBERS:
        return _number(text)
    latency = parse_latency(text)
    if label.startswith("End-to-End") or latency is None:
        return text
    values = [latency.min_ms, latency.max_ms, latency.mean_ms, latency.median_ms]
    is_bare = None not in values and tuple(latency.percentiles_ms) in _LISTED_PERCENTILES
    return [*values, *latency.percentiles_ms.values()] if is_bare else text


def _number(text: str) -> float | str:
    number = number_in(text)
    return text if number is None else number


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What a log states of one run.

    Attributes:
        arguments: Words of the command line, `trtexec` itself first; empty without a banner.
        sections: Heading -> label -> value, all as printed: `sections["Build Options"]["Memory Pools"]`.
        chosen_shapes: What trtexec says where it chose a shape because none was given.
    """

    arguments: tuple[str, ...] = ()
    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    chosen_shapes: tuple[str, ...] = ()


def read_log_options(path: Path, *, of_timed_run: bool = False) -> LogOptions:
    """Read the options in a log, packed with gzip or not; none if the file cannot be opened or is none.

    Args:
        path: The log.
        of_timed_run: Of several runs in it, ask for the one that was timed instead of the one that built the engine.
    """
    from trex_tui.buildlog.reader import shared_outline
    from trex_tui.buildlog.spans import SECTIONS

    try:
        trace = shared_outline(path)
    except ArtifactError:
        return LogOptions()
    run = trace.timed_run if of_timed_run else trace.shown_run
    options = trace.run_options if of_timed_run else trace.options
    sections = {heading: getattr(options, name) for heading, name in SECTIONS.items()}
    return LogOptions(
        tuple(run.command.split()) if run is not None else (),
        {heading: values for heading, values in sections.items() if values},
        trace.chosen_shapes if of_timed_run or run == trace.timed_run else (),
    )
