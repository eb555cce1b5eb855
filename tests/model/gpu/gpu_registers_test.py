"""What the compiler made of the kernels for CUDA: registers and spills, how many blocks a processor holds, how many
instructions a weight takes. No kernel may get worse than gpu_budget.tsv says.

usage: gpu_registers_test.py module MODULE ARCHITECTURES TOOLS LAUNCHES [--write]
       gpu_registers_test.py sample|whole NVCC HEADERS COMPILER TOOLS LAUNCHES [--write]
  module: as it was built, for ARCHITECTURES, 86,89,.., and in a form that every other GPU can compile
  sample, whole: compiles for the oldest and the newest, or for all
  LAUNCHES: the program gpu_launches; --write: the budget becomes what is found
"""

import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from gpu_code import Budget, Launches, architectures, read_budget, read_kernels, unserved, write_budget

MOST_REGISTERS = 32768  # of a block, so that two share a processor: not those of products of many rows
MOST_SHARED = 48 * 1024  # bytes that a kernel may have without asking for more
LEAST_WARPS_OF_A_ROW = 16  # of a processor, so that memory is asked for often enough
MORE = 1.05  # times as many instructions are too many

what, *arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
tools, launches = pathlib.Path(arguments[-2]), Launches(pathlib.Path(arguments[-1]).resolve())
if not all((tools / tool).exists() for tool in ("cuobjdump", "nvdisasm")):
    print(f"skipped: there are no cuobjdump and nvdisasm in {tools}")
    sys.exit(77)
root = pathlib.Path(__file__).resolve().parents[3]

faults = []
if what == "module":
    module = pathlib.Path(arguments[0])
    kernels = [kernel for kernel in read_kernels(module, tools) if kernel.capability >= 80]  # below there are no products
    compiled, ptx = architectures(module, tools)
    if compiled != set(map(int, arguments[1].split(","))):
        faults.append(f"the module has code for {sorted(compiled)}, not for {arguments[1]}")
    if unserved(compiled, ptx):
        faults.append(f"code for {sorted(compiled)} and PTX of {sorted(ptx)} leave out the GPUs {unserved(compiled, ptx)}")
    assert unserved({86, 89, 90}, {75}) == [80, 100, 103, 110, 120, 121] and unserved({86}, {80}) == [75]
else:
    wanted = (80, 86, 89, 90, 100, 120) if what == "whole" else (80, 120)
    nvcc, headers, compiler = arguments[:3]
    with tempfile.TemporaryDirectory() as folder:
        codes = [part for a in wanted for part in ("-gencode", f"arch=compute_{a},code=sm_{a}")]
        kept = [ccache] if (ccache := shutil.which("ccache")) else []
        subprocess.run([*kept, nvcc, "-c", root / "kernels/gpu/gpu_kernels_cuda.cu", "-o", f"{folder}/kernels.o", "-std=c++20",
                        "-O3", "-fmad=false", "-ccbin", compiler, *codes, f"-I{root}", "-isystem", headers],
                       check=True, env=os.environ | {"CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1"})
        kernels = read_kernels(pathlib.Path(f"{folder}/kernels.o"), tools)
    assert {kernel.capability for kernel in kernels} == set(wanted)

by_name = collections.defaultdict(list)
for kernel in kernels:
    by_name[kernel.name].append(kernel)
    where = f"{kernel.name} on sm_{kernel.capability}"
    if kernel.spills and not kernel.name.startswith("embed_kernel"):  # sinf() has a table for huge angles
        faults.append(f"{where} spills: {kernel.spills} instructions")
    if kernel.shared > MOST_SHARED:
        faults.append(f"{where} shares {kernel.shared} bytes")
    if any(size != 16 for size in kernel.copies) or (kernel.arguments and not kernel.copies):
        faults.append(f"{where} copies ahead in pieces of {sorted(set(kernel.copies))} bytes")
    if kernel.arguments and not kernel.tensor:
        faults.append(f"{where} multiplies no tiles")

# How many warps of each launch a processor holds: the least of a kernel's launches, and those of one row.
asked = [(kernel.capability, kernel, launch) for launch in launches.ask("instances") for kernel in by_name[launch["kernel"]]]
never = set(by_name) - {launch["kernel"] for *_, launch in asked}
assert not never, f"gpu_launches launches no {never}"
warps = {}
for (_, kernel, launch), blocks in zip(asked, launches.blocks(asked)):
    found = blocks * launch["threads"] // 32
    key = (kernel.name, kernel.capability)
    warps[key] = min(found, warps.get(key, found))
    is_wide = kernel.name.startswith("wide")
    if kernel.registers * launch["threads"] > MOST_REGISTERS and not is_wide and launch["threads"] < 1024:
        faults.append(f"{key} takes {kernel.registers} registers of {launch['threads']} threads")
    if found == 0:
        faults.append(f"{key} with {launch['memory']} bytes fits no processor")
    is_narrow = kernel.arguments and launch["rows"] == 1 and kernel.arguments[1] == 1
    if is_narrow and found < LEAST_WARPS_OF_A_ROW:
        faults.append(f"{key} with {launch['memory']} bytes: a processor holds {found} warps")

found = {(kernel.name, kernel.capability): Budget(kernel.registers, kernel.shared, kernel.instructions, kernel.tensor,
                                                 warps[kernel.name, kernel.capability]) for kernel in kernels}
budget = read_budget()
if "--write" in sys.argv:
    budget = {key: value for key, value in (budget | found).items() if key[0] in by_name}
    write_budget(budget)
for key, now in found.items():
    if key not in budget:
        faults.append(f"{key} has no budget: see --write")
    elif now.instructions > budget[key].instructions * MORE:
        faults.append(f"{key} takes {now.instructions} instructions, not {budget[key].instructions}")
    elif now.warps < budget[key].warps:
        faults.append(f"a processor holds {now.warps} warps of {key}, not {budget[key].warps}")
assert len(by_name) >= 20, f"{len(by_name)} kernels"
print("\n".join(faults) or f"{len(by_name)} kernels on {len({kernel.capability for kernel in kernels})} kinds of GPU: at most "
      f"{max(kernel.registers for kernel in kernels)} registers, no spills, within the budget")
sys.exit(bool(faults))
