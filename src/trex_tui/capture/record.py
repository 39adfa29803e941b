"""`.capture.json`, the record of a capture. Written after every run, so that a killed one leaves it too."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from trex_tui._version import __version__
from trex_tui.artifacts.manifest import SCHEMA
from trex_tui.capture.clocks import HeldClocks, without_ids
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import BUILD, RunPlan
from trex_tui.capture.process import ProcessOutcome
from trex_tui.capture.staging import Names, describe_file, list_files
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import RunVerdict


@dataclass(slots=True)
class CaptureRecord:
    """The manifest while the capture runs.

    Attributes:
        status: `running`, `complete`, `failed` or `interrupted`.
        model: Path as typed, size and digest of the ONNX, or of the engine in a profile-only capture.
        engine: Size and digest of the engine.
        runs: One entry per run of trtexec, failed runs included.
        clocks: Result of the request for locked clocks; None without one.
        remarks: Sentences about the numbers.
        remote: The machine over ssh; None for this machine.
    """

    name: str
    directory: Path
    options: CaptureOptions
    trtexec: Trtexec
    status: str = "running"
    started: datetime | None = None
    ended: datetime | None = None
    model: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] | None = None
    clocks: HeldClocks | None = None
    remarks: list[str] = field(default_factory=list)
    remote: Mapping[str, Any] | None = None

    @property
    def build(self) -> Mapping[str, Any]:
        """The entry of the build that passed; empty if there is none."""
        return find_build(self.runs)

    def add_run(self, run: RunPlan, outcome: ProcessOutcome, verdict: RunVerdict) -> dict[str, Any]:
        """Add a run, and return its entry."""
        entry = {
            "role": run.role,
            "number": run.number,
            "command": list(run.argv),
            "log": str(run.log.relative_to(self.directory)),
            "started": _stamp(outcome.started),
            "ended": _stamp(outcome.ended),
            "wall_s": round(outcome.wall_s, 3),
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "children_ended": outcome.children,
            "passed": verdict.passed,
            "failure": verdict.key or None,
            "message": str(verdict) or None,
            "remarks": list(verdict.remarks),
        }
        self.runs.append(entry)
        return entry

    def document(self, files: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "trex_tui": __version__,
            "name": self.name,
            "status": self.status,
            "started": _stamp(self.started),
            "ended": _stamp(self.ended),
            "trtexec": {
                "path": str(self.trtexec.path),
                "found_by": self.trtexec.found_by,
                "version": self.trtexec.version,
                "build": self.trtexec.build,
            },
            "model": self.model,
            "engine": self.engine,
            "work_directory": str(self.directory),
            "current_directory": os.getcwd(),  # noqa: PTH109 - what relative paths are relative to
            "remote": self.remote,
            "runs": self.runs,
            "remarks": [without_ids(remark) for remark in dict.fromkeys(self.remarks)],
            "clocks": None if self.clocks is None else self.clocks.document(),
            "host": {"before": self.before, "after": self.after},
            "files": files,
        }

    def write(self, names: Names) -> None:
        """Write the manifest into the set, with a digest of every other file there.

        Raises:
            OSError: A file cannot be read, or the manifest cannot be written.
        """
        files = {}
        if self.status != "running":  # avoids hashing gigabytes twice
            files = {
                str(path.relative_to(names.directory)): describe_file(path)
                for path in list_files(names.directory)
                if path != names.manifest
            }
        text = json.dumps(self.document(files), indent=2, allow_nan=False)
        temporary = names.manifest.with_name(f".{names.manifest.name}.tmp")
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(names.manifest)


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def find_build(runs: object) -> Mapping[str, Any]:
    """Return the entry of the build that passed among the runs of a manifest; empty if there is none."""
    entries = runs if isinstance(runs, list) else []
    good = (
        run
        for run in reversed(entries)
        if isinstance(run, dict) and run.get("role") == BUILD and run.get("passed")
    )
    return next(good, {})


def read_build(manifest: Path, engine: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the build of an engine and its model, from the manifest of an earlier capture; empty if it is of another."""
    try:
        root = json.loads(manifest.read_text(encoding="utf-8"))
        is_same = root["schema"] == SCHEMA and root["engine"]["sha256"] == engine["sha256"]
        return (find_build(root["runs"]), dict(root["model"])) if is_same else ({}, {})
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        return {}, {}
