"""Banner of trtexec and of programs like it: `&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # command`.

`tensorrt_rtx` of TensorRT-RTX has trtexec's options, files and logs, but versions of its own, from 1.0 on: they are written
`RTX 1.3.0`, so that nothing takes them for old releases of TensorRT. No log of it was at hand: both names of the product are
accepted in every place of the banner, and a major version below 7 counts as TensorRT-RTX, since trtexec has no such release.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PRODUCT = r"TensorRT(?:[-_ ]?RTX)?"
_BEGIN = rf"&&&& (?P<status>RUNNING|PASSED|FAILED|WAIVED|TASK_\w+) (?P<program>{_PRODUCT}\.\S+)"
MARK = re.compile(_BEGIN)
"""Begin of a banner."""
_BANNER = re.compile(
    rf"{_BEGIN}(?: \[(?P<product>{_PRODUCT}) v(?P<number>\d{{1,9}})\])?(?: \[b(?P<build>\d{{1,9}})\])?"
    r".*?(?:# (?P<command>.*))?$",
    re.MULTILINE,
)
_STATED_VERSION = re.compile(
    rf"(?:(?P<product>{_PRODUCT}) version:|TensorRT: starting export with TensorRT) "
    r"(?P<version>\d{1,9}(?:\.\d{1,9}){0,4})"
)
_RTX = "RTX "
_PROGRAMS = ("trtexec", "tensorrt_rtx")
_FIRST_MAJOR = 7
"""The first major version of TensorRT whose number is in a banner."""


class Banner(NamedTuple):
    """Content of a banner.

    Attributes:
        status: RUNNING, PASSED, FAILED, WAIVED, or TASK_BEGIN and TASK_END.
        program: `TensorRT.trtexec`, or the name of another program of NVIDIA's samples.
        version: `10.16.1`, `RTX 1.3.0`; None in TensorRT 7 and older.
        build: Number of the build; None before 10.4.
        command: The command line; empty without one.
    """

    status: str
    program: str
    version: str | None
    build: int | None
    command: str

    @property
    def is_trtexec(self) -> bool:
        """True if the program is trtexec or `tensorrt_rtx`."""
        return self.program.partition(".")[2] in _PROGRAMS


def find_banner(text: str, *, is_trtexec: bool = False) -> Banner | None:
    """Return the first banner in a text; None without one.

    Args:
        is_trtexec: Skip those of other programs.
    """
    for match in _BANNER.finditer(text):
        number, build = match["number"], match["build"]
        version = None
        if number:
            is_rtx = "rtx" in f"{match['program']} {match['product']}".lower()
            version = _with_product(version_of_number(int(number)), is_rtx=is_rtx)
        banner = Banner(
            match["status"],
            match["program"],
            version,
            int(build) if build else None,
            (match["command"] or "").strip(),
        )
        if banner.is_trtexec or not is_trtexec:
            return banner
    return None


def find_stated_version(text: str) -> str | None:
    """Return the version in the first line `TensorRT version: 10.16.1`, or that of an export by Ultralytics; 8.0 prints 8003.
    None without one.
    """
    match = _STATED_VERSION.search(text)
    if match is None:
        return None
    version = match["version"]
    if version.isdecimal() and len(version) > 3:
        version = version_of_number(int(version))
    return _with_product(version, is_rtx="RTX" in (match["product"] or ""))


def _with_product(version: str, *, is_rtx: bool) -> str:
    return f"{_RTX}{version}" if is_rtx or 0 < int(version.partition(".")[0]) < _FIRST_MAJOR else version


def is_rtx_version(version: str) -> bool:
    """Return whether a version is one of TensorRT-RTX."""
    return version.startswith(_RTX)


def version_of_number(number: int) -> str:
    """Decode the number in a banner.

    Up to 9.3 it is major·1000 + minor·100 + patch, from 10.0 on major·10000 + minor·100 + patch. Both forms of TensorRT-RTX's
    1.3.0, 1300 and 10300, result in the same.

    >>> version_of_number(8601), version_of_number(101601), version_of_number(10300)
    ('8.6.1', '10.16.1', '1.3.0')
    """
    if number < 10_000:
        return f"{number // 1000}.{number // 100 % 10}.{number % 100}"
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


_LIBRARY = re.compile(
    r"(?:lib)?nv(?:infer|onnxparser)(?:_[A-Za-z]\w*?)?(?:\.so\.(?P<so>\d{1,3}(?:\.\d{1,3}){0,2})|_(?P<dll>\d{1,3})\.dll)"
)


def version_of_library(text: str) -> tuple[str, str] | None:
    r"""Return the version in the most precise name of a TensorRT library, and that name; None without one.

    >>> version_of_library("Loaded shared library libnvinfer_builder_resource.so.10.4.0")
    ('10.4.0', 'libnvinfer_builder_resource.so.10.4.0')
    >>> version_of_library(r"C:\bin\nvinfer_10.dll")
    ('10', 'nvinfer_10.dll')
    """
    names = [(match["so"] or match["dll"], match[0]) for match in _LIBRARY.finditer(text)]
    return max(names, key=lambda name: name[0].count("."), default=None)
