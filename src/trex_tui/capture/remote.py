"""A capture on another machine: files go there, trtexec runs there, what it wrote comes back, nothing stays.

One connection lasts as long as the capture. Its script makes the temporary directory, and when its input ends, because we
are done, killed or cut off, it ends trtexec and deletes the directory. Each run has a connection of its own, whose last
line carries a random word and the exit code: without that line nobody knows how the run ended, and the connection is what
failed.

Locked clocks are held by one more connection: its end, by us, a failure, a lost line or our death, closes the input of
its script, which then frees the clocks. To find trtexec and to probe the machine, scripts look at the same places as is
done here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from trex_tui.capture.clocks import ClockDriver, ClockLockAttempt, note_lock, note_release
from trex_tui.capture.doctor import Findings
from trex_tui.capture.environment_probe import (
    Disk,
    Environment,
    Host,
    Recording,
    capability,
    installed,
    probe_host,
    smi_queries,
    stubs,
)
from trex_tui.capture.machine import Machine
from trex_tui.capture.manifest import file_entry
from trex_tui.capture.options import CaptureOptions, quoted
from trex_tui.capture.plan import BUILD, Names, RunPlan, plan
from trex_tui.capture.process import GRACE_S, ProcessOutcome, Stop, run_process
from trex_tui.capture.ssh import (
    ENGINE,
    ENVIRONMENT,
    FETCH,
    FIND,
    HOLD,
    KEEP,
    MAKE,
    PROBE,
    RUN,
    SEND,
    SMI,
    ConnectionLostError,
    Sent,
    Sieve,
    Ssh,
    cut_end,
    first_answer,
    last_line,
    moved,
    start,
    unpack,
)
from trex_tui.capture.trtexec import Trtexec, TrtexecNotFoundError, understand
from trex_tui.capture.verdict import LOST as LOST_KEY
from trex_tui.capture.verdict import RunVerdict
from trex_tui.errors import TrexError
from trex_tui.text import format_bytes

_NOWHERE = (
    "no trtexec on the PATH of a command over ssh (.bashrc does not apply), "
    "in /usr/src/tensorrt/bin, /opt/tensorrt/bin or a TensorRT-*/bin; $TRTEXEC names none there; state --trtexec"
)


@dataclass(frozen=True, slots=True)
class RemoteTrtexec:
    """What was found there.

    Attributes:
        trtexec: The one that a capture would use, or None.
        refusal: Why there is none; without the name of the machine.
        others: More of them, which are not used.
    """

    trtexec: Trtexec | None
    refusal: str
    others: tuple[str, ...]


def find_there(
    ssh: Ssh, stop: Stop, word: str, given: str | None, *, with_others: bool = False
) -> RemoteTrtexec:
    """Look for it, in the order of `find_trtexec`.

    Args:
        ssh: How to reach the machine.
        stop: Ends the question.
        word: Marks what the script says itself.
        given: What a person named, with a path of there.
        with_others: Name also those that come after the one to use.

    Raises:
        RemoteError: It cannot be asked.
    """
    more = ("1",) if with_others else ()
    return read_found(ssh.call(stop, FIND, word, given or "", *more), word, given)


def read_found(output: bytes, word: str, given: str | None) -> RemoteTrtexec:
    """Understand what the script printed."""
    used: Trtexec | None = None
    refusal, by, path = "", "", ""
    others: list[str] = []
    for part in output.split(f"\n{word} ".encode())[1:]:
        heading, _, body = part.partition(b"\n")
        if heading == b"other":
            others.append(os.fsdecode(body.rstrip(b"\n")))
        elif heading != b"help":
            by, path = heading.decode("utf-8", errors="replace"), os.fsdecode(body)
        else:
            try:
                used = understand(body.decode("utf-8", errors="replace"), Path(path), by)
            except TrtexecNotFoundError as error:
                refusal = str(error)
                others.append(path)
    if used is not None:
        return RemoteTrtexec(used, "", tuple(others))
    if not refusal and given:
        refusal = f"--trtexec: there is no {given} there that may be executed"
    return RemoteTrtexec(None, refusal or _NOWHERE, ())


_PLACES = re.compile(r"/(?:[\w.,@:+-]+/)*[\w.,@:+-]+")


def probe_remote(ssh: Ssh, stop: Stop, word: str, *, with_ids: bool) -> dict[str, Any]:
    """Ask it; never raises. What could not be asked is missing, and `probes` says why."""
    try:
        return ask_remote(ssh, stop, word, with_ids=with_ids)
    except (TrexError, OSError) as error:
        return Host(probes={"errors": {"raw": f"{error}\n"}}).document()


def ask_remote(ssh: Ssh, stop: Stop, word: str, *, with_ids: bool) -> dict[str, Any]:
    """The same.

    Raises:
        RemoteError: It cannot be asked.
    """
    output = ssh.call(stop, PROBE, word, "1" if with_ids else "0", *smi_queries(with_ids=with_ids))
    return read_probe(output, word, with_ids=with_ids)


def read_probe(output: bytes, word: str, *, with_ids: bool) -> dict[str, Any]:
    """Understand what the script printed."""
    system: dict[str, str] = {}
    environment: dict[str, str] = {}
    programs: dict[str, str] = {}
    answers: dict[str, tuple[int, str]] = {}
    with tempfile.TemporaryDirectory(prefix="trex-tui.") as directory:
        root = Path(directory)
        for part in output.split(f"\n{word} ".encode())[1:]:
            heading, _, raw = part.partition(b"\n")
            kind, _, name = heading.decode("utf-8", errors="replace").partition(" ")
            text = raw.decode("utf-8", errors="replace")
            if kind == "file" and _PLACES.fullmatch(name) and ".." not in name:
                target = root / name.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(raw)
            elif kind == "uname":
                system[name] = text.strip()
            elif kind == "env":
                environment[name] = text.strip()
            elif kind in ("smi", "nvpmodel"):
                asked, _, code = name.rpartition(" ")
                program = "nvidia-smi" if kind == "smi" else kind
                programs[program] = program
                key = f"--query-gpu={asked}" if kind == "smi" else asked
                answers[key] = (int(code) if code.isdecimal() else 127, text)
        recording = Recording(system, programs, answers, environment)
        document = probe_host(with_ids=with_ids, environ={}, root=root, recording=recording).document()
    for probe in document["probes"].values():
        if "directory" in probe:  # it names the copy
            probe["directory"] = probe["directory"].removeprefix(directory)
    return document


_FREE = re.compile(r"\s\d+\s+\d+\s+(\d{1,18})\s+\d+%\s")
"""Blocks, used, available, capacity: the columns of `df -P`, whatever the names around them hold."""


def look_there(ssh: Ssh, stop: Stop, given: str | None) -> Findings:
    """Ask it; the disk is that of its temporary directory, where a capture works.

    Raises:
        RemoteError: It cannot be reached, or no longer.
    """
    word = secrets.token_hex(16)
    trtexec = find_there(ssh, stop, word, given, with_others=True)
    host = ask_remote(ssh, stop, word, with_ids=False)
    probes: dict[str, Any] = host.pop("probes")
    environment = read_environment(ssh.call(stop, ENVIRONMENT, word), word, probes)
    return Findings(trtexec.trtexec, trtexec.refusal, trtexec.others, host, probes, environment)


def read_environment(output: bytes, word: str, probes: dict[str, Any]) -> Environment:
    """Understand what the script printed; the text of what drifts goes to `probes`."""
    parts: dict[tuple[str, str], str] = {}
    for part in output.split(f"\n{word} ".encode())[1:]:
        heading, _, body = part.partition(b"\n")
        kind, _, name = heading.decode("utf-8", errors="replace").strip().partition(" ")
        parts[kind, name] = os.fsdecode(body)

    def text(kind: str, name: str = "") -> str:
        return parts.get((kind, name), "").strip()

    may_lock = capability(text("file", "/proc/self/status"))
    if may_lock is not None:
        probes["proc/self/status"] = {"file": "/proc/self/status", "raw": may_lock[0]}
    for name in ("packages", "free"):
        if text(name):
            probes[name] = {"command": "dpkg-query -W" if name == "packages" else "df -Pk", "raw": text(name)}
    uptime = re.match(r"\d+(?:\.\d+)?", text("file", "/proc/uptime"))
    return Environment(
        devices={
            name: "r" in body.split() and (name == "/dev/nvmap" or "w" in body.split())
            for (kind, name), body in parts.items()
            if kind == "device"
        },
        may_lock_clocks=None if may_lock is None else may_lock[1],
        has_nvidia_smi=bool(text("program", "nvidia-smi")),
        tegrastats=text("program", "tegrastats") or None,
        is_graphical=next(
            (
                Path(body.strip()).name == "graphical.target"
                for (kind, _), body in parts.items()
                if kind == "link"
            ),
            None,
        ),
        uptime_s=float(uptime[0]) if uptime else None,
        packages=installed(text("packages")),
        stub_libraries=stubs(text("libraries")),
        disk=_disk(text("disk"), text("free")),
    )


def _disk(output: str, free: str) -> Disk:
    """`d` behind the path says that it is a directory, `w` that something may be made in it."""
    path, *words = output.split("\n")
    while words and words[0] not in ("d", "w"):  # a newline in its name
        path = f"{path}\n{words.pop(0)}"
    match = _FREE.search(f"{free}\n")
    return Disk(
        wanted=Path(path),
        existing=Path(path),
        is_directory="d" in words,
        is_writable="w" in words,
        free_bytes=int(match[1]) * 1024 if match else None,
        is_temporary=True,
    )


_LET_GO_S = 30.0
_POLL_S = 0.1


class RemoteClockDriver(ClockDriver):
    """nvidia-smi of another machine.

    Args:
        ssh: How to reach it.
        stop: Ends questions; clocks that are locked are let go first.
        word: Marks what our scripts say.
    """

    def __init__(self, ssh: Ssh, stop: Stop, word: str) -> None:
        self.ssh = ssh
        self.stop = stop
        self.word = word
        self.where = f" on {ssh.host}"

    def _call(self, *arguments: str) -> tuple[Mapping[str, str] | None, str]:
        output = self.ssh.call(self.stop, SMI, self.word, *arguments).decode("utf-8", errors="replace")
        _, _, answer_lines = output.partition(f"\n{self.word}\n")
        lines = answer_lines.split("\n", 3)
        if len(lines) < 4:
            raise ConnectionLostError(f"{self.ssh.host}: its answer about nvidia-smi is cut off")
        visible, order, program, answer = lines
        choices = {"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order}
        return (choices if program else None), answer

    def choices(self) -> Mapping[str, str] | None:
        """Of a command over ssh: what .bashrc sets does not apply, to trtexec neither."""
        return self._call()[0]

    def ask(self, *arguments: str) -> str:
        return self._call(*arguments)[1]

    @contextlib.contextmanager
    def hold(self, lock: ClockLockAttempt) -> Iterator[None]:
        with tempfile.TemporaryFile() as stderr:
            argv = self.ssh.argv(HOLD, self.word, str(lock.gpu), str(lock.target_mhz))
            process = start(argv, subprocess.PIPE, stderr)
            try:
                answer = first_answer(self.ssh, process, self.word, self.stop, stderr)
                note_lock(lock, answer.decode("utf-8", errors="replace"))
                yield
            finally:
                self._let_go(process, lock)

    def _let_go(self, process: subprocess.Popen[bytes], lock: ClockLockAttempt) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        lock.ended_early = lock.locked and process.poll() is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        out = self._rest(process.stdout.fileno())
        answer, mark, code = out.rpartition(self.word.encode() + b" ")
        if lock.locked:
            note_release(lock, 0 if mark and code.strip() == b"0" else None, answer)
        if process.poll() is None:
            process.kill()  # it lets go there without us
        process.stdout.close()
        process.wait()

    def _rest(self, pipe: int) -> bytes:
        """What the script says in the end; a person who asks again is not made to wait."""
        out, asked, until = b"", self.stop.times, time.monotonic() + _LET_GO_S
        while time.monotonic() < until and self.stop.times == asked:
            if not select.select([pipe], [], [], _POLL_S)[0]:
                continue
            data = os.read(pipe, 1 << 16)
            if not data:
                break
            out += data
        return out


_CLOSE_S = 15.0
"""How long the other side has for its cleaning, beyond the grace."""
_SLACK_S = 5.0
"""Until ssh is killed, after the other side has killed what did not end by itself."""
_APART = 'e=$1; shift; exec "$@" 2>"$e"'
"""What ssh itself says must not get into the log."""


class RemoteMachine(Machine):
    """A machine at the other end of an ssh connection; a context manager that has a directory there.

    Args:
        ssh: How to reach it.
        stop: Ends whatever goes on.
        with_engine: Bring the engine back too.
        note: Told what happens, one sentence.
        grace_s: Between SIGTERM and SIGKILL, there.
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
        self.ssh = ssh
        self.stop = stop
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
        """Connect, and make the directory.

        Raises:
            RemoteError: It cannot be reached, or has no place for temporary files.
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
        self._keeper = start(argv, subprocess.PIPE, stderr)
        return os.fsdecode(first_answer(self.ssh, self._keeper, self.word, self.stop, stderr))

    @property
    def tenths(self) -> str:
        """The grace in tenths of a second, as the scripts take it."""
        return str(max(1, round(self.grace_s * 10)))

    def close(self) -> bool:
        """Have the other side end what runs and delete the directory; whether it says that it did."""
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
                f"{self.ssh.host} did not say that it deleted {self.directory}; it does when it notices"
            )
        return clean

    def find(self, given: str | None) -> Trtexec:
        """The trtexec there. Lines of .bashrc that extend PATH do not apply to commands over ssh.

        Raises:
            TrexError: There is none that can be used.
        """
        answer = find_there(self.ssh, self.stop, self.word, given)
        if answer.trtexec is None:
            raise TrtexecNotFoundError(f"{self.ssh.host}: {answer.refusal}")
        return answer.trtexec

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """The runs: commands with paths of there, files of here."""
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
        """Send the files: with an engine, those of the measurement alone."""
        self.ssh.call(self.stop, MAKE, self.word, *self.folders)
        files = [file for file in self.files if engine is None or not file.is_for_build]
        if engine is not None:
            there = next(iter(self._there.values())).engine
            files.append(Sent(engine, str(there.parent), there.name))
        for sent in files:
            size = sent.source.stat().st_size
            self.note(f"sending {sent.source} ({format_bytes(size)}) to {self.ssh.host}")
            answer = self.ssh.call(self.stop, SEND, self.word, sent.directory, sent.name, source=sent.source)
            if answer.strip() != str(size).encode():
                raise ConnectionLostError(f"{self.ssh.host}: {sent.source} did not arrive whole")

    def probe(self, *, with_ids: bool) -> dict[str, Any]:
        return probe_remote(self.ssh, self.stop, self.word, with_ids=with_ids)

    def clock_driver(self) -> ClockDriver:
        return RemoteClockDriver(self.ssh, self.stop, self.word)

    def commands(self, runs: Sequence[RunPlan], name: str) -> Iterator[tuple[tuple[str, ...], str]]:
        """Every command of a capture as it would be run here, and its redirection.

        Args:
            runs: What `plan` returned.
            name: What tells the directory there from others.
        """
        yield self.ssh.argv(KEEP, self.word, self.tenths, name), ""
        yield self.ssh.argv(MAKE, self.word, *self.folders), ""
        for file in self.files:
            yield self.ssh.argv(SEND, self.word, file.directory, file.name), f" < {quoted(str(file.source))}"
        for run in runs:
            yield self.command(run), f" > {quoted(str(run.log))}"
            if run.role == BUILD:
                yield self.ssh.argv(ENGINE, self.word, self.remote_engine_path(run)), ""
            for wanted in filter(None, (self.wanted(run), self.cache(run))):
                yield self.ssh.argv(FETCH, self.word, *(remote for remote, _ in wanted)), ""

    def command(self, run: RunPlan) -> tuple[str, ...]:
        """The local command that has a run done there."""
        return self.ssh.argv(RUN, self.word, self.directory, self.tenths, *run.argv)

    def run(
        self,
        run: RunPlan,
        stop: Stop,
        feed: Callable[[bytes], None],
        tick: Callable[[int | None], None],
        *,
        timeout_s: float | None,
        grace_s: float,
    ) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run to the end, and bring back what it wrote."""
        errors = run.log.with_name(".ssh.txt")
        errors.touch()
        argv = ("/bin/sh", "-c", _APART, "trex-tui", str(errors), *self.command(run))
        sieve = Sieve(self.word.encode() + b" ", feed)
        life, end = os.pipe()
        with os.fdopen(end, "wb") as ours:
            try:
                outcome = run_process(
                    argv,
                    run.log,
                    stop,
                    sieve.feed,
                    lambda _: tick(None),
                    timeout_s=timeout_s,
                    grace_s=grace_s + _SLACK_S,
                    stdin=life,
                    ask=ours.close,  # what it says of its end comes through, too
                )
            finally:
                os.close(life)
        sieve.close()
        with errors.open("rb") as file:
            why = last_line(file)
        errors.unlink()
        ended = cut_end(run.log, self.word)
        if ended is not None:
            code, left = ended
            signal = code - 128 if code > 128 else None
            outcome = replace(
                outcome, exit_code=None if signal else code, signal=signal, children=left, is_gone=True
            )
        elif not outcome.stopped:
            return outcome, self._lost(why)
        if outcome.exit_code == 0 and not outcome.stopped:
            self._bring_back(run)
        return outcome, None

    def _lost(self, why: str) -> RunVerdict:
        if self.close():
            remedy = "trtexec was ended there, and its files were deleted"
        else:
            remedy = "that machine ends trtexec and deletes its files as soon as its sshd notices"
        sentence = f"the connection to {self.ssh.host} was lost" + (f" ({why})" if why else "")
        return RunVerdict(False, LOST_KEY, sentence, remedy)

    def remote_engine_path(self, run: RunPlan) -> str:
        """The engine of a run, there."""
        return str(self._there[run.log].engine)

    def wanted(self, run: RunPlan) -> list[tuple[str, Path]]:
        """What a run leaves there -> where it is to be here."""
        there = self._there[run.log]
        pairs = [
            (str(remote), local) for (_, remote), (_, local) in zip(there.exports, run.exports, strict=True)
        ]
        if run.role == BUILD and self.with_engine:
            pairs.append((str(there.engine), run.engine))
        return pairs

    def cache(self, run: RunPlan) -> list[tuple[str, Path]]:
        """The timing cache in the same way, if a run leaves one that is wanted."""
        text = self.options.timing_cache if self.options else None
        return (
            [(f"{self.directory}/timing.cache", Path(text))] if run.role == BUILD and text is not None else []
        )

    def _bring_back(self, run: RunPlan) -> None:
        if run.role == BUILD:
            self._engine = self._ask_engine(self.remote_engine_path(run))
            if self.with_engine and self._engine is not None:
                self.note(
                    f"fetching {run.engine.name} ({format_bytes(self._engine[0])}) from {self.ssh.host}"
                )
        if pairs := self.wanted(run):
            self._fetch(pairs)
        if cache := self.cache(run):
            try:
                self._fetch(cache)
            except OSError as error:  # the engine is worth more
                self.note(
                    f"the timing cache could not be written to {cache[0][1]}: {error.strerror or error}"
                )

    def _fetch(self, pairs: list[tuple[str, Path]]) -> None:
        stream = self.ssh.stream(self.stop, FETCH, self.word, *(remote for remote, _ in pairs))
        with contextlib.closing(stream):
            unpack(stream, [local for _, local in pairs], self.ssh.host)

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
        """Size and digest of the engine, which was brought back if that is wanted; no digest if nothing there can tell it."""
        self.head(engine)
        assert self._engine is not None
        size, digest, _ = self._engine
        if self.with_engine:
            local = file_entry(engine)
            if digest not in (None, local["sha256"]):
                raise ConnectionLostError(f"{self.ssh.host}: {engine.name} did not arrive whole")
            return local
        return {"bytes": size, "sha256": digest}

    def document(self, *, with_ids: bool) -> dict[str, Any] | None:
        return {"over": "ssh", "host": self.ssh.host if with_ids else None, "directory": self.directory}
