"""Terms of power, temperature, clocks and energy."""

from __future__ import annotations

from trex_tui.old.analysis.energy import BUSY_PCT, Scope
from trex_tui.old.artifacts.sensor_lines import THROTTLE_REASONS
from trex_tui.old.report.glossary.term import Subject, Term

_QUANTITIES = (
    ("gpu_temperature_c", "GPU temperature", "Temperature of the GPU."),
    ("gpu_clock_mhz", "GPU clock", "Clock of the GPU: of its SMs, or of the fastest cluster of a Jetson."),
    ("memory_clock_mhz", "Memory clock", "Clock of the memory: of a Jetson, that of the EMC."),
    ("gpu_utilization_pct", "GPU utilization", "Share of the time in which a kernel ran."),
    ("memory_used_mib", "Memory used", "Memory in use: of the GPU, or of the board."),
)
_STATISTICS = (("min", "Least"), ("mean", "Mean"), ("max", "Largest"))
POWER = Subject(
    "power",
    "Power and energy",
    "Overview, Charts; summary, report, diff",
    "samples of the set: NAME.monitor.csv, tegrastats, nvidia-smi, jtop, power sensor",
    (
        Term("engines.power", "Power, temperature and clocks while it ran; null without a file of samples."),
        Term("power.producer", "The program that took the samples.", labels=("Samples",)),
        Term(
            "power.scope",
            "Samples used: those of the measurement, by the stage in NAME.monitor.csv or the time stamps of "
            f"trtexec's log; else those with the GPU at {BUSY_PCT:g} % or more, an estimate; else the whole "
            "file.",
            values=tuple(scope.value for scope in Scope),
        ),
        Term("power.samples", "Samples that count."),
        Term("power.all_samples", "Samples in the file."),
        Term("power.interval_s", "Median time from a sample to the next."),
        Term(
            "power.is_interval_assumed",
            "True if the file has no time stamps, and the interval is the default of the program.",
        ),
        Term(
            "power.power_of",
            "Measured power: the GPU, the rail that feeds the board, or rails that are added up.",
        ),
        Term(
            "power.power_w",
            "Power of the GPU (nvidia-smi) or of the board (Jetson). Sensors average, so short peaks are "
            "higher.",
            also=("diff.engines.power_w",),
            labels=("Power", "watts", "Power, mean", "Power, peak", "mean W"),
        ),
        *(Term(f"power.{name}", definition, labels=(label,)) for name, label, definition in _QUANTITIES),
        *(
            Term(
                f"power.{name}.{statistic}",
                f"{word} over the samples that count: {label[0].lower()}{label[1:]}.",
                unit=unit,
                gates={"power_w.mean": ("power_mean_w",), "power_w.max": ("power_peak_w",)}.get(
                    f"{name}.{statistic}", ()
                ),
            )
            for name, label, unit in (
                ("power_w", "Power", "watts"),
                ("gpu_temperature_c", "Temperature of the GPU", "degrees Celsius"),
                ("gpu_clock_mhz", "Clock of the GPU", "MHz"),
                ("memory_clock_mhz", "Clock of the memory", "MHz"),
                ("gpu_utilization_pct", "Utilization of the GPU", "percent"),
                ("memory_used_mib", "Memory in use", "MiB"),
            )
            for statistic, word in _STATISTICS
        ),
        *(
            Term(f"power.{name}.samples", "Samples that have a value.")
            for name in ("power_w", *(name for name, _, _ in _QUANTITIES))
        ),
        Term("power.rails_w", "Power of each rail.", entries="power rails", labels=("Power rails",)),
        Term("rails_w.*.samples", "Samples that have a value."),
        *(
            Term(f"rails_w.*.{statistic}", f"{word} power of the rail.", unit="watts")
            for statistic, word in _STATISTICS
        ),
        Term(
            "power.idle_w",
            "Power of the idle board.",
            source="idling_power.json: avg_idle_power",
            labels=("Idle power",),
        ),
        Term(
            "energy_per_inference_j",
            "Energy of an inference: of the GPU or of the whole board, see power_of. Null if the "
            "measurement interval is unknown. In a comparison per sample: of a sample.",
            labels=("Energy per inference", "joules", "J per inference", "J per sample"),
            gates=("energy_per_inference_j",),
            formula="mean power / throughput_qps",
        ),
        Term(
            "power.energy_above_idle_j",
            "Energy of an inference without the power of the idle board.",
            labels=("Energy above idle",),
            formula="(mean power − idle_w) / throughput_qps",
        ),
        Term(
            "inferences_per_joule",
            "Inferences per joule, the same as images per second per watt.",
            labels=("Inferences per joule",),
            gates=("inferences_per_joule",),
            formula="1 / energy_per_inference_j",
        ),
        Term(
            "power.throttling",
            "Why the GPU was throttled during the measurement, the most frequent reason first; null if "
            "unknown.",
            labels=("Throttling", "throttled"),
            source="nvidia-smi: clocks_event_reasons.active",
        ),
        Term(
            "throttling.reason",
            "The reason.",
            values=tuple(reason for _, reason in THROTTLE_REASONS),
        ),
        Term("throttling.samples", "In how many of the samples."),
        Term(
            "throttling.first_s",
            "Seconds from the first sample that counts to the first of these; null without times.",
        ),
        Term("power.throttled_samples", "Samples with any reason; null if unknown."),
        Term("power.notes", "Limits of these numbers."),
        Term(
            "power.layers",
            "Power and energy of layers, an estimate; only where the profile has a time stamp for each call.",
            source="log of power; profile with a time stamp per call",
        ),
    ),
)
