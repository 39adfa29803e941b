"""The tables of columns, by what they describe: everything that `explain` knows about numbers."""

from __future__ import annotations

from collections.abc import Mapping

from trex_tui import api
from trex_tui.analysis import (
    build,
    compute,
    conditions,
    device,
    energy,
    engines,
    memory,
    options,
    roofline,
    structure,
    timing,
)
from trex_tui.column import Column
from trex_tui.report.views import build as build_view
from trex_tui.report.views import engine as engine_view
from trex_tui.report.views import lint as lint_view
from trex_tui.report.views import onnx, plan
from trex_tui.report.views import timing as timing_view

_ROOFLINE = {key: column for key, column in roofline.DETAILS.items() if key not in api.COLUMNS}
SUBJECTS: dict[str, Mapping[str, Column]] = {
    "layers (`layers`, filters, charts)": api.COLUMNS,
    "groups of layers (`summary`)": structure.TOTALS,
    "engine (`summary`)": engine_view.ENGINE,
    "model (`summary`)": plan.MODEL,
    "device (`summary`)": device.FACTS,
    "timing run (`summary`, `times`)": timing.FACTS | timing_view.BATCH,
    "statistics of a series (`times`)": timing.STATISTICS,
    "stability (`times`)": timing_view.STABILITY,
    "gap between layers and latency (`summary`)": timing.GAP,
    "runs of a file (`summary`, `times`)": timing_view.RUNS,
    "memory (`summary`)": memory.FACTS | memory.TOTALS,
    "live tensors (`summary`)": memory.LIVE_TENSORS,
    "work (`summary`)": compute.FACTS,
    "roofline (`summary`)": _ROOFLINE,
    "critical path (`summary`)": structure.PATH,
    "reformats (`summary`)": structure.REFORMATS,
    "DLA (`summary`)": structure.DLA,
    "DLA blocks (`summary`)": structure.DLA_BLOCKS,
    "ONNX model (`summary`)": onnx.MODEL,
    "power (`summary`)": energy.FACTS | energy.SENSORS,
    "energy of layers (`summary`)": energy.LAYER_ENERGY,
    "capture (`summary`)": conditions.FACTS,
    "options of trtexec (`summary`)": options.SETTINGS,
    "findings (`lint`)": lint_view.FINDING,
    "results of the rules (`lint`)": lint_view.RESULT,
    "tuned layers (`build-log`)": build.TUNED,
    "tactics (`build-log --layer`)": build.TACTICS,
    "build (`build-log`)": build_view.COLUMNS,
    "engines (`engines`)": engines.COLUMNS | engines.CHANGES,
}
"""Subject, with the commands that show it -> its columns."""
