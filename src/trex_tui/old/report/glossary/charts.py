"""The terms that each chart draws."""

from __future__ import annotations

CHART_TERMS: dict[str, tuple[str, ...]] = {
    "histogram": ("engines.latency", "latency.median_ms", "latency.p99_ms", "latency.cv_pct"),
    "over-time": (
        "engines.latency",
        "timing.stability",
        "stability.drift",
        "stability.outliers",
        "windows_range_pct",
    ),
    "percentiles": ("percentiles_ms", "engines.latency", "latency.p99_ms", "latency.p99.9_ms"),
    "power": ("power.power_w", "power.rails_w", "energy_per_inference_j"),
    "temperature": ("power.gpu_temperature_c", "power.throttling"),
    "clock": ("power.gpu_clock_mhz", "power.throttling"),
    "kind": ("kind", "latency_ms", "latency_pct"),
    "precision": ("precision", "latency_ms", "latency_pct"),
    "kind-precision": ("kind", "precision", "latency_ms"),
    "reformats": ("origin", "structure.reformats", "latency_ms"),
    "bar": ("latency_ms", "kind", "precision"),
    "precision-order": ("precision", "index", "latency_ms"),
    "scatter": ("latency_ms", "macs", "kind"),
    "distribution": ("latency_ms", "latency_pct"),
    "tactic": ("tactic", "latency_ms", "latency_pct"),
    "layers": ("latency_ms", "index", "kind"),
    "spread": ("median_ms", "p99_ms", "cv_pct", "outliers"),
    "pareto": ("latency_pct", "latency_ms", "engines.latency_sum_ms"),
    "products": ("gemm_m", "gemm_n", "gemm_k", "macs"),
    "roofline": (
        "arithmetic_intensity",
        "achieved_flops_per_s",
        "bound",
        "engines.roofline",
        "peak_bandwidth_bytes_per_s",
        "floor_ms",
    ),
    "efficiency": ("roof_pct", "roof_ms", "latency_ms"),
    "memory": ("peak_live_activation_bytes", "live_at_peak", "index"),
    "icicle": ("structure.by_module", "latency_pct", "by_module_note"),
}
"""Id of a chart -> keys of its terms, the most important first."""
