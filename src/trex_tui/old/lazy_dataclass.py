"""Dataclasses whose methods are written at their first use: most commands create instances of few of the 400.

`dataclasses.dataclass` compiles up to seven methods per class, 0.6 ms. Here a class costs 0.05 ms, and its `__init__` another
0.1 ms at the first instance; other methods are shared. Of the explorer's start, which imports 230 of them, it saves 100 ms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass

Method = Callable[..., Any]


def _make_dataclass(
    cls: Any = None,  # noqa: ANN401 - a class, whose attributes are replaced
    /,
    *,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - as in `dataclasses`
    frozen: bool = False,
    slots: bool = False,
) -> Any:  # noqa: ANN401
    """Do what `dataclasses.dataclass` does with these arguments."""
    if cls is None:
        return partial(_make_dataclass, eq=eq, repr=repr, frozen=frozen, slots=slots)
    if any(map(dataclasses.is_dataclass, cls.__mro__[1:])):
        # Few classes inherit from another, and the standard library only lets frozen ones inherit from frozen ones.
        return dataclasses.dataclass(eq=eq, repr=repr, frozen=frozen, slots=slots)(cls)
    own = {name for name, value in vars(cls).items() if (name, value) != ("__hash__", None)}
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    stated = cls.__dataclass_params__  # what `dataclasses` looks at where another class inherits
    stated.init, stated.repr, stated.eq, stated.frozen = True, repr, eq, frozen
    methods: dict[str, Method | None] = {"__init__": _first_init(cls, is_frozen=frozen)}
    if repr:
        methods["__repr__"] = _format
    if eq:
        methods |= _comparison(cls, is_hashed=frozen)
    if frozen:
        methods |= _protection(cls)
    if frozen and slots:
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls


if not TYPE_CHECKING:
    dataclass = _make_dataclass


def _first_init(cls: Any, *, is_frozen: bool) -> Method:  # noqa: ANN401
    """Return an `__init__` that replaces itself by the compiled one."""

    def __init__(self: object, *arguments: object, **keywords: object) -> None:  # noqa: N807
        cls.__init__ = _compile_init(cls, is_frozen=is_frozen)
        cls.__init__(self, *arguments, **keywords)

    return __init__


def _compile_init(cls: Any, *, is_frozen: bool) -> Method:  # noqa: ANN401
    """Compile an `__init__` that assigns its parameters, those by keyword last. Every field is a parameter."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_factory": object()}
    positional = ["self"]
    lines: list[str] = []
    by_keyword: list[str] = []
    for field in dataclasses.fields(cls):
        parameter = value = field.name
        if field.default is not dataclasses.MISSING:
            names[f"_default_{field.name}"] = field.default
            parameter += f"=_default_{field.name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"_default_{field.name}"] = field.default_factory
            parameter += "=_factory"
            value = f"_default_{field.name}() if {field.name} is _factory else {field.name}"
        (by_keyword if field.kw_only else positional).append(parameter)
        lines.append(f"_set(self, {field.name!r}, {value})" if is_frozen else f"self.{field.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join([*positional, *(["*", *by_keyword] if by_keyword else [])])
    exec(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), names)  # noqa: S102 - names of fields only
    return names["__init__"]  # type: ignore[no-any-return]


@recursive_repr()
def _format(self: Any) -> str:  # noqa: ANN401
    shown = (field for field in dataclasses.fields(self) if field.repr)
    texts = (f"{field.name}={getattr(self, field.name)!r}" for field in shown)
    return f"{type(self).__qualname__}({', '.join(texts)})"


def _comparison(cls: Any, *, is_hashed: bool) -> dict[str, Method | None]:  # noqa: ANN401
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    values: Method = attrgetter(*names) if names else type

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if is_hashed else None}


def _protection(cls: Any) -> dict[str, Method | None]:  # noqa: ANN401
    """Return the methods that refuse to change the fields, and any attribute but those of a subclass."""
    names = frozenset(field.name for field in dataclasses.fields(cls))

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _get_state(self: Any) -> list[Any]:  # noqa: ANN401
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
