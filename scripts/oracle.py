#!/usr/bin/env python3
"""Compare the values that a later program prints with those of the old one.

    python scripts/oracle.py record                 install the old program, keep what it prints for every set
    python scripts/oracle.py compare                run this working tree on the same sets, print the differences
    python scripts/oracle.py show layers resnet18   print one recorded document

The store has the old program, a copy of all sets and the documents as they were printed. They are compared as
`path = value`: rows of tables by what identifies them, numbers to 9 significant digits, without sentences; null is
the same as a missing key. oracle_paths.toml lists what was renamed, dropped, added or changed on purpose.
"""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
Keys: TypeAlias = tuple[str, ...]  # the path of a value; `[identity]` for a row of a table
Values: TypeAlias = "dict[Keys, Json]"

COMMIT = "b03cc3e1"
ROOT = Path(__file__).resolve().parent.parent
RULES = Path(__file__).with_name("oracle_paths.toml")
TIMEOUT_S = 120
PROCESSES = 2
OF_A_SET = ("summary", "layers", "lint", "build-log", "times", "export")
WITH_ONNX = ("summary", "layers", "lint")
COMMANDS = (*OF_A_SET, "engines", "diff")

PLANS = (".engine", ".plan", ".trt", ".head")
DATA = (".json", ".log", ".txt", ".csv", ".gz", *PLANS)
LAYERS = re.compile('"Layers"|LayerType|Engine Layer Information')


class Case(NamedTuple):
    """A command and its paths, relative to the copy of the sets."""

    command: str
    args: tuple[str, ...]

    @property
    def set(self) -> str:
        return " ".join(self.args)


def holds_layers(path: Path) -> bool:
    """Recognize layer information, also in a log or damaged, and directories with one such file."""
    if path.is_dir():
        return sum(map(holds_layers, path.glob("*.json"))) == 1
    return path.suffix in (".json", ".log") and bool(LAYERS.search(path.read_text("utf-8", "replace")))


def find_sets(root: Path) -> list[Path]:
    """Find directories of data files, directories of these, logs, and engines that share a directory."""
    sets: set[Path] = set()
    files = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name.endswith(DATA))
    for directory, group in itertools.groupby(files, key=lambda path: path.parent):
        members = list(group)
        plans = [path for path in members if path.suffix in PLANS]
        graphs = [path for path in members if path.suffix == ".json" and holds_layers(path)]
        logs = [path for path in members if path.suffix == ".log"]
        sets.update([directory], *(files for files in (plans, graphs) if len(files) > 1))
        sets.update(logs if len(members) > 1 else ())
        sets.update([directory.parent] if len(directory.relative_to(root).parts) > 2 else ())
    return sorted(sets)


def find_pairs(sets: Iterable[Path], models: Iterable[str]) -> set[tuple[Path, Path]]:
    """Pair neighbours: directories each with each if they are few, others with the next; and engines by model."""
    pairs: set[tuple[Path, Path]] = set()
    engines = [path for path in sets if holds_layers(path)]
    groups: dict[tuple[Path, bool], list[Path]] = {}
    for path in engines:
        if path.parent not in engines:
            groups.setdefault((path.parent, path.is_dir()), []).append(path)
    for (_, are_directories), group in groups.items():
        few = are_directories and len(group) < 5
        pairs.update(itertools.combinations(group, 2) if few else itertools.pairwise(group))
    for model in models:
        pairs.update(itertools.pairwise([path for path in engines if path.name == model]))
    return pairs


def find_cases(root: Path) -> list[Case]:
    """List every command to run on the sets below `root`."""
    sets = find_sets(root)
    models = {path.stem: path for path in sorted(root.rglob("*.onnx"))}
    joined = [(path, "--onnx", models[path.name]) for path in sets if path.is_dir() and path.name in models]
    tops = [*root.iterdir(), *root.glob("artifacts/*")]
    found: list[tuple[str, tuple[Path | str, ...]]] = []
    found += [(command, (path,)) for command in OF_A_SET for path in sets]
    found += [(command, args) for command in WITH_ONNX for args in joined]
    found += [("engines", (top,)) for top in tops if sum(path.is_relative_to(top) for path in sets) > 1]
    found += [("diff", pair) for pair in find_pairs(sets, models)]
    cases = [Case(name, tuple(str(arg).removeprefix(f"{root}/") for arg in args)) for name, args in found]
    return sorted(cases, key=lambda case: (COMMANDS.index(case.command), case.args))


class Document(NamedTuple):
    """What a command printed; `exit` is None after a time-out."""

    command: str
    args: tuple[str, ...]
    exit: int | None
    stdout: str
    stderr: str

    @property
    def case(self) -> Case:
        return Case(self.command, self.args)


def run(program: Sequence[str], case: Case, inputs: Path, env: Mapping[str, str]) -> Document:
    """Run a command beside the sets; paths below them become relative."""
    json_option = ["--format", "json"] if case.command == "export" else ["--json"]
    command = [*program, case.command, *json_option, *case.args]
    try:
        done = subprocess.run(
            command, cwd=inputs, env=env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return Document(*case, None, "", f"no answer within {TIMEOUT_S} s\n")
    stdout, stderr = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return Document(
        *case, done.returncode, stdout.replace(f"{inputs}/", ""), stderr.replace(f"{inputs}/", "")
    )


def run_all(program: Sequence[str], cases: Sequence[Case], inputs: Path) -> Iterator[Document]:
    """Run commands side by side, without settings and caches; results in the order of the cases."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TREX_TUI_", "XDG_"))}
    env |= {"NO_COLOR": "1", "COLUMNS": "120", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(PROCESSES) as pool:
        env |= {f"XDG_{name}_HOME": f"{home}/{name}" for name in ("CONFIG", "CACHE", "STATE", "DATA")}
        for number, document in enumerate(pool.map(lambda case: run(program, case, inputs, env), cases), 1):
            if number % 100 == 0:
                print(f"{number} of {len(cases)} documents", file=sys.stderr)
            yield document


def read_documents(store: Path) -> Iterator[Document]:
    """Read the recorded documents."""
    file = store / "documents.jsonl.gz"
    if not file.exists():
        raise SystemExit(f"oracle: {file}: does not exist; run `oracle.py record` first")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            command, args, *rest = json.loads(line)
            yield Document(command, tuple(args), *rest)


# Keys of text. Other strings are sentences if they have three words in a row, unless the key is one of names
# or, with capitals or blanks, one of TensorRT.
TEXT = re.compile(
    "title|text|sentences?|remedy|meaning|message|headline|why|notes?|.*_note|assumptions|formula|references"
    "|explanations|method|missing|warnings"
)
NAME = re.compile(
    "name|label|layers?|tensor|tactic|tactic_family|kernel|.*formats?|onnx_.*|.*precision|.*_sources?|.*_features"
    "|.*_verbosity|bindings|kind|event|outcome|direction|scope|by|before|after|detail|power_of|.*[A-Z ].*"
)
PROSE = re.compile(r"[a-z]{2,},? [a-z]+,? [a-z]{2,}")

# What identifies a row of a table: the first of these that all of its rows have.
IDENTITIES = (
    "id source+target+tensor layer_indices index line rule name key cause file+where kind+engine"
    " kind+detail engine run number tactic part kind precision tensor_cores device bound module stream layer"
)


def identify(rows: Sequence[dict[str, Json]]) -> list[str]:
    """Name the rows of a table; a repeated name gets a number: `[name#2]`."""
    candidates = (keys.split("+") for keys in IDENTITIES.split())
    keys = next((keys for keys in candidates if all(key in row for row in rows for key in keys)), [])
    names: list[str] = []
    seen: Counter[str] = Counter()
    for position, row in enumerate(rows):
        parts: list[Json] = [row[key] for key in keys] or [position]
        parts = [part.get("index", part) if isinstance(part, dict) else part for part in parts]
        if keys == ["rule"] and isinstance(layers := row.get("layers"), list):
            parts += [layer.get("index") for layer in layers[:1] if isinstance(layer, dict)]
        name = ",".join(part if isinstance(part, str) else json.dumps(part) for part in parts)
        seen[name] += 1
        names.append(f"[{name}]" if seen[name] == 1 else f"[{name}#{seen[name]}]")
    return names


def flatten(value: Json, path: Keys = ()) -> Iterator[tuple[Keys, Json]]:
    """Yield path and value of everything but sentences; a list without rows is one value."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if not TEXT.fullmatch(key):
                yield from flatten(item, (*path, key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        rows = [item for item in value if isinstance(item, dict)]
        is_only_engine = path == ("engines",) and len(value) == 1  # it may have got another name
        has_names = len(rows) == len(value) and not is_only_engine
        names = identify(rows) if has_names else [f"[{number}]" for number in range(len(value))]
        for name, item in zip(names, value, strict=True):
            yield from flatten(item, (*path, name))
    else:
        strings = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
        key = next((key for key in reversed(path) if not key.startswith("[")), "")
        if NAME.fullmatch(key) or not any(map(PROSE.search, strings)):
            value = None if value in ("", [], {}) else value  # nothing, whatever its type
            yield path, float(f"{value:.9g}") if isinstance(value, float) else value


def gather(row: dict[str, Any], letters: Sequence[str], **keys: str) -> None:
    """Replace columns of engines, `a_layers`, `b_layers`, by lists."""
    row |= {name: [row.get(f"{own.lower()}_{key}") for own in letters] for name, key in keys.items()}
    for key in [key for key in row if key[1:2] == "_"]:
        del row[key]


def to_old_diff(document: dict[str, Any]) -> dict[str, Any]:
    """Turn a document of diff/2 into the form of diff/1: lists over engines instead of columns with their letters."""
    letters = [engine.pop("engine") for engine in document["engines"]]
    baseline = letters.index(document["baseline"])
    times = {"latency_ms": "latency_ms", "deltas_ms": "delta_ms"}
    for table, columns in (
        ("blocks", {"layers": "names", "layer_indices": "layers", "causes": "cause", "verdicts": "verdict"}),
        ("by_kind", {"layers": "layers"}),
        ("by_precision", {"layers": "layers"}),
    ):
        for row in document[table]:
            gather(row, letters, **columns, **times)
            if row["latency_ms"][baseline] is not None:
                row["deltas_ms"][baseline] = 0.0
            row["key"] = row.pop(table.removeprefix("by_"), None)
    changes: dict[int, list[Json]] = {}
    for change in document.pop("changes"):
        engine = letters.index(change.pop("engine"))
        changes.setdefault(change.pop("block"), []).append({**change, "engine": engine})
    for row in document["blocks"]:
        row["index"] = row.pop("block")
        row["changes"] = changes.get(row["index"], [])
    for caution in document["cautions"]:
        caution["engine"] = letters.index(caution["engine"])
    for own, difference in document["differences"].items():
        difference["engine"] = letters.index(own)
        for row in difference["reasons"]:
            row["layers"] = [row.pop("baseline_layers"), row["layers"]]
    lists = {key: [document[key].get(own) for own in letters] for key in ("verdicts", "differences")}
    return document | {"baseline": baseline} | lists


def read_values(document: Document) -> Values:
    """Flatten a document; the exit code is a value too."""
    values: Values = {("exit",): document.exit}
    if document.stdout:
        try:
            data = json.loads(document.stdout)
            is_diff = isinstance(data, dict) and data.get("schema") == "trex-tui/diff/2"
            values.update(flatten(to_old_diff(data) if is_diff else data))
        except ValueError:
            values[("output",)] = "not JSON"
    return values


def is_same(old: Json, new: Json) -> bool:
    """Compare integers exactly, other numbers to 9 digits."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_same, old, new))
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if isinstance(old, float) or isinstance(new, float):
        numbers = isinstance(old, (int, float)) and isinstance(new, (int, float))
        return numbers and math.isclose(old, new, rel_tol=1e-8, abs_tol=1e-12)  # type: ignore[arg-type]
    return old == new


@dataclass
class Rule:
    """An entry of oracle_paths.toml: `*` stands for a key, a row or a part of it, `**` for any number of them."""

    state: str
    command: str
    path: str
    reason: str
    set: str = ""
    to: str = ""
    used: int = 0

    def __post_init__(self) -> None:
        pattern = re.escape(self.path).replace(r"\.", "\t")
        pattern = pattern.replace(r"\*\*", "(.*)").replace(r"\*", "([^\t]*)")
        self.pattern = re.compile(pattern, re.DOTALL)

    def match(self, path: Keys) -> re.Match[str] | None:
        match = self.pattern.fullmatch("\t".join(path))
        self.used += match is not None
        return match

    def rename(self, path: Keys) -> Keys:
        """Fill the stars of `to`, in their order, with what those of `from` stand for."""
        if (match := self.match(path)) is None:
            return path
        parts = iter(match.groups())
        return tuple(re.sub(r"\*\*?", lambda _: next(parts), self.to.replace(".", "\t")).split("\t"))


def read_rules(file: Path) -> list[Rule]:
    """Read what was renamed, dropped, added or changed on purpose."""
    rules = []
    for table, entries in tomllib.loads(file.read_text(encoding="utf-8")).items():
        state = {"dropped": "gone", "added": "new"}.get(table, table)
        for entry in entries:
            paths = entry.pop("paths", None) or [entry.pop("from", "") or entry.pop("path")]
            rules += [Rule(state, path=path, **entry) for path in paths]
    return rules


class Difference(NamedTuple):
    """A value that is changed, gone or new."""

    state: str
    set: str
    path: str
    old: Json
    new: Json

    def __str__(self) -> str:
        old, new = (json.dumps(value, ensure_ascii=False) for value in (self.old, self.new))
        change = " → ".join(text if len(text) < 60 else f"{text[:59]}…" for text in (old, new))
        return f"{self.set}: {self.path}: {change}"


@dataclass
class Group:
    """Differences at the same path but for rows and keys that are data."""

    count: int = 0
    sets: set[str] = field(default_factory=set)
    examples: list[Difference] = field(default_factory=list)


@dataclass
class Tally:
    """The comparison of all documents of a command; groups by state and path."""

    documents: int = 0
    equal: int = 0
    explained: int = 0
    groups: dict[tuple[str, str], Group] = field(default_factory=dict)

    def add(self, case: Case, old: Values, new: Values, rules: Iterable[Rule], show: int) -> None:
        """Compare a document; keep at most `show` differences of each group that no rule explains."""
        rules = [rule for rule in rules if rule.command in ("*", case.command) and rule.set in case.set]
        for rule in rules:
            if rule.state == "renamed":
                old = {rule.rename(path): value for path, value in old.items()}
        self.documents += 1
        for path in old | new:
            before, after = old.get(path), new.get(path)
            if is_same(before, after):
                self.equal += path in old
                continue
            state = "gone" if path not in new else "new" if path not in old else "changed"
            if any(rule.state in (state, "differs") and rule.match(path) for rule in rules):
                self.explained += 1
                continue
            name = ".".join(key if re.fullmatch(r"[a-z][a-z0-9_-]*", key) else "*" for key in path)
            group = self.groups.setdefault((state, name), Group())
            group.count += 1
            group.sets.add(case.set)
            if len(group.examples) < show:
                group.examples.append(Difference(state, case.set, ".".join(path), before, after))

    def counts(self) -> dict[str, int]:
        """Count documents and values by what became of them."""
        counts = {"documents": self.documents, "equal": self.equal, "changed": 0, "gone": 0, "new": 0}
        for (state, _), group in self.groups.items():
            counts[state] += group.count
        return counts | {"explained": self.explained}


def print_tally(command: str, tally: Tally, show: int, grouped: bool) -> None:
    """Print the counts of a command and its first differences."""
    print(f"{command:<9}", *(f"{count:,} {name}" for name, count in tally.counts().items()), sep="  ")
    lines = []
    for (state, path), group in sorted(tally.groups.items(), key=lambda item: -item[1].count):
        if grouped:
            place = f"{path}  {group.count:,} in {len(group.sets)}"
            lines.append(f"  {state:<7}  {place}  e.g. {group.examples[0]}")
        else:
            lines += [f"  {state:<7}  {difference}" for difference in group.examples]
    print(*lines[:show], sep="\n", end="\n" if lines else "")
    if len(lines) > show:
        print(f"  … {len(lines) - show:,} more lines (--show 0: all)")


def as_json(command: str, tally: Tally) -> dict[str, object]:
    """Make a document of the counts and differences of a command."""
    groups = [
        {"state": state, "path": path, "count": group.count, "sets": sorted(group.sets)}
        | {"examples": [difference._asdict() for difference in group.examples]}
        for (state, path), group in tally.groups.items()
    ]
    return {"command": command, **tally.counts(), "groups": groups}


def extract(target: Path, *paths: str) -> None:
    """Extract files of the old commit."""
    archive = subprocess.check_output(["git", "-C", ROOT, "archive", COMMIT, *paths])
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(target, filter="data")


def install(store: Path) -> Path:
    """Build the old program as a wheel and install it in an environment of its own."""
    environment = store / f"venv-{COMMIT}"
    program = environment / "bin" / "trex-tui"
    if not program.exists():
        venv.create(environment, with_pip=True)
        pip = [str(program.with_name("python")), "-m", "pip", "-q"]
        with tempfile.TemporaryDirectory() as work:
            extract(Path(work, "source"))
            subprocess.run([*pip, "wheel", "--no-deps", "-w", work, f"{work}/source"], check=True)
            subprocess.run([*pip, "install", *Path(work).glob("*.whl")], check=True)
    return program


def copy_sets(inputs: Path) -> None:
    """Copy all sets into the store: every program reads the same files at the same place."""
    shared = ROOT.parent / "shared"
    artifacts = Path(os.environ.get("TREX_TUI_ARTIFACTS") or shared / "artifacts")
    sources = {"artifacts": artifacts, "cases": shared / "cases", "samples": ROOT / "sample_artifacts"}
    shutil.rmtree(inputs, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        extract(Path(work), "sample_artifacts")
        sources["modelled"] = Path(work, "sample_artifacts")
        for name, source in sources.items():
            if source.is_dir():
                shutil.copytree(source, inputs / name)
            else:
                print(f"oracle: {source}: not a directory; left out", file=sys.stderr)
    for directory in (path for path in inputs.rglob("*") if path.is_dir()):
        directory.chmod(0o755)


def record(options: argparse.Namespace) -> int:
    """Install the old program and keep what it prints."""
    store, inputs, began, paths = options.store, options.store / "inputs", time.monotonic(), 0
    store.mkdir(parents=True, exist_ok=True)
    program = install(store)
    copy_sets(inputs)
    cases = find_cases(inputs)
    with gzip.open(store / "documents.part", "wt", encoding="utf-8", compresslevel=5) as lines:
        for document in run_all([str(program)], cases, inputs):
            paths += len(read_values(document))
            lines.write(json.dumps(document) + "\n")
    (store / "documents.part").replace(store / "documents.jsonl.gz")
    counts = Counter(case.command for case in cases)
    print(", ".join(f"{count} {command}" for command, count in counts.items()))
    print(f"{len(cases)} documents, {paths:,} values in {time.monotonic() - began:.0f} s, in {store}")
    return 0


def compare_program(options: argparse.Namespace) -> int:
    """Run a program on the recorded sets and print the differences."""
    rules = read_rules(RULES)
    working_tree = ["env", f"PYTHONPATH={ROOT / 'src'}", sys.executable, "-m", "trex_tui"]
    program = shlex.split(options.program) if options.program else working_tree
    tallies = {command: Tally() for command in options.commands.split(",")}
    documents = [old for old in read_documents(options.store) if old.command in tallies]
    documents = [old for old in documents if options.sets in old.case.set]
    if not documents:
        raise SystemExit("oracle: no such command or set was recorded; `oracle.py show` lists them")
    show = options.show or sys.maxsize
    results = run_all(program, [old.case for old in documents], options.store / "inputs")
    for old, new in zip(documents, results, strict=True):
        kept = 1 if options.group else show
        tallies[old.command].add(old.case, read_values(old), read_values(new), rules, kept)
    if options.json:
        print(json.dumps([as_json(*item) for item in tallies.items()], indent=1, ensure_ascii=False))
    else:
        for command, tally in tallies.items():
            print_tally(command, tally, show, options.group)
        whole = options.commands == ",".join(COMMANDS) and not options.sets
        for rule in (rule for rule in rules if whole and not rule.used):
            print(f"{RULES.name}: {rule.command} {rule.path} ({rule.state}): matches nothing")
    return 1 if any(tally.groups for tally in tallies.values()) else 0


def show(options: argparse.Namespace) -> int:
    """Print a recorded document, or list the sets of a command."""
    documents = read_documents(options.store)
    sets = {document.case.set: document for document in documents if document.command == options.command}
    found = [options.set] if options.set in sets else [name for name in sets if options.set in name]
    if len(found) != 1:
        print("\n".join(found))
        return 0 if found else 1
    document = sets[found[0]]
    if options.values:
        for path, value in read_values(document).items():
            print(".".join(path), "=", json.dumps(value, ensure_ascii=False))
    else:
        print(document.stdout, end="")
        print(f"{document.stderr}exit code {document.exit}", file=sys.stderr)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    common = argparse.ArgumentParser(add_help=False)
    store = cache / "trex-tui-oracle"
    common.add_argument("--store", type=Path, default=store, metavar="DIR", help="default: %(default)s")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    recorder = commands.add_parser("record", parents=[common], help="keep what the old program prints")
    recorder.set_defaults(run=record)
    comparer = commands.add_parser("compare", parents=[common], help="compare a later program with it")
    comparer.set_defaults(run=compare_program)
    comparer.add_argument("--program", metavar="CMD", help="default: trex_tui of this working tree")
    comparer.add_argument("--commands", metavar="A,B", default=",".join(COMMANDS), help="default: all")
    comparer.add_argument("--sets", metavar="SUBSTRING", default="", help="only sets whose path has it")
    comparer.add_argument("--show", metavar="N", type=int, default=20, help="lines per command; 0: all")
    group = argparse.BooleanOptionalAction
    comparer.add_argument("--group", action=group, default=True, help="a line per path, without rows")
    comparer.add_argument("--json", action="store_true", help="counts and differences as JSON")
    shower = commands.add_parser("show", parents=[common], help="print a recorded document")
    shower.set_defaults(run=show)
    shower.add_argument("command", choices=COMMANDS)
    shower.add_argument("set", nargs="?", default="", help="path or a part of it; default: list all")
    shower.add_argument("--values", action="store_true", help="print it as path = value")
    options = parser.parse_args(arguments)
    options.store = options.store.resolve()
    return int(options.run(options))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # for `oracle.py show … | head`
    sys.exit(main())
