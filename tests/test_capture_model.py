"""What `capture` sees of a model before anything runs: its inputs, and options that do not fit them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trtexec.kit import Bench
from onnx_bytes import MODEL, field, model, scalar, tanh_model, value_info
from trex_tui.capture.onnx_header import ModelInput, read_onnx_header
from trex_tui.cli.main import main
from trex_tui.errors import TrexError

EXTENTS = st.one_of(st.integers(0, 2**40), st.text(min_size=1, max_size=9), st.just(""))
INPUTS = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    st.one_of(st.none(), st.lists(EXTENTS, max_size=5).map(tuple)),
    max_size=6,
)


class TestHeader:
    @given(inputs=INPUTS, kind=st.sampled_from(["FLOAT", "FLOAT16", "BFLOAT16", "INT64", "FLOAT8E4M3FN"]))
    def test_as_the_library_of_onnx(
        self, tmp_path_factory: pytest.TempPathFactory, inputs: dict[str, Any], kind: str
    ) -> None:
        """What `onnx.helper` writes is read back."""
        helper = pytest.importorskip("onnx.helper")
        onnx = pytest.importorskip("onnx")
        number = getattr(onnx.TensorProto, kind)
        values = [
            helper.make_tensor_value_info(name, number, None if shape is None else list(shape))
            for name, shape in inputs.items()
        ]
        graph = helper.make_graph(
            [helper.make_node("Relu", ["a"], ["b"])],
            "g",
            values,
            [],
            [helper.make_tensor("a name that is longer than those of inputs", number, [0], [])],
        )
        path = tmp_path_factory.getbasetemp() / f"header-{os.getpid()}.onnx"
        onnx.save(helper.make_model(graph), path)
        header = read_onnx_header(path)
        assert [(known.name, known.shape) for known in header.inputs] == list(inputs.items())
        name = {"FLOAT": "float32"}.get(kind, kind.lower())
        assert all(known.dtype == name for known in header.inputs)

    def test_constants_are_no_inputs(self, tmp_path: Path) -> None:
        """Up to IR version 3 they are listed as inputs too."""
        path = tmp_path / "m.onnx"
        graph = field(11, value_info("x", "fp32", ("N", 3))) + field(11, value_info("w", "fp32", ()))
        path.write_bytes(model(graph + field(5, scalar("w", 1.0))))
        header = read_onnx_header(path)
        assert header.inputs == (ModelInput("x", "float32", ("N", 3)),)
        assert header.describe() == "input x (float32 Nx3)"

    @pytest.mark.parametrize("size", range(1, len(MODEL), 3))
    def test_truncated(self, tmp_path: Path, size: int) -> None:
        """Refused, or the graph is whole."""
        path = tmp_path / "m.onnx"
        path.write_bytes(MODEL[:size])
        try:
            assert read_onnx_header(path).inputs[0].name == "t0"
        except TrexError as error:
            assert "is not an ONNX model, or is truncated" in str(error)  # noqa: PT017 - either way


PROFILE = ("--min-shapes", "t0:1x8", "--opt-shapes", "t0:2x8", "--max-shapes", "t0:4x8")
REAL = "it has input t0 (float32 Nx8)"


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A machine with neither trtexec nor ssh: whatever starts one of them fails otherwise."""
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("PATH", str(bench.place))
    monkeypatch.setenv("HOME", str(bench.place))
    return bench


def weights_missing(place: Path) -> None:
    (place / "net.onnx").write_bytes(tanh_model("fp32", (1,), weights="w.bin"))


def fixed(place: Path) -> None:
    (place / "net.onnx").write_bytes(tanh_model("fp32", (1, 8), name="t0"))


def lfs(place: Path) -> None:
    (place / "net.onnx").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


@pytest.mark.parametrize("where", [(), ("--host", "jet"), ("--dry-run", "--for", "10.4")])
@pytest.mark.parametrize(
    ("arguments", "told", "prepare"),
    [
        (["--engine", "net.onnx"], "net.onnx is an ONNX model; build and measure it with --onnx", None),
        (["--onnx", "junk"], "junk is not an ONNX model, or is truncated", None),
        (["--onnx", "net.onnx"], "fetch it with `git lfs pull`", lfs),
        (["--onnx", "net.onnx"], "its weights are missing: w.bin", weights_missing),
        (["--onnx", "net.onnx", "--shapes", "t0=1x8"], "write `:` for `=`", None),
        (
            ["--onnx", "net.onnx", "--shapes", "t0:1x9"],
            "dim 1 is fixed; net.onnx has input t0 (float32 Nx8)",
            None,
        ),
        (["--onnx", "net.onnx", "--shapes", "t0:1x8"], "the shapes of net.onnx are fixed", fixed),
        (
            ["--onnx", "net.onnx", *PROFILE[:2]],
            "a profile needs all three; add --opt-shapes and --max-shapes",
            None,
        ),
        (["--onnx", "net.onnx", *PROFILE[:4]], "a profile needs all three; add --max-shapes", None),
        (
            ["--onnx", "net.onnx", *PROFILE[:4], "--max-shapes", "t0:1x8"],
            "--max-shapes: t0 is smaller than in --opt-shapes",
            None,
        ),
        (["--onnx", "net.onnx", *PROFILE[:4], "--max-shapes", "x:4x8"], f"has no input x; {REAL}", None),
        (["--onnx", "net.onnx", *PROFILE, "--shapes", "t0:5x8"], "outside of the profile, 1x8 to 4x8", None),
        (
            ["--onnx", "net.onnx", *PROFILE, "--sweep", "batch=1,5"],
            "outside of the profile, 1x8 to 4x8",
            None,
        ),
        (["--onnx", "net.onnx", "--profile", "min=t0:1x8,opt=t0:1x9,max=t0:2x9"], "--profile opt", None),
    ],
)
def test_refused_before_anything_starts(
    here: Bench,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
    prepare: Callable[[Path], None] | None,
    where: tuple[str, ...],
) -> None:
    """One line that names the real inputs."""
    (here.place / "net.engine").write_bytes(b"ftrt" + bytes(200))
    (here.place / "junk").write_bytes(os.urandom(7) + b"\xff" * 100)
    (here.place / "empty").touch()
    if prepare is not None:
        prepare(here.place)
    assert main(["capture", *arguments, *where]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert told in err
    assert not here.outdir.parent.exists()
