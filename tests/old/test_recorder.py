"""The recorder, against a TensorRT that is made up here: what is written is read back with the program's own readers."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import chain
from trex_tui import load_engine
from trex_tui.old.artifacts.profile import read_profile
from trex_tui.old.capture import recorder as recorder_module
from trex_tui.old.capture.recorder import Recorder, RecorderError


class IProfiler:
    """As TensorRT's: a subclass that forgets to call this `__init__` cannot be used."""

    def __init__(self):
        self.is_usable = True


class Context:
    def __init__(self, layers):
        self.layers, self.profiler, self.enqueue_emits_profile = layers, None, True
        self.waiting = []

    def execute(self, scale=1.0):
        times = [(name, ms * scale) for name, ms in self.layers]
        if self.profiler is not None and not self.enqueue_emits_profile:
            self.waiting = times

    def report_to_profiler(self):
        assert self.profiler.is_usable
        for name, ms in self.waiting:
            self.profiler.report_layer_time(name, ms)
        self.waiting = []


class Inspector:
    execution_context = None

    def __init__(self, text):
        self.text = text

    def get_engine_information(self, layer_format):
        assert layer_format == "JSON format"
        assert self.execution_context is not None, "shapes are only there with a context"
        return self.text


@pytest.fixture
def _tensorrt(monkeypatch):
    module = SimpleNamespace(IProfiler=IProfiler, LayerInformationFormat=SimpleNamespace(JSON="JSON format"))
    monkeypatch.setitem(sys.modules, "tensorrt", module)


LAYERS = [("conv", 0.5), ("relu", 0.1), ("conv", 0.25)]


def recorder_of(layers=LAYERS, clock=None):
    raw = chain(*[name for name, _ in layers])
    text = json.dumps({"Layers": raw, "Bindings": []})
    context = Context(layers)
    engine = SimpleNamespace(create_engine_inspector=lambda: Inspector(text))
    return (Recorder(engine, context, clock=clock) if clock else Recorder(engine, context)), context


@pytest.mark.usefixtures("_tensorrt")
def test_what_was_recorded_is_an_engine(tmp_path):
    ticks = iter([10.0, 10.002, 10.003, 10.0045])
    recorder, context = recorder_of(clock=lambda: next(ticks))
    for _ in range(2):
        with recorder.timed():
            context.execute()
    for scale in (1.0, 3.0, 1.1):
        with recorder.profiled():
            context.execute(scale)
    files = recorder.write(tmp_path / "new" / "folder", "net")
    assert [file.name for file in files] == ["net.graph.json", "net.profile.json", "net.timing.json"]
    engine = load_engine(tmp_path)
    assert engine.diagnostics == ()
    assert [layer.name for layer in engine.layers] == ["conv", "relu", "conv"]
    assert [layer.latency_ms for layer in engine.layers] == pytest.approx([0.85, 0.17, 0.425])
    assert [layer.latency.median_ms for layer in engine.layers] == pytest.approx([0.55, 0.11, 0.275])
    assert engine.profile_iterations == 3
    spreads = [layer.latency.spread for layer in engine.layers]
    expected = ((0.5, 1.5, 0.55), (0.1, 0.3, 0.11), (0.25, 0.75, 0.275))
    assert [list(spread.times_ms) for spread in spreads] == [pytest.approx(times) for times in expected]
    assert spreads[2].p99_ms == pytest.approx(0.75), "the second layer of this name has its own times"
    assert list(engine.timing.columns["latencyMs"]) == pytest.approx([2.0, 1.5])


@pytest.mark.usefixtures("_tensorrt")
def test_times_of_ones_own(tmp_path):
    recorder, _ = recorder_of()
    recorder.add_query(compute_ms=2.0, enqueue_ms=0.5, h2d_ms=0.25, d2h_ms=0.125)
    recorder.add_query(compute_ms=1.0)
    recorder.write(tmp_path, "net")
    rows = json.loads((tmp_path / "net.timing.json").read_text(encoding="utf-8"))
    assert rows[0]["latencyMs"] == 2.375
    assert rows[1]["startEnqMs"] == rows[0]["endD2hMs"] == 2.375
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(RecorderError, match="compute_ms"):
            recorder.add_query(compute_ms=wrong)


@pytest.mark.usefixtures("_tensorrt")
def test_the_contexts_own_profiler_is_put_back_also_after_a_failure():
    recorder, context = recorder_of()
    context.profiler = own = object()
    with pytest.raises(ZeroDivisionError), recorder.profiled():
        context.execute(scale=1 / 0)
    assert (context.profiler, context.enqueue_emits_profile) == (own, True)


@pytest.mark.usefixtures("_tensorrt")
def test_an_iteration_is_timed_or_profiled_never_both():
    recorder, _ = recorder_of()
    with pytest.raises(RecorderError, match="profiler slows"), recorder.profiled(), recorder.timed():
        pytest.fail("it ran")


@pytest.mark.usefixtures("_tensorrt")
def test_iterations_that_do_not_belong_together_are_refused():
    recorder, context = recorder_of()
    with recorder.profiled():
        context.execute()
    context.layers = [("other", 1.0)]
    with pytest.raises(RecorderError, match="different layers"), recorder.profiled():
        context.execute()
    with pytest.raises(RecorderError, match="no layer"), recorder.profiled():
        pass


@pytest.mark.usefixtures("_tensorrt")
def test_nothing_is_overwritten_unasked(tmp_path):
    recorder, _ = recorder_of()
    (tmp_path / "net.graph.json").write_text("precious", encoding="utf-8")
    with pytest.raises(RecorderError, match="exists"):
        recorder.write(tmp_path, "net")
    assert (tmp_path / "net.graph.json").read_text(encoding="utf-8") == "precious"
    recorder.write(tmp_path, "net", overwrite=True)
    assert len(load_engine(tmp_path).layers) == 3


@pytest.mark.usefixtures("_tensorrt")
@pytest.mark.parametrize("name", ["", "../up", "a/b", "."])
def test_a_name_is_no_path(tmp_path, name):
    with pytest.raises(RecorderError, match="not a file name"):
        recorder_of()[0].write(tmp_path, name)


@pytest.mark.usefixtures("_tensorrt")
def test_a_directory_that_cannot_be_is_told_in_one_line(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RecorderError, match=r"/file: cannot be written"):
        recorder_of()[0].write(tmp_path / "file", "net")


@pytest.mark.parametrize("times", ["fast", [], [0.5, None], [0.5, -1.0], None])
def test_damaged_samples_leave_the_rest_of_the_row(tmp_path, times):
    path = tmp_path / "net.profile.json"
    row = {"name": "a", "timeMs": 1.0, "averageMs": 0.5, "percentage": 50.0}
    rows = [{"count": 2}, {**row, "samplesMs": times}, {**row, "name": "b", "samplesMs": [0.25, 0.75]}]
    path.write_text(json.dumps(rows), encoding="utf-8")
    profile = read_profile(path)
    assert [one.average_ms for one in profile.rows] == [0.5, 0.5]
    assert profile.spreads[0] is None
    assert list(profile.spreads[1].times_ms) == [0.25, 0.75]


@given(names=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=5))
def test_any_name_survives(names):
    from trex_tui.old.capture.recorder import _lines

    rows = [{"count": 1}, *({"name": name, "timeMs": 1.5} for name in names)]
    assert json.loads(_lines(rows)) == rows


def test_tensorrt_is_needed_only_when_used():
    assert "tensorrt" not in sys.modules
    recorder, _ = recorder_of()
    recorder.add_query(compute_ms=1.0)
    assert "tensorrt" not in sys.modules


def docstring_blocks():
    """The indented blocks of code in the module's docstring."""
    blocks, lines = [], []
    for line in (*recorder_module.__doc__.splitlines(), ""):
        if line.startswith("    ") or (lines and not line.strip()):
            lines.append(line[4:])
        elif lines:
            blocks.append("\n".join(lines))
            lines = []
    return [*blocks, "\n".join(lines)] if lines else blocks


@pytest.mark.usefixtures("_tensorrt")
def test_the_examples_run(tmp_path, monkeypatch):
    """Also that with PyTorch, with stand-ins for the library and the context: no TensorRT runs here."""
    monkeypatch.chdir(tmp_path)
    recorder, context = recorder_of()
    addresses, used = {}, []

    def execute(stream):
        used.append(stream)
        context.execute()

    context.execute_async_v3, context.set_tensor_address = execute, addresses.__setitem__

    def make(*shape, device):
        assert device == "cuda"
        return SimpleNamespace(data_ptr=lambda: len(shape))

    cuda = SimpleNamespace(
        Stream=lambda: SimpleNamespace(cuda_stream=7, synchronize=lambda: None), synchronize=lambda: None
    )
    torch = SimpleNamespace(rand=make, empty=make, cuda=cuda)
    plain, with_torch = docstring_blocks()
    whole = f"{with_torch}\n{plain}".replace("Recorder(engine, context)", "recorder")
    exec(whole, {"torch": torch, "recorder": recorder, "context": context})  # noqa: S102 - our own text
    assert addresses == {"x": 4, "y": 2}
    assert used[0] == 7
    engine = load_engine(tmp_path / "results" / "model")
    assert engine.profile_iterations == 51
    assert len(engine.timing.latency_ms) == 200
    assert engine.layers[0].latency.spread.samples == 51
