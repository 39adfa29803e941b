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

With PyTorch, the tensors of a program are the inputs and outputs, and its stream runs the engine:

    stream = torch.cuda.Stream()
    tensors = {"x": torch.rand(1, 3, 224, 224, device="cuda"), "y": torch.empty(1, 1000, device="cuda")}
    for tensor_name, tensor in tensors.items():
        context.set_tensor_address(tensor_name, tensor.data_ptr())
    torch.cuda.synchronize()            # the tensors are ready on the other stream
    with recorder.profiled():
        context.execute_async_v3(stream.cuda_stream)
        stream.synchronize()

The two kinds of iterations are separate because a profiler slows the engine down. Build the engine with
`config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED`, or its layers have only names.

`tensorrt` is imported on first use. Not tested with a real TensorRT yet.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from trex_tui.old.artifacts.output_files import write_all
from trex_tui.old.artifacts.profile import SAMPLES_KEY
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass

_SIGNIFICANT = 6
"""Significant digits of trtexec's numbers."""


class RecorderError(TrexError):
    """Something could not be recorded or written; the message has the reason."""


@dataclass(slots=True)
class _ProfileRow:
    name: str
    samples_ms: list[float] = field(default_factory=list)


class Recorder:
    """Records runs of an engine and writes them as artifacts.

    Args:
        engine: A `tensorrt.ICudaEngine`.
        context: The `tensorrt.IExecutionContext` that runs it; the layer information has its shapes.
        clock: Returns seconds since any fixed moment, for `timed`.
    """

    def __init__(self, engine: Any, context: Any, *, clock: Callable[[], float] = time.perf_counter) -> None:  # noqa: ANN401
        self._engine, self._context, self._clock = engine, context, clock
        self._began: float | None = None
        self._queries: list[dict[str, float]] = []
        self._rows: list[_ProfileRow] = []
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
        start = self._clock()
        if self._began is None:
            self._began = start
        yield
        end = self._clock()
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
        times = {"compute_ms": compute_ms, "enqueue_ms": enqueue_ms, "h2d_ms": h2d_ms, "d2h_ms": d2h_ms}
        for name, value in times.items():
            if not math.isfinite(value) or value < 0:
                raise RecorderError(f"{name} is {value}: a time is a number from 0 on")
        if start_ms is None:
            start_ms = self._queries[-1]["endD2hMs"] if self._queries else 0.0
        copied, computed = start_ms + h2d_ms, start_ms + h2d_ms + compute_ms
        self._queries.append(
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
        self._profiler = self._profiler or _profiler_into(self._calls)
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
        if not self._rows:
            self._rows = [_ProfileRow(name) for name in names]
        if names != [row.name for row in self._rows]:
            raise RecorderError(
                "this iteration ran different layers from the first: record one profile at a time"
            )
        for row, (_, sample_ms) in zip(self._rows, calls, strict=True):
            row.samples_ms.append(sample_ms)
        self._iterations += 1

    def layer_information(self) -> str:
        """Return the JSON of `IEngineInspector`, with the shapes of the context."""
        import tensorrt

        inspector = self._engine.create_engine_inspector()
        inspector.execution_context = self._context
        text: str = inspector.get_engine_information(tensorrt.LayerInformationFormat.JSON)
        return text

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
            texts["profile"] = self._profile_text()
        if self._queries:
            texts["timing"] = _lines(self._queries)
        files = {Path(directory, f"{name}.{kind}.json"): text for kind, text in texts.items()}
        if not overwrite and (there := [path for path in files if path.exists()]):
            raise RecorderError(f"{there[0]}: exists; overwrite=True replaces it")
        try:
            write_all(files)
        except OSError as error:
            raise RecorderError(f"{directory}: cannot be written: {describe_reason(error)}") from error
        return list(files)

    def _profile_text(self) -> str:
        totals = [sum(row.samples_ms) for row in self._rows]
        whole = sum(totals)
        rows: list[dict[str, Any]] = [{"count": self._iterations}]
        for row, total in zip(self._rows, totals, strict=True):
            rows.append(
                {
                    "name": row.name,
                    "timeMs": total,
                    "averageMs": total / self._iterations,
                    "medianMs": statistics.median(row.samples_ms),
                    "percentage": 100 * total / whole if whole else 0.0,
                    SAMPLES_KEY: row.samples_ms,
                }
            )
        return _lines(rows)


def _profiler_into(calls: list[tuple[str, float]]) -> Any:  # noqa: ANN401 - a class of tensorrt's
    """Return an `IProfiler` that appends the layers and their milliseconds to a list."""
    import tensorrt

    class Profiler(tensorrt.IProfiler):  # type: ignore[misc]
        def __init__(self) -> None:
            tensorrt.IProfiler.__init__(self)

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            calls.append((layer_name, ms))

    return Profiler()


def _lines(rows: list[dict[str, Any]]) -> str:
    """Format a JSON list as trtexec does: a line per entry, numbers with six digits."""
    entries = []
    for row in rows:
        pairs = (f'"{key}" : {_number(value)}' for key, value in row.items())
        entries.append(f"{{ {', '.join(pairs)} }}")
    return "[\n  " + "\n, ".join(entries) + "\n]\n"


def _number(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_number, value))}]"
    return f"{value:.{_SIGNIFICANT}g}" if isinstance(value, float) else json.dumps(value)
