"""`dataclass` of the standard library, made in a fifth of the time if it is frozen and has slots.

Python compiles six methods for each such class, 0.5 ms of processor time on a desktop: a third of what `trex-tui layers` of a
small engine took. Here only `__init__` is compiled, at the first object of the class; the other methods are closures over
the names of the fields. What a class can do is the same, and type checkers see the original.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:  # noqa: ANN401 - a class or its decorator
        """`dataclasses.dataclass`, which makes classes that are not frozen, have no slots, or have rare options."""

        def decorate(cls: type) -> type:
            if options.get("frozen") and options.get("slots") and options.keys() <= _KNOWN:
                return _frozen(cls, has_eq=options.get("eq", True), has_repr=options.get("repr", True))
            return dataclasses.dataclass(**options)(cls)

        return decorate if cls is None else decorate(cls)


_KNOWN = {"frozen", "slots", "eq", "repr"}


def _frozen(cls: type, *, has_eq: bool, has_repr: bool) -> type:
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(made)
    methods: dict[str, Any] = {
        "__init__": _init_at_first_use(made),
        "__setattr__": _refuse_assignment,
        "__delattr__": _refuse_deletion,
        "__getstate__": _get_state,
        "__setstate__": _set_state,
    }
    if has_repr:
        methods["__repr__"] = _repr_of([field.name for field in fields if field.repr])
    compared = [field.name for field in fields if field.compare]
    if has_eq:
        methods["__eq__"], methods["__hash__"] = _comparison(compared)
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(made, name, method)
    return made


def _init_at_first_use(cls: type) -> Any:  # noqa: ANN401 - a method
    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: ANN401, N807 - stands in for the method
        init = _compile_init(cls)
        cls.__init__ = init  # type: ignore[misc]
        init(self, *values, **named)

    return __init__


def _compile_init(cls: type) -> Any:  # noqa: ANN401 - a method
    """Compile `__init__`, which sets each slot with its descriptor: `__setattr__` refuses."""
    scope: dict[str, Any] = {"_missing": dataclasses.MISSING}
    parameters, lines = ["self"], []
    fields = sorted(dataclasses.fields(cls), key=lambda field: bool(field.kw_only))
    for field in fields:
        name = value = field.name
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        scope[f"_set_{name}"] = getattr(cls, name).__set__
        if field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{name}"] = field.default_factory
            parameters.append(f"{name}=_missing")
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif field.default is not dataclasses.MISSING:
            scope[f"_default_{name}"] = field.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f"    _set_{name}(self, {value})\n")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()\n")
    exec(f"def __init__({', '.join(parameters)}):\n{''.join(lines) or '    pass'}", scope)  # noqa: S102 - names of fields
    init = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _comparison(names: list[str]) -> tuple[Any, Any]:
    values = attrgetter(*names) if names else lambda _: ()

    def __eq__(self: Any, other: object) -> bool:  # noqa: ANN401, N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: Any) -> int:  # noqa: ANN401, N807
        return hash(values(self))

    return __eq__, __hash__


def _repr_of(names: list[str]) -> Any:  # noqa: ANN401 - a method
    def __repr__(self: Any) -> str:  # noqa: ANN401, N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _refuse_assignment(_: object, name: str, __: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:  # noqa: ANN401 - any record
    """Return what `copy` and `pickle` keep."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:  # noqa: ANN401 - any record
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
