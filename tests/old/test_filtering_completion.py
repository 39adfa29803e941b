"""What the filter offers to type next."""

from __future__ import annotations

import pytest

from helpers import write_sample_set
from trex_tui import load_engine
from trex_tui.old.analysis.columns import ALIASES, ALL_COLUMNS
from trex_tui.old.analysis.filter import complete
from trex_tui.old.engine.engine import Engine


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return load_engine(write_sample_set(tmp_path_factory.mktemp("net")))


def options(engine: Engine, text: str) -> tuple[str, ...]:
    completion = complete(engine, text)
    return completion.options if completion else ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ki", ("kind:",)),
        ("kind", ("kind:",)),
        ("conv (KI", ("kind:",)),
        ("-ki", ("kind:",)),
        ("latency_p", ("latency_pct>",)),
        ("pct", ("pct>",)),
        ("strea", ("stream:",)),
        ("ker", ("kernel:",)),
        ("attr.or", ("attr.Origin:",)),
        ("attr.origin:", ("REFORMAT",)),
        ("kind:", ("convolution", "gemm", "myelin", "noop", "reformat", "softmax")),
        ("kind:re", ("reformat",)),
        ("kind:gemm,re", ("reformat",)),
        ("kind!=GE", ("gemm",)),
        ('type:"Cuda', ('"CudaSoftMax"',)),
        ("stream:", ("0",)),
        ("onnx:/features/C", ("/features/Conv",)),
        ("lib:", ("xmma",)),
        ("name:evil", ('"evil \x1b[31m|name|, \\"quoted\\""',)),
    ],
)
def test_options(engine: Engine, text: str, expected: tuple[str, ...]) -> None:
    assert options(engine, text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "conv", "conv ", "kind:gemm", "kind:zzz", "ms>", "ms:", "nope:x", "(", "k/", '"ki', "/ki", "a:b:ki"],
)
def test_nothing_to_offer(engine: Engine, text: str) -> None:
    assert complete(engine, text) is None


def test_an_exact_name_comes_first(engine: Engine) -> None:
    assert options(engine, "m")[0] == "m:"
    assert options(engine, "tactic")[0] == "tactic:"


def test_completed_text_and_the_part_still_to_type(engine: Engine) -> None:
    completion = complete(engine, "conv -kind:GE")
    assert completion is not None
    assert completion.completed == "conv -kind:gemm"
    assert completion.ghost == "conv -kind:GEmm"
    quotes = complete(engine, "name:evil")
    assert quotes is not None
    assert quotes.ghost is None, "a quote would have to stand before what has been typed"


@pytest.mark.parametrize("name", [*(column.name for column in ALL_COLUMNS), *ALIASES])
def test_every_column_is_offered(engine: Engine, name: str) -> None:
    assert any(option[:-1] == name for option in options(engine, name[:-1] or name))
