"""The commands of the README work; docs/compare.md and docs/settings.md show what the program does."""

from __future__ import annotations

import re

from test_readme import ROOT
from trex_tui.old.lint.config import find_config
from trex_tui.old.lint.registry import registry


def test_the_configuration_is_understood(tmp_path):
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    block = next(one for one in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "[lint]" in one)
    file = tmp_path / "trex-tui.toml"
    file.write_text(block, encoding="utf-8")
    config = find_config({}, registry(), file)
    assert config.ignore == ("HOT",)
    assert len(config.suppressions) == 1
