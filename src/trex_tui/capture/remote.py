"""Capture on another machine: send the files, run trtexec there, fetch the results, remove everything.

One connection lasts as long as the capture. Its script makes the temporary directory. When its input ends, because trex-tui
is done, killed or cut off, it ends trtexec and deletes the directory. Each run has its own connection. The last line of its
stderr has a random word and the exit code: without that line the outcome is unknown, and the connection has failed. So it
has if the connection that keeps the directory is gone. Every other script enters the directory first and writes below `.`
only, so that nothing is created again after `KEEP` has deleted it.

Files go through `cat`, since the other side may have neither sftp nor scp, and because a path is then an argument that no
shell expands. Locked clocks are held by another connection: its end closes the input of its script, which releases them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from trex_tui.artifacts.plan import PlanHead, read_plan_head
from trex_tui.capture.machine import Machine
from trex_tui.capture.onnx_header import read_onnx_header
from trex_tui.capture.options import CaptureOptions, check_weights
from trex_tui.capture.plan import BUILD, RunPlan, make_plan
from trex_tui.capture.process import GRACE_S, LaterStop, ProcessOutcome, Stop, StopRequest, run_process
from trex_tui.capture.shell import WITHIN, ConnectionLostError, Ssh, describe_refusal
from trex_tui.capture.staging import Names, describe_file
from trex_tui.capture.trtexec import Trtexec, TrtexecNotFoundError, understand
from trex_tui.capture.verdict import LOST, RunVerdict
from trex_tui.errors import TrexError, describe_os_error
from trex_tui.text import format_bytes, printable

_NOWHERE = (
    "no trtexec on the PATH of a command over ssh (.bashrc does not apply), "
    "in /usr/src/tensorrt/bin, /opt/tensorrt/bin or a TensorRT-*/bin; $TRTEXEC names none there; state --trtexec"
)
_HEAD_BYTES = 64
_CLOSE_S = 15.0
"""Time for the other side to clean up, beyond the grace period."""
_SLACK_S = 5.0
"""Delay before ssh is killed, after the other side has killed its processes."""
_APART = 'e=$1; shift; exec "$@" 2>"$e"'
"""Keeps stderr, with messages of ssh itself and the end of `RUN`, out of the log."""

_END: Final = (
    # Ends a group (or a process, without setsid): SIGTERM first, SIGKILL after $g tenths of a second.
    'end() { kill -TERM "$1" 2>/dev/null || return 1; n=0; '
    'while kill -0 "$1" 2>/dev/null && [ "$n" -lt "$g" ]; do '
    "n=$((n + 1)); sleep 0.1 2>/dev/null || { sleep 1; n=$((n + 9)); }; done; "
    'kill -KILL "$1" 2>/dev/null; }; '
)
KEEP: Final = (
    # word grace name. Makes the directory and prints its path; deletes everything when its input ends. Directories of
    # keepers that were killed are deleted first.
    "umask 077; trap '' HUP INT TERM PIPE QUIT; t=$1 g=$2; "
    + _END
    + 'case ${TMPDIR-} in /*) d=$TMPDIR;; *) d=/tmp;; esac; h=$(uname -n); for x in "$d"/trex-tui.*; do k= o=; '
    '[ ! -h "$x" ] && [ -f "$x/keeper" ] && read -r k o 2>/dev/null <"$x/keeper" && [ -n "$k" ] && [ "$o" = "$h" ] && '
    '! kill -0 "$k" 2>/dev/null && rm -rf "$x" 2>/dev/null; done; d=$d/trex-tui.$3; mkdir "$d" && '
    'printf "%s %s\\n" "$$" "$h" >"$d/keeper" || exit 1; '
    'printf "%s\\n%s\\n%s\\n" "$t" "$d" "$t"; exec >/dev/null 2>&1; while read -r x; do :; done; '
    ': >"$d/over"; if [ -f "$d/pid" ] && read -r p <"$d/pid"; then end "$p"; fi; '
    'n=0; while rm -rf "$d"; [ -e "$d" ] && [ "$n" -lt 20 ]; do n=$((n + 1)); sleep 1; done; [ ! -e "$d" ]'
)
_ENTER: Final = (
    # Enters the directory $2, unless its keeper has gone.
    'cd "$2" && [ ! -e over ] || { echo "$2 was deleted: the connection that keeps it was lost" >&2; exit 1; }; '
)
RUN: Final = (
    # word directory grace command…. Output of the command as one stream, without messages of the shell (`Killed`). The
    # end of the input ends the command. The last line on stderr is `word exit-code left`; left is 1 if children remained,
    # which are ended. There is none if the connection that holds the directory was lost.
    "umask 077; " + _ENTER + "t=$1 g=$3; shift 3; " + _END + "exec 3<&0 4>&2 </dev/null 2>/dev/null; "
    'if command -v setsid >/dev/null; then setsid "$@" 3<&- 4>&- 2>&1 & p=$! e=-$p; '
    'else "$@" 3<&- 4>&- 2>&1 & p=$! e=$p; fi; '
    '{ printf "%s\\n" "$e" >pid && [ ! -e over ]; } || { end "$e" || end "$p"; exit 1; }; '
    '( while read -r x <&3; do :; done; end "$e" || end "$p" ) >/dev/null 2>&1 4>&- & w=$!; exec 3<&-; '
    'wait "$p"; r=$?; [ "$r" -lt 256 ] || r=$((r - 128)); kill -KILL "$w" 2>/dev/null; wait "$w" 2>/dev/null; l=0; '
    'if kill -0 "$e" 2>/dev/null; then l=1; end "$e"; fi; rm -f pid; '
    '[ -e keeper ] && [ ! -e over ] || exit 1; printf "%s %s %s\\n" "$t" "$r" "$l" >&4; exit 0'
)
MAKE: Final = (
    # word directory folder…: makes the folders in it.
    "umask 077; " + _ENTER + 'shift 2; for f in "$@"; do mkdir -p "./$f" || exit 1; done'
)
SEND: Final = (
    # word directory folder file: writes standard input there; prints its size.
    "umask 077; " + _ENTER + 'mkdir -p "./$3" && cat >"./$3/$4" && wc -c <"./$3/$4"'
)
FETCH: Final = (
    # word file…: for each its size and its bytes, or `-`.
    'shift; for f in "$@"; do if [ -f "$f" ]; then wc -c <"$f" && cat "$f" || exit 1; else echo -; fi; done'
)
ENGINE: Final = (
    # word file bytes: size, the digest if a program there computes it, and the head of an engine.
    '[ -f "$2" ] || { echo -; exit 0; }; wc -c <"$2"; '
    'h=$({ sha256sum <"$2" || shasum -a 256 <"$2" || openssl dgst -sha256 -r <"$2"; } 2>/dev/null); '
    'echo "${h%% *}."; dd if="$2" bs="$3" count=1 2>/dev/null'
)
FIND: Final = (
    # word given. For each trtexec up to the first that responds as such: `word by`, its path, `word help`, its output,
    # `word code`, its exit code.
    WITHIN + "t=$1 f=$2; "
    'try() { [ -f "$1" ] && [ -x "$1" ] || return 0; '
    'printf "\\n%s %s\\n%s\\n%s help\\n" "$t" "$2" "$1" "$t"; '
    'o=$(within 120 "$1" --help); c=$?; printf "%s\\n\\n%s code\\n%s\\n" "$o" "$t" "$c"; '
    "case $o in *'&&&& '*) exit 0;; esac; }; "
    'if [ -n "$f" ] || [ -n "${TRTEXEC-}" ]; then b=--trtexec; [ -n "$f" ] || { b=\'$TRTEXEC\'; f=$TRTEXEC; }; '
    "case $f in '~'/*) f=$HOME/${f#??};; /*) ;; */*) f=$PWD/$f;; "
    '*) if [ -e "$f" ]; then f=$PWD/$f; else f=$(command -v "$f"); fi;; esac; '
    '[ ! -d "$f" ] || if [ -e "$f/tensorrt_rtx" ] && [ ! -e "$f/trtexec" ]; then f=$f/tensorrt_rtx; else f=$f/trtexec; fi; '
    'try "$f" "$b"; exit 0; fi; '
    'p=$(command -v trtexec); case $p in /*) try "$p" PATH;; esac; '
    "for x in /usr/src/tensorrt/bin /opt/tensorrt/bin /usr/local/tensorrt/bin /workspace/tensorrt/bin "
    '"${TENSORRT_ROOT:-/nowhere}/bin" "${TRT_ROOT:-/nowhere}/bin" "${TENSORRT_DIR:-/nowhere}/bin"; '
    'do try "$x/trtexec" "$x"; done; '
    # The newest first: by the numbers in the name, since 10.16 comes after 8.6.
    'for x in /usr/local/TensorRT-*/bin /opt/TensorRT-*/bin "$HOME"/TensorRT-*/bin; do '
    'v=${x%/bin}; [ ! -f "$x/trtexec" ] || printf "%s.0.0.0 %s\\n" "${v##*/TensorRT-}" "$x"; done | '
    'sort -t. -k1,1nr -k2,2nr -k3,3nr | { while read -r v x; do try "$x/trtexec" "$x"; done; '
    'p=$(command -v tensorrt_rtx); case $p in /*) try "$p" PATH;; esac; '
    'for x in /usr/local/TensorRT-RTX-*/bin /opt/TensorRT-RTX-*/bin "$HOME"/TensorRT-RTX-*/bin; do '
    'try "$x/tensorrt_rtx" "$x"; done; }; exit 0'
)


# The search for trtexec


def find_there(ssh: Ssh, stop: StopRequest, given: str | None) -> Trtexec:
    """Return the trtexec of a machine, in the order of `find_trtexec`. Lines of .bashrc that extend PATH do not apply to
    commands over ssh.

    Args:
        ssh: Connection to the machine.
        stop: Ends the search.
        given: Path there, chosen by the user.

    Raises:
        TrtexecNotFoundError: There is no usable trtexec.
        RemoteError: The machine cannot be queried.
    """
    word = secrets.token_hex(16)
    output = ssh.call(stop, FIND, word, given or "")
    refusal, by, path, help_text = "", "", "", ""
    for part in output.split(f"\n{word} ".encode())[1:]:
        heading, _, body = part.partition(b"\n")
        if heading == b"help":
            help_text = body.decode("utf-8", errors="replace")
        elif heading != b"code":
            by, path = heading.decode("utf-8", errors="replace"), os.fsdecode(body)
        else:
            code = int(body) if body.strip().isdigit() else None
            try:
                return understand(help_text, Path(path), by, code)
            except TrtexecNotFoundError as error:
                refusal = str(error)
    if not refusal and given:
        refusal = f"--trtexec: no executable {given} there; check the path"
    raise TrtexecNotFoundError(f"{ssh.host}: {refusal or _NOWHERE}")


# What is sent


@dataclass(frozen=True, slots=True)
class Sent:
    """A file to send.

    Attributes:
        source: Local path.
        folder: Folder in the directory of the capture.
        name: Remote file name.
    """

    source: Path
    folder: str
    name: str

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}"


def move_options(options: CaptureOptions, directory: str) -> tuple[CaptureOptions, list[Sent]]:
    """Return the options with paths below a remote directory, and the files to send there.

    Each file gets its own folder and keeps its name, which logs and plugins mention. The other side searches for plugins
    without a slash; arguments after `--` are unchanged.

    Raises:
        TrexError: A file is missing, or weights are outside of the model's directory.
    """
    files: list[Sent] = []

    def send(text: str | None, name: str | None = None) -> str | None:
        if text is None:
            return None
        files.append(Sent(Path(text), f"in/{len(files)}", name or Path(text).name))
        return f"{directory}/{files[-1].path}"

    there = replace(
        options,
        onnx=send(options.onnx),
        engine=send(options.engine),
        calib=send(options.calib),
        plugins=tuple(send(plugin) or "" if "/" in plugin else plugin for plugin in options.plugins),
    )
    if options.onnx is not None:
        # Beside the model, where the loader searches for them.
        model = files[0]
        files.extend(_make_weights(model, location) for location in read_onnx_header(model.source).weights)
    if options.timing_cache is not None:
        there = replace(there, timing_cache=f"{directory}/timing.cache")
        if Path(options.timing_cache).is_file():
            files.append(Sent(Path(options.timing_cache), ".", "timing.cache"))
    return there, files


def _make_weights(model: Sent, location: str) -> Sent:
    path = PurePosixPath(location)
    if path.is_absolute() or ".." in path.parts:
        raise TrexError(
            f"{model.source}: its weights are at {printable(location)!r}, outside its directory; move them there"
        )
    folder = "" if str(path.parent) == "." else f"/{path.parent}"
    return Sent(check_weights(model.source, location), f"{model.folder}{folder}", path.name)


# What comes back


def unpack(pieces: Iterator[bytes], targets: Sequence[Path], host: str) -> None:
    """Write files from a stream in which each follows its size; files missing on the other side are skipped.

    Raises:
        ConnectionLostError: The stream ends too early; no incomplete file remains.
        OSError: A file cannot be written.
    """
    rest = b""
    for target in targets:
        while b"\n" not in rest:
            rest += _read_more(pieces, target, host)
        size, _, rest = rest.partition(b"\n")
        if not size.strip().isdigit():
            continue
        left = int(size)
        # Named by process: another process may fetch the same file.
        part = target.with_name(f".trex-tui.{secrets.token_hex(8)}.part")
        try:
            with part.open("xb") as file:
                while left:
                    rest = rest or _read_more(pieces, target, host)
                    file.write(rest[:left])
                    rest, left = rest[left:], left - min(left, len(rest))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    for _ in pieces:  # to the end, where errors show
        pass


def _read_more(pieces: Iterator[bytes], target: Path, host: str) -> bytes:
    try:
        return next(pieces)
    except StopIteration:
        raise ConnectionLostError(
            f"{host}: the connection ended before {target.name} was transferred; try again"
        ) from None
    except TrexError as error:
        raise ConnectionLostError(f"{error} (while receiving {target.name})") from None


# The machine


class RemoteMachine(Machine):
    """A machine over ssh; a context manager that owns a directory there.

    Args:
        ssh: Connection to the machine.
        stop: Ends the current operation.
        with_engine: Fetch the engine too.
        note: Receives one sentence per step.
        grace_s: Time between SIGTERM and SIGKILL, there.
    """

    def __init__(
        self,
        ssh: Ssh,
        stop: Stop,
        *,
        with_engine: bool = False,
        note: Callable[[str], None] = lambda _: None,
        grace_s: float = GRACE_S,
    ) -> None:
        super().__init__(ssh, stop)
        self.ssh = ssh
        self.own_stop = stop
        self.with_engine = with_engine
        self.note = note
        self.grace_s = grace_s
        self.word = secrets.token_hex(16)
        self.directory = ""
        self.files: list[Sent] = []
        self.options = CaptureOptions()
        self._there: dict[Path, RunPlan] = {}
        self._engine: tuple[int, str | None, bytes] | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> RemoteMachine:
        """Connect and create the directory.

        Raises:
            RemoteError: The machine cannot be reached, or cannot create temporary files.
        """
        try:
            self.directory = self._keep(self._stack.enter_context(tempfile.TemporaryFile()))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self, stderr: IO[bytes]) -> str:
        argv = self.ssh.argv(KEEP, self.word, self.tenths, secrets.token_hex(8))
        self._keeper = self.ssh.start(argv, subprocess.PIPE, stderr)
        return os.fsdecode(self.ssh.first_answer(self._keeper, self.word, self.own_stop, stderr))

    @property
    def tenths(self) -> str:
        """Grace period in tenths of a second, as the scripts take it."""
        return str(max(1, round(self.grace_s * 10)))

    @property
    def is_kept(self) -> bool:
        """Whether the directory still has its keeper."""
        return self._keeper is not None and self._keeper.poll() is None

    def close(self) -> bool:
        """Have the other side end its processes and delete the directory; return whether it confirmed."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return True
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        with contextlib.suppress(OSError):
            keeper.stdin.close()
        asked, until = self.own_stop.times, time.monotonic() + self.grace_s + _CLOSE_S
        while keeper.poll() is None and time.monotonic() < until and self.own_stop.times == asked:
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.wait(0.05)
        if keeper.poll() is None:
            keeper.kill()
        keeper.stdout.close()
        clean = keeper.wait() == 0
        self._stack.close()
        if not clean and self.directory:
            self.note(
                f"{self.ssh.host} did not confirm that it deleted {self.directory}; it does when its sshd ends the connection"
            )
        return clean

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """Return the runs: commands with remote paths, files with local paths."""
        self.options = options
        there, self.files = move_options(options, self.directory)
        remote = make_plan(there, trtexec, Names(Path(self.directory), names.name))
        local = make_plan(options, trtexec, names)
        self._there = {here.log: there for here, there in zip(local, remote, strict=True)}
        return tuple(replace(here, argv=distant.argv) for here, distant in zip(local, remote, strict=True))

    def prepare(self) -> None:
        """Send the files."""
        folders = {str(run.log.parent.relative_to(self.directory)) for run in self._there.values()}
        self.ssh.call(self.stop, MAKE, self.word, self.directory, *sorted(folders))
        for sent in self.files:
            size = sent.source.stat().st_size
            self.note(f"sending {sent.source} to {self.ssh.host} ({format_bytes(size)})")
            words = (self.word, self.directory, sent.folder, sent.name)
            answer = self.ssh.call(self.stop, SEND, *words, source=sent.source)
            if answer.strip() != str(size).encode():
                raise ConnectionLostError(
                    f"{self.ssh.host}: {sent.source} was not transferred completely; try again"
                )

    def run(
        self,
        run: RunPlan,
        stop: Stop,
        feed: Callable[[bytes], None],
        tick: Callable[[], None],
        *,
        timeout_s: float | None = None,
        grace_s: float = GRACE_S,
    ) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run to the end and fetch the written files."""
        errors = run.log.with_name(".ssh.txt")
        errors.touch()
        there = self.ssh.argv(RUN, self.word, self.directory, self.tenths, *run.argv)
        life, end = os.pipe()
        with os.fdopen(end, "wb") as ours:
            try:
                outcome = run_process(
                    ("/bin/sh", "-c", _APART, "trex-tui", str(errors), *there),
                    run.log,
                    stop,
                    feed,
                    lambda _: tick(),
                    timeout_s=timeout_s,
                    grace_s=grace_s + _SLACK_S,
                    stdin=life,
                    ask=ours.close,  # its last messages arrive, too
                )
            finally:
                os.close(life)
        text = errors.read_text(encoding="utf-8", errors="replace")
        errors.unlink()
        ended = re.search(rf"^{self.word} (\d+) ([01])$", text, re.MULTILINE)
        if ended is not None:
            code = int(ended[1])
            signal = code - 128 if code > 128 else None
            outcome = replace(
                outcome,
                exit_code=None if signal else code,
                signal=signal,
                children=int(ended[2]),
                is_gone=True,
            )
        if outcome.stopped:
            return outcome, None
        if ended is None:
            return outcome, self._describe_loss(describe_refusal(text, self.ssh.host) if text.strip() else "")
        if outcome.exit_code == 0 and self.is_kept:
            self._bring_back(run)
        # Else the files may have been deleted while they were fetched.
        return outcome, None if self.is_kept else self._describe_loss("its directory there is gone")

    def _describe_loss(self, why: str) -> RunVerdict:
        if self.close():
            remedy = "trtexec was stopped there, and its files were deleted"
        else:
            remedy = "the remote host stops trtexec and deletes its files when its sshd closes the connection"
        if self._engine is not None and not self.with_engine:
            remedy += "; --with-engine copies the engine back as soon as it is built"
        sentence = f"the connection to {self.ssh.host} was lost" + (f" ({why})" if why else "")
        return RunVerdict(False, LOST, sentence, remedy)

    def _bring_back(self, run: RunPlan) -> None:
        there = self._there[run.log]
        pairs = [
            (str(remote), local) for (_, remote), (_, local) in zip(there.exports, run.exports, strict=True)
        ]
        if run.role == BUILD:
            self._engine = self._ask_engine(str(there.engine))
            pairs += [(str(there.engine), run.engine)] if self.with_engine else []
        if pairs:
            self._fetch(pairs)
        cache, remote = self.options.timing_cache, f"{self.directory}/timing.cache"
        if cache is not None and any(word.endswith(f"={remote}") for word in there.argv):
            try:
                self._fetch([(remote, Path(cache))])
            except OSError as error:  # the engine matters more
                self.note(describe_os_error(error, f"the timing cache {cache} could not be written"))

    def rescue(self, build: RunPlan) -> dict[str, Any]:
        if self._engine is None or build.engine.exists() or not self.is_kept:
            return {}
        try:
            remote = str(self._there[build.log].engine)
            self._fetch([(remote, build.engine)], LaterStop(self.own_stop, self.own_stop.times))
            return describe_file(build.engine)
        except (TrexError, OSError) as error:
            self.note(f"the engine was not copied back: {error}")
            return {}

    def _fetch(self, pairs: Sequence[tuple[str, Path]], stop: StopRequest | None = None) -> None:
        stream = self.ssh.stream(stop or self.stop, FETCH, self.word, *(remote for remote, _ in pairs))
        with contextlib.closing(stream):
            unpack(stream, [local for _, local in pairs], self.ssh.host)

    def _ask_engine(self, engine: str) -> tuple[int, str | None, bytes] | None:
        output = self.ssh.call(self.stop, ENGINE, self.word, engine, str(_HEAD_BYTES))
        size, _, rest = output.partition(b"\n")
        digest, _, head = rest.partition(b"\n")
        if not size.strip().isdigit():
            return None
        text = digest.decode("ascii", errors="replace").rstrip(".")
        return int(size), text if len(text) == 64 else None, head

    def read_head(self, engine: Path) -> PlanHead | None:
        if self._engine is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(engine))
        with tempfile.NamedTemporaryFile() as file:
            file.write(self._engine[2])
            file.flush()
            return read_plan_head(Path(file.name))

    def describe_engine(self, engine: Path) -> dict[str, Any]:
        """Return size and digest of the engine, fetched if requested; no digest if no program there computes it."""
        assert self._engine is not None
        size, digest, _ = self._engine
        if not self.with_engine:
            return {"bytes": size, "sha256": digest}
        local = describe_file(engine)
        if digest not in (None, local["sha256"]):
            raise ConnectionLostError(
                f"{self.ssh.host}: {engine.name} was not transferred completely; try again"
            )
        return local

    def document(self) -> dict[str, Any]:
        return {"over": "ssh", "directory": self.directory}
