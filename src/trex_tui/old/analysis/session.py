"""Nodes of an ONNX Runtime session on TensorRT, and subgraphs that fell back to another provider."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from trex_tui.old.artifacts.session_profile import SessionNode, SessionProfile
from trex_tui.old.lazy_dataclass import dataclass

_TENSORRT = ("TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider")
_COPIES = ("MemcpyFromHost", "MemcpyToHost")


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of one provider.

    Attributes:
        provider: `CUDA`, `CPU`, `TensorRT`: without `ExecutionProvider`; `unknown` if not stated.
        nodes: Number of nodes.
        calls: Per run.
        operators: Operator -> number of nodes, the most frequent first.
        first, last: Names, in the order of execution.
        time_ms: Per run; of the whole file if it has no events of runs.
        time_pct: Share of the time of all nodes; None if that is 0.
    """

    provider: str
    nodes: int
    calls: float
    operators: Mapping[str, int]
    first: str
    last: str
    time_ms: float
    time_pct: float | None


@dataclass(frozen=True, slots=True)
class SessionUse:
    """A session by provider.

    Attributes:
        profile: The file.
        node_ms: Time of all nodes, per run.
        providers: The nodes of each provider, most time first.
        engines: Nodes that are engines of TensorRT, one per group, in the order of execution.
        fallbacks: Subgraphs outside of TensorRT: nodes that follow each other on one provider, in the order of execution;
            without copies.
        copies: Nodes that copy between host and device.
    """

    profile: SessionProfile
    node_ms: float
    providers: tuple[NodeGroup, ...]
    engines: tuple[NodeGroup, ...]
    fallbacks: tuple[NodeGroup, ...]
    copies: NodeGroup | None


def find_session_use(profile: SessionProfile) -> SessionUse:
    """Group the nodes of a session by provider, and those outside of TensorRT by subgraph."""
    runs = profile.runs or 1
    node_ms = math.fsum(node.time_ms for node in profile.nodes) / runs

    def group(nodes: Sequence[SessionNode]) -> NodeGroup:
        time_ms = math.fsum(node.time_ms for node in nodes) / runs
        operators = Counter(node.operator or "unknown" for node in nodes)
        return NodeGroup(
            name_provider(nodes[0].provider),
            len(nodes),
            sum(node.calls for node in nodes) / runs,
            dict(operators.most_common()),
            nodes[0].name,
            nodes[-1].name,
            time_ms,
            100.0 * time_ms / node_ms if node_ms else None,
        )

    by_provider: dict[str, list[SessionNode]] = {}
    for node in profile.nodes:
        by_provider.setdefault(node.provider, []).append(node)
    providers = sorted(map(group, by_provider.values()), key=lambda found: -found.time_ms)
    engines = tuple(group([node]) for node in profile.nodes if node.provider in _TENSORRT)
    copies = [node for node in profile.nodes if node.operator in _COPIES]
    own = [node for node in profile.nodes if node.operator not in _COPIES]
    parts = [list(nodes) for _, nodes in groupby(own, key=lambda node: node.provider)]
    return SessionUse(
        profile,
        node_ms,
        tuple(providers),
        engines,
        tuple(group(nodes) for nodes in parts if nodes[0].provider not in _TENSORRT),
        group(copies) if copies else None,
    )


def name_provider(provider: str) -> str:
    """Return the short name of a provider.

    >>> name_provider("CUDAExecutionProvider"), name_provider("NvTensorRTRTXExecutionProvider"), name_provider("")
    ('CUDA', 'TensorRT RTX', 'unknown')
    """
    known = dict(zip(_TENSORRT, ("TensorRT", "TensorRT RTX"), strict=True))
    return known.get(provider) or provider.removesuffix("ExecutionProvider") or "unknown"
