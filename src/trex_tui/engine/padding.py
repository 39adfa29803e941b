"""What a tensor takes in memory, padding included."""

from __future__ import annotations

import math
from functools import lru_cache

from trex_tui.engine.dtypes import DataType, TensorFormat


@lru_cache(maxsize=8192)  # few shapes and formats, asked for many times
def allocated_bytes(shape: tuple[int, ...], dtype: DataType, layout: TensorFormat) -> int:
    """Bytes of a tensor whose extents are all known.

    Vectorised and channel-major layouts round the channels up to their vector: an image of 3 channels in `NHWC4` takes 4. DLA
    layouts round every row up to a number of bytes. (Developer guide, "I/O formats"; `nvinfer1::TensorFormat`.) trex counts
    neither. Types of less than a byte are packed.

    Args:
        shape: Logical extents, in the order N, C, then the spatial ones, whatever the layout.
        dtype: Element type.
        layout: Where the vector and the row padding come from.
    """
    extents = list(shape)
    channel = _channel_of(len(extents), layout)
    if channel is not None:
        extents[channel] = -(-extents[channel] // layout.vector) * layout.vector
    if layout.row_bytes > 1 and extents:
        # Without spatial dimensions the channels are the row themselves.
        in_row = layout.channels_last and channel is not None and channel < len(extents) - 1
        row = extents[-1] * (extents[channel] if channel is not None and in_row else 1)
        rows = math.prod(extents) // row if row else 0
        row_bytes = -(-row * dtype.bits // 8)
        return rows * -(-row_bytes // layout.row_bytes) * layout.row_bytes
    return -(-math.prod(extents) * dtype.bits // 8)


def _channel_of(rank: int, layout: TensorFormat) -> int | None:
    """Place of the channels: right before the spatial dimensions; the second of a tensor that has no more than those."""
    if layout.layout is None or rank < 2:
        return None
    if layout.vector == 1 and layout.row_bytes == 1:
        return None
    return rank - layout.spatial_dims - 1 if rank > layout.spatial_dims else 1
