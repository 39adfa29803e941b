"""What a comparison of engines is made of: plain results, no computation.

Engines are known by their place in `Comparison.engines`, layers by their index in their engine, blocks by their place in
`Comparison.blocks`. Every tuple "per engine" is as long as `engines` and in their order. One engine is the baseline; a
delta is always "this engine minus the baseline", so a negative one is time won. Texts hold names as they are in the files:
make them printable before they are shown.

A time is None where it is unknown. An engine that has a profile but no layer in a block spends nothing there: its latency
in the block is 0.0, and `Block.layers` says that it is absence. So the latencies of an engine over all blocks add up to its
`Side.latency_sum_ms`, and the deltas, with `Difference.unattributed_ms`, to the difference of the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from trex_tui.engine.engine import Engine


class Align(str, Enum):
    """Which evidence may match layers; the values are the words of `--align`."""

    AUTO = "auto"
    """All of it, the strongest first."""
    ONNX = "onnx"
    """ONNX nodes alone: out of `Metadata`, else out of the names of layers."""
    NAME = "name"
    """Equal names of layers alone, spellings of TensorRT's versions aside."""
    SIGNATURE = "signature"
    """No names at all: neighbourhood, then kind, shapes and attributes, then execution order."""


class Match(str, Enum):
    """The evidence that made a block, the strongest first; the values are those of the JSON."""

    MANUAL = "manual"
    """A person pinned it."""
    ONNX = "onnx"
    """The layers do the work of the same ONNX nodes."""
    NAME = "name"
    """The layers have the same name, or serve a layer that was matched, in the same role."""
    STRUCTURE = "structure"
    """Signature and neighbourhood in the graph agree, and single the layers out."""
    SIGNATURE = "signature"
    """Kind, shapes and attributes single the layers out, within their surroundings."""
    ORDER = "order"
    """Like signatures, told apart only by execution order."""
    NONE = "none"
    """Nothing in another engine belongs to it."""


class ChangeKind(str, Enum):
    """What may differ inside a block; the values are those of the JSON."""

    PRECISION = "precision"
    """What the layers compute in."""
    TACTIC = "tactic"
    """The kernel."""
    FORMATS = "formats"
    """Type and layout of the tensors."""
    SHAPES = "shapes"
    """Shapes of the tensors, the batch included."""
    WEIGHTS = "weights"
    """Bytes of the constants."""
    FUSION = "fusion"
    """How the work is cut into layers: joined, split, or with other operators in it."""
    REFORMATS = "reformats"
    """How many copies that change type or layout stand directly before and after; each is a block of its own."""
    QDQ = "qdq"
    """How many quantize and dequantize layers do."""
    KIND = "kind"
    """What the layers do."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something that is otherwise in an engine than in the baseline, within one block.

    Attributes:
        engine: Place of the engine that differs from the baseline.
        before, after: In the baseline and in the engine, in words of a few letters; `none` for nothing.
    """

    kind: ChangeKind
    engine: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Block:
    """Layers of all engines that do the same work. Every layer of every engine lies in exactly one block.

    Attributes:
        index: Place in `Comparison.blocks`: execution order of the baseline, with what only others have put where it runs.
        layers: Per engine, the indices of its layers, ascending; empty where the engine has none.
        match: The weakest evidence that holds the block together; `NONE` if only one engine has layers in it.
        matches: Per engine, the weakest evidence that ties its layers to those of the baseline, or of an earlier engine
            where the baseline has none; None where there is none to tell: for the baseline, and the first of others.
        confidence: How sure the match is, from 0 to 1: 1 for pinned and for equal ONNX nodes; 0 for a block of one engine.
            A judgement about the evidence, not a probability.
        why: The evidence in a sentence.
        latency_ms: Per engine, the sum over its layers; 0.0 without layers, None if unknown.
        deltas_ms: Per engine, latency minus the baseline's (0.0 for the baseline itself); None if one of both is unknown.
        ratios: Per engine, latency over the baseline's; None if unknown, or if the baseline's is 0.
        changes: What differs, by engine, then in the order of `ChangeKind`.
        label: What to call it: the name of its main layer, the slowest that works in the baseline (else in the first engine
            that has one); its ONNX nodes if Myelin made the name up. As in the files: make it printable before it is shown.
        kind: What its main layer does: a `LayerKind` value.
        module: Modules of the network it lies in, outermost first.
    """

    index: int
    layers: tuple[tuple[int, ...], ...]
    match: Match
    matches: tuple[Match | None, ...]
    confidence: float
    why: str
    latency_ms: tuple[float | None, ...]
    deltas_ms: tuple[float | None, ...]
    ratios: tuple[float | None, ...]
    changes: tuple[Change, ...]
    label: str
    kind: str
    module: tuple[str, ...] = ()

    @property
    def delta_ms(self) -> float | None:
        """The delta of the largest magnitude: with two engines the only one; what blocks are sorted by."""
        known = [delta for delta in self.deltas_ms if delta is not None]
        if len(known) < 2:  # the baseline's own is always known if anything is
            return None
        return max(known, key=abs)

    @property
    def ratio(self) -> float | None:
        """The ratio that is farthest from 1, with two engines the only one; None as for `delta_ms`."""
        if self.delta_ms is None:
            return None
        moved = [
            ratio
            for ratio, delta in zip(self.ratios, self.deltas_ms, strict=True)
            if ratio is not None and delta
        ]
        if not moved:
            return 1.0 if any(ratio is not None for ratio in self.ratios) else None
        return max(moved, key=lambda ratio: max(ratio, 1.0 / ratio) if ratio > 0 else float("inf"))

    @property
    def is_one_sided(self) -> bool:
        """Whether only one engine has layers in it."""
        return sum(map(bool, self.layers)) == 1

    @property
    def absent(self) -> tuple[int, ...]:
        return tuple(index for index, indices in enumerate(self.layers) if not indices)

    @property
    def shape(self) -> str:
        """How many layers of each engine: `1:1`, `1:3`, `2:0`."""
        return ":".join(str(len(indices)) for indices in self.layers)

    @property
    def changed(self) -> tuple[ChangeKind, ...]:
        """Kinds of change in any engine, each once."""
        return tuple(dict.fromkeys(change.kind for change in self.changes))

    def changed_in(self, engine: int) -> tuple[ChangeKind, ...]:
        return tuple(change.kind for change in self.changes if change.engine == engine)


class Outcome(str, Enum):
    """What can be said about the latency of an engine against the baseline's."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "not distinguishable"
    UNKNOWN = "no verdict"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an engine is faster than the baseline, beyond the noise of the timing runs.

    Attributes:
        outcome: In a word.
        why: In a sentence: with the numbers, or why there is no verdict.
        difference_ms: Median latency minus the baseline's; None without timing rows.
        difference_pct: The same in percent of the baseline's median.
        interval_ms: Confidence interval of `difference_ms`, at `level`; None without rows enough.
        level: Confidence level of the interval, 0.95.
        medians_ms: Median of the baseline, then of the engine.
        rows: Timing rows used of the baseline, then of the engine.
        block_rows: Length of the bootstrap's blocks, in rows.
        method: How the interval was made, for people.
    """

    outcome: Outcome
    why: str
    difference_ms: float | None = None
    difference_pct: float | None = None
    interval_ms: tuple[float, float] | None = None
    level: float = 0.95
    medians_ms: tuple[float, float] | None = None
    rows: tuple[int, int] | None = None
    block_rows: tuple[int, int] | None = None
    method: str = ""


class CautionKind(str, Enum):
    """What makes a comparison less than it seems."""

    MODEL = "model"
    DEVICE = "device"
    THROTTLED = "throttled"
    POWER_MODE = "power_mode"
    CLOCKS = "clocks"
    DRIVER = "driver"
    VERSION = "version"
    BATCH = "batch"
    PROFILE = "profile"
    """No profile, few iterations, or layers without a time."""
    GRAPH = "graph"
    """Layers are known by name only, so that less evidence is at hand."""
    TIMING = "timing"
    CAPTURE = "capture"
    """What else the manifest of a capture tells: a file that changed since, a container, its remarks."""


@dataclass(frozen=True, slots=True)
class Caution:
    """Something to know before any number is believed. Said at the top.

    Attributes:
        engine: The engine that differs from the baseline; None if it concerns all.
        text: A sentence.
    """

    kind: CautionKind
    engine: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Side:
    """An engine in the comparison.

    Attributes:
        label: Its name; with ` (2)` and so on where engines are called alike.
        layers: How many it has.
        matched_layers: How many lie in a block with a layer of another engine.
        matched_pct: Share of its time in such blocks, in percent; of its layers if there are no times.
        latency_sum_ms: Sum of its layers' times, per sample if the comparison is; None without a profile.
        unprofiled_layers: Layers without a time: in no sum.
        batch: Samples of one inference: the first extent that all inputs share; None if they do not tell.
        per: Times are divided by this: the batch, or 1.
        device, tensorrt_version: As the files state them, or None.
    """

    label: str
    layers: int
    matched_layers: int
    matched_pct: float | None
    latency_sum_ms: float | None
    unprofiled_layers: int
    batch: int | None
    per: int
    device: str | None
    tensorrt_version: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """Time that falls to a kind, a precision or a module, per engine.

    Attributes:
        key: Of the group: a `LayerKind` value, a `DataType` value or `unknown`, a module (outermost two levels, joined by
            `/`, empty for layers outside any).
        layers: Per engine, how many; with modules of fused layers a layer counts for each of its modules.
        latency_ms: Per engine; 0.0 without layers, None if unknown. Each column adds up to the engine's `latency_sum_ms`.
        deltas_ms: Per engine, against the baseline.
    """

    key: str
    layers: tuple[int, ...]
    latency_ms: tuple[float | None, ...]
    deltas_ms: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a difference, in a sentence.

    Attributes:
        text: As `−0.3400 ms in 18 convolutions that went from FP16 to INT8`.
        delta_ms: Sum over its blocks.
        blocks: Places of the blocks it speaks of, the largest magnitude first. No block is in two reasons of one engine.
    """

    text: str
    delta_ms: float
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """An engine against the baseline.

    Attributes:
        engine: Its place.
        delta_ms: Difference of the sums of layer times; None if one is unknown.
        ratio: Sum over the baseline's sum; None as above.
        unattributed_ms: The part of `delta_ms` in no block's delta, since a time in the block is unknown. 0.0 as a rule.
        headline: The whole in one sentence, with the two largest reasons.
        reasons: All of it, the largest magnitude first; their deltas add up to `delta_ms - unattributed_ms`.
        matches: How many blocks each evidence made, of those that have layers of this engine or of the baseline.
        changes: How many blocks changed in each way.
        related: Whether the engines seem to be of one model. If not, blocks pair layers of different meaning at best.
    """

    engine: int
    delta_ms: float | None
    ratio: float | None
    unattributed_ms: float
    headline: str
    reasons: tuple[Reason, ...]
    matches: dict[Match, int]
    changes: dict[ChangeKind, int]
    related: bool


@dataclass(frozen=True, slots=True)
class Pin:
    """Two layers that a person says belong together. What they were matched with otherwise is matched anew.

    Attributes:
        baseline_layer: Index of the layer in the baseline.
        engine: Place of the other engine.
        layer: Index of the layer in it.
    """

    baseline_layer: int
    engine: int
    layer: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two to many engines, matched layer to layer.

    Attributes:
        engines: As given.
        baseline: Place of the baseline among them.
        align, per_batch, pins: As asked for.
        sides: Per engine, its facts.
        cautions: What to say loudly at the top, the gravest first.
        blocks: The partition of all layers.
        verdicts: Per engine, against the baseline; None for the baseline itself.
        differences: Per engine, against the baseline; None for the baseline itself.
        by_kind, by_precision, by_module: Matrices, the row with the largest difference first.
        ranking: Places of the engines, the fastest first; those of unknown latency last.
        ranked_by: What the ranking goes by: `median latency of the timing rows`, `median latency as trtexec printed it` or
            `sum of layer times`. All engines are ranked by the same; the first of these that every engine has.
        ranking_ms: Per engine, that number; None if unknown.
    """

    engines: tuple[Engine, ...]
    baseline: int
    align: Align
    per_batch: bool
    pins: tuple[Pin, ...]
    sides: tuple[Side, ...]
    cautions: tuple[Caution, ...]
    blocks: tuple[Block, ...]
    verdicts: tuple[Verdict | None, ...]
    differences: tuple[Difference | None, ...]
    by_kind: tuple[Row, ...]
    by_precision: tuple[Row, ...]
    by_module: tuple[Row, ...]
    ranking: tuple[int, ...]
    ranked_by: str
    ranking_ms: tuple[float | None, ...]
    _places: tuple[tuple[int, ...], ...] = field(repr=False, default=())

    def block_of(self, engine: int, layer: int) -> Block:
        """The block that a layer lies in.

        Raises:
            IndexError: There is no such engine or layer.
        """
        return self.blocks[self._places[engine][layer]]

    @property
    def others(self) -> tuple[int, ...]:
        return tuple(index for index in range(len(self.engines)) if index != self.baseline)

    @property
    def verdict(self) -> Verdict:
        """Of the first engine that is not the baseline: the verdict of a pair."""
        found = self.verdicts[self.others[0]]
        assert found is not None  # the baseline alone has none
        return found

    def by_delta(self) -> Sequence[Block]:
        """The blocks, the largest magnitude of a delta first; those of unknown delta last."""
        return sorted(
            self.blocks, key=lambda block: (block.delta_ms is None, -abs(block.delta_ms or 0.0), block.index)
        )
