"""Tensors of every type in GGUF files against PyPI's `gguf`: the same bits, of random blocks.

Argument: the program unpack_gguf.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from safetensors.numpy import load_file

try:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFWriter
    from gguf.quants import dequantize
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

UNPACK = sys.argv[1]
PLAIN = ["F32", "F16", "BF16"]
# Of types in few bits: where their blocks have float16 numbers. All other bytes may be anything.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": []}
ROWS = 70  # more than one part of 2^15 values
INPUTS = 1024


def random_halves(random, count):
    """Of all sizes, with zeros of both signs, and numbers that are not normalised."""
    values = random.integers(0, 0x7C00, count, dtype=numpy.uint16)
    values[random.random(count) < 0.1] = 0
    values[random.random(count) < 0.1] = random.integers(1, 0x400)
    return values | (random.integers(0, 2, count, dtype=numpy.uint16) << 15)


def random_rows(random, name):
    """The bytes of a matrix."""
    kind = GGMLQuantizationType[name]
    if name in PLAIN:
        values = random.standard_normal((ROWS, INPUTS)).astype(numpy.float32)
        if name == "F32":
            return values
        return values.astype(numpy.float16) if name == "F16" else (values.view(numpy.uint32) >> 16).astype(numpy.uint16)
    block_values, block_bytes = GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (ROWS * INPUTS // block_values, block_bytes), dtype=numpy.uint8)
    for place in HALVES[name]:
        blocks[:, place:place + 2] = random_halves(random, len(blocks)).view(numpy.uint8).reshape(-1, 2)
    return blocks.reshape(ROWS, -1)


def write(path, tensors):
    writer = GGUFWriter(path, "llama")
    for name, values in tensors.items():
        writer.add_tensor(name, values if name in ("F32", "F16") else values.view(numpy.uint8),
                          raw_dtype=GGMLQuantizationType[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def bits(values):
    return numpy.ascontiguousarray(values).view(numpy.uint32)


def expected_values(name, rows):
    stored = rows if name in ("F32", "F16") else rows.view(numpy.uint8)
    with numpy.errstate(over="ignore"):  # of MXFP4's largest exponents
        return dequantize(stored, GGMLQuantizationType[name]).reshape(ROWS, INPUTS)


def swap_nibbles(name, rows):
    """In row 3, of all that is no float16 number."""
    block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]
    swapped = rows.copy()
    blocks = swapped[3].reshape(-1, block_bytes)
    kept = [byte for half in HALVES[name] for byte in (half, half + 1)]
    others = [byte for byte in range(block_bytes) if byte not in kept]
    blocks[:, others] = blocks[:, others] >> 4 | blocks[:, others] << 4
    return swapped


def find_wrong_rows(path, tensors, scratch):
    """The rows that are not as gguf has them, by the name of the tensor and the way of reading."""
    subprocess.run([UNPACK, path, scratch / "ours.safetensors"], check=True)
    ours = load_file(scratch / "ours.safetensors")
    wrong = {}
    for name, rows in tensors.items():
        expected = bits(expected_values(name, rows))
        for way in ["rows"] if name in PLAIN else ["rows", "codes"]:
            found = bits(ours[f"{way}/{name}"])
            assert found.shape == expected.shape, f"{way}/{name}: {found.shape}"
            wrong[f"{way}/{name}"] = numpy.flatnonzero((found != expected).any(axis=1)).tolist()
    return wrong


def main():
    random = numpy.random.default_rng(11)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        tensors = {name: random_rows(random, name) for name in [*PLAIN, *HALVES]}
        write(scratch / "all.gguf", tensors)
        wrong = find_wrong_rows(scratch / "all.gguf", tensors, scratch)
        assert len(wrong) == len(PLAIN) + 2 * len(HALVES)
        faults = {name: rows for name, rows in wrong.items() if rows}
        assert not faults, f"rows that differ from gguf's: {faults}"
        print(f"ok: {len(tensors)} types, {ROWS * INPUTS} values each, the same bits as rows and as codes")

        packed = {name: tensors[name] for name in HALVES}
        write(scratch / "swapped.gguf", {name: swap_nibbles(name, rows) for name, rows in packed.items()})
        wrong = find_wrong_rows(scratch / "swapped.gguf", packed, scratch)
        assert all(rows == [3] for rows in wrong.values()), f"swapped nibbles in row 3 were found in: {wrong}"
        print("ok: a fault that is planted is found, in each type")


main()
