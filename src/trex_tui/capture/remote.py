"""Capture on another machine: send the files, run trtexec there, fetch the results, remove everything.

One connection lasts as long as the capture. Its script makes the temporary directory. When its input ends, because trex-tui
is done, killed or cut off, it ends trtexec and deletes the directory. Each run has its own connection. Its last line has a
random word and the exit code: without that line the outcome is unknown, and the connection has failed. So it has if the
connection that keeps the directory is gone.

Files go through `cat`, since the other side may have neither sftp nor scp, and because a path is then an argument that no
shell expands. Locked clocks are held by another connection: its end closes the input of its script, which releases them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from trex_tui.artifacts.plan import PlanHead, read_plan_head
from trex_tui.capture.machine import Host, ask_host, read_free_bytes
from trex_tui.capture.onnx_header import list_external_data
from trex_tui.capture.options import CaptureOptions, check_weights, split_input_file
from trex_tui.capture.plan import BUILD, RunPlan, make_plan
from trex_tui.capture.process import GRACE_S, ProcessOutcome, Stop, StopRequest, run_process
from trex_tui.capture.record import describe_file
from trex_tui.capture.runner import Machine, RunControl
from trex_tui.capture.scripts import ENGINE, FETCH, FIND, KEEP, MAKE, RUN, SEND
from trex_tui.capture.shell import ConnectionLostError, RemoteError, Ssh, describe_refusal
from trex_tui.capture.staging import Names
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
"""Keeps messages of ssh itself out of the log."""
_TAIL_BYTES = 256
"""The last line of `RUN` is shorter."""


# The search for trtexec


@dataclass(frozen=True, slots=True)
class RemoteTrtexec:
    """trtexec programs on another machine.

    Attributes:
        trtexec: The one that a capture would use, or None.
        refusal: Why there is none; without the name of the machine.
        others: Further trtexec programs, which are not used.
    """

    trtexec: Trtexec | None
    refusal: str
    others: tuple[str, ...]


def find_there(ssh: Ssh, stop: StopRequest, given: str | None) -> Trtexec:
    """Return the trtexec of a machine. Lines of .bashrc that extend PATH do not apply to commands over ssh.

    Raises:
        TrexError: There is no usable trtexec, or the machine cannot be queried.
    """
    answer = ask_there(ssh, stop, given)
    if answer.trtexec is None:
        raise TrtexecNotFoundError(f"{ssh.host}: {answer.refusal}")
    return answer.trtexec


def ask_there(ssh: Ssh, stop: StopRequest, given: str | None, *, with_others: bool = False) -> RemoteTrtexec:
    """Find the trtexec of a machine, in the order of `find_trtexec`.

    Args:
        ssh: Connection to the machine.
        stop: Ends the search.
        given: Path there, chosen by the user.
        with_others: Include those that come after the one to use.

    Raises:
        RemoteError: The machine cannot be queried.
    """
    word, more = secrets.token_hex(16), ("1",) if with_others else ()
    output = ssh.call(stop, FIND, word, given or "", *more)
    used: Trtexec | None = None
    refusal, by, path, help_text = "", "", "", ""
    others: list[str] = []
    for part in output.split(f"\n{word} ".encode())[1:]:
        heading, _, body = part.partition(b"\n")
        if heading == b"other":
            others.append(os.fsdecode(body.rstrip(b"\n")))
        elif heading == b"help":
            help_text = body.decode("utf-8", errors="replace")
        elif heading != b"code":
            by, path = heading.decode("utf-8", errors="replace"), os.fsdecode(body)
        else:
            code = int(body) if body.strip().isdigit() else None
            try:
                used = understand(help_text, Path(path), by, code)
            except TrtexecNotFoundError as error:
                refusal = str(error)
                others.append(path)
    if used is not None:
        return RemoteTrtexec(used, "", tuple(others))
    if not refusal and given:
        refusal = f"--trtexec: no executable {given} there; check the path"
    return RemoteTrtexec(None, refusal or _NOWHERE, ())


def look_there(ssh: Ssh, stop: Stop, given: str | None) -> tuple[RemoteTrtexec, Host]:
    """Probe a machine for `doctor`; the disk is that of its temporary directory, where a capture works.

    Raises:
        RemoteError: The machine cannot be reached, or the connection is lost.
    """
    return ask_there(ssh, stop, given, with_others=True), ask_host(ssh, stop, has_environment=True)


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
    if options.load_inputs is not None:
        # Remote file names have neither comma nor colon.
        pairs = map(split_input_file, options.load_inputs.split(","))
        sent = (f"{name}:{send(file, f'input-{number}')}" for number, (name, file) in enumerate(pairs))
        there = replace(there, load_inputs=",".join(sent))
    if options.onnx is not None:
        # Beside the model, where the loader searches for them.
        model = files[0]
        files.extend(_make_weights(model, location) for location in list_external_data(model.source))
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
        begin = max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES)
        file.seek(begin)
        tail = file.read()
        position = tail.rfind(word.encode() + b" ")
        words = tail[position:].split() if position >= 0 else []
        if len(words) != 3 or not tail.endswith(b"\n") or not (words[1] + words[2]).isdigit():
            return None
        file.truncate(begin + position)
    return int(words[1]), int(words[2])


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


def _count(pieces: Iterator[bytes], tick: Callable[[int], None] | None) -> Iterator[bytes]:
    """Yield the pieces; `tick` receives the number of bytes so far."""
    done = 0
    for piece in pieces:
        done += len(piece)
        if tick is not None:
            tick(done)
        yield piece


# The machine


@dataclass(frozen=True, slots=True)
class _LaterStop:
    """Requests to a `Stop` from now on: for work that remains after the first request."""

    stop: Stop
    before: int

    @property
    def times(self) -> int:
        return self.stop.times - self.before


class RemoteMachine(Machine):
    """A machine over ssh; a context manager that owns a directory there.

    Args:
        ssh: Connection to the machine.
        stop: Ends the current operation.
        with_engine: Fetch the engine too.
        note: Receives one sentence per step.
        observe: Receives the progress of a transfer: its name, bytes done, bytes in total, seconds since its start.
        grace_s: Time between SIGTERM and SIGKILL, there.
    """

    def __init__(
        self,
        ssh: Ssh,
        stop: Stop,
        *,
        with_engine: bool = False,
        note: Callable[[str], None] = lambda _: None,
        observe: Callable[[str, int, int, float], None] = lambda *_: None,
        grace_s: float = GRACE_S,
    ) -> None:
        super().__init__(ssh, stop)
        self.ssh = ssh
        self.own_stop = stop
        self.with_engine = with_engine
        self.note = note
        self.observe = observe
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
        answer = self.ssh.call(self.stop, MAKE, self.word, self.directory, *sorted(folders))
        self._check_space(
            read_free_bytes(answer.decode("utf-8", errors="replace")),
            sum(file.source.stat().st_size for file in self.files),
        )
        for sent in self.files:
            size = sent.source.stat().st_size
            answer = self.ssh.call(
                self.stop,
                SEND,
                *(self.word, self.directory, sent.folder, sent.name),
                source=sent.source,
                tick=self._observe_transfer(f"sending {sent.source} to {self.ssh.host}", size),
            )
            if answer.strip() != str(size).encode():
                raise ConnectionLostError(
                    f"{self.ssh.host}: {sent.source} was not transferred completely; try again"
                )

    def _observe_transfer(self, what: str, total_bytes: int) -> Callable[[int], None]:
        """Return the observer for the bytes of a transfer."""
        began = time.monotonic()

        def tick(done_bytes: int) -> None:
            self.observe(what, min(done_bytes, total_bytes), total_bytes, time.monotonic() - began)

        tick(0)
        return tick

    def _check_space(self, free_bytes: int | None, needed_bytes: int) -> None:
        if free_bytes is not None and free_bytes < needed_bytes:
            raise RemoteError(
                f"{self.ssh.host}: {format_bytes(free_bytes)} free for {self.directory}, and {format_bytes(needed_bytes)} "
                "are to be sent; make room there, or set TMPDIR for commands over ssh"
            )

    def run(self, run: RunPlan, control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run to the end and fetch the written files."""
        outcome, lost = self._execute(run.argv, control)
        if lost is None and not outcome.stopped and not self.is_kept:
            lost = self._describe_loss("its directory there is gone")
        if lost is None and outcome.exit_code == 0 and not outcome.stopped:
            self._bring_back(run)
            if not self.is_kept:  # the files may have been deleted while they were fetched
                lost = self._describe_loss("its directory there is gone")
        return outcome, lost

    def _execute(self, argv: Sequence[str], control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        errors = control.log.with_name(".ssh.txt")
        errors.touch()
        there = self.ssh.argv(RUN, self.word, self.directory, self.tenths, *argv)
        sieve = Sieve(self.word.encode() + b" ", control.feed)
        life, end = os.pipe()
        with os.fdopen(end, "wb") as ours:
            try:
                outcome = run_process(
                    ("/bin/sh", "-c", _APART, "trex-tui", str(errors), *there),
                    control.log,
                    control.stop,
                    sieve.feed,
                    lambda _: control.tick(None),
                    timeout_s=control.timeout_s,
                    grace_s=control.grace_s + _SLACK_S,
                    stdin=life,
                    ask=ours.close,  # its last messages arrive, too
                )
            finally:
                os.close(life)
        sieve.close()
        text = errors.read_text(encoding="utf-8", errors="replace")
        errors.unlink()
        ended = cut_end(control.log, self.word)
        if ended is not None:
            code, left = ended
            signal = code - 128 if code > 128 else None
            outcome = replace(
                outcome, exit_code=None if signal else code, signal=signal, children=left, is_gone=True
            )
        elif not outcome.stopped:
            return outcome, self._describe_loss(describe_refusal(text, self.ssh.host) if text.strip() else "")
        return outcome, None

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
            self._fetch(pairs, self._engine[0] if run.role == BUILD and self._engine else None)
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
            stop = _LaterStop(self.own_stop, self.own_stop.times)
            self._fetch([(remote, build.engine)], self._engine[0], stop)
            return describe_file(build.engine)
        except (TrexError, OSError) as error:
            self.note(f"the engine was not copied back: {error}")
            return {}

    def _fetch(
        self,
        pairs: Sequence[tuple[str, Path]],
        total_bytes: int | None = None,
        stop: StopRequest | None = None,
    ) -> None:
        """Fetch files; progress is reported if their size is known."""
        stream = self.ssh.stream(stop or self.stop, FETCH, self.word, *(remote for remote, _ in pairs))
        tick = None
        if total_bytes is not None:
            tick = self._observe_transfer(f"fetching {pairs[0][1].name} from {self.ssh.host}", total_bytes)
        with contextlib.closing(stream):
            unpack(_count(stream, tick), [local for _, local in pairs], self.ssh.host)

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
