"""Power, temperature, clocks and energy: from the files of many programs to summary, report, comparison, gates and charts."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest
from explained import assert_keys_explained, assert_sections_explained

from helpers import chain, strict_json, write_files, write_graph, write_json, write_sample_set
from power_kit import monitor_csv, profile_log, tegrastats_line, write_power_set
from trex_tui import ArtifactError, Severity, load_engine
from trex_tui.__main__ import main
from trex_tui.old.analysis.energy import layer_energies, power_statistics
from trex_tui.old.artifacts import scan
from trex_tui.old.artifacts.file_kinds import ArtifactKind, engine_stem, sniff
from trex_tui.old.artifacts.monitor import Monitor, Producer, read_monitor
from trex_tui.old.artifacts.sensor_lines import parse_tegrastats
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.figure import Figure, Lines, Palette, Subject
from trex_tui.old.report.views.summary import brief_sections


def read(tmp_path: Path, text: str, name: str = "samples.csv") -> Monitor:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert sniff(path).kind is ArtifactKind.MONITOR
    return read_monitor(path)


def make_chart(name: str, engine: Engine) -> Figure:
    palette = Palette(lambda _: "$primary", lambda _: "$success")
    return CHARTS_BY_ID[name].make(Subject(engine, engine.layers, palette))


class TestOracleInside:
    """Logs of a power sensor, with powers of layers that another program worked out of them."""

    @pytest.mark.parametrize("name", ["simple", "multiple_readings", "multiple_layers"])
    def test_powers_of_layers_to_all_printed_digits(self, artifacts: Path, name: str) -> None:
        folder = artifacts / "power" / "fuzzylabs" / name
        expected = json.loads((folder / "expected_metrics_by_cycle.json").read_text(encoding="utf-8"))
        energies = layer_energies(load_engine(folder / "trt_profiling"))
        assert {entry["cycle"] for entry in expected} == {1}
        assert list(energies) == [entry["layer_name"] for entry in expected]
        for entry in expected:
            energy = energies[entry["layer_name"]]
            figures = {
                "layer_power_including_idle_power_micro_watt": (energy.power_w, 1e6),
                "layer_power_excluding_idle_power_micro_watt": (energy.power_above_idle_w, 1e6),
                "layer_run_time": (energy.time_ms, 1.0),
            }
            for key, (value, factor) in figures.items():
                assert value is not None
                assert repr(value * factor) == repr(entry[key])
            assert energy.energy_mj == energy.power_w * energy.time_ms

    def test_the_files_are_no_errors(self, artifacts: Path) -> None:
        found = scan(artifacts / "power")
        assert len(found.sets) == 3
        assert [note for note in found.diagnostics if note.severity is not Severity.INFO] == []
        assert all(source.diagnostics == () for source in found.sets)

    def test_a_call_without_a_sample_counts_for_nothing(self, tmp_path: Path) -> None:
        times = {
            "conv1": [[100, "20240102-00:00:10.00"], [100, "20240102-00:00:50.00"]],
            "fc1": [[1, "20240102-00:00:30.00"]],
        }
        log = (
            "20240102-00:00:09.90,5000,1000\n20240102-00:00:10.00,5000,2000\n20240102-00:00:10.01,9000,9000\n"
        )
        folder = write_files(tmp_path, {"trt_layer_latency.json": times, "power.log": log})
        energies = layer_energies(load_engine(folder))
        conv = energies["conv1"]
        assert (conv.calls, conv.measured_calls, conv.samples) == (2, 1, 2)
        assert (conv.power_w, conv.energy_mj, conv.power_above_idle_w) == (7.5, 750.0, None)
        assert energies["fc1"].energy_mj is None


class TestTegrastats:
    def test_lines_of_real_boards(self, artifacts: Path) -> None:
        lines = (artifacts / "hosts" / "tegrastats_samples.txt").read_text(encoding="utf-8").splitlines()
        boards = dict(line.split("\t", 1) for line in lines if not line.startswith("#"))
        found = {name: parse_tegrastats(text) for name, text in boards.items()}
        assert all(found.values())
        expected = {
            "tx1_jp4": (2.532, 39, 76, 0),
            "nano_jp4_root": (1.022, 36, 76, 0),
            "tx2_jp46_user": (None, 50, None, 0),
            "agx_xavier_jp4_root": (3.346, 37.5, 318, 0),
            "xavier_nx_jp4_root": (4.067, 43, 306, 62),
            "orin_nx_r35_root": (5.299, 45.875, 611, 0),
            "agx_orin_r36_root": (12.377, 47.812, 305, 0),
            "agx_orin_r36_user": (10.37, 37.75, None, 0),
            "orin_nano_r36.4.7_user": (15.504, 44.812, None, 92),
            "orin_nano_r36_root": (12.479, 53.343, 621, 63),
            "orin_nano_r39.2.1": (3.462, 46.562, 305, 0),
            "agx_orin_r39.2": (13.907, 47.625, 1300, 12),
            "thor_r39_loaded": (124.486, 56.937, 1574, 87),
            "thor_r39_idle": (28.906, 51.218, 1574, None),
        }
        assert found.keys() == expected.keys()
        keys = ("power_w", "gpu_temperature_c", "gpu_clock_mhz", "gpu_utilization_pct")
        for name, values in expected.items():
            for key, value in zip(keys, values, strict=True):
                assert found[name].values.get(key) == (None if value is None else pytest.approx(value)), (
                    name,
                    key,
                )
        assert {name for name, sample in found.items() if sample.local_s is not None} == {
            name for name, text in boards.items() if text[2] == "-"
        }

    def test_a_file(self, tmp_path: Path) -> None:
        monitor = read(
            tmp_path, "\n".join(tegrastats_line(place, 10 + place) for place in range(5)), "tegrastats.log"
        )
        assert monitor.producer is Producer.TEGRASTATS
        assert list(monitor.columns["power_w"]) == [10, 11, 12, 13, 14]
        assert monitor.power_of == "VDD_IN"
        assert list(monitor.rails) == ["VDD_IN", "VDD_SOC"]
        assert monitor.interval_s == 1.0
        assert not monitor.is_interval_assumed

    def test_without_stamps_the_interval_is_the_default(self, tmp_path: Path) -> None:
        monitor = read(
            tmp_path, "\n".join(tegrastats_line(0, 10, is_stamped=False) for _ in range(3)), "t.log"
        )
        assert (monitor.interval_s, monitor.is_interval_assumed) == (1.0, True)
        assert monitor.local_s == ()

    def test_lines_in_between_count_for_nothing(self, tmp_path: Path) -> None:
        text = (
            f"{tegrastats_line(0, 10)}\nRAM broken\n{tegrastats_line(1, 12)[:40]}\n{tegrastats_line(2, 14)}\n"
        )
        monitor = read(tmp_path, text, "t.log")
        assert [note.message for note in monitor.diagnostics] == ["1 line of 4 could not be read; skipped"]
        assert monitor.samples == 3  # the one that is cut still has the memory in use
        assert [value for value in monitor.columns["power_w"] if value == value] == [10, 14]

    def test_a_zone_that_is_off_is_unknown(self) -> None:
        sample = parse_tegrastats("RAM 1/2MB GR3D_FREQ 0% gpu@-256C VDD_IN 1000mW/1000mW")
        assert sample is not None
        assert sample.values.keys() == {"memory_used_mib", "gpu_utilization_pct", "power_w"}


class TestNvidiaSmi:
    def test_the_real_file_without_header(self, artifacts: Path) -> None:
        path = artifacts / "power" / "nvidia-smi-query-gh200.csv"
        rows = [line.split(", ") for line in path.read_text(encoding="utf-8").splitlines()]
        monitor = read_monitor(path)
        assert list(monitor.columns) == ["power_w"]
        assert list(monitor.columns["power_w"]) == [float(row[1]) for row in rows]
        assert monitor.interval_s == pytest.approx(0.2, abs=0.001)
        assert monitor.diagnostics[0].message.startswith("has no header: column 2 is read as the power")

    def test_with_header_and_units(self, tmp_path: Path) -> None:
        text = (
            "timestamp, power.draw [W], clocks.current.sm [MHz], clocks.mem [MHz], utilization.gpu [%], memory.used [MiB], "
            "temperature.gpu, clocks_throttle_reasons.active\n"
            "2024/11/02 10:21:30.100, 131.90 W, 1980 MHz, 2619 MHz, 97 %, 913 MiB, 61, 0x0000000000000004\n"
            "2024/11/02 10:21:30.300, [N/A], 1900 MHz, 2619 MHz, 98 %, 914 MiB, 62, 0x0000000000000001\n"
            "2024/11/02 10:21:30.500, 129.10 W, 1800 MHz, 2619 MHz, 99 %, 915 MiB, 63, 0x0000000000000060\n"
        )
        monitor = read(tmp_path, text)
        assert {
            key: [value for value in column if value == value] for key, column in monitor.columns.items()
        } == {
            "power_w": [131.9, 129.1],
            "gpu_temperature_c": [61, 62, 63],
            "gpu_clock_mhz": [1980, 1900, 1800],
            "memory_clock_mhz": [2619, 2619, 2619],
            "gpu_utilization_pct": [97, 98, 99],
            "memory_used_mib": [913, 914, 915],
        }
        assert monitor.reasons == [("power cap",), (), ("software thermal", "hardware thermal")]
        assert monitor.interval_s == pytest.approx(0.2)
        assert monitor.diagnostics == ()

    def test_units_stand_for_a_header(self, tmp_path: Path) -> None:
        monitor = read(
            tmp_path,
            "2024/11/02 10:21:30.100, 300.00 W, 28.11 W\n2024/11/02 10:21:31.100, 300.00 W, 30.00 W\n",
        )
        assert list(monitor.columns["power_w"]) == [
            300.0,
            300.0,
        ]  # both are powers, and the first stands first

    def test_the_limit_is_no_power_draw(self, tmp_path: Path) -> None:
        monitor = read(
            tmp_path, "2024/11/02 10:21:30.100, 300.00, 28.11\n2024/11/02 10:21:31.100, 300.00, 30.00\n"
        )
        assert list(monitor.columns["power_w"]) == [28.11, 30.0]

    def test_of_several_gpus_the_one_that_draws_most(self, tmp_path: Path) -> None:
        rows = [f"{gpu}, {30 + 100 * gpu + row}.00 W" for row in range(3) for gpu in range(2)]
        monitor = read(tmp_path, "index, power.draw [W]\n" + "\n".join(rows))
        assert list(monitor.columns["power_w"]) == [130, 131, 132]
        assert monitor.diagnostics[0].message == "has samples of 2 GPUs; using '1' (highest power)"

    def test_a_loop_repeats_the_header(self, tmp_path: Path) -> None:
        monitor = read(tmp_path, "power.draw [W], temperature.gpu\n10.00 W, 40\n" * 3)
        assert monitor.samples == 3

    def test_reasons_in_columns_of_their_own(self, tmp_path: Path) -> None:
        header = "power.draw [W], clocks_event_reasons.sw_thermal_slowdown, clocks_event_reasons.gpu_idle"
        monitor = read(tmp_path, f"{header}\n10.00 W, Active, Not Active\n10.00 W, Not Active, Active\n")
        assert monitor.reasons == [("software thermal",), ()]


class TestOthers:
    def test_jtop(self, tmp_path: Path) -> None:
        """Written after the keys of `jtop.stats`; no real file was at hand."""
        text = (
            "time,uptime,CPU1,RAM,SWAP,EMC,GPU,APE,Fan pwmfan0,Temp cpu,Temp gpu,Temp tj,Power VDD_SOC,Power VDD_CPU_GPU_CV,"
            "Power TOT,jetson_clocks,nvp model\n"
            "2024-11-02 10:21:30.123456,1:02:03,12,0.27,0.0,3,98.5,200,30.0,52.1,53.3,53.9,2817,4667,12479,OFF,15W\n"
            "2024-11-02 10:21:31.123456,1:02:04,OFF,0.27,0.0,3,99.0,200,30.0,52.1,-256,53.9,2817,4667,13479,OFF,15W\n"
        )
        monitor = read(tmp_path, text)
        assert monitor.producer is Producer.JTOP
        assert list(monitor.columns["power_w"]) == [12.479, 13.479]
        assert list(monitor.columns["gpu_utilization_pct"]) == [98.5, 99.0]
        assert [value for value in monitor.columns["gpu_temperature_c"] if value == value] == [53.3]
        assert "memory_used_mib" not in monitor.columns
        assert monitor.power_of == "TOT"
        assert monitor.interval_s == pytest.approx(1.0)

    def test_our_own(self, tmp_path: Path) -> None:
        monitor = read(
            tmp_path, monitor_csv(reasons=("none", "power cap; software thermal", "")), "net.monitor.csv"
        )
        assert monitor.producer is Producer.TREX_TUI
        assert monitor.stages[2:4] == ["measuring", "measuring"]
        assert monitor.reasons[3:6] == [(), ("power cap", "software thermal"), None]

    @pytest.mark.parametrize(
        "text", ["name,value\na,1\n", "hello\n", "time,latency\n1,2\n", "RAM is short\n", "20240102,1,2\n"]
    )
    def test_other_tables_are_none(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "table.csv"
        path.write_text(text, encoding="utf-8")
        assert sniff(path).kind is None
        assert not sniff(path).claims

    @pytest.mark.parametrize(
        "name", ["net.monitor.csv", "tegrastats.csv", "net_nvidia-smi.csv", "jtop_net.csv"]
    )
    @pytest.mark.parametrize("text", ["name,value\na,1\n", "hello\n", "", "\0\1"])
    def test_a_file_named_as_samples_that_is_no_known_log_is_a_note(
        self, tmp_path: Path, name: str, text: str
    ) -> None:
        write_graph(tmp_path / "net.graph.json", chain("a"), ["t0", "t1"])
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / "table.csv").write_text(text, encoding="utf-8")
        (source,) = scan(tmp_path).sets
        engine = load_engine(tmp_path)
        assert [
            (note.severity, note.file)
            for note in engine.diagnostics
            if note.file in (tmp_path / name, tmp_path / "table.csv")
        ] == [(Severity.WARNING, tmp_path / name)]
        assert ArtifactKind.MONITOR not in source.files

    def test_a_header_alone_holds_no_sample(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("timestamp, power.draw [W]\n", encoding="utf-8")
        with pytest.raises(ArtifactError, match="has no readable sample of nvidia-smi"):
            read_monitor(path)

    @pytest.mark.parametrize("cut", [1, 30, 100, 153, 154, 300])
    def test_cut_anywhere_it_is_read_or_refused(self, tmp_path: Path, cut: int) -> None:
        path = tmp_path / "a.csv"
        path.write_text(monitor_csv()[:cut], encoding="utf-8")
        try:
            samples = read_monitor(path).samples
        except ArtifactError:
            samples = None
        whole = monitor_csv()[:cut].count("\n") - 1
        assert samples in (whole, whole + 1) if samples else whole <= 0


class TestSetsInside:
    @pytest.mark.parametrize(
        ("name", "stem"),
        [
            ("net.monitor.csv", "net"),
            ("resnet_fp16_tegrastats.log", "resnet_fp16"),
            ("tegrastats.log", ""),
            ("power_net.csv", "net"),
            ("gpu_usage.csv", ""),
            ("gpu.graph.json", "gpu"),
        ],
    )
    def test_names(self, name: str, stem: str) -> None:
        assert engine_stem(Path(name)) == stem

    def test_a_file_joins_the_only_set(self, tmp_path: Path) -> None:
        write_sample_set(tmp_path)
        (tmp_path / "tegrastats.log").write_text(tegrastats_line(0, 10), encoding="utf-8")
        (found,) = scan(tmp_path).sets
        assert found.files[ArtifactKind.MONITOR].name == "tegrastats.log"
        assert found.diagnostics == ()

    def test_a_file_that_fits_no_set_is_a_remark(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in ("a", "b"):
            write_json(
                tmp_path / f"{name}.graph.json", {"Layers": [{"Name": "x", "LayerType": "y"}], "Bindings": []}
            )
        (tmp_path / "tegrastats.log").write_text(tegrastats_line(0, 10), encoding="utf-8")
        found = scan(tmp_path)
        assert [note.severity for note in found.diagnostics] == [Severity.INFO]
        assert main(["summary", str(tmp_path)]) == 0
        assert "error" not in capsys.readouterr().err

    def test_a_second_file_is_a_remark(self, tmp_path: Path) -> None:
        write_power_set(tmp_path)
        (tmp_path / "net_tegrastats.log").write_text(tegrastats_line(0, 10), encoding="utf-8")
        (found,) = scan(tmp_path).sets
        assert found.files[ArtifactKind.MONITOR].name == "net.monitor.csv"
        assert [note.severity for note in found.diagnostics] == [Severity.INFO]


class TestScope:
    def test_stages_tell(self, tmp_path: Path) -> None:
        power = power_statistics(load_engine(write_power_set(tmp_path)))
        assert power is not None
        assert (power.scope, power.samples, power.all_samples) == ("measurement", 4, 8)
        assert (power.power_w.mean, power.power_w.max) == (115.0, 130.0)
        assert power.energy_per_inference_j == 115.0 / 4999.5
        assert power.inferences_per_joule == pytest.approx(4999.5 / 115.0)
        assert power.gpu_clock_mhz.min == 1297
        assert power.throttling == ()
        assert power.notes == ()

    def test_a_measurement_between_two_samples(self, tmp_path: Path) -> None:
        power = power_statistics(load_engine(write_power_set(tmp_path, ())))
        assert (power.samples, power.power_w, power.energy_per_inference_j) == (0, None, None)
        assert power.notes == ("No samples during the measurement: measure longer, or sample more often.",)

    def test_stamps_of_the_log_tell(self, tmp_path: Path) -> None:
        write_sample_set(tmp_path)
        # Reported in second 30 after 5 s: it ended from 30.0 to 31.0 and began from 25.0 to 26.0.
        (tmp_path / "net.profile.log").write_text(profile_log(30, 5.0), encoding="utf-8")
        lines = [tegrastats_line(second, second, load=0) for second in range(10, 40)]
        (tmp_path / "tegrastats.log").write_text("\n".join(lines), encoding="utf-8")
        power = power_statistics(load_engine(tmp_path))
        assert (power.scope, power.samples) == ("measurement", 5)
        assert power.power_w.mean == fmean(range(26, 31))
        assert power.energy_per_inference_j == pytest.approx(28 / 4999.5)

    def test_stamps_of_another_day_do_not(self, tmp_path: Path) -> None:
        write_sample_set(tmp_path)
        (tmp_path / "net.profile.log").write_text(profile_log(30, 5.0), encoding="utf-8")
        lines = [tegrastats_line(second, second).replace("11-02", "11-03") for second in range(10, 40)]
        (tmp_path / "tegrastats.log").write_text("\n".join(lines), encoding="utf-8")
        assert power_statistics(load_engine(tmp_path)).scope == "busy"

    def test_a_busy_gpu_is_an_estimate(self, tmp_path: Path) -> None:
        write_sample_set(tmp_path)
        loads = [0, 0, 99, 98, 97, 3]
        lines = [tegrastats_line(0, 5 if load < 50 else 20, load=load, is_stamped=False) for load in loads]
        (tmp_path / "tegrastats.log").write_text("\n".join(lines), encoding="utf-8")
        power = power_statistics(load_engine(tmp_path))
        assert (power.scope, power.samples, power.power_w.mean) == ("busy", 3, 20)
        assert power.energy_per_inference_j == pytest.approx(20 / 4999.5)
        assert power.notes[0].startswith("Estimate from samples with the GPU at ")

    def test_of_all_samples_there_is_no_energy(self, tmp_path: Path) -> None:
        write_sample_set(tmp_path)
        (tmp_path / "power.log").write_text("20240102-00:00:09.90,5000,1000\n", encoding="utf-8")
        power = power_statistics(load_engine(tmp_path))
        assert (power.scope, power.power_w.mean, power.energy_per_inference_j) == ("file", 5.0, None)

    def test_idle_power_is_taken_off(self, tmp_path: Path) -> None:
        write_power_set(tmp_path)
        write_json(tmp_path / "idling_power.json", {"timestamp": "x", "avg_idle_power": 15e6})
        power = power_statistics(load_engine(tmp_path))
        assert power.idle_w == 15
        assert power.energy_above_idle_j == pytest.approx(100 / 4999.5)


class TestShownInside:
    def test_every_number_is_explained(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write_power_set(tmp_path, reasons=("power cap",))
        assert main(["summary", str(tmp_path), "--json"]) == 0
        document = strict_json(capsys.readouterr().out)
        assert_keys_explained("summary", document)
        assert document["engines"][0]["power"]["throttling"][0]["samples"] == 1
        assert_sections_explained(brief_sections(load_engine(tmp_path)))

    def test_every_number_of_layers_is_explained(
        self, artifacts: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = artifacts / "power" / "fuzzylabs" / "simple"
        assert main(["summary", str(folder), "--json"]) == 0
        assert_keys_explained("summary", strict_json(capsys.readouterr().out))
        assert_sections_explained(brief_sections(load_engine(folder)))

    def test_without_samples_nothing_is_said(self, tmp_path: Path) -> None:
        engine = load_engine(write_sample_set(tmp_path))
        assert power_statistics(engine) is None
        assert all(section.id != "power" for section in brief_sections(engine))

    @pytest.mark.parametrize("chart", ["power", "temperature", "clock"])
    def test_charts_lie_under_the_latency(self, tmp_path: Path, chart: str) -> None:
        engine = load_engine(write_power_set(tmp_path, reasons=("none", "none", "power cap")))
        latency = make_chart("over-time", engine).form
        figure = make_chart(chart, engine)
        assert isinstance(figure.form, Lines)
        assert isinstance(latency, Lines)
        assert (figure.form.x.low, figure.form.x.high, figure.form.x.title) == (
            latency.x.low,
            latency.x.high,
            latency.x.title,
        )
        assert [point[0] for point in figure.form.series[0].points] == pytest.approx(
            [0.0, 0.001, 0.002, 0.003]
        )
        assert [mark.label for mark in figure.form.marks] == ["power cap"]
        assert "Throttled: power cap in 1 of 4 samples." in figure.words[0]

    @pytest.mark.parametrize("chart", ["power", "temperature", "clock"])
    def test_charts_say_what_is_missing(self, tmp_path: Path, chart: str) -> None:
        engine = load_engine(write_sample_set(tmp_path))
        figure = make_chart(chart, engine)
        assert figure.form is None
        assert "No power samples" in figure.words[0]
