"""Readers never fail otherwise than by ArtifactError, whatever the file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from helpers import chain, examples, profile_line, profile_text, timing_row
from trex_tui.old.artifacts.file_kinds import sniff
from trex_tui.old.artifacts.layer_info import read_layer_info
from trex_tui.old.artifacts.metadata import read_metadata
from trex_tui.old.artifacts.profile import read_profile
from trex_tui.old.artifacts.timing import read_timing
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.columns import build_frame
from trex_tui.old.errors import ArtifactError
from trex_tui.old.report.views.engine import summary_document

IN_TMP_PATH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

NUMBERS = st.one_of(
    st.integers(-3, 4096),
    st.floats(),
    st.sampled_from([2**63, 10**400, -1, True, False, 1e308, "nan", "1.5 ms"]),
)
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["Half", "Row major linear FP32", "kgen", "Conv", "NoOp", "a [profile 11]", "\x1e", "\ud800", ""]
    ),
)
JSON = st.recursive(
    st.one_of(st.none(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
ANYTHING = st.one_of(NUMBERS, TEXTS, JSON)


def shaped(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that have some of these keys, mostly with the right type of value."""
    values = {key: st.one_of(strategy, strategy, strategy, ANYTHING) for key, strategy in keys.items()}
    return st.fixed_dictionaries({}, optional=values)


TENSORS = st.lists(
    shaped(
        **{
            "Name": st.sampled_from("abcdef"),
            "Dimensions": st.lists(st.integers(-1, 9), max_size=4),
            "Format/Datatype": TEXTS,
            "Datatype": TEXTS,
            "Format": TEXTS,
            "Location": TEXTS,
        }
    ),
    max_size=3,
)
LAYERS = st.lists(
    st.one_of(
        shaped(
            Name=st.one_of(st.sampled_from(["a", "b", "c", "a [profile 1]"]), TEXTS),
            LayerType=TEXTS,
            ParameterType=TEXTS,
            Inputs=TENSORS,
            Outputs=TENSORS,
            Weights=shaped(Type=TEXTS, Count=NUMBERS),
            TacticName=TEXTS,
            StreamId=NUMBERS,
            Metadata=TEXTS,
        ),
        TEXTS,
        ANYTHING,
    ),
    max_size=5,
)
IO_TENSORS = st.lists(
    shaped(Name=TEXTS, IOMode=st.sampled_from(["Input", "Output"]), ProfileInfo=JSON), max_size=3
)
GRAPHS = st.one_of(
    shaped(Layers=LAYERS, Bindings=st.lists(TEXTS, max_size=3), **{"I/O Tensors": IO_TENSORS}), LAYERS
)
PROFILES = st.lists(
    st.one_of(
        shaped(
            name=st.sampled_from(["a", "b", "a [profile 1]"]),
            timeMs=NUMBERS,
            averageMs=NUMBERS,
            medianMs=NUMBERS,
            percentage=NUMBERS,
        ),
        shaped(count=NUMBERS),
        ANYTHING,
    ),
    max_size=5,
)
TIMINGS = st.lists(
    st.one_of(
        shaped(
            latencyMs=NUMBERS, computeMs=NUMBERS, startComputeMs=NUMBERS, startH2dMs=NUMBERS, endD2hMs=NUMBERS
        ),
        ANYTHING,
    ),
    max_size=5,
)
METADATA = shaped(
    performance_summary=shaped(Latency=st.one_of(st.lists(NUMBERS, max_size=8), TEXTS), Throughput=NUMBERS),
    inference_options=shaped(Duration=st.sampled_from(["3s (+ 200ms warm up)", "(+ 1.2.3ms warm up)", "3s"])),
    build_options=shaped(Precision=TEXTS),
    device_information=shaped(**{"Selected Device": TEXTS}),
)
ROOTS = st.one_of(GRAPHS, PROFILES, TIMINGS, METADATA, JSON)

READERS = {
    "graph": read_layer_info,
    "profile": read_profile,
    "timing": read_timing,
    "metadata": lambda path: read_metadata([path]),
}


def check_words(error: ArtifactError, file: Path | None = None) -> None:
    assert error.diagnostic.message
    assert "\n" not in error.diagnostic.message
    assert error.diagnostic.file == (file or error.diagnostic.file)


def opens_or_says_why(folder: Path) -> None:
    """Whatever was read has a summary that is valid JSON, and a frame."""
    try:
        engine = load_engine(folder)
    except ArtifactError as error:
        check_words(error)
        return
    text = json.dumps(summary_document([engine]), allow_nan=False)
    assert json.loads(text)["engines"][0]["name"] == engine.name
    assert len(build_frame(engine)) == len(engine.layers)
    assert engine.graph.number_of_edges() == len(engine.links)


@pytest.mark.parametrize("kind", READERS)
@given(root=ROOTS)
@IN_TMP_PATH
def test_readers_fail_by_artifact_error_only(tmp_path: Path, kind: str, root: Any) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    sniff(path)
    try:
        READERS[kind](path)
    except ArtifactError as error:
        check_words(error, path)


@given(graph=GRAPHS, profile=PROFILES, timing=TIMINGS, metadata=METADATA)
@settings(IN_TMP_PATH, max_examples=examples(120))
def test_sets_open_or_say_why(tmp_path: Path, graph: Any, profile: Any, timing: Any, metadata: Any) -> None:
    files = {"graph": graph, "profile": profile, "timing": timing, "profile.metadata": metadata}
    for name, root in files.items():
        (tmp_path / f"a.{name}.json").write_text(json.dumps(root), encoding="utf-8")
    opens_or_says_why(tmp_path)


REALISTIC = {
    "a.graph.json": json.dumps(
        {"Layers": chain("one", "two", "three"), "Bindings": ["t0", "t3"]}, indent=1
    ).encode(),
    "a.profile.json": profile_text(
        [profile_line(name, 0.5, median=0.25) for name in ("one", "two", "three")]
    ).encode(),
    "a.timing.json": json.dumps([timing_row(300.0 + place, 0.5) for place in range(4)]).encode(),
}


@given(
    name=st.sampled_from(sorted(REALISTIC)),
    cut=st.floats(0, 1),
    edits=st.lists(st.tuples(st.floats(0, 0.999), st.binary(max_size=4)), max_size=4),
)
@example(name="a.profile.json", cut=0.0, edits=[])
@settings(IN_TMP_PATH, max_examples=examples(200))
def test_damaged_files_open_or_say_why(
    tmp_path: Path, name: str, cut: float, edits: list[tuple[float, bytes]]
) -> None:
    for one, content in REALISTIC.items():
        (tmp_path / one).write_bytes(content)
    damaged = bytearray(REALISTIC[name])
    del damaged[int(len(damaged) * (1 - cut)) :]
    for place, replacement in edits:
        start = int(len(damaged) * place)
        damaged[start : start + len(replacement)] = replacement
    (tmp_path / name).write_bytes(damaged)
    opens_or_says_why(tmp_path)


@given(data=st.binary(max_size=200))
@settings(IN_TMP_PATH, max_examples=examples(150))
def test_any_bytes_open_or_say_why(tmp_path: Path, data: bytes) -> None:
    for name in ("a.json", "b.log", "c.engine", "d.log.gz"):
        (tmp_path / name).write_bytes(data)
    opens_or_says_why(tmp_path)
