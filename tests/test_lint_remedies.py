"""No remedy names an option that the help of the engine's TensorRT lacks."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from helpers import ARTIFACTS, REPOSITORY, some, write_graph
from helpers import chain as layers_of
from trex_tui.analysis.releases import parse_version
from trex_tui.api import load_engine, load_engines
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig
from trex_tui.lint.context import Context
from trex_tui.lint.remedies import (
    RTX,
    TORCH_TENSORRT,
    TRTEXEC,
    Platform,
    choose,
    find_platform,
    with_settings,
)
from trex_tui.lint.rules import RULES
from trex_tui.lint.run import run_rules

FLAGS = ARTIFACTS.parent / "reference" / "trtexec-flags.json"
HELP = ARTIFACTS / "help"
OPTION = re.compile(r"--[A-Za-z][A-Za-z0-9]*(?![\w-])")
OWN = {"--all", "--onnx", "--peak", "--rules"}
"""Of trex-tui. Options of other tools have several words."""
RELEASES = ("8.2.1", "8.4.1", "8.6.1", "9.3.0", "10.3.0", "10.13.3", "11.1.0")
needs_flags = pytest.mark.skipif(not FLAGS.is_file(), reason=f"no {FLAGS}")


@lru_cache(maxsize=1)
def flags() -> tuple[list[str], dict[str, list[str]]]:
    """The releases, and for each option the releases whose trtexec reads it."""
    root = json.loads(FLAGS.read_text(encoding="utf-8"))
    return root["versions"], {name: flag["parsed"] for name, flag in root["flags"].items()}


def version_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def lacking(text: str, version: tuple[int, ...]) -> set[str]:
    """Options in a text that the nearest release before this version does not read."""
    releases, parsed = flags()
    known = [release for release in releases if version_of(release)[:2] <= version[:2]] or releases[:1]
    return {name for name in set(OPTION.findall(text)) - OWN if known[-1] not in parsed.get(name, ())}


@needs_flags
@pytest.mark.parametrize("release", flags()[0] if FLAGS.is_file() else [])
def test_texts_of_rules(release: str) -> None:
    version = version_of(release)
    for rule in RULES:
        for capability in (None, 53, 75, 80, 87, 90, 120):
            platform = Platform(version, TRTEXEC, capability, is_strongly_typed=version >= (11,))
            assert not lacking(choose(rule.remedy, platform), version), rule.id


def real_engines() -> list[Engine]:
    roots = sorted((REPOSITORY / "sample_artifacts").iterdir())
    for folder in (ARTIFACTS, ARTIFACTS.parent / "cases"):
        roots += sorted(folder.iterdir()) if folder.is_dir() else []
    roots += sorted((ARTIFACTS / "rtx").glob("*.log")) + sorted((ARTIFACTS / "logs").glob("*.log"))
    engines: list[Engine] = []
    for root in roots:
        try:
            engines += load_engines(root)
        except TrexError:
            continue  # no engine, or a failed run
    return engines


@needs_flags
def test_findings_of_real_engines() -> None:
    engines = real_engines()
    assert len(engines) > 40
    named = 0
    for engine in engines:
        if find_platform(engine).producer != TRTEXEC:
            continue
        stated = find_platform(engine).version
        for release in (None, *some(RELEASES, 3)) if stated is None else (None,):
            told = (
                engine
                if release is None
                else replace(engine, facts=replace(engine.facts, tensorrt_version=release))
            )
            version = parse_version(release) if release else stated
            if version is None:
                continue
            result = run_rules(told, LintConfig(shows_all=True))
            assert result.failed == ()
            texts = [str(one.remedy) for one in (*result.findings, *result.remarks)]
            texts += [missing.reason for missing in result.not_checked]
            named += sum(bool(OPTION.search(text)) for text in texts)
            for text in texts:
                assert not lacking(text, version), (engine.name, release, text)
    assert named > 100


@pytest.mark.skipif(not HELP.is_dir(), reason="no help texts")
@pytest.mark.parametrize(
    "path", sorted(HELP.glob("*.txt")) if HELP.is_dir() else [], ids=lambda path: path.stem
)
def test_the_table_agrees_with_the_help(path: Path) -> None:
    version = version_of(path.stem.removeprefix("trt").removesuffix("_help"))
    text = path.read_text(encoding="utf-8", errors="replace")
    for rule in RULES:
        remedy = choose(rule.remedy, Platform(version, TRTEXEC, 86))
        for option in set(OPTION.findall(remedy)) - OWN:
            assert option in text, (rule.id, option)


def test_alternatives() -> None:
    remedy = ("Use --memPoolSize.", "Use --workspace.", "Use nothing.")
    assert choose(remedy, Platform((10, 3))) == remedy[0]
    assert choose(remedy, Platform((8, 2))) == remedy[1]
    assert choose(remedy, Platform(None)) == remedy[0], "an unknown version may have everything"
    assert choose("Use --stronglyTyped.", Platform((8, 2))) == "Use --stronglyTyped.", "the last one stays"
    assert choose(("Use --fp16.", "Export FP16."), Platform((11, 0))) == "Export FP16."
    assert choose(("Use --timingCacheFile.", "Nothing."), Platform(None, RTX)) in (
        "Use --timingCacheFile.",
        "Nothing.",
    )


class TestTorchTensorRT:
    @pytest.fixture
    def torch(self, tmp_path: Path) -> Engine:
        names = [f"[CONVOLUTION]-[aten_ops.convolution]-[/layer{place}/conv]" for place in range(3)]
        return load_engine(write_graph(tmp_path / "a.graph.json", layers_of(*names)))

    def test_is_known_by_the_names_of_layers(self, torch: Engine, tmp_path: Path) -> None:
        assert Context(torch).platform.producer == TORCH_TENSORRT
        plain = load_engine(write_graph(tmp_path / "b.graph.json", layers_of("a", "b")))
        assert Context(plain).platform.producer == TRTEXEC

    def test_remedies_have_its_settings(self, torch: Engine) -> None:
        result = run_rules(torch)
        texts = [str(one.remedy) for one in result.findings] + [
            missing.reason for missing in result.not_checked
        ]
        named = [text for text in texts if set(OPTION.findall(text)) - OWN]
        assert named
        assert all("Torch-TensorRT" in text or "trtexec" in text for text in named), named

    def test_texts(self) -> None:
        assert with_settings("Limit --memPoolSize, or --best.", TORCH_TENSORRT) == (
            "Limit --memPoolSize, or --best. In Torch-TensorRT, --memPoolSize is workspace_size. "
            "--best is an option of trtexec only."
        )
        for own in (
            "set the peaks with --peak",
            "polygraphy surgeon sanitize --fold-constants",
            "run trtexec with --exportTimes",
        ):
            assert with_settings(own, TORCH_TENSORRT) == own
        assert with_settings("Limit --memPoolSize.", TRTEXEC) == "Limit --memPoolSize."
