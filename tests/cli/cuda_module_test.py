"""What predgen links of CUDA: nothing; and what it says where the driver shows a GPU that it cannot use.

usage: cuda_module_test.py FAKE_DRIVER PROGRAM ..

FAKE_DRIVER is a libcuda.so.1 that shows one GPU; none of the PROGRAMs may link CUDA.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from program import PREDGEN, REPOSITORY, check

DEMO = REPOSITORY / "checkpoints" / "demo"
MODULE = Path(PREDGEN).parent / "libpredgen_cuda.so"
CUDA = re.compile(r"cuda|cublas|cudnn|nccl|nvrtc|libtorch\.so")


def linked_by(file):
    listing = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", listing)


def links_cuda(file):
    return [name for name in linked_by(file) if CUDA.search(name)]


def run(driver, module, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "PREDGEN_CUDA_MODULE"}
    environment["LD_LIBRARY_PATH"] = str(driver.parent)
    if module is not None:
        environment["PREDGEN_CUDA_MODULE"] = str(module)
    return subprocess.run([PREDGEN, *map(str, arguments)], capture_output=True, text=True, env=environment)


def main(driver, *programs):
    driver = Path(driver)
    for program in programs:
        check(len(linked_by(program)) > 2, f"{program}: readelf sees what it links")
        check(links_cuda(program) == [], f"{program} links {links_cuda(program)}")
    has_module = MODULE.exists()
    if has_module:
        check("libtorch_cuda.so" in links_cuda(MODULE), "the module does, so the check sees it")

    generate = ["generate", "--model", DEMO, "--max-new-tokens", "4", "--prompt", "Hello"]
    with tempfile.TemporaryDirectory() as scratch:
        broken = Path(scratch) / "broken.so"
        broken.write_text("not a library")
        cases = [(broken, "cannot be loaded"), (Path(scratch) / "none.so", "no such file")]
        if has_module:  # which opens; the driver is none that LibTorch can use
            cases.append((None, "driver"))
        for module, why in cases:
            asked = run(driver, module, *generate, "--device", "cuda")
            check(asked.returncode == 2 and asked.stdout == "", f"{why}: {asked.stderr}")
            check(asked.stderr.count("\n") == 1, f"one line: {asked.stderr}")
            check("device \"cuda\": " in asked.stderr and why in asked.stderr, f"it says why: {asked.stderr}")
            left = run(driver, module, *generate)
            check(left.returncode == 0 and left.stdout != "", f"without being asked for it is not used: {left.stderr}")
            told = [line for line in left.stderr.splitlines() if "running on the CPU" in line]
            check(len(told) == 1 and why in told[0], f"which is told once: {left.stderr}")
            silent = run(driver, module, *generate, "--device", "cpu")
            check(silent.returncode == 0 and "running on" not in silent.stderr, f"or not at all: {silent.stderr}")
            doctor = run(driver, module, "doctor").stdout
            line = re.search(r"^  GPU +cannot be used: (.*)$", doctor, re.MULTILINE)
            check(line and why in line[1], f"doctor: {doctor}")
        train = run(driver, None, "train", "--config", REPOSITORY / "configs/train/quickstart.yaml", "device=cuda")
        check(train.returncode == 2 and "asked for CUDA before" not in train.stderr, f"train: {train.stderr}")
    print("ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
