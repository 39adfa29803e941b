"""The script that checks dependencies, without a network: its pins, and that it leaves the index to pip."""

from __future__ import annotations

import pytest

import check_dependencies as script

packaging = pytest.importorskip("packaging.requirements")


def test_every_requirement_has_a_lower_bound() -> None:
    pins = script.lower_bounds()
    assert 'textual==8.2.5; python_version >= "3.10"' in pins
    assert "mcp==2" in pins
    assert len(pins) >= 14
    for pin in pins:
        packaging.Requirement(pin)
