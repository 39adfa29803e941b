"""The engine as a graph outside of the terminal: pictures, graph files and traces.

`engine_graph.build_graph` makes one `EngineGraph` out of an engine. Each format has a writer that adds nothing to that. What
is heavy (networkx, onnx) is imported by the writer that needs it.
"""
