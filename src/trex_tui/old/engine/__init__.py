"""The domain model: engines, layers, tensors."""

from __future__ import annotations

from trex_tui.old import lazy_names

TYPE_CHECKING = False  # as in typing, which takes longer to import than this whole package
if TYPE_CHECKING:
    from trex_tui.old.engine.columns import COLUMNS, LayerColumn
    from trex_tui.old.engine.dtypes import DataType, TensorFormat
    from trex_tui.old.engine.engine import Engine, load_engine, load_engines
    from trex_tui.old.engine.kinds import LayerKind
    from trex_tui.old.engine.model import Binding, Device, Layer, LayerLatency, Tensor

__all__ = [
    "COLUMNS",
    "Binding",
    "DataType",
    "Device",
    "Engine",
    "Layer",
    "LayerColumn",
    "LayerKind",
    "LayerLatency",
    "Tensor",
    "TensorFormat",
    "load_engine",
    "load_engines",
]

_PLACES = {
    "columns": ("COLUMNS", "LayerColumn"),
    "dtypes": ("DataType", "TensorFormat"),
    "engine": ("Engine", "load_engine", "load_engines"),
    "kinds": ("LayerKind",),
    "model": ("Binding", "Device", "Layer", "LayerLatency", "Tensor"),
}
__getattr__ = lazy_names(__name__, _PLACES)
