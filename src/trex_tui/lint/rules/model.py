"""ONNX: parts of the model that the engine splits, and constants that are computed in every run."""

from __future__ import annotations

RULES = ()
