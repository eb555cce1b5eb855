"""Trains adapters on this machine's GPUs for a few steps: compares losses with the CPU's and memory with `predgen
plan`, and measures speed. Part of a bundle made by scripts/gpu_bundle.sh, whose run.sh calls it.

usage: gpu_train.py SCRATCH SHARE MODEL DEVICE NUM_GPUS PREDGEN [ARGUMENT ..]

  SCRATCH   a folder that does not exist yet
  SHARE     where configs/, data/samples/ and checkpoints/demo are
  MODEL     a folder of random weights with the demo model's tokenizer (random_model.py)
  DEVICE    cuda, or cpu: the same with short rows, and two ranks over Gloo
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

CONFIGS = {"autoregressive": "lmsys_cllm", "cllm": "lmsys_cllm", "jacobi_forcing": "lmsys_jacobi_forcing"}
SECONDS = 900  # that a run may take
NEAR = 2e-3    # relative, of a loss: a GPU and a CPU sum float32 products in different orders


class Failure(Exception):
    pass


def metrics(output):
    return [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]


def largest_difference(found, expected):
    """Relative, between two runs' losses, over all steps and terms."""
    losses = [[(row["step"], key, value) for row in rows for key, value in sorted(row.items())
               if key in ("train/ar", "train/consistency")] for rows in (found, expected)]
    if not losses[1] or [loss[:2] for loss in losses[0]] != [loss[:2] for loss in losses[1]]:
        raise Failure(f"other losses: {losses[0]} and {losses[1]}")
    differences = [abs(a - b) / max(abs(b), 1e-6) for (*_, a), (*_, b) in zip(*losses)]
    return max(float("inf") if difference != difference else difference for difference in differences)


class Trials:
    def __init__(self, scratch, share, model, device, num_gpus, predgen):
        self.scratch, self.share, self.model = scratch, share, model
        self.device, self.num_gpus, self.predgen = device, num_gpus, predgen
        self.on_gpu, self.num_failed = device == "cuda", 0

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
            print(f"ok      train: {name}: {work()}", flush=True)
        except (Failure, OSError, subprocess.CalledProcessError) as error:
            self.num_failed += 1
            print(f"FAILED  train: {name}: {error}", flush=True)

    # ---- Data.
    def make_records(self, name, source, law, answer, model):
        """Prompts, and up to `answer` tokens of the answers of `model`, with its states on the way."""
        self.run("data", "build", "--config", "configs/data/quickstart.yaml", f"sources=[{source}]", f"law={law}",
                 "tokenizer=checkpoints/demo", "system_prompt=none", f"output={self.scratch / name}")
        self.run("data", "trajectories", "--config", "configs/data/quickstart_trajectories.yaml",
                 f"dataset={self.scratch / name}", f"model={model}", f"output={self.scratch / name}_states",
                 f"max_new_tokens={answer}", f"device={self.device}", "max_records=8", "ar_labels=fixed_point",
                 "cleaning={max_token_run: 0, ngram_size: 0}")  # random weights repeat themselves
        return "made"

    def write_long_prompts(self, file, num_words):
        words = [word for line in (self.share / "data/samples/dialogues.jsonl").read_text().splitlines()
                 for part in json.loads(line)["conversation"] for word in part["content"].split()]
        with file.open("w") as rows:
            for i in range(8):
                start = i * len(words) // 8
                content = " ".join((words[start:] + words)[:num_words])
                parts = [{"role": "user", "content": content}, {"role": "assistant", "content": "Yes."}]
                rows.write(json.dumps({"conversation_id": str(i), "conversation": parts}) + "\n")

    # ---- Steps.
    def arguments(self, objective, model, data, *more):
        kind = ["objective={kind: autoregressive}"] if objective == "autoregressive" else []
        return ["--config", f"configs/train/{CONFIGS[objective]}.yaml", *kind, f"model={model}", "watch={every: 0}",
                f"dataset={self.scratch / data}_states", "log_every=1", "epochs=0", "schedule=constant",
                "warmup_ratio=0", *more]

    def train(self, output, arguments, *ranks):
        output = self.scratch / "runs" / output
        self.run("train", *arguments, f"output={output}", *ranks)
        return metrics(output)

    def against_cpu(self, objective, name, device, *ranks):
        demo = self.share / "checkpoints/demo"
        arguments = self.arguments(objective, demo, "small", "compute=fp32", "lora.dropout=0", "lora.rank=8",
                                   "learning_rate=1e-3", "batch_size=2", "global_batch=6", "max_steps=4")
        reference = self.scratch / "runs" / f"{objective} reference"
        if not reference.exists():
            self.train(reference.name, [*arguments, "device=cpu"])
        found = self.train(name, [*arguments, f"device={device}"], *ranks)
        difference = largest_difference(found, metrics(reference))
        if difference > NEAR:
            raise Failure(f"losses differ from the CPU's by {difference:.2e} of their size, more than {NEAR}")
        return f"losses within {difference:.1e} of the CPU's, relative"

    def measured(self, objective, name, num_ranks, settings):
        ranks = ["--nproc", num_ranks] if num_ranks > 1 else []
        arguments = self.arguments(objective, self.model, "long", "max_steps=4", f"global_batch={2 * num_ranks}",
                                   *settings)
        arguments.append("device=auto" if self.on_gpu else "device=cpu")
        plan = self.run("plan", *arguments, *ranks)
        tokens = re.search(r"rows of up to (\d+) tokens", plan)[1]
        planned = float(re.search(r"at the worst moment +([\d.]+) GiB", plan)[1])
        context = re.search(r"CUDA's context +([\d.]+) GiB", plan)
        planned -= float(context[1]) if context else 0.0  # which LibTorch does not count
        rows = self.train(name, arguments, *ranks)
        speed = statistics.median(row["train/tokens_per_second"] for row in rows[1:])  # the first warms up
        memory = max(row["memory/gpu_gib" if self.on_gpu else "memory/process_gib"] for row in rows)
        return (f"rows of {tokens}: {speed:.0f} tokens/s, at most {memory:.2f} GiB of a rank, planned {planned:.2f} "
                f"({100 * (planned / memory - 1):+.0f} %)")

    def small(self):
        self.trial("records", lambda: self.make_records("small", "data/samples/dialogues.jsonl",
                                                        "truncated", 48, "checkpoints/demo"))
        for objective in CONFIGS:
            self.trial(f"demo, {objective}, fp32", lambda: self.against_cpu(objective, objective, self.device))
        if self.on_gpu and self.num_gpus < 2:
            return print("skipped train: 2 ranks: there is only one GPU", flush=True)
        backend = "NCCL" if self.on_gpu else "Gloo"
        for name, more in (("", []), (", sharded", ["base.shard=true"])):
            self.trial(f"demo, 2 ranks over {backend}{name}", lambda: self.against_cpu(
                "cllm", f"ranks{name}", "auto" if self.on_gpu else "cpu", "--nproc", 2, *more))

    def make_long_records(self, num_words, answer):
        """By a small model, whose tokens are all in the tokenizer; the large one has more, which nothing can read."""
        small = self.scratch / "tiny"
        subprocess.run([sys.executable, pathlib.Path(__file__).with_name("random_model.py"), small, "tiny",
                        self.share / "checkpoints/demo"], check=True)
        self.write_long_prompts(self.scratch / "long.jsonl", num_words)
        return self.make_records("long", self.scratch / "long.jsonl", "whole", answer, small)

    def large(self):
        self.trial("long records", lambda: self.make_long_records(*((1040, 128) if self.on_gpu else (100, 32))))
        most = self.num_gpus if self.on_gpu else 2
        for weights in ("full", "nf4"):
            runs = [(objective, "whole", 1, []) for objective in CONFIGS]
            runs.append(("cllm", "offloaded", 1, ["base.offload=true"]))
            if most > 1:
                runs.append(("cllm", f"sharded over {most}", most, ["base.shard=true"]))
                runs.append(("cllm", f"sharded over {most} and offloaded", most,
                             ["base.shard=true", "base.offload=true"]))
            for objective, where, num_ranks, settings in runs:
                name = f"{self.model.name}, {objective}, {'bf16' if weights == 'full' else weights}, {where}"
                self.trial(name, lambda: self.measured(objective, name, num_ranks,
                                                       [f"base.weights={weights}", *settings]))
        if most < 2:
            print("skipped train: sharded: there is only one GPU", flush=True)


def main(scratch, share, model, device, num_gpus, *predgen):
    scratch = pathlib.Path(scratch).resolve()
    scratch.mkdir()
    trials = Trials(scratch, pathlib.Path(share).resolve(), pathlib.Path(model).resolve(), device, int(num_gpus),
                    [os.path.abspath(part) if os.path.exists(part) else part for part in predgen])
    trials.small()
    trials.large()
    return min(trials.num_failed, 100)


if __name__ == "__main__":
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
