"""MEM: activations that take up memory for long."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.memory import activation_memory, live_tensors
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import NO_DETAILS
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.text import format_bytes, plural, printable, shorten_middle

LEAST_PEAK_PCT = 10.0
LEAST_LAYERS = 10
LEAST_LAYERS_PCT = 5.0
LEAST_BYTES = 5_000_000
LEAST_DEVICE_PCT = 1.0


def _kept_live(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("MEM001", NO_DETAILS)
        return
    values = live_tensors(context.engine)
    memory = activation_memory(context.engine, values)
    if memory.unknown:
        yield NotChecked(
            "MEM001",
            f"{plural(memory.unknown, 'activation')} of unknown size: export the layer information from the profile run, "
            "with its shapes set",
        )
    if not memory.peak_bytes:
        return
    shortest = max(LEAST_LAYERS, LEAST_LAYERS_PCT / 100.0 * len(context.layers))
    device = context.device.memory_bytes
    least = LEAST_BYTES if device is None else min(LEAST_BYTES, LEAST_DEVICE_PCT / 100.0 * device)
    streams = {layer.stream for layer in context.layers if layer.stream is not None}
    for value in values:
        size, lasts = value.allocated_bytes, value.last - value.first
        if size is None or size < max(least, LEAST_PEAK_PCT / 100.0 * memory.peak_bytes) or lasts < shortest:
            continue
        at_peak = memory.peak_index is not None and value.first <= memory.peak_index <= value.last
        share = 100.0 * size / memory.peak_bytes
        peak = f"the peak of {format_bytes(memory.peak_bytes)}"
        yield Finding(
            "MEM001",
            f"'{shorten_middle(printable(value.name), 60)}' holds {format_bytes(size)} over {lasts} layers, "
            + (f"{share:.0f} % of {peak}." if at_peak else f"away from {peak}."),
            (value.first, value.last),
            confidence=Confidence.MEDIUM if len(streams) < 2 else Confidence.LOW,
            evidence=(
                Evidence("tensor", value.name),
                Evidence("tensor_bytes", size),
                Evidence("layers_alive", lasts),
                Evidence("peak_bytes", memory.peak_bytes),
                Evidence("alive_at_peak", at_peak),
            ),
        )


RULES: tuple[Rule, ...] = (
    Rule(
        id="MEM001",
        title="Large activation is kept for long",
        severity=Severity.INFO,
        looks_for="An activation of at least 10 % of the peak of live activations and 5 MB (or 1 % of the device memory), "
        "alive over 10 layers and 5 % of all.",
        why="Its memory cannot be shared with what runs meanwhile. Batches, streams and other models pay for it; time does "
        "not.",
        remedy="Move its reader forward, compute it again, store it in fewer bits, or split a batched GEMM whose parts are "
        "read far apart.",
        references=(
            "Frequently Asked Questions, workspace size: "
            "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/troubleshooting-faq.html",
        ),
        columns=("input_shapes", "output_shapes", "input_formats", "output_formats"),
        check=_kept_live,
        not_when="Inputs and outputs of the network, and weights. With several streams the order of execution is only the "
        "order of the file.",
    ),
)
