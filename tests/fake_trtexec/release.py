"""What distinguishes the releases: the banner, the options, and the labels of the log."""

from __future__ import annotations

import json
from pathlib import Path

_TABLE = Path(__file__).resolve().parents[2] / "src" / "trex_tui" / "capture" / "trtexec_flags.json"
_BUILDS = {"10.4.0": 26, "10.16.1": 11, "11.1.0": 106}
REPEATABLE = {"--plugins", "--staticPlugins", "--dynamicPlugins", "--setPluginsToSerialize", "--profile"}
ALIASES = {"--versionCompatible": "--vc", "--pluginInstanceNorm": "--pi"}

# Read, but not explained in --help.
_HIDDEN = (
    ((8, 0), ("--nvtxMode", "--explicitBatch", "--explicitPrecision")),
    ((8, 6), ("--buildOnly", "--plugins", "--streams")),
    (
        (11, 0),
        ("--useCudaGraph", "--noDataTransfers", "--useSpinWait", "--separateProfileRun", "--stronglyTyped"),
    ),
)
_TAKES_A_VALUE = {
    *("--onnx", "--model", "--deploy", "--uff", "--saveEngine", "--loadEngine", "--minShapes"),
    *("--optShapes", "--maxShapes", "--shapes", "--loadInputs", "--workspace", "--memPoolSize"),
    *("--profilingVerbosity", "--minTiming", "--avgTiming", "--sparsity", "--precisionConstraints"),
    *("--layerPrecisions", "--layerOutputTypes", "--calib", "--timingCacheFile", "--tacticSources"),
    *("--batch", "--iterations", "--warmUp", "--duration", "--sleepTime", "--idleTime"),
    *("--streams", "--infStreams", "--avgRuns", "--percentile", "--exportTimes", "--exportOutput"),
    *("--exportProfile", "--exportLayerInfo", "--device", "--useDLACore", "--plugins"),
    *("--staticPlugins", "--dynamicPlugins", "--builderOptimizationLevel"),
    *("--hardwareCompatibilityLevel", "--tempdir", "--maxAuxStreams", "--useProfile", "--profile"),
    *("--runtimePlatform", "--maxTactics"),
}


class Release:
    """One release, `8.6.1`."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.numbers = tuple(int(part) for part in version.split("."))
        major, minor, patch = self.numbers
        self.build = _BUILDS.get(version)
        number = major * 1000 + minor * 100 + patch if major < 10 else major * 10000 + minor * 100 + patch
        self.tag = f"[TensorRT v{number}]" + (f" [b{self.build}]" if self.build else "")

    def before(self, *numbers: int) -> bool:
        return self.numbers < numbers

    def known(self) -> set[str]:
        """The options that it reads."""
        table = json.loads(_TABLE.read_text(encoding="utf-8"))
        releases = [tuple(map(int, name.split("."))) for name in table["releases"]]
        here = max(place for place, release in enumerate(releases) if release <= self.numbers)
        found = set()
        for flag, spans in table["flags"].items():
            for span in spans.split():
                first, last = (table["releases"].index(name) for name in span.split("-"))
                if first <= here <= last:
                    found.add(flag)
        return found

    def help(self) -> str:
        hidden = {flag for since, flags in _HIDDEN if self.numbers >= since for flag in flags}
        aliases = set(ALIASES.values())
        lines = ["=== Build Options ==="]
        for flag in sorted(self.known() - hidden - aliases - {"--help"}):
            shown = f"{flag}=value" if flag in _TAKES_A_VALUE else flag
            if flag in ALIASES and ALIASES[flag] in self.known():
                shown = f"{flag}, {ALIASES[flag]}"
            lines.append(f"  {shown:<28}Explained in a few words (default = disabled)")
            # Explanations name options that need not exist: whoever looks for an option must not find it here.
            lines.append(" " * 30 + "Not to be mixed up with --fp16, --noCudaGraph=x or --skipInference.")
        return "\n".join([*lines, "=== Help ===", "  --help, -h                  Print this message"])


class OptionError(Exception):
    """An option that the release does not read."""


def parse(arguments: list[str], release: Release) -> dict[str, list[str]]:
    """As trtexec: everything up to the first `=` is the key; each is taken once, and what is left over is an error."""
    found: dict[str, list[str]] = {}
    known = release.known() | {"-h"}
    left = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        alias = next((long for long, short in ALIASES.items() if short == key), key)
        if key not in known or (alias in found and alias not in REPEATABLE):
            left.append(f"{key} {value}")
            continue
        if key in _TAKES_A_VALUE and not equals:
            left.append(f"{key} ")
            continue
        found.setdefault(alias, []).append(value)
    if left:
        raise OptionError(left[0])
    return found
