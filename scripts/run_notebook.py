"""Run docs/notebook.ipynb without Jupyter and write its outputs: `python scripts/run_notebook.py`.

A cell's last expression is shown as Jupyter does: as SVG, else HTML, else its representation; what it prints comes before.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs/notebook.ipynb"


def run_cells(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the cells of code in the current directory; yield each with its outputs.

    Raises:
        Exception: Whatever a cell raises.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _run("".join(cell["source"]), names)
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            text = printed.getvalue().splitlines(keepends=True)
            outputs.append({"name": "stdout", "output_type": "stream", "text": text})
        if value is not None:
            data = {mime: text.splitlines(keepends=True) for mime, text in _show(value).items()}
            outputs.append(
                {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
            )
        yield cell | {"execution_count": number}, outputs


def _run(source: str, names: dict[str, Any]) -> Any:  # noqa: ANN401 - the value of any expression
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102 - a file of this repository
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307


def _show(value: Any) -> dict[str, str]:  # noqa: ANN401
    shown = {"text/plain": repr(value)}
    for mime, method in (("image/svg+xml", "_repr_svg_"), ("text/html", "_repr_html_")):
        if hasattr(value, method):
            return {mime: getattr(value, method)(), **shown}
    return shown


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the notebook with the outputs of its cells, run in a directory of its own with the samples beside it."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sample_artifacts").symlink_to(NOTEBOOK.parent.parent / "sample_artifacts")
        work = Path(folder) / "docs"
        work.mkdir()
        os.chdir(work)
        try:
            done = iter(list(run_cells(notebook)))
        finally:
            os.chdir(here)
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            code, outputs = next(done)
            cells.append(code | {"outputs": outputs})
        else:
            cells.append(cell)
    return notebook | {"cells": cells}


def output_bytes(notebook: dict[str, Any]) -> int:
    """Return the size of all outputs."""
    return sum(len(json.dumps(cell.get("outputs", []))) for cell in notebook["cells"])


def write(notebook: dict[str, Any]) -> None:
    """Write the notebook as Jupyter does."""
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    new = executed(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    write(new)
    print(f"{output_bytes(new)} bytes of outputs")
