"""Terms of the text beside a layer, a tactic or a step of the build: labels that no JSON document has."""

from __future__ import annotations

from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.report.glossary.term import Subject, Term

_BY_NAME = "layer information: TacticName, by the patterns of xmma, cutlass, cuDNN and cuBLAS"

DETAILS = Subject(
    "details",
    "Details",
    "Layers, Build; build-log --layer",
    "layer information, and the log of the build",
    (
        Term(
            "matrix product",
            "GEMM size of the layer (implicit GEMM for convolutions).",
            labels=("M×N×K",),
            source="layer information: shapes, Kernel, Groups",
        ),
        Term("in and out", "Bytes of all inputs and outputs, without padding.", formula="io_bytes"),
        Term("all", "Bytes read and written per run, padded.", formula="footprint_allocated_bytes"),
        Term(
            "kernel architecture",
            "Compute capability that the kernel was written for.",
            labels=("written for",),
            source=_BY_NAME,
        ),
        Term(
            "kernel types",
            "Types of the inputs, and of the sums and outputs, by the kernel's name.",
            labels=("types",),
            source=_BY_NAME,
        ),
        Term("family", "Algorithm of the kernel: implicit gemm, winograd, depthwise.", source=_BY_NAME),
        Term("split K", "Number of parts of the sum over K (split-K).", source=_BY_NAME),
        Term("warps", "Arrangement of the warps of a thread block over its tile, M×N×K.", source=_BY_NAME),
        Term("instruction", "Size of the tensor-core instruction, M×N×K.", source=_BY_NAME),
        Term("filter", "Filter that the kernel was written for, R×S.", source=_BY_NAME),
        Term("alignment", "Elements that an address must be a multiple of.", source=_BY_NAME),
        Term(
            "epilogue",
            "Fused epilogue, such as bias and activation.",
            source=_BY_NAME,
        ),
        Term("operators", "Operators fused into the kernel.", source=_BY_NAME),
        Term("special", "Other properties in the kernel's name.", source=_BY_NAME),
        Term("stages", "Depth of the software pipeline.", source=_BY_NAME),
        Term("chosen", "Tactic that the builder chose, with the time it measured.", source="log"),
        Term(
            "fastest",
            "Fastest tactic of all runners in the same formats; the builder may choose another.",
            source="log",
        ),
        Term("second best", "Fastest tactic but the choice, and how much longer it takes.", source="log"),
        Term(
            "near tie",
            ("The second best is about as fast as the choice: another build may choose it."),
            source="log",
        ),
        Term(
            "in another precision",
            "Best time of the layer with inputs of that type, without reformats it may need.",
            labels=tuple(f"in {dtype.value}" for dtype in DataType),
            source="log",
        ),
        Term(
            "reformatted", "Tensor for which the builder inserted a reformat before the layer.", source="log"
        ),
        Term("in the log", "Line of the log.", source="log"),
        Term("in the layer", "Layer that Myelin tuned the operator for.", source="log"),
        Term("sender", "Source of the message: trtexec, or the library.", source="log"),
        Term("tuned", "Layers and tactics that were tuned for the strategy.", source="log"),
        Term("took", "Duration of the phase.", source="log"),
        Term("sum of", "Lines of the log that state the phase.", source="log"),
        Term("afterwards", "Layers after the pass.", source="log"),
        Term("when", "Time since the first line of the log.", source="log"),
    ),
)
