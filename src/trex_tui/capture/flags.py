"""Which release of TensorRT has which option of trtexec.

The table (`trtexec_flags.json`) answers for deprecated options, which `--help` hides, and for other releases than the
one at hand. For what is at hand, `--help` itself is asked first: `abilities.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

Version = tuple[int, ...]
"""`(10, 16, 1)`: compared number by number, never as text."""


def parse_version(text: str) -> Version:
    """`10.16.1` → `(10, 16, 1)`.

    Raises:
        ValueError: It is no version.
    """
    return tuple(int(part) for part in text.split("."))


@dataclass(frozen=True, slots=True)
class FlagTable:
    """All of `trtexec_flags.json`.

    Attributes:
        releases: Known releases, oldest first, as printed and as numbers.
        known_in: Option (`--fp16`) -> indices of the releases that read it.
    """

    releases: tuple[tuple[str, Version], ...]
    known_in: Mapping[str, frozenset[int]]

    def release_of(self, version: Version) -> int:
        """Index of the newest known release that is not newer than `version`; the oldest for what is older than all."""
        older = [index for index, (_, release) in enumerate(self.releases) if release <= version]
        return older[-1] if older else 0

    def has(self, flag: str, version: Version) -> bool:
        """Whether the release that stands for `version` reads the option."""
        return self.release_of(version) in self.known_in.get(flag, frozenset())

    def is_listed(self, flag: str) -> bool:
        """Whether any known release reads the option."""
        return flag in self.known_in

    def where(self, flag: str) -> str:
        """Which releases read the option, for people: `8.6.1 to 10.16`, `11.0 and later`; empty for an unlisted one."""
        spans: list[list[int]] = []
        for index in sorted(self.known_in.get(flag, frozenset())):
            if spans and spans[-1][1] == index - 1:
                spans[-1][1] = index
            else:
                spans.append([index, index])
        return ", ".join(self._span(first, last) for first, last in spans)

    def _span(self, first: int, last: int) -> str:
        begin, end = self.releases[first][0], self.releases[last][0]
        if last == len(self.releases) - 1:
            return f"{begin} and later"
        return begin if first == last else f"{begin} to {end}"


@lru_cache(maxsize=1)
def flag_table() -> FlagTable:
    """Read the table, once."""
    from importlib.resources import files  # 10 ms, and only needed where a capture is planned

    root = json.loads(files("trex_tui.capture").joinpath("trtexec_flags.json").read_text(encoding="utf-8"))
    names: list[str] = root["releases"]
    place = {name: index for index, name in enumerate(names)}
    known = {flag: frozenset(_indices(spans, place)) for flag, spans in root["flags"].items()}
    return FlagTable(tuple((name, parse_version(name)) for name in names), known)


def _indices(spans: str, place: Mapping[str, int]) -> list[int]:
    found: list[int] = []
    for span in spans.split():
        first, last = span.split("-")
        found.extend(range(place[first], place[last] + 1))
    return found
