"""`capture --dry-run`: a shell script that leaves the files of the capture, under every shell here and for every release."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_capture_clocks import smi
from trex_tui import TrexError
from trex_tui.old.capture.shell_script import shell_word

__all__ = ["smi"]


@given(st.binary(max_size=12).map(lambda data: data.replace(b"\0", b"0")))
def test_words(data: bytes) -> None:
    word = shell_word(os.fsdecode(data))
    assert word.isprintable()
    done = subprocess.run(["sh", "-c", f"nl='\n'\nprintf %s {word}"], capture_output=True, check=True)
    assert done.stdout == data


def test_a_release_that_is_not_known() -> None:
    from trex_tui.old.capture.trtexec import trtexec_of_release

    used = {one: trtexec_of_release(one, Path("t")).version for one in ("8.2", "8", "10.4.2", "11.1.9")}
    assert used == {"8.2": "8.2.1", "8": "8.6.1", "10.4.2": "10.4.2", "11.1.9": "11.1.9"}
    for text in ("", "10.", "1" * 9, "10.4-rc"):
        with pytest.raises(TrexError, match="--for"):
            trtexec_of_release(text, Path("t"))
