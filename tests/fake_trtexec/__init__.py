"""A stand-in for trtexec: options, log, exports and failures of a chosen release, without a GPU.

`install` writes a program called `trtexec` that behaves as the real one of that release as far as it is documented or
recorded. What it is told through the environment:

    FAKE_TRTEXEC_FAIL    failures, comma separated, each `name`, `name@build` or `name@profile` (see `failures.py`)
    FAKE_TRTEXEC_CALLS   a file that gets a line of Python per run: the arguments (bytes as surrogates)
    FAKE_TRTEXEC_FIFO    a pipe that gets the line `ready` when a run hangs, so that tests need not wait by the clock
"""

from __future__ import annotations

import ast
import shlex
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSIONS = ("8.2.1", "8.4.1", "8.5.1", "8.6.1", "9.3.0", "10.4.0", "10.16.1", "11.1.0")
ENDS = (VERSIONS[0], VERSIONS[-1])
"""The oldest and the newest, where releases between them take no other way."""


def install(directory: Path, version: str) -> Path:
    """Write the program into `directory`, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "trtexec"
    # The suite starts it 1,500 times: without site packages, and without importing pathlib, subprocess, json, re or enum.
    command = [sys.executable, "-S", "-E", str(HERE / "main.py"), version]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def calls(path: Path) -> list[list[str]]:
    """The arguments of every run recorded in the file of FAKE_TRTEXEC_CALLS; those for --help are left out."""
    if not path.exists():
        return []
    lines = [ast.literal_eval(line) for line in path.read_text(encoding="ascii").splitlines()]
    return [line for line in lines if line != ["--help"]]
