"""Cache of results computed from an engine, stored in the engine and freed with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_RESULTS = "_results"


def per_engine(
    function: Callable[Concatenate[Engine, Arguments], Result],
) -> Callable[Concatenate[Engine, Arguments], Result]:
    """Compute once per engine and combination of further arguments, of which there should be few.

    `lru_cache` would keep the engines alive: after some reloads the explorer would hold as many copies.
    """

    @wraps(function)
    def kept(engine: Engine, /, *arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        key: Any = (function, arguments, *keywords.items()) if arguments or keywords else function
        try:
            result: Result = vars(engine)[_RESULTS][key]
        except KeyError:
            result = function(engine, *arguments, **keywords)
            vars(engine).setdefault(_RESULTS, {})[key] = result
        return result

    return kept


def forget_results(engine: Engine) -> None:
    """Clear the cached results of an engine, to measure how long they take to compute."""
    vars(engine).pop(_RESULTS, None)
