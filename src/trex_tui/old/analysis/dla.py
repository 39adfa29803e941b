"""Use of the DLA by an engine: time on each device, crossings between them, GPU layers between two blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from trex_tui.old.analysis.structure import Total, sum_latency_ms, total_by
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.dla import DlaBlock, DlaRole, count_operators
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Device, Layer


class DlaBlockTimes(NamedTuple):
    """A DLA block with its times; a time is None if no row of the profile has it.

    Attributes:
        block: Its rows.
        layer: The block itself.
        wait: The row that waits for it; None if no row stands out.
        operators: Number of operators listed in its name; None if it does not list them.
        execution_ms: Submission and wait: the time on the DLA. A lower bound without a wait.
        latency_pct: Its share of the engine's `latency_sum_ms`.
        crossing_rows: Rows that copy or convert its inputs and outputs.
        crossing_ms: Time of these rows.
    """

    block: DlaBlock
    layer: Layer
    wait: Layer | None
    operators: int | None
    execution_ms: float | None
    latency_pct: float | None
    crossing_rows: tuple[Layer, ...]
    crossing_ms: float | None

    @property
    def wait_ms(self) -> float | None:
        """Time of the wait in the profile."""
        return self.wait.latency_ms if self.wait else None


class FallbackGroup(NamedTuple):
    """Layers that compute on the GPU between two blocks, and the cost of the crossings.

    Attributes:
        before, after: The blocks.
        layers: In execution order.
        crossing_rows: Copies and conversions between the two blocks.
    """

    before: Layer
    after: Layer
    layers: tuple[Layer, ...]
    crossing_rows: tuple[Layer, ...]


class DlaUse(NamedTuple):
    """Use of the DLA by an engine.

    Attributes:
        blocks: In execution order.
        dla_ms: Time of all blocks; None without a profile.
        gpu_ms: Time of all other layers, crossings included.
        crossings: How often the execution changes between GPU and DLA.
        crossing_rows: Rows of all crossings, in execution order.
        fallbacks: GPU layers between two blocks.
        roles: Role by layer index.
    """

    blocks: tuple[DlaBlockTimes, ...]
    dla_ms: float | None
    gpu_ms: float | None
    crossings: int
    crossing_rows: tuple[Layer, ...]
    fallbacks: tuple[FallbackGroup, ...]
    roles: dict[int, tuple[DlaRole, int]]

    @property
    def crossing_ms(self) -> float | None:
        """Time of the copies and conversions of all crossings; None if none was profiled."""
        return sum_latency_ms(self.crossing_rows)


@per_engine
def find_dla_use(engine: Engine) -> DlaUse | None:
    """Return the use of the DLA by an engine; None if no layer runs on a DLA."""
    if not engine.dla_blocks:
        return None
    roles = {index: (role, block.layer) for block in engine.dla_blocks for index, role in block.roles.items()}
    for block in engine.dla_blocks:
        layer = engine.layers[block.layer]
        ends = [link.source for link in engine.producers(layer)]
        ends += [link.target for link in engine.consumers(layer)]
        for index in ends:
            if engine.layers[index].kind is LayerKind.REFORMAT:
                roles.setdefault(index, (DlaRole.CONVERSION, block.layer))
    rows_by_block: dict[int, list[Layer]] = {}
    for row in _crossing_rows(engine, roles):
        rows_by_block.setdefault(roles[row.index][1], []).append(row)
    blocks = tuple(
        _measure(engine, block, tuple(rows_by_block.get(block.layer, ()))) for block in engine.dla_blocks
    )
    crossing_rows = _crossing_rows(engine, roles)
    fallbacks = tuple(_find_fallbacks(engine, roles))
    return DlaUse(
        blocks=blocks,
        dla_ms=sum_latency_ms(layer for layer in engine.layers if layer.device is Device.DLA),
        gpu_ms=sum_latency_ms(layer for layer in engine.layers if layer.device is not Device.DLA),
        crossings=2 * len(blocks),
        crossing_rows=crossing_rows,
        fallbacks=fallbacks,
        roles=roles,
    )


def _measure(engine: Engine, block: DlaBlock, rows: tuple[Layer, ...]) -> DlaBlockTimes:
    layer = engine.layers[block.layer]
    wait = None if block.wait is None else engine.layers[block.wait]
    execution_ms = sum_latency_ms([layer] if wait is None else [layer, wait])
    whole = engine.latency_sum_ms
    return DlaBlockTimes(
        block=block,
        layer=layer,
        wait=wait,
        operators=count_operators(layer.name),
        execution_ms=execution_ms,
        latency_pct=100.0 * execution_ms / whole if execution_ms is not None and whole else None,
        crossing_rows=rows,
        crossing_ms=sum_latency_ms(rows),
    )


def _crossing_rows(engine: Engine, roles: dict[int, tuple[DlaRole, int]]) -> tuple[Layer, ...]:
    on_dla = (DlaRole.BLOCK, DlaRole.WAIT)
    return tuple(engine.layers[index] for index in sorted(roles) if roles[index][0] not in on_dla)


def computes(layer: Layer) -> bool:
    """Return whether a layer computes; copies and layers without work do not."""
    return layer.kind.is_work and layer.kind not in (LayerKind.REFORMAT, LayerKind.SHUFFLE)


def _find_fallbacks(engine: Engine, roles: dict[int, tuple[DlaRole, int]]) -> Iterable[FallbackGroup]:
    blocks = [engine.layers[block.layer] for block in engine.dla_blocks]
    for before, after in pairwise(blocks):
        between = engine.layers[before.index + 1 : after.index]
        layers = tuple(layer for layer in between if layer.device is not Device.DLA and computes(layer))
        if layers:
            rows = [layer for layer in between if layer.index in roles and layer.device is not Device.DLA]
            yield FallbackGroup(before, after, layers, tuple(rows))


def total_by_device(engine: Engine, layers: Sequence[Layer] | None = None) -> list[Total]:
    """Return totals by device, of some layers or of all; empty for an engine without a DLA block."""
    if not engine.dla_blocks:
        return []
    return total_by(engine, attrgetter("device"), layers)
