"""Terms of the DLA: time on each device, blocks, crossings."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

DLA = Subject(
    "dla",
    "DLA",
    "Overview; summary, report",
    "names of layers and profile rows, LayerType, and the log of the build; times of the profile",
    (
        Term("engines.dla", "Layers on the DLA; null for an engine without a DLA block."),
        Term(
            "dla_ms",
            "Time of the DLA blocks: their rows, and the rows that wait for them.",
            formula="Σ averageMs of layers on the device DLA",
            labels=("DLA time",),
        ),
        Term(
            "gpu_ms",
            "Time of all other layers, crossings included.",
            formula="Σ averageMs of layers on the device GPU",
            labels=("GPU time",),
        ),
        Term(
            "dla.crossings",
            "Changes between GPU and DLA: one before and one after each block.",
            formula="2 · blocks",
            labels=("DLA blocks",),
        ),
        Term(
            "dla.crossing_ms",
            "Time of the rows that copy or convert inputs and outputs of DLA blocks.",
            formula="Σ averageMs of crossing_rows",
            labels=("Crossings",),
        ),
        Term("crossing_rows", "Indices of these rows."),
        Term("dla.blocks", "The DLA blocks, in execution order."),
        Term("copies_to_dla", "Indices of the copies of its inputs: `X to nvm`."),
        Term("copies_from_dla", "Indices of the copies of its outputs, the wait left out: `X from nvm`."),
        Term("finishes", "Indices of the rows that end a copy: `X copy finish`."),
        Term("conversions", "Indices of the rows that convert its inputs and outputs, by their names."),
        Term(
            "times_longer", "Time of the wait over the median of other rows of its kind; null without a wait."
        ),
        Term(
            "dla.fallbacks",
            "GPU layers that compute between two DLA blocks.",
            labels=("GPU between blocks",),
        ),
        Term("fallbacks.before", "Index of the block before the layers."),
        Term("fallbacks.after", "Index of the block after the layers."),
        Term("dla.fallbacks.layers", "Indices of the layers."),
        Term("fallbacks.latency_ms", "Time of the layers."),
        Term("fallbacks.crossing_ms", "Time of the copies and conversions between the two blocks."),
        Term("dla.assumptions", "Assumptions about the block times.", is_verbatim=True),
    ),
)
