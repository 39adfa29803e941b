"""What lies beside an engine's own files: the state of the machine that captured it, and how far its outputs are off."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.reports.accuracy import engines_sections
from trex_tui.reports.document import Section
from trex_tui.reports.overview import condition_facts
from trex_tui.reports.report.subject import Subject
from trex_tui.reports.summary import doubt_sentences


def capture_sections(subject: Subject) -> Iterator[Section]:
    """The machine and what of its state casts doubt on the numbers; nothing without a manifest."""
    facts = condition_facts(subject.engine)
    if not facts:
        return
    sentences = doubt_sentences(subject.engine)
    yield Section("capture", "Capture", sentences=sentences, facts=facts, is_warning=bool(sentences))


def accuracy_sections(subject: Subject) -> Iterator[Section]:
    """Results of `accuracy` that are about the engine."""
    yield from engines_sections([subject.engine])
