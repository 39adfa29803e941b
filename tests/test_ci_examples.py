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

from helpers import OLD_SAMPLES, REPOSITORY

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="steps are for bash")
SAMPLES = OLD_SAMPLES
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
DOCS = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")


class Runner:
    """What GitHub's runner does of a composite action: expressions, environment, outputs, conditions."""

    def __init__(self, folder: Path, inputs: dict[str, str], event: str) -> None:
        bin_directory = folder / "bin"
        bin_directory.mkdir()
        for name, text in {
            "gh": f'printf "%s\\n" "$@" > {shlex.quote(str(folder / "gh"))}',
            "trex-tui": f'exec {shlex.quote(sys.executable)} -m trex_tui "$@"',
            "python": f'case "$*" in *pip*) echo "$*" > {shlex.quote(str(folder / "pip"))}; exit 0 ;; esac; '
            f'exec {shlex.quote(sys.executable)} "$@"',
        }.items():
            (bin_directory / name).write_text(f"#!/bin/sh\n{text}\n")
            (bin_directory / name).chmod(0o755)
        self.folder = folder
        self.inputs = {
            name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()
        } | inputs
        self.outputs: dict[str, dict[str, str]] = {}
        self.event = event
        self.uses: list[str] = []
        self.environment = {
            "PATH": f"{bin_directory}:{os.environ['PATH']}",
            "HOME": str(folder),
            "RUNNER_TEMP": str(folder),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_ACTION_PATH": "/action",
        }

    def value(self, name: str) -> str:
        """The value of a name in an expression."""
        if name.startswith("inputs."):
            return self.inputs[name.removeprefix("inputs.")]
        if match := re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", name):
            return self.outputs.get(match[1], {}).get(match[2], "")
        known = {
            "github.event_name": self.event,
            "github.event.pull_request.number": "7",
            "github.token": "t",
            "runner.temp": str(self.folder),
        }
        return known[name]

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: self.value(found[1]), text)

    def holds(self, condition: str) -> bool:
        results = []
        for part in condition.split(" && "):
            match = re.fullmatch(r"([\w.-]+) (==|!=) '(.*)'", part)
            assert match, part
            results.append((self.value(match[1]) == match[3]) is (match[2] == "=="))
        return all(results)

    def run(self) -> int:
        """Run the steps until one fails; return its exit code."""
        for step in ACTION["runs"]["steps"]:
            if not self.holds(step.get("if", "github.token == 't'")):
                continue
            if "uses" in step:
                self.uses.append(step["uses"])
                continue
            output = self.folder / "output"
            output.write_text("")
            assert "${{" not in step["run"], (
                "values reach the shell as variables, so that they cannot be code"
            )
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
                env=self.environment
                | {name: self.filled(value) for name, value in step.get("env", {}).items()}
                | {"GITHUB_OUTPUT": str(output)},
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            lines = (line.partition("=") for line in output.read_text().splitlines())
            self.outputs[step.get("id", "")] = {key: value for key, _, value in lines}
            if done.returncode:
                return done.returncode
        return 0


def run_action(folder: Path, event: str = "pull_request", **inputs: str) -> tuple[int, Runner]:
    named = {name.replace("_", "-"): value for name, value in inputs.items()}
    runner = Runner(folder, named, event)
    return runner.run(), runner


def test_an_engine_that_is_faster_passes_with_a_comment(tmp_path: Path) -> None:
    code, runner = run_action(
        tmp_path,
        baseline=str(SAMPLES / "alexnet"),
        candidate=str(SAMPLES / "alexnet_int8"),
        lint_fail_on="never",
    )
    assert code == 0
    assert (tmp_path / "pip").read_text().split()[-1] == "/action", "the package is on no index"
    assert runner.outputs["diff"]["verdict"] == "faster"
    report = Path(runner.outputs["diff"]["report"])
    assert (tmp_path / "gh").read_text().splitlines()[:3] == ["pr", "comment", "7"]
    assert str(report) in (tmp_path / "gh").read_text()
    assert (tmp_path / "summary.md").read_text() == report.read_text()
    assert runner.uses == ["github/codeql-action/upload-sarif@v3"]
    assert json.loads((tmp_path / "trex-tui.sarif").read_text())["version"] == "2.1.0"


def test_an_engine_that_is_slower_fails_after_the_comment(tmp_path: Path) -> None:
    code, runner = run_action(
        tmp_path,
        baseline=str(SAMPLES / "alexnet_int8"),
        candidate=str(SAMPLES / "alexnet"),
        gates="latency_p99_ms > +5%\nlatency_median_ms > +50%\n",
        lint_fail_on="never",
    )
    assert code == 1
    assert runner.outputs["diff"]["code"] == "1"
    assert "gate" in Path(runner.outputs["diff"]["report"]).read_text()
    assert (tmp_path / "gh").exists()


def test_paths_and_gates_are_no_code(tmp_path: Path) -> None:
    hostile = tmp_path / "$(touch pwned);`touch pwned`"
    hostile.mkdir()
    (hostile / "set").symlink_to(SAMPLES / "alexnet")
    gates = "$(touch pwned) > 1"
    run_action(tmp_path, baseline=str(hostile), candidate=str(hostile), gates=gates)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("baseline", "candidate", "code"), [("alexnet", "alexnet_int8", 0), ("alexnet_int8", "alexnet", 1)]
)
def test_the_gitlab_job(tmp_path: Path, baseline: str, candidate: str, code: int) -> None:
    (job,) = yaml.safe_load((REPOSITORY / "examples" / "gitlab-ci.yml").read_text(encoding="utf-8")).values()
    runner = Runner(tmp_path, {}, "push")
    variables = {"BASELINE": str(SAMPLES / baseline), "CANDIDATE": str(SAMPLES / candidate)}
    assert set(job["variables"]) == {*variables, "TREX_TUI"}
    done = subprocess.run(
        [
            "bash",
            "-e",
            "-o",
            "pipefail",
            "-c",
            "\n".join([*job.get("before_script", [])[1:], *job["script"]]),
        ],
        env=runner.environment | variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    for name in job["artifacts"]["paths"]:
        assert (tmp_path / name).stat().st_size


def test_the_hook(tmp_path: Path) -> None:
    (hook,) = HOOKS
    files = [path for path in SAMPLES.rglob("*") if re.search(hook["files"], str(path))]
    assert {path.name.split(".")[-2] for path in files} == {"graph", "profile", "timing"}
    runner = Runner(tmp_path, {}, "push")
    done = subprocess.run(
        [*shlex.split(hook["entry"]), *map(str, files[:3])],
        env=runner.environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Not checked" in done.stdout
    assert f"- id: {hook['id']}" in DOCS


def test_the_example_of_the_docs_names_inputs_and_gates_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from trex_tui.__main__ import main

    blocks = re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
    job: Any = yaml.safe_load(blocks[0])["jobs"]["engine"]
    step = next(step for step in job["steps"] if step["uses"].startswith("trex-tui/"))
    assert set(step["with"]) <= set(ACTION["inputs"])
    gates = [word for gate in step["with"]["gates"].splitlines() for word in ("--fail-on", gate)]
    assert main(["diff", str(SAMPLES / "alexnet"), str(SAMPLES / "alexnet_int8"), *gates]) in (0, 1)
    capsys.readouterr()
