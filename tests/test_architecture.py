"""What may be loaded when. The direction of imports is checked by import-linter (`[tool.importlinter]`, `./dev check`)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import chain, timing_row, write_graph, write_json, write_profile

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "trex_tui"


def modules(folder: Path = PACKAGE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def imports_of(path: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_readers_import_the_standard_library_only() -> None:
    """A log stands for a set of files, so `artifacts` and `buildlog` know each other, and nothing above."""
    known = sys.stdlib_module_names
    readers = (
        "trex_tui.artifacts",
        "trex_tui.buildlog",
        "trex_tui.errors",
        "trex_tui.lazy_names",
    )  # the last is of the package itself
    wrong = [
        (path.name, module)
        for package in ("artifacts", "buildlog")
        for path in modules(PACKAGE / package)
        for module in imports_of(path)
        if module.split(".")[0] not in known and module != "trex_tui" and not module.startswith(readers)
    ]
    assert wrong == []


@pytest.mark.parametrize("module", ["text.py", "errors.py"])
def test_the_base_imports_nothing_of_the_house(module: str) -> None:
    assert [one for one in imports_of(PACKAGE / module) if one.startswith("trex_tui")] == []


HEAVY = ("pandas", "networkx", "textual", "rich", "numpy", "plotext")


def loaded_by(code: str, *arguments: str) -> list[str]:
    """Heavy modules in `sys.modules` after running `code` in an interpreter of its own."""
    report = f"import sys as s; print(*sorted(m for m in {HEAVY!r} if m in s.modules), file=s.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}", *arguments], capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()[-1].split()  # before it stands what the commands say


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    write_graph(tmp_path / "a.graph.json", chain("one", "two"), ["t0", "t2"])
    write_profile(tmp_path / "a.profile.json", [("one", 1.0), ("two", 2.0)])
    write_json(tmp_path / "a.timing.json", [timing_row(float(row), 3.0) for row in range(4)])
    return tmp_path


RUN = "import sys; from trex_tui.cli import main; assert main(sys.argv[1:]) == 0"


def test_import_loads_nothing_heavy() -> None:
    assert loaded_by("import trex_tui") == []
    assert loaded_by("import trex_tui; trex_tui.load_engine, trex_tui.ArtifactError") == []


def test_version_loads_nothing_heavy() -> None:
    assert loaded_by(RUN, "--version") == []


@pytest.mark.parametrize(
    "command",
    [
        ["summary", "--json"],
        ["layers", "--format", "json"],
        ["layers", "--format", "csv", "--filter", "kind:*"],
        ["report", "--format", "json"],
        ["times", "--json"],
        *(["lint", "--fail-on", "never", "--format", form] for form in ("json", "sarif", "github", "md")),
    ],
)
def test_data_for_scripts_loads_nothing_heavy(small_set: Path, command: list[str]) -> None:
    assert loaded_by(RUN, *command, str(small_set)) == []


def test_commands_that_write_files_load_no_library(small_set: Path) -> None:
    """Exports that need none, the files of `times`, a page: one after the other, as each loads less than all."""
    run = (
        "import sys; from trex_tui.cli import main; net, place = sys.argv[1:];"
        "export = ['export', net, '-o', '-', '--layout', 'builtin'];"
        "forms = [[*export, '--format', form] for form in ('dot', 'svg', 'csv', 'trace')];"
        "more = [['export', net, '-o', place, '--format', 'trex'], ['times', net, '--outdir', place],"
        " ['report', net, '-o', place + '/page.html'], ['explain', '--json'], ['keys', '--format', 'json']];"
        "assert [main(one) for one in (*forms, *more)] == [0] * 9"
    )
    assert loaded_by(run, str(small_set), str(small_set / "made")) == []


def test_accuracy_loads_no_library_before_it_computes(small_set: Path) -> None:
    run = "import sys; from trex_tui.cli import main; assert main(sys.argv[1:]) == 2"
    engine = small_set / "a.engine"
    engine.write_bytes(b"ftrt")
    command = ["accuracy", "--ref", str(engine), "--test", str(engine), "--trtexec", "/absent"]
    # No trtexec: it is told before numpy, the one library that the sums take, would be loaded.
    assert loaded_by(run, *command) == []


def test_the_first_frame_needs_no_engine() -> None:
    """Nothing of an engine, of its analysis or of the screens that show it is imported before the first frame."""
    run = (
        "import sys; import trex_tui.app, trex_tui.screens.loading;"
        "late = ('engine.engine', 'analysis.columns', 'lint.run', 'screens.engine', 'artifacts.discover');"
        "assert [name for name in late if 'trex_tui.' + name in sys.modules] == []"
    )
    assert loaded_by(run) == ["rich", "textual"]


def test_doctor_for_scripts_loads_nothing_heavy() -> None:
    run = (
        "import sys; from trex_tui.cli import main; main(sys.argv[1:])"  # its exit code tells of this machine
    )
    assert loaded_by(run, "doctor", "--json", "--trtexec", "/absent") == []


@pytest.mark.parametrize("command", ["summary", "layers", "lint"])
def test_text_for_people_loads_rich_alone(small_set: Path, command: str) -> None:
    assert loaded_by(RUN, command, str(small_set)) == ["rich"]


def test_frame_and_graph_load_their_library_when_asked(small_set: Path) -> None:
    load = "import sys, trex_tui; engine = trex_tui.load_engine(sys.argv[1])"
    assert loaded_by(f"{load}; engine.links, engine.latency_sum_ms", str(small_set)) == []
    assert "pandas" in loaded_by(f"{load}; engine.frame", str(small_set))
    assert "networkx" in loaded_by(f"{load}; engine.graph", str(small_set))
