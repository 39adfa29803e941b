"""Find engines and sets of earlier captures that fit a request and need not be built or measured again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trex_tui.old.artifacts.capture_manifest import table_in
from trex_tui.old.capture.environment_probe import identify_machine, machine_differences
from trex_tui.old.capture.manifest import Manifest, file_entry, read_manifest, run_key
from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.plan import BUILD, Names, RunPlan
from trex_tui.old.capture.ssh import external_data
from trex_tui.old.capture.staging import take_over
from trex_tui.old.lazy_dataclass import dataclass

_TAKEN = ("engine", "engine.build.log", "build.metadata.json")


@dataclass(frozen=True, slots=True)
class Reusable:
    """An earlier build that fits.

    Attributes:
        names: Its files.
        run: Its entry in the earlier manifest.
        engine: Size and digest of the engine.
    """

    names: Names
    run: Mapping[str, Any]
    engine: Mapping[str, Any]

    def kept_names(self) -> frozenset[str]:
        """Return the files to keep when the work directory is cleared."""
        return frozenset(self.names.file(ending).name for ending in _TAKEN)

    def take(self, target: Names) -> None:
        """Link or copy the files into the new set.

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
    directories: Iterable[Path], name: str, build: RunPlan, now: Manifest
) -> tuple[Reusable | None, list[str]]:
    """Find the first build that fits, and why earlier candidates do not; the caller holds the lock of the workspace.

    Args:
        directories: Directories that may hold sets of this name.
        build: The run that would build the engine now.
        now: Manifest with model, inputs, trtexec and machine of that build.

    Raises:
        OSError: An engine cannot be read.
    """
    reasons: list[str] = []
    for directory in directories:
        names = Names(directory, name)
        manifest = read_manifest(names.manifest)
        if manifest is None:
            continue
        reason = next(_misfits(manifest, names, build, now), None)
        if reason is None:
            return Reusable(names, find_passed_build(manifest), manifest["engine"]), reasons
        reasons.append(f"{names.engine}: {reason}")
    return None, reasons


def is_complete(names: Names, runs: Sequence[RunPlan], now: Manifest) -> bool:
    """Return whether a set has the results that these runs would have.

    Args:
        runs: Runs with their files in the directory of the set.
        now: Manifest with model, inputs, trtexec and machine.
    """
    manifest = read_manifest(names.manifest)
    if manifest is None or manifest.get("status") != "complete":
        return False
    entries = [entry for entry in manifest.get("runs") or () if isinstance(entry, dict)]
    has_files = all(path.is_file() for run in runs for path in (run.log, *(path for _, path in run.exports)))
    has_runs = all(
        any(
            entry.get(f"{run.role}_key") == run_key(run) for entry in entries if entry.get("role") == run.role
        )
        for run in runs
    )
    then = identify_machine(table_in(table_in(manifest, "host"), "before"))
    differences = [*_differences(manifest, now), *machine_differences(then, identify_machine(now.before))]
    return has_files and has_runs and not differences


def find_passed_build(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the manifest entry of the build that passed; empty if there is none."""
    runs = manifest.get("runs")
    good = [
        run
        for run in (runs if isinstance(runs, list) else [])
        if isinstance(run, dict) and run.get("role") == BUILD and run.get("passed")
    ]
    return good[-1] if good else {}


def find_build_machine(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the machine that built the engine; the set may have been measured elsewhere since."""
    noted = find_passed_build(manifest).get("machine")
    return (
        noted if isinstance(noted, dict) else identify_machine(table_in(table_in(manifest, "host"), "before"))
    )


def _misfits(manifest: Mapping[str, Any], names: Names, build: RunPlan, now: Manifest) -> Iterator[str]:
    """Yield reasons why the engine cannot be used, cheapest check first."""
    run = find_passed_build(manifest)
    if not run:
        yield "its build failed"
    if run.get("build_key") != run_key(build):
        yield "it was built with different options"
    yield from _differences(manifest, now)
    yield from machine_differences(find_build_machine(manifest), identify_machine(now.before))
    if not names.engine.is_file():
        if manifest.get("remote"):
            yield "it was not copied back from the machine that built it (needs --with-engine)"
        yield "it no longer exists"
    elif file_entry(names.engine)["sha256"] != table_in(manifest, "engine").get("sha256"):
        yield "it changed since"


def _differences(manifest: Mapping[str, Any], now: Manifest) -> Iterator[str]:
    """Yield differences in trtexec and its input files."""
    trtexec = now.trtexec
    then = table_in(manifest, "trtexec")
    if (then.get("version"), then.get("build")) != (trtexec.version, trtexec.build):
        yield f"it was built by TensorRT {then.get('version')}, this is {trtexec.version}"
    if table_in(manifest, "model").get("sha256") != now.model["sha256"]:
        yield "the model has changed"
    inputs = table_in(manifest, "inputs")
    for name in sorted({*inputs, *now.inputs}):
        if inputs.get(name) != now.inputs.get(name):
            yield f"{name} is not what it was built with"


def read_model(path: Path) -> dict[str, Any]:
    """Return path as typed, size and digest.

    Raises:
        OSError: The file cannot be read.
    """
    return {"path": str(path), **file_entry(path)}


def read_inputs(options: CaptureOptions) -> dict[str, Any]:
    """Return size and digest of the inputs of a build other than the model; missing files are skipped.

    Raises:
        OSError: A file cannot be read.
    """
    files: dict[str, Path] = {}
    if options.onnx is not None:
        model = Path(options.onnx)
        paths = {location: Path(location) for location in external_data(model)}
        files = {
            name: model.parent / location
            for name, location in paths.items()
            if not location.is_absolute() and ".." not in location.parts and "\0" not in name
        }
        named = (options.calib, *(plugin for plugin in options.plugins if "/" in plugin))
        files |= {text: Path(text) for text in named if text is not None}
    return {name: file_entry(path) for name, path in sorted(files.items()) if path.is_file()}
