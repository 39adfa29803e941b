"""An engine that an earlier capture built, if it is the one that would be built now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.capture.abilities import Trtexec
from trex_tui.capture.artifacts import Workspace, take_over
from trex_tui.capture.manifest import build_key, file_entry, read_manifest
from trex_tui.capture.plan import BUILD, Names, RunPlan

_TAKEN = ("engine", "engine.build.log", "build.metadata.json")


@dataclass(frozen=True, slots=True)
class Reusable:
    """A build that need not be done again.

    Attributes:
        names: Where its files lie.
        run: Its entry in the manifest of then.
        engine: Size and digest of the engine.
    """

    names: Names
    run: Mapping[str, Any]
    engine: Mapping[str, Any]

    def kept_names(self) -> frozenset[str]:
        """The files that a clearing of the work directory must leave."""
        return frozenset(self.names.file(ending).name for ending in _TAKEN)

    def take(self, target: Names) -> None:
        """Have the files in the new set.

        Raises:
            OSError: They cannot be copied.
        """
        if self.names.directory == target.directory:
            return
        for ending in _TAKEN:
            source = self.names.file(ending)
            if source.is_file():
                take_over(source, target.file(ending))


def find_reusable(
    workspace: Workspace,
    build: RunPlan,
    trtexec: Trtexec,
    model: Mapping[str, Any],
    gpus: Sequence[Mapping[str, Any]],
) -> tuple[Reusable | None, list[str]]:
    """The newest build that fits, and why the others do not; the caller holds the lock of the workspace.

    Raises:
        OSError: An engine cannot be read.
    """
    reasons: list[str] = []
    for directory in (workspace.path, workspace.failed, workspace.outdir):
        names = Names(directory, workspace.name)
        manifest = read_manifest(names.manifest)
        if manifest is None:
            continue
        reason = next(_misfits(manifest, names, build, trtexec, model, gpus), None)
        if reason is None:
            return Reusable(names, build_of(manifest), manifest["engine"]), reasons
        reasons.append(f"{names.engine}: {reason}")
    return None, reasons


def build_of(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The entry of the build that passed, in a manifest; empty if there is none."""
    runs = manifest.get("runs")
    good = [
        one
        for one in (runs if isinstance(runs, list) else [])
        if isinstance(one, dict) and one.get("role") == BUILD and one.get("passed")
    ]
    return good[-1] if good else {}


def _misfits(
    manifest: Mapping[str, Any],
    names: Names,
    build: RunPlan,
    trtexec: Trtexec,
    model: Mapping[str, Any],
    gpus: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Why the engine cannot be used, cheapest question first."""
    run = build_of(manifest)
    if not run:
        yield "its build did not pass"
    if run.get("build_key") != build_key(build.argv):
        yield "it was built with other options"
    then = _dict(manifest, "trtexec")
    if (then.get("version"), then.get("build")) != (trtexec.version, trtexec.build):
        yield f"it was built by TensorRT {then.get('version')}, this is {trtexec.version}"
    if _dict(manifest, "model").get("sha256") != model["sha256"]:
        yield "the model has changed"
    before = _dict(_dict(manifest, "host"), "before").get("gpus")
    old = [one.get("name") for one in before if isinstance(one, dict)] if isinstance(before, list) else []
    new = [one.get("name") for one in gpus]
    if old and new and old != new:
        yield "it was built on another GPU"
    if not names.engine.is_file():
        yield "it is gone"
    elif file_entry(names.engine)["sha256"] != _dict(manifest, "engine").get("sha256"):
        yield "it has changed since"


def _dict(root: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = root.get(key)
    return value if isinstance(value, dict) else {}


def read_model(path: Path) -> dict[str, Any]:
    """Path as typed, size and digest.

    Raises:
        OSError: It cannot be read.
    """
    return {"path": str(path), **file_entry(path)}
