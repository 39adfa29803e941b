"""Find the source of tactics for layers that the builder did not time because it had timed an equal layer.

TensorRT 8 times equal layers once, and prints no runner for the others. An equal layer has the same tactic number of the same
runner, tensors of the same types and memory layouts, and the same attributes, as far as stated in the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trex_tui.old.buildlog.layer_tuning import FormatCombination, LayerTuning, parse_id
from trex_tui.old.engine.dtypes import parse_data_type
from trex_tui.old.engine.model import Layer, Tensor

_FORMAT = re.compile(r"\w+\((?P<strides>[^()]*)\)$")
_NOT_TIMED = frozenset({"NoOp", "Reformat", "Myelin", None})
_DIFFERING = frozenset({"Metadata", "Origin", "StreamId"})
"""Attributes in which equal layers differ."""


class TimedLayers:
    """Finds the layer that was timed instead of another.

    Args:
        tunings: Tunings of the engine that was kept.
        layers: Layers of the engine; those with a tuning's name have its attributes.
    """

    def __init__(self, tunings: Iterable[LayerTuning], layers: Sequence[Layer]) -> None:
        self._layers = {layer.name: layer for layer in reversed(layers)}
        self._timed: dict[tuple[str, int], list[tuple[LayerTuning, FormatCombination]]] = {}
        for tuning in tunings:
            for combination in tuning.combinations if tuning.name else ():
                runner, number = combination.chosen_runner, combination.chosen_id
                if runner is not None and number is not None and combination.chosen_ms is not None:
                    self._timed.setdefault((runner, number), []).append((tuning, combination))

    def find_equal(self, layer: Layer) -> list[tuple[LayerTuning, FormatCombination]]:
        """Return the tunings of equal layers, each with the combination of formats of this layer, in the order of the log."""
        number = parse_id(layer.tactic_value) if layer.tactic_value else None
        if number is None or layer.layer_type is None or layer.layer_type in _NOT_TIMED:
            return []
        return [
            (tuning, combination)
            for tuning, combination in self._timed.get((layer.layer_type, number), ())
            if tuning.name != layer.name
            and _have_formats(layer.inputs, combination.inputs)
            and _have_formats(layer.outputs, combination.outputs)
            and self._has_attributes_of(layer, tuning.name)
        ]

    def _has_attributes_of(self, layer: Layer, name: str) -> bool:
        """Return whether the timed layer has the same attributes; false if it is not in the engine."""
        other = self._layers.get(name)
        if other is None:
            return True
        keys = (layer.attributes.keys() & other.attributes.keys()) - _DIFFERING
        return layer.kind is other.kind and all(
            layer.attributes[key] == other.attributes[key] for key in keys
        )


def _have_formats(tensors: Sequence[Tensor], formats: Sequence[str]) -> bool:
    return len(tensors) == len(formats) and all(map(_has_format, tensors, formats))


def _has_format(tensor: Tensor, text: str) -> bool:
    """Return whether a tensor has a type and strides as the builder prints them: `Half(3136,1:8,112,4)`.

    The number after the colon is the number of elements of that dimension per vector; strides count vectors then.
    """
    match = _FORMAT.match(text)
    if match is None or parse_data_type(text) is not tensor.dtype:
        return False
    parts = [part.partition(":") for part in match["strides"].split(",")] if match["strides"] else []
    if len(parts) != len(tensor.shape):
        return False
    steps: list[tuple[int, int]] = []
    vector = 1
    for (stride, _, width), extent in zip(parts, tensor.shape, strict=True):
        if not stride.isdecimal() or (width and not width.isdecimal()):
            return False
        elements = int(width or 1) or 1
        vector *= elements
        steps.append((int(stride), -(-extent // elements) if extent >= 0 else extent))
    is_stated = bool(tensor.format.text) and tensor.format.vector > 1
    return (vector == tensor.format.vector or not is_stated) and _is_dense(steps)


def _is_dense(steps: list[tuple[int, int]]) -> bool:
    """Return whether (stride, extent) pairs fill memory without gaps; only the outermost extent may be unknown."""
    expected = 1
    for stride, extent in sorted(steps, key=lambda step: (step[0], step[1] < 0, step[1])):
        if expected < 0 or stride != expected:
            return False
        expected *= extent
    return True
