"""How far two outputs are apart, against definitions written down a second time, and by their invariants."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trex_tui.old.accuracy.metrics import GATE_METRICS, Sums, class_axis, compare, judge_gates, measures
from trex_tui.old.analysis.gates import parse_gate
from trex_tui.old.errors import TrexError

numbers = st.floats(-1e6, 1e6, width=32)
anything = st.one_of(numbers, st.sampled_from([math.nan, math.inf, -math.inf]))
few = settings(max_examples=15)
MEASURES = ("mae", "max_abs", "max_rel", "mean_rel", "rmse", "cosine", "sqnr_db", "argmax_agreement_pct")


@st.composite
def pairs(draw, elements=numbers, least=1):
    count = draw(st.integers(least, 24))
    both = [draw(st.lists(elements, min_size=count, max_size=count)) for _ in range(2)]
    return np.array(both[0], "f4"), np.array(both[1], "f4")


def of(left, right, **more):
    return measures(compare(np.asarray(left, "f8"), np.asarray(right, "f8"), **more))


def close(first, second):
    if first is None or second is None:
        assert first is second
    else:
        assert first == pytest.approx(second, rel=1e-9, abs=1e-9)


class TestByHand:
    def test_four_numbers(self):
        found = of([1, -2, 0, 4], [1, -1, 0.5, 2], axis=0, rtol=0.4, atol=0.2)
        assert found["mae"] == (0 + 1 + 0.5 + 2) / 4
        assert found["max_abs"] == 2
        assert found["rmse"] == math.sqrt((1 + 0.25 + 4) / 4)
        assert found["max_rel"] == 0.5
        assert found["mean_rel"] == pytest.approx((0 + 0.5 + 0.5) / 3)
        assert found["zero_reference"] == 1
        assert found["cosine"] == pytest.approx(11 / math.sqrt(21 * 6.25))
        assert found["sqnr_db"] == pytest.approx(10 * math.log10(21 / 5.25))
        assert found["argmax_agreement_pct"] == 100
        assert found["outside"] == 2  # 0.5 > 0.2 and 2 > 1.8, but not 1 > 1

    def test_not_finite(self):
        left, right = [math.nan, math.inf, -math.inf, 1, 2], [math.nan, math.inf, math.inf, math.nan, 3]
        found = of(left, right)
        assert (found["nan_reference"], found["inf_reference"]) == (1, 2)
        assert (found["nan_test"], found["inf_test"]) == (2, 2)
        assert found["nonfinite_mismatch"] == 2
        assert (found["compared"], found["mae"]) == (1, 1)

    def test_nothing_finite(self):
        found = of([math.nan], [1.0])
        assert all(found[name] is None for name in MEASURES)
        assert set(found["reasons"]) >= set(MEASURES)

    def test_zeros(self):
        assert of([0, 0], [0, 0])["cosine"] == 1
        found = of([0, 0], [0, 1])
        assert (found["cosine"], found["sqnr_db"], found["max_rel"]) == (None, None, None)
        assert "zero everywhere" in found["reasons"]["sqnr_db"]

    def test_huge(self):
        found = of([1e308], [-1e308])
        assert found["rmse"] is None
        assert json.dumps(found, allow_nan=False)

    def test_classes(self):
        left = np.array([[1.0, 3, 2], [5, 4, 4], [math.nan, 1, 2]])
        right = np.array([[1.0, 2, 3], [5, 4, 9], [1, 1, 2]])
        right[1, 2] = 0
        assert of(left, right, axis=1)["argmax_agreement_pct"] == 50
        assert of(left, right, axis=1)["argmax_rows"] == 2

    @pytest.mark.parametrize(
        ("shape", "axis"),
        [
            ((), None),
            ((7,), 0),
            ((1, 10), 1),
            ((2, 19, 8, 8), 1),
            ((1, 77, 30), 2),
            ((1, 1, 9, 9), None),
            ((3, 1), None),
        ],
    )
    def test_class_axis(self, shape, axis):
        assert class_axis(shape) == axis


class TestProperties:
    @given(pairs())
    @few
    def test_sides(self, pair):
        """What does not depend on which is the reference."""
        first, second = of(*pair), of(*reversed(pair))
        for name in ("mae", "max_abs", "rmse", "cosine"):
            close(first[name], second[name])

    @given(st.lists(numbers, min_size=1, max_size=24))
    @few
    def test_equal_outputs(self, values):
        found = of(values, values, axis=0)
        assert (found["mae"], found["max_abs"], found["rmse"], found["outside"]) == (0, 0, 0, 0)
        assert found["cosine"] == 1
        assert found["argmax_agreement_pct"] == 100
        assert found["sqnr_db"] is None
        assert found["reasons"]["sqnr_db"].startswith("infinite")

    @given(pairs(), st.randoms(use_true_random=False))
    @few
    def test_order_does_not_matter(self, pair, random):
        order = list(range(len(pair[0])))
        random.shuffle(order)
        first, second = of(*pair), of(pair[0][order], pair[1][order])
        for name in MEASURES[:-1]:
            close(first[name], second[name])

    @given(pairs(), st.sampled_from([0.25, 2.0, 1024.0]))
    @few
    def test_scale(self, pair, factor):
        first, second = of(*pair, axis=0), of(*(side.astype("f8") * factor for side in pair), axis=0)
        for name in ("cosine", "sqnr_db", "max_rel", "mean_rel", "argmax_agreement_pct"):
            close(first[name], second[name])
        for name in ("mae", "max_abs", "rmse"):
            close(first[name] * factor, second[name])

    @given(st.lists(pairs(anything), min_size=1, max_size=4))
    @few
    def test_samples_add_up(self, samples):
        together = sum((compare(left, right, atol=0.5) for left, right in samples), Sums())
        whole = compare(*(np.concatenate([one[side] for one in samples]) for side in (0, 1)), atol=0.5)
        assert together.samples == len(samples)
        for name in Sums.__slots__:
            if name != "samples":
                close(float(getattr(together, name)), float(getattr(whole, name)))

    @given(pairs())
    @few
    def test_against_exact_arithmetic(self, pair):
        left, right = ([Fraction(float(one)) for one in side] for side in pair)
        errors = [abs(b - a) for a, b in zip(left, right, strict=True)]
        found = of(*pair)
        close(found["mae"], float(sum(errors) / len(errors)))
        close(found["max_abs"], float(max(errors)))
        close(found["rmse"], math.sqrt(sum(one * one for one in errors) / len(errors)))
        if found["sqnr_db"] is not None:
            ratio = sum(one * one for one in left) / sum(one * one for one in errors)
            close(found["sqnr_db"], 10 * (math.log10(ratio.numerator) - math.log10(ratio.denominator)))

    @given(pairs(anything))
    @few
    def test_always_json(self, pair):
        assert json.dumps(of(*pair, axis=0), allow_nan=False)

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match="shapes"):
            compare(np.zeros((1, 2)), np.zeros((2, 1)))


class TestGates:
    def fell(self, text, output=None):
        output = output or of([1, 2, 3], [1, 2, 3.5], axis=0)
        return judge_gates([parse_gate(text, GATE_METRICS)], None, [{"name": "y", **output}])[0].fell

    def test_limits(self):
        assert self.fell("mae > 0.1")
        assert not self.fell("mae > 0.2")
        assert not self.fell("max_abs > 0.5")
        assert self.fell("cosine < 0.9999")
        assert not self.fell("sqnr_db < 17")
        assert self.fell("sqnr_db < 18")
        assert not self.fell("argmax_agreement_pct < 100")

    def test_tolerance(self):
        (held,) = judge_gates([], (0.2, 0), [{"name": "y", **of([1, 2, 3], [1, 2, 3.5], rtol=0.2)}])
        (fell,) = judge_gates([], (0.1, 0), [{"name": "y", **of([1, 2, 3], [1, 2, 3.5], rtol=0.1)}])
        assert (held.fell, fell.fell) == (False, True)
        assert "1 of 3 elements" in fell.why

    def test_nan_on_one_side_fails_everything(self):
        assert self.fell("mae > 1e9", of([1, 2, 3], [1, math.nan, 3]))
        assert judge_gates([], (1e9, 1e9), [{"name": "y", **of([1], [math.nan])}])[0].fell

    def test_infinite_sqnr_holds(self):
        assert not self.fell("sqnr_db < 300", of([1], [1]))

    def test_no_value_is_no_pass(self):
        assert self.fell("sqnr_db < 1", of([0, 0], [0, 1]))

        assert self.fell("rmse > 1", of([1e308], [-1e308]))
        assert not self.fell("max_rel > 1", of([0, 0], [0, 0]))

    def test_what_cannot_be_judged(self):
        with pytest.raises(TrexError, match="gate not judged"):
            judge_gates(
                [parse_gate("argmax_agreement_pct < 99", GATE_METRICS)], None, [{"name": "y", **of([1], [1])}]
            )
