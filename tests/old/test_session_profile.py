"""Profiles of sessions of ONNX Runtime: what ran on TensorRT, and what fell back to CUDA or the CPU.

The form is that of ONNX Runtime, which is run here on the CPU where it is installed. No profile with TensorRT was at hand:
its nodes are written as its source names them.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explained import assert_keys_explained
from helpers import chain, examples, write_graph
from trex_tui.old.analysis.session import find_session_use, name_provider
from trex_tui.old.artifacts import ArtifactKind, find, scan
from trex_tui.old.artifacts.file_kinds import sniff
from trex_tui.old.artifacts.session_profile import read_session_profile
from trex_tui.old.cli import main
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError, Severity

NAME = "onnxruntime_profile__2026-01-02_03-04-05.json"
ENGINES = (
    "TRTKernel_graph_main_graph_12802227604276161730_0",
    "TRTKernel_graph_main_graph_12802227604276161730_1",
)
Node = tuple[str, str, str, int]
"""Name, operator, provider, microseconds."""
NODES: list[Node] = [
    ("Memcpy_token_0", "MemcpyFromHost", "CUDA", 10),
    (f"TensorrtExecutionProvider_{ENGINES[0]}", ENGINES[0], "Tensorrt", 700),
    ("/Resize_1", "Resize", "CUDA", 50),
    ("/Resize_2", "Resize", "CUDA", 30),
    ("Memcpy_token_1", "MemcpyToHost", "CUDA", 20),
    ("/NonZero", "NonZero", "CPU", 90),
    (f"TensorrtExecutionProvider_{ENGINES[1]}", ENGINES[1], "Tensorrt", 100),
]


def event(cat: str, name: str, start: int, duration: int, **args: Any) -> str:
    return (
        f'{{"cat" : "{cat}","pid" :7,"tid" :7,"dur" :{duration},"ts" :{start},"ph" : "X","name" :{json.dumps(name)},'
        f'"args" : {json.dumps(args)}}}'
    )


def session_text(nodes: list[Node], runs: int = 3, first: int = 50) -> str:
    """What ONNX Runtime writes; the first run takes `first` times as long."""
    lines = [
        event("Session", "model_loading_uri", 23, 807),
        event("Session", "session_initialization", 900, 14118),
    ]
    now = 20_000
    for run in range(runs):
        begin, scale = now, first if run == 0 else 1
        for name, operator, provider, micros in nodes:
            args = {"op_name": operator, "provider": f"{provider}ExecutionProvider", "node_index": "1"}
            lines.append(event("Node", f"{name}_kernel_time", now, micros * scale, **args))
            now += micros * scale + 1
        lines.append(event("Session", "SequentialExecutor::Execute", begin, now - begin))
        lines.append(event("Session", "model_run", begin, now - begin))
        now += 10
    return "[\n" + ",\n".join(lines) + "\n]\n"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / NAME
    path.write_text(session_text(NODES), encoding="utf-8")
    return path


class TestReading:
    def test_what_fell_back(self, session: Path) -> None:
        assert sniff(session).kind is ArtifactKind.SESSION
        use = find_session_use(read_session_profile(session))
        assert (use.profile.runs, use.profile.warmup_runs) == (2, 1)
        assert use.node_ms == pytest.approx(1.0)
        assert [(group.provider, group.nodes, group.time_ms) for group in use.providers] == [
            ("TensorRT", 2, pytest.approx(0.8)),
            ("CUDA", 4, pytest.approx(0.11)),
            ("CPU", 1, pytest.approx(0.09)),
        ]
        assert [(group.first, group.time_pct) for group in use.engines] == [
            (f"TensorrtExecutionProvider_{ENGINES[0]}", pytest.approx(70.0)),
            (f"TensorrtExecutionProvider_{ENGINES[1]}", pytest.approx(10.0)),
        ]
        assert [(group.provider, group.operators, group.first, group.last) for group in use.fallbacks] == [
            ("CUDA", {"Resize": 2}, "/Resize_1", "/Resize_2"),
            ("CPU", {"NonZero": 1}, "/NonZero", "/NonZero"),
        ]
        assert use.copies is not None
        assert (use.copies.nodes, use.copies.time_ms) == (2, pytest.approx(0.03))

    def test_a_body_is_not_counted_twice(self, tmp_path: Path) -> None:
        cpu = {"provider": "CPUExecutionProvider"}
        lines = [
            event("Node", "add_kernel_time", 110, 20, op_name="Add", **cpu),
            event("Node", "add_kernel_time", 140, 20, op_name="Add", **cpu),
            event("Node", "loop_kernel_time", 100, 100, op_name="Loop", **cpu),
        ]
        path = tmp_path / NAME
        path.write_text("[\n" + ",\n".join(lines) + "\n]", encoding="utf-8")
        profile = read_session_profile(path)
        assert [(node.name, node.calls, node.time_ms) for node in profile.nodes] == [
            ("loop", 1, pytest.approx(0.06)),
            ("add", 2, pytest.approx(0.04)),
        ]
        assert (profile.runs, profile.run_ms) == (None, None)

    def test_one_run_counts(self, tmp_path: Path) -> None:
        path = tmp_path / NAME
        path.write_text(session_text(NODES, runs=1, first=1), encoding="utf-8")
        profile = read_session_profile(path)
        assert (profile.runs, profile.warmup_runs) == (1, 0)
        assert find_session_use(profile).node_ms == pytest.approx(1.0)

    def test_cut_off(self, session: Path) -> None:
        text = session.read_text(encoding="utf-8")
        session.write_text(text[: len(text) * 2 // 3], encoding="utf-8")
        profile = read_session_profile(session)
        assert len(profile.nodes) == len(NODES)
        (note,) = profile.diagnostics
        assert note.severity is Severity.ERROR
        assert "read by line" in note.message

    def test_without_nodes(self, tmp_path: Path) -> None:
        path = tmp_path / NAME
        path.write_text("[\n" + event("Session", "model_run", 1, 2) + "\n]", encoding="utf-8")
        assert sniff(path).kind is ArtifactKind.SESSION
        with pytest.raises(ArtifactError, match="no times of nodes"):
            read_session_profile(path)

    def test_old_profiles_name_no_provider(self, tmp_path: Path) -> None:
        path = tmp_path / NAME
        path.write_text("[\n" + event("Node", "_kernel_time", 1, 2, op_name="Conv") + "\n]", encoding="utf-8")
        (group,) = find_session_use(read_session_profile(path)).providers
        assert (group.provider, group.operators) == ("unknown", {"Conv": 1})
        assert name_provider("") == "unknown"

    @settings(max_examples=examples(60), deadline=None)
    @given(
        records=st.lists(
            st.fixed_dictionaries(
                {
                    "cat": st.sampled_from(["Node", "Session", 1]),
                    "name": st.sampled_from(["a_kernel_time", "model_run", None]),
                },
                optional={
                    "ts": st.integers() | st.floats() | st.text(max_size=3),
                    "dur": st.integers() | st.floats() | st.none(),
                    "tid": st.integers() | st.lists(st.integers(), max_size=2),
                    "args": st.dictionaries(
                        st.sampled_from(["op_name", "provider"]), st.text(max_size=3) | st.integers()
                    )
                    | st.none(),
                },
            ),
            max_size=12,
        )
    )
    def test_anything_is_read_or_refused(
        self, records: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.getbasetemp() / NAME
        path.write_text(json.dumps(records), encoding="utf-8")
        with contextlib.suppress(ArtifactError):
            use = find_session_use(read_session_profile(path))
            assert use.node_ms >= 0


class TestShown:
    def test_alone(self, session: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for path in (session, session.parent):
            assert main(["summary", str(path)]) == 0
            text = capsys.readouterr().out
            assert "TensorRT: 2 engines, 80.00 % of the time of all nodes." in text
            assert (
                "Fell back: 2 subgraphs; CUDA 4 nodes, 0.1100 ms (11.00 %), CPU 1 node, 0.0900 ms (9.00 %)."
                in text
            )
            assert "CUDA: Resize ×2 from /Resize_1, 0.0800 ms (8.00 %)." in text
            assert "Copies between host and device: 2, 0.0300 ms." in text

    def test_json(self, session: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["summary", "--json", str(session)]) == 0
        document = json.loads(capsys.readouterr().out)
        found = document["engines"][0]["session"]
        assert [part["operators"] for part in found["fallbacks"]] == [
            [{"operator": "Resize", "nodes": 2}],
            [{"operator": "NonZero", "nodes": 1}],
        ]
        assert [part["name"] for part in found["engines"]] == [
            f"TensorrtExecutionProvider_{name}" for name in ENGINES
        ]
        assert found["runs"] == 2
        assert_keys_explained("summary", document)

    def test_without_runs_and_times(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / NAME
        path.write_text(
            "[\n" + event("Node", "a_kernel_time", 1, 0, op_name="Conv") + "\n]", encoding="utf-8"
        )
        assert main(["summary", "--json", str(path)]) == 0
        found = json.loads(capsys.readouterr().out)["engines"][0]["session"]
        assert (found["runs"], found["run_ms"], found["providers"][0]["time_pct"]) == (None, None, None)
        assert main(["summary", str(path)]) == 0
        assert "times are sums over the file" in capsys.readouterr().out

    def test_beside_an_engine(self, session: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_graph(session.parent / "net.graph.json", chain("a", "b"))
        (source,) = find(session.parent)
        assert source.name == "net"
        assert source.files[ArtifactKind.SESSION] == session
        assert not scan(session.parent).diagnostics
        assert load_engine(session.parent).session is not None
        for command in (["report"], ["lint"], ["layers"], ["export", "--format", "dot"], ["times"]):
            assert main([*command, str(session.parent)]) in (0, 1, 2)
            assert "Traceback" not in capsys.readouterr().err

    def test_one_of_several_engines_is_not_guessed(self, session: Path) -> None:
        for name in ("net", "other"):
            write_graph(session.parent / f"{name}.graph.json", chain("a", "b"))
        shutil.copy(session, session.parent / "other.session.json")
        sets = {source.name: source for source in find(session.parent)}
        assert ArtifactKind.SESSION not in sets["net"].files
        assert sets["other"].files[ArtifactKind.SESSION].name == "other.session.json"

    def test_a_broken_profile_leaves_the_engine(
        self, session: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write_graph(session.parent / "net.graph.json", chain("a", "b"))
        session.write_text("[\n" + event("Session", "model_run", 1, 2) + "\n]", encoding="utf-8")
        assert main(["summary", str(session.parent)]) == 0
        assert "no times of nodes" in capsys.readouterr().err


def test_a_profile_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    numpy = pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    shape = [1, 3, 8, 8]
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name in "xy"]
    nodes = [
        onnx.helper.make_node("Relu", ["x"], ["r"], name="relu"),
        onnx.helper.make_node("Exp", ["r"], ["y"], name="exp"),
    ]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "g", value[:1], value[1:]),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    options = runtime.SessionOptions()
    options.enable_profiling = True
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for _ in range(3):
        session.run(None, {"x": numpy.ones(shape, dtype="float32")})
    path = Path(session.end_profiling())
    assert sniff(path).kind is ArtifactKind.SESSION
    use = find_session_use(read_session_profile(path))
    assert (use.profile.runs, use.engines) == (2, ())
    assert [(group.provider, group.nodes) for group in use.providers] == [("CPU", 2)]
    assert [group.operators for group in use.fallbacks] == [{"Relu": 1, "Exp": 1}]
