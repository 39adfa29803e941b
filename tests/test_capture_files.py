"""What a capture leaves: the whole set in every release, its manifest; protection, resuming, moving into place."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from capture_bench import Bench
from fake_trtexec import VERSIONS, calls
from fake_trtexec.kit import COMPLETE
from onnx_bytes import MODEL
from trex_tui.api import load_engine
from trex_tui.artifacts.discover import find_sets
from trex_tui.artifacts.kinds import FileKind
from trex_tui.capture import staging as filing
from trex_tui.errors import TrexError


def manifest_of(bench: Bench, place: str = "net.capture.json") -> dict[str, Any]:
    root: dict[str, Any] = json.loads((bench.outdir / place).read_text(encoding="utf-8"))
    return root


@pytest.fixture
def record(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs of trtexec, from here on."""
    for version in ("10.4.0", "10.16.1"):
        bench.programs(version)
    path = bench.place / "calls"
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(path))
    return path


class TestWhole:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_every_release(self, bench: Bench, version: str) -> None:
        result = bench.capture(version)
        assert result.passed
        assert result.directory == bench.outdir
        assert bench.names() == COMPLETE
        assert sorted(one.name for one in bench.outdir.parent.iterdir()) == ["net"]
        (found,) = find_sets(bench.outdir).sets
        assert found.name == "net"
        assert found.notes == ()
        assert set(found.files) == {
            *(FileKind.GRAPH, FileKind.PROFILE, FileKind.TIMING, FileKind.BUILD_LOG, FileKind.PROFILE_LOG),
            *(FileKind.PLAN, FileKind.MANIFEST),
        }
        engine = load_engine(bench.outdir)
        assert engine.layers["name"].tolist()[:2] == ["conv1 + relu1", "pool1"]
        assert engine.latency_sum_ms == pytest.approx(0.15)
        assert engine.facts.throughput_qps == 2012.22
        assert engine.facts.tensorrt_version == version
        assert result.figures == "median 0.495605 ms, p99 0.500977 ms, 2012.22 qps"

    def test_manifest(self, bench: Bench, record: Path) -> None:
        bench.capture("10.16.1", repeat=2)
        manifest = manifest_of(bench)
        assert manifest["schema"] == "trex-tui/capture/1"
        assert manifest["status"] == "complete"
        assert manifest["trtexec"]["version"] == "10.16.1"
        assert manifest["trtexec"]["build"] == 11
        assert manifest["model"]["sha256"] == hashlib.sha256(MODEL).hexdigest()
        assert [(run["role"], run["number"], run["passed"]) for run in manifest["runs"]] == [
            ("build", 1, True),
            ("profile", 1, True),
            ("profile", 2, True),
        ]
        assert [run["command"][1:] for run in manifest["runs"]] == calls(record)
        assert all(run["exit_code"] == 0 and run["wall_s"] > 0 for run in manifest["runs"])
        files = set(bench.names()) - {"net.capture.json"}
        assert set(manifest["files"]) == files
        for name, entry in manifest["files"].items():
            data = (bench.outdir / name).read_bytes()
            assert entry == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        assert manifest["engine"]["sha256"] == manifest["files"]["net.engine"]["sha256"]
        for moment in ("before", "after"):
            assert manifest["host"][moment]["kernel"]


class TestProtection:
    def test_never_without_force(self, bench: Bench, record: Path) -> None:
        bench.capture()
        before, runs = bench.bytes(), len(calls(record))
        with pytest.raises(TrexError, match="--force"):
            bench.capture()
        assert bench.bytes() == before
        assert len(calls(record)) == runs, "nothing ran"

    def test_with_force_nothing_old_is_left(self, bench: Bench) -> None:
        bench.capture(repeat=3)
        stranger = bench.outdir / "notes.txt"
        stranger.write_text("mine", encoding="utf-8")
        other = bench.outdir / "other.graph.json"
        other.write_text('{"Layers": []}', encoding="utf-8")
        assert bench.capture("10.16.1", force=True).passed
        assert bench.names() == sorted([*COMPLETE, "notes.txt", "other.graph.json"])
        assert manifest_of(bench)["trtexec"]["version"] == "10.16.1"

    def test_measured_again_an_engine_keeps_its_build(self, bench: Bench) -> None:
        bench.capture()
        kept = {name: data for name, data in bench.bytes().items() if "build" in name or name == "net.engine"}
        engine = bench.outdir / "net.engine"
        with pytest.raises(TrexError, match="--force"):
            bench.capture(engine=engine)
        assert bench.capture(engine=engine, force=True, duration_s=7).passed
        assert bench.names() == COMPLETE
        after = bench.bytes()
        assert {name: after[name] for name in kept} == kept
        runs = manifest_of(bench)["runs"]
        assert [(run["role"], run.get("reused", False)) for run in runs] == [
            ("build", True),
            ("profile", False),
        ]
        assert manifest_of(bench)["model"]["path"].endswith("net.onnx")

    def test_moving_fails_half_way(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        bench.capture()
        before = bench.bytes()
        real = filing._move
        count = 0

        def failing(source: Path, target: Path, moved: list[tuple[Path, Path]]) -> None:
            nonlocal count
            count += 1
            if count == 13:
                raise OSError(28, "No space left on device")
            real(source, target, moved)

        monkeypatch.setattr(filing, "_move", failing)
        with pytest.raises(TrexError, match=r"No space left on device; .*net\.failed"):
            bench.capture("10.16.1", force=True)
        after = bench.bytes()
        assert {name: after[name] for name in before} == before, "the old set is back"
        assert {f"net.failed/{name}" for name in COMPLETE} == set(after) - set(before), (
            "the new one is not lost"
        )

    @pytest.mark.parametrize("force", [False, True])
    def test_one_at_a_time_wherever_it_works(self, bench: Bench, force: bool) -> None:
        """The first works beside the target, which did not exist; the second would work in it, where files are by now."""
        refused: list[str] = []

        def begun(_: object) -> None:
            bench.notes.on_progress = lambda _: None
            other = Bench(bench.place, bench.programs)
            assert other.capture(name="two", outdir=bench.outdir).passed
            link = bench.place / "link"
            link.symlink_to(bench.outdir)
            for place in (bench.outdir, link):
                with pytest.raises(
                    TrexError, match=r"another capture of one works in .*/\.net\.one\.partial; "
                ) as caught:
                    other.capture(name="one", outdir=place, force=force)
                refused.append(str(caught.value))

        bench.notes.on_progress = begun
        assert bench.capture(name="one").passed
        assert len(refused) == 2
        assert sorted(one.name for one in find_sets(bench.outdir).sets) == ["one", "two"]
        assert not list(bench.outdir.glob(".*")), "who was refused leaves nothing"

    @pytest.mark.parametrize("force", [False, True])
    def test_a_set_that_came_meanwhile(self, bench: Bench, force: bool) -> None:
        """It stays, unless replacing was allowed; the new one is not lost either."""

        def begun(_: object) -> None:
            bench.outdir.mkdir(exist_ok=True)
            (bench.outdir / "net.graph.json").write_text("theirs", encoding="utf-8")

        bench.notes.on_progress = begun
        if force:
            assert bench.capture(force=True).passed
            assert bench.names() == COMPLETE
            return
        with pytest.raises(
            TrexError, match=r"a set called net by now \(net\.graph\.json\).*is in .*net\.failed"
        ):
            bench.capture()
        assert (bench.outdir / "net.graph.json").read_text(encoding="utf-8") == "theirs"
        assert {f"net.failed/{name}" for name in COMPLETE} == set(bench.bytes()) - {"net.graph.json"}
