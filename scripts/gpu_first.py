"""Tries predgen on this machine's GPU, what is most doubtful first: proofs, then speed, then training, in nine minutes.

usage: first.sh [--device cuda|cpu] [--seconds N]

  --device   cpu: every step on the CPU with small shapes, which shows that the bundle is whole
  --seconds  that all of it may take (540); steps for which too little is left are named and left out

Part of the bundle that scripts/gpu_bundle.sh makes. Needs x86-64, Python with the torch of the bundle's `made_for`
($PREDGEN_PYTHON, or python3; the voice also needs safetensors and transformers) and 35 GB in $TMPDIR. $OUT (out/ in
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
import subprocess
import sys
import tarfile
import tempfile
import time

import torch

BUNDLE = pathlib.Path(__file__).resolve().parents[1]
PYTHON = BUNDLE / "python"
SHARE = BUNDLE / "share"
# Small tests of our kernels: under a sanitizer each access is checked, some hundred times as slow.
SANITIZED = "GpuMatrixOnDevice.*/cuda:LanguageModelOnDevice.KernelsGive*/cuda"
COUNTED = "regex:group_product|wide_product|attend|merge|norm|place_heads|gate"
COUNTERS = ("gpu__time_duration.sum", "dram__bytes_read.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
            "sm__inst_issued.avg.pct_of_peak_sustained_active", "l1tex__data_bank_conflicts_pipe_lsu.sum")


class Try:
    def __init__(self, device, seconds, out, scratch):
        self.on_gpu, self.device, self.end = device == "cuda", device, time.monotonic() + seconds
        self.begin, self.out, self.scratch, self.failed = time.monotonic(), out, scratch, False
        self.logs = scratch / "logs"
        self.logs.mkdir()
        self.summary = (out / "summary.txt").open("w")
        libraries = [pathlib.Path(torch.__file__).parent / "lib", BUNDLE / "lib",
                     *pathlib.Path(torch.__file__).parents[1].glob("nvidia/*/lib")]
        # Only for predgen's programs: the bundle's libraries are not for anything else here.
        self.env = ["env", "LD_LIBRARY_PATH=" + ":".join(map(str, libraries)), f"ESPEAK_DATA_PATH={SHARE}",
                    f"PREDGEN_REQUIRE_CUDA={int(self.on_gpu)}"]
        self.predgen = [*self.env, BUNDLE / "bin/predgen"]
        self.cuda_test = [*self.env, BUNDLE / "bin/cuda_test"]

    def say(self, line):
        for file in (sys.stdout, self.summary):
            print(line, file=file, flush=True)

    def keep(self):
        new = self.scratch / "logs.tgz"
        with tarfile.open(new, "w:gz") as file:
            file.add(self.logs, "logs")
        shutil.copy(new, self.out / "logs.tgz")

    def left(self):
        return self.end - time.monotonic()

    def fail(self, line):
        self.failed = True
        self.say(f"FAILED {line}")

    def step(self, name, limit, command, tells=lambda output: ""):
        """The command's stdout; None if it failed, or was left out. `tells` makes of it what the summary's line says."""
        if self.left() < 10:
            self.fail(f"{name}: left out, as the time is over")
            return None
        begin, limit = time.monotonic(), min(limit, self.left())
        log = self.logs / (re.sub(r"\W+", "_", name) + ".txt")
        with log.open("w") as file:
            print(*command, file=file, flush=True)
            try:
                done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=file, text=True,
                                      timeout=limit, stdin=subprocess.DEVNULL)
                file.write(done.stdout)
                problem = f"exit status {done.returncode}" if done.returncode else ""
            except subprocess.TimeoutExpired:
                problem = f"not done after {limit:.0f} s"
            except OSError as error:
                problem = str(error)
        took = f"{time.monotonic() - begin:.0f} s, at {time.monotonic() - self.begin:.0f} s"
        if not problem:
            try:
                told = tells(done.stdout)
                self.say(f"ok {name}{': ' if told else ''}{told} ({took})")
            except (ValueError, KeyError, TypeError, IndexError) as error:
                problem = f"it says something else: {error!r}"
        if problem:
            self.fail(f"{name}: {problem} ({took})")
            for line in log.read_text(errors="replace").splitlines()[1:][-6:]:
                self.say("    | " + line[:200])
        self.keep()
        return None if problem else done.stdout


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
    """Whether the module is found and the demo model says on the GPU what it says on the CPU."""
    missing = subprocess.run([*run.env, "ldd", "-r", BUNDLE / "bin/libpredgen_cuda.so"], capture_output=True, text=True)
    for line in re.findall(r".*(?:undefined symbol|not found).*", missing.stdout + missing.stderr)[:3]:
        run.fail(f"module: {line.strip()}")
    run.step("doctor", 60, [*run.predgen, "doctor"], lambda output: re.search(r"GPU +(.*)", output)[1])

    def text(device):
        return run.step(f"demo model on {device}", 60, [*run.predgen, "generate", "--model", SHARE / "checkpoints/demo",
                        "--dtype", "fp32", "--max-new-tokens", "48", "--prompt", "The weather in Berlin is",
                        "--device", device], lambda output: output.strip()[:60].replace("\n", " "))
    expected, found = text("cpu"), text(run.device)
    if found is None:
        return False
    if found != expected:
        run.fail("demo model: another text than on the CPU")
    return True


def tests(run):
    """Every test of the device, six at a time, each in a process of its own, because a fault spoils the process."""
    listing = subprocess.run([*run.cuda_test, "--gtest_list_tests"], capture_output=True, text=True).stdout
    suite, names = "", []
    for line in listing.splitlines():
        if not line.startswith(" "):
            suite = line
        elif f"/{run.device}" in line:
            names.append(suite + line.split()[0])

    def one(name):
        log = run.logs / ("test-" + name.replace("/", "-") + ".txt")
        with log.open("w") as file:
            try:
                subprocess.run([*run.cuda_test, f"--gtest_filter={name}", "--gtest_brief=1"], stdout=file, stderr=file,
                               timeout=min(100, run.left()), check=True)
                return None
            except (subprocess.SubprocessError, OSError) as error:
                return name, error, log
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(6 if run.on_gpu else 2) as pool:
        failures = [failure for failure in pool.map(one, names) if failure]
    for name, error, log in failures:
        run.fail(f"{name}: {str(error)[-60:]}")
        for line in log.read_text(errors="replace").splitlines()[-5:]:
            run.say("    | " + line[:200])
    run.say(f"tests: {len(names) - len(failures)} of {len(names)} passed ({time.monotonic() - begin:.0f} s)")
    if not names:
        run.fail(f"tests: cuda_test has none for {run.device}")
    run.keep()


def program(name, *places):
    """A program of the CUDA toolkit; None if there is none."""
    found = [shutil.which(name), *sorted(map(str, (path for place in places for path in pathlib.Path("/").glob(place))))]
    return next(filter(None, found), None)


def sanitizers(run):
    sanitizer = program("compute-sanitizer", "usr/local/cuda*/bin/compute-sanitizer")
    if not sanitizer:
        run.say("no compute-sanitizer here: memcheck and racecheck left out")
        return
    for tool in ("memcheck", "racecheck"):
        run.step(tool, 60, [*run.env, sanitizer, "--tool", tool, "--error-exitcode", "9", "--kernel-name",
                            "kernel_substring=predgen", BUNDLE / "bin/cuda_test", f"--gtest_filter={SANITIZED}"],
                 lambda output: (re.findall(r"=+ (ERROR SUMMARY.*|RACECHECK SUMMARY.*)", output) or ["no errors"])[-1])


def middle(values):
    return values["median"]


def passes(output):
    """What `predgen bench --json` measured, on a line."""
    model = json.loads(output)["model"]
    token = middle(model["step"]["seconds"])
    widths = ", ".join(f"{one['draft']}: {middle(one['seconds']) / token:.2f}x" for one in model["verify"])
    share = (model["decode"].get("share_of_bandwidth") or {}).get("median")
    return (f"a token {1000 * token:.2f} ms" + (f", {share:.2f} of the bandwidth" if share else "") +
            f"; drafts {widths}; prompt {middle(model['prefill']['tokens_per_second']):.0f} tokens/s")


def speed(run, model):
    """A token and every width that matters, in each type; the same of an earlier build, if there is one."""
    sizes = ["--runs", "3", "--generate", "64", "--draft", "4", "8", "16", "24", "32", "63", "64"]
    if not run.on_gpu:
        sizes = ["--runs", "1", "--generate", "8", "--prompt", "64", "--draft", "4", "16"]
    for kind in ("int4", "int8", "none"):
        found = {}
        for build in ("bin", "before"):
            if not (BUNDLE / build).is_dir():
                continue
            name = f"passes, {'bf16' if kind == 'none' else kind}" + (", earlier build" if build == "before" else "")
            output = run.step(name, 75, [*run.env, BUNDLE / build / "predgen", "bench", "--json", "--model", model,
                                         "--device", run.device, "--dtype", "bf16", "--quantize", kind, *sizes], passes)
            if output:
                verify = json.loads(output)["model"]["verify"]
                found[build] = {one["draft"]: middle(one["seconds"]) for one in verify}
        if len(found) == 2:
            ratios = ", ".join(f"{draft}: {found['before'][draft] / seconds:.2f}x"
                               for draft, seconds in found["bin"].items())
            run.say(f"    the earlier build's time over today's, drafts of {ratios}")


def kernels_counted(output):
    number = output.count("gpu__time_duration")
    if number == 0:
        raise ValueError("no kernel was counted")
    return f"{number} kernels, in the log"


def counters(run, model):
    ncu = program("ncu", "opt/nvidia/nsight-compute/*/ncu", "usr/local/cuda*/bin/ncu")
    if not ncu:
        run.say("no ncu here: counters left out")
        return
    # A model is prepared with some 10,000 launches before it makes a token.
    run.step("counters", 80, [*run.env, ncu, "--clock-control", "none", "--graph-profiling", "node", "--csv",
                              "--target-processes", "all", "-k", COUNTED, "--launch-skip", "12000", "--launch-count", "44",
                              "--metrics", ",".join(COUNTERS), BUNDLE / "bin/predgen", "bench", "--model", model,
                              "--device", run.device, "--dtype", "bf16", "--quantize", "int4", "--runs", "1",
                              "--generate", "16", "--draft", "16"], kernels_counted)


def voice(run):
    """Zonos with random weights of its published sizes."""
    folder = run.scratch / "zonos"
    script = ("import pathlib, sys; sys.path.insert(0, sys.argv[1]); import tiny_zonos; "
              "tiny_zonos.make_voice(pathlib.Path(sys.argv[2]))")
    command = [sys.executable, PYTHON / "cli/tiny_zonos.py", folder, "26"]
    if not run.on_gpu:
        command = [sys.executable, "-c", script, PYTHON / "cli", folder]
    if run.step("Zonos, weights", 90, command) is None:
        return
    for kind in ("none", "int8"):
        settings = run.scratch / f"voice_{kind}.yaml"
        settings.write_text(f"model: {folder}\ndevice: {run.device}\ndtype: bf16\nquantize: {kind}\ncfg_scale: 2.0\n"
                            f"max_new_frames: {200 if run.on_gpu else 20}\neos_penalty: 100\n")
        run.step(f"Zonos, {'bf16' if kind == 'none' else kind}", 60,
                 [*run.predgen, "bench", "--json", "--tts", "zonos", "--tts-config", settings, "--runs", "2"],
                 lambda output: "real-time factor {:.2f}".format(json.loads(output)["voice"]["real_time_factor"]["p50"]))
    shutil.rmtree(folder)


def training(run, model):
    output = run.step("training", 150, [sys.executable, PYTHON / "gpu_trials.py", run.scratch / "train", SHARE, model,
                                        run.device, *run.predgen])
    log = output if output is not None else (run.logs / "training.txt").read_text(errors="replace")
    for line in re.findall(r"^(?:ok|FAILED) .*", log, re.MULTILINE):
        run.say("    " + line)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\nPart")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--seconds", type=float, default=540)
    args = parser.parse_args()
    out = pathlib.Path(os.environ.get("OUT") or BUNDLE / "out")
    out.mkdir(parents=True, exist_ok=True)
    for path in (BUNDLE / "bin").iterdir():
        path.chmod(0o755)  # some ways of copying lose it
    with tempfile.TemporaryDirectory() as scratch:
        run = Try(args.device, args.seconds, out, pathlib.Path(scratch))
        head(run)
        if not module(run):
            run.fail("nothing runs on the GPU, so nothing else was tried")
            return 1
        model = pathlib.Path(scratch) / ("7b" if run.on_gpu else "tiny")
        with (run.logs / "weights.txt").open("w") as log:  # they are made while tests run
            weights = subprocess.Popen([sys.executable, PYTHON / "random_model.py", model, model.name,
                                        SHARE / "checkpoints/demo"], stdout=log, stderr=log)
        tests(run)
        sanitizers(run)
        if weights.wait() == 0:
            speed(run, model)
            counters(run, model)
        else:
            run.fail("weights of the model's shape, so its passes were not timed: logs/weights.txt")
        voice(run)
        if weights.returncode == 0:
            training(run, model)
        run.keep()
        run.say(f"{'some steps FAILED' if run.failed else 'all steps passed'}, {time.monotonic() - run.begin:.0f} s; "
                f"{out}/summary.txt, logs.tgz")
        return int(run.failed)


if __name__ == "__main__":
    sys.exit(main())
