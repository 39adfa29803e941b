"""Colours by meaning: one map from kinds, precisions and severities to tokens, and the colours of the own themes' tokens.

Widgets only use tokens, never literal colours, so that every theme works, including 16-colour ones; pictures outside of a
terminal use the colours of the own two themes. Kind and precision are always shown as text as well. This module imports
nothing of a user interface.
"""

from __future__ import annotations

from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind

DARK = {
    "primary": "#5fc3c3",
    "secondary": "#8fa8f0",
    "accent": "#f5b07a",
    "success": "#b4e650",
    "warning": "#c9a227",
    "error": "#e06c75",
    "bits-32": "#e07a5f",
    "bits-16": "#e6b84a",
    "bits-8": "#2fd6b5",
    "bits-4": "#b08cf5",
    "current": "#f06ac0",
    "foreground": "#d5dbe1",
    "background": "#0e1318",
    "surface": "#131a21",
    "panel": "#1b242d",
}
LIGHT = {
    "primary": "#14696f",
    "secondary": "#3040a8",
    "accent": "#7a3200",
    "success": "#3a6b2c",
    "warning": "#7d6200",
    "error": "#96103c",
    "bits-32": "#5f1c06",
    "bits-16": "#845905",
    "bits-8": "#0c6a5c",
    "bits-4": "#16286e",
    "current": "#b01fa0",
    "foreground": "#1d242b",
    "background": "#f6f7f5",
    "surface": "#ffffff",
    "panel": "#e6e9e6",
}
"""Tokens of the themes trex-dark and trex-light, without the `$`.

`bits-*` are the precisions by width, `current` is the current layer and nothing else. Any two of these five differ by at
least 15 (ΔE of CIE 1976), also with protanopia and deuteranopia; `tests/test_colours.py` computes it.
"""

_IDLE = "$muted"
_KINDS = {
    LayerKind.CONVOLUTION: "$primary",
    LayerKind.GEMM: "$accent",
    LayerKind.ATTENTION: "bold $accent",
    LayerKind.POINTWISE: "$success",
    LayerKind.REDUCTION: "$secondary",
    LayerKind.NORMALIZATION: "$secondary",
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
    DataType.FP32: "$bits-32",
    DataType.TF32: "$bits-32",
    DataType.FP16: "$bits-16",
    DataType.BF16: "$bits-16",
    DataType.INT8: "$bits-8",
    DataType.FP8: "$bits-8",
    DataType.INT4: "$bits-4",
    DataType.FP4: "$bits-4",
}
_SEVERITIES = {"error": "bold $error", "warning": "$warning", "info": "$secondary", "good": "$success"}


def kind_style(kind: LayerKind) -> str:
    """Return the style of a kind; data movement (shuffle, slice, concat, resize) has the colour of text."""
    return _KINDS.get(kind, "$foreground")


def precision_style(precision: DataType | None) -> str:
    """Return the style of a precision, by its width: the wider, the warmer."""
    return _PRECISIONS.get(precision, "$muted") if precision else "$muted"


def severity_style(severity: str | None) -> str:
    """Return the style of the severity of a diagnostic or of a finding; that of text without a severity."""
    return _SEVERITIES[severity] if severity else "$muted"


def kind_class(kind: LayerKind) -> str:
    """Return the class of a kind, as a style for drawing."""
    return f"kind-{kind.value}"


def precision_class(precision: DataType | None) -> str:
    """Return the class of a precision, as a style for drawing."""
    return f"precision-{precision.value}" if precision else "precision-unknown"
