"""Results of each filter, on an engine small enough to check by eye."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY, layer, tensor, write_graph, write_json
from trex_tui import load_engine
from trex_tui.old.analysis.columns import (
    ALIASES,
    ALL_COLUMNS,
    ALL_COLUMNS_BY_NAME,
    find_abbreviated_column,
    find_column,
)
from trex_tui.old.analysis.filter import describe_no_match, filter_layers, unparse
from trex_tui.old.analysis.filter.parser import parse
from trex_tui.old.analysis.filter.selection import EXAMPLES
from trex_tui.old.engine.engine import Engine

HMMA = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x32_stage5_tensor16x8x16"
SIMT = "ampere_sgemm_128x64_tn"
EVIL = 'evil \x1b[31m|name|, "quoted" (a) or * \\'
# What the tests call a layer -> name, type, type of its tensors, kernel, milliseconds, more.
LAYERS: dict[str, tuple[str, str, str, str, float | None, dict[str, Any]]] = {
    "in": ("Reformatting CopyNode for /stem/Conv", "Reformat", "Float", "", 0.01, {}),
    "stem": (
        "/stem/Conv + /stem/Relu",
        "CaskConvolution",
        "Half",
        HMMA,
        0.2,
        {
            "Metadata": "[ONNX Layer: /stem/Conv]\x1e[ONNX Layer: /stem/Relu]",
            "StreamId": 0,
            "Kernel": [3, 3],
            "Stride": [4, 4],
            "Groups": 1,
            "HasReLU": 1,
            "Sparse": True,
        },
    ),
    "conv1": (
        "/layer1/layer1.0/Conv",
        "CaskConvolution",
        "Int8",
        HMMA,
        0.1,
        {"StreamId": 1, "Kernel": [13, 3], "Groups": 8, "HasReLU": 0, "My Key": "a,b"},
    ),
    "pool": ("/stem/MaxPool", "CaskPooling", "Half", "", 0.04, {}),
    "fc": ("/head/fc/Gemm", "gemm", "Float", SIMT, 0.3, {"StreamId": 0}),
    "softmax": ("/head/SoftMax", "SoftMax", "Float", "", 0.05, {}),
    "evil": (EVIL, "kgen", "Half", "", None, {}),
}
EVERY = list(LAYERS)


def parse_shape(key: str) -> list[int]:
    return [1, 3, 64, 64] if key in ("in", "stem") else [1, 10]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder: Path = tmp_path_factory.mktemp("net")
    raw = [
        layer(
            name,
            kind,
            [tensor(f"t{place}", *parse_shape(key), dtype=dtype)],
            [tensor(f"t{place + 1}", 1, 10, dtype=dtype)],
            **({"TacticName": tactic} if tactic else {}),
            **more,
        )
        for place, (key, (name, kind, dtype, tactic, _, more)) in enumerate(LAYERS.items())
    ]
    write_graph(folder / "net.graph.json", raw)
    times = [(name, time) for name, *_, time, _ in LAYERS.values() if time is not None]
    rows = [{"name": name, "timeMs": 10 * time, "averageMs": time, "percentage": 1} for name, time in times]
    write_json(folder / "net.profile.json", [{"count": 10}, *rows])
    return load_engine(folder)


def found(engine: Engine, text: str) -> list[str]:
    return [EVERY[one.index] for one in filter_layers(engine, text)]


WORDS = [
    ("", EVERY),
    ("  \t ", EVERY),
    ("conv", ["in", "stem", "conv1"]),
    ("CONV", ["in", "stem", "conv1"]),
    ("conv stem", ["in", "stem"]),
    ("stem conv +", ["stem"]),
    ("/layer1/layer1.0/Conv", ["conv1"]),
    ("/stem/Conv + /stem/Relu", ["stem"]),
    ("-conv", ["pool", "fc", "softmax", "evil"]),
    ("--conv", ["in", "stem", "conv1"]),
    ("conv -relu -copy", ["conv1"]),
    ("max-", []),
    ("nothing", []),
    ('"conv + "', ["stem"]),
    ('-"conv + "', ["in", "conv1", "pool", "fc", "softmax", "evil"]),
    ('"or"', ["in", "evil"]),
    ('"(a)"', ["evil"]),
    ('"\\"quoted\\""', ["evil"]),
    ('"\\\\"', ["evil"]),
    ('"\x1b[31m"', ["evil"]),
    ("*", ["evil"]),
    ("|name|,", ["evil"]),
]
PRECEDENCE = [
    ("conv and stem", ["in", "stem"]),
    ("relu or pool", ["stem", "pool"]),
    ("RELU OR Pool", ["stem", "pool"]),
    ("stem relu or head gemm", ["stem", "fc"]),
    ("stem (relu or pool)", ["stem", "pool"]),
    ("stem(relu or pool)", ["stem", "pool"]),
    ("not conv pool", ["pool"]),
    ("not (conv pool)", EVERY),
    ("not conv or relu", ["stem", "pool", "fc", "softmax", "evil"]),
    ("not (conv or relu)", ["pool", "fc", "softmax", "evil"]),
    ("-(conv or relu)", ["pool", "fc", "softmax", "evil"]),
    ("not not conv", ["in", "stem", "conv1"]),
    ("not -conv", ["in", "stem", "conv1"]),
    ("conv and not relu and not copy", ["conv1"]),
    ("((conv))", ["in", "stem", "conv1"]),
]
TEXT_COLUMNS = [
    ("kind:gemm", ["fc"]),
    ("kind=GEMM", ["fc"]),
    ("kind:gemm,convolution", ["stem", "conv1", "fc"]),
    ("kind:gemm, pooling", ["pool", "fc"]),
    ("kind!=gemm,convolution", ["in", "pool", "softmax", "evil"]),
    ("KIND:gemm", ["fc"]),
    ("kind:conv*", ["stem", "conv1"]),
    ("kind:*o*i*", ["stem", "conv1", "pool"]),
    ("kind:*gemm*", ["fc"]),
    ("precision:int8,fp16 -kind:pooling", ["stem", "conv1", "evil"]),
    ("prec:fp16", ["stem", "conv1", "pool", "evil"]),
    ("type:Cask*", ["stem", "conv1", "pool"]),
    ('kind~"^(gemm|pool)"', ["pool", "fc"]),
    ("kind~^(gemm|pool)", ["pool", "fc"]),
    ("(kind~gemm)", ["fc"]),
    ('name~"layer1\\..*conv"', ["conv1"]),
    ("name~/conv$", ["in", "conv1"]),
    ("name~\\)", ["evil"]),
    ('name~"\\"q"', ["evil"]),
    ("tactic:*xmma*", ["stem", "conv1"]),
    ("tc:yes", ["stem", "conv1"]),
    ("tc:no", ["fc"]),
    ("tc:false", ["fc"]),
    ("prec:half kind:convolution", ["stem", "conv1"]),
    ("name:MaxPool", ["pool"]),
    ("name=MaxPool", []),
    ("name=/stem/maxpool", ["pool"]),
    ("name:MaxPool,gemm", ["pool", "fc"]),
    ('name:"stem/conv +"', ["stem"]),
    ("name:*Pool", ["pool"]),
    ("name!=MaxPool kind:pooling", ["pool"]),
    ("tactic:XMMA", ["stem", "conv1"]),
    ("tactic=xmma", []),
    ("type:Cask", []),
]
ATTRIBUTES = [
    ("kernel:3x3", ["stem"]),
    ("kernel=3x3", ["stem"]),
    ("kernel:*x3", ["stem", "conv1"]),
    ("kernel:*", ["stem", "conv1"]),
    ("stride:4x4", ["stem"]),
    ("groups>1", ["conv1"]),
    ("groups:1,8", ["stem", "conv1"]),
    ("has_relu:yes", ["stem"]),
    ("has_relu:0", ["conv1"]),
    ("has_relu!=true", ["conv1"]),
    ('attr.Stride:"[4, 4]"', ["stem"]),
    ('attr.Stride="[4, 4]"', ["stem"]),
    ("attr.stride:4", ["stem"]),
    ("attr.Stride:*4]", ["stem"]),
    ("attr.Stride=4", []),
    ("attr.Groups>1", ["conv1"]),
    ("attr.groups:8", ["conv1"]),
    ("attr.has_relu:1", ["stem"]),
    ("attr.Sparse:yes", ["stem"]),
    ('attr.Kernel~"1?3, 3"', ["stem", "conv1"]),
    ("attr.Kernel:none kind:convolution", []),
    ('attr."My Key":a,x', ["conv1"]),
    ('attr.my_key="a,b"', ["conv1"]),
    ("attr.LayerType:Cask", ["stem", "conv1", "pool"]),
    ("attr.StreamId<1", ["stem", "fc"]),
]
LIST_COLUMNS = [
    ("onnx_nodes:/stem/Relu", ["stem"]),
    ("onnx:*conv", ["stem"]),
    ("onnx:CONV", ["stem"]),
    ("onnx=conv", []),
    ('onnx~"/relu$"', ["stem"]),
    ("onnx!=/stem/relu", []),
    ("onnx:none", [key for key in EVERY if key != "stem"]),
    ("in_shape:1x3x64x64", ["in", "stem"]),
    ("out:int8", ["conv1"]),
    ("out:int", ["conv1"]),
    ("out=int", []),
    ("in_shape:1x3x64", []),
]
NUMBERS = [
    ("latency_ms>0.1", ["stem", "fc"]),
    ("latency_ms>=0.1", ["stem", "conv1", "fc"]),
    ("latency_ms > 0.1", ["stem", "fc"]),
    ("ms<=10us", ["in"]),
    ("ms<.05", ["in", "pool"]),
    ("ms>1e-1", ["stem", "fc"]),
    ("ms>0.0001s", ["stem", "fc"]),
    ("ms:0.2", ["stem"]),
    ("ms=200us,0.3", ["stem", "fc"]),
    ("ms!=0.2", ["in", "conv1", "pool", "fc", "softmax"]),
    ("pct>25%", ["stem", "fc"]),
    ("index<2", ["in", "stem"]),
    ("index>-1", EVERY),
    ("stream:0", ["stem", "fc"]),
    ("io>=24Ki", ["in", "stem"]),
    ("io>24.5k", ["in", "stem"]),
    ("io<0.1kB", ["conv1", "pool", "fc", "softmax", "evil"]),
    ("io>1GiB", []),
]
MISSING = [
    ("ms:none", ["evil"]),
    ("ms:?", ["evil"]),
    ("ms:*", [key for key in EVERY if key != "evil"]),
    ("ms!=none", [key for key in EVERY if key != "evil"]),
    ("ms:none,0.2", ["stem", "evil"]),
    ("not ms>0", ["evil"]),
    ("ms>0 or not ms>0", EVERY),
    ("tactic:?", ["in", "pool", "softmax", "evil"]),
    ("tactic:*", ["stem", "conv1", "fc"]),
    ("tactic!=x", ["stem", "conv1", "fc"]),
    ("-tactic=x", EVERY),
    ('tactic:"none"', []),
    ("stream:none", ["in", "pool", "softmax", "evil"]),
]
CASES = [*WORDS, *PRECEDENCE, *TEXT_COLUMNS, *ATTRIBUTES, *LIST_COLUMNS, *NUMBERS, *MISSING]


@pytest.mark.parametrize(("text", "keys"), CASES, ids=[repr(text) for text, _ in CASES])
def test_matches(engine: Engine, text: str, keys: list[str]) -> None:
    assert found(engine, text) == keys


@pytest.mark.parametrize("text", [text for text, _ in CASES])
def test_written_anew_it_means_the_same(engine: Engine, text: str) -> None:
    assert parse(unparse(parse(text))) == parse(text)
    assert parse(unparse(parse(text, [engine])), [engine]) == parse(text, [engine])


@pytest.mark.parametrize("text", [text for text, _ in CASES if text.strip()])
def test_a_filter_and_its_opposite_share_the_layers_out(engine: Engine, text: str) -> None:
    matching, others = found(engine, text), found(engine, f"not ({text})")
    assert sorted(matching + others, key=EVERY.index) == EVERY


def test_columns_that_are_computed(engine: Engine) -> None:
    for column in ALL_COLUMNS:
        present, missing = found(engine, f"{column.name}:*"), found(engine, f"{column.name}:none")
        assert sorted(present + missing, key=EVERY.index) == EVERY
    # Compared with the columns themselves: which layers these are is the business of other tests.
    bound = ALL_COLUMNS_BY_NAME["bound"]
    wanted = [
        key for key, one in zip(EVERY, engine.layers, strict=True) if bound.value(engine, one) == "launch"
    ]
    assert found(engine, "bound:launch") == wanted


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_aliases(alias: str, name: str) -> None:
    assert alias not in ALL_COLUMNS_BY_NAME
    assert find_column(alias) is find_column(name) is ALL_COLUMNS_BY_NAME[name]


def test_the_beginning_of_one_column_stands_for_it() -> None:
    assert parse("cumul<80") == parse("cumulative_pct<80")
    assert find_abbreviated_column("tactic_") is None
    assert find_abbreviated_column("stri") is find_column("stride")
    assert find_abbreviated_column("st") is None
    assert find_abbreviated_column("latenc") is None


@pytest.mark.parametrize("text", [expression for expression, _ in EXAMPLES])
def test_the_examples_of_the_help(engine: Engine, text: str) -> None:
    filter_layers(engine, text)


def test_order_of_execution_is_kept(engine: Engine) -> None:
    assert found(engine, "pool or stem or in") == sorted(found(engine, "pool or stem or in"), key=EVERY.index)


def test_every_layer_can_be_found_by_its_quoted_name(engine: Engine) -> None:
    for key, one in zip(EVERY, engine.layers, strict=True):
        text = one.name.replace("\\", "\\\\").replace('"', '\\"')
        assert found(engine, f'name:"{text}"') == [key]


PAGE = (REPOSITORY / "docs/filters.md").read_text(encoding="utf-8")
SHOWN = [
    text
    for line in PAGE.splitlines()
    if line.startswith("| `")
    for text in re.findall("`([^`]+)`", line.split(" | ")[0])
]


def test_the_page_has_filters() -> None:
    assert len(SHOWN) > 15


@pytest.mark.parametrize("text", SHOWN)
def test_filters_of_the_docs(text: str) -> None:
    assert parse(unparse(parse(text))) == parse(text)


NO_MATCH = [
    ("kind:attention", "0 of 7 layers match: no kind 'attention'"),
    ("type:CaskConv", "0 of 7 layers match: no layer_type 'CaskConv'; did you mean CaskConvolution?"),
    ("laeyr", "0 of 7 layers match: no name contains 'laeyr'"),
    ("conv (kernel:5x5 or groups:1)  kind:gemm", "0 of 7 layers match: no kernel '5x5'"),
    ("onnx:/stem/Rlu", "0 of 7 layers match: no onnx_nodes '/stem/Rlu'; did you mean /stem/Relu?"),
    ("kind:gemm kind:pooling", "0 of 7 layers match"),
    ("ms>100", "0 of 7 layers match"),
    ("not kind:*", "0 of 7 layers match"),
]


@pytest.mark.parametrize(("text", "sentence"), NO_MATCH)
def test_why_nothing_matches(engine: Engine, text: str, sentence: str) -> None:
    assert filter_layers(engine, text) == []
    assert describe_no_match(engine, text) == sentence
