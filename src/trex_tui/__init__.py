"""Explore TensorRT engines: `load_engine("results/alexnet").frame` is one row per layer.

Names are imported when first used, so that a part of the package never loads the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trex_tui._version import __version__

if TYPE_CHECKING:
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
    "load_engine",
    "load_engines",
]

_ERRORS = frozenset({"ArtifactError", "Diagnostic", "Severity", "TrexError"})


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("trex_tui.errors" if name in _ERRORS else "trex_tui.engine"), name)


def __dir__() -> list[str]:
    return __all__
