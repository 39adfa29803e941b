"""Builds of one modelled engine: the FP16 sample with other timing rows, dates and, from some build on, other layers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

from samples.catalogue import SETS

Edit = Callable[[int, Any, Any], None]
"""Changes the layers and the profile of a build by its number, from 1."""
_NAME = "alexnet_fp16"
_SCALED = ("latencyMs", "computeMs")
_SWEPT = ("alexnet", "alexnet_fp32")
_SWEPT_ENDINGS = (".graph.json", ".profile.json", ".timing.json")
_FIRST = datetime(2025, 3, 1, 2, 0, tzinfo=timezone.utc)
OTHER_KERNEL = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize32x32x64_other"


@lru_cache(maxsize=1)
def _sample() -> Mapping[str, str]:
    return SETS["alexnet"]()


@lru_cache(maxsize=1)
def _timing() -> Sequence[Mapping[str, float]]:
    rows: list[Mapping[str, float]] = json.loads(_sample()[f"{_NAME}.timing.json"])
    return rows


def write_builds(
    folder: Path,
    count: int,
    scale: Callable[[int], float],
    edit: Edit | None = None,
    *,
    seed: int = 7,
    noise: float = 0.002,
    rows: int | None = None,
    has_dates: bool = False,
) -> Path:
    """Write builds with scaled timing rows and edited layers below a directory, and return it.

    Args:
        scale: The latency of a build, by its number from 1, as a multiple of the sample's.
        noise: Standard deviation of the noise between builds, as a fraction.
        rows: Most timing rows.
        has_dates: Whether builds have a manifest, one a night.
    """
    generator = random.Random(seed)
    for number in range(1, count + 1):
        build = folder / f"build-{number}"
        build.mkdir(parents=True)
        factor = scale(number) * (1.0 + generator.gauss(0.0, noise))
        timing = [
            {key: value * factor if key in _SCALED else value for key, value in row.items()}
            for row in _timing()[:rows]
        ]
        graph, profile = (json.loads(_sample()[f"{_NAME}.{kind}.json"]) for kind in ("graph", "profile"))
        if edit is not None:
            edit(number, graph, profile)
        written = {"timing": timing, "graph": graph, "profile": profile}
        if has_dates:
            started = _FIRST + timedelta(days=number)
            manifest = json.loads(_sample()[f"{_NAME}.capture.json"])
            manifest["started"] = started.isoformat()
            manifest["ended"] = (started + timedelta(minutes=1)).isoformat()
            manifest["files"] = {}
            written["capture"] = manifest
        for kind, document in written.items():
            (build / f"{_NAME}.{kind}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def plant_kernel(first: int, layer: int = 0, factor: float = 2.0) -> Edit:
    """Return an edit that gives a layer with a tactic another kernel and another time, from a build on."""

    def edit(number: int, graph: Any, profile: Any) -> None:  # noqa: ANN401 - JSON
        if number < first:
            return
        tuned = [each for each in graph["Layers"] if each.get("TacticName")][layer]
        tuned["TacticName"] = OTHER_KERNEL
        for row in profile:
            if row.get("name") == tuned["Name"]:
                row.update(averageMs=row["averageMs"] * factor, medianMs=row["medianMs"] * factor)

    return edit


def plant_lost_fusion(first: int) -> Edit:
    """Return an edit that splits the last layer in two, from a build on."""

    def edit(number: int, graph: Any, profile: Any) -> None:  # noqa: ANN401 - JSON
        if number < first:
            return
        layer = graph["Layers"][-1]
        graph["Layers"].append({**layer, "Name": f"{layer['Name']} split"})
        profile.append({**profile[-1], "name": f"{layer['Name']} split"})

    return edit


def write_sweep(folder: Path, batches: Sequence[int]) -> Path:
    """Write the FP16 and the FP32 sample for each batch below a directory, and return it.

    The latency grows with the batch: a third is constant, as launches and weights are.
    """
    for name in _SWEPT:
        files = {key: text for key, text in SETS[name]().items() if key.endswith(_SWEPT_ENDINGS)}
        for batch in batches:
            point = folder / name / f"batch-{batch}"
            point.mkdir(parents=True)
            for file_name, text in files.items():
                document = json.loads(text)
                if file_name.endswith(".timing.json"):
                    factor = (1.0 + 2.0 * batch) / 3.0
                    document = [{key: value * factor for key, value in row.items()} for row in document]
                elif file_name.endswith(".graph.json"):
                    _set_batch(document, batch)
                (point / file_name).write_text(json.dumps(document), encoding="utf-8")
    return folder


def _set_batch(graph: Any, batch: int) -> None:  # noqa: ANN401 - JSON
    for layer in graph["Layers"]:
        for tensor in (*layer["Inputs"], *layer["Outputs"]):
            tensor["Dimensions"][:1] = [tensor["Dimensions"][0] * batch]
