"""Terms of the plan: model, device, builder and run. Options have the texts of `analysis.trtexec_options`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trex_tui.old.analysis.trtexec_options import (
    BUILD_OPTIONS,
    PROFILE_SHAPES,
    RUN_OPTIONS,
    RUN_SHAPES,
    Option,
)
from trex_tui.old.report.glossary.term import Subject, Term

_DEVICE = "device information"


def _options(part: str, options: Sequence[Option]) -> Iterator[Term]:
    for option in options:
        yield Term(
            f"plan.{part}.{option.key}",
            f"{option.help}.",
            labels=(option.label,),
            source=f"trtexec: {', '.join(option.labels)}",
            entries="pools; null for the default" if option.key == "memory_pools_bytes" else "",
        )


PLAN = Subject(
    "plan",
    "Plan",
    "Overview; summary, report",
    "metadata, log, or manifest of the capture",
    (
        Term("engines.plan", "Model, device, builder and run of the engine.", labels=("plan",)),
        Term("plan.model", "Model that the engine was built from.", labels=("Model",)),
        Term("plan.device", "GPU of the run, as the files state it."),
        Term("plan.builder", "Options of trtexec that built the engine.", labels=("Builder",)),
        Term("plan.run", "Options of trtexec that ran the engine.", labels=("Run",)),
        Term("plan.*.other", "Unknown options, unchanged.", entries="labels of trtexec"),
        Term("plan.*.at_default", "Keys whose value is trtexec's default; summary --all shows them."),
        Term("plan.*.missing", "Why a value is null.", entries="keys of the same object"),
        Term("plan.*.warnings", "Contradictions, in sentences."),
        Term("plan.*.sources", "Kinds of the files that state the part."),
        Term("plan.model.file", "File of the model, as it was given to trtexec.", labels=("File",)),
        Term("plan.model.format", "Format of the model: ONNX.", labels=("Format",)),
        Term("plan.model.marked_outputs", "Tensors marked as outputs.", labels=("Marked outputs",)),
        Term("plan.model.inputs", "Inputs of the engine, with shape and type.", also=("plan.model.outputs",)),
        Term("model.inputs.shape", "Extents; -1 for a dynamic one.", also=("model.outputs.shape",)),
        Term("model.inputs.dtype", "Data type.", also=("model.outputs.dtype",)),
        Term("model.inputs.format", "Memory layout.", also=("model.outputs.format",)),
        Term("plan.model.batch", "Samples in a query.", labels=("Batch",)),
        Term("plan.device.sms", "Streaming multiprocessors.", labels=("SMs",), source=f"{_DEVICE}: SMs"),
        Term("plan.device.clock_ghz", "Highest clock of the SMs.", labels=("SM clock",), source=_DEVICE),
        Term("plan.device.memory_bytes", "Global memory.", labels=("Memory",), source=_DEVICE),
        Term(
            "plan.device.memory_bus_bits", "Width of the memory bus.", labels=("Memory bus",), source=_DEVICE
        ),
        Term("plan.device.memory_clock_ghz", "Memory clock.", labels=("Memory clock",), source=_DEVICE),
        Term(
            "plan.device.shared_memory_per_sm_bytes",
            "Shared memory of an SM.",
            labels=("Shared memory",),
            source=_DEVICE,
        ),
        Term("plan.device.l2_bytes", "L2 cache.", labels=("L2 cache",), source="device attributes"),
        Term("plan.device.ecc", "True if the memory corrects errors.", labels=("ECC",), source=_DEVICE),
        Term("plan.device.device_index", "Number of the GPU.", labels=("Device index",), source=_DEVICE),
        Term("plan.device.uuid", "UUID of the GPU.", labels=("UUID",), source=_DEVICE),
        *_options("builder", (*BUILD_OPTIONS, PROFILE_SHAPES)),
        *_options("run", (*RUN_OPTIONS, RUN_SHAPES)),
        Term("optimization_profiles.profile", "Number of the optimization profile."),
        Term("optimization_profiles.min", "Smallest extents."),
        Term("optimization_profiles.opt", "Extents that tactics are chosen for."),
        Term("optimization_profiles.max", "Largest extents."),
        Term("shapes.shape", "Extents.", also=("optimization_profiles.shape",)),
    ),
)
