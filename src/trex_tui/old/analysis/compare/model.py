"""Result types of a comparison, without computation.

Engines are identified by their index in `Comparison.engines`, layers by their index in their engine, blocks by their index in
`Comparison.blocks`. Every tuple "per engine" is as long as `engines` and in their order. One engine is the baseline; a delta
is always "this engine minus the baseline", so a negative one is time saved. Texts hold names as they are in the files: make
them printable before they are shown.

A time is None if it is unknown. An engine that has a profile but no layer in a block spends no time there: its latency in the
block is 0.0, and `Block.layers` is empty. So the latencies of an engine over all blocks add up to its `Side.latency_sum_ms`,
and the deltas, with `Difference.unattributed_ms`, to the difference of the sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum

from trex_tui.old.analysis.tactic_parts import PartChange
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass

BECOMES = "⇒"
"""From the baseline to the other engine; `→` is from inputs to outputs."""


def letter(position: int) -> str:
    """Return the letter of an engine by its position: A, B, … Z, then AA."""
    head, tail = divmod(position, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


class Align(str, Enum):
    """Evidence that may match layers; the values are those of `--align`."""

    AUTO = "auto"
    """All evidence, strongest first."""
    ONNX = "onnx"
    """ONNX nodes only: from `Metadata`, else from the names of layers."""
    NAME = "name"
    """Equal layer names only, ignoring spelling differences between TensorRT versions."""
    SIGNATURE = "signature"
    """No names: neighbourhood, then kind, shapes and attributes, then execution order."""


class Match(str, Enum):
    """Evidence of a block, the strongest first; the values are those of the JSON."""

    MANUAL = "manual"
    """Pinned by the user."""
    ONNX = "onnx"
    """The layers do the work of the same ONNX nodes."""
    NAME = "name"
    """The layers have the same name, or serve a matched layer in the same role."""
    STRUCTURE = "structure"
    """Signature and neighbourhood in the graph agree, and identify the layers."""
    SIGNATURE = "signature"
    """Kind, shapes and attributes identify the layers among their neighbours."""
    ORDER = "order"
    """Equal signatures, distinguished only by execution order."""
    NONE = "none"
    """No match in another engine."""


class ChangeKind(str, Enum):
    """Property that may differ inside a block; the values are those of the JSON."""

    PRECISION = "precision"
    """Precision of the layers."""
    TACTIC = "tactic"
    """The kernel."""
    FORMATS = "formats"
    """Type and layout of the tensors."""
    SHAPES = "shapes"
    """Shapes of the tensors, the batch included."""
    WEIGHTS = "weights"
    """Bytes of the constants."""
    FUSION = "fusion"
    """Split of the work into layers: fused, split, or with other operators fused in."""
    REFORMATS = "reformats"
    """Number of copies directly before and after that change type or layout; each is a separate block."""
    QDQ = "qdq"
    """Number of quantize and dequantize layers."""
    KIND = "kind"
    """Kind of the layers."""


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between an engine and the baseline within one block.

    Attributes:
        engine: Index of the engine that differs from the baseline.
        before, after: Short texts for the baseline and the engine; `none` for nothing.
        parts: For a tactic, the differing parts of the names; empty if the names cannot be parsed, or there are several.
    """

    kind: ChangeKind
    engine: int
    before: str
    after: str
    parts: tuple[PartChange, ...] = ()


class Outcome(str, Enum):
    """Result of comparing the latency of an engine with the baseline's."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "not distinguishable"
    UNKNOWN = "no verdict"


@dataclass(frozen=True, slots=True)
class BlockVerdict:
    """Verdict on a block's time against the baseline's, from the single times of its layers.

    Attributes:
        outcome: The result, at 95 %: of 100 equal blocks up to five differ by chance.
        difference_ms: Mean over the calls minus the baseline's; None if unknown.
        interval_ms: Confidence interval of the difference; None if it cannot be computed.
        calls: Number of calls of the baseline and of the engine.
        method: Description of the method; empty without a verdict.
    """

    outcome: Outcome
    difference_ms: float | None
    interval_ms: tuple[float, float] | None
    calls: tuple[int, int]
    method: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Layers of all engines that do the same work. Every layer is in exactly one block.

    Attributes:
        index: Index in `Comparison.blocks`: execution order of the baseline, with layers of other engines where they run.
        layers: Per engine, the indices of its layers, ascending; empty if the engine has none.
        match: The weakest evidence that holds the block together; `NONE` if only one engine has layers in it.
        matches: Per engine, the weakest evidence that ties its layers to those of the baseline, or of an earlier engine if
            the baseline has none; None for the baseline and for the first engine with layers.
        confidence: Confidence of the match, from 0 to 1: 1 for pinned and for equal ONNX nodes; 0 for a block of one engine.
            At least this share of the matches with a confidence is right on real pairs and on engines with known changes.
        why: The evidence in a sentence.
        latency_ms: Per engine, the sum over its layers; 0.0 without layers, None if unknown.
        deltas_ms: Per engine, latency minus the baseline's (0.0 for the baseline itself); None if one of both is unknown.
        ratios: Per engine, latency over the baseline's; None if unknown, or if the baseline's is 0.
        changes: The differences, by engine, then in the order of `ChangeKind`.
        label: Name of the main layer, the slowest working layer in the baseline (else in the first engine that has one); its
            ONNX nodes if Myelin generated the name. As in the files: make it printable before it is shown.
        kind: Kind of its main layer: a `LayerKind` value.
        module: Modules that contain it, outermost first, as named in the baseline; else as in another engine.
        verdicts: Per engine, whether its time differs beyond noise; None where its layers, or those of the baseline, have no
            single times. Empty if no pair of engines has them.
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
    verdicts: tuple[BlockVerdict | None, ...] = ()

    @property
    def delta_ms(self) -> float | None:
        """The delta of the largest magnitude; the only one with two engines. Sort key of blocks."""
        known = [delta for delta in self.deltas_ms if delta is not None]
        if len(known) < 2:  # the baseline's own is always known if anything is
            return None
        return max(known, key=abs)

    @property
    def ratio(self) -> float | None:
        """The ratio farthest from 1, with two engines the only one; None as for `delta_ms`."""
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
        """True if only one engine has layers in it."""
        return sum(map(bool, self.layers)) == 1

    @property
    def absent(self) -> tuple[int, ...]:
        return tuple(index for index, indices in enumerate(self.layers) if not indices)

    @property
    def shape(self) -> str:
        """Number of layers per engine: `1:1`, `1:3`, `2:0`."""
        return ":".join(str(len(indices)) for indices in self.layers)

    @property
    def changed(self) -> tuple[ChangeKind, ...]:
        """Kinds of change in any engine, each once."""
        return tuple(dict.fromkeys(change.kind for change in self.changes))

    def changed_in(self, engine: int) -> tuple[ChangeKind, ...]:
        return tuple(change.kind for change in self.changes if change.engine == engine)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on an engine against the baseline, beyond the noise of the timing runs.

    Attributes:
        outcome: The result.
        why: A sentence with the numbers, or with the reason why there is no verdict.
        difference_ms: Median latency minus the baseline's; None without timing rows.
        difference_pct: The same in percent of the baseline's median.
        interval_ms: Confidence interval of `difference_ms`, at `level`; None if it cannot be computed.
        level: Confidence level of the interval, 0.95.
        medians_ms: Medians of the baseline and of the engine; of several runs the mean of their medians.
        runs: Number of timing runs of the baseline and of the engine.
        rows: Number of timing rows used of the baseline and of the engine.
        scope: Scope of the verdict: `within one run`, or `3 runs against 3`; empty without a verdict.
        tick_ms: Timer resolution; the interval extends at least as far to each side.
        method: Description of the method.
    """

    outcome: Outcome
    why: str
    difference_ms: float | None = None
    difference_pct: float | None = None
    interval_ms: tuple[float, float] | None = None
    level: float = 0.95
    medians_ms: tuple[float, float] | None = None
    runs: tuple[int, int] | None = None
    rows: tuple[int, int] | None = None
    scope: str = ""
    tick_ms: float | None = None
    method: str = ""


class CautionKind(str, Enum):
    """Kind of a fact that limits the comparison."""

    FILE = "file"
    """A file is damaged or cannot be read: numbers from it are missing or incomplete."""
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
    """Layer names only, so less evidence."""
    TIMING = "timing"
    CAPTURE = "capture"
    """Other facts of the capture manifest: a file that changed since, a container, its remarks."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A fact to know before any number is used. Shown at the top.

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
        label: Its name; with ` (2)` and so on if engines have equal names.
        layers: Number of layers.
        matched_layers: Number of layers in a block with a layer of another engine.
        matched_pct: Share of its time in such blocks, in percent; of its layers if there are no times.
        latency_sum_ms: Sum of its layers' times, per sample if the comparison is; None without a profile.
        unprofiled_layers: Number of layers without a time, which are in no sum.
        batch: Samples per inference: the first extent that all inputs share; None if they differ or are unknown.
        per: Divisor of the times: the batch, or 1.
        device, tensorrt_version: As stated in the files, or None.
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
    """Time of a kind, a precision or a module, per engine.

    Attributes:
        key: Key of the group: a `LayerKind` value, a `DataType` value or `unknown`, a module (outermost two levels, joined by
            `/`, empty for layers outside any).
        layers: Per engine, the number of layers.
        latency_ms: Per engine; 0.0 without layers, None if unknown. Each column adds up to the engine's `latency_sum_ms`.
        deltas_ms: Per engine, against the baseline.
    """

    key: str
    layers: tuple[int, ...]
    latency_ms: tuple[float | None, ...]
    deltas_ms: tuple[float | None, ...]


class Cause(str, Enum):
    """Cause of a difference in time between layers of two engines; the values are those of the JSON.

    The causes of matched layers are in order of precedence: the first that applies is the cause.
    """

    DEVICE = "device"
    """The engines ran on different devices."""
    SHAPES = "shapes"
    """The tensors differ in shape, or the engines in batch."""
    PRECISION = "precision"
    """The layers compute in another type."""
    FUSION = "fusion"
    """The work is split into layers differently, or other operators are fused in."""
    KERNEL = "kernel"
    """Another tactic, with the same precision."""
    FORMATS = "formats"
    """Type or layout of the tensors, with the same tactic."""
    WEIGHTS = "weights"
    """Bytes of the constants, with the same tactic."""
    TIME = "time"
    """Only the time differs."""
    UNCHANGED = "unchanged"
    """The difference is within the noise of layer times, whatever else changed."""
    REFORMATS = "reformats"
    """Copies that change type or layout, of one engine or of both."""
    QDQ = "qdq"
    """Quantize and dequantize layers, of one engine or of both."""
    ONE_ENGINE = "one engine"
    """Other layers that only one engine has."""
    NO_TIME = "no time"
    """Layers without a time in one engine."""


@dataclass(frozen=True, slots=True)
class ReasonPart:
    """Blocks of a reason with the same kind and change.

    Attributes:
        kind: Kind of their main layers: a `LayerKind` value.
        detail: The change: `TF32⇒FP16`, `only in B`, or, of unchanged time, `other kernel`; may be empty.
        count: Number of blocks for matched layers, else of layers.
        delta_ms: Sum over the blocks; None if their times are unknown in an engine.
    """

    kind: str
    detail: str
    count: int
    delta_ms: float | None


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause, and its contribution to the difference.

    Attributes:
        cause: Cause of all its blocks.
        text: Text without the sum: `18 convolutions FP16⇒INT8, 1 pooling FP32⇒INT8`.
        delta_ms: Sum over its blocks: `decrease_ms + increase_ms`.
        decrease_ms, increase_ms: Sum of the negative and of the positive differences.
        layers: Number of layers in the baseline and in the engine.
        parts: Its blocks by kind and change, the largest magnitude first.
        blocks: Indices of its blocks, the largest magnitude first. No block is in two reasons of one engine.
    """

    cause: Cause
    text: str
    delta_ms: float
    decrease_ms: float
    increase_ms: float
    layers: tuple[int, int]
    parts: tuple[ReasonPart, ...]
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LayerNoise:
    """Thresholds below which differences of layer times are noise.

    Attributes:
        tick_ms: Differences up to this are noise: the step of the profile's timer.
        pct: Differences up to this share of the larger time are noise too.
        source: Source of the share.
        sum_ms: Noise of the sum of layer times: that of all matched layers, added up as independent.
    """

    tick_ms: float
    pct: float
    source: str
    sum_ms: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between an engine and the baseline.

    Attributes:
        engine: Index of the engine.
        delta_ms: Difference of the sums of layer times; None if one is unknown.
        ratio: Sum over the baseline's sum; None as above.
        unattributed_ms: The part of `delta_ms` in no block's delta, since a time in the block is unknown. Usually 0.0.
        headline: Summary in one sentence, shown after the verdict; engines are called A, B, … by their position.
        reasons: By cause, the largest magnitude first; their deltas add up to `delta_ms`.
        noise: Noise of layer times; None without a difference of layer times.
        matches: Number of blocks per evidence, of those that have layers of this engine or of the baseline.
        changes: Number of blocks per kind of change.
        related: Whether the engines seem to be of one model. If not, blocks may pair unrelated layers.
    """

    engine: int
    delta_ms: float | None
    ratio: float | None
    unattributed_ms: float
    headline: str
    reasons: tuple[Reason, ...]
    noise: LayerNoise | None
    matches: dict[Match, int]
    changes: dict[ChangeKind, int]
    related: bool


@dataclass(frozen=True, slots=True)
class Pin:
    """Two layers matched by the user. Their previous partners are matched anew.

    Attributes:
        baseline_layer: Index of the layer in the baseline.
        engine: Index of the other engine.
        layer: Index of the layer in it.
    """

    baseline_layer: int
    engine: int
    layer: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two or more engines, matched layer to layer.

    Attributes:
        engines: As given.
        baseline: Index of the baseline.
        align, pins: As given.
        per_batch: Times are per sample.
        is_unit_stated: The user chose between times per sample and per inference; otherwise times are per sample if the
            batches are known and differ.
        sides: Per engine, its facts.
        cautions: Facts that limit the comparison, the most severe first.
        blocks: The partition of all layers.
        verdicts: Per engine, against the baseline; None for the baseline itself.
        differences: Per engine, against the baseline; None for the baseline itself.
        by_kind, by_precision, by_module: Matrices, the row with the largest difference first.
        ranking: Indices of the engines, the fastest first; those of unknown latency last.
        ranked_by: Metric of the ranking: `median latency of the timing rows`, `median latency printed by trtexec` or
            `sum of layer times`; the first of these that every engine has.
        ranking_ms: Per engine, the metric of the ranking; None if unknown.
        repeats: Per engine, all its runs, itself first. Verdicts and end-to-end latencies use all of them, layers the first.
    """

    engines: tuple[Engine, ...]
    baseline: int
    align: Align
    per_batch: bool
    is_unit_stated: bool
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
    repeats: tuple[tuple[Engine, ...], ...]
    _places: tuple[tuple[int, ...], ...] = field(repr=False, default=())

    def __repr__(self) -> str:
        return (
            f"<Comparison of {', '.join(repr(side.label) for side in self.sides)}: {len(self.blocks)} blocks>"
        )

    def find_block(self, engine: int, layer: int) -> Block:
        """Return the block of a layer.

        Raises:
            IndexError: The engine or layer does not exist.
        """
        return self.blocks[self._places[engine][layer]]

    @property
    def others(self) -> tuple[int, ...]:
        return tuple(index for index in range(len(self.engines)) if index != self.baseline)

    def delta_ms(self, block: Block, engine: int) -> float | None:
        """Latency of a block in an engine minus the baseline's; None if it is unknown or neither has a layer in the block."""
        is_absent = not block.layers[engine] and not block.layers[self.baseline]
        return None if is_absent else block.deltas_ms[engine]

    @property
    def verdict(self) -> Verdict:
        """Verdict on the first engine that is not the baseline: the verdict of a pair."""
        only_verdict = self.verdicts[self.others[0]]
        assert only_verdict is not None  # the baseline alone has none
        return only_verdict

    def by_delta(self) -> Sequence[Block]:
        """Return the blocks, the largest magnitude of a delta first; those of unknown delta last."""
        return sorted(
            self.blocks, key=lambda block: (block.delta_ms is None, -abs(block.delta_ms or 0.0), block.index)
        )
