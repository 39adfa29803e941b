"""Remedies that name options of trtexec, for engines of other programs."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from helpers import chain, write_graph
from trex_tui.old.artifacts.runs import FileRun
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.lint.producers import (
    EDGE_LLM,
    ONNX_RUNTIME,
    TORCH_TENSORRT,
    Producer,
    find_producer,
    with_settings,
)
from trex_tui.old.lint.registry import builtin_modules, collect
from trex_tui.old.lint.run import run as lint

OPTION = re.compile(r"--(?!peak\b|onnx\b)[A-Za-z]\w+(?![\w-])")
"""Of trtexec: those of trex-tui and of Polygraphy are left out."""


@pytest.fixture
def torch(tmp_path: Path) -> Engine:
    names = [f"[CONVOLUTION]-[aten_ops.convolution]-[/layer{place}/conv]" for place in range(3)]
    return load_engine(write_graph(tmp_path / "a.graph.json", chain(*names)))


def test_the_producer_is_known_by_names_and_files(torch: Engine, tmp_path: Path) -> None:
    assert find_producer(torch) is TORCH_TENSORRT
    plain = load_engine(write_graph(tmp_path / "b.graph.json", chain("a", "b")))
    assert find_producer(plain) is None
    session = dataclasses.replace(plain, session=object())  # type: ignore[arg-type]
    assert find_producer(session) is ONNX_RUNTIME
    staged = dataclasses.replace(
        plain, runs=(FileRun(tmp_path / "layers.csv", 1, is_shown=True, stage="prefill"),)
    )
    assert find_producer(staged) is EDGE_LLM


@pytest.mark.parametrize("producer", [TORCH_TENSORRT, ONNX_RUNTIME, EDGE_LLM])
def test_every_remedy_states_the_settings_of_the_producer(producer: Producer) -> None:
    named = 0
    for rule in collect(builtin_modules()).rules:
        text = with_settings(rule.remedy, producer)
        added = text[len(rule.remedy.rstrip(".")) :]
        options = set(re.findall(r"--[A-Za-z][A-Za-z0-9]*(?![\w-])", rule.remedy))
        assert with_settings(rule.remedy, None) == rule.remedy
        if not options:
            assert text == rule.remedy
        for option in options:
            named += 1
            setting = producer.settings.get(option)
            assert (
                (f"{option} is {setting}" in added)
                if setting
                else (option in added or "trtexec" in rule.remedy)
            ), text
    assert named > 20


def test_texts() -> None:
    assert with_settings("Build with --fp16, or --best.", TORCH_TENSORRT) == (
        "Build with --fp16, or --best. In Torch-TensorRT, --fp16 is enabled_precisions={torch.float16}. "
        "--best is an option of trtexec only."
    )
    assert with_settings("Give --shapes.", ONNX_RUNTIME).endswith(
        "In ONNX Runtime, --shapes is trt_profile_opt_shapes."
    )
    for own in (
        "set the peaks with --peak",
        "polygraphy surgeon sanitize --fold-constants",
        "run trtexec with --exportTimes",
    ):
        assert with_settings(own, ONNX_RUNTIME) == own


def test_findings_and_what_was_not_checked(torch: Engine) -> None:
    result = lint(torch)
    texts = [judged.remedy for judged in (*result.findings, *result.positives)]
    texts += [missing.reason for missing in result.not_checked]
    named = [text for text in texts if OPTION.search(text)]
    assert named
    assert all("Torch-TensorRT" in text or "trtexec" in text for text in named), named
    plain = dataclasses.replace(torch, layers=tuple(layer._replace(name="x") for layer in torch.layers))
    assert not any("Torch-TensorRT" in judged.remedy for judged in lint(plain).findings)
