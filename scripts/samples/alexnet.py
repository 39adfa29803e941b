"""AlexNet in FP16 and in FP32 (TF32), as TensorRT 10.4 builds it for a GeForce RTX 3060 Laptop GPU.

The five convolutions run on tensor cores in TensorRT's own kernels; Myelin takes the classifier, whose batch of one makes
matrix-vector products bound by memory bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass

from samples import alexnet_net as net
from samples.cpp import digest
from samples.model import MYELIN_SEPARATOR, RTX_3060_LAPTOP, Engine, IOTensor, Layer, Tensor
from samples.native import convolution, max_pooling, onnx_names, reformat

GEMV = "sm50_xmma_cublas_gemvx_{0}_f32_f32_tn_n_int32_unit_n_launch_param4x32x32_strided_unit_stride"


@dataclass(frozen=True, slots=True)
class Precision:
    """What differs between the two engines.

    Attributes:
        layout: Layout of the activations inside the convolutional part.
        convolutions, pools: Kernel and mean time in ms of each.
        gemms: Mean time in ms of each fully connected layer, its kernel is `gemv`.
        reformat_ms, reshape_ms, shape_call_ms: Mean times of the rest.
    """

    dtype: str
    onnx_dtype: str
    layout: str
    convolutions: tuple[tuple[str, float], ...]
    pools: tuple[tuple[str, float], ...]
    gemv: str
    gemms: tuple[float, ...]
    reformat_ms: float
    reshape_ms: float
    shape_call_ms: float = 0.002
    bytes_per_weight: int = 2


_FP16_CONV = (
    "sm80_xmma_fprop_implicit_gemm_{0}f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize{1}_g1_tensor16x8x16_{2}"
)
_TF32_CONV = (
    "sm80_xmma_fprop_implicit_gemm_{0}f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize{1}_g1_tensor16x8x8_{2}"
)
_GENERIC_POOL = "sm50_xmma_pooling_max_nhwc_{0}FP32_WINDOWSIZE_3_NOT_PROPAGATE_NAN_2D"
_COALESCED_POOL = "sm50_xmma_pooling_coalescedC_NHWC_kMAX_3_False"

FP16 = Precision(
    dtype="Half",
    onnx_dtype="HALF",
    layout="nhwc8",
    convolutions=(
        (_FP16_CONV.format("indexed_wo_smem_", "128x64x16_stage1_warpsize4x1x1", "aligna4_alignc8"), 0.0283),
        (_FP16_CONV.format("", "128x64x64_stage3_warpsize2x2x1", "t1r5s5"), 0.0362),
        (_FP16_CONV.format("", "64x64x64_stage4_warpsize2x2x1", "t1r3s3"), 0.0242),
        (_FP16_CONV.format("", "64x32x64_stage5_warpsize2x2x1", "t1r3s3"), 0.0322),
        (_FP16_CONV.format("", "64x32x64_stage5_warpsize2x2x1", "t1r3s3"), 0.0273),
    ),
    pools=((_GENERIC_POOL.format("FP16"), 0.0024), (_COALESCED_POOL, 0.0021), (_COALESCED_POOL, 0.0019)),
    gemv=GEMV.format("f16f16"),
    gemms=(0.2408, 0.1085, 0.0297),
    reformat_ms=0.0106,
    reshape_ms=0.0028,
)
"""Times chosen so that the classifier takes 69 %, the convolutions 27 % and the poolings 1 % of the layers' time."""

FP32 = Precision(
    dtype="Float",
    onnx_dtype="FLOAT",
    layout="nhwc4",
    convolutions=(
        (_TF32_CONV.format("indexed_", "128x64x16_stage4_warpsize2x2x1", "aligna4_alignc4"), 0.0365),
        (_TF32_CONV.format("", "64x64x16_stage4_warpsize2x2x1", "t1r5s5"), 0.0445),
        (_TF32_CONV.format("", "64x64x16_stage4_warpsize2x2x1", "t1r3s3"), 0.0302),
        (_TF32_CONV.format("", "64x64x32_stage3_warpsize2x2x1", "t1r3s3"), 0.0398),
        (_TF32_CONV.format("", "64x64x32_stage3_warpsize2x2x1", "t1r3s3"), 0.0330),
    ),
    pools=(
        (_GENERIC_POOL.format("FP32"), 0.0033),
        (_GENERIC_POOL.format("FP32"), 0.0026),
        (_GENERIC_POOL.format("FP32"), 0.0021),
    ),
    gemv=GEMV.format("f32f32"),
    gemms=(0.4800, 0.2140, 0.0535),
    reformat_ms=0.0098,
    reshape_ms=0.0030,
    bytes_per_weight=4,
)
"""The classifier reads twice the bytes of the FP16 one, at the same 92 % of the memory bandwidth."""


def engine(precision: Precision) -> Engine:
    """The engine of the given precision."""
    layers = [*_features(precision), *_classifier(precision)]
    ios = (
        IOTensor("input", True, precision.dtype, net.INPUT_SHAPE),
        IOTensor("output", False, precision.dtype, (1, 1000)),
    )
    fusions = tuple(("ConvReluFusion", net.conv_name(stage), net.relu_name(stage)) for stage in net.STAGES)
    return Engine(
        version=(10, 4, 0),
        device=RTX_3060_LAPTOP,
        layers=tuple(layers),
        ios=ios,
        nodes=net.nodes(precision.onnx_dtype),
        initializers=net.initializers(),
        fusions=fusions,
        weights_bytes=net.PARAMETERS * precision.bytes_per_weight,
        activation_bytes=512 * 1024 * precision.bytes_per_weight,
    )


def _features(precision: Precision) -> list[Layer]:
    first = f"{net.conv_name(net.STAGES[0])} + {net.relu_name(net.STAGES[0])}"
    source = Tensor("input", net.INPUT_SHAPE, precision.dtype, "linear")
    packed = Tensor(f"Reformatted Input Tensor 0 to {first}", net.INPUT_SHAPE, precision.dtype, "nhwc4")
    copy = f"Reformatting CopyNode for Input Tensor 0 to {first}"
    layers = [reformat(copy, source, packed, precision.reformat_ms, "REFORMAT", ())]
    current = packed
    pools = iter(precision.pools)
    for stage, shapes, (tactic, ms) in zip(
        net.STAGES, net.stage_shapes(), precision.convolutions, strict=True
    ):
        onnx = (net.conv_name(stage), net.relu_name(stage))
        result = Tensor(f"{onnx[1]}_output_0", shapes[1], precision.dtype, precision.layout)
        layers.append(convolution(" + ".join(onnx), current, result, stage.window, tactic, ms, onnx))
        current = result
        if stage.pool is not None:
            name = net.pool_name(stage)
            result = Tensor(f"{name}_output_0", shapes[2], precision.dtype, precision.layout)
            kernel, ms = next(pools)
            layers.append(max_pooling(name, "CaskPooling", current, result, net.POOL, kernel, ms, (name,)))
            current = result
    return layers


def _classifier(precision: Precision) -> list[Layer]:
    """The Myelin part: a shape call, the flattening, and a matrix-vector product per fully connected layer."""
    call = {"TacticName": "", "StreamId": 0, "Metadata": ""}
    layers = [Layer("dummy_shape_call__mye418_0_myl4_0", "shape_call", (), (), precision.shape_call_ms, call)]
    current = Tensor("/classifier/classifier_1/Gemm_input'.1_2", (1, net.FLAT), precision.dtype)
    pooled = Tensor("/features/features.12/MaxPool_output_0", (1, 256, 6, 6), precision.dtype)
    kernel = f"__myl_Resh_0x{digest(f'reshape {precision.dtype}', 32)}"
    extra = {"TacticName": kernel, "StreamId": 0, "Metadata": onnx_names(["/Flatten"])}
    layers.append(Layer("__myl_Resh_myl4_1", "kgen", (pooled,), (current,), precision.reshape_ms, extra))
    for position, (index, inputs, outputs) in enumerate(net.CLASSIFIER):
        last = position == len(net.CLASSIFIER) - 1
        scope = f"/classifier/classifier_{index}/Gemm"
        result = "output" if last else f"/classifier/classifier_{index + 1}/Relu_output_0'.1_{position + 3}"
        target = Tensor(result, (1, outputs), precision.dtype)
        operands = (
            current,
            Tensor(f"__mye{391 + 6 * position}_dconst", (inputs, outputs), precision.dtype),
            Tensor(f"__mye{352 + 14 * position}{scope}_alpha", (1,), "Float"),
            Tensor(f"__mye{353 + 14 * position}{scope}_beta", (1,), "Float"),
            Tensor(
                f"classifier_{index}_bias _ ONNXTRT_Broadcast_constant{precision.dtype}",
                (1, outputs),
                precision.dtype,
            ),
        )
        onnx = [net.gemm_name(index)] + ([] if last else [f"/classifier/classifier.{index + 1}/Relu"])
        extra = {"TacticName": precision.gemv, "StreamId": 0, "Metadata": onnx_names(onnx, MYELIN_SEPARATOR)}
        name = f"{scope}_myl4_{position + 2}"
        layers.append(Layer(name, "gemm", operands, (target,), precision.gemms[position], extra))
        current = target
    return layers
