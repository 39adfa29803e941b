"""Write the result of a command to standard output, or to the file of `-o`, in the requested format.

Notes about damaged files are part of every format; CSV and the like get a second file, `NAME.diagnostics.csv`, which the next
result from undamaged files removes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from trex_tui.errors import ExitCode, Note, TrexError, describe_os_error
from trex_tui.text import plural, printable

if TYPE_CHECKING:
    from rich.text import Text

    from trex_tui.artifacts.write import Inputs
    from trex_tui.report.document import Document

STDOUT = "-"
COMPANION = ".diagnostics.csv"
_HEARTBEAT_S = 10.0


def complain(message: str) -> None:
    """Write one line to stderr, without control characters."""
    write_message(f"trex-tui: {printable(message)}\n")


def write_message(text: str) -> None:
    """Write to stderr. If it cannot be written the text is lost: it is not a result and does not change the exit code."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        abandon(sys.stderr)


def abandon(stream: TextIO) -> None:
    """Make the interpreter discard the rest of a stream at its exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Progress:
    """Writes steps of long work to stderr, at most one in ten seconds."""

    def __init__(self, noun: str = "") -> None:
        self._noun, self._shown_s = noun, time.monotonic()

    def __call__(self, step: str) -> None:
        if (now := time.monotonic()) - self._shown_s >= _HEARTBEAT_S:
            self._shown_s = now
            complain(step)

    def count(self, number: int, total: int) -> None:
        self(f"{number}/{total} {self._noun}")


class Result:
    """Destination and format of a result.

    Attributes:
        path: The file; None for standard output.
        format: One of the formats of the command.
    """

    def __init__(self, options: argparse.Namespace, formats: Sequence[str] | None = None) -> None:
        """Read the options that `options.add_result` added.

        Args:
            formats: Formats that the other options leave, the default first; None for all of the command.

        Raises:
            TrexError: The ending of the file names a format that the command does not have.
        """
        self._options = options
        self.path = None if options.output == STDOUT else Path(options.output).expanduser()
        self.format = self._choose_format(
            formats or options.formats, formats[0] if formats else options.default_format
        )
        self._reported: set[Note] = set()

    def _choose_format(self, formats: Sequence[str], default: str) -> str:
        wanted, known = self._options.format, ", ".join(formats)
        if wanted is not None:
            if wanted not in formats:
                raise TrexError(f"--format {wanted}: not available here; choose {known}")
            return str(wanted)
        if self.path is None or len(formats) == 1:
            return default
        from trex_tui.report.formats import WRITERS

        endings = _ENDINGS | {ending: key for key, writer in WRITERS.items() for ending in writer.endings}
        name = self.path.name.lower()
        ending = next((ending for ending in endings if name.endswith(f".{ending}")), "")
        if not ending and default == "text":
            return default
        if endings.get(ending) not in formats:
            what = f"no {ending} here" if ending else "unknown extension"
            raise TrexError(f"{self.path}: {what}; choose --format {known}")
        return endings[ending]

    @property
    def is_shown(self) -> bool:
        """Whether a person sees the result as text in a terminal."""
        return self.path is None and self.format == "text" and sys.stdout.isatty()

    def write(self, document: Document, inputs: Inputs | None = None, *, is_unfolded: bool = False) -> int:
        """Write a document, and return the exit code of the command.

        Args:
            inputs: Files that must not be overwritten.
            is_unfolded: Text shows options at their default too.

        Raises:
            TrexError: It cannot be written, or must not be overwritten.
        """
        from trex_tui.report.formats import WRITERS

        writer = WRITERS[self.format]
        if not self.is_shown:
            self.report(note for note in document.all_notes() if note.is_damage or not writer.has_notes)
        if self.format == "text":
            self._write_text(document, inputs, is_unfolded=is_unfolded)
        else:
            companion = [] if writer.has_notes else document.damage()
            self.write_content(writer.write(document), inputs, companion)
        return self.exit_code(document)

    def exit_code(self, document: Document, code: ExitCode = ExitCode.OK) -> int:
        """Return the exit code of the command: `code`, or with `--strict` that of bad input if a file is damaged."""
        damaged = {note.file for note in document.damage()}
        if not (self._options.strict and damaged):
            return int(code)
        complain(
            f"error: --strict: {plural(len(damaged), 'file')} damaged or unreadable; the result is incomplete"
        )
        return int(ExitCode.BAD_INPUT)

    def report(self, notes: Iterable[Note]) -> None:
        """Write notes to stderr, each once."""
        for note in notes:
            if note not in self._reported:
                self._reported.add(note)
                complain(f"{note.severity.value}: {note}")

    def _write_text(self, document: Document, inputs: Inputs | None, *, is_unfolded: bool) -> None:
        from trex_tui.report.text import render_text, to_ascii

        if self.path is None and (self.is_shown or _wants_color(self._options.color)):
            self._print(render_text(document, _terminal_width(), is_unfolded=is_unfolded))
            return
        lines = render_text(document, is_unfolded=is_unfolded).plain.split("\n")
        content = "".join(f"{line.rstrip()}\n" for line in lines)
        has_signs = _has_signs(sys.stdout.encoding or "utf-8") if self.path is None else not _wants_ascii()
        self.write_content(content if has_signs else to_ascii(content), inputs)

    def _print(self, text: Text) -> None:
        """Write styled text, which has its final width."""
        from rich.console import Console

        from trex_tui.report.text import to_ascii

        color = self._options.color
        console = Console(
            highlight=False,
            force_terminal={"always": True, "never": False}.get(color),
            no_color={"always": False, "never": True}.get(color),
            width=1_000_000,  # Rich would wrap tables
        )
        if not _has_signs(sys.stdout.encoding or "utf-8"):
            text = text.copy()
            text.plain = to_ascii(text.plain)
        console.print(text, soft_wrap=True)

    def write_content(
        self,
        content: str | bytes,
        inputs: Inputs | None = None,
        companion: Sequence[Note] = (),
        summary: str = "",
    ) -> None:
        """Write the content of a file, and print the name of the file on stderr.

        Args:
            inputs: Files that must not be overwritten.
            companion: Notes that the content has no room for.
            summary: Description of the content.

        Raises:
            TrexError: It cannot be written, or must not be overwritten.
        """
        if self.path is None:
            if isinstance(content, str):
                sys.stdout.write(content)
            elif sys.stdout.isatty():
                raise TrexError(f"{self.format} is binary; name a file with -o, or pipe it")
            else:
                sys.stdout.buffer.write(content)
            return
        from trex_tui.artifacts.write import NO_INPUTS, check_output, write_output

        inputs = inputs or NO_INPUTS
        check_output(self.path, inputs, force=self._options.force)
        added = self._write_companion(companion, inputs)
        try:
            write_output(self.path, content, replace=self._options.force)
        except TrexError:
            if added is not None:
                added.unlink(missing_ok=True)
            raise
        if added is not None:
            complain(f"wrote {added} ({plural(len(companion), 'error')})")
        complain(f"wrote {self.path}" + (f" ({summary})" if summary else ""))

    def _write_companion(self, notes: Sequence[Note], inputs: Inputs) -> Path | None:
        """Write the notes beside the file and return theirs, or remove those of an earlier result."""
        from trex_tui.artifacts.write import check_output, write_output
        from trex_tui.report.formats import NOTE_KEYS, write_notes

        assert self.path is not None
        path = self.path.with_name(self.path.name + COMPANION)
        is_own = path.is_file() and path.read_bytes().startswith(",".join(NOTE_KEYS).encode())
        if notes:
            check_output(path, inputs, force=self._options.force or is_own)
            write_output(path, write_notes(notes))
            return path
        if is_own:
            try:
                path.unlink()
            except OSError as error:
                raise TrexError(f"{path}: {describe_os_error(error, 'cannot be removed')}") from error
            complain(f"removed stale {path}")
        return None


_ENDINGS = {
    "perfetto.json": "trace",
    "trace.json": "trace",
    "metadata.json": "trex-metadata",
    "sarif.json": "sarif",
    "sarif": "sarif",
    "dot": "dot",
    "gv": "dot",
    "graphml": "graphml",
}
"""End of a file name -> format that one command has; the longer ends first. `formats.WRITERS` has the others."""


def _terminal_width() -> int | None:
    """Return the cells of the terminal; None for a pipe."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def _wants_color(color: str) -> bool:
    """Return whether text in a pipe is colored too, which changes nothing else."""
    is_forced = os.environ.get("FORCE_COLOR", "") not in ("", "0") and not os.environ.get("NO_COLOR")
    return color == "always" or (color == "auto" and is_forced)


def _has_signs(encoding: str) -> bool:
    """Return whether text may have bars and lines: ASCII is not asked for, and the encoding of the stream has them."""
    try:
        return not _wants_ascii() and bool("█─–".encode(encoding))
    except UnicodeEncodeError:
        return False


def _wants_ascii() -> bool:
    return os.environ.get("TREX_TUI_ASCII", "") not in ("", "0")
