"""An ONNX model through onnxruntime, on the CPU: a reference that needs no GPU."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.accuracy.tensors import Signature, TensorSpec, held, numpy_type
from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.errors import TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    from trex_tui.accuracy.tensors import Array

_QUIET = 3  # errors and worse


class OnnxModel:
    """The model as one side of a comparison.

    Raises:
        TrexError: onnxruntime is not installed, or cannot load the model.
    """

    kind = "onnx"

    def __init__(self, path: Path, shapes: Mapping[str, tuple[int, ...]]) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise TrexError(
                "an ONNX model takes onnxruntime, which is not installed: pip install 'trex-tui[accuracy]'"
            ) from None
        onnxruntime.disable_telemetry_events()  # its builds for Windows tell of sessions otherwise
        self.path = path
        self.shapes = shapes
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _QUIET
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            raise TrexError(f"{path}: onnxruntime cannot load it: {_first_line(error)}") from None
        self.version = str(onnxruntime.__version__)

    def probe(self) -> Signature:
        """Inputs and outputs; what the model leaves open is as the shapes given."""
        inputs = tuple(self._spec(one, self.shapes) for one in self._session.get_inputs())
        return Signature(inputs, tuple(self._spec(one, {}) for one in self._session.get_outputs()))

    def _spec(self, told: Any, shapes: Mapping[str, tuple[int, ...]]) -> TensorSpec:  # noqa: ANN401 - a NodeArg
        # `tensor(float)`, `tensor(float16)`, `tensor(int64)`; anything else is no tensor.
        text = told.type.removeprefix("tensor(").removesuffix(")") if told.type.startswith("tensor(") else ""
        dtype = parse_data_type(text)
        shape = shapes.get(told.name) or tuple(
            extent if isinstance(extent, int) else -1 for extent in told.shape or ()
        )
        return TensorSpec(told.name, shape, dtype)

    def run(self, inputs: Mapping[str, Array], outputs: tuple[TensorSpec, ...]) -> dict[str, Array]:
        """Infer once.

        Raises:
            TrexError: onnxruntime refuses.
        """
        types = {one.name: self._spec(one, {}).dtype for one in self._session.get_inputs()}
        for name, dtype in types.items():
            if numpy_type(dtype) is None or dtype is DataType.BF16:
                kind = dtype.value if dtype else "of a type that is no tensor"
                raise TrexError(
                    f"{self.path}: input {printable(name)} is {kind}, which cannot be fed to onnxruntime"
                )
        names = [one.name for one in outputs]
        try:
            results = self._session.run(names, {name: held(inputs[name], types[name]) for name in types})
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            raise TrexError(f"{self.path}: onnxruntime: {_first_line(error)}") from None
        return dict(zip(names, results, strict=True))

    def document(self) -> dict[str, Any]:
        """What the result says about how it ran."""
        return {"onnxruntime_version": self.version}


def _first_line(error: Exception) -> str:
    return printable(next(iter(str(error).splitlines()), type(error).__name__)[:300])
