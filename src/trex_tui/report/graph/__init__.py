"""The engine as a graph outside of the terminal: pictures, graph files, tables and traces.

`build` makes one `EngineGraph` out of an engine: what stands in it (`choosing`), what is written into its boxes (`labels`)
and in which colours (`paint`). Each format has a writer that adds nothing to that. Nothing here knows a user interface, and
what is heavy (networkx, pandas, onnx) is imported by the writer that needs it.
"""
