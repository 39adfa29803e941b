"""`e`: write what a screen shows to a file, in the format that its name ends with; and `!`: the notes on the files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from textual.app import App

from trex_tui.artifacts.write import Inputs, check_output, write_output
from trex_tui.errors import Note, TrexError
from trex_tui.report.document import Document
from trex_tui.report.formats import WRITERS
from trex_tui.screens import dialogs
from trex_tui.text import printable
from trex_tui.widgets.text import Line, styled
from trex_tui.widgets.theme import SEVERITIES


def ask_export(app: App[Any], document: Document, inputs: Iterable[Path]) -> None:
    """Ask for a file and write a document to it.

    Args:
        inputs: Files that are never replaced.
    """
    endings = {ending: writer for writer in WRITERS.values() for ending in writer.endings}
    known = Inputs(inputs)

    def write(text: str, *, is_forced: bool = False) -> None:
        path = Path(text).expanduser()
        writer = endings.get(path.suffix.lstrip(".").lower())
        try:
            if writer is None:
                raise TrexError(f"{text}: unknown ending; use one of {', '.join(endings)}")
            if path.exists() and not is_forced:
                known.check(path)
                options = {"replace": f"Replace {text}", "": "Cancel"}
                dialogs.choose(
                    app, "The file exists", options, lambda key: write(text, is_forced=True) if key else None
                )
                return
            check_output(path, known, force=is_forced)
            write_output(path, writer.write(document))
        except TrexError as error:
            app.notify(printable(str(error)), severity="error", markup=False, timeout=10)
        else:
            app.notify(f"Wrote {printable(os.path.relpath(path))}", markup=False)

    sentence = f"Formats by ending: {', '.join(endings)}"
    name = "".join(
        char if char.isalnum() or char in "._-" else "-" for char in f"{document.title}-{document.key}"
    )
    dialogs.ask_path(app, "Export this view", f"{name}.csv", write, sentence)


def show_notes(app: App[Any], title: str, notes: Sequence[Note]) -> None:
    """Show damage and doubts of the files."""
    lines = [
        Line(
            styled((f"{note.severity.value}  ", SEVERITIES[note.severity.value]), printable(str(note))),
            indent=9,
        )
        for note in notes
    ]
    dialogs.read(app, f"Notes: {title}", lines or [Line(styled("No notes: nothing is damaged or in doubt."))])
