"""Registers and spills of the kernels for CUDA as ptxas says, on every kind of GPU that they are for.

usage: gpu_registers_test.py sample|whole NVCC HEADERS COMPILER     (sample: the oldest and the newest kind)
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURES = (80, 86, 89, 90, 100, 120) if sys.argv[1] == "whole" else (80, 120)
MOST_REGISTERS = 128  # so that two blocks of 256 threads share a processor
MOST_OF_WIDE = 255  # products of many rows, whose sums fill a processor with one block
MOST_SHARED = 48 * 1024  # bytes that a kernel may have without asking for more

nvcc, headers, compiler = sys.argv[2:]
root = pathlib.Path(__file__).resolve().parents[3]
with tempfile.TemporaryDirectory() as folder:
    codes = [part for a in ARCHITECTURES for part in ("-gencode", f"arch=compute_{a},code=sm_{a}")]
    said = subprocess.run(
        [nvcc, "-c", root / "kernels/gpu/gpu_kernels_cuda.cu", "-o", f"{folder}/kernels.o", "-std=c++20",
         "-O3", "-ccbin", compiler, *codes, f"-I{root}", "-isystem", headers, "-Xptxas", "-v"],
        check=True, capture_output=True, text=True).stderr

kernels = re.findall(r"entry function '(\w+)' for 'sm_(\d+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
                     r".*?Used (\d+) registers(?:.*?(\d+) bytes smem)?", said.replace("\n", " ").replace(
                         "ptxas info    : Compiling", "\nCompiling"))
assert {int(kernel[1]) for kernel in kernels} == set(ARCHITECTURES), kernels
per_kind = len(kernels) // len(ARCHITECTURES)
assert per_kind >= 20, f"{per_kind} kernels"
for name, architecture, stores, loads, registers, shared in kernels:
    where = f"{name} on sm_{architecture}"
    assert (int(stores), int(loads)) == (0, 0), f"{where} spills {stores} + {loads} bytes"
    most = MOST_OF_WIDE if re.search("group_product_kernelILi[48]ELb[01]ELb[01]ELi[12]ELi4E", name) else MOST_REGISTERS
    assert int(registers) <= most, f"{where} takes {registers} registers"
    assert int(shared or 0) <= MOST_SHARED, f"{where} shares {shared} bytes"
print(f"{per_kind} kernels on {len(ARCHITECTURES)} kinds of GPU: at most "
      f"{max(int(k[4]) for k in kernels)} registers, no spills")
