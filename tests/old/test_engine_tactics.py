"""Tactic names: the published grammar, every real name, and arbitrary text."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import ARTIFACTS, real_sets
from trex_tui.old.analysis.tactic_parts import compare_tactics
from trex_tui.old.engine import DataType
from trex_tui.old.engine.tactics import Tactic, parse_tactic

# Types: H FP16, S FP32, T TF32, I INT8, W INT32, B BF16, 8 FP8, 4 FP4.
LETTERS = {
    "H": DataType.FP16,
    "S": DataType.FP32,
    "T": DataType.TF32,
    "I": DataType.INT8,
    "W": DataType.INT32,
    "B": DataType.BF16,
    "8": DataType.FP8,
    "4": DataType.FP4,
    "-": None,
}
YES, NO, UNTOLD = True, False, None
# Name (… stands for anything, and the rest may follow), library, architecture, tensor cores, input/accumulator/output, tile,
# stages, instruction. A stage of 0 is chosen automatically.
REAL = """
sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x64_stage3_warpsize2x2x1_g1_tensor16x8x16_t1r3s3_aACCESS | xmma 80 yes H/H/H 128x64x64 3 16x8x16
sm75_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_…tilesize128x128x32_stage1…tensor16x8x8_t1r1s1 | xmma 75 yes H/H/H 128x128x32 1 16x8x8
sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_…tilesize128x128x16_stage4…tensor16x8x8_t1r1s1 | xmma 80 yes S/S/S 128x128x16 4 16x8x8
sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_…tilesize128x64x8_stage3_warpsize2x2x1_g1_ffma_t1r3s3_aligna4_alignc4 | xmma 80 no S/S/S 128x64x8 3 -
sm80_xmma_gemm_f16f16_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna2_alignc2 | xmma 80 no H/S/H 32x32x8 3 -
sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_nchw_vect_c_32…tilesize256x128x64_stage4…tensor16x8x32_t1r3s3 | xmma 80 yes I/W/I 256x128x64 4 16x8x32
sm80_xmma_fprop_implicit_gemm_interleaved_i8f16_i8i32_f32_…tilesize128x64x64_stage6…tensor16x8x32 | xmma 80 yes I/W/H 128x64x64 6 16x8x32
sm80_xmma_fprop_implicit_gemm_interleaved_i8f32_i8i32_f32_…vect_c_32_nchw_tilesize64x32x64_stage6…_alignc4_nchw | xmma 80 yes I/W/S 64x32x64 6 16x8x32
sm75_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_…tilesize32x64x64_stage1…tensor8x8x16_simple_t1r1s1 | xmma 75 yes I/W/I 32x64x64 1 8x8x16
sm80_xmma_fprop_implicit_gemm_indexed_wo_smem_f16f16_f16f16_f16_…tilesize128x32x16_stage1…_aligna8_alignc8 | xmma 80 yes H/H/H 128x32x16 1 16x8x16
sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16 | xmma 80 yes H/S/H 64x64x64 4 16x8x16
sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize32x32x64_stage6…tensor16x8x16_aligna2_alignc2 | xmma 80 yes H/H/H 32x32x64 6 16x8x16
sm80_xmma_deconv_implicit_gemm_indexed_f16f16_f16f16_f16_…tilesize256x64x32_stage3…_strided | xmma 80 yes H/H/H 256x64x32 3 16x8x16
sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize128x128x64_stage3…_by_fusion_tactic | xmma 80 yes H/H/H 128x128x64 3 16x8x16
sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_cgasize1x1x1_warpgroupsize1x1x1_beta0 | xmma 90 yes H/S/H 64x64x64 - ?
sm90_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_…tilesize64x64x64_cgasize4x1x1_warpgroupsize1x1x1_g1_beta0 | xmma 90 yes H/H/H 64x64x64 - ?
sm70_xmma_fprop_conv1x1_i8f32_f32_f32_nchw_vect_c_4kcrs_vect_c_4_nchw_simt_small_batch_bias_relu | xmma 70 no I/S/S - - -
sm70_xmma_gemm_as_conv1x1_f16f16_f16_f16_tn_n_simt_small_batch_bias_relu | xmma 70 no H/H/H - - -
sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n_launch_param4x32x32_strided_unit_stride | cublas 50 no H/S/H - - -
sm50_xmma_cublas_gemvx_f32f32_f32_f32_tn_n_…param8x32x32_… | cublas 50 no S/S/S - - -
sm50_xmma_conv_fprop_fused_conv_act_fp32_NCHW_…_Accfloat_… | xmma 50 no -/S/- - - -
sm50_xmma_pooling_fw_4d_FP16FP32NHWC_Average_FastDiv_CAlign8 | xmma 50 untold H/-/H - - -
ampere_h16816cudnn_128x64_sliced1x2_ldg8_relu_exp_stages_64x3_small_nhwc_tn_v1 | cudnn 80 yes H/H/H 128x64x64 3 16x8x16
ampere_h1688cudnn_128x128_ldg8_relu_exp_interior_nhwc_tn_v1 | cudnn 80 yes H/H/H 128x128 - 16x8x8
ampere_h16816gemm_64x64_ldg8_relu_stages_64x5_nn_v1 | cublas 80 yes H/H/H 64x64x64 5 16x8x16
ampere_scudnn_128x64_relu_xregs_large_nn_v1 | cudnn 80 no S/S/S 128x64 - -
ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1 | cudnn 80 no S/S/S 128x128 - -
ampere_sgemm_32x32_sliced1x4_relu_tn_v1 | cublas 80 no S/S/S 32x32 - -
ampere_fp32_icudnn_int8x4_128x64_relu_medium_nn_v1 | cudnn 80 no I/W/S 128x64 - -
turing_fp16_i8816cudnn_int8_128x128_ldg16_relu_small_nt_v1 | cudnn 75 yes I/W/H 128x128 - 8x8x16
turing_fp32_i8816cudnn_int8_128x128_ldg16_relu_small_nt_v1 | cudnn 75 yes I/W/S 128x128 - 8x8x16
volta_fp32_i8816cudnn_int8_256x64_ldg16_relu_singleBuffer_interior_nt_v1 | cudnn 70 yes I/W/S 256x64 - 8x8x16
volta_int8x4_icudnn_int8x4_128x32_relu_xregs_medium_c32_nn_v1 | cudnn 70 no I/W/I 128x32 - -
maxwell_scudnn_128x32_relu_small_nn_v0 | cudnn 50 no S/S/S 128x32 - -
trt_turing_cutlass_image_network_first_layer_hmma_fprop_f16f16f32_nhwc_nhwc_k64r7s7c4_stride2x2 | cutlass 75 yes H/S/H - - -
cutlass3x_sm100_tensorop_s128x128x16gemm_f16_f16_f32_f16_f16_128x128x64_0_nnn_align8_1sm_bias_f16_relu | cutlass 100 yes H/S/H 128x128x64 - 128x128x16
cutlass3x_sm100_tensorop_h128x128x16gemm_f16_f16_f16_f16_f16_128x128x64_0_tnn_align8_2sm_epi_tma_… | cutlass 100 yes H/H/H 128x128x64 - 128x128x16
cutlass3x_sm100_tensorop_s256x256x16implicit_gemm_fprop_f16_f16_f32_f16_f16_f32_256x256x64_dyn_cga_…_align8_2sm_… | cutlass 100 yes H/S/H 256x256x64 - 256x256x16
cutlass3x_sm100_tensorop_i256x256x32implicit_gemm_fprop_s8_s8_s32_s8_s8_f32_256x256x128_dyn_cga_…_align16_2sm_… | cutlass 100 yes I/W/I 256x256x128 - 256x256x32
cutlass3x_sm100_tensorop_i64x256x32_conv3d_fprop_weight_stationary_nq_2d_tiled_s8_s8_s32_void_s8_f32_t1xr3xs3_64x256x128_… | cutlass 100 yes I/W/I 64x256x128 - 64x256x32
_gemm_mha_v2_0x0f9cc545… | myelin - yes -/-/- - - -
__myl_CastMeanSubMulMeanAddSqrtDivMulCastMulAdd_0x… | myelin - untold -/-/- - - -
sm100_conv_act_pool_v5_s8_8x224x5_ncdhw_s8_NDHWC | myelin 100 untold -/-/- - - -
"""  # noqa: E501
# Names that public sources show, and that no artifact here has.
PUBLIC = """
volta_h884cudnn_256x128_ldg8_relu_exp_small_nhwc_tn_v1 | cudnn 70 yes H/H/H 256x128 - 8x8x4
volta_int8_i8816cudnn_int8_256x64_ldg16_relu_singleBuffer_medium_nt_v1 | cudnn 70 yes I/W/I 256x64 - 8x8x16
sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x64x64_stage4_warpsize2x2x1_tensor16x8x32 | xmma 89 yes 8/S/B 128x64x64 4 16x8x32
sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x128x128_cgasize1x2x1_stage4_gmmastage2_warpgroupsize1x1x1_tensor64x128x32 | xmma 90 yes 8/S/B 128x128x128 4 64x128x32
cutlass3x_sm100_bstensorop_s256x128x64gemm_block_scaled_ue4m3xf4_ue4m3xf4_f32_f16_f16_256x128x256_0_tnn_align32_2sm | cutlass 100 yes 4/S/H 256x128x256 - 256x128x64
cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x64x64_2x1x1_0_tnn_align8_warpspecialized_cooperative_epi_tma | cutlass 90 yes H/S/H 128x64x64 - 64x128x16
cutlass3x_sm100_simt_s1x1x1gemm_f32_f32_f32_f32_f32_64x64x16_3_tnn_align1 | cutlass 100 no S/S/S 64x64x16 3 1x1x1
cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_align8 | cutlass 80 yes H/S/H 256x128x32 3 16x8x16
cutlass_80_tensorop_s16816gemm_f16_256x128_32x3_nn_align8 | cutlass 80 yes H/S/S 256x128x32 3 16x8x16
cutlass_80_tensorop_f16_i16832gemm_s8_256x128_64x3_tn_align16 | cutlass 80 yes I/W/H 256x128x64 3 16x8x32
cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4 | cutlass 80 yes S/S/S 128x128x16 5 16x8x8
cutlass_80_tensorop_bf16_s16816fprop_optimized_bf16_128x128_32x5_nhwc_align8 | cutlass 80 yes B/S/B 128x128x32 5 16x8x16
cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_128x2_tn_align8 | cutlass 80 yes H/S/H 32x32x128 2 16x16x16
cutlass_tensorop_s1688tf32gemm_128x128_16x3_nt_align4 | cutlass - yes S/S/S 128x128x16 3 16x8x8
cutlass_80_simt_sgemm_128x128_8x5_nn_align1 | cutlass 80 no S/S/S 128x128x8 5 -
ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn | cublas 80 yes B/S/B 128x64x64 3 16x8x16
ampere_s16816gemm_fp16_128x128_ldg8_stages_32x5_nn | cublas 80 yes H/S/S 128x128x32 5 16x8x16
turing_fp16_s1688gemm_fp16_128x128_ldg8_relu_f2f_stages_32x1_tn | cublas 75 yes H/S/H 128x128x32 1 16x8x8
sm90_xmma_fprop_avdt_dense_f16 | xmma 90 yes -/-/- - - -
nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT | cublas - yes -/-/- - - -
fmha_v2_flash_attention_fp16_64_128_S_40_sm86_kernel_nl | myelin - yes -/-/- - - -
"""  # noqa: E501
ALL_TYPES = re.compile(r'"TacticName" ?: ?"([^"]+)"|\b((?:sm\d+_xmma|(?:maxwell|volta|turing|ampere)_)\w+)')


def rows(table: str) -> list[Any]:
    lines = [line.split(" | ") for line in table.strip().splitlines()]
    return [pytest.param(name, expected.split(), id=name[:60]) for name, expected in lines]


@cache
def names_in_graphs() -> frozenset[str]:
    found = set()
    for parameter in real_sets(every=True):
        layers = parameter.values[0].layers()
        found |= {one["TacticName"] for one in layers if isinstance(one, dict) and one.get("TacticName")}
    return frozenset(found)


@cache
def names_in_logs() -> frozenset[str]:
    found = set()
    for log in (ARTIFACTS / "logs").iterdir():
        for match in ALL_TYPES.finditer(log.read_text(encoding="utf-8", errors="replace")):
            found.add(match[1] or match[2])
    return frozenset(found)


def real_names(pattern: str) -> list[str]:
    parts = [re.escape(part) for part in pattern.split("…")]
    wanted = re.compile(".*".join(parts))
    return sorted(name for name in names_in_graphs() | names_in_logs() if wanted.match(name))


def shape(text: str) -> tuple[int, ...] | None:
    return None if text == "-" else tuple(map(int, text.split("x")))


def check(name: str, expected: list[str]) -> Tactic:
    library, architecture, unit, types, tile, stages, instruction = expected
    tactic = parse_tactic(name)
    assert tactic is not None
    assert tactic.name == name
    assert tactic.library == library
    assert tactic.architecture == (None if architecture == "-" else int(architecture))
    assert tactic.tensor_cores is {"yes": YES, "no": NO, "untold": UNTOLD}[unit]
    assert (tactic.input_type, tactic.accumulate_type, tactic.output_type) == tuple(
        LETTERS[letter] for letter in types.split("/")
    )
    assert tactic.tile == shape(tile)
    assert tactic.stages == (None if stages == "-" else int(stages))
    if instruction != "?":  # wgmma kernels may name their instruction, or not
        assert tactic.instruction == shape(instruction)
    return tactic


@pytest.mark.usefixtures("artifacts")
@pytest.mark.parametrize(("pattern", "expected"), rows(REAL))
def test_the_table_of_real_names(pattern: str, expected: list[str]) -> None:
    names = real_names(pattern)
    assert names, "no artifact has such a name"
    for name in names:
        check(name, expected)


@pytest.mark.parametrize(("name", "expected"), rows(PUBLIC))
def test_names_from_public_sources(name: str, expected: list[str]) -> None:
    check(name, expected)


class TestParts:
    """What the table does not show."""

    @pytest.mark.parametrize(
        ("name", "computes_in"),
        [
            ("sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_tilesize128x128x16", DataType.TF32),
            ("sm80_xmma_gemm_f16f16_f32f32_f32_tn_n_tilesize32x32x8_stage3_ffma", DataType.FP32),
            ("sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x64x64", DataType.FP16),
            ("cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4", DataType.TF32),
            ("cutlass_80_simt_sgemm_128x128_8x5_nn_align1", DataType.FP32),
            ("turing_fp16_s1688gemm_fp16_128x128_ldg8_relu_f2f_stages_32x1_tn", DataType.FP16),
            ("volta_fp32_i8816cudnn_int8_256x64_ldg16_relu_singleBuffer_interior_nt_v1", DataType.INT8),
            ("__myl_CastMul_0x00", None),
        ],
    )
    def test_what_is_multiplied(self, name: str, computes_in: DataType | None) -> None:
        tactic = parse_tactic(name)
        assert tactic is not None
        assert tactic.compute_type is computes_in

    def test_specialisation(self) -> None:
        name = (
            "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x32_stage5_warpsize2x2x1"
            "_g1_tensor16x8x16_t1r7s5_aligna4_alignc8"
        )
        tactic = parse_tactic(name)
        assert tactic is not None
        assert (tactic.filter_shape, tactic.warps, tactic.alignment) == ((7, 5), (2, 2, 1), 4)
        conv3d = parse_tactic(
            "cutlass3x_sm100_tensorop_i64x256x32_conv3d_s8_s8_s32_void_s8_f32_t1xr3xs3_64x256x128_"
        )
        assert conv3d is not None
        assert conv3d.filter_shape == (3, 3)

    def test_epilogues(self) -> None:
        names = {
            "cutlass3x_sm100_tensorop_s128x128x16gemm_f16_f16_f32_f16_f16_128x128x64_0_nnn_align8_1sm_bias_f16_relu": (
                "bias_f16_relu"
            ),
            "ampere_h16816gemm_64x64_ldg8_relu_stages_64x5_nn_v1": "relu",
            "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x64x64": None,
        }
        for name, epilogue in names.items():
            tactic = parse_tactic(name)
            assert tactic is not None
            assert tactic.epilogue == epilogue

    @pytest.mark.parametrize(
        ("name", "sparse", "winograd"),
        [
            ("sm80_xmma_fprop_sparse_conv_interleaved_i8i8_i8i32_f32_sptensor16x8x64_t1r3s3", True, False),
            ("cutlass_80_sptensorop_s16832gemm_f16_128x128_64x3_nn_align8", True, False),
            (
                "cutlass3x_sm100_sptensorop_s128x128x32gemm_f16_f16_f32_f16_f16_128x128x128_0_tnn_align16",
                True,
                False,
            ),
            ("ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", False, True),
            ("ampere_scudnn_128x64_relu_xregs_large_nn_v1", False, False),
        ],
    )
    def test_fewer_multiplications_than_macs(self, name: str, sparse: bool, winograd: bool) -> None:
        tactic = parse_tactic(name)
        assert tactic is not None
        assert (tactic.is_sparse, tactic.is_winograd) == (sparse, winograd)
        assert tactic.tensor_cores is sparse

    def test_operators_of_generated_kernels(self) -> None:
        tactic = parse_tactic("__myl_CastMulAddEtc_0x0123")
        assert tactic is not None
        assert tactic.operators == ("Cast", "Mul", "Add", "Etc")

    def test_no_name(self) -> None:
        assert parse_tactic(None) is None
        assert parse_tactic("") is None

    @pytest.mark.parametrize(
        "name", ["my_plugin_kernel", "xmma", "hmma_imma_tensor16x8x16", "ampere_", "sm_xmma_", "cutlass"]
    )
    def test_of_an_unknown_name_nothing_is_claimed(self, name: str) -> None:
        assert parse_tactic(name) == Tactic(name, "unknown")


class TestRealNames:
    """Every name of the graphs and logs, against itself and against the tensors of its layer."""

    def test_there_are_many(self, artifacts: Any) -> None:
        assert artifacts
        assert len(names_in_graphs()) > 300
        assert len(names_in_logs()) > 500

    @pytest.mark.usefixtures("artifacts")
    def test_none_is_unknown(self) -> None:
        assert [name for name in names_in_graphs() | names_in_logs() if is_unknown(name)] == []

    @pytest.mark.usefixtures("artifacts")
    def test_an_instruction_is_one_of_tensor_cores(self) -> None:
        for name in names_in_graphs() | names_in_logs():
            tactic = parse_tactic(name)
            assert tactic is not None
            if tactic.instruction:
                assert tactic.tensor_cores is True, name
            if "simt" in name or "ffma" in name:
                assert tactic.tensor_cores is False, name

    @pytest.mark.usefixtures("artifacts")
    def test_kernels_that_multiply_tell_their_unit(self) -> None:
        for name in names_in_graphs() | names_in_logs():
            tactic = parse_tactic(name)
            assert tactic is not None
            if tactic.library != "myelin" and "_pooling_" not in name:
                assert tactic.tensor_cores is not None, name

    @pytest.mark.parametrize("real", real_sets(every=True))
    def test_types_agree_with_the_tensors(self, real: Any) -> None:
        for one in real.engine().layers:
            tactic = parse_tactic(one.tactic)
            if tactic is None:
                continue
            if tactic.input_type and one.inputs:
                assert tactic.input_type is one.inputs[0].dtype, tactic.name
            if tactic.output_type and one.outputs:
                assert tactic.output_type is one.outputs[0].dtype, tactic.name


def is_unknown(name: str) -> bool:
    tactic = parse_tactic(name)
    return tactic is None or tactic.library == "unknown"


FRAGMENTS = st.sampled_from(
    [
        *(
            "sm80_xmma_",
            "cutlass3x_sm100_tensorop_",
            "cutlass_80_",
            "simt_",
            "tensorop_",
            "ampere_",
            "volta_fp16_",
        ),
        *(
            "h16816cudnn",
            "s1688gemm",
            "_f16f16",
            "_f16f32",
            "_f32",
            "_128x64x32",
            "_128x64",
            "_stage4",
            "tilesize",
        ),
        *(
            "__myl_",
            "CastMul",
            "_0x",
            "trt_turing_cutlass_",
            "_hmma_",
            "_ue4m3xf4",
            "s128x128x16gemm",
            "_dyn",
        ),
        *(
            "_t1r3s3",
            "stages_64x3",
            "align8",
            "nvjet_",
            "sm90_",
            "_gemm_mha_v2_",
            "9" * 5000,
            "٣",
            "²",
            "_pooling",
        ),
    ]
)


@given(st.one_of(st.text(), st.lists(FRAGMENTS, max_size=8).map("".join)))
def test_any_text_is_a_name(text: str) -> None:
    tactic = parse_tactic(text)
    assert (tactic is None) is (text == "")
    if tactic is not None:
        assert tactic.name == text
        assert tactic.library in ("xmma", "cutlass", "cudnn", "cublas", "myelin", "unknown")
        assert tactic.stages is None or tactic.stages > 0


@pytest.mark.parametrize(
    "repeated", ["_ue4m3xf4", "_f16f16", "__myl_Cast", "_", "128x", "trt_volta_cutlass_"]
)
def test_long_names_come_to_an_end(repeated: str) -> None:
    for start in (
        "",
        "cutlass3x_sm100_tensorop_s1x1x1",
        "sm80_xmma_",
        "__myl_",
        "cutlass_80_tensorop_s16816gemm_",
    ):
        assert parse_tactic(start + repeated * 3000) is not None


@pytest.mark.parametrize(
    ("name", "family", "split_k"),
    [
        (
            "sm80_xmma_fprop_implicit_gemm_indexed_wo_smem_f16f16_f16f16_f16_nhwckrsc",
            "implicit gemm indexed wo smem",
            "",
        ),
        ("sm70_xmma_gemm_as_conv1x1_f16f16_f16_f16_tn_n_simt_small_batch_bias_relu", "gemm as conv1x1", ""),
        ("ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "winograd", ""),
        ("maxwell_scudnn_128x32_sliced1x4_ldg4_relu_exp_small_nhwc_tn_v1", "", "1x4"),
        ("volta_sgemm_32x128_nn_splitK", "gemm", "yes"),
        ("sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize32x32x64 numSplitK: 1 numBuffers: 0", "gemm", ""),
        ("sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize32x32x64 numSplitK: 8 numBuffers: 0", "gemm", "8"),
        ("sm50_xmma_convolution_depthwiseHMMA_FP16NHWCx8_TR3_TS3_STRIDEH1_STRIDEW1", "depthwise", ""),
    ],
)
def test_family_and_split_of_k(name: str, family: str, split_k: str) -> None:
    tactic = parse_tactic(name)
    assert tactic is not None
    assert (tactic.family, tactic.split_k) == (family, split_k)


def test_tactics_differ_in_parts() -> None:
    first = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x64_stage4_warpsize2x1x2_g1"
    second = first.replace("64x64x64_stage4", "128x64x32_stage3").replace(
        "implicit_gemm", "implicit_gemm_indexed"
    )
    assert compare_tactics([first], [second]) == (
        ("family", "implicit gemm", "implicit gemm indexed"),
        ("tile", "64×64×64 (M×N×K)", "128×64×32 (M×N×K)"),
        ("stages", "4", "3"),
    )
    assert compare_tactics([first, second], [second]) == ()
    assert compare_tactics([first], ["some_kernel_of_a_plugin"]) == ()
    assert compare_tactics([first], []) == ()


def test_parts_that_another_library_does_not_state_are_no_difference() -> None:
    cudnn = "ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"
    xmma = "sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_tensor16x8x8"
    parts = {part.part: (part.before, part.after) for part in compare_tactics([cudnn], [xmma])}
    assert parts["library"] == ("cudnn", "xmma")
    assert parts["tensor cores"] == ("no", "yes")
    assert parts["special"] == ("Winograd", "")
    assert not {"stages", "warps", "instruction"} & parts.keys()
