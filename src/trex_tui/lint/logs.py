"""The logs beside an engine, as rules ask for them: read when the first rule needs one, and once.

A verbose log may take seconds to read; a set without one costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.engine.engine import Engine
from trex_tui.errors import ArtifactError
from trex_tui.lint.context import Context
from trex_tui.lint.model import NotChecked
from trex_tui.lint.telling import NO_BUILD_LOG

if TYPE_CHECKING:
    from trex_tui.artifacts.buildlog import BuildTrace

ALONE = "The builder measured each tactic alone, a few times: its times are no latencies of the engine."
_LOADED = f"the log is of a run that loaded the engine, not of its build: this {NO_BUILD_LOG}"
TERSE = "the build log is not verbose: build with trtexec --verbose, so that it tells what the builder tried and chose"
_UNREADABLE = "the build log cannot be read"


def trace_of(engine: Engine, kind: ArtifactKind) -> BuildTrace | None:
    """What a log of the set tells; None if there is none or it cannot be opened. Shared with whoever else reads it."""
    path = engine.files.get(kind)
    if path is None:
        return None
    from trex_tui.artifacts.buildlog.shared import shared_log  # 25 ms, and most sets have no log

    try:
        return shared_log(path)
    except ArtifactError:
        return None


def build_log(context: Context, rule: str) -> BuildTrace | NotChecked:
    """The log of the build at any verbosity, or why the rule cannot look."""
    if ArtifactKind.BUILD_LOG not in context.engine.files:
        return NotChecked(rule, NO_BUILD_LOG)
    trace = context.build_trace
    if trace is None:
        return NotChecked(rule, _UNREADABLE)
    return NotChecked(rule, _LOADED) if trace.only_loads else trace


def verbose_log(context: Context, rule: str) -> BuildTrace | NotChecked:
    """The log of the build with all that the builder tried, or why the rule cannot look."""
    trace = build_log(context, rule)
    if not isinstance(trace, NotChecked) and not trace.is_verbose:
        return NotChecked(rule, TERSE)
    return trace


def timed_log(context: Context) -> BuildTrace | None:
    """The log of the run that timed the engine: one of its own, or the build's where that went on to infer."""
    kind = ArtifactKind.PROFILE_LOG
    if kind not in context.engine.files:
        kind = ArtifactKind.BUILD_LOG
    return trace_of(context.engine, kind)
