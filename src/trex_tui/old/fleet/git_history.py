"""Sets in the history of a git repository: the files of each commit that changed them, written to a directory.

Git only reads: no checkout, no filter, hook, pager, signature check or fetch. Paths and names in commits are data.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass

MOST_COMMITS = 1000
MOST_FILE_BYTES = 256 << 20
_TIMEOUT_S = 300.0
_OPTIONS = (
    *("--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"),
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
}
_FILES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class CommitFiles:
    """Files of a commit.

    Attributes:
        directory: Where they are written, under their paths in the repository; named by the commit.
        blobs: File there -> id of its content.
        skipped: Paths of files that are too large.
    """

    commit: str
    directory: Path
    blobs: dict[Path, str]
    skipped: tuple[str, ...] = ()


def split_place(text: str) -> tuple[Path, str]:
    """Return repository and path of `REPO:PATH`; without a path, all files."""
    if Path(text).is_dir():
        return Path(text), ""
    repository, _, path = text.rpartition(":")
    if not repository or not Path(repository).is_dir():
        raise TrexError(f"--git {text}: no such directory; write REPO:PATH, PATH as in the repository")
    return Path(repository), path


def find_place(path: str) -> tuple[Path, str]:
    """Return the repository of a directory, and its path in the repository.

    Raises:
        TrexError: It is no directory of a working tree.
    """
    directory = Path(os.path.abspath(path))  # noqa: PTH100 - links stay: the path in the repository is that of its names
    for repository in (directory, *directory.parents):
        if directory.is_dir() and (repository / ".git").exists():
            return repository, "" if repository == directory else directory.relative_to(repository).as_posix()
    raise TrexError(
        f"--key git: {path} is no directory of a git repository; give one, or use --git REPO:PATH"
    )


def write_commits(repository: Path, path: str, directory: Path) -> list[CommitFiles]:
    """Write the files at a path of each commit that changed them, the oldest commit first.

    Equal contents are written once and linked.

    Raises:
        TrexError: It is no repository, git fails or is missing, no commit has the path, or there are too many.
    """
    commits = _list_commits(repository, path)
    written: dict[str, Path] = {}
    return [_write_commit(repository, path, commit, directory, written) for commit in commits]


def _list_commits(repository: Path, path: str) -> list[str]:
    command = (
        "log",
        "--no-show-signature",
        "--format=%H",
        "--reverse",
        f"--max-count={MOST_COMMITS + 1}",
        "HEAD",
        "--",
    )
    commits = _run(repository, *command, *filter(None, [path])).decode("ascii", "replace").split()
    if not commits:
        raise TrexError(f"--git: no commit of {repository} has {path!r}; give PATH as in the repository")
    if len(commits) > MOST_COMMITS:
        raise TrexError(f"--git: more than {MOST_COMMITS} commits change {path!r}; give a narrower PATH")
    return commits


def _write_commit(
    repository: Path, path: str, commit: str, directory: Path, written: dict[str, Path]
) -> CommitFiles:
    target = directory / commit[:10]
    blobs: dict[Path, str] = {}
    skipped = []
    wanted = []
    for name, blob, size in _list_files(repository, path, commit):
        if size > MOST_FILE_BYTES:
            skipped.append(name)
            continue
        blobs[target / name] = blob
        if blob not in written:
            wanted.append(blob)
    contents = _read_blobs(repository, list(dict.fromkeys(wanted)))
    for file, blob in blobs.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if blob in written:
            os.link(written[blob], file)
        else:
            file.write_bytes(contents[blob])
            written[blob] = file
    return CommitFiles(commit, target, blobs, tuple(skipped))


def _list_files(repository: Path, path: str, commit: str) -> Iterator[tuple[str, str, int]]:
    """Yield name, id and size of the regular files of a commit."""
    output = _run(
        repository, "ls-tree", "-r", "-z", "--long", "--full-tree", commit, "--", *filter(None, [path])
    )
    for entry in output.split(b"\0"):
        head, _, raw = entry.partition(b"\t")
        words = head.decode("ascii", "replace").split()
        name = os.fsdecode(raw)
        parts = PurePosixPath(name).parts
        is_safe = bool(parts) and not name.startswith("/") and ".." not in parts
        if len(words) == 4 and words[0] in _FILES and words[3].isdecimal() and is_safe:
            yield name, words[2], int(words[3])


def _read_blobs(repository: Path, blobs: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of blobs, with one process."""
    if not blobs:
        return {}
    output = _run(repository, "cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode())
    contents = {}
    start = 0
    for blob in blobs:
        end = output.find(b"\n", start)
        words = output[start:end].split()
        if len(words) != 3 or words[1] != b"blob":
            raise TrexError(f"--git: {repository}: object {blob} is missing; run `git fsck`")
        size = int(words[2])
        contents[blob] = output[end + 1 : end + 1 + size]
        start = end + size + 2
    return contents


def _run(repository: Path, *arguments: str, given: bytes = b"") -> bytes:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *_OPTIONS, *arguments],
            input=given,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env=kept | _ENVIRONMENT,
        )
    except FileNotFoundError:
        raise TrexError("--git needs git in PATH; install it") from None
    except subprocess.TimeoutExpired:
        raise TrexError(f"--git: {repository}: git did not end within {_TIMEOUT_S:g} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [
            f"git ended with {done.returncode}"
        ]
        raise TrexError(f"--git: {repository}: {_explain(lines[0])}")
    return done.stdout


def _explain(line: str) -> str:
    """Return the first line of git's error with a remedy."""
    if "not a git repository" in line:
        return "is no git repository, or a damaged one; give another directory, or run `git init`"
    if "bad revision 'HEAD'" in line or "ambiguous argument 'HEAD'" in line:
        return "has no commit; commit the sets first"
    return f"git: {line}; run `git fsck` there"


def find_changed(commits: Sequence[CommitFiles], files: Sequence[Sequence[Path]]) -> list[bool]:
    """Return for each set, in the order of commits, whether its files differ from those of the same set before.

    Args:
        files: The files of each set.
    """
    places = {
        file: (file.relative_to(commit.directory), blob)
        for commit in commits
        for file, blob in commit.blobs.items()
    }
    last: dict[Path, list[str]] = {}
    changed = []
    for paths in files:
        known = sorted(places[path] for path in paths if path in places)
        first = known[0][0] if known else Path()
        blobs = [blob for _, blob in known]
        changed.append(last.get(first) != blobs)
        last[first] = blobs
    return changed
