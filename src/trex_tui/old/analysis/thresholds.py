"""Definitions and thresholds of the roofline and of outliers, which descriptions of columns name too.

Their computations are elsewhere, so that a list of layers without these columns does not import them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

OUTLIER_SCORE = 3.5
"""Modified z-score above which a row is an outlier (Iglewicz and Hoaglin)."""

OUTLIER_LEAST_PCT = 5.0
"""Minimum distance of an outlier from its level, in percent of the median, to count for the verdict."""

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


class Bound(str, Enum):
    """Limit of a layer's time."""

    COMPUTE = "compute"
    BANDWIDTH = "bandwidth"
    LATENCY = "latency"
    """Far below both roofs: too few thread blocks to fill the device, or dependent steps."""
    LAUNCH = "launch"

    __hash__ = str.__hash__  # Enum's own is a function in Python


FORMULAS: Mapping[str, tuple[str, str]] = {
    "macs": ("MAC", "multiply-accumulates of the layer's convolution, matrix product or attention"),
    "bytes": ("B", "allocated bytes of all inputs, outputs and weights, each counted once"),
    "intensity": ("FLOP/B", "2 × macs ÷ bytes"),
    "achieved_flop_per_s": ("FLOP/s", "2 × macs ÷ latency"),
    "achieved_bytes_per_s": ("B/s", "bytes ÷ latency"),
    "peak_flop_per_s": (
        "FLOP/s",
        "2 × MACs per SM and clock × SMs × clock, for the layer's precision and unit",
    ),
    "peak_bandwidth_bytes_per_s": ("B/s", "2 × memory clock × bus width ÷ 8"),
    "ridge_intensity": ("FLOP/B", "peak ÷ peak bandwidth: from here on, compute is the lower roof"),
    "roof_flop_per_s": ("FLOP/s", "min(peak, intensity × peak bandwidth)"),
    "roof_ms": ("ms", "max(2 × macs ÷ peak, bytes ÷ peak bandwidth); without MACs, bytes ÷ peak bandwidth"),
    "roof_pct": ("%", "100 × roof_ms ÷ latency; without MACs, the share of the peak bandwidth"),
    "bandwidth_pct": ("%", "100 × bytes ÷ latency ÷ peak bandwidth"),
    "bound": (
        "",
        f"launch: latency ≤ {LAUNCH_FACTOR:g} × floor and roof_pct < {100 * LAUNCH_ROOF_SHARE:g}; else latency where"
        f" roof_pct < {LATENCY_ROOF_PCT:g}; else compute where intensity > ridge, else bandwidth",
    ),
    "roof_side": ("", "compute where intensity > ridge, else bandwidth"),
    "tiles": ("", "⌈M ÷ rows⌉ × ⌈N ÷ columns⌉ × batch, for the tile that the kernel's name states"),
    "floor_ms": (
        "ms",
        f"percentile {FLOOR_PERCENTILE:g} of the layer times above zero, of {FLOOR_LAYERS} or more",
    ),
}
"""Number -> unit and definition."""
