"""The JSON files in the physical layout in which trtexec and libnvinfer write them.

trtexec prints its profile and timing files itself, a record per line with a leading comma; the layer information comes
from the engine inspector of libnvinfer; the metadata files come from trex, which uses Python's `json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from samples import cpp
from samples.model import Engine, IOTensor, Layer, Tensor
from samples.run import ProfileRow, Query


def profile_json(count: int, rows: Sequence[ProfileRow]) -> str:
    """`--exportProfile`, as TensorRT 8.4.1 to 11 write it."""
    lines = ["[", f'  {{ "count" : {count} }}']
    lines += [
        f', {{ "name" : "{row.name}", "timeMs" : {cpp.text(row.time_ms)}, "averageMs" : {cpp.text(row.average_ms)}, '
        f'"medianMs" : {cpp.text(row.median_ms)}, "percentage" : {cpp.text(row.percentage)} }}'
        for row in rows
    ]
    return "\n".join([*lines, "]", ""])


def timing_json(queries: Iterable[Query]) -> str:
    """`--exportTimes`, as TensorRT 8.4 to 11 write it: without `endToEndMs`."""
    lines: list[str] = []
    for query in queries:
        fields = (f'"{key}" : {cpp.text(value)}' for key, value in query.fields())
        lines.append(f"{', ' if lines else '  '}{{ {', '.join(fields)} }}")
    return "\n".join(["[", *lines, "]", ""])


def metadata_json(sections: dict[str, Any], indent: int | None) -> str:
    """A metadata file of trex; it writes no line end."""
    return json.dumps(sections, indent=indent)


def graph_json(engine: Engine) -> str:
    """`--exportLayerInfo` of an engine with detailed verbosity."""
    split = engine.release >= 1100
    layers = ",".join(_layer(layer, split) for layer in engine.layers)
    head = f'{{"Layers": [{layers}],\n'
    if split:
        ios = "\n,".join(_io_tensor(tensor) for tensor in engine.ios)
        tail = '"ProfilingVerbosity": "kDETAILED",\n"Engine Metadata": {"Multi-Device": "Disabled"}}\n'
        return f'{head}"I/O Tensors": [{ios}\n],\n{tail}'
    return f"{head}{_bindings(tensor.name for tensor in engine.ios)}}}\n"


def names_json(names: Iterable[str], bindings: Iterable[str]) -> str:
    """`--exportLayerInfo` of an engine that was built without `--profilingVerbosity=detailed`."""
    layers = "\n,".join(json.dumps(name) for name in names)
    return f'{{"Layers": [{layers}\n],\n{_bindings(bindings)}}}\n'


def _bindings(names: Iterable[str]) -> str:
    listed = "\n,".join(json.dumps(name) for name in names)
    return f'"Bindings": [{listed}\n]'


def _layer(layer: Layer, split: bool) -> str:
    members = [
        f'"Name": {json.dumps(layer.name)}',
        f'"LayerType": {json.dumps(layer.kind)}',
        f'"Inputs": {_tensors(layer.inputs, layer.is_myelin, split)}',
        f'"Outputs": {_tensors(layer.outputs, layer.is_myelin, split)}',
    ]
    for key, value in layer.extra.items():
        shown = _tensors(value, True, split) if key == "Constants" else _value(value)
        members.append(f'"{key}": {shown}')
    return "{\n  " + ",\n  ".join(members) + "\n}"


def _value(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, (list, tuple)):
        return json.dumps(value, separators=(",", ":"))
    return json.dumps(value)


def _tensors(tensors: Sequence[Tensor], is_myelin: bool, split: bool) -> str:
    if not tensors:
        return "[]"
    listed = ",\n  ".join(_tensor(tensor, is_myelin, split) for tensor in tensors)
    return f"[\n  {listed}]"


def _tensor(tensor: Tensor, is_myelin: bool, split: bool) -> str:
    members = [f'"Name": {json.dumps(tensor.name)}']
    if not is_myelin:
        members.append('"Location": "Device"')
    members.append(f'"Dimensions": {_value(tensor.dims)}')
    if split:
        members += _split_format(tensor)
    else:
        members.append(f'"Format/Datatype": {json.dumps(tensor.format_text)}')
    return "{\n    " + ",\n    ".join(members) + "\n  }"


def _split_format(tensor: Tensor) -> list[str]:
    """TensorRT 11's keys in place of `Format/Datatype`; all tensors of our 11 set are row major."""
    strides = [1] * len(tensor.dims)
    for axis in range(len(strides) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * tensor.dims[axis + 1]
    layout = "linear" if tensor.layout is None else tensor.layout
    return [
        f'"Datatype": "{tensor.dtype}"',
        f'"Format": "{linear_format(tensor.dtype) if layout == "linear" else tensor.format_text}"',
        f'"StrideOrder": {_value(list(reversed(range(len(strides)))))}',
        f'"Strides": {_value(strides)}',
    ]


def linear_format(dtype: str) -> str:
    """The row-major format as TensorRT 10 and 11 describe it for network inputs and outputs."""
    long_names = {"Half": "FP16", "Float": "FP32", "BFloat16": "BF16"}
    return f"Row major linear {long_names.get(dtype, dtype)} format (kLINEAR)"


def _io_tensor(tensor: IOTensor) -> str:
    profile: dict[str, Any] = {}
    if tensor.is_input and tensor.shapes:
        keys = ("MinShape", "OptShape", "MaxShape")
        profile = dict(zip(keys, map(list, tensor.shapes), strict=True))
    profile["Format"] = linear_format(tensor.dtype)
    members = {
        "Name": tensor.name,
        "IOMode": "Input" if tensor.is_input else "Output",
        "DataType": tensor.dtype,
        "Dimensions": list(tensor.dims),
        "Location": "Device",
        "IsShapeInferenceIO": False,
        "ProfileInfo": [profile],
    }
    return json.dumps(members, separators=(",", ":"))
