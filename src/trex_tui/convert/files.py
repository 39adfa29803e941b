"""Profile, timing and metadata as trex reads them, and logs as plain text.

trex takes profile records of four or five keys and drops all others, the row with the count among them; of timing rows it
reads `latencyMs`; of metadata it needs `performance_summary` and `device_information`, or `model_options` and
`build_options`, which may be empty.
"""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from trex_tui.artifacts.buildlog.lines import ReadState, open_log, plain_pieces
from trex_tui.artifacts.jsonfile import load_json
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.profile import Profile, read_profile
from trex_tui.artifacts.timing import OLD_KEYS, TIMING_KEYS, Timing, read_timing
from trex_tui.artifacts.timing_variants import ENQUEUE
from trex_tui.capture.metadata import metadata_of_log
from trex_tui.convert.model import Converted, is_plain_json, json_bytes
from trex_tui.errors import ArtifactError, Severity

_KEYS = (
    {"name", "timeMs", "averageMs", "percentage"},
    {"name", "timeMs", "averageMs", "medianMs", "percentage"},
)
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_NEEDED = {
    ArtifactKind.BUILD_METADATA: ("model_options", "build_options"),
    ArtifactKind.PROFILE_METADATA: ("performance_summary", "device_information"),
}


def convert_profile(path: Path) -> Converted:
    """Times per layer.

    Raises:
        ArtifactError: The file cannot be read.
    """
    profile = read_profile(path)
    data = path.read_bytes()
    # A backslash in a name is valid JSON by chance at most, so the reader's own understanding is written.
    if is_plain_json(data) and b"\\" not in data:
        records = [one for one in load_json(path) if not (isinstance(one, dict) and "count" in one)]
        if all(isinstance(one, dict) and set(one) in _KEYS for one in records):
            return Converted(ArtifactKind.PROFILE, path, None)
        why = "records have the keys that trex takes"
    else:
        why = "written as JSON: names escaped, what is no number null"
    return Converted(ArtifactKind.PROFILE, path, _profile_bytes(profile), [why])


def profile_of(profile: Profile, path: Path) -> Converted:
    """Times that a log lists, for a set without a profile."""
    return Converted(
        ArtifactKind.PROFILE, path, _profile_bytes(profile), ["times taken from the table in the log"]
    )


def _profile_bytes(profile: Profile) -> bytes:
    has_median = any(row.median_ms is not None for row in profile.rows)
    records: list[dict[str, Any]] = [] if profile.iterations is None else [{"count": profile.iterations}]
    for row in profile.rows:
        record = {"name": row.name, "timeMs": row.total_ms, "averageMs": row.average_ms}
        if has_median:
            record["medianMs"] = row.median_ms
        records.append({**record, "percentage": row.percentage})
    return json_bytes(records)


def convert_timing(path: Path) -> Converted:
    """Rows of the queries.

    Raises:
        ArtifactError: The file cannot be read.
    """
    timing = read_timing(path)
    root = load_json(path)
    remarks = [] if timing.latency_ms else ["no latencyMs, the only column that trex reads"]
    old = {short: long for long, short in OLD_KEYS.items()}
    known = {*TIMING_KEYS, *old}
    if not isinstance(root, list) or not any(isinstance(one, dict) and known & one.keys() for one in root):
        return _of_another_tool(timing, path, remarks)
    rows = [one for one in root if isinstance(one, dict)]
    changes = []
    if len(rows) < len(root):
        changes.append(f"entries left out that are no rows: {len(root) - len(rows)}")
    if any(key in old and old[key] not in row for row in rows for key in row):
        changes.append("keys of TensorRT 7 have their later names")
        rows = [
            {old.get(key, key) if old.get(key) not in row else key: one for key, one in row.items()}
            for row in rows
        ]
    if not changes and is_plain_json(path.read_bytes()):
        return Converted(ArtifactKind.TIMING, path, None, (), remarks)
    return Converted(ArtifactKind.TIMING, path, json_bytes(rows), changes or ["written as UTF-8"], remarks)


def _of_another_tool(timing: Timing, path: Path, remarks: Sequence[str]) -> Converted:
    """What our reader understood; with what it assumed, and what it left out."""
    understood = timing.assumed.partition("; ")[2]
    changes = ["rows and keys are trtexec's", *([understood] if understood else [])]
    if ENQUEUE in timing.columns:
        changes[0] = (
            f"rows and keys are trtexec's, but for {ENQUEUE}: trtexec writes a start and an end instead"
        )
    told = [one.message for one in timing.diagnostics if one.severity is not Severity.INFO]
    return Converted(ArtifactKind.TIMING, path, json_bytes(_rows_of(timing)), changes, [*remarks, *told])


def _rows_of(timing: Timing) -> list[dict[str, float]]:
    """A row per query out of the columns, without what is no number."""
    columns = timing.columns.items()
    return [
        {key: values[place] for key, values in columns if not math.isnan(values[place])}
        for place in range(timing.rows)
    ]


def convert_metadata(kind: ArtifactKind, path: Path) -> Converted:
    """What a log parser left.

    Raises:
        ArtifactError: The file cannot be read.
    """
    root = load_json(path)
    changes = []
    if kind in _NEEDED and isinstance(root, dict):
        lacking = [name for name in _NEEDED[kind] if not isinstance(root.get(name), dict)]
        root |= {name: {} for name in lacking}
        changes = [f"got an empty {name}, which trex needs" for name in lacking]
    if not changes and is_plain_json(path.read_bytes()):
        return Converted(kind, path, None)
    return Converted(kind, path, json_bytes(root), changes or ["written as UTF-8"])


def metadata_from_log(kind: ArtifactKind, log: Path, source: Path) -> Converted | None:
    """Metadata out of a log, for a set that has none; None if the log does not tell what trex needs.

    Args:
        log: The log as plain text.
        source: The log as it was found.

    Raises:
        ArtifactError: It cannot be read.
    """
    role = "build" if kind is ArtifactKind.BUILD_METADATA else "profile"
    document = metadata_of_log(log, role)
    if not document.get(_NEEDED[kind][0]):
        return None
    return Converted(kind, source, json_bytes(document), ["made from the log"])


def write_log(source: Path, target: Path) -> list[str]:
    """Write a log as plain UTF-8, in pieces; say what was changed.

    Raises:
        ArtifactError: It cannot be read, or unpacks to more than a log does.
        OSError: It cannot be written.
    """
    changes = []
    state = ReadState()
    with open_log(source) as file, target.open("wb") as out:
        pieces = plain_pieces(file, state)
        first = next(pieces, b"")
        if state.is_packed:
            changes.append("unpacked")
        if first.startswith(_MARKS):
            changes.append("written as UTF-8")
            pieces = _as_utf8(
                chain([first], pieces), "utf-8-sig" if first.startswith(_MARKS[2]) else "utf-16"
            )
        else:
            out.write(first)
        out.writelines(pieces)
    if state.damage:
        raise ArtifactError(source, state.damage)
    return changes


def _as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", errors="replace")
    yield decoder.decode(b"", final=True).encode("utf-8", errors="replace")
