"""Changes planted into histories, found through `trex-tui history`: `python benchmarks/planted.py [--seeds 200]`.

A history has 20 builds of the FP16 sample with 0.3 % noise between builds; the change is planted at build 11. Found is the
planted change within one build of its place (kernels and layers: at its place); false is a history with any other change.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from samples.builds import Edit, plant_kernel, plant_lost_fusion, write_builds  # noqa: E402 - below the path
from trex_tui.old.cli import main as trex_tui  # noqa: E402 - as above

_BUILDS, _PLANTED, _NOISE, _ROWS = 20, 11, 0.003, 200


@dataclass(frozen=True, slots=True)
class Plant:
    """A change to plant: a factor of the latency, an edit of the layers, and the measure that shows it."""

    measure: str
    factor: float = 1.0
    edit: Callable[[], Edit] | None = None


PLANTS = {
    "none": Plant(""),
    "+1 %": Plant("latency_median_ms", 1.01),
    "+2 %": Plant("latency_median_ms", 1.02),
    "+5 %": Plant("latency_median_ms", 1.05),
    "one other kernel": Plant("kernels", edit=lambda: plant_kernel(_PLANTED)),
    "one fusion lost": Plant("layers", edit=lambda: plant_lost_fusion(_PLANTED)),
}
_LATENCIES = ("latency_median_ms", "latency_p99_ms")


def judge(name: str, seed: int) -> tuple[bool, bool]:
    """Return whether the planted change was found, and whether there is a false one."""
    plant = PLANTS[name]
    with tempfile.TemporaryDirectory() as directory:
        write_builds(
            Path(directory),
            _BUILDS,
            lambda number: plant.factor if number >= _PLANTED else 1.0,
            plant.edit() if plant.edit is not None else None,
            seed=seed,
            noise=_NOISE,
            rows=_ROWS,
        )
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            trex_tui(["history", directory, "--key", "path", "--json"])
    (history,) = json.loads(out.getvalue())["histories"]
    places = {(row["measure"], row["number"]) for row in history["changes"]}
    places |= {("kernels", row["number"]) for row in history["builds"] if "kernels" in (row["changed"] or "")}
    expected = {plant.measure} | (set(_LATENCIES) if plant.factor != 1.0 else set())
    if plant.measure == "layers":
        expected |= {"kernels", "weights_bytes", "activation_peak_bytes"}
    found = any(
        measure == plant.measure and abs(number - _PLANTED) <= (plant.measure in _LATENCIES)
        for measure, number in places
    )
    false = any(measure not in expected or abs(number - _PLANTED) > 1 for measure, number in places)
    return found, false


def main() -> None:
    """Print a row per planted change."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    print(f"{options.seeds} histories of {_BUILDS} builds each")
    with ProcessPoolExecutor(options.jobs) as pool:
        for name in PLANTS:
            results = list(pool.map(judge, [name] * options.seeds, range(options.seeds), chunksize=5))
            found, false = (sum(result[index] for result in results) for index in (0, 1))
            print(f"{name:<18}  found {'–' if name == 'none' else found:>3}  false {false:>3}", flush=True)


if __name__ == "__main__":
    main()
