"""Check the dependencies with pip and pip-audit, at the package index that pip is configured for. Needs a network.

    python scripts/check_dependencies.py wheels      wheels for aarch64 Linux of everything, on the oldest and newest Python
    python scripts/check_dependencies.py audit       known vulnerabilities: of what is installed, and of the lower bounds
    python scripts/check_dependencies.py lowest [--python python3.10] [-- PYTEST ARGUMENT ...]
    python scripts/check_dependencies.py newest [--python python3.14] [-- PYTEST ARGUMENT ...]

`lowest` and `newest` install into a fresh environment, the first with each requirement at its lower bound, and run the quick
part of the suite. The exit code is that of pip, pip-audit or pytest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.14")
EXTRAS = ("onnx", "parquet", "xlsx", "accuracy", "mcp")
"""For users; the others are for those who work on the program."""
PLATFORMS = (
    "manylinux_2_35_aarch64",
    "manylinux_2_28_aarch64",
    "manylinux_2_17_aarch64",
    "manylinux2014_aarch64",
)
"""Ubuntu 22.04, which JetPack 6 is, has glibc 2.35."""
QUICK = ("-q", "-m", "not terminal and not screens and not sshd")


def lower_bounds(extras: Iterable[str] = EXTRAS) -> list[str]:
    """Return `name==version` for each requirement: pins for pip."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [
        *table["dependencies"],
        *(text for extra in extras for text in table["optional-dependencies"][extra]),
    ]
    pins = []
    for requirement in map(Requirement, texts):
        (lowest,) = (bound.version for bound in requirement.specifier if bound.operator == ">=")
        marker = f"; {requirement.marker}" if requirement.marker else ""
        pins.append(f"{requirement.name}=={lowest}{marker}")
    return pins


def _run(*words: str | Path) -> int:
    print("$", *words, flush=True)
    return subprocess.run(list(map(str, words)), cwd=ROOT, check=False).returncode


def check_wheels(directory: Path) -> int:
    """Let pip resolve the program with all extras for a board, without compiling anything."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    if code := _run(*pip, "wheel", "--no-deps", "--wheel-dir", directory, ROOT):
        return code
    (wheel,) = directory.glob("*.whl")
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    codes = [
        _run(
            *(*pip, "install", "--dry-run", "--ignore-installed", "--target", directory / "none"),
            *("--only-binary=:all:", "--implementation", "cp", "--python-version", python, *platforms),
            f"{wheel}[{','.join(EXTRAS)}]",
        )
        for python in PYTHONS
    ]
    return max(codes)


def audit(directory: Path) -> int:
    """Ask for vulnerabilities of the installed versions, and of the lowest that are allowed."""
    pins = directory / "lowest.txt"
    pins.write_text("\n".join(lower_bounds()) + "\n")
    installed = _run(sys.executable, "-m", "pip_audit", "--local", "--skip-editable")
    return _run(sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-r", pins) or installed


def run_suite(directory: Path, python: str, arguments: list[str], *, is_lowest: bool) -> int:
    """Install into a fresh environment, and run the quick part of the suite."""
    program, pins = directory / "venv" / "bin" / "python", directory / "lowest.txt"
    pins.write_text("\n".join(lower_bounds()) + "\n" if is_lowest else "")
    return (
        _run(python, "-m", "venv", directory / "venv")
        or _run(program, "-m", "pip", "--quiet", "install", "-c", pins, "--editable", f"{ROOT}[test]")
        or _run(program, "-m", "pytest", *QUICK, *arguments)
    )


def main() -> int:
    """Run a check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("check", choices=("wheels", "audit", "lowest", "newest"))
    parser.add_argument("--python", default=sys.executable, help="for lowest and newest; default: this one")
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options = parser.parse_args(sys.argv[1:end])
    with tempfile.TemporaryDirectory(prefix="trex-tui-dependencies-") as name:
        if options.check in ("wheels", "audit"):
            return (check_wheels if options.check == "wheels" else audit)(Path(name))
        return run_suite(Path(name), options.python, sys.argv[end + 1 :], is_lowest=options.check == "lowest")


if __name__ == "__main__":
    sys.exit(main())
