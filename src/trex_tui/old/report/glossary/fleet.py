"""Terms of the table of engines. Its columns are explained in `fleet.engine_columns`."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

FLEET = Subject(
    "engines",
    "Table of engines",
    "engines",
    "all files of each set",
    (
        Term("engines.rows_total", "Engines in the table, those that --top leaves out included."),
        Term("engines.rows", "One entry per engine, and per run of files with several runs."),
        Term("row_groups", "With --by: engines of one model with equal values of the columns."),
        Term("row_groups.model", "Name of the model; null for sets that cannot be read."),
        Term("row_groups.keys", "Column of --by and its value; null if unknown.", entries="column"),
        Term("row_groups.engines", "Names of the engines of the group."),
        Term("row_groups.ranges", "Measure and the range of its known values.", entries="measure"),
        Term("ranges.*.count", "Engines with a value."),
        Term("ranges.*.min", "Smallest value."),
        Term("ranges.*.median", "Median."),
        Term("ranges.*.max", "Largest value."),
        Term("row_groups.best", "Best engine of the group by the first measure; null if no engine has it."),
    ),
)
