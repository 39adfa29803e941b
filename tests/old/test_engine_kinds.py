"""What a layer does, whatever it is called."""

from __future__ import annotations

import re

import pytest

from trex_tui.old.engine import DataType, LayerKind
from trex_tui.old.engine.kinds import classify, classify_name

# Every LayerType known from real engines and from NVIDIA's tools, TensorRT 8.2 to 11.
LAYER_TYPES = {
    "Reformat": "reformat",
    "CaskConvolution": "convolution",
    "CaskGemmConvolution": "convolution",
    "CaskFlattenConvolution": "convolution",
    "CudaDepthwiseConvolution": "convolution",
    "FusedConvActConvolution": "convolution",
    "CublasConvolution": "convolution",
    "CudnnConvolution": "convolution",
    "CaskPooling": "pooling",
    "TiledPooling": "pooling",
    "CudaPooling": "pooling",
    "CudnnPooling": "pooling",
    "CudaSoftMax": "softmax",
    "NoOp": "noop",
    "Scale": "scale",
    "Shuffle": "shuffle",
    "Slice": "slice",
    "Padding": "slice",
    "CaskDeconvolutionV2": "convolution",
    "LogSoftmaxTopK": "softmax",
    "PointWiseV2": "pointwise",
    "TrainStation": "sync",
    "PluginV2": "plugin",
    "PluginV3": "plugin",
    "PluginV2DynamicExt": "plugin",
    "Myelin": "myelin",
    "kgen": "myelin",
    "gemm": "gemm",
    "shape_call": "shape",
    "signal": "sync",
    "wait": "sync",
    "reshape": "shuffle",
    "copy": "shuffle",
    "kgen_mha": "attention",
    "correlation": "convolution",
    "fusion": "fused",
    "conv": "convolution",
    "DLA": "fused",
    "Constant": "constant",
    "MatrixMultiply": "gemm",
    "Reduce": "reduction",
    "TopK": "reduction",
    "ElementWise": "pointwise",
    "Resize": "resize",
    "Concatenation": "concat",
    "Gather": "slice",
    "Quantize": "quantize",
    "Dequantize": "quantize",
    "Cast": "reformat",
    "Normalization": "normalization",
}


@pytest.mark.parametrize(("layer_type", "kind"), LAYER_TYPES.items())
def test_layer_types(layer_type: str, kind: str) -> None:
    assert classify(layer_type, None, "some name") == kind
    assert classify(layer_type.upper(), None, "some name") == kind or layer_type == "kgen"


@pytest.mark.parametrize(
    ("layer_type", "parameter_type", "kind"),
    [
        ("CaskConvolution", "Convolution", "convolution"),
        ("Myelin", "Convolution", "convolution"),
        ("NoOp", "Shuffle", "noop"),
        ("CaskConvolution", "ConvActPool", "convolution"),
        ("PluginV2", "EfficientNMS_TRT", "plugin"),
        ("Whatever", "Pooling", "pooling"),
        ("CudnnSomething", "Unheard", "other"),
    ],
)
def test_layer_and_parameter_types(layer_type: str, parameter_type: str, kind: str) -> None:
    assert classify(layer_type, parameter_type, "x") == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("__myl_AddMulCast_myl8_464", "pointwise"),
        ("__myl_MaxrSubExpSumDivMul_myl1_2", "softmax"),
        ("__myl_MulSum_myl4_1", "reduction"),
        ("__myl_MulSumAdd_myl4_1", "reduction"),
        ("__myl_MoveMeanSubMulMeanAddSqrtDivMulMulAdd_myl0_3", "normalization"),
        ("__myl_CastMeanSubMulMean_myl0_3", "normalization"),
        ("__myl_MulMeanAddSqrtDivMul_myl0_4", "normalization"),
        ("__myl_MeanMul_myl0_4", "reduction"),
        ("__myl_FcAddCastMeanSubMulMeanAddSqrtDivMul_myl0_4", "gemm"),
        ("__myl_FcAdd_myl1_7", "gemm"),
        ("__myl_CasMeaSubMulMeaAddSqrDivMulCasMulAdd_myl0_3", "normalization"),
        ("__myl_TraMaxSubExpSum_myl0_1", "softmax"),
        ("__myl_TraConCas_myl0_1", "reformat"),
        ("__myl_SliRes_myl0_1", "slice"),
        ("__myl_CorrMulAddRelu_myl0_1", "convolution"),
        ("__myl_Res_myl9_1", "shuffle"),
        ("__myl_Slic_myl1_1", "slice"),
        ("__myl_ReshConc_myl1_1", "concat"),
        ("__myl_Cast_myl1_1", "reformat"),
        ("__myl_Resi_myl0_1", "resize"),
        ("_gemm_mha_v2_myl0_14", "attention"),
        ("opaque", "myelin"),
    ],
)
def test_generated_kernels(name: str, kind: str) -> None:
    assert classify("kgen", None, name) == kind
    assert classify("kgen", None, "x", f"{name}_0x1234") == (kind if name != "opaque" else "myelin")


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        ("/fc/Gemm", "gemm"),
        ("/a/MatMul_3", "gemm"),
        ("node_linear_1", "gemm"),
        ("/ReduceSum_1", "reduction"),
        ("/Gemma/ReduceSum", "reduction"),
    ],
)
def test_product_that_is_generated_as_a_sum(node: str, kind: str) -> None:
    assert classify("kgen", None, "__myl_MulSumAdd_myl4_1", onnx_nodes=[node]) == kind
    assert classify("kgen", None, "__myl_MaxrSubExpSumDivMul_myl1_2", onnx_nodes=[node]) == "softmax"


def test_quantization_that_runs_as_something_else() -> None:
    to_int8 = {"input_type": DataType.FP16, "output_type": DataType.INT8}
    from_int8 = {"input_type": DataType.INT8, "output_type": DataType.FP16}
    assert classify("Reformat", "Reformat", "x", origin="QDQ") is LayerKind.QUANTIZE
    assert classify("Reformat", "Reformat", "x", origin="REFORMAT", **to_int8) is LayerKind.REFORMAT
    assert classify("Scale", "Scale", "x", **to_int8) is LayerKind.QUANTIZE
    assert classify("Scale", "Scale", "x", **from_int8) is LayerKind.QUANTIZE
    assert classify("kgen", None, "__myl_MulRounClipCast_myl0_1", **to_int8) is LayerKind.QUANTIZE
    assert classify("kgen", None, "__myl_MulRounClipCast_myl0_1") is LayerKind.POINTWISE
    assert classify("kgen", None, "__myl_FcMul_myl0_1", **from_int8) is LayerKind.GEMM


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/features/features.0/Conv + /features/features.1/Relu", "convolution"),
        ("Conv_0 + Add_1", "convolution"),
        ("/classifier/MatMul", "gemm"),
        ("MaxPool_2", "pooling"),
        ("reshape_after_MatMul-12", "shuffle"),
        ("Transpose-7 + Reshape-7 + reshape_before_MatMul-9", "shuffle"),
        ("MatMul-9 + reshape_after_Conv-2", "gemm"),
        ("copied_squeeze_after_/a/Gemm_copy_input", "shuffle"),
        ("PWN(Clip_16)", "pointwise"),
        ("PWN(PWN(/a/Sigmoid), /a/Mul)", "pointwise"),
        ("Reformatting CopyNode for Input Tensor 0 to Conv_0", "reformat"),
        ("{ForeignNode[a...b]}", "myelin"),
        ("(Unnamed Layer* 12) [Shuffle]", "shuffle"),
        ("(Unnamed Layer* 12) [Whatever]", "other"),
        ("(Unnamed Layer* 12) [ElementWise]", "pointwise"),
        ("[MATRIX_MULTIPLY]-[fc0]", "gemm"),
        ("[CONVOLUTION]-[conv0]", "convolution"),
        ("Sub_128", "pointwise"),
        ("/head/ReduceMax", "reduction"),
        ("ReduceL2_7", "reduction"),
        ("Pad_3", "slice"),
        ("/a/Cast_1", "reformat"),
        ("Expand_90", "slice"),
        ("Unsqueeze_4 + Cast_5", "shuffle"),
        ("TopK_2", "reduction"),
        ("ArgMax_17", "reduction"),
        ("/encoder/norm1/LayerNormalization", "normalization"),
        ("BatchNormalization_1 + Relu_2", "scale"),
        ("Conv_0 + Sub_1", "convolution"),
        ("/stem/Conv_output_0_DequantizeLinear", "quantize"),
        ("/stem/Conv_output_0_QuantizeLinear_1", "quantize"),
        ("images_QuantizeLinear", "quantize"),
        ("/Encoder/Conv", "convolution"),
        ("conv1 + PWN(re_lu_clip)", "convolution"),
        ("layer_64_1_conv2_h + layer_64_1_sum", "convolution"),
        ("conv1/7x7_s2 + conv1/relu_7x7", "convolution"),
        ("inception_3a/3x3 + inception_3a/relu_3x3", "other"),
        ("conv1_pool", "pooling"),
        ("re_lu/Relu:0_pooling", "pooling"),
        ("resnetv17_pool0_fwd_U3_myl0_2", "pooling"),
        ("resnetv17_stage1_conv0_fwd + resnetv17_stage1_relu0_fwd", "convolution"),
        ("data_bn + data_scale", "scale"),
        ("fc1000", "gemm"),
        ("Logits/BiasAdd + (Unnamed Layer* 199) [Shuffle]", "pointwise"),
        ("GPTForCausalLM/layers/0/MATRIX_MULTIPLY_3", "gemm"),
        ("LLaMAForCausalLM/layers/31/ELEMENTWISE_SUM_1", "pointwise"),
        ("UViTNet/SHUFFLE_4_copy_input", "shuffle"),
        ("res2a_branch2a", "other"),
        ("stem.weight_QuantizeLinear + /stem/Conv", "convolution"),
        ("/fc/MatMul_output_0_DequantizeLinear + /fc/Add_output_0_QuantizeLinear", "quantize"),
        ("/conv/_input_quantizer/QuantizeLinear", "quantize"),
        ("dummy_shape_call__mye622_0_myl9_0", "shape"),
        ("something", "other"),
        ("", "other"),
    ],
)
def test_names_alone(name: str, kind: str) -> None:
    assert classify(None, None, name) == classify_name(name) == kind
    renumbered = re.sub("[0-9]", "7", name)
    assert classify_name(renumbered) == kind, "numbers in a name make no difference"


def test_which_kinds_work() -> None:
    idle = {one.value for one in LayerKind if not one.is_work}
    assert idle == {"constant", "noop", "sync", "shape"}


def test_a_long_name_of_quantizations_takes_no_time_that_grows_with_its_square() -> None:
    assert classify_name("/stem/uantizeLinear" * 20_000 + "-") is LayerKind.OTHER
