"""Reads the weights of a model in CTranslate2's format: one file, model.bin, of version 6."""
import struct

import numpy

VERSION = 6
TYPES = [numpy.float32, numpy.int8, numpy.int16, numpy.int32, numpy.float16]


class Reader:
    """Reads the bytes from the start. ValueError if they end too early."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if size > len(self.data) - self.at:
            raise ValueError("model.bin ends too early")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def text(self):
        return bytes(self.take(self.number("H"))[:-1]).decode()  # a zero ends it

    def array(self):
        shape = [self.number("I") for _ in range(self.number("B"))]
        kind = self.number("B")
        if kind >= len(TYPES):
            raise ValueError(f"model.bin has values of the unknown type {kind}")
        return numpy.frombuffer(self.take(self.number("I")), TYPES[kind]).reshape(shape)


def read_weights(data):
    """Arrays by name, in their stored types: views of `data`, the bytes of the file. ValueError for the bytes of
    another kind of file."""
    reader = Reader(memoryview(data))
    version = reader.number("I")
    if version != VERSION:
        raise ValueError(f"model.bin is of version {version}, not {VERSION}")
    reader.text()  # what kind of model it is
    reader.number("I")  # and the revision of that
    weights = {}
    for _ in range(reader.number("I")):
        name = reader.text()
        weights[name] = reader.array()
    for _ in range(reader.number("I")):
        alias = reader.text()
        weights[alias] = weights[reader.text()]
    return weights
