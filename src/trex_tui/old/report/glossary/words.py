"""Words of TensorRT, Myelin and trtexec: types of layers, signs in names, operators of kernels, log words, flags.

They explain what stands in a name, a log or a command line; the terms of the other subjects explain numbers.
"""

from __future__ import annotations

from functools import lru_cache

from trex_tui.old.engine.layer_words import CONTINUATION, LAYER_TYPES, OPERATORS
from trex_tui.old.report.glossary.term import Subject, Term

_GUIDE = "TensorRT documentation"
_ENGINES = "names and ONNX nodes of real engines"

_SIGNS = (
    Term("+", "`a + b`: both nodes run in one kernel, b after a."),
    Term("||", "`a || b`: nodes with the same input and like weights, merged into one kernel side by side."),
    Term("PWN", "`PWN(a, b)`: element by element operators fused into one kernel.", labels=("PWN()", "PWN_")),
    Term(
        "ForeignNode",
        "`{ForeignNode[a...b]}`: all nodes from a to b, compiled by Myelin and listed as one layer. Its kernels appear with "
        "TensorRT 10 and `--profilingVerbosity=detailed`.",
        labels=("{ForeignNode[a...b]}", "{ForeignNode}"),
    ),
    Term(
        "Reformatting CopyNode",
        "`Reformatting CopyNode for Input Tensor 0 to X`: copy that changes the layout or type of input 0 of layer X.",
        labels=(
            "Reformatting CopyNode for Input Tensor",
            "Reformatting CopyNode for Output Tensor",
            "CopyNode",
        ),
    ),
    Term(
        "(Unnamed Layer* N)",
        "Layer without a name in the network; N counts all layers of the network. The type follows in brackets.",
        labels=("Unnamed Layer", "(Unnamed Layer*"),
    ),
    Term(
        "__myl_",
        "Kernel that Myelin generated; the operators follow, abbreviated to four letters or fewer. `_myl0_3` at the end is "
        "subgraph 0, kernel 3.",
        labels=("myl", "__mye", "_myl0_3"),
    ),
    Term("__myln_", "Tensor or argument inside a Myelin subgraph.", labels=("__myln_k_arg",)),
    Term(CONTINUATION, "At the end of a generated name: the kernel has more operators than the name holds."),
    Term(
        "to nvm", "`X to nvm`: copy of a tensor from the GPU to the DLA.", labels=("from nvm", "copy finish")
    ),
    Term("clone", "`X_clone_1`: copy of a node, made so that each consumer can fuse its own."),
    Term(
        "Q/DQ",
        "A QuantizeLinear and a DequantizeLinear node of the model. `Origin: QDQ` marks a reformat that does their work.",
    ),
    Term(
        "[MATRIX_MULTIPLY]-[",
        "Name of Torch-TensorRT: type of the layer, operator of ATen, node of the module.",
        labels=("aten_ops",),
    ),
)
_TRTEXEC = (
    Term(
        "averageMs", "Mean time of a layer over the profiled runs, of `--exportProfile`.", labels=("avgMs",)
    ),
    Term(
        "medianMs",
        "Median time of a layer over the profiled runs, of `--exportProfile`.",
    ),
    Term(
        "timeMs",
        "Sum of a layer's times over all profiled runs, of `--exportProfile`.",
    ),
    Term(
        "percentage",
        "Share of a layer in the time of all layers. Profiled layers run alone, so their sum differs from the latency.",
    ),
    Term(
        "Enqueue Time",
        "Time that the host needs to launch an inference. Near or above GPU Compute Time, the GPU waits for the host.",
    ),
    Term("H2D Latency", "Time to copy the inputs from host to device.", labels=("D2H Latency", "H2D", "D2H")),
    Term("GPU Compute Time", "Time from the first to the last kernel of an inference."),
    Term(
        "Latency",
        "H2D Latency, GPU Compute Time and D2H Latency of an inference, added.",
        labels=("Host Latency",),
    ),
    Term(
        "Throughput", "Inferences by Total Host Walltime. Inferences overlap, so it may exceed 1 / latency."
    ),
    Term(
        "Total Host Walltime",
        "Time from the first enqueue after the warm-up until the last inference has ended.",
    ),
    Term(
        "Total GPU Compute Time",
        "GPU Compute Time of all inferences, added. Far below Total Host Walltime, the GPU was idle.",
    ),
    Term(
        "warm-up",
        "Inferences before the measurement, 200 ms unless `--warmUp` differs. They are not counted.",
        labels=("warmUp",),
    ),
    Term(
        "CUDA graph",
        "All launches of an inference recorded and replayed as one (`--useCudaGraph`). It lowers the enqueue time.",
    ),
    Term(
        "infStreams",
        "Number of concurrent inferences (`--infStreams`, `--streams` before 8.6).",
        labels=("--infStreams",),
    ),
)
_LOG = (
    Term(
        "plan",
        "Serialized engine: the file of `--saveEngine`. It begins with `ftrt` and the version of TensorRT, before 8.6 with "
        "`ptrt`.",
        labels=("ftrt", "ptrt", "engine file"),
    ),
    Term(
        "tactic",
        "One kernel that can compute a layer. The builder times the candidates and keeps the fastest.",
    ),
    Term(
        "timing cache",
        "Times of tactics kept from earlier builds (`--timingCacheFile`). Builds with one are faster and reproducible.",
    ),
    Term("Engine Layer Information", "The list of layers that a verbose build or `--dumpLayerInfo` prints."),
    Term(
        "Skipping tactic",
        "A tactic was not timed: it needs more memory than the workspace, or cannot compute the layer.",
        labels=("Skipped tactic",),
    ),
    Term(
        "workspace",
        "Scratch memory of kernels. A tactic that needs more than the limit is not used.",
        labels=("memPoolSize",),
    ),
    Term("activation memory", "Memory of tensors between layers. Tensors with disjoint lifetimes share it."),
    Term(
        "optimization profile",
        "Minimum, optimum and maximum shape of dynamic inputs. Tactics are timed at the optimum.",
        labels=("optShapes", "minShapes", "maxShapes"),
    ),
    Term("explicit quantization", "Precision by Q and DQ nodes of the model.", labels=("strongly typed",)),
    Term(
        "implicit quantization",
        "INT8 where the builder finds it faster, with scales of a calibration. Deprecated since TensorRT 10.1.",
        labels=("calibration",),
    ),
    Term(
        "refit",
        "Replacement of weights without a build (`--refit`). It excludes optimizations that depend on values of weights.",
    ),
    Term(
        "aux stream",
        "Additional stream on which an engine runs independent layers concurrently.",
        labels=("auxStreams", "auxiliary stream"),
    ),
)
_FLAGS = (
    Term(
        "FP16",
        "`--fp16` allows FP16 kernels; each layer takes the faster one. Not for strongly typed networks.",
    ),
    Term("BF16", "`--bf16` allows BF16 kernels."),
    Term("INT8", "`--int8` allows INT8 kernels; they need scales from Q and DQ nodes or a calibration."),
    Term("FP8", "`--fp8` allows FP8 kernels; they need Q and DQ nodes."),
    Term(
        "TF32",
        "Products of FP32 with 10 bits of mantissa, on Tensor Cores. On by default; `--noTF32` switches it off.",
    ),
    Term("best", "`--best` allows all precisions."),
    Term(
        "stronglyTyped",
        "`--stronglyTyped`: types are those of the model, and flags of precision have no effect.",
        labels=("STRONGLY_TYPED",),
    ),
    Term(
        "sparsity",
        "`--sparsity=enable` allows kernels for weights of which 2 of 4 are zero.",
        labels=("SPARSE_WEIGHTS",),
    ),
    Term(
        "builderOptimizationLevel",
        "`--builderOptimizationLevel=N`, 0 to 5: more kernels are tried, and the build takes longer.",
    ),
    Term(
        "profilingVerbosity",
        "`--profilingVerbosity=detailed` keeps types, tactics and shapes of layers. Without it only names are left.",
    ),
    Term(
        "versionCompatible",
        "`--versionCompatible`: the engine runs with later minor versions, at some loss of speed.",
        labels=("VERSION_COMPATIBLE",),
    ),
    Term(
        "hardwareCompatibilityLevel",
        "`--hardwareCompatibilityLevel`: the engine runs on other GPUs as well, at some loss of speed.",
    ),
    Term(
        "directIO",
        "`--directIO` forbids reformats at inputs and outputs of the engine.",
        labels=("DIRECT_IO",),
    ),
    Term(
        "allowGPUFallback",
        "`--allowGPUFallback` lets layers that the DLA cannot run go to the GPU.",
        labels=("GPU_FALLBACK",),
    ),
    Term(
        "stripWeights",
        "`--stripWeights` leaves weights out of the engine; they are added by a refit.",
        labels=("STRIP_PLAN",),
    ),
    Term(
        "precisionConstraints",
        "`--precisionConstraints`: whether `--layerPrecisions` is obeyed, preferred or ignored.",
        labels=("OBEY_PRECISION_CONSTRAINTS", "PREFER_PRECISION_CONSTRAINTS"),
    ),
    Term("tacticSources", "`--tacticSources` chooses the libraries that tactics come from."),
)

TRTEXEC_WORDS = "words.trtexec"
"""Id of the vocabulary whose words are also numbers of this program."""
WORDS = (
    Subject(
        "words.layer-types",
        "Layer types",
        "explain, i, palette, details",
        f"{_GUIDE}: IEngineInspector; {_ENGINES}",
        tuple(Term(word.name, word.definition, labels=word.labels) for word in LAYER_TYPES),
    ),
    Subject(
        "words.names",
        "Signs in names of layers",
        "explain, i, palette, details",
        f"{_GUIDE}: Layer Fusion; {_ENGINES}",
        _SIGNS,
    ),
    Subject(
        "words.operators",
        "Operators in names of generated kernels",
        "explain, i, palette, details",
        _ENGINES,
        tuple(
            Term(f"{name} (kgen)", f"{meaning[0].upper()}{meaning[1:]}.", labels=(name,))
            for name, meaning in OPERATORS.items()
        ),
    ),
    Subject(
        TRTEXEC_WORDS,
        "Words of trtexec's results",
        "explain, palette",
        f"{_GUIDE}: Command-Line Programs, trtexec",
        _TRTEXEC,
    ),
    Subject(
        "words.log",
        "Words of builds and logs",
        "explain, palette",
        f"{_GUIDE}: How TensorRT Works; Performance Best Practices",
        _LOG,
    ),
    Subject(
        "words.flags", "Builder flags", "explain, palette", f"{_GUIDE}: BuilderFlag; trtexec --help", _FLAGS
    ),
)
"""Vocabularies, by what their words are part of."""


@lru_cache(maxsize=1)
def _by_name() -> dict[str, list[tuple[Subject, Term]]]:
    names: dict[str, list[tuple[Subject, Term]]] = {}
    for subject in WORDS:
        for term in subject.terms:
            for name in dict.fromkeys(map(normalize_word, (term.key, *term.labels))):
                names.setdefault(name, []).append((subject, term))
    return names


def normalize_word(text: str) -> str:
    """Convert to lower case, without the dashes of an option and surrounding blanks."""
    stripped = text.strip()
    return (stripped.removeprefix("--") or stripped).casefold()


def find_words(text: str) -> list[tuple[Subject, Term]]:
    """Return the words with this name, with their vocabularies; empty if there is none.

    >>> [term.key for _, term in find_words("||")]
    ['||']
    """
    return list(_by_name().get(normalize_word(text), ()))


def word_names() -> list[str]:
    """Return every name of a word, as written."""
    return [name for subject in WORDS for term in subject.terms for name in (term.key, *term.labels)]
