"""Every column: documented, finite, and the same value wherever it is asked for."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import (
    OLD_SAMPLES,
    chain,
    layer,
    real_sets,
    tensor,
    write_graph,
    write_profile,
    write_sample_set,
)
from trex_tui.old.analysis.columns import (
    ALL_COLUMNS,
    ALL_COLUMNS_BY_NAME,
    DERIVED_COLUMNS,
    derived,
    engine_columns,
    full_frame,
)
from trex_tui.old.analysis.compute import compute_products
from trex_tui.old.analysis.device_overrides import overrides_from_options
from trex_tui.old.analysis.filter import filter_layers
from trex_tui.old.engine import COLUMNS, DataType, Engine, LayerColumn, load_engine
from trex_tui.old.engine.tactics import parse_tactic
from trex_tui.old.report.views.layer_details import layer_lines
from trex_tui.old.text import format_pct
from trex_tui.old.widgets.table_columns import latency_columns, mark_column
from trex_tui.old.widgets.table_model import MARGIN, place_columns

UNITS = {
    "latency_ms": "milliseconds",
    "latency_pct": "percent",
    "io_bytes": "bytes",
    "io_allocated_bytes": "bytes",
    "achieved_flops_per_s": "FLOP/s",
    "achieved_bytes_per_s": "bytes per second",
    "arithmetic_intensity": "FLOP per byte",
    "roof_ms": "milliseconds",
    "roof_pct": "percent",
    "macs": "",
    "name": "",
    "stream": "",
}
ROOF = ("roof_ms", "roof_pct", "bound")
each_column = pytest.mark.parametrize("column", ALL_COLUMNS, ids=lambda column: column.name)


def value(engine: Engine, name: str, index: int = 0) -> Any:
    return ALL_COLUMNS_BY_NAME[name].value(engine, engine.layers[index])


class TestDefinitions:
    def test_names_are_unique(self) -> None:
        assert len(ALL_COLUMNS_BY_NAME) == len(ALL_COLUMNS) == len(COLUMNS) + len(DERIVED_COLUMNS)
        assert len({column.title for column in ALL_COLUMNS}) == len(ALL_COLUMNS)

    @each_column
    def test_each_is_documented(self, column: LayerColumn) -> None:
        assert column.name == column.name.lower()
        assert column.title
        assert column.description.endswith((".", ".)"))
        assert column.source
        assert column.dtype in ("Int64", "float64", "boolean", "string", "object")

    def test_units(self) -> None:
        assert {name: ALL_COLUMNS_BY_NAME[name].unit for name in UNITS} == UNITS

    @each_column
    def test_only_numbers_have_units(self, column: LayerColumn) -> None:
        assert column.is_number or not column.unit


@pytest.mark.parametrize("real", real_sets())
def test_values_of_real_engines(real: Any) -> None:
    engine = real.engine()
    python_types = {"Int64": int, "float64": (int, float), "string": str, "object": tuple, "boolean": bool}
    for column in engine_columns(engine):
        for row in engine.layers:
            cell = column.value(engine, row)
            if cell is None:
                continue
            assert isinstance(cell, python_types[column.dtype]), column.name
            assert isinstance(cell, bool) == (column.dtype == "boolean")
            if column.is_number:
                assert math.isfinite(cell)
                assert cell >= 0 or column.name.startswith("attr.")
            json.dumps(cell, allow_nan=False)


def test_cumulative_share_by_rank(tmp_path: Path) -> None:
    times = [("a", 1.0), ("b", 5.0), ("c", 1.0), ("d", 3.0)]
    engine = load_engine(write_profile(tmp_path / "net.profile.json", times))
    column = ALL_COLUMNS_BY_NAME["cumulative_pct"]
    assert column.values(engine) == pytest.approx([90.0, 50.0, 100.0, 80.0])
    assert [column.value(engine, row) for row in engine.layers] == column.values(engine)
    assert [row.name for row in filter_layers(engine, "cumulative<=80")] == ["b", "d"]
    (tmp_path / "graph").mkdir()
    assert column.values(load_engine(write_graph(tmp_path / "graph" / "a.json", chain("a", "b")))) == [
        None,
        None,
    ]


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_relations_between_columns(real: Any) -> None:
    engine = real.engine()
    facts = derived(engine)
    for row in engine.layers:
        cells = {column.name: column.value(engine, row) for column in ALL_COLUMNS}
        for logical, allocated in (
            ("io_bytes", "io_allocated_bytes"),
            ("footprint_bytes", "footprint_allocated_bytes"),
            ("io_bytes", "footprint_bytes"),
        ):
            if cells[allocated] is not None:
                assert cells[logical] <= cells[allocated]
        summary = list(itertools.islice(layer_lines(engine, row, facts), 2))[1].text
        assert f"layer {row.index}" in summary
        assert (f" · {cells['bound']}-bound" in summary) == (cells["bound"] is not None)
        assert (f" · {format_pct(cells['roof_pct'])} % of roof" in summary) == (cells["roof_pct"] is not None)
        assert ("OP/B" in summary) == (cells["arithmetic_intensity"] is not None)
        assert (" · rank " in summary) == (cells["latency_ms"] is not None)
        assert cells["macs"] == compute_products(row).macs == facts.compute[row.index].macs
        assert cells["compute_note"] is None or cells["macs"] is None
        if cells["achieved_flops_per_s"] is not None:
            assert cells["achieved_flops_per_s"] == pytest.approx(
                2e3 * cells["macs"] / cells["latency_ms"], rel=1e-12
            )
        if cells["achieved_bytes_per_s"] is not None:
            rate = 1e3 * cells["footprint_allocated_bytes"] / cells["latency_ms"]
            assert cells["achieved_bytes_per_s"] == pytest.approx(rate, rel=1e-12)
        if cells["arithmetic_intensity"] is not None:
            ratio = 2 * cells["macs"] / cells["footprint_allocated_bytes"]
            assert cells["arithmetic_intensity"] == pytest.approx(ratio, rel=1e-12)
        if cells["roof_pct"] is not None:
            assert cells["roof_pct"] == pytest.approx(100 * cells["roof_ms"] / cells["latency_ms"], rel=1e-12)
        tactic = parse_tactic(row.tactic)
        assert cells["tactic_library"] == (tactic and tactic.library)


class TestValues:
    TACTIC = "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x32x16_stage4_warpsize2x2x1_tensor16x8x16"

    @pytest.fixture
    def engine(self, tmp_path: Path) -> Engine:
        gemm = layer(
            "gemm",
            "gemm",
            [tensor("x", 8, 64), tensor("w", 64, 32)],
            [tensor("h", 8, 32)],
            TacticName=self.TACTIC,
        )
        hidden = layer("hidden", "correlation", [tensor("h", 8, 32)], [tensor("y", 8, 32)])
        write_graph(tmp_path / "net.graph.json", [gemm, hidden], ["x", "y"])
        write_profile(tmp_path / "net.profile.json", [("gemm", 0.5), ("hidden", 0.25)])
        return load_engine(tmp_path)

    def test_of_a_gemm(self, engine: Engine) -> None:
        macs, moved = 8 * 64 * 32, 2 * (8 * 64 + 64 * 32 + 8 * 32)
        expected = {
            "macs": macs,
            "gemm_m": 8,
            "gemm_n": 32,
            "gemm_k": 64,
            "gemm_batch": 1,
            "compute_note": None,
            "arithmetic_intensity": pytest.approx(2 * macs / moved),
            "achieved_flops_per_s": pytest.approx(2 * macs / 0.0005),
            "achieved_bytes_per_s": pytest.approx(moved / 0.0005),
            "tensor_cores": "yes",
            "tactic_library": "xmma",
            "tactic_sm": 80,
            "tactic_tile": "64x32x16",
            "tactic_stages": 4,
            "accumulate_type": "FP32",
            "precision": "FP16",
        }
        assert {name: value(engine, name) for name in expected} == expected

    def test_what_is_missing_is_missing(self, engine: Engine) -> None:
        names = (
            "macs",
            "gemm_m",
            "arithmetic_intensity",
            "achieved_flops_per_s",
            "tensor_cores",
            "tactic_tile",
        )
        assert [value(engine, name, 1) for name in (*names, *ROOF)] == [None] * 9
        assert "kernel's size" in value(engine, "compute_note", 1)

    def test_what_a_person_states_gives_the_roof(self, engine: Engine) -> None:
        assert [value(engine, name) for name in ROOF] == [None, None, None]
        stated = replace(engine, stated_device=overrides_from_options(["bandwidth=1", "fp16=0.001"]))
        moved, flops = 2 * (8 * 64 + 64 * 32 + 8 * 32), 2 * 8 * 64 * 32
        roof_ms = 1e3 * max(moved / 1e9, flops / 1e9)
        assert value(stated, "roof_ms") == pytest.approx(roof_ms)
        assert value(stated, "roof_pct") == pytest.approx(100 * roof_ms / 0.5)
        assert value(stated, "bound") == "latency"
        # The engine without the statement is as it was.
        assert [value(engine, name) for name in ROOF] == [None, None, None]

    def test_engines_are_kept_apart(self, engine: Engine, tmp_path: Path) -> None:
        other = load_engine(write_sample_set(tmp_path / "other"))
        first, second = derived(engine), derived(other)
        assert len(first.compute) == 2
        assert len(second.compute) == 6
        assert derived(engine) is first
        assert derived(other) is second

    def test_a_time_next_to_nothing_gives_no_rate(self, tmp_path: Path) -> None:
        copy = layer("k", "Reformat", [tensor("x", 8)], [tensor("y", 8)])
        write_graph(tmp_path / "net.graph.json", [copy], ["x", "y"])
        write_profile(tmp_path / "net.profile.json", [("k", 5e-324)])
        engine = replace(load_engine(tmp_path), stated_device=overrides_from_options(["bandwidth=1"]))
        cells = [column.value(engine, engine.layers[0]) for column in ALL_COLUMNS]
        json.dumps(cells, allow_nan=False)
        assert value(engine, "achieved_bytes_per_s") is None
        assert value(engine, "roof_ms") is not None


HALF, FLOAT, INDEX = tensor("h", 4, 4), tensor("f", 4, 4, dtype="Float"), tensor("i", 4, dtype="Int32")


class TestPrecision:
    """What a layer computes in: a multiplying kernel's name knows it better than the tensors."""

    @pytest.mark.parametrize(
        ("layer_type", "inputs", "outputs", "tactic", "expected"),
        [
            (
                "CaskConvolution",
                [FLOAT],
                [FLOAT],
                "sm80_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_x",
                DataType.TF32,
            ),
            (
                "CaskConvolution",
                [FLOAT],
                [FLOAT],
                "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_ffma",
                DataType.FP32,
            ),
            (
                "gemm",
                [HALF],
                [HALF],
                "sm80_xmma_gemm_f16f16_f32f32_f32_tn_n_tilesize32x32x8_ffma",
                DataType.FP32,
            ),
            ("gemm", [HALF], [HALF], "some kernel of a plugin", DataType.FP16),
            ("gemm", [INDEX, HALF], [FLOAT], None, DataType.FP16),
            # A pooling kernel multiplies nothing: its tensors decide.
            (
                "CaskPooling",
                [HALF],
                [HALF],
                "sm50_xmma_pooling_fw_4d_FP16FP32NHWC_Average_FastDiv",
                DataType.FP16,
            ),
            ("kgen", [INDEX], [HALF], None, DataType.FP16),
            ("kgen", [INDEX], [INDEX], None, DataType.INT32),
            ("kgen", [tensor("b", 4, dtype="Bool"), INDEX], [], None, DataType.BOOL),
            ("kgen", [tensor("n", 4, dtype="N/A due to dynamic shapes")], [HALF], None, DataType.FP16),
            ("kgen", [], [], None, None),
        ],
    )
    def test_rule(
        self,
        tmp_path: Path,
        layer_type: str,
        inputs: list[Any],
        outputs: list[Any],
        tactic: str | None,
        expected: DataType | None,
    ) -> None:
        raw = layer("k", layer_type, inputs, outputs, **({"TacticName": tactic} if tactic else {}))
        engine = load_engine(write_graph(tmp_path / "net.graph.json", [raw], ["h", "f", "i"]))
        assert engine.layers[0].precision is expected


class TestFrame:
    @pytest.mark.parametrize("real", real_sets())
    def test_it_holds_the_values_of_the_columns(self, real: Any) -> None:
        engine = real.engine()
        frame = full_frame(engine)
        columns = engine_columns(engine)
        assert list(frame.columns) == [column.name for column in columns]
        assert len(frame) == len(engine.layers)
        for column in columns:
            cells = frame[column.name]
            missing = cells.isna().tolist()
            expected = [column.value(engine, row) for row in engine.layers]
            assert [None if gone else cell for cell, gone in zip(cells, missing, strict=True)] == expected

    def test_types(self, tmp_path: Path) -> None:
        frame = full_frame(load_engine(write_sample_set(tmp_path)))
        for column in ALL_COLUMNS:
            kind = str(frame[column.name].dtype)
            assert kind == column.dtype or (column.dtype == "string" and kind in ("string", "str"))

    def test_unknown_is_not_zero(self, tmp_path: Path) -> None:
        frame = full_frame(load_engine(write_graph(tmp_path / "net.graph.json", ["/a/Conv"])))
        unknown = [
            column.name for column in ALL_COLUMNS if column.is_number and not frame[column.name].notna()[0]
        ]
        assert {"macs", "roof_ms", "latency_ms", "io_bytes", "weights_bytes", "footprint_bytes"} <= set(
            unknown
        )


def test_latency_table_has_bounds_from_100_columns_and_indices_always() -> None:
    engine = load_engine(OLD_SAMPLES / "alexnet")
    columns = [mark_column(lambda _: None), *latency_columns(engine, has_bounds=True)]
    shown = {
        width: [one.column.key for one in place_columns(columns, width - MARGIN)] for width in (60, 80, 100)
    }
    assert {"index", "kind", "bound", "roof_pct"} <= set(shown[100])
    assert "bound" not in shown[80]
    assert all("index" in keys for keys in shown.values())
    assert "bound" not in [column.key for column in latency_columns(engine)]
