"""Run trtexec in a container on this machine: each command becomes a `docker run` with the directories it needs.

Directories are mounted at their own path, so that paths in commands and logs mean the same. Nothing is pulled: TensorRT
images are gigabytes in size. Docker's client forwards signals to the container; a container that outlives it is removed by
its name.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from trex_tui.old.capture.machine import Machine, RunControl
from trex_tui.old.capture.options import CaptureOptions, input_files
from trex_tui.old.capture.process import ProcessOutcome
from trex_tui.old.capture.trtexec import Trtexec, TrtexecNotFoundError, ask
from trex_tui.old.capture.verdict import RunVerdict
from trex_tui.old.errors import TrexError

_ENTRY = (
    'for d in "" /usr/src/tensorrt/bin/ /opt/tensorrt/bin/ /workspace/tensorrt/bin/; do '
    'p=$(command -v "${d}trtexec") && exec "$p" "$@"; done; echo "no trtexec in this image" >&2; exit 127'
)
_JETSON = Path("/etc/nv_tegra_release")
_PASSED_ON = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
_REMOVE_S = 30.0


class ContainerMachine(Machine):
    """This machine, with trtexec in a container.

    Args:
        image: Name of the image, as docker takes it.
        folders: Existing directories that trtexec reads or writes.
        given: Path of trtexec in the image; None searches the image.
    """

    def __init__(self, image: str, folders: Iterable[Path], given: str | None = None) -> None:
        super().__init__()
        self.image = image
        self.folders = _without_nested(folders)
        self.given = given

    def find(self, note: Callable[[str], None]) -> Trtexec:
        """Return the trtexec of the image.

        Raises:
            TrtexecNotFoundError: Docker is missing here, or the image has no usable trtexec.
        """
        if shutil.which("docker", path=os.environ.get("PATH", os.defpath)) is None:
            raise TrtexecNotFoundError("--docker: docker not found on PATH; install it")
        path = Path(self.given or "trtexec")
        return ask(path, f"--docker {self.image}", os.environ, note, self.command(("--help",)))

    def command(self, arguments: Sequence[str], name: str = "") -> tuple[str, ...]:
        """Return the command that runs trtexec with these arguments in a container called `name`."""
        mounts = [word for folder in self.folders for word in ("--mount", _mount(folder))]
        gpus = ("--runtime", "nvidia") if _JETSON.exists() else ("--gpus", "all")
        chosen = [word for key in _PASSED_ON if key in os.environ for word in ("-e", key)]
        named = ("--name", name) if name else ()
        entry = ("--entrypoint", self.given or "/bin/sh", self.image)
        script = () if self.given else ("-c", _ENTRY, "trtexec")
        return (
            *("docker", "run", "--rm", "--init", "--pull", "never", *gpus, *named),
            *("--user", f"{os.getuid()}:{os.getgid()}", *mounts, "-w", str(Path.cwd()), *chosen),
            *(*entry, *script, *arguments),
        )

    def command_line(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return self.command(argv[1:])

    def execute(self, argv: Sequence[str], control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        name = f"trex-tui-{secrets.token_hex(8)}"
        outcome, lost = super().execute(
            self.command(argv[1:], name),
            # The memory of docker's client is not that of trtexec.
            replace(control, tick=lambda _: control.tick(None)),
        )
        if outcome.stopped or outcome.signal is not None:
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    ["docker", "rm", "--force", name], capture_output=True, check=False, timeout=_REMOVE_S
                )
        return outcome, lost


def needed_folders(options: CaptureOptions, outdir: Path) -> Iterator[Path]:
    """Yield the directories a capture needs: those of its files, also behind links, and the output directory.

    Raises:
        TrexError: A directory is the root directory, which cannot be mounted into a container.
    """
    cache = () if options.timing_cache is None else (options.timing_cache,)
    files = [Path(text) for text in (*input_files(options), *cache)]
    found = [folder for file in files for folder in (file.absolute().parent, file.resolve().parent)]
    target = outdir.absolute().parent
    found.append(next(folder for folder in (target, *target.parents) if folder.is_dir()))
    for folder in found:
        if folder == Path("/"):
            raise TrexError(
                "--docker: a file or the set is in /, which cannot be mounted; use a subdirectory"
            )
        yield folder


def _without_nested(folders: Iterable[Path]) -> list[Path]:
    kept: list[Path] = []
    for folder in sorted(set(folders)):
        if not any(above in folder.parents for above in kept):
            kept.append(folder)
    return kept


def _mount(folder: Path) -> str:
    """Return an argument of `--mount`, which is a line of CSV."""
    quoted = [
        f'"{field.replace(chr(34), chr(34) * 2)}"' for field in (f"source={folder}", f"target={folder}")
    ]
    return f"type=bind,{','.join(quoted)}"
