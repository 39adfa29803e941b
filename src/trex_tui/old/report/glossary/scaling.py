"""Terms of scaling. The columns of its tables are explained in `views.scaling`."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

SCALING = Subject(
    "scaling",
    "Scaling",
    "scaling",
    "timing rows, profiles and layer information of the points of a sweep",
    (
        Term(
            "scaling.scalings", "One entry per model, device and precision, the one with most points first."
        ),
        Term("scalings.name", "Name of the first point."),
        Term(
            "scalings.is_by_shape",
            "True if points are sorted by the elements of the inputs, since batches are equal.",
        ),
        Term(
            "scalings.good_enough",
            "First point, from 0, with 95 % of the best samples per second; null if unknown.",
        ),
        Term("scalings.points", "The points, the smallest first."),
        Term("scalings.limits", "Layers whose bound changes, the longest first."),
        Term(
            "limits.limit_by_point",
            "Bound of the layer at each point: launch, latency, bandwidth or compute; null if unknown.",
        ),
    ),
)
