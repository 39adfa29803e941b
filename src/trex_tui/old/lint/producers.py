"""Programs other than trtexec that build or run engines, and their settings in place of the options that remedies name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import join_words

_TORCH_NODE = "[aten_ops."
"""In every layer name of Torch-TensorRT."""
_OPTION = lazy_pattern(r"--[A-Za-z][A-Za-z0-9]*(?![\w-])")
"""An option of one word; options of Polygraphy and other tools have several."""
_OWN = frozenset({"--explain", "--onnx", "--peak", "--rules"})
"""Options of trex-tui."""


class Producer(NamedTuple):
    """A program that builds or runs engines.

    Attributes:
        settings: Option of trtexec -> the setting in its place.
    """

    name: str
    settings: Mapping[str, str]


_DEBUGGER = 'torch_tensorrt.dynamo.Debugger(save_engine_profile=True, profile_format="trex")'
TORCH_TENSORRT = Producer(
    "Torch-TensorRT",
    {
        "--avgTiming": "num_avg_timing_iters",
        "--bf16": "enabled_precisions={torch.bfloat16}",
        "--builderOptimizationLevel": "optimization_level",
        "--exportLayerInfo": _DEBUGGER,
        "--exportProfile": _DEBUGGER,
        "--fp16": "enabled_precisions={torch.float16}",
        "--hardwareCompatibilityLevel": "hardware_compatible",
        "--inputIOFormats": "torch_tensorrt.Input(dtype=…, format=…)",
        "--int8": "enabled_precisions={torch.int8}",
        "--memPoolSize": "workspace_size",
        "--noTF32": "disable_tf32",
        "--optShapes": "torch_tensorrt.Input(opt_shape=…)",
        "--outputIOFormats": "set by the exported model",
        "--shapes": "torch_tensorrt.Input(opt_shape=…)",
        "--stronglyTyped": "use_explicit_typing",
        "--timingCacheFile": "timing_cache_path",
        "--useCudaGraph": "torch_tensorrt.runtime.enable_cudagraphs",
        "--useDLACore": "torch_tensorrt.Device(dla_core=…)",
        "--workspace": "workspace_size",
    },
)
ONNX_RUNTIME = Producer(
    "ONNX Runtime",
    {
        "--bf16": "trt_bf16_enable",
        "--builderOptimizationLevel": "trt_builder_optimization_level",
        "--fp16": "trt_fp16_enable",
        "--hardwareCompatibilityLevel": "trt_engine_hw_compatible",
        "--int8": "trt_int8_enable",
        "--memPoolSize": "trt_max_workspace_size",
        "--optShapes": "trt_profile_opt_shapes",
        "--shapes": "trt_profile_opt_shapes",
        "--timingCacheFile": "trt_timing_cache_path",
        "--useCudaGraph": "trt_cuda_graph_enable",
        "--useDLACore": "trt_dla_core",
        "--verbose": "trt_detailed_build_log",
        "--workspace": "trt_max_workspace_size",
    },
)


EDGE_LLM = Producer("TensorRT-Edge-LLM", {})


@per_engine
def find_producer(engine: Engine) -> Producer | None:
    """Return the program that made the engine, if the files show that it is another one than trtexec; else None."""
    if engine.session is not None:
        return ONNX_RUNTIME
    if any(run.stage for run in engine.runs):
        return EDGE_LLM
    return TORCH_TENSORRT if any(_TORCH_NODE in layer.name for layer in engine.layers) else None


def with_settings(text: str, producer: Producer | None) -> str:
    """Return a remedy with the producer's settings in place of the options of trtexec in it; unchanged if it names none."""
    if producer is None:
        return text
    options = dict.fromkeys(option for option in _OPTION.findall(text) if option not in _OWN)
    known = [f"{option} is {producer.settings[option]}" for option in options if option in producer.settings]
    others = [option for option in options if option not in producer.settings]
    if known:
        text = f"{text.rstrip('.')}. In {producer.name}, {'; '.join(known)}."
    if others and "trtexec" not in text:
        of_trtexec = "are options" if len(others) > 1 else "is an option"
        text = f"{text.rstrip('.')}. {join_words(others)} {of_trtexec} of trtexec only."
    return text
