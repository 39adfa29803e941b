"""The engine as a graph outside of the terminal: pictures, graph files and traces.

`engine_graph.build_graph` makes an `EngineGraph` from an engine. Each format has a writer that adds nothing to it. Heavy
libraries (networkx, onnx) are imported by the writers that need them.
"""
