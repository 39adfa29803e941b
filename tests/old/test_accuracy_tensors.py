"""Inputs as bytes, outputs out of trtexec's file, samples out of directories, and what can be compared at all."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trex_tui.old.accuracy.sides import read_outputs
from trex_tui.old.accuracy.tensors import (
    RandomInputs,
    Signature,
    TensorSpec,
    differences,
    from_bytes,
    given_inputs,
    held,
    safe_name,
    to_bytes,
)
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.errors import ArtifactError, TrexError

X = TensorSpec("x", (2, 3), DataType.FP32)
IDS = TensorSpec("a/ids:0", (4,), DataType.INT64)


class TestBytes:
    @given(st.lists(st.floats(width=32), min_size=1, max_size=8))
    @settings(max_examples=15)
    def test_bfloat16_rounds_to_nearest_even(self, values):
        array = np.array(values, "f4")
        data = to_bytes(array, DataType.BF16)
        for place, value in enumerate(values):
            (bits,) = struct.unpack_from("<H", data, place * 2)
            (back,) = struct.unpack("<f", struct.pack("<I", bits << 16))
            if math.isnan(value):
                assert math.isnan(back)
                continue
            (upper,) = struct.unpack("<I", struct.pack("<f", value))
            low, rest = upper >> 16, upper & 0xFFFF
            up = rest > 0x8000 or (rest == 0x8000 and low & 1)
            assert bits == low + up
            assert held(array, DataType.BF16)[place] == back

    @pytest.mark.parametrize(
        "dtype",
        [
            DataType.FP32,
            DataType.FP16,
            DataType.BF16,
            DataType.INT64,
            DataType.INT32,
            DataType.INT8,
            DataType.UINT8,
            DataType.BOOL,
        ],
    )
    def test_round_trip(self, dtype):
        values = held(np.array([[0, 1, 1], [0, 1, 0]]), dtype)
        data = to_bytes(values, dtype)
        assert len(data) == 6 * dtype.bits // 8
        assert np.array_equal(from_bytes(data, dtype, (2, 3), "x"), values)

    def test_row_major_whatever_it_was(self):
        turned = np.arange(6, dtype="f4").reshape(3, 2).T
        assert to_bytes(turned, DataType.FP32) == struct.pack("<6f", 0, 2, 4, 1, 3, 5)

    def test_scalar(self):
        assert len(to_bytes(held(np.array(2.0), DataType.FP32), DataType.FP32)) == 4
        assert held(np.array(2.0), DataType.FP16).shape == ()

    def test_unsupported(self):
        with pytest.raises(TrexError, match="FP8 are not supported"):
            to_bytes(np.zeros(1), DataType.FP8)

    def test_size(self):
        with pytest.raises(TrexError, match=r"in\.bin: 5 bytes, but 2x3 of FP32 takes 24"):
            from_bytes(b"12345", DataType.FP32, (2, 3), "in.bin")


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
    def test_several(self, tmp_path):
        path = exported(
            tmp_path, ("y", "1x3", "1, -2.5e-07, 3"), ('odd"\\ name ]', "2", "7, 9007199254740993")
        )
        found = read_outputs(path, {"y": DataType.FP32, 'odd"\\ name ]': DataType.INT64})
        assert found["y"].dtype == np.float32
        assert found["y"].tolist() == [[1.0, np.float32(-2.5e-07), 3.0]]
        assert found['odd"\\ name ]'].tolist() == [7, 9007199254740993]

    def test_not_finite(self, tmp_path):
        values = read_outputs(exported(tmp_path, ("y", "4", "nan, -nan, inf, -inf")), {})["y"]
        assert np.isnan(values[:2]).all()
        assert values[2:].tolist() == [math.inf, -math.inf]

    def test_shape_of_the_data(self, tmp_path):
        said = "Final shape is 1x2 reported by the output allocator.\n5, 6"
        assert read_outputs(exported(tmp_path, ("y", "-1x2", said)), {})["y"].tolist() == [[5, 6]]

    def test_empty_and_scalar(self, tmp_path):
        found = read_outputs(exported(tmp_path, ("none", "0x4", ""), ("one", "", "3")), {})
        assert (found["none"].shape, found["one"].shape) == ((0, 4), ())

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

    def test_cut_in_the_values(self, tmp_path):
        path = exported(tmp_path, ("y", "2", "1, 2"))
        path.write_text(path.read_text()[:60])
        with pytest.raises(ArtifactError, match="truncated in the values of 'y'"):
            read_outputs(path, {})


class TestRandom:
    def test_seed_sample_and_name_decide(self):
        one, other = RandomInputs((X, IDS), 2, 7), RandomInputs((X,), 9, 7)
        assert np.array_equal(one.sample(1)["x"], other.sample(1)["x"])
        assert not np.array_equal(one.sample(0)["x"], one.sample(1)["x"])
        assert not np.array_equal(one.sample(0)["x"], RandomInputs((X,), 1, 8).sample(0)["x"])

    def test_ranges(self):
        big = TensorSpec("a/ids:0", (4000,), DataType.INT32)
        assert set(RandomInputs((big,), 1, 0).sample(0)["a/ids:0"].tolist()) == {0, 1}
        drawn = RandomInputs((big,), 1, 0, {"a/ids:0": (5, 8)}).sample(0)["a/ids:0"]
        assert set(drawn.tolist()) == {5, 6, 7, 8}
        assert drawn.dtype == np.int32
        values = RandomInputs((TensorSpec("x", (4000,), DataType.FP16),), 1, 0).sample(0)["x"]
        assert values.dtype == np.float16
        assert -1 <= values.min() < -0.99
        assert 0.99 < values.max() <= 1


class TestGiven:
    DATA = np.arange(6, dtype="<f4").reshape(2, 3)

    def test_files(self, tmp_path):
        (tmp_path / "a.raw").write_bytes(self.DATA.tobytes())
        np.save(tmp_path / "b.npy", np.array([1, 2, 3, 4]))
        named = [f"x:{tmp_path / 'a.raw'}", f"a/ids:0:{tmp_path / 'b.npy'}"]
        found = given_inputs(named, (X, IDS), None)
        assert found.count == 1
        assert np.array_equal(found.sample(0)["x"], self.DATA)
        assert found.sample(0)["a/ids:0"].tolist() == [1, 2, 3, 4]

    def test_fp32_for_less(self, tmp_path):
        (tmp_path / "x.bin").write_bytes(self.DATA.tobytes())
        half = TensorSpec("x", (2, 3), DataType.FP16)
        values = given_inputs([str(tmp_path)], (half,), None).sample(0)["x"]
        assert (values.dtype, values.tolist()) == (np.float16, self.DATA.tolist())

    def test_directory_of_samples(self, tmp_path):
        for number in range(3):
            (tmp_path / f"s{number}").mkdir()
            (tmp_path / f"s{number}" / "x.bin").write_bytes((self.DATA + number).tobytes())
            (tmp_path / f"s{number}" / "a_ids_0.bin").write_bytes(bytes(32))
        found = given_inputs([str(tmp_path)], (X, IDS), 2)
        assert found.count == 2
        assert found.sample(1)["x"][0, 0] == 1
        with pytest.raises(TrexError, match="has 3 samples"):
            given_inputs([str(tmp_path)], (X, IDS), 4)

    def test_described(self, tmp_path):
        (tmp_path / "in.bin").write_bytes(self.DATA.astype("<f2").tobytes())
        entry = {"name": "x", "file": "in.bin", "dtype": "FP16"}
        (tmp_path / "sample.json").write_text(json.dumps({"inputs": [entry]}))
        assert np.array_equal(given_inputs([str(tmp_path)], (X,), None).sample(0)["x"], self.DATA)
        entry["file"] = "../../etc/passwd"
        (tmp_path / "sample.json").write_text(json.dumps({"inputs": [entry]}))
        with pytest.raises(TrexError, match="is outside"):
            given_inputs([str(tmp_path)], (X,), None)

    @pytest.mark.parametrize(
        ("named", "why"),
        [
            (["y:a.bin"], "names no input; inputs are x"),
            (["nowhere"], "is not a directory"),
            (["x:/nowhere/a.bin"], "No such file"),
        ],
    )
    def test_wrong(self, named, why):
        with pytest.raises(TrexError, match=why):
            given_inputs(named, (X,), None).sample(0)

    @pytest.mark.parametrize(
        ("array", "why"),
        [
            (np.zeros((3, 2), "f4"), "3x2, but the input is 2x3"),
            (np.array([[b"a"] * 3] * 2), "holds"),
            (np.array({}, dtype=object), "not a numpy array"),
        ],
    )
    def test_wrong_arrays(self, tmp_path, array, why):
        np.save(tmp_path / "x.npy", array, allow_pickle=True)
        with pytest.raises(TrexError, match=why):
            given_inputs([str(tmp_path)], (X,), None).sample(0)

    def test_file_names(self):
        assert safe_name("../a b:0", 3) == "3-.._a_b_0"


class TestDifferences:
    def of(self, left, right, outputs=()):
        return differences(Signature((X,), tuple(left)), Signature((X,), tuple(right)), outputs)

    def test_names(self):
        problems, _ = self.of([TensorSpec("y", (1,), None)], [TensorSpec("z", (1,), None)])
        assert problems == ["the test has no output called y", "the reference has no output called z"]
        assert self.of([TensorSpec("y", (1,), None)], [TensorSpec("z", (1,), None)], ["q"])[0]

    def test_shapes_and_types(self):
        y = TensorSpec("y", (1, -1), DataType.FP32)
        assert self.of([y], [TensorSpec("y", (1, 4), DataType.FP32)]) == ([], [])
        assert "1x-1 in the reference, 2x4 in the test" in self.of([y], [TensorSpec("y", (2, 4), None)])[0][0]
        assert "FP32 in the reference, INT32" in self.of([y], [TensorSpec("y", (1, 4), DataType.INT32)])[0][0]
        problems, notes = self.of([y], [TensorSpec("y", (1, 4), DataType.FP16)])
        assert problems == []
        assert notes == ["output y: FP32 in the reference, FP16 in the test"]

    def test_one_of_several(self):
        both = [TensorSpec("y", (1,), None), TensorSpec("z", (1,), None)]
        assert self.of(both, both[:1], ["y"]) == ([], [])
