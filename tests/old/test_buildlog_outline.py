"""A log without its tactics, and logs that are read once for all who ask."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.buildlog import BuildTrace, lines, read_build_log, reader
from trex_tui.old.buildlog import reader as shared
from trex_tui.old.buildlog.reader import read_outline
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError

LOGS = ARTIFACTS / "logs"
REAL = sorted(LOGS.glob("*.log")) if LOGS.is_dir() else []
TUNED = next((path for path in REAL if "trt10.16.1_H100_build_verbose" in path.name), None)
LEFT_OUT = ("is_whole", "path", "tunings", "reformat_costs")

needs_logs = pytest.mark.skipif(not REAL, reason=f"no real logs at {LOGS}")


def told(trace: BuildTrace) -> dict[str, str]:
    """What an outline tells, of an outline or of the whole."""
    values = {one.name: getattr(trace, one.name) for one in fields(trace) if one.name not in LEFT_OUT}
    values["phases"] = [one._replace(layer=None) for one in trace.phases]
    values["reformats"] = [one._replace(cost_ms=None) for one in trace.reformats]
    return {name: repr(value) for name, value in values.items()}


@pytest.fixture(autouse=True)
def _no_log_is_known() -> None:
    shared.forget_logs()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outline") / "part.log"


@needs_logs
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem[:20])
def test_an_outline_tells_all_but_tactics(path: Path) -> None:
    found, whole = read_outline(path), read_build_log(path)
    assert told(found) == told(whole)
    assert not found.is_whole
    assert not found.tunings
    assert whole.is_whole


@needs_logs
@example(which=0, end=1.0, hurt=[(1.0, b"[11/21/2026-10:00:00] [W] lost\n")])
@settings(max_examples=25)
@given(
    which=st.integers(0, max(len(REAL) - 1, 0)),
    end=st.floats(0, 1),
    hurt=st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([b"", b"x", b"\n", b"[11/21/2026-10:00:00] [W] lost\n"])),
        max_size=2,
    ),
)
def test_also_of_a_log_cut_off_or_mixed_with_another(
    log: Path, which: int, end: float, hurt: list[tuple[float, bytes]]
) -> None:
    data = REAL[which].read_bytes()
    data = data[: int(end * min(len(data), 400_000))]
    for share, what in hurt:
        place = int(share * len(data))
        data = data[:place] + what + data[place:]
    log.write_bytes(data)
    found, whole = read_outline(log), read_build_log(log)
    if not found.is_whole:
        # A stream that cuts a line about tuning in two leaves halves that are no messages of either.
        assert found.count_messages() == whole.count_messages()
        assert [one.name for one in found.passes] == [one.name for one in whole.passes]
        assert found.lines == whole.lines
    else:
        assert told(found) == told(whole)


@needs_logs
def test_a_line_within_a_line_takes_the_whole_and_a_foreign_prefix_does_not(tmp_path: Path) -> None:
    assert TUNED is not None
    data = TUNED.read_bytes()
    place = data.index(b"Tactic Name: ") + 20
    warning = b"[07/07/2026-02:11:09] [W] [TRT] in the middle\n"
    path = tmp_path / "mixed.log"
    path.write_bytes(data[:place] + warning + data[place:])
    found = read_outline(path)
    assert found.is_whole
    assert any(one.text == "in the middle" for one in found.messages)
    path.write_bytes(b"".join(b"worker_1  | " + line for line in data.splitlines(keepends=True)))
    found = read_outline(path)
    assert not found.is_whole
    assert told(found) == told(read_build_log(TUNED))


@needs_logs
def test_plugins_that_fill_a_piece_are_no_tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said before the network is parsed is of the same build, however little of the log is read at once."""
    assert TUNED is not None
    path = tmp_path / "a.log"
    path.write_bytes(TUNED.read_bytes()[:120_000])
    monkeypatch.setattr(lines, "PIECE_BYTES", 700)
    found = read_outline(path)
    assert not found.is_whole
    assert told(found) == told(read_build_log(path))


# Shared


def small_log(path: Path, more: str = "") -> Path:
    path.write_text(
        "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] # trtexec --onnx=a.onnx\n"
        f"[11/21/2026-10:00:00] [I] === Performance summary ===\n[11/21/2026-10:00:00] [I] Throughput: 10 qps\n{more}"
    )
    return path


def test_a_log_is_read_again_only_when_it_changes(tmp_path: Path) -> None:
    path = small_log(tmp_path / "a.log")
    outlined = shared.shared_outline(path)
    assert shared.shared_outline(path) is outlined
    first = shared.shared_log(path)
    assert first.is_whole
    assert shared.shared_log(path) is shared.shared_outline(path) is first
    small_log(path, "[11/21/2026-10:00:01] [W] more\n")
    assert shared.shared_log(path).messages
    os.utime(path, ns=(1, 1))
    assert shared.shared_log(path) is not first
    for number in range(2 * shared.MOST_KEPT):
        shared.shared_log(small_log(tmp_path / f"{number}.log"))
    assert len(shared._traces) == shared.MOST_KEPT
    path.unlink()
    with pytest.raises(ArtifactError):
        shared.shared_log(path)
    assert not shared._readings


def test_who_comes_second_waits_for_the_first_and_may_give_up(tmp_path: Path) -> None:
    path = small_log(tmp_path / "a.log")
    began, go_on = threading.Event(), threading.Event()
    found: list[BuildTrace] = []

    def slowly(_: int) -> None:
        began.set()
        go_on.wait(150)

    def give_up(_: int) -> None:
        raise InterruptedError

    first = threading.Thread(target=lambda: found.append(shared.shared_log(path, slowly)))
    first.start()
    began.wait(150)
    with pytest.raises(InterruptedError):
        shared.shared_log(path, give_up)
    second = threading.Thread(target=lambda: found.append(shared.shared_log(path)))
    second.start()
    go_on.set()
    first.join(150)
    second.join(150)
    assert found[0] is found[1]
    assert not shared._readings


def test_opening_a_set_reads_no_tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.graph.json").write_text('{"Layers": [{"Name": "x", "LayerType": "NoOp"}]}')
    small_log(tmp_path / "a.build.log")

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(shared, "read_build_log", refuse)
    monkeypatch.setattr(reader, "read_build_log", refuse)
    engine = load_engine(tmp_path)
    assert engine.metadata.performance["Throughput"] == "10 qps"
    (tmp_path / "a.graph.json").unlink()
    dump = "[11/21/2026-10:00:01] [V] [TRT] Engine Layer Information:\n"
    dump += "Layer(NoOp): x, Tactic: 0x0, a (Float[1]) -> b (Float[1])\n"
    path = small_log(tmp_path / "a.build.log", dump)
    engine = load_engine(path)
    assert engine.files == {ArtifactKind.BUILD_LOG: path}
    assert [layer.name for layer in engine.layers] == ["x"]


@needs_logs
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem[:20])
def test_without_names_of_kernels(path: Path) -> None:
    """Half of the time; nothing else differs."""
    bare, full = read_outline(path, has_names=False), read_outline(path)
    dumps = [[layer.name for layer in dump.layers] for dump in full.dumps]
    assert [[layer.name for layer in dump.layers] for dump in bare.dumps] == dumps
    assert bare.kernel_names == {}
    assert told(replace(bare, has_names=True, kernel_names=full.kernel_names, dumps=full.dumps)) == told(full)


def test_names_of_kernels_are_read_where_layers_lack_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def record(path: Path, *arguments: object, has_names: bool = True, **options: object) -> BuildTrace:
        asked.append(has_names)
        return read_outline(path, *arguments, has_names=has_names, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "read_outline", record)
    named = {"Name": "x", "LayerType": "NoOp", "TacticValue": "0x1", "TacticName": "k"}
    for number, (layers, wanted) in enumerate(
        [
            ([named], False),
            ([{key: named[key] for key in ("Name", "LayerType", "TacticValue")}], True),
            (["x"], True),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.graph.json").write_text(json.dumps({"Layers": layers}))
        small_log(folder / "a.build.log")
        asked.clear()
        load_engine(folder)
        assert asked == [wanted]
