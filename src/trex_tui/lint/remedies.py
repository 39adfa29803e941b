"""Remedies that fit: sentences whose options TensorRT's version, the GPU and the producer of an engine have.

A remedy may have alternatives, the best first. The options and features that each names are looked up in
`analysis.releases.OPTIONS`, so that no remedy needs a condition of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from trex_tui.analysis.device import INTEGRATED, find_capability
from trex_tui.analysis.releases import OPTIONS, Version, parse_version
from trex_tui.engine.model import Engine
from trex_tui.text import join_words

if TYPE_CHECKING:
    from trex_tui.lint.rule import Remedy

TRTEXEC, RTX, TORCH_TENSORRT = "trtexec", "tensorrt_rtx", "Torch-TensorRT"
_STUB, _RUNTIME_KERNEL = "__myelin_CASK_STUB", "runtime_fusion"
"""Tactic and type of layers of TensorRT-RTX, which chooses and compiles kernels on the device."""
_TORCH_NODE = "[aten_ops."
"""In every layer name of Torch-TensorRT."""
_RTX_OPTIONS: Version = (11, 0)
"""TensorRT-RTX counts anew; its options are those of this release, without the ones of the enterprise edition."""
_OPTION = re.compile(r"--[A-Za-z][A-Za-z0-9]*(?![\w-])")
"""An option of one word; options of Polygraphy and other tools have several."""
_OWN = frozenset(("--all", "--onnx", "--peak", "--rules"))
"""Options of trex-tui."""
_FEATURES = tuple(name for name in OPTIONS if not name.startswith("--"))


class Platform(NamedTuple):
    """What decides which options an engine's remedies may name.

    Attributes:
        version: TensorRT's version; None if not in any file, and then every option is assumed to exist.
        producer: `trtexec`, `tensorrt_rtx` or `Torch-TensorRT`.
        compute_capability: 86 for 8.6; None if unknown, and then features of newer GPUs are not named.
        is_strongly_typed: Whether the engine has the types of the model: TensorRT 11, TensorRT-RTX, --stronglyTyped.
    """

    version: Version | None = None
    producer: str = TRTEXEC
    compute_capability: int | None = None
    is_strongly_typed: bool = False

    @property
    def is_rtx(self) -> bool:
        """Whether TensorRT-RTX made the engine: it is strongly typed, and chooses kernels at run time."""
        return self.producer == RTX

    @property
    def is_jetson(self) -> bool:
        """Whether CPU and GPU share the memory."""
        return self.compute_capability in INTEGRATED

    @property
    def ends_before_10(self) -> bool:
        """Whether no TensorRT 10 exists for the GPU: a Jetson before Orin."""
        return self.compute_capability in (53, 62, 72)

    def has(self, name: str) -> bool:
        """Return whether an option or feature exists here; true for one that no table knows."""
        option = OPTIONS.get(name)
        if option is None:
            return True
        edition = RTX if self.is_rtx else TRTEXEC
        version = _RTX_OPTIONS if self.is_rtx else self.version
        return option.fits(version, edition, self.compute_capability or 0) is not False

    def missing(self, text: str) -> list[str]:
        """Return the options and features in a text that do not exist here."""
        return [name for name in named_options(text) if not self.has(name)]


def find_platform(engine: Engine) -> Platform:
    """Return the platform of an engine."""
    stated, capability = engine.facts.tensorrt_version, find_capability(engine)
    producer = TRTEXEC
    is_chosen_later = engine.layers["tactic"].eq(_STUB) | engine.layers["layer_type"].eq(_RUNTIME_KERNEL)
    if "rtx" in (stated or "").lower() or is_chosen_later.fillna(False).any():
        producer = RTX
    elif engine.layers["name"].str.contains(_TORCH_NODE, regex=False).any():
        producer = TORCH_TENSORRT
    version = parse_version(stated)
    is_typed = producer == RTX or bool(version and version >= _RTX_OPTIONS)
    is_typed = is_typed or "strongly typed" in (engine.facts.builder_precision or "").lower()
    return Platform(version, producer, capability, is_typed)


@lru_cache(maxsize=512)  # texts of rules, each for several findings
def named_options(text: str) -> tuple[str, ...]:
    """Return the options of trtexec and the features that a text names, each once."""
    options = [option for option in _OPTION.findall(text) if option not in _OWN]
    return tuple(dict.fromkeys([*options, *(name for name in _FEATURES if name in text)]))


def choose(remedy: Remedy, platform: Platform) -> str:
    """Return the first alternative of a remedy that names nothing missing, with the producer's settings; else the
    last one.
    """
    alternatives = (remedy,) if isinstance(remedy, str) else remedy
    text = next((text for text in alternatives if not platform.missing(text)), alternatives[-1])
    return with_settings(text, platform.producer)


_DEBUGGER = 'torch_tensorrt.dynamo.Debugger(save_engine_profile=True, profile_format="trex")'
SETTINGS: Mapping[str, Mapping[str, str]] = {
    TORCH_TENSORRT: {
        "--avgTiming": "num_avg_timing_iters",
        "--builderOptimizationLevel": "optimization_level",
        "--exportLayerInfo": _DEBUGGER,
        "--exportProfile": _DEBUGGER,
        "--fp16": "the type of the exported model (model.half()), and enabled_precisions in releases that have it",
        "--hardwareCompatibilityLevel": "hardware_compatible",
        "--memPoolSize": "workspace_size",
        "--noTF32": "disable_tf32",
        "--optShapes": "torch_tensorrt.Input(opt_shape=…)",
        "--shapes": "torch_tensorrt.Input(opt_shape=…)",
        "--timingCacheFile": "timing_cache_path",
        "--useCudaGraph": "torch_tensorrt.runtime.enable_cudagraphs",
        "--useDLACore": "torch_tensorrt.Device(dla_core=…)",
        "--workspace": "workspace_size",
    },
}
"""Producer -> option of trtexec -> the setting in its place."""


def with_settings(text: str, producer: str) -> str:
    """Return a text with the producer's settings in place of the options of trtexec in it; unchanged if it names none."""
    settings = SETTINGS.get(producer)
    if settings is None:
        return text
    options = [name for name in named_options(text) if name.startswith("--")]
    known = [f"{option} is {settings[option]}" for option in options if option in settings]
    others = [option for option in options if option not in settings]
    if known:
        text = f"{text.rstrip('.')}. In {producer}, {'; '.join(known)}."
    if others and "trtexec" not in text:
        of_trtexec = "are options" if len(others) > 1 else "is an option"
        text = f"{text.rstrip('.')}. {join_words(others)} {of_trtexec} of trtexec only."
    return text
