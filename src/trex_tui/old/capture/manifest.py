"""`.capture.json`, the record of a capture. Written after every run, so that a killed capture can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any

from trex_tui._version import __version__
from trex_tui.old.artifacts.capture_manifest import SCHEMA
from trex_tui.old.buildlog.log_records import role_document
from trex_tui.old.buildlog.reader import read_outline
from trex_tui.old.capture.clocks import (
    CLOCKS,
    MEMORY_CLOCK,
    POWER_LIMIT,
    ClockLockAttempt,
    GpuSetting,
    without_ids,
)
from trex_tui.old.capture.environment_probe import identify_machine
from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.plan import BUILD, PROFILE, Names, RunPlan, flag_name
from trex_tui.old.capture.process import ProcessOutcome
from trex_tui.old.capture.staging import files_below
from trex_tui.old.capture.trtexec import Trtexec
from trex_tui.old.capture.verdict import RunVerdict
from trex_tui.old.lazy_dataclass import dataclass

_PLACES = frozenset(
    ("--onnx", "--saveEngine", "--loadEngine", "--exportTimes", "--exportProfile", "--exportLayerInfo")
)
_CHUNK = 1 << 20


def compute_sha256(path: Path) -> str:
    """Return the hex digest of a file.

    Raises:
        OSError: The file cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def file_entry(path: Path) -> dict[str, Any]:
    """Return size and digest of a file.

    Raises:
        OSError: The file cannot be read.
    """
    return {"bytes": path.stat().st_size, "sha256": compute_sha256(path)}


def run_key(run: RunPlan) -> list[str]:
    """Return the arguments that decide the result of a run, as typed: without model, engine and exported files."""
    return [word for word in (run.here or run.argv)[1:] if flag_name(word) not in _PLACES]


@dataclass(slots=True)
class Manifest:
    """The manifest while the capture runs.

    Attributes:
        status: `running`, `complete`, `failed` or `interrupted`.
        model: Path as typed, size and digest of the ONNX, or of the engine in a profile-only capture.
        inputs: Size and digest of other inputs of the build: external weights, calibration, plugins.
        engine: Size and digest of the engine.
        runs: One entry per run of trtexec, failed runs included.
        held: Results of the requests for locked clocks and a power limit.
        remarks: Sentences about the numbers.
        remote: The machine over ssh; None for this machine.
        with_ids: Whether UUIDs and the host name are recorded.
    """

    name: str
    directory: Path
    options: CaptureOptions
    trtexec: Trtexec
    status: str = "running"
    started: datetime | None = None
    ended: datetime | None = None
    model: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] | None = None
    held: list[ClockLockAttempt] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    remote: Mapping[str, Any] | None = None
    with_ids: bool = False

    def add_run(self, run: RunPlan, outcome: ProcessOutcome, verdict: RunVerdict, log: Path) -> None:
        self.runs.append(
            {
                "role": run.role,
                "number": run.number,
                "command": list(run.argv),
                "build_key": run_key(run) if run.role == BUILD else None,
                "profile_key": run_key(run) if run.role == PROFILE else None,
                "machine": identify_machine(self.before) if run.role == BUILD else None,
                "log": str(log.relative_to(self.directory)),
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
        )

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
            "inputs": self.inputs,
            "engine": self.engine,
            "work_directory": str(self.directory),
            "current_directory": os.getcwd(),  # noqa: PTH109 - what relative paths are relative to
            "remote": self.remote,
            "runs": self.runs,
            # A GPU is unlocked manually by its UUID.
            "remarks": self.remarks if self.with_ids else [without_ids(remark) for remark in self.remarks],
            "clocks": self._held(CLOCKS),
            "memory_clock": self._held(MEMORY_CLOCK),
            "power_limit": self._held(POWER_LIMIT),
            "host": {"before": self.before, "after": self.after},
            "files": files,
        }

    def _held(self, setting: GpuSetting) -> dict[str, Any] | None:
        lock = next((lock for lock in self.held if lock.setting is setting), None)
        return None if lock is None else lock.document(with_ids=self.with_ids)

    def write(self, names: Names) -> None:
        """Write the manifest into the set, with a digest of every other file there.

        Raises:
            OSError: A file cannot be read, or the manifest cannot be written.
        """
        files = {}
        if self.status != "running":  # avoids hashing gigabytes twice
            files = {
                str(path.relative_to(names.directory)): file_entry(path)
                for path in files_below(names.directory)
                if path != names.manifest
            }
        text = json.dumps(self.document(files), indent=2, allow_nan=False)
        temporary = names.manifest.with_name(f".{names.manifest.name}.tmp")
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(names.manifest)


def _stamp(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return a manifest written by trex-tui; None if it is missing, unreadable or foreign."""
    try:
        root = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(root, dict) or root.get("schema") != SCHEMA:
        return None
    sections = ("trtexec", "model", "engine", "host")
    return root if all(isinstance(root.get(section), dict) for section in sections) else None


def read_log_metadata(path: Path, role: str) -> dict[str, dict[str, Any]]:
    """Return the content of `.build.metadata.json` or `.profile.metadata.json` from a log.

    Raises:
        ArtifactError: The log cannot be read.
    """
    return role_document(read_outline(path, has_names=False), role)


def write_metadata(log: Path, role: str, target: Path, *, with_ids: bool = False) -> None:
    """Write the metadata beside the log. Without `with_ids` GPU identifiers are removed, though the log keeps them.

    Raises:
        ArtifactError: The log cannot be read.
        OSError: The file cannot be written.
    """
    metadata = read_log_metadata(log, role)
    if not with_ids and (device := metadata.get("device_information")):
        metadata["device_information"] = {
            key: without_ids(value) if isinstance(value, str) else value for key, value in device.items()
        }
    target.write_text(json.dumps(metadata, indent=4) + "\n", encoding="utf-8")
