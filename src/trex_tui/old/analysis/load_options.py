"""Options of loading engines: optimization profile, run, model, and facts about the device."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.config import config_tables
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.analysis.device_overrides import DeviceOverrides


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options for loading.

    Attributes:
        optimization_profile: Profile to show, if there are several; None for the profiled one.
        peaks: Device facts from options, e.g. `bandwidth=320`.
        configured: Device facts from configuration files, by device name.
        run: Run to show, from 1, if a file has several; None for the last one that fits the graph.
        onnx: The ONNX model that the engines were built from; None for none.
        finds_onnx: Whether a model beside the files of an engine is used without `onnx`.
        roots: Directories that the user named, the limit of that search.
        skips_logs: As for `artifacts.read`.
    """

    optimization_profile: int | None = None
    peaks: DeviceOverrides | None = None
    configured: Mapping[str, DeviceOverrides] = field(default_factory=dict)
    run: int | None = None
    onnx: Path | None = None
    finds_onnx: bool = False
    roots: tuple[Path, ...] = ()
    skips_logs: bool = False

    @classmethod
    def of(
        cls,
        optimization_profile: int | None = None,
        peaks: Sequence[str] = (),
        run: int | None = None,
        onnx: str | None = None,
        *,
        finds_onnx: bool = False,
        roots: Sequence[str] = (),
    ) -> LoadOptions:
        """Return options from the command line and the configuration files.

        Raises:
            TrexError: An option or a file has an invalid value.
        """
        tables = config_tables(os.environ)
        plain = cls(
            optimization_profile,
            run=run,
            onnx=None if onnx is None else Path(onnx),
            finds_onnx=finds_onnx and onnx is None,
            roots=tuple(map(Path, roots)),
        )
        if not peaks and not tables:
            return plain
        from trex_tui.old.analysis.device_overrides import overrides_from_options, overrides_in

        configured: dict[str, DeviceOverrides] = {}
        for table in tables:
            for name, stated in overrides_in(table).items():
                weaker = configured.get(name)
                configured[name] = weaker.updated_with(stated) if weaker else stated
        return replace(plain, peaks=overrides_from_options(peaks) if peaks else None, configured=configured)
