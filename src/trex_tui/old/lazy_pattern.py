"""Regular expressions that are compiled at their first use: most commands use few of the 250 in the readers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr


class _LazyPattern:
    """Stands for a pattern. Its methods are those of the compiled pattern from the first use on."""

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any method of a pattern
        value = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:

    def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
        """Return what `re.compile` returns, but for functions of `re`, which need a compiled pattern."""

else:
    lazy_pattern = _LazyPattern
