"""Words of TensorRT, trtexec and this program, explained; every number is explained by its `Column`.

`explain`, `i` in the explorer and tooltips read these. A name of a layer or a tactic is explained by its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from trex_tui.column import Column
from trex_tui.engine.layer_words import CONTINUATION, LAYER_TYPES, OPERATORS
from trex_tui.engine.names import describe_name
from trex_tui.engine.tactics import list_parts, parse_tactic
from trex_tui.text import close_matches, printable


class Term(NamedTuple):
    """A word or a number with its meaning.

    Attributes:
        name: As written in files, or the key of a column.
        meaning: The answer in the first sentence.
        labels: Other names: headings, aliases.
        subject: What it belongs to.
    """

    name: str
    meaning: str
    labels: tuple[str, ...] = ()
    subject: str = ""
    unit: str = ""
    formula: str = ""
    source: str = ""
    words: Mapping[str, str] | None = None


_SIGNS = (
    Term("+", "`a + b`: both nodes run in one kernel, b after a."),
    Term("||", "`a || b`: nodes with the same input and like weights, merged into one kernel side by side."),
    Term("PWN", "`PWN(a, b)`: pointwise operators fused into one kernel.", ("PWN()", "PWN_")),
    Term(
        "ForeignNode",
        "`{ForeignNode[a...b]}`: all nodes from a to b, compiled by Myelin and listed as one layer: a closed block. Its "
        "kernels are listed by TensorRT 10 with `--profilingVerbosity=detailed`.",
        ("{ForeignNode[a...b]}", "{ForeignNode}", "closed block"),
    ),
    Term(
        "Reformatting CopyNode",
        "`Reformatting CopyNode for Input Tensor 0 to X`: copy that changes the layout or type of input 0 of layer X.",
        ("Reformatting CopyNode for Input Tensor", "Reformatting CopyNode for Output Tensor", "CopyNode"),
    ),
    Term("(Unnamed Layer* N)", "Layer N of the network, which has no name there. The type follows in brackets.",
         ("Unnamed Layer", "(Unnamed Layer*")),
    Term(
        "__myl_",
        "Kernel that Myelin generated; the operators follow, abbreviated to four letters. `_myl0_3` at the end: subgraph 0, "
        "kernel 3.",
        ("myl", "__mye", "_myl0_3"),
    ),
    Term("__myln_", "Tensor or argument inside a Myelin subgraph.", ("__myln_k_arg",)),
    Term(CONTINUATION, "At the end of a generated name: the kernel has more operators than the name holds."),
    Term("to nvm", "`X to nvm`: copy of a tensor from the GPU to the DLA.", ("from nvm", "copy finish")),
    Term("clone", "`X_clone_1`: copy of a node, made so that each consumer can fuse its own."),
    Term("[MATRIX_MULTIPLY]-[", "Name of Torch-TensorRT: type of the layer, operator of ATen, node of the module.",
         ("aten_ops",)),
    Term("gemm_mha_v2", "Fused multi-head attention of Myelin: both matrix products and the softmax in one kernel.",
         ("_gemm_mha_v2",)),
)  # fmt: skip
_TRTEXEC = (
    Term("averageMs", "Mean time of a layer over the profiled runs, of `--exportProfile`.", ("avgMs",)),
    Term("medianMs", "Median time of a layer over the profiled runs, of `--exportProfile`."),
    Term("timeMs", "Sum of a layer's times over all profiled runs, of `--exportProfile`."),
    Term("percentage", "Share of a layer in the time of all layers. Layers are profiled one by one, so their sum differs "
         "from the latency."),
    Term("Enqueue Time", "Time that the host needs to launch an inference. Near or above GPU Compute Time, the GPU waits "
         "for the host."),
    Term("H2D Latency", "Time to copy the inputs from host to device.", ("H2D",)),
    Term("D2H Latency", "Time to copy the outputs from device to host.", ("D2H",)),
    Term("GPU Compute Time", "Time from the first to the last kernel of an inference."),
    Term("Latency", "H2D Latency, GPU Compute Time and D2H Latency of an inference, added.", ("Host Latency",)),
    Term("Throughput", "Inferences by Total Host Walltime. Inferences overlap, so it may exceed 1 / latency.", ("qps",)),
    Term("Total Host Walltime", "Time from the first enqueue after the warm-up until the last inference has ended.",
         ("Host Walltime",)),
    Term("Total GPU Compute Time", "GPU Compute Time of all inferences, added. Far below Total Host Walltime, the GPU was "
         "idle."),
    Term("percentile", "p99: 99 % of the queries are at most as slow.", ("p50", "p90", "p95")),
    Term("coefficient of variation", "Standard deviation in percent of the mean: the spread of a run.", ("cv",)),
    Term("warm-up", "Inferences before the measurement, 200 ms unless `--warmUp` differs. They are not counted.",
         ("warmUp",)),
    Term("CUDA graph", "All launches of an inference recorded and replayed as one (`--useCudaGraph`). It lowers the enqueue "
         "time."),
    Term("infStreams", "Number of concurrent inferences (`--infStreams`, `--streams` before 8.6).", ("--infStreams",)),
    Term("profile run", "Pass of trtexec that times each layer (`--exportProfile`); it is slower than the timing run.",
         ("--separateProfileRun", "separateProfileRun")),
    Term("timing run", "Pass of trtexec that times whole queries (`--exportTimes`)."),
    Term("profiling overhead", "Time that the profile adds to each layer: sum of the layers minus the compute time, by the "
         "number of layers. Usually 2 to 6 µs."),
)  # fmt: skip
_BUILD = (
    Term("engine", "Network that TensorRT has built for a GPU: kernels, weights and their order."),
    Term("plan", "Serialized engine: the file of `--saveEngine`. It begins with `ftrt` and the version of TensorRT, before "
         "8.6 with `ptrt`, of TensorRT-RTX with `vtrt`.", ("ftrt", "ptrt", "vtrt", "engine file")),
    Term("binding", "Input or output of the network.", ("I/O tensor",)),
    Term("tactic", "One kernel that can compute a layer. The builder times the candidates and keeps the fastest."),
    Term("timing cache", "Times of tactics kept from earlier builds (`--timingCacheFile`). Builds with one are faster and "
         "reproducible."),
    Term("runtime cache", "Kernels that TensorRT-RTX compiled on the device, kept for the next start "
         "(`--runtimeCacheFile`)."),
    Term("Engine Layer Information", "The list of layers that a verbose build or `--dumpLayerInfo` prints."),
    Term("Skipping tactic", "A tactic was not timed: it needs more memory than the workspace, or cannot compute the layer.",
         ("Skipped tactic",)),
    Term("workspace", "Scratch memory of kernels. A tactic that needs more than the limit is not used.", ("memPoolSize",)),
    Term("activation memory", "Memory of tensors between layers. Tensors with disjoint lifetimes share it."),
    Term("device memory", "Memory of an execution context for activations and scratch, as logs state it.",
         ("context memory", "Device Memory")),
    Term("persistent memory", "Memory of layers that lasts between queries, such as reordered weights or tables: of the "
         "device or of the host.", ("device persistent", "host persistent")),
    Term("optimization profile", "Minimum, optimum and maximum shape of dynamic inputs. Tactics are timed at the optimum.",
         ("optShapes", "minShapes", "maxShapes", "kOPT")),
    Term("dynamic shape", "Dimension that is known only when the engine runs, written -1; needs an optimization profile."),
    Term("explicit quantization", "Precision by Q and DQ nodes of the model.", ("Q/DQ", "QDQ")),
    Term("strongly typed", "Network whose types are those of the model; flags of precision have no effect.",
         ("stronglyTyped", "STRONGLY_TYPED")),
    Term("implicit quantization", "INT8 where the builder finds it faster, with scales of a calibration. Deprecated since "
         "TensorRT 10.1.", ("calibration",)),
    Term("fusion", "Several nodes of the model in one kernel: their intermediate tensors are not written to memory."),
    Term("refit", "Replacement of weights without a build (`--refit`). It excludes optimizations that depend on values of "
         "weights."),
    Term("aux stream", "Additional stream on which an engine runs independent layers concurrently.",
         ("auxStreams", "auxiliary stream")),
    Term("Myelin", "TensorRT's compiler that generates kernels for whole subgraphs, such as transformer blocks.",
         ("myelin",)),
    Term("CASK", "NVIDIA's library of prebuilt kernels; `Cask…` in types of layers.", ("Cask",)),
    Term("__myelin_CASK_STUB", "Place of a kernel that TensorRT-RTX chooses and compiles on the device: the build does not "
         "state it.", ("CASK_STUB", "JIT")),
    Term("JIT_CONVOLUTIONS", "Tactic source of TensorRT-RTX and TensorRT 10: convolutions compiled for the device."),
    Term("DLA", "Deep learning accelerator of a Jetson, beside the GPU.", ("nvdla",)),
)  # fmt: skip
_KERNELS = (
    Term("tensor cores", "Units of an SM that multiply small matrices; kernels without them run on CUDA cores.",
         ("Tensor Cores",)),
    Term("HMMA", "Matrix instruction of tensor cores for FP16 and BF16.", ("hmma", "h16816", "s16816")),
    Term("IMMA", "Matrix instruction of tensor cores for INT8 and INT4.", ("imma", "i16832")),
    Term("QGMMA", "Matrix instruction of Hopper's tensor cores for FP8, by a group of four warps.", ("GMMA", "HGMMA")),
    Term("xmma", "TensorRT's main library of kernels. The name states types, layouts, tile and instruction; kernels with "
         "`simt` or `ffma` run on CUDA cores."),
    Term("cutlass", "NVIDIA's open library of matrix products; its kernels are compiled into TensorRT."),
    Term("nvjet", "Matrix products of cuBLASLt for Hopper and later, on tensor cores.", ("nvjet_",)),
    Term("implicit gemm", "Convolution computed as a matrix product without writing the matrix.", ("implicit_gemm",)),
    Term("Winograd", "Algorithm for 3×3 convolutions with fewer multiplications than the layer's MACs.", ("winograd",)),
    Term("tile", "Part of the result that one thread block computes: M×N, with K values at a time.", ("tilesize",)),
    Term("stage", "Depth of a kernel's software pipeline: tiles loaded ahead.", ("stages",)),
    Term("split-K", "The sum over K is divided among thread blocks, and added up afterwards.", ("splitK", "sliced")),
    Term("CLIPPED_RELU", "ReLU with an upper limit, such as ReLU6.", ("ReLU6",)),
    Term("kEXPLICIT_ROUND_DOWN", "Padding mode: given padding, output size rounded down.",
         ("EXPLICIT_ROUND_DOWN", "kEXPLICIT_ROUND_UP", "kSAME_UPPER", "kSAME_LOWER")),
    Term("StrideOrder", "Order of the dimensions in memory, the slowest first: `(3, 0, 2, 1)`. TensorRT 11 states it."),
    Term("MAC", "Multiply-accumulate: two operations.", ("MACs", "FLOP")),
    Term("SM", "Streaming multiprocessor: the unit that a GPU has many of.", ("SMs",)),
    Term("compute capability", "Version of a GPU's architecture: 8.6 is sm_86.", ("sm_80", "sm_86", "sm_90", "sm")),
)  # fmt: skip
_LAYOUTS = (
    Term("NCHW", "Layout: channels are planes, one after another; linear. `Row major linear` in files.",
         ("linear", "kLINEAR", "Row major linear")),
    Term("NHWC", "Layout: the channels of a pixel lie together. Tensor cores prefer it for FP16.", ("kHWC", "Channel major")),
    Term("NHWC4", "As NHWC, channels padded to a multiple of 4.", ("kHWC4",)),
    Term("NHWC8", "As NHWC, channels padded to a multiple of 8: FP16 vectors of 16 bytes.", ("kHWC8",)),
    Term("NHWC16", "As NHWC, channels padded to a multiple of 16.", ("kHWC16",)),
    Term("NC/4HW4", "Layout: groups of 4 channels are planes of vectors; INT8 on CUDA cores (DP4A).", ("kCHW4", "NC4HW4")),
    Term("NC/32HW32", "Layout: groups of 32 channels are planes of vectors; INT8 on tensor cores.",
         ("kCHW32", "NC32HW32", "CHW32")),
    Term("NC/16HW16", "Layout: groups of 16 channels are planes of vectors; FP16 on the DLA.", ("kCHW16", "kDLA_LINEAR")),
    Term("NC/2HW2", "Layout: pairs of channels are planes of vectors; FP16 on CUDA cores.", ("kCHW2",)),
    Term("allocated bytes", "Size with the padding of vectorized layouts.", ("padding",)),
)  # fmt: skip
_FLAGS = (
    Term("FP16", "`--fp16` allows FP16 kernels; each layer takes the faster one. Not for strongly typed networks.",
         ("Half",)),
    Term("BF16", "`--bf16` allows BF16 kernels: the range of FP32 with 8 bits of mantissa."),
    Term("INT8", "`--int8` allows INT8 kernels; they need scales from Q and DQ nodes or a calibration."),
    Term("FP8", "`--fp8` allows FP8 kernels; they need Q and DQ nodes.", ("E4M3", "E5M2")),
    Term("NVFP4", "4-bit floating point with a scale of FP8 per 16 values, from Blackwell on.", ("FP4", "E2M1")),
    Term("E8M0", "Scale of MX formats: a power of two in 8 bits, for 32 values.", ("MXFP8",)),
    Term("TF32", "Products of FP32 with 10 bits of mantissa, on tensor cores. On by default; `--noTF32` switches it off."),
    Term("best", "`--best` allows all precisions."),
    Term("sparsity", "`--sparsity=enable` allows kernels for weights of which 2 of 4 are zero.", ("SPARSE_WEIGHTS",)),
    Term("builderOptimizationLevel", "`--builderOptimizationLevel=N`, 0 to 5: more kernels are tried, and the build takes "
         "longer."),
    Term("profilingVerbosity", "`--profilingVerbosity=detailed` keeps types, tactics and shapes of layers. Without it only "
         "names are left.", ("names only",)),
    Term("versionCompatible", "`--versionCompatible`: the engine runs with later minor versions, at some loss of speed.",
         ("VERSION_COMPATIBLE",)),
    Term("hardwareCompatibilityLevel", "`--hardwareCompatibilityLevel`: the engine runs on other GPUs as well, at some loss "
         "of speed."),
    Term("directIO", "`--directIO` forbids reformats at inputs and outputs of the engine.", ("DIRECT_IO",)),
    Term("allowGPUFallback", "`--allowGPUFallback` lets layers that the DLA cannot run go to the GPU.", ("GPU_FALLBACK",)),
    Term("stripWeights", "`--stripWeights` leaves weights out of the engine; they are added by a refit.", ("STRIP_PLAN",)),
    Term("precisionConstraints", "`--precisionConstraints`: whether `--layerPrecisions` is obeyed, preferred or ignored.",
         ("OBEY_PRECISION_CONSTRAINTS", "PREFER_PRECISION_CONSTRAINTS")),
    Term("tacticSources", "`--tacticSources` chooses the libraries that tactics come from."),
)  # fmt: skip
_OURS = (
    Term("set", "The files of one engine: layer information, profile, timing, metadata, logs."),
    Term("run", "One measurement; files may hold several (`--run N`)."),
    Term("block", "Matched layers of two engines that do the same work."),
    Term("baseline", "The engine that others are compared with."),
    Term("finding", "What a lint rule found: the affected layers, the saving and the remedy."),
    Term("saving", "Time that a finding may save; its assumption is stated beside it."),
    Term("critical path", "The slowest chain of layers, each feeding the next: a lower bound for any number of streams."),
    Term("roofline", "Minimum time of a layer at the peaks of the device: that of its operations or of its bytes, whichever "
         "is longer."),
    Term("launch-bound", "About the shortest layer time: starting any kernel takes as long.", ("launch",)),
    Term("latency-bound", "Far below both roofs: too few thread blocks to fill the device, or dependent steps."),
    Term("live", "A tensor is live from the layer that writes it first to the one that reads it last."),
    Term("module", "Part of the model by the names of its nodes: `/encoder/layer.0`."),
)  # fmt: skip
GLOSSARY: dict[str, tuple[Term, ...]] = {
    "signs in names of layers": _SIGNS,
    "results of trtexec": _TRTEXEC,
    "builds and logs": _BUILD,
    "kernels and devices": _KERNELS,
    "layouts": _LAYOUTS,
    "types and builder flags": _FLAGS,
    "words of trex-tui": _OURS,
}
"""Subject -> its words. Types of layers and operators of generated kernels are in `engine.layer_words`."""

# Queries

_SEPARATORS = re.compile(r"[\s_\-]+")
_INDEX = re.compile(r"\[[^\]]*\]")
_SHORTEST_HINT = 3
"""Shorter names are similar to too many others to be suggested."""


@lru_cache(maxsize=1)
def list_words() -> tuple[Term, ...]:
    """Return all words: the glossary, types of layers, operators."""
    words = [term._replace(subject=subject) for subject, terms in GLOSSARY.items() for term in terms]
    words += [Term(word.name, word.definition, word.labels, "types of layers") for word in LAYER_TYPES]
    words += [
        Term(name, f"{meaning[0].upper()}{meaning[1:]}.", (), "operators in names of generated kernels")
        for name, meaning in OPERATORS.items()
    ]
    return tuple(words)


@lru_cache(maxsize=1)
def list_numbers() -> tuple[Term, ...]:
    """Return every number that a table or a result has, from the tables of columns. Imports pandas."""
    from trex_tui.report.subjects import SUBJECTS

    return tuple(
        describe_column(column, subject)
        for subject, columns in SUBJECTS.items()
        for column in columns.values()
    )


def describe_column(column: Column, subject: str) -> Term:
    """Return the term of a column."""
    labels = tuple(dict.fromkeys((column.title, *column.aliases)))
    return Term(
        column.key,
        column.help,
        labels,
        subject,
        column.unit.name,
        column.formula,
        column.source,
        column.words,
    )


def explain(query: str) -> list[Term]:
    """Return what a name means: a number, a word, the name of a layer or of a tactic; empty if nothing has it.

    A number is found by key, by heading, by alias, or by a path of JSON that ends in its key and may begin with its subject.
    """
    wanted = normalize(query)
    words = [term for term in list_words() if wanted in map(normalize, (term.name, *term.labels))]
    subject, dot, key = _INDEX.sub("", query).rpartition(".")
    numbers = _find_numbers(wanted) or (_find_numbers(normalize(key)) if key else [])
    numbers = [term for term in numbers if dot and term.subject.startswith(subject)] or numbers
    if numbers or words:
        return [*_without_repetitions(numbers), *words]
    tactic, meaning = parse_tactic(query), describe_name(query)
    if tactic is not None and tactic.library != "unknown" and not meaning.startswith("Generated"):
        parts = "; ".join(f"{label} {text}" for label, text in list_parts(tactic) if text)
        return [Term(printable(query), f"Tactic: {parts}.", subject="name of a tactic")]
    return [Term(printable(query), meaning, subject="name of a layer")] if meaning else []


def _find_numbers(wanted: str) -> list[Term]:
    for names in (
        lambda term: (term.name,),
        lambda term: term.labels,
        lambda term: (term.name.rsplit("_", 1)[0],) if term.unit else (),
    ):
        if found := [term for term in list_numbers() if wanted in map(normalize, names(term))]:
            return found
    return []


def _without_repetitions(terms: Iterable[Term]) -> list[Term]:
    return list({(term.name, term.meaning): term for term in terms}.values())


def suggest(query: str, more: Iterable[str] = ()) -> str:
    """Return `did you mean A or B?`; empty if nothing is similar.

    Args:
        more: Other possible names.
    """
    names: dict[str, str] = {}
    for term in (*list_numbers(), *list_words()):
        for name in (term.name, *term.labels):
            if len(name) > _SHORTEST_HINT:
                names.setdefault(normalize(name), name)
    names |= {normalize(name): name for name in more}
    similar = [names[name] for name in close_matches(normalize(query), names, 3)]
    return f"did you mean {' or '.join(similar)}?" if similar else ""


@lru_cache(maxsize=8192)
def normalize(text: str) -> str:
    """Convert to lower case, words joined by `_`, without the dashes of an option."""
    stripped = text.strip()
    return _SEPARATORS.sub("_", (stripped.removeprefix("--") or stripped).strip(":`").casefold())
