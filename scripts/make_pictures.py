"""Draw the pictures of the documentation: tabs of the explorer as SVG, out of the samples.

    python scripts/make_pictures.py

The fonts, which would be fetched from the network, are left out.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from screens_kit import explore  # noqa: E402 - it lies beside the tests

A100 = Path("sample_artifacts") / "resnet-a100"
PICTURES = {
    "overview": ([A100 / "qat"], (160, 45), "1", "Hottest layers"),
    "layers": ([A100 / "qat"], (130, 34), "2", "By module"),
    "lint": ([A100 / "qat"], (130, 34), "6", "PREC002"),
    "compare": ([A100 / "fp16", A100 / "qat"], (140, 34), "8", "slower"),
}
"""Name -> what is opened, columns and rows, the tab, a text to wait for."""


async def take(name: str) -> None:
    """Write a picture."""
    paths, size, tab, text = PICTURES[name]
    async with explore(*paths, size=size) as explorer:
        await explorer.press(tab)
        await explorer.see(text)
        svg = explorer.app.export_screenshot(title="trex-tui")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (ROOT / "docs" / "pictures" / f"{name}.svg").write_text(svg, encoding="utf-8")


def main() -> None:
    """Take all pictures, not in the colors that somebody chose."""
    os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp()
    os.chdir(ROOT)
    for name in PICTURES:
        asyncio.run(take(name))


if __name__ == "__main__":
    main()
