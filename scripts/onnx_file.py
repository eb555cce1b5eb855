"""Writes ONNX files without the onnx package: builds the graph, then its bytes.

Only what scripts/convert_whisper.py needs. The same calls give the same bytes everywhere, so the hash of a file is
known before it is made. Fields are those of onnx.proto.
"""
import struct

import numpy

TYPES = {numpy.dtype(kind): number for kind, number in (("float32", 1), ("uint8", 2), ("int8", 3), ("int32", 6),
                                                        ("int64", 7), ("float16", 10))}
FLOAT, UINT8, INT64 = 1, 2, 7
OPSET, CONTRIB_OPSET, IR_VERSION = 20, 1, 9
CONTRIB = "com.microsoft"  # operators that only ONNX Runtime has


def varint(value):
    """A whole number >= 0 in groups of 7 bits, the lowest first."""
    groups = bytearray()
    while value >= 128:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def field(number, value):
    """A field of a protobuf message: whole number, float, text, or the bytes of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields):
    """From (number, value) pairs; a list becomes one field for each of its values."""
    return b"".join(field(number, one) for number, value in fields
                    for one in (value if isinstance(value, list) else [value]))


def tensor(name, array):
    array = numpy.asarray(array, order="C")
    if array.dtype.byteorder == ">":
        raise ValueError(f"{name}: the order of bytes must be little-endian")
    return message((1, list(array.shape)), (2, TYPES[array.dtype]), (8, name), (9, array.tobytes()))


def attribute(name, value):
    if isinstance(value, float):
        return message((1, name), (2, value), (20, 1))
    if isinstance(value, int):
        return message((1, name), (3, value), (20, 2))
    return message((1, name), (8, value), (20, 7))  # a list of whole numbers


def value_info(name, kind, shape):
    """An input or output; a dimension is a number, or a name for one that varies."""
    dimensions = [message((1 if isinstance(size, int) else 2, size)) for size in shape]
    return message((1, name), (2, message((1, message((1, kind), (2, message((1, dimensions))))))))


class Graph:
    """Nodes and constants. Values are known by their names, which every method returns."""

    def __init__(self):
        self.nodes = []
        self.constants = {}  # their bytes, by name

    def constant(self, name, array):
        if name not in self.constants:
            self.constants[name] = tensor(name, array)
        return name

    def ints(self, *values):
        """A constant vector of int64."""
        return self.constant("ints_" + "_".join(map(str, values)), numpy.array(values, numpy.int64))

    def number(self, value):
        """A constant scalar: int64 or float32."""
        kind = numpy.int64 if isinstance(value, int) else numpy.float32
        return self.constant(f"number_{value}", numpy.array(value, kind))

    def op(self, operator, *inputs, outputs=1, domain="", name="", **attributes):
        """Adds a node. Returns its output, which is called `name` if that is given, or a list of several."""
        count = len(self.nodes)
        results = [name or f"{operator}_{count}_{i}" for i in range(outputs)]
        self.nodes.append(message((1, list(inputs)), (2, results), (3, f"{operator}_{count}"), (4, operator),
                                  (5, [attribute(*pair) for pair in sorted(attributes.items())]), (7, domain)))
        return results[0] if outputs == 1 else results

    def save(self, path, inputs, outputs, metadata):
        """`inputs` and `outputs` are of value_info(); `metadata` are texts by name."""
        graph = message((1, self.nodes), (2, "graph"), (5, list(self.constants.values())), (11, inputs), (12, outputs))
        opsets = [message((1, ""), (2, OPSET)), message((1, CONTRIB), (2, CONTRIB_OPSET))]
        properties = [message((1, key), (2, str(value))) for key, value in metadata.items()]
        with open(path, "wb") as file:
            file.write(message((1, IR_VERSION), (2, "predgen"), (8, opsets), (14, properties), (7, graph)))
