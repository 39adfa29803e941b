"""The wheel: what is in it, and what it says of itself."""

from __future__ import annotations

import email
import zipfile

import pytest

from helpers import REPOSITORY

MOST_WHEEL = 1_500_000
"""Bytes, packed."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(REPOSITORY)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(path)


def test_every_file_of_the_package_is_there_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if not name.startswith("trex_tui/samples/")}
    package = REPOSITORY / "src" / "trex_tui"
    files = {
        f"trex_tui/{path.relative_to(package)}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files - names == set()
    rest = {name.split("/", 1)[1] for name in names - files}
    assert rest == {
        "METADATA",
        "WHEEL",
        "RECORD",
        "entry_points.txt",
        "licenses/LICENSE",
    }
    assert "trex_tui/py.typed" in files


def test_the_wheel_stays_small(wheel: zipfile.ZipFile) -> None:
    assert sum(info.compress_size for info in wheel.infolist()) <= MOST_WHEEL


def test_metadata(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    assert metadata["Author"] == "trex-tui contributors"
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL") or [])
    assert urls["Homepage"] == "https://github.com/trex-tui/trex-tui"
    assert set(urls) == {"Homepage", "Documentation", "Issues", "Changelog"}
    classifiers = metadata.get_all("Classifier") or []
    assert "Development Status :: 4 - Beta" in classifiers
    for minor in range(10, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
