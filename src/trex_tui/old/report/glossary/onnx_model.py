"""Terms of the ONNX model joined to an engine."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

ONNX_MODEL = Subject(
    "onnx",
    "ONNX model",
    "Overview, Layers; summary, report",
    "ONNX model of --onnx or beside the files; names and Metadata of the layer information",
    (
        Term("engines.onnx", "Model joined to the engine; null without one.", labels=("ONNX model",)),
        Term("onnx.file", "Path of the model."),
        Term("is_given", "True if --onnx named the model; false for one found beside the files."),
        Term("onnx.nodes", "Number of nodes, with those of subgraphs."),
        Term("names_stated", "Number of different node names that layers state."),
        Term("names_found", "Number of these names that the model has."),
        Term("names_missing", "Names that the model does not have."),
        Term("nodes_in_layers", "Number of nodes in a layer.", labels=("ONNX nodes",)),
        Term(
            "nodes_folded",
            "Number of nodes computed during the build: they depend on constants and shapes only.",
        ),
        Term(
            "nodes_in_no_layer",
            "Names of the other nodes: removed by TensorRT, or of another version of the model.",
        ),
        Term("nodes_in_several_layers", "Node name -> indices of its layers.", entries="nodes"),
        Term("layers_with_nodes", "Number of layers with ONNX nodes."),
        Term(
            "latency_with_nodes_ms",
            "Time of the layers with ONNX nodes.",
            formula="Σ averageMs of these layers",
            labels=("Time with nodes",),
        ),
        Term(
            "onnx.params",
            "Elements of the parameters of the model: initializers that are not shapes or indices. Those with the same "
            "content count once.",
            labels=("Model weights",),
        ),
        Term("onnx.params_bytes", "Size of these parameters in the model."),
        Term("duplicate_bytes", "Size of parameters whose content the model has already."),
        Term("bytes_by_type", "ONNX type -> size of the parameters.", entries="types"),
        Term(
            "engine_weights_by_type",
            "Type -> elements of the weights that layers list. Fewer bits make the engine smaller than the model.",
            entries="types",
        ),
        Term("onnx.blocks", "Closed blocks with ONNX nodes, with the work of their operators and nodes."),
        Term("blocks.layer", "Index of the block among the layers."),
        Term("onnx.blocks.name", "Name of the layer."),
        Term("onnx.blocks.latency_ms", "Time of the layer."),
        Term("blocks.patterns", "Pattern -> number of it in the block.", entries="patterns"),
        Term("doubtful_nodes", "Number of nodes that may be in another closed block."),
        Term("blocks.operators", "Operators in the block, the most frequent first."),
        Term("operators.count", "Number of nodes of the operator."),
        Term(
            "onnx.blocks.nodes", "ONNX nodes of the block, in the order of the model.", also=("blocks.nodes",)
        ),
        Term("nodes.name", "Name of the node."),
        Term("nodes.op", "Operator.", also=("operators.op",)),
        Term(
            "nodes.input_shapes",
            "Extents of what the node reads; null for unknown ones.",
            also=("nodes.output_shapes",),
        ),
        Term(
            "blocks.macs",
            "Multiply-accumulates of convolutions and matrix products; null if a shape is unknown.",
            also=("operators.macs", "nodes.macs"),
        ),
        Term(
            "blocks.params",
            "Elements of the parameters; those with the same content count once.",
            also=("operators.params", "nodes.params"),
        ),
        Term(
            "blocks.params_bytes",
            "Size of these parameters in the model.",
            also=("operators.params_bytes", "nodes.params_bytes"),
        ),
        Term(
            "moved_bytes",
            "Size of what the nodes read and write, with parameters, in the types of the model; null if unknown.",
        ),
        Term(
            "blocks.intensity",
            "FLOP per byte if each node reads from memory and writes to it. A fused kernel reaches more.",
            also=("operators.intensity", "nodes.intensity"),
            unit="FLOP per byte",
            formula="2 · macs / moved_bytes",
        ),
        Term("patterns", "Patterns of ONNX nodes in the layer, with their number."),
        Term(
            "ONNX operators",
            "Operators of the ONNX nodes in the layer, with their number.",
            labels=("operators",),
        ),
    ),
)
