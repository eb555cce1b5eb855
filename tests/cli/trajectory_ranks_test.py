"""predgen data trajectories on several processes: the bytes of one process, with any number of them,
started by --nproc, torchrun, srun's variables or by hand; what a killed rank leaves the others do, or
the same command again."""

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from rank_processes import RankedCommand, check, children, some_words
from program import PREDGEN

NUM_PIECES = 14


def files_of(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


class Builds(RankedCommand):
    def __init__(self, scratch):
        super().__init__(scratch, ["data", "trajectories"], [f"{some_words(i)} {i}" for i in range(110)])
        self.config.write_text(
            f"dataset: {self.data}\nmodel: {self.model}\noutput: unset\nseed: 1\n"
            "block_size: 8\nmax_new_tokens: 48\nbatch_tokens: 40\nrecords_per_piece: 8\n"
            "cleaning: {max_token_run: 0, max_ngram_repeats: 0, max_sentence_repeats: 0}\n"
            "device: cpu\ndtype: fp32\nthreads: 1\n")

    def check_same(self, name):
        found, expected = files_of(self.scratch / name), files_of(self.scratch / "one")
        check(found.keys() == expected.keys(), f"{name} holds {list(found)}")
        check(found == expected, f"{name} is not what one process writes")

    def pieces(self, name):
        return len(list((self.scratch / name).glob("shard-*.h5")))


def same_records(builds):
    summary = json.loads(builds.run("one", "--json").stdout)
    check(summary["num_records"] == 110 and builds.pieces("one") == NUM_PIECES, summary)
    for count in (1, 2, 3):
        name = f"nproc {count}"
        found = builds.run(name, "--nproc", str(count), "--json")
        check(json.loads(found.stdout) == {**summary, "output": str(builds.scratch / name)},
              f"one document: {found.stdout}")
        builds.check_same(name)
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node", "2",
                PREDGEN)
    builds.run("torchrun", program=torchrun)
    builds.check_same("torchrun")
    for name, variables in (
            ("srun", lambda rank: {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank),
                                   "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NODELIST": "a,b"}),
            ("by hand", lambda rank: {})):
        ranks = [builds.start(name, **variables(rank)) for rank in range(2)]
        errors = [rank.communicate(timeout=300)[1] for rank in ranks]
        check([rank.returncode for rank in ranks] == [0, 0], errors)
        builds.check_same(name)
    # Once more: nothing is left to do.
    check(json.loads(builds.run("nproc 2", "--nproc", "2", "--json").stdout)["num_records"] == 110, "")


def under_way(builds, name, *more):
    """A run of three ranks, each of them at work, and the ranks."""
    process = builds.start(name, "--nproc", "3", *more)
    while builds.pieces(name) < 3:
        check(process.poll() is None, f"{name}: {process.returncode}")
        time.sleep(0.001)
    return process, children(process)


def killed_rank(builds):
    """The others do what it has left."""
    for victim in (0, 1, 2):
        name = f"kill {victim}"
        process, ranks = under_way(builds, name)
        check(len(ranks) == 3, f"{len(ranks)} ranks")
        os.kill(ranks[victim], signal.SIGKILL)
        there = builds.pieces(name)
        _, errors = process.communicate(timeout=300)
        check(there < NUM_PIECES, f"killed after the end: {there}")
        check(process.returncode == 0, errors)
        check(f"rank {victim} was ended by signal 9" in errors, errors)
        builds.check_same(name)


def killed_run(builds):
    """The same command again, or with another number of ranks, keeps every piece."""
    for number, code, again in ((signal.SIGKILL, -signal.SIGKILL, ("--nproc", "3")),
                                (signal.SIGKILL, -signal.SIGKILL, ()),
                                (signal.SIGTERM, 130, ("--nproc", "2")),
                                (signal.SIGINT, 130, ("--nproc", "3"))):
        name = f"{signal.Signals(number).name} {len(again) and again[1]}"
        process, _ = under_way(builds, name)
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)
        check(process.returncode == code, f"{name}: {process.returncode} {errors}")
        check(not (builds.scratch / name / "manifest.json").exists(), f"{name} was through")
        there = {file: file.stat().st_ino for file in (builds.scratch / name).glob("shard-*.h5")}
        builds.run(name, *again)
        check(all(file.stat().st_ino == inode for file, inode in there.items()), f"{name}: made again")
        builds.check_same(name)


def stopped_at_once(builds):
    """Ranks that have only begun end by the launcher's signal, which is no failure of theirs."""
    process = builds.start("begun", "--nproc", "3")
    while len(children(process)) < 3:
        check(process.poll() is None, f"begun: {process.returncode}")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=300)
    check(process.returncode == 130 and "was ended" not in errors, f"{process.returncode} {errors}")


def bad_input(builds):
    def refuses(part, name, *more, **variables):
        errors = builds.run(name, *more, code=2, **variables).stderr
        check(part in errors and errors.count("\n") == 1, f"{more}: {errors}")

    process, _ = under_way(builds, "unfinished")
    process.kill()
    process.communicate()
    refuses("seed: 1 there, 2 here", "unfinished", "seed=2")
    refuses("seed: 1 there, 2 here", "unfinished", "seed=2", "--nproc", "3")
    refuses("records_per_piece: 8 there, 9 here", "unfinished", "records_per_piece=9")
    refuses("seed: 1 there, 2 here", "one", "seed=2")
    refuses("not empty", ".", "--nproc", "2")
    refuses("batch_tokens", "bad", "batch_tokens=0")
    refuses("drop --nproc", "bad", "--nproc", "2", RANK="0", WORLD_SIZE="2")
    refuses("no WORLD_SIZE", "bad", RANK="1")
    refuses("would put every rank on one GPU", "bad", "device=cuda:0", RANK="0", WORLD_SIZE="2")
    for value in ("0", "-1", "many"):
        errors = builds.run("bad", "--nproc", value, code=2).stderr
        check("--nproc" in errors and "Traceback" not in errors, errors)
    check(not (builds.scratch / "bad").exists(), "an output of bad input")
    builds.run("unfinished")
    builds.check_same("unfinished")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        builds = Builds(Path(scratch))
        same_records(builds)
        killed_rank(builds)
        killed_run(builds)
        stopped_at_once(builds)
        bad_input(builds)


main()
