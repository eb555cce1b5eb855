"""Compiled kernels for CUDA, as cuobjdump and nvdisasm show them, and what a processor holds of them."""

import dataclasses
import functools
import json
import pathlib
import re
import subprocess
import tempfile

BUDGET = pathlib.Path(__file__).with_name("gpu_budget.tsv")
WIDE_STAGES = {4: 6, 5: 6, 6: 6, 8: 6, 16: 3}  # kWideStages of kernels/gpu/gpu_wide_product.cuh, by bits
STEP_INPUTS, PANEL_OUTPUTS = 16, 16  # of a tensor core's product


@dataclasses.dataclass
class Kernel:
    name: str  # with its template's arguments
    capability: int
    registers: int
    shared: int  # bytes that are in its code
    spills: int  # instructions that use a thread's own memory
    copies: list[int]  # bytes of each copy to shared memory that a thread does not wait for
    instructions: int  # of a product: in its loop over chunks
    tensor: int  # products of tiles in them

    @functools.cached_property
    def arguments(self) -> list[int] | None:
        return product_arguments(self.name)


def product_arguments(name: str) -> list[int] | None:
    """Bits, panels of a warp, tiles of rows, stages; None of other kernels."""
    found = re.match(r"(group|wide)_product_kernel<(.*)>", name)
    if not found:
        return None
    bits, _, _, *numbers = found[2].split(", ")
    panels, tiles, stages = (1, numbers[1], WIDE_STAGES[int(bits)]) if found[1] == "wide" else (numbers[0], 1, numbers[1])
    return [int(bits), int(panels), int(tiles), int(stages)]


def chunk_weights(name: str) -> int:
    """The weights of a product for which a warp takes its `instructions`."""
    bits, panels, *_ = product_arguments(name)
    steps = 2 if bits == 8 else 4
    return panels * PANEL_OUTPUTS * steps * STEP_INPUTS


def short_name(name: str) -> str:
    """Without namespaces and parameters."""
    name = re.sub(r"\(predgen::Gpu\w+\)$", "", re.sub(r"^void ", "", name))
    return re.sub(r"predgen::|\(anonymous namespace\)::|_GLOBAL__N_\w+::", "", name)


def demangled(names: list[str]) -> list[str]:
    said = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    return [short_name(name) for name in said.splitlines()]


def loop_over_chunks(lines: list[str]) -> list[str]:
    """The smallest loop that multiplies tiles; all lines if there is none."""
    labels = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    best = lines
    for end, line in enumerate(lines):
        found = re.search(r"BRA[.\w]* .*\((\.L_x_\d+)\)", line)
        begin = labels.get(found[1]) if found else None
        if begin is not None and begin < end < begin + len(best) and any("HMMA" in one for one in lines[begin:end]):
            best = lines[begin:end + 1]
    return best


def read_kernels(code: pathlib.Path, tools: pathlib.Path) -> list[Kernel]:
    """All that a program, library or object has for GPUs."""
    kernels = []
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *command: subprocess.run([str(part) for part in command], cwd=folder, check=True,
                                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        run(tools / "cuobjdump", "-xelf", "all", code.resolve())
        for cubin in sorted(pathlib.Path(folder).glob("*.cubin")):
            capability = int(re.search(r"\.sm_(\d+)a?\.cubin$", cubin.name)[1])
            usage = re.findall(r"Function (\S+):\s+REG:(\d+) .*?SHARED:(\d+) LOCAL:(\d+)",
                               run(tools / "cuobjdump", "-res-usage", cubin))
            parts = re.split(r"^\.text\.(\w+):$", run(tools / "nvdisasm", "-c", cubin), flags=re.MULTILINE)
            texts = dict(zip(parts[1::2], parts[2::2]))
            for name, (mangled, registers, shared, _) in zip(demangled([one[0] for one in usage]), usage):
                lines = [line for line in (re.sub(r"/\*[0-9a-f]+\*/", "", one).strip() for one in texts[mangled].splitlines())
                         if line.endswith(":") or line.endswith(";")]
                body = [line for line in loop_over_chunks(lines) if line.endswith(";") and not line.startswith("NOP")]
                sizes = [re.search(r"LDGSTS\S*?\.(\d+)", line) for line in lines if "LDGSTS" in line]
                copies = [int(size[1]) // 8 if size else 4 for size in sizes]
                # From 9.0 on, what the system keeps for itself is counted, too.
                kept = 1024 if capability >= 90 else 0
                kernels.append(Kernel(name=name, capability=capability, registers=int(registers), shared=int(shared) - kept,
                                      spills=sum(bool(re.search(r"\b(LDL|STL)\b", line)) for line in lines), copies=copies,
                                      instructions=len(body), tensor=sum("HMMA" in line for line in body)))
    return kernels


def architectures(code: pathlib.Path, tools: pathlib.Path) -> tuple[set[int], set[int]]:
    """The compute capabilities that a program has compiled code for, and those of its PTX."""
    listed = lambda what: subprocess.run([tools / "cuobjdump", what, code], check=True, capture_output=True, text=True).stdout
    found = lambda what, kind: {int(one) for one in re.findall(rf"\.sm_(\d+)a?\.{kind}$", listed(what), flags=re.MULTILINE)}
    return found("-lelf", "cubin"), found("-lptx", "ptx")


def unserved(compiled: set[int], ptx: set[int]) -> list[int]:
    """The GPUs that find neither code of their major version nor PTX to compile; from 8.0 on, PTX with tensor cores."""
    def is_served(gpu: int) -> bool:
        has_code = any(one // 10 == gpu // 10 and one <= gpu for one in compiled)
        return has_code or max((one for one in ptx if one <= gpu), default=0) >= min(gpu, 80)
    return [gpu for gpu in (75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121) if not is_served(gpu)]


@dataclasses.dataclass
class Budget:
    """What a kernel was found to take; the least warps of a processor in its launches."""
    registers: int
    shared: int
    instructions: int
    tensor: int
    warps: int


def read_budget() -> dict[tuple[str, int], Budget]:
    """By the kernel's name and the compute capability."""
    if not BUDGET.exists():
        return {}
    rows = [line.split("\t") for line in BUDGET.read_text().splitlines() if not line.startswith("#")]
    return {(name, int(capability)): Budget(*map(int, values)) for name, capability, *values in rows}


def write_budget(budget: dict[tuple[str, int], Budget]) -> None:
    rows = ["\t".join(map(str, (*key, *dataclasses.astuple(value)))) for key, value in sorted(budget.items())]
    BUDGET.write_text("# Kernel, compute capability, registers, shared bytes, instructions and tensor products (of a product: for a\n"
                      "# chunk of inputs), least warps of a processor. Written by gpu_registers_test.py --write\n" + "\n".join(rows) + "\n")


class Launches:
    """What gpu_launches writes down."""

    def __init__(self, tool: pathlib.Path):
        self.tool = tool
        symbols = subprocess.run(["nm", "-C", tool], check=True, capture_output=True, text=True).stdout
        places = {}
        for line in symbols.splitlines():
            address, kind, name = re.match(r"\s*(\S+) (\S) (.*)|.*", line).groups()
            if kind:
                places.setdefault(name, int(address, 16))
        begin = places["__executable_start"]
        self.names = {place - begin: short_name(name) for name, place in places.items() if "_kernel" in name}

    def ask(self, *what: str) -> list[dict]:
        said = subprocess.run([self.tool, *what], check=True, capture_output=True, text=True).stdout
        launches = [json.loads(line) for line in said.splitlines()]
        return [launch | {"kernel": self.names[launch["kernel"]]} for launch in launches]

    def blocks(self, pairs: list[tuple[int, "Kernel | Budget", dict]]) -> list[int]:
        """How many blocks of each launch a processor of a compute capability holds."""
        asked = "".join(f"{capability} {kernel.registers} {kernel.shared} {launch['memory']} {launch['threads']}\n"
                        for capability, kernel, launch in pairs)
        said = subprocess.run([self.tool, "occupancy"], input=asked, check=True, capture_output=True, text=True).stdout
        return [int(line) for line in said.split()]
