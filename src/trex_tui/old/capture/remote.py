"""Capture on another machine: send the files, run trtexec there, fetch the results, remove everything.

One connection lasts as long as the capture. Its script makes the temporary directory. When its input ends, because trex-tui
is done, killed or cut off, it ends trtexec and deletes the directory. Each run has its own connection. Its last line has a
random word and the exit code: without that line the outcome is unknown, and the connection has failed.

Locked clocks are held by another connection: its end closes the input of its script, which then releases the clocks. The
script that finds trtexec searches the same directories as the search on this machine.
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
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from trex_tui.old.capture.doctor import Findings
from trex_tui.old.capture.environment_probe import ask_host, probe_environment, read_free_bytes
from trex_tui.old.capture.machine import Machine, RunControl
from trex_tui.old.capture.manifest import file_entry
from trex_tui.old.capture.options import CaptureOptions
from trex_tui.old.capture.plan import BUILD, Names, RunPlan, plan
from trex_tui.old.capture.process import GRACE_S, LaterStop, ProcessOutcome, Stop, StopRequest, run_process
from trex_tui.old.capture.scripts import ENGINE, FETCH, FIND, KEEP, MAKE, RUN, SEND
from trex_tui.old.capture.shell import ConnectionLostError, RemoteError, first_answer, last_line
from trex_tui.old.capture.ssh import Sent, Sieve, Ssh, cut_end, moved, unpack
from trex_tui.old.capture.trtexec import Trtexec, TrtexecNotFoundError, understand
from trex_tui.old.capture.verdict import LOST as LOST_KEY
from trex_tui.old.capture.verdict import RunVerdict
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import format_bytes

_NOWHERE = (
    "no trtexec on the PATH of a command over ssh (.bashrc does not apply), "
    "in /usr/src/tensorrt/bin, /opt/tensorrt/bin or a TensorRT-*/bin; $TRTEXEC names none there; state --trtexec"
)


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
    return read_found(ssh.call(stop, FIND, word, given or "", *more), word, given)


def read_found(output: bytes, word: str, given: str | None) -> RemoteTrtexec:
    """Parse the output of the search script."""
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
        refusal = f"--trtexec: no executable {given} there"
    return RemoteTrtexec(None, refusal or _NOWHERE, ())


def look_there(ssh: Ssh, stop: Stop, given: str | None) -> Findings:
    """Probe a machine for `doctor`; the disk is that of its temporary directory, where a capture works.

    Raises:
        RemoteError: The machine cannot be reached, or the connection is lost.
    """
    trtexec = ask_there(ssh, stop, given, with_others=True)
    host = ask_host(ssh, stop)
    environment = probe_environment(host, None, ssh, stop)
    return Findings(trtexec.trtexec, trtexec.refusal, trtexec.others, host.facts, host.probes, environment)


_CLOSE_S = 15.0
"""Time for the other side to clean up, beyond the grace period."""
_SLACK_S = 5.0
"""Delay before ssh is killed, after the other side has killed its processes."""
_APART = 'e=$1; shift; exec "$@" 2>"$e"'
"""Keeps messages of ssh itself out of the log."""


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
        self.observe = observe
        self.ssh = ssh
        self.stop: Stop = stop
        self.with_engine = with_engine
        self.note = note
        self.grace_s = grace_s
        self.word = secrets.token_hex(16)
        self.directory = ""
        self.files: list[Sent] = []
        self.options: CaptureOptions | None = None
        self.folders: list[str] = []
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
        return os.fsdecode(first_answer(self.ssh, self._keeper, self.word, self.stop, stderr))

    @property
    def tenths(self) -> str:
        """Grace period in tenths of a second, as the scripts take it."""
        return str(max(1, round(self.grace_s * 10)))

    def close(self) -> bool:
        """Have the other side end its processes and delete the directory; return whether it confirmed."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return True
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        with contextlib.suppress(OSError):
            keeper.stdin.close()
        asked, until = self.stop.times, time.monotonic() + self.grace_s + _CLOSE_S
        while keeper.poll() is None and time.monotonic() < until and self.stop.times == asked:
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

    def find(self, given: str | None) -> Trtexec:
        """Return the trtexec of the machine; see `find_there`."""
        self.note(f"looking for trtexec on {self.ssh.host}")
        return find_there(self.ssh, self.stop, given)

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """Return the runs: commands with remote paths, files with local paths."""
        self.options = options
        there, self.files = moved(options, self.directory)
        remote = plan(there, trtexec, Names(Path(self.directory), names.name))
        local = plan(options, trtexec, names)
        self._there = {here.log: there for here, there in zip(local, remote, strict=True)}
        self.folders = sorted({str(run.log.parent) for run in remote})
        return tuple(
            replace(here, argv=distant.argv, here=here.argv)
            for here, distant in zip(local, remote, strict=True)
        )

    def prepare(self, engine: Path | None) -> None:
        """Send the files; with an engine, only those of the measurement."""
        answer = self.ssh.call(self.stop, MAKE, self.word, *self.folders)
        files = [file for file in self.files if engine is None or not file.is_for_build]
        if engine is not None:
            there = next(iter(self._there.values())).engine
            files.append(Sent(engine, str(there.parent), there.name))
        self._check_space(
            read_free_bytes(answer.decode("utf-8", errors="replace")),
            sum(file.source.stat().st_size for file in files),
        )
        for sent in files:
            size = sent.source.stat().st_size
            answer = self.ssh.call(
                self.stop,
                SEND,
                self.word,
                sent.directory,
                sent.name,
                source=sent.source,
                tick=self._transfer(f"sending {sent.source} to {self.ssh.host}", size),
            )
            if answer.strip() != str(size).encode():
                raise ConnectionLostError(
                    f"{self.ssh.host}: {sent.source} was not transferred completely; try again"
                )

    def _transfer(self, what: str, total_bytes: int) -> Callable[[int], None]:
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

    def execute(self, argv: Sequence[str], control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
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
        with errors.open("rb") as file:
            why = last_line(file)
        errors.unlink()
        ended = cut_end(control.log, self.word)
        if ended is not None:
            code, left = ended
            signal = code - 128 if code > 128 else None
            outcome = replace(
                outcome, exit_code=None if signal else code, signal=signal, children=left, is_gone=True
            )
        elif not outcome.stopped:
            return outcome, self._lost(why)
        return outcome, None

    def run(self, run: RunPlan, control: RunControl) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run to the end and fetch the written files."""
        outcome, lost = super().run(run, control)
        if lost is None and outcome.exit_code == 0 and not outcome.stopped:
            self._bring_back(run)
        return outcome, lost

    def _lost(self, why: str) -> RunVerdict:
        if self.close():
            remedy = "trtexec was stopped there, and its files were deleted"
        else:
            remedy = "the remote host stops trtexec and deletes its files when its sshd closes the connection"
        if self._engine is not None and not self.with_engine:
            remedy += "; --with-engine copies the engine back as soon as it is built"
        sentence = f"the connection to {self.ssh.host} was lost" + (f" ({why})" if why else "")
        return RunVerdict(False, LOST_KEY, sentence, remedy)

    def remote_engine_path(self, run: RunPlan) -> str:
        """Return the remote path of the engine of a run."""
        return str(self._there[run.log].engine)

    def wanted(self, run: RunPlan) -> list[tuple[str, Path]]:
        """Return remote path -> local path of the files that a run leaves."""
        there = self._there[run.log]
        pairs = [
            (str(remote), local) for (_, remote), (_, local) in zip(there.exports, run.exports, strict=True)
        ]
        if run.role == BUILD and self.with_engine:
            pairs.append((str(there.engine), run.engine))
        return pairs

    def cache(self, run: RunPlan) -> list[tuple[str, Path]]:
        """Return the same for the timing cache; empty if the run writes none that is to be fetched."""
        text = self.options.timing_cache if self.options else None
        return (
            [(f"{self.directory}/timing.cache", Path(text))] if run.role == BUILD and text is not None else []
        )

    def _bring_back(self, run: RunPlan) -> None:
        if run.role == BUILD:
            self._engine = self._ask_engine(self.remote_engine_path(run))
        if pairs := self.wanted(run):
            is_engine = run.role == BUILD and self._engine is not None
            self._fetch(pairs, self._engine[0] if is_engine and self._engine else None)
        if cache := self.cache(run):
            try:
                self._fetch(cache)
            except OSError as error:  # the engine matters more
                self.note(f"the timing cache could not be written to {cache[0][1]}: {describe_reason(error)}")

    def rescue(self, build: RunPlan) -> dict[str, Any] | None:
        if self._engine is None or build.engine.exists():
            return None
        try:
            self._fetch(
                [(self.remote_engine_path(build), build.engine)],
                self._engine[0],
                LaterStop(self.stop, self.stop.times),
            )
            return file_entry(build.engine)
        except (TrexError, OSError) as error:
            self.note(f"the engine was not copied back: {error}")
            return None

    def _fetch(
        self,
        pairs: list[tuple[str, Path]],
        total_bytes: int | None = None,
        stop: StopRequest | None = None,
    ) -> None:
        """Fetch files; progress is reported if their size is known."""
        stream = self.ssh.stream(stop or self.stop, FETCH, self.word, *(remote for remote, _ in pairs))
        tick = None
        if total_bytes is not None:
            tick = self._transfer(f"fetching {pairs[0][1].name} from {self.ssh.host}", total_bytes)
        with contextlib.closing(stream):
            unpack(_counted(stream, tick), [local for _, local in pairs], self.ssh.host)

    def _ask_engine(self, engine: str) -> tuple[int, str | None, bytes] | None:
        output = self.ssh.call(self.stop, ENGINE, self.word, engine)
        size, _, rest = output.partition(b"\n")
        digest, _, head = rest.partition(b"\n")
        if not size.strip().isdigit():
            return None
        text = digest.decode("ascii", errors="replace").rstrip(".")
        return int(size), text if len(text) == 64 else None, head

    def head(self, engine: Path) -> bytes:
        if self._engine is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(engine))
        return self._engine[2]

    def entry(self, engine: Path) -> dict[str, Any]:
        """Return size and digest of the engine, fetched if requested; no digest if no program there computes it."""
        self.head(engine)
        assert self._engine is not None
        size, digest, _ = self._engine
        if self.with_engine:
            local = file_entry(engine)
            if digest not in (None, local["sha256"]):
                raise ConnectionLostError(
                    f"{self.ssh.host}: {engine.name} was not transferred completely; try again"
                )
            return local
        return {"bytes": size, "sha256": digest}

    def document(self, *, with_ids: bool) -> dict[str, Any] | None:
        return {"over": "ssh", "host": self.ssh.host if with_ids else None, "directory": self.directory}


def _counted(pieces: Iterator[bytes], tick: Callable[[int], None] | None) -> Iterator[bytes]:
    """Yield the pieces; `tick` receives the number of bytes so far."""
    done = 0
    for piece in pieces:
        done += len(piece)
        if tick is not None:
            tick(done)
        yield piece
