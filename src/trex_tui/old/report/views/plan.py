"""The plan of an engine: its model, the device, and the options of trtexec that built and ran it.

Facts are made once, from metadata, logs or the manifest of a capture: `summary`, Overview and report print them, and `summary
--json` has their raw values. Options at their default are folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from trex_tui.old.analysis.device import DEVICE_LABELS, NOT_STATED, reported_device
from trex_tui.old.analysis.trtexec_options import (
    BUILD_OPTIONS,
    PROFILE_SHAPES,
    RUN_OPTIONS,
    RUN_SHAPES,
    Option,
    find_profile_index,
    format_value,
    is_cut,
    options_in_arguments,
    parse_number,
)
from trex_tui.old.analysis.trtexec_runs import (
    build_run,
    device_differences,
    find_batch_size,
    log_head,
    timed_run,
)
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Binding
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import Section
from trex_tui.old.text import MISSING, format_bytes, format_shape, printable, shorten_middle

CUT = "truncated in the metadata; complete in the log"
_LONGEST_VALUE = 200
_USUAL = frozenset({"", "-1", "0", "disabled", "default", "none", "model"})
"""Values of unknown options that are probably the default."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about an engine.

    Attributes:
        key: Name in JSON, the unit at its end.
        label: Label for display; empty for a fact that is shown with another one.
        value: Raw; None if unknown.
        text: Text for display; `–` and the reason if the value is unknown.
        source: Kind of its file.
        is_default: Whether it is trtexec's default.
        is_folded: Whether it is shown on request only.
        reason: Why the value is unknown.
    """

    key: str
    label: str
    value: Any
    text: str
    source: str
    is_default: bool = False
    is_folded: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PlanPart:
    """One of the four parts.

    Attributes:
        facts: Known facts, and reasons for unknown ones.
        other: Label -> value of options in no table, verbatim.
        keys: All possible keys of such a part, for JSON.
        warnings: Sentences.
        absent: A sentence if nothing is stated.
    """

    id: str
    title: str
    facts: tuple[Fact, ...]
    keys: tuple[str, ...]
    absent: str
    other: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


Plan = tuple[PlanPart, ...]
"""Model, device, builder and run."""


@per_engine
def find_plan(engine: Engine) -> Plan:
    """Return the plan of an engine, cached in it; reads its logs."""
    return (_model(engine), _device(engine), _builder(engine), _run(engine))


def plan_sections(plan: Plan) -> Iterator[Section]:
    """Yield a section for each part."""
    for part in plan:
        shown = [fact for fact in part.facts if not fact.is_folded]
        folded = [fact for fact in part.facts if fact.is_folded]
        others = [(printable(label), _text(value)) for label, value in part.other.items()]
        usual = {printable(label) for label, value in part.other.items() if value.lower() in _USUAL}
        sentences = part.warnings or (() if shown else (part.absent,) if not (folded or others) else ())
        yield Section(
            part.id,
            part.title,
            sentences=sentences,
            facts=[*_pairs(shown), *(pair for pair in others if pair[0] not in usual)],
            folded=[*_pairs(folded), *(pair for pair in others if pair[0] in usual)],
            is_warning=bool(part.warnings),
        )


def _pairs(facts: Iterable[Fact]) -> list[tuple[str, str]]:
    return [(fact.label, fact.text) for fact in facts if fact.label]


def plan_document(engine: Engine) -> dict[str, Any]:
    """Return `plan` in `summary --json`: the raw values, None if unknown."""
    return {part.id: _part_object(part) for part in find_plan(engine)}


def _part_object(part: PlanPart) -> dict[str, Any]:
    return {
        **dict.fromkeys(part.keys),
        **{fact.key: fact.value for fact in part.facts},
        "other": dict(part.other),
        "at_default": [fact.key for fact in part.facts if fact.is_default],
        "missing": {fact.key: fact.reason for fact in part.facts if fact.reason},
        "warnings": list(part.warnings),
        "sources": sorted({fact.source for fact in part.facts}),
    }


def _text(value: str) -> str:
    return printable(shorten_middle(value, _LONGEST_VALUE)) or MISSING


def _unknown(key: str, label: str, reason: str, source: str) -> Fact:
    return Fact(key, label, None, f"{MISSING} ({reason})", source, reason=reason)


def _absent(engine: Engine, needed: str, *logs: ArtifactKind) -> str:
    """Return the sentence of a part that no file states; a log without it was not written by trtexec, or is cut.

    Args:
        logs: The kinds of logs that may state it; none for any.
    """
    kinds = logs or (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
    found = [kind for kind in kinds if kind in engine.files]
    if logs == (ArtifactKind.BUILD_LOG,):  # that of a run that loaded the engine says nothing about the build
        found = [kind for kind in found if not log_head(engine, kind).stated.build.get("Load engine")]
    return "Not stated in the log (trtexec prints it)." if found else f"Not stated (needs {needed})."


# Model


def _model(engine: Engine) -> PlanPart:
    return PlanPart(
        "model",
        "Model",
        tuple(_model_facts(engine)),
        ("file", "format", "marked_outputs", "inputs", "outputs", "batch", "batch_source"),
        _absent(engine, "layer information, a build log or build metadata"),
    )


def _model_facts(engine: Engine) -> Iterator[Fact]:
    in_log = build_run(engine).head.model
    log, metadata = ArtifactKind.BUILD_LOG.value, engine.metadata.sources.get("model_options", "")
    stated = {
        label: (text, log if label in in_log else metadata)
        for label, text in ({**engine.metadata.model_options, **in_log}).items()
        if isinstance(text, str)
    }
    manifest = engine.capture.model if engine.capture else None
    if manifest and not stated.get("Model", ("", ""))[0]:
        stated["Model"] = (manifest, ArtifactKind.MANIFEST.value)
    for key, label, name in (
        ("file", "File", "Model"),
        ("format", "Format", "Format"),
        ("marked_outputs", "Marked outputs", "Output"),
    ):
        text, source = stated.get(name, ("", ""))
        if text and source == metadata and is_cut(text):
            yield _unknown(key, label, CUT, source)
        elif text not in ("", "*"):
            yield Fact(key, label, text, _text(text), source)
    kinds = (ArtifactKind.GRAPH, ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
    graph = next((kind.value for kind in kinds if kind in engine.files), "")
    for key, label, is_input in (("inputs", "Inputs", True), ("outputs", "Outputs", False)):
        bindings = [binding for binding in engine.bindings if binding.is_input is is_input]
        if bindings:
            objects = [binding_object(binding) for binding in bindings]
            yield Fact(key, label, objects, describe_bindings(bindings), graph)
    batch = find_batch_size(engine)
    if batch is not None:
        yield Fact("batch", "Batch", batch.size, f"{batch.size} ({batch.source})", graph)
        yield Fact("batch_source", "", batch.source, "", graph)


def binding_object(binding: Binding) -> dict[str, Any]:
    """Return an input or output for JSON."""
    return {
        "name": binding.name,
        "shape": list(binding.shape) if binding.shape is not None else None,
        "dtype": binding.dtype.value if binding.dtype else None,
        "format": binding.format.text or None if binding.format else None,
    }


_MOST_BINDINGS = 6


def describe_bindings(bindings: Sequence[Binding]) -> str:
    """Return names, shapes and types of the first bindings, and the number of further ones."""
    texts = []
    for binding in bindings[:_MOST_BINDINGS]:
        shape = f" {format_shape(binding.shape)}" if binding.shape is not None else ""
        texts.append(printable(binding.name) + shape + (f" {binding.dtype.value}" if binding.dtype else ""))
    rest = len(bindings) - _MOST_BINDINGS
    more = f", and {rest} more" if rest > 0 else ""
    return ", ".join(texts) + more if texts else "unknown"


# Device

_QUANTITIES = (
    ("compute_capability", "Compute capability", str),
    ("sms", "SMs", "{:.0f}".format),
    ("clock_ghz", "SM clock", "{:g} GHz".format),
    ("memory_bytes", "Memory", format_bytes),
    ("memory_bus_bits", "Memory bus", "{:.0f} bits".format),
    ("memory_clock_ghz", "Memory clock", "{:g} GHz".format),
    ("shared_memory_per_sm_bytes", "Shared memory", lambda size: f"{format_bytes(size)} per SM"),
    ("l2_bytes", "L2 cache", format_bytes),
)
_WHOLE = ("sms", "memory_bytes", "memory_bus_bits", "shared_memory_per_sm_bytes", "l2_bytes")
_DEVICE_DETAILS = (
    ("device_index", "Device index", "Selected Device ID"),
    ("uuid", "UUID", "Selected Device UUID"),
)
_NOT_OF_DEVICE = frozenset({"Note", "TensorRT version", "Available Devices"})


def _device(engine: Engine) -> PlanPart:
    texts = timed_run(engine).device or build_run(engine).device
    known = DEVICE_LABELS | _NOT_OF_DEVICE | {label for _, _, label in _DEVICE_DETAILS}
    keys = ("name", *(key for key, _, _ in _QUANTITIES), "ecc", *(key for key, _, _ in _DEVICE_DETAILS))
    return PlanPart(
        "device",
        "Device",
        tuple(_device_facts(engine, texts)),
        keys,
        _absent(engine, "a log, or metadata, of a run"),
        {
            label: text
            for label, text in texts.items()
            if label not in known and not label.startswith("Device ") and not label.startswith("[")
        },
        tuple(_device_warnings(engine)),
    )


def _device_facts(engine: Engine, texts: Mapping[str, str]) -> Iterator[Fact]:
    metadata = engine.metadata
    reported = reported_device(metadata)
    dump = ArtifactKind.DEVICE_METADATA.value
    section = metadata.sources.get("device", dump)
    gpus = engine.capture.before.gpus if engine.capture and engine.capture.before else ()
    manifest = gpus[0] if len(gpus) == 1 else None
    is_named = metadata.device_name is not None
    if is_named:
        source = section if metadata.device.get("Selected Device") else dump
        yield Fact("name", "Name", metadata.device_name, _text(metadata.device_name or ""), source)
    elif manifest is not None and manifest.name:
        yield Fact("name", "Name", manifest.name, _text(manifest.name), ArtifactKind.MANIFEST.value)
    values = {**reported.numbers, "compute_capability": reported.compute_capability}
    for key, label, form in _QUANTITIES:
        value: Any = values.get(key)
        source = dump if reported.origins.get(key, "").startswith("device dump") else section
        if key == "compute_capability" and value is None and manifest is not None and not is_named:
            value, source = manifest.compute_capability, ArtifactKind.MANIFEST.value
        if value is not None:
            value = round(value) if key in _WHOLE else value
            yield Fact(key, label, value, printable(form(value)), source)
        elif reported.missing.get(key, NOT_STATED) != NOT_STATED:
            yield _unknown(key, label, printable(reported.missing[key]), section)
    runs = [timed_run(engine)] if device_differences(engine) else [timed_run(engine), build_run(engine)]
    bus = next((text for run in runs if "ECC" in (text := run.device.get("Memory Bus Width", ""))), None)
    if bus is not None:  # trex keeps only the number
        is_on = "ECC enabled" in bus
        yield Fact("ecc", "ECC", is_on, format_value(is_on), section)
    for key, label, name in _DEVICE_DETAILS:
        if texts.get(name):
            value = parse_number(texts[name]) if key == "device_index" else texts[name]
            yield Fact(key, label, value, _text(texts[name]), section, is_folded=True)


def _device_warnings(engine: Engine) -> Iterator[str]:
    different = {label: (built, ran) for label, built, ran in device_differences(engine)}
    if not different:
        return
    built, ran = (
        ", ".join(
            printable(pair[index] if label == "Selected Device" else f"{label} {pair[index]}")
            for label, pair in different.items()
        )
        for index in (0, 1)
    )
    yield f"Built on {built}; run on {ran}. Tactics were timed on the build GPU."


# Builder and run


def _builder(engine: Engine) -> PlanPart:
    run = build_run(engine)
    command = engine.capture.build_command if engine.capture else ()
    source = engine.metadata.sources.get("build_options", ArtifactKind.BUILD_METADATA.value)
    in_log = {**run.head.build, **run.head.system}
    stated = _stated(
        options_in_arguments(command, BUILD_OPTIONS),
        run.options,
        source,
        in_log,
        ArtifactKind.BUILD_LOG.value,
    )
    return _options_part(
        "builder",
        "Builder",
        BUILD_OPTIONS,
        stated,
        PROFILE_SHAPES,
        _absent(engine, "a build log or build metadata", ArtifactKind.BUILD_LOG),
    )


def _run(engine: Engine) -> PlanPart:
    run = timed_run(engine)
    command = engine.capture.command if engine.capture else ()
    has_log = ArtifactKind.PROFILE_LOG in engine.files
    log = (ArtifactKind.PROFILE_LOG if has_log else ArtifactKind.BUILD_LOG).value
    source = engine.metadata.sources.get("inference_options", ArtifactKind.PROFILE_METADATA.value)
    in_log = {**run.head.inference, **run.head.reporting} if run.head.inference else {}
    stated = _stated(options_in_arguments(command, RUN_OPTIONS), run.inference | in_log, source, in_log, log)
    stated.pop("Batch", None)
    return _options_part(
        "run",
        "Run",
        RUN_OPTIONS,
        stated,
        RUN_SHAPES,
        _absent(engine, "a profile log or profile metadata", ArtifactKind.PROFILE_LOG),
    )


_Stated = dict[str, tuple[str, str, bool]]
"""Label -> text, kind of the file, and whether trex may have cut the text."""


def _stated(
    given: Mapping[str, str], merged: Mapping[str, str], metadata: str, in_log: Mapping[str, str], log: str
) -> _Stated:
    """Return the options of a command line, metadata and a log, preferring the log."""
    manifest = ArtifactKind.MANIFEST.value
    stated = {label: (text, manifest, False) for label, text in given.items()} if not merged else {}
    for label, text in merged.items():
        is_logged = label in in_log
        stated[label] = (text.strip(), log if is_logged else metadata, not is_logged)
    return stated


def _options_part(
    id: str,  # noqa: A002 - the field's name
    title: str,
    table: Sequence[Option],
    stated: _Stated,
    shapes: Option,
    absent: str,
) -> PlanPart:
    facts: list[Fact] = []
    used: set[str] = set()
    for option in table:
        label = next((label for label in option.labels if label in stated), None)
        fact = None if label is None else _option_fact(option, *stated[label])
        if fact is not None and label is not None:
            facts.append(fact)
            used.add(label)
    labels = [label for label in stated if label.startswith(shapes.labels)]
    if labels and (fact := _shapes_fact(shapes, {label: stated[label] for label in labels})):
        facts.append(fact)
        used.update(labels)
    other = {
        label: f"{MISSING} ({CUT})" if may_be_cut and is_cut(text) else text
        for label, (text, _, may_be_cut) in stated.items()
        if label not in used
    }
    return PlanPart(id, title, tuple(facts), (*(option.key for option in table), shapes.key), absent, other)


def _shapes_fact(option: Option, stated: _Stated) -> Fact | None:
    """Return the shapes of all inputs, and of all optimization profiles; None for an unknown form."""
    shapes: list[dict[str, Any]] = []
    source = next(iter(stated.values()))[1]
    for label, (text, _, may_be_cut) in stated.items():
        if option.is_default(text):
            continue
        parsed = option.parse(text)
        if parsed is None:
            return _unknown(option.key, option.label, CUT, source) if may_be_cut else None
        profile = find_profile_index(label)
        shapes += [shape if profile is None else {"profile": profile, **shape} for shape in parsed]
    text = _text(option.format(shapes)) if shapes else "from the model"
    return Fact(option.key, option.label, shapes or None, text, source, not shapes, not shapes)


def _option_fact(option: Option, text: str, source: str, may_be_cut: bool) -> Fact | None:
    """Return the fact in a text; None for an unknown form."""
    if may_be_cut and option.is_cut(text):
        unknown = _unknown(option.key, option.label, CUT, source)
        return replace(unknown, is_folded=not option.is_main)
    is_default = option.is_default(text)
    is_folded = option.is_detail or (is_default and not option.is_main)
    value = option.parse(text)
    if value is None:
        if not is_default:
            return None
        return Fact(option.key, option.label, None, printable(text) or "none", source, is_default, is_folded)
    shown = _text(option.text(value))
    return Fact(option.key, option.label, value, shown, source, is_default, is_folded)
