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
from trex_tui.analysis.stability import OUTLIER_LEAST_PCT, OUTLIER_SCORE, find_outliers
from trex_tui.column import RARE, Column
from trex_tui.engine.model import Engine
from trex_tui.frames import INT, TEXT

LEAST_SAMPLES = 40
"""Minimum number of single times of a layer for a judgement."""


def _product(engine: Engine, key: str) -> pd.Series:
    return products(engine)[key]


def _energy(engine: Engine, key: str) -> pd.Series:
    return layer_energy(engine)[key]


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
_LISTED = (
    Column(
        "outliers",
        "Outliers",
        f"Single times at least {OUTLIER_LEAST_PCT:g} % of the median away from the times around them, with a modified "
        f"z-score above {OUTLIER_SCORE:g}; missing for profiles of trtexec, which have no single times.",
        source="profile: single times, as an IProfiler writes them",
        priority=RARE,
        compute=outliers,
    ),
    Column(
        "macs",
        "MACs",
        "Multiply-accumulates of a convolution, GEMM or attention layer; two operations each. `compute_note` says why it is "
        "missing.",
        "batch · M · N · K; for attention batch · Sq · Sk · (D + Dv)",
        _DIMENSIONS,
        compute=partial(_product, key="macs"),
    ),
    Column(
        "gemm_m",
        "M",
        "Rows of the (implicit) GEMM: output positions of a convolution.",
        "convolution: N · P · Q",
        _DIMENSIONS,
        ("m",),
        priority=RARE,
        compute=partial(_product, key="gemm_m"),
    ),
    Column(
        "gemm_n",
        "N",
        "Columns of the (implicit) GEMM: output channels of a convolution.",
        "convolution: OutMaps",
        _DIMENSIONS,
        ("n",),
        priority=RARE,
        compute=partial(_product, key="gemm_n"),
    ),
    Column(
        "gemm_k",
        "K",
        "Reduction size of the (implicit) GEMM. trex ignores groups.",
        "convolution: C / groups · R · S",
        _DIMENSIONS,
        ("k",),
        priority=RARE,
        compute=partial(_product, key="gemm_k"),
    ),
    Column(
        "gemm_batch",
        "Batch",
        "Number of independent GEMMs of this size.",
        source=_DIMENSIONS,
        aliases=("batch",),
        priority=RARE,
        compute=partial(_product, key="gemm_batch"),
    ),
    Column(
        "compute_note",
        "MACs unknown",
        "Why `macs` is missing for a compute layer, or what it includes.",
        source=_DIMENSIONS,
        priority=RARE,
        is_free_text=True,
        compute=partial(_product, key="compute_note"),
    ),
    *roofline.COLUMNS.values(),
    Column(
        "tensor_cores",
        "TC",
        "Uses tensor cores (from the kernel name or the layer type): yes, no, or missing if unknown.",
        source="layer information: TacticName, LayerType",
        aliases=("tc",),
        words={"yes": "The kernel runs on tensor cores.", "no": "The kernel runs on CUDA cores."},
        compute=tensor_cores,
    ),
    Column(
        "control_flow",
        "Control flow",
        "Layers that may run more than once per query, or not at all; missing for all others.",
        source="layer information: JumpTarget, JumpTargetThen, JumpTargetElse",
        priority=RARE,
        words={"loop": "A later layer jumps back.", "branch": "An earlier layer may jump over it."},
        compute=control_flow,
    ),
    *(
        replace(LAYER_ENERGY[key], priority=RARE, compute=partial(_energy, key=key))
        for key in ("power_w", "energy_mj")
    ),
    Column(
        "onnx_ops",
        "ONNX ops",
        "Operators of the layer's ONNX nodes, the most frequent first.",
        source=_MODEL,
        aliases=("op",),
        priority=RARE,
        is_list=True,
        compute=partial(_onnx, key="onnx_ops", kind=object),
    ),
    Column(
        "onnx_macs",
        "ONNX MACs",
        "Multiply-accumulates of the convolutions and matrix products among the layer's ONNX nodes; missing if a shape is "
        "unknown.",
        "Σ elements of the output · elements of the weight per output; for products · inner extent",
        f"{_MODEL}, with shape inference for the bindings of the engine",
        priority=RARE,
        compute=partial(_onnx, key="onnx_macs", kind=INT),
    ),
    Column(
        "onnx_params",
        "Params",
        "Elements of the parameters that the layer's ONNX nodes read; parameters with the same content count once.",
        source=_MODEL,
        aliases=("params",),
        priority=RARE,
        compute=partial(_onnx, key="onnx_params", kind=INT),
    ),
    Column(
        "onnx_params_bytes",
        "Param bytes",
        "Size of these parameters in the model, before the engine converts them.",
        source=_MODEL,
        priority=RARE,
        compute=partial(_onnx, key="onnx_params_bytes", kind=INT),
    ),
    Column(
        "onnx_evidence",
        "ONNX by",
        "Source of the layer's ONNX nodes.",
        source=f"layer information: Metadata, Name; {_MODEL}",
        priority=RARE,
        words={
            "metadata": "The layer's metadata.",
            "name": "Its name.",
            "range": "Between the ends of a closed block.",
            "tensors": "Between the tensors that a layer of Myelin reads and writes.",
        },
        compute=partial(_onnx, key="onnx_evidence", kind=TEXT),
    ),
)
COLUMNS = {column.key: column for column in _LISTED}
"""Columns of the layers, beside those of the engine."""
