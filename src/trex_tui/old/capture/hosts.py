"""Captures over ssh, with a record of the machine that captured each set, so that its engine can be measured there again.

The record is a private file of the user, since sets are shared and host names are private. An entry is found by the digests
of manifest and engine, so another user's set, or another engine, has no entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from trex_tui.old.artifacts.input_files import open_bytes, read_fully, read_piece
from trex_tui.old.artifacts.output_files import write_atomically
from trex_tui.old.capture.manifest import read_manifest
from trex_tui.old.capture.plan import Names
from trex_tui.old.capture.process import Stop
from trex_tui.old.capture.remote import RemoteMachine
from trex_tui.old.capture.run import CaptureObserver, CaptureRequest, CaptureResult, capture
from trex_tui.old.capture.ssh import Ssh, checked_hosts
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass

SCHEMA = "trex-tui/hosts/1"
_MOST_SETS = 1000
"""Number of entries kept; the oldest are dropped."""
_MOST_BYTES = 8 << 20
_LONGEST_PATH = 4096
_CHUNK = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A machine that captured a set.

    Attributes:
        ssh: Connection to the machine.
        trtexec: Path of trtexec there.
    """

    ssh: Ssh
    trtexec: str


class TransferObserver(CaptureObserver, Protocol):
    """Shows the progress of a capture on another machine."""

    @property
    def transferring(self) -> Callable[[str, int, int, float], None]:
        """Return the callback for a transfer: its name, bytes done, bytes in total, seconds since its start."""


def capture_there(
    ssh: Ssh,
    request: CaptureRequest,
    given: str | None,
    stop: Stop,
    view: TransferObserver,
    record: Path | None,
    *,
    with_engine: bool = False,
) -> CaptureResult:
    """Capture on a machine over ssh, and record the machine.

    Args:
        given: Path of trtexec there, chosen by the user; None searches for it.
        record: File of the record; None without a home directory.
        with_engine: Fetch the engine too.

    Raises:
        TrexError: As `capture`, or the machine cannot be reached.
    """
    with RemoteMachine(
        ssh,
        stop,
        with_engine=with_engine,
        note=view.note,
        observe=view.transferring,
        grace_s=request.grace_s,
    ) as machine:
        trtexec = machine.find(given)
        result = capture(request, trtexec, stop, view, machine)
    if result.passed:
        try:
            remember(record, Names(request.outdir, request.name).manifest, ssh.host, str(trtexec.path))
        except TrexError as error:  # the set is valid without the record
            view.note(f"note: P will not find {ssh.host} again: {error}")
    return result


def remember(record: Path | None, manifest: Path, host: str, trtexec: str) -> None:
    """Record the machine of the set with this manifest; does nothing if the manifest has no digest of the engine.

    Raises:
        TrexError: The record cannot be read or written. A file that trex-tui did not write is left unchanged.
    """
    if record is None:
        raise TrexError("no home directory; set HOME")
    root = read_manifest(manifest)
    engine = root["engine"].get("sha256") if root is not None else None
    if not isinstance(engine, str):
        return
    try:
        digest = _compute_sha256(manifest)
        record.parent.mkdir(parents=True, exist_ok=True)
        with _locked(record.with_name(f".{record.name}.lock")):
            sets = _read(record)
            sets.pop(digest, None)
            sets[digest] = {"engine": engine, "host": host, "trtexec": trtexec}
            kept = dict(list(sets.items())[-_MOST_SETS:])
            text = json.dumps({"schema": SCHEMA, "sets": kept}, indent=1)
            write_atomically(record, text + "\n", is_private=True)
    except OSError as error:
        raise TrexError(f"{record}: {describe_reason(error)}") from error


def recall(record: Path | None, manifest: Path, engine: Path) -> KnownHost:
    """Return the machine that captured a set.

    Args:
        manifest: Manifest of the set.
        engine: Engine to measure, which must be the captured one.

    Raises:
        TrexError: The set has no entry, its engine differs, or the record cannot be used.
    """
    if record is None:
        raise TrexError("no home directory with a record of captures over ssh; set HOME")
    try:
        digest = _compute_sha256(manifest)
    except OSError as error:
        raise TrexError(f"{manifest}: cannot be read: {describe_reason(error)}") from error
    entry = _read(record).get(digest)
    if entry is None:
        raise TrexError(
            f"this set was captured over ssh, and {record} has no entry for it; capture --host adds one"
        )
    known = _understand(entry)
    if known is None:
        raise TrexError(f"{record}: its entry for this set is not a machine with a trtexec; capture again")
    try:
        is_same = _compute_sha256(engine) == entry["engine"]
    except OSError as error:
        raise TrexError(f"{engine}: cannot be read: {describe_reason(error)}") from error
    if not is_same:
        raise TrexError(f"{engine} is not the engine that was captured on {known.ssh.host}; capture again")
    return known


def _understand(entry: Any) -> KnownHost | None:  # noqa: ANN401 - any JSON value
    """Parse an entry; None if a capture cannot have written it, such as a host that ssh would take for an option."""
    if not isinstance(entry, dict):
        return None
    engine, host, trtexec = (entry.get(key) for key in ("engine", "host", "trtexec"))
    if not (isinstance(engine, str) and isinstance(host, str) and isinstance(trtexec, str)):
        return None
    is_path = trtexec.startswith("/") and "\0" not in trtexec and len(trtexec) <= _LONGEST_PATH
    if not is_path or _DIGEST.fullmatch(engine) is None:
        return None
    try:
        return KnownHost(checked_hosts([host])[0], trtexec)
    except TrexError:
        return None


def _read(record: Path) -> dict[str, Any]:
    """Return digest of a manifest -> entry, the oldest first; empty without a record.

    Raises:
        TrexError: The record cannot be read, is not from trex-tui, or is writable by other users.
    """
    try:
        with open_bytes(record) as file:
            status = os.fstat(file.fileno())
            data = read_fully(file, _MOST_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise TrexError(f"{record}: cannot be read: {describe_reason(error)}") from error
    if status.st_uid != os.geteuid():
        raise TrexError(f"{record}: belongs to another user; ignored")
    if status.st_mode & 0o022:
        raise TrexError(f"{record}: writable by others; ignored; delete it, or chmod 600")
    sets = _parse(data) if len(data) <= _MOST_BYTES else None
    if sets is None:
        raise TrexError(f"{record}: is not a record of captures over ssh; move it away")
    return sets


def _parse(data: bytes) -> dict[str, Any] | None:
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(root, dict) or root.get("schema") != SCHEMA:
        return None
    sets = root.get("sets")
    return sets if isinstance(sets, dict) else None


def _compute_sha256(path: Path) -> str:
    """Return the hex digest of a regular file; checks the type again, since the file may have been replaced.

    Raises:
        OSError: The file cannot be read or is not regular.
    """
    digest = hashlib.sha256()
    with open_bytes(path) as file:
        while piece := read_piece(file, _CHUNK):
            digest.update(piece)
    return digest.hexdigest()


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait for other captures that write the record; without file locks the last writer wins."""
    import fcntl  # not on Windows, which runs no captures

    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600), "wb") as file:  # noqa: PTH123
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
