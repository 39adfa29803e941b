"""Numbers of a set that contradict each other or are lower bounds, as notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import Facts, number_in
from trex_tui.errors import Note, Severity
from trex_tui.text import format_bytes, shorten_middle

if TYPE_CHECKING:
    from trex_tui.engine.model import Engine

_JUMP_KEYS = {"JumpTarget", "JumpTargetThen", "JumpTargetElse"}
"""Attributes of jumps: the name of a layer."""
_MOST_AT_ONCE, _MOST_AT_ONCE_UNSTATED = 8.0, 64.0
"""More queries at a time for each stream are impossible; trtexec overlaps the copies of a few."""
_SAME_WEIGHTS, _ALIGNMENT_BYTES = 0.01, 4096
"""Difference of two sums of weights that alignment explains: relative, and absolute."""
_LONGEST_NAME = 40


def find_doubts(engine: Engine) -> Iterator[Note]:
    """Yield notes on numbers that cannot be right, or that are lower bounds."""
    graph = engine.files.get(FileKind(engine.details_source or "graph"))
    if loop := next((jump for jump in engine.jumps if jump[1] <= jump[0]), None):
        names = engine.layers["name"]
        ends = " back to ".join(f"layer {end} ({shorten_middle(names[end], _LONGEST_NAME)})" for end in loop)
        message = f"has a loop: {ends}, whose layers may run several times; operations and traffic are at least the sums"
        yield Note(Severity.WARNING, graph, "", message)
    elif engine.jumps:
        message = "has branches: a jump may pass over layers; operations and traffic are at most the sums"
        yield Note(Severity.WARNING, graph, "", message)
    if throughput := doubt_throughput(engine.facts):
        source = engine.facts.sources.get("performance")
        yield Note(Severity.WARNING, engine.files.get(FileKind(source)) if source else None, "", throughput)
    known, stated = engine.known_weights_bytes, engine.facts.memory.weights_bytes
    is_whole = bool(engine.layers["weights_bytes"].notna().all())
    if known and stated and is_whole and abs(known - stated) > _SAME_WEIGHTS * stated + _ALIGNMENT_BYTES:
        message = f"lists weights of {format_bytes(known)}; the builder states {format_bytes(stated)}"
        yield Note(Severity.WARNING, graph, "", message)


def find_jumps(names: Sequence[str], objects: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Return the jumps among the layers: the layer, and its target; their number for the end.

    A target before the layer closes a loop, a later one passes over a branch.
    """
    targets = [
        (layer, raw[key])
        for layer, raw in enumerate(objects)
        for key in _JUMP_KEYS & raw.keys()
        if isinstance(raw[key], str)
    ]
    places = {name: place for place, name in reversed(list(enumerate(names)))} if targets else {}
    return sorted((layer, places.get(target, len(names))) for layer, target in targets)


def doubt_throughput(facts: Facts) -> str:
    """Return why the stated throughput is impossible; empty if it is not.

    The product of throughput and latency is the number of queries at a time, which the streams limit.
    """
    latency, throughput = facts.latency(), facts.throughput_qps
    if latency is None or not latency.mean_ms or throughput is None:
        return ""
    at_once = throughput * latency.mean_ms / 1e3
    stated = (
        number_in(facts.inference_options.get(key))
        for key in ("Inference Streams", "Streams", "Infer Streams")
    )
    streams = next(filter(None, stated), None)
    if at_once <= (_MOST_AT_ONCE * streams if streams else _MOST_AT_ONCE_UNSTATED):
        return ""
    rate = (streams or 1.0) * 1e3 / latency.mean_ms
    return (
        f"states {throughput:.6g} qps at a latency of {latency.mean_ms:.4g} ms, {at_once:.0f} queries at a time, which is "
        f"impossible: --batch multiplies the count of an engine with explicit batch; {rate:.2g} qps are possible"
    )
