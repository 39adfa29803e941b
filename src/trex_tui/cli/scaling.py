"""`trex-tui scaling`: times of a model over batches or shapes."""

from __future__ import annotations

import argparse
from functools import partial

from trex_tui.cli.engines import collect_inputs, load_all
from trex_tui.cli.options import top_rows
from trex_tui.cli.result_writer import ResultWriter
from trex_tui.fleet.scaling import find_scalings
from trex_tui.report.views.scaling import scaling_object, scaling_sections

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
        return result.exit_code()
    sections = list(scaling_sections(scalings, top_rows(options)))
    if result.format == "text":
        from trex_tui.report.render_text import print_sections

        result.draw(partial(print_sections, sections))
    elif result.format == "md":
        from trex_tui.report.render_markdown import sections_markdown

        result.write(sections_markdown(_TITLE, sections))
    else:
        from trex_tui.report.render_html import sections_page
        from trex_tui.report.views.damage import damage_section

        damage = [damage_section(result.damage)] if result.damage else []
        result.write(sections_page(_TITLE, [*damage, *sections]), known=result.damage)
    return result.exit_code()
