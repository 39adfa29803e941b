"""Columns of the layers that need more than the engine: work, roofline, energy, ONNX model, single times.

To add a column, write a function over all layers and an entry of the table. A missing value is NA, never 0.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from trex_tui.analysis import roofline
from trex_tui.analysis.compute import control_flow, products, tensor_cores
from trex_tui.analysis.energy import LAYER_ENERGY, layer_energy
from trex_tui.analysis.precision_risk import RISKS, layer_risks
from trex_tui.analysis.stability import OUTLIER_LEAST_PCT, OUTLIER_SCORE, find_outliers
from trex_tui.column import RARE, Column, by_key
from trex_tui.engine.columns import COLUMNS as ENGINE_COLUMNS
from trex_tui.engine.model import Engine
from trex_tui.frames import INT, TEXT

LEAST_SAMPLES = 40
"""Minimum number of single times of a layer for a judgement."""


def _product(engine: Engine, key: str) -> pd.Series:
    return products(engine)[key]


def _energy(engine: Engine, key: str) -> pd.Series:
    return layer_energy(engine)[key]


def _risk(engine: Engine, key: str) -> pd.Series:
    return layer_risks(engine)[key]


def outliers(engine: Engine) -> pd.Series:
    """Return the number of single times of each layer that are far from the level around them; NA without single times."""
    calls = engine.calls
    times = {
        layer: calls["time_ms"][calls["layer"].eq(layer)]
        for layer in (calls["layer"].unique() if len(calls) else ())
    }
    counts = {layer: find_outliers(series.to_numpy(float)).large for layer, series in times.items()}
    return pd.Series(pd.array([counts.get(layer) for layer in range(len(engine))], INT), engine.layers.index)


def _onnx(engine: Engine, key: str, kind: Any) -> pd.Series:  # noqa: ANN401 - a type of pandas
    if engine.onnx is None:
        return pd.Series(pd.array([None] * len(engine), kind), engine.layers.index)
    values: pd.Series = engine.onnx.layers[key]
    return values


_DIMENSIONS = "layer information: Kernel, Groups, Dimensions"
_MODEL = "ONNX model of --onnx"
_RISK = "result of `trex-tui precision-risk` in the set"
_SINGLE = "profile: single times, as an IProfiler writes them"
_CORES = {"yes": "The kernel runs on tensor cores.", "no": "The kernel runs on CUDA cores."}
_FLOW = {"loop": "A later layer jumps back.", "branch": "An earlier layer may jump over it."}
_EVIDENCE = {
    "metadata": "The layer's metadata.",
    "name": "Its name.",
    "range": "Between the ends of a closed block.",
    "tensors": "Between the tensors that a layer of Myelin reads and writes.",
}
_OUTLIERS = (
    f"Single times at least {OUTLIER_LEAST_PCT:g} % of the median away from the times around them, with a modified z-score "
    f"above {OUTLIER_SCORE:g}; missing for profiles of trtexec, which have no single times."
)
_ONNX_MACS = (
    "Multiply-accumulates of convolutions and products among the ONNX nodes; missing if a shape is unknown."
)
_ONNX_FORMULA = "Σ elements of the output · elements of the weight per output; for products · inner extent"


def _part(key: str, title: str, text: str, formula: str = "", *aliases: str) -> Column:
    """Return a column of the matrix product."""
    compute = partial(_product, key=key)
    return Column(key, title, text, formula, _DIMENSIONS, aliases, priority=RARE, compute=compute)


def _onnx_column(key: str, title: str, text: str, kind: Any = INT, *aliases: str, **more: Any) -> Column:  # noqa: ANN401
    compute = partial(_onnx, key=key, kind=kind)
    return Column(key, title, text, source=_MODEL, aliases=aliases, priority=RARE, compute=compute, **more)


# fmt: off
_LISTED = (
    Column("outliers", "Outliers", _OUTLIERS, source=_SINGLE, priority=RARE, compute=outliers),
    Column("macs", "MACs", "Multiply-accumulates of a convolution, GEMM or attention layer; two operations each. "
           "`compute_note` says why it is missing.", "batch · M · N · K; for attention batch · Sq · Sk · (D + Dv)",
           _DIMENSIONS, compute=partial(_product, key="macs")),
    _part("gemm_m", "M", "Rows of the (implicit) GEMM: output positions of a convolution.",
          "convolution: N · P · Q", "m"),
    _part("gemm_n", "N", "Columns of the (implicit) GEMM: output channels of a convolution.",
          "convolution: OutMaps", "n"),
    _part("gemm_k", "K", "Reduction size of the (implicit) GEMM. trex ignores groups.",
          "convolution: C / groups · R · S", "k"),
    _part("gemm_batch", "Batch", "Number of independent GEMMs of this size.", "", "batch"),
    replace(_part("compute_note", "MACs unknown", "Why `macs` is missing for a compute layer, or what it includes."),
            is_free_text=True),
    *roofline.COLUMNS.values(),
    Column("tensor_cores", "TC", "Uses tensor cores, from the kernel name or the layer type; missing if unknown.",
           source="layer information: TacticName, LayerType", aliases=("tc",), words=_CORES, compute=tensor_cores),
    Column("control_flow", "Control flow", "Layers that may run more than once per query, or not at all.",
           source="layer information: JumpTarget, JumpTargetThen, JumpTargetElse", priority=RARE, words=_FLOW,
           compute=control_flow),
    *(replace(LAYER_ENERGY[key], priority=RARE, compute=partial(_energy, key=key)) for key in ("power_w", "energy_mj")),
    _onnx_column("onnx_ops", "ONNX ops", "Operators of the layer's ONNX nodes, the most frequent first.", object, "op",
                 is_list=True),
    _onnx_column("onnx_macs", "ONNX MACs", _ONNX_MACS, formula=_ONNX_FORMULA),
    _onnx_column("onnx_params", "Params", "Elements of the parameters that the ONNX nodes read; those with the same "
                 "content count once.", INT, "params"),
    _onnx_column("onnx_params_bytes", "Param bytes", "Size of these parameters in the model."),
    Column("fp16_risk", "FP16 risk", "Why the worst ONNX node of the layer loses accuracy in FP16.", source=_RISK,
           priority=RARE, words=RISKS, compute=partial(_risk, key="fp16_risk")),
    Column("fp16_error", "FP16 error", "Largest error of an ONNX node of the layer with inputs rounded to FP16; missing "
           "where one overflows.", "‖y(rounded) − y‖₂ / ‖y‖₂", _RISK, priority=RARE,
           compute=partial(_risk, key="fp16_error")),
    _onnx_column("onnx_evidence", "ONNX by", "Source of the layer's ONNX nodes.", TEXT, words=_EVIDENCE),
)
# fmt: on
COLUMNS = by_key(*_LISTED)
"""Columns of the layers, beside those of the engine."""
ALL_COLUMNS = ENGINE_COLUMNS | COLUMNS
"""Every column of the layers, without raw attributes."""
