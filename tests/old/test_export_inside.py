"""`trex-tui export`: formats, refusals, messages."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from graph_cases import reusing_engine

from helpers import OLD_SAMPLES, chain, write_graph
from test_export import fake_dot, one_line, run
from trex_tui.__main__ import main
from trex_tui.old.cli.engine_parsers import EXPORT_EXAMPLES
from trex_tui.old.cli.export import choose_format
from trex_tui.old.engine import load_engine
from trex_tui.old.report.charts.png import choose_zoom
from trex_tui.old.report.graph.engine_graph import GraphOptions, build_graph
from trex_tui.old.report.graph.graph_svg import write_svg


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    reusing_engine(tmp_path / "loop")
    return tmp_path / "loop"


@pytest.mark.parametrize(
    ("name", "starts", "said"),
    [
        ("g.dot", b'digraph "loop" {', "7 nodes and 8 edges"),
        ("g.gv", b'digraph "loop" {', "7 nodes and 8 edges"),
        ("g.graphml", b"<?xml", "7 nodes and 8 edges"),
        ("g.json", b"{", "7 nodes and 8 edges"),
        ("G.CSV", b"index,name,", "5 layers, "),
        ("g.parquet", b"PAR1", "5 layers, "),
        ("g.xlsx", b"PK", "5 layers, "),
        ("g.onnx", b"", "7 nodes and 8 edges"),
        ("g.perfetto.json", b'{"traceEvents"', "5 layers and 0 queries"),
        ("g.trace.json", b'{"traceEvents"', "5 layers and 0 queries"),
    ],
)
def test_the_ending_tells_the_format(
    loop: Path, tmp_path: Path, name: str, starts: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = {"parquet": "pyarrow", "xlsx": "xlsxwriter", "onnx": "onnx"}.get(name.rpartition(".")[2])
    if needed:
        pytest.importorskip(needed)
    code, out, err = run(capsys, loop, "-o", tmp_path / name)
    assert (code, out) == (0, "")
    assert err.startswith(f"trex-tui: wrote {tmp_path / name} ({said}")
    assert (tmp_path / name).read_bytes().startswith(starts)


def test_stdout_and_chosen_layers(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys,
        loop,
        "-o",
        "-",
        "--format",
        "json",
        "--around",
        "b",
        "--radius",
        "1",
        "--columns",
        "index,kind",
    )
    assert (code, err) == (0, "")
    nodes = {one["id"]: one for one in json.loads(out)["nodes"]}
    assert [one for one in nodes if one.startswith("layer")] == ["layer_0", "layer_1", "layer_2", "layer_3"]
    assert nodes["layer_1"] == {"id": "layer_1", "role": "layer", "label": "b", "index": 1, "kind": "myelin"}
    _, table, _ = run(
        capsys, loop, "-o", "-", "--format", "csv", "--filter", "ms>1", "--columns", "name,latency_ms"
    )
    assert table == "name,latency_ms\ne,2.0\n"
    main(["layers", str(loop), "--filter", "ms>1", "--format", "csv", "--columns", "name,latency_ms"])
    assert capsys.readouterr().out == table
    code, table, err = run(capsys, loop, "-o", "-", "--format", "csv", "--filter", "zzz", "--columns", "name")
    assert (code, table) == (0, "name\n")
    assert "trex-tui: 0 of 5 layers match: no name contains 'zzz'\n" in err
    _, trace, _ = run(capsys, loop, "-o", "-", "--format", "trace", "--filter", "-b", "--filter", "-a")
    assert [one["name"] for one in json.loads(trace)["traceEvents"] if one["ph"] == "X"] == [
        "b",
        "c",
        "d",
        "e",
    ]


def lines_of_help() -> list[str]:
    """The examples in the help of the command, without what they say about themselves."""
    lines = [line.strip() for line in EXPORT_EXAMPLES.splitlines() if "trex-tui export" in line]
    return [re.split(r"\s{3,}| \| ", line)[0] for line in lines]


def test_the_help_has_examples() -> None:
    assert len(lines_of_help()) >= 8


@pytest.mark.parametrize("line", lines_of_help())
def test_examples_of_the_help_work_on_the_sample(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = re.search(r"-o (\S+)", line) or ["", "-"]
    if needed := {".xlsx": "xlsxwriter", ".onnx": "onnx"}.get(Path(target[1]).suffix):
        pytest.importorskip(needed)
    if target[1].endswith(".png") and shutil.which("dot") is None:
        pytest.skip("no dot to draw a PNG with: apt-get install graphviz")
    (tmp_path / "results").symlink_to(OLD_SAMPLES)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(line)[1:]) == 0
    shown = capsys.readouterr()
    if target[1] == "-":
        assert shown.out
    else:
        assert (tmp_path / target[1]).stat().st_size > 0


def test_pictures(loop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(
        capsys,
        loop,
        "-o",
        tmp_path / "g.svg",
        "--layout",
        "builtin",
        "--highlight",
        "zzz",
    )
    assert code == 0
    assert err.splitlines()[0] == "trex-tui: info: --highlight: 'zzz' matches no drawn layer"
    ElementTree.parse(tmp_path / "g.svg")
    if shutil.which("dot"):
        assert (
            run(capsys, loop, "-o", tmp_path / "d.svg", "--color", "latency", "--labels", "name,latency")[0]
            == 0
        )
        assert "Generated by graphviz" in (tmp_path / "d.svg").read_text(encoding="utf-8")
        assert run(capsys, loop, "-o", tmp_path / "d.png")[0] == 0
        assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


def test_a_slow_graphviz_is_not_waited_for(
    loop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dot(tmp_path / "bin", monkeypatch, "exec /bin/sleep 30")
    monkeypatch.setattr("trex_tui.old.report.export.DOT_TIMEOUT_S", 0)
    code, _, err = run(capsys, loop, "-o", tmp_path / "g.svg")
    assert code == 0
    assert err.startswith("trex-tui: warning: dot took longer than 0 s; using the built-in layout\n")
    ElementTree.parse(tmp_path / "g.svg")
    code, _, err = run(capsys, loop, "-o", tmp_path / "g.png")
    assert code == 2
    assert "choose fewer layers" in one_line(err)
    assert "use --layout builtin, which needs rsvg-convert (apt install librsvg2-bin" in err
    assert not (tmp_path / "g.png").exists()
    fake_dot(tmp_path / "bin", monkeypatch, "/bin/cat > was_painted; echo painted", "rsvg-convert")
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, loop, "-o", tmp_path / "g.png")
    assert (code, (tmp_path / "g.png").read_bytes()) == (0, b"painted\n")
    assert err.startswith("trex-tui: warning: dot took longer than 0 s; using the built-in layout\n")
    ElementTree.parse(tmp_path / "was_painted")
    code, _, err = run(capsys, loop, "-o", tmp_path / "h.png", "--layout", "dot")
    assert code == 2
    assert "use --layout builtin" in one_line(err)


def test_without_graphviz(
    loop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(capsys, loop, "-o", tmp_path / "g.svg")[0] == 0
    for arguments, told in (
        (["g.png"], "or Graphviz (apt install graphviz"),
        (["g.png"], "PNG needs rsvg-convert (apt install librsvg2-bin"),
        (["g.png", "--layout", "builtin"], "PNG with the built-in layout needs rsvg-convert"),
        (["h.svg", "--layout", "dot"], "install Graphviz"),
    ):
        code, _, err = run(capsys, loop, "-o", tmp_path / arguments[0], *arguments[1:])
        assert code == 2
        assert told in one_line(err)
        assert not (tmp_path / arguments[0]).exists()


def test_png_of_every_size(
    loop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shutil.which("rsvg-convert")
    if program is None:
        pytest.skip("rsvg-convert (librsvg2-bin) is not installed")
    assert run(capsys, loop, "-o", tmp_path / "g.png", "--layout", "builtin")[0] == 0
    svg = write_svg(build_graph(load_engine(loop), GraphOptions()))
    size = [float(one) for one in ElementTree.fromstring(svg).get("viewBox", "").split()[2:]]
    assert png_size(tmp_path / "g.png") == pytest.approx([2 * one for one in size], abs=2)
    write_graph(tmp_path / "net.graph.json", chain(*map(str, range(900))), ["t0", "t900"])
    code, _, err = run(capsys, tmp_path / "net.graph.json", "-o", tmp_path / "net.png")
    assert code == 0
    assert "(size limit)" in err
    assert 32_000 < max(png_size(tmp_path / "net.png")) < 2**15
    fake_dot(tmp_path / "bin", monkeypatch, "echo '<b>no\33memory' >&2; exit 1", "rsvg-convert")
    code, _, err = run(capsys, loop, "-o", tmp_path / "bad.png")
    assert code == 2
    assert one_line(err).endswith("write .svg instead\n")
    assert "\33" not in err
    assert not (tmp_path / "bad.png").exists()


def png_size(path: Path) -> list[int]:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return [int.from_bytes(content[place : place + 4], "big") for place in (16, 20)]


@pytest.mark.parametrize(
    ("width", "height", "zoom"),
    [
        (100, 100, 2.0),
        (4000, 3900, 1.0127),
        (9000, 9000, 1.0),
        (20000, 20000, 0.5477),
        (640, 65534, 0.5),
        (0, 0, 2.0),
    ],
)
def test_how_large_a_png_is(width: int, height: int, zoom: float) -> None:
    assert choose_zoom(f'<?xml?><svg xmlns="x" width="{width}" height="{height}" role="img">') == zoom


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-o", "x.pdf"], "unknown extension"),
        (["-o", "-"], "name a file with -o"),
        (["-o", "absent/x.dot"], "directory absent does not exist"),
        (["-o", "loop/loop.graph.json", "--format", "json"], "is an input file"),
        (["-o", "x.dot", "--labels", "what"], "--labels: no column 'what'"),
        (["-o", "x.json", "--columns", "what"], "no column 'what'"),
        (["-o", "x.dot", "--filter", "ms>"], "--filter: "),
    ],
)
def test_what_is_refused(
    loop: Path,
    arguments: list[str],
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(loop.parent)
    before = (loop / "loop.graph.json").read_bytes()
    code, out, err = run(capsys, "loop", *arguments)
    assert (code, out) == (2, "")
    assert told in one_line(err)
    assert [path.name for path in Path().iterdir()] == ["loop"]
    assert (loop / "loop.graph.json").read_bytes() == before


@pytest.mark.parametrize("name", ["trex-tui.toml", "pyproject.toml"])
def test_settings_are_not_written_over_unasked(
    loop: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = loop / name
    target.write_text("# mine\n")
    code, _, err = run(capsys, loop, "-o", target, "--format", "csv")
    assert code == 2
    assert (
        "exists and was not written by `trex-tui export`; write elsewhere, or replace it with --force"
        in one_line(err)
    )
    assert target.read_text() == "# mine\n"
    assert run(capsys, loop, "-o", target, "--format", "csv", "--force")[0] == 0
    assert target.read_text().startswith("index,name,")


def test_one_engine_at_a_time(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_graph(loop / "other.graph.json", chain("one"), ["t0", "t1"])
    code, _, err = run(capsys, loop, "-o", "x.dot")
    assert code == 2
    assert "2 engines found" in one_line(err)


def test_a_directory_gets_a_file_named_after_the_engine(
    loop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, loop, "-o", tmp_path, "--format", "trace")[0] == 0
    assert (tmp_path / "loop.perfetto.json").is_file()


def test_binary_is_nothing_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    from trex_tui import TrexError

    with pytest.raises(TrexError, match="png is binary"):
        choose_format("-", "png")
    assert choose_format("-", "dot") == "dot"
