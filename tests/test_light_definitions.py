"""Dataclasses and patterns that are made at their first use behave like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar

import pytest

from trex_tui.frozen_dataclass import dataclass
from trex_tui.lazy_pattern import lazy_pattern


@dataclass(frozen=True, slots=True)
class Point:
    """A point."""

    kinds: ClassVar[int] = 2
    x: int
    y: float | None = None
    names: list[str] = field(default_factory=list)
    hidden: int = field(default=0, compare=False, repr=False)

    @property
    def double(self) -> int:
        return 2 * self.x


@dataclasses.dataclass(frozen=True, slots=True)
class Original:
    """The same class, by the standard library."""

    kinds: ClassVar[int] = 2
    x: int
    y: float | None = None
    names: list[str] = field(default_factory=list)
    hidden: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Checked:
    """Has a condition."""

    x: int

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("below zero")


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """Equal to itself only."""

    x: int = 0


@dataclass(frozen=True, slots=True)
class Named:
    """Has fields that are given by name."""

    x: int = 1
    _: KW_ONLY
    y: int
    z: int = 3


@dataclass(frozen=True, slots=True)
class Empty:
    """Has no fields."""


@pytest.mark.parametrize(
    ("values", "named"),
    [((1,), {}), ((1, 2.0, ["a"], 3), {}), ((), {"x": 1, "hidden": 2}), ((1, None), {"names": []})],
)
def test_objects_are_as_the_standard_library_makes_them(
    values: tuple[Any, ...], named: dict[str, Any]
) -> None:
    point, original = Point(*values, **named), Original(*values, **named)
    assert dataclasses.asdict(point) == dataclasses.asdict(original)
    assert repr(point).removeprefix("Point") == repr(original).removeprefix("Original")
    assert [f.name for f in dataclasses.fields(point)] == [f.name for f in dataclasses.fields(original)]
    assert Point.__match_args__ == Original.__match_args__
    assert point == Point(*values, **named)
    replaced = dataclasses.replace(point, x=7)
    assert dataclasses.asdict(replaced) == dataclasses.asdict(point) | {"x": 7}


def test_fields_out_of_comparisons_do_not_count() -> None:
    assert Point(1, hidden=1) == Point(1, hidden=2)
    assert Point(1) != Original(1)
    assert Point(1) != Point(2)


def test_fields_given_by_name_stand_apart() -> None:
    assert repr(Named(y=2)) == "Named(x=1, y=2, z=3)"
    with pytest.raises(TypeError, match="positional"):
        Named(1, 2)  # type: ignore[misc]


def test_factories_make_an_object_each() -> None:
    assert Point(1).names is not Point(1).names


@pytest.mark.parametrize(
    "arguments", [((), {}), ((1, 2, [], 3, 4), {}), ((1,), {"x": 2}), ((1,), {"other": 2})]
)
def test_wrong_arguments_are_refused(arguments: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    values, named = arguments
    with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
        Point(*values, **named)


def test_objects_are_frozen_and_have_no_other_attributes() -> None:
    point: Any = Point(1)
    for name in ("x", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(point, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert not hasattr(point, "__dict__")


def test_hashes_follow_equality() -> None:
    assert len({Checked(1), Checked(1), Checked(2)}) == 2
    assert len({Empty(), Empty()}) == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))  # as its list
    alone = Alone()
    assert alone == copy.copy(alone) or alone != Alone()
    assert len({alone, alone, Alone()}) == 2


def test_objects_are_copied_and_pickled() -> None:
    point = Point(1, 2.0, ["a"], 3)
    for other in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert other == point
        assert other.hidden == 3


def test_the_condition_of_a_class_is_checked() -> None:
    assert Checked(0).x == 0
    with pytest.raises(ValueError, match="below zero"):
        Checked(-1)


def test_a_lazy_pattern_is_compiled_once_and_is_like_a_pattern() -> None:
    pattern = lazy_pattern(r"(?P<a>\d+)")
    assert "search" not in vars(pattern)
    match = pattern.search("x12")
    assert match is not None
    assert match["a"] == "12"
    assert vars(pattern)["search"] == pattern.search
    assert pattern.sub("-", "1 2") == "- -"
    assert pattern.pattern == r"(?P<a>\d+)"
    assert pattern.groupindex == {"a": 1}
