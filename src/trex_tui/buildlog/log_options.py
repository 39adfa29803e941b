"""Options that a log states. Apart from the rest of a log: every engine has them, and most sets have no log."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StatedOptions:
    """The sections `=== … Options ===` and `=== Device Information ===`: label -> value, whole and verbatim.

    All of one run. Values of a label that repeats within a section, and lines below a label without a value, are joined by
    `, `.
    """

    model: dict[str, str] = field(default_factory=dict)
    build: dict[str, str] = field(default_factory=dict)
    system: dict[str, str] = field(default_factory=dict)
    inference: dict[str, str] = field(default_factory=dict)
    reporting: dict[str, str] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What a log states of one run.

    Attributes:
        arguments: Words of the command line, `trtexec` itself first; empty without a banner.
        stated: Its sections of options.
        chosen_shapes: What trtexec says where it chose a shape because none was given.
    """

    arguments: tuple[str, ...] = ()
    stated: StatedOptions = field(default_factory=StatedOptions)
    chosen_shapes: tuple[str, ...] = ()
