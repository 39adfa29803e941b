"""Find DLA blocks among the layers of an engine: the block, its copies, and the row that waits for it.

TensorRT runs a part of the network on the DLA as one layer, the block. A profile shows it as several rows: copies to the
memory of the DLA (`X to nvm`), the block, whose time is the submission, copies back (`X from nvm`) and the ends of copies
(`X copy finish`, `X finish`). The first row that needs the result waits for the DLA: its time contains the execution of the
block.

Sources: profiles of TensorRT 7 and 8 on Jetson, and NVIDIA/TensorRT#3143.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from statistics import median_high
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from trex_tui.engine.kinds import LayerKind
from trex_tui.frames import FLOAT, INT, plain_rows, plain_values, text_array

if TYPE_CHECKING:
    from trex_tui.artifacts.profile import Profile
    from trex_tui.engine.model import Engine

ROLES = {
    "block": "Part of the network that runs on the DLA; its time is the submission.",
    "wait": "Row whose time contains the execution of the block.",
    "copy to DLA": "Copy of an input to the memory of the DLA.",
    "copy from DLA": "Copy of an output from the memory of the DLA.",
    "copy finish": "End of a copy.",
    "conversion": "Change of the layout or type of an input or output.",
}
"""Role of a row in a DLA block -> meaning."""
_MOVES = {"copies_to_dla": "copy to DLA", "copies_from_dla": "copy from DLA", "finishes": "copy finish"}
_MOVES |= {"conversions": "conversion"}
_TO_DLA, _FROM_DLA, _FINISH = " to nvm", " from nvm", " finish"
_SUFFIXES = {_TO_DLA: "copies_to_dla", _FROM_DLA: "copies_from_dla", _FINISH: "finishes"}
_CONVERSION = re.compile(r"(?P<of>.*) (?:input|(?P<output>output)) reformatter \d+$", re.DOTALL)
_COPY_NODE = re.compile(
    r"Reformatting CopyNode for (?:Input|Output) Tensor \d+ to (?P<of>\{.*\})$", re.DOTALL
)
_LIST_BLOCK = re.compile(r"\{(?!ForeignNode\[)[^{}]+\}$")
_NODE_BLOCK = re.compile(r"\{ForeignNode\[.*\]\}$", re.DOTALL)
FAR_LONGER = 5.0
"""A row after a block waits for the DLA if it takes this many times the median of the rows of its kind."""
_FEWEST_PEERS = 3
"""Rows that compute vary in size: with fewer rows to compare with, none of them counts as a wait."""
_Block = dict[str, Any]


def is_transfer(name: str) -> bool:
    """Return whether a row of this name moves DLA data: profiles have such rows, layer information may not.

    >>> is_transfer("data to nvm"), is_transfer("prob copy finish"), is_transfer("conv1 + relu1")
    (True, True, False)
    """
    return name.endswith(tuple(_SUFFIXES)) or _CONVERSION.match(name) is not None


def names_operators(name: str) -> bool:
    """Return whether a name lists several operators as TensorRT up to 8.0 names a DLA block: `{conv1,relu1}`."""
    return "," in name and _LIST_BLOCK.match(name) is not None


def count_operators(name: str) -> int | None:
    """Return the number of operators in the name of a block; None if it does not list them.

    >>> count_operators("{conv1,relu1,pool1}"), count_operators("{ForeignNode[conv1...pool1]}")
    (3, None)
    """
    return name.count(",") + 1 if _LIST_BLOCK.match(name) else None


def add_transfers(objects: Sequence[dict[str, Any]], profile: Profile | None) -> list[dict[str, Any]]:
    """Add profile rows that move DLA data and are missing in the graph, as layers with a name only.

    The row that waits for the DLA may be one of them: without it the time of the DLA would be missing in all sums.
    """
    if profile is None or not any(map(_is_block_object, objects)):
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
    added = list(behind.get(-1, []))
    for position, raw in enumerate(objects):
        added += [raw, *behind.get(position, ())]
    return added


def _is_block_object(raw: dict[str, Any]) -> bool:
    layer_type, name = raw.get("LayerType"), raw["Name"]
    if isinstance(layer_type, str) and layer_type:
        return "DLA" in layer_type
    return _NODE_BLOCK.match(name) is not None or names_operators(name)


def place_layers(
    layers: pd.DataFrame, listed: Collection[str], *, is_asked: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the layers with the device on which their time is spent, and the DLA blocks.

    A row that waits for the DLA is assigned to the DLA: its time is the execution of the block. Without blocks nothing
    changes.

    Args:
        layers: With times.
        listed: Names of the layers that a log lists as running on the DLA.
        is_asked: The engine was built with `--useDLACore`.
    """
    if not (layers["device"].eq("DLA").any() or layers["name"].str.startswith("{").any()):
        return layers, _blocks_frame([])
    found = _find_blocks(layers, frozenset(listed), is_asked=is_asked)
    blocks = _collect_rows(layers["name"].tolist(), found)
    if blocks:
        _find_waits(layers, blocks)
        layers = _place(layers, _roles(blocks))
    return layers, _blocks_frame(blocks)


def _blocks_frame(blocks: Sequence[_Block]) -> pd.DataFrame:
    frame = pd.DataFrame({"layer": np.array([block["layer"] for block in blocks], dtype="int64")})
    frame["evidence"] = text_array(block["evidence"] for block in blocks)
    frame["wait"] = pd.array([block["wait"] for block in blocks], INT)
    frame["times_longer"] = pd.array([block["times_longer"] for block in blocks], FLOAT)
    for key in _MOVES:
        frame[key] = pd.Series([tuple(block[key]) for block in blocks], dtype=object)
    return frame


def _roles(blocks: Sequence[Mapping[str, Any]]) -> dict[int, tuple[str, int]]:
    """Return layer -> its role, and the layer of its block."""
    roles: dict[int, tuple[str, int]] = {}
    for block in blocks:
        roles |= {row: (role, block["layer"]) for key, role in _MOVES.items() for row in block[key]}
        if block["wait"] is not None:
            roles[block["wait"]] = ("wait", block["layer"])
        roles[block["layer"]] = ("block", block["layer"])
    return roles


def find_roles(engine: Engine) -> dict[int, tuple[str, int]]:
    """Return layer -> its role for the DLA, a key of `ROLES`, and the layer of the block; empty without blocks.

    Reformats at the ends of links of a block are conversions, whatever their names.
    """
    blocks = plain_rows(engine.dla_blocks)
    roles = _roles(blocks)
    links = engine.links if blocks else pd.DataFrame()
    for block in (block["layer"] for block in blocks):
        ends = [*links["source"][links["target"].eq(block)], *links["target"][links["source"].eq(block)]]
        reformats = (end for end in ends if engine.layers["kind"].iat[end] == LayerKind.REFORMAT.value)
        for end in reformats:
            roles.setdefault(end, ("conversion", block))
    return roles


def _place(layers: pd.DataFrame, roles: Mapping[int, tuple[str, int]]) -> pd.DataFrame:
    role = pd.Series({row: name for row, (name, _) in roles.items()}, dtype=object).reindex(layers.index)
    has_name_only = layers["layer_type"].isna()
    on_dla = role.isin(["block", "wait"])
    # A wait of milliseconds is no reformat: its time is the block's.
    is_wait = role.eq("wait") & (has_name_only | layers["kind"].eq(LayerKind.REFORMAT.value))
    kind = layers["kind"].mask(role.eq("block") | is_wait, LayerKind.FUSED.value)
    kind = kind.mask(role.eq("copy finish") & has_name_only, LayerKind.SYNC.value)
    moves = has_name_only & role.notna() & ~role.eq("block")
    return layers.assign(
        device=layers["device"].fillna("GPU").mask(on_dla, "DLA"),
        kind=kind,
        weights_bytes=layers["weights_bytes"].mask(moves, 0),
        constant_bytes=layers["constant_bytes"].mask(moves, 0),
    )


# Blocks


def _find_blocks(layers: pd.DataFrame, listed: frozenset[str], *, is_asked: bool) -> dict[int, str]:
    """Return the layers that are blocks, in execution order, with the evidence."""
    names = layers["name"].tolist()
    has_transfers = any(name.endswith((_TO_DLA, _FROM_DLA)) for name in names)
    blocks = {}
    facts = zip(names, plain_values(layers["device"]), plain_values(layers["layer_type"]), strict=True)
    for index, (name, device, layer_type) in enumerate(facts):
        evidence = None
        if device == "DLA":
            evidence = "LayerType"
        elif name.startswith("{") and name in listed:
            evidence = "log of the build"
        elif name.startswith("{") and layer_type is None:
            evidence = _judge_name(names, index, has_transfers=has_transfers)
            # Myelin uses the same names for its subgraphs; without a list or copies the build option is the only evidence.
            is_unsure = not listed and not has_transfers and _NODE_BLOCK.match(name)
            if evidence is None and is_asked and is_unsure:
                evidence = "--useDLACore"
        if evidence is not None:
            blocks[index] = evidence
    return blocks


def _judge_name(names: Sequence[str], index: int, *, has_transfers: bool) -> str | None:
    """Return the evidence in the name of a layer and in the rows around it."""
    if _NODE_BLOCK.match(names[index]):
        return "copies beside it" if has_transfers and _is_between_transfers(names, index) else None
    if names_operators(names[index]):
        return "name"
    return "copies beside it" if has_transfers and _LIST_BLOCK.match(names[index]) else None


def _is_between_transfers(names: Sequence[str], index: int) -> bool:
    """Return whether inputs are copied to the DLA directly before a layer, or outputs from it directly after."""
    before = next((name for name in reversed(names[:index]) if not _is_skipped(name)), "")
    after = next((name for name in names[index + 1 :] if not name.endswith(_FINISH)), "")
    return before.endswith(_TO_DLA) or after.endswith(_FROM_DLA)


def _is_skipped(name: str) -> bool:
    is_copy = name.startswith("Reformatting CopyNode") or _CONVERSION.match(name) is not None
    return is_copy or name.endswith(_FINISH)


def _collect_rows(names: Sequence[str], found: Mapping[int, str]) -> list[_Block]:
    """Return each block with its rows: copies to the DLA come before it, those from it and their ends after it."""
    blocks: list[_Block] = [
        {
            "layer": layer,
            "evidence": evidence,
            "wait": None,
            "times_longer": None,
            **{key: [] for key in _MOVES},
        }
        for layer, evidence in found.items()
    ]
    by_name = {names[block["layer"]]: block for block in blocks}
    passed = 0
    for index, name in enumerate(names if blocks else ()):
        current, following = blocks[max(passed - 1, 0)], blocks[min(passed, len(blocks) - 1)]
        suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), None)
        if passed < len(blocks) and index == blocks[passed]["layer"]:
            passed += 1
        elif suffix is not None:
            (following if suffix == _TO_DLA else current)[_SUFFIXES[suffix]].append(index)
        elif (match := _CONVERSION.match(name) or _COPY_NODE.match(name)) and match["of"] in by_name:
            by_name[match["of"]]["conversions"].append(index)
    return blocks


# The row that waits


def _find_waits(layers: pd.DataFrame, blocks: Sequence[_Block]) -> None:
    """Store in each block the row that waits for it, if one stands out."""
    names, times = layers["name"].tolist(), plain_values(layers["latency_ms"])
    # All rows that move data are alike.
    kinds = [
        LayerKind.REFORMAT.value if is_transfer(name) else kind
        for name, kind in zip(names, layers["kind"], strict=True)
    ]
    ends = [block["layer"] for block in blocks[1:]] + [len(names)]
    candidates = [_list_candidates(names, block, end) for block, end in zip(blocks, ends, strict=True)]
    taken = {row for rows in candidates for row in rows} | {block["layer"] for block in blocks}
    peers: dict[str, list[float]] = {}
    for row, (name, kind, time) in enumerate(zip(names, kinds, times, strict=True)):
        if row not in taken and time and not name.endswith(_FINISH):
            peers.setdefault(kind, []).append(time)
    for block, rows in zip(blocks, candidates, strict=True):
        submission = times[block["layer"]]
        for row in rows:
            moves_data = kinds[row] == LayerKind.REFORMAT.value
            # A copy without peers: the submission is as short as any row.
            others = peers.get(kinds[row]) or ([submission] if moves_data and submission else [])
            if len(others) < (1 if moves_data else _FEWEST_PEERS) or not times[row]:
                continue
            usual = median_high(others)
            if times[row] >= FAR_LONGER * usual and times[row] > max(others):
                block |= {"wait": row, "times_longer": times[row] / usual}
                for key in ("copies_from_dla", "conversions"):
                    block[key] = [other for other in block[key] if other != row]
                break


def _list_candidates(names: Sequence[str], block: _Block, end: int) -> list[int]:
    """Return rows that may wait for a block: the first that does more than prepare or end a copy, then copies from it and
    conversions of its outputs.
    """
    behind = range(block["layer"] + 1, end)
    first = [row for row in behind if not names[row].endswith((_TO_DLA, _FINISH))][:1]
    outputs = [
        row for row in block["conversions"] if (match := _CONVERSION.match(names[row])) and match["output"]
    ]
    return list(dict.fromkeys([*first, *block["copies_from_dla"], *outputs]))
