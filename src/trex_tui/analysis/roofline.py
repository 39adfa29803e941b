"""The roofline: how close each layer comes to the limits of its device, and what limits it.

A layer with F operations and B bytes cannot be faster than `max(F / peak, B / bandwidth)`: the roof. The peak is that of the
layer's precision on the unit its kernel uses; the bandwidth is that of the device memory. Facts missing in the files, and
everything that depends on them, are NA, with a reason.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd

from trex_tui.analysis.compute import WORKING, count, products
from trex_tui.analysis.device import find_device
from trex_tui.analysis.peaks import Peak, peak_of_kernel
from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import Column, by_key
from trex_tui.engine.dtypes import parse_data_type
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, per_engine
from trex_tui.engine.tactics import Tactic, parse_tactic
from trex_tui.frames import FLOAT, INT, TEXT, plain_values, text_array, total

SHORTEST_MS = 1e-9
"""A shorter time counts as zero: its rates would overflow."""
FLOOR_PERCENTILE = 2.0
FLOOR_LAYERS = 20
"""Minimum number of timed layers for a launch floor."""
LAUNCH_FACTOR = 2.0
"""Layers up to this many times the floor take about the time of starting and profiling any kernel. On the engines used to
choose it, twice the floor finds the many tiny layers of a MobileNet and next to none of a large CNN.
"""
LAUNCH_ROOF_SHARE = 0.25
"""A layer is bound by its launch only if its roof accounts for less than this share of its time."""
LATENCY_ROOF_PCT = 40.0
"""Below this share of both roofs a layer is limited by neither arithmetic nor memory. Good kernels reach 60 to
95 % of the lower roof; those with too few thread blocks, or with chains of dependent steps, 1 to 35 %.
"""
BOUNDS = {
    "compute": "The arithmetic of the kernel's unit is the lower roof.",
    "bandwidth": "The device memory is the lower roof.",
    "latency": "Far below both roofs: too few thread blocks to fill the device, or dependent steps.",
    "launch": "About the shortest layer time: starting any kernel takes as long.",
}
ASSUMPTIONS = (
    "every byte moves once between device memory and SMs; data in the L2 cache makes a layer exceed the bandwidth",
    "arithmetic other than multiply-accumulates (activations, softmax, normalisation) is free",
    "latencies are those of the profile run, which adds its own overhead to each layer",
)
"""Assumptions for every layer."""
_OPAQUE = (LayerKind.MYELIN, LayerKind.FUSED, LayerKind.PLUGIN, LayerKind.OTHER)
COMPUTING = frozenset(kind.value for kind in LayerKind if kind.multiplies or kind in _OPAQUE)
"""If the MACs of such a layer are unknown, its arithmetic is unknown; layers of all other kinds move bytes."""
_OTHER_SCHEDULE = re.compile(r"split_?k|stream_?k|_2sm|_dyn_", re.IGNORECASE)
"""Kernels whose thread blocks do not map to tiles of the result one to one."""


@per_engine
def roofline(engine: Engine) -> pd.DataFrame:
    """Return the roofline of all layers; NA for those that neither compute nor move data.

    Columns: those of `COLUMNS`, reasons (tuples: why values are missing), peak_formula and assumptions (tuples).
    """
    layers, device = engine.layers, find_device(engine)
    bandwidth = device.peak_bandwidth_bytes_per_s
    is_work = layers["kind"].isin(WORKING)
    on_gpu = is_work & layers["device"].ne("DLA").fillna(True)
    macs = products(engine)["macs"].astype(FLOAT)
    flops = (2 * macs).where(is_work & macs.gt(0))
    size = engine.column("footprint_allocated_bytes").astype(FLOAT).where(is_work)
    latency_ms = layers["latency_ms"].where(is_work)
    time_ms = latency_ms.where(latency_ms >= SHORTEST_MS)
    is_opaque = is_work & macs.isna() & layers["kind"].isin(COMPUTING)

    peaks = _find_peaks(engine, flops.notna() & on_gpu)
    top = pd.Series(pd.array([peak.flops_per_s if peak else None for peak in peaks], FLOAT), layers.index)
    memory_ms = (1e3 * size / bandwidth if bandwidth else size * pd.NA).where(on_gpu)
    compute_ms = 1e3 * flops / top
    roof_ms = memory_ms.where(flops.isna(), memory_ms.where(compute_ms <= memory_ms, compute_ms))
    roof_ms = roof_ms.mask(is_opaque | (flops.notna() & (compute_ms.isna() | memory_ms.isna())))
    side = pd.Series(text_array(["compute"] * len(layers)), layers.index)
    side = side.mask(roof_ms.eq(memory_ms).fillna(False), "bandwidth").where(roof_ms.gt(0).fillna(False))
    intensity = flops / size.where(size > 0)
    frame = pd.DataFrame(
        {
            "bytes": size.astype(INT),
            "flops_per_byte": intensity,
            "achieved_flops_per_s": 1e3 * flops / time_ms,
            "achieved_bytes_per_s": 1e3 * size / time_ms,
            "peak_flops_per_s": top,
            "ridge_flops_per_byte": top / bandwidth if bandwidth else top * pd.NA,
            "roof_flops_per_s": (top.where(top <= intensity * bandwidth, intensity * bandwidth))
            if bandwidth
            else top * pd.NA,
            "roof_ms": roof_ms,
            "roof_pct": 100 * roof_ms / time_ms,
            "bandwidth_pct": 100 * memory_ms / time_ms,
            "bound": _find_bound(time_ms, roof_ms, side, launch_floor_ms(engine)),
            "roof_side": side,
            "tiles": pd.array(_count_tiles(engine, flops.notna()), INT),
        },
        layers.index,
    )
    frame["reasons"] = _find_reasons(engine, frame, peaks, is_work, is_opaque)
    frame["peak_formula"] = text_array(
        f"{peak.formula} ({peak.tag}: {peak.source})" if peak and peak.formula else None for peak in peaks
    )
    frame["assumptions"] = [peak.assumptions if peak else () for peak in peaks]
    return frame


def _find_peaks(engine: Engine, has_work: pd.Series) -> list[Peak | None]:
    """Return the peak for each layer; kernels of one kind share theirs."""
    device, known = find_device(engine), dict[tuple[str | None, ...], Peak]()
    peaks: list[Peak | None] = []
    columns = (plain_values(engine.layers[key]) for key in ("precision", "tactic", "layer_type"))
    for wanted, *key in zip(has_work, *columns, strict=True):
        precision, tactic, layer_type = key
        if wanted and tuple(key) not in known:
            dtype = None if precision is None else parse_data_type(precision)
            known[tuple(key)] = peak_of_kernel(device, dtype, tactic, layer_type)
        peaks.append(known[tuple(key)] if wanted else None)
    return peaks


def _find_bound(time_ms: pd.Series, roof_ms: pd.Series, side: pd.Series, floor_ms: float | None) -> pd.Series:
    bound = side.mask((100 * roof_ms < LATENCY_ROOF_PCT * time_ms).fillna(False), "latency")
    is_short = (time_ms <= LAUNCH_FACTOR * (floor_ms or 0.0)) & (roof_ms < LAUNCH_ROOF_SHARE * time_ms)
    return bound.mask(is_short.fillna(False), "launch").where(side.notna() & time_ms.notna())


def launch_floor_ms(engine: Engine) -> float | None:
    """Return the time of the shortest layers: `FLOOR_PERCENTILE` of those above zero; None with too few timed layers."""
    times = engine.layers["latency_ms"]
    times = times[times.gt(0).fillna(False)]
    return float(times.quantile(FLOOR_PERCENTILE / 100)) if len(times) >= FLOOR_LAYERS else None


def _find_reasons(
    engine: Engine, frame: pd.DataFrame, peaks: list[Peak | None], is_work: pd.Series, is_opaque: pd.Series
) -> list[tuple[str, ...]]:
    device = find_device(engine)
    no_time = "no time in the profile" if engine.has_profile else "no profile in this set"
    if not engine.has_profile and FileKind.PROFILE in engine.files:
        no_time = "unreadable profile"
    is_complete = frame["roof_pct"].notna()
    reasons: list[tuple[str, ...]] = []
    rows = zip(
        is_work & ~is_complete,
        plain_values(engine.layers["latency_ms"]),
        plain_values(engine.layers["device"]),
        plain_values(frame["bytes"]),
        plain_values(products(engine)["compute_note"]),
        is_opaque,
        peaks,
        strict=True,
    )
    for wanted, time_ms, place, size, note, opaque, peak in rows:
        of_time = no_time if time_ms is None else "its time is zero" if time_ms < SHORTEST_MS else ""
        of_work = "runs on the DLA, whose peaks are unknown" if place == "DLA" else ""
        of_work = of_work or ((note or "unknown operation") if opaque else peak.reason if peak else "")
        of_size = "bytes unknown: missing shape, type or weights" if size is None else ""
        every = (of_time, of_work, of_size, "" if place == "DLA" else device.bandwidth_reason)
        reasons.append(tuple(dict.fromkeys(filter(None, every))) if wanted else ())
    return reasons


# Tiles


class Tiling(NamedTuple):
    """A product split into tiles, one per thread block.

    Attributes:
        rows, columns: Extents of a tile, along M and N.
        tiles: Number of tiles.
        useful: Part of their area inside the product, from 0 to 1.
    """

    rows: int
    columns: int
    tiles: int
    useful: float


def find_tiling(m: int, n: int, batch: int | None, tile: tuple[int, ...]) -> Tiling | None:
    """Return the tiling of a product; of both orientations (operands may be swapped) the one that wastes less."""
    if not m or not n or len(tile) < 2 or min(tile[:2]) < 1:
        return None
    tilings = []
    for rows, columns in (tile[:2], tile[1::-1]):
        down, across = -(-m // rows), -(-n // columns)
        useful = m * n / (down * rows * across * columns)
        tilings.append(Tiling(rows, columns, (batch or 1) * down * across, useful))
    return max(tilings, key=lambda tiling: tiling.useful)


@per_engine
def tilings(engine: Engine) -> list[Tiling | None]:
    """Return the tiling of each layer's product; None if the kernel names no tile, or its tiles belong to another product."""
    work = products(engine)
    columns = (plain_values(work[key]) for key in ("gemm_m", "gemm_n", "gemm_batch"))
    attributes = engine.attributes or [{}] * len(engine)
    found = []
    for name, raw, m, n, batch in zip(
        plain_values(engine.layers["tactic"]), attributes, *columns, strict=True
    ):
        tactic = parse_tactic(name)
        is_other = tactic is None or tactic.is_winograd or (count(raw, "Groups") or 1) > 1
        tile = None if is_other or tactic is None else tactic.tile
        found.append(find_tiling(m, n, batch, tile) if tile and m and n else None)
    return found


def has_plain_schedule(tactic: Tactic) -> bool:
    """Return whether each thread block of the kernel computes one tile of the result."""
    return _OTHER_SCHEDULE.search(tactic.name) is None


def _count_tiles(engine: Engine, has_work: pd.Series) -> list[int | None]:
    names = plain_values(engine.layers["tactic"])
    return [
        tiling.tiles if tiling and wanted and not _OTHER_SCHEDULE.search(name or "") else None
        for tiling, wanted, name in zip(tilings(engine), has_work, names, strict=True)
    ]


# Results for the engine


def roofline_totals(engine: Engine) -> pd.DataFrame:
    """Return a row per bound (NA for unknown ones): layers, latency_ms, roof_pct of the layers that have both times."""
    bound = roofline(engine)["bound"]
    is_work = engine.layers["kind"].isin(WORKING)
    rows = []
    for word in [*BOUNDS, None]:
        layers = is_work & (bound.isna() if word is None else bound.eq(word).fillna(False))
        rows.append(
            (word, int(layers.sum()), total(engine.layers["latency_ms"][layers]), roof_pct(engine, layers))
        )
    table = pd.DataFrame(rows, columns=["bound", "layers", "latency_ms", "roof_pct"])
    return table.astype({"bound": TEXT, "layers": INT, "latency_ms": FLOAT, "roof_pct": FLOAT})


def roof_pct(engine: Engine, rows: pd.Series) -> float | None:
    """Return the sum of roof times over the sum of latencies, in percent, of layers that have both; None without any.

    Args:
        rows: Mask of the layers.
    """
    points = roofline(engine)
    both = points["roof_pct"].notna() & rows
    latency_ms, roof_ms = total(engine.layers["latency_ms"][both]), total(points["roof_ms"][both])
    return 100.0 * roof_ms / latency_ms if latency_ms and roof_ms is not None else None


def roofline_gaps(engine: Engine) -> dict[str, int]:
    """Return reasons why numbers are missing -> number of layers, the most frequent first."""
    return dict(Counter(chain.from_iterable(roofline(engine)["reasons"])).most_common())


def _read(engine: Engine, key: str) -> pd.Series:
    return roofline(engine)[key]


_BOUND_FORMULA = (
    f"launch: latency_ms ≤ {LAUNCH_FACTOR:g} · floor and roof_pct < {100 * LAUNCH_ROOF_SHARE:g}; else latency where"
    f" roof_pct < {LATENCY_ROOF_PCT:g}; else compute where flops_per_byte > ridge, else bandwidth"
)
_OF_DEVICE = "metadata: device; peaks by architecture (gpu_peaks.json) or your settings"
_MOVED = "footprint_allocated_bytes"


def _column(key: str, title: str, text: str, formula: str, source: str, *aliases: str, **more: Any) -> Column:  # noqa: ANN401
    return Column(key, title, text, formula, source, aliases, compute=partial(_read, key=key), **more)


# fmt: off
_LISTED = (
    _column("flops_per_byte", "FLOP/B", "Operations per byte moved: FLOP of floats, OP of integers. Below the "
            "device's ridge, bandwidth limits the layer. trex differs: MACs by unpadded bytes, without residual "
            "inputs.", f"2 · macs / {_MOVED}", "layer information: Kernel, Groups, Dimensions", "intensity",
            "arithmetic_intensity"),
    _column("achieved_flops_per_s", "FLOP/s", "Achieved operations per second: FLOP/s of floats, OP/s of integers.",
            "2 · macs / latency_ms", "layer information and profile", "flops"),
    _column("achieved_bytes_per_s", "B/s", "Achieved bytes per second, if each byte is moved once. Above the memory "
            "peak if data stays in the cache.", f"{_MOVED} / latency_ms", "layer information and profile", "bandwidth"),
    _column("roof_ms", "Roof ms", "Minimum time at the device peaks.",
            f"max(2 · macs / peak FLOP/s, {_MOVED} / peak bandwidth)", _OF_DEVICE),
    _column("roof_pct", "% roof", "Achieved share of the roofline.", "100 · roof_ms / latency_ms",
            "as roof_ms, and the profile", "roof"),
    _column("bound", "Bound", "Limit of the layer. Read it with roof_pct.", _BOUND_FORMULA, "as roof_pct",
            words=BOUNDS),
)
# fmt: on
COLUMNS = by_key(*_LISTED)
"""Columns of layers."""
DETAILS = by_key(
        Column("bytes", "Bytes", "Allocated bytes of inputs, outputs and weights, each counted once."),
        Column("peak_flops_per_s", "Peak", "Peak for the precision and unit.", "2 · MACs per SM and clock · SMs · clock"),
        Column("ridge_flops_per_byte", "Ridge", "Intensity from which compute is the lower roof.", "peak / bandwidth"),
        Column("roof_flops_per_s", "Roof", "Reachable rate.", "min(peak, flops_per_byte · bandwidth)"),
        Column("bandwidth_pct", "% bandwidth", "Share of the peak bandwidth.", "100 · bytes / latency / bandwidth"),
        Column("roof_side", "Lower roof", "compute where the intensity is above the ridge, else bandwidth.", words=BOUNDS),
        Column("tiles", "Tiles", "Thread blocks for the result.", "⌈M / rows⌉ · ⌈N / columns⌉ · batch"),
        Column("floor_ms", "Launch floor", "Time of the shortest layers.",
               f"percentile {FLOOR_PERCENTILE:g} of the layer times above zero, of {FLOOR_LAYERS} or more"),
)  # fmt: skip
"""Columns of `roofline` that are no columns of layers, and the floor."""
