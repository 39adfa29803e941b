"""Outputs of two sides: how far they are apart, against definitions written down a second time; and their inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trex_tui.accuracy.sides import read_outputs
from trex_tui.accuracy.tensors import (
    Samples,
    TensorSpec,
    find_files,
)
from trex_tui.analysis.gates import FAILED, parse_gate
from trex_tui.analysis.outputs import METRICS, add_sums, compare, judge_outputs, measure
from trex_tui.engine.dtypes import DataType
from trex_tui.errors import ArtifactError

numbers = st.floats(-1e6, 1e6, width=32)
anything = st.one_of(numbers, st.sampled_from([math.nan, math.inf, -math.inf]))
few = settings(max_examples=15)


@st.composite
def pairs(draw, elements=numbers, least=1):
    count = draw(st.integers(least, 24))
    both = [draw(st.lists(elements, min_size=count, max_size=count)) for _ in range(2)]
    return np.array(both[0], "f4"), np.array(both[1], "f4")


def of(left: Any, right: Any) -> dict[str, Any]:
    return measure(compare(np.asarray(left, "f8"), np.asarray(right, "f8")))


def close(first, second):
    if first is None or second is None:
        assert first is second
    else:
        assert first == pytest.approx(second, rel=1e-9, abs=1e-9)


class TestByHand:
    def test_four_numbers(self):
        found = of([1, -2, 0, 4], [1, -1, 0.5, 2])
        assert found["mae"] == (0 + 1 + 0.5 + 2) / 4
        assert found["max_abs"] == 2
        assert found["rmse"] == math.sqrt((1 + 0.25 + 4) / 4)
        assert found["max_rel"] == 0.5
        assert found["mean_rel"] == pytest.approx((0 + 0.5 + 0.5) / 3)
        assert found["cosine"] == pytest.approx(11 / math.sqrt(21 * 6.25))
        assert found["sqnr_db"] == pytest.approx(10 * math.log10(21 / 5.25))
        assert found["argmax_agreement_pct"] == 100


class TestProperties:
    @given(st.lists(numbers, min_size=1, max_size=24))
    @few
    def test_equal_outputs(self, values):
        found = of(values, values)
        assert (found["mae"], found["max_abs"], found["rmse"]) == (0, 0, 0)
        assert found["cosine"] == 1
        assert found["argmax_agreement_pct"] == (100 if len(values) > 1 else None)
        assert found["sqnr_db"] is None
        assert found["reasons"]["sqnr_db"].startswith("infinite")

    @given(st.lists(pairs(anything), min_size=1, max_size=4))
    @few
    def test_samples_add_up(self, samples):
        together = reduce(add_sums, (compare(left, right) for left, right in samples))
        whole = compare(*(np.concatenate([one[side] for one in samples]) for side in (0, 1)))
        assert together["samples"] == len(samples)
        for name in whole:
            if name not in ("samples", "rows", "agreeing_rows"):
                close(float(together[name]), float(whole[name]))

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


class TestGates:
    def fell(self, text, output=None):
        output = output or of([1, 2, 3], [1, 2, 3.5])
        (result,) = judge_outputs([parse_gate(text, METRICS)], [{"name": "y", **output}])
        return result.state == FAILED

    def test_limits(self):
        assert self.fell("mae > 0.1")
        assert not self.fell("mae > 0.2")
        assert not self.fell("max_abs > 0.5")
        assert self.fell("cosine < 0.9999")
        assert not self.fell("sqnr_db < 17")
        assert self.fell("sqnr_db < 18")
        assert not self.fell("argmax_agreement_pct < 100")

    def test_nan_on_one_side_fails_everything(self):
        assert self.fell("mae > 1e9", of([1, 2, 3], [1, math.nan, 3]))

    def test_infinite_sqnr_holds(self):
        assert not self.fell("sqnr_db < 300", of([1], [1]))

    def test_no_value_is_no_pass(self):
        assert self.fell("sqnr_db < 1", of([0, 0], [0, 1]))

        assert self.fell("rmse > 1", of([1e308], [-1e308]))
        assert not self.fell("max_rel > 1", of([0, 0], [0, 0]))


X = TensorSpec("x", (2, 3), DataType.FP32)
IDS = TensorSpec("a/ids:0", (4,), DataType.INT64)


def exported(tmp_path, *entries, end="]\n"):
    """As trtexec lays it out; entries are name, dimensions and values as text."""
    text = "[\n"
    for place, (name, dims, values) in enumerate(entries):
        text += f'{", " if place else "  "}{{ "name" : "{name}"\n  , "dimensions" : "{dims}"\n'
        text += f'  , "values" : [ {values} ]\n  }}\n'
    path = tmp_path / "output.json"
    path.write_text(text + end, encoding="utf-8")
    return path


class TestExported:
    @pytest.mark.parametrize(
        ("entries", "end", "why"),
        [
            ([("y", "3", "1, 2")], "]\n", "2 values, but its dimensions are 3"),
            ([("y", "2", "1, two")], "]\n", "not numbers"),
            ([("y", "2", "1, 2")], "", "truncated"),
            ([("y", "2", "1, 2")], ', { "name" : "z', "truncated"),
            ([], "", "truncated"),
        ],
    )
    def test_broken(self, tmp_path, entries, end, why):
        with pytest.raises(ArtifactError, match=why):
            read_outputs(exported(tmp_path, *entries, end=end), {})


def taken(text: object, specs: Sequence[TensorSpec], most: int | None = None) -> list[dict[str, Any]]:
    files = find_files(str(text), specs, most)
    samples = Samples(specs, len(files), 0, {}, files, str(text))
    return [samples.take(number) for number in range(samples.count)]


class TestGiven:
    DATA = np.arange(6, dtype="<f4").reshape(2, 3)

    def test_files(self, tmp_path: Path) -> None:
        """Names may contain colons, and files commas."""
        (tmp_path / "a,b.raw").write_bytes(self.DATA.tobytes())
        np.save(tmp_path / "b.npy", np.array([1, 2, 3, 4]))
        (found,) = taken(f"x:{tmp_path / 'a,b.raw'},a/ids:0:{tmp_path / 'b.npy'}", (X, IDS))
        assert np.array_equal(found["x"], self.DATA)
        assert found["a/ids:0"].tolist() == [1, 2, 3, 4]
