"""Charts and graphs of the Python API: SVG that a notebook shows, and files of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.output_files import check_output, list_inputs, write_output
from trex_tui.old.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.old.artifacts.discover import ArtifactSet
    from trex_tui.old.artifacts.output_files import OutputKind


class Svg:
    """A picture. A notebook shows it; `save` writes it.

    Attributes:
        title: What it shows.
        svg: The text of the file.

    >>> engine.chart("roofline")
    <Svg 'Roofline of alexnet_fp16': 12 kB>
    """

    def __init__(self, title: str, svg: str, kind: OutputKind, source: ArtifactSet) -> None:
        self.title = title
        self.svg = svg
        self._kind = kind
        self._source = source

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the picture as `.svg`, or as `.png`, which needs rsvg-convert.

        Args:
            force: Replace a file that trex-tui did not write.

        Raises:
            TrexError: The extension is another one, the file must not be replaced or cannot be written, or there is no
                rsvg-convert.
        """
        target = Path(path)
        content: str | bytes = self.svg
        if target.suffix.lower() == ".png":
            from trex_tui.old.report.charts.png import mark_png, render_png

            content = mark_png(render_png(self.svg), self._kind.marks[0])
        elif target.suffix.lower() != ".svg":
            raise TrexError(f"{target}: a picture is .svg or .png")
        check_output(target, self._kind, list_inputs([self._source]), force=force, content=content)
        write_output(target, content)
        return target

    def __repr__(self) -> str:
        return f"<Svg {self.title!r}: {len(self.svg.encode()) / 1000:.0f} kB>"

    def _repr_svg_(self) -> str:
        return self.svg
