"""Sentences about the difference of two engines, and the evidence for them."""

from __future__ import annotations

from collections import Counter

from trex_tui.artifacts.kinds import FileKind
from trex_tui.compare.blocks import key_of, letter
from trex_tui.compare.comparison import Comparison, has_other_batch, has_other_device
from trex_tui.compare.layers import Evidence
from trex_tui.compare.noise import LEVEL, Outcome
from trex_tui.compare.reasons import describe_causes
from trex_tui.compare.verdicts import Verdict, explain_need
from trex_tui.report.document import Section
from trex_tui.text import MISSING, format_signed_ms, plural, printable

_LEAST_UNTIMED_MS = 0.0005
_OUTCOME_WORDS = {"slower": "slower", "faster": "faster", "same": "within noise", "unknown": "not judged"}


def describe_verdict(comparison: Comparison, position: int) -> str:
    """Return `faster −0.2098 ms (−42.05 %), 95 % interval −0.2103 to −0.2093 ms`, as far as it is known."""
    verdict, difference = comparison.verdicts[position], comparison.differences[position]
    judgement = verdict.judgement
    change = _describe_change(judgement.difference, judgement.difference_pct)
    if not difference.is_related:
        return "different networks"
    if judgement.outcome is not Outcome.UNKNOWN:
        by = " by single layer times" if verdict.is_by_layers else ""
        text = f"{judgement.outcome.value}{by} {change}"
        if judgement.interval is None:
            return text
        low, high = (format_signed_ms(edge) for edge in judgement.interval)
        return f"{text}, {100 * LEVEL:.0f} % interval {low} to {high} ms"
    if judgement.values is not None:
        return f"{change} by printed medians, noise unknown"
    if difference.delta_ms is not None:
        return f"{_describe_change(difference.delta_ms, difference.delta_pct)} by layer times, noise unknown"
    return "unknown"


def _describe_change(delta_ms: float | None, pct: float | None) -> str:
    text = MISSING if delta_ms is None else f"{format_signed_ms(delta_ms)} ms"
    return text if pct is None else f"{text} ({pct:+.2f} %)".replace("-", "−")


def describe_difference(comparison: Comparison, position: int) -> str:
    """Return the difference of layer times and its causes in a sentence, and first what makes it no matter of kernels."""
    side, first = comparison.sides[position], comparison.sides[0]
    difference = comparison.differences[position]
    if not difference.is_related:
        count = f"{first.matched_layers} of {plural(first.layers, 'layer')}"
        return f"{count} of A match. Compare totals only."
    parts = []
    if has_other_batch(side, first):
        parts.append(f"batch {side.batch} against {first.batch}")
    if has_other_device(side, first):
        parts.append(f"{side.device} against {first.device}")
    if parts:
        parts[-1] += f"; times are per {'sample' if comparison.is_per_sample else 'inference'}"
    if abs(difference.unattributed_ms) > _LEAST_UNTIMED_MS:
        missing = side.untimed_layers + first.untimed_layers
        parts.append(f"incomplete: {plural(missing, 'layer')} without a time")
    start = ", ".join(parts)
    start = f"{start[:1].upper()}{start[1:]}. " if start else ""
    return start + _describe_times(comparison, position)


def _describe_times(comparison: Comparison, position: int) -> str:
    verdict, difference = comparison.verdicts[position], comparison.differences[position]
    engine = letter(position)
    delta, noise = difference.delta_ms, difference.noise
    if delta is None or noise is None:
        is_engine = comparison.sides[position].latency_sum_ms is None
        files = comparison.engines[position if is_engine else 0]
        why = explain_need(files, FileKind.PROFILE, "needs --exportProfile")
        return f"{engine if is_engine else 'A'} has no profile ({why}): layer times are not compared."
    share = "" if difference.delta_pct is None else f" ({abs(difference.delta_pct):.1f} %)"
    outcome, layers = verdict.outcome.value, "same"
    text = f"Layer times agree within noise ({format_signed_ms(delta)} ms)"
    if abs(delta) > noise.sum_ms:
        layers, causes = "slower" if delta > 0 else "faster", describe_causes(difference.reasons)
        text = f"{engine} is {abs(delta):.4f} ms{share} {layers} than A by the sum of layer times"
        text += f": {causes}" if causes else ""
    contradiction = (
        f" End to end it is {_OUTCOME_WORDS[outcome]}." if outcome not in ("unknown", layers) else ""
    )
    return f"{text}.{contradiction}"


def describe_basis(verdict: Verdict) -> str:
    """Return what a verdict is based on, as a sentence without full stop."""
    judgement = verdict.judgement
    if judgement.outcome is Outcome.UNKNOWN:
        return f"significance not tested: {judgement.reason}"
    what = "sum of single layer times" if verdict.is_by_layers else "median latency"
    return "; ".join(filter(None, (f"{what}, {judgement.scope}", judgement.reason, judgement.method)))


def evidence_section(comparison: Comparison, position: int) -> Section:
    """Return what the verdict, unchanged layers and matches are based on."""
    lines = [f"End to end: {printable(describe_basis(comparison.verdicts[position]))}."]
    if noise := comparison.differences[position].noise:
        threshold = f"{noise.pct:.1f} % ({noise.source}) or a tick of the timer ({noise.tick_ms:.4g} ms)"
        lines.append(f"Unchanged layers: times within {threshold}.")
    if (key := key_of(position, "verdict")) in comparison.blocks:
        counts = Counter(comparison.blocks[key].dropna())
        texts = [f"{counts[outcome]} {word}" for outcome, word in _OUTCOME_WORDS.items() if counts[outcome]]
        judged = plural(counts.total(), "block")
        lines.append(
            f"Single times of layers judge {judged}: {', '.join(texts)} (95 % each, within one run)."
        )
    matches = count_evidence(comparison, position)
    alone = matches.pop(Evidence.NONE.value, 0)
    texts = [f"{count} by {evidence}" for evidence, count in matches.items()]
    texts += [f"{alone} in one engine only"] if alone else []
    lines.append(f"Blocks matched: {', '.join(texts) or 'none'}.")
    suffix = "" if len(comparison.engines) == 2 else f" on {letter(position)}"
    return Section(f"evidence-{letter(position).lower()}", f"Evidence{suffix}", sentences=lines)


def count_evidence(comparison: Comparison, position: int) -> dict[str, int]:
    """Return the number of blocks per evidence, of those with layers of the engine or the baseline."""
    ends = [comparison.blocks[key_of(end, "layers")].map(bool) for end in (0, position)]
    evidence = comparison.blocks["evidence"].where(ends[0] & ends[1], Evidence.NONE.value)[ends[0] | ends[1]]
    counts = evidence.value_counts()
    return {kind.value: int(counts[kind.value]) for kind in Evidence if kind.value in counts}
