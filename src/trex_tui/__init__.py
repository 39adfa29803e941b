"""Explore TensorRT engines: `load_engine("results/alexnet").frame()` is one row per layer."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trex_tui._version import __version__

_MODULES = {
    "api": ("load_engine", "load_engines", "full_frame", "select", "summary", "findings", "diff", "chart"),
    "engine.model": ("Engine",),
    "column": ("Column",),
    "errors": ("ArtifactError", "Note", "Severity", "TrexError"),
}
_PLACES = {name: f"trex_tui.{module}" for module, names in _MODULES.items() for name in names}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
    """Import a public name when it is first used, so that `--version` loads nothing else."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
