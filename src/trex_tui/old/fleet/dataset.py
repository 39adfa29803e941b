"""Rows as Parquet: one file, or a dataset of files that grows by the sets that it does not have yet."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.fleet.engine_columns import FleetColumn
from trex_tui.old.fleet.table import FleetRow

SCHEMA = "trex-tui/engines/1"
_METADATA_KEY = b"trex-tui"
_NO_MODEL = "unreadable"
_DIGEST = "row_digest"


def write_parquet(rows: Sequence[FleetRow], columns: Sequence[FleetColumn]) -> bytes:
    """Return a Parquet file with a row per engine. Types follow the columns, so that files of different rows fit together.

    Raises:
        TrexError: pyarrow is not installed.
    """
    return _parquet_bytes(rows, columns)


def _parquet_bytes(
    rows: Sequence[FleetRow], columns: Sequence[FleetColumn], digests: Sequence[str] | None = None
) -> bytes:
    """Return a file; with digests a part of a dataset, in which the model is the name of the directory."""
    pyarrow, parquet = _import_pyarrow()
    types = {
        "float64": pyarrow.float64(),
        "Int64": pyarrow.int64(),
        "string": pyarrow.string(),
        "object": pyarrow.list_(pyarrow.string()),
    }
    columns = [column for column in columns if digests is None or column.name != "model"]
    fields = [pyarrow.field(column.name, types[column.dtype]) for column in columns]
    if digests is not None:
        fields.append(pyarrow.field(_DIGEST, pyarrow.string()))
    schema = pyarrow.schema(fields, metadata={"trex-tui": SCHEMA})
    data = {column.name: [_encode(row.value(column.name)) for row in rows] for column in columns}
    if digests is not None:
        data[_DIGEST] = list(digests)
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(data, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def append_dataset(directory: Path, rows: Sequence[FleetRow], columns: Sequence[FleetColumn]) -> int:
    """Add the rows that a dataset does not have to it, and return their number.

    The dataset is a directory per model (`model=NAME/`), with a file per addition, named by the digest of its rows, so that
    the same rows are never added twice. A row is known by the digest of its values, its column `row_digest`. Readers of
    Parquet take the directory as it is.

    Raises:
        TrexError: pyarrow is not installed, the directory has other or damaged Parquet files, or it cannot be written.
    """
    _import_pyarrow()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        known: set[str] = set()
        for path in directory.rglob("*.parquet"):
            known.update(_read_digests(path))
        new: dict[str, list[tuple[str, FleetRow]]] = {}
        for row in rows:
            digest = _digest_row(row, columns)
            if digest not in known:
                known.add(digest)
                new.setdefault(str(row.value("model") or _NO_MODEL), []).append((digest, row))
        for model, members in new.items():
            folder = directory / f"model={quote(model, safe='')}"
            folder.mkdir(exist_ok=True)
            name = hashlib.blake2b(
                "".join(digest for digest, _ in members).encode(), digest_size=12
            ).hexdigest()
            target = folder / f"{name}.parquet"
            staged = target.with_name(f".{name}.{os.getpid()}")
            staged.write_bytes(_parquet_bytes([row for _, row in members], columns, [d for d, _ in members]))
            staged.replace(target)
    except OSError as error:
        raise TrexError(f"--out {directory}: {describe_reason(error)}") from None
    return sum(map(len, new.values()))


def _read_digests(path: Path) -> list[str]:
    """Return the digests of the rows of a file of the dataset.

    Raises:
        TrexError: It is damaged, or of something else.
    """
    pyarrow, parquet = _import_pyarrow()
    if not path.is_file():  # a pipe without a writer would never end
        raise TrexError(f"--out {path}: is no regular file; remove it, or choose another directory")
    try:
        if _METADATA_KEY not in (parquet.read_schema(path).metadata or {}):
            raise TrexError(f"--out {path}: was not written by trex-tui engines; choose another directory")
        digests = parquet.read_table(path, columns=[_DIGEST], partitioning=None)[_DIGEST]
    except pyarrow.ArrowException:
        raise TrexError(
            f"--out {path}: is damaged, or no file of trex-tui engines --out; remove it and run again"
        ) from None
    return list(filter(None, digests.to_pylist()))


def _digest_row(row: FleetRow, columns: Sequence[FleetColumn]) -> str:
    values = {column.name: row.value(column.name) for column in columns if column.name != "model"}
    text = json.dumps(values, sort_keys=True, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _import_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # 90 ms
        import pyarrow.parquet
    except ImportError:
        raise TrexError(
            "Parquet needs pyarrow, which is not installed: pip install 'trex-tui[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet


def _encode(value: Any) -> Any:  # noqa: ANN401 - any cell
    """Return a value that Arrow can hold: UTF-8 has no lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_encode(part) for part in value] if isinstance(value, list) else value
