"""Draw the README's pictures: the screens as SVG, out of the sample engine.

    python scripts/make_pictures.py [OUTDIR]

The same program draws them that people see; nothing is retouched but the fonts, which would be fetched from the network.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot

from trex_tui.old.app import TrexApp

ROOT = Path(__file__).absolute().parent.parent
SAMPLES = Path("sample_artifacts")
"""Relative: the list of engines shows paths, and no picture should show those of one machine."""
MOST_TURNS = 500


@dataclass(frozen=True)
class Picture:
    """A picture to take.

    Attributes:
        name: File name without its ending.
        path: What is opened.
        size: Columns and rows of the terminal.
        keys: What is pressed before the picture is taken.
    """

    name: str
    path: Path
    size: tuple[int, int]
    keys: tuple[str, ...]


PICTURES = (
    Picture("overview", SAMPLES / "resnet-a100" / "qat", (160, 45), ()),
    Picture("latency", SAMPLES / "alexnet", (110, 22), ("3",)),
    Picture("layers", SAMPLES / "resnet-a100" / "qat", (130, 34), ("2",)),
    Picture("engines", SAMPLES, (110, 18), ()),
    Picture("lint", SAMPLES / "resnet-a100" / "qat", (130, 34), ("6",)),
    Picture("compare", SAMPLES / "resnet-a100", (140, 34), ("space", "j", "space", "equals_sign", "l")),
    Picture("lanes", SAMPLES / "resnet-a100", (140, 34), ("space", "j", "space", "equals_sign", "L")),
)


async def settle(app: TrexApp, pilot: Pilot[None]) -> None:
    """Wait until what runs in the background is done, and drawn."""
    for _ in range(MOST_TURNS):
        await pilot.pause(0.02)
        is_linted = getattr(app.screen, "lint", True) is not None
        if len(app.screen_stack) > 1 and not app.workers._workers and is_linted:
            break
    await pilot.pause(0.1)


async def take(picture: Picture) -> str:
    """Return the SVG of a picture."""
    app = TrexApp([str(picture.path)])
    async with app.run_test(size=picture.size) as pilot:
        await settle(app, pilot)
        for key in picture.keys:
            await pilot.press(key)
            await settle(app, pilot)
        svg = app.export_screenshot(title="trex-tui")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def main() -> None:
    """Take all pictures."""
    directory = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    directory.mkdir(parents=True, exist_ok=True)
    # Not in the colours that somebody chose for themselves.
    os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    with tempfile.TemporaryDirectory() as temporary:
        os.chdir(temporary)
        Path(SAMPLES).symlink_to(ROOT / SAMPLES, target_is_directory=True)
        take_all(directory)


def take_all(directory: Path) -> None:
    """Write the pictures into a directory."""
    for picture in PICTURES:
        (directory / f"{picture.name}.svg").write_text(asyncio.run(take(picture)), encoding="utf-8")
        print(directory / f"{picture.name}.svg")


if __name__ == "__main__":
    main()
