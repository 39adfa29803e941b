"""Explore TensorRT engines: `load_engine("results/alexnet").frame` is one row per layer."""

from __future__ import annotations

from typing import Any

from trex_tui._version import __version__

__all__ = [
    "ArtifactError",
    "Binding",
    "DataType",
    "Device",
    "Diagnostic",
    "Engine",
    "EngineComparison",
    "Engines",
    "Findings",
    "Layer",
    "LayerKind",
    "Severity",
    "Summary",
    "Svg",
    "Tensor",
    "Timing",
    "TrexError",
    "__version__",
    "full_frame",
    "load_engine",
    "load_engines",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    """Import a public name when it is first used, so that `--version` loads nothing else."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trex_tui import old

    return getattr(old, name)


def __dir__() -> list[str]:
    return __all__
