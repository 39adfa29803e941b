"""What the log tells of streams, DLA, the timing cache and inserted reformats, in words and lines."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.artifacts.buildlog.tuning import InsertedReformat
from trex_tui.reports.layer_text import Line
from trex_tui.text import format_bytes, format_ms, plural

MOST_LINES = 40
_DIGITS = 6


def cache_words(trace: BuildTrace) -> str:
    """What is known of the timing cache; empty for nothing."""
    cache = trace.cache
    parts = [cache.mode or ""]
    if cache.unreadable:
        parts.append(f"{cache.unreadable} could not be read")
    if cache.file and cache.file != cache.unreadable:
        parts.append(cache.file)
    if cache.loaded_bytes is not None:
        parts.append(f"{format_bytes(cache.loaded_bytes)} loaded")
    if cache.saved_bytes is not None:
        parts.append(f"{format_bytes(cache.saved_bytes)} saved")
    if cache.entries is not None:
        parts.append(plural(cache.entries, "entry", "entries"))
    if cache.hits is not None:
        parts.append(plural(cache.hits, "hit"))
    if cache.cached_results:
        parts.append(plural(cache.cached_results, "result") + " reused within the build")
    return ", ".join(part for part in parts if part)


def streams_words(trace: BuildTrace) -> str:
    """How many streams the engine runs on; empty where the log does not say."""
    streams = trace.streams
    parts = []
    if streams.streams is not None:
        parts.append(str(streams.streams))
    if streams.auxiliary is not None:
        parts.append(f"{streams.auxiliary} auxiliary")
    if streams.events is not None:
        parts.append(plural(streams.events, "event"))
    if streams.disabled_because:
        parts.append(f"one stream, because {streams.disabled_because}")
    return ", ".join(parts)


def dla_words(trace: BuildTrace) -> str:
    """How many layers went to DLA, and how many it could not run; empty where DLA was not asked for."""
    dla = trace.dla
    if not dla.dla_layers and not dla.fallbacks:
        return ""
    parts = [f"{plural(len(dla.dla_layers), 'layer')} on DLA, {len(dla.gpu_layers)} on the GPU"]
    if dla.fallbacks:
        parts.append(plural(len(dla.fallbacks), "fallback"))
    return ", ".join(parts)


def reformats_of(trace: BuildTrace) -> list[InsertedReformat]:
    """The reformats in the engine that was kept."""
    return [one for one in trace.reformats if one.strategy in (trace.winner, None)]


def reformat_words(one: InsertedReformat) -> str:
    """What an inserted reformat changes, and what the builder found it to cost."""
    cost = f", {format_ms(one.cost_ms, _DIGITS)} ms when it was timed" if one.cost_ms is not None else ""
    return f"{one.tensor}: {one.from_format} → {one.to_format}{cost}"


def reformats_words(trace: BuildTrace) -> str:
    """How many reformats were inserted and what they cost in sum; empty for none."""
    found = reformats_of(trace)
    known = [one.cost_ms for one in found if one.cost_ms is not None]
    if not found:
        return ""
    unknown = f", {len(found) - len(known)} of unknown cost" if len(known) < len(found) else ""
    cost = f", {format_ms(sum(known), _DIGITS)} ms when they were timed" if known else ""
    return f"{len(found)} inserted{cost}{unknown if known else ''}"


def placement_lines(trace: BuildTrace) -> Iterator[Line]:
    """Sections on DLA, on reformats, and on layers of another precision than was asked for; none where there are none."""
    dla = trace.dla
    if dla_words(trace):
        yield Line("DLA", "section")
        yield Line(dla_words(trace), indent=2)
        for fallback in dla.fallbacks[:MOST_LINES]:
            words = f"{fallback.layer or 'a layer'}: {fallback.message}"
            yield Line(words, label=f"line {fallback.line}", indent=2)
            if fallback.reason:
                yield Line(fallback.reason, "muted", indent=4)
        yield from _rest(len(dla.fallbacks))
    found = reformats_of(trace)
    if found:
        yield Line("Reformats", "section")
        yield Line(reformats_words(trace), indent=2)
        found.sort(key=lambda one: -(one.cost_ms or 0.0))
        for one in found[:MOST_LINES]:
            yield Line(f"{one.name} · {reformat_words(one)}", indent=2)
        yield from _rest(len(found))
    if trace.non_conforming:
        yield Line("Another implementation than was asked for", "section")
        yield from (Line(name, indent=2) for name in trace.non_conforming[:MOST_LINES])
        yield from _rest(len(trace.non_conforming))


def _rest(count: int) -> Iterator[Line]:
    if count > MOST_LINES:
        yield Line(f"and {count - MOST_LINES} more", "muted", indent=2)
