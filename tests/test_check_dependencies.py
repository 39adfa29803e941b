"""The script that looks at our dependencies, without a network: what it makes of the registry's answers."""

from __future__ import annotations

import runpy
import sys
from typing import Any

import pytest

from helpers import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "scripts"))

packaging = pytest.importorskip("packaging.requirements")
import check_dependencies as script  # noqa: E402

Requirement = packaging.Requirement
OLD, NEW = (3, 10), (3, 13)


def file(name: str, python: str | None = None, *, yanked: bool = False) -> dict[str, Any]:
    """A file as the registry describes it, of its fields those that matter."""
    kind = "sdist" if name.endswith(".tar.gz") else "bdist_wheel"
    return {"filename": name, "requires_python": python, "yanked": yanked, "packagetype": kind}


def package(
    newest: str, releases: dict[str, list[dict[str, Any]]], requires: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {"info": {"version": newest, "requires_dist": list(requires)}, "releases": releases}


REGISTRY = {
    "fast": package(
        "3.0",
        {
            "1.0": [file("fast-1.0.tar.gz")],
            "2.0": [
                file("fast-2.0-cp310-cp310-manylinux_2_17_x86_64.whl", ">=3.10"),
                file("fast-2.0-cp310-cp310-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", ">=3.10"),
                file("fast-2.0.tar.gz", ">=3.10"),
            ],
            "2.1": [file("fast-2.1-cp310-cp310-manylinux_2_17_x86_64.whl", ">=3.10")],  # nothing for a board
            "2.2": [file("fast-2.2-py3-none-any.whl", yanked=True)],
            "3.0": [
                file("fast-3.0-cp311-abi3-manylinux_2_28_aarch64.whl", ">=3.11"),
                file("fast-3.0.tar.gz", ">=3.11"),
            ],
            "4.0rc1": [file("fast-4.0rc1-py3-none-any.whl")],
            "not-a-version": [file("fast-x.tar.gz")],
        },
        ("pure>=1", "windows-only; sys_platform == 'win32'", "extra-one; extra == 'more'", "no requirement!"),
    ),
    "pure": package("1.5", {"1.5": [file("pure-1.5-py2.py3-none-any.whl")]}),
    "extra-one": package(
        "0.9",
        {"0.9": [file("extra_one-0.9.tar.gz"), file("extra_one-0.9-cp313-cp313-musllinux_1_2_aarch64.whl")]},
    ),
}


def fetch(place: str) -> dict[str, Any]:
    if place not in REGISTRY:
        raise OSError(f"{place}: not found")
    return REGISTRY[place]


def chosen(text: str, python: tuple[int, int]) -> dict[str, tuple[str, str | None, bool]]:
    found = script.closure([Requirement(text)], python, fetch)
    return {one.name: (one.version, one.wheel, one.is_exact) for one in found}


def test_newest_version_with_a_file_for_the_board() -> None:
    assert chosen("fast>=1", OLD) == {
        "fast": ("2.0", "fast-2.0-cp310-cp310-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", False),
        "pure": ("1.5", "pure-1.5-py2.py3-none-any.whl", True),
    }
    assert chosen("fast>=1", NEW)["fast"] == ("3.0", "fast-3.0-cp311-abi3-manylinux_2_28_aarch64.whl", True)


def test_what_would_be_compiled() -> None:
    assert chosen("fast<2", NEW)["fast"] == ("1.0", None, False)
    assert chosen("fast[more]", NEW)["extra-one"] == ("0.9", None, True)  # musl is another C library


def test_markers_and_nothing_to_be_had() -> None:
    assert chosen("fast; python_version < '3.11'", NEW) == {}
    with pytest.raises(LookupError, match=r"no version for Python 3\.13"):
        chosen("fast>=9", NEW)
    with pytest.raises(OSError, match="absent"):
        chosen("absent", NEW)


def test_lower_bounds_of_the_project() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    requirements = script.our_requirements(script.tomllib.loads(text), script.FOR_USERS)
    lines = script.constraints(requirements)
    assert len(lines) == len(requirements) >= 13
    assert all("==" in line for line in lines)
    assert script.constraints(
        [Requirement("a>=2.0.1,<3"), Requirement("b~=1.4; python_version < '3.11'")]
    ) == [
        "a==2.0.1",
        'b==1.4; python_version < "3.11"',
    ]
    with pytest.raises(ValueError, match="no lower bound"):
        script.constraints([Requirement("a<3")])


def test_known_weaknesses() -> None:
    answer = {
        "vulnerabilities": [
            {"id": "PYSEC-1", "summary": "It\nleaks", "fixed_in": ["1.2", "2.0"]},
            {"id": "PYSEC-2", "details": "x" * 200, "fixed_in": []},
            {"id": "PYSEC-3", "summary": "was none", "withdrawn": "2025-01-01T00:00:00Z"},
        ]
    }
    assert script.weaknesses(answer) == {
        "PYSEC-1": "It leaks (mended in 1.2, 2.0)",
        "PYSEC-2": f"{'x' * 80} (mended in no version)",
    }
    assert script.weaknesses({}) == {}


def test_an_older_python_has_nothing_to_resolve() -> None:
    """pip tries dependencies first, and would report their versions in place of the Python that it takes."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    project = script.tomllib.loads(text)["project"]
    assert project["requires-python"] == ">=3.10"
    requirements = [Requirement(text) for text in project["dependencies"]]
    assert [str(one) for one in requirements if one.marker is None] == []
    for version in ("3.6", "3.8", "3.9"):
        assert not [one.name for one in requirements if one.marker.evaluate({"python_version": version})]
    needed = [one.name for one in requirements if one.marker.evaluate({"python_version": "3.12"})]
    assert {"textual", "pandas", "numpy"} <= set(needed)


def test_an_older_python_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.version_info", (3, 9, 18))
    with pytest.raises(SystemExit, match=r"trex-tui needs Python 3\.10 or later"):
        runpy.run_path(str(REPOSITORY / "setup.py"))
