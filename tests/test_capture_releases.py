"""Which release has which option: the table, the help texts, and finding the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fake_trtexec import install
from helpers import ARTIFACTS
from trex_tui.capture.trtexec import (
    find_trtexec,
    flag_table,
    list_candidates,
)


class TestTable:
    def test_it_is_what_the_parsers_of_the_releases_read(self) -> None:
        path = ARTIFACTS.parent / "reference" / "trtexec-flags.json"
        if not path.is_file():
            pytest.skip(f"no reference at {path}")
        reference = json.loads(path.read_text(encoding="utf-8"))
        table = flag_table()
        assert [name for name, _ in table.releases] == reference["versions"]
        for flag, facts in reference["flags"].items():
            here = {table.releases[index][0] for index in table.known_in.get(flag, ())}
            there = set(facts["parsed"])
            if flag == "--int8":  # of 11, the safe mode alone reads it
                there -= {"11.0", "11.1"}
            assert here == there, flag


class TestFinding:
    def test_order(self, tmp_path: Path) -> None:
        root = tmp_path / "root"
        places = {
            "usr": install(root / "usr/src/tensorrt/bin", "8.5.1"),
            "opt": install(root / "opt/tensorrt/bin", "8.6.1"),
            "tar": install(root / "opt/TensorRT-10.4.0.26/bin", "10.4.0"),
            "old": install(root / "usr/local/TensorRT-8.6.1/bin", "8.6.1"),
            "home": install(tmp_path / "home/TensorRT-9.3.0/bin", "9.3.0"),
            "path": install(tmp_path / "bin", "10.16.1"),
            "root": install(tmp_path / "trt/bin", "8.2.1"),
        }
        environ = {
            "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
            "HOME": str(tmp_path / "home"),
            "TENSORRT_ROOT": str(tmp_path / "trt"),
        }
        found = [path for path, _ in list_candidates(environ, root)]
        assert found == [places[key] for key in ("path", "usr", "opt", "root", "tar", "home", "old")]
        assert find_trtexec(None, environ, root).version == "10.16.1"
        assert find_trtexec(None, {**environ, "TRTEXEC": str(places["usr"])}, root).version == "8.5.1"
        assert find_trtexec(str(places["opt"].parent), environ, root).version == "8.6.1"

    def test_one_that_is_broken_does_not_hide_the_next(self, tmp_path: Path) -> None:
        broken = tmp_path / "bin/trtexec"
        broken.parent.mkdir()
        broken.write_text("#!/bin/sh\necho no\n", encoding="ascii")
        broken.chmod(0o755)
        install(tmp_path / "root/usr/src/tensorrt/bin", "8.5.1")
        environ = {"PATH": f"{broken.parent}:/usr/bin:/bin"}
        assert find_trtexec(None, environ, tmp_path / "root").version == "8.5.1"
