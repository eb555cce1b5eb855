#!/usr/bin/env python3
"""Trains a readout: a small network that detects from a language model's logits whether a request ends here.

usage: train_end_readout.py MODEL.gguf PROMPTS OUTPUT.safetensors [COUNT]
       train_end_readout.py --bind MODEL READOUT.safetensors    writes into a readout that it is for this model

  MODEL.gguf   with ChatML's template, as smollm2 and qwen-coder-0.5b have
  PROMPTS      JSON lines with "text" and "source" (prompts/train.jsonl, docs/data.md)
  COUNT        random requests (48000)

Each request is examined after each of its words: half of them in lower case without punctuation, half as they are
written, a third of all after an earlier question and its answer (data/samples). The network reads the final hidden
state. predgen has logits, not hidden states. The logits of more tokens than the state is wide determine the state, as
its products with as many rows of the head, so the first layer is written as one over these logits. The model runs in
bfloat16 where the CPU has it, else in float32. Takes half an hour of one core for 48,000 requests to a model of 135
million weights, and longer in proportion to the weights; writes 0.5 to 1 MB. Needs PyPI `torch`, `transformers`,
`gguf` and `safetensors`.
"""
import itertools
import json
import sys
import time
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from end_places import hidden_states, load, plain, requests, said, unended

WIDTH = 128
EPOCHS, BATCH, RATE, DECAY = 8, 1024, 2e-3, 1e-2
READOUT = "ends.safetensors"
SAMPLES = Path(__file__).resolve().parents[1] / "data" / "samples"


def fingerprint(model):
    """As fingerprint() in model/weights/weight_files.h, by which predgen knows the model."""
    files = [model]
    if model.is_dir():
        files = sorted(file for file in model.iterdir() if file.suffix == ".safetensors" and file.name != READOUT
                       or file.name in ("config.json", "adapter_config.json"))
    found = 14695981039346656037
    for file in files:
        size = file.stat().st_size
        with open(file, "rb") as stream:
            parts = [f"{size}\n".encode()]
            for i in range(64):
                stream.seek(size // 64 * i)
                parts.append(stream.read(4096))
        for byte in b"".join(parts):
            found = (found ^ byte) * 1099511628211 % 2**64
    return f"{found:016x}"


def write(tensors, output, vocab_size, model):
    save_file(tensors, output, {"format": "predgen-end-readout", "version": "1", "vocab_size": vocab_size,
                                "model": fingerprint(Path(model))})


def bind(model, readout):
    with safe_open(readout, "pt") as file:
        vocab_size = file.metadata()["vocab_size"]
    write(load_file(readout), readout, vocab_size, model)


def conversations(count):
    """Nothing said before, twice as often as a question and an answer."""
    questions = [json.loads(line)["text"] for line in open(SAMPLES / "spoken_prompts.jsonl")]
    answers = [json.loads(line)["messages"][0]["content"] for line in open(SAMPLES / "smollm2_answers.jsonl")]
    rounds = [said("user", question) + said("assistant", answer) for question, answer in zip(questions, answers)]
    return list(itertools.chain.from_iterable(("", "", one) for one in rounds[:count]))


def fit(states, is_end):
    """The network over states normalised to mean 0 and deviation 1, and their mean and deviation."""
    mean, deviation = states.float().mean(0), states.float().std(0)
    network = torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Linear(states.shape[1], WIDTH), torch.nn.GELU(),
                                  torch.nn.Dropout(0.3), torch.nn.Linear(WIDTH, 1))
    steps = EPOCHS * (len(states) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for epoch in range(EPOCHS):
        total = 0.0
        for chosen in torch.randperm(len(states)).split(BATCH)[:steps // EPOCHS]:
            score = network((states[chosen].float() - mean) / deviation).squeeze(1)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(score, is_end[chosen].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() / (steps // EPOCHS)
        print(f"epoch {epoch + 1}: loss {total:.4f}", flush=True)
    return network.eval(), mean, deviation


def over_logits(network, mean, deviation, head, prior):
    """The tensors of the file. `head` [V,E]. `prior`: the share of ends among the places that it learnt from."""
    num_tokens = max(1024, head.shape[1] * 4 // 3)
    tokens = torch.randperm(len(head))[:num_tokens].sort().values
    first, last = network[1], network[4]
    weight = first.weight / deviation
    from_logits = torch.linalg.pinv(head[tokens].double())  # [E,S]
    return {"tokens": tokens, "first.weight": (weight.double() @ from_logits).float(),
            "first.bias": first.bias - weight @ mean, "last.weight": last.weight,
            # As if pauses were as common inside a request as at its end.
            "last.bias": last.bias - torch.tensor(prior / (1 - prior)).log()}


def main(model_file, prompts, output, count=48000):
    torch.manual_seed(0)
    model, tokenizer = load(model_file)
    start = time.monotonic()

    def progress(done, total):
        if done % 3200 == 0:
            print(f"{done} of {total} requests, {time.monotonic() - start:.0f} s", flush=True)

    texts = [(line, source, plain(text) if number % 2 else unended(text))
             for number, (line, source, text) in enumerate(requests(prompts, int(count)))]
    places, states = hidden_states(model, tokenizer, texts, conversations(8), progress)
    is_end = torch.tensor([place.is_end for place in places])
    network, mean, deviation = fit(states, is_end)
    with torch.no_grad():
        tensors = over_logits(network, mean, deviation, model.lm_head.weight.float(), is_end.float().mean().item())
    write({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, output,
          str(len(model.lm_head.weight)), model_file)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    bind(*sys.argv[2:]) if sys.argv[1] == "--bind" else main(*sys.argv[1:])
