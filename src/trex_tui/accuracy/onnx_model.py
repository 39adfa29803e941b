"""An ONNX model through onnxruntime, on the CPU: a reference that needs no GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.accuracy.tensors import Signature, TensorSpec, check_shape, held, numpy_type
from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.errors import TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    from trex_tui.accuracy.tensors import Array

_QUIET = 3  # errors and worse
_LONGEST = 600


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
            raise TrexError(f"{path}: onnxruntime cannot load it: {_in_a_line(error)}") from None
        self.version = str(onnxruntime.__version__)

    def probe(self) -> Signature:
        """Inputs and outputs; what the model leaves open is as the shapes given.

        Raises:
            TrexError: A shape does not fit its input.
        """
        inputs = [self._spec(one) for one in self._session.get_inputs()]
        for one in inputs:
            if one.shape:  # onnxruntime tells nothing of a scalar, nor where the model leaves the rank open
                check_shape(self.path, one, self.shapes.get(one.name))
        stated = tuple(replace(one, shape=self.shapes.get(one.name, one.shape)) for one in inputs)
        return Signature(stated, tuple(self._spec(one) for one in self._session.get_outputs()))

    def _spec(self, told: Any) -> TensorSpec:  # noqa: ANN401 - a NodeArg
        # `tensor(float)`, `tensor(float16)`, `tensor(int64)`; anything else is no tensor.
        text = told.type.removeprefix("tensor(").removesuffix(")") if told.type.startswith("tensor(") else ""
        shape = tuple(extent if isinstance(extent, int) else -1 for extent in told.shape or ())
        return TensorSpec(told.name, shape, parse_data_type(text))

    def run(self, inputs: Mapping[str, Array], outputs: tuple[TensorSpec, ...]) -> dict[str, Array]:
        """Infer once.

        Raises:
            TrexError: onnxruntime refuses.
        """
        types = {one.name: self._spec(one).dtype for one in self._session.get_inputs()}
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
            raise TrexError(f"{self.path}: onnxruntime: {_in_a_line(error)}") from None
        return dict(zip(names, results, strict=True))

    def document(self) -> dict[str, Any]:
        """What the result says about how it ran."""
        return {"onnxruntime_version": self.version}


def _in_a_line(error: Exception) -> str:
    """What onnxruntime says, whose sentences go on over several lines."""
    text = printable(" ".join(str(error).split())) or type(error).__name__
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
