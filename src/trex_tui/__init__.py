"""Explore TensorRT engines: `load_engine("results/alexnet").frame` is one row per layer.

Names are imported when first used, so that a part of the package never loads the rest.
"""

from __future__ import annotations

from trex_tui._version import __version__
from trex_tui.lazy import lazy_names

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from trex_tui.analysis.columns import full_frame
    from trex_tui.engine import (
        Binding,
        DataType,
        Device,
        Engine,
        Layer,
        LayerKind,
        Tensor,
        load_engine,
        load_engines,
    )
    from trex_tui.errors import ArtifactError, Diagnostic, Severity, TrexError

__all__ = [
    "ArtifactError",
    "Binding",
    "DataType",
    "Device",
    "Diagnostic",
    "Engine",
    "Layer",
    "LayerKind",
    "Severity",
    "Tensor",
    "TrexError",
    "__version__",
    "full_frame",
    "load_engine",
    "load_engines",
]

_PLACES = {
    "errors": ("ArtifactError", "Diagnostic", "Severity", "TrexError"),
    "engine": (
        *("Binding", "DataType", "Device", "Engine", "Layer", "LayerKind", "Tensor"),
        *("load_engine", "load_engines"),
    ),
    "analysis.columns": ("full_frame",),
}
__getattr__ = lazy_names(__name__, _PLACES)


def __dir__() -> list[str]:
    return __all__
