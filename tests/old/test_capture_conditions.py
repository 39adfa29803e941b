"""The manifest of a capture where it is read: leniently, into facts, doubts and differences, without acting on its text."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import OLD_SAMPLES, chain, examples, write_graph, write_profile
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.old.analysis.compare import compare
from trex_tui.old.analysis.compare.model import CautionKind
from trex_tui.old.analysis.conditions import (
    ConditionKind,
    capture_document,
    capture_facts,
    differences,
    doubts,
)
from trex_tui.old.artifacts import ArtifactKind, find, scan
from trex_tui.old.artifacts.capture_manifest import NO_GRAPH, SCHEMA, read_capture_manifest
from trex_tui.old.capture.manifest import file_entry
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError, Severity
from trex_tui.old.lint.run import run as run_lint

GPU = {
    "name": "NVIDIA Test GPU",
    "driver": "560.35.03",
    "sm_clock_mhz": 210.0,
    "max_sm_clock_mhz": 1800.0,
    "temperature_c": 44.0,
    "throttle_reasons": [],
    "throttle_counters_us": {"sw_power_cap": 5.0, "hw_thermal_slowdown": None},
}
JETSON = {
    "kernel": "5.15.148-tegra",
    "container": "docker",
    "gpus": [],
    "jetson": {"l4t": "36.4.3", "model": "Jetson AGX Orin", "power_mode": "30W"},
    "gpu_clock": {"current_hz": 612000000, "locked": True},
    "temperatures_c": {"cpu-thermal": 48.0, "gpu-thermal": 50.5},
    "over_current_events": {"oc1_event_cnt": 1},
}


def host(**more: Any) -> dict[str, Any]:
    return {
        "kernel": "6.8.0",
        "container": None,
        "gpus": [{**GPU, **more}],
        "jetson": None,
        "gpu_clock": None,
    }


def manifest(**more: Any) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "trex_tui": "0.1.0",
        "status": "complete",
        "started": "2026-07-07T02:11:26.000+00:00",
        "trtexec": {"version": "10.4.0", "build": 26},
        "model": {},
        "engine": {},
        "runs": [],
        "remarks": [],
        "clocks": None,
        "host": {"before": host(), "after": host(sm_clock_mhz=1790.0, temperature_c=71.0)},
        "files": {},
        **more,
    }


def captured(folder: Path, document: object, name: str = "net") -> Engine:
    """A set with a manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    write_graph(folder / f"{name}.graph.json", chain("one", "two"), ["t0", "t2"])
    write_profile(folder / f"{name}.profile.json", [("one", 1.0), ("two", 2.0)])
    (folder / f"{name}.capture.json").write_text(json.dumps(document), encoding="utf-8")
    return load_engine(folder)


def kinds(engine: Engine) -> list[ConditionKind]:
    return [one.kind for one in doubts(engine)]


class TestOne:
    def test_facts_of_a_desktop(self, tmp_path: Path) -> None:
        engine = captured(tmp_path, manifest())
        assert engine.diagnostics == ()
        assert doubts(engine) == ()
        assert engine.tensorrt_version == "10.4.0"
        assert dict(capture_facts(engine, datetime(2026, 7, 9, 12, tzinfo=timezone.utc))) == {
            "Captured": "2026-07-07 02:11 UTC, 2 days ago, by trex-tui 0.1.0 with trtexec 10.4.0 build 26",
            "Machine": "driver 560.35.03 · Linux 6.8.0",
            "GPU clocks": "not locked by the capture; 210 MHz before, 1790 MHz after, 1800 MHz at most",
            "Throttling": "none between start and end",
            "Temperature": "GPU 44 °C before, 71 °C after",
        }
        assert "ago" not in dict(capture_facts(engine))["Captured"]

    def test_facts_of_a_jetson(self, tmp_path: Path) -> None:
        engine = captured(tmp_path, manifest(host={"before": JETSON, "after": JETSON}))
        told = dict(capture_facts(engine))
        assert (
            told["Machine"]
            == "Jetson AGX Orin · L4T 36.4.3 · power mode 30W · Linux 5.15.148-tegra · in docker"
        )
        assert told["GPU clocks"] == "locked to 612 MHz"
        assert told["Throttling"] == "none between start and end"
        assert told["Temperature"] == "GPU 50 °C before, 50 °C after"

    def test_doubts(self, tmp_path: Path) -> None:
        before = {**JETSON, "gpus": [GPU]}
        after = {
            **JETSON,
            "gpus": [{**GPU, "throttle_counters_us": {"sw_power_cap": 90.0}, "throttle_reasons": ["hardware thermal"]}],
            "jetson": {**JETSON["jetson"], "power_mode": "15W"},
        }  # fmt: skip
        runs = [
            {"role": "profile", "passed": False, "failure": "cuda_graph"},
            {"role": "profile", "passed": True, "failure": None},
        ]
        engine = captured(
            tmp_path,
            manifest(
                host={"before": before, "after": after},
                runs=runs,
                remarks=[
                    NO_GRAPH,
                    "the GPU was throttled: sw power cap, hardware thermal",
                    "Something else.",
                ],
            ),
        )
        assert [one.text for one in doubts(engine)] == [
            "the GPU was throttled: sw power cap, hardware thermal",
            "the power mode changed from 30W to 15W meanwhile",
            NO_GRAPH,
            "Something else",
        ]
        assert kinds(engine) == [
            ConditionKind.THROTTLED,
            ConditionKind.POWER_MODE,
            ConditionKind.CUDA_GRAPH,
            ConditionKind.OTHER,
        ]
        document = capture_document(engine)
        assert document is not None
        assert document["without_cuda_graph"] is True
        assert document["clocks_locked"] is True

    def test_without_a_manifest_nothing_is_said(self, tmp_path: Path) -> None:
        engine = captured(tmp_path, manifest())
        (tmp_path / "net.capture.json").unlink()
        engine = load_engine(tmp_path)
        assert (capture_facts(engine), doubts(engine), capture_document(engine)) == ([], (), None)

    def test_changed_files(self, tmp_path: Path) -> None:
        captured(tmp_path, manifest())
        files = {path.name: file_entry(path) for path in tmp_path.iterdir()}
        files["gone.log"] = {"bytes": 3, "sha256": "0"}
        assert not captured(tmp_path, manifest(files=files)).capture.changed
        path = tmp_path / "net.profile.json"
        path.write_text(path.read_text(encoding="utf-8").replace("2.0", "1.9"), encoding="utf-8")
        engine = load_engine(tmp_path)
        assert engine.capture.changed == ("net.profile.json",), "same size, other content"
        (tmp_path / "net.graph.json").write_text(
            (tmp_path / "net.graph.json").read_text(encoding="utf-8") + "\n", encoding="utf-8"
        )
        assert [one.text for one in doubts(load_engine(tmp_path))] == [
            "changed since the capture: net.graph.json, net.profile.json"
        ]

    def test_throttled_is_a_finding(self, tmp_path: Path) -> None:
        after = host(throttle_counters_us={"sw_power_cap": 9.0})
        engine = captured(tmp_path, manifest(host={"before": host(), "after": after}))
        found = [one for one in run_lint(engine).findings if "throttled" in one.finding.message]
        assert [one.rule.id for one in found] == ["MEASURE004"]


@pytest.fixture(scope="module")
def sample() -> Engine:
    return load_engine(OLD_SAMPLES / "alexnet")


class TestReading:
    def test_wrong_types_cost_a_note(self, tmp_path: Path) -> None:
        odd = manifest(host=[1], files="x", runs={}, remarks=7, clocks=[], trtexec=None, started=5, status={})
        engine = captured(tmp_path, odd)
        assert {one.where for one in engine.diagnostics} == {"host", "files", "runs", "remarks", "clocks"}
        assert all(one.severity is Severity.WARNING for one in engine.diagnostics)
        assert dict(capture_facts(engine)) == {
            "Captured": "at an unknown time, by trex-tui 0.1.0",
            "GPU clocks": "unknown",
            "Throttling": "unknown: no machine state before and after",
        }

    def test_a_broken_one_costs_itself(self, tmp_path: Path) -> None:
        captured(tmp_path, manifest())
        path = tmp_path / "net.capture.json"
        path.write_text(path.read_text(encoding="utf-8")[:200], encoding="utf-8")
        engine = load_engine(tmp_path)
        assert engine.capture is None
        assert [one.file for one in engine.diagnostics] == [path]
        assert len(engine.layers) == 2

    def test_another_version_is_read(self, tmp_path: Path) -> None:
        engine = captured(tmp_path, manifest(schema="trex-tui/capture/9"))
        assert [one.severity for one in engine.diagnostics] == [Severity.INFO]
        assert engine.capture.trtexec_version == "10.4.0"

    def test_no_object(self, tmp_path: Path) -> None:
        path = tmp_path / "a.capture.json"
        path.write_text("[]", encoding="utf-8")
        with pytest.raises(ArtifactError, match="is not a capture manifest"):
            read_capture_manifest(path)

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )

    @settings(max_examples=examples(60))
    @given(data=st.data())
    def test_anything_is_read(
        self, data: st.DataObject, sample: Engine, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        # A copy: what is drawn must not get into the values that other tests share.
        root: Any = deepcopy(manifest(host={"before": {**JETSON, "gpus": [GPU]}, "after": host()}))
        place, key = root, data.draw(st.sampled_from(sorted(root)))
        while isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
            place = place[key]
            key = data.draw(st.sampled_from(sorted(place)))
        place[key] = data.draw(self.json_values)
        path = tmp_path_factory.getbasetemp() / "any.capture.json"
        path.write_text(json.dumps(root), encoding="utf-8")
        read = read_capture_manifest(path, [path])
        engine = replace(sample, capture=read)
        json.dumps(capture_document(engine))
        assert capture_facts(engine, datetime(2026, 8, 1, tzinfo=timezone.utc))
        list(differences((engine, sample), ("a", "b")))
        assert all(one.text for one in doubts(engine))


class TestFinding:
    def test_it_is_part_of_its_set_and_opens_it(self, tmp_path: Path) -> None:
        captured(tmp_path, manifest())
        (found,) = find(tmp_path)
        assert found.files[ArtifactKind.MANIFEST] == tmp_path / "net.capture.json"
        (named,) = find(tmp_path / "net.capture.json")
        assert named.files == found.files

    def test_that_of_another_set_is_left_alone(self, tmp_path: Path) -> None:
        captured(tmp_path, manifest())
        (tmp_path / "net.capture.json").rename(tmp_path / "other.capture.json")
        (found,) = scan(tmp_path).sets
        assert ArtifactKind.MANIFEST not in found.files
        assert ["matches no set" in one.message for one in found.diagnostics] == [True]

    def test_further_runs_have_it_too(self, tmp_path: Path) -> None:
        captured(tmp_path, manifest())
        again = tmp_path / "net.repeat-2"
        captured(again, manifest())
        (again / "net.capture.json").unlink()
        files = {"net.repeat-2/net.graph.json": {"bytes": 1}, "net.graph.json": {}}
        (tmp_path / "net.capture.json").write_text(json.dumps(manifest(files=files)), encoding="utf-8")
        engine = load_engine(again)
        assert engine.files[ArtifactKind.MANIFEST] == tmp_path / "net.capture.json"
        assert [Path(one) for one in engine.capture.changed] == [Path("net.repeat-2/net.graph.json")]


class TestTwo:
    def test_cautions(self, tmp_path: Path) -> None:
        lock = {"asked": "1500", "target_mhz": 1500, "locked": True, "released": True}
        throttled = host(driver="570.1", throttle_reasons=["power cap"]) | {"container": "docker"}
        engines = [
            captured(tmp_path / "a", manifest(), "a"),
            captured(
                tmp_path / "b",
                manifest(
                    clocks=lock,
                    started="2026-02-12T00:00:00Z",
                    host={"before": host(driver="570.1") | {"container": "docker"}, "after": throttled},
                ),
                "b",
            ),
        ]
        found = compare(engines).cautions
        assert [(one.kind, one.engine, one.text) for one in found] == [
            (CautionKind.THROTTLED, 1, "b: the GPU was throttled: power cap."),
            (
                CautionKind.CLOCKS,
                1,
                "Different clocks of the GPU: locked to 1500 MHz for b, not locked by the capture for a.",
            ),
            (CautionKind.DRIVER, 1, "Different drivers: b ran with 570.1, a with 560.35.03."),
            (
                CautionKind.CAPTURE,
                1,
                "Different environments: b ran in docker, a outside of containers.",
            ),
            (CautionKind.CAPTURE, 1, "The captures of b and a are 146 days apart."),
        ]

    def test_power_modes(self, tmp_path: Path) -> None:
        other = {**JETSON, "jetson": {**JETSON["jetson"], "power_mode": "MAXN", "l4t": None}}
        pair = tuple(
            captured(tmp_path / name, manifest(host={"before": state, "after": state}), name)
            for name, state in (("a", JETSON), ("b", other))
        )
        assert [one.text for one in differences(pair, ("a", "b"))] == [
            "different power modes: a ran with 30W, b with MAXN"
        ], "an unknown L4T is no difference"


def test_text_is_never_acted_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07[red]{0}\n<b>"
    state = {**JETSON, "kernel": evil, "jetson": {"l4t": evil, "model": evil, "power_mode": evil}}
    calm = {**JETSON, "jetson": {**JETSON["jetson"], "power_mode": "25W"}}
    captured(
        tmp_path / "a", manifest(remarks=[evil], host={"before": state, "after": calm}, trex_tui=evil), "a"
    )
    captured(tmp_path / "b", manifest(host={"before": calm, "after": calm}), "b")
    for command in (["summary", str(tmp_path / "a")], ["diff", str(tmp_path / "a"), str(tmp_path / "b")]):
        assert main(command) == 0
        out = capsys.readouterr().out
        assert "owned" in out
        assert "\x1b" not in out
        assert "\x07" not in out
