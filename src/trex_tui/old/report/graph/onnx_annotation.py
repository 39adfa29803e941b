"""The model that an engine was built from, with layer, precision and time at its nodes, for viewers such as Netron."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.input_files import COPY_AGAIN, open_bytes, read_fully
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError, TrexError
from trex_tui.old.text import printable

if TYPE_CHECKING:
    import onnx

    from trex_tui.old.analysis.onnx_model.join import OnnxJoin

PREFIX = "trex_tui."
"""Of the keys in the metadata of a node."""


def annotate_model(engine: Engine) -> tuple[bytes, int, bool]:
    """The file of the model with metadata at the nodes that are in a layer; nothing else of it changes.

    Returns:
        The content, the number of nodes with metadata, and whether the model keeps weights in other files.

    Raises:
        ArtifactError: The model was replaced since it was read, or cannot be read.
        TrexError: The engine has no model, or the installed onnx has no metadata of nodes.
    """
    join: OnnxJoin | None = engine.onnx
    if join is None:
        raise TrexError("onnx-annotated needs the model; name it with --onnx")
    import onnx

    if not hasattr(onnx.NodeProto(), "metadata_props"):
        raise TrexError("onnx-annotated needs onnx 1.16 or later; pip install -U 'trex-tui[onnx]'")
    path = join.model.path
    proto = onnx.ModelProto()
    try:
        with open_bytes(path) as file:
            proto.ParseFromString(read_fully(file, path.stat().st_size))
    except (OSError, ValueError) as error:
        raise ArtifactError(path, f"cannot be read: {error}; {COPY_AGAIN}") from error
    nodes = list(_walk(proto.graph))
    if [node.op_type for node in nodes] != [node.op for node in join.model.nodes]:
        raise ArtifactError(path, "was replaced while it was in use; run the command again")
    layers: dict[int, list[int]] = {}
    for index, found in enumerate(join.layers):
        for place in found.nodes:
            layers.setdefault(place, []).append(index)
    for place, indices in layers.items():
        for key, value in _describe(engine, indices):
            nodes[place].metadata_props.add(key=PREFIX + key, value=value)
    has_external = any(tensor.external_data for tensor in proto.graph.initializer)
    return proto.SerializeToString(deterministic=True), len(layers), has_external


def _walk(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """All nodes, those of subgraphs before the node that holds them: the order of `OnnxModel.nodes`."""
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from _walk(inner)
        yield node


def _describe(engine: Engine, indices: list[int]) -> Iterator[tuple[str, str]]:
    """Values of the layers of a node; values of several layers are separated by commas."""
    layers = [engine.layers[index] for index in indices]
    yield "layer", ", ".join(printable(layer.name) for layer in layers)
    yield "layer_index", ", ".join(map(str, indices))
    yield "kind", ", ".join(layer.kind.value for layer in layers)
    precisions = [layer.precision.value for layer in layers if layer.precision]
    if precisions:
        yield "precision", ", ".join(precisions)
    times = [f"{layer.latency_ms:.6g}" for layer in layers if layer.latency_ms is not None]
    if times:
        yield "layer_ms", ", ".join(times)
    yield "layer_nodes", ", ".join(str(len(engine.onnx.layers[index].nodes)) for index in indices)
