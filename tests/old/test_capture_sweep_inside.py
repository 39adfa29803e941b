"""`capture --sweep`: planned as a matrix, each engine built once, resumed, and summed up in one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trex_tui import TrexError
from trex_tui.old.capture.options import CaptureOptions, OptimizationProfile
from trex_tui.old.capture.run import CaptureRequest
from trex_tui.old.capture.sweep import parse_axis, plan_points
from trex_tui.old.report.views.sweep import SweepRow, find_best, next_commands


def points(axes: list[str], **options: Any) -> dict[str, CaptureOptions]:
    """Name -> options of each point."""
    fields = {"onnx": "net.onnx", **options}
    request = CaptureRequest(CaptureOptions(**fields), Path("out"), "net")
    planned = plan_points(request, [parse_axis(text) for text in axes])
    assert [point.request.outdir for point in planned] == [Path("out", point.name) for point in planned]
    return {point.name: point.request.options for point in planned}


class TestPlan:
    def test_precisions(self) -> None:
        planned = points(["fp32,fp16+int8,best"])
        assert list(planned) == ["fp32", "fp16+int8", "best"]
        assert [options.precisions for options in planned.values()] == [(), ("fp16", "int8"), ()]
        assert [options.best for options in planned.values()] == [False, False, True]

    def test_options(self) -> None:
        planned = points(["useCudaGraph=on,off", "--avgTiming=4,8", "useDLACore=0"])
        assert list(planned) == [
            f"useCudaGraph-{graph}_avgTiming{timing}_useDLACore0"
            for graph in ("on", "off")
            for timing in (4, 8)
        ]
        words = [[flag.word for flag in options.swept] for options in planned.values()]
        assert words[1:3] == [["--useCudaGraph", "--avgTiming=8"], ["", "--avgTiming=4"]]
        assert {options.dla for options in planned.values()} == {0}

    @pytest.mark.parametrize(
        ("options", "shapes"),
        [
            ({"shapes": "x:1x3,y:1"}, "x:4x3,y:4"),
            ({"min_shapes": "x:1x3,y:2", "opt_shapes": "x:2x5,y:2", "max_shapes": "x:8x9,y:2"}, "x:4x5,y:2"),
            ({"min_shapes": "x:1x3", "max_shapes": "x:8x9", "shapes": "x:1x7"}, "x:4x7"),
            (
                {
                    "profiles": (
                        OptimizationProfile("x:1x3", "x:1x3", "x:1x3"),
                        OptimizationProfile("x:2x3", "x:3x3", "x:4x3"),
                    ),
                    "profile_index": 1,
                },
                "x:4x3",
            ),
            ({"onnx": None, "engine": "net.engine", "shapes": "a:b:1x3"}, "a:b:4x3"),
        ],
    )
    def test_batch(self, options: dict[str, Any], shapes: str) -> None:
        assert points(["batch=4"], **options)["batch4"].shapes == shapes

    @pytest.mark.parametrize(
        ("axes", "options", "message"),
        [
            (["fp17"], {}, "fp17: not a precision; choose fp32, fp16"),
            (["fp32+int8"], {}, "not a precision"),
            (["fp16,"], {}, "empty"),
            (["batch=1,1"], {}, "1 is repeated"),
            (["batch=0"], {"shapes": "x:1x3"}, "not a whole number"),
            (["batch=a"], {"shapes": "x:1x3"}, "not a whole number"),
            (["a b=1"], {}, "not a trtexec option"),
            (["saveEngine=a,b"], {}, "capture sets --saveEngine"),
            (["minShapes=x:1"], {}, "only the batch of the shapes"),
            (["calib=a,b"], {}, "takes files"),
            (["device=0,1"], {}, "one capture for each GPU"),
            (["fp16", "int8"], {}, "precision: given twice"),
            (["fp16"], {"precisions": ("int8",)}, "--int8 and --sweep fp16"),
            (["fp16"], {"onnx": None, "engine": "e"}, "only for builds"),
            (["useDLACore=0"], {"dla": 1}, "--dla and --sweep useDLACore"),
            (["batch=8"], {}, "shapes of the inputs are unknown; add --shapes"),
            (["batch=8"], {"shapes": "x:ax3"}, "x:ax3 is not a shape"),
            (["batch=8"], {"shapes": "x:1x3,y:2"}, "differ in the first dimension"),
            (["batch=9"], {"min_shapes": "x:1x3", "max_shapes": "x:8x3"}, "x takes 1 to 8"),
            (["batch=1"], {"min_shapes": "x:1x3", "max_shapes": "x:1x9"}, "no input changes its first"),
            (["preview=a:b,a/b"], {}, "same directory name"),
            ([f"maxTactics={','.join(map(str, range(501)))}"], {}, "more than 500 points"),
            ([f"preview={'a' * 200}"], {}, "too long"),
        ],
    )
    def test_refused(self, axes: list[str], options: dict[str, Any], message: str) -> None:
        with pytest.raises(TrexError) as error:
            points(axes, **options)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_best() -> None:
    row = SweepRow("", "a", {}, Path("out/a"), "complete", median_ms=2.0, per_sample_ms=2.0)
    other = replace(row, name="b", directory=Path("out/b"), median_ms=4.0, per_sample_ms=0.5)
    failed = SweepRow("", "c", {}, Path("out/c"), "failed")
    assert find_best([row, other, failed]) == {0: ["median"], 1: ["per sample"]}
    assert find_best([row, row, failed]) == {}
    assert next_commands([failed, row, other], Path("out")) == [
        ["trex-tui", "out"],
        ["trex-tui", "diff", "out/a", "out/b"],
    ]
