"""A small transformer encoder in FP8, as TensorRT 11.0 might build it for a GeForce RTX 4090.

Two pre-norm blocks of width 256 with 4 heads and a feed-forward part of 1024 (Vaswani et al. 2017, in the pre-norm form),
a bias for relative positions, and a pooler on the first token. Linear layers are FP8 (E4M3) with BF16 results, the bias is
FP16, the pooler BF16. The bias is computed on stream 1 and the pooler on stream 2, next to the main stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from samples.cpp import digest
from samples.model import MYELIN_SEPARATOR, RTX_4090, Engine, IOTensor, Layer, Node, Tensor
from samples.native import no_op, onnx_names

BATCH, LENGTH, WIDTH, HEADS, INNER, BLOCKS = 8, 128, 256, 4, 1024, 2
"""The batch is that of the optimisation profile; the rest is fixed by the network."""
TOKENS = BATCH * LENGTH
POSITION_FEATURES = 64

FP8_GEMM = "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize{0}_stage4_warpsize2x2x1_tensor16x8x32"
FP16_GEMM = "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize32x32x64_stage6_warpsize2x2x1_tensor16x8x16"
BF16_GEMM = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16"
_NORM = "CastMeanSubMulMeanAddSqrtDivMulMulAddMulQuan"

STATES = IOTensor(
    "hidden_states",
    True,
    "BFloat16",
    (-1, LENGTH, WIDTH),
    ((1, LENGTH, WIDTH), (BATCH, LENGTH, WIDTH), (32, LENGTH, WIDTH)),
)
POSITIONS = IOTensor("position_features", True, "Half", (LENGTH, POSITION_FEATURES))
IOS = (
    STATES,
    POSITIONS,
    IOTensor("last_hidden_state", False, "Float", (-1, LENGTH, WIDTH)),
    IOTensor("pooled", False, "BFloat16", (-1, WIDTH)),
)


@dataclass(slots=True)
class _Region:
    """The layers of one Myelin region, numbered as they are added."""

    layers: list[Layer] = field(default_factory=list)

    def add(
        self,
        stem: str,
        kind: str,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        ms: float,
        extra: dict[str, Any],
    ) -> None:
        self.layers.append(Layer(f"{stem}_myl0_{len(self.layers)}", kind, inputs, outputs, ms, extra))

    def sync(self, kind: str, stem: str, stream: int, event: int) -> None:
        """A `signal` or a `wait`: it runs no kernel and takes no time of its own."""
        extra = {"TacticName": "", "StreamId": stream, "EventId": event, "Metadata": ""}
        self.add(stem, kind, (), (), 0.0, extra)

    def generated(
        self,
        operations: str,
        inputs: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        ms: float,
        onnx: list[str],
        stream: int = 0,
        constants: tuple[Tensor, ...] = (),
    ) -> None:
        """A kernel that Myelin generates; its name lists the operations."""
        stem = operations if operations.startswith("_") else f"__myl_{operations}"
        # A kernel is known by what it computes, not by the layer: equal ones in both blocks share their hash.
        code = f"{stem} {[(tensor.dims, tensor.dtype) for tensor in (*inputs, *outputs)]}"
        extra: dict[str, Any] = {"Constants": constants} if constants else {}
        extra |= {"TacticName": f"{stem}_0x{digest(code, 32)}", "StreamId": stream}
        extra["Metadata"] = onnx_names(onnx, MYELIN_SEPARATOR)
        self.add(stem, "kgen", inputs, outputs, ms, extra)

    def gemm(
        self,
        name: str,
        source: Tensor,
        target: Tensor,
        tactic: str,
        ms: float,
        stream: int = 0,
    ) -> None:
        """A linear layer; weights, scale and bias are `Constants`."""
        width = (source.dims[-1], target.dims[-1])
        scope = name.removeprefix("/").removesuffix("/MatMul").replace("/", ".")
        constants = [Tensor(f"{scope}.weight", width, source.dtype)]
        onnx = [name, name.replace("MatMul", "Add")]
        if source.dtype == "FP8":
            constants.append(Tensor(f"{scope}.scale", (1,), "Float"))
            parent = name.removesuffix("/MatMul")
            onnx += [
                f"{parent}/input_quantizer/DequantizeLinear",
                f"{parent}/weight_quantizer/DequantizeLinear",
            ]
        constants.append(Tensor(f"{scope}.bias", width[1:], target.dtype))
        extra: dict[str, Any] = {"Constants": tuple(constants), "TacticName": tactic, "StreamId": stream}
        extra["Metadata"] = onnx_names(onnx, MYELIN_SEPARATOR)
        self.add(name.replace(".", "_"), "gemm", (source,), (target,), ms, extra)


def engine() -> Engine:
    """The engine at batch 8."""
    region = _Region()
    given = Tensor("Reformatted hidden_states", (BATCH, LENGTH, WIDTH), "BFloat16", "linear")
    original = Tensor("hidden_states", given.dims, "BFloat16", "linear")
    rename = no_op("Reformatting CopyNode for Network Input hidden_states", original, given)
    rename = Layer(
        rename.name,
        rename.kind,
        rename.inputs,
        rename.outputs,
        0.0,
        {**rename.extra, "StreamId": 0, "Metadata": ""},
    )
    bias = _position_bias(region)
    residual = Tensor(given.name, given.dims, "BFloat16")
    for block in range(BLOCKS):
        residual = _block(region, block, residual, bias)
    _head(region, residual)
    weights = BLOCKS * (4 * WIDTH * WIDTH + 2 * WIDTH * INNER) + 2 * POSITION_FEATURES * HEADS * LENGTH
    return Engine(
        version=(11, 0, 0),
        device=RTX_4090,
        layers=(rename, *region.layers),
        ios=IOS,
        nodes=_nodes(),
        initializers=tuple(_initializers()),
        fusions=(("ConstShuffleFusion", "encoder.pos_bias.proj.bias", "ONNXTRT_Broadcast"),),
        weights_bytes=weights + 2 * WIDTH * WIDTH,
        activation_bytes=TOKENS * (INNER * 2 + WIDTH * 9),
    )


def _position_bias(region: _Region) -> Tensor:
    """Stream 1: the relative-position bias of all heads, while stream 0 starts with the first block."""
    region.sync("signal", "entry^bb^signal^1", 0, 0)
    region.sync("wait", "entry^bb^wait^1", 1, 0)
    features = Tensor(POSITIONS.name, POSITIONS.dims, "Half")
    flat = Tensor("__mye1187", (LENGTH, HEADS * LENGTH), "Half")
    region.gemm("/encoder/pos_bias/proj/MatMul", features, flat, FP16_GEMM, 0.0037, stream=1)
    bias = Tensor("/encoder/pos_bias/Transpose_output_0'.1", (HEADS, LENGTH, LENGTH), "BFloat16")
    onnx = ["/encoder/pos_bias/Reshape", "/encoder/pos_bias/Transpose", "/encoder/pos_bias/Cast"]
    region.generated("ReshTranCast", (flat,), (bias,), 0.0022, onnx, stream=1)
    region.sync("signal", "__mye1204", 1, 1)
    return bias


def _block(region: _Region, block: int, residual: Tensor, bias: Tensor) -> Tensor:
    """One encoder block; returns what the next one reads."""
    scope = f"/encoder/layers.{block}"
    attended = _attention(region, block, residual, bias)
    summed = Tensor(f"__myln_k_arg__bb1_{20 * block + 9}", (TOKENS, WIDTH), "BFloat16")
    normed = Tensor(f"__myln_k_arg__bb1_{20 * block + 10}", (TOKENS, WIDTH), "FP8")
    onnx = [
        f"{scope}/Add",
        f"{scope}/norm2/LayerNormalization",
        f"{scope}/ffn/fc1/input_quantizer/QuantizeLinear",
    ]
    region.generated(
        f"Add{_NORM}", (attended, residual), (summed, normed), 0.0033, onnx, constants=_norm(scope, 2)
    )
    inner = Tensor(f"__mye{1500 + 100 * block}", (TOKENS, INNER), "BFloat16")
    region.gemm(f"{scope}/ffn/fc1/MatMul", normed, inner, FP8_GEMM.format("128x128x64"), 0.0058)
    active = Tensor(f"__myln_k_arg__bb1_{20 * block + 12}", (TOKENS, INNER), "FP8")
    onnx = [f"{scope}/ffn/act/Gelu", f"{scope}/ffn/fc2/input_quantizer/QuantizeLinear"]
    region.generated("CastMulErfAddMulMulQuan", (inner,), (active,), 0.0039, onnx)
    result = Tensor(f"__mye{1520 + 100 * block}", (TOKENS, WIDTH), "BFloat16")
    region.gemm(f"{scope}/ffn/fc2/MatMul", active, result, FP8_GEMM.format("64x64x64"), 0.0061)
    output = Tensor(f"{scope}/Add_1_output_0'.1", (TOKENS, WIDTH), "BFloat16")
    region.generated("Add", (result, summed), (output,), 0.0024, [f"{scope}/Add_1"])
    return output


def _norm(scope: str, number: int) -> tuple[Tensor, ...]:
    name = f"{scope.removeprefix('/').replace('/', '.')}.norm{number}"
    return tuple(Tensor(f"{name}.{part}", (WIDTH,), "BFloat16") for part in ("weight", "bias"))


def _attention(region: _Region, block: int, residual: Tensor, bias: Tensor) -> Tensor:
    """Norm, fused QKV projection, fused attention, output projection."""
    scope = f"/encoder/layers.{block}"
    normed = Tensor(f"__myln_k_arg__bb1_{20 * block + 2}", (TOKENS, WIDTH), "FP8")
    onnx = [f"{scope}/norm1/LayerNormalization", f"{scope}/attn/qkv/input_quantizer/QuantizeLinear"]
    region.generated(_NORM, (residual,), (normed,), 0.0031, onnx, constants=_norm(scope, 1))
    qkv = Tensor(f"__mye{1310 + 100 * block}", (TOKENS, 3 * WIDTH), "BFloat16")
    region.gemm(f"{scope}/attn/qkv/MatMul", normed, qkv, FP8_GEMM.format("128x64x64"), 0.0047)
    heads = (BATCH * HEADS, LENGTH, WIDTH // HEADS)
    parts = tuple(
        Tensor(f"__myln_k_arg__bb1_{20 * block + 3 + part}", heads, "BFloat16") for part in range(3)
    )
    region.generated(
        "SlicReshTran", (qkv,), parts, 0.0029, [f"{scope}/attn/Split", f"{scope}/attn/Transpose"]
    )
    if block == 0:
        region.sync("wait", "__mye1204_wait", 0, 1)
    context = Tensor(f"__myln_k_arg__bb1_{20 * block + 7}", heads, "BFloat16")
    onnx = [f"{scope}/attn/{name}" for name in ("MatMul", "Add", "Softmax", "MatMul_1")]
    region.generated("_gemm_mha_v2", (*parts, bias), (context,), 0.0074, onnx)
    packed = Tensor(f"__myln_k_arg__bb1_{20 * block + 8}", (TOKENS, WIDTH), "FP8")
    onnx = [f"{scope}/attn/Transpose_1", f"{scope}/attn/out/input_quantizer/QuantizeLinear"]
    region.generated("TranReshMulQuan", (context,), (packed,), 0.0025, onnx)
    attended = Tensor(f"__mye{1340 + 100 * block}", (TOKENS, WIDTH), "BFloat16")
    region.gemm(f"{scope}/attn/out/MatMul", packed, attended, FP8_GEMM.format("64x64x64"), 0.0036)
    return attended


def _head(region: _Region, residual: Tensor) -> None:
    """The last norm; then the result as FP32 on stream 0 and the pooler on stream 2."""
    normed = Tensor("/encoder/norm/LayerNormalization_output_0'.1", (BATCH, LENGTH, WIDTH), "BFloat16")
    operations = "CastMeanSubMulMeanAddSqrtDivMulMulAddCast"
    region.generated(operations, (residual,), (normed,), 0.0030, ["/encoder/norm/LayerNormalization"])
    region.sync("signal", "__mye1811", 0, 2)
    region.sync("wait", "__mye1811_wait", 2, 2)
    token = Tensor("__myln_k_arg__bb1_61", (BATCH, WIDTH), "BFloat16")
    region.generated("SlicResh", (normed,), (token,), 0.0019, ["/pooler/Gather"], stream=2)
    dense = Tensor("__mye1822", (BATCH, WIDTH), "BFloat16")
    region.gemm("/pooler/dense/MatMul", token, dense, BF16_GEMM, 0.0034, stream=2)
    pooled = Tensor("pooled", (BATCH, WIDTH), "BFloat16")
    region.generated("CastTanhCast", (dense,), (pooled,), 0.0019, ["/pooler/Tanh"], stream=2)
    region.sync("signal", "__mye1829", 2, 3)
    result = Tensor("last_hidden_state", (BATCH, LENGTH, WIDTH), "Float")
    region.generated("Cast", (normed,), (result,), 0.0026, ["/Cast_output"])
    region.sync("wait", "__mye1829_wait", 0, 3)


def _linear_layers() -> list[tuple[str, int, int]]:
    """(ONNX scope, inputs, outputs) of the linear layers of the blocks."""
    found = []
    for block in range(BLOCKS):
        scope = f"/encoder/layers.{block}"
        found.append((f"{scope}/attn/qkv", WIDTH, 3 * WIDTH))
        found.append((f"{scope}/attn/out", WIDTH, WIDTH))
        found.append((f"{scope}/ffn/fc1", WIDTH, INNER))
        found.append((f"{scope}/ffn/fc2", INNER, WIDTH))
    return found


def _initializers() -> list[str]:
    scopes = [scope.removeprefix("/").replace("/", ".") for scope, _, _ in _linear_layers()]
    return [f"{scope}.{part}" for scope in scopes for part in ("weight", "weight_scale", "bias")]


def _nodes() -> tuple[Node, ...]:
    """The matrix products of the blocks; the nodes between them are left out of the modelled log."""
    nodes = []
    for scope, inputs, outputs in _linear_layers():
        source = (
            f"{scope}/input_quantizer/DequantizeLinear_output_0",
            (-1, LENGTH, inputs),
            "BFLOAT16",
        )
        weight = (f"{scope}/weight_quantizer/DequantizeLinear_output_0", (inputs, outputs), "BFLOAT16")
        result = (f"{scope}/MatMul_output_0", (-1, LENGTH, outputs), "BFLOAT16")
        nodes.append(Node(f"{scope}/MatMul", "MatMul", (source, weight), (result,)))
    return tuple(nodes)
