"""Kill campaigns: every command that writes something large is killed with SIGKILL at random
moments, run again until it is through, and must then have made what an undisturbed run makes.
Ctrl-C and a full disk, too.

    kill_test.py [--kills N] [--seed S]      N kills of each of the five commands
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from program import PREDGEN
from tiny_model import WORDS, make_adapter, make_folder
from safetensors import safe_open

CPU = ["device=cpu", "threads=1"]


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


class Job:
    """A command and what its result must be. `arguments(output)` is one attempt; `again(output)`
    the attempt after a kill; `result(output)` reads a finished output; `partial(output)` checks
    that an unfinished one is not taken for more than it is. `first_sign(output)` appears when the
    command begins to write, `under_way(output)` when a Ctrl-C leaves something to go on with.
    `appears_whole`: the output gets its name when it is finished."""

    def __init__(self, name, arguments, result, partial, first_sign, under_way, again=None,
                 appears_whole=False):
        self.name, self.arguments, self.result, self.partial = name, arguments, result, partial
        self.first_sign, self.under_way, self.again = first_sign, under_way, again or arguments
        self.appears_whole = appears_whole


def start(arguments, **options):
    return subprocess.Popen([PREDGEN, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


def attempt(arguments, seconds=None):
    """Runs the command, killed after `seconds`. Its exit code, and what it wrote to stderr."""
    process = start(arguments)
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, errors = process.communicate()
    return process.returncode, errors


def files_of(folder):
    return {str(file.relative_to(folder)): file.read_bytes()
            for file in sorted(folder.rglob("*")) if file.is_file()}


# ---- what each command makes

def dataset(folder):
    """All bytes of a dataset: shards and manifest (neither holds a time)."""
    files = files_of(folder)
    check("manifest.json" in files, f"{folder} is finished")
    check(not any(name.endswith(".tmp") for name in files), f"no temporary file is left: {list(files)}")
    files.pop("recipe.json", None)  # a kill after the manifest leaves it
    files.pop("held_out/recipe.json", None)
    return files


def refuses_unfinished_dataset(folder):
    if (folder / "manifest.json").exists():
        return
    code, errors = attempt(["data", "show", folder])
    check(code == 2 and len(errors.strip().splitlines()) == 1, f"unfinished, but shown: {errors}")


def tensors(file):
    with safe_open(file, "pt") as opened:
        return {name: opened.get_tensor(name).numpy().tobytes() for name in opened.keys()}


def metrics(folder):
    """metrics.jsonl without what the clock and other programs decide."""
    rows = []
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        for key in ("train/seconds", "train/tokens_per_second", "memory/process_gib"):
            row.pop(key, None)
        rows.append(row)
    return rows


def partial_folder(output):
    return output.parent / f".{output.name}.partial"


def trained(folder):
    newest = max(folder.glob("step-*"))
    check((newest / "DONE").exists(), f"{newest} is finished")
    check(not partial_folder(folder / "final").exists(), "no partial folder is left")
    return {"final": files_of(folder / "final"), "metrics": metrics(folder),
            "optimizer": tensors(newest / "optimizer.safetensors")}


def checkpoints_are_whole(folder):
    for file in folder.glob("step-*/DONE"):
        names = {entry.name for entry in file.parent.iterdir()}
        check({"adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors",
               "state.json"} <= names, f"{file.parent} says DONE with {names}")
        tensors(file.parent / "optimizer.safetensors")
        tensors(file.parent / "adapter_model.safetensors")
    if (folder / "final").exists():
        check(set(files_of(folder / "final")) == {"adapter_config.json",
                                                  "adapter_model.safetensors"}, "final is whole")


def exported(folder):
    check(not partial_folder(folder).exists(), "no partial folder is left")
    return files_of(folder)


def make_jobs(scratch, model, adapter, source):
    """The commands in the order of the road; each one works on the finished output of the one
    before."""
    data = scratch / "build.yaml"
    data.write_text(f"sources: ['{source}']\ntokenizer: {model}\noutput: unset\nseed: 1\n"
                    "law: truncated\nexamples_per_conversation: 4\nrecords_per_shard: 100\n"
                    "threads: 1\nheld_out: {fraction: 0.2, min_words: 3}\n")
    trajectories = scratch / "trajectories.yaml"
    trajectories.write_text(f"dataset: {scratch / 'data build' / 'whole'}\nmodel: {model}\n"
                            "output: unset\nseed: 1\nmax_records: 240\nblock_size: 8\n"
                            "max_new_tokens: 16\nbatch_tokens: 64\nrecords_per_piece: 24\n")
    train = scratch / "train.yaml"
    train.write_text(f"model: {model}\noutput: unset\ndataset: unset\nmode: lora\n"
                     "lora: {rank: 4, dropout: 0.1}\nobjective: {kind: autoregressive}\n"
                     "batch_size: 4\nglobal_batch: 8\nmax_steps: 40\nlearning_rate: 1e-3\n"
                     f"held_out: {scratch / 'data build' / 'whole' / 'held_out'}\n"
                     "held_out_records: 8\neval_every: 10\nsave_every: 4\nkeep_last: 2\n"
                     "log_every: 1\n")

    def train_arguments(kind, dataset_folder, resume):
        return lambda output: ["train", "--config", train, f"output={output}",
                               f"dataset={dataset_folder}", f"objective.kind={kind}",
                               "--resume", resume, *CPU]

    jobs = [Job("data build",
                lambda output: ["data", "build", "--config", data, f"output={output}"],
                dataset, refuses_unfinished_dataset, lambda output: output,
                lambda output: output / "recipe.json"),
            Job("data trajectories",
                lambda output: ["data", "trajectories", "--config", trajectories,
                                f"output={output}", *CPU],
                dataset, refuses_unfinished_dataset, lambda output: output,
                lambda output: output / "shard-00001.h5")]
    for name, kind, records in (("train lora", "autoregressive", "data build"),
                                ("train cllm", "cllm", "data trajectories")):
        folder = scratch / records / "whole"
        jobs.append(Job(name, train_arguments(kind, folder, "none"), trained,
                        checkpoints_are_whole, lambda output: output,
                        lambda output: output / "step-00000004" / "DONE",
                        train_arguments(kind, folder, "auto")))
    jobs.append(Job("export",
                    lambda output: ["export", "--model", model, "--adapter", adapter, "--output",
                                    output, "--dtype", "fp32", "--device", "cpu", "--threads", "1"],
                    exported, lambda output: None, partial_folder, partial_folder,
                    appears_whole=True))
    return jobs


# ---- the campaigns

def run_undisturbed(job, output):
    """Seconds until it begins to write, and until it is through."""
    begin = time.monotonic()
    process = start(job.arguments(output))
    wait_for(job.first_sign(output), process)
    first = time.monotonic() - begin
    _, errors = process.communicate()
    check(process.returncode == 0, f"{job.name}: {errors}")
    return first, time.monotonic() - begin


def kill_campaign(job, folder, expected, times, num_kills, draw):
    """Attempts that are killed at random moments, most of them while it writes, one after the
    other on the same output until one gets through; then on a new output."""
    first, last = times
    killed = rounds = 0
    found = collections.Counter()  # kills by what was there then
    while killed < num_kills:
        rounds += 1
        output = folder / f"killed-{rounds}"
        while True:
            seconds = None
            if killed < num_kills:
                early = draw.random() < 0.1
                seconds = draw.uniform(0, first) if early else draw.uniform(0.9 * first, 1.05 * last)
            code, errors = attempt((job.again if output.exists() else job.arguments)(output), seconds)
            if code == 0:
                break
            check(code == -signal.SIGKILL, f"{job.name} goes on after a kill: {code} {errors[-500:]}")
            killed += 1
            found["while writing" if job.first_sign(output).exists() else "before"] += 1
            job.partial(output)
            if job.appears_whole and output.exists():
                break
        check(job.result(output) == expected, f"{job.name}: the result is that of an undisturbed run")
        shutil.rmtree(output)
    print(f"{job.name}: {killed} kills ({dict(found)}) in {rounds} runs, all like the undisturbed "
          f"one of {last:.1f} s", flush=True)


def wait_for(path, process):
    while process.poll() is None and not path.exists():
        time.sleep(0.001)


def check_interrupt(job, folder, expected):
    """Ctrl-C: 130, one line that says so, and the next run goes on."""
    output = folder / "interrupted"
    for _ in range(20):  # a short command may be through before the signal arrives
        process = start(job.arguments(output))
        wait_for(job.under_way(output), process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        if process.returncode != 0:
            break
        shutil.rmtree(output)
    check(process.returncode == 130, f"{job.name}: Ctrl-C gives {process.returncode}: {errors}")
    failures = [line for line in errors.splitlines() if line.startswith("predgen:")]
    check(failures == ["predgen: interrupted"], f"{job.name}: one line: {errors}")
    job.partial(output)
    check(not (job.appears_whole and output.exists()), f"{job.name} leaves {output}")
    code, errors = attempt((job.again if output.exists() else job.arguments)(output))
    check(code == 0 and job.result(output) == expected, f"{job.name} goes on after Ctrl-C: {errors}")
    print(f"{job.name}: Ctrl-C gives 130, and the next run goes on", flush=True)


# ---- a full disk: a small file system in a name space of our own

def full_disk(job, output, expected, sizes):
    """Runs the command on ever larger disks: every failure is one line and leaves nothing that
    seems whole; with room enough it goes on from there."""
    failures = []
    for size in sizes:
        subprocess.run(["mount", "-o", f"remount,size={size}k", output.parent], check=True)
        code, errors = attempt(job.again(output) if output.exists() else job.arguments(output))
        if code == 0:
            break
        lines = [line for line in errors.splitlines() if line.startswith("predgen:")]
        check(code in (1, 2) and len(lines) == 1 and "terminate" not in errors and
              any(part in lines[0] for part in ("disk", "No space", "space left")),
              f"{job.name} on {size} kB: {code} {errors}")
        job.partial(output)
        check(not (job.appears_whole and output.exists()), f"{job.name} leaves {output}")
        failures.append(lines[0])
    check(code == 0, f"{job.name}: {sizes[-1]} kB are enough: {errors}")
    check(failures, f"{job.name}: {sizes[0]} kB are too few")
    check(job.result(output) == expected, f"{job.name}: the result is that of an undisturbed run")
    # Whole output stays whole when the disk is full.
    room = os.statvfs(output).f_bavail * os.statvfs(output).f_frsize
    (output.parent / "filler").write_bytes(b"x" * room)
    code, errors = attempt(job.again(output))
    check(job.result(output) == expected, f"{job.name}: the existing result stays: {code} {errors}")
    print(f"{job.name}: full disk {len(failures)} times, e.g. {failures[-1]}", flush=True)


def in_name_space(plan_file):
    """Runs inside `unshare -m`, with what main() wrote down."""
    scratch = Path(json.loads(plan_file.read_text())["scratch"])
    for job in make_jobs(scratch, scratch / "model", scratch / "adapter", scratch / "source.jsonl"):
        disk = scratch / "disk"
        disk.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "predgen", disk], check=True)
        expected = job.result(scratch / job.name / "whole")
        total = sum(map(len, files_of(scratch / job.name / "whole").values())) // 1024
        sizes = [8, 32, *(int(total * share) for share in (0.25, 0.5, 0.75, 0.9)), 4 * total + 4096]
        full_disk(job, disk / "output", expected, sorted(sizes))
        subprocess.run(["umount", disk], check=True)


def check_full_disk(scratch):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"]).returncode != 0:
        print("skipped: full disk (needs root, for a small file system)")
        return
    plan = scratch / "plan.json"
    plan.write_text(json.dumps({"scratch": str(scratch)}))
    result = subprocess.run(["unshare", "-m", "--propagation", "private", sys.executable, __file__,
                             "--full-disk", plan])
    check(result.returncode == 0, "on a full disk")


# ---- all of it

def write_source(file, draw):
    words = " ".join(WORDS).replace(".", "").replace("!", "").replace("?", "").split()
    with open(file, "w") as lines:
        for i in range(160):
            conversation = []
            for _ in range(draw.randint(1, 3)):
                for role in ("user", "assistant"):
                    content = " ".join(draw.choices(words, k=draw.randint(4, 12))) + "."
                    conversation.append({"role": role, "content": content})
            lines.write(json.dumps({"conversation_id": f"c{i}", "conversation": conversation}) + "\n")


def main(scratch, options):
    draw = random.Random(options.seed)
    model, adapter, source = make_folder(scratch), make_adapter(scratch), scratch / "source.jsonl"
    write_source(source, draw)
    for job in make_jobs(scratch, model, adapter, source):
        folder = scratch / job.name
        folder.mkdir()
        times = run_undisturbed(job, folder / "whole")
        expected = job.result(folder / "whole")
        for i in range(2):  # the first one started cold; and equal runs give equal results
            times = min(times, run_undisturbed(job, folder / f"again-{i}"), key=lambda pair: pair[1])
            check(job.result(folder / f"again-{i}") == expected, f"{job.name} gives one result")
        kill_campaign(job, folder, expected, times, options.kills, draw)
        check_interrupt(job, folder, expected)
    check_full_disk(scratch)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full-disk", type=Path)
    given = parser.parse_args()
    if given.full_disk:
        in_name_space(given.full_disk)
    else:
        with tempfile.TemporaryDirectory() as name:
            main(Path(name), given)
