"""What distinguishes the releases: the banner, the options, and the labels of the log."""

from __future__ import annotations

import os

_PACKAGE = f"{os.path.dirname(__file__)}/../../src/trex_tui"  # noqa: PTH120
_TABLE = f"{_PACKAGE}/capture/trtexec_flags.json"
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


_SHAPES = ("--minShapes", "--optShapes", "--maxShapes", "--shapes")


class Release:
    """One release, `8.6.1`."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.numbers = tuple(int(part) for part in self.version.split("."))
        major, minor, patch = self.numbers
        self.build = _BUILDS.get(version)
        number = major * 1000 + minor * 100 + patch if major < 10 else major * 10000 + minor * 100 + patch
        self.tag = f"[TensorRT v{number}]" + (f" [b{self.build}]" if self.build else "")

    def before(self, *numbers: int) -> bool:
        return self.numbers < numbers

    def uses_graph(self, options: dict[str, list[str]]) -> bool:
        return "--useCudaGraph" in options if self.before(11, 0, 0) else "--noCudaGraph" not in options

    def known(self) -> set[str]:
        """The options that it reads."""
        with open(_TABLE, encoding="utf-8") as file:  # noqa: PTH123
            table = eval(file.read())  # noqa: S307 - our own file; json takes as long to import as a run
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
        hidden = {flag for since, flags in _HIDDEN if not self.before(*since) for flag in flags}
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
    """Options that the release does not read, in the order of the command."""

    def __init__(self, unknown: list[str]) -> None:
        super().__init__(*unknown)
        self.unknown = unknown


def parse(arguments: list[str], release: Release) -> dict[str, list[str]]:
    """As trtexec: everything up to the first `=` is the key; each is taken once, and what is left over is an error."""
    found: dict[str, list[str]] = {}
    known = release.known() | {"-h"}
    left = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        alias = next((long for long, short in ALIASES.items() if short == key), key)
        is_repeated = alias in found and alias not in REPEATABLE
        # Shapes belong to the profile before them.
        if is_repeated and alias in _SHAPES[:3] and len(found[alias]) < len(found.get("--profile", ())):
            is_repeated = False
        if key not in known or is_repeated:
            left.append(f"{key} {value}")
            continue
        if key in _TAKES_A_VALUE and not equals:
            left.append(f"{key} ")
            continue
        found.setdefault(alias, []).append(value)
    if left:
        raise OptionError(left)
    return found
