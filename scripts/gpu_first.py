"""Tries predgen on this machine's GPU, what is most doubtful first: proofs, then speed, then training, in nine minutes.

usage: first.sh [--device cuda|cpu] [--seconds N]

  --device   cpu: every step on the CPU with small shapes, which shows that the bundle is whole
  --seconds  that all of it may take (540); what there is no time for is named and left out

Part of the bundle that scripts/gpu_bundle.sh makes. Needs x86-64, Python with the torch of the bundle's `made_for`
($PREDGEN_PYTHON, or python3; the voice also needs safetensors and transformers) and 20 GB in $TMPDIR. $OUT (out/ in
the bundle) gets summary.txt, a page, and logs.tgz; both are kept current, so that a run which is cut off tells what it
knew. The exit status is 1 if a step failed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import torch

BUNDLE = pathlib.Path(__file__).resolve().parents[1]
PYTHON = BUNDLE / "python"
SHARE = BUNDLE / "share"
# A product and a pass by our kernels: a sanitizer checks each access, some hundred times as slow.
SANITIZED = "GpuMatrixOnDevice.NaN*/cuda:LanguageModelOnDevice.KernelsGive*/cuda"
COUNTED = "regex:^(group_product|wide_product|attend|merge|norm|place_heads|gate)_kernel$"
COUNTERS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
            "sm__inst_issued.avg.pct_of_peak_sustained_active", "l1tex__data_bank_conflicts_pipe_lsu.sum")
# Of these kernels: a model is prepared with 32 kinds of passes, three times each, which have some 280.
LAUNCHES_BEFORE = 30000


class Wrong(Exception):
    """What a step says is not what it should say."""


running = set()  # process groups


def end(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run_group(command, limit, stdout, stderr):
    """What is wrong, or "". At the limit all that the command has started ends."""
    try:
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                   start_new_session=True)
    except OSError as error:
        return str(error)
    running.add(process.pid)
    try:
        status = process.wait(timeout=max(limit, 0))
        return f"exit status {status}" if status else ""
    except subprocess.TimeoutExpired:
        return f"not done after {limit:.0f} s"
    finally:
        end(process.pid)
        running.discard(process.pid)
        process.wait()


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


class Try:
    def __init__(self, device, seconds, out, scratch):
        self.on_gpu, self.device, self.deadline = device == "cuda", device, time.monotonic() + seconds
        self.begin, self.out, self.scratch, self.failed = time.monotonic(), out, scratch, False
        self.logs = scratch / "logs"
        self.logs.mkdir()
        self.summary = (out / "summary.txt").open("w")
        package = pathlib.Path(torch.__file__).parent
        libraries = [package / "lib", *package.parent.glob("nvidia/*/lib"), BUNDLE / "lib", "/usr/local/nvidia/lib64",
                     os.environ.get("LD_LIBRARY_PATH", "")]
        self.env = ["env", "LD_LIBRARY_PATH=" + ":".join(str(library) for library in libraries if str(library)),
                    f"ESPEAK_DATA_PATH={SHARE}", f"PREDGEN_REQUIRE_CUDA={int(self.on_gpu)}"]
        self.predgen = [*self.env, BUNDLE / "bin/predgen"]

    def say(self, line):
        for file in (sys.stdout, self.summary):
            print(line, file=file, flush=True)

    def keep(self):
        new = self.out / "logs.tgz.new"
        with tarfile.open(new, "w:gz") as file:
            file.add(self.logs, "logs")
        os.replace(new, self.out / "logs.tgz")

    def left(self):
        return self.deadline - time.monotonic()

    def fail(self, line, log=""):
        self.failed = True
        self.say(f"FAILED {line}")
        for row in log.splitlines()[-6:]:
            self.say("    | " + row[:200])

    def step(self, name, limit, command, tells=lambda output: ""):
        """The command's stdout; None if it failed, or was left out. `tells`: what the summary says of it."""
        if self.left() < 10:
            self.fail(f"{name}: left out, as the time is over")
            return None
        begin = time.monotonic()
        log = self.logs / re.sub(r"\W+", "_", name)
        out, errors = log.with_suffix(".txt"), log.with_suffix(".stderr.txt")
        with out.open("w") as stdout, errors.open("w") as stderr:
            print(*command, file=stderr, flush=True)
            problem = run_group(command, min(limit, self.left()), stdout, stderr)
        output = read(out)
        took = f"{time.monotonic() - begin:.0f} s, at {time.monotonic() - self.begin:.0f} s"
        try:
            told = "" if problem else tells(output)
        except (Wrong, ValueError, KeyError, TypeError, IndexError) as error:
            problem = f"it says something else: {error!r}"
        if problem:
            self.fail(f"{name}: {problem} ({took})", "\n".join(read(errors).splitlines()[1:]) or output)
        else:
            self.say(f"ok {name}{': ' if told else ''}{told} ({took})")
        self.keep()
        return None if problem else output


def head(run):
    made_for = dict(line.split("=", 1) for line in (BUNDLE / "made_for").read_text().split())
    here = torch.__version__.split("+")[0]
    run.say(f"predgen {made_for['commit']}, made for torch {made_for['torch']}; here torch {torch.__version__}, "
            f"{os.cpu_count()} processors")
    if here != made_for["torch"]:
        run.say(f"WARNING: another torch: undefined symbols and crashes may come of it; use torch {made_for['torch']}")
    if run.on_gpu:
        run.step("GPU", 20, ["nvidia-smi", "--format=csv,noheader",
                             "--query-gpu=name,memory.total,driver_version,clocks.max.sm,clocks.max.mem"], str.strip)


def module(run):
    """Whether the module is found, and the demo model says on the device what it says on the CPU."""
    run.step("module", 30, [*run.env, "ldd", "-r", BUNDLE / "bin/libpredgen_cuda.so"], all_found)

    def gpu(output):
        found = re.search(r"GPU +(.*)", output)[1]
        if run.on_gpu and re.search(r"none|cannot|no kernels", found):
            raise Wrong(found)
        return found
    run.step("doctor", 60, [*run.predgen, "doctor"], gpu)

    def text(device):
        return run.step(f"demo model on {device}", 60, [
            *run.predgen, "generate", "--model", SHARE / "checkpoints/demo", "--device", device, "--dtype", "fp32",
            "--max-new-tokens", "48", "--prompt", "The weather in Berlin is"], lambda text: " ".join(text.split())[:60])
    expected, found = text("cpu"), text(run.device)
    if None not in (expected, found) and found != expected:
        run.fail("demo model: another text than on the CPU")
    return found is not None


def all_found(listing):
    missing = re.findall(r".*(?:undefined symbol|not found).*", listing)
    if missing:
        raise Wrong(missing[0].strip())
    return "all symbols are there"


def tests(run):
    """Every test of the device, six at a time, each in a process of its own, because a fault spoils the process."""
    listing = run.step("list of tests", 30, [*run.env, BUNDLE / "bin/cuda_test", "--gtest_list_tests"]) or ""
    suite, names = "", []
    for line in listing.splitlines():
        if not line.startswith(" "):
            suite = line
        elif f"/{run.device}" in line:
            names.append(suite + line.split()[0])
    at_a_time = 6 if run.on_gpu else 2
    threads = f"OMP_NUM_THREADS={max(1, (os.cpu_count() or 1) // at_a_time)}"

    def one(name):
        log = run.logs / ("test-" + name.replace("/", "-") + ".txt")
        with log.open("w") as file:
            problem = run_group([*run.env, threads, BUNDLE / "bin/cuda_test", f"--gtest_filter={name}",
                                 "--gtest_brief=1"], min(100, run.left()), file, file)
        if not problem and "[  SKIPPED ]" in read(log):
            problem = "skipped"
        return name, problem, log
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        failures = [result for result in pool.map(one, names) if result[1]]
    for name, problem, log in failures:
        run.fail(f"{name}: {problem}", read(log))
    run.say(f"tests: {len(names) - len(failures)} of {len(names)} passed ({time.monotonic() - begin:.0f} s)")
    if listing and not names:
        run.fail(f"tests: cuda_test has none for {run.device}")
    run.keep()


def program(name, *places):
    """A program of the CUDA toolkit, the newest; None if there is none."""
    found = [path for place in places for path in sorted(map(str, pathlib.Path("/").glob(place)), reverse=True)]
    return next(filter(None, [shutil.which(name), *found]), None)


def checked(output):
    """A sanitizer's summary."""
    summary = re.findall(r"=+ (.*SUMMARY.*)", output)
    if not summary or not re.search(r"\[  PASSED  \] [1-9]", output):
        raise Wrong("nothing was checked")
    return summary[-1]


def sanitizers(run):
    sanitizer = program("compute-sanitizer", "usr/local/cuda*/bin/compute-sanitizer")
    if not sanitizer:
        run.say("no compute-sanitizer here: memcheck and racecheck left out")
        return
    for tool in ("memcheck", "racecheck"):
        run.step(tool, 60, [*run.env, sanitizer, "--tool", tool, "--error-exitcode", "9", "--kernel-name",
                            "kernel_substring=predgen", BUNDLE / "bin/cuda_test", f"--gtest_filter={SANITIZED}"],
                 checked)


def passes(output):
    """What `predgen bench --json` measured, on a line."""
    model = json.loads(output)["model"]
    if model["kernels_refused"]:
        raise Wrong(f"not by our kernels: {model['kernels_refused']}")
    token = model["step"]["seconds"]["median"]
    widths = ", ".join(f"{one['draft']}: {one['seconds']['median'] / token:.2f}x" for one in model["verify"])
    share = (model["decode"].get("share_of_bandwidth") or {}).get("median")
    return (f"a token {1000 * token:.2f} ms" + (f", {share:.2f} of the bandwidth" if share else "") +
            f"; drafts {widths}; prompt {model['prefill']['tokens_per_second']['median']:.0f} tokens/s")


def speed(run, model, kind, how="", build="bin", environment=()):
    """A token and every width that matters; the seconds of a token (0) and of each draft."""
    sizes = ["--runs", "3", "--generate", "64", "--draft", "4", "8", "16", "24", "32", "63", "64"]
    if not run.on_gpu:
        sizes = ["--runs", "1", "--generate", "8", "--prompt", "64", "--draft", "4", "16"]
    name = f"passes, {kind.replace('none', 'bf16')}" + (f", {how}" if how else "")
    output = run.step(name, 75, [*run.env, *environment, BUNDLE / build / "predgen", "bench", "--json", "--model", model, "--device",
                                 run.device, "--dtype", "bf16", "--quantize", kind, *sizes], passes)
    if not output:
        return {}
    found = json.loads(output)["model"]
    return {0: found["step"]["seconds"]["median"]} | {one["draft"]: one["seconds"]["median"] for one in found["verify"]}


def speeds(run, model):
    """In each type; in int4 beside it without weights that are read ahead, and an earlier build, if there is one."""
    now = {kind: speed(run, model, kind) for kind in ("int4", "int8", "none")}["int4"]
    others = {"nothing read ahead": speed(run, model, "int4", "nothing read ahead", environment=["PREDGEN_READ_AHEAD=0"])}
    if (BUNDLE / "before").is_dir():
        others["earlier build"] = speed(run, model, "int4", "earlier build", "before")
    for how, other in others.items():
        if now and other:
            run.say(f"    {how}: its time over today's, a token {other.pop(0) / now[0]:.2f}x, drafts of " +
                    ", ".join(f"{draft}: {seconds / now[draft]:.2f}x" for draft, seconds in other.items()))


def kernels_counted(output):
    number = output.count("gpu__time_duration")
    if number == 0:
        raise Wrong("no kernel was counted")
    return f"{number} kernels, in the log"


def counters(run, model):
    ncu = program("ncu", "opt/nvidia/nsight-compute/*/ncu", "usr/local/cuda*/bin/ncu")
    if not ncu:
        run.say("no ncu here: counters left out")
        return
    run.step("counters", 80, [
        *run.env, ncu, "--clock-control", "none", "--cache-control", "none", "--graph-profiling", "node", "--csv",
        "--target-processes", "all", "-k", COUNTED, "--launch-skip", LAUNCHES_BEFORE, "--launch-count", "44",
        "--metrics", ",".join(COUNTERS), BUNDLE / "bin/predgen", "bench", "--model", model, "--device", run.device,
        "--dtype", "bf16", "--quantize", "int4", "--runs", "1", "--generate", "16", "--draft", "16"],
             kernels_counted)


def voice(run):
    """Zonos with random weights of its published sizes."""
    if not (BUNDLE / "bin/predgen-espeak").exists():
        run.say("no predgen-espeak in this bundle: Zonos left out")
        return
    folder = run.scratch / "zonos"
    layers = ["26"] if run.on_gpu else []
    if run.step("Zonos, weights", 90, [sys.executable, PYTHON / "cli/tiny_zonos.py", folder, *layers]) is None:
        return
    for kind in ("none", "int8"):
        settings = run.scratch / f"voice_{kind}.yaml"
        settings.write_text(f"model: {folder}\ndevice: {run.device}\ndtype: bf16\nquantize: {kind}\ncfg_scale: 2.0\n"
                            f"max_new_frames: {200 if run.on_gpu else 20}\neos_penalty: 100\n")
        run.step(f"Zonos, {kind.replace('none', 'bf16')}", 60,
                 [*run.predgen, "bench", "--json", "--tts", "zonos", "--tts-config", settings, "--runs", "2"],
                 lambda output: f"real-time factor {json.loads(output)['voice']['real_time_factor']['p50']:.2f}")
    shutil.rmtree(folder)


def training(run, model):
    run.step("training", 150, [sys.executable, PYTHON / "gpu_trials.py", run.scratch / "train", SHARE, model,
                               run.device, *run.predgen], lambda output: f"{output.count('ok ')} trials")
    for line in re.findall(r"^(?:ok|FAILED) .*", read(run.logs / "training.txt"), re.MULTILINE):
        run.say("    " + line)


def everything(run):
    head(run)
    if not module(run):
        run.fail("nothing runs on the device, so nothing else was tried")
        return
    model = run.scratch / ("7b" if run.on_gpu else "tiny")
    with (concurrent.futures.ThreadPoolExecutor(1) as beside, (run.logs / "weights.txt").open("w") as log):
        weights = beside.submit(run_group, [sys.executable, PYTHON / "random_model.py", model, model.name,
                                            SHARE / "checkpoints/demo"], run.left(), log, log)  # while tests run
        tests(run)
        sanitizers(run)
    if weights.result():
        run.fail(f"weights of the model's shape: {weights.result()}", read(run.logs / "weights.txt"))
        voice(run)
        return
    speeds(run, model)
    counters(run, model)
    voice(run)
    training(run, model)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\nPart")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=540)
    args = parser.parse_args()
    out = pathlib.Path(os.environ.get("OUT") or BUNDLE / "out")
    out.mkdir(parents=True, exist_ok=True)
    for path in (*BUNDLE.glob("bin/*"), *BUNDLE.glob("before/*")):
        path.chmod(0o755)  # some ways of copying lose it
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        def stop(*_):
            for group in list(running):
                end(group)
            shutil.rmtree(scratch, ignore_errors=True)
            os._exit(130)
        signal.signal(signal.SIGINT, stop)
        run = Try(args.device, args.seconds, out, pathlib.Path(scratch))
        everything(run)
        run.keep()
        run.say(f"{'some steps FAILED' if run.failed else 'all steps passed'}, {time.monotonic() - run.begin:.0f} s; "
                f"{out}/summary.txt, logs.tgz")
        return int(run.failed)


if __name__ == "__main__":
    sys.exit(main())
