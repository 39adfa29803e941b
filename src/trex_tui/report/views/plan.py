"""Model, device, build and run of an engine, as files state them: options at their default are folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from trex_tui.analysis.device import FACTS as DEVICE
from trex_tui.analysis.device import find_device
from trex_tui.analysis.options import (
    SETTINGS,
    StatedOption,
    build_run,
    build_settings,
    device_differences,
    find_batch,
    find_log,
    run_settings,
    timed_run,
)
from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_rows
from trex_tui.report.document import Fact, Section
from trex_tui.text import MISSING, format_bytes, format_shape, printable, shorten_middle

_CUT = "truncated in the metadata; complete in the log"
_NOTHING = "Not stated (needs {})."
_LONGEST_VALUE = 200
_MOST_BINDINGS = 6
MODEL = by_key(
    Column("file", "File", "Model that the engine was built from."),
    Column("format", "Format", "Format of the model."),
    Column("marked_outputs", "Marked outputs", "Tensors marked as outputs."),
    Column("inputs", "Inputs", "Inputs of the network.", source="layer information"),
    Column("outputs", "Outputs", "Outputs of the network.", source="layer information"),
    Column("batch", "Batch", "Samples per query.", source="inputs, else options of the run or the build"),
)
_DEVICE_TEXTS: dict[str, Callable[[Any], str]] = {
    "sms": str,
    "clock_ghz": "{:g} GHz".format,
    "memory_bytes": format_bytes,
    "memory_bus_bits": "{:.0f} bits".format,
    "memory_clock_ghz": "{:g} GHz".format,
    "l2_bytes": format_bytes,
}


def plan_sections(engine: Engine) -> Iterator[Section]:
    """Yield model, device, builder and run."""
    yield _model_section(engine)
    yield _device_section(engine)
    needs = {
        "builder": "trtexec's log or metadata of the build",
        "run": "trtexec's log or metadata of the run",
    }
    for key, settings in (("builder", build_settings(engine)), ("run", run_settings(engine))):
        yield _settings_section(key, settings, _NOTHING.format(needs[key]))


def _model_section(engine: Engine) -> Section:
    stated = {label: text for label, text in engine.facts.model_options.items() if isinstance(text, str)}
    log = find_log(engine, FileKind.BUILD_LOG)
    stated |= log.options.model if log is not None else {}
    if not stated.get("Model") and engine.capture is not None and engine.capture.model:
        stated["Model"] = engine.capture.model
    facts = [
        Fact(MODEL[key], stated[label], _fit(stated[label]))
        for key, label in (("file", "Model"), ("format", "Format"), ("marked_outputs", "Output"))
        if stated.get(label, "") not in ("", "*")
    ]
    for key in ("inputs", "outputs"):
        rows = engine.bindings[engine.bindings["role"].eq(key[:-1]).fillna(False)]
        if len(rows):
            facts.append(Fact(MODEL[key], plain_rows(rows), describe_bindings(rows)))
    batch = find_batch(engine)
    if batch is not None:
        facts += [
            Fact(MODEL["batch"], batch[0], f"{batch[0]} ({batch[1]})"),
            Fact(Column("batch_source", ""), batch[1]),
        ]
    sentence = _NOTHING.format("layer information with bindings, or trtexec's log or metadata of the build")
    return Section("model", "Model", facts, [] if facts else [sentence])


def describe_bindings(bindings: pd.DataFrame) -> str:
    """Return names, shapes and types of the first bindings, and the number of further ones."""
    texts = []
    for row in plain_rows(bindings.head(_MOST_BINDINGS)):
        shape = f" {format_shape(row['shape'])}" if row["shape"] is not None else ""
        texts.append(printable(row["name"]) + shape + (f" {row['dtype']}" if row["dtype"] else ""))
    rest = len(bindings) - _MOST_BINDINGS
    return ", ".join(texts) + (f", and {rest} more" if rest > 0 else "")


def _device_section(engine: Engine) -> Section:
    device, texts = find_device(engine), {**build_run(engine).device, **timed_run(engine).device}
    name = device.name
    gpus = engine.capture.before.gpus if engine.capture and engine.capture.before else ()
    if name is None and len(gpus) == 1:
        name = gpus[0].name
    facts = [Fact(DEVICE["name"], name)] if name else []
    for key in ("architecture", "compute_capability", *_DEVICE_TEXTS):
        value, write = getattr(device, key), _DEVICE_TEXTS.get(key, str)
        if value is not None:
            facts.append(Fact(DEVICE[key], value, printable(write(value))))
        elif key in device.missing and device.missing[key] != "not in any file" and device.name:
            facts.append(Fact(DEVICE[key], None, f"{MISSING} ({printable(device.missing[key])})"))
    buses = (run.device.get("Memory Bus Width", "") for run in (timed_run(engine), build_run(engine)))
    if bus := next((bus for bus in buses if "ECC" in bus), ""):  # trex keeps the number only
        is_on = "ECC enabled" in bus
        facts.append(
            Fact(Column("ecc", "ECC", "Error correction of the memory."), is_on, "on" if is_on else "off")
        )
    if uuid := texts.get("Selected Device UUID"):
        facts.append(Fact(Column("uuid", "UUID", "Identity of the GPU."), uuid, is_folded=True))
    warnings = list(_describe_differences(engine))
    peaks = {
        "peak_bandwidth_bytes_per_s": device.peak_bandwidth_bytes_per_s,
        "tensor_factor": device.tensor_factor,
        "origins": device.origins,
        "missing": device.missing,
        "assumptions": device.assumptions,
        "overrides": device.overrides,
    }
    sentences = warnings if facts else [_NOTHING.format("trtexec's log or metadata of a run")]
    return Section("device", "Device", facts, sentences, data=peaks, is_warning=bool(warnings))


def _describe_differences(engine: Engine) -> Iterator[str]:
    different = device_differences(engine)
    if different:
        built, ran = (
            ", ".join(
                printable(row[place] if row[0] == "Selected Device" else f"{row[0]} {row[place]}")
                for row in different
            )
            for place in (1, 2)
        )
        yield f"Built on {built}; run on {ran}. Tactics were timed on the build GPU."


def _settings_section(key: str, settings: Sequence[StatedOption], sentence: str) -> Section:
    facts: list[Fact] = []
    for option in settings:
        column = Column("", printable(option.label)) if option.key is None else SETTINGS[option.key]
        value, text = option.value, f"{MISSING} ({_CUT})" if option.is_cut else _fit(option.text)
        if column.unit.name and isinstance(value, int | float) and not isinstance(value, bool):
            text = f"{value:g} {column.unit.name}"
        facts.append(Fact(column, value, text, is_folded=option.is_folded))
    data: dict[str, Any] = {
        "other": {option.label: option.text for option in settings if option.key is None},
        "at_default": [option.key for option in settings if option.is_default],
        "missing": {option.key: _CUT for option in settings if option.is_cut and option.key},
    }
    return Section(key, key.capitalize(), facts, [] if facts else [sentence], data=data if facts else None)


def _fit(text: str) -> str:
    return printable(shorten_middle(text, _LONGEST_VALUE)) or MISSING
