"""What a capture elsewhere needs of this machine: which files, where they go, and the options that name them there."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from trex_tui.capture.options import CaptureOptions
from trex_tui.errors import TrexError

# TensorProto.external_data of ONNX is a StringStringEntryProto: field 1 `location`, field 2 the file, lengths as varints.
_LOCATION = re.compile(rb"\x0a\x08location\x12([\x80-\xff]?[\x01-\x7f])")
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A file to send.

    Attributes:
        source: Where it lies here.
        directory: Where it goes.
        name: What it is called there.
        is_for_build: Whether only a build reads it.
    """

    source: Path
    directory: str
    name: str
    is_for_build: bool = False

    @property
    def path(self) -> str:
        """The file, on the other side."""
        return f"{self.directory}/{self.name}"


def moved(options: CaptureOptions, directory: str) -> tuple[CaptureOptions, list[Sent]]:
    """The options as they are on the other side, and the files that must be in `directory` for that.

    Each file gets a directory of its own and keeps its name, for logs and plugins tell it. A plugin without a slash is looked
    up by the other side; what stands behind `--` stays as it is.

    Raises:
        TrexError: A file is not there.
    """
    files: list[Sent] = []

    def send(text: str, name: str | None = None, *, is_for_build: bool = False) -> str:
        source = Path(text)
        if not source.is_file():
            raise TrexError(f"{source} is no file, and cannot be sent")
        files.append(Sent(source, f"{directory}/in/{len(files)}", name or source.name, is_for_build))
        return files[-1].path

    def maybe(text: str | None, *, is_for_build: bool = True) -> str | None:
        return None if text is None else send(text, is_for_build=is_for_build)

    there = replace(
        options,
        onnx=maybe(options.onnx),
        engine=maybe(options.engine, is_for_build=False),
        calib=maybe(options.calib),
        plugins=tuple(send(one) if "/" in one else one for one in options.plugins),
        load_inputs=_inputs(options.load_inputs, send),
    )
    if options.onnx is not None:
        # Beside the model, where the loader looks for it.
        model = files[0]
        files.extend(_beside(model, location) for location in external_data(model.source))
    if options.timing_cache is not None:
        there = replace(there, timing_cache=f"{directory}/timing.cache")
        if Path(options.timing_cache).is_file():
            files.append(Sent(Path(options.timing_cache), directory, "timing.cache", is_for_build=True))
    return there, files


def _inputs(spec: str | None, send: object) -> str | None:
    """`input:file,…` of trtexec; the names of files there have neither comma nor colon."""
    if spec is None:
        return None
    found = []
    for number, one in enumerate(spec.split(",")):
        name, colon, file = one.rpartition(":")
        if not colon:
            raise TrexError(f"--load-inputs {spec}: not input:file,…")
        found.append(f"{name}:{send(file, f'input-{number}')}")  # type: ignore[operator]
    return ",".join(found)


def _beside(model: Sent, location: str) -> Sent:
    place = PurePosixPath(location)
    if place.is_absolute() or ".." in place.parts or "\0" in location:
        raise TrexError(f"{model.source}: its weights lie at {location!r}, outside of its directory")
    source = model.source.parent / place
    if not source.is_file():
        raise TrexError(f"{model.source}: its weights are missing: {source}")
    folder = "" if str(place.parent) == "." else f"/{place.parent}"
    return Sent(source, f"{model.directory}{folder}", place.name, is_for_build=True)


def external_data(model: Path) -> list[str]:
    """The files that an ONNX model keeps weights in, each once, as it names them; found without understanding the rest.

    Raises:
        OSError: It cannot be read.
    """
    return list(dict.fromkeys(_locations(model)))[:_MOST_FILES]


def _locations(model: Path) -> Iterator[str]:
    with model.open("rb") as file:
        if not model.stat().st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for match in _LOCATION.finditer(data):
                size = match[1][0] & 0x7F
                if len(match[1]) == 2:
                    size |= match[1][1] << 7
                text = data[match.end() : match.end() + size]
                if len(text) == size:
                    yield text.decode("utf-8", errors="surrogateescape")
