"""Commands on another machine over the user's `ssh`, with its configuration, keys, jump hosts and multiplexing.

ssh joins the words of a command with spaces and a shell of the other side splits them again, so everything is quoted for a
POSIX shell and passed to `/bin/sh`. No passwords: BatchMode. Files go through `cat`, since the other side may have neither
sftp nor scp, and because a path is then an argument that no shell expands.

`scripts` has the scripts for the other side.
"""

from __future__ import annotations

import mmap
import os
import re
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.shell import ConnectionLostError, Shell
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass

CONFIG_VARIABLE = "TREX_TUI_SSH_CONFIG"
"""A configuration file that replaces ~/.ssh/config, as with `ssh -F`."""
_OPTIONS = (
    *("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=4"),
    # Settings of the user's configuration for interactive sessions would break a command.
    *("RemoteCommand=none", "ClearAllForwardings=yes"),
)


@dataclass(frozen=True, slots=True)
class Ssh(Shell):
    """`/bin/sh` of another machine, over ssh.

    Attributes:
        host: As ssh takes it: `jetson`, `user@jetson`, `ssh://user@jetson:2222`.
        config: A configuration file; None is the user's.
    """

    config: str | None = None

    def argv(self, script: str, *arguments: str) -> tuple[str, ...]:
        remote = shlex.join(("exec", "/bin/sh", "-c", script, "trex-tui", *arguments))
        options = [word for option in _OPTIONS for word in ("-o", option)]
        config = () if self.config is None else ("-F", self.config)
        return ("ssh", "-T", *config, *options, "--", self.host, remote)


def checked_hosts(hosts: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[Ssh]:
    """Return the connections for the given hosts.

    Raises:
        TrexError: A host is invalid or repeated.
    """
    for host in hosts:
        if not host or host.startswith("-") or not host.isprintable() or " " in host:
            raise TrexError(f"--host {host!r}: not a host name; use one that ssh knows")
    folders = [folder_name(host) for host in hosts]
    twice = next((host for host, folder in zip(hosts, folders, strict=True) if folders.count(folder) > 1), "")
    if twice:
        raise TrexError(f"--host {twice}: given twice, or two hosts share a directory name")
    return [Ssh(host, environ.get(CONFIG_VARIABLE) or None) for host in hosts]


def folder_name(host: str) -> str:
    """Return the directory name of a machine: its host name without characters that are special in paths."""
    kept = "".join(char if char.isalnum() or char in "-_.@" else "_" for char in host)
    return f"_{kept[1:]}" if kept.startswith(".") else kept


# TensorProto.external_data of ONNX is a StringStringEntryProto: field 1 `location`, field 2 the file, lengths as varints.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x80-\xff]?[\x01-\x7f])")
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A file to send.

    Attributes:
        source: Local path.
        directory: Remote directory.
        name: Remote file name.
        is_for_build: Whether only a build reads it.
    """

    source: Path
    directory: str
    name: str
    is_for_build: bool = False

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"


def moved(options: CaptureOptions, directory: str) -> tuple[CaptureOptions, list[Sent]]:
    """Return the options with remote paths, and the files to send into `directory`.

    Each file gets its own directory and keeps its name, which logs and plugins mention. The other side searches for plugins
    without a slash; arguments after `--` are unchanged.

    Raises:
        TrexError: A file is missing.
    """
    files: list[Sent] = []

    def send(text: str, name: str | None = None, *, is_for_build: bool = False) -> str:
        source = Path(text)
        if not source.is_file():
            raise TrexError(f"{source} is not a file and cannot be sent; name a file")
        files.append(Sent(source, f"{directory}/in/{len(files)}", name or source.name, is_for_build))
        return files[-1].path

    def maybe(text: str | None, *, is_for_build: bool = True) -> str | None:
        return None if text is None else send(text, is_for_build=is_for_build)

    there = replace(
        options,
        onnx=maybe(options.onnx),
        engine=maybe(options.engine, is_for_build=False),
        calib=maybe(options.calib),
        plugins=tuple(send(plugin) if "/" in plugin else plugin for plugin in options.plugins),
        load_inputs=_inputs(options.load_inputs, send),
    )
    if options.onnx is not None:
        # Beside the model, where the loader searches for it.
        model = files[0]
        files.extend(_beside(model, location) for location in external_data(model.source))
    if options.timing_cache is not None:
        there = replace(there, timing_cache=f"{directory}/timing.cache")
        if Path(options.timing_cache).is_file():
            files.append(Sent(Path(options.timing_cache), directory, "timing.cache", is_for_build=True))
    return there, files


def _inputs(spec: str | None, send: object) -> str | None:
    """Return trtexec's `input:file,…`; remote file names have neither comma nor colon."""
    if spec is None:
        return None
    pairs = []
    for number, part in enumerate(spec.split(",")):
        name, colon, file = part.rpartition(":")
        if not colon:
            raise TrexError(f"--load-inputs {spec}: not input:file,…")
        pairs.append(f"{name}:{send(file, f'input-{number}')}")  # type: ignore[operator]
    return ",".join(pairs)


def _beside(model: Sent, location: str) -> Sent:
    path = PurePosixPath(location)
    if path.is_absolute() or ".." in path.parts or "\0" in location:
        raise TrexError(
            f"{model.source}: its weights are at {location!r}, outside its directory; move them there"
        )
    source = model.source.parent / path
    if not source.is_file():
        raise TrexError(f"{model.source}: its weights are missing: {source}; copy them there")
    folder = "" if str(path.parent) == "." else f"/{path.parent}"
    return Sent(source, f"{model.directory}{folder}", path.name, is_for_build=True)


def external_data(model: Path) -> list[str]:
    """Return the external weight files of an ONNX model, each once, as named there; found without parsing the model.

    Raises:
        OSError: The model cannot be read.
    """
    return list(dict.fromkeys(_locations(model)))[:_MOST_FILES]


def _locations(model: Path) -> Iterator[str]:
    with model.open("rb") as file:
        if not model.stat().st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for match in _LOCATION.finditer(data):
                size = match[1][0] & 0x7F
                if len(match[1]) == 2:
                    size |= match[1][1] << 7
                text = data[match.end() : match.end() + size]
                if len(text) == size:
                    yield text.decode("utf-8", errors="surrogateescape")


_TAIL = 256
"""Bytes; the last line of `RUN` is shorter."""


class Sieve:
    """Passes bytes on up to a mark; holds back bytes that may be the beginning of the mark."""

    def __init__(self, mark: bytes, feed: Callable[[bytes], None]) -> None:
        self.mark = mark
        self.sink = feed
        self.kept = b""
        self.is_over = False

    def feed(self, data: bytes) -> None:
        if self.is_over:
            return
        data = self.kept + data
        position = data.find(self.mark)
        if position >= 0:
            self.is_over, self.kept = True, b""
        else:
            longest = min(len(data), len(self.mark) - 1)
            kept = next((n for n in range(longest, 0, -1) if self.mark.startswith(data[-n:])), 0)
            position = len(data) - kept
            self.kept = data[position:]
        if position:
            self.sink(data[:position])

    def close(self) -> None:
        """End the input and pass on what was held back."""
        if self.kept:
            self.sink(self.kept)
            self.kept = b""


def cut_end(log: Path, word: str) -> tuple[int, int] | None:
    """Remove the last line of `RUN` from a log.

    Returns:
        Exit code of the shell (128 and more: a signal), and whether children remained; None without such a line.

    Raises:
        OSError: The log cannot be read.
    """
    with log.open("r+b") as file:
        begin = max(0, file.seek(0, os.SEEK_END) - _TAIL)
        file.seek(begin)
        tail = file.read()
        position = tail.rfind(word.encode() + b" ")
        words = tail[position:].split() if position >= 0 else []
        if len(words) != 3 or not tail.endswith(b"\n") or not (words[1] + words[2]).isdigit():
            return None
        file.truncate(begin + position)
    return int(words[1]), int(words[2])


def unpack(pieces: Iterator[bytes], targets: list[Path], host: str) -> None:
    """Write files from a stream in which each follows its size; files missing on the other side are skipped.

    Raises:
        ConnectionLostError: The stream ends too early; no incomplete file remains.
        OSError: A file cannot be written.
    """
    rest = b""
    for target in targets:
        while b"\n" not in rest:
            rest += _more(pieces, target, host)
        size, _, rest = rest.partition(b"\n")
        if not size.strip().isdigit():
            continue
        left = int(size)
        # Named by process: another process may fetch the same file.
        part = target.with_name(f".trex-tui.{secrets.token_hex(8)}.part")
        try:
            with part.open("xb") as file:
                while left:
                    rest = rest or _more(pieces, target, host)
                    file.write(rest[:left])
                    rest, left = rest[left:], left - min(left, len(rest))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    for _ in pieces:  # to the end, where errors show
        pass


def _more(pieces: Iterator[bytes], target: Path, host: str) -> bytes:
    try:
        return next(pieces)
    except StopIteration:
        raise ConnectionLostError(
            f"{host}: the connection ended before {target.name} was transferred; try again"
        ) from None
    except TrexError as error:
        raise ConnectionLostError(f"{error} (while receiving {target.name})") from None
