"""predgen export: what it copies, checks, refuses, and how much memory it takes."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from program import PREDGEN, check, run
from reference_models import make_config, make_model
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

CPU = ["--device", "cpu", "--threads", "2"]


def make_adapter(model, folder, **options):
    torch.manual_seed(3)
    options = {"r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "down_proj"], **options}
    get_peft_model(model, LoraConfig(init_lora_weights=False, **options)).save_pretrained(folder)


def expect_refused(name, folder, arguments, *parts, code=2):
    before = sorted(os.listdir(folder))
    result = run("export", *arguments, *CPU)
    lines = result.stderr.strip().splitlines()
    check(result.returncode == code and len(lines) == 1 and not result.stdout and
          all(part in lines[0] for part in parts), f"{name}: {result.returncode} {result.stderr}")
    check(sorted(os.listdir(folder)) == before, f"{name}: leaves nothing")


def check_report(base, adapter, scratch):
    result = run("export", "--model", base, "--adapter", adapter, "--output", scratch / "text", *CPU)
    check(result.returncode == 0, result.stderr)
    for part in ("wrote ", "weights: ", "4 of them merged", "logits: ", "same top token at"):
        check(part in result.stdout, f"the report says {part}: {result.stdout}")
    result = run("export", "--model", base, "--adapter", adapter, "--output", scratch / "weights",
                 "--check", "weights", *CPU)
    check(result.returncode == 0 and "logits: not compared" in result.stdout and
          "--check logits" in result.stdout, f"without logits: {result.stdout}")
    same = (scratch / "text" / "model.safetensors").read_bytes()
    check((scratch / "weights" / "model.safetensors").read_bytes() == same, "same weights")


def check_bounds(base, adapter, scratch):
    arguments = ["--model", base, "--adapter", adapter, "--output", scratch / "bound"]
    expect_refused("logits above the bound", scratch,
                   [*arguments, "--dtype", "bf16", "--max-logit-difference", "1e-6"],
                   "logits differ", "--max-logit-difference")
    expect_refused("a .gguf's logits above the bound", scratch,
                   ["--model", base, "--adapter", adapter, "--output", scratch / "bound.gguf",
                    "--max-logit-difference", "1e-6"], "logits differ", "--max-logit-difference")
    expect_refused("unknown check", scratch, [*arguments, "--check", "none"], "--check none")


def check_copies(base, scratch):
    """A training checkpoint is a model folder too; its training state is not copied."""
    checkpoint = scratch / "checkpoint"
    shutil.copytree(base, checkpoint)
    for name in ("DONE", "state.json", "LICENSE", "merges.txt", "training_args.bin"):
        (checkpoint / name).write_text("x")
    save_file({"m": torch.ones(2)}, checkpoint / "optimizer.safetensors")
    result = run("export", "--model", checkpoint, "--output", scratch / "copied", *CPU)
    check(result.returncode == 0, result.stderr)
    names = {file.name for file in (scratch / "copied").iterdir()}
    plain = {file.name for file in base.iterdir()}
    check(names == plain | {"LICENSE", "merges.txt"}, f"files copied: {sorted(names)}")
    shutil.copytree(base, scratch / "plain")
    (scratch / "plain" / "state.json").write_text("x")
    run("export", "--model", scratch / "plain", "--output", scratch / "plain_copied", *CPU)
    check((scratch / "plain_copied" / "state.json").exists(), "a state.json of its own is copied")


def check_embeddings(base, adapter, scratch):
    """Whole embeddings in an adapter fit the model or are refused."""
    def spoil(change):
        folder = scratch / "spoiled"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(adapter, folder)
        weights = load_file(folder / "adapter_model.safetensors")
        change(weights)
        save_file(weights, folder / "adapter_model.safetensors")
        return folder

    prefix = "base_model.model."
    embedding, head = prefix + "model.embed_tokens.weight", prefix + "lm_head.weight"

    def refused(name, change, *parts):
        folder = spoil(change)
        expect_refused(name, scratch, ["--model", base, "--adapter", folder, "--output",
                                       scratch / "none"], str(folder), *parts)

    table = torch.randn(205, 64)
    refused("only a head", lambda w: w.update({head: table}), "no model.embed_tokens.weight")
    refused("tied, but different", lambda w: w.update({head: table, embedding: table + 1}),
            "tie_word_embeddings")
    refused("different sizes", lambda w: w.update({head: table, embedding: torch.randn(9, 64)}), "205")
    refused("wrong width", lambda w: w.update({embedding: torch.randn(205, 63)}), "[205, 63]")
    refused("another layer's", lambda w: w.update({prefix + "x.lm_head.weight": table}),
            "x.lm_head.weight")
    refused("LoRA on embeddings", lambda w: w.update({prefix + "model.embed_tokens.lora_embedding_A": table}),
            "lora_embedding_A", "not supported")
    refused("whole tensor of a layer", lambda w: w.update({prefix + "model.norm.weight": torch.ones(64)}),
            "model.norm.weight", "not supported")
    folder = spoil(lambda w: w.update({embedding: table}))
    result = run("score", "--model", base, "--adapter", folder, "--token-ids", "1,204", *CPU)
    check(result.returncode == 0, f"such an adapter works unmerged: {result.stderr}")


def peak_megabytes(*arguments):
    """From /proc: a child's ru_maxrss holds the memory of the process that started it too."""
    with subprocess.Popen([PREDGEN, *map(str, arguments)]) as process:
        peak = 0
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            peak = max([peak, *map(int, re.findall(r"VmHWM:\s+(\d+)", status))])
            time.sleep(0.005)
    check(process.returncode == 0, f"export: {arguments}")
    return peak / 1024


def check_memory(scratch):
    """Peak memory does not grow with the number of layers; pages of mapped files count too."""
    peaks, sizes = [], []
    for num_layers in (2, 10):
        config = make_config(hidden_size=768, intermediate_size=3072, num_hidden_layers=num_layers)
        model = make_model(config, scale=0.3).bfloat16()  # rounding shall not amplify
        base, adapter, output = (scratch / f"{name}{num_layers}" for name in ("big", "lora", "out"))
        model.save_pretrained(base)
        make_adapter(model, adapter)
        del model
        sizes.append((base / "model.safetensors").stat().st_size / 2**20)
        peaks.append(peak_megabytes("export", "--model", base, "--adapter", adapter, "--output", output,
                                    *CPU))
        for folder in (base, adapter, output):
            shutil.rmtree(folder)
    print(f"sizes {sizes} MB, peaks {peaks} MB")
    check(sizes[1] - sizes[0] > 100, "the models differ in size")
    check(peaks[1] - peaks[0] < 0.4 * (sizes[1] - sizes[0]), f"peak memory {peaks} MB of {sizes} MB")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        base, adapter = scratch / "base", scratch / "adapter"
        model = make_model(make_config(num_hidden_layers=2))
        model.save_pretrained(base)
        make_adapter(model, adapter)
        check_report(base, adapter, scratch)
        check_bounds(base, adapter, scratch)
        check_copies(base, scratch)
        check_embeddings(base, adapter, scratch)
        check_memory(scratch)


if __name__ == "__main__":
    main()
