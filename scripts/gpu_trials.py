"""Trains adapters for a few steps: losses of a GPU beside those of the CPU, memory beside what `predgen plan` says, and
speed. Part of the bundle that scripts/gpu_bundle.sh makes, whose first.sh calls it.

usage: gpu_trials.py SCRATCH SHARE MODEL DEVICE PREDGEN [ARGUMENT ..]

  SCRATCH   a folder that does not exist yet
  SHARE     where configs/, data/samples/ and checkpoints/demo are
  MODEL     a folder of random weights with the demo model's tokenizer (random_model.py)
  DEVICE    cuda, or cpu: the same with short rows
  PREDGEN   the program, with what comes before it (env ..)

Prints a line for each run, with FAILED if it failed; the exit status is the number of failures. The runs' output
goes to stderr.
"""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

SECONDS = 100  # that a run may take
NEAR = 2e-3    # relative, of a loss: a GPU and a CPU sum float32 products in different orders


class Failure(Exception):
    pass


def losses(rows):
    return [(row["step"], key, value) for row in rows for key, value in sorted(row.items())
            if key in ("train/ar", "train/consistency")]


def largest_difference(found, expected):
    """Relative, between two runs' losses, over all steps and terms."""
    if not expected or [loss[:2] for loss in found] != [loss[:2] for loss in expected]:
        raise Failure(f"other losses: {found} and {expected}")
    differences = [abs(a - b) / max(abs(b), 1e-6) for (*_, a), (*_, b) in zip(found, expected)]
    return max(float("inf") if difference != difference else difference for difference in differences)


class Trials:
    def __init__(self, scratch, share, model, device, predgen):
        self.scratch, self.share, self.model, self.device, self.predgen = scratch, share, model, device, predgen
        self.num_failed = 0

    def run(self, *arguments):
        command = [*self.predgen, *map(str, arguments)]
        print("==== " + " ".join(command), file=sys.stderr, flush=True)
        try:
            done = subprocess.run(command, cwd=self.share, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"not done after {SECONDS} s") from error
        print(done.stdout + done.stderr, file=sys.stderr, flush=True)
        if done.returncode != 0:
            raise Failure(f"exit status {done.returncode}: " + done.stderr.strip()[-300:])
        return done.stdout

    def trial(self, name, work):
        """One line about what `work` returns or why it failed."""
        try:
            print(f"ok {name}: {work()}", flush=True)
        except Exception as error:  # one that fails leaves the others their turn
            self.num_failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {error}", flush=True)

    def make_records(self, name, source, law, answer, model):
        """Prompts, and up to `answer` tokens of the answers of `model`, with its states on the way."""
        self.run("data", "build", "--config", "configs/data/quickstart.yaml", f"sources=[{source}]", f"law={law}",
                 "tokenizer=checkpoints/demo", "system_prompt=none", f"output={self.scratch / name}")
        self.run("data", "trajectories", "--config", "configs/data/quickstart_trajectories.yaml",
                 f"dataset={self.scratch / name}", f"model={model}", f"output={self.scratch / name}_states",
                 f"max_new_tokens={answer}", f"device={self.device}", "max_records=8", "ar_labels=fixed_point",
                 "cleaning={max_token_run: 0, ngram_size: 0}")  # random weights repeat themselves
        return "made"

    def make_long_records(self, num_words, answer):
        """By a small model, whose tokens are all in the tokenizer; the large one has more, which nothing can read."""
        small, prompts = self.scratch / "tiny", self.scratch / "long.jsonl"
        subprocess.run([sys.executable, pathlib.Path(__file__).with_name("random_model.py"), small, "tiny",
                        self.share / "checkpoints/demo"], check=True, capture_output=True, timeout=SECONDS)
        words = [word for line in (self.share / "data/samples/dialogues.jsonl").read_text().splitlines()
                 for part in json.loads(line)["conversation"] for word in part["content"].split()]
        with prompts.open("w") as rows:
            for i in range(8):
                content = " ".join((words[i * len(words) // 8:] + words)[:num_words])
                parts = [{"role": "user", "content": content}, {"role": "assistant", "content": "Yes."}]
                rows.write(json.dumps({"conversation_id": str(i), "conversation": parts}) + "\n")
        return self.make_records("long", prompts, "whole", answer, small)

    def train(self, output, model, data, *more):
        arguments = ["--config", "configs/train/lmsys_cllm.yaml", f"model={model}", "watch={every: 0}",
                     f"dataset={self.scratch / data}_states", "log_every=1", "epochs=0", "schedule=constant",
                     "warmup_ratio=0", "max_steps=4", *more]
        output = self.scratch / "runs" / output
        self.run("train", *arguments, f"output={output}")
        return [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()], arguments

    def against_cpu(self):
        demo = self.share / "checkpoints/demo"
        rows = {device: self.train(f"demo on {device}", demo, "small", "compute=fp32", "lora.dropout=0", "lora.rank=8",
                                   "learning_rate=1e-3", "batch_size=2", "global_batch=6", f"device={device}")[0]
                for device in {"cpu": 1, self.device: 1}}
        difference = largest_difference(losses(rows[self.device]), losses(rows["cpu"]))
        if difference > NEAR:
            raise Failure(f"losses differ from the CPU's by {difference:.2e} of their size, more than {NEAR}")
        return f"losses within {difference:.1e} of the CPU's, relative"

    def measured(self, weights):
        device = "auto" if self.device == "cuda" else "cpu"
        rows, arguments = self.train(f"large {weights}", self.model, "long", "global_batch=2",
                                     f"base.weights={weights}", f"device={device}")
        plan = self.run("plan", *arguments)
        tokens = re.search(r"rows of up to (\d+) tokens", plan)[1]
        planned = float(re.search(r"at the worst moment +([\d.]+) GiB", plan)[1])
        context = re.search(r"CUDA's context +([\d.]+) GiB", plan)
        planned -= float(context[1]) if context else 0.0  # which LibTorch does not count
        speed = statistics.median(row["train/tokens_per_second"] for row in rows[1:])  # the first warms up
        memory = max(row["memory/gpu_gib" if self.device == "cuda" else "memory/process_gib"] for row in rows)
        return (f"rows of {tokens}: {speed:.0f} tokens/s, at most {memory:.2f} GiB, planned {planned:.2f} "
                f"({100 * (planned / memory - 1):+.0f} %)")

    def all(self):
        self.trial("records", lambda: self.make_records("small", "data/samples/dialogues.jsonl", "truncated", 48,
                                                        "checkpoints/demo"))
        self.trial("demo model, CLLM, fp32", self.against_cpu)
        sizes = (1040, 128) if self.device == "cuda" else (60, 32)
        self.trial("long records", lambda: self.make_long_records(*sizes))
        for name, weights in (("LoRA", "full"), ("QLoRA", "nf4")):
            self.trial(f"{self.model.name}, {name}, CLLM", lambda: self.measured(weights))


def main(scratch, share, model, device, *predgen):
    scratch = pathlib.Path(scratch).resolve()
    scratch.mkdir()
    trials = Trials(scratch, pathlib.Path(share).resolve(), pathlib.Path(model).resolve(), device,
                    [os.path.abspath(part) if os.path.exists(part) else part for part in predgen])
    trials.all()
    return trials.num_failed


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
