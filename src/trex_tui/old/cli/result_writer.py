"""Write the result of a command to stdout or to the file of `-o`, in the requested format.

A result from damaged files lists them in every format: text and Markdown in a section, JSON, HTML and SARIF as `diagnostics`,
remarks and notifications. Formats without room for text (CSV, Parquet, Excel, pictures, graphs) get a second file,
`NAME.diagnostics.csv`; the next result from undamaged files removes it.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.output_files import (
    NO_INPUTS,
    Inputs,
    OutputKind,
    check_output,
    write_all,
    write_output,
)
from trex_tui.old.cli.output import complain
from trex_tui.old.errors import Diagnostic, ExitCode, Severity, TrexError, describe_reason
from trex_tui.old.report.json_text import format_json
from trex_tui.old.report.path_completion import typed_path
from trex_tui.old.text import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from trex_tui.old.report.document import Section
    from trex_tui.old.report.render_text import Console

STDOUT = "-"
_ENDINGS = {
    "txt": "text",
    "json": "json",
    "csv": "csv",
    "md": "md",
    "markdown": "md",
    "html": "html",
    "htm": "html",
    "pdf": "pdf",
    "sarif": "sarif",
    "svg": "svg",
    "png": "png",
    "parquet": "parquet",
}
"""File suffix -> format, of any command or of none."""
COMPANION_ENDING = ".diagnostics.csv"


class ResultWriter:
    """Destination and format of a command's result.

    Attributes:
        path: The file; None for stdout.
        format: One of the formats of the command.
        inputs: Files that are never overwritten.
        damage: Diagnostics of damaged files, as passed to `report`.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        formats: Sequence[str] | None = None,
        kind: OutputKind | None = None,
        inputs: Inputs = NO_INPUTS,
    ) -> None:
        """Read the options that `options.add_result_options` added.

        Args:
            formats: Formats allowed by the other options; the first is the default. None for all of the command.
            kind: How an earlier file of the command is recognized; by default by its schema name.
            inputs: Files that are never overwritten.

        Raises:
            TrexError: The suffix of the file names a format that the command does not have.
        """
        self.path = None if options.output == STDOUT else Path(typed_path(options.output))
        self.inputs = inputs
        self.damage: list[Diagnostic] = []
        self._force = options.force
        self._is_strict = options.strict
        named = getattr(options, "path", None) or getattr(options, "log", None)
        self._named = list(getattr(options, "paths", ())) + ([named] if named else [])
        self._reported: set[Diagnostic] = set()
        self._kind = kind or OutputKind(f"trex-tui {options.command}", (f"trex-tui/{options.command}/",))
        self.format = self._choose_format(
            options.format, formats or options.formats, formats[0] if formats else options.default_format
        )

    def _choose_format(self, wanted: str | None, formats: Sequence[str], default: str) -> str:
        known = ", ".join(formats)
        if wanted is not None:
            if wanted not in formats:
                raise TrexError(f"--format {wanted}: not available here; choose {known}")
            return wanted
        if self.path is None or len(formats) == 1:
            return default
        name = self.path.name.lower()
        ending = _ENDINGS.get("sarif" if name.endswith(".sarif.json") else self.path.suffix[1:].lower())
        if ending == "pdf":
            raise TrexError(f"{self.path}: PDF is not supported; write .html and print it from a browser")
        if ending is None and default == "text":
            return default
        if ending is None or ending not in formats:
            what = "unknown extension" if ending is None else f"no {ending} here"
            raise TrexError(f"{self.path}: {what}; choose --format {known}")
        return ending

    def check_binary(self) -> None:
        """Reject a picture on a terminal.

        Raises:
            TrexError: The result is PNG and standard output a terminal.
        """
        if self.format == "png" and self.path is None and sys.stdout.isatty():
            raise TrexError("PNG is binary; name a file with -o, or pipe it")

    def check(self, inputs: Inputs) -> None:
        """Reject a file that must not be overwritten, before long work.

        Raises:
            TrexError: It was read, exists and is not from this command, or its directory is missing.
        """
        self.inputs = inputs
        if self.path is not None:
            check_output(self.path, self._kind, inputs, force=self._force)

    def report(self, diagnostics: Iterable[Diagnostic], *, errors_only: bool = False) -> None:
        """Write diagnostics to stderr, each once, and keep those of damaged files for the result and the exit code.

        Args:
            errors_only: Skip warnings and remarks.
        """
        for diagnostic in diagnostics:
            is_error = diagnostic.severity is Severity.ERROR
            if diagnostic in self._reported or (errors_only and not is_error):
                continue
            self._reported.add(diagnostic)
            complain(f"{diagnostic.severity.value}: {diagnostic}")
            if is_error:
                from trex_tui.old.artifacts.discover import is_damage

                self.damage += [diagnostic] if is_damage(diagnostic, self._named) else []

    def exit_code(self, code: ExitCode = ExitCode.OK) -> int:
        """Return the exit code of the command: `code`, or with `--strict` that of bad input if a file is damaged."""
        if not (self._is_strict and self.damage):
            return int(code)
        files = len({diagnostic.file for diagnostic in self.damage})
        complain(f"error: --strict: {plural(files, 'file')} damaged or unreadable; the result is incomplete")
        return int(ExitCode.BAD_INPUT)

    def write(self, content: str | bytes, summary: str = "", known: Iterable[Diagnostic] = ()) -> None:
        """Write the result, and print the file name on stderr. Damage missing in the result is added, or written beside it.

        Args:
            summary: Description of the content.
            known: Diagnostics that the content has already.

        Raises:
            TrexError: It cannot be written, or must not be overwritten.
        """
        stated = set(known)
        damage = [diagnostic for diagnostic in self.damage if diagnostic not in stated]
        if damage and self.format in ("text", "md") and isinstance(content, str):
            content, damage = self._add_damage(content, damage), []
        if self.path is not None:
            replaces = self._force or self.path.exists()
            check_output(self.path, self._kind, self.inputs, force=self._force, content=content)
            self._write_files(self.path, content, damage, replaces=replaces)
            complain(f"wrote {self.path}" + (f" ({summary})" if summary else ""))
        elif isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.buffer.write(content)

    def _add_damage(self, content: str, damage: Sequence[Diagnostic]) -> str:
        """Add damaged files to the content: at the top of Markdown, at the end of text, so that its tables stay first."""
        from trex_tui.old.report.views.damage import damage_section

        section = damage_section(damage)
        if self.format == "md":
            from trex_tui.old.report.render_markdown import warning_markdown

            return "\n".join(warning_markdown(section)) + "\n" + content
        lines = (section.title, *section.sentences)
        return "\n".join([content.rstrip("\n"), "", *lines]).lstrip("\n") + "\n"

    def _write_files(
        self, path: Path, content: str | bytes, damage: Sequence[Diagnostic], *, replaces: bool
    ) -> None:
        """Write the file; write or remove the damage file beside it for formats without room for text."""
        companion = path.with_name(path.name + COMPANION_ENDING)
        if not damage and not companion.is_file():
            write_output(path, content, replace=replaces)
            return
        from trex_tui.old.report.views.damage import DAMAGE_HEADER, damage_csv

        kind = OutputKind(self._kind.command, csv_header=DAMAGE_HEADER)
        if damage:
            check_output(companion, kind, self.inputs, force=self._force)
            try:
                write_all({path: content, companion: damage_csv(damage)})
            except OSError as error:
                raise TrexError(f"{path} cannot be written: {describe_reason(error)}") from error
            complain(f"wrote {companion} ({plural(len(damage), 'error')})")
            return
        write_output(path, content, replace=replaces)
        if kind.is_own(companion):
            companion.unlink()
            complain(f"removed stale {companion}")

    def write_json(self, document: object, known: Iterable[Diagnostic] = ()) -> None:
        """Write one JSON value, indented; never NaN. `known` as for `write`."""
        self.write(format_json(document) + "\n", known=known)

    def draw(self, draw: Callable[[Console], None], known: Iterable[Diagnostic] = ()) -> None:
        """Write Rich output: to the width of a terminal; uncut and unpadded into a pipe or a file.

        On a terminal, damaged files are only listed on stderr. `known` as for `write`.
        """
        from trex_tui.old.report.render_text import plain_text

        console = _terminal() if self.path is None else None
        if console is not None:
            draw(console)
        else:
            self.write(plain_text(draw, sys.stdout if self.path is None else None), known=known)

    def write_sections(self, title: str, sections: Sequence[Section]) -> None:
        """Write sections as text, Markdown or HTML."""
        if self.format == "text":
            from trex_tui.old.report.render_text import print_sections

            self.draw(partial(print_sections, sections))
        elif self.format == "md":
            from trex_tui.old.report.render_markdown import sections_markdown

            self.write(sections_markdown(title, sections))
        else:
            from trex_tui.old.report.render_html import sections_page
            from trex_tui.old.report.views.damage import damage_section

            damage = [damage_section(self.damage)] if self.damage else []
            self.write(sections_page(title, [*damage, *sections]), known=self.damage)


def _terminal() -> Console | None:
    """Return the console of standard output; None if it is a pipe or a file."""
    if not sys.stdout.isatty() and not {"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys():
        return None  # Rich would answer the same, after 40 ms.
    from rich.console import Console as RichConsole

    console = RichConsole(markup=False, highlight=False, emoji=False, soft_wrap=False)
    return console if console.is_terminal else None


def make_chart_writer(options: argparse.Namespace) -> ResultWriter:
    """Return the writer of `--chart`: by default text in a terminal, else SVG."""
    from trex_tui.old.report.chart_file import CHART, CHART_FORMATS  # Charts are imported on request.

    is_shown = options.output == STDOUT and sys.stdout.isatty()
    return ResultWriter(options, CHART_FORMATS[::-1] if is_shown else CHART_FORMATS, CHART)
