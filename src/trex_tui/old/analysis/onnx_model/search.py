"""Join the ONNX model that the user names, or that lies in a directory or beside the files of an engine.

Directories are listed, never searched recursively. Links are not followed, and of a path that the metadata names only the
name of the file counts: nothing outside the directories that the user named is opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.errors import ArtifactError, Diagnostic, Severity, TrexError, describe_os_error
from trex_tui.old.text import format_bytes

if TYPE_CHECKING:
    from trex_tui.old.analysis.onnx_model.model import OnnxModel
    from trex_tui.old.engine.engine import Engine

_ENDING = ".onnx"
_LARGEST_BESIDE = 128 << 20
"""Bytes of a model that is read although the user did not name it. 224 MiB take 1.6 s and 0.5 GiB of memory, and protobuf
stops all threads for 0.6 s."""
_LEAST_SHARE = 0.9
"""Share of the names of layers that such a model must have; one that the user names needs half."""


def join_file(engine: Engine, path: Path) -> Engine:
    """The engine with a model, or the one in a directory, and with the nodes of the model at its layers.

    A model that cannot be used, or onnx that is not installed, adds an error to the diagnostics.
    """
    from trex_tui.old.analysis.onnx_model.join import add_join, join_model
    from trex_tui.old.analysis.onnx_model.model import read_model

    try:
        path = find_model(engine, path) if path.is_dir() else path
        join = join_model(engine, read_model(path))
    except ArtifactError as error:
        return replace(engine, diagnostics=(*engine.diagnostics, error.diagnostic))
    except TrexError as error:
        note = Diagnostic(Severity.ERROR, path, "", str(error))
        return replace(engine, diagnostics=(*engine.diagnostics, note))
    return add_join(engine, join)


def find_model(engine: Engine, directory: Path) -> Path:
    """Find the model of an engine in a directory: the one that its metadata names, or has its name, or the only one.

    Subdirectories and links are not followed.

    Raises:
        ArtifactError: There is none, or several and none of these names.
    """
    try:
        models = _list_models(directory)
    except OSError as error:
        raise ArtifactError(directory, describe_os_error(error)) from None
    named = _find_named(engine, directory)
    if named is not None or len(models) == 1:
        return named or models[0]
    count = f"{len(models)} ONNX models" if models else "no ONNX model"
    raise ArtifactError(directory, f"has {count}; name the file of {engine.name} with --onnx")


def join_model_beside(engine: Engine, roots: Sequence[Path] = ()) -> Engine:
    """The engine with the model beside its files, if there is one that is certainly its own; else without.

    A model with the name of the engine, or named by its metadata, that is not used costs a note. Without the package onnx
    no model is used.

    Args:
        roots: Directories that the user named. Those between the files and such a directory are searched too, for a model
            with the name of the engine or of the metadata.
    """
    directory = engine.source.directory
    named = next(
        filter(
            None, (_find_named(engine, folder) for folder in (directory, *_list_parents(directory, roots)))
        ),
        None,
    )
    path = named or _find_only_one(directory)
    if path is None or engine.onnx is not None:
        return engine
    from importlib.util import find_spec  # 20 ms with the two below; most engines have no model beside them

    if find_spec("onnx") is None:
        return engine
    from trex_tui.old.analysis.onnx_model.join import add_join, join_model
    from trex_tui.old.analysis.onnx_model.model import read_model

    try:
        size = path.stat().st_size
        if size > _LARGEST_BESIDE:
            return _with_note(engine, path, f"not used: {format_bytes(size)}; name it with --onnx to use it")
        join = join_model(engine, read_model(path))
    except TrexError as error:
        text = error.diagnostic.message if isinstance(error, ArtifactError) else str(error)
        return engine if named is None else _with_note(engine, path, f"not used: {text}")
    except OSError:
        return engine
    if join.found < _LEAST_SHARE * join.stated:
        text = f"not used: it has {join.found} of {join.stated} node names of the layers; name it with --onnx to use it"
        return _with_note(engine, path, text)
    return add_join(engine, replace(join, is_given=False))


def share_models(engines: Sequence[Engine]) -> list[Engine]:
    """Engines that are compared: one without a model gets that of another, if it is certainly its own as well."""
    models = list({engine.onnx.model.path: engine.onnx.model for engine in engines if engine.onnx}.values())
    return [_join_first(engine, models) if models and engine.onnx is None else engine for engine in engines]


def _join_first(engine: Engine, models: Sequence[OnnxModel]) -> Engine:
    from trex_tui.old.analysis.onnx_model.join import add_join, join_model

    for model in models:
        try:
            join = join_model(engine, model)
        except ArtifactError:
            continue
        if join.found >= _LEAST_SHARE * join.stated:
            return add_join(engine, replace(join, is_given=False))
    return engine


def _with_note(engine: Engine, path: Path, text: str) -> Engine:
    return replace(engine, diagnostics=(*engine.diagnostics, Diagnostic(Severity.INFO, path, "", text)))


def _list_parents(directory: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the directories above one, up to one that the user named; none if it is below no such directory."""
    known = [root.resolve() for root in roots]
    for folder in directory.resolve().parents:
        if not any(folder == root or root in folder.parents for root in known):
            return
        yield folder


def _list_models(directory: Path) -> list[Path]:
    with os.scandir(directory) as listing:
        return sorted(
            Path(entry.path)
            for entry in listing
            if entry.name.endswith(_ENDING) and entry.is_file(follow_symlinks=False)
        )


def _find_only_one(directory: Path) -> Path | None:
    try:
        models = _list_models(directory)
    except OSError:
        return None
    return models[0] if len(models) == 1 else None


def _find_named(engine: Engine, directory: Path) -> Path | None:
    """Return the model that the metadata names or that has the name of the engine; None if neither is a regular file."""
    stated = engine.metadata.model_options.get("Model") or (engine.capture.model if engine.capture else None)
    for text in (str(stated or "").replace("\\", "/"), engine.name + _ENDING):
        name = text.rpartition("/")[2]
        path = directory / name
        try:
            if name.endswith(_ENDING) and stat.S_ISREG(path.lstat().st_mode):
                return path
        except (OSError, ValueError):
            continue
    return None
