"""The ONNX model of an engine: `model` reads it, `join` finds the nodes of each layer, `content` describes them."""
