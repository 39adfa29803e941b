"""Stages of TensorRT-Edge-LLM, prefill and decode, as runs of one engine: its CSV files, and JSON of its `LayerProfile`.

The forms follow its sources; no real file was at hand.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples, layer, tensor, write_graph
from trex_tui.old.artifacts import ArtifactKind, find, scan
from trex_tui.old.artifacts.file_kinds import sniff
from trex_tui.old.artifacts.profile import read_profiles
from trex_tui.old.artifacts.stage_times import find_stages, is_stage_table, read_stage_table
from trex_tui.old.cli import main
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError
from trex_tui.old.report.views.runs import run_words

HEADER = (
    "layer_name,onnx_op,input_shapes,output_shapes,tactic_name,input_data_types,output_data_types,category,"
    "time_ms_mean,time_ms_std,time_ms_min,time_ms_max,batch_size"
)
NAMES = ("__myl_Move_myl0_0", "/model/layers.0/attn, q", "lm_head")


def table(times: list[float], parameters: str, values: str, names: tuple[str, ...] = NAMES) -> str:
    rows = [
        f'"{name}","","","","","","",gemm,{time:.4f},{time / 10:.4f},{time * 0.9:.4f},{time * 1.2:.4f},1,{values}'
        for name, time in zip(names, times, strict=True)
    ]
    return "\n".join([f"{HEADER},{parameters}", *rows]) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What `llm_bench --outputDir` leaves after a run of each stage, and the layer information of trtexec."""
    (tmp_path / "layer_prefill_inputlen128.csv").write_text(
        table([2.0, 6.0, 2.0], "input_len", "128"), encoding="utf-8"
    )
    (tmp_path / "layer_decode_pastkvlen128.csv").write_text(
        table([0.2, 0.5, 0.3], "past_kv_len", "128"), encoding="utf-8"
    )
    (tmp_path / "e2e_decode_pastkvlen128.csv").write_text(
        "mode,batch_size,osl,e2e_time_ms,per_token_ms,throughput_tps,past_kv_len\ndecode,1,1,1.0,1.0,1000.0,128\n",
        encoding="utf-8",
    )
    layers = [
        layer(name, "kgen", [tensor(f"t{i}", 1, 8)], [tensor(f"t{i + 1}", 1, 8)])
        for i, name in enumerate(NAMES)
    ]
    write_graph(tmp_path / "llm.json", layers)
    return tmp_path


def summary(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["summary", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)["engines"]


class TestTables:
    def test_stages_are_runs(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (source,) = find(folder)
        assert source.files[ArtifactKind.GRAPH].name == "llm.json"
        assert not scan(folder).diagnostics
        (engine,) = summary(capsys, str(folder))
        runs = [(run["stage"], run["latency_sum_ms"], run["shown"]) for run in engine["runs"]]
        assert runs == [
            ("prefill batch_size=1 input_len=128", 10.0, False),
            ("decode batch_size=1 past_kv_len=128", 1.0, True),
        ]
        assert engine["latency_sum_ms"] == 1.0
        (engine,) = summary(capsys, str(folder), "--run", "1")
        assert engine["latency_sum_ms"] == 10.0

    def test_a_named_stage_is_shown(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (engine,) = summary(capsys, str(folder / "layer_prefill_inputlen128.csv"))
        assert engine["latency_sum_ms"] == 10.0
        assert [run["shown"] for run in engine["runs"]] == [True, False]
        assert run_words(load_engine(folder)) == ["run 2 of 2 (decode)"]

    def test_spread(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        engine = load_engine(folder, run=1)
        spread = engine.layers[1].latency.spread
        assert (spread.cv_pct, spread.p99_ms, spread.samples) == (pytest.approx(10.0), None, 0)
        for command in (
            ["layers", "--columns", "name,cv_pct,p99_ms,outliers"],
            ["lint"],
            ["report"],
            ["times"],
        ):
            assert main([*command, str(folder)]) in (0, 1, 2)
            capsys.readouterr()
        assert main(["layers", "--chart", "spread", str(folder)]) == 2
        assert "o single times of layers" in capsys.readouterr().err

    def test_one_stage_against_another(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["diff", str(folder), "--run-a", "1", "--run-b", "2"]) == 0
        assert "9" in capsys.readouterr().out

    def test_other_engines_stand_alone(self, folder: Path) -> None:
        for name in ("layer_visual_448x448.csv", "layer_spec_draft_prefill_inputlen128.csv"):
            (folder / name).write_text(table([1.0, 1.0, 1.0], "image_height", "448"), encoding="utf-8")
        assert sorted(source.name for source in find(folder)) == ["draft", "llm", "visual"]
        assert [file.name for file in find_stages(folder / "layer_visual_448x448.csv")] == [
            "layer_visual_448x448.csv"
        ]

    def test_an_archive_has_every_stage(
        self, folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "llm.json").rename(folder / "qwen.graph.json")
        target = tmp_path_factory.mktemp("packed") / "llm.tea"
        assert main(["export", "--format", "tea", str(folder), "-o", str(target)]) == 0
        capsys.readouterr()
        (engine,) = summary(capsys, str(target), "--run", "1")
        assert [run["shown"] for run in engine["runs"]] == [True, False]
        assert (engine["latency_sum_ms"], engine["names_only"]) == (10.0, False)

    def test_a_broken_stage_is_stated(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (folder / "layer_prefill_inputlen128.csv").write_text(f"{HEADER}\n", encoding="utf-8")
        (engine,) = summary(capsys, str(folder))
        assert engine["runs"] == []
        assert engine["latency_sum_ms"] == 1.0
        assert any("layer_prefill" in str(note["file"]) for note in engine["diagnostics"])

    def test_damage(self, folder: Path) -> None:
        path = folder / "layer_decode_pastkvlen128.csv"
        path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
        read = read_stage_table(path)
        assert len(read.rows) == 2
        assert "1 lost" in read.damage
        path.write_text(f"{HEADER}\nx,y\n", encoding="utf-8")
        with pytest.raises(ArtifactError, match="no times of layers"):
            read_stage_table(path)

    @settings(max_examples=examples(60), deadline=None)
    @given(text=st.text(max_size=300))
    def test_anything_is_read_or_refused(self, text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        path = tmp_path_factory.getbasetemp() / "layer_decode_pastkvlen1.csv"
        path.write_text(f"{HEADER},past_kv_len\n{text}", encoding="utf-8", errors="surrogatepass")
        sniff(path)
        with contextlib.suppress(ArtifactError):
            assert read_stage_table(path).rows

    def test_other_tables_are_none(self) -> None:
        assert not is_stage_table("timestamp, power.draw [W]")
        assert not is_stage_table("layer_name,category\n")


def printed(stage: str, times: list[float], iterations: int = 10) -> str:
    """A table as `printLayerProfileTable` prints it."""
    rows = sorted(zip(times, NAMES, strict=True), reverse=True)
    lines = [f"=== {stage} Layer Performance Profile ({iterations} iterations) ==="]
    lines.append("   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer")
    for time, name in [*rows, (sum(times), "Stage Total")]:
        share = 100 * time / sum(times)
        lines.append(f"{time * iterations:12.2f}{time:12.4f}{time:12.4f}{share:12.1f}   {name}")
    return "\n".join(["", *lines, ""])


class TestPrinted:
    def test_tables_are_runs(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "llm_bench.log"
        text = f"[INFO] Results:\n{printed('prefill', [2.0, 6.0, 2.0])}[INFO] more\n{printed('decode', [0.2, 0.5, 0.3])}"
        path.write_text(text, encoding="utf-8")
        assert sniff(path).kind is ArtifactKind.PROFILE
        prefill, decode = read_profiles(path)
        assert (prefill.stage, prefill.iterations, prefill.sum_ms) == ("prefill", 10, pytest.approx(10.0))
        assert decode.rows[0] == (NAMES[1], 5.0, 0.5, 0.5, 50.0)
        (engine,) = summary(capsys, str(tmp_path))
        assert [(run["stage"], run["shown"]) for run in engine["runs"]] == [
            ("prefill", False),
            ("decode", True),
        ]

    def test_cut_off(self, tmp_path: Path) -> None:
        path = tmp_path / "llm.log"
        path.write_text(printed("", [2.0, 6.0, 2.0])[:-60], encoding="utf-8")
        (profile,) = read_profiles(path)
        assert not profile.is_whole
        assert "no end of a table" in profile.diagnostics[-1].message
        path.write_text("=== x Layer Performance Profile (1 iterations) ===\n", encoding="utf-8")
        with pytest.raises(ArtifactError, match="no times of layers"):
            read_profiles(path)


def profiles(stage: str, scale: float) -> list[dict[str, Any]]:
    return [
        {"name": name, "stageName": stage, "timeMs": [scale * (index + 1), scale * (index + 1.5)]}
        for index, name in enumerate(NAMES)
    ]


class TestJson:
    @pytest.mark.parametrize(
        "document",
        [
            [*profiles("prefill", 1.0), *profiles("decode", 0.1)],
            {"layers": [*profiles("prefill", 1.0), *profiles("decode", 0.1)]},
            [
                {"stageName": stage, "iterationCount": 2, "enabled": True, "layers": profiles(stage, scale)}
                for stage, scale in (("prefill", 1.0), ("decode", 0.1))
            ],
        ],
    )
    def test_stages(self, tmp_path: Path, document: Any) -> None:
        path = tmp_path / "llm.profile.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        assert sniff(path).kind is ArtifactKind.PROFILE
        prefill, decode = read_profiles(path)
        assert (prefill.stage, decode.stage) == ("prefill", "decode")
        assert prefill.sum_ms == pytest.approx(1.25 + 2.25 + 3.25)
        assert decode.rows[0].average_ms == pytest.approx(0.125)
        assert decode.iterations == 2
        spread = decode.spreads[0]
        assert spread is not None
        assert list(spread.times_ms) == [0.1, pytest.approx(0.15)]
        engine = load_engine(tmp_path)
        assert [(run.stage, run.is_shown) for run in engine.runs] == [("prefill", False), ("decode", True)]

    def test_other_layers_per_stage(self, tmp_path: Path) -> None:
        """A kernel of a stage has its own name: the rows of a stage are a run even where few names are alike."""
        rows = [*profiles("prefill", 1.0), {"name": "only_in_decode", "stageName": "decode", "timeMs": [0.5]}]
        path = tmp_path / "llm.profile.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        assert [[row.name for row in profile.rows] for profile in read_profiles(path)] == [
            list(NAMES),
            ["only_in_decode"],
        ]
