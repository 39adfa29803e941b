"""Every document with a schema that the program writes in a test is checked against it, in all tests."""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from helpers import REPOSITORY, THOROUGH

sys.path.insert(0, str(REPOSITORY / "scripts"))
import make_schemas
from trex_tui.old.report.json_text import format_json

ENDS = 40 if THOROUGH else 12
"""Items at either end of a list that are checked: a list of 20 000 layers would take a minute."""
REMEDY = "run this test once with UPDATE_GOLDENS=1 and -n 0, and read the difference in report/schemas/"


@cache
def validator(name: str) -> Any:
    import jsonschema

    schema = json.loads((make_schemas.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def thinned(value: Any) -> Any:
    """The value with the ends of its long lists only."""
    if isinstance(value, dict):
        return {key: thinned(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = value if len(value) <= 2 * ENDS else [*value[:ENDS], *value[-ENDS:]]
        return [thinned(item) for item in items]
    return value


def check_document(document: Any) -> str | None:
    """Check a document against its schema, or with UPDATE_GOLDENS widen the schema; return the name of the document."""
    name = make_schemas.document_name(document)
    if name is None:
        return None
    document = json.loads(_dumps(document))
    if os.environ.get("UPDATE_GOLDENS"):
        with (make_schemas.FOLDER / "__init__.py").open(encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            make_schemas.widen(name, [document])
        validator.cache_clear()
        return name
    errors = sorted(validator(name).iter_errors(thinned(document)), key=lambda error: error.json_path)
    if errors:  # the program would catch an AssertionError
        pytest.fail(f"{name} {errors[0].json_path}: {errors[0].message[:300]}; {REMEDY}")
    return name


_dumps = json.dumps


def checked_dumps(*arguments: Any, **options: Any) -> str:
    """`json.dumps` that checks what the program makes of its documents."""
    caller = sys._getframe(1).f_globals.get("__name__", "")
    if caller.startswith("trex_tui.") and arguments and isinstance(arguments[0], dict):
        check_document(arguments[0])
    return _dumps(*arguments, **options)


def checked_format(document: object) -> str:
    """`format_json`, with the same check."""
    if isinstance(document, dict):
        check_document(document)
    return format_json(document)


def install(patch: Callable[[Any, str, Any], None]) -> None:
    from trex_tui.old.cli import result_writer
    from trex_tui.old.report import export, report_file

    patch(json, "dumps", checked_dumps)
    for module in (export, report_file, result_writer):
        patch(module, "format_json", checked_format)


def versions_in(text: str) -> list[str]:
    """The schemas that a text names, without `trex-tui/`."""
    return re.findall(r"schema trex-tui/([\w-]+/\d+)", text)
