"""`trex-tui schema`: the JSON Schemas of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run_schema(options: argparse.Namespace) -> int:
    """Print the schema of a document, or the list of documents.

    Raises:
        TrexError: There is no such document.
    """
    from trex_tui.old.artifacts.output_files import OutputKind
    from trex_tui.old.cli.result_writer import ResultWriter
    from trex_tui.old.errors import ExitCode
    from trex_tui.old.report.schemas import list_documents, list_text, schema_text

    kind = OutputKind("trex-tui schema", ("trex-tui/schemas/", '"$id": "urn:trex-tui:'))
    result = ResultWriter(options, None if options.name is None else ("json",), kind)
    if options.name is not None:
        result.write(schema_text(options.name))
    elif result.format == "json":
        result.write_json(list_documents())
    else:
        result.write(list_text())
    return int(ExitCode.OK)
