"""Jacobi trajectories by predgen and by a minimal batch-1 loop in transformers, in one run.

python bench/trajectories_vs_transformers.py --predgen build/predgen
python bench/trajectories_vs_transformers.py --predgen build/predgen --model checkpoints/demo

The loop does what predgen records, with a KV cache that keeps the solved part of a block. It begins each
block with predgen's own guess, so both go through the same states, which are compared. Prints answer
tokens per second, by processor time (this process alone, on a machine with other work) and by the clock,
and the ratios (above 1: predgen is faster). Making one piece and two, and using the difference, takes out
start-up, loading and hashing. Without --model: random weights of a Qwen2 with the tokenizer of
checkpoints/demo.
"""
import argparse
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import h5py
import torch
import transformers

REPOSITORY = Path(__file__).resolve().parents[1]


def random_model(folder, args):
    demo = REPOSITORY / "checkpoints" / "demo"
    shutil.copytree(demo, folder, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    vocab_size = json.loads((demo / "config.json").read_text())["vocab_size"]
    config = transformers.Qwen2Config(
        vocab_size=vocab_size, hidden_size=args.hidden, intermediate_size=4 * args.hidden,
        num_hidden_layers=args.layers, num_attention_heads=args.hidden // 64,
        num_key_value_heads=max(1, args.hidden // 128), max_position_embeddings=2048,
        initializer_range=0.06, tie_word_embeddings=True)
    torch.manual_seed(0)
    transformers.Qwen2ForCausalLM(config).save_pretrained(folder)


def seconds_of(command, threads):
    """By processor time and by the clock."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (used, time.perf_counter() - start), done.stdout


class Predgen:
    def __init__(self, scratch, model, args):
        self.scratch, self.args, self.runs = scratch, args, 0
        source = f"{REPOSITORY}/data/samples/dialogues.jsonl"
        self.data = scratch / "data"
        config = scratch / "data.yaml"
        config.write_text(f"sources: ['{source}']\ntokenizer: {model}\noutput: {self.data}\nlaw: truncated\n"
                          "examples_per_conversation: 8\nthreads: 1\n")
        seconds_of([args.predgen, "data", "build", "--config", config], 1)
        self.config = scratch / "trajectories.yaml"
        self.config.write_text(
            f"dataset: {self.data}\nmodel: {model}\noutput: unset\nblock_size: {args.block_size}\n"
            f"max_new_tokens: {args.answer_tokens}\nbatch_tokens: {args.batch_tokens}\n"
            f"records_per_piece: {args.records}\ndevice: cpu\ndtype: fp32\nthreads: {args.threads}\n"
            "cleaning: {max_token_run: 0, max_ngram_repeats: 0, max_sentence_repeats: 0}\n")

    def make(self, num_pieces):
        self.runs += 1
        self.output = self.scratch / f"run-{self.runs}"
        seconds, out = seconds_of(
            [self.args.predgen, "--log-level", "off", "data", "trajectories", "--config", self.config, "--json",
             f"output={self.output}", f"max_records={num_pieces * self.args.records}"], self.args.threads)
        return seconds, json.loads(out)["counters"]["answer_tokens"]

    def seconds_per_token(self):
        (one, one_tokens), (two, two_tokens) = self.make(1), self.make(2)
        return [(b - a) / (two_tokens - one_tokens) for a, b in zip(one, two)]

    def records(self, count):
        """Prompts and the states of their blocks."""
        with h5py.File(self.output / "shard-00000.h5") as file:
            column = {name: file[name][:] for name in file}
        for i in range(count):
            begin = column["token_offsets"][i]
            prompt = column["tokens"][begin:begin + column["prompt_length"][i]].tolist()
            blocks = []
            for b in range(column["block_offsets"][i], column["block_offsets"][i + 1]):
                offsets = column["state_token_offsets"]
                blocks.append([column["state_tokens"][offsets[s]:offsets[s + 1]].tolist() for s in
                               range(column["state_offsets"][b], column["state_offsets"][b + 1])])
            yield prompt, blocks


@torch.inference_mode()
def trajectory(model, prompt, guesses, stop_tokens, answer_tokens):
    """All states of all blocks, and the answer's length."""
    cache = transformers.DynamicCache(config=model.config)
    output = model(torch.tensor([prompt]), past_key_values=cache, logits_to_keep=1)
    first = output.logits[0].argmax(-1).tolist()
    blocks, num_tokens = [], 0
    for guess in guesses:
        state, solved, states = first + guess[1:], 0, []
        while True:
            states.append(state)
            logits = model(torch.tensor([state[solved:]]), past_key_values=cache).logits
            choices = logits[0].argmax(-1).tolist()
            new = state[:solved + 1] + choices[:-1]
            if new == state:
                break
            change = next(i for i in range(solved + 1, len(state)) if new[i] != state[i])
            cache.crop(change - len(state))  # drops what wrong tokens left
            state, solved = new, change
        first = choices[-1:]
        blocks.append(states)
        for token in state:
            num_tokens += 1
            if token in stop_tokens or num_tokens == answer_tokens:
                return blocks, num_tokens
    return blocks, num_tokens


def transformers_seconds(model, records, args):
    stop_tokens = set(args.stop_tokens)
    used, clock, num_tokens, same = time.process_time(), time.perf_counter(), 0, 0
    for prompt, blocks in records:
        found, length = trajectory(model, prompt, [states[0] for states in blocks], stop_tokens,
                                   args.answer_tokens)
        num_tokens += length
        same += found == blocks
    used, clock = time.process_time() - used, time.perf_counter() - clock
    return [used / num_tokens, clock / num_tokens], same


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--predgen", default="build/predgen")
    parser.add_argument("--model")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--records", type=int, default=128, help="of one piece")
    parser.add_argument("--their-records", type=int, default=12)
    parser.add_argument("--block-size", type=int, default=16)
    parser.add_argument("--answer-tokens", type=int, default=64)
    parser.add_argument("--batch-tokens", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(args.model or Path(scratch) / "model")
        if not args.model:
            random_model(folder, args)
        predgen = Predgen(Path(scratch), folder.resolve(), args)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        args.stop_tokens = [tokenizer.eos_token_id]
        ours, theirs = [], []
        for _ in range(args.rounds):  # in turn, so that other work on the machine affects both
            ours.append(predgen.seconds_per_token())
            records = list(predgen.records(args.their_records))
            seconds, same = transformers_seconds(model, records, args)
            theirs.append(seconds)
        states = [len(states) for _, blocks in records for states in blocks]
    print(f"states of a block: {sum(states) / len(states):.1f} on average; "
          f"records with the same states: {same} of {args.their_records}")
    for i, what in enumerate(("processor", "clock")):
        best, their_best = min(run[i] for run in ours), min(run[i] for run in theirs)
        print(f"by the {what:9s}  predgen {1 / best:8.0f} tokens/s   transformers {1 / their_best:8.0f} tokens/s   "
              f"ratio {their_best / best:5.2f}")


if __name__ == "__main__":
    main()
