"""SqueezeNet 1.1 as torchvision defines it, built with TensorRT 8.6 without detailed verbosity: only its names are known.

Iandola et al., "SqueezeNet" (2016); version 1.1 has its poolings after `features` 1, 4 and 7. TensorRT fuses each
convolution with its ReLU and lets both branches of a fire module write into the concatenated tensor.
"""

from __future__ import annotations

from samples.model import RTX_3060_LAPTOP, Engine, IOTensor, Layer

FIRES = (3, 4, 6, 7, 9, 10, 11, 12)
POOLS_AFTER = (4, 7)
"""Fire modules that a max pooling follows; another one follows the first convolution."""


def _conv(scope: str, conv: str, relu: str) -> str:
    return f"/{scope}/{conv} + /{scope}/{relu}"


def engine() -> Engine:
    """The engine; its layers have names and times, nothing else."""
    first = _conv("features", "features.0/Conv", "features.1/Relu")
    timed = [
        (f"Reformatting CopyNode for Input Tensor 0 to {first}", 0.0079),
        (first, 0.0164),
        ("/features/features.2/MaxPool", 0.0071),
    ]
    for position, fire in enumerate(FIRES):
        scope = f"features/features.{fire}"
        weight = 1.0 if position < 2 else 0.82
        for part, ms in (("squeeze", 0.0068), ("expand1x1", 0.0072), ("expand3x3", 0.0113)):
            timed.append((_conv(scope, f"{part}/Conv", f"{part}_activation/Relu"), round(ms * weight, 5)))
        if fire in POOLS_AFTER:
            timed.append((f"/features/features.{fire + 1}/MaxPool", 0.0048))
    last = _conv("classifier", "classifier.1/Conv", "classifier.2/Relu")
    average = "/classifier/classifier.3/GlobalAveragePool"
    timed += [
        (last, 0.0173),
        (f"Reformatting CopyNode for Input Tensor 0 to {average}", 0.0046),
        (average, 0.0050),
        ("reshape_after_/Flatten", 0.0),
    ]
    layers = tuple(Layer(name, "", (), (), ms) for name, ms in timed)
    ios = (IOTensor("input", True, "Float", (1, 3, 224, 224)), IOTensor("output", False, "Float", (1, 1000)))
    return Engine(
        (8, 6, 1), RTX_3060_LAPTOP, layers, ios, weights_bytes=2_470_992, activation_bytes=3_211_264
    )
