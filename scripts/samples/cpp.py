"""Numbers the way trtexec has them: C++ floats, the default ostream precision, and reproducible noise.

Everything here gives the same bits on every Python version and platform: only `random.Random.random`, `hashlib` and
correctly rounded arithmetic are used.
"""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Sequence


def text(value: float) -> str:
    """A float as `std::ostream <<` prints it: 6 significant digits, exponent notation when very small or large.

    >>> text(0.0004990234375), text(5000.234), text(0.0)
    ('0.000499023', '5000.23', '0')
    """
    return format(value, ".6g")


def float32(value: float) -> float:
    """The nearest IEEE single. trtexec keeps times as `float`, so late time stamps have a grid of 0.0005 ms and more."""
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single


def digest(subject: str, digits: int) -> str:
    """Hexadecimal digits that stand for a hash TensorRT would compute of `subject`."""
    return hashlib.sha256(subject.encode()).hexdigest()[:digits]


def tactic_value(kernel: str) -> str:
    """A tactic id of 64 bits; the same kernel always has the same one, as in real engines."""
    return f"0x{digest(kernel, 16)}"


class Noise:
    """Seeded random numbers."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(int(digest(seed, 12), 16))

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self._random.random()

    def normal(self, mean: float, sigma: float) -> float:
        """Nearly normal, as the sum of twelve uniform numbers: `random.gauss` may change between Python versions."""
        total = 0.0
        for _ in range(12):
            total += self._random.random()
        return mean + sigma * (total - 6.0)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability


def percentile(ordered: Sequence[float], percent: float) -> float:
    """`findPercentile` of trtexec's sampleReporting.cpp, on sorted values."""
    excluded = int((1 - percent / 100) * len(ordered))
    return ordered[max(len(ordered) - 1 - excluded, 0)]


def median(ordered: Sequence[float]) -> float:
    """`findMedian` of trtexec's sampleReporting.cpp, on sorted values."""
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
