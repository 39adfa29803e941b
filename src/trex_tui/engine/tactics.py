"""Parse kernel names: library, architecture, types, tile, and use of tensor cores.

Names follow the conventions of several libraries; each has a pattern here, and the first match wins. A list of substrings is
not sufficient: `xmma` also names kernels that run on CUDA cores (`simt`, `ffma`), and `h16816` names tensor-core kernels
without `hmma`. Facts missing in the name are None, which means unknown, not no.

The architecture is that of the kernel family: `volta_fp32_i8816cudnn…` uses Turing's INT8 instructions and runs there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.engine.layer_words import GENERATED, split_operators

Shape = tuple[int, ...]


class Tactic(NamedTuple):
    """Parts of a tactic name.

    Attributes:
        name: As in the file.
        library: Library of the kernel: `xmma`, `cutlass`, `cudnn`, `cublas`, `myelin`, …
        architecture: Compute capability of the kernel family, as in sm_80: 80.
        tensor_cores: None if unknown, or if it does not apply (pooling).
        input_type: Type of the first operand in memory.
        compute_type: Type of the products: TF32 for `f32f32_tf32f32_f32`, FP32 if halves are converted first.
        accumulate_type: Type of the accumulator.
        output_type: Type of the result in memory.
        tile: M, N and, if known, K of the tile of a thread block.
        stages: Depth of the software pipeline; None if unknown or chosen automatically.
        warps: Warps along M, N, K in a block.
        instruction: Shape M, N, K of the matrix instruction.
        filter_shape: R, S the kernel is specialized for.
        alignment: Required alignment of the operands, in elements.
        epilogue: Operations fused after the product, as in the name: `relu`, `bias_f16_relu`.
        operators: Operators of a generated Myelin kernel, about four letters each, in order of execution.
        is_sparse: Uses 2:4 structured sparsity.
        is_winograd: Multiplies in the Winograd domain: fewer multiplications than the layer's MACs.
    """

    name: str
    library: str
    architecture: int | None = None
    tensor_cores: bool | None = None
    input_type: DataType | None = None
    compute_type: DataType | None = None
    accumulate_type: DataType | None = None
    output_type: DataType | None = None
    tile: Shape | None = None
    stages: int | None = None
    warps: Shape | None = None
    instruction: Shape | None = None
    filter_shape: Shape | None = None
    alignment: int | None = None
    epilogue: str | None = None
    operators: tuple[str, ...] = ()
    is_sparse: bool = False
    is_winograd: bool = False

    @property
    def family(self) -> str:
        """Algorithm in the name: `implicit gemm indexed`, `gemm as conv1x1`; empty if missing."""
        found = _found(_FAMILY, self.name) or _found(_PLAIN_FAMILY, self.name) or ""
        return found.replace("_", " ")

    @property
    def split_k(self) -> str:
        """Number of parts of a split sum over K: `4`, `1x4` for slices of a block, `yes`; empty if not split."""
        match = _SPLIT.search(self.name)
        if match is None:
            return ""
        count = match["count"] or match["number"] or match["slices"]
        return "" if count in ("0", "1") else count or "yes"


_TYPES = {
    "f64": DataType.FP64,
    "f32": DataType.FP32,
    "tf32": DataType.TF32,
    "f16": DataType.FP16,
    "bf16": DataType.BF16,
    "e4m3": DataType.FP8,
    "e5m2": DataType.FP8,
    "e2m1": DataType.FP4,
    "i8": DataType.INT8,
    "s8": DataType.INT8,
    "u8": DataType.UINT8,
    "i4": DataType.INT4,
    "s4": DataType.INT4,
    "i32": DataType.INT32,
    "s32": DataType.INT32,
}
_TYPE = "tf32|bf16|f64|f32|f16|e4m3|e5m2|e2m1|i32|s32|i8|s8|u8|i4|s4"
# Letter in front of an instruction: the type of the accumulator, and in hand-written kernels of the arithmetic.
_ACCUMULATORS = {"h": DataType.FP16, "s": DataType.FP32, "i": DataType.INT32, "d": DataType.FP64}
_GENERATIONS = {
    "maxwell": 50,
    "pascal": 60,
    "volta": 70,
    "turing": 75,
    "ampere": 80,
    "hopper": 90,
    "blackwell": 100,
}
# Digits of a matrix instruction, written without separators.
_INSTRUCTIONS = {
    "884": (8, 8, 4),
    "1684": (16, 8, 4),
    "1688": (16, 8, 8),
    "16816": (16, 8, 16),
    "8816": (8, 8, 16),
    "8832": (8, 8, 32),
    "16832": (16, 8, 32),
    "16864": (16, 8, 64),
    "168128": (16, 8, 128),
    "161616": (16, 16, 16),
}

_EXTENTS = r"\d{1,6}x\d{1,6}x\d{1,6}"
_CUTLASS3 = re.compile(
    rf"cutlass3x_sm(?P<sm>\d{{1,4}})_(?P<flavour>bs|sp)?(?P<unit>tensorop|simt)_(?P<acc>[a-z]*?)(?P<mma>{_EXTENTS})"
)
# A, B, accumulator, C, D. Block-scaled operands are named after scale and element: `ue4m3xf4`.
_SCALED = r"u?e\d+m\d+x[a-z0-9]+"
_CUTLASS3_TYPES = re.compile(
    rf"_(?P<a>{_TYPE}|{_SCALED})_(?:{_TYPE}|{_SCALED})_(?P<acc>{_TYPE})_(?:{_TYPE}|void)_(?P<d>{_TYPE})_"
)
# The shape of the cluster follows the tile in kernels for Hopper.
_CUTLASS3_TILE = re.compile(rf"_({_EXTENTS})_(?:{_EXTENTS}_)?(?:(?P<stages>\d{{1,4}})_|dyn)")
_CUTLASS2 = re.compile(r"cutlass_(?:(?P<sm>\d{1,4})_)?(?P<unit>tensorop|simt|wmma|sptensorop)_(?:tensorop_)?")
# Output, unless it is of the accumulator's type; accumulator; instruction; type inside it; operands, unless as accumulator.
_CUTLASS2_MATH = re.compile(
    rf"(?:(?P<out>{_TYPE})_)?(?P<acc>[hsid])(?P<mma>\d{{3,6}})?(?P<inside>tf32|bf16|f16)?(?:gemm|fprop|wgrad|dgrad)"
    rf"(?:_(?!{_TYPE})[a-z]+)*(?:_(?P<operand>{_TYPE}))?_"
)
_CUTLASS2_TILE = re.compile(r"_(?P<m>\d{1,6})x(?P<n>\d{1,6})_(?P<k>\d{1,6})x(?P<stages>\d{1,4})")
_TRT_CUTLASS = re.compile(r"trt_(?P<generation>[a-z]+)_cutlass_.*?_(?P<unit>hmma|imma|ffma)_")
_TRT_CUTLASS_TYPES = re.compile(rf"_(?P<a>{_TYPE})(?P<b>{_TYPE})(?P<acc>{_TYPE})(?:_|$)")
_XMMA = re.compile(r"sm(?P<sm>\d{1,4})_xmma_")
_XMMA_TYPES = re.compile(
    rf"_(?P<a>{_TYPE})(?P<c>{_TYPE})_(?P<b>{_TYPE})(?P<acc>{_TYPE})?_(?P<epilogue>{_TYPE})(?:_|$)"
)
_POOLING_TYPES = re.compile(r"_(?P<stored>FP16|FP32|INT8)(?P<math>FP16|FP32)?N")
_XMMA_ON = re.compile(r"_tensor\d+x\d+x\d+|_sptensor|warpgroupsize|gmma|_[hi]mma(?:_|$)|utcmma|tcgen05")
_XMMA_OFF = re.compile(r"ffma|_simt|dp4a|Accfloat|cublas_gemvx")
_TILE = re.compile(rf"tilesize({_EXTENTS})")
_STAGES = re.compile(r"_stage(\d{1,4})(?!\d)")
_WARPS = re.compile(rf"warpsize({_EXTENTS})")
_INSTRUCTION = re.compile(rf"(?:sp)?tensor({_EXTENTS})")
_FILTER = re.compile(r"_t(?P<t>\d{1,4})x?r(?P<r>\d{1,4})x?s(?P<s>\d{1,4})")
_ALIGN = re.compile(r"align(?:a)?(\d{1,4})")
_HAND = re.compile(
    rf"(?P<generation>{'|'.join(_GENERATIONS)})_(?:(?P<out>fp16|bf16|fp32|int8|int8x4)_)?(?P<letter>[hsicd])"
    r"(?P<digits>\d{0,6})(?P<library>cudnn|gemm)(?:_(?P<input>int8x4|int8|fp16|bf16))?(?P<winograd>_winograd)?"
    r"_(?P<tile>\d{1,6}x\d{1,6})"
)
_HAND_STAGES = re.compile(r"stages_(?P<k>\d{1,4})x(?P<stages>\d{1,4})")
_HAND_TYPES = {
    "fp16": DataType.FP16,
    "bf16": DataType.BF16,
    "fp32": DataType.FP32,
    "int8": DataType.INT8,
    "int8x4": DataType.INT8,
}
_FAMILY = re.compile(
    r"(implicit_gemm_(?:indexed_wo_smem|indexed|interleaved)|implicit_gemm|gemm_as_conv1x1|conv3d_fprop_weight_stationary|"
    r"first_layer|depthwise|winograd|pooling_[a-z]+|gemvx)",
    re.IGNORECASE,
)
_PLAIN_FAMILY = re.compile(r"(fprop|gemm)", re.IGNORECASE)
_SPLIT = re.compile(
    r"numSplitK: (?P<count>\d{1,6})|split_?k(?:_?(?P<number>\d{1,6}))?(?![a-z])|sliced(?P<slices>\d{1,3}x\d{1,3})",
    re.IGNORECASE,
)
_CUDNN_SUFFIX = re.compile(r"_(relu)(?:_|$)")
_BIAS_EPILOGUE = re.compile(r"((?:bias_[a-z0-9]+_)?(?:relu|gelu|swish|sigmoid|tanh))(?:_|$)")


@lru_cache(maxsize=1 << 18)  # every generated kernel has its own name
def parse_tactic(name: str | None) -> Tactic | None:
    """Parse a tactic name; None for an empty name. A name that no pattern matches has library `unknown`.

    >>> parse_tactic("ampere_h16816cudnn_128x64_ldg8_relu_exp_stages_64x3_small_nhwc_tn_v1").tensor_cores
    True
    >>> parse_tactic("sm70_xmma_gemm_as_conv1x1_f16f16_f16_f16_tn_n_simt_small_batch_bias_relu").tensor_cores
    False
    """
    if not name:
        return None
    for pattern, reader in _READERS:
        match = pattern.match(name)
        if match:
            return reader(name, match)
    return Tactic(name, "unknown")


def _shape(text: str | None) -> Shape | None:
    return tuple(map(int, text.split("x"))) if text else None


def _found(pattern: re.Pattern[str], name: str) -> str | None:
    match = pattern.search(name)
    return match[1] if match else None


def _number(pattern: re.Pattern[str], name: str) -> int | None:
    text = _found(pattern, name)
    return int(text) or None if text else None


def _type(text: str | None) -> DataType | None:
    return _TYPES.get(text) if text else None


def _multiplied(operand: DataType | None, on_tensor_cores: bool) -> DataType | None:
    """Return the type of the products: tensor cores have none for FP32, whose operands they round to TF32."""
    return DataType.TF32 if operand is DataType.FP32 and on_tensor_cores else operand


def _filter_shape(name: str) -> Shape | None:
    match = _FILTER.search(name)
    return (int(match["r"]), int(match["s"])) if match else None


def _cutlass3(name: str, match: re.Match[str]) -> Tactic:
    """Parse CUTLASS 3: `…tensorop_s128x128x16gemm_f16_f16_f32_f16_f16_128x128x64_0_tnn_align8_1sm`."""
    types = _CUTLASS3_TYPES.search(name)
    tile = _CUTLASS3_TILE.search(name)
    operand = types["a"] if types else None
    operand_type = _type(operand) or (DataType.FP4 if operand and operand.endswith("xf4") else None)
    return Tactic(
        name,
        "cutlass",
        architecture=int(match["sm"]),
        tensor_cores=match["unit"] == "tensorop",
        input_type=operand_type,
        compute_type=_multiplied(operand_type, match["unit"] == "tensorop"),
        accumulate_type=_type(types["acc"]) if types else _ACCUMULATORS.get(match["acc"]),
        output_type=_type(types["d"]) if types else None,
        tile=_shape(tile[1]) if tile else None,
        stages=int(tile["stages"]) or None if tile and tile["stages"] else None,
        instruction=_shape(match["mma"]),
        filter_shape=_filter_shape(name),
        alignment=_number(_ALIGN, name),
        epilogue=_found(_BIAS_EPILOGUE, name),
        is_sparse=match["flavour"] == "sp",
    )


def _cutlass2(name: str, match: re.Match[str]) -> Tactic:
    """Parse CUTLASS 2: `cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_align8`."""
    on_tensor_cores = match["unit"] != "simt"
    math, tile = _CUTLASS2_MATH.match(name, match.end()), _CUTLASS2_TILE.search(name)
    accumulator = _ACCUMULATORS.get(math["acc"]) if math else None
    operand = (_type(math["operand"]) or accumulator) if math else None
    return Tactic(
        name,
        "cutlass",
        architecture=int(match["sm"]) if match["sm"] else None,
        tensor_cores=on_tensor_cores,
        input_type=operand,
        compute_type=(_type(math["inside"]) if math else None) or _multiplied(operand, on_tensor_cores),
        accumulate_type=accumulator,
        output_type=(_type(math["out"]) or accumulator) if math else None,
        tile=(int(tile["m"]), int(tile["n"]), int(tile["k"])) if tile else None,
        stages=int(tile["stages"]) if tile else None,
        instruction=_INSTRUCTIONS.get(math["mma"]) if math else None,
        alignment=_number(_ALIGN, name),
        epilogue=_found(_BIAS_EPILOGUE, name),
        is_sparse=match["unit"] == "sptensorop",
    )


def _trt_cutlass(name: str, match: re.Match[str]) -> Tactic:
    """Parse TensorRT's own CUTLASS kernels: `…_hmma_fprop_f16f16f32_…`: A, B, accumulator."""
    types = _TRT_CUTLASS_TYPES.search(name)
    operand = _type(types["a"]) if types else None
    return Tactic(
        name,
        "cutlass",
        architecture=_GENERATIONS.get(match["generation"]),
        tensor_cores=match["unit"] != "ffma",
        input_type=operand,
        compute_type=operand,
        accumulate_type=_type(types["acc"]) if types else None,
        output_type=operand,
    )


def _xmma(name: str, match: re.Match[str]) -> Tactic:
    """Parse xmma, TensorRT's main library: `_AC_BAcc_Epilogue_`: A and output; arithmetic and accumulator; epilogue."""
    if "_xmma_pooling" in name:
        return _xmma_pooling(name, match)
    types = _XMMA_TYPES.search(name)
    on, off = _XMMA_ON.search(name), _XMMA_OFF.search(name)
    is_gemv = "cublas_gemvx" in name
    arithmetic = _type(types["b"]) if types else None
    accumulator = _type(types["acc"]) if types else None
    if types is None and "_fp32_" in name and "Accfloat" in name:
        arithmetic = accumulator = DataType.FP32
    elif types and types["acc"] is None:
        # `i8f32_f32_f32`, `f16f16_f32_f32`: only the accumulator is named.
        arithmetic, accumulator = _type(types["a"]), arithmetic
    return Tactic(
        name,
        "cublas" if is_gemv else "xmma",
        architecture=int(match["sm"]),
        tensor_cores=True if on else False if off else None,
        input_type=_type(types["a"]) if types else None,
        compute_type=arithmetic,
        accumulate_type=accumulator,
        output_type=_type(types["c"]) if types else None,
        tile=_shape(_found(_TILE, name)),
        stages=_number(_STAGES, name),
        warps=_shape(_found(_WARPS, name)),
        instruction=_shape(_found(_INSTRUCTION, name)),
        filter_shape=_filter_shape(name),
        alignment=_number(_ALIGN, name),
        epilogue=_found(_BIAS_EPILOGUE, name),
        is_sparse="_sptensor" in name or "_sparse_" in name,
    )


def _xmma_pooling(name: str, match: re.Match[str]) -> Tactic:
    """Parse `FP16FP32NHWC`: type in memory, type of the arithmetic. Pooling does not use tensor cores."""
    types = _POOLING_TYPES.search(name)
    stored = parse_data_type(types["stored"]) if types else None
    arithmetic = parse_data_type(types["math"]) if types and types["math"] else stored
    return Tactic(
        name,
        "xmma",
        architecture=int(match["sm"]),
        input_type=stored,
        compute_type=arithmetic,
        output_type=stored,
    )


def _hand_written(name: str, match: re.Match[str]) -> Tactic:
    """Parse hand-written cuDNN and cuBLAS kernels: output type, arithmetic, digits of the matrix instruction."""
    letter, on_tensor_cores = match["letter"], bool(match["digits"])
    stages = _HAND_STAGES.search(name)
    arithmetic = {"h": DataType.FP16, "s": DataType.FP32, "i": DataType.INT8, "d": DataType.FP64}.get(letter)
    if letter == "s" and on_tensor_cores:
        # The letter is the type of the sum; the products have the type of the operands.
        arithmetic = None
    operand = _HAND_TYPES.get(match["input"]) if match["input"] else arithmetic
    result = _ACCUMULATORS.get(letter) if letter != "i" else None
    tile = _shape(match["tile"])
    return Tactic(
        name,
        "cublas" if match["library"] == "gemm" else "cudnn",
        architecture=_GENERATIONS[match["generation"]],
        tensor_cores=on_tensor_cores,
        input_type=operand,
        compute_type=arithmetic or operand,
        accumulate_type=_ACCUMULATORS.get(letter),
        output_type=_HAND_TYPES.get(match["out"]) if match["out"] else result,
        tile=(*tile, int(stages["k"])) if tile and stages else tile,
        stages=int(stages["stages"]) if stages else None,
        instruction=_INSTRUCTIONS.get(match["digits"]),
        epilogue=_found(_CUDNN_SUFFIX, name),
        is_winograd=match["winograd"] is not None,
    )


def _attention(name: str, _: re.Match[str]) -> Tactic:
    """Parse fused attention, whose two products run on tensor cores in every release, though the name does not state it."""
    return Tactic(name, "myelin", tensor_cores=True)


def _generated(name: str, match: re.Match[str]) -> Tactic:
    operators = split_operators(match["operators"])
    return Tactic(name, "myelin", tensor_cores=True if "mha" in name.lower() else None, operators=operators)


def _tensor_cores_only(library: str) -> Callable[[str, re.Match[str]], Tactic]:
    """Return a parser for cuBLASLt's `nvjet` and TensorRT's newest convolutions, which exist for tensor cores only."""
    return lambda name, match: Tactic(
        name, library, int(match["sm"]) if match["sm"] else None, tensor_cores=True
    )


_READERS: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], Tactic]], ...] = (
    (GENERATED, _generated),  # the most frequent by far
    (_CUTLASS3, _cutlass3),
    (_CUTLASS2, _cutlass2),
    (_TRT_CUTLASS, _trt_cutlass),
    (re.compile(r"(?:sm(?P<sm>\d{1,4})_)?nvjet_"), _tensor_cores_only("cublas")),
    (re.compile(r"sm(?P<sm>\d{1,4})_xmma_fprop_avdt_dense"), _tensor_cores_only("xmma")),
    (_XMMA, _xmma),
    (_HAND, _hand_written),
    (re.compile(r"_+gemm_mha_v\d|.*fmha|.*flash_?att", re.IGNORECASE), _attention),
    (
        re.compile(r"sm(?P<sm>\d{1,4})_conv_act_pool"),
        lambda name, match: Tactic(name, "myelin", int(match["sm"])),
    ),
)


# Parts


def list_parts(tactic: Tactic) -> list[tuple[str, str]]:
    """Return every part with its text, always in the same order; empty if the name does not have it."""
    cores = "unknown" if tactic.tensor_cores is None else "yes" if tactic.tensor_cores else "no"
    types = {
        "in": tactic.input_type,
        "compute": tactic.compute_type,
        "accumulate": tactic.accumulate_type,
        "out": tactic.output_type,
    }
    special = (("sparse 2:4", tactic.is_sparse), ("Winograd", tactic.is_winograd))
    return [
        ("library", tactic.library),
        ("family", tactic.family),
        ("written for", f"sm_{tactic.architecture}" if tactic.architecture else ""),
        ("tensor cores", cores),
        ("types", " → ".join(f"{word} {dtype.value}" for word, dtype in types.items() if dtype)),
        ("tile", _extents(tactic.tile, "M×N×K")),
        ("stages", str(tactic.stages or "")),
        ("warps", _extents(tactic.warps, "M×N×K")),
        ("instruction", _extents(tactic.instruction, "M×N×K")),
        ("filter", _extents(tactic.filter_shape, "R×S")),
        ("split K", tactic.split_k),
        ("alignment", f"{tactic.alignment} elements" if tactic.alignment else ""),
        ("epilogue", tactic.epilogue or ""),
        ("operators", " ".join(tactic.operators)),
        ("special", ", ".join(word for word, is_so in special if is_so)),
    ]


def _extents(shape: Shape | None, meaning: str) -> str:
    return f"{'×'.join(map(str, shape))} ({meaning[: 2 * len(shape) - 1]})" if shape else ""
