"""Choice of engines to compare, baseline, evidence and pins, and the comparison in the background."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from textual.screen import Screen
from textual.worker import Worker, WorkerError

from trex_tui.old.analysis.compare.model import Align, Comparison, Pin
from trex_tui.old.analysis.load import LoadOptions, load, options_of
from trex_tui.old.analysis.timing import end_to_end
from trex_tui.old.artifacts import ArtifactSet, scan
from trex_tui.old.artifacts.discover import find_beside
from trex_tui.old.config import recent_file
from trex_tui.old.crash_log import note, sentence
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.screens.dialogs import ChooseScreen, OpenScreen, is_open
from trex_tui.old.screens.reload import corresponding, find_paths, same_set
from trex_tui.old.screens.services import compute, engines_at_hand, get_services, is_refused, listed_sets
from trex_tui.old.screens.settings import read_recent, remember_opened
from trex_tui.old.text import format_ms, plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.old.analysis.compare.builds import BuildComparison

MOST_OTHERS = 3
"""Most engines compared with the one on screen."""


@dataclass(frozen=True)
class Tie:
    """Two layers of two engines, matched manually."""

    ends: tuple[tuple[Engine, int], tuple[Engine, int]]

    def layer_in(self, engine: Engine) -> int | None:
        """Return the index of its layer in an engine; None if it has none."""
        return next((index for owner, index in self.ends if owner is engine), None)

    def moved(self, old: Engine, new: Engine) -> Tie | None:
        """Return the pin after an engine was reloaded; None if its layer no longer exists."""
        ends = []
        for engine, index in self.ends:
            if engine is not old:
                ends.append((engine, index))
                continue
            layer = corresponding(old, new, old.layers[index])
            if layer is None:
                return None
            ends.append((new, layer.index))
        return Tie((ends[0], ends[1]))


@dataclass
class Choice:
    """The engines to compare, and how.

    Attributes:
        others: The engines besides the one on screen.
        baseline: One of all engines.
        ties: Pins of the user.
    """

    others: tuple[Engine, ...] = ()
    baseline: Engine | None = None
    align: Align = Align.AUTO
    per_batch: bool | None = None
    ties: tuple[Tie, ...] = ()

    def replace_engine(self, old: Engine, new: Engine) -> None:
        self.others = tuple(new if other is old else other for other in self.others)
        self.baseline = new if self.baseline is old else self.baseline
        self.ties = tuple(moved for tie in self.ties if (moved := tie.moved(old, new)) is not None)


def find_engine_index(comparison: Comparison | None, engine: Engine) -> int:
    """Return the index of an engine in a comparison.

    Raises:
        ValueError: It is not in it.
    """
    for number, compared in enumerate(comparison.engines if comparison else ()):
        if compared is engine:
            return number
    raise ValueError(f"{engine.name} is not compared")


def make_pins(engines: Sequence[Engine], ties: Iterable[Tie]) -> list[Pin]:
    """Convert ties for a comparison of these engines; ties without the baseline are left out."""
    pins = []
    for tie in ties:
        first = tie.layer_in(engines[0])
        for number, engine in enumerate(engines[1:], start=1):
            layer = tie.layer_in(engine)
            if first is not None and layer is not None:
                pins.append(Pin(first, number, layer))
    return pins


def is_same_set(source: ArtifactSet, engine: Engine) -> bool:
    """Return whether a set has the files of an engine."""
    return {*map(os.path.realpath, source.files.values())} == {
        *map(os.path.realpath, engine.source.files.values())
    }


def leads_to(path: str, engine: Engine) -> bool:
    """Return whether a path is the location of an engine."""
    real = os.path.realpath(path)
    paths = [engine.source.directory, *engine.source.files.values()]
    return any(os.path.realpath(known) == real for known in paths)


MOST_OFFERS = 200
MOST_BESIDE = 8
"""Number of engines offered from the directory of the one on screen."""
MOST_SECONDS = 2.0
"""Time limit of the search for them, since a file server may be slow."""
_MOST_NAME = 60

_ALIGN_WORDS = {
    Align.AUTO: "auto: all evidence, strongest first",
    Align.ONNX: "onnx: the same ONNX nodes",
    Align.NAME: "name: the same layer names",
    Align.SIGNATURE: "signature: neighbourhood, kind, shapes and order; no names",
}


@dataclass(frozen=True)
class WantedEngine:
    """An engine to read. Compared by identity: answers to an abandoned request are ignored.

    Attributes:
        source: A typed path, or a set that was found.
        is_more: True to add it to the engines compared, False to replace them.
    """

    source: str | ArtifactSet
    is_more: bool


class CompareView(Protocol):
    """The pane that shows a comparison."""

    def show_state(self) -> None:
        """Show the pending work, or how to start."""

    def show_comparison(self, comparison: Comparison) -> None:
        """Show another comparison."""

    def show_builds(self) -> None:
        """Show the build log data of the block under the cursor."""


class CompareJob:
    """The comparison of a screen's engine with others: the choice, and reading and comparing in the background.

    Args:
        screen: Where threads and windows belong; answers come back in its queue.
        engine: The engine of the screen.

    Attributes:
        comparison: The last one; None before there is one of these engines.
        waiting: Pending work, in a sentence.
        is_due: True if the comparison starts when the pane is shown.
        builds: Build logs of the compared engines; None until they are requested and read.
        beside: Sets near the engine's, those of the same model first; empty until they are found.
    """

    def __init__(self, screen: Screen[Any], engine: Engine) -> None:
        self.engine = engine
        self.choice = Choice()
        self.comparison: Comparison | None = None
        self.waiting = ""
        self.is_due = False
        self.builds: BuildComparison | None = None
        self._builds_of: Comparison | None = None
        self.beside: Sequence[ArtifactSet] = ()
        self._search: Worker[None] | None = None
        self.view: CompareView | None = None
        self._screen = screen
        self._rereads = False
        """True if the other engines have to be reloaded before the next comparison."""
        self._number = 0
        self._wanted: WantedEngine | None = None

    @property
    def engines(self) -> tuple[Engine, ...]:
        """The baseline, then the others in the order of their choice."""
        everyone = (self.engine, *self.choice.others)
        first = self.choice.baseline or self.engine
        return (first, *(engine for engine in everyone if engine is not first))

    @property
    def engine_index(self) -> int:
        return find_engine_index(self.comparison, self.engine)

    def compare_with(self, others: Iterable[Engine]) -> None:
        """Choose other engines; compare when the pane is shown."""
        self.choice = Choice(tuple(others), align=self.choice.align)
        self.is_due = bool(self.choice.others)

    def replace_own(self, engine: Engine) -> None:
        """Take the reloaded engine of the screen; compare again when the pane is shown."""
        self.choice.replace_engine(self.engine, engine)
        self.engine, self.comparison, self.waiting = engine, None, ""
        self._number += 1
        self._wanted = None
        self.is_due = self._rereads = bool(self.choice.others)

    def replace_other(self, old: Engine, new: Engine) -> None:
        """Take another engine that was reloaded on its own screen; compare again when the pane is shown."""
        if old in self.choice.others:
            self.choice.replace_engine(old, new)
            self.is_due = True

    def start_if_due(self) -> None:
        """Start the comparison if it was postponed until the pane is shown."""
        if not self.is_due:
            return
        self.is_due = False
        if self._rereads:
            self._rereads = False
            self._read_others(self.choice.others)
        else:
            self.start()

    def _wait(self, words: str) -> None:
        self.waiting = words
        self._show_state()

    def _show_state(self) -> None:
        if self.view is not None:
            self.view.show_state()

    def _in_thread(self, work: Callable[..., None], *arguments: object, group: str) -> Worker[None]:
        return self._screen.run_worker(partial(work, *arguments), thread=True, group=group, exclusive=True)

    # Comparing

    def start(self) -> None:
        """Compare in the background; a comparison of the same engines stays on screen meanwhile."""
        self._number += 1
        engines = self.engines
        if self.comparison is not None and {*self.comparison.engines} != {*engines}:
            self.comparison = None
        self._wait(f"Comparing {_name(engines[0])} with {', '.join(map(_name, engines[1:]))} …")
        choice = self.choice
        pins = make_pins(engines, choice.ties)
        self._in_thread(
            self._compare, self._number, engines, choice.align, pins, choice.per_batch, group="compare"
        )

    def _compare(
        self,
        number: int,
        engines: tuple[Engine, ...],
        align: Align,
        pins: Sequence[Pin],
        per_batch: bool | None,
    ) -> None:
        try:
            from trex_tui.old.analysis.compare import compare  # 25 ms, and most engines are opened alone

            comparison = compare(engines, align=align, pins=pins, per_batch=per_batch)
        except Exception as error:  # noqa: BLE001 - it costs this comparison
            self._screen.call_later(self._compared, number, None, sentence(error))
        else:
            self._screen.call_later(self._compared, number, comparison, "")

    def _compared(self, number: int, comparison: Comparison | None, problem: str) -> None:
        if number != self._number:
            return
        self.waiting = ""
        if comparison is None:
            self._say_problem(problem, "Not compared")
            if self.comparison is not None:
                self.choice.align, self.choice.per_batch = self.comparison.align, self.comparison.per_batch
            self._show_state()
            return
        self.comparison = comparison
        if self.view is not None:
            self.view.show_comparison(comparison)

    def read_builds(self) -> None:
        """Read the logs of the builds of the engines compared, unless that has begun."""
        comparison = self.comparison
        if comparison is None or self._builds_of is comparison:
            return
        self.builds, self._builds_of = None, comparison

        def make() -> BuildComparison:
            from trex_tui.old.analysis.compare.builds import BuildComparison, load_build

            builds = [load_build(engine, position) for position, engine in enumerate(comparison.engines)]
            return BuildComparison(comparison, builds)

        compute(
            self._screen,
            "The build logs",
            make,
            self._take_builds,
            lambda _: False,
            group="compare-builds",
        )

    def _take_builds(self, builds: BuildComparison) -> None:
        if self.comparison is builds.comparison and self.view is not None:
            self.builds = builds
            self.view.show_builds()

    def _say_problem(self, problem: str, title: str) -> None:
        self._screen.notify(printable(problem), title=title, severity="error", markup=False, timeout=10)

    # Choosing engines

    def look_around(self) -> None:
        """Search once for engines in the same directory."""
        if self._search is None and not get_services(self._screen).is_read_only:
            self._search = self._in_thread(self._find_beside, self.engine.source, group="compare-beside")

    def _find_beside(self, source: ArtifactSet) -> None:
        try:
            self.beside = find_beside(source)[:MOST_BESIDE]
        except Exception as error:  # noqa: BLE001 - it costs these offers
            note(error)
        else:
            self._screen.call_later(self._show_beside)

    def _show_beside(self) -> None:
        if self.comparison is None:
            self._show_state()

    async def _until_found(self) -> None:
        """Wait briefly for the engines in the same directory, so that keys typed after `c` apply to the full list."""

        async def end(search: Worker[None]) -> None:
            with suppress(WorkerError):
                await search.wait()

        if self._search is not None:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(end(self._search)), MOST_SECONDS)

    def _beside(self, at_hand: Iterable[Engine | ArtifactSet]) -> list[ArtifactSet]:
        """Return the sets in the same directory, without those already offered."""
        sources = [offer if isinstance(offer, ArtifactSet) else offer.source for offer in at_hand]
        known = {os.path.realpath(path) for source in sources for path in source.files.values()}
        return [
            found
            for found in self.beside
            if known.isdisjoint(os.path.realpath(path) for path in found.files.values())
        ]

    async def choose_other(self) -> None:
        """Choose an engine to compare with, replacing the present ones."""
        await self._choose(is_more=False)

    async def add_other(self) -> None:
        if len(self.choice.others) >= MOST_OTHERS:
            words = f"{MOST_OTHERS + 1} engines at most; c replaces the selection."
            self._screen.notify(words, markup=False)
        else:
            await self._choose(is_more=bool(self.choice.others))

    async def _choose(self, *, is_more: bool) -> None:
        await self._until_found()
        if not is_open(self._screen):
            return  # The user left meanwhile.
        taken = (self.engine, *(self.choice.others if is_more else ()))
        at_hand: list[Engine | ArtifactSet] = [
            *engines_at_hand(self._screen),
            *listed_sets(self._screen, unread=True),
        ]
        offers: list[Engine | ArtifactSet | str] = [offer for offer in at_hand if offer not in taken]
        other_paths = {"": "another path …"}
        if get_services(self._screen).is_read_only:
            other_paths = {}
            if not offers and is_refused(self._screen, "no other engine"):
                return
        else:
            offers += self._beside(at_hand)
            recent = [
                path for path in read_recent(recent_file(os.environ)) if not leads_to(path, self.engine)
            ]
            offers += recent[: max(0, MOST_OFFERS - len(offers))]
        texts = {str(number): _format_offer(offer, self.engine) for number, offer in enumerate(offers)}

        def chosen(key: str | None) -> None:
            offer = offers[int(key)] if key else None
            if key is None:
                return
            if offer is None:
                self._ask_path(is_more=is_more)
            elif isinstance(offer, Engine):
                self._take(offer, is_more=is_more)
            else:
                self._read(WantedEngine(offer, is_more))

        self._ask("Compare with", texts | other_paths, chosen)

    def _ask(
        self,
        title: str,
        options: dict[str, str],
        chosen: Callable[[str | None], None],
        current: str | None = None,
    ) -> None:
        self._screen.app.push_screen(ChooseScreen(title, options, current), chosen)

    def _ask_path(self, text: str = "", remark: str = "", *, is_more: bool) -> None:
        def read(path: str | None) -> None:
            if path is not None:
                self._read(WantedEngine(path, is_more))

        self._screen.app.push_screen(OpenScreen(read_recent(recent_file(os.environ)), text, remark), read)

    def take(self, engine: Engine) -> None:
        """Add an engine to the comparison; if there are too many, compare with it alone."""
        self._take(engine, is_more=0 < len(self.choice.others) < MOST_OTHERS)

    def _take(self, engine: Engine, *, is_more: bool) -> None:
        if is_more:
            self.choice.others = (*self.choice.others, engine)
        else:
            self.choice = Choice((engine,), align=self.choice.align)
        self.start()

    # Reading engines

    def _read(self, wanted: WantedEngine) -> None:
        self._wanted = wanted
        self._wait(f"Reading {wanted.source if isinstance(wanted.source, str) else wanted.source.name} …")
        self._in_thread(
            self._read_engine, wanted, get_services(self._screen).load_options, group="compare-read"
        )

    def _read_engine(self, wanted: WantedEngine, options: LoadOptions) -> None:
        try:
            source = wanted.source
            if isinstance(source, str):
                sets = scan([source]).sets
                if len(sets) > 1:
                    self._screen.call_later(self._choose_set, wanted, sets)
                    return
                remember_opened(recent_file(os.environ), [source])
                source = sets[0]
            engine = load(source, options)
        except Exception as error:  # noqa: BLE001 - it costs this engine
            self._screen.call_later(self._engine_read, wanted, None, sentence(error))
        else:
            self._screen.call_later(self._engine_read, wanted, engine, "")

    def _choose_set(self, wanted: WantedEngine, sets: Sequence[ArtifactSet]) -> None:
        """Choose among several engines found at a path."""
        if wanted is not self._wanted:
            return
        self._wait("")
        others = [source for source in sets if not is_same_set(source, self.engine)]

        def chosen(key: str | None) -> None:
            if key is not None:
                self._read(WantedEngine(others[int(key)], wanted.is_more))

        texts = {str(number): source.name for number, source in enumerate(others)}
        self._ask(f"{plural(len(others), 'engine')} found", texts, chosen)

    def _engine_read(self, wanted: WantedEngine, engine: Engine | None, problem: str) -> None:
        if wanted is not self._wanted:
            return
        self._wanted, self.waiting = None, ""
        if engine is not None and not is_same_set(engine.source, self.engine):
            self._take(engine, is_more=wanted.is_more)
            return
        self._show_state()
        problem = problem or "same engine"
        if isinstance(wanted.source, str):
            self._ask_path(wanted.source, problem, is_more=wanted.is_more)
        else:
            self._say_problem(problem, "Not read")

    def _read_others(self, others: tuple[Engine, ...]) -> None:
        self._wait("Reloading the other engines …")
        self._in_thread(self._reread, others, get_services(self._screen).load_options, group="compare-read")

    def _reread(self, others: Sequence[Engine], options: LoadOptions) -> None:
        pairs, problems = [], []
        for old in others:
            try:
                source = same_set(scan(find_paths(old)), old)
                pairs.append((old, load(source, options_of(old, options))))
            except Exception as error:  # noqa: BLE001 - it stays as it was
                problems.append(sentence(error))
        self._screen.call_later(self._others_read, pairs, problems)

    def _others_read(self, pairs: Sequence[tuple[Engine, Engine]], problems: Sequence[str]) -> None:
        for old, new in pairs:
            self.choice.replace_engine(old, new)
        for problem in problems:
            self._say_problem(problem, "Reload failed")
        self.start()

    # How to compare

    def swap(self) -> None:
        """Make the next engine the baseline; ask if there are several."""
        engines = self.engines
        if len(engines) == 2:
            self._set_baseline(engines[1])
            return
        options = {str(number): _name(engine) for number, engine in enumerate(engines)}
        self._ask(
            "Baseline", options, lambda key: self._set_baseline(engines[int(key)]) if key else None, "1"
        )

    def _set_baseline(self, engine: Engine) -> None:
        self.choice.baseline = engine
        self.start()

    def choose_align(self) -> None:
        def chosen(value: str | None) -> None:
            if value is not None:
                self.choice.align = Align(value)
                if self.choice.others:
                    self.start()

        options = {align.value: _ALIGN_WORDS[align] for align in Align}
        self._ask("Match layers by", options, chosen, self.choice.align.value)

    def toggle_per_batch(self) -> None:
        """Compare times per inference, or per sample."""
        shown = self.choice.per_batch if self.comparison is None else self.comparison.per_batch
        self.choice.per_batch = not shown
        self.start()


def _name(engine: Engine) -> str:
    return shorten_middle(printable(engine.name), _MOST_NAME)


def describe_place(source: ArtifactSet, engine: Engine) -> str:
    """Return the location of a set relative to an engine: `resnet in ../int8`; its name alone in the same directory."""
    place = os.path.relpath(source.directory, engine.source.directory)
    name = shorten_middle(printable(source.name), _MOST_NAME)
    return name if place == "." else f"{name} in {shorten_middle(printable(place), _MOST_NAME)}"


def _format_offer(offer: Engine | ArtifactSet | str, engine: Engine) -> str:
    if isinstance(offer, str):
        return f"recent: {shorten_middle(printable(offer), _MOST_NAME)}"
    if isinstance(offer, ArtifactSet):
        return f"{describe_place(offer, engine)}  not read yet"
    latency = end_to_end(offer)
    times = [
        f"median {format_ms(latency.summary.median_ms)} ms" if latency else "",
        f"layers {format_ms(offer.latency_sum_ms)} ms" if offer.latency_sum_ms is not None else "no profile",
    ]
    return f"{_name(offer)}  {' · '.join(time for time in times if time)}"
