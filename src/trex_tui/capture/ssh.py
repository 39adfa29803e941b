"""Commands on another machine, over the user's own `ssh`: its configuration, keys, jump hosts and multiplexing.

ssh joins the words of a command with spaces and a shell of the other side splits them again, so everything is quoted for a
POSIX shell and handed to `/bin/sh` at once. No passwords: BatchMode. Files go through `cat`, for the other side may have
neither sftp nor scp, and because a path is then an argument that no shell expands.

What runs on the other side: POSIX sh and nothing else, each script on one line.

Of what POSIX allows, busybox takes no `kill -s TERM -- -1`, hence `kill -TERM -1`; ksh adds 256 to a signal, others 128.
Every script takes a random word first, which marks what it says itself: no program can print it by chance or by intent.
"""

from __future__ import annotations

import mmap
import os
import re
import secrets
import select
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Final

from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.process import Stop
from trex_tui.errors import TrexError

CONFIG_VARIABLE = "TREX_TUI_SSH_CONFIG"
"""A configuration file to use in place of ~/.ssh/config, as `ssh -F` takes it."""
_OPTIONS = (
    *("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=4"),
    # Of the user's configuration, what is meant for a person at a prompt would break a command.
    *("RemoteCommand=none", "ClearAllForwardings=yes"),
)
_POLL_S = 0.1
_END_S = 30.0
_CHUNK = 1 << 20
LOST = 255
"""Exit code of ssh itself. Our scripts never end with it."""


class RemoteError(TrexError):
    """The other machine cannot be reached, or refused something; the message names it."""


class ConnectionLostError(RemoteError):
    """It was reached, and is no longer."""


@dataclass(frozen=True, slots=True)
class Ssh:
    """How to reach a machine.

    Attributes:
        host: As ssh takes it: `jetson`, `user@jetson`, `ssh://user@jetson:2222`.
        config: A configuration file; None is the user's.
    """

    host: str
    config: str | None = None

    def argv(self, script: str, *arguments: str) -> tuple[str, ...]:
        """The local command that has `/bin/sh` of the other side run a script with arguments."""
        remote = shlex.join(("exec", "/bin/sh", "-c", script, "trex-tui", *arguments))
        options = [word for option in _OPTIONS for word in ("-o", option)]
        config = () if self.config is None else ("-F", self.config)
        return ("ssh", "-T", *config, *options, "--", self.host, remote)

    def call(self, stop: Stop, script: str, *arguments: str, source: Path | None = None) -> bytes:
        """What a script prints.

        Args:
            stop: Ends it.
            script: For `/bin/sh`.
            arguments: Its `$1`, …
            source: A file for its standard input; None is without.

        Raises:
            RemoteError: It failed, or the connection did.
            OSError: The file cannot be read.
        """
        return b"".join(self.stream(stop, script, *arguments, source=source))

    def stream(
        self, stop: Stop, script: str, *arguments: str, source: Path | None = None
    ) -> Generator[bytes, None, None]:
        """The same in pieces as they come.

        Raises:
            RemoteError: As `call`.
            OSError: As `call`.
        """
        with tempfile.TemporaryFile() as stderr, source.open("rb") if source else _nothing() as taken:
            process = start(self.argv(script, *arguments), taken, stderr)
            try:
                yield from _pieces(process, stop)
                code = process.wait(_END_S)
            except subprocess.TimeoutExpired:
                raise ConnectionLostError(f"{self.host}: ssh does not end") from None
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                assert process.stdout is not None
                process.stdout.close()
            if stop.times:
                raise RemoteError(f"{self.host}: interrupted")
            if code != 0:
                raise self.failure(code, stderr)

    def failure(self, code: int | None, stderr: IO[bytes]) -> RemoteError:
        """What to tell of an ssh that ended so; `stderr` is its standard error."""
        last = last_line(stderr)
        if code == LOST:
            return RemoteError(f"{self.host}: {last or 'ssh failed without a word'}")
        return RemoteError(f"{self.host}: {last or f'a command failed with exit code {code}'}")


def _nothing() -> IO[bytes]:
    return open(os.devnull, "rb")  # noqa: PTH123


def start(argv: Sequence[str], stdin: IO[bytes] | int, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start ssh; Ctrl-C does not reach it.

    Raises:
        RemoteError: There is no ssh here.
    """
    try:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        raise RemoteError(f"ssh cannot be started: {error.strerror or error}") from None
    except ValueError as error:  # a NUL
        raise RemoteError(f"ssh cannot be told: {error}") from None


def _pieces(process: subprocess.Popen[bytes], stop: Stop) -> Iterator[bytes]:
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    while not stop.times:
        if not select.select([pipe], [], [], _POLL_S)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        if not data:
            return
        yield data
    process.terminate()


def first_answer(
    ssh: Ssh, process: subprocess.Popen[bytes], word: str, stop: Stop, stderr: IO[bytes]
) -> bytes:
    """What a script that runs on says first, between two lines `word`; before them may be what a profile of the shell prints.

    Raises:
        RemoteError: It ended, or we are to.
    """
    begin, mark = f"{word}\n".encode(), f"\n{word}\n".encode()
    assert process.stdout is not None
    pipe, out = process.stdout.fileno(), b""
    while not stop.times:
        if not select.select([pipe], [], [], _POLL_S)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        out += data
        if out.endswith(mark) and out.count(mark[1:]) > 1:
            return out[out.index(begin) + len(begin) : -len(mark)]
        if not data:
            raise ssh.failure(process.wait(), stderr)
    raise RemoteError(f"{ssh.host}: interrupted")


def last_line(output: IO[bytes]) -> str:
    """The last line that says something, of a file."""
    output.seek(0)
    lines = [line.strip() for line in output.read(1 << 16).decode("utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")


def checked_hosts(hosts: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[Ssh]:
    """The machines that a person named.

    Raises:
        TrexError: One is none, or is there twice.
    """
    for host in hosts:
        if not host or host.startswith("-") or not host.isprintable() or " " in host:
            raise TrexError(f"--host {host!r}: not the name of a machine")
    folders = [folder_name(host) for host in hosts]
    twice = next((host for host, folder in zip(hosts, folders, strict=True) if folders.count(folder) > 1), "")
    if twice:
        raise TrexError(f"--host {twice}: there twice, or it cannot be told from another in a directory name")
    return [Ssh(host, environ.get(CONFIG_VARIABLE) or None) for host in hosts]


def folder_name(host: str) -> str:
    """What the directory of a machine is called: its name, without what means something in a path."""
    kept = "".join(char if char.isalnum() or char in "-_.@" else "_" for char in host)
    return f"_{kept[1:]}" if kept.startswith(".") else kept


_END: Final = (
    # A group (or, where there is no setsid, a process) goes: asked first, after $g tenths of a second killed.
    'end() { kill -TERM "$1" 2>/dev/null || return 1; n=0; '
    'while kill -0 "$1" 2>/dev/null && [ "$n" -lt "$g" ]; do '
    "n=$((n + 1)); sleep 0.1 2>/dev/null || { sleep 1; n=$((n + 9)); }; done; "
    'kill -KILL "$1" 2>/dev/null; }; '
)
KEEP: Final = (
    # word grace name. Makes the directory and says where; when its input ends, by us or with the connection, all goes.
    "umask 077; trap '' HUP INT TERM PIPE; t=$1 g=$2; "
    + _END
    + 'case ${TMPDIR-} in /*) d=$TMPDIR;; *) d=/tmp;; esac; d=$d/trex-tui.$3; mkdir "$d" || exit 1; '
    'printf "%s\\n%s\\n%s\\n" "$t" "$d" "$t"; exec >/dev/null 2>&1; while read -r x; do :; done; '
    ': >"$d/over"; if [ -f "$d/pid" ] && read -r p <"$d/pid"; then end "$p"; fi; '
    'n=0; while rm -rf "$d"; [ -e "$d" ] && [ "$n" -lt 20 ]; do n=$((n + 1)); sleep 1; done; [ ! -e "$d" ]'
)
RUN: Final = (
    # word directory grace command…. Output in order in one stream, without what the shell itself says (`Killed`). The
    # input is a life line: when it ends, so does the command. The last line is `word exit-code left`; left is 1 if children
    # were left, which are ended. There is no last line if the connection that holds the directory was lost.
    "umask 077; t=$1 d=$2 g=$3; shift 3; " + _END + 'exec 3<&0 </dev/null 2>/dev/null; cd "$d" || exit 1; '
    'if command -v setsid >/dev/null; then setsid "$@" 3<&- 2>&1 & p=$! e=-$p; else "$@" 3<&- 2>&1 & p=$! e=$p; fi; '
    'printf "%s\\n" "$e" >"$d/pid"; '
    '( while read -r x <&3; do :; done; end "$e" || end "$p" ) >/dev/null 2>&1 & w=$!; exec 3<&-; '
    'wait "$p"; r=$?; [ "$r" -lt 256 ] || r=$((r - 128)); kill -KILL "$w" 2>/dev/null; wait "$w" 2>/dev/null; l=0; '
    'if kill -0 "$e" 2>/dev/null; then l=1; end "$e"; fi; rm -f "$d/pid"; '
    '[ -d "$d" ] && [ ! -e "$d/over" ] || exit 1; printf "%s %s %s\\n" "$t" "$r" "$l"; exit 0'
)
FIND: Final = (
    # word given others. For each trtexec up to the first that answers as one: `word by`, its path, `word help`, what it
    # says. With a third word also those that come after it, which are not asked: `word other`, the path.
    "t=$1 f=$2 l=${3-} u=; "
    'try() { [ -f "$1" ] && [ -x "$1" ] || return 0; if [ -n "$u" ]; then '
    '[ "$1" -ef "$u" ] 2>/dev/null || printf "\\n%s other\\n%s\\n" "$t" "$1"; return 0; fi; '
    'printf "\\n%s %s\\n%s\\n%s help\\n" "$t" "$2" "$1" "$t"; '
    'o=$("$1" --help 2>&1 </dev/null); printf "%s\\n" "$o"; '
    "case $o in *'&&&& '*) u=$1; [ -n \"$l\" ] || exit 0;; esac; }; "
    'if [ -n "$f" ] || [ -n "${TRTEXEC-}" ]; then b=--trtexec; [ -n "$f" ] || { b=\'$TRTEXEC\'; f=$TRTEXEC; }; '
    "case $f in '~'/*) f=$HOME/${f#??};; /*) ;; */*) f=$PWD/$f;; "
    '*) if [ -e "$f" ]; then f=$PWD/$f; else f=$(command -v "$f"); fi;; esac; '
    '[ ! -d "$f" ] || f=$f/trtexec; try "$f" "$b"; [ -n "$u" ] || exit 0; fi; '
    'p=$(command -v trtexec); case $p in /*) try "$p" PATH;; esac; '
    "for x in /usr/src/tensorrt/bin /opt/tensorrt/bin /usr/local/tensorrt/bin /workspace/tensorrt/bin "
    '"${TENSORRT_ROOT:-/nowhere}/bin" "${TRT_ROOT:-/nowhere}/bin" "${TENSORRT_DIR:-/nowhere}/bin"; '
    'do try "$x/trtexec" "$x"; done; '
    # The newest first: by the numbers of the name, for 10.16 comes after 8.6.
    'for x in /usr/local/TensorRT-*/bin /opt/TensorRT-*/bin "$HOME"/TensorRT-*/bin; do '
    'v=${x%/bin}; [ ! -f "$x/trtexec" ] || printf "%s.0.0.0 %s\\n" "${v##*/TensorRT-}" "$x"; done | '
    'sort -t. -k1,1nr -k2,2nr -k3,3nr | while read -r v x; do try "$x/trtexec" "$x"; done; exit 0'
)
MAKE: Final = (
    # word directory…
    'umask 077; shift; mkdir -p "$@"'
)
SEND: Final = (
    # word directory file: standard input goes there; says its size.
    'umask 077; mkdir -p "$2" && cat >"$2/$3" && wc -c <"$2/$3"'
)
FETCH: Final = (
    # word file…: of each its size and its bytes, or `-`.
    'shift; for f in "$@"; do if [ -f "$f" ]; then wc -c <"$f" && cat "$f" || exit 1; else echo -; fi; done'
)
ENGINE: Final = (
    # word file: size, the digest if something there can tell it, and whether it begins like an engine.
    '[ -f "$2" ] || { echo -; exit 0; }; wc -c <"$2"; '
    'h=$({ sha256sum <"$2" || shasum -a 256 <"$2" || openssl dgst -sha256 -r <"$2"; } 2>/dev/null); '
    'echo "${h%% *}."; dd if="$2" bs=4 count=1 2>/dev/null'
)
PROBE: Final = (
    # word ids all-fields group…: `word kind name code`, then the text.
    't=$1 i=$2 q=$3; shift 3; say() { printf "\\n%s %s\\n" "$t" "$*"; }; '
    'ask() { if command -v timeout >/dev/null; then timeout 10 "$@"; else "$@"; fi </dev/null 2>&1; }; '
    'say uname release; uname -r; say uname machine; uname -m; [ "$i" = 0 ] || { say uname node; uname -n; }; '
    'say env CUDA_VISIBLE_DEVICES; printf "%s\\n" "${CUDA_VISIBLE_DEVICES-}"; '
    'say env CUDA_DEVICE_ORDER; printf "%s\\n" "${CUDA_DEVICE_ORDER-}"; '
    "for f in /.dockerenv /run/.containerenv /proc/1/cgroup /etc/nv_tegra_release /proc/device-tree/compatible "
    "/proc/device-tree/model /proc/meminfo /sys/class/devfreq/*/device/of_node/name /sys/class/devfreq/*/cur_freq "
    "/sys/class/devfreq/*/min_freq /sys/class/devfreq/*/max_freq /sys/class/devfreq/*/governor "
    "/sys/class/thermal/thermal_zone*/type /sys/class/thermal/thermal_zone*/temp /sys/class/hwmon/hwmon*/name "
    '/sys/class/hwmon/hwmon*/oc*_event_cnt; do [ -f "$f" ] && [ -r "$f" ] && { say file "$f"; cat "$f" 2>/dev/null; }; done; '
    'if command -v nvidia-smi >/dev/null; then smi() { o=$(ask nvidia-smi "--query-gpu=$1" --format=csv,noheader,nounits); '
    'c=$?; say smi "$1" "$c"; printf "%s\\n" "$o"; [ -n "$o" ]; }; '
    'smi "$q"; case $c in 0|14) ;; *) for x in "$@"; do smi "$x"; done;; esac; fi; '
    'm=$(PATH=$PATH:/usr/sbin command -v nvpmodel) && { o=$(ask "$m" -q); c=$?; say nvpmodel -q "$c"; '
    'printf "%s\\n" "$o"; }; exit 0'
)
SMI: Final = (
    # word argument…: `word`, the variables that choose GPUs, where nvidia-smi is (empty: nowhere), and what it answers.
    't=$1; shift; printf "\\n%s\\n%s\\n%s\\n%s\\n" "$t" "${CUDA_VISIBLE_DEVICES-}" "${CUDA_DEVICE_ORDER-}" '
    '"$(command -v nvidia-smi)"; [ "$#" = 0 ] || nvidia-smi "$@" 2>&1 </dev/null; exit 0'
)
HOLD: Final = (
    # word gpu mhz. Locks the clocks and says what came of it, between two lines `word`; if they are locked, they are let go
    # when the input ends, by us or with the connection: then the answer, and `word code`. It is the inner process that
    # does all this, and the outer one lets go where the inner one is killed; signals they ignore, as nvidia-smi does then.
    "trap '' HUP INT TERM PIPE; t=$1 i=$2 m=$3; exec 3<&0 </dev/null; "
    "free() { while read -r x <&3; do :; done; "
    'o=$(nvidia-smi -i "$i" -rgc 2>&1 3<&-); c=$?; printf "%s\\n%s %s\\n" "$o" "$t" "$c"; }; '
    '( o=$(nvidia-smi -i "$i" -lgc "$m,$m" 2>&1 3<&-); printf "%s\\n%s\\n%s\\n" "$t" "$o" "$t"; '
    'case $o in *"GPU clocks set to"*) free;; esac; exit 0 ) 2>/dev/null & wait "$!" || free 2>/dev/null; exit 0'
)
ENVIRONMENT: Final = (
    # word. What doctor wants beside PROBE: `word kind name`, then the text. Nothing is made or changed.
    't=$1; say() { printf "\\n%s %s\\n" "$t" "$*"; }; '
    'for f in /proc/self/status /proc/uptime; do [ -r "$f" ] && { say file "$f"; cat "$f"; }; done; '
    'for f in /dev/nvidiactl /dev/nvidia0 /dev/nvmap /dev/dxg; do if [ -e "$f" ] || [ -h "$f" ]; then '
    'say device "$f"; [ ! -r "$f" ] || echo r; [ ! -w "$f" ] || echo w; fi; done; '
    "say program nvidia-smi; command -v nvidia-smi; say program tegrastats; PATH=$PATH:/usr/bin command -v tegrastats; "
    "for f in /etc/systemd/system/default.target /usr/lib/systemd/system/default.target; do "
    '[ ! -h "$f" ] || { say link "$f"; readlink "$f"; }; done; '
    'say packages; dpkg-query -W -f="\\${Package} \\${Version}\\n" "libnvinfer*" 2>/dev/null; '
    'say libraries; printf "%s\\n" "${LD_LIBRARY_PATH-}"; '
    'case ${TMPDIR-} in /*) d=$TMPDIR;; *) d=/tmp;; esac; say disk; printf "%s\\n" "$d"; '
    '[ -d "$d" ] && echo d; [ -w "$d" ] && [ -x "$d" ] && echo w; say free; df -Pk "$d" 2>/dev/null; exit 0'
)


# TensorProto.external_data of ONNX is a StringStringEntryProto: field 1 `location`, field 2 the file, lengths as varints.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x80-\xff]?[\x01-\x7f])")
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A file to send.

    Attributes:
        source: Where it lies here.
        directory: Where it goes.
        name: What it is called there.
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
    """The options as they are on the other side, and the files that must be in `directory` for that.

    Each file gets a directory of its own and keeps its name, for logs and plugins tell it. A plugin without a slash is looked
    up by the other side; what stands behind `--` stays as it is.

    Raises:
        TrexError: A file is not there.
    """
    files: list[Sent] = []

    def send(text: str, name: str | None = None, *, is_for_build: bool = False) -> str:
        source = Path(text)
        if not source.is_file():
            raise TrexError(f"{source} is no file, and cannot be sent")
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
        # Beside the model, where the loader looks for it.
        model = files[0]
        files.extend(_beside(model, location) for location in external_data(model.source))
    if options.timing_cache is not None:
        there = replace(there, timing_cache=f"{directory}/timing.cache")
        if Path(options.timing_cache).is_file():
            files.append(Sent(Path(options.timing_cache), directory, "timing.cache", is_for_build=True))
    return there, files


def _inputs(spec: str | None, send: object) -> str | None:
    """`input:file,…` of trtexec; the names of files there have neither comma nor colon."""
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
        raise TrexError(f"{model.source}: its weights lie at {location!r}, outside of its directory")
    source = model.source.parent / path
    if not source.is_file():
        raise TrexError(f"{model.source}: its weights are missing: {source}")
    folder = "" if str(path.parent) == "." else f"/{path.parent}"
    return Sent(source, f"{model.directory}{folder}", path.name, is_for_build=True)


def external_data(model: Path) -> list[str]:
    """The files that an ONNX model keeps weights in, each once, as it names them; found without understanding the rest.

    Raises:
        OSError: It cannot be read.
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
"""Bytes; our own last line is shorter."""


class Sieve:
    """Passes on what comes, up to a mark; keeps back what may be its beginning."""

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
        """No more comes: what was kept back was no mark."""
        if self.kept:
            self.sink(self.kept)
            self.kept = b""


def cut_end(log: Path, word: str) -> tuple[int, int] | None:
    """Take the last line of ours off a log.

    Returns:
        Exit code as a shell has it (128 and more: a signal), and whether children were left; None if there is no such line.

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
    """Write files that come one after the other, each behind its size; one that the other side has not is left out.

    Raises:
        ConnectionLostError: The stream ends too early; no half of a file is left.
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
        # Of this process alone: somebody else may be fetching the same file.
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
    for _ in pieces:  # to its end, where a failure shows
        pass


def _more(pieces: Iterator[bytes], target: Path, host: str) -> bytes:
    try:
        return next(pieces)
    except StopIteration:
        raise ConnectionLostError(f"{host}: the connection ended before {target.name} was here") from None
    except TrexError as error:
        raise ConnectionLostError(f"{error} (while {target.name} came)") from None
