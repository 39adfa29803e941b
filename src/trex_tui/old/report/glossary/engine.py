"""Terms of an engine: identity, memory, compute, roofline and structure."""

from __future__ import annotations

from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.report.glossary.term import Subject, Term

_GROUPS = (
    "by_precision.*",
    "by_tensor_cores.*",
    "streams",
    "by_kind",
    "by_precision",
    "by_device.*",
    "by_device",
    "by_tensor_cores",
    "by_bound",
    "by_module",
    "groups",
    "kind_precision",
    "kind_output_precision",
    "reformat_origin",
    "pointwise_operations",
    "kind_tactic",
)
"""Objects and tables of groups of layers."""
_FILES = {
    ArtifactKind.GRAPH: "Layer information, of --exportLayerInfo or IEngineInspector: layers, tensors, kernels.",
    ArtifactKind.PROFILE: "Profile, of --exportProfile: time per layer.",
    ArtifactKind.TIMING: "Timing rows, of --exportTimes: a row per query.",
    ArtifactKind.BUILD_METADATA: "Options and device of the build.",
    ArtifactKind.PROFILE_METADATA: "Performance summary, options and device of the timing run.",
    ArtifactKind.DEVICE_METADATA: "Device attributes, as old versions of trex wrote them.",
    ArtifactKind.BUILD_LOG: "Log of the build.",
    ArtifactKind.PROFILE_LOG: "Log of the run that was profiled and timed.",
    ArtifactKind.PLAN: "The serialized engine; only its header is read.",
    ArtifactKind.ACCURACY: "Comparison of the engine's outputs with those of another, of trex-tui accuracy.",
    ArtifactKind.MONITOR: "Samples of power, temperature and clocks while it ran.",
    ArtifactKind.IDLE_POWER: "Power of the idle board.",
    ArtifactKind.SESSION: "Profile of a session of ONNX Runtime, in which the engine is a node.",
    ArtifactKind.MANIFEST: "Manifest of trex-tui capture: how the set was made.",
}
"""Kinds of files of a set."""

ENGINE = Subject(
    "engine",
    "Engine",
    "Overview; summary, report",
    "layer information and metadata",
    (
        Term("engines.name", "Name of the engine: the stem its files share.", also=("results.name",)),
        Term(
            "summary.split_models",
            "Models that Torch-TensorRT split into several of the engines, with the sums over these.",
        ),
        Term("split_models.name", "Directory of the engines, or the common beginning of their names."),
        Term("split_models.latency_sum_ms", "Sum of the layer times of all engines with times.", unit="ms"),
        Term("split_models.layers", "Layers of all engines."),
        Term("split_models.engines_without_times", "Engines without a profile, not in the sum."),
        Term(
            "split_models.missing_parts",
            "Numbers of parts without files: run by PyTorch, or stored elsewhere.",
        ),
        Term("split_models.parts", "The engines in order of their numbers."),
        Term("files", "Files of the engine, by kind.", labels=("Files",)),
        *(
            Term(
                f"files.{kind.value}",
                text,
                labels=(kind.value.replace("_", " ").capitalize(),),
                source="found by content and name",
            )
            for kind, text in _FILES.items()
        ),
        Term(
            "tensorrt_version",
            "Version of TensorRT that built or ran the engine.",
            also=("engines.tensorrt",),
            labels=("TensorRT",),
            source="log, plan, or manifest of the capture; else the name of a library in a log",
        ),
        Term(
            "tensorrt_version_source",
            "File kind that states the version; after a colon, the library with the version in its name.",
        ),
        Term(
            "engines.device",
            "Name of the GPU.",
            labels=("Device",),
            source="device information: Selected Device",
        ),
        Term(
            "engines.precision",
            "Main precision: the one with most time in compute layers.",
            labels=("Precision",),
        ),
        Term(
            "builder_precision",
            "Precisions that the builder was allowed to use.",
            source="build options: Precision",
        ),
        Term(
            "engines.layers",
            "Number of layers, including no-ops.",
            labels=("Layers",),
            gates=("layers",),
        ),
        Term(
            "names_only",
            "True if the files have layer names only: the engine was built without detailed verbosity.",
        ),
        Term(
            "layer_details_source",
            "Kind of the log that layer types, shapes, data types and tactics are from; null where they are from no log.",
            source="the list of layers in a verbose log: `Engine Layer Information:` or --dumpLayerInfo",
        ),
        Term("optimization_profile", "Optimization profile shown, from 0."),
        Term("optimization_profiles", "Number of optimization profiles of the engine."),
        Term(
            "engines.runs",
            "Runs of the files that hold several; the engine shows one run of each file.",
            labels=("Runs",),
        ),
        Term("times.engines.runs", "Runs of the file that the latency is of, where it holds several."),
        Term("build-log.measured_runs", "Runs of the log that measured, where it holds several."),
        *(
            Term(f"runs.{key}", text, also=(f"measured_runs.{key}",))
            for key, text in (
                ("file", "File that holds the run."),
                (
                    "run",
                    "Position of the run in its file, from 1; `--run` takes it. In a log only runs that measured count.",
                ),
                ("shown", "True if the numbers of the engine are those of this run."),
                ("stage", "Stage of an engine of TensorRT-Edge-LLM, such as `prefill`, with its parameters."),
                ("profile_layers", "Rows of its profile."),
                ("iterations", "Iterations of its profile."),
                ("latency_sum_ms", "Sum of the average times of its layers."),
                ("queries", "Rows of its timing."),
                ("median_ms", "Median host latency of its timing rows, or as the log states it."),
                ("throughput_qps", "Throughput of the run as the log states it."),
            )
        ),
        Term(
            "runs.options",
            "Options of the command line that the other runs do not have.",
            source="log beside the file",
            also=("measured_runs.options",),
        ),
        Term("engines.bindings", "Inputs and outputs of the network."),
        Term("bindings.inputs", "Inputs of the network.", labels=("Inputs",)),
        Term("bindings.outputs", "Outputs of the network.", labels=("Outputs",)),
        Term(
            "bindings.undetermined",
            "Bindings of which the files do not state whether they are inputs or outputs.",
        ),
        *(
            Term(
                f"bindings.inputs.{key}",
                text,
                also=(f"bindings.outputs.{key}", f"bindings.undetermined.{key}"),
            )
            for key, text in (
                ("name", "Name of the binding."),
                ("shape", "Shape of the binding; -1 for a dynamic extent."),
                ("dtype", "Type of its elements."),
                ("format", "Memory layout, as the file states it."),
            )
        ),
        Term("by", "Names of the columns by which `summary --by` groups the layers."),
        Term(
            "engines.groups",
            "Layers with the same values in these columns, and their time. Null: the value is unknown.",
            entries="columns",
        ),
        Term("engines.by_kind", "Layers and time by kind of layer.", entries="kinds of layers"),
        Term(
            "engines.by_precision",
            "Layers and time by the precision that layers compute in.",
            entries="precisions",
        ),
        Term(
            "engines.by_device",
            "Layers and time by device, of an engine with DLA blocks. A row that waits for a block counts as DLA.",
            labels=("By device",),
            entries="devices",
        ),
        Term(
            "by_kind.*.layers",
            "Layers of the group, those without a time included.",
            also=tuple(f"{group}.layers" for group in _GROUPS),
        ),
        Term(
            "by_kind.*.latency_ms",
            "Time of the group: sum of its layers' times; null if none of them was profiled.",
            also=tuple(f"{group}.latency_ms" for group in _GROUPS),
            formula="Σ averageMs",
            source="profile",
        ),
        Term(
            "by_kind.*.latency_pct",
            "Share of the group in the sum of all layers.",
            also=tuple(f"{group}.latency_pct" for group in _GROUPS),
            formula="100 · latency_ms / latency_sum_ms",
            source="profile",
        ),
        Term(
            "by_kind.key",
            "Name of the group.",
            also=tuple(f"{group}.key" for group in _GROUPS if group != "by_kind"),
        ),
        Term(
            "engines.latency_sum_ms",
            (
                "Sum of the layers' times. Layers are timed one by one, so this is not an end-to-end latency; "
                "see gap."
            ),
            labels=("Layer times", "Sum of the layers' times"),
            gates=("latency_sum_ms",),
            formula="Σ averageMs",
            source="profile",
        ),
        Term("profile_iterations", "Iterations of the profile run.", source="profile: count"),
        Term(
            "known_weights_bytes",
            "Weights of the layers that state them: a lower bound if layers hide theirs.",
            labels=("Weights",),
        ),
        Term(
            "engines.weights_bytes",
            "Weights of all layers; if a layer hides its weights, the sum from a log, else null.",
            also=("engines.weights",),
            labels=("Weights",),
            gates=("weights_bytes",),
        ),
        Term("layers_hiding_weights", "Layers that have weights and do not state their size."),
        Term("engines.capture", "Capture of the set; null without a manifest."),
        Term("engines.notes", "Missing files of the set, or why it cannot be read.", labels=("Missing",)),
        Term("engines.diagnostics", "Remarks on the engine's files.", labels=("Notes",)),
        Term(
            "Options",
            "Options that trtexec stated; not there without a log and metadata.",
            source="log and metadata",
        ),
        Term(
            "Built with",
            "Options of the build that differ from trtexec's defaults.",
            source="build options of metadata or log",
        ),
        Term(
            "Run with",
            "Options of the timing run that differ from trtexec's defaults.",
            source="inference options of metadata or log",
        ),
        Term("figures.figure", "Path of the figure in summary --json."),
        Term("figures.title", "Name of the figure."),
        Term("figures.unit", "Unit of the value."),
    ),
)

MEMORY = Subject(
    "memory",
    "Memory",
    "Overview, Memory; summary, report",
    "layer information: shapes, types and formats of the tensors",
    (
        Term("engines.memory", "Traffic and live memory of one inference."),
        Term(
            "traffic_bytes",
            "Bytes that all layers read and write in one inference, weights included. Null if a size is unknown.",
            labels=("Traffic per inference", "traffic"),
            formula="Σ over layers of inputs + outputs + weights, padding included",
        ),
        Term(
            "memory.stated",
            "Memory according to the logs; null if missing or not read.",
        ),
        Term("stated.weights_bytes", "Weights of the engine that the builder kept."),
        Term(
            "stated.activation_bytes",
            "Activation memory that the builder planned.",
            source="Total Activation Memory",
        ),
        Term(
            "stated.scratch_bytes",
            "Scratch memory of the layers.",
            labels=("Scratch",),
            source="Max or Total Scratch Memory",
        ),
        Term(
            "stated.context_bytes",
            "Device memory of the execution context, which holds the activations.",
            labels=("Context",),
        ),
        Term("stated.engine_bytes", "Size of the serialized engine.", labels=("Engine size",)),
        Term(
            "stated.engine_mib",
            "Size of the serialized engine in whole MiB, rounded down; `Loaded engine size` has no more digits.",
        ),
        Term(
            "peak_live_activation_bytes",
            "Peak of live activation memory over layers: a lower bound with perfect sharing, without "
            "alignment and scratch space. Network inputs, outputs and weights are excluded.",
            labels=(
                "live memory",
                "Activations",
                "Activations live at once",
                "activation memory",
            ),
            gates=("activation_peak_bytes",),
            formula="largest sum over layers of the tensors between their first write and last read, padded",
        ),
        Term("peak_layer", "First layer at which the peak is reached."),
        Term("live_at_peak", "Largest tensors live at the peak."),
        Term("live_at_peak.name", "Name of the tensor."),
        Term("live_at_peak.allocated_bytes", "Its size, padding included; null if a dimension is dynamic."),
        Term("live_at_peak.type", "Shape, type and format of the tensor."),
        Term("live_at_peak.first", "Index of the layer that writes it first."),
        Term("live_at_peak.last", "Index of the layer that reads it last."),
        Term("live_at_peak_count", "Number of tensors live at the peak."),
        Term(
            "tensors_of_unknown_size",
            "Tensors of unknown size, excluded: the peak is a lower bound.",
        ),
        Term("memory_by_kind.key", "Kind of the layers."),
        Term("memory_by_kind.layers", "Layers of the kind."),
    ),
)

COMPUTE = Subject(
    "compute",
    "Compute and roofline",
    "Overview, Charts; summary, report",
    "layer information, profile, and the model of the device",
    (
        Term("engines.compute", "Multiply-accumulates of one inference.", labels=("Compute",)),
        Term(
            "compute.macs",
            (
                "Multiply-accumulates of all convolutions, GEMMs and attentions with known shapes. 1 MAC is 2 "
                "FLOP."
            ),
            labels=("Multiply-accumulates",),
        ),
        Term("layers_with_macs", "Layers whose MACs are known."),
        Term("layers_without_macs", "Compute layers with unknown MACs.", entries="reasons"),
        Term(
            "by_tensor_cores",
            "Time of the layers that multiply, by whether their kernels use tensor cores.",
            entries="yes, no, unknown",
            source="layer information: TacticName",
        ),
        Term("engines.roofline", "Layers against the peaks of the device.", labels=("Roofline",)),
        Term(
            "floor_ms",
            "Launch floor: time of the shortest layers. Layers near it are launch-bound. Null below 20 "
            "timed layers.",
            labels=("launch floor", "floor"),
        ),
        Term(
            "layers_by_bound",
            "Layers by limit: compute, bandwidth, latency, or launch.",
            labels=("Bound by",),
            entries="bounds",
        ),
        Term(
            "latency_ms_by_bound",
            "Layer time by limit.",
            entries="bounds",
            unit="milliseconds",
        ),
        Term(
            "roof_pct_by_bound",
            "Share of the roof that the layers of each bound reach.",
            entries="bounds",
            unit="percent",
            formula="100 · sum of roof_ms / sum of latency_ms",
        ),
        Term("roofline.notes", "Layers without a roofline, with reasons."),
        Term("roofline.assumptions", "Assumptions of the roofline.", labels=("Assumed",)),
        Term(
            "device_model",
            "GPU figures of the roofline; null if unknown.",
        ),
        Term("device_model.name", "Name of the GPU.", source="device information: Selected Device"),
        Term(
            "compute_capability",
            "Compute capability, 8.6 for instance.",
            source="device information: Compute Capability",
        ),
        Term("device_model.sms", "Streaming multiprocessors.", source="device information: SMs"),
        Term("clock_ghz", "Compute clock.", source="device information: Compute Clock Rate"),
        Term("memory_bus_bits", "Width of the memory bus.", source="device information: Memory Bus Width"),
        Term("memory_clock_ghz", "Memory clock.", source="device information: Memory Clock Rate"),
        Term(
            "device_model.memory_bytes", "Global memory.", source="device information: Device Global Memory"
        ),
        Term(
            "peak_bandwidth_bytes_per_s",
            "Peak memory bandwidth.",
            formula="bus width / 8 · memory clock · 2",
            source="device information, a table of GPUs, or --peak bandwidth",
        ),
        Term("tensor_factor", "Factor of the tensor-core rates of this GPU against its architecture."),
        Term(
            "stated_peaks", "Peaks stated by --peak or trex-tui.toml.", entries="precisions", is_verbatim=True
        ),
        Term("stated_in", "Source of these peaks."),
        Term("device_model.architecture", "Rates of the GPU's architecture; null for an unknown one."),
        Term("architecture.name", "Name of the architecture."),
        Term("architecture.rates", "Multiply-accumulates per SM and clock.", is_verbatim=True),
        Term("is_integrated", "True if CPU and GPU share their memory, as on a Jetson."),
        Term("sparsity_doubles", "True if structured sparsity doubles the tensor-core rate."),
        Term("tensor_clock_scale", "Clock of the tensor cores over the stated clock."),
        Term("tensor_clock_tag", "Confidence of the scale."),
        Term("tensor_clock_sources", "Sources of that scale.", is_verbatim=True),
        Term("architecture.note", "Notes on the architecture."),
        Term("device_model.origins", "Source of each figure.", entries="figures of the device"),
        Term("device_model.missing", "Missing figures, with reasons.", entries="figures of the device"),
        Term("device_model.assumptions", "Assumptions of the figures.", is_verbatim=True),
        Term("device_model.overrides", "Figures stated by --peak or trex-tui.toml.", is_verbatim=True),
    ),
)

STRUCTURE = Subject(
    "structure",
    "Structure",
    "Overview, Layers; summary, report",
    "layer information (tensors link the layers), and profile",
    (
        Term("engines.structure", "Critical path, streams, reformats and modules."),
        Term(
            "critical_path",
            "Chain of layers, each feeding the next, that takes longest. No schedule over streams can be faster. For an "
            "engine without branches it is the sum of all layers.",
            labels=("Critical path",),
        ),
        Term("critical_path.latency_ms", "Time of the critical path.", formula="Σ averageMs of its layers"),
        Term("critical_path.latency_pct", "Its share of the sum of all layers."),
        Term("critical_path.layers", "Indices of its layers, in execution order."),
        Term(
            "structure.streams",
            "Layers and time by stream. Streams overlap, so times do not add up to a latency.",
            labels=("Streams",),
            source="layer information: StreamId",
        ),
        Term("streams_note", "Meaning of the streams, in a sentence."),
        Term("device_transitions", "Changes of execution between GPU and DLA.", is_verbatim=True),
        Term(
            "structure.reformats",
            "Layers that only change type or layout of a tensor: time without work on the network.",
            labels=("Reformats",),
        ),
        Term("structure.reformats.layers", "Number of reformats."),
        Term("structure.reformats.latency_ms", "Time of all reformats."),
        Term("reformats.slowest", "The reformats that take longest.", is_verbatim=True),
        Term("structure.by_module", "Layers and time by module of the network.", also=("modules.by_module",)),
        Term("by_module.module", "Module of the network, from the names of the ONNX nodes."),
        Term("by_module.name", "Module of the network, from the names of the ONNX nodes."),
        Term("by_module_note", "Effect of fused layers on the modules."),
    ),
)
