"""Make the JSON Schemas of the documents from documents and from the glossary.

    python scripts/make_schemas.py FILE ...   widen the schemas by these documents
    python scripts/make_schemas.py            renew descriptions and columns only
    python scripts/make_schemas.py --fresh    forget what the named documents no longer have

The form of a document (keys, types, null) is that of the documents seen. Definitions, units, closed sets of values
and keys that are data come from the glossary, columns of layers from the code. With UPDATE_GOLDENS=1 every test that writes a
document widens its schema in the same way; a key that is gone is removed by hand.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.engine.columns import LayerColumn
from trex_tui.report.glossary.registry import find_path
from trex_tui.report.glossary.term import Term, find_unit
from trex_tui.report.graph.graph_files import RESERVED
from trex_tui.report.schemas import DOCUMENTS

FOLDER = Path(__file__).resolve().parent.parent / "src" / "trex_tui" / "report" / "schemas"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_DTYPES = {"float64": "number", "Int64": "integer", "boolean": "boolean", "string": "string"}
_SCALARS = ["boolean", "integer", "null", "number", "string"]


def _term(path: Sequence[str]) -> Term | None:
    entry = find_path(path) if len(path) > 1 else None
    return entry.term if entry else None


def observe(value: object, path: tuple[str, ...]) -> Schema:
    """The schema of one value: every key required, every type that of the value.

    Args:
        path: Name of the document, then the keys down to the value; `*` for a key that is data.
    """
    term = _term(path)
    if isinstance(value, list):
        items: Schema = {}
        for item in value:
            items = merge(items, {"type": [_name(item)]} if _is_verbatim(term) else observe(item, path))
        return {"type": ["array"], "items": items}
    if isinstance(value, dict):
        if _is_verbatim(term):
            return {"type": ["object"]}
        if term is not None and term.entries:
            values: Schema = {}
            for item in value.values():
                values = merge(values, observe(item, (*path, "*")))
            return {"type": ["object"], "additionalProperties": values}
        properties = {key: observe(item, (*path, key)) for key, item in value.items()}
        return {
            "type": ["object"],
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }
    return {"type": [_name(value)]}


def _is_verbatim(term: Term | None) -> bool:
    return term is not None and term.is_verbatim


def _name(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "object" if isinstance(value, dict) else "array"
    return _TYPES[type(value)]


def merge(one: Schema, other: Schema) -> Schema:
    """The schema of what either describes; an empty one describes nothing yet."""
    if not one or not other:
        return one or other
    types = {*one["type"], *other["type"]}
    types -= {"integer"} if "number" in types else set()
    merged: Schema = {"type": sorted(types)}
    if "properties" in one or "properties" in other:
        merged |= _merged_objects(one, other)
    elif "additionalProperties" in one or "additionalProperties" in other:
        merged["additionalProperties"] = merge(
            one.get("additionalProperties", {}), other.get("additionalProperties", {})
        )
    if "items" in one or "items" in other:
        merged["items"] = merge(one.get("items", {}), other.get("items", {}))
    return merged


def _merged_objects(one: Schema, other: Schema) -> Schema:
    both = [side for side in (one, other) if "properties" in side]
    keys = dict.fromkeys(key for side in both for key in side["properties"])
    properties = {}
    for key in keys:
        properties[key] = merge(*(side.get("properties", {}).get(key, {}) for side in (one, other)))
    required = [key for key in keys if all(key in side["required"] for side in both)]
    return {"properties": properties, "required": required, "additionalProperties": False}


def bare(schema: Schema) -> Schema:
    """The schema without all that is not seen in documents: what `merge` takes."""
    if not schema:
        return {}
    types = schema.get("type", "string" if "const" in schema else "null")
    kept: Schema = {"type": [types] if isinstance(types, str) else list(types)}
    if "properties" in schema:
        kept["properties"] = {key: bare(item) for key, item in schema["properties"].items()}
        kept["required"] = list(schema.get("required", ()))
        kept["additionalProperties"] = False
    elif isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = bare(schema["additionalProperties"])
    if "items" in schema:
        kept["items"] = bare(schema["items"])
    return kept


Pool = dict[tuple[str, str], Schema]
_NUMBERS = frozenset({"integer", "number", "null"})


def pooled(schema: Schema, name: str) -> Schema:
    """The schema with the types of keys of one term joined: a finding has the same form under `findings` and `suppressed`.

    Types of numbers are joined; other keys take the form of their like only where no value was seen.
    """
    pool: Pool = {}
    _gather(schema, (name,), pool)
    return _filled(schema, (name,), pool)


def _pool_key(path: tuple[str, ...]) -> tuple[str, str] | None:
    term = _term(path)
    return None if term is None else (path[-1], term.key)


def _gather(schema: Schema, path: tuple[str, ...], pool: Pool) -> None:
    key = _pool_key(path)
    if key is not None and schema:
        pool[key] = merge(pool.get(key, {}), schema)
    for below, item in _children(schema, path):
        _gather(item, below, pool)


def _children(schema: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Objects below a key, in lists as well; items of lists that are no objects are part of the key."""
    for key, item in schema.get("properties", {}).items():
        yield (*path, key), item
    if isinstance(schema.get("additionalProperties"), dict):
        yield (*path, "*"), schema["additionalProperties"]
    items = schema.get("items")
    if isinstance(items, dict) and items:
        yield from _children(items, path)


def _filled(schema: Schema, path: tuple[str, ...], pool: Pool) -> Schema:
    key = _pool_key(path)
    like = pool.get(key, {}) if key is not None else {}
    made = dict(schema)
    types = set(made.get("type", ()))
    if like and (types <= {"null"} or (types <= _NUMBERS and set(like["type"]) <= _NUMBERS)):
        made = merge(made, like)
    elif like and (made.get("items") == {} or made.get("additionalProperties") == {}):
        made = merge(made, {**like, "type": made["type"]})
    if "properties" in made:
        made["properties"] = {k: _filled(item, (*path, k), pool) for k, item in made["properties"].items()}
    elif isinstance(made.get("additionalProperties"), dict) and made["additionalProperties"]:
        made["additionalProperties"] = _filled(made["additionalProperties"], (*path, "*"), pool)
    if made.get("items"):
        made["items"] = _filled_items(made["items"], path, pool)
    return made


def _filled_items(items: Schema, path: tuple[str, ...], pool: Pool) -> Schema:
    made = dict(items)
    if "properties" in made:
        made["properties"] = {k: _filled(item, (*path, k), pool) for k, item in made["properties"].items()}
    if made.get("items"):
        made["items"] = _filled_items(made["items"], path, pool)
    return made


def described(schema: Schema, path: tuple[str, ...]) -> Schema:
    """The schema with definitions, units and closed sets of values."""
    term = _term(path)
    made: Schema = {}
    if term is not None:
        unit = find_unit(term)
        made["description"] = term.definition + (f" Unit: {unit}." if unit else "")
        if term.entries:
            made["description"] += f" Keys: {term.entries}."
    if not schema:
        return made
    types = _types(schema["type"], term, path)
    if not types:
        return made
    made["type"] = types[0] if len(types) == 1 else types
    if term is not None and term.values and set(types) <= {"string", "null"}:
        made["enum"] = [*term.values, *([None] if "null" in types else [])]
    if "properties" in schema:
        made["properties"] = {
            key: described(item, (*path, key)) for key, item in schema["properties"].items()
        }
        made["required"] = schema["required"]
        made["additionalProperties"] = False
    elif "additionalProperties" in schema:
        made["additionalProperties"] = described(schema["additionalProperties"], (*path, "*"))
    if "items" in schema:
        made["items"] = _item(schema["items"], path)
    return made


def _types(seen: list[str], term: Term | None, path: tuple[str, ...]) -> list[str]:
    """The types of a key: those seen, and null where the glossary or the kind of document knows it; none if all may be."""
    if seen == ["null"]:
        return ["null", "number"] if term is not None and find_unit(term) else []
    is_of_machine = not {"host", "capture"}.isdisjoint(path[1:]) and set(seen) <= set(
        _SCALARS
    )  # another machine may not have it
    if is_of_machine or (term is not None and re.search(r"\bnull\b", term.definition)):
        return sorted({*seen, "null"})
    return seen


def _item(schema: Schema, path: tuple[str, ...]) -> Schema:
    item = described(schema, path)
    item.pop("description", None)
    return item


def layer_rows() -> Schema:
    """The schema of a row of layers: all columns, of which `--columns` chooses some."""
    return {
        "type": "object",
        "properties": {column.name: _column(column) for column in ALL_COLUMNS},
        "patternProperties": _ATTRIBUTES,
        "additionalProperties": False,
    }


_ATTRIBUTES = {"^attr\\.": {"description": "An attribute of the layer, as in the file."}}


def _column(column: LayerColumn) -> Schema:
    made: Schema = {
        "description": column.description + (f" Unit: {column.unit}." if column.unit else ""),
        "type": [_DTYPES.get(column.dtype, "array"), "null"],
    }
    if column.dtype not in _DTYPES:
        made["items"] = {"type": "string"}
    return made


def graph_node(seen: Schema) -> Schema:
    """The schema of a node of a graph: what nodes have, and the known columns of layers, several names joined by `;`."""
    columns = {
        f"layer_{column.name}" if column.name in RESERVED else column.name: _column(column)
        for column in ALL_COLUMNS
    }
    for column in columns.values():
        types = [kind for kind in column["type"] if kind != "null"]
        column["type"] = "string" if types == ["array"] else types[0]
        column.pop("items", None)
    own = {
        key: item
        for key, item in seen["properties"].items()
        if key not in columns and not key.startswith("attr.")
    }
    return {**seen, "properties": {**own, **columns}, "patternProperties": _ATTRIBUTES}


def finished(name: str, schema: Schema, version: str) -> Schema:
    """The file of a schema."""
    made = described(pooled(schema, name), (name,))
    made["properties"]["schema"] = {
        "description": made["properties"]["schema"]["description"],
        "const": version,
    }
    if name == "layers":
        made["properties"]["layers"] = {
            "description": made["properties"]["layers"]["description"],
            "type": "array",
            "items": layer_rows(),
        }
    if name == "report":
        _embed_diff(made["properties"]["comparison"]["properties"])
    if name == "graph":
        made["properties"]["nodes"]["items"] = graph_node(made["properties"]["nodes"]["items"])
    content, command = DOCUMENTS[name]
    return {
        "$schema": DRAFT,
        "$id": f"urn:{version.replace('/', ':')}",
        "title": version,
        "description": f"{content}: `{command}`.",
        **made,
    }


def _embed_diff(comparison: Schema) -> None:
    """The comparison of a report is the document of `diff`."""
    diff = json.loads((FOLDER / "diff.json").read_text(encoding="utf-8"))
    for key in ("$schema", "$id", "title"):
        del diff[key]
    comparison["diff"] = {**diff, "description": comparison["diff"]["description"]}


def widen(name: str, documents: Sequence[Any], *, fresh: bool = False) -> bool:
    """Widen the schema of a document, renew its descriptions; return whether the file has changed."""
    path = FOLDER / f"{name}.json"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    old = json.loads(before) if before and not fresh else {}
    schema = bare(old)
    version = old.get("title", "")
    for document in documents:
        schema = merge(schema, observe(document, (name,)))
        version = document["schema"]
    after = json.dumps(finished(name, schema, version), indent=1, ensure_ascii=False) + "\n"
    if after != before:
        path.write_text(after, encoding="utf-8")
        if name == "diff" and (FOLDER / "report.json").exists():
            widen("report", [])
    return after != before


def document_name(document: object) -> str | None:
    """The name of a document that has a schema; None for others."""
    version = document.get("schema") if isinstance(document, dict) else None
    parts = version.split("/") if isinstance(version, str) else []
    return parts[1] if len(parts) == 3 and parts[0] == "trex-tui" and parts[1] in DOCUMENTS else None


def keys_of(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Path and schema of every key in a schema, parents first."""
    for key, item in schema.get("properties", {}).items():
        yield f"{path}{key}", item
        yield from keys_of(item, f"{path}{key}.")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from keys_of(schema["additionalProperties"], f"{path}*.")
    if isinstance(schema.get("items"), dict):
        yield from keys_of(schema["items"], path)


def main() -> int:
    """Widen and renew the files."""
    documents: dict[str, list[Any]] = {}
    for argument in sys.argv[1:]:
        if argument != "--fresh":
            document = json.loads(Path(argument).read_text(encoding="utf-8"))
            documents.setdefault(document_name(document) or sys.exit(f"{argument}: no schema"), []).append(
                document
            )
    for name in DOCUMENTS:
        if name in documents or (FOLDER / f"{name}.json").exists():
            if widen(name, documents.get(name, []), fresh="--fresh" in sys.argv and name in documents):
                print(f"{name}: changed")
        else:
            print(f"{name}: no document seen")
    return 0


if __name__ == "__main__":
    sys.exit(main())
