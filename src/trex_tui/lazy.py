"""Names of a package that are imported when first used, so that importing one part of it does not load the others."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package (PEP 562).

    Args:
        package: Its `__name__`.
        modules: Submodule -> the names that come from it.
    """
    places = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def find(name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(places[name]), name)

    return find
