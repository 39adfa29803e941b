"""The values that memory holds, one after another.

A tensor's name is a name of memory. Writes that follow each other without a read between them make one value, a
*generation*; the first write after a read begins the next (`engine.links` follows tensors by the same rule).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trex_tui.engine.model import Layer, Tensor


@dataclass(slots=True)
class Generation:
    """One value of a region.

    Attributes:
        tensor: As the layer has it that states the largest size.
        number: Place among the generations of the name, from 0.
        writers: Indices of the layers that write it; none for what comes from outside.
        readers: Indices and ports of the layers that read it.
        loop_readers: Likewise, of those that read it in the next iteration: they run before the first writer of the name.
    """

    tensor: Tensor
    number: int
    writers: list[int] = field(default_factory=list)
    readers: list[tuple[int, int]] = field(default_factory=list)
    loop_readers: list[tuple[int, int]] = field(default_factory=list)

    def sees(self, tensor: Tensor) -> None:
        """Keep the description with the largest size: parts of a removed concat share a name."""
        if (tensor.volume or 0) > (self.tensor.volume or 0):
            self.tensor = tensor


def follow_regions(layers: Sequence[Layer]) -> dict[str, list[Generation]]:
    """The generations of every tensor name, in the order in which names and values appear. Linear in the tensors."""
    regions: dict[str, list[Generation]] = {}
    for layer in layers:
        for port, tensor in enumerate(layer.inputs):
            values = regions.setdefault(tensor.name, [])
            if not values:
                values.append(Generation(tensor, 0))
            values[-1].sees(tensor)
            values[-1].readers.append((layer.index, port))
        for tensor in layer.outputs:
            values = regions.setdefault(tensor.name, [])
            if not values or values[-1].readers:
                values.append(Generation(tensor, len(values)))
            values[-1].sees(tensor)
            if layer.index not in values[-1].writers[-1:]:
                values[-1].writers.append(layer.index)
    return regions


def close_loops(regions: dict[str, list[Generation]], outside: frozenset[str]) -> None:
    """Give what is read before it is written to the last value of its name: it is of the iteration before.

    Args:
        outside: Names of bindings: their first value comes from the caller.
    """
    for name, values in regions.items():
        if len(values) > 1 and not values[0].writers and name not in outside:
            values[-1].loop_readers += values[0].readers
            del values[0]
            for number, value in enumerate(values):
                value.number = number


def all_values(regions: dict[str, list[Generation]]) -> Iterator[tuple[str, Generation, bool]]:
    """Name, value, and whether it is the last of its name."""
    for name, values in regions.items():
        for value in values:
            yield name, value, value is values[-1]
