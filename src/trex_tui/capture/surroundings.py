"""What a capture needs around it, beside the host itself: devices that may be opened, privileges, disk, packages.

Read as an ordinary user; nothing is created, changed or locked.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.capture.host import Host, ask, read_probe, read_text

_CAP_SYS_ADMIN = 1 << 21
"""Bit of `CapEff` in /proc/self/status. The driver asks for this capability to change clocks, not for user 0."""
_DEVICES = ("dev/nvidiactl", "dev/nvidia0", "dev/nvmap", "dev/dxg")
"""A discrete GPU's control node and first GPU; the memory of a Jetson's; the GPU inside of WSL 2."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Where the set is to lie.

    Attributes:
        wanted: The directory that was asked for.
        existing: It, or the nearest directory above it that exists.
        is_directory: False if a file lies in the way.
        is_writable: Whether something may be created in it.
        free_bytes: For an ordinary user; None if the system does not tell.
        is_temporary: Whether it is only worked in there, on another machine, and TMPDIR chooses it.
    """

    wanted: Path
    existing: Path
    is_directory: bool
    is_writable: bool
    free_bytes: int | None
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Beside `Host`: what decides whether a capture can run.

    Attributes:
        devices: Device nodes that exist (`/dev/nvidia0`), and whether they may be opened.
        may_lock_clocks: Whether this process has CAP_SYS_ADMIN; None if the system does not tell.
        has_nvidia_smi: Whether nvidia-smi is on PATH.
        tegrastats: Path of the program; None where there is none.
        is_graphical: Whether the machine starts a desktop; None if it does not tell.
        uptime_s: Since the machine was started.
        packages: Version of each installed package of TensorRT's libraries (`libnvinfer10` -> `10.3.0.30-1+cuda12.5`).
        stub_libraries: Directories named `stubs` in LD_LIBRARY_PATH.
        disk: Where the set is to lie.
    """

    devices: Mapping[str, bool]
    may_lock_clocks: bool | None
    has_nvidia_smi: bool
    tegrastats: str | None
    is_graphical: bool | None
    uptime_s: float | None
    packages: Mapping[str, str]
    stub_libraries: tuple[str, ...]
    disk: Disk

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "devices": dict(self.devices),
            "may_lock_clocks": self.may_lock_clocks,
            "tegrastats": self.tegrastats,
            "is_graphical": self.is_graphical,
            "uptime_s": self.uptime_s,
            "packages": dict(self.packages),
            "disk": {
                "wanted": str(self.disk.wanted),
                "existing": str(self.disk.existing),
                "is_directory": self.disk.is_directory,
                "is_writable": self.disk.is_writable,
                "free_bytes": self.disk.free_bytes,
            },
        }


def probe_surroundings(
    host: Host,
    outdir: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
    may: Callable[[Path, int], bool] = os.access,
) -> Surroundings:
    """Look around; never raises.

    Args:
        host: Gets the text of the probes.
        outdir: Where the set is to lie; need not exist.
        environ: Where PATH and LD_LIBRARY_PATH are read.
        root: What stands for `/`, except for `outdir`.
        may: Whether a file may be opened; a superuser may open all.
    """
    path = environ.get("PATH", os.defpath)
    uptime = re.match(r"\d+(?:\.\d+)?", read_text(root / "proc/uptime") or "")
    return Surroundings(
        devices={
            f"/{name}": may(root / name, os.R_OK if name == "dev/nvmap" else os.R_OK | os.W_OK)
            for name in _DEVICES
            if os.path.lexists(root / name)
        },
        may_lock_clocks=_may_lock_clocks(host, root),
        has_nvidia_smi=shutil.which("nvidia-smi", path=path) is not None,
        tegrastats=shutil.which("tegrastats", path=f"{path}{os.pathsep}{root / 'usr/bin'}"),
        is_graphical=_is_graphical(root),
        uptime_s=float(uptime[0]) if uptime else None,
        packages=_packages(host, path),
        stub_libraries=stubs(environ.get("LD_LIBRARY_PATH", "")),
        disk=_disk(outdir, may),
    )


def _may_lock_clocks(host: Host, root: Path) -> bool | None:
    text = read_probe(host, root, "proc/self/status") or ""
    found = capability(text)
    if found is None:
        host.probes.pop("proc/self/status", None)
        return None
    host.probes["proc/self/status"]["raw"], may = found
    return may


def capability(status: str) -> tuple[str, bool] | None:
    """The line of /proc/self/status that tells, and whether it has CAP_SYS_ADMIN; None if there is none."""
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]{1,16})$", status, re.MULTILINE)
    return None if match is None else (match[0], bool(int(match[1], 16) & _CAP_SYS_ADMIN))


def stubs(libraries: str) -> tuple[str, ...]:
    """Those directories of LD_LIBRARY_PATH that hold stubs."""
    return tuple(one for one in libraries.split(os.pathsep) if Path(one).name == "stubs")


def _is_graphical(root: Path) -> bool | None:
    """By where systemd's default target points, as `systemctl get-default` tells it."""
    for place in ("etc/systemd/system/default.target", "usr/lib/systemd/system/default.target"):
        try:
            return (root / place).readlink().name == "graphical.target"
        except OSError:
            continue
    return None


def _packages(host: Host, path: str) -> dict[str, str]:
    program = shutil.which("dpkg-query", path=path)
    if program is None:
        return {}
    argv = [program, "-W", "-f=${Package} ${Version}\\n", "libnvinfer*"]
    code, text = ask(host, "dpkg-query", argv)
    if code != 0:  # it knows none of them
        host.probes.pop("dpkg-query", None)
        return {}
    return installed(text)


def installed(text: str) -> dict[str, str]:
    """Package -> version. Known but not installed: without a version."""
    return {pair[0]: pair[1] for line in text.splitlines() if len(pair := line.split()) == 2}


def _disk(outdir: Path, may: Callable[[Path, int], bool]) -> Disk:
    wanted = Path(os.path.abspath(outdir))  # noqa: PTH100 - resolve() would follow links
    existing = wanted
    while existing != existing.parent and not os.path.lexists(existing):
        existing = existing.parent
    is_directory = existing.is_dir()
    free: int | None = None
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(existing).free
    return Disk(wanted, existing, is_directory, is_directory and may(existing, os.W_OK | os.X_OK), free)
