"""Comparisons at their edges: what is refused, engines alike, names only, hubs, what is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from compare_cases import check, conv, load_real, reformat, write_engine

from helpers import OLD_SAMPLES, REAL_SETS, write_json, write_sample_set
from trex_tui.old.analysis.compare import CautionKind, ChangeKind, Outcome, Pin, compare
from trex_tui.old.analysis.compare.comparison import make_labels
from trex_tui.old.engine.engine import load_engine
from trex_tui.old.errors import TrexError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": 2}, "baseline 2 does not exist"),
        ({"align": "magic"}, "'magic' is not an alignment"),
        ({"pins": [Pin(0, 0, 0)]}, "pin of unknown engine"),
        ({"pins": [Pin(0, 1, 99)]}, "layer 99"),
        ({"per_batch": True}, "batch of net unknown"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    engine = load_engine(write_sample_set(tmp_path))
    if "per_batch" in options:
        engine = write_engine(tmp_path / "other", [conv("/a/Conv", "x", "a")])
    with pytest.raises(TrexError, match=message):
        compare([engine, engine], **options)  # type: ignore[arg-type]


def test_one_engine_is_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(TrexError, match="two or more engines, not 1"):
        compare([load_engine(write_sample_set(tmp_path))])


def test_engines_called_alike_are_told_apart(tmp_path: Path) -> None:
    layers = [conv("/a/Conv", "x", "a")]
    one, other = write_engine(tmp_path / "fp16", layers), write_engine(tmp_path / "int8", layers)
    assert make_labels([one, other]) == ["fp16/net", "int8/net"]
    assert make_labels([one, one, other]) == ["net", "net (2)", "net (3)"]


def test_an_engine_is_the_same_as_itself(tmp_path: Path) -> None:
    engine = load_engine(write_sample_set(tmp_path))
    found = compare([engine, engine])
    check(found)
    assert all(
        block.shape == "1:1" and not block.changes and not block.deltas_ms[1] for block in found.blocks
    )
    assert found.differences[1] is not None
    assert found.differences[1].reasons == ()
    assert "take the same" in found.differences[1].headline


def test_a_layer_without_a_name_matches_by_its_place(tmp_path: Path) -> None:
    write_json(tmp_path / "net.graph.json", {"Layers": ["conv", "", "pool"], "Bindings": []})
    engine = load_engine(tmp_path)
    assert [block.shape for block in compare([engine, engine]).blocks] == ["1:1"] * 3


def test_names_only_engines_match_by_name(artifacts: Path) -> None:
    assert artifacts.is_dir()
    engine = load_real(next(one for one in REAL_SETS if one.name == "trt8.6.0_exportLayerInfo_names_only"))
    found = compare([engine, engine])
    assert all(block.shape == "1:1" for block in found.blocks)
    assert any(caution.kind is CautionKind.GRAPH for caution in found.cautions)


def test_what_is_unknown_is_no_difference(tmp_path: Path) -> None:
    """An engine whose graph is lost has names and times: that tells neither another fusion nor another version."""
    sample = OLD_SAMPLES / "alexnet"
    profile = tmp_path / "alexnet_fp16.profile.json"
    profile.write_bytes((sample / profile.name).read_bytes())
    found = compare([load_engine(profile), load_engine(sample)])
    difference = found.differences[1]
    assert difference is not None
    assert ChangeKind.FUSION not in difference.changes
    (version,) = [caution.text for caution in found.cautions if caution.kind is CautionKind.VERSION]
    assert version.startswith("Possibly different TensorRT versions: ")


def test_further_timing_runs_widen_the_interval(tmp_path: Path) -> None:
    layers = [conv("/a/Conv", "x", "a")]
    fast = [1.0 + 0.001 * (place % 7) for place in range(200)]
    slow = [one + 0.05 for one in fast]
    one = write_engine(tmp_path / "one", layers, [0.1], latencies=fast)
    other = write_engine(tmp_path / "other", layers, [0.1], latencies=slow)
    assert compare([one, other]).verdict.outcome is Outcome.SLOWER


def test_a_hub_that_everything_reads_costs_no_square(tmp_path: Path) -> None:
    """A layer with 3 000 readers, once directly and once through a copy, in engines without common names."""
    engines = []
    for side in "ab":
        layers = [conv(f"{side} hub", "x", "h"), reformat(f"{side} copy", "h", "k")]
        layers += [
            conv(f"{side} {place}", "hk"[place % 2], f"o{side}{place}", 8 + place) for place in range(3000)
        ]
        engines.append(write_engine(tmp_path / side, layers, [0.001] * len(layers)))
    found = compare(engines)
    check(found)
    assert sum(block.shape == "1:1" for block in found.blocks) == 3002


def test_comparing_needs_no_heavy_library() -> None:
    code = (
        "import sys, trex_tui.old.analysis.compare as c\n"
        "heavy = {'numpy', 'pandas', 'networkx', 'rich', 'textual'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
