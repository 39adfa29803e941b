"""A document as one self-contained page: no network, no scripts unless they are requested, charts as pictures inside.

The policy of the page names its style sheet and scripts by their hashes: a browser runs and applies nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from typing import Any, NamedTuple

from trex_tui.column import Column
from trex_tui.errors import Severity, TrexError
from trex_tui.frames import is_number, plain_values
from trex_tui.report.absence import how_to_install
from trex_tui.report.document import Document, Section
from trex_tui.text import printable, shorten_middle

_EXTRA = how_to_install("report")
_LONGEST, _WORD = 300, 24
"""Characters of a cell or fact, where a name may have 16,384 (JSON has them whole); and of a text that stays in a line."""


class _Cells(NamedTuple):
    """A column of a table: its class, texts and, where a script sorts by them, numbers."""

    column: Column
    kind: str
    cells: list[tuple[str, Any]]


class _Shown(NamedTuple):
    """A section with its anchor, its picture, and its table."""

    id: str
    section: Section
    picture: str
    columns: list[_Cells]
    bars: list[float]


def render_html(document: Document, *, is_interactive: bool = False) -> str:
    """Return the page. Charts need Altair; without it one sentence stands in their place.

    Args:
        is_interactive: Charts show values under the pointer, and headings sort; the page is 1 MB larger.

    Raises:
        TrexError: Jinja2 is not installed, or Altair for an interactive page.
    """
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError:
        raise TrexError(f"HTML needs Jinja2: {_EXTRA}") from None
    loader = PackageLoader("trex_tui.report")
    environment = Environment(
        loader=loader, autoescape=True, finalize=_show, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["fit"] = _fit
    style, script = (loader.get_source(environment, f"page.{end}")[0] for end in ("css", "js"))
    notes = [(n.severity is Severity.ERROR, f"{n.severity.value}: {n}") for n in document.all_notes()]
    charts = [section.chart for _, section in document.walk() if section.chart is not None]
    has_altair = find_spec("altair") is not None and find_spec("vl_convert") is not None
    if charts and not has_altair:
        if is_interactive:
            raise TrexError(f"--interactive needs Altair and vl-convert: {_EXTRA}")
        notes.append((False, f"Without charts, which need Altair and vl-convert: {_EXTRA}"))
    numbers, parts = count(1), [document, *document.parts]
    contents = [(f"part-{place}", part, list(_list_sections(part, numbers, has_altair and not is_interactive)))
                for place, part in enumerate(parts)]  # fmt: skip
    scripts = [_library(), script] if is_interactive else []
    return environment.get_template("page.html").render(
        document=document,
        notes=notes,
        contents=contents,
        style=style,
        scripts=scripts,
        specs=_specifications(contents) if is_interactive else {},
        policy=_write_policy(style, scripts),
    )


def _write_policy(style: str, scripts: list[str]) -> str:
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    if not scripts:
        return "; ".join([*rules, f"style-src {_hash(style)}"])
    hashes = " ".join(map(_hash, scripts))
    return "; ".join([*rules, "style-src 'unsafe-inline'", "img-src data: blob:", f"script-src {hashes}"])


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _show(value: Any) -> Any:  # noqa: ANN401 - what a template writes
    """Make characters visible that change what is read; Markup is ours."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else printable(value)


def _fit(text: object) -> str:
    return shorten_middle(str(text), _LONGEST)


def _list_sections(part: Document, numbers: Iterator[int], has_pictures: bool) -> Iterator[_Shown]:
    for section in part.shown:
        columns = [_read_column(section, column) for column in section.columns if section.frame is not None]
        bars = [round(100.0 * share, 1) for share in section.bars()]
        picture = _draw(section) if has_pictures and section.chart is not None else ""
        yield _Shown(f"section-{next(numbers)}", section, picture, columns, bars)


def _read_column(section: Section, column: Column) -> _Cells:
    assert section.frame is not None
    series = section.frame[column.key]
    texts = [_fit(column.format(value)) for value in series.tolist()]
    kind = "number" if is_number(series) else "word" if max(map(len, texts), default=0) <= _WORD else "text"
    return _Cells(column, kind, list(zip(texts, plain_values(series), strict=True)))


# Charts


def _draw(section: Section) -> str:
    from markupsafe import Markup

    from trex_tui.report.altair_painter import to_svg

    assert section.chart is not None
    return Markup(to_svg(section.chart))  # Vega escapes the texts in its pictures


def _specifications(contents: list[tuple[str, Document, list[_Shown]]]) -> dict[str, Any]:
    from trex_tui.report.altair_painter import build

    shown = (one for _, _, sections in contents for one in sections)
    return {f"{one.id}-chart": build(one.section.chart).to_dict() for one in shown if one.section.chart}


def _library() -> str:
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
