"""Dataflow between layers, by the names of tensors, as a table and as a networkx graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from trex_tui.frames import plain_rows

if TYPE_CHECKING:
    import networkx as nx

    from trex_tui.engine.model import Engine


def number_values(tensors: pd.DataFrame) -> pd.DataFrame:
    """Return the reads and writes of named tensors in execution order, each with the number of the value in the tensor
    and the code of its name.

    A name identifies memory: Myelin uses scratch tensors again, and the producers of a removed concatenation write parts of
    one tensor. So consecutive writes make one value, and a write after a read starts the next. Reads before any write
    belong to value 0, from the previous iteration of a loop or from outside the network.
    """
    events = tensors[tensors["name"].ne("")].assign(is_write=lambda rows: rows["role"].eq("output"))
    # Not pandas' own codes: version 2 takes "" and "\0" for one name.
    codes: dict[str, int] = {}
    events["code"] = [codes.setdefault(name, len(codes)) for name in events["name"]]
    events = events.sort_values(["code", "layer", "is_write", "port"], kind="stable")
    follows_write = events["is_write"].shift(fill_value=False) & events["code"].eq(events["code"].shift())
    starts = events["is_write"] & ~follows_write
    return events.assign(value=starts.groupby(events["code"]).cumsum())


def find_links(tensors: pd.DataFrame) -> pd.DataFrame:
    """Return a row per input and layer that wrote it, by reader: source, target, tensor, port, dtype, bytes, is_loop.

    A read binds to all writers of its value. A read before any write binds to those of the last value: `is_loop`.
    """
    events = number_values(tensors)
    is_write = events["is_write"]
    writes = (
        events.loc[is_write, ["code", "value", "layer"]].rename(columns={"layer": "source"}).drop_duplicates()
    )
    reads = events.loc[~is_write, ["code", "name", "value", "layer", "port", "dtype", "bytes"]]
    reads = reads.assign(is_loop=reads["value"].eq(0))
    last = writes.groupby("code", sort=False)["value"].max()
    reads["value"] = reads["value"].where(~reads["is_loop"], reads["code"].map(last)).astype("Int64")
    links = reads.merge(writes.astype({"value": "Int64"}), on=["code", "value"])
    links = links.rename(columns={"layer": "target", "name": "tensor"})
    links = links.sort_values(["target", "port", "source"], ignore_index=True)
    return links[["source", "target", "tensor", "port", "dtype", "bytes", "is_loop"]]


def build_graph(engine: Engine) -> nx.MultiDiGraph[int]:
    """Build the graph of the layers, with scalar attributes that every networkx algorithm and writer takes.

    Unknown values are left out. `latency_ms` of an edge is the time of the layer that writes, for weighted paths; 0 where a
    profile lacks the layer, because networkx takes 1 for a missing weight.
    """
    import networkx as nx  # 0.1 s, and few commands need it

    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=engine.name)
    scalars = engine.layers.drop(columns="onnx_nodes")
    graph.add_nodes_from(zip(engine.layers.index.tolist(), _attributes(scalars), strict=True))
    links = engine.links
    edges = links.drop(columns=["source", "target"])
    if engine.has_profile:
        edges["latency_ms"] = engine.layers["latency_ms"].fillna(0.0).reindex(links["source"]).array
    ends = zip(links["source"].tolist(), links["target"].tolist(), _attributes(edges), strict=True)
    graph.add_edges_from(ends)
    return graph


def _attributes(frame: pd.DataFrame) -> list[dict[str, object]]:
    """Return a dictionary of plain values per row, without the missing ones."""
    return [{key: value for key, value in row.items() if value is not None} for row in plain_rows(frame)]
