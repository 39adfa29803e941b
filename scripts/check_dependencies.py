"""Checks of what we depend on, against the registry and by installing it. Needs a network; no test runs the whole of it.

    python scripts/check_dependencies.py wheels      a wheel for aarch64 Linux of everything, on the oldest and newest Python
    python scripts/check_dependencies.py audit       known weaknesses of the versions that are allowed
    python scripts/check_dependencies.py lowest --python python3.10 [-- PYTEST ARGUMENT ...]
    python scripts/check_dependencies.py newest --python python3.13 [-- PYTEST ARGUMENT ...]

`wheels` follows each requirement, extra and what they require in turn, taking the newest version that the requirement and the
Python allow, as pip does where nothing conflicts. `audit` looks at these and at the lowest versions that we allow: at OSV
(api.osv.dev), or, where that cannot be reached, at the registry's own copy of its entries. `lowest` and `newest` install into
a fresh virtual environment, the first with each of our requirements at its lower bound, and run the quick part of the suite.
Exit code 1 where something is missing, weak or fails.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
REGISTRY, OSV = "https://pypi.org/pypi", "https://api.osv.dev/v1/querybatch"
OLDEST, NEWEST = (3, 10), (3, 13)
FOR_USERS = ("web", "onnx", "parquet", "xlsx", "accuracy")
"""Extras that a board may want; the others are for those who work on the program."""
GLIBC = 35
"""2.35: Ubuntu 22.04, which JetPack 6 is."""
QUICK = ("-q", "-m", "not terminal and not screens and not sshd")
TIMEOUT_S = 60
Metadata = Mapping[str, Any]
Fetch = Callable[[str], Metadata]
Package = tuple[str, str]
"""Name and version."""


@dataclass(frozen=True)
class Choice:
    """A version of a package for one Python.

    Attributes:
        wheel: The file for aarch64; None if there is none, so that it would be compiled there.
        requires: What it requires on that machine.
        is_exact: False if `requires` is what the newest version requires, as nobody tells it of this one.
    """

    name: str
    version: str
    wheel: str | None
    requires: tuple[Requirement, ...] = ()
    is_exact: bool = True


def our_requirements(project: Metadata, extras: Iterable[str]) -> list[Requirement]:
    """Dependencies and those of extras, from a parsed pyproject.toml."""
    table = project["project"]
    texts = [
        *table["dependencies"],
        *(one for extra in extras for one in table["optional-dependencies"][extra]),
    ]
    return [one for one in map(Requirement, texts) if one.name != table["name"]]


def lowest_of(requirement: Requirement) -> str:
    """The version of its lower bound.

    Raises:
        ValueError: It has none.
    """
    bounds = [Version(one.version) for one in requirement.specifier if one.operator in (">=", "==", "~=")]
    if not bounds:
        raise ValueError(f"{requirement}: no lower bound")
    return str(max(bounds))


def constraints(requirements: Iterable[Requirement]) -> list[str]:
    """Lines of a constraints file that hold each requirement at its lower bound."""
    return [
        f"{one.name}=={lowest_of(one)}" + (f"; {one.marker}" if one.marker else "") for one in requirements
    ]


def environment(python: tuple[int, int], extra: str = "") -> dict[str, str]:
    """What markers see on a board."""
    version = ".".join(map(str, python))
    return {
        "python_version": version,
        "python_full_version": f"{version}.0",
        "os_name": "posix",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "aarch64",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": extra,
    }


@cache
def board_tags(python: tuple[int, int]) -> frozenset[Tag]:
    """Tags of the wheels that an aarch64 board with glibc installs."""
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in range(GLIBC, 16, -1)]
    platforms += ["manylinux2014_aarch64", "linux_aarch64"]
    interpreter = f"cp{python[0]}{python[1]}"
    return frozenset(
        [*cpython_tags(python, platforms=platforms), *compatible_tags(python, interpreter, platforms)]
    )


def suited_wheel(files: Iterable[Metadata], python: tuple[int, int]) -> str | None:
    """The first of the files of a version that a board can install without compiling."""
    for one in files:
        try:
            _, _, _, tags = parse_wheel_filename(one["filename"])
        except InvalidWheelFilename:
            continue
        if not one.get("yanked") and tags & board_tags(python):
            return str(one["filename"])
    return None


def candidates(metadata: Metadata, specifier: SpecifierSet, python: tuple[int, int]) -> Iterator[str]:
    """Versions of a package (`releases` of the registry's JSON) that a board can install, or compile, the newest first."""
    found = []
    for text, files in metadata["releases"].items():
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        allowed = [one for one in files if _admits(one, python)]
        is_there = any(one["packagetype"] == "sdist" for one in allowed) or suited_wheel(allowed, python)
        if version in specifier and not version.is_prerelease and is_there:
            found.append((version, text))
    yield from (text for _, text in sorted(found, reverse=True))


def _admits(file: Metadata, python: tuple[int, int]) -> bool:
    try:
        wanted = SpecifierSet(file.get("requires_python") or "")
    except InvalidSpecifier:
        return True
    return not file.get("yanked") and f"{python[0]}.{python[1]}.99" in wanted


def requirements_of(
    texts: Iterable[str], extras: Iterable[str], python: tuple[int, int]
) -> tuple[Requirement, ...]:
    """What a version requires on a board (`Requires-Dist` of its metadata), for the extras that are asked of it."""
    found = []
    for text in texts:
        try:
            one = Requirement(text)
        except InvalidRequirement:
            continue
        asked = ("", *extras)
        if one.marker is None or any(one.marker.evaluate(environment(python, extra)) for extra in asked):
            found.append(one)
    return tuple(found)


def choose(requirement: Requirement, python: tuple[int, int], fetch: Fetch) -> Choice:
    """The newest version that is allowed, and its wheel.

    Raises:
        LookupError: No version is allowed on that Python.
    """
    name = canonicalize_name(requirement.name)
    metadata = fetch(name)
    version = next(candidates(metadata, requirement.specifier, python), None)
    if version is None:
        raise LookupError(f"{requirement}: no version for Python {python[0]}.{python[1]}")
    wheel = suited_wheel(metadata["releases"][version], python)
    info, is_exact = _info_of(name, version, metadata, fetch)
    requires = requirements_of(info.get("requires_dist") or (), requirement.extras, python)
    return Choice(name, version, wheel, requires, is_exact)


def _info_of(name: str, version: str, metadata: Metadata, fetch: Fetch) -> tuple[Metadata, bool]:
    """What a version says of itself; where a mirror has no pages of older versions, what the newest says."""
    newest: Metadata = metadata["info"]
    if newest["version"] == version:
        return newest, True
    try:
        return fetch(f"{name}/{version}")["info"], True
    except OSError:
        return newest, False


def closure(wanted: Iterable[Requirement], python: tuple[int, int], fetch: Fetch) -> list[Choice]:
    """Everything that would be installed, by name. Where two ask for the same package, both bounds hold."""
    bounds: dict[str, SpecifierSet] = {}
    chosen: dict[str, Choice] = {}
    queue = [one for one in wanted if one.marker is None or one.marker.evaluate(environment(python))]
    while queue:
        one = queue.pop(0)
        name = canonicalize_name(one.name)
        bound = bounds.get(name, SpecifierSet()) & one.specifier
        if name in chosen and bound == bounds[name] and not one.extras:
            continue
        bounds[name] = one.specifier = bound
        chosen[name] = choose(one, python, fetch)
        queue += chosen[name].requires
    return [chosen[name] for name in sorted(chosen)]


@cache
def fetched(place: str) -> Metadata:
    """The registry's JSON of `NAME` or `NAME/VERSION`.

    Raises:
        OSError: It cannot be reached, or has no such thing; the message tells what.
    """
    url = f"{REGISTRY}/{place}/json"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            found: Metadata = json.load(answer)
    except OSError as error:
        raise OSError(f"{url}: {error}") from error
    return found


def weaknesses(metadata: Metadata) -> dict[str, str]:
    """Id -> what it is and where it is mended, of one version (`vulnerabilities` of the registry's JSON)."""
    return {
        one["id"]: f"{one.get('summary') or (one.get('details') or '')[:80]} (mended in "
        f"{', '.join(one.get('fixed_in') or ()) or 'no version'})".replace("\n", " ")
        for one in metadata.get("vulnerabilities") or ()
        if not one.get("withdrawn")
    }


def registry_weaknesses(packages: Iterable[Package]) -> dict[Package, dict[str, str] | None]:
    """The same of many; None where the registry does not tell, as some mirrors of older versions."""
    found: dict[Package, dict[str, str] | None] = {}
    for name, version in packages:
        try:
            metadata = fetched(name)
            if metadata["info"]["version"] != version:
                metadata = fetched(f"{name}/{version}")
            found[name, version] = weaknesses(metadata)
        except OSError:
            found[name, version] = None
    return found


def osv_weaknesses(packages: Iterable[Package]) -> dict[Package, dict[str, str] | None]:
    """The same from OSV, which knows new ones first.

    Raises:
        OSError: It cannot be reached.
    """
    asked = list(packages)
    queries = [
        {"version": version, "package": {"name": name, "ecosystem": "PyPI"}} for name, version in asked
    ]
    request = urllib.request.Request(
        OSV, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        results = json.load(answer)["results"]
    return {
        package: {entry["id"]: f"https://osv.dev/{entry['id']}" for entry in one.get("vulns", ())}
        for package, one in zip(asked, results, strict=True)
    }


def check_wheels(project: Metadata) -> int:
    """Print a line for each package and Python; count what has no wheel."""
    missing = 0
    for python in (OLDEST, NEWEST):
        for choice in closure(our_requirements(project, FOR_USERS), python, fetched):
            missing += choice.wheel is None
            words = choice.wheel or "NO WHEEL for aarch64"
            words += "" if choice.is_exact else " (what it requires: as of the newest version)"
            print(f"{python[0]}.{python[1]}  {choice.name} {choice.version}: {words}")
    print(f"without a wheel: {missing}")
    return missing


def check_weaknesses(project: Metadata) -> int:
    """Print what is known of the newest and the lowest versions that are allowed; count those of the newest."""
    ours = our_requirements(project, FOR_USERS)
    newest = {
        (one.name, one.version) for python in (OLDEST, NEWEST) for one in closure(ours, python, fetched)
    }
    lowest = {(canonicalize_name(one.name), lowest_of(one)) for one in ours}
    packages = sorted(newest | lowest)
    try:
        found = osv_weaknesses(packages)
        print("asked: OSV")
    except OSError as error:
        print(f"OSV cannot be reached ({error}); asked: the registry's copy of its entries")
        found = registry_weaknesses(packages)
    for package in packages:
        which = "newest" if package in newest else "lowest allowed"
        if found[package] is None:
            print(f"{' '.join(package)} ({which}): NOT TOLD")
        for key, words in (found[package] or {}).items():
            print(f"{' '.join(package)} ({which}): {key}: {words}")
    count = sum(len(found[one] or ()) for one in newest)
    told = [one for one in packages if found[one] is not None]
    print(f"told: {len(told)} of {len(packages)} versions; known weaknesses of the newest: {count}")
    return count


def run_suite(project: Metadata, python: str, arguments: list[str], *, lowest: bool) -> int:
    """Install into a fresh environment and run the quick part of the suite; its exit code."""
    with tempfile.TemporaryDirectory(prefix="trex-tui-dependencies-") as directory:
        place = Path(directory)
        program = str(place / "venv" / "bin" / "python")
        subprocess.run([python, "-m", "venv", str(place / "venv")], check=True)
        held = place / "constraints.txt"
        held.write_text("\n".join(constraints(our_requirements(project, FOR_USERS))) if lowest else "")
        pip = [program, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "-c", str(held), "--editable", f"{ROOT}[test]"], check=True)
        subprocess.run([*pip, "freeze", "--exclude-editable"], check=True)
        return subprocess.run([program, "-m", "pytest", *QUICK, *arguments], cwd=ROOT, check=False).returncode


def main() -> int:
    """Do what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("check", choices=("wheels", "audit", "lowest", "newest"))
    parser.add_argument("--python", default=sys.executable, help="for lowest and newest; default: this one")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:end])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    try:
        if options.check in ("wheels", "audit"):
            check = check_wheels if options.check == "wheels" else check_weaknesses
            return 1 if check(project) else 0
        lowest = options.check == "lowest"
        return run_suite(project, options.python, sys.argv[end + 1 :], lowest=lowest)
    except (OSError, LookupError, subprocess.CalledProcessError) as error:
        print(f"{options.check}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
