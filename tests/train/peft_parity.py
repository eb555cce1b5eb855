#!/usr/bin/env python3
"""`predgen train` against peft and torch: losses, LoRA gradients and AdamW steps, in float32.

A small random Qwen2, one with experts, and random records; three steps of each objective, every one checked from the
checkpoint before it: peft loads the adapter, the losses are computed from plain full logits, and
the gradients (from AdamW's first moments) and the weights after the step must agree. So must the
ranks and scalings of an adapter whose layers differ with those of peft's own for the same settings.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import torch
    from hdf5_dataset import write_dataset
    from peft import LoraConfig, PeftModel, get_peft_model
    from safetensors.torch import load_file
    from transformers import (AutoModelForCausalLM, Gemma4TextConfig, Lfm2Config, Qwen2Config, Qwen3_5TextConfig,
                              Qwen3MoeConfig)
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

PREDGEN = os.environ["PREDGEN"]
STOP = 95
STEPS = 3
BETAS, EPS, DECAY, RATE = (0.9, 0.95), 1e-8, 0.1, 1e-2
AR_WEIGHT, CONSISTENCY_WEIGHT, WINDOW, CLIP = 0.7, 1.3, 3, 0.2
ALIKE = {"rank": 4, "alpha": 12}
# Names, ends of names and expressions as keys; two keys fit q_proj of layer 1, the first one counts.
BESIDE_EXPERTS = {"rank": 4, "alpha": 12, "targets": ["q_proj", "k_proj", "v_proj", "o_proj"]}
# Linears of its layers: PEFT's all-linear has the projection before them, too.
OF_GEMMA4 = {**ALIKE, "targets": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
                                  "per_layer_input_gate", "per_layer_projection"]}
BY_LAYER = {
    "rank": 4, "alpha": 6, "use_rslora": True, "targets": "all-linear",
    "rank_pattern": {r"layers\.1\.self_attn\..*": 3, "q_proj": 1, "mlp.down_proj": 2},
    "alpha_pattern": {"model.layers.0.mlp.up_proj": 9, r"[kv]_proj": 1.5},
}


SIZES = dict(vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, initializer_range=0.2, tie_word_embeddings=False)
# A configuration, and how many linear layers it has but for the head.
FAMILIES = {
    "Qwen2": (lambda: Qwen2Config(**SIZES), 14),
    "Qwen3.5": (lambda: Qwen3_5TextConfig(
        **SIZES, head_dim=16, layer_types=["linear_attention", "full_attention"], linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=12, linear_value_head_dim=8), 15),
    "Qwen3 MoE": (lambda: Qwen3MoeConfig(
        **SIZES, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=16, norm_topk_prob=True), 8),
    "Gemma 4": (lambda: Gemma4TextConfig(
        **SIZES | dict(num_hidden_layers=4, head_dim=8, global_head_dim=16, hidden_size_per_layer_input=8,
                       vocab_size_per_layer_input=96, num_kv_shared_layers=2, use_double_wide_mlp=True,
                       layer_types=["sliding_attention", "full_attention"] * 2, sliding_window=8)), 32),
    "LFM2": (lambda: Lfm2Config(**SIZES, layer_types=["conv", "full_attention"], block_auto_adjust_ff_dim=False), 12),
}


def make_model(folder, family="Qwen2"):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(FAMILIES[family][0]()).float()
    for name, parameter in model.named_parameters():
        if name.endswith("bias") or "conv" in name and parameter.dim() == 3:
            torch.nn.init.normal_(parameter, std=0.2)
    model.save_pretrained(folder)


def make_records():
    random = np.random.default_rng(1)
    records = []
    for index in range(6):
        tokens = random.integers(0, 90, 14 + 3 * index).tolist()
        prompt = 4 + index
        mask = [int(i >= prompt and i % 4 != 1) for i in range(len(tokens))]
        blocks = []
        for block in range(4):
            fixed = random.integers(0, 90, 5).tolist()
            if block == 3:
                fixed[2] = STOP  # the last two tokens of the answer are after it
            states = [random.integers(0, 90, 5).tolist() for _ in range(4)]
            for num_final, state in enumerate(states):  # each state has one more final token
                state[:num_final] = fixed[:num_final]
            blocks.append(states + [fixed])
        records.append({"id": f"c{index}", "tokens": tokens, "mask": mask, "prompt": prompt, "blocks": blocks})
    return records


def train(folder, objective, lora=ALIKE, **overrides):
    config = {
        "model": folder / "base", "dataset": folder / "data", "mode": "lora", "batch_size": 3,
        "global_batch": 6, "max_steps": STEPS, "learning_rate": RATE, "schedule": "constant",
        "weight_decay": DECAY, "eps": EPS, "max_grad_norm": CLIP, "save_every": 1, "keep_last": 10,
        "log_every": 1, "device": "cpu", "compute": "fp32", **overrides,
    }
    lines = [f"{key}: {value}" for key, value in config.items()]
    lines += [f"betas: [{BETAS[0]}, {BETAS[1]}]", f"lora: {json.dumps(lora)}"]
    lines += ["objective:"] + [f"  {key}: {value}" for key, value in objective.items()]
    (folder / "train.yaml").write_text("\n".join(lines) + "\n")
    result = subprocess.run([PREDGEN, "train", "--config", folder / "train.yaml"], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"predgen train failed ({result.returncode}): {result.stderr[-2000:]}")
    return config["output"]


class Random:
    """core/random.h, which draws where a record's progressive windows begin."""

    def __init__(self, seed, purpose, index=0):
        name = 0xcbf29ce484222325
        for byte in purpose.encode():
            name = (name ^ byte) * 0x100000001b3 % 2**64
        self.state = self.mix(self.mix(self.mix(seed) + name) + index * 0x9e3779b97f4a7c15)

    @staticmethod
    def mix(x):
        x %= 2**64
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 % 2**64
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb % 2**64
        return x ^ (x >> 31)

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) % 2**64
        return self.mix(self.state)

    def below(self, bound):
        while (value := self.next()) < 2**64 % bound:
            pass
        return value % bound


def phase_of(record, step):
    random = Random(Random(0, "step", step).next(), record["id"], 0)
    random.below(len(record["blocks"]))  # the one block of BlockChoice::kOne
    return random.below(WINDOW)


def choose_state(states, block):
    target = (block % WINDOW) / (WINDOW - 1)
    fixed = states[-1]
    ratios = [(len(fixed) - mismatch(state, fixed)) / len(fixed) for state in states]
    return states[min(range(len(states)), key=lambda i: abs(ratios[i] - target))]


def mismatch(state, fixed):
    return next((i for i, (a, b) in enumerate(zip(state, fixed)) if a != b), len(fixed))


def reference_losses(model, records, kind, step):
    logits = lambda row: model(input_ids=torch.tensor([row])).logits[0].float()
    ar_sum, ar_count, kl_sum, kl_count = 0.0, 0, 0.0, 0
    for record in records:
        log_probs = logits(record["tokens"]).log_softmax(-1)
        for i in range(1, len(record["tokens"])):
            if record["mask"][i]:
                ar_sum = ar_sum - log_probs[i - 1, record["tokens"][i]]
                ar_count += 1
        if kind == "autoregressive":
            continue
        prompt = record["tokens"][: record["prompt"]]
        fixed_points = [states[-1] for states in record["blocks"]]
        answer = sum(fixed_points, [])
        stop = len(prompt) + answer.index(STOP) if STOP in answer else len(prompt) + len(answer)
        with torch.no_grad():
            teacher = logits(prompt + answer).log_softmax(-1)
        phase = phase_of(record, step)
        noisy = [choose_state(states, b + phase) for b, states in enumerate(record["blocks"])]
        for b, state in enumerate(noisy):
            context = sum(noisy[:b] if kind == "jacobi_forcing" else fixed_points[:b], [])
            student = logits(prompt + context + state).log_softmax(-1)
            begin = len(prompt) + len(context)
            for column in range(begin + mismatch(state, fixed_points[b]), begin + len(state)):
                if column >= stop:  # predicts what is after the stop token
                    break
                kl_sum = kl_sum + (teacher[column].exp() * (teacher[column] - student[column])).sum()
                kl_count += 1
    losses = {"ar": ar_sum / ar_count}
    if kl_count:
        losses["consistency"] = kl_sum / kl_count
    return losses


def adapter(model):
    return {name.replace(".default", ""): p for name, p in model.named_parameters() if "lora_" in name}


def worst(ours, theirs):
    """Largest difference, relative to the largest value of the tensors together."""
    scale = max(t.abs().max().item() for t in theirs.values())
    assert scale > 0
    return max((ours[name] - theirs[name]).abs().max().item() for name in theirs) / scale


# Of float32: the reference adds delta nets up by 64 tokens, whose decays round more.
LIMIT = {"value": 1e-5}


def check(what, difference):
    limit = LIMIT["value"]
    print(f"  {what}: {difference:.2e}")
    if not difference <= limit:
        sys.exit(f"{what} differ by {difference}, more than {limit}")


def check_step(step, previous, current, folder, records, kind, metrics, num_linears):
    model = AutoModelForCausalLM.from_pretrained(folder / "base", dtype=torch.float32, attn_implementation="eager")
    model = PeftModel.from_pretrained(model, previous, is_trainable=True)
    parameters = adapter(model)
    assert len(parameters) == 2 * num_linears, sorted(parameters)  # every linear layer but the head
    losses = reference_losses(model, records, kind, step)
    for name, loss in losses.items():
        check(f"step {step} loss {name}", abs(loss.item() - metrics[f"train/{name}"]) / loss.item())
    weights = {"ar": 1.0} if kind == "autoregressive" else {"ar": AR_WEIGHT, "consistency": CONSISTENCY_WEIGHT}
    sum(weights[name] * loss for name, loss in losses.items()).backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters.values(), CLIP).item()
    check(f"step {step} gradient norm", abs(norm - metrics["train/gradient_norm"]) / norm)
    assert norm > CLIP, norm

    state = load_file(current / "optimizer.safetensors")
    before = {} if step == 1 else load_file(previous / "optimizer.safetensors")
    gradients = {}
    for name in parameters:
        moment = before.get("m." + name, torch.zeros_like(state["m." + name]))
        gradients[name] = (state["m." + name] - BETAS[0] * moment) / (1 - BETAS[0])
    check(f"step {step} gradients", worst(gradients, {n: p.grad for n, p in parameters.items()}))

    optimizer = torch.optim.AdamW(parameters.values(), lr=RATE, betas=BETAS, eps=EPS, weight_decay=DECAY)
    if step > 1:
        for name, parameter in parameters.items():
            optimizer.state[parameter] = {
                "step": torch.tensor(float(step - 1)),
                "exp_avg": before["m." + name].clone(),
                "exp_avg_sq": before["v." + name].clone(),
            }
    optimizer.step()
    saved = load_file(current / "adapter_model.safetensors")
    assert set(saved) == set(parameters)
    # AdamW turns a gradient of 1e-9 that is 0 in exact arithmetic into a whole step: leave those out.
    sure = {n: (p.grad.abs() > 1e-6) | (p.grad == 0) for n, p in parameters.items()}
    assert sum(s.sum().item() for s in sure.values()) > 0.9 * sum(s.numel() for s in sure.values())
    check(
        f"step {step} weights",
        worst({n: saved[n] * sure[n] for n in sure}, {n: p.detach() * sure[n] for n, p in parameters.items()}),
    )


def scalings(model):
    return {name: module.scaling["default"] for name, module in model.named_modules() if hasattr(module, "lora_A")}


def check_shape(folder, saved, settings, objective):
    """peft makes the same adapter of the settings and of the file that we wrote; and we go on from its own."""
    base = lambda: AutoModelForCausalLM.from_pretrained(folder / "base", dtype=torch.float32)
    options = {key: settings[key] for key in ("use_rslora", "rank_pattern", "alpha_pattern")}
    theirs = get_peft_model(base(), LoraConfig(
        task_type="CAUSAL_LM", r=settings["rank"], lora_alpha=settings["alpha"],
        target_modules=settings["targets"], init_lora_weights=False, **options))
    ours = PeftModel.from_pretrained(base(), saved)
    shapes = lambda model: {name: tuple(parameter.shape) for name, parameter in adapter(model).items()}
    assert shapes(ours) == shapes(theirs), (shapes(ours), shapes(theirs))
    assert scalings(ours) == scalings(theirs), (scalings(ours), scalings(theirs))
    assert len(set(scalings(theirs).values())) == 7 and len(scalings(theirs)) == 14
    written = json.loads((saved / "adapter_config.json").read_text())
    assert {key: written[key] for key in options} == options, written
    assert list(written["rank_pattern"]) == list(options["rank_pattern"]), "the order counts"
    theirs.save_pretrained(folder / "theirs")
    again = train(folder, objective, settings, output=folder / "again", start_from=folder / "theirs", learning_rate=0,
                  max_steps=1)
    ours, theirs = (load_file(f / "adapter_model.safetensors") for f in (again / "final", folder / "theirs"))
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def check_run(folder, name, kind, lora, objectives, records, family="Qwen2"):
    start = train(folder, objectives["autoregressive"], lora, output=folder / f"{name} start", learning_rate=0,
                  max_steps=1)
    if lora is BY_LAYER:
        check_shape(folder, start / "final", lora, objectives["autoregressive"])
    output = train(folder, objectives[kind], lora, output=folder / name)
    metrics = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    for step in range(1, STEPS + 1):
        previous = start / "final" if step == 1 else output / f"step-{step - 1:08}"
        check_step(step, previous, output / f"step-{step:08}", folder, records, kind, metrics[step - 1],
                   FAMILIES[family][1])
    return output


@torch.no_grad()
def check_merged(folder, adapter_folder):
    """What `predgen export` merges is peft's merge."""
    merged = folder / "merged"
    subprocess.run([PREDGEN, "export", "--model", folder / "base", "--adapter", adapter_folder, "--output", merged,
                    "--dtype", "fp32"], check=True, capture_output=True)
    base = AutoModelForCausalLM.from_pretrained(folder / "base", dtype=torch.float32)
    theirs = PeftModel.from_pretrained(base, adapter_folder).merge_and_unload().state_dict()
    ours = AutoModelForCausalLM.from_pretrained(merged, dtype=torch.float32).state_dict()
    assert ours.keys() == theirs.keys()
    check("merged weights", worst(ours, theirs))


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        records = make_records()
        make_model(folder / "base")
        write_dataset(folder / "data", records)
        consistency = {
            "ar_weight": AR_WEIGHT, "consistency_weight": CONSISTENCY_WEIGHT, "states": "progressive",
            "noise_window": WINDOW, "stop_tokens": f"[{STOP}]",
        }
        objectives = {
            "autoregressive": {"kind": "autoregressive"},
            "cllm": {"kind": "cllm", "blocks": "every", **consistency},
            "jacobi_forcing": {"kind": "jacobi_forcing", **consistency},
        }
        experts = folder / "experts"
        make_model(experts / "base", "Qwen3 MoE")
        write_dataset(experts / "data", records)
        runs = [(kind, kind, ALIKE, folder) for kind in objectives] + [
            ("by layer", "jacobi_forcing", BY_LAYER, folder),
            ("beside experts", "autoregressive", BESIDE_EXPERTS, experts)]
        for name, kind, lora, folder in runs:
            print(name)
            check_run(folder, name, kind, lora, objectives, records, "Qwen3 MoE" if folder == experts else "Qwen2")
    LIMIT["value"] = 1e-3
    for family in "Qwen3.5", "LFM2", "Gemma 4":
        print(family)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            make_model(folder / "base", family)
            write_dataset(folder / "data", records)
            lora = OF_GEMMA4 if family == "Gemma 4" else {**ALIKE, "targets": "all-linear"}
            output = check_run(folder, "run", "autoregressive", lora, objectives, records, family)
            check_merged(folder, output / "final")
    print("ok")


main()
