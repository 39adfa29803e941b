"""Where settings and the list of recent engines lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

NAME = "trex-tui"


def settings_file(environ: Mapping[str, str]) -> Path | None:
    """The settings of a person; None where there is no home to keep them in."""
    return _in_home(environ, "XDG_CONFIG_HOME", "user_config_path", "settings.json")


def recent_file(environ: Mapping[str, str]) -> Path | None:
    """The list of recently opened engines; None where there is no home to keep it in."""
    return _in_home(environ, "XDG_STATE_HOME", "user_state_path", "recent.json")


def _in_home(environ: Mapping[str, str], variable: str, finder: str, file: str) -> Path | None:
    """As the XDG specification says: a relative path in the variable does not count."""
    stated = Path(environ.get(variable, ""))
    if stated.is_absolute():
        return stated / NAME / file
    import platformdirs

    try:
        found: Path = getattr(platformdirs, finder)(NAME, appauthor=False)
    except (OSError, RuntimeError, KeyError):
        return None
    return found / file if found.is_absolute() else None
