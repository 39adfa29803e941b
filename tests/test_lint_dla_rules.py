"""DLA: fallback and crossings. No public engine shows them: names and types are those of documentation and threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lint_kit import check, convolution, engine_of, image, layer, only, reformat, silent, unchecked
from trex_tui.artifacts.kinds import FileKind

BANNER = "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx --useDLACore=0 --allowGPUFallback\n"


def block(name: str, source: str, target: str) -> dict[str, Any]:
    return layer(f"{{ForeignNode[{name}]}}", "DLA", [image(source)], [image(target)])


def test_layers_that_fell_back(tmp_path: Path) -> None:
    log = tmp_path / "net.build.log"
    log.write_text(f"{BANNER}[11/21/2026-10:00:00] [I] TensorRT version: 8.6.1\n", encoding="utf-8")
    layers = [
        block("a", "x", "c"),
        convolution("head", image("c"), image("d")),
        reformat("r", image("d"), image("y")),
    ]
    files = {FileKind.BUILD_LOG: log}
    findings, reasons = check("DLA001", engine_of(layers, ["x", "y"], times=[1.0, 0.2, 0.1], files=files))
    assert [one.layers for one in findings] == [(1,)]
    assert findings[0].saving_ms is None
    assert reasons == []  # a log of the build without a word about fallbacks
    whole = [block("a", "x", "d"), reformat("r", image("d"), image("y"))]
    assert check("DLA001", engine_of(whole, ["x", "y"], files=files))[0] == []


def test_gpu_layers_that_nobody_wanted_on_the_dla() -> None:
    layers = [block("a", "x", "c"), convolution("head", image("c"), image("y"))]
    assert "build log" in unchecked("DLA001", engine_of(layers, ["x", "y"]))
    silent("DLA001", engine_of([convolution("head", image("c"), image("y"))], ["c", "y"]))


def test_crossings() -> None:
    layers = [
        reformat("r0", image("x"), image("a")),
        block("one", "a", "b"),
        convolution("middle", image("b"), image("c")),
        block("two", "c", "y"),
    ]
    found = only("DLA002", engine_of(layers, ["x", "y"], times=[0.1, 1.0, 0.2, 1.0]))
    assert "2 DLA blocks, 4 crossings" in found.message
    assert found.savings_ms == {0: 0.1}
    assert found.layers == (0, 1, 2, 3)
    assert "between the blocks run 'middle' on the GPU" in found.message
    silent("DLA002", engine_of(layers[:3], ["x", "c"], times=[0.1, 1.0, 0.2]))


def test_copies_that_a_profile_names() -> None:
    """The first copy out holds the wait for the DLA: that is the DLA's own time, and no copy's."""
    rows = [
        ("input to nvm", 0.1),
        ("{ForeignNode[conv1...fc]}", 0.01),
        ("out1 from nvm", 5.0),
        ("out2 from nvm", 0.2),
        ("out2 copy finish", 0.05),
    ]
    found = only("DLA002", engine_of(None, profile=rows))
    assert found.savings_ms == {0: 0.1, 3: 0.2, 4: 0.05}
    assert found.remedy.startswith("Pass inputs")
