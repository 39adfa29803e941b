"""Names of files: the engine that a name identifies, and whether it states the kind of the file.

Users of trtexec can choose every name. Known are trex's `resnet.onnx.engine.graph.json`, plain `resnet.graph.json`,
toolkits' `layers_resnet.json` and `resnet_profile.json`, and bare `profile.json`.
"""

from __future__ import annotations

import re
from pathlib import Path

ARCHIVE_ENDING = ".tea"
OUTPUT_DIFF = "output_diff.json"
"""Comparison of outputs, known by its name."""
_CANONICAL = re.compile(
    r"(?P<stem>.+?)\.(?:"
    r"(?:(?:graph|profile|timing|build\.metadata|profile\.metadata|metadata|capture|precision-risk)\.json"
    r"|(?:build|profile)\.log)(?:\.gz)?"
    r"|monitor\.csv"
    r"|engine|plan|trt|tea)",
    re.IGNORECASE | re.DOTALL,
)
_TORCH = re.compile(
    r"(?P<stem>.+?)(?:_engine)+_(?:layer_information\.json|(?:execution|exectuion)_profile\.trace)", re.DOTALL
)
"""Names in Torch-TensorRT's debug folder: `_run_on_acc_0_engine_layer_information.json` for engine `_run_on_acc_0`."""
_EXTENSION = re.compile(r"(?:\.(?:json|log|txt|csv|gz|engine|plan|trt|tea))+$", re.IGNORECASE)
_ENGINE_EXTENSION = re.compile(r"\.(?:engine|plan|trt)$", re.IGNORECASE)
_DOCUMENTS = (".md", ".markdown", ".rst", ".adoc", ".html", ".htm", ".ipynb")
_SOURCES = (".py", ".pyc", ".sh", ".c", ".cc", ".cpp", ".h", ".hpp", ".cu", ".yml", ".yaml", ".toml")
_WORD = re.compile(r"[^._\-\s]+")
_ROLE_WORDS = frozenset(
    [
        "build",
        "dump",
        "engine",
        "graph",
        "info",
        "json",
        "latency",
        "log",
        "meta",
        "metadata",
        "output",
        "run",
        "exportlayerinfo",
        "exportprofile",
        "exporttimes",
        "layer",
        "layerinfo",
        "layers",
        "stderr",
        "stdout",
        "prof",
        "profile",
        "profiling",
        "time",
        "times",
        "timing",
        "timings",
        "trt",
        "trtexec",
    ]
)
"""Words for the kind of a file, not for its engine."""
_MONITOR_WORDS = frozenset(
    ["csv", "gpu", "jtop", "monitor", "nvidia", "power", "smi", "stats", "tegrastats", "usage"]
)
"""The same for other files than JSON: an engine may have such a name."""
_MONITORS = frozenset(("jtop", "monitor", "smi", "tegrastats"))
SILENT_NAMES = _ROLE_WORDS | frozenset(("engines", "model", "models", "result", "results", "trt_profiling"))
"""Names of files and directories that identify no engine."""


def engine_stem(path: Path) -> str:
    """Return the part of the name that files of one engine share; empty if the name only states the kind.

    >>> engine_stem(Path("resnet.onnx.engine.profile.metadata.json")), engine_stem(Path("layers_fp16.json"))
    ('resnet.onnx', 'fp16')
    >>> engine_stem(Path("trtexec_stdout.log")), engine_stem(Path("trtexec.md"))
    ('', 'trtexec.md')
    """
    if path.name.lower() == OUTPUT_DIFF:
        return ""
    if is_document(path):
        return path.name
    if match := _CANONICAL.fullmatch(path.name):
        return _ENGINE_EXTENSION.sub("", match["stem"])
    if match := _TORCH.fullmatch(path.name):
        return match["stem"]
    base = _EXTENSION.sub("", path.name)
    words = list(_WORD.finditer(base))
    first, last = 0, len(words)
    is_json = path.name.lower().endswith((".json", ".json.gz"))
    roles = _ROLE_WORDS if is_json else _ROLE_WORDS | _MONITOR_WORDS
    while last > first and words[last - 1].group().lower() in roles:
        last -= 1
    if last == len(words):
        while first < last and words[first].group().lower() in roles:
            first += 1
    return base[words[first].start() : words[last - 1].end()] if last > first else ""


def display_name(stem: str) -> str:
    """Return the stem for display: without the `.onnx` that trex keeps."""
    return re.sub(r"\.onnx$", "", stem, flags=re.IGNORECASE)


def is_canonical(path: Path) -> bool:
    """Return whether the name is one that trex and trex-tui use."""
    return _CANONICAL.fullmatch(path.name) is not None


def states_kind(path: Path) -> bool:
    """Return whether the name states the kind of the file, so that its other words identify the engine."""
    if is_canonical(path) or _TORCH.fullmatch(path.name):
        return True
    words = (word.group().lower() for word in _WORD.finditer(_EXTENSION.sub("", path.name)))
    return not is_document(path) and not _ROLE_WORDS.isdisjoint(words)


def would_be_used(path: Path) -> bool:
    """Return whether a set would use a file of this name, whatever is in it: then it is an error if it cannot be read."""
    ending = path.suffix.lower()
    return (
        is_canonical(path) or ending == ".onnx" or (ending in (".json", ".log", ".gz") and states_kind(path))
    )


def is_archive(path: Path) -> bool:
    """Return whether the name is that of a TensorRT engine archive."""
    return path.suffix.lower() == ARCHIVE_ENDING


def is_document(path: Path) -> bool:
    """Return whether the name is that of a document or of source, which may quote logs."""
    return path.suffix.lower() in _DOCUMENTS or is_source(path)


def is_source(path: Path) -> bool:
    """Return whether the name is that of a program or its configuration, in which no search looks for logs."""
    return path.suffix.lower() in _SOURCES


def names_power_log(path: Path) -> bool:
    """Return whether the name of a CSV file states that it has samples of power, temperature and clocks."""
    words = (word.group().lower() for word in _WORD.finditer(_EXTENSION.sub("", path.name)))
    return path.suffix.lower() == ".csv" and not _MONITORS.isdisjoint(words)
