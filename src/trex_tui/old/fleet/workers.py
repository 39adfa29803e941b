"""Readers of sets: processes of this machine, or workers of a Dask cluster. Results are in the order of the sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.errors import TrexError
from trex_tui.old.fleet.reader import Job, Mapper
from trex_tui.old.fleet.row_cache import ReadSet

_BATCH = 16
"""Sets of a task."""


def map_in_processes(jobs: int) -> Mapper:
    """Return a mapper over a pool of processes."""
    return partial(_map_in_processes, jobs)


def _map_in_processes(jobs: int, job: Job, sets: Sequence[ArtifactSet]) -> Iterator[ReadSet]:
    if jobs < 2 or len(sets) < 2:
        yield from map(job, sets)
        return
    from concurrent.futures import ProcessPoolExecutor  # multiprocessing: only with --jobs
    from concurrent.futures.process import BrokenProcessPool

    try:
        with ProcessPoolExecutor(min(jobs, len(sets))) as pool:
            try:
                yield from pool.map(job, sets, chunksize=max(1, min(_BATCH, len(sets) // (4 * jobs))))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except BrokenProcessPool:
        raise TrexError("--jobs: a process ended, perhaps for lack of memory; use fewer jobs") from None


def map_on_dask(address: str) -> Mapper:
    """Return a mapper over the workers of a Dask cluster, which have trex-tui and see the same paths.

    Raises:
        TrexError: dask.distributed is not installed, or no scheduler answers.
    """
    try:
        distributed: Any = import_module("distributed")  # 600 ms
    except ImportError:
        raise TrexError("--dask needs dask.distributed: pip install 'trex-tui[dask]'") from None
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or "no answer"
        raise TrexError(
            f"--dask {address}: no scheduler ({reason}); start one with `dask scheduler`"
        ) from None
    return partial(_map_on_dask, client)


def _map_on_dask(client: Any, job: Job, sets: Sequence[ArtifactSet]) -> Iterator[ReadSet]:  # noqa: ANN401 - a Client
    with client:
        batches = [sets[first : first + _BATCH] for first in range(0, len(sets), _BATCH)]
        futures = client.map(partial(_read_batch, job), batches, pure=False)
        for future in futures:
            yield from future.result()
            future.release()


def _read_batch(job: Job, sets: Sequence[ArtifactSet]) -> list[ReadSet]:
    return list(map(job, sets))
