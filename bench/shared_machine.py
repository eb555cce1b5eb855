"""What a training step and a decoding pass cost next to other programs, as ratios to the idle machine.

python scripts/random_model.py smol 135m checkpoints/demo
python bench/shared_machine.py --predgen build/predgen --model smol
Runs next to no, one and four endless loops, on as many threads as there are cores unless --threads says otherwise.
With one loop a step may cost 2.2 times as much: each gets half of the core that they share, and threads that meet
wait for the slower one. With four it may cost 1.3 times its fair share, (threads + loops) / cores. Exits with 1 if
that is exceeded. Other programs count, too: on a machine that is not idle, `nice -n -20` (as root) before the
command puts it and its loops first.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from train_vs_peft import half_taught, rows, run_predgen, write_dataset

LOOPS = (0, 1, 4)


@contextlib.contextmanager
def busy_loops(count):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def train_seconds(args, folder):
    return statistics.median(run_predgen(args, folder, recompute=False)[0][1:])


def pass_seconds(args, _):
    command = [args.predgen, "bench", "--model", args.model, "--dtype", "bf16", "--threads", str(args.threads), "--prompt",
               "64", "--generate", str(args.generate), "--draft", "8", "--runs", str(args.rounds), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)["model"]["decode"]["seconds_per_token"]["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--predgen", default="build/predgen")
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tokens", type=int, default=128, help="of a training row")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=6, help="of training, the first to warm up")
    parser.add_argument("--generate", type=int, default=128, help="tokens to decode in a round")
    parser.add_argument("--rounds", type=int, default=5, help="of decoding, after one to warm up")
    parser.add_argument("--only", choices=["train", "decode"])
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    exceeded = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_dataset(folder / "data", half_taught(rows(args)))
        for name, measure in (("train", train_seconds), ("decode", pass_seconds)):
            if args.only not in (None, name):
                continue
            idle = None
            for count in LOOPS:
                with busy_loops(count):
                    seconds = measure(args, folder)
                idle = idle or seconds
                fair = max(1, (args.threads + count) / cores)
                most = {0: 1, 1: 2.2}.get(count, 1.3 * fair)
                exceeded |= seconds / idle > most
                print(f"{name:7} beside {count} loops  {1e3 * seconds:9.2f} ms  {seconds / idle:5.2f}x  "
                      f"(at most {most:.2f}x, fair share {fair:.2f}x)", flush=True)
    sys.exit(exceeded)


if __name__ == "__main__":
    main()
