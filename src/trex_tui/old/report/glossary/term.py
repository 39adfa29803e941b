"""A term: the explanation of a number, of a key in JSON and of a label on a screen, written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import unit_of_key


@dataclass(frozen=True, slots=True)
class Term:
    """The explanation of a number or a label.

    Attributes:
        key: Path in JSON, shortened to a distinct suffix: `gap.ratio`. `*` replaces a key that is data, the name of a
            document (`build-log.layers`) the root of that document.
        definition: The answer first, in at most two sentences; then detail.
        also: Other paths with the same meaning.
        labels: Labels of the number on screens and in reports, and other names of it.
        gates: Equivalent metrics of `--fail-on`, of `diff`, `lint` or `accuracy`.
        unit: By default the suffix of the key; empty for counts, words and flags.
        formula: How it is computed; empty for values stated in a file.
        source: File kind and key; by default that of the subject.
        values: All possible values, if these are a few words.
        entries: For an object whose keys are data: the meaning of the keys. Its values are explained below `key.*`.
        is_verbatim: The value is copied from a file or a tool; its content is not explained.
    """

    key: str
    definition: str
    _: KW_ONLY
    also: Sequence[str] = ()
    labels: Sequence[str] = ()
    gates: Sequence[str] = ()
    unit: str | None = None
    formula: str = ""
    source: str = ""
    values: Sequence[str] = ()
    entries: str = ""
    is_verbatim: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        return self.key, *self.also

    @property
    def tail(self) -> str:
        """The last part of the key that is not data."""
        return next(part for part in reversed(self.key.split(".")) if part != "*")


@dataclass(frozen=True, slots=True)
class Subject:
    """Terms of one subject.

    Attributes:
        id: Stable name.
        title: A noun.
        shown: Screens and commands that show its terms.
        source: Source of the values, unless a term has its own.
    """

    id: str
    title: str
    shown: str
    source: str
    terms: Sequence[Term]


def find_unit(term: Term) -> str:
    """Return the unit of a term's values; empty for none."""
    if term.unit is not None:
        return term.unit
    return unit_of_key(term.tail)
