"""Terms of the history of builds. The columns of its tables are explained in `views.history`."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

HISTORY = Subject(
    "history",
    "History",
    "history",
    "timing rows, power samples, layer information and manifests of all builds",
    (
        Term("history.histories", "One entry per model, the one with most builds first."),
        Term("histories.name", "Name of the newest build."),
        Term("histories.builds", "The builds in order."),
        Term(
            "histories.copies", "Builds with the timing rows of an earlier one; noise is judged without them."
        ),
        Term("copies.number", "Number of the build that is a copy."),
        Term("copies.copy_of", "Number of the build with the same timing rows."),
        Term("histories.undated", "Builds without a date, for want of which the order is that of the paths."),
        Term("histories.changes", "Measures that change their level at a build, beyond noise."),
        Term("histories.causes", "Differences between a build with a change and the build before."),
        Term("histories.first_builds", "First build per cause; null without --bisect."),
        Term("histories.gates", "Results of the gates for the newest build."),
        Term("histories.spread", "Spread between the builds; null without --spread, or for one build."),
        Term("spread.build_logs", "Builds with a log of tactics."),
        Term("spread.changing_layers", "Layers that have several tactics over the builds."),
        Term("spread.near_ties", "Layers whose choice is a near tie in a build log."),
        Term("spread.advice", "Advice on reproducible builds, in sentences."),
        Term("spread.layers", "Layers in two builds or more, the largest range of time first."),
        Term("histories.levels", "Measures that a build has, with their noise."),
        Term("histories.levels.measure", "Key of the measure."),
        Term(
            "histories.levels.noise",
            "Standard deviation of a build's value: the larger of the spread between builds of a level and between runs. "
            "0 for exact measures; null if it is unknown.",
        ),
        Term("histories.levels.outliers", "Numbers of builds that differ from an equal level on both sides."),
        Term("histories.levels.reason", "Why the noise between builds is unknown; null if it is known."),
    ),
)
