"""The tools as functions: paths and words in, small JSON values out. All raise TrexError with a remedy.

Text of files is made printable and cut, so that a long or hostile name cannot fill a result; numbers are exact to 6 digits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.agent.roots import Roots
from trex_tui.old.analysis.columns import ALL_COLUMNS, columns_named
from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.artifacts import ArtifactSet, scan
from trex_tui.old.errors import Diagnostic, Severity, TrexError
from trex_tui.old.report.render_json import plain
from trex_tui.old.text import did_you_mean, plural, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.old.agent.results import Difference, Explanations, LayerDetails, Rows, Summary
    from trex_tui.old.analysis.compare import Comparison
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.engine.model import Layer, Tensor
    from trex_tui.old.lint.config import LintConfig

TOP, MOST_ROWS = 20, 200
"""Rows of a result: by default, and at most."""
MOST_TEXT = 300
"""Characters of a text from a file."""
_MOST_ITEMS = 50
"""Items of a list inside a value."""
_MOST_KEPT = 8
"""Engines kept for the next call."""
_DIGITS = 6
_SUMMARY = (
    *("tensorrt_version", "device", "precision", "layers", "names_only", "throughput_qps", "latency"),
    *("latency_sum_ms", "by_kind", "by_precision", "weights_bytes"),
)
"""Keys of a summary without `keys`."""
_LAYER_COLUMNS = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "bound")
_SCHEMA_KEYS = frozenset({"name", "diagnostics"})


def compact(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value with printable texts of bounded length, floats with 6 digits and lists of bounded length."""
    if isinstance(value, str):
        return shorten_middle(printable(value), MOST_TEXT)
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {compact(str(key)): compact(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        kept = [compact(item) for item in value[:_MOST_ITEMS]]
        return kept if len(value) <= _MOST_ITEMS else [*kept, f"and {len(value) - _MOST_ITEMS} more"]
    return value


def page(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    top: int,
    cursor: str | None,
    notes: Iterable[str] = (),
) -> Rows:
    """Return the rows from the cursor on.

    Raises:
        TrexError: The cursor is not from an earlier result.
    """
    start = 0
    if cursor:
        if not cursor.isascii() or not cursor.isdecimal() or int(cursor) > len(rows):
            raise TrexError(f"cursor {compact(cursor)!r}: not from an earlier result; leave it out to begin")
        start = int(cursor)
    end = start + min(max(top, 1), MOST_ROWS)
    return {
        "columns": list(columns),
        "rows": [[compact(plain(value)) for value in row] for row in rows[start:end]],
        "total": len(rows),
        "cursor": str(end) if end < len(rows) else None,
        "notes": [compact(note) for note in notes],
    }


def _notes(diagnostics: Iterable[Diagnostic]) -> list[str]:
    return [
        compact(f"{note.severity.value}: {note}")
        for note in diagnostics
        if note.severity is not Severity.INFO
    ]


def _notes_on(comparison: Comparison) -> list[str]:
    """Return the errors in files of compared engines."""
    notes = (note for engine in comparison.engines for note in engine.diagnostics)
    return _notes(note for note in notes if note.severity is Severity.ERROR)


class Tools:
    """The tools over some directories. Engines are kept between calls, and read again when a file changes."""

    def __init__(self, roots: Roots, options: LoadOptions, config: LintConfig) -> None:
        self._roots = roots
        self._options = options
        self._config = config
        self._engines: dict[tuple[Any, ...], Engine] = {}

    # Engines

    def engines(self, path: str | None, top: int, cursor: str | None) -> Rows:
        """List the engines below a path, or below all directories."""
        paths = self._roots.directories if path is None else [self._roots.resolve(path)]
        found = scan(paths)
        rows = [
            (
                source.name,
                self._roots.show(next(iter(source.files.values()))),
                [kind.value for kind in source.files],
            )
            for source in found.sets
        ]
        errors = (note for source in found.sets for note in source.diagnostics)
        return page(("name", "path", "files"), rows, top, cursor, _notes([*found.diagnostics, *errors]))

    def _engine(self, path: str) -> Engine:
        sets = scan(self._roots.resolve(path)).sets
        if len(sets) > 1:
            known = ", ".join(
                self._roots.show(next(iter(source.files.values()))) for source in sets[:_MOST_KEPT]
            )
            raise TrexError(f"{plural(len(sets), 'engine')} there; name the path of one: {compact(known)}")
        return self._load(sets[0])

    def _load(self, source: ArtifactSet) -> Engine:
        key = tuple((path, _state(path)) for path in source.files.values())
        if key not in self._engines:
            while len(self._engines) >= _MOST_KEPT:
                del self._engines[next(iter(self._engines))]
            self._engines[key] = load(source, self._options)
        return self._engines[key]

    def summary(self, path: str, keys: Sequence[str]) -> Summary:
        """Return the key facts of an engine, or the values of some keys of `summary --json`."""
        from trex_tui.old.report.views.engine import engine_summary

        engine = self._engine(path)
        values = engine_summary(engine)
        for key in keys:
            if key not in values:
                advice = did_you_mean(key, list(values)) or f"the keys are: {', '.join(values)}"
                raise TrexError(f"no key {compact(key)!r}; {advice}")
        chosen = keys or _SUMMARY
        return {
            "name": compact(engine.name),
            "values": {key: compact(values[key]) for key in chosen},
            "more": [key for key in values if key not in chosen and key not in _SCHEMA_KEYS],
            "notes": _notes(engine.diagnostics),
        }

    # Layers

    def layers(
        self,
        path: str,
        query: str,
        columns: Sequence[str],
        sort: str | None,
        top: int,
        cursor: str | None,
        *,
        reverse: bool,
    ) -> Rows:
        """Return layers with some columns."""
        from trex_tui.old.report.views.layer_table import sorted_layers

        engine = self._engine(path)
        chosen = columns_named(list(columns or _LAYER_COLUMNS), engine)
        by = columns_named([sort], engine)[0] if sort else None
        kept = set(_matching(engine, query))
        layers = [layer for layer in sorted_layers(engine, by, reverse=reverse) if layer.index in kept]
        rows = [[column.value(engine, layer) for column in chosen] for layer in layers]
        return page([column.name for column in chosen], rows, top, cursor, _notes(engine.diagnostics))

    def layer(self, path: str, layer: str) -> LayerDetails:
        """Return everything about a layer, by index or name."""
        engine = self._engine(path)
        found = _find_layer(engine, layer)
        columns = {column.name: plain(column.value(engine, found)) for column in ALL_COLUMNS}
        reasons = self._lint(engine).by_layer.get(found.index, ())
        return {
            "index": found.index,
            "name": compact(found.name),
            "columns": {key: compact(value) for key, value in columns.items() if value is not None},
            "inputs": [_tensor(tensor) for tensor in found.inputs[:_MOST_ITEMS]],
            "outputs": [_tensor(tensor) for tensor in found.outputs[:_MOST_ITEMS]],
            "attributes": compact(dict(found.attributes)),
            "producers": _ends(link.source for link in engine.producers(found)),
            "consumers": _ends(link.target for link in engine.consumers(found)),
            "findings": [compact(f"{judged.rule.id}: {judged.message}") for judged in reasons],
            "notes": _notes(engine.diagnostics),
        }

    # Lint

    def _lint(self, engine: Engine, config: LintConfig | None = None) -> Any:  # noqa: ANN401 - LintResult
        from trex_tui.old.lint.run import run

        return run(engine, config or self._config)

    def lint(self, path: str, rules: Sequence[str], severity: str, top: int, cursor: str | None) -> Rows:
        """Return the findings of an engine, the most severe first."""
        from trex_tui.old.lint.config import rule_names
        from trex_tui.old.lint.model import FindingSeverity
        from trex_tui.old.lint.registry import registry

        config = replace(self._config, min_severity=FindingSeverity(severity))
        if rules:
            config = replace(config, select=rule_names(list(rules), registry(), "rules"))
        engine = self._engine(path)
        result = self._lint(engine, config)
        columns = ("rule", "severity", "message", "layers", "saving_ms", "confidence", "remedy")
        rows = [
            (
                judged.rule.id,
                judged.severity.value,
                judged.message,
                list(judged.layers),
                judged.saving_ms,
                judged.confidence.value,
                judged.remedy,
            )
            for judged in result.findings
        ]
        notes = (
            [f"Saving of all findings together: {compact(result.saving_ms)} ms."] if result.saving_ms else []
        )
        notes += [f"Not checked: {item.rule}: {item.reason}" for item in result.not_checked]
        return page(columns, rows, top, cursor, [*notes, *_notes(engine.diagnostics)])

    # Comparison

    def _compared(self, baseline: str, other: str) -> Comparison:
        from trex_tui.old.analysis.compare import compare

        return compare([self._engine(baseline), self._engine(other)])

    def compare(self, baseline: str, other: str, query: str, top: int, cursor: str | None) -> Difference:
        """Compare two engines."""
        from trex_tui.old.analysis.filter import FilterError
        from trex_tui.old.report.views.compare import block_name, filtered

        comparison = self._compared(baseline, other)
        try:
            blocks = filtered(comparison, query)
        except FilterError as error:
            raise TrexError(f"filter: {error.pointed}") from None
        difference, verdict = comparison.differences[1], comparison.verdicts[1]
        columns = ("name", "kind", "baseline_layers", "other_layers", "baseline_ms", "other_ms")
        rows = [
            (
                block_name(comparison, block),
                block.kind,
                *map(list, block.layers),
                *(block.latency_ms[side] if block.layers[side] else None for side in (0, 1)),
                block.deltas_ms[1],
                [kind.value for kind in block.changed],
            )
            for block in blocks
        ]
        engines = comparison.engines
        return {
            "baseline": compact(engines[0].name),
            "other": compact(engines[1].name),
            "verdict": compact(plain(verdict)) or {},
            "cautions": [*(compact(caution.text) for caution in comparison.cautions), *_notes_on(comparison)],
            "headline": compact(difference.headline) if difference else "",
            "reasons": [_reason(reason) for reason in difference.reasons] if difference else [],
            "blocks": page((*columns, "delta_ms", "changed"), rows, top, cursor),
        }

    # Builds

    def build_why(
        self, path: str, layer: str | None, against: str | None, top: int, cursor: str | None
    ) -> Rows:
        """Return why the builder chose its tactics, from the build log."""
        if against is not None:
            return self._other_tactics(path, against, top, cursor)
        from trex_tui.old.analysis.build import tactic_rows
        from trex_tui.old.analysis.compare.builds import load_build
        from trex_tui.old.report.document import make_table
        from trex_tui.old.report.render_json import row_objects
        from trex_tui.old.report.views.build import TACTICS, pick
        from trex_tui.old.report.views.build_summary import choice_object, find_tuned

        engine = self._engine(path)
        build = load_build(engine, 0)
        if build.facts is None:
            raise TrexError(build.problem)
        if layer is None:
            names = ("name", "precision", "formats", "chosen_ms", "second_ms", "margin_pct", "tactic")
            choices = [choice_object(choice) for choice in build.facts.choices]
            rows = [
                (
                    choice["name"],
                    choice["precision"],
                    choice["formats"],
                    *((choice[role] or {}).get("time_ms") for role in ("chosen", "second")),
                    choice["margin_pct"],
                    (choice["chosen"] or {}).get("name") or choice["tactic"],
                )
                for choice in choices
            ]
            return page(names, rows, top, cursor, _notes(engine.diagnostics))
        columns = pick(TACTICS, *_TACTIC_COLUMNS)
        tuned = find_tuned(build.facts, layer)
        found = [row for item in tuned for row in tactic_rows(build.facts, item)]
        found.sort(key=lambda row: (row.time_ms is None, row.time_ms or 0.0))
        objects = row_objects(make_table("tactics", columns, found))
        rows = [tuple(row.values()) for row in objects]
        notes = [f"Layer {item.tuning.name}" for item in tuned]
        return page(_TACTIC_COLUMNS, rows, top, cursor, [*notes, *_notes(engine.diagnostics)])

    def _other_tactics(self, path: str, against: str, top: int, cursor: str | None) -> Rows:
        from trex_tui.old.analysis.compare.builds import BuildComparison, load_build
        from trex_tui.old.report.views.compare import block_name

        comparison = self._compared(against, path)
        builds = BuildComparison(
            comparison, [load_build(engine, side) for side, engine in enumerate(comparison.engines)]
        )
        difference = builds.explain(1)
        columns = ("name", "delta_ms", "because", "why", "baseline_tactic", "tactic")
        rows = [
            (
                block_name(comparison, comparison.blocks[found.block]),
                comparison.blocks[found.block].deltas_ms[1],
                found.because.value,
                found.why,
                *(choice.tactic for choice in found.choices),
            )
            for found in difference.blocks
        ]
        return page(columns, rows, top, cursor, [*difference.problems, *_notes_on(comparison)])

    # Words

    def explain(self, name: str) -> Explanations:
        """Explain a number, a word of TensorRT, the name of a layer or a lint rule."""
        from trex_tui.old.report.glossary.explanation import explain, explain_document

        document = explain_document([explain(name)])
        return {"terms": _known(document["terms"]), "rules": _known(document["rules"])}


_TACTIC_COLUMNS = ("time_ms", "tactic", "name", "runner", "formats", "chosen", "in_engine", "skipped")


def _known(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return objects without their empty values, whose texts are those of trex-tui."""
    return [{key: value for key, value in item.items() if value not in (None, [], "")} for item in items]


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _matching(engine: Engine, query: str) -> list[int]:
    if not query.strip():
        return [layer.index for layer in engine.layers]
    from trex_tui.old.analysis.filter import FilterError, filter_layers

    try:
        return [layer.index for layer in filter_layers(engine, query)]
    except FilterError as error:
        raise TrexError(f"filter: {error.pointed}") from None


def _find_layer(engine: Engine, layer: str) -> Layer:
    """Return the layer with an index, or the only one with a name.

    Raises:
        TrexError: There is none, or several have the name.
    """
    if layer.isascii() and layer.isdecimal() and int(layer) < len(engine.layers):
        return engine.layers[int(layer)]
    named = [found for found in engine.layers if layer in (found.name, printable(found.name))]
    if len(named) == 1:
        return named[0]
    if named:
        raise TrexError(
            f"{plural(len(named), 'layer')} of that name; indices {_ends(found.index for found in named)}"
        )
    raise TrexError(f"no layer {compact(layer)!r}; the tool layers lists index and name")


def _ends(indices: Iterable[int | None]) -> list[int]:
    return sorted({index for index in indices if index is not None})[:_MOST_ITEMS]


def _tensor(tensor: Tensor) -> dict[str, Any]:
    return {
        "name": compact(tensor.name),
        "shape": list(tensor.shape),
        "dtype": tensor.dtype.value if tensor.dtype else None,
        "format": compact(tensor.description),
    }


def _reason(reason: Any) -> dict[str, Any]:  # noqa: ANN401 - a reason of a difference
    return {
        "cause": reason.cause.value,
        "text": compact(reason.text),
        "delta_ms": compact(reason.delta_ms),
    }


def make_tools(directories: Sequence[str], options: LoadOptions) -> Tools:
    """Return the tools; configuration is read before the process is confined to the directories.

    Raises:
        TrexError: A directory does not exist, or the configuration is invalid.
    """
    from trex_tui.old.lint.config import find_config
    from trex_tui.old.lint.registry import registry

    config = find_config(os.environ, registry(), None)
    return Tools(Roots(directories), options, config)
