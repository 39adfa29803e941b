"""`trtexec` of a release: version, then trtexec's own arguments."""

from __future__ import annotations

import _signal as signal  # `signal` imports enum, which takes as long as a run
import os
import sys

import exports
import failures
import network
from failures import Failures, fail
from files import read_bytes, write_bytes
from log import LAYERS, Log, options_section, summary, tuning
from release import OptionError, Release, parse


def main() -> None:
    release, arguments = Release(sys.argv[1]), sys.argv[2:]
    record(arguments)
    role = "profile" if any(one.startswith("--loadEngine=") for one in arguments) else "build"
    wrong = Failures(role)
    if "missing_library" in wrong:
        sys.stderr.write(
            "trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file: "
            "No such file or directory\n"
        )
        sys.exit(127)
    log = Log(release, arguments, verbose="--verbose" in arguments)
    log.banner("RUNNING")
    try:
        options = parse(arguments, release)
    except OptionError as error:
        refuse(log, [f"Unknown option: {text}" for text in error.unknown])
    if "--help" in options or "-h" in options:
        log.raw(release.help())
        sys.exit(0)
    if "--onnx" not in options and "--loadEngine" not in options:
        log.line("E", "Model missing or format not recognized")
        log.raw(release.help())
        fail(log)
    if "no_gpu" in wrong:
        failures.no_gpu(log, release)
    run(release, log, options, wrong)


def record(arguments: list[str]) -> None:
    path = os.environ.get("FAKE_TRTEXEC_CALLS")
    if path:
        with open(path, "a", encoding="ascii") as file:  # noqa: PTH123
            file.write(ascii(arguments) + "\n")


def refuse(log: Log, texts: list[str]) -> None:
    """Help before the error from 10 on, after it before; no FAILED banner from 11 on."""
    release = log.release
    if not release.before(10, 0, 0):
        log.raw(release.help())
    for text in texts:
        log.line("E", text)
    if release.before(10, 0, 0):
        log.raw(release.help())
    fail(log, banner=release.before(11, 0, 0))


def run(release: Release, log: Log, options: dict[str, list[str]], wrong: Failures) -> None:
    if "--fp16" in options and not release.before(10, 12, 0):
        log.line("W", "Weakly-typed networks have been deprecated in TensorRT.")
    options_section(log, options)
    data = (
        load(release, log, options, wrong)
        if "--loadEngine" in options
        else build(release, log, options, wrong)
    )
    if "--exportLayerInfo" in options and "no_graph" not in wrong:
        text = exports.graph_text(release, detailed=exports.is_detailed(data))
        exports.write(options["--exportLayerInfo"][-1], text, half="half_graph" in wrong)
    skip = {"--skipInference", "--buildOnly"} & set(options)
    if skip:
        if not release.before(8, 4, 0):
            log.info(f"Skipped inference phase since {min(skip)} is added.")
    else:
        infer(release, log, options, wrong, data)
    if "no_banner" in wrong:
        sys.exit(0)
    log.banner("PASSED")
    if "late_exit" in wrong:
        sys.exit(1)


def build(release: Release, log: Log, options: dict[str, list[str]], wrong: Failures) -> bytes:
    onnx = options["--onnx"][-1]
    check_shapes(log, wrong)
    log.info("Start parsing network model")
    if not os.path.isfile(onnx):  # noqa: PTH113
        log.trt("E", f"ModelImporter.cpp:688: Failed to open file: {onnx}")
        failures.build_error(log, "bad_onnx", onnx)
    name = next((name for name in failures.BUILD_ERRORS if name in wrong), None)
    if name in ("bad_onnx", "unsupported_op", "missing_plugin"):
        failures.build_error(log, name, onnx)
    log.info(
        "Finish parsing network model"
        if release.before(8, 6, 0)
        else "Finished parsing network model. Parse time: 0.1"
    )
    for layer in LAYERS:
        tuning(log, layer)
        if layer == LAYERS[1]:
            interrupt(wrong)
            if name:
                failures.build_error(log, name, onnx)
    if "skipped_tactics" in wrong:
        low = "Tactic Device request: 4096MB Available: 307MB. Device memory is insufficient to use tactic."
        log.trt("W", low)
    log.trt("V" if release.before(10, 0, 0) else "I", "Engine generation completed in 1.5 seconds.")
    data = exports.plan_bytes(release, detailed=options.get("--profilingVerbosity") == ["detailed"])
    log.info("Engine built in 1.75 sec.")
    if "--timingCacheFile" in options:
        write_bytes(options["--timingCacheFile"][-1], b"cache")
    if "no_engine" not in wrong:
        write_bytes(options["--saveEngine"][-1], b"" if "empty_engine" in wrong else data)
    return data


def check_shapes(log: Log, wrong: Failures) -> None:
    for name, text in failures.SHAPE_ERRORS.items():
        if name in wrong:
            log.line("E", text)
            log.line("E", "Network And Config setup failed")
            log.line("E", "Building engine failed")
            fail(log)


def interrupt(wrong: Failures) -> None:
    """Whatever ends a run in the middle."""
    if "stubborn" in wrong:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        failures.hang()
    if "hang" in wrong:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        failures.hang()
    for name, number in (("killed", signal.SIGKILL), ("crash", signal.SIGSEGV)):
        if name in wrong:
            failures.die(number)


def load(release: Release, log: Log, options: dict[str, list[str]], wrong: Failures) -> bytes:
    try:
        data = read_bytes(options["--loadEngine"][-1])
    except OSError:
        log.line("E", f"Error opening engine file: {options['--loadEngine'][-1]}")
        log.line("E", "Engine set up failed")
        fail(log)
    log.trt("I", "Loaded engine size: 1 MiB")
    if "plan_device" in wrong:
        failures.load_error(log, failures.DEVICE_TEXT)
    if "missing_creator" in wrong:
        failures.load_error(log, "getPluginCreator could not find plugin: MyPlugin_TRT version: 1")
    version = exports.plan_version(data)
    if not data.startswith(b"ftrt") or version != release.numbers:
        failures.load_error(
            log, "Error Code 6: The engine plan file is not compatible with this version of TensorRT"
        )
    log.info("Engine loaded in 0.01 sec." if release.before(8, 4, 0) else "Engine deserialized in 0.01 sec.")
    if not exports.is_detailed(data):
        log.trt(
            "I",
            "The profiling verbosity was set to ProfilingVerbosity::kLAYER_NAMES_ONLY when the engine was built",
        )
    return data


def infer(release: Release, log: Log, options: dict[str, list[str]], wrong: Failures, data: bytes) -> None:
    eleven = not release.before(11, 0, 0)
    graph = release.uses_graph(options)
    net = network.shaped(network.network_of(data), options)
    values = network.bind(log, net, options)
    log.info("Starting inference")
    failures.wait_for_go()
    interrupt(wrong)
    for name, text in failures.PROFILE_ERRORS.items():
        if name in wrong and (name != "cuda_graph" or graph):
            log.trt("E", text)
            log.line("E", "Error occurred during inference")
            fail(log)
    if "graph_ignored" in wrong and graph:
        log.line("W", "The CUDA graph capture on the stream has failed.")
        log.line(
            "W",
            "The specified --useCudaGraph flag has been ignored. "
            "The inference will be launched without using CUDA graph launch.",
        )
    log.info("Warmup completed 400 queries over 200 ms", "Timing trace has 20 queries over 3.00117 s", "")
    profiles = "--dumpProfile" in options or "--exportProfile" in options
    if eleven or release.before(8, 4, 0) or not profiles or "--separateProfileRun" in options:
        default = "99" if release.before(8, 5, 0) else "90,95,99"
        percentiles = options.get("--percentile", [default])[-1].split(",")
        transfers = "--includeDataTransfers" in options if eleven else "--noDataTransfers" not in options
        summary(log, percentiles, transfers=transfers)
        if "--exportTimes" in options and "no_timing" not in wrong:
            exports.write(
                options["--exportTimes"][-1], exports.timing_text(release), half="half_timing" in wrong
            )
    else:
        log.info(
            "The e2e network timing is not reported since it is inaccurate due to the extra synchronizations."
        )
    if "--dumpProfile" in options:
        log.info(
            "",
            "=== Profile (1000 iterations ) ===",
            "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer",
        )
        log.info(*(f"      10.00       0.0100       0.0100      20.0   {name}" for name in LAYERS), "")
    if "--exportProfile" in options and "no_profile" not in wrong:
        text = '[\n  { "count" : 0 }\n]\n' if "empty_profile" in wrong else exports.profile_text(release)
        exports.write(options["--exportProfile"][-1], text, half="half_profile" in wrong)
    if "--exportOutput" in options:
        copied = "--includeDataTransfers" in options if eleven else "--noDataTransfers" not in options
        network.export(net, values, options, wrong, copied=copied)
