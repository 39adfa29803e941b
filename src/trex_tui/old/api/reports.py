"""Write the report of engines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.output_files import check_output, list_inputs, write_output
from trex_tui.old.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine

_FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json"}


def write_report(engines: Sequence[Engine], path: str | Path, *, force: bool = False) -> Path:
    """Write the report of engines, the baseline first, as HTML, Markdown or JSON, by the extension of the file.

    Raises:
        TrexError: The extension is another one, the file must not be replaced, or it cannot be written.
    """
    from trex_tui.old.report.report_file import REPORT, make_document, render_document

    target = Path(path)
    form = _FORMATS.get(target.suffix.lower())
    if form is None:
        raise TrexError(f"{target}: a report is {', '.join(dict.fromkeys(_FORMATS))}")
    inputs = list_inputs(engine.source for engine in engines)
    check_output(target, REPORT, inputs, force=force)
    content = render_document(make_document(engines), form)
    check_output(target, REPORT, inputs, force=force, content=content)
    write_output(target, content)
    return target
