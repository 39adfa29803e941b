"""What may be loaded when. The direction of imports is checked by import-linter (`[tool.importlinter]`, `./dev check`)."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import chain, timing_row, write_graph, write_json, write_profile
from trex_tui.old.cli import main

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "trex_tui" / "old"


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
        "trex_tui.old.artifacts",
        "trex_tui.old.buildlog",
        "trex_tui.old.errors",
        "trex_tui.old.text",
        "trex_tui.old.plugins",
        "trex_tui.old.lazy_dataclass",
        "trex_tui.old.lazy_pattern",
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


def run_apart(code: str, *arguments: str) -> None:
    """Run code in an interpreter that has loaded nothing; `loaded(NAMES)` there is which modules it has by then."""
    loaded = f"import sys\ndef loaded(names={HEAVY!r}):\n    return [name for name in names if name in sys.modules]\n"
    done = subprocess.run(
        [sys.executable, "-c", loaded + code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    write_graph(tmp_path / "a.graph.json", chain("one", "two"), ["t0", "t2"])
    write_profile(tmp_path / "a.profile.json", [("one", 1.0), ("two", 2.0)])
    write_json(tmp_path / "a.timing.json", [timing_row(float(row), 3.0) for row in range(4)])
    return tmp_path


def check_commands(commands: list[list[str]], loads: list[str], codes: dict[str, int] | None = None) -> None:
    """Run commands in one process: what one loads is still loaded after the last one."""
    run_apart(
        "import json; from trex_tui.old.cli import main\n"
        "commands, loads, codes = map(json.loads, sys.argv[1:])\n"
        "for command in commands:\n"
        "    assert main(command) == codes.get(command[0], 0), command\n"
        "    assert loaded() == loads, (command, loaded())",
        *map(json.dumps, (commands, loads, codes or {})),
    )


def test_version_and_help_load_no_library() -> None:
    """`dataclasses` alone would be a fifth of what `--help` takes."""
    run_apart(
        "from trex_tui.old.cli import main; assert main(['--version']) == 0; assert not loaded()\n"
        "from trex_tui.old.cli.parser import build_parser; build_parser(); assert not loaded(['dataclasses'])"
    )


def test_data_and_files_load_no_library(small_set: Path) -> None:
    """Data for scripts, exports that need none, the files of `times`, a page; and what ends before it computes."""
    net, made, engine = str(small_set), str(small_set / "made"), str(small_set / "a.engine")
    Path(engine).write_bytes(b"ftrt")
    data = [
        ["summary", "--json", net],
        ["layers", "--format", "json", net],
        ["layers", "--format", "csv", "--filter", "kind:*", net],
        ["report", "--format", "json", net],
        ["times", "--json", net],
        *(
            ["lint", "--fail-on", "never", "--format", form, net]
            for form in ("json", "sarif", "github", "md")
        ),
        # Without trtexec it ends before numpy, the one library that the sums take, is loaded.
        ["accuracy", "--ref", engine, "--test", engine, "--trtexec", "/absent"],
        ["explain", "--json"],
        ["keys", "--format", "json"],
    ]
    files = [
        *(
            ["export", net, "-o", "-", "--layout", "builtin", "--format", form]
            for form in ("dot", "svg", "csv", "trace")
        ),
        ["export", net, "-o", made, "--format", "trex"],
        ["times", net, "--outdir", made],
        ["report", net, "-o", f"{made}/page.html"],
    ]
    check_commands([*data, *files], [], {"accuracy": 2})


def test_doctor_for_scripts_loads_no_library() -> None:
    """Its exit code depends on the machine."""
    run_apart(
        "from trex_tui.old.cli import main; main(['doctor', '--json', '--trtexec', '/absent']); assert not loaded()"
    )


def test_text_in_a_pipe_loads_no_library(small_set: Path) -> None:
    """Rich, for terminals, takes half as long as everything else that `layers` imports."""
    check_commands([[command, str(small_set)] for command in ("summary", "layers", "lint", "engines")], [])


def test_lint_without_plugins_does_not_search_the_installed_packages(small_set: Path) -> None:
    run_apart(
        "from trex_tui.old.cli import main; assert main(['lint', sys.argv[1]]) == 0\n"
        "assert 'importlib.metadata' not in sys.modules",
        str(small_set),
    )


def test_layers_in_a_terminal_load_rich_alone(small_set: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    check_commands([["layers", str(small_set)]], ["rich"])


def test_a_list_of_layers_imports_no_roofline(small_set: Path) -> None:
    """Derived columns, exports and the build's tuning are imported where a command shows them."""
    run_apart(
        "from trex_tui.old.cli import main; assert main(['layers', sys.argv[1]]) == 0\n"
        "unused = ('analysis.roofline', 'analysis.device', 'analysis.gpu_peaks', 'analysis.stability', 'report.export')\n"
        "assert not [name for name in unused if f'trex_tui.{name}' in sys.modules]",
        str(small_set),
    )


def test_engine_loads_a_library_when_asked_for_what_needs_it(small_set: Path) -> None:
    """`statistics` takes 5 to 10 ms at every start."""
    run_apart(
        "import trex_tui; trex_tui.ArtifactError; assert not loaded()\n"
        "names = {name for name in sys.modules if name.startswith('trex_tui')}\n"
        "assert names == {'trex_tui', 'trex_tui._version', 'trex_tui.old.errors'}, names\n"
        "engine = trex_tui.load_engine(sys.argv[1]); engine.links, engine.latency_sum_ms\n"
        "assert not loaded() and not loaded(['statistics'])\n"
        "engine.summary().to_dict(), engine.lint().to_dict(), engine.compare(engine).to_html(), engine.chart('kind')\n"
        "assert not loaded(), loaded()\n"
        "engine.graph; assert 'networkx' in loaded()\n"
        "engine.frame; assert 'pandas' in loaded()",
        str(small_set),
    )


@pytest.mark.parametrize(("library", "ending"), [("pandas", "parquet"), ("networkx", "graphml")])
def test_a_library_that_is_left_out_is_named(
    library: str,
    ending: str,
    small_set: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A small installation lacks it (docs/jetson.md): an input error, no internal one."""
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["export", str(small_set), "-o", str(small_set / f"made.{ending}")]) == 2
    assert f"error: {library} is not installed: pip install {library}\n" in capsys.readouterr().err


def test_the_screens_load_neither_pandas_nor_numpy_nor_networkx(small_set: Path) -> None:
    """176 MB of the installation: a board has the explorer without them in memory."""
    run_apart(
        "import asyncio; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "import pytest, settle, tui\n"
        "async def visit():\n"
        "    async with tui.running(Path(sys.argv[1]), (120, 40)) as session:\n"
        "        for digit in tui.DIGITS.values(): await session.press(digit)\n"
        "with pytest.MonkeyPatch.context() as patch:\n"
        "    settle.install(patch); asyncio.run(visit())\n"
        "assert not loaded(('pandas', 'numpy', 'networkx')), loaded()",
        str(small_set),
        str(Path(__file__).parent),
    )


@pytest.mark.parametrize(
    ("command", "late"),
    [
        (
            ["layers"],
            ("buildlog.build_trace", "report.charts.figure", "report.views.engine", "analysis.energy"),
        ),
        (["summary", "--json"], ("buildlog.build_trace", "report.charts.figure", "analysis.energy")),
    ],
    ids=lambda value: value[0],
)
def test_commands_load_neither_logs_nor_charts_that_they_lack(
    small_set: Path, command: list[str], late: tuple[str, ...]
) -> None:
    """A third of the processor time of `layers` of a small engine without a log."""
    run_apart(
        "from trex_tui.old.cli import main; assert main(sys.argv[1:]) == 0\n"
        f"assert loaded({[f'trex_tui.{name}' for name in late]!r}) == []",
        *command,
        str(small_set),
    )


def test_dataclasses_are_lazy() -> None:
    """Those of the standard library take ten times as long to create, which every command would pay."""
    own = PACKAGE / "lazy_dataclass.py"
    eager = [
        path.name for path in modules(PACKAGE) if path != own and "dataclasses.dataclass" in imports_of(path)
    ]
    assert eager == []


def test_screens_load_what_they_show_alone() -> None:
    """The first frame needs no engine, its analysis or its screens; those need no log and no page, and one pane."""
    late = ("engine.engine", "analysis.columns", "lint.run", "screens.engine", "artifacts.discover")
    later = (
        *("buildlog.reader", "buildlog.spans", "report.render_html", "report.charts.svg_painter"),
        *("report.glossary", "analysis.compare.comparison"),
        *(
            f"screens.{pane}"
            for pane in ("layers", "latency", "charts", "memory", "lint", "build", "compare")
        ),
    )
    run_apart(
        "import trex_tui.old.app, trex_tui.old.screens.loading; assert loaded() == ['textual', 'rich'], loaded()\n"
        f"assert loaded({[f'trex_tui.{name}' for name in late]!r}) == []\n"
        "import trex_tui.old.widgets.text_view, trex_tui.old.widgets.table, trex_tui.old.screens.dialogs\n"
        "assert loaded(['trex_tui.old.analysis.compare']) == []\n"
        "import trex_tui.old.screens.engine, trex_tui.old.screens.engines\n"
        f"assert loaded({[f'trex_tui.{name}' for name in later]!r}) == []"
    )
