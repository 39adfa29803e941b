"""Device facts stated by the user: by option, by configuration file, and their precedence."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import strict_json, write_json, write_sample_set
from test_loading import sample
from trex_tui import TrexError
from trex_tui.__main__ import main
from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.device import DeviceModel
from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.artifacts import scan
from trex_tui.old.config import CONFIG_NAME, PROJECT_NAME, config_files
from trex_tui.old.engine import load_engine

__all__ = ["sample"]

CONFIG = """
[device."NVIDIA Test GPU"]
peak_bandwidth_gb_per_s = 100
sms = 10
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory and no configuration of the person who runs the tests."""
    directory = tmp_path / "work"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return directory


def device(sample: Path, *peaks: str) -> DeviceModel:
    (found,) = scan([str(sample)]).sets
    return derived(load(found, LoadOptions.of(peaks=peaks))).roofline.device


def bandwidth(sample: Path, *peaks: str) -> float | None:
    found = device(sample, *peaks).peak_bandwidth_bytes_per_s
    return None if found is None else found / 1e9


class TestWhereFilesAre:
    def test_the_directory_of_the_desktop_then_here(self, tmp_path: Path) -> None:
        files = config_files({"XDG_CONFIG_HOME": str(tmp_path)})
        assert files == [tmp_path / "trex-tui" / CONFIG_NAME, Path(PROJECT_NAME), Path(CONFIG_NAME)]

    def test_without_xdg(self) -> None:
        assert config_files({"HOME": "/home/a"})[0] == Path("/home/a/.config/trex-tui") / CONFIG_NAME
        assert config_files({"HOME": "/home/a", "XDG_CONFIG_HOME": ""})[0].parts[-3] == ".config"


class TestPrecedence:
    def test_nothing_stated(self, sample: Path) -> None:
        assert LoadOptions.of() == LoadOptions()
        assert bandwidth(sample) is None

    def test_an_option(self, sample: Path) -> None:
        assert bandwidth(sample, "bandwidth=320") == 320

    def test_a_file_in_the_current_directory(self, sample: Path, elsewhere: Path) -> None:
        (elsewhere / CONFIG_NAME).write_text(CONFIG)
        assert bandwidth(sample) == 100
        assert device(sample).sms == 10

    def test_a_file_of_the_desktop(self, sample: Path, tmp_path: Path) -> None:
        path = tmp_path / "config" / "trex-tui" / CONFIG_NAME
        path.parent.mkdir(parents=True)
        path.write_text(CONFIG)
        assert bandwidth(sample) == 100

    def test_here_wins_over_the_desktop(self, sample: Path, tmp_path: Path, elsewhere: Path) -> None:
        path = tmp_path / "config" / "trex-tui" / CONFIG_NAME
        path.parent.mkdir(parents=True)
        path.write_text(CONFIG)
        (elsewhere / CONFIG_NAME).write_text(CONFIG.replace("100", "200"))
        assert bandwidth(sample) == 200

    def test_what_only_the_desktop_states_stays(self, sample: Path, tmp_path: Path, elsewhere: Path) -> None:
        path = tmp_path / "config" / "trex-tui" / CONFIG_NAME
        path.parent.mkdir(parents=True)
        path.write_text(CONFIG)
        (elsewhere / CONFIG_NAME).write_text('[device."NVIDIA Test GPU"]\nsms = 20\n')
        found = device(sample)
        assert (found.sms, found.peak_bandwidth_bytes_per_s) == (20, 100e9)

    def test_an_option_wins_over_files_and_leaves_the_rest(self, sample: Path, elsewhere: Path) -> None:
        (elsewhere / CONFIG_NAME).write_text(CONFIG)
        found = device(sample, "bandwidth=320")
        assert found.peak_bandwidth_bytes_per_s == 320e9
        assert found.sms == 10

    def test_a_file_about_another_device_changes_nothing(self, sample: Path, elsewhere: Path) -> None:
        (elsewhere / CONFIG_NAME).write_text(CONFIG.replace("Test GPU", "Other GPU"))
        (found,) = scan([str(sample)]).sets
        assert load(found, LoadOptions.of()).stated_device is None

    def test_the_optimization_profile(self, sample: Path) -> None:
        (found,) = scan([str(sample)]).sets
        assert load(found, LoadOptions.of(0)).optimization_profile == 0
        with pytest.raises(TrexError, match="optimization profile 3 does not exist"):
            load(found, LoadOptions.of(3))

    def test_without_options_it_is_the_engine_of_the_library(self, sample: Path) -> None:
        (found,) = scan([str(sample)]).sets
        assert load(found, LoadOptions()).stated_device is None
        assert [one.name for one in load(found, LoadOptions()).layers] == [
            one.name for one in load_engine(sample).layers
        ]


class TestWhatCannotBe:
    @pytest.mark.parametrize(
        "option", ["bandwidth", "bandwidth=", "bandwidth=fast", "speed=3", "sms=-1", "fp16=nan"]
    )
    def test_options(self, option: str) -> None:
        with pytest.raises(TrexError):
            LoadOptions.of(peaks=[option])

    @pytest.mark.parametrize("text", ["[device", "device = 3", '[device."X"]\nspeed = 3', "\x00"])
    def test_files(self, elsewhere: Path, text: str) -> None:
        (elsewhere / CONFIG_NAME).write_text(text)
        with pytest.raises(TrexError, match=CONFIG_NAME):
            LoadOptions.of()

    def test_a_file_that_is_no_text(self, elsewhere: Path) -> None:
        (elsewhere / CONFIG_NAME).write_bytes(b"\xff\xfe")
        with pytest.raises(TrexError, match=CONFIG_NAME):
            LoadOptions.of()

    def test_a_directory_of_that_name_is_no_file(self, elsewhere: Path) -> None:
        (elsewhere / CONFIG_NAME).mkdir()
        assert LoadOptions.of() == LoadOptions()


class TestCommandsInside:
    def test_each_engine_gets_what_is_said_of_its_device(
        self, tmp_path: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in ("one", "two"):
            write_sample_set(tmp_path / "sets" / name)
        other = {"device_information": {"Selected Device": "NVIDIA Other GPU"}}
        write_json(tmp_path / "sets" / "two" / "net.profile.metadata.json", other)
        (elsewhere / CONFIG_NAME).write_text(CONFIG)
        assert main(["summary", "--json", str(tmp_path / "sets")]) == 0
        engines = strict_json(capsys.readouterr().out)["engines"]
        assert [one["device_model"]["peak_bandwidth_bytes_per_s"] for one in engines] == [100e9, None]
