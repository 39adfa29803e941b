"""The comparison of several engines, as `diff` shows it."""

from __future__ import annotations

from dataclasses import replace

from trex_tui.reports.diff.choice import Shown
from trex_tui.reports.diff.document import diff_document
from trex_tui.reports.diff.sections import sections
from trex_tui.reports.document import Part


def comparison_part(shown: Shown) -> Part:
    """Sentences and tables of `diff`; JSON holds the object of `diff --json`, with the blocks that are shown."""
    data = diff_document(replace(shown, blocks=shown.rows))
    return Part("comparison", "Comparison", list(sections(shown)), data=data)
