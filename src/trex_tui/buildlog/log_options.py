"""Options printed in a log. A separate module, since every engine has options, and most sets have no log."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StatedOptions:
    """The sections `=== … Options ===` and `=== Device Information ===` of one run: label -> value, whole and verbatim.

    Values of a label that repeats within a section, and lines below a label without a value, are joined by `, `.
    """

    model: dict[str, str] = field(default_factory=dict)
    build: dict[str, str] = field(default_factory=dict)
    system: dict[str, str] = field(default_factory=dict)
    inference: dict[str, str] = field(default_factory=dict)
    reporting: dict[str, str] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Options of one run in a log.

    Attributes:
        arguments: Words of the command line, `trtexec` itself first; empty without a banner.
        stated: Its sections of options.
        chosen_shapes: Messages about input shapes that trtexec chose because none was given.
    """

    arguments: tuple[str, ...] = ()
    stated: StatedOptions = field(default_factory=StatedOptions)
    chosen_shapes: tuple[str, ...] = ()
