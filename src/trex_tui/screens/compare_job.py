"""Which engines are compared and how: chosen by a person, read and compared in the background."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from textual import on, work
from textual.message import Message

from trex_tui.analysis.compare import Align, Comparison, Pin, compare
from trex_tui.analysis.load import LoadOptions, load
from trex_tui.analysis.timing import end_to_end
from trex_tui.artifacts import ArtifactSet, scan
from trex_tui.config import recent_file
from trex_tui.crash_log import sentence
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.screens.comparison_choice import MOST_OTHERS, Choice, is_same_set, leads_to, pins_of, place_of
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.engines import EnginesScreen
from trex_tui.screens.open import OpenScreen
from trex_tui.screens.pane import EnginePane
from trex_tui.screens.reload import places_of, same_set
from trex_tui.screens.settings import read_recent, remember_opened
from trex_tui.text import format_ms, plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.app import TrexApp

MOST_OFFERS = 200
_MOST_NAME = 60

_ALIGN_WORDS = {
    Align.AUTO: "auto: all evidence, the strongest first",
    Align.ONNX: "onnx: the same ONNX nodes",
    Align.NAME: "name: the same names of layers",
    Align.SIGNATURE: "signature: neighbourhood, kind, shapes and order; no names",
}


@dataclass(frozen=True)
class WantedEngine:
    """An engine that is to be read. Each is its own: an answer to one that is given up is of no interest.

    Attributes:
        source: A path as it was typed, or a set that was found.
        is_more: Whether it comes to the engines compared; else it replaces them.
    """

    source: str | ArtifactSet
    is_more: bool


@dataclass
class Compared(Message):
    """A comparison is done; `problem` says why it is not."""

    number: int
    comparison: Comparison | None
    problem: str = ""


@dataclass
class SetsFound(Message):
    """At a path there are several engines."""

    wanted: WantedEngine
    sets: Sequence[ArtifactSet]


@dataclass
class OtherRead(Message):
    """An engine was read; `problem` says why it was not."""

    wanted: WantedEngine
    engine: Engine | None
    problem: str = ""


@dataclass
class OthersRead(Message):
    """The engines beside this one were read again, as far as possible."""

    pairs: Sequence[tuple[Engine, Engine]]
    problems: Sequence[str] = field(default=())


@dataclass
class OtherOpened(Message):
    """A person wants to see a layer of an engine that is not the one of this screen."""

    engine: Engine
    layer: Layer
    others: tuple[Engine, ...]


class ComparingPane(EnginePane):
    """The part of the screen that has engines compared; what it looks like is the subclass's."""

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.choice = Choice()
        self.comparison: Comparison | None = None
        self.waiting = ""
        """What a person waits for, in a sentence."""
        self.is_due = False
        """Whether a comparison is wanted as soon as somebody looks."""
        self.rereads = False
        """Whether the other engines are to be read again before that."""
        self._number = 0
        self._wanted: WantedEngine | None = None

    @property
    def engines(self) -> tuple[Engine, ...]:
        """All engines: the baseline, then the others in the order in which they came."""
        everyone = (self.engine, *self.choice.others)
        first = self.choice.baseline or self.engine
        return (first, *(one for one in everyone if one is not first))

    @property
    def place(self) -> int:
        """Place of this screen's engine in the comparison."""
        return place_of(self.comparison, self.engine)

    @property
    def _trex_app(self) -> TrexApp:
        return cast("TrexApp", self.app)

    def show_state(self) -> None:
        """Say what is waited for, or that nothing was chosen."""
        raise NotImplementedError

    def show_comparison(self, comparison: Comparison) -> None:
        """Show another comparison."""
        raise NotImplementedError

    def compare_with(self, others: Iterable[Engine]) -> None:
        """Compare with these engines, once somebody looks."""
        self.choice = Choice(tuple(others), align=self.choice.align)
        self.is_due = bool(self.choice.others)

    def replace_other(self, old: Engine, new: Engine) -> None:
        """An engine beside this one was read again, on a screen of its own."""
        if old in self.choice.others:
            self.choice.replace_engine(old, new)
            self.is_due = True

    def start_if_due(self) -> None:
        """Somebody looks."""
        if not self.is_due:
            return
        self.is_due = False
        if self.rereads:
            self.rereads = False
            self._read_others(self.choice.others)
        else:
            self.start()

    # Comparing

    def start(self) -> None:
        """Compare, in the background; what was compared before stays on screen meanwhile, if it is of these engines."""
        self._number += 1
        engines = self.engines
        if self.comparison is not None and {*self.comparison.engines} != {*engines}:
            self.comparison = None
        self.waiting = f"Comparing {_name(engines[0])} with {', '.join(map(_name, engines[1:]))} …"
        self.show_state()
        choice = self.choice
        self._compare(self._number, engines, choice.align, pins_of(engines, choice.ties), choice.per_batch)

    @work(thread=True, group="compare", exclusive=True)
    def _compare(
        self, number: int, engines: tuple[Engine, ...], align: Align, pins: Sequence[Pin], per_batch: bool
    ) -> None:
        try:
            found = compare(engines, align=align, pins=pins, per_batch=per_batch)
        except Exception as error:  # noqa: BLE001
            self.post_message(Compared(number, None, sentence(error)))
        else:
            self.post_message(Compared(number, found))

    @on(Compared)
    def _compared(self, event: Compared) -> None:
        event.stop()
        if event.number != self._number:
            return
        self.waiting = ""
        if event.comparison is None:
            self._say_problem(event.problem, "Not compared")
            if self.comparison is not None:
                self.choice.align, self.choice.per_batch = self.comparison.align, self.comparison.per_batch
            self.show_state()
            return
        self.show_comparison(event.comparison)

    def _say_problem(self, problem: str, title: str) -> None:
        self.notify(printable(problem), title=title, severity="error", markup=False, timeout=10)

    # Choosing engines

    def action_choose_other(self) -> None:
        """Choose the engine to compare with, in place of those there are."""
        self._choose(is_more=False)

    def action_add_other(self) -> None:
        """Choose one more."""
        if len(self.choice.others) >= MOST_OTHERS:
            self.notify(f"{MOST_OTHERS + 1} engines are compared at most; c chooses others.", markup=False)
        else:
            self._choose(is_more=bool(self.choice.others))

    def _choose(self, *, is_more: bool) -> None:
        taken = (self.engine, *(self.choice.others if is_more else ()))
        offers: dict[str, Engine | ArtifactSet | str] = {}
        at_hand: list[Engine | ArtifactSet] = [*self._engines_at_hand(), *self._unread_sets()]
        for offer in at_hand:
            if offer not in taken:
                offers[f"a{len(offers)}"] = offer
        for path in read_recent(recent_file(os.environ)):
            if len(offers) < MOST_OFFERS and not leads_to(path, self.engine):
                offers[f"r{len(offers)}"] = path
        texts = {key: _offer_words(offer) for key, offer in offers.items()} | {"": "another path …"}

        def chosen(key: str | None) -> None:
            if key is None:
                return
            offer = offers.get(key)
            if offer is None:
                self._ask_path(is_more=is_more)
            elif isinstance(offer, Engine):
                self._take(offer, is_more=is_more)
            else:
                self._read(WantedEngine(offer, is_more))

        self.app.push_screen(ChooseScreen("Compare with", texts), chosen)

    def _engines_at_hand(self) -> list[Engine]:
        """Engines that need not be read: of the list, and of the screens below this one."""
        found = list(self._trex_app.captured)
        for screen in self.app.screen_stack:
            if isinstance(screen, EnginesScreen):
                found += [row.engine for row in screen.rows if row.engine is not None]
            for pane in screen.query(ComparingPane):
                found += [pane.engine, *pane.choice.others]
        return list(dict.fromkeys(found))

    def _unread_sets(self) -> list[ArtifactSet]:
        """What is on the list and was not read yet."""
        lists = [screen for screen in self.app.screen_stack if isinstance(screen, EnginesScreen)]
        return [
            row.source for screen in lists for row in screen.rows if row.engine is None and row.error is None
        ]

    def _ask_path(self, text: str = "", remark: str = "", *, is_more: bool) -> None:
        def read(path: str | None) -> None:
            if path is not None:
                self._read(WantedEngine(path, is_more))

        self.app.push_screen(OpenScreen(read_recent(recent_file(os.environ)), text, remark), read)

    def take(self, engine: Engine) -> None:
        """Compare with one more; in place of the others where there are as many as can be."""
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
        name = wanted.source if isinstance(wanted.source, str) else wanted.source.name
        self.waiting = f"Reading {name} …"
        self.show_state()
        self._read_engine(wanted, self._trex_app.options or LoadOptions())

    @work(thread=True, group="compare-read", exclusive=True)
    def _read_engine(self, wanted: WantedEngine, options: LoadOptions) -> None:
        try:
            source = wanted.source
            if isinstance(source, str):
                sets = scan([source]).sets
                if len(sets) > 1:
                    self.post_message(SetsFound(wanted, sets))
                    return
                remember_opened(recent_file(os.environ), [source])
                source = sets[0]
            self.post_message(OtherRead(wanted, load(source, options)))
        except Exception as error:  # noqa: BLE001
            self.post_message(OtherRead(wanted, None, sentence(error)))

    @on(SetsFound)
    def _sets_found(self, event: SetsFound) -> None:
        event.stop()
        if event.wanted is not self._wanted:
            return
        self.waiting = ""
        self.show_state()
        others = [source for source in event.sets if not is_same_set(source, self.engine)]
        sets = {str(number): source for number, source in enumerate(others)}

        def chosen(key: str | None) -> None:
            if key is not None:
                self._read(WantedEngine(sets[key], event.wanted.is_more))

        texts = {key: source.name for key, source in sets.items()}
        self.app.push_screen(ChooseScreen(f"{plural(len(sets), 'engine')} are there", texts), chosen)

    @on(OtherRead)
    def _engine_read(self, event: OtherRead) -> None:
        event.stop()
        if event.wanted is not self._wanted:
            return
        self._wanted, self.waiting = None, ""
        if event.engine is not None and not is_same_set(event.engine.source, self.engine):
            self._take(event.engine, is_more=event.wanted.is_more)
            return
        self.show_state()
        problem = event.problem or "that is the engine on this screen"
        if isinstance(event.wanted.source, str):
            self._ask_path(event.wanted.source, problem, is_more=event.wanted.is_more)
        else:
            self._say_problem(problem, "Not read")

    def _read_others(self, others: tuple[Engine, ...]) -> None:
        self.waiting = "Reading the other engines again …"
        self.show_state()
        self._reread(others, self._trex_app.options or LoadOptions())

    @work(thread=True, group="compare-read", exclusive=True)
    def _reread(self, others: Sequence[Engine], options: LoadOptions) -> None:
        pairs, problems = [], []
        for old in others:
            try:
                source = same_set(scan(places_of(old)), old)
                pairs.append((old, load(source, options)))
            except Exception as error:  # noqa: BLE001
                problems.append(sentence(error))
        self.post_message(OthersRead(pairs, problems))

    @on(OthersRead)
    def _others_read(self, event: OthersRead) -> None:
        event.stop()
        for old, new in event.pairs:
            self.choice.replace_engine(old, new)
        for problem in event.problems:
            self._say_problem(problem, "Not read again")
        self.start()

    # How to compare

    def action_swap(self) -> None:
        """Make the next engine the baseline; of several, ask which."""
        engines = self.engines
        if len(engines) == 2:
            self._set_baseline(engines[1])
        else:
            options = {str(number): _name(engine) for number, engine in enumerate(engines)}
            screen = ChooseScreen("Baseline", options, "1")
            self.app.push_screen(screen, lambda key: self._set_baseline(engines[int(key)]) if key else None)

    def _set_baseline(self, engine: Engine) -> None:
        self.choice.baseline = engine
        self.start()

    def action_choose_align(self) -> None:
        """Choose which evidence may match layers."""
        options = {one.value: _ALIGN_WORDS[one] for one in Align}
        screen = ChooseScreen("Match layers by", options, self.choice.align.value)

        def chosen(value: str | None) -> None:
            if value is not None:
                self.choice.align = Align(value)
                if self.choice.others:
                    self.start()

        self.app.push_screen(screen, chosen)

    def action_per_batch(self) -> None:
        """Compare times per inference, or per sample."""
        self.choice.per_batch = not self.choice.per_batch
        self.start()


def _name(engine: Engine) -> str:
    return shorten_middle(printable(engine.name), _MOST_NAME)


def _offer_words(offer: Engine | ArtifactSet | str) -> str:
    if isinstance(offer, str):
        return f"opened lately: {shorten_middle(printable(offer), _MOST_NAME)}"
    if isinstance(offer, ArtifactSet):
        return f"{shorten_middle(printable(offer.name), _MOST_NAME)}  not read yet"
    latency = end_to_end(offer)
    times = [
        f"median {format_ms(latency.summary.median_ms)} ms" if latency else "",
        f"layers {format_ms(offer.latency_sum_ms)} ms" if offer.latency_sum_ms is not None else "no profile",
    ]
    return f"{_name(offer)}  {' · '.join(time for time in times if time)}"
