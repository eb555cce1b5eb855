"""Milliseconds per decoding step of a Zonos model of the released widths, by predgen and by the Python
reference (tests/voice/reference) with the same bf16 weights, in one run.

OMP_NUM_THREADS=1 taskset -c 1 python bench/zonos_step.py [--program build/zonos_codes] [--layers 6]
Prints medians and ratios (above 1: predgen is faster). One thread each.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from safetensors.torch import save_file

REPOSITORY = Path(__file__).resolve().parents[1]
STEPS = 40


def load_parity(program):
    """Random models and the reference, as in the test."""
    sys.argv = ["zonos_parity.py", program]
    sys.path.insert(0, str(REPOSITORY / "tests" / "voice" / "zonos"))
    import zonos_parity
    return zonos_parity


def ours(args, folder, precision):
    command = [args.program, folder, folder / "request.json", folder / "out.safetensors", *precision]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def theirs(parity, config, weights, request):
    module = parity.load_reference()
    model = module.Model(config, weights)
    values = parity.reference_values(config, request["conditioning"])
    values["speaker"] = values["speaker"].to(torch.bfloat16)
    torch.manual_seed(0)
    generation = module.Gen(model, model.prefix(values), None, request["max_new_frames"],
                            request["cfg_scale"], dtype=torch.bfloat16, min_p=request["min_p"])
    times, more = [], True
    while more:
        start = time.perf_counter()
        more = generation.step()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--program", default=str(REPOSITORY / "build" / "zonos_codes"))
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    parity = load_parity(args.program)
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    config = parity.make_config(args.layers, 2048, 16, 4, 8192)
    weights = {name: tensor.to(torch.bfloat16) for name, tensor in parity.make_weights(config, 0).items()}
    request = {"conditioning": parity.FULL, "cfg_scale": 2.0, "max_new_frames": STEPS, "min_p": 0.1,
               "temperature": 1.0, "logits": False}
    rows = {"reference, bf16": [], "predgen, bf16": [], "predgen, int8": []}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "config.json").write_text(json.dumps(config))
        save_file(weights, folder / "model.safetensors")
        (folder / "request.json").write_text(json.dumps(request))
        for _ in range(args.rounds):  # in turn: other work on the machine affects all of them
            rows["reference, bf16"].append(theirs(parity, config, weights, request))
            rows["predgen, bf16"].append(ours(args, folder, ["bf16"]))
            rows["predgen, int8"].append(ours(args, folder, ["bf16", "int8"]))
    base = min(rows["reference, bf16"])
    print(f"{args.layers} layers, width 2048, guidance (2 rows), {torch.get_num_threads()} thread")
    for name, times in rows.items():
        print(f"{name:18s} {min(times):8.2f} ms/step   ratio {base / min(times):5.2f}")


if __name__ == "__main__":
    main()
