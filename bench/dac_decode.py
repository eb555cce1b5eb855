"""Decoding of the released DAC codec's shape by predgen and by a plain PyTorch decoder, in one run.

python bench/dac_decode.py --reference FOLDER     (with spec_dac.py; default: $PREDGEN_SHARED/zonos_reference)
Random weights, one thread, float32, CPU. Prints processor time, which other work on the machine disturbs
least: milliseconds a frame, and the real-time factor (seconds of work for a second of sound; below 1 is
fast enough), whole and in chunks that keep all state.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import DacConfig, DacModel


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--run-codec", default="build/run_codec")
    parser.add_argument("--reference", type=Path,
                        default=Path(os.environ.get("PREDGEN_SHARED", "../shared")) / "zonos_reference")
    parser.add_argument("--frames", type=int, default=136)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1, 8, 17, 34])
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(args.reference))
    import spec_dac

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DacModel(DacConfig(sampling_rate=44100)).eval()
    codes = torch.randint(1024, (9, args.frames))
    sound = args.frames * 512 / 44100
    rows = {}
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        model.save_pretrained(name)
        save_file({"codes": codes}, f"{name}/codes.safetensors")
        weights = {key: tensor.detach() for key, tensor in model.state_dict().items()}
        seconds = []
        for _ in range(args.rounds):
            start = time.process_time()
            spec_dac.decode(weights, codes[None])
            seconds.append(time.process_time() - start)
        rows["PyTorch, whole"] = min(seconds)
        done = subprocess.run([args.run_codec, "time", name, f"{name}/codes.safetensors", str(args.rounds),
                               *map(str, args.chunks)], check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            kind, value = line.split()
            rows["predgen, whole" if kind == "whole" else f"predgen, chunks of {kind}"] = float(value)
    for label, value in rows.items():
        print(f"{label:24} {value / args.frames * 1e3:7.2f} ms/frame   real-time factor {value / sound:5.2f}"
              f"   {rows['PyTorch, whole'] / value:5.2f} times as fast as PyTorch")


if __name__ == "__main__":
    main()
