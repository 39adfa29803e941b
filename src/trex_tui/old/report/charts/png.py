"""Render a picture as PNG with librsvg's `rsvg-convert`: doubled if it is small, reduced if it exceeds the limits."""

from __future__ import annotations

import math
import re
import shutil
import subprocess

from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.text import printable, shorten_middle

RENDERER = "rsvg-convert"
INSTALL = f"{RENDERER} (apt install librsvg2-bin, dnf install librsvg2-tools, brew install librsvg)"
_TIMEOUT_S = 300.0
_SIGNATURE, _HEADER_BYTES = b"\x89PNG\r\n\x1a\n", 8 + 25
_SIZE = re.compile(r'<svg\b[^>]*?\swidth="([\d.]+)"[^>]*?\sheight="([\d.]+)"')
_LARGEST_SIDE = 32_767
"""Pixels: cairo, which renders for librsvg, counts them in 16 bits."""
_MOST_PIXELS = 120e6
"""Limit of pixels, which take four bytes each while rendering and in viewers."""
_MOST_DOUBLED = 16e6
"""Pixels up to which a picture has twice the size of its SVG, for high-resolution screens and zooming."""


def renderer() -> str | None:
    """Return the path of `rsvg-convert`; None if it is not installed."""
    return shutil.which(RENDERER)


def choose_zoom(svg: str) -> float:
    """Return the scale of a picture: 2 for a small one, 1 if possible, less if it exceeds the limits of a PNG."""
    size = _SIZE.search(svg, 0, 4096)
    if size is None:
        return 1.0
    width, height = (max(1.0, float(side)) for side in size.groups())
    wanted = min(2.0, max(1.0, math.sqrt(_MOST_DOUBLED / (width * height))))
    most = min(_LARGEST_SIDE / max(width, height), math.sqrt(_MOST_PIXELS / (width * height)))
    return math.floor(1e4 * min(wanted, most)) / 1e4


def render_png(svg: str) -> bytes:
    """Render a picture, in the size of `choose_zoom`.

    Raises:
        TrexError: The program is not installed, or fails.
    """
    program = renderer()
    if program is None:
        raise TrexError(f"PNG needs {INSTALL}; or write .svg")
    try:
        done = subprocess.run(
            [program, "--unlimited", "--format=png", f"--zoom={choose_zoom(svg):.4f}"],
            input=svg.encode(),
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TrexError(f"{RENDERER} took more than {_TIMEOUT_S:.0f} s; write .svg instead") from error
    except OSError as error:
        raise TrexError(f"{RENDERER} cannot be run: {describe_reason(error)}") from error
    if done.returncode or not done.stdout:
        message = " ".join(done.stderr.decode("utf-8", "replace").split()) or f"exit code {done.returncode}"
        raise TrexError(f"{RENDERER} failed: {shorten_middle(printable(message), 200)}; write .svg instead")
    return done.stdout


def mark_png(png: bytes, mark: str) -> bytes:
    """Return a PNG with a `tEXt` chunk after its header, which is the first chunk and has a fixed length."""
    import struct
    import zlib

    if not png.startswith(_SIGNATURE):
        return png
    chunk = b"tEXtSoftware\0" + mark.encode()
    length, checksum = struct.pack(">I", len(chunk) - 4), struct.pack(">I", zlib.crc32(chunk))
    return png[:_HEADER_BYTES] + length + chunk + checksum + png[_HEADER_BYTES:]
