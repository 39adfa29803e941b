"""What is no filter: the place, the sentence, and that nothing else is ever raised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import chain, layer, write_graph
from trex_tui import load_engine
from trex_tui.old.analysis.columns import ALIASES
from trex_tui.old.analysis.filter import filter_engines, filter_layers
from trex_tui.old.analysis.filter.parser import (
    DEEPEST,
    MOST_CHARACTERS,
    And,
    BadRegexError,
    ColumnTest,
    Expression,
    FilterError,
    Glob,
    Literal,
    Missing,
    Number,
    Operator,
    Pattern,
    Word,
    compile_regex,
    conjunction,
    disjunction,
    negation,
    parse,
    unparse,
)
from trex_tui.old.analysis.filter.parser import MOST_PATTERN_CHARACTERS as LONGEST_REGEX
from trex_tui.old.errors import ExitCode

# The caret stands where the error is.
ERRORS = [
    ("latency_pct>^", "expected a number after `>`"),
    ("kind:gemm latency_pct> ^", "expected a number after `>`"),
    ("ms>=^fast", "expected a number after `>=`"),
    ("ms>^2Ki", "expected a number, which for latency_ms may end in us ms s,"),
    ("pct>^2k", "expected a number, which for latency_pct may end in %,"),
    ("power_w>^2ms", "expected a number, which for power_w may end in mW W,"),
    ("io>^2ms", "expected a number, which for io_bytes may end in k M G Ki Mi Gi,"),
    ("io>^1e999", "expected a number, which for io_bytes may end in k M G Ki Mi Gi,"),
    ("ms:^x*", "expected a number after `:`"),
    ("ms:0.1,^", "expected a number after `,`"),
    ('ms:^"1"', "expected a number after `:`"),
    ("ms>^none", "expected a number after `>`"),
    ("kind:^", "expected a value after `:`"),
    ("(kind:^)", "expected a value after `:`"),
    ("kind:gemm,^", "expected a value after `,`"),
    ("kind:^,gemm", "expected a value after `:`"),
    ("kind^>2", "kind is text, which `>` does not compare"),
    ("ms^~2", "latency_ms is a number, which `~` does not match"),
    ("kind:^gem", "no kind 'gem'"),
    ("kind:gemm,^conv", "no kind 'conv'"),
    ('kind:^"conv*"', "no kind 'conv*'"),
    ("kind:^g*gemm", "no kind 'g*gemm'"),
    ("precision!=^int9", "no precision 'int9'"),
    ("tc:^maybe", "no tensor_cores 'maybe'"),
    ("device:^cpu or bound:launch", "no device 'cpu'"),
    ("has_bias:^2", "no has_bias '2'"),
    ("attr.X:^", "expected a value after `:`"),
    ("^knd:gemm", "no column 'knd'"),
    ("conv ^latenc>2", "no column 'latenc'"),
    ("^torch::nn", "no column 'torch'"),
    ("^>2", "expected a column before `>`"),
    ("conv ^~x", "expected a column before `~`"),
    ("conv or^", "expected a term after `or`"),
    ("conv and ^", "expected a term after `and`"),
    ("not^", "expected a term after `not`"),
    ("conv -^", "expected a term after `-`"),
    ("conv -^ relu", "expected a term right after `-`"),
    ("conv or ^and relu", "expected a term before `and`"),
    ("^or relu", "expected a term before `or`"),
    ("(conv^", "expected `)` for the `(` of column 1"),
    ("(^", "expected a term after `(`"),
    ("(^)", "expected a term before `)`"),
    ("conv^)", "`)` without a `(` before it"),
    ('conv "relu^', "expected a quote that closes the one of column 6"),
    ('kind:"gemm^', "expected a quote that closes the one of column 6"),
    ("name~^", "expected a regular expression after `~`"),
    ("(name~^)", "expected a regular expression after `~`"),
    ('name~^"(a+)+"', "repetitions or alternatives within a repetition can take forever"),
    ('conv name~^"a("', None),
    ("-" * 3 + "^", "expected a term after `-`"),
]


@pytest.mark.parametrize(("pointed", "message"), ERRORS, ids=[pointed for pointed, _ in ERRORS])
def test_place_and_sentence(pointed: str, message: str | None) -> None:
    position = pointed.index("^")
    text = pointed.replace("^", "", 1)
    with pytest.raises(FilterError) as caught:
        parse(text)
    error = caught.value
    if message is not None:
        assert error.message == message
        assert str(error).startswith(f"{message} at column {error.position + 1}")
    assert text[:position].rstrip() == text[: error.position].rstrip()
    assert error.exit_code is ExitCode.BAD_INPUT
    assert error.is_incomplete == (error.position == len(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("knd:gemm", "no column 'knd' at column 1; did you mean kind?"),
        ("latenc>2", "no column 'latenc' at column 1; did you mean latency_ms?"),
        ("torch::nn", "no column 'torch' at column 1; put text of a name in quotes"),
        ("kind:gem", "no kind 'gem' at column 6; did you mean gemm?"),
        ("prec:int9", "no precision 'int9' at column 6; did you mean INT8?"),
        ("prec:fp116", "no precision 'fp116' at column 6; did you mean FP16?"),
        ("device:cpu", "no device 'cpu' at column 8; did you mean GPU?"),
        ("device:host", "no device 'host' at column 8; the values are GPU, DLA"),
        ("has_relu:maybe", "no has_relu 'maybe' at column 10; the values are yes, no"),
    ],
)
def test_hints(text: str, words: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert str(caught.value) == words
    sentence, hint = words.split("; ")
    position = caught.value.position
    assert caught.value.pointed == f"{sentence}: {text[:position]}^{text[position:]}; {hint}"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("kind:conv", ("convolution",)),
        ("kind:s", ("softmax", "scale", "shuffle", "slice", "shape", "sync")),
        ("pct>2 (kind:gemm,re", None),
        ("kind:gemm,re", ("gemm", "reduction", "reformat", "resize")),
        ("prec:ha", ("FP16",)),
        ("has_relu:y", ("yes",)),
        ("kind:gemm", ("gemm",)),
    ],
)
def test_a_value_that_is_being_typed(text: str, values: tuple[str, ...] | None) -> None:
    if values is None:
        with pytest.raises(FilterError, match="expected `\\)`"):
            parse(text, is_typing=True)
        return
    expression = parse(text, is_typing=True)
    assert isinstance(expression, ColumnTest)
    assert {part.text for part in expression.operands if isinstance(part, Literal)} == set(values)
    with pytest.raises(FilterError, match=f"no {expression.column} '"):
        parse(f"{text[:-1]}_ x", is_typing=True)


def test_only_the_end_is_being_typed() -> None:
    with pytest.raises(FilterError, match="no kind 'conv'"):
        parse("kind:conv pct>2", is_typing=True)
    with pytest.raises(FilterError, match="no kind 'gemn' at column 6; did you mean gemm"):
        parse("kind:gemn", is_typing=True)
    with pytest.raises(FilterError, match="no kind 'conv'"):
        parse("kind:conv")


def test_the_caret_stands_before_the_place() -> None:
    with pytest.raises(FilterError) as caught:
        parse("kind:gemm pct>x conv")
    assert caught.value.pointed == "expected a number after `>` at column 15: kind:gemm pct>^x conv"
    with pytest.raises(FilterError) as caught:
        parse("a" * 900 + " pct> " + "b" * 900)
    assert len(caught.value.pointed) < 120


@pytest.mark.parametrize(
    "text",
    [
        "(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1),
        "(" * MOST_CHARACTERS,
        "a" * (MOST_CHARACTERS + 1),
    ],
)
def test_too_much(text: str) -> None:
    with pytest.raises(FilterError):
        parse(text)


@pytest.mark.parametrize("text", ["not " * 2000 + "a", "-" * 9000 + "a", "a or " * 1900 + "a", "a " * 4000])
def test_long_but_flat(text: str) -> None:
    assert parse(unparse(parse(text))) == parse(text)


def test_parentheses_to_the_limit() -> None:
    assert parse("(" * DEEPEST + "a" + ")" * DEEPEST) == Word("a")


CATASTROPHES = [
    "(a+)+$",
    "(a*)*b",
    "(a|aa)+$",
    "(a|a)*b",
    "(.*a){20}",
    "(a?){30}a{30}",
    "([a-z]+)*:",
    "((ab)+c?)+d",
    "a?" * 40 + "a" * 40,
    ".*.*.*.*.*x",
    "(a)(\\1+)+b",
    "(?=(a+)+)b",
]


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_patterns_that_might_take_forever(pattern: str) -> None:
    with pytest.raises(BadRegexError, match="repetition"):
        compile_regex(pattern)


@pytest.mark.parametrize(
    "pattern", ["[", "(", "a{99999999999}", "*", "(?P<n", "\\", "x" * (LONGEST_REGEX + 1)]
)
def test_patterns_that_are_none(pattern: str) -> None:
    with pytest.raises(BadRegexError):
        compile_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["layer1\\..*conv", "(conv|relu)", "(a.*)?b", "^/head/[a-z]+$", "(\\d+\\.){2}\\d+", "[[a]", "(ab)*"],
)
def test_patterns_that_people_write(pattern: str) -> None:
    compile_regex(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("a*", "abc", True),
        ("*c", "abc", True),
        ("a*c", "abc", True),
        ("a*b*c", "abc", True),
        ("a*bc*c", "abc", False),
        ("ab*bc", "abc", False),
        ("**", "", True),
        ("*b*", "abc", True),
        ("*ba*", "abc", False),
        ("a[b]*", "a[b]c", True),
        ("a[b]*", "abc", False),
    ],
)
def test_globs(pattern: str, text: str, fits: bool) -> None:
    assert Glob(pattern).fits(text) is fits


# Properties

SYMBOLS = ['"', "\\", "(", ")", "-", ":", ">", "<=", "!=", "~", ",", "*", "?", " ", "[", "{9", "+"]
WORDS = [
    "and",
    "or",
    "not",
    "kind",
    "ms",
    "attr.",
    "attr.K",
    "gemm",
    "name",
    "2",
    "Ki",
    "none",
    "conv",
    "\x1f",
    "\u202e",
    "ß",
    "\ud800",
]
PIECES = st.sampled_from(SYMBOLS + WORDS)
HOSTILE = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join))


@given(HOSTILE)
def test_nothing_but_filter_errors(text: str) -> None:
    try:
        expression = parse(text)
    except FilterError as error:
        holds = 0 <= error.position <= len(text) and error.text == text
    else:
        holds = parse(unparse(expression)) == expression
    assert holds


TEXTS = st.text(max_size=12)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(Number)
GLOBS = st.from_regex(r"[a-z.]*\*[a-z.*]*", fullmatch=True).map(Glob)
PATTERNS = st.from_regex(r'([a-z"]|\\[\\.()])+', fullmatch=True).map(Pattern)
TEXT_OPERANDS = st.lists(
    TEXTS.map(Literal) | GLOBS | st.just(Missing()), min_size=1, max_size=3, unique=True
).map(tuple)
NUMBER_OPERANDS = st.lists(
    NUMBERS | st.just(Glob("*")) | st.just(Missing()), min_size=1, max_size=3, unique=True
).map(tuple)
TEXT_NAMES = st.sampled_from(
    ["name", "layer_type", "tactic", "onnx_nodes", "attr.Kernel", "attr.a key", 'attr."']
)
NUMBER_NAMES = st.sampled_from(["latency_ms", "latency_pct", "io_bytes", "stream"])
EQUALITIES = st.sampled_from([Operator.HAS, Operator.EQUAL, Operator.UNEQUAL])
ORDERS = st.sampled_from([Operator.LESS, Operator.AT_MOST, Operator.MORE, Operator.AT_LEAST])
LEAVES: st.SearchStrategy[Expression] = st.one_of(
    TEXTS.map(Word),
    st.builds(ColumnTest, TEXT_NAMES, EQUALITIES, TEXT_OPERANDS),
    st.builds(ColumnTest, NUMBER_NAMES, EQUALITIES, NUMBER_OPERANDS),
    st.builds(ColumnTest, NUMBER_NAMES, ORDERS, st.tuples(NUMBERS)),
    st.builds(ColumnTest, TEXT_NAMES, st.just(Operator.MATCHES), st.tuples(PATTERNS)),
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(negation),
        st.lists(inner, min_size=1, max_size=3).map(conjunction),
        st.lists(inner, min_size=1, max_size=3).map(disjunction),
    ),
    max_leaves=12,
)


@given(EXPRESSIONS)
def test_written_and_read_again(expression: Expression) -> None:
    assert parse(unparse(expression)) == expression


def test_empty() -> None:
    assert parse("") == parse(" ") == And(())
    assert unparse(And(())) == ""


def test_short_names_are_written_in_full() -> None:
    assert unparse(parse("ms>50us and not(prec=INT8 or in:*)")) == (
        "latency_ms>0.05 not (precision=INT8 or input_formats:*)"
    )
    assert set(ALIASES) >= {"ms", "pct", "prec", "onnx", "in", "out", "tc"}


def test_attributes_of_the_file(tmp_path) -> None:
    engine = load_engine(
        write_graph(tmp_path / "a.graph.json", [layer("a", "Any", [], [], Kernel=[3, 3], Groups=2)])
    )
    with pytest.raises(
        FilterError, match=r"^no column 'attr.Kernle' at column 1; did you mean attr.Kernel\?$"
    ):
        filter_layers(engine, "attr.Kernle:x")
    with pytest.raises(FilterError, match=r"^attr.Kernel is text, which `>` does not compare at column 12$"):
        filter_layers(engine, "attr.Kernel>2")
    with pytest.raises(FilterError, match=r"^attr.Groups is a number, which `~` does not match"):
        filter_layers(engine, "attr.Groups~2")
    assert filter_layers(engine, "not attr.Stride:x", allows_absent=True) == list(engine.layers)
    assert filter_layers(engine, "attr.Stride>2", allows_absent=True) == []
    assert len(filter_layers(engine, "attr.Groups>1 attr.Groups<3", allows_absent=True)) == 1


def test_an_attribute_that_one_of_several_engines_has(tmp_path) -> None:
    engines = [
        load_engine(
            write_graph(tmp_path / f"{name}.graph.json", [layer(name, "Any", [], [], **{name: value})])
        )
        for name, value in (("A", 1), ("B", "x"))
    ]
    others = load_engine(write_graph(tmp_path / "c.graph.json", [layer("c", "Any", [], [], A="text")]))
    assert filter_engines(engines, "attr.A:1") == [list(engines[0].layers), []]
    assert filter_engines(engines, "not attr.B:x") == [list(engines[0].layers), []]
    assert filter_engines([*engines, others], "attr.A:1 or attr.A>0") == [list(engines[0].layers), [], []]
    with pytest.raises(FilterError, match=r"no column 'attr.C'"):
        filter_engines(engines, "attr.C:1")


class _Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def test_a_search_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    engine = load_engine(write_graph(tmp_path / "a.graph.json", chain("one", "two", "three", "four")))
    monkeypatch.setattr("trex_tui.old.analysis.filter.selection.perf_counter", _Clock())
    with pytest.raises(FilterError, match="takes too long") as caught:
        filter_layers(engine, "o name~e$")
    assert caught.value.position == 7
