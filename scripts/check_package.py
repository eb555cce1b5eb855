"""Checks what scripts/package.sh made: sizes, libraries that are there, local folders, start times, an older CPU.

usage: check_package.py DIST [--against OTHER]

Start times are what a user of the unpacked tar file waits: the first run has none of its files in memory. They need the
model smollm2. Where qemu-user is installed, the program also runs on a CPU that has AVX2 and nothing later. OTHER holds
what another machine or folder made of the same commit: it must have the same hashes.
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
LARGEST = {".tar.zst": 160 * MIB, ".deb": 160 * MIB}
SECONDS = {"predgen --version": 0.5, "predgen": 0.5, "chat to its prompt, first run": 1.5, "chat to its prompt, second run": 0.5,
           "chat to its first draft, first run": 3, "chat to its first draft, second run": 2}
PROMPT = b"> "  # what a chat shows when a line can be typed
DRAFT = b"-- draft"  # what it shows above the draft of an answer to the line
CUDA = re.compile(r"torch_cuda|c10_cuda|cublas|cudnn|nccl|libcuda\.so")
CLEAN = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "LANG": "C.UTF-8", "HOME": os.environ.get("HOME", "/")}


class Check:
    def __init__(self):
        self.num_failed = 0

    def __call__(self, is_good, text):
        print(f"{'ok     ' if is_good else 'FAILED '} {text}", flush=True)
        self.num_failed += not is_good


def elf_files(tree):
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def forget(tree):
    """Drops its files from the system's cache."""
    for path in tree.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def timed(command, environment):
    begin = time.monotonic()
    subprocess.run(command, capture_output=True, env=environment)
    return time.monotonic() - begin


def timed_chat(command, environment):
    """Seconds until a line can be typed in a chat at a terminal, and until there is a draft for one typed at once."""
    begin = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, environment)
    took = []
    for text, keys in ((PROMPT, b"What is tea? "), (DRAFT, b"")):
        seen = b""
        try:
            while text not in seen and time.monotonic() - begin < 60:
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 65536)
            os.write(terminal, keys)
        except OSError:  # it has ended
            pass
        took.append(time.monotonic() - begin if text in seen else float("inf"))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    return took


def check_libraries(check, tree):
    faults, linked = [], []
    for path in elf_files(tree):
        listing = subprocess.run(["ldd", path], capture_output=True, text=True, env=CLEAN).stdout
        faults += [f"{path.relative_to(tree)}: {name}" for name in re.findall(r"^\s*(\S+) => not found", listing, re.MULTILINE)]
        linked += [name for name in re.findall(r"^\s*(\S+) => ", listing, re.MULTILINE) if CUDA.search(name)]
    check(not faults, f"every library is there {' '.join(faults[:5])}")
    check(not linked, f"none of CUDA is wanted {' '.join(sorted(set(linked)))}")


def check_folders(check, tree, root):
    """Nothing names the folders that it was built in."""
    words = [str(root).encode(), b"/site-packages/", b"/.cache/"]
    names = [str(path.relative_to(tree)) for path in sorted((tree / "libexec").rglob("*"))
             if path.is_file() and any(word in path.read_bytes() for word in words)]
    check(not names, f"no folder of the build is named {' '.join(names)}")


def check_times(check, tree):
    models = pathlib.Path(os.environ.get("PREDGEN_MODELS") or pathlib.Path(
        os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "predgen/models"))
    environment = CLEAN | {"PREDGEN_MODELS": str(models)}
    program = str(tree / "bin/predgen")
    times = {}
    for name, command in (("predgen --version", [program, "--version"]), ("predgen", [program])):
        timed(command, environment)
        times[name] = timed(command, environment)
    if not (models / "smollm2.gguf").exists():
        check(False, f"chat: there is no smollm2.gguf in {models}: predgen models get smollm2, or set PREDGEN_MODELS")
    else:
        chat = [program, "chat", "--model", "smollm2"]
        forget(tree)
        handle = os.open(models / "smollm2.gguf", os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)
        for run in ("first", "second"):
            times[f"chat to its prompt, {run} run"], times[f"chat to its first draft, {run} run"] = timed_chat(chat, environment)
    for name, took in times.items():
        check(took <= SECONDS[name], f"{name}: {took:.2f} s of at most {SECONDS[name]}")


def check_older_cpu(check, tree):
    """The program says its version and speaks on Haswell, the first CPU with AVX2."""
    emulator = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
    if not emulator:
        print("skipped a CPU with AVX2 only: apt-get install qemu-user", flush=True)
        return
    program = [emulator, "-cpu", "Haswell", str(tree / "libexec/predgen/predgen")]
    demo = str(tree / "share/predgen/checkpoints/demo")
    environment = CLEAN | {"GOMP_SPINCOUNT": "1000"}  # or it would start itself again (cli/bounded_spin.cpp), not emulated
    for arguments in (["--version"], ["generate", "--model", demo, "--prompt", "Hello", "--max-new-tokens", "4", "--threads", "1"]):
        done = subprocess.run([*program, *arguments], capture_output=True, text=True, env=environment, timeout=600)
        fault = "" if done.returncode == 0 else f": {done.returncode} {done.stderr.strip()[-200:]}"
        check(done.returncode == 0 and done.stdout.strip(), f"with AVX2 only: predgen {arguments[0]}{fault}")


def sums_of(dist):
    lines = pathlib.Path(dist, "SHA256SUMS").read_text().splitlines()
    return dict(reversed(line.split(maxsplit=1)) for line in lines)


def check_same_bytes(check, dist, other):
    ours, theirs = sums_of(dist), sums_of(other)
    differ = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    check(not differ, f"the same bytes as in {other} {' '.join(differ)}")


def main(dist, other=None):
    check, dist = Check(), pathlib.Path(dist).resolve()
    if other:
        check_same_bytes(check, dist, other)
    files = sorted(path for path in dist.iterdir() if path.suffix in (".zst", ".deb"))
    sums = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=dist, capture_output=True, text=True)
    check(sums.returncode == 0, f"SHA256SUMS {sums.stdout.strip()}")
    for path in files:
        limit = next(size for end, size in LARGEST.items() if path.name.endswith(end))
        check(path.stat().st_size <= limit, f"{path.name}: {path.stat().st_size / MIB:.1f} MiB of at most {limit // MIB}")
    archive = next(path for path in files if re.fullmatch(r"predgen-[\d.]+-linux-x86_64\.tar\.zst", path.name))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        subprocess.run(["tar", "-xf", archive, "-C", scratch], check=True)
        tree = pathlib.Path(scratch, archive.name.removesuffix(".tar.zst"))
        size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
        print(f"        unpacked {size / MIB:.0f} MiB")
        check_libraries(check, tree)
        check_folders(check, tree, pathlib.Path(__file__).resolve().parents[1])
        listed = json.loads((tree / "share/doc/predgen/contents.spdx.json").read_text())["packages"]
        named = {file for entry in listed for file in entry["comment"].split(", ")}
        unnamed = [str(path.relative_to(tree)) for path in (tree / "lib").rglob("*.so*") if str(path.relative_to(tree)) not in named]
        check(not unnamed, f"{len(listed)} packages list all libraries {' '.join(unnamed)}")
        check_older_cpu(check, tree)
        check_times(check, tree)
    return check.num_failed > 0


if __name__ == "__main__":
    is_right = len(sys.argv) == 2 or len(sys.argv) == 4 and sys.argv[2] == "--against"
    if not is_right or not shutil.which("zstd"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], *sys.argv[3:]))
