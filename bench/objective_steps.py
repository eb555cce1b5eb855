"""What a training step of each objective costs, as a ratio to an autoregressive one on the same records.

python scripts/random_model.py qwen05 0.5b checkpoints/demo
python bench/objective_steps.py --predgen build/predgen --model qwen05
Records are random tokens, half of them the prompt, with random Jacobi trajectories of the answer in blocks of
16; bfloat16 with a float32 adapter, all layers recomputed. Labels of the autoregressive term are either the
trajectory's fixed points, which are already in the row, or the dataset's answer, a segment of its own.
"""
import argparse
import os
import statistics
import tempfile
from pathlib import Path

import numpy as np

from train_vs_peft import run_predgen, write_dataset

BLOCK, STATES = 16, 6
OBJECTIVES = {
    "autoregressive": "{kind: autoregressive}",
    "jacobi_forcing": "{kind: jacobi_forcing, states: progressive, noise_window: 16}",
    "cllm": "{kind: cllm, states: random, blocks: every}",
}


def make_records(args, labels):
    random = np.random.default_rng(0)
    prompt = args.tokens // 2
    records = []
    for index in range(args.batch):
        tokens = random.integers(5, 4000, args.tokens)
        blocks = []
        for begin in range(prompt, args.tokens, BLOCK):
            fixed = tokens[begin:begin + BLOCK] if labels == "fixed points" else random.integers(5, 4000, BLOCK)
            states = random.integers(5, 4000, (STATES, BLOCK))
            for place, state in enumerate(states):  # each state has two more final tokens
                state[:2 * place] = fixed[:2 * place]
            blocks.append([state.tolist() for state in [*states, fixed]])
        records.append({"id": str(index), "tokens": tokens.tolist(), "prompt": prompt, "blocks": blocks,
                        "mask": [int(place >= prompt) for place in range(args.tokens)]})
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--predgen", default="build/predgen")
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, default=256, help="of a record; a multiple of 32")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for labels in ("fixed points", "dataset"):
            dataset = labels.replace(" ", "_")
            write_dataset(folder / dataset, make_records(args, labels))
            print(f"labels: {labels}")
            plain = None
            for name, objective in OBJECTIVES.items():
                load = os.getloadavg()[0]
                seconds, _, memory = run_predgen(args, folder, True, dataset, objective)
                step = statistics.median(seconds[1:])
                plain = plain or step
                print(f"  {name:15} {step:7.2f} s a step  {step / plain:5.2f}x  {memory:6.0f} MB  "
                      f"(load before it {load:.1f})", flush=True)


if __name__ == "__main__":
    main()
