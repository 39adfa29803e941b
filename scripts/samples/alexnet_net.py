"""AlexNet as torchvision defines it (`torchvision.models.alexnet`, input 1x3x224x224), and its ONNX export.

Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014): five convolutions, three
max poolings, three fully connected layers; 61 100 840 parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from samples.model import Node
from samples.native import Window

Shape = tuple[int, ...]

INPUT_SHAPE: Shape = (1, 3, 224, 224)
POOL = Window(kernel=3, stride=2, padding=0)
PARAMETERS = 61_100_840


@dataclass(frozen=True, slots=True)
class Stage:
    """A convolution with its ReLU, and the pooling behind it if there is one; indices are those of `features`."""

    index: int
    channels: int
    window: Window
    pool: int | None = None


STAGES = (
    Stage(0, 64, Window(11, 4, 2), pool=2),
    Stage(3, 192, Window(5, 1, 2), pool=5),
    Stage(6, 384, Window(3, 1, 1)),
    Stage(8, 256, Window(3, 1, 1)),
    Stage(10, 256, Window(3, 1, 1), pool=12),
)
CLASSIFIER = ((1, 9216, 4096), (4, 4096, 4096), (6, 4096, 1000))
"""(index in `classifier`, inputs, outputs); a ReLU follows all but the last."""
FLAT = math.prod((256, 6, 6))


def conv_name(stage: Stage) -> str:
    return f"/features/features.{stage.index}/Conv"


def relu_name(stage: Stage) -> str:
    return f"/features/features.{stage.index + 1}/Relu"


def pool_name(stage: Stage) -> str:
    return f"/features/features.{stage.pool}/MaxPool"


def gemm_name(index: int) -> str:
    return f"/classifier/classifier.{index}/Gemm"


def stage_shapes() -> list[tuple[Shape, Shape, Shape]]:
    """Per stage the shapes of its input, its convolution's output and its own output."""
    shapes: list[tuple[Shape, Shape, Shape]] = []
    source = INPUT_SHAPE
    for stage in STAGES:
        extent = stage.window.output(source[2])
        conv = (1, stage.channels, extent, extent)
        pooled = POOL.output(extent)
        target = conv if stage.pool is None else (1, stage.channels, pooled, pooled)
        shapes.append((source, conv, target))
        source = target
    return shapes


def initializers() -> tuple[str, ...]:
    layers = [f"features.{stage.index}" for stage in STAGES]
    layers += [f"classifier.{index}" for index, _, _ in CLASSIFIER]
    return tuple(f"{layer}.{part}" for layer in layers for part in ("weight", "bias"))


def nodes(dtype: str) -> tuple[Node, ...]:
    """The nodes of the ONNX export, in order; `dtype` as the parser prints it, FLOAT or HALF."""
    found: list[Node] = []
    tensor = "input"
    for stage, (source, conv, target) in zip(STAGES, stage_shapes(), strict=True):
        tensor = _append_stage(found, stage, tensor, (source, conv, target), dtype)
    flat = (1, FLAT)
    found.append(_node("/Flatten", "Flatten", tensor, (1, 256, 6, 6), flat, dtype))
    tensor = "/Flatten_output_0"
    for index, inputs, outputs in CLASSIFIER:
        last = index == CLASSIFIER[-1][0]
        name = gemm_name(index)
        result = "output" if last else f"{name}_output_0"
        weight = (f"classifier.{index}.weight", (outputs, inputs), dtype)
        bias = (f"classifier.{index}.bias", (outputs,), dtype)
        given = (tensor, (1, inputs), dtype)
        found.append(Node(name, "Gemm", (given, weight, bias), ((result, (1, outputs), dtype),)))
        tensor = result
        if not last:
            relu = f"/classifier/classifier.{index + 1}/Relu"
            found.append(_node(relu, "Relu", tensor, (1, outputs), (1, outputs), dtype))
            tensor = f"{relu}_output_0"
    return tuple(found)


def _node(name: str, operator: str, source: str, shape: Shape, result: Shape, dtype: str) -> Node:
    return Node(name, operator, ((source, shape, dtype),), ((f"{name}_output_0", result, dtype),))


def _append_stage(
    found: list[Node], stage: Stage, tensor: str, shapes: tuple[Shape, Shape, Shape], dtype: str
) -> str:
    """Append a stage's nodes and return the name of its output."""
    source, conv, target = shapes
    window = stage.window
    kernel = (window.kernel, window.kernel)
    details = (
        f"Convolution input dimensions: {source}",
        f"Using kernel: {kernel}, strides: {(window.stride,) * 2}, prepadding: {(window.padding,) * 2}, "
        f"postpadding: {(window.padding,) * 2}, dilations: (1, 1), numOutputs: {stage.channels}, nbGroups: 1",
        f"Convolution output dimensions: {conv}",
    )
    weight = (f"features.{stage.index}.weight", (stage.channels, source[1], *kernel), dtype)
    bias = (f"features.{stage.index}.bias", (stage.channels,), dtype)
    name = conv_name(stage)
    output = (f"{name}_output_0", conv, dtype)
    found.append(Node(name, "Conv", ((tensor, source, dtype), weight, bias), (output,), details))
    found.append(_node(relu_name(stage), "Relu", output[0], conv, conv, dtype))
    if stage.pool is None:
        return f"{relu_name(stage)}_output_0"
    pool = pool_name(stage)
    found.append(_node(pool, "MaxPool", f"{relu_name(stage)}_output_0", conv, target, dtype))
    return f"{pool}_output_0"
