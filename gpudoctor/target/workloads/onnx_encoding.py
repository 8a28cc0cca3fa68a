"""The messages of ONNX that a network needs, encoded as protocol buffers without a library.

A field is its number and wire type, then a varint (0), four bytes (5), or a length and bytes (2). Large tensors are made only when their
bytes are written. Python 3.8, standard library only.
"""

import struct

TYPES = {"float32": (1, 4), "float16": (10, 2), "int32": (6, 4), "int64": (7, 8), "bool": (9, 1)}  # TensorProto.DataType, bytes of one
LARGEST = 2**31 - 1  # the largest size of a protocol buffer in bytes


def varint(value):
    """Negative numbers are ten bytes long, as 64-bit two's complement."""
    value &= 0xFFFFFFFFFFFFFFFF
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


class Message:
    """Collects fields. `parts` holds bytes, and (length, make) for bytes that make() will give in pieces."""

    def __init__(self):
        self.parts, self.length = [], 0

    def _append(self, data):
        self.parts.append(data)
        self.length += len(data)

    def integer(self, number, *values):
        for value in values:
            self._append(varint(number << 3) + varint(value))
        return self

    def real(self, number, *values):
        for value in values:
            self._append(varint(number << 3 | 5) + struct.pack("<f", value))
        return self

    def data(self, number, *values):
        """Adds fields of texts or bytes."""
        for value in values:
            value = value.encode("utf-8") if isinstance(value, str) else value
            self._append(varint(number << 3 | 2) + varint(len(value)) + value)
        return self

    def later(self, number, length, make):
        """A field of `length` bytes, which make() yields in pieces when the message is written."""
        self._append(varint(number << 3 | 2) + varint(length))
        self.parts.append((length, make))
        self.length += length
        return self

    def inner(self, number, *messages):
        for message in messages:
            self._append(varint(number << 3 | 2) + varint(message.length))
            self.parts += message.parts
            self.length += message.length
        return self

    def pieces(self):
        for part in self.parts:
            if isinstance(part, bytes):
                yield part
                continue
            length, make = part
            written = 0
            for piece in make():
                written += len(piece)
                yield piece
            if written != length:
                raise ValueError(f"{length} bytes were announced, {written} made")


def attribute(name, value):
    """AttributeProto of an int, a float, a text, or a list of ints."""
    found = Message().data(1, name)
    if isinstance(value, float):
        return found.real(2, value).integer(20, 1)
    if isinstance(value, int):
        return found.integer(3, value).integer(20, 2)
    if isinstance(value, str):
        return found.data(4, value).integer(20, 3)
    return found.integer(8, *value).integer(20, 7)


def node(kind, name, given, result, **attributes):
    """Encodes a NodeProto; `result`: the name of its output, or a list of names."""
    found = Message().data(1, *given).data(2, *([result] if isinstance(result, str) else result)).data(3, name).data(4, kind)
    return found.inner(5, *[attribute(key, value) for key, value in attributes.items()])


def tensor(name, kind, shape, length, make):
    """TensorProto whose `length` bytes make() yields."""
    return Message().integer(1, *shape).integer(2, TYPES[kind][0]).data(8, name).later(9, length, make)


def tensor_elsewhere(name, kind, shape, file, offset, length):
    """TensorProto whose bytes are in another file beside the model's."""
    found = Message().integer(1, *shape).integer(2, TYPES[kind][0]).data(8, name)
    for key, value in (("location", file), ("offset", str(offset)), ("length", str(length))):
        found.inner(13, Message().data(1, key).data(2, value))
    return found.integer(14, 1)


def value_info(name, kind, shape):
    """ValueInfoProto of a tensor: an input or an output."""
    sides = Message().inner(1, *[Message().integer(1, side) for side in shape])
    of = Message().integer(1, TYPES[kind][0]).inner(2, sides)
    return Message().data(1, name).inner(2, Message().inner(1, of))


def model(name, opset, nodes, tensors, inputs, outputs):
    """ModelProto. The version of the format follows from the operator set, so that runtimes of that time can read it."""
    graph = Message().inner(1, *nodes).data(2, name).inner(5, *tensors).inner(11, *inputs).inner(12, *outputs)
    written_in = 6 if opset < 12 else 7 if opset < 15 else 8
    return Message().integer(1, written_in).data(2, "gpudoctor").inner(7, graph).inner(8, Message().data(1, "").integer(2, opset))
