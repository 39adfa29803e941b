"""Outputs of two sides, engines or an ONNX model, compared."""
