"""A transformer of equal blocks as Myelin builds it: nine kernels a block, their names counted through the engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from compare_cases import nodes, write_engine

from helpers import layer, tensor
from trex_tui.old.engine.engine import Engine

Kernel = tuple[int, int]
"""Block of the network and place in the block."""

WIDTH, INNER, HEADS, TOKENS = 768, 3072, 12, 384
# Operators as in Myelin's names, the ONNX node, what it reads of the block (-1: what the block reads), shape of the result.
_BLOCK: list[tuple[str, str, tuple[int, ...], tuple[int, ...]]] = [
    ("MatMul", "query/MatMul", (-1,), (1, TOKENS, WIDTH)),
    ("MatMul", "key/MatMul", (-1,), (1, TOKENS, WIDTH)),
    ("MatMul", "value/MatMul", (-1,), (1, TOKENS, WIDTH)),
    ("MatMulSoftmax", "Softmax", (0, 1), (1, HEADS, TOKENS, TOKENS)),
    ("MatMul", "context/MatMul", (3, 2), (1, TOKENS, WIDTH)),
    ("MatMulAdd", "output/dense/MatMul", (4,), (1, TOKENS, WIDTH)),
    ("Add", "output/Add", (5, -1), (1, TOKENS, WIDTH)),
    ("MatMulGelu", "mlp/fc1/MatMul", (6,), (1, TOKENS, INNER)),
    ("MatMulAdd", "mlp/fc2/MatMul", (7, 6), (1, TOKENS, WIDTH)),
]


def write_transformer(
    folder: Path, blocks: Sequence[int], *, names: str = "", stated: bool = True
) -> tuple[Engine, list[Kernel]]:
    """Write an engine with these blocks of the network and read it; return it with the origin of each layer.

    Args:
        names: Start of the names, to be other than Myelin's.
        stated: Whether `Metadata` states the ONNX nodes.
    """
    layers = []
    origins: list[Kernel] = []
    shapes = {"x": (1, TOKENS, WIDTH)}
    source = "x"
    for block in blocks:
        results: list[str] = []
        for place, (operators, node, reads, shape) in enumerate(_BLOCK):
            number = len(layers)
            result = f"t{number}"
            inputs = [source if read < 0 else results[read] for read in reads]
            raw = layer(
                f"{names}{number}" if names else f"__myl_{operators}_myl0_{number}",
                "gemm" if "MatMul" in operators else "kgen",
                [tensor(name, *shapes[name]) for name in inputs],
                [tensor(result, *shape)],
            )
            if stated:
                raw["Metadata"] = nodes(f"/encoder/layer.{block}/{node}")
            shapes[result] = shape
            results.append(result)
            layers.append(raw)
            origins.append((block, place))
        source = results[-1]
    engine = write_engine(folder, layers, [0.1] * len(layers), bindings=["x", source])
    return engine, origins
