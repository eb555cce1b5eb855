"""predgen train on several processes: the steps of one rank with any number of them, started by
--nproc and by torchrun, resumed with another number; a rank that is killed, stopped or fails ends
all of them, with its name; a stop of one is a stop of all.

usage: ranks_test.py sample|whole     (sample: fewer numbers of ranks, and each end of one rank only)
"""

import json
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

import numpy
from safetensors.numpy import load_file

from rank_processes import RankedCommand, check, children, some_words
from program import PREDGEN

TIMEOUT = 10  # seconds that a collective may take
IS_WHOLE = sys.argv[1] == "whole"


class Runs(RankedCommand):
    def __init__(self, scratch):
        super().__init__(scratch, ["train"], map(some_words, range(40)), "held_out: {fraction: 0.2, min_words: 3}\n")
        self.config.write_text(
            f"model: {self.model}\noutput: unset\ndataset: {self.data}\nmode: lora\n"
            "lora: {rank: 4, dropout: 0.1}\nobjective: {kind: autoregressive}\n"
            "batch_size: 1\nglobal_batch: 6\nmax_steps: 20\nlearning_rate: 1e-3\neps: 1e-5\n"
            f"held_out: {self.data / 'held_out'}\nheld_out_records: 5\neval_every: 10\n"
            "save_every: 10\nlog_every: 1\ndevice: cpu\nthreads: 1\n")

    def losses(self, name):
        rows = [json.loads(line) for line in
                (self.scratch / name / "metrics.jsonl").read_text().splitlines()]
        return [(row["step"], key, row[key]) for row in rows
                for key in ("train/ar", "held_out/ar") if key in row]

    def check_same(self, name, expected):
        losses, wanted = self.losses(name), self.losses(expected)
        check([row[:2] for row in losses] == [row[:2] for row in wanted], f"{name}: other steps")
        worst = max(abs(a[2] - b[2]) for a, b in zip(losses, wanted))
        file = "final/adapter_model.safetensors"
        found, right = load_file(self.scratch / name / file), load_file(self.scratch / expected / file)
        distance = max(float(numpy.abs(found[key] - right[key]).max()) for key in right)
        moved = max(float(numpy.abs(right[key]).max()) for key in right if "lora_B" in key)
        print(f"{name}: losses within {worst:.1e}, adapter within {distance:.1e} of {expected}'s, "
              f"which moved by up to {moved:.1e}")
        check(worst <= 1e-5 and distance <= 1e-4 and moved > 5e-3, f"{name} is not {expected}")


def same_steps(runs):
    runs.run("one")
    for count in (2, 3, 4) if IS_WHOLE else (4,):  # 6 micro-batches are not 4 equal shares
        runs.run(f"nproc {count}", "--nproc", str(count))
        runs.check_same(f"nproc {count}", "one")
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node",
                "2", PREDGEN)
    runs.run("torchrun", program=torchrun)
    runs.check_same("torchrun", "one")


def base_kinds(runs):
    """A base that is not whole in every rank's model trains the same adapter."""
    # 3 prompts are not 2 equal shares, and each rank's answers end where they end.
    runs.run("sharded", "--nproc", "2", "base.shard=true", "recompute=all", "watch.every=10",
             "watch.records=3", "watch.max_new_tokens=8")
    runs.run("sharded offloaded", "--nproc", "4", "base.shard=true", "base.offload=true", "recompute=all")
    if IS_WHOLE:
        runs.run("offloaded", "base.offload=true", "recompute=all")
    for name in ("sharded", "sharded offloaded", *(("offloaded",) if IS_WHOLE else ())):
        runs.check_same(name, "one")
    for weights in ("int8", "nf4") if IS_WHOLE else ("nf4",):
        narrow = (f"base.weights={weights}", "recompute=all")
        runs.run(weights, *narrow)
        runs.run(f"{weights} sharded", "--nproc", "3", "base.shard=true", *narrow)
        runs.check_same(f"{weights} sharded", weights)
        drift = abs(runs.losses(weights)[0][2] - runs.losses("one")[0][2])
        check(1e-7 < drift < 0.5, f"{weights}: the first loss is {drift} from the whole base's")
    errors = runs.run("refused", "base.weights=nf4", code=2).stderr
    check("recompute" in errors and errors.count("\n") <= 2, errors)


def another_number_of_ranks(runs):
    runs.run("resumed", "--nproc", "4", "stop_at_step=7", code=130)
    runs.run("resumed", "--resume", "auto", "stop_at_step=12", code=130)
    runs.run("resumed", "--nproc", "3", "--resume", "auto")
    runs.check_same("resumed", "one")


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def end_of(runs, name, number, victim):
    """Sends a signal to one rank of three, or to their launcher (None), in the middle of a run.
    The exit code, what stood on stderr, and how long all of them took to end."""
    process = runs.start(name, "--nproc", "3", "--timeout", str(TIMEOUT), "max_steps=100000")
    ranks = []
    try:
        metrics = runs.scratch / name / "metrics.jsonl"
        deadline = time.monotonic() + 120
        while not metrics.exists() or metrics.read_text().count("\n") < 5:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                sys.exit(f"FAILED: {name} does not train: {process.communicate()[1]}")
            time.sleep(0.02)
        ranks = children(process)
        check(len(ranks) == 3, f"{len(ranks)} ranks")
        began = time.monotonic()
        os.kill(process.pid if victim is None else ranks[victim], number)
        _, errors = process.communicate(timeout=120)
        while any(map(is_running, ranks)):
            check(time.monotonic() - began < 120, f"{name}: a rank is left")
            time.sleep(0.02)
    finally:
        process.kill()  # and its ranks with it
    return process.returncode, errors, time.monotonic() - began


def ends_of_a_rank(runs):
    everyone = (0, 1, 2) if IS_WHOLE else ()
    for victim in everyone or (2,):
        code, errors, seconds = end_of(runs, f"kill {victim}", signal.SIGKILL, victim)
        check(code == 1 and f"rank {victim} was ended by signal 9" in errors, errors)
        check(f"rank {victim} has ended or hangs, last heard of in step" in errors, errors)
        check(seconds < 60, f"{seconds} s after kill -9")
    for victim in everyone or (0,):
        code, errors, seconds = end_of(runs, f"halt {victim}", signal.SIGSTOP, victim)
        check(code == 1 and f"rank {victim} has ended or hangs" in errors, errors)
        check(TIMEOUT - 2 < seconds < 60, f"{seconds} s after SIGSTOP")
    for victim in everyone or (1,):
        code, errors, _ = end_of(runs, f"term {victim}", signal.SIGTERM, victim)
        check(code == 130 and "goes on from its checkpoint" in errors, errors)
    code, errors, _ = end_of(runs, "ctrl-c", signal.SIGINT, None)
    check(code == 130 and "goes on from its checkpoint" in errors, errors)
    check(errors.count("predgen: interrupted") == 1, errors)
    code, _, seconds = end_of(runs, "launcher", signal.SIGKILL, None)
    check(code == -signal.SIGKILL and seconds < 60, f"{seconds} s after the launcher's end")


def rank_zero_serves(runs):
    """As srun starts them: nobody but rank 0 can serve the store."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])

    def start(name, rank):
        place = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank),
                 "SLURM_STEP_NUM_TASKS": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        return runs.start(name, **place)

    ranks = [start("srun", rank) for rank in range(3)]
    errors = [rank.communicate(timeout=300)[1] for rank in ranks]
    check(all(rank.returncode == 0 for rank in ranks), errors)
    runs.check_same("srun", "one")
    ranks = [start("file/srun", rank) for rank in range(3)]
    errors = [rank.communicate(timeout=300)[1] for rank in ranks]
    check([rank.returncode for rank in ranks] == [2, 1, 1], errors)
    check(all("rank 0 failed in step 0: " in text for text in errors[1:]), errors)


def a_rank_that_fails(runs):
    # Rank 0 writes: its output folder is a file.
    (runs.scratch / "file").write_text("")
    errors = runs.run("file/output", "--nproc", "3", code=2).stderr
    check(errors.count("predgen: ") == 1 and "failed in step" not in errors, errors)


def bad_input(runs):
    def refuses(part, *more, **variables):
        errors = runs.run("refused", *more, code=2, **variables).stderr
        check(part in errors and errors.count("\n") == 1, f"{more}: {errors}")

    refuses("no WORLD_SIZE", RANK="1")
    refuses("from 0 to 1", RANK="2", WORLD_SIZE="2")
    refuses("drop --nproc", "--nproc", "2", RANK="0", WORLD_SIZE="2")
    refuses("must be a multiple of batch_size", "--nproc", "2", "batch_size=4")
    # What every rank finds for itself is said once, too.
    refuses("nowhere", "--nproc", "3", "dataset=nowhere")
    refuses("must be auto, nccl or gloo", "--nproc", "3", "--backend", "mpi")
    refuses("would put every rank on one GPU", "--nproc", "3", "device=cuda:0")
    refuses("unheard_of", "--nproc", "3", "unheard_of=1")
    refuses("must be auto, nccl or gloo", "--backend", "mpi", RANK="0", WORLD_SIZE="2")
    refuses("would put every rank on one GPU", "device=cuda:0", RANK="0", WORLD_SIZE="2")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(Path(scratch))
        same_steps(runs)
        base_kinds(runs)
        another_number_of_ranks(runs)
        ends_of_a_rank(runs)
        a_rank_that_fails(runs)
        rank_zero_serves(runs)
        bad_input(runs)


main()
