"""What is on screen, as a file."""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.artifacts.output_files import reason
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.report.path_completion import typed_path
from trex_tui.report.render_csv import table_csv
from trex_tui.report.render_json import row_objects
from trex_tui.report.render_markdown import table_markdown
from trex_tui.report.views.layers import layers_csv, layers_document, layers_markdown

if TYPE_CHECKING:
    from trex_tui.report.listing import Listing
    from trex_tui.report.views.compare import Shown

_MOST_NAME = 80
_MOST_NAME_BYTES = 200
"""File systems take 255, of which an ending and what sets several exports apart need some."""
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)")
"""What Windows takes for a device, whatever its ending."""


class ExportFormat(str, Enum):
    """The values are the endings of the files."""

    CSV = "csv"
    JSON = "json"
    MARKDOWN = "md"
    SVG = "svg"
    TEXT = "txt"
    HTML = "html"

    @property
    def in_words(self) -> str:
        """What a person chooses."""
        return {
            ExportFormat.CSV: "CSV, for a spreadsheet",
            ExportFormat.JSON: "JSON, as `layers --format json`",
            ExportFormat.MARKDOWN: "Markdown, a table",
            ExportFormat.SVG: "SVG, a picture of the screen",
            ExportFormat.TEXT: "text, the chart as it is drawn",
            ExportFormat.HTML: "HTML, one file",
        }[self]

    @property
    def of_listing(self) -> str:
        """What a person chooses where it is of other rows than layers."""
        return {ExportFormat.JSON: "JSON, an object with a list"}.get(self, self.in_words)

    @property
    def of_comparison(self) -> str:
        """What a person chooses where it is a comparison."""
        return {
            ExportFormat.JSON: "JSON, as `diff --format json`",
            ExportFormat.MARKDOWN: "Markdown, for a comment on a pull request",
            ExportFormat.TEXT: "text, as `diff` prints it",
            ExportFormat.HTML: "HTML, one file to send around",
        }.get(self, self.in_words)


def layers_as(form: ExportFormat, engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]) -> str:
    """The layers in a text format."""
    if form is ExportFormat.JSON:
        return json.dumps(layers_document(engine, layers, columns), indent=2, allow_nan=False) + "\n"
    if form is ExportFormat.CSV:
        return layers_csv(engine, layers, columns)
    if form is ExportFormat.MARKDOWN:
        return layers_markdown(engine, layers, columns)
    raise ValueError(f"{form} is no text")


def listing_as(form: ExportFormat, listing: Listing) -> str:
    """Rows in a text format."""
    table = listing.table
    if form is ExportFormat.JSON:
        document = {"schema": listing.schema, "file": listing.source, table.id: row_objects(table)}
        return json.dumps(document, indent=2, allow_nan=False) + "\n"
    if form is ExportFormat.CSV:
        return table_csv(table)
    if form is ExportFormat.MARKDOWN:
        return "\n".join(table_markdown(table, has_bars=False)) + "\n"
    raise ValueError(f"{form} is no text")


def comparison_as(form: ExportFormat, shown: Shown) -> str:
    """A comparison in a text format, as `diff` prints it."""
    if form is ExportFormat.JSON:
        from trex_tui.report.views.compare import diff_document

        return json.dumps(diff_document(shown), indent=2, allow_nan=False) + "\n"
    if form is ExportFormat.CSV:
        from trex_tui.report.views.compare import diff_csv

        return diff_csv(shown)
    if form is ExportFormat.MARKDOWN:
        from trex_tui.report.views.compare import diff_markdown

        return diff_markdown(shown)
    if form is ExportFormat.HTML:
        from trex_tui.report.views.compare import diff_page

        return diff_page(shown)
    if form is ExportFormat.TEXT:
        from rich.console import Console

        from trex_tui.report.render_text import print_sections
        from trex_tui.report.views.compare import sections

        console = Console(
            file=io.StringIO(), width=1_000_000, color_system=None, markup=False, highlight=False
        )
        with console.capture() as captured:
            print_sections(sections(shown), console)
        return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    raise ValueError(f"{form} is no text")


def file_stem(name: str) -> str:
    """A name that every file system takes, out of that of an engine."""
    stem = re.sub(r"[^\w.-]+", "_", name).lstrip("._-")[:_MOST_NAME]
    stem = stem.encode()[:_MOST_NAME_BYTES].decode(errors="ignore").rstrip("._-")
    return _RESERVED.sub(r"\1_", stem, count=1) if _RESERVED.match(stem) else stem or "engine"


def default_directory(artifacts: Iterable[Path]) -> Path:
    """The current directory; the home directory, then that for temporary files, where the current one has the artifacts."""
    taken = {os.path.realpath(path) for path in artifacts}
    for directory in (Path(), Path(os.path.expanduser("~"))):  # noqa: PTH111 - no home is no error here
        if os.path.realpath(directory) not in taken and directory.is_dir():
            return directory
    return Path(tempfile.gettempdir())


def with_ending(text: str, form: ExportFormat) -> str:
    """A typed path with the ending of another format, if it has that of one."""
    stem, dot, ending = text.rpartition(".")
    known = {one.value for one in ExportFormat}
    return f"{stem}.{form.value}" if dot and ending in known else text


def format_of(text: str) -> ExportFormat | None:
    """The format that the ending of a typed path names."""
    ending = text.strip().rpartition(".")[2].lower()
    return next((one for one in ExportFormat if one.value == ending), None)


def target_of(text: str, name: str) -> Path:
    """The file that a person means: `name` in it where it is a directory.

    Raises:
        TrexError: It cannot be a file; the message says why.
    """
    path = Path(typed_path(text))
    try:
        if path.is_dir() or text.rstrip().endswith(("/", os.sep)):
            path = path / name
        if path.exists() and not path.is_file():
            raise TrexError(f"{path} is no regular file")
        if not path.parent.is_dir():
            raise TrexError(f"there is no directory {path.parent}")
    except OSError as error:
        raise TrexError(f"{path}: {reason(error)}") from error
    return path
