"""Terms of the comparison of engines."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

_MATRICES = ("by_precision", "by_module", "by-kind", "by-precision", "by-module")

COMPARISON = Subject(
    "comparison",
    "Comparison",
    "Compare; diff, report of several engines",
    "profiles and timing rows of both engines; layers are matched by ONNX nodes, names and structure",
    (
        Term("diff.baseline", "Position of the baseline among the engines, from 0.", labels=("baseline",)),
        Term("diff.align", "Evidence that may match layers: auto, onnx, name, signature."),
        Term(
            "diff.per_batch",
            "True if times are divided by the batch: milliseconds per sample. Default if the batches are known and differ.",
        ),
        Term(
            "is_unit_stated",
            "True if --per-sample or --per-inference was given. Without it, gates on end-to-end times are not judged where "
            "batch or device differ.",
        ),
        Term(
            "diff.engines.runs",
            "Names of the runs of the engine, the one that is compared layer by layer first.",
        ),
        Term("diff.engines", "The engines, in the order given."),
        Term("diff.engines.name", "Name of the engine, unique among all.", also=("engines.engine",)),
        Term("engines.letter", "Letter of the engine in the headings of tables."),
        Term(
            "matched_layers",
            "Layers in a block with a layer of another engine.",
            labels=("matched",),
        ),
        Term(
            "matched_pct",
            "Share of the engine's time in such blocks; of its layers if there are no times.",
            gates=("matched_pct",),
        ),
        Term("unprofiled_layers", "Layers without a time, excluded from sums."),
        Term(
            "latency_median_ms",
            "Median latency end to end; per sample with --per-batch.",
            labels=("Median latency",),
            source="performance_summary, else timing rows",
        ),
        Term("diff.engines.batch", "Samples of one inference: the first extent that all inputs share."),
        Term("engines.batch", "Samples of one inference: the first extent that all inputs share."),
        Term("engines.per", "Divisor of the times: the batch, or 1."),
        Term("diff.engines.weights_bytes", "Weights of all layers; null if a layer hides its weights."),
        Term(
            "cautions",
            "Limits of the comparison: device, version, batch, clocks.",
            labels=("Cautions",),
        ),
        Term("cautions.kind", "Differences."),
        Term("cautions.engine", "Position of the engine that differs; null for all."),
        Term("cautions.text", "The caution, in a sentence."),
        Term(
            "verdict",
            "Verdict on the first engine other than the baseline, by median latency and beyond noise.",
            gates=("verdict",),
        ),
        Term("verdicts", "The verdict on each engine; null for the baseline."),
        *(
            Term(f"verdict.{key}", text, also=(f"verdicts.{key}",), formula=formula)
            for key, text, formula in (
                (
                    "outcome",
                    "faster, slower, not distinguishable, or no verdict where the noise is unknown.",
                    "",
                ),
                ("why", "The verdict in a sentence, with its numbers or the reason why there is none.", ""),
                ("difference_ms", "Difference of the median latencies.", "median − median of the baseline"),
                ("difference_pct", "Difference in percent of the baseline's median.", ""),
                (
                    "interval_ms",
                    "Confidence interval of the difference: 0 inside means not distinguishable. It reaches a tick of the "
                    "timer to each side at least.",
                    "one run each: shifts that a test of the shares of rows above the common median does not refuse, "
                    "variance from 8 or 4 cosines; several runs: Student's t of the runs' medians",
                ),
                ("level", "Confidence level of the interval.", ""),
                ("medians_ms", "Median latency of the baseline, then of the engine.", ""),
                ("rows", "Timing rows of the baseline, then of the engine.", ""),
                ("runs", "Timing runs of the baseline, then of the engine.", ""),
                (
                    "scope",
                    "Scope of the verdict: within one run (spread between runs unknown), or the number of "
                    "runs.",
                    "",
                ),
                ("tick_ms", "Smallest difference that the timer shows.", ""),
                ("method", "Method of the verdict.", ""),
            )
        ),
        Term("differences", "Each engine against the baseline, by layers; null for the baseline."),
        Term("differences.engine", "Position of the engine."),
        Term(
            "differences.delta_ms",
            "Difference of the sums of layer times; negative if the engine is faster.",
            labels=("delta", "Δ ms"),
            formula="latency_sum_ms − latency_sum_ms of the baseline",
        ),
        Term("differences.ratio", "Sum of layer times over the baseline's."),
        Term("unattributed_ms", "Part of the difference in layers without a time on one side."),
        Term(
            "headline",
            "The difference in one sentence, with its largest causes. It follows the verdict: without a difference beyond "
            "noise it names none. A, B, … are the engines by position.",
        ),
        Term(
            "differences.reasons",
            "Causes of the difference, the largest first; they add up to delta_ms.",
        ),
        Term(
            "reasons.cause",
            "Cause of the difference. Of layers in both engines the first that applies: device, shapes (or "
            "batch), precision, fusion, kernel, formats, weights, time (nothing but the time); unchanged "
            "where it is within noise. Of layers of one engine: reformats, qdq, one engine; no time where "
            "an engine has none.",
            labels=("cause",),
        ),
        Term("reasons.text", "The layers of the cause, by kind and change.", also=("reasons.what",)),
        Term("reasons.delta_ms", "Sum of the differences of its layers: decrease_ms + increase_ms."),
        Term("reasons.decrease_ms", "Sum of the negative differences.", labels=("faster",)),
        Term("reasons.increase_ms", "Sum of the positive differences.", labels=("slower",)),
        Term("reasons.layers", "Number of layers in the baseline and in the engine."),
        Term("reasons.parts", "Its layers by kind and change, the largest difference first."),
        Term("parts.kind", "Operation of the layers."),
        Term("parts.detail", "Change of the layers: FP32⇒FP16, only in B; empty if nothing else is known."),
        Term("parts.count", "Number of matched blocks, or of layers of one engine."),
        Term("parts.delta_ms", "Sum of their differences."),
        Term("reasons.blocks", "Its blocks, the largest difference first."),
        Term("differences.noise", "Noise of layer times; null without a difference of layer times."),
        Term(
            "noise.pct",
            "Differences up to this share of the larger time are unchanged.",
            formula="three standard deviations of the ratios of layer times, from the median of their magnitudes; "
            "3 at least, 20 at most",
        ),
        Term(
            "noise.source",
            "Source of the share: runs of an engine, layers that did not change, or the default.",
        ),
        Term("noise.tick_ms", "Differences up to this are unchanged: the step of the profile's timer."),
        Term("noise.sum_ms", "Noise of the sum of layer times, each layer's being independent."),
        Term("differences.matches", "Blocks by the evidence that made them.", entries="evidence"),
        Term("differences.changes", "Blocks by what changed in them.", entries="kinds of change"),
        Term("related", "True if the engines seem to be of one model."),
        Term("ranking", "Engines from the fastest to the slowest.", labels=("Ranking",)),
        Term("ranking.by", "Metric of the ranking: the first latency that every engine has."),
        Term("ranking.engines", "Positions of the engines, the fastest first."),
        Term("ranking.latency_ms", "The latency of each engine that the ranking goes by."),
        Term("ranking.rank", "Rank, from 1; missing for an unknown latency."),
        Term("ranking.engine", "Name of the engine."),
        Term("ranking.ratio", "Latency over that of the fastest engine."),
        Term("diff.by_kind", "Time by kind of layer, for each engine."),
        Term("diff.by_precision", "Time by precision, for each engine."),
        Term(
            "diff.by_module",
            "Time by module, for each engine; each block is in one module, from an engine with module names.",
        ),
        *(
            Term(f"diff.by_kind.{key}", text, also=tuple(f"diff.{matrix}.{key}" for matrix in _MATRICES))
            for key, text in (
                ("key", "Name of the group; empty for layers outside any module."),
                ("layers", "Layers of the group, for each engine."),
                ("latency_ms", "Time of the group, for each engine; 0 without layers, null if unknown."),
                ("deltas_ms", "Difference to the baseline, for each engine."),
            )
        ),
        Term("diff.filter", "Blocks that match --filter; null without a filter."),
        Term("blocks_total", "Number of blocks before the filter."),
        Term(
            "blocks",
            "Layers of all engines that do the same work. Every layer is in exactly one block.",
            labels=("block",),
        ),
        Term("blocks.index", "Position of the block, in execution order of the baseline."),
        Term("blocks.block", "Name of the block: its slowest layer, or its ONNX nodes."),
        Term("blocks.layers", "Layers of each engine, as names; in tables their numbers, such as 1:3."),
        Term("layer_indices", "Indices of the layers of each engine."),
        Term("blocks.label", "Name of the block: its slowest layer, or its ONNX nodes."),
        Term("blocks.kind", "Operation of its main layer."),
        Term("blocks.module", "Its modules, outermost first."),
        Term(
            "blocks.match",
            "Weakest evidence of the block: manual, onnx, name, structure, or none for one engine alone.",
        ),
        Term("blocks.evidence", "The evidence exactly: structure is also signature or order."),
        Term(
            "blocks.confidence",
            "Confidence of the match, from 0 to 1: 1 for equal ONNX nodes, 0 for a block of one engine. At "
            "least this share of such matches is right on real pairs and on engines changed in known ways.",
        ),
        Term("blocks.why", "The evidence in a sentence."),
        Term(
            "blocks.latency_ms",
            "Time of the block's layers, for each engine; 0 without layers, null if unknown.",
        ),
        Term("blocks.delta_ms", "Difference of the largest magnitude; blocks are sorted by it."),
        Term("blocks.deltas_ms", "Difference to the baseline, for each engine."),
        Term("blocks.ratio", "Time over the baseline's: the ratio farthest from 1."),
        Term(
            "blocks.changed",
            "Changes: precision, tactic, formats, shapes, weights, fusion, reformats, qdq, kind.",
        ),
        Term("blocks.changes", "Each change."),
        Term("changes.kind", "Changes."),
        Term("changes.engine", "Position of the engine that differs from the baseline."),
        Term("changes.before", "In the baseline."),
        Term("changes.after", "In the engine."),
        Term(
            "changes.parts",
            "Parts of the kernel name that differ: library, family, tile, stages and so on.",
        ),
        Term("changes.parts.part", "The part of the kernel's name."),
        Term("changes.parts.before", "In the baseline; empty where the name does not report it."),
        Term("changes.parts.after", "In the engine; empty where the name does not report it."),
        Term(
            "blocks.causes",
            "Cause of the difference, for each engine, as in its reasons; null for the baseline and where nothing is added.",
        ),
        Term("changed_by_engine", "Changes per engine."),
        Term(
            "blocks.verdicts",
            "Verdict on the block's time for each engine, from the single times of its layers; null for "
            "the baseline and without single times.",
        ),
        Term(
            "blocks.verdicts.outcome",
            "slower, faster, not distinguishable, or no verdict for fewer than 40 calls. At 95 %: of 100 equal blocks up to "
            "five differ by chance.",
        ),
        Term("blocks.verdicts.difference_ms", "Mean over the calls minus the baseline's."),
        Term("blocks.verdicts.interval_ms", "Confidence interval of the difference at 95 %."),
        Term("blocks.verdicts.calls", "Calls of the baseline and of the engine."),
        Term("blocks.verdicts.method", "Method of the verdict."),
        Term("not_in", "Positions of the engines without a layer in the block."),
        Term(
            "diff.why",
            "Why the builder chose other tactics, for each engine but the baseline, with --why; null without.",
            source="verbose logs of the builds",
        ),
        Term("why.engine", "Position of the engine; in tables its letter."),
        Term("why.problems", "Missing or unusable log, with a remedy."),
        Term("why.blocks", "Blocks whose tactic changed, the largest difference first.", also=("why.block",)),
        Term("why.delta_ms", "Difference of the measured times of the block's layers."),
        Term("why.blocks.block", "Position of the block."),
        Term(
            "why.blocks.because",
            "Why the builds differ, the first that applies: skipped (a build skipped the other's tactic), precision, near "
            "tie (both timed, less than 2 % apart), device, timing cache, times (both timed both, with another order), "
            "formats (the other's tactic was timed in other formats only), not tried, unknown.",
            also=("why.because",),
            labels=("because",),
        ),
        Term("why.blocks.why", "Explanation of the choices from the logs, in sentences."),
        Term("why.blocks.choices", "Tactics timed by the builds of the baseline and of the engine."),
        Term("choices.engine", "Position of the engine."),
        Term("choices.layer", "Index of the block's main layer."),
        Term("choices.tactic", "Tactic of the layer in the engine.", also=("why.tactic",)),
        Term("choices.problem", "Why the log has nothing about the layer; empty if it has."),
        Term(
            "choices.chosen",
            "Chosen tactic with its time; null if unknown.",
            also=("choices.second",),
        ),
        *(
            Term(f"choices.chosen.{key}", text, also=(f"choices.second.{key}", f"candidates.{key}"))
            for key, text in (
                ("runner", "Kind of the tactic: CaskConvolution, Myelin and so on."),
                ("id", "Number of the tactic; null for a kernel of a table of Myelin's."),
                ("name", "Name of the kernel; null where the log gives none."),
                ("time_ms", "Time that the builder measured for the tactic alone."),
            )
        ),
        Term("why.builder_ms", "Time that the builder measured for its choice.", labels=("builder ms",)),
        Term(
            "choices.margin_pct",
            "Margin of the second fastest tactic; below 2 % it is a near tie.",
            also=("why.margin_pct",),
            labels=("second %",),
        ),
        Term(
            "choices.candidates",
            "Tactics timed in the formats of the choice, the fastest first.",
            also=("why.timed",),
            labels=("timed",),
        ),
        Term(
            "choices.skipped",
            "Tactics not timed in these formats.",
            also=("why.skipped",),
        ),
        *(
            Term(f"choices.skipped.{key}", text, also=(f"choices.other.skipped.{key}",))
            for key, text in (
                ("line", "Line of the log."),
                ("id", "Number of the tactic; null where the log does not report it."),
                ("reason", "Why it was not timed: workspace, device memory, other."),
                ("requested_bytes", "Memory that it needs."),
                ("available_bytes", "Memory that there was."),
                ("message", "The line's text."),
            )
        ),
        Term("choices.formats", "Types and strides of inputs and outputs of the choice, as printed."),
        Term("choices.is_cached", "True if the choice came out of a timing cache."),
        Term("choices.reused_from", "Equal layer that was timed in its place; null if it was timed itself."),
        Term(
            "choices.other",
            "Outcome of the other engine's tactic in this build.",
            also=("why.other",),
            labels=("other engine's tactic",),
        ),
        Term("other.fate", "chosen, timed, timed in other formats, skipped, not tried, unknown."),
        Term("other.time_ms", "The builder's time of it."),
        Term("other.pct", "Its margin over this build's choice."),
        Term("other.rank", "Its rank among the candidates, from 1."),
        Term("other.skipped", "Why it was skipped; null if it was not."),
        Term(
            "other_precision_ms",
            "Best time with inputs of the other engine's type; null if it is the same, or none was timed.",
        ),
        Term("diff.gates", "Gates of --fail-on and their outcome.", labels=("Gates",)),
        Term("gates.gate", "The gate as written.", labels=("condition",)),
        Term("gates.state", "failed, passed, or not judged.", labels=("gate",)),
        Term("gates.engine", "Position of the engine."),
        Term("gates.fell", "True if the gate failed: its condition holds. null if it is not judged."),
        Term("gates.value", "Value of the metric; null if unknown."),
        Term("gates.baseline", "Value of the baseline; null for a gate without a sign."),
        Term(
            "gates.compared",
            "Tested number: the value, or the difference from the baseline.",
        ),
        Term(
            "gates.interval",
            "95 % interval of the difference of this metric to the baseline; null if there is none. METRIC.low and "
            "METRIC.high are gates on its edges.",
            labels=("95 % interval of the change",),
        ),
        Term(
            "gates.significance",
            "Result of the noise test of this metric: faster, slower, not distinguishable, no verdict. null "
            "for metrics whose noise is unknown.",
        ),
        Term("gates.note", "Noise, what the numbers are of, or why the gate is not judged."),
        Term("gates.why", "The outcome in a sentence."),
        Term(
            "any_layer_ms",
            "Metric of gates: time of the matched layer that comes nearest to the condition. Differences of "
            "less than 0.1 % of the baseline's sum of layer times and layers of only one engine are ignored.",
            gates=("any_layer_ms",),
        ),
        Term(
            "any_module_ms",
            "Metric of gates: time of the module that comes nearest to the condition.",
            gates=("any_module_ms",),
        ),
        Term(
            "layer_ms",
            "Metric of gates, with a name: time of the matched layers of which one has the name. * and ? are wildcards.",
            gates=("layer_ms",),
        ),
        Term("module_ms", "Metric of gates, with a name: time of a module.", gates=("module_ms",)),
        Term("diff.accuracy", "Results of `trex-tui accuracy` in the sets."),
        Term("diff.accuracy.path", "File of the result."),
        Term("diff.accuracy.reference", "Position of the engine that is the reference; null for none."),
        Term("diff.accuracy.test", "Position of the engine that is tested; null for none."),
        Term("diff.accuracy.proof", "Evidence that matched the sides: sha256 or name."),
        Term("diff.accuracy.refusal", "Why the result is not shown; null if it is."),
        Term("diff.accuracy.result", "The result; null if it is refused.", is_verbatim=True),
    ),
)
