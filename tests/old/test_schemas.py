"""JSON Schemas: every document fits its own, and every schema is as the code and the glossary are."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import documents
import make_schemas
from helpers import REAL_SETS, REPOSITORY, covering, real_sets, some, strict_json, write_sample_set
from test_glossary import DOCUMENTS as COMMANDS
from trex_tui.old.cli import COMMANDS as ALL_COMMANDS
from trex_tui.old.cli import main
from trex_tui.old.report.schemas import DOCUMENTS, document_version

SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
SETS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
OF_ENGINES = (
    "summary",
    "summary --by kind,precision",
    "layers --format json",
    "lint --fail-on never",
    "report --format json",
    "times",
    "export --format json",
)


def run(capsys: pytest.CaptureFixture[str], command: str, *paths: Path | str) -> Any:
    """The document of a command, checked; None if the command refuses the files."""
    words = command.split()
    words += [] if "--format" in words else ["--json"]
    code = main([words[0], *map(str, paths), *words[1:]])
    out = capsys.readouterr().out
    if code == 2 and not out:
        return None
    document = strict_json(out)
    assert documents.check_document(document), document.get("schema")
    return document


@pytest.mark.parametrize(("name", "command"), covering(SETS, OF_ENGINES))
def test_documents_of_samples(capsys: pytest.CaptureFixture[str], command: str, name: str) -> None:
    run(capsys, command, SAMPLES / name)


@pytest.mark.parametrize("name", COMMANDS)
def test_documents_of_commands(capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments = COMMANDS[name]
    main(arguments if "--format" in arguments else [*arguments, "--json"])
    assert documents.check_document(strict_json(capsys.readouterr().out)) == name


@pytest.mark.parametrize("name", some(["made", "alexnet", "transformer_fp8"]))
def test_documents_of_incomplete_sets(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    """Each file alone, and all but one: what was unknown is null."""
    source = write_sample_set(tmp_path / "made") if name == "made" else SAMPLES / name
    files = sorted(path for path in source.iterdir() if path.is_file() and path.suffix != ".md")
    for number, kept in enumerate(
        [*itertools.combinations(files, 1), *itertools.combinations(files, len(files) - 1)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        for path in kept:
            shutil.copy(path, folder)
        for command in OF_ENGINES:
            run(capsys, command, folder)
        run(capsys, "diff --why", source, folder)
        run(capsys, "diff --why", folder, source)
        run(capsys, "history --spread", source, folder)


@pytest.mark.usefixtures("artifacts")
@pytest.mark.parametrize(("name", "command"), covering([real.id for real in real_sets()], OF_ENGINES))
def test_documents_of_real_sets(capsys: pytest.CaptureFixture[str], name: str, command: str) -> None:
    paths = next(real for real in REAL_SETS if real.name == name).paths()
    run(capsys, command, *(paths[:1] if command.split()[0] in ("layers", "export") else paths))


def test_documents_of_real_pairs(capsys: pytest.CaptureFixture[str], artifacts: Path) -> None:
    precisions = sorted((artifacts / "trex" / "resnet-A100").iterdir())
    run(capsys, "diff --why", *precisions)
    run(capsys, "history --spread", *precisions)
    run(capsys, "report --format json", *precisions[:2])


@pytest.mark.parametrize("kind", ["logs", "power", "torch-trt", "onnx", "plans", "inspector-dumps"])
def test_documents_of_other_real_files(
    capsys: pytest.CaptureFixture[str], artifacts: Path, kind: str
) -> None:
    for command in ("summary", "lint --fail-on never", "times", "scaling", "engines"):
        run(capsys, command, artifacts / kind)
    if kind == "logs":
        for log in sorted((artifacts / kind).glob("*.log")):
            run(capsys, "build-log", log)


# The schemas themselves


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_are_as_glossary_and_columns_are(name: str) -> None:
    if os.environ.get("UPDATE_GOLDENS"):
        make_schemas.widen(name, [])
    path = make_schemas.FOLDER / f"{name}.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    made = make_schemas.finished(name, make_schemas.bare(schema), schema["title"])
    assert schema == made, "run scripts/make_schemas.py"
    undescribed = [
        key for key, item in make_schemas.keys_of(schema) if "description" not in item and "$ref" not in item
    ]
    assert undescribed == []


def test_every_json_of_a_command_has_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """A command with a schema in its help writes that version."""
    named = defaultdict(set)
    for command in ALL_COMMANDS:
        with pytest.raises(SystemExit):
            main([command, "--help"])
        text = " ".join(capsys.readouterr().out.split())
        for version in documents.versions_in(text):
            named[version].add(command)
    versions = {document_version(name).removeprefix("trex-tui/") for name in DOCUMENTS}
    assert set(named) - versions == set()


def test_an_unknown_key_a_wrong_type_and_a_missing_key_are_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UPDATE_GOLDENS", raising=False)
    document = run(capsys, "summary", SAMPLES / "alexnet")
    for change in ({"zeal_ms": 1}, {"layers": "57"}):
        wrong = json.loads(json.dumps(document))
        wrong["engines"][0] |= change
        with pytest.raises(pytest.fail.Exception, match=r"summary \$\.engines\[0\].*UPDATE_GOLDENS"):
            documents.check_document(wrong)
    del document["engines"][0]["latency"]
    with pytest.raises(pytest.fail.Exception, match="'latency' is a required property"):
        documents.check_document(document)


def test_a_command_that_writes_another_document_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of all tests: json.dumps as the program calls it."""
    from trex_tui.old.report.views import engine

    monkeypatch.delenv("UPDATE_GOLDENS", raising=False)
    monkeypatch.setattr(engine, "engine_summary", lambda _: {"name": "net"})
    with pytest.raises(pytest.fail.Exception, match="is a required property"):
        main(["summary", str(SAMPLES / "alexnet"), "--json"])
