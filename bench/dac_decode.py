"""Decodes with the released DAC codec's shape by predgen and by transformers, in one run.

Random weights, float32, CPU. Prints the real-time factor (seconds for a second of sound; below 1 is fast enough) by
the clock and by processor time, which other work on the machine disturbs least, for decoding whole and in chunks
that keep all state.
"""
import argparse
import os
import subprocess
import tempfile
import time

import torch
from safetensors.torch import save_file
from transformers import DacConfig, DacModel


def print_rows(rows, threads, sound):
    reference = rows["transformers, whole"][1]
    for label, (work, elapsed) in rows.items():
        print(f"{threads} threads  {label:24} real-time factor {elapsed / sound:5.2f}, processors {work / sound:5.2f}"
              f"   {reference / elapsed:5.2f} times as fast as transformers")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run-codec", default="build/run_codec")
    parser.add_argument("--frames", type=int, default=136)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1, 8, 17, 34])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()

    torch.manual_seed(0)
    model = DacModel(DacConfig(sampling_rate=44100)).eval()
    codes = torch.randint(1024, (9, args.frames))
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        model.save_pretrained(name)
        save_file({"codes": codes}, f"{name}/codes.safetensors")
        for threads in args.threads:
            torch.set_num_threads(threads)
            work, elapsed = [], []
            for _ in range(args.rounds):
                start = time.process_time(), time.perf_counter()
                model.decode(audio_codes=codes[None])
                work.append(time.process_time() - start[0])
                elapsed.append(time.perf_counter() - start[1])
            rows = {"transformers, whole": (min(work), min(elapsed))}
            done = subprocess.run([args.run_codec, "time", name, f"{name}/codes.safetensors", str(args.rounds),
                                   *map(str, args.chunks)], check=True, capture_output=True, text=True,
                                  env=dict(os.environ, OMP_NUM_THREADS=str(threads)))
            for line in done.stdout.splitlines():
                kind, *seconds = line.split()
                label = "predgen, whole" if kind == "whole" else f"predgen, chunks of {kind}"
                rows[label] = tuple(map(float, seconds))
            print_rows(rows, threads, args.frames * 512 / 44100)


if __name__ == "__main__":
    main()
