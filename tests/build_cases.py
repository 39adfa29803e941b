"""A small verbose log of TensorRT 8.6, of the engine that `tui.small_engine` writes."""

from __future__ import annotations

from pathlib import Path

STAMP = "[11/21/2026-10:00:{:02d}]"
STEM = "/stem/conv/Conv + /stem/relu/Relu"
HEAD = "/head/fc/Gemm"
GONE = "/gone/Conv"
HALF, FLOAT = "Half(4096,1024,32,1)", "Float(4096,1024,32,1)"

_NAMED = "Tactic Name: {} Tactic: 0x{:016x} Time: {}"
_SKIPPED = "Tactic: 0x{:016x} skipped. Scratch requested: {}, available: {}"


def tactic(name: str, number: int, time_ms: float) -> str:
    return _NAMED.format(name, number, time_ms)


def runner(
    layer: str, kind: str, lines: list[str], fastest: tuple[int, float] | None, seconds: float
) -> list[str]:
    """One runner's trial."""
    head = f"--------------- Timing Runner: {layer} ({kind}[0x80000009])"
    if fastest is None:
        return [head, f"{kind} has no valid tactics for this config, skipping"]
    number, time = fastest
    tail = (
        f"{layer} ({kind}[0x80000009]) profiling completed in {seconds} seconds. "
        f"Fastest Tactic: 0x{number:016x} Time: {time}"
    )
    return [head, *lines, tail]


def combination(formats: str, trials: list[list[str]], chosen: tuple[str, int] | None) -> list[str]:
    """One format combination."""
    lines = [f"*************** Autotuning format combination: {formats} -> {formats} ***************"]
    lines += [line for trial in trials for line in trial]
    if chosen is not None:
        kind, number = chosen
        lines.append(f">>>>>>>>>>>>>>> Chose Runner Type: {kind} Tactic: 0x{number:016x}")
    return lines


def tuned(combinations: list[list[str]]) -> list[str]:
    """One layer."""
    lines = ["=============== Computing costs for "]
    return lines + [line for one in combinations for line in one]


CONV = "CaskConvolution"
STEM_LINES = tuned(
    [
        combination(
            FLOAT,
            [
                runner(
                    STEM, CONV, [tactic("sm80_f32_a", 1, 0.5), tactic("sm80_f32_b", 2, 0.4)], (2, 0.4), 0.25
                ),
                runner(STEM, "CudnnConvolution", [], None, 0.0),
            ],
            (CONV, 2),
        ),
        combination(
            HALF,
            [
                runner(
                    STEM,
                    CONV,
                    [
                        tactic("sm80_f16_a", 3, 0.202),
                        tactic("sm80_f16_b", 4, 0.2),
                        tactic("sm80_f16_c", 5, 0.9),
                        _SKIPPED.format(6, 4096, 1024),
                    ],
                    (4, 0.2),
                    0.75,
                )
            ],
            (CONV, 4),
        ),
    ]
)
HEAD_LINES = tuned(
    [
        combination(
            HALF,
            [
                runner(
                    HEAD,
                    "CaskGemmConvolution",
                    [tactic("gemm_a", 7, 0.3), tactic("gemm_b", 8, 0.6)],
                    (7, 0.3),
                    0.5,
                )
            ],
            ("CaskGemmConvolution", 7),
        )
    ]
)
GONE_LINES = tuned(
    [combination(HALF, [runner(GONE, CONV, [tactic("k", 9, 0.1)], (9, 0.1), 0.125)], (CONV, 9))]
)

FIRST = [
    "Original: 12 layers",
    "Running: ConvReluFusion on /stem/conv/Conv",
    "ConvReluFusion: Fusing /stem/conv/Conv with /stem/relu/Relu",
    "After vertical fusions: 11 layers",
    "After reformat layers: 12 layers",
]
LAST = ["Formats and tactics selection completed in 1.75 seconds."]


def log_text(parts: list[list[str]], *, verbose: bool = True) -> str:
    """The log as trtexec prints it; without the lines of a verbose one if not `verbose`."""
    said = [f"{STAMP.format(2)} [V] [TRT] {line}" for part in parts for line in part] if verbose else []
    banner = "[TensorRT v8601] # trtexec --onnx=tiny.onnx --saveEngine=tiny.engine" + " --verbose" * verbose
    lines = [
        f"&&&& RUNNING TensorRT.trtexec {banner}",
        f"{STAMP.format(0)} [I] === Build Options ===",
        f"{STAMP.format(0)} [I] Precision: FP32+FP16",
        f"{STAMP.format(0)} [I] Memory Pools: workspace: 1024 MiB",
        f"{STAMP.format(0)} [I] ",
        f"{STAMP.format(0)} [I] === Device Information ===",
        f"{STAMP.format(0)} [I] Selected Device: NVIDIA Test GPU",
        f"{STAMP.format(0)} [I] ",
        f"{STAMP.format(0)} [I] TensorRT version: 8.6.1",
        f"{STAMP.format(1)} [I] [TRT] [MemUsageChange] Init CUDA: CPU +100, GPU +0, now: CPU 200, GPU 500 (MiB)",
        f"{STAMP.format(2)} [I] [TRT] [MemUsageChange] Init cuDNN: CPU +50, GPU +100, now: CPU 250, GPU 600 (MiB)",
        f"{STAMP.format(2)} [W] [TRT] Layer 7 is odd",
        f"{STAMP.format(2)} [W] [TRT] Layer 8 is odd",
        f"{STAMP.format(2)} [E] [TRT] Something broke",
        *said,
        f"{STAMP.format(4)} [I] Engine built in 2.5 sec.",
        f"&&&& PASSED TensorRT.trtexec {banner}",
    ]
    return "\n".join(lines) + "\n"


BUILD = log_text([FIRST, STEM_LINES, HEAD_LINES, GONE_LINES, LAST])
QUIET = log_text([], verbose=False)


def write_log(folder: Path, text: str = BUILD) -> Path:
    """The log of `tiny`; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.build.log").write_text(text, encoding="utf-8")
    return folder
