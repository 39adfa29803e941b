"""`trex-tui scaling`: times of a model over batches or shapes."""

from __future__ import annotations

import argparse

from trex_tui.old.cli.engines import collect_inputs, load_all
from trex_tui.old.cli.options import top_rows
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.fleet.scaling import find_scalings
from trex_tui.old.report.views.scaling import scaling_object, scaling_sections

_TITLE = "Scaling"


def run_scaling(options: argparse.Namespace) -> int:
    """Print the points of each model.

    Raises:
        ArtifactError: No engine can be read.
    """
    result = ResultWriter(options)
    engines, strays = load_all(options, finds_onnx=False)
    result.inputs = collect_inputs(engines, options)
    result.report([*strays, *(note for engine in engines for note in engine.diagnostics)], errors_only=True)
    scalings = find_scalings(engines)
    if result.format == "json":
        result.write_json(scaling_object(scalings, result.damage), known=result.damage)
    else:
        result.write_sections(_TITLE, list(scaling_sections(scalings, top_rows(options))))
    return result.exit_code()
