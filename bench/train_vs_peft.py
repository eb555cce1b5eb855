"""LoRA training of the same folder by predgen and by peft + transformers, one after the other in one run.

python scripts/random_model.py qwen05 0.5b checkpoints/demo
python bench/train_vs_peft.py --predgen build/predgen --model qwen05
Both train on one batch of random tokens again and again (autoregressive; they learn the second half of
each row) in bfloat16 with a float32 adapter of all seven linears, AdamW; without recomputation and with
it (peft: gradient checkpointing). Prints tokens per second of the median step after the first, the peak
of resident memory, the loss of the first step (it must agree, as both begin with B = 0), and the ratios.
Each run is a process of its own; its figures come with the load of the machine.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "train"))
from hdf5_dataset import half_taught, write_dataset  # noqa: E402


def rows(args):
    return np.random.default_rng(0).integers(0, 4000, (args.batch, args.tokens))


def run_predgen(args, folder, recompute, dataset="data", objective="{kind: autoregressive}"):
    """Seconds of every step, the first autoregressive loss, and the peak of resident memory in MB."""
    output = Path(tempfile.mkdtemp(dir=folder))
    config = folder / "train.yaml"
    config.write_text(f"""
model: {args.model}
dataset: {folder / dataset}
output: {output}
mode: lora
lora: {{rank: {args.rank}, alpha: 32, dropout: 0}}
objective: {objective}
batch_size: {args.batch}
max_steps: {args.steps}
learning_rate: 0
schedule: constant
compute: bf16
recompute: {"all" if recompute else "none"}
threads: {args.threads}
log_every: 1
device: cpu
""")
    process = subprocess.Popen([args.predgen, "train", "--config", str(config)], stderr=subprocess.PIPE)
    log = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(log[-2000:])
    lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    speeds = [args.batch * args.tokens / line["train/tokens_per_second"] for line in lines]
    return speeds, lines[0]["train/ar"], usage.ru_maxrss / 1024


def train_peft(args, recompute):
    """In a process of its own: prints what run_predgen() returns, as JSON."""
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model

    torch.set_num_threads(args.threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    model = get_peft_model(model, LoraConfig(r=args.rank, lora_alpha=32, target_modules=targets))
    model.config.use_cache = False
    if recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.0, fused=True)
    tokens = torch.from_numpy(rows(args))
    labels = tokens.clone()
    labels[:, : args.tokens // 2] = -100
    seconds, first_loss = [], None
    for _ in range(args.steps):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(input_ids=tokens, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        first_loss = loss.item() if first_loss is None else first_loss
        seconds.append(time.perf_counter() - start)
    print(json.dumps([seconds, first_loss, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def run_peft(args, recompute):
    command = [sys.executable, __file__, *sys.argv[1:], "--peft", str(int(recompute))]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--predgen", default="build/predgen")
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peft", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peft is not None:
        train_peft(args, bool(args.peft))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_dataset(folder / "data", half_taught(rows(args)))
        for recompute in (False, True):
            print(f"recomputation: {'all layers' if recompute else 'none'}")
            speeds, memories = [], []
            for name, run in (("predgen", lambda: run_predgen(args, folder, recompute)),
                              ("peft", lambda: run_peft(args, recompute))):
                load = os.getloadavg()[0]
                seconds, loss, memory = run()
                speeds.append(args.batch * args.tokens / statistics.median(seconds[1:]))
                memories.append(memory)
                print(f"  {name:8} {speeds[-1]:8.1f} tokens/s  {memory:7.0f} MB  first loss {loss:.4f}  "
                      f"(load before it {load:.1f})", flush=True)
            print(f"  ratio    {speeds[0] / speeds[1]:8.2f}           {memories[0] / memories[1]:7.2f}")


if __name__ == "__main__":
    main()
