"""Layers that run nodes which FP16 makes inaccurate: the result of `trex-tui precision-risk` in the set."""

from __future__ import annotations

import pandas as pd

from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.precision_risk import read_precision_risk
from trex_tui.engine.model import Engine, per_engine
from trex_tui.errors import ArtifactError
from trex_tui.frames import FLOAT, TEXT

RISKS = {
    "overflow": "A result is beyond 65,504, although the inputs are not.",
    "inner overflow": "Squares or sums within the operator are, unless the kernel accumulates in FP32.",
    "rounding": "Rounded inputs change the result by more than 1 %.",
    "overflowing input": "An input is beyond 65,504: a node before overflows.",
}
"""Why a node loses accuracy in FP16, the worst first."""


@per_engine
def layer_risks(engine: Engine) -> pd.DataFrame:
    """Return fp16_risk and fp16_error of each layer: those of its worst node; NA without a result, or for none."""
    path = engine.files.get(FileKind.PRECISION_RISK)
    try:
        nodes = read_precision_risk(path) if path else {}
    except ArtifactError:
        nodes = {}  # a note of the engine says so
    rank = {risk: place for place, risk in enumerate(RISKS)}
    risks, errors = [], []
    for names in engine.layers["onnx_nodes"]:
        known = [nodes[name] for name in names or () if name in nodes]
        worst = min((risk for risk, _ in known if risk in rank), key=rank.__getitem__, default=None)
        finite = [error for _, error in known if error is not None]
        risks.append(worst)
        errors.append(max(finite, default=None))
    return pd.DataFrame(
        {"fp16_risk": pd.array(risks, TEXT), "fp16_error": pd.array(errors, FLOAT)}, engine.layers.index
    )
