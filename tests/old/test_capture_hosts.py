"""Where sets were captured over ssh: what is noted of it, who may rely on it, and measuring again there from the explorer."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trtexec import calls
from remote_kit import Server, program, serving, why_not
from test_app_capture import on_top, told
from trex_tui.old.artifacts import find
from trex_tui.old.artifacts.capture_manifest import SCHEMA as MANIFEST_SCHEMA
from trex_tui.old.capture.hosts import SCHEMA, recall, remember
from trex_tui.old.cli import main
from trex_tui.old.config import hosts_file
from trex_tui.old.errors import TrexError
from tui import running

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one), max_leaves=5
)


def put(place: Path, engine: bytes = b"an engine") -> tuple[Path, Path]:
    """A manifest and its engine."""
    (place / "net.engine").write_bytes(engine)
    tables = {name: {} for name in ("trtexec", "model", "host")}
    digest = hashlib.sha256(engine).hexdigest()
    root = {"schema": MANIFEST_SCHEMA, **tables, "engine": {"sha256": digest}, "remote": {"over": "ssh"}}
    (place / "net.capture.json").write_text(json.dumps(root), encoding="utf-8")
    return place / "net.capture.json", place / "net.engine"


def noted(record: Path) -> dict[str, dict[str, str]]:
    root = json.loads(record.read_text(encoding="utf-8"))
    assert root["schema"] == SCHEMA
    return dict(root["sets"])


class TestRecord:
    def test_what_was_noted_is_found(self, tmp_path: Path) -> None:
        """Also of files that moved, and with a path that only a shell of there understands."""
        record = tmp_path / "state" / "hosts.json"
        remember(record, put(tmp_path)[0], "me@jet", "/opt/a b '$(x)\udcff/trtexec")
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        for path in tmp_path.glob("net.*"):
            path.rename(tmp_path / path.name.replace("net", "other"))
        known = recall(record, tmp_path / "other.capture.json", tmp_path / "other.engine")
        assert (known.ssh.host, known.trtexec) == ("me@jet", "/opt/a b '$(x)\udcff/trtexec")
        assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
            "other.capture.json",
            "other.engine",
        ]

    def test_others_stay_and_the_oldest_go(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("trex_tui.old.capture.hosts._MOST_SETS", 2)
        record = tmp_path / "hosts.json"
        for number in range(3):
            remember(record, put(tmp_path, bytes([number]))[0], f"jet{number}", "/trtexec")
        assert [entry["host"] for entry in noted(record).values()] == ["jet1", "jet2"]

    def test_at_the_same_time(self, tmp_path: Path) -> None:
        """None of several captures loses what another noted."""
        record = tmp_path / "hosts.json"
        code = (
            "import sys; from pathlib import Path; from trex_tui.old.capture.hosts import remember; places = Path(sys.argv[2]); "
            "[remember(Path(sys.argv[1]), places / str(n) / 'net.capture.json', 'jet', '/x') for n in range(9)]"
        )
        places = [tmp_path / name for name in "abc"]
        for place in places:
            for number in range(9):
                (place / str(number)).mkdir(parents=True)
                put(place / str(number), f"{place.name}{number}".encode())
        runs = [subprocess.Popen([sys.executable, "-c", code, record, place]) for place in places]
        assert [run.wait() for run in runs] == [0, 0, 0]
        assert len(noted(record)) == 27

    def test_another_set(self, tmp_path: Path) -> None:
        manifest, engine = put(tmp_path)
        record = tmp_path / "hosts.json"
        remember(record, manifest, "jet", "/trtexec")
        engine.write_bytes(b"what somebody else would have run there")
        with pytest.raises(TrexError, match=r"net\.engine is not the engine that was captured on jet"):
            recall(record, manifest, engine)
        manifest.write_text(manifest.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        with pytest.raises(TrexError, match=r"has no entry for it; capture --host adds one"):
            recall(record, manifest, engine)

    def test_an_engine_that_nobody_could_hash(self, tmp_path: Path) -> None:
        manifest, _ = put(tmp_path)
        root = json.loads(manifest.read_text(encoding="utf-8"))
        manifest.write_text(json.dumps({**root, "engine": {"sha256": None}}), encoding="utf-8")
        remember(tmp_path / "hosts.json", manifest, "jet", "/trtexec")
        assert not (tmp_path / "hosts.json").exists()

    @pytest.mark.parametrize(
        "entry",
        [
            {"host": "-oProxyCommand=touch x"},
            {"host": "a b"},
            {"host": "a\x1b[31m"},
            {"host": 3},
            {"host": "x" * 10**6 + "\n"},
            {"trtexec": "relative"},
            {"trtexec": "/a\0b"},
            {"trtexec": "/" * 5000},
            {"trtexec": None},
            {"engine": "short"},
            {"engine": ["x"]},
        ],
    )
    def test_an_entry_that_no_capture_notes(self, tmp_path: Path, entry: dict[str, object]) -> None:
        manifest, engine = put(tmp_path)
        record = tmp_path / "hosts.json"
        remember(record, manifest, "jet", "/trtexec")
        (digest,) = noted(record)
        sets = {digest: {**noted(record)[digest], **entry}}
        record.write_text(json.dumps({"schema": SCHEMA, "sets": sets}), encoding="utf-8")
        with pytest.raises(TrexError, match="not a machine with a trtexec") as error:
            recall(record, manifest, engine)
        assert str(error.value).isprintable()

    @pytest.mark.parametrize(
        "content",
        [
            b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"schema": "trex-tui/hosts/2", "sets": {}}',
            b'{"schema": "trex-tui/hosts/1", "sets": []}', b"1" * 5000, b" " * (9 << 20),
        ],
        ids=range(10),
    )  # fmt: skip
    def test_a_file_of_others_stays(self, tmp_path: Path, content: bytes) -> None:
        manifest, engine = put(tmp_path)
        record = tmp_path / "hosts.json"
        record.write_bytes(content)
        for action in (
            lambda: recall(record, manifest, engine),
            lambda: remember(record, manifest, "jet", "/x"),
        ):
            with pytest.raises(
                TrexError, match=r"hosts\.json: is not a record of captures over ssh; move it away"
            ):
                action()
        assert record.read_bytes() == content

    @given(st.dictionaries(st.sampled_from(["schema", "sets", "x"]), JSON | st.just(SCHEMA)), JSON)
    def test_any_json(
        self, tmp_path_factory: pytest.TempPathFactory, root: dict[str, object], entry: object
    ) -> None:
        place = tmp_path_factory.mktemp("any")
        manifest, engine = put(place)
        digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
        for document in (root, {"schema": SCHEMA, "sets": {digest: entry}}):
            (place / "hosts.json").write_text(json.dumps(document), encoding="utf-8")
            with pytest.raises(TrexError):
                recall(place / "hosts.json", manifest, engine)

    def test_places_that_are_no_private_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        manifest, engine = put(tmp_path)
        record = tmp_path / "hosts.json"
        remember(record, manifest, "jet", "/trtexec")
        record.chmod(0o622)
        with pytest.raises(TrexError, match="writable by others; ignored; delete it, or chmod 600"):
            recall(record, manifest, engine)
        record.chmod(0o600)
        with monkeypatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
            with pytest.raises(TrexError, match="belongs to another user"):
                recall(record, manifest, engine)
        record.unlink()
        os.mkfifo(record)
        with pytest.raises(TrexError, match="not a regular file"):
            recall(record, manifest, engine)
        with pytest.raises(TrexError, match="no home directory"):
            recall(None, manifest, engine)
        with pytest.raises(TrexError, match="no home directory"):
            remember(None, manifest, "jet", "/trtexec")
        with pytest.raises(TrexError, match="Not a directory"):
            remember(manifest / "x" / "hosts.json", manifest, "jet", "/trtexec")


needs_sshd = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("d"), multiplexed=True) as found:
        yield found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """A set that was captured on the other side, with its engine; here is no trtexec."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREX_TUI_SSH_CONFIG", str(server.config))
    monkeypatch.setenv("TRTEXEC", str(tmp_path / "none"))
    (tmp_path / "net.onnx").write_bytes(b"a model")
    there = program(tmp_path / "to 'ols", FAKE_TRTEXEC_CALLS=str(tmp_path / "calls"))
    words = ["--onnx", "net.onnx", "--outdir", "set", "--with-engine", "--iterations", "20"]
    assert main(["capture", "--host", "jet", "--trtexec", str(there), *words]) == 0
    (tmp_path / "calls").unlink()
    return tmp_path / "set"


@needs_sshd
@pytest.mark.sshd
@pytest.mark.screens
class TestAgain:
    async def test_on_the_machine_of_the_set(self, place: Path, tmp_path: Path, server: Server) -> None:
        record = hosts_file(os.environ)
        assert record is not None
        (entry,) = noted(record).values()
        there = tmp_path / "to 'ols" / "trtexec"
        assert entry["host"] == "jet"
        assert entry["trtexec"] == str(there)
        assert not any(b'"jet"' in path.read_bytes() for path in place.glob("*.json")), "that is private"
        async with running(place / "net.graph.json", (120, 40)) as session:
            await session.press("P")
            await session.until(lambda: "Enter runs" in session.text, "the commands")
            assert "Machine  jet (over ssh)" in told(session)
            assert f"trtexec  10.4.0, {there}" in told(session)
            assert "It runs in a temporary directory of jet" in told(session)
            assert "--loadEngine=./in/0/net.engine" in told(session)
            assert "--host jet --trtexec" in told(session)
            assert calls(tmp_path / "calls") == [], "nothing runs unasked"
            await session.press("enter")
            await session.until(lambda: on_top(session) == "ChooseScreen", "what to do with the new set")
        (words,) = calls(tmp_path / "calls")
        assert "--iterations=20" in words
        assert [one.name for one in find(place)] == ["net", "net.again-2"]
        assert json.loads((place / "net.again-2.capture.json").read_text())["remote"]["over"] == "ssh"
        known = recall(record, place / "net.again-2.capture.json", place / "net.engine")
        assert known.ssh.host == "jet", "the new set, too"
        assert server.left() == []

    async def test_a_machine_that_is_gone(self, place: Path, tmp_path: Path) -> None:
        (tmp_path / "to 'ols" / "trtexec").unlink()
        async with running(place / "net.graph.json", (120, 40)) as session:
            await session.press("P")
            await session.until(lambda: "Cannot profile here: jet: --trtexec: no executable" in told(session))
            assert "--host jet" in told(session), "what to repeat from a shell"
            await session.press("enter")
            assert on_top(session) == "CaptureScreen", "there is nothing to run"

    async def test_without_the_record(
        self, place: Path, programs: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is missing is said; a trtexec here may do it."""
        record = hosts_file(os.environ)
        assert record is not None
        record.unlink()
        async with running(place / "net.graph.json", (120, 40)) as session:
            await session.press("P")
            await session.until(lambda: "has no entry for it" in told(session))
            assert "Cannot profile here: this set was captured over ssh" in told(session)
            assert "; and here: $TRTEXEC: " in told(session)
            await session.press("escape")
            await session.until(lambda: on_top(session) == "EngineScreen")
            monkeypatch.setenv("TRTEXEC", str(programs("10.4.0").path))  # type: ignore[attr-defined]
            record.write_bytes(b"[" * 100_000)
            await session.press("P")
            await session.until(lambda: "Enter runs" in session.text, "the commands")
            assert "is not a record of captures over ssh; move it away; running on this machine" in told(
                session
            )
            await session.press("escape")
            await session.until(lambda: on_top(session) == "EngineScreen")
            (place / "net.engine").unlink()
            await session.press("R", "P")
            await session.until(lambda: "copies it back with --with-engine" in told(session))

    async def test_who_only_looks_asks_nobody(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise AssertionError("a connection")

        monkeypatch.setattr("trex_tui.old.capture.remote.find_there", refuse)
        async with running(place / "net.graph.json", (100, 40), is_read_only=True) as session:
            await session.press("P")
            await session.until(lambda: "the explorer is read-only" in told(session))
        async with running(place / "net.graph.json", (100, 40)) as session:
            monkeypatch.setattr(type(session.app), "is_web", property(lambda _: True))
            await session.press("P")
            await session.until(lambda: "not available in a browser" in told(session))
            await session.press("enter")
            assert on_top(session) == "CaptureScreen"

    @pytest.mark.usefixtures("place")
    def test_a_record_that_cannot_be_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The capture is worth no less."""
        record = hosts_file(os.environ)
        assert record is not None
        record.write_text("mine", encoding="utf-8")
        words = ["--onnx", "net.onnx", "--outdir", "other", "--trtexec", str(tmp_path / "to 'ols")]
        capsys.readouterr()
        assert main(["capture", "--host", "jet", *words]) == 0
        err = capsys.readouterr().err
        assert f"note: P will not find jet again: {record}: is not a record" in err
        assert record.read_text(encoding="utf-8") == "mine"
