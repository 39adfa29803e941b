"""The action, the GitLab job and the pre-commit hook: their shell steps are run as a runner would, with a stand-in for gh."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import OLD_SAMPLES as SAMPLES
from helpers import REPOSITORY
from trex_tui.__main__ import main

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="steps are for bash")
DOCS = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")


def load(name: str) -> Any:
    return yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8"))


ACTION = load("action.yml")


def shell(folder: Path, words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run words where `gh`, `trex-tui` and `python -m pip` are stand-ins that write down their arguments."""
    python, programs = shlex.quote(sys.executable), folder / "bin"
    programs.mkdir(exist_ok=True)
    for name, text in {
        "gh": f'printf "%s\\n" "$@" > {shlex.quote(str(folder / "gh"))}',
        "trex-tui": f'exec {python} -m trex_tui "$@"',
        "python": f'case "$*" in *pip*) echo "$*" > {shlex.quote(str(folder / "pip"))}; exit 0 ;; esac; exec {python} "$@"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    own = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(folder)}
    return subprocess.run(
        words, env=own | environment, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def run_action(folder: Path, **inputs: str) -> tuple[int, dict[str, str], list[str]]:
    """Do what GitHub's runner does of a composite action until a step fails.

    Returns:
        The exit code, values of expressions with the outputs of steps, and the actions that were used.
    """
    values = {f"inputs.{name}": str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()}
    values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
    values |= {"github.event_name": "pull_request", "github.event.pull_request.number": "7"}
    values |= {"github.token": "t", "runner.temp": str(folder)}
    environment = {"GITHUB_STEP_SUMMARY": str(folder / "summary.md"), "GITHUB_REPOSITORY": "owner/name"}
    environment |= {"RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": "/action"}
    environment["GITHUB_OUTPUT"] = str(folder / "output")
    used: list[str] = []
    for step in ACTION["runs"]["steps"]:
        parts = [
            re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", part)
            for part in step.get("if", "x != '-'").split(" && ")
        ]
        assert all(parts), step["if"]
        if not all((values.get(part[1], "") == part[3]) is (part[2] == "==") for part in parts if part):
            continue
        if "uses" in step:
            used.append(step["uses"])
            continue
        assert "${{" not in step["run"], "values reach the shell as variables, so that they cannot be code"
        (folder / "output").write_text("")
        own = {
            name: re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: values.get(found[1], ""), value)
            for name, value in step.get("env", {}).items()
        }
        words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
        done = shell(folder, words, environment | own)
        for line in (folder / "output").read_text().splitlines():
            key, _, value = line.partition("=")
            values[f"steps.{step.get('id', '')}.outputs.{key}"] = value
        if done.returncode:
            return done.returncode, values, used
    return 0, values, used


@pytest.mark.parametrize(
    ("baseline", "candidate", "code"), [("alexnet", "alexnet_int8", 0), ("alexnet_int8", "alexnet", 1)]
)
def test_a_comparison_is_commented_and_judged(
    tmp_path: Path, baseline: str, candidate: str, code: int
) -> None:
    gates = "latency_p99_ms > +5%\nlatency_median_ms > +50%\n"
    inputs = {"baseline": str(SAMPLES / baseline), "candidate": str(SAMPLES / candidate), "gates": gates}
    found, values, used = run_action(tmp_path, **inputs, lint_fail_on="never")
    assert (found, values["steps.diff.outputs.code"]) == (code, str(code))
    assert values["steps.diff.outputs.verdict"] == ("slower" if code else "faster")
    assert (tmp_path / "pip").read_text().split()[-1] == "/action", "the package is on no index"
    report = Path(values["steps.diff.outputs.report"])
    assert (tmp_path / "gh").read_text().splitlines()[:3] == ["pr", "comment", "7"]
    assert str(report) in (tmp_path / "gh").read_text()
    assert "gate" in report.read_text()
    assert (tmp_path / "summary.md").read_text() == report.read_text()
    assert used == ["github/codeql-action/upload-sarif@v3"]
    assert json.loads((tmp_path / "trex-tui.sarif").read_text())["version"] == "2.1.0"


def test_paths_and_gates_are_no_code(tmp_path: Path) -> None:
    hostile = tmp_path / "$(touch pwned);`touch pwned`"
    hostile.mkdir()
    (hostile / "set").symlink_to(SAMPLES / "alexnet")
    code, *_ = run_action(tmp_path, baseline=str(hostile), candidate=str(hostile), gates="$(touch pwned) > 1")
    assert code == 2
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("baseline", "candidate", "code"), [("alexnet", "alexnet_int8", 0), ("alexnet_int8", "alexnet", 1)]
)
def test_the_gitlab_job(tmp_path: Path, baseline: str, candidate: str, code: int) -> None:
    (job,) = load("examples/gitlab-ci.yml").values()
    variables = {"BASELINE": str(SAMPLES / baseline), "CANDIDATE": str(SAMPLES / candidate)}
    assert set(job["variables"]) == {*variables, "TREX_TUI"}
    script = "\n".join([*job.get("before_script", [])[1:], *job["script"]])
    done = shell(tmp_path, ["bash", "-e", "-o", "pipefail", "-c", script], variables)
    assert done.returncode == code, done.stderr
    assert all((tmp_path / name).stat().st_size for name in job["artifacts"]["paths"])


def test_the_hook(tmp_path: Path) -> None:
    (hook,) = load(".pre-commit-hooks.yaml")
    files = [path for path in SAMPLES.rglob("*") if re.search(hook["files"], str(path))]
    assert {path.name.split(".")[-2] for path in files} == {"graph", "profile", "timing"}
    done = shell(tmp_path, [*shlex.split(hook["entry"]), *map(str, files[:3])], {})
    assert done.returncode in (0, 1), done.stderr
    assert "Not checked" in done.stdout
    assert f"- id: {hook['id']}" in DOCS


def test_the_example_of_the_docs_names_inputs_and_gates_that_exist() -> None:
    job = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)[0])["jobs"]["engine"]
    step = next(step for step in job["steps"] if step["uses"].startswith("trex-tui/"))
    assert set(step["with"]) <= set(ACTION["inputs"])
    gates = [word for gate in step["with"]["gates"].splitlines() for word in ("--fail-on", gate)]
    assert main(["diff", str(SAMPLES / "alexnet"), str(SAMPLES / "alexnet_int8"), *gates]) in (0, 1)
