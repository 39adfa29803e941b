"""What is drawn in which colour: one map from kinds, precisions and severities to tokens, and our tokens' colours.

Only tokens, never literal colours, reach the widgets, so that every theme works, the 16-colour ones included; pictures
outside of a terminal take the colours of our two themes. Kind and precision are always words as well: nothing is told by
colour alone. This module imports nothing of a user interface.
"""

from __future__ import annotations

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind

DARK = {
    "primary": "#5fb3b3",
    "secondary": "#8fa8f0",
    "accent": "#f0a868",
    "success": "#9ccc65",
    "warning": "#e5c453",
    "error": "#f07171",
    "foreground": "#d5dbe1",
    "background": "#0e1318",
    "surface": "#131a21",
    "panel": "#1b242d",
}
LIGHT = {
    "primary": "#1f7a7a",
    "secondary": "#3f57b5",
    "accent": "#b35a00",
    "success": "#3d7a1f",
    "warning": "#8a6a00",
    "error": "#b3261e",
    "foreground": "#1d242b",
    "background": "#f6f7f5",
    "surface": "#ffffff",
    "panel": "#e6e9e6",
}
"""Tokens of the themes trex-dark and trex-light, without the `$`."""

_IDLE = "$muted"
_KINDS = {
    LayerKind.CONVOLUTION: "$primary",
    LayerKind.GEMM: "$accent",
    LayerKind.ATTENTION: "bold $accent",
    LayerKind.POINTWISE: "$success",
    LayerKind.REDUCTION: "$secondary",
    LayerKind.SOFTMAX: "$secondary",
    LayerKind.POOLING: "$secondary",
    LayerKind.SCALE: "$success",
    LayerKind.QUANTIZE: "$warning",
    LayerKind.REFORMAT: "$warning",
    LayerKind.PLUGIN: "$error",
    LayerKind.FUSED: "bold $secondary",
    LayerKind.MYELIN: "bold $secondary",
    LayerKind.CONSTANT: _IDLE,
    LayerKind.SHAPE: _IDLE,
    LayerKind.SYNC: _IDLE,
    LayerKind.NOOP: _IDLE,
}
_PRECISIONS = {
    DataType.FP32: "$error",
    DataType.TF32: "$error",
    DataType.FP16: "$accent",
    DataType.BF16: "$accent",
    DataType.INT8: "$success",
    DataType.FP8: "$success",
    DataType.INT4: "bold $success",
    DataType.FP4: "bold $success",
}
_SEVERITIES = {"error": "bold $error", "warning": "$warning", "info": "$secondary", "good": "$success"}


def kind_style(kind: LayerKind) -> str:
    """Style of a kind; movement of data (shuffle, slice, concat, resize) stays in the colour of text."""
    return _KINDS.get(kind, "$foreground")


def precision_style(precision: DataType | None) -> str:
    """Style of a precision: the wider, the warmer."""
    return _PRECISIONS.get(precision, "$muted") if precision else "$muted"


def severity_style(severity: str | None) -> str:
    """Style of a severity, of a diagnostic or of a finding; of none where there is none."""
    return _SEVERITIES[severity] if severity else "$muted"
