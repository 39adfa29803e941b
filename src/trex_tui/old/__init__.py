"""Explore TensorRT engines: `load_engine("results/alexnet").frame` is one row per layer.

Names are imported when first used, so that a part of the package never loads the rest.
"""

from __future__ import annotations

from trex_tui._version import __version__

TYPE_CHECKING = False  # as in typing, which takes longer to import than this whole package
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from trex_tui.old.analysis.columns import full_frame
    from trex_tui.old.api.engine import Engine, Engines, Timing, load_engine, load_engines
    from trex_tui.old.api.pictures import Svg
    from trex_tui.old.api.results import EngineComparison, Findings, Summary
    from trex_tui.old.engine import Binding, DataType, Device, Layer, LayerKind, Tensor
    from trex_tui.old.errors import ArtifactError, Diagnostic, Severity, TrexError

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

_PLACES = {
    "errors": ("ArtifactError", "Diagnostic", "Severity", "TrexError"),
    "api.engine": ("Engine", "Engines", "Timing", "load_engine", "load_engines"),
    "api.pictures": ("Svg",),
    "api.results": ("EngineComparison", "Findings", "Summary"),
    "engine": ("Binding", "DataType", "Device", "Layer", "LayerKind", "Tensor"),
    "analysis.columns": ("full_frame",),
}


def lazy_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package (PEP 562).

    Args:
        package: Its `__name__`.
        modules: Submodule -> the names that come from it.
    """
    places = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def find(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(places[name]), name)

    return find


__getattr__ = lazy_names(__name__, _PLACES)


def __dir__() -> list[str]:
    return __all__
