"""The filter language: results on an engine small enough to check by eye, errors with their place, completion."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import chain, layer, tensor, write_graph, write_json, write_sample_set
from trex_tui.api import load_engine
from trex_tui.engine import filter as filters
from trex_tui.engine.filter import (
    DEEPEST,
    MOST_CHARACTERS,
    FilterError,
    complete,
    describe_no_match,
    find_matches,
    quote_value,
)
from trex_tui.engine.model import Engine
from trex_tui.engine.regex import BadRegexError, compile_regex
from trex_tui.errors import ExitCode

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


def _shape(key: str) -> list[int]:
    return [1, 3, 64, 64] if key in ("in", "stem") else [1, 10]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder: Path = tmp_path_factory.mktemp("net")
    raw = [
        layer(
            name,
            kind,
            [tensor(f"t{place}", *_shape(key), dtype=dtype)],
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


def found(engine: Engine, text: str, **options: Any) -> list[str]:
    mask = find_matches(engine, text, **options)
    assert mask.dtype == bool
    assert mask.index.equals(engine.layers.index)
    return [EVERY[row] for row in engine.layers.index[mask]]


WORDS = [
    ("", EVERY),
    ("conv", ["in", "stem", "conv1"]),
    ("conv stem", ["in", "stem"]),
    ("stem conv +", ["stem"]),
    ("-conv", ["pool", "fc", "softmax", "evil"]),
    ("nothing", []),
    ('"conv + "', ["stem"]),
    ('"or"', ["in", "evil"]),
    ('"\\"quoted\\""', ["evil"]),
    ("*", ["evil"]),
]
PRECEDENCE = [
    ("relu or pool", ["stem", "pool"]),
    ("stem relu or head gemm", ["stem", "fc"]),
    ("stem (relu or pool)", ["stem", "pool"]),
    ("not (conv pool)", EVERY),
    ("not conv or relu", ["stem", "pool", "fc", "softmax", "evil"]),
    ("conv and not relu and not copy", ["conv1"]),
]
TEXT_COLUMNS = [
    ("kind:gemm", ["fc"]),
    ("kind:gemm,convolution", ["stem", "conv1", "fc"]),
    ("kind!=gemm,convolution", ["in", "pool", "softmax", "evil"]),
    ("kind:conv*", ["stem", "conv1"]),
    ("precision:int8,fp16 -kind:pooling", ["stem", "conv1", "evil"]),
    ('kind~"^(gemm|pool)"', ["pool", "fc"]),
    ('name~"layer1\\..*conv"', ["conv1"]),
    ("prec:half kind:convolution", ["stem", "conv1"]),
    ("name=/stem/maxpool", ["pool"]),
    ('name:"stem/conv +"', ["stem"]),
    ("name:*Pool", ["pool"]),
]
ATTRIBUTES = [
    ("kernel:3x3", ["stem"]),
    ("kernel:*x3", ["stem", "conv1"]),
    ("has_relu:yes", ["stem"]),
    ("has_relu!=true", ["conv1"]),
    ('attr.Stride:"[4, 4]"', ["stem"]),
    ("attr.Stride:*4]", ["stem"]),
    ("attr.has_relu:1", ["stem"]),
    ('attr.Kernel~"1?3, 3"', ["stem", "conv1"]),
    ('attr.my_key="a,b"', ["conv1"]),
    ("attr.LayerType:Cask", ["stem", "conv1", "pool"]),
]
LIST_COLUMNS = [
    ("onnx_nodes:/stem/Relu", ["stem"]),
    ('onnx~"/relu$"', ["stem"]),
    ("onnx:none", [key for key in EVERY if key != "stem"]),
    ("in_shape:1x3x64x64", ["in", "stem"]),
    ("out:int8", ["conv1"]),
]
NUMBERS = [
    ("latency_ms>0.1", ["stem", "fc"]),
    ("ms<=10us", ["in"]),
    ("ms=200us,0.3", ["stem", "fc"]),
    ("ms!=0.2", ["in", "conv1", "pool", "fc", "softmax"]),
    ("pct>25%", ["stem", "fc"]),
    ("index>-1", EVERY),
    ("io>=24Ki", ["in", "stem"]),
    ("io<0.1kB", ["conv1", "pool", "fc", "softmax", "evil"]),
]
MISSING = [
    ("ms:none", ["evil"]),
    ("ms:*", [key for key in EVERY if key != "evil"]),
    ("not ms>0", ["evil"]),
    ("tactic:?", ["in", "pool", "softmax", "evil"]),
    ("tactic:*", ["stem", "conv1", "fc"]),
    ('tactic:"none"', []),
]
CASES = [*WORDS, *PRECEDENCE, *TEXT_COLUMNS, *ATTRIBUTES, *LIST_COLUMNS, *NUMBERS, *MISSING]


@pytest.mark.parametrize(("text", "keys"), CASES, ids=[repr(text) for text, _ in CASES])
def test_matches(engine: Engine, text: str, keys: list[str]) -> None:
    assert found(engine, text) == keys


@pytest.mark.parametrize("text", [text for text, _ in CASES if text.strip()])
def test_a_filter_and_its_opposite_share_the_layers_out(engine: Engine, text: str) -> None:
    matching, others = found(engine, text), found(engine, f"not ({text})")
    assert sorted(matching + others, key=EVERY.index) == EVERY


NO_MATCH = [
    ("kind:attention", "0 of 7 layers match: no kind 'attention'"),
    ("type:CaskConv", "0 of 7 layers match: no layer_type 'CaskConv'; did you mean CaskConvolution?"),
    ("conv (kernel:5x5 or groups:1)  kind:gemm", "0 of 7 layers match: no kernel '5x5'"),
    ("onnx:/stem/Rlu", "0 of 7 layers match: no onnx_nodes '/stem/Rlu'; did you mean /stem/Relu?"),
]


@pytest.mark.parametrize(("text", "sentence"), NO_MATCH)
def test_why_nothing_matches(engine: Engine, text: str, sentence: str) -> None:
    assert found(engine, text) == []
    assert describe_no_match(engine, text) == sentence


# Errors

# The caret stands where the error is.
ERRORS = [
    ("ms>=^fast", "expected a number after `>=`"),
    ("ms>^2Ki", "expected a number, which for latency_ms may end in us ms s,"),
    ("io>^2ms", "expected a number, which for io_bytes may end in k M G Ki Mi Gi,"),
    ("ms:0.1,^", "expected a number after `,`"),
    ("kind:^", "expected a value after `:`"),
    ("kind^>2", "kind is text, which `>` does not compare"),
    ("ms^~2", "latency_ms is a number, which `~` does not match"),
    ("kind:^gem", "no kind 'gem'"),
    ("kind:^g*gemm", "no kind 'g*gemm'"),
    ("^knd:gemm", "no column 'knd' at column 1; did you mean kind?"),
    ("^torch::nn", "put text of a name in quotes"),
    ("device:^host", "no device 'host' at column 8; the values are GPU, DLA"),
    ("conv ^latenc>2", "no column 'latenc'"),
    ("^>2", "expected a column before `>`"),
    ("conv or^", "expected a term after `or`"),
    ("conv -^ relu", "expected a term right after `-`"),
    ("conv or ^and relu", "expected a term before `and`"),
    ("(conv^", "expected `)` for the `(` of column 1"),
    ("conv^)", "`)` without a `(` before it"),
    ('conv "relu^', "expected a quote that closes the one of column 6"),
    ("name~^", "expected a regular expression after `~`"),
    ('name~^"(a+)+"', "repetitions or alternatives within a repetition can take forever"),
    ('conv name~^"a("', None),
]


@pytest.mark.parametrize(("pointed", "message"), ERRORS, ids=[pointed for pointed, _ in ERRORS])
def test_place_and_sentence(engine: Engine, pointed: str, message: str | None) -> None:
    position = pointed.index("^")
    text = pointed.replace("^", "", 1)
    with pytest.raises(FilterError) as caught:
        find_matches(engine, text)
    error = caught.value
    if message is not None:
        assert message in str(error)
        assert f"{error.message} at column {error.position + 1}" in str(error)
    assert text[:position].rstrip() == text[: error.position].rstrip()
    assert error.exit_code is ExitCode.BAD_INPUT
    assert error.is_incomplete == (error.position == len(text))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("kind:conv", "kind:convolution"),
        ("kind:s", "kind:softmax,scale,shuffle,slice,shape,sync"),
    ],
)
def test_a_value_that_is_being_typed(engine: Engine, text: str, same: str) -> None:
    assert found(engine, text, is_typing=True) == found(engine, same)
    with pytest.raises(FilterError, match="no "):
        find_matches(engine, f"{text[:-1]}_ x", is_typing=True)


@pytest.mark.parametrize(
    "text",
    ["(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1), "(" * MOST_CHARACTERS, "a" * (MOST_CHARACTERS + 1)],
)
def test_too_much(engine: Engine, text: str) -> None:
    with pytest.raises(FilterError):
        find_matches(engine, text)


@pytest.mark.parametrize("text", ["not " * 2000 + "a", "-" * 9000 + "a", "a or " * 1900 + "a", "a " * 4000])
def test_long_but_flat(engine: Engine, text: str) -> None:
    assert found(engine, text) == found(engine, "a")


CATASTROPHES = [
    "(a+)+$",
    "(a|aa)+$",
    "(a?){30}a{30}",
    "a?" * 40 + "a" * 40,
    ".*.*.*.*.*x",
    "(a)(\\1+)+b",
    "(?=(a+)+)b",
]


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_patterns_that_might_take_forever(pattern: str) -> None:
    with pytest.raises(BadRegexError, match="repetition"):
        compile_regex(pattern)


SYMBOLS = ['"', "\\", "(", ")", "-", ":", ">", "<=", "!=", "~", ",", "*", "?", " ", "[", "{9", "+"]
PIECES = ["and", "or", "not", "kind", "ms", "attr.", "attr.K", "gemm", "name", "2", "Ki", "none", "conv"]
PIECES += ["\x1f", "\u202e", "ß", "\ud800"]
HOSTILE = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(SYMBOLS + PIECES), max_size=30).map("".join)
)


@given(text=HOSTILE)
def test_nothing_but_filter_errors(engine: Engine, text: str) -> None:
    try:
        mask = find_matches(engine, text)
    except FilterError as error:
        holds = 0 <= error.position <= len(text) and error.text == text
    else:
        holds = len(mask) == len(engine)
    assert holds
    complete(engine, text)


@given(text=st.text(max_size=12))
def test_a_quoted_value_is_that_value(engine: Engine, text: str) -> None:
    wanted = [
        key
        for key, name in zip(EVERY, engine.layers["name"], strict=True)
        if text.casefold() in name.casefold()
    ]
    assert found(engine, f"name:{quote_value(text)}") == wanted


def test_an_attribute_that_one_of_several_engines_has(tmp_path: Path) -> None:
    first, second, third = (
        load_engine(
            write_graph(tmp_path / f"{name}.graph.json", [layer(name, "Any", [], [], **{key: value})])
        )
        for name, key, value in (("a", "A", 1), ("b", "B", "x"), ("c", "A", "text"))
    )

    def select(text: str, *engines: Engine) -> list[bool]:
        return [bool(find_matches(one, text, others=engines)[0]) for one in engines]

    assert select("attr.A:1", first, second) == [True, False]
    assert select("not attr.B:x", first, second) == [True, False]
    assert select("attr.B:none", first, second) == [True, False]
    with pytest.raises(FilterError, match=r"no column 'attr.C'"):
        find_matches(first, "attr.C:1", others=[second, third])


def test_a_search_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = load_engine(write_graph(tmp_path / "a.graph.json", chain("one", "two", "three", "four")))
    clock = iter(range(1000))
    monkeypatch.setattr(filters, "perf_counter", lambda: float(next(clock)))
    with pytest.raises(FilterError, match="takes too long") as caught:
        find_matches(engine, "o name~e$")
    assert caught.value.position == 7


# Completion


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return load_engine(write_sample_set(tmp_path_factory.mktemp("net")))


def options(engine: Engine, text: str) -> tuple[str, ...]:
    completion = complete(engine, text)
    return completion.options if completion else ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ki", ("kind:",)),
        ("strea", ("stream:",)),
        ("attr.origin:", ("REFORMAT",)),
        ("kind:", ("convolution", "gemm", "myelin", "noop", "reformat", "softmax")),
        ("kind:gemm,re", ("reformat",)),
        ('type:"Cuda', ('"CudaSoftMax"',)),
        ("onnx:/features/C", ("/features/Conv",)),
        ("name:evil", ('"evil \x1b[31m|name|, \\"quoted\\""',)),
    ],
)
def test_options(sample: Engine, text: str, expected: tuple[str, ...]) -> None:
    assert options(sample, text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "conv", "conv ", "kind:gemm", "kind:zzz", "ms>", "ms:", "nope:x", "(", "k/", '"ki', "/ki", "a:b:ki"],
)
def test_nothing_to_offer(sample: Engine, text: str) -> None:
    assert complete(sample, text) is None


def test_typing_in_a_large_engine_stays_fast(tmp_path: Path) -> None:
    engine = load_engine(
        write_graph(tmp_path / "a.graph.json", chain(*(f"/block{n}/Conv" for n in range(5000))))
    )
    find_matches(engine, "conv kind:pointwise")
    began = time.process_time()
    for text in ("b", "bl", "block1 kind:p", "block1 -kind:gemm", "name~block1.*v$"):
        find_matches(engine, text, is_typing=True)
    assert time.process_time() - began < 1.0
