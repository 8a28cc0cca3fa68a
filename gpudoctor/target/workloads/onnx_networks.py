"""A layer list as an ONNX model for inference, without the onnx package: for OpenVINO, ONNX Runtime and PopART.

model_bytes(network) gives the bytes, write(network, path) a file; static shapes, operator set 11 to 17, weights of weights.py in float32 or
float16. Inputs and outputs carry the network's names. A model above 2 GiB (the UNets in float32) is written with its weights in a second
file beside it, PATH + '.weights', as ONNX runtimes expect; in float16 the UNets are one file of 1.7 GB. A layer without an operator is
composed of several.
"""

import array
import math
import os
import struct
import sys

import weights
from network_ir import parameters_of, shapes
from onnx_encoding import LARGEST, TYPES, model, node, tensor, tensor_elsewhere, value_info
from onnx_operators import OPERATORS

OPSETS = range(11, 18)
ROOM = 2**20 * 16  # bytes for everything except the weights


def model_bytes(network, opset=13, dtype="float32", index="int64"):
    """The model as bytes; ValueError where they would be more than a protocol buffer can hold. index: int64 or int32 for tokens."""
    found = _Graph(network, opset, dtype, index).message()
    if found.length > LARGEST:
        raise ValueError(f"{network.name} in {dtype} has {found.length} bytes, more than one ONNX file can hold: use write()")
    return b"".join(found.pieces())


def write(network, path, opset=13, dtype="float32", index="int64", apart=None):
    """Writes the model to `path`; apart=True puts the weights into a second file (default: where one would be too large).

    Returns the paths written."""
    graph = _Graph(network, opset, dtype, index)
    beside = path + ".weights"
    apart = graph.weight_bytes() > LARGEST - ROOM if apart is None else apart
    message = graph.message(os.path.basename(beside) if apart else "")
    if message.length > LARGEST:
        raise ValueError(
            f"{network.name} in {dtype} has {message.length} bytes, more than one ONNX file can hold: write it with apart=True"
        )
    with open(path, "wb") as file:
        file.writelines(message.pieces())
    if not apart:
        return [path]
    with open(beside, "wb") as file:
        for _, _, length, make in graph.large:
            file.writelines(make())
            file.write(b"\0" * (-length % ALIGNED))
    return [path, beside]


ALIGNED = 4096  # runtimes can map weights into memory that begin at a multiple of this many bytes


class _Graph:
    """Collects nodes, constants and weights while the operators of each layer are added.

    Values are named as their layers; what lies between is named layer/what."""

    def __init__(self, network, opset, dtype, index):
        if opset not in OPSETS:
            raise ValueError(f"operator set {opset}: one of {OPSETS[0]} to {OPSETS[-1]} is needed")
        self.network, self.opset, self.dtype, self.index = network, opset, dtype, index
        self.shapes, self.nodes, self.small, self.large, self.known = shapes(network), [], [], [], {}
        self.tables = {layer.name: layer for layer in network.layers if layer.kind == "embedding"}
        for layer in network.layers:
            OPERATORS[layer.kind](self, layer)

    def add(self, kind, result, *given, **attributes):
        """A node; returns the name of its result."""
        self.nodes.append(node(kind, result + ":" + kind, given, result, **attributes))
        return result

    def constant(self, numbers, shape=None, kind=None):
        """The name of a constant of the network's precision, or of int64 for ints; each is stored once."""
        numbers = list(numbers)
        kind = kind or ("int64" if numbers and all(isinstance(number, int) for number in numbers) else self.dtype)
        shape = (len(numbers),) if shape is None else tuple(shape)
        key = (tuple(numbers), shape, kind)
        if key not in self.known:
            self.known[key] = f"constant/{len(self.known)}"
            data = _raw(array.array("q" if kind == "int64" else "f", numbers), kind)
            self.small.append(tensor(self.known[key], kind, shape, len(data), lambda: [data]))
        return self.known[key]

    def weight(self, layer, what, shape=None, turned=False):
        """The name of a parameter of the layer; `turned`: a matrix, transposed; `shape`: laid out in another shape."""
        (found,) = [each for each in parameters_of(layer, self.shapes) if each.name == layer.name + "." + what]
        kept = tuple(shape or (reversed(found.shape) if turned else found.shape))
        name = found.name + (":turned" if turned else "") + (":" + "x".join(map(str, shape)) if shape else "")
        if name not in self.known:
            self.known[name] = name
            length = math.prod(kept) * TYPES[self.dtype][1]
            self.large.append((name, kept, length, lambda: _pieces(found, turned, self.dtype)))
        return name

    def weight_bytes(self):
        return sum(length for _, _, length, _ in self.large)

    def message(self, file=""):
        """ModelProto; with `file` the weights are described as being there, in their order."""
        tensors, offset = list(self.small), 0
        for name, shape, length, make in self.large:
            tensors.append(tensor_elsewhere(name, self.dtype, shape, file, offset, length) if file
                           else tensor(name, self.dtype, shape, length, make))  # fmt: skip
            offset += length + -length % ALIGNED
        given = [value_info(each.name, self.kind_of(each), each.shape) for each in self.network.inputs]
        outputs = [value_info(name, self.dtype, self.shapes[name]) for name in self.network.outputs]
        return model(self.network.name, self.opset, self.nodes, tensors, given, outputs)

    def kind_of(self, which):
        return {"float": self.dtype, "timestep": "float32"}.get(which.kind, self.index)


def _pieces(parameter, turned, dtype):
    made = weights.values(parameter.name, parameter.shape, parameter.centre, parameter.spread)
    if turned:
        columns = parameter.shape[1]
        made = made.T if weights.numpy else array.array("f", (value for column in range(columns) for value in made[column::columns]))
    yield _raw(made, dtype)


def _raw(numbers, kind):
    """Little-endian bytes of a numpy array or an array.array."""
    if isinstance(numbers, array.array):
        if kind == "float16":
            return struct.pack(f"<{len(numbers)}e", *numbers)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()
    return numbers.astype({"float32": "<f4", "float16": "<f2", "int64": "<i8"}[kind]).tobytes()
