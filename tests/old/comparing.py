"""Small engines to compare, and the app that compares them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tui import SMALL, Session, running

from helpers import timing_row
from small_engines import CONV, GEMM, NET, POOL, raw_layer, tensor, write, write_set
from trex_tui.old.report.views.compare import block_name
from trex_tui.old.screens.compare import ComparePane
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.widgets.block_table import BlockRow

# As NET, but the first convolution lost its ReLU, what is in INT8 is quantized before, and nothing is reformatted.
# Name, type, shape of the output, milliseconds, type of the output.
QUANTIZED: list[tuple[str, str, list[int], float | None, str]] = [
    ("/stem/QuantizeLinear", "Scale", [1, 3, 64, 64], 0.02, "Int8"),
    ("/stem/conv/Conv", CONV, [1, 16, 32, 32], 0.09, "Int8"),
    ("/stem/relu/Relu", "PointWise", [1, 16, 32, 32], 0.03, "Int8"),
    ("/stem/pool/MaxPool", POOL, [1, 16, 16, 16], 0.045, "Int8"),
    (
        "/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu",
        CONV,
        [1, 16, 16, 16],
        0.06,
        "Int8",
    ),
    ("/layer1/layer1.0/conv2/Conv", CONV, [1, 16, 16, 16], 0.13, "Half"),
    ("/layer1/layer1.1/conv1/Conv", CONV, [1, 16, 16, 16], 0.05, "Int8"),
    ("/head/fc/Gemm", GEMM, [1, 10], 0.31, "Half"),
    ("/head/softmax/Softmax", "SoftMax", [1, 10], 0.005, "Half"),
    ("/head/labels", "Constant", [10], None, "Half"),
]
FP16, INT8, BARE = "fp16", "int8", "bare"
TO_FIND = "/stem/relu/Relu"
ROWS = 80


def quantized_layers() -> list[dict[str, Any]]:
    layers = []
    before: list[int] = [1, 3, 64, 64]
    type_before = "Half"
    for index, (name, kind, shape, _, dtype) in enumerate(QUANTIZED):
        is_constant = kind == "Constant"
        source = tensor(f"t{index}", before) | {"Format/Datatype": type_before}
        layers.append(
            {
                "Name": name,
                "LayerType": kind,
                "Inputs": [] if is_constant else [source],
                "Outputs": [tensor(f"t{index + 1}", shape) | {"Format/Datatype": dtype}],
                "TacticName": "" if is_constant else f"i8_kernel_{index}",
                "Metadata": "",
            }
        )
        before, type_before = shape, dtype
    return layers


def write_timing(folder: Path, name: str, median: float) -> None:
    """Rows that scatter a little around a median, always the same."""
    rows = [timing_row(float(place), median + 0.001 * ((7 * place) % 11 - 5)) for place in range(ROWS)]
    write(folder / f"{name}.timing.json", rows)


def write_fp16(folder: Path, *, times: dict[str, float] | None = None, median: float = 0.95) -> Path:
    """The engine `fp16`, of nine layers."""
    layers = [raw_layer(index, name, kind, shape) for index, (name, kind, shape, _) in enumerate(NET)]
    known = {name: time for name, _, _, time in NET if time is not None} | (times or {})
    write_set(folder, FP16, layers, known)
    write_timing(folder, FP16, median)
    return folder


def write_int8(folder: Path, *, times: dict[str, float] | None = None, median: float = 0.8) -> Path:
    """The engine `int8`, of ten layers."""
    known = {name: time for name, _, _, time, _ in QUANTIZED if time is not None} | (times or {})
    write_set(folder, INT8, quantized_layers(), known)
    write_timing(folder, INT8, median)
    return folder


def two_engines(folder: Path) -> Path:
    """`fp16` and `int8`, in folders of their names."""
    write_fp16(folder / FP16)
    write_int8(folder / INT8)
    return folder


def four_engines(folder: Path) -> Path:
    """These two, one without a profile, and a second of its kind."""
    two_engines(folder)
    layers = [raw_layer(index, name, kind, shape) for index, (name, kind, shape, _) in enumerate(NET)]
    write_set(folder / BARE, BARE, layers, None)
    write_set(folder / "other", "other", layers, {name: 2 * time for name, _, _, time in NET if time})
    return folder


def pane_of(session: Session) -> ComparePane:
    return session.screen.query_one(ComparePane)


async def until_compared(session: Session) -> ComparePane:
    """Wait until what was asked for is compared, and lint is done, so that the screen is at rest."""
    await session.until(lambda: isinstance(session.app.screen, EngineScreen) and session.screen.is_mounted)

    def is_done() -> bool:
        pane = pane_of(session)
        return pane.comparison is not None and not pane.job.waiting and not pane.job.is_due

    await session.until(is_done, "a comparison")
    await session.until(lambda: session.screen.lint is not None, "lint")
    await session.pilot.pause()
    return pane_of(session)


@asynccontextmanager
async def comparing(
    folder: Path, size: tuple[int, int] = SMALL, marks: Sequence[int] = (0, 1)
) -> AsyncIterator[tuple[Session, ComparePane]]:
    """The app on a list of engines of which those in these rows were marked and compared."""
    async with running(folder, size) as session:
        for row in marks:
            session.listed.table.cursor_row = row
            await session.press("space")
        await session.press("equals_sign")
        yield session, await until_compared(session)


def names(pane: ComparePane) -> list[str]:
    """Names of the blocks on display."""
    assert pane.comparison is not None
    return [block_name(pane.comparison, block) for block in pane.table.shown_blocks]


def layer_rows(pane: ComparePane) -> list[tuple[int | None, int]]:
    """Engine and index of the layers on display."""
    return [(row.engine_index, row.layer.index) for row in pane.table.shown_rows if row.layer is not None]


def cursor_row(pane: ComparePane) -> BlockRow:
    row = pane.table.cursor_item
    assert row is not None
    return row


async def stand_on(session: Session, pane: ComparePane, place: int, name: str) -> BlockRow:
    """Expand the block of a layer and put the cursor on the layer."""
    comparison = pane.comparison
    assert comparison is not None
    layer = next(one for one in comparison.engines[place].layers if one.name == name)
    block = comparison.find_block(place, layer.index)
    assert pane.table.go_to(block)
    if not pane.table.position(cursor_row(pane)).is_expanded:
        await session.press("enter")
    assert pane.table.go_to(block, place, layer.index)
    await session.pilot.pause()
    return cursor_row(pane)
