"""Find DLA blocks among the layers of an engine: the block, its copies, and the row that waits for it.

TensorRT runs a part of the network on the DLA as one layer, the block. A profile shows it as several rows: copies to the
memory of the DLA (`X to nvm`), the block, whose time is the submission, copies back (`X from nvm`) and the ends of copies
(`X copy finish`, `X finish`). The first row that needs the result waits for the DLA: its time contains the execution of the
block.

Sources: profiles of TensorRT 7 and 8 on Jetson, and NVIDIA/TensorRT#3143.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Device, Layer
from trex_tui.old.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from trex_tui.old.artifacts.profile import Profile

_TO_DLA, _FROM_DLA, _FINISH = " to nvm", " from nvm", " finish"
"""Name suffixes: a copy to the memory of the DLA, a copy from it, the end of a copy."""
_CONVERSION = lazy_pattern(r"(?P<of>.*) (?:input|output) reformatter \d+$", re.DOTALL)
_COPY_NODE = lazy_pattern(
    r"Reformatting CopyNode for (?:Input|Output) Tensor \d+ to (?P<of>\{.*\})$", re.DOTALL
)
_LIST_BLOCK = lazy_pattern(r"\{(?!ForeignNode\[)[^{}]+\}$")
_NODE_BLOCK = lazy_pattern(r"\{ForeignNode\[.*\]\}$", re.DOTALL)
FAR_LONGER = 5.0
"""A row after a block waits for the DLA if it takes this many times the median of the rows of its kind."""
_FEWEST_PEERS = 3
"""Rows that compute vary in size: with fewer rows to compare with, none of them counts as a wait."""


class DlaRole(str, Enum):
    """Role of a row in a DLA block."""

    BLOCK = "block"
    WAIT = "wait"
    COPY_TO_DLA = "copy to DLA"
    COPY_FROM_DLA = "copy from DLA"
    COPY_FINISH = "copy finish"
    CONVERSION = "conversion"


class DlaEvidence(str, Enum):
    """Evidence that a layer is a DLA block."""

    LAYER_TYPE = "LayerType"
    LOG = "log of the build"
    NAME = "name"
    COPIES = "copies beside it"
    BUILD_OPTION = "--useDLACore"


class DlaBlock(NamedTuple):
    """A part of the network that runs on the DLA, as indices of layers.

    Attributes:
        layer: The block. If another row waits for it, its time is the submission.
        evidence: Evidence for the block.
        wait: The row whose time contains the execution; None if no row takes far longer than others of its kind.
        times_longer: Time of the wait over that of the rows it is compared with; None without a wait.
        copies_to_dla, copies_from_dla, finishes: Rows that move its inputs and outputs, without the wait.
        conversions: Rows that change the layout of its inputs or outputs, if their names contain the block's.
    """

    layer: int
    evidence: DlaEvidence
    wait: int | None = None
    times_longer: float | None = None
    copies_to_dla: tuple[int, ...] = ()
    copies_from_dla: tuple[int, ...] = ()
    finishes: tuple[int, ...] = ()
    conversions: tuple[int, ...] = ()

    @property
    def roles(self) -> dict[int, DlaRole]:
        """Return the roles of all rows of the block, by index."""
        rows = {
            DlaRole.COPY_TO_DLA: self.copies_to_dla,
            DlaRole.COPY_FROM_DLA: self.copies_from_dla,
            DlaRole.COPY_FINISH: self.finishes,
            DlaRole.CONVERSION: self.conversions,
            DlaRole.WAIT: () if self.wait is None else (self.wait,),
            DlaRole.BLOCK: (self.layer,),
        }
        return {index: role for role, indices in rows.items() for index in indices}


def names_operators(name: str) -> bool:
    """Return whether a name lists several operators as TensorRT up to 8.0 names a DLA block: `{conv1,relu1}`."""
    return "," in name and _LIST_BLOCK.match(name) is not None


def is_transfer(name: str) -> bool:
    """Return whether a row of this name moves DLA data: profiles have such rows, layer information may not.

    >>> is_transfer("data to nvm"), is_transfer("prob copy finish"), is_transfer("conv1 + relu1")
    (True, True, False)
    """
    return name.endswith((_TO_DLA, _FROM_DLA, _FINISH)) or _CONVERSION.match(name) is not None


def add_transfers(objects: Sequence[dict[str, Any]], profile: Profile | None) -> list[dict[str, Any]]:
    """Add profile rows that move DLA data and are missing in the graph, as layers with a name only.

    The row that waits for the DLA may be one of them: without it the time of the DLA would be missing in all sums.

    Args:
        objects: Layers of the layer information, in execution order.
        profile: The profile; None if there is none.
    """
    if profile is None or not any(_is_block_object(raw) for raw in objects):
        return list(objects)
    positions: dict[str, list[int]] = {}
    for position, raw in enumerate(objects):
        positions.setdefault(raw["Name"], []).append(position)
    behind: dict[int, list[dict[str, Any]]] = {}
    last = -1
    for row in profile.rows:
        if known := positions.get(row.name):
            last = max(last, known.pop(0))
        elif row.name not in positions and is_transfer(row.name):
            behind.setdefault(last, []).append({"Name": row.name})
    result = behind.get(-1, [])
    for position, raw in enumerate(objects):
        result += [raw, *behind.get(position, ())]
    return result


def _is_block_object(raw: dict[str, Any]) -> bool:
    layer_type = raw.get("LayerType")
    if isinstance(layer_type, str) and layer_type:
        return "DLA" in layer_type
    return _NODE_BLOCK.match(raw["Name"]) is not None or names_operators(raw["Name"])


def place_layers(
    layers: tuple[Layer, ...], listed: Collection[str] = (), *, is_asked: bool = False
) -> tuple[tuple[Layer, ...], tuple[DlaBlock, ...]]:
    """Find the DLA blocks, and assign each layer the device on which its time is spent.

    A row that waits for the DLA is assigned to the DLA: its time is the execution of the block. Without blocks nothing
    changes.

    Args:
        layers: In execution order.
        listed: Names of the layers that a log lists as running on the DLA.
        is_asked: The engine was built with `--useDLACore`.
    """
    dla = Device.DLA
    is_named = any(map(methodcaller("startswith", "{"), map(attrgetter("name"), layers)))
    if not is_named and dla not in set(map(attrgetter("device"), layers)):
        return layers, ()
    blocks = _find_blocks(layers, frozenset(listed), is_asked=is_asked)
    if not blocks:
        return layers, ()
    found = tuple(_find_waits(layers, _collect_rows(layers, blocks)))
    roles = {index: role for block in found for index, role in block.roles.items()}
    return tuple(_placed(layer, roles.get(layer.index)) for layer in layers), found


def _placed(layer: Layer, role: DlaRole | None) -> Layer:
    on_dla = role in (DlaRole.BLOCK, DlaRole.WAIT)
    changes: dict[str, Any] = {"device": Device.DLA if on_dla else layer.device or Device.GPU}
    if role is DlaRole.BLOCK:
        changes["kind"] = LayerKind.FUSED
    elif role is DlaRole.WAIT and (layer.layer_type is None or layer.kind is LayerKind.REFORMAT):
        changes["kind"] = LayerKind.FUSED  # a wait of milliseconds is not a reformat: its time is the block's
    elif role is DlaRole.COPY_FINISH and layer.layer_type is None:
        changes["kind"] = LayerKind.SYNC
    if layer.layer_type is None and role not in (None, DlaRole.BLOCK):
        changes |= {"weights_bytes": 0, "constant_input_bytes": 0}
    return layer._replace(**changes)


def _find_blocks(
    layers: Sequence[Layer], listed: frozenset[str], *, is_asked: bool
) -> dict[int, DlaEvidence]:
    """Return the indices of the blocks, in execution order, with the evidence."""
    has_transfers = any(layer.name.endswith((_TO_DLA, _FROM_DLA)) for layer in layers)
    blocks = {}
    for layer in layers:
        evidence: DlaEvidence | None = None
        if layer.device is Device.DLA:
            evidence = DlaEvidence.LAYER_TYPE
        elif layer.name.startswith("{"):
            if layer.name in listed:
                evidence = DlaEvidence.LOG
            elif layer.layer_type is None:
                evidence = _judge_name(layers, layer, has_transfers=has_transfers)
                # Myelin uses the same names for its subgraphs; without a list or copies the build option is the only
                # evidence.
                is_unsure = not listed and not has_transfers and _NODE_BLOCK.match(layer.name)
                if evidence is None and is_asked and is_unsure:
                    evidence = DlaEvidence.BUILD_OPTION
        if evidence is not None:
            blocks[layer.index] = evidence
    return blocks


def _judge_name(layers: Sequence[Layer], layer: Layer, *, has_transfers: bool) -> DlaEvidence | None:
    """Return the evidence in the name of a layer and in the rows around it."""
    if _NODE_BLOCK.match(layer.name):
        is_between = has_transfers and _is_between_transfers(layers, layer.index)
        return DlaEvidence.COPIES if is_between else None
    if names_operators(layer.name):
        return DlaEvidence.NAME
    return DlaEvidence.COPIES if has_transfers and _LIST_BLOCK.match(layer.name) else None


def _is_between_transfers(layers: Sequence[Layer], index: int) -> bool:
    """Return whether inputs are copied to the DLA directly before a layer, or outputs from it directly after."""
    earlier = (layers[position].name for position in range(index - 1, -1, -1))
    later = (layers[position].name for position in range(index + 1, len(layers)))
    before = next((name for name in earlier if not _is_skipped(name)), "")
    after = next((name for name in later if not name.endswith(_FINISH)), "")
    return before.endswith(_TO_DLA) or after.endswith(_FROM_DLA)


def _is_skipped(name: str) -> bool:
    return (
        name.endswith(_FINISH)
        or name.startswith("Reformatting CopyNode")
        or _CONVERSION.match(name) is not None
    )


def _collect_rows(layers: Sequence[Layer], found: dict[int, DlaEvidence]) -> list[DlaBlock]:
    """Return each block with its copies: those to the DLA come before it, those from it and their ends after it."""
    blocks = list(found)
    rows: dict[tuple[int, DlaRole], list[int]] = {}
    by_name = {layers[block].name: block for block in blocks}
    passed = 0
    for layer in layers:
        name, index = layer.name, layer.index
        current, following = blocks[max(passed - 1, 0)], blocks[min(passed, len(blocks) - 1)]
        if passed < len(blocks) and index == blocks[passed]:
            passed += 1
        elif name.endswith(_TO_DLA):
            rows.setdefault((following, DlaRole.COPY_TO_DLA), []).append(index)
        elif name.endswith(_FROM_DLA):
            rows.setdefault((current, DlaRole.COPY_FROM_DLA), []).append(index)
        elif name.endswith(_FINISH):
            rows.setdefault((current, DlaRole.COPY_FINISH), []).append(index)
        elif (match := _CONVERSION.match(name) or _COPY_NODE.match(name)) and match["of"] in by_name:
            rows.setdefault((by_name[match["of"]], DlaRole.CONVERSION), []).append(index)
    return [
        DlaBlock(
            block,
            found[block],
            copies_to_dla=tuple(rows.get((block, DlaRole.COPY_TO_DLA), ())),
            copies_from_dla=tuple(rows.get((block, DlaRole.COPY_FROM_DLA), ())),
            finishes=tuple(rows.get((block, DlaRole.COPY_FINISH), ())),
            conversions=tuple(rows.get((block, DlaRole.CONVERSION), ())),
        )
        for block in blocks
    ]


def _find_waits(layers: Sequence[Layer], blocks: Sequence[DlaBlock]) -> Iterator[DlaBlock]:
    """Yield the blocks with the rows that wait for them."""
    ends = [block.layer for block in blocks[1:]] + [len(layers)]
    candidates = [_find_candidates(layers, block, end) for block, end in zip(blocks, ends, strict=True)]
    taken = {index for indices in candidates for index in indices} | {block.layer for block in blocks}
    times: dict[LayerKind, list[float]] = {}
    for layer in layers:
        if layer.index not in taken and layer.latency_ms and not layer.name.endswith(_FINISH):
            times.setdefault(_peer_kind(layer), []).append(layer.latency_ms)
    peers = {
        kind: _Peers(len(group), sorted(group)[len(group) // 2], max(group)) for kind, group in times.items()
    }
    for block, indices in zip(blocks, candidates, strict=True):
        wait = next(_long_rows(layers, block, indices, peers), None)
        yield block if wait is None else _with_wait(block, *wait)


class _Peers(NamedTuple):
    """Times of the rows that a row is compared with: those of its kind that wait for no block."""

    rows: int
    median_ms: float
    max_ms: float


def _find_candidates(layers: Sequence[Layer], block: DlaBlock, end: int) -> list[int]:
    """Return rows that may wait for a block: the first that does more than prepare or end a copy, then copies from it."""
    behind = range(block.layer + 1, end)
    first = next((index for index in behind if not layers[index].name.endswith((_TO_DLA, _FINISH))), None)
    return list(dict.fromkeys([*([] if first is None else [first]), *block.copies_from_dla]))


def _peer_kind(layer: Layer) -> LayerKind:
    """Return the kind of the rows that a row is compared with; all rows that move data are alike."""
    return LayerKind.REFORMAT if is_transfer(layer.name) else layer.kind


def _long_rows(
    layers: Sequence[Layer], block: DlaBlock, candidates: Sequence[int], peers: Mapping[LayerKind, _Peers]
) -> Iterator[tuple[int, float]]:
    """Yield candidates that take far longer than their peers, and the factor."""
    submission = layers[block.layer].latency_ms
    for index in candidates:
        row, kind = layers[index], _peer_kind(layers[index])
        others = peers.get(kind)
        if others is None and kind is LayerKind.REFORMAT and submission:
            # A copy without peers: the submission is as short as any row.
            others = _Peers(1, submission, submission)
        if others is None or not row.latency_ms:
            continue
        is_enough = others.rows >= (1 if kind is LayerKind.REFORMAT else _FEWEST_PEERS)
        if is_enough and row.latency_ms >= FAR_LONGER * others.median_ms and row.latency_ms > others.max_ms:
            yield index, row.latency_ms / others.median_ms


def _with_wait(block: DlaBlock, wait: int, times_longer: float) -> DlaBlock:
    return block._replace(
        wait=wait,
        times_longer=times_longer,
        copies_from_dla=tuple(index for index in block.copies_from_dla if index != wait),
        conversions=tuple(index for index in block.conversions if index != wait),
    )


def count_operators(name: str) -> int | None:
    """Return the number of operators in the name of a block; None if it does not list them.

    >>> count_operators("{conv1,relu1,pool1}"), count_operators("{ForeignNode[conv1...pool1]}")
    (3, None)
    """
    return name.count(",") + 1 if _LIST_BLOCK.match(name) else None
