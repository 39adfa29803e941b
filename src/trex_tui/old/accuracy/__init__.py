"""Compare the outputs of two engines, or of an ONNX model and an engine, on the same inputs."""
