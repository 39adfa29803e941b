"""Record artifacts without trtexec, in an application that runs TensorRT itself.

For Torch-TensorRT and custom programs. Given an engine and its execution context, writes `<name>.graph.json`,
`<name>.profile.json` and `<name>.timing.json` in trtexec's formats, from `IEngineInspector` and `IProfiler`:

    recorder = Recorder(engine, context)
    for _ in range(200):
        with recorder.timed():          # end to end; no profiler is attached
            context.execute_async_v3(stream)
            stream.synchronize()
    for _ in range(50):
        with recorder.profiled():       # time per layer
            context.execute_async_v3(stream)
            stream.synchronize()
    recorder.write("results/model", "model")

Each row of the profile also has the time of every iteration (`samplesMs`), for percentiles and spread per layer.

The two kinds of iterations are separate because a profiler slows the engine down. Build the engine with
`config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED`, or its layers have only names. Not tested on a GPU yet.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from trex_tui.artifacts.profile import SAMPLES_KEY
from trex_tui.artifacts.write import write_atomically
from trex_tui.errors import TrexError, describe_os_error


class RecorderError(TrexError):
    """Something could not be recorded or written; the message has the reason."""


class Recorder:
    """Records runs of an engine and writes them as artifacts.

    Args:
        engine: An `ICudaEngine`.
        context: The `IExecutionContext` that runs it; the layer information has its shapes.
        tensorrt: The module that they are of; by default `tensorrt`.

    Attributes:
        queries: A row per timed query, under trtexec's keys.
    """

    def __init__(
        self,
        engine: Any,  # noqa: ANN401
        context: Any,  # noqa: ANN401
        *,
        tensorrt: Any = None,  # noqa: ANN401
    ) -> None:
        self._engine, self._context = engine, context
        self._tensorrt = tensorrt or import_module("tensorrt")
        self._began: float | None = None
        self.queries: list[dict[str, float]] = []
        self._names: list[str] = []
        self._samples_ms: list[list[float]] = []
        self._iterations = 0
        self._profiler: Any = None
        self._calls: list[tuple[str, float]] = []

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Time one query with the clock of this machine. Synchronize the stream before the block ends.

        Raises:
            RecorderError: Called inside `profiled`, which slows the engine down.
        """
        if self._profiler is not None and self._context.profiler is self._profiler:
            raise RecorderError(
                "an iteration cannot be timed and profiled at once: the profiler slows it down"
            )
        start = time.perf_counter()
        if self._began is None:
            self._began = start
        yield
        end = time.perf_counter()
        self.add_query(compute_ms=1000 * (end - start), start_ms=1000 * (start - self._began))

    def add_query(
        self,
        *,
        compute_ms: float,
        start_ms: float | None = None,
        enqueue_ms: float = 0.0,
        h2d_ms: float = 0.0,
        d2h_ms: float = 0.0,
    ) -> None:
        """Add a query timed by other means, for instance with CUDA events.

        Args:
            compute_ms: From the start of the first kernel to the end of the last.
            start_ms: Start, relative to the first query; by default the end of the previous query.
            enqueue_ms: Time the host took to enqueue the query.
            h2d_ms, d2h_ms: Copies to and from the device.

        Raises:
            RecorderError: A time is negative or not a number.
        """
        if not all(0 <= value < math.inf for value in (compute_ms, enqueue_ms, h2d_ms, d2h_ms)):
            raise RecorderError("a time is negative or not a number")
        if start_ms is None:
            start_ms = self.queries[-1]["endD2hMs"] if self.queries else 0.0
        copied, computed = start_ms + h2d_ms, start_ms + h2d_ms + compute_ms
        self.queries.append(
            {
                "startEnqMs": start_ms,
                "endEnqMs": start_ms + enqueue_ms,
                "startH2dMs": start_ms,
                "endH2dMs": copied,
                "startComputeMs": copied,
                "endComputeMs": computed,
                "startD2hMs": computed,
                "endD2hMs": computed + d2h_ms,
                "h2dMs": h2d_ms,
                "computeMs": compute_ms,
                "d2hMs": d2h_ms,
                "latencyMs": h2d_ms + compute_ms + d2h_ms,
            }
        )

    @contextmanager
    def profiled(self) -> Iterator[None]:
        """Time each layer in one iteration. Synchronize the stream before the block ends.

        The previous profiler of the context is restored afterwards. Under CUDA graphs the times are read after the run, as
        trtexec does (`enqueueEmitsProfile`).
        """
        context = self._context
        before = context.profiler, context.enqueue_emits_profile
        self._profiler = self._profiler or _make_profiler(self._tensorrt, self._calls)
        context.profiler, context.enqueue_emits_profile = self._profiler, False
        self._calls.clear()
        try:
            yield
            context.report_to_profiler()
        finally:
            context.profiler, context.enqueue_emits_profile = before
        self._count(self._calls)

    def _count(self, calls: list[tuple[str, float]]) -> None:
        """Add the times of one iteration. Rows are identified by their order, since names repeat."""
        if not calls:
            raise RecorderError("no layer was profiled; run the given context in the block")
        names = [name for name, _ in calls]
        if not self._names:
            self._names, self._samples_ms = names, [[] for _ in names]
        if names != self._names:
            raise RecorderError(
                "this iteration ran different layers from the first: record one profile at a time"
            )
        for samples_ms, (_, sample_ms) in zip(self._samples_ms, calls, strict=True):
            samples_ms.append(sample_ms)
        self._iterations += 1

    def layer_information(self) -> str:
        """Return the JSON of `IEngineInspector`, with the shapes of the context."""
        inspector = self._engine.create_engine_inspector()
        inspector.execution_context = self._context
        text: str = inspector.get_engine_information(self._tensorrt.LayerInformationFormat.JSON)
        return text

    @property
    def timing(self) -> str:
        """The rows of `--exportTimes`."""
        return json.dumps(self.queries, indent=0) + "\n"

    @property
    def profile(self) -> str:
        """The rows of `--exportProfile`."""
        totals = [math.fsum(samples_ms) for samples_ms in self._samples_ms]
        whole = math.fsum(totals)
        rows: list[dict[str, Any]] = [{"count": self._iterations}]
        for name, samples_ms, total in zip(self._names, self._samples_ms, totals, strict=True):
            rows.append(
                {
                    "name": name,
                    "timeMs": total,
                    "averageMs": statistics.fmean(samples_ms),
                    "medianMs": statistics.median(samples_ms),
                    "percentage": 100 * total / whole if whole else 0.0,
                    SAMPLES_KEY: samples_ms,
                }
            )
        return json.dumps(rows, indent=0) + "\n"

    def write(self, directory: str | Path, name: str, *, overwrite: bool = False) -> list[Path]:
        """Write the recorded artifacts, each file completely or not at all; creates the directory.

        Args:
            directory: Output directory.
            name: Base name of the files, without `.graph.json` etc.
            overwrite: Replace existing files.

        Returns:
            The files written: the graph always, the others if they have content.

        Raises:
            RecorderError: A file exists or cannot be written, or the name contains a path.
        """
        if not name or Path(name).name != name:
            raise RecorderError(f"not a file name: {name!r}; leave out slashes and a leading dot")
        texts = {"graph": self.layer_information()}
        if self._iterations:
            texts["profile"] = self.profile
        if self.queries:
            texts["timing"] = self.timing
        files = {Path(directory, f"{name}.{kind}.json"): text for kind, text in texts.items()}
        if not overwrite and (there := [path for path in files if path.exists()]):
            raise RecorderError(f"{there[0]}: exists; overwrite=True replaces it")
        try:
            for path, content in files.items():
                write_atomically(path, content, make_directory=True)
        except OSError as error:
            raise RecorderError(describe_os_error(error, f"{directory}: cannot be written")) from error
        return list(files)


def _make_profiler(tensorrt: Any, calls: list[tuple[str, float]]) -> Any:  # noqa: ANN401 - a class of tensorrt's
    """Return an `IProfiler` that appends the layers and their milliseconds to a list."""

    class Profiler(tensorrt.IProfiler):  # type: ignore[misc]
        def __init__(self) -> None:
            tensorrt.IProfiler.__init__(self)

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            calls.append((layer_name, ms))

    return Profiler()
