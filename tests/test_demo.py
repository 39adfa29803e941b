"""`trex-tui demo`: samples without a clone."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from trex_tui.__main__ import main

REPOSITORY = Path(__file__).parents[1]
SETS = ["alexnet", "resnet18", "resnet-a100/fp16", "resnet-a100/qat", "resnet-a100/qat-residual", "damaged"]
LEFT_OUT = ["alexnet", "resnet18", "resnet-a100/qat-residual"]
MOST_BYTES = 400_000


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[zipfile.ZipInfo]:
    """The samples in a wheel of this tree."""
    builders = pytest.importorskip("hatchling.builders.wheel")
    folder = tmp_path_factory.mktemp("wheel")
    (path,) = builders.WheelBuilder(str(REPOSITORY)).build(directory=str(folder), versions=["standard"])
    with zipfile.ZipFile(path) as wheel:
        return [info for info in wheel.infolist() if info.filename.startswith("trex_tui/samples/")]


def test_path_has_the_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["demo", "--path"]) == 0
    path = Path(capsys.readouterr().out.strip())
    for folder in SETS:
        assert main(["layers", str(path / folder)]) == 0
        assert capsys.readouterr().out.count("\n") > 10
    assert main(["summary", str(path / "damaged"), "--strict"]) == 2


def test_wheel_has_the_samples_but_the_longest_files(samples: list[zipfile.ZipInfo]) -> None:
    folder = REPOSITORY / "sample_artifacts"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    left_out = {
        path for path in files if path.endswith(".timing.json") and path.rsplit("/", 1)[0] in LEFT_OUT
    }
    assert {info.filename.removeprefix("trex_tui/samples/") for info in samples} == files - left_out
    assert sum(info.compress_size for info in samples) <= MOST_BYTES
