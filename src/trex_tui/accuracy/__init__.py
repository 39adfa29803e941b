"""Outputs of two engines, or of an ONNX model and an engine, on the same inputs: run, compared, judged, kept."""
