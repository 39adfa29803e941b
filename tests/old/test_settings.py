"""Remembered settings, their path, and invalid files; themes; drawing in ASCII."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.color import Color
from tui import running

from small_engines import small_engine
from trex_tui.old.artifacts.output_files import write_atomically
from trex_tui.old.config import config_files, recent_file, settings_file
from trex_tui.old.screens.settings import (
    MOST,
    Settings,
    SettingsStore,
    read_recent,
    remember_opened,
    settings_from,
    with_opened,
)
from trex_tui.old.widgets.actions import TABS
from trex_tui.old.widgets.terminal import PLAIN_THEME, prepare_environment
from trex_tui.old.widgets.theme import (
    CONTRAST_DARK,
    CONTRAST_LIGHT,
    DEFAULT_THEME,
    first_theme,
    theme_setting,
    to_ascii,
    wants_ascii,
)

DIGITS = [str(number) for number in range(1, len(TABS) + 1)]


# Where


def test_xdg_directories_are_followed_and_relative_ones_are_not(tmp_path):
    stated = {"XDG_CONFIG_HOME": str(tmp_path / "c"), "XDG_STATE_HOME": str(tmp_path / "s")}
    assert settings_file(stated) == tmp_path / "c" / "trex-tui" / "settings.json"
    assert recent_file(stated) == tmp_path / "s" / "trex-tui" / "recent.json"
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": ""}
    assert settings_file(home) == tmp_path / ".config" / "trex-tui" / "settings.json"
    assert recent_file(home) == tmp_path / ".local" / "state" / "trex-tui" / "recent.json"
    assert config_files(home)[0] == tmp_path / ".config" / "trex-tui" / "trex-tui.toml"


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "a" / "file"
    write_atomically(target, "\ud800é\n", make_directory=True)
    assert target.read_text(encoding="utf-8") == "\\ud800é\n"
    link = tmp_path / "link"
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(target, "newer")
    assert [path.name for path in target.parent.iterdir()] == ["file"]


# Settings


def test_choices_are_kept_and_those_of_another_session_stay(tmp_path):
    file = tmp_path / "config" / "settings.json"
    one, other = SettingsStore(file), SettingsStore(file)
    assert one.remember(theme="trex-light") == ""
    assert other.remember(sort=(("name", False),), columns=("name", "kind")) == ""
    assert SettingsStore(file).settings == Settings(
        theme="trex-light", columns=("name", "kind"), sort=(("name", False),)
    )


def test_unknown_settings_of_a_newer_program_stay(tmp_path):
    file = tmp_path / "settings.json"
    file.write_text('{"future": [1], "theme": "nord"}', encoding="utf-8")
    SettingsStore(file).remember(theme="trex-dark")
    assert json.loads(file.read_text(encoding="utf-8")) == {"future": [1], "theme": "trex-dark"}


@pytest.mark.parametrize("content", ["{", "[]", "", "\x00", "null", "[" * 100_000, '"text"'])
def test_broken_file_is_ignored_with_a_note_and_set_aside(tmp_path, content):
    file = tmp_path / "settings.json"
    file.write_text(content, encoding="utf-8")
    store = SettingsStore(file)
    assert store.settings == Settings()
    assert str(file) in store.note
    assert store.remember(theme="nord") == ""
    assert SettingsStore(file).settings.theme == "nord"
    assert (tmp_path / "settings.json.broken").read_text(encoding="utf-8") == content


@pytest.mark.parametrize(
    "document",
    [
        {"theme": 3, "columns": "name", "sort": "x", "grouping": None},
        {"columns": [1], "sort": [["name"]]},
        {"sort": [["name", 1]]},
        {"sort": {}},
        {},
    ],
)
def test_what_has_the_wrong_type_is_left_out(document):
    assert settings_from(document) == Settings()


def test_settings_that_cannot_be_written_are_told_once_and_last_for_the_session(tmp_path):
    (tmp_path / "file").touch()
    store = SettingsStore(tmp_path / "file" / "settings.json")
    assert "not saved" in store.remember(theme="nord")
    assert store.remember(theme="dracula") == ""
    assert store.settings.theme == "dracula"
    assert "no home" in SettingsStore(None).remember(theme="nord")


async def test_unknown_columns_and_themes_in_settings_do_no_harm(tmp_path):
    file = settings_file(os.environ)
    assert file is not None
    document = {
        "theme": "gone",
        "columns": ["gone", "name", "kind"],
        "sort": [["gone", True], ["name", False]],
    }
    write_atomically(file, json.dumps(document), make_directory=True)
    async with running(small_engine(tmp_path)) as session:
        assert session.app.theme == DEFAULT_THEME
        assert session.latency_columns == ["name", "kind"]
        assert [key.column for key in session.latency.table.sort_keys] == ["name"]


async def test_broken_settings_are_told_and_theme_is_remembered(tmp_path):
    file = settings_file(os.environ)
    assert file is not None
    write_atomically(file, "{", make_directory=True)
    net = small_engine(tmp_path)
    before = sorted(path.name for path in net.iterdir())
    async with running(net) as session:
        assert "is not JSON" in "".join(one.message for one in session.app._notifications)
        session.app.theme = "trex-contrast-light"
        await session.until(lambda: session.app.settings.theme == "trex-contrast-light")
    async with running(net) as session:
        assert session.app.theme == "trex-contrast-light"
    assert sorted(path.name for path in net.iterdir()) == before, "nothing is written beside artifacts"


# Recent engines


def test_recent_engines_are_absolute_few_and_each_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "state" / "recent.json"
    for name in ["a", "b", "a", *(f"n{number}" for number in range(MOST - 1)), "a"]:
        assert remember_opened(file, [name]) == ""
    recent = read_recent(file)
    assert recent[0] == str(tmp_path / "a")
    assert len(recent) == len(set(recent)) == MOST
    assert str(tmp_path / "b") not in recent


@pytest.mark.parametrize("content", ["{", "{}", "[1, null]", "[" * 100_000, '["a\\u0000b"]'])
def test_recent_list_that_is_none_is_empty(tmp_path, content):
    file = tmp_path / "recent.json"
    file.write_text(content, encoding="utf-8")
    assert read_recent(file) == []
    assert read_recent(None) == []


def test_recent_paths_that_are_no_text_survive(tmp_path):
    file = tmp_path / "recent.json"
    remember_opened(file, ["/odd\udcff"])
    assert read_recent(file) == ["/odd\udcff"] == with_opened([], ["/odd\udcff"])


# Themes


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({"TERM": "xterm-256color"}, ""),
        ({"TERM": "xterm-16color"}, PLAIN_THEME),
        ({"TERM": "linux"}, PLAIN_THEME),
        ({"TERM": "vt100", "COLORTERM": "truecolor"}, ""),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, PLAIN_THEME),
        ({"TERM": "xterm-16color", "TEXTUAL_THEME": "nord"}, "nord"),
    ],
)
def test_theme_follows_the_terminal(environ, wanted):
    prepare_environment(environ)
    assert environ.get("TEXTUAL_THEME", "") == wanted


def test_choice_of_a_theme_is_kept_per_kind_of_terminal():
    available = ["trex-dark", "nord", "ansi-dark", "ansi-light"]
    chosen = Settings(theme="nord", plain_theme="ansi-light")
    plain = {"TEXTUAL_THEME": PLAIN_THEME}
    assert first_theme({}, Settings(), available) == DEFAULT_THEME
    assert first_theme({}, chosen, available) == "nord"
    assert first_theme(plain, chosen, available) == "ansi-light"
    assert first_theme(plain | {"NO_COLOR": "1"}, chosen, available) == PLAIN_THEME
    assert first_theme({"TEXTUAL_THEME": "trex-dark"}, chosen, available) == "trex-dark"
    assert theme_setting({}, "nord") == "theme"
    assert theme_setting(plain, "ansi-light") == "plain_theme"
    assert theme_setting(plain, "nord") == ""
    assert theme_setting({"TEXTUAL_THEME": "nord"}, "dracula") == ""


def luminance(colour: Color) -> float:
    parts = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


@pytest.mark.parametrize("theme", [CONTRAST_DARK, CONTRAST_LIGHT], ids=lambda theme: theme.name)
def test_high_contrast_is_what_wcag_calls_enhanced(theme):
    tokens = ("primary", "secondary", "accent", "success", "warning", "error", "foreground")
    for token in tokens:
        for ground in ("background", "surface", "panel"):
            pair = sorted(luminance(Color.parse(getattr(theme, name))) for name in (token, ground))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 7, (token, ground)


# ASCII


@pytest.mark.parametrize(
    "text",
    [
        "… · – × ▲▼ ▸▾ • █▍▏ ╭─╮│╰╯ ├┼┤ ⣿⠁⠀ ¹² ▁▂▃▄▅▆▇█",
        "卷积层",
        "é e\u0301 👩\u200d👧",
        "␛[31m",
        "\u202e",
        "ｗide",
    ],
)
def test_ascii_is_as_wide_as_what_it_stands_for(text):
    plain = to_ascii(text)
    assert plain.isascii()
    assert plain.isprintable()
    assert len(plain) == cell_len(text)


def test_ascii_keeps_what_can_be_kept():
    assert to_ascii("a ▸ b … é ¹ ───") == "a + b ~ e 1 ---"
    assert to_ascii("█████▋▍  ") == "#####=-  "


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False), ({"LANG": "C"}, False), ({"LANG": "de_DE.UTF-8"}, False), ({"LANG": "de_DE.utf8@euro"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, True), ({"LC_ALL": "ja_JP.eucJP", "LANG": "C.UTF-8"}, True),
        ({"TREX_TUI_ASCII": "1"}, True), ({"TREX_TUI_ASCII": "0", "LANG": "de_DE.ISO-8859-1"}, False),
    ],
)  # fmt: skip
def test_ascii_is_asked_for_by_variable_or_locale(environ, wanted):
    assert wants_ascii(environ) is wanted


async def check_ascii(session, *keys: str) -> None:
    for key in ("", *keys):
        await session.press(*([key] if key else []))
        await session.pilot.pause()
        found = sorted(set(re.findall(r"[^\x00-\x7f]", session.text)))
        assert found == [], (key, session.text)


async def test_no_name_draws_more_than_ascii(tmp_path, monkeypatch):
    monkeypatch.setenv("TREX_TUI_ASCII", "1")
    net = small_engine(tmp_path / "卷积é\x1b")
    async with running(net) as session:
        await check_ascii(session, "exclamation_mark", "escape", "e", "escape", "o", "escape")
