"""docs/lint-rules.md lists the rules as they are. UPDATE_GOLDENS=1 writes its list anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from linting import engine_of

from helpers import REPOSITORY
from trex_tui.old.lint.config import find_config
from trex_tui.old.lint.model import Rule
from trex_tui.old.lint.registry import Registry, builtin_modules, collect
from trex_tui.old.lint.run import run
from trex_tui.old.report.render_lint import rules_markdown

DOCUMENT = REPOSITORY / "docs" / "lint-rules.md"
MARKED = re.compile(r"(<!-- rules: [^>]*-->\n)(.*?)(<!-- /rules -->)", re.DOTALL)
EXAMPLE = re.compile(r"```toml\n(.*?)```", re.DOTALL)


def test_document_has_the_rules() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    found = MARKED.search(text)
    assert found is not None
    wanted = f"\n{rules_markdown(collect(builtin_modules()).rules)}\n"
    if os.environ.get("UPDATE_GOLDENS"):
        DOCUMENT.write_text(MARKED.sub(lambda match: match[1] + wanted + match[3], text), encoding="utf-8")
    else:
        assert found[2] == wanted


def test_its_example_of_a_configuration_can_be_read(tmp_path: Path) -> None:
    rules = collect(builtin_modules())
    if not {"CONV", "QDQ"} <= set(rules.families):
        pytest.skip("the rules of the example are not there")
    (example,) = EXAMPLE.findall(DOCUMENT.read_text(encoding="utf-8"))
    path = tmp_path / "trex-tui.toml"
    path.write_text(example)
    config = find_config({}, Registry(rules.rules), path)
    assert config.select
    assert config.ignore
    assert config.thresholds
    assert [bool(one.layers) for one in config.suppressions] == [True]


def test_its_example_of_a_rule_finds_something(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    namespace: dict[str, object] = {}
    exec(example.replace("trex_tui.", "trex_tui.old."), namespace)  # noqa: S102 - the project's own text
    rule = namespace["long_layer"]
    assert isinstance(rule, Rule)
    result = run(engine_of(tmp_path, 1.0, 9.0), rules=[rule])
    assert [one.message for one in result.findings] == ["layer1 takes 9 ms, 90.0 %."]
