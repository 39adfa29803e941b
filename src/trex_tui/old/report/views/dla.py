"""The DLA of an engine: time on each device, blocks, crossings, GPU layers between blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trex_tui.old.analysis.dla import DlaBlockTimes, DlaUse, find_dla_use
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.dla import DlaEvidence, DlaRole
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.document import Column, Section, make_table
from trex_tui.old.text import (
    MISSING,
    format_ms,
    format_pct,
    plural,
    printable,
    shorten_middle,
    shorten_name_list,
)

_MOST_SENTENCES = 4
_NAME_WIDTH = 72
_MOST_BLOCKS = 20

COLUMNS = (
    Column("index", "#", value=lambda times: times.layer.index, is_number=True, help="Index of the block."),
    Column(
        "name", "Block", value=lambda times: times.layer.name, help="Name of the block.", flex=True, width=20
    ),
    Column(
        "operators",
        "Operators",
        value=lambda times: times.operators,
        is_number=True,
        help="Operators in the name.",
        priority=2,
    ),
    Column(
        "evidence",
        "Evidence",
        value=lambda times: times.block.evidence.value,
        help="Evidence that it runs on the DLA.",
        priority=2,
    ),
    Column(
        "submission_ms",
        "Submit ms",
        value=lambda times: times.layer.latency_ms,
        is_number=True,
        help="Time of the block's row: only the submission if another row waits for the DLA.",
    ),
    Column(
        "wait_index",
        "Wait #",
        value=lambda times: times.block.wait,
        is_number=True,
        help="Index of the row that waits for the block.",
        format=str,
        priority=1,
    ),
    Column(
        "wait_ms",
        "Wait ms",
        value=lambda times: times.wait_ms,
        is_number=True,
        help="Time of that row in the profile, counted as execution of the block.",
    ),
    Column(
        "execution_ms",
        "DLA ms",
        value=lambda times: times.execution_ms,
        is_number=True,
        has_bar=True,
        help="Time of the block: submission and wait. Without a wait it is a lower bound.",
    ),
    Column(
        "latency_pct",
        "%",
        value=lambda times: times.latency_pct,
        is_number=True,
        help="Share of the time of the block in the sum over all layers.",
    ),
    Column(
        "crossing_ms",
        "Cross ms",
        value=lambda times: times.crossing_ms,
        is_number=True,
        help="Time of the rows that copy or convert inputs and outputs of the block.",
        priority=1,
    ),
)


def dla_sections(engine: Engine) -> Iterator[Section]:
    """Yield shares of DLA and GPU, blocks and crossings; nothing for an engine without a DLA block."""
    use = find_dla_use(engine)
    if use is None:
        return
    table = make_table("dla_blocks", COLUMNS, use.blocks, top=_MOST_BLOCKS, noun="block")
    yield Section(
        "dla", "DLA", sentences=list(_sentences(use)), facts=list(_facts(engine, use)), tables=[table]
    )


def _facts(engine: Engine, use: DlaUse) -> Iterator[tuple[str, str]]:
    yield "DLA blocks", f"{len(use.blocks)}, {plural(use.crossings, 'crossing')} between GPU and DLA"
    yield "DLA time", _time(engine, use.dla_ms)
    yield "GPU time", _time(engine, use.gpu_ms)
    yield "Crossings", f"{_time(engine, use.crossing_ms)}, in {plural(len(use.crossing_rows), 'row')}"
    if use.fallbacks:
        layers = [layer for group in use.fallbacks for layer in group.layers]
        time = _time(engine, sum_latency_ms(layers))
        yield "GPU between blocks", f"{plural(len(layers), 'layer')}, {time}"


def _time(engine: Engine, milliseconds: float | None) -> str:
    if milliseconds is None:
        return "time unknown"
    whole = engine.latency_sum_ms
    share = f", {format_pct(100.0 * milliseconds / whole)} %" if whole else ""
    return f"{format_ms(milliseconds)} ms{share}"


def _sentences(use: DlaUse) -> Iterator[str]:
    """Yield assumptions about the time of the blocks."""
    if evidence := _describe_evidence(use):
        yield evidence
    if use.dla_ms is None:
        return
    for times in use.blocks[:_MOST_SENTENCES]:
        yield _describe_time(times)
    left_out = len(use.blocks) - _MOST_SENTENCES
    if left_out > 0:
        yield f"{plural(left_out, 'more block', 'more blocks')} in the table."


def _describe_evidence(use: DlaUse) -> str:
    """Return which blocks are on the DLA only by the build option; empty if there are none."""
    assumed = [times for times in use.blocks if times.block.evidence is DlaEvidence.BUILD_OPTION]
    if not assumed:
        return ""
    are = "is" if len(assumed) == 1 else "are"
    return (
        f"{plural(len(assumed), 'block')} {are} assumed to run on the DLA (built with --useDLACore): no log "
        "lists the DLA layers, and GPU subgraphs have similar names."
    )


def _describe_time(times: DlaBlockTimes) -> str:
    number, wait = times.layer.index, times.wait
    if wait is None or times.block.times_longer is None:
        return (
            f"Block {number}: no later row takes far longer than others of its kind, so its time "
            "(submission only) is a lower bound."
        )
    name = shorten_middle(printable(shorten_name_list(wait.name)), _NAME_WIDTH)
    return (
        f"Block {number}: row {wait.index} ('{name}', {format_ms(wait.latency_ms)} ms) counts as its "
        f"execution (assumed): it follows the block and takes {times.block.times_longer:.0f} times as long "
        "as similar rows."
    )


def role_text(engine: Engine, layer: Layer) -> str:
    """Return the role of a row in a DLA block, for the details of a layer; empty without a role."""
    use = find_dla_use(engine)
    role = use.roles.get(layer.index) if use else None
    if use is None or role is None:
        return ""
    times = next(times for times in use.blocks if times.layer.index == role[1])
    if role[0] is DlaRole.BLOCK:
        execution = format_ms(times.execution_ms) if times.execution_ms is not None else MISSING
        operators = f", {plural(times.operators, 'operator')}" if times.operators else ""
        wait = (
            ""
            if times.wait is None
            else f", of which {format_ms(times.wait_ms)} ms in row {times.wait.index}"
        )
        return f"DLA block{operators}: {execution} ms{wait}"
    if role[0] is DlaRole.WAIT:
        return f"Wait for DLA block {role[1]}: its time is the execution of the block"
    return f"{role[0].value[:1].upper()}{role[0].value[1:]}, of DLA block {role[1]}"


def dla_document(engine: Engine) -> dict[str, Any] | None:
    """Return the DLA object of `summary --json`; None for an engine without a DLA block."""
    use = find_dla_use(engine)
    if use is None:
        return None
    return {
        "dla_ms": use.dla_ms,
        "gpu_ms": use.gpu_ms,
        "crossings": use.crossings,
        "crossing_ms": use.crossing_ms,
        "crossing_rows": [layer.index for layer in use.crossing_rows],
        "blocks": [_block_object(times) for times in use.blocks],
        "fallbacks": [
            {
                "before": group.before.index,
                "after": group.after.index,
                "layers": [layer.index for layer in group.layers],
                "latency_ms": sum_latency_ms(group.layers),
                "crossing_ms": sum_latency_ms(group.crossing_rows),
            }
            for group in use.fallbacks
        ],
        "assumptions": list(_sentences(use)),
    }


def _block_object(times: DlaBlockTimes) -> dict[str, Any]:
    rows = {
        key: value for key, value in times.block._asdict().items() if key not in ("layer", "wait", "evidence")
    }
    return {column.key: column.value(times) for column in COLUMNS if column.value} | rows
