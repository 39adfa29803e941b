"""The domain model: engines, layers, tensors."""

from trex_tui.engine.columns import COLUMNS, Column
from trex_tui.engine.dtypes import DataType, TensorFormat
from trex_tui.engine.engine import Engine, load_engine, load_engines
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Binding, Device, Layer, LayerLatency, Tensor

__all__ = [
    "COLUMNS",
    "Binding",
    "Column",
    "DataType",
    "Device",
    "Engine",
    "Layer",
    "LayerKind",
    "LayerLatency",
    "Tensor",
    "TensorFormat",
    "load_engine",
    "load_engines",
]
