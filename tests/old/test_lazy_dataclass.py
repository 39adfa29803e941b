"""Lazy dataclasses against those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import KW_ONLY, FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from trex_tui.old.lazy_dataclass import dataclass as lazy


def classes(decorate: Any) -> list[type]:
    """Return classes with all forms of fields that the package has."""

    @decorate(frozen=True, slots=True)
    class Point:
        """A point."""

        SHARED: ClassVar[int] = 1
        x: int
        y: float | None = None
        names: list[str] = field(default_factory=list, compare=False)
        _: KW_ONLY
        hidden: str = field(default="", repr=False)
        unit: str = "ms"

    @decorate(frozen=True, slots=True)
    class Named(Point):
        title: str = "untitled"

    @decorate
    class Message:
        x: int
        y: int = 2

        def __post_init__(self) -> None:
            self.total = self.x + self.y

    @decorate(frozen=True, eq=False)
    class Single:
        x: int

    @decorate(slots=True)
    class Empty:
        pass

    return [Point, Named, Message, Single, Empty]


CASES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1, 2.5), {}),
    ((1, None, ["a"]), {"hidden": "h", "unit": "µs"}),
    ((), {"x": 1, "title": "t"}),
    ((1, 2, [], "too many"), {}),
    ((1,), {"wrong": 2}),
]


def outcome(make: Any) -> str:
    """Return the text of the result, or the kind of the error."""
    try:
        return repr(make()).split("<locals>.")[-1]
    except (TypeError, FrozenInstanceError) as error:
        return type(error).__name__


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize(("arguments", "keywords"), CASES)
def test_instances_are_those_of_the_standard_library(
    index: int, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    own, standard = classes(lazy)[index], classes(dataclasses.dataclass)[index]
    for _ in range(2):  # the first instance is made by another `__init__` than the second
        assert outcome(lambda: own(*arguments, **keywords)) == outcome(
            lambda: standard(*arguments, **keywords)
        )
    assert [one.name for one in dataclasses.fields(own)] == [one.name for one in dataclasses.fields(standard)]
    assert own.__match_args__ == standard.__match_args__  # type: ignore[attr-defined]
    assert (own.__hash__ is None) == (standard.__hash__ is None)


def test_equality_and_hash_are_those_of_the_compared_fields() -> None:
    point, named, *_ = classes(lazy)
    assert point(1, 2.0, ["a"]) == point(1, 2.0, ["b"])
    assert hash(point(1, 2.0, ["a"])) == hash(point(1, 2.0, ["b"]))
    assert point(1) != point(1, unit="µs")
    assert point(1) != named(1)
    assert len({named(1), named(1), named(1, title="t")}) == 2


def test_a_frozen_instance_stays_as_it_is() -> None:
    point, named, _, single, _ = classes(lazy)
    for instance in (point(1), named(1), single(1)):
        assert outcome(lambda instance=instance: setattr(instance, "x", 2)) == "FrozenInstanceError"
        assert outcome(lambda instance=instance: delattr(instance, "x")) == "FrozenInstanceError"
        assert instance.x == 1
        assert dataclasses.replace(instance, x=2).x == 2


@lazy(frozen=True, slots=True)
class Kept:
    """At module level, where pickle finds it."""

    x: int
    y: tuple[int, ...] = ()


def test_an_instance_can_be_copied_and_pickled() -> None:
    kept = Kept(1, (2, 3))
    assert pickle.loads(pickle.dumps(kept)) == copy.copy(kept) == copy.deepcopy(kept) == kept


def test_a_dataclass_of_the_standard_library_inherits() -> None:
    @dataclasses.dataclass(frozen=True)
    class Longer(Kept):
        z: int = 3

    assert dataclasses.astuple(Longer(1, (2,), 4)) == (1, (2,), 4)
    assert outcome(lambda: setattr(Longer(1), "x", 2)) == "FrozenInstanceError"
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        lazy(type("Open", (Kept,), {"__annotations__": {"w": int}, "w": 1}))


def test_methods_of_a_class_are_kept() -> None:
    @lazy(frozen=True, slots=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

        def __init__(self) -> None:
            object.__setattr__(self, "x", 5)

    assert Own() == Own()
    assert (repr(Own()), Own().x, hash(Own())) == ("own", 5, hash(5))
