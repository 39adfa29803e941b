"""AlexNet quantised with Q/DQ nodes, as TensorRT 8.5 builds it for a GeForce RTX 3060 Laptop GPU.

Convolutions and fully connected layers have absorbed their Q/DQ nodes. What is left of them are reformats of origin `QDQ`,
and a scale where the last pooling, which runs in FP16, is quantised again. The copies around that pooling include two that
have the same name, which TensorRT allows.
"""

from __future__ import annotations

from dataclasses import replace

from samples import alexnet_net as net
from samples.model import RTX_3060_LAPTOP, Engine, IOTensor, Layer, Node, Tensor
from samples.native import Window, convolution, max_pooling, no_op, reformat

_CUDNN = "ampere_int8x4_icudnn_int8x4_128x64_relu_xregs_medium_c32_nn_v1"
_INTERLEAVED = (
    "sm80_xmma_fprop_implicit_gemm_interleaved_i8{0}_i8i32_f32_nchw_vect_c_32kcrs_vect_c_32_{1}_tilesize{2}_g1_"
    "tensor16x8x32_{3}"
)
_FP32_OUT = (
    "sm80_xmma_fprop_implicit_gemm_interleaved_i8f32_i8i32_f32_nchw_vect_c_32kcrs_vect_c_32_nchw_tilesize64x32x64_"
    "stage6_warpsize2x1x1_g1_tensor16x8x32_t1r1s1_alignc4_nchw"
)
_WIDE = "nchw_vect_c_32"
CONVOLUTIONS = (
    (_CUDNN, 0.0272),
    (_INTERLEAVED.format("i8", _WIDE, "128x64x64_stage4_warpsize2x2x1", "t1r5s5"), 0.0205),
    (_INTERLEAVED.format("i8", _WIDE, "64x64x64_stage6_warpsize2x2x1", "t1r3s3"), 0.0138),
    (_INTERLEAVED.format("i8", _WIDE, "64x64x64_stage6_warpsize2x2x1", "t1r3s3"), 0.0179),
    (_INTERLEAVED.format("f16", _WIDE, "64x32x64_stage6_warpsize2x1x1", "t1r3s3"), 0.0156),
)
GEMM = _INTERLEAVED.format("i8", _WIDE, "64x32x64_stage6_warpsize2x1x1", "t1r1s1")
GEMMS = ((GEMM, 0.1297), (GEMM, 0.0584), (_FP32_OUT, 0.0171))
LAST_POOL = "MaxPool_36"
_FIRST = 100
"""Number of the first tensor; PyTorch's exporter numbered tensors and nodes in those days."""


def engine() -> Engine:
    """The engine, with the numbers of its ONNX nodes in the layer names."""
    layers = (*_features(), *_pool_and_flatten(), *_classifier())
    return Engine(
        version=(8, 5, 2),
        device=RTX_3060_LAPTOP,
        layers=layers,
        ios=(
            IOTensor("input.1", True, "Float", net.INPUT_SHAPE),
            IOTensor("165", False, "Float", (1, 1000)),
        ),
        nodes=_nodes(),
        initializers=net.initializers(),
        fusions=_fusions(),
        weights_bytes=net.PARAMETERS,
        activation_bytes=1_052_672,
    )


def _conv_numbers(position: int) -> tuple[int, int, int]:
    """Numbers of the weights' QuantizeLinear, of the Conv and of the Relu of a stage."""
    start = 5 + 7 * position
    return start, start + 2, start + 3


def _conv_layer_name(position: int) -> str:
    quantize, conv, relu = _conv_numbers(position)
    weights = f"features.{net.STAGES[position].index}.weight"
    return f"{weights} + QuantizeLinear_{quantize} + Conv_{conv} + Relu_{relu}"


def _features() -> list[Layer]:
    source = Tensor("input.1", net.INPUT_SHAPE, "Float", "linear")
    current = Tensor(f"{_FIRST}", net.INPUT_SHAPE, "Int8", "chw4")
    layers = [reformat("QuantizeLinear_2", source, current, 0.0064, "QDQ", None)]
    for position, (stage, shapes, (tactic, ms)) in enumerate(
        zip(net.STAGES, net.stage_shapes(), CONVOLUTIONS, strict=True)
    ):
        last = position == len(net.STAGES) - 1
        target = Tensor(f"{_FIRST + 6 * position + 4}", shapes[1], "Half" if last else "Int8", "chw32")
        name = _conv_layer_name(position)
        layers.append(convolution(name, current, target, stage.window, tactic, ms, None))
        current = target
        if stage.pool is not None and not last:
            pooled = Tensor(f"{_FIRST + 6 * position + 5}", shapes[2], "Int8", "chw32")
            name = f"MaxPool_{_conv_numbers(position)[2] + 1}"
            ms = 0.0031 if position == 0 else 0.0027
            layers.append(
                max_pooling(name, "CudaPooling", current, pooled, net.POOL, "0xfffffffffffffffe", ms, None)
            )
            current = pooled
    return layers


def _pool_and_flatten() -> list[Layer]:
    """From the last convolution to the classifier: two copies, the pooling, the quantisation, the flattening."""
    copy = f"Reformatting CopyNode for Input Tensor 0 to {LAST_POOL}"
    given = Tensor(f"{_FIRST + 28}", (1, 256, 13, 13), "Half", "chw32")
    rows = Tensor(f"Reformatted Input Tensor 0 to {LAST_POOL} [linear]", given.dims, "Half", "linear")
    pairs = Tensor(f"Reformatted Input Tensor 0 to {LAST_POOL}", given.dims, "Half", "chw2")
    pooled = Tensor(f"{_FIRST + 29}", (1, 256, 6, 6), "Half", "chw2")
    quantized = Tensor(f"{_FIRST + 32}", (1, 256, 6, 6), "Int8", "linear")
    flat = Tensor(f"{_FIRST + 40}", (1, net.FLAT, 1, 1), "Int8", "chw4")
    count = {"Type": "Float", "Count": 1}
    scale = {
        "ParameterType": "Scale",
        "Mode": "UNIFORM",
        "Shift": count,
        "Scale": count,
        "Power": {"Type": "Float", "Count": 0},
        "Activation": "NONE",
        "ChannelAxis": 1,
        "TacticValue": "0x0000000000000000",
    }
    shuffle = {
        "ParameterType": "Shuffle",
        "FirstTranspose": [0, 1, 2, 3],
        "Reshape": f"[1,{net.FLAT},1,1]",
        "SecondTranspose": [0, 1, 2, 3],
        "ZeroIsPlaceholder": 0,
        "TacticValue": "0x0000000000000000",
    }
    name = "Flatten_44 + reshape_before_Gemm_50"
    return [
        reformat(copy, given, rows, 0.0030, "REFORMAT", None),
        reformat(copy, rows, pairs, 0.0028, "REFORMAT", None),
        max_pooling(LAST_POOL, "TiledPooling", pairs, pooled, net.POOL, "0x0000000000650101", 0.0026, None),
        Layer("QuantizeLinear_40", "Scale", (pooled,), (quantized,), 0.0025, scale),
        Layer(name, "Shuffle", (quantized,), (flat,), 0.0029, shuffle),
    ]


def _gemm_layer_name(position: int) -> str:
    index = net.CLASSIFIER[position][0]
    quantize, gemm = 48 + 8 * position, 50 + 8 * position
    tail = "" if position == len(net.CLASSIFIER) - 1 else f" + Relu_{gemm + 1}"
    return f"classifier.{index}.weight + QuantizeLinear_{quantize} + Gemm_{gemm}{tail}"


def _classifier() -> list[Layer]:
    """Fully connected layers as convolutions of 1x1, framed by layers that only rename memory."""
    point = Window(1, 1, 0)
    flat = Tensor(f"{_FIRST + 40}", (1, net.FLAT, 1, 1), "Int8", "chw4")
    first = _gemm_layer_name(0)
    current = replace(flat, name=f"Reformatted Input Tensor 0 to {first}", layout="chw32")
    layers = [no_op(f"Reformatting CopyNode for Input Tensor 0 to {first}", flat, current)]
    for position, (_, _, outputs) in enumerate(net.CLASSIFIER):
        last = position == len(net.CLASSIFIER) - 1
        dtype, layout = ("Float", "linear") if last else ("Int8", "chw32")
        name = _gemm_layer_name(position)
        result = f"Gemm_{50 + 8 * position}_out_tensor" if last else f"{_FIRST + 47 + 7 * position}"
        target = Tensor(result, (1, outputs, 1, 1), dtype, layout)
        tactic, ms = GEMMS[position]
        layers.append(convolution(name, current, target, point, tactic, ms, None, relu=not last))
        current = target
    squeezed = Tensor("165", (1, 1000), "Float", "linear")
    return [*layers, no_op("copied_squeeze_after_Gemm_66", current, squeezed)]


def _nodes() -> tuple[Node, ...]:
    """The first nodes of the ONNX model; the log of a real build goes on like this through the whole network."""
    shape = net.INPUT_SHAPE
    scale = (("input_scale", (), "FLOAT"), ("input_zero_point", (), "INT8"))
    quantize = Node(
        "QuantizeLinear_2", "QuantizeLinear", (("input.1", shape, "FLOAT"), *scale), (("99", shape, "INT8"),)
    )
    restore = Node(
        "DequantizeLinear_4", "DequantizeLinear", (("99", shape, "INT8"), *scale), (("101", shape, "FLOAT"),)
    )
    first = net.nodes("FLOAT")[0]
    conv = replace(
        first,
        name="Conv_7",
        inputs=(("101", shape, "FLOAT"), ("103", first.inputs[1][1], "FLOAT"), first.inputs[2]),
        outputs=(("104.0", first.outputs[0][1], "FLOAT"),),
    )
    return quantize, restore, conv


def _fusions() -> tuple[tuple[str, str, str], ...]:
    found: list[tuple[str, str, str]] = []
    for position, stage in enumerate(net.STAGES):
        quantize, conv, relu = _conv_numbers(position)
        weights = f"features.{stage.index}.weight"
        constant = f"{weights} + QuantizeLinear_{quantize}"
        found.append(("ConstQuantizeFusion", weights, f"QuantizeLinear_{quantize}"))
        found.append(("ConstWeightsFusion", constant, f"Conv_{conv}"))
        found.append(("ConvReluFusion", f"{constant} + Conv_{conv}", f"Relu_{relu}"))
    return tuple(found)
