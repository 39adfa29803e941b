"""Terms of the ONNX model joined to an engine."""

from __future__ import annotations

from trex_tui.report.glossary.term import Subject, Term

ONNX_MODEL = Subject(
    "onnx",
    "ONNX model",
    "Overview, Layers; summary, report",
    "ONNX model of --onnx or beside the files; names and Metadata of the layer information",
    (
        Term("engines.onnx", "Model joined to the engine; null without one.", labels=("ONNX model",)),
        Term("onnx.file", "Path of the model."),
        Term("is_given", "Whether --onnx named the model; false for one found beside the files."),
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
        Term("patterns", "Patterns of ONNX nodes in the layer, with their number."),
        Term(
            "ONNX operators",
            "Operators of the ONNX nodes in the layer, with their number.",
            labels=("operators",),
        ),
    ),
)
