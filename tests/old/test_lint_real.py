"""What lint finds in real engines. UPDATE_GOLDENS=1 writes it anew; read the difference before believing it.

A golden holds every finding in a line: severity, rule, saving in microseconds, and the layers by index with a hash over their
names, so that a finding that moves to another layer shows.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from typing import Any

import pytest

from helpers import GOLDEN, RealSet, real_sets
from trex_tui.old.analysis.timing import timing_statistics
from trex_tui.old.engine import Engine
from trex_tui.old.lint.model import Judged, LintResult
from trex_tui.old.lint.registry import builtin_modules, collect
from trex_tui.old.lint.run import run
from trex_tui.old.lint.savings import combine_savings

LINT = GOLDEN / "lint"
RULES = collect(builtin_modules()).rules
MOST_LAYERS = 6

pytestmark = pytest.mark.skipif(not RULES, reason="there are no rules")


def linted(real: RealSet) -> tuple[Engine, LintResult]:
    engine = real.engine()
    return engine, run(engine, rules=RULES)


def line_of(engine: Engine, one: Judged) -> str:
    names = "\n".join(engine.layers[index].name for index in one.layers)
    mark = hashlib.sha256(names.encode("utf-8", "backslashreplace")).hexdigest()[:6]
    shown = " ".join(map(str, one.layers[:MOST_LAYERS]))
    more = f" +{len(one.layers) - MOST_LAYERS}" if len(one.layers) > MOST_LAYERS else ""
    layers = f"{shown}{more} #{mark}" if one.layers else "engine"
    saving = "?" if one.saving_ms is None else f"{one.saving_ms * 1000:.1f} us"
    return f"{one.severity.value} {one.rule.id} {saving} {one.confidence.value} [{layers}]"


def compact(engine: Engine, result: LintResult) -> dict[str, Any]:
    missing = Counter(one.rule for one in result.not_checked)
    saving = result.saving_ms
    return {
        "counts": {severity.value: count for severity, count in result.counts.items()},
        "saving_us": None if saving is None else round(saving * 1000, 1),
        "findings": [line_of(engine, one) for one in result.findings],
        "positives": [one.rule.id for one in result.positives],
        "not_checked": dict(sorted(missing.items())),
    }


@pytest.mark.parametrize("real", real_sets(every=True))
def test_golden(real: RealSet) -> None:
    found = compact(*linted(real))
    path = LINT / f"{real.name.replace('/', '-')}.json"
    if os.environ.get("UPDATE_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    assert path.is_file(), f"no golden {path.name}; UPDATE_GOLDENS=1 writes it"
    assert found == json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("real", real_sets(every=True))
def test_what_holds_for_every_engine(real: RealSet) -> None:
    engine, result = linted(real)
    assert result.failed == ()
    total = engine.latency_sum_ms or 0.0
    assert (result.savings.layers_ms or 0.0) <= total * (1 + 1e-9)
    alone = [one.saving_ms or 0.0 for one in result.findings]
    assert (result.saving_ms or 0.0) <= sum(alone) * (1 + 1e-9)
    assert result.savings == combine_savings(
        [one.finding for one in reversed(result.findings)],
        engine.latency_sum_ms,
        result.savings.end_to_end_ms and _median_compute(engine),
    )
    for one in (*result.findings, *result.positives):
        assert one.message.strip(), one.rule.id
        assert "\n" not in one.message, one.rule.id
        assert one.message.isprintable(), one.rule.id
        assert (one.layer_ms or 0.0) <= total * (1 + 1e-9), one.rule.id
        if not one.finding.savings_ms and one.finding.engine_saving_ms is None:
            assert one.saving_ms is None
        else:
            assert one.finding.formula or one.saving_ms is None, one.rule.id


def _median_compute(engine: Engine) -> float | None:
    statistics = timing_statistics(engine)
    return statistics.compute.median_ms if statistics and statistics.compute else None


@pytest.mark.parametrize("real", real_sets(every=True))
def test_the_same_twice(real: RealSet) -> None:
    assert linted(real)[1] == linted(real)[1]
