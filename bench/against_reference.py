"""The paper authors' published code and predgen on the same turns, in one run.

python bench/against_reference.py --reference ~/PredGen --turns conversations:dev.jsonl --min-characters 60
python bench/against_reference.py --reference ~/PredGen --turns mt_bench:question.jsonl --system-prompt table3

--reference is a checkout of github.com/jacklishufan/PredGen (commit df285a4), which this repository does not contain.
The Python that runs this needs the packages of that code, not those of the other scripts here:
    pip install torch transformers==4.51.3 prettytable termcolor

Machine, model folder, precision, threads, prompts and typing rate are the same; each code cuts the words typed so
far in its own way. A hook on their model counts every forward pass.

Two clocks, one after the other (--clocks). "table": a pass takes --seconds-per-pass for both, so the passes do not
depend on the machine or its load. "measured": seconds of this machine; leave it idle.
  nfe, ttfs    to the first sentence (it ends at the first . ? or !), as their code counts: from the start
               of the step that verifies the draft against the final words
  from last    the same from the last keystroke, so with the rest of the step in flight at that time
  typing       passes of a turn until the last keystroke
  all          passes of a turn
"ratio" is theirs, with the verifier that matches predgen's method, over ours: above 1 predgen needs less.

Run as published: streamer_generate() with acceptance greedy and topk (run.sh: --topk 3), which starts five
seconds into the typing with 30 tokens, then adds 10 a step; its steps follow each other without a pause, new
words or not. Replaced: the data set and the chat template's messages (main.py takes them from Hugging Face,
always with a system prompt); on a CPU also the word "cuda" in their code; the clock that they read and, for
the table, that clock's time. A turn shorter than five seconds has no input time in their code, and 30 tokens
of its answer are not counted: leave such turns out with --min-characters (60 at 600 a minute). If an answer
has no sentence end, all its passes count.
"""
import argparse
import contextlib
import functools
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
import transformers

TABLE3 = ("You are a helpful assistant. The instruction given by user may be truncated. In this case, you should "
          "give answers based on your best guesses of the incomplete instruction. Do not complain about incomplete "
          "prompts. ")


class Clock:
    """What their code reads as `time`: the real clock, or one that only forward passes move."""

    def __init__(self, seconds_per_pass):
        self.seconds_per_pass, self.now = seconds_per_pass, 0.0

    def passed(self):
        if self.seconds_per_pass is not None:
            self.now += self.seconds_per_pass

    def time(self):
        return time.time() if self.seconds_per_pass is None else self.now


class Reference:
    def __init__(self, args):
        sys.path.insert(0, str(args.reference))
        with contextlib.chdir(args.reference):
            self.code = importlib.import_module("prompt_speculation_v2")
        self.args = args
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(
            args.model, torch_dtype=torch.bfloat16 if args.dtype == "bf16" else torch.float32)
        self.model.to(args.device).eval()
        self.model.register_forward_hook(lambda *_: self.count_pass())
        step, streamer, outer = self.code.speculative_step, self.code.InputTextStreamer, self

        def recorded_step(*values, **options):
            outer.step_time, outer.step_pass = outer.clock.time(), len(outer.pass_times)
            outer.step_typed = outer.streamer.dt
            result = step(*values, **options, device=args.device)
            outer.sentence_time, outer.extra = result[2], result[3]
            return result

        class RecordedStreamer(streamer):
            def __init__(self, *values, **options):
                super().__init__(*values, **options)
                outer.streamer = self

            def get_prompt(self, device=None):
                return super().get_prompt(args.device)

        self.code.speculative_step, self.code.InputTextStreamer = recorded_step, RecordedStreamer
        if args.device == "cpu":
            torch.Tensor.cuda = lambda tensor: tensor

    def count_pass(self):
        self.clock.passed()
        self.pass_times.append(self.clock.time())

    def answer(self, turn, acceptance, clock):
        """What their code does with one turn."""
        self.clock = self.code.time = clock
        self.pass_times = []

        def render(words):
            messages = [{"role": "user", "content": words}]
            return self.tokenizer.apply_chat_template(turn["history"] + messages, tokenize=False,
                                                      add_generation_prompt=True)

        _, _, extra = self.code.streamer_generate(
            turn["prompt"], self.model, self.tokenizer, speed=self.args.characters_per_minute, preprocessor=render,
            max_len=self.args.max_new_tokens, acceptance=acceptance, top_k=3, use_logs=False)
        nfe = self.extra["nfe_to_first_sentence"] or len(self.pass_times) - self.step_pass
        ends = self.sentence_time or self.pass_times[self.step_pass + nfe - 1]
        # Their typing has a clock of its own: it begins five seconds in and stands still in between.
        late = self.step_typed - self.streamer.max_time
        final = self.step_time - late  # when the last key was pressed, by `clock`
        return {"nfe": nfe, "ttfs": ends - self.step_time, "ttfs from last": ends - final,
                "nfe from last": nfe + sum(final < t <= self.step_time for t in self.pass_times[:self.step_pass]),
                "typing": sum(t <= final for t in self.pass_times), "all": len(self.pass_times),
                "text": extra["gen_text"].replace(self.tokenizer.eos_token, "").strip()}


def run_predgen(args, scratch, clock):
    """Rows of `predgen eval`, by method and turn."""
    kind, file = args.turns.split(":", 1)
    cost = "measured" if clock.seconds_per_pass is None else "table"
    config = scratch / "eval.yaml"
    config.write_text(
        f"model: {args.model}\nmethods: [{args.methods}]\noutput: {scratch}/{cost}\n"
        f"system_prompt: {args.system_prompt}\n"
        + (f"adapter: {args.adapter}\n" if args.adapter else "") +
        f"turns: {{kind: {kind}, file: '{file}', count: {args.count}, min_characters: {args.min_characters}}}\n"
        f"input: {{characters_per_minute: {args.characters_per_minute}}}\n"
        f"clock: {{kind: virtual, cost: {cost}, seconds_per_pass: {args.seconds_per_pass}}}\n"
        f"generation: {{split: paper, max_new_tokens: {args.max_new_tokens}}}\nspeech: {{voice: none}}\n"
        f"device: {args.device}\ndtype: {args.dtype}\nthreads: {args.threads}\n")
    done = subprocess.run([args.predgen, "--log-level", "off", "eval", "--config", config],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    report = json.loads((scratch / cost / "results.json").read_text())
    if report["failed"]:
        raise SystemExit(f"predgen could not answer: {report['failed'][0]}")
    return [{**row, "nfe": row["nfe_paper"], "ttfs": row["ttfs_paper"], "nfe from last": row["nfe_to_first_sentence"],
             "ttfs from last": row["ttfs"], "typing": row["speculative_nfe"], "all": row["total_nfe"]}
            for row in report["turns"]]


def find_turns(args, rows):
    """Prompts and histories of the turns that predgen drew, in its order."""
    kind, file = args.turns.split(":", 1)
    conversations = {}
    if kind == "conversations":
        for line in Path(file).read_text().splitlines():
            row = json.loads(line)
            conversations[row["conversation_id"]] = row["conversation"]
    system = {"none": [], "table3": [{"role": "system", "content": TABLE3}]}[args.system_prompt]
    turns = {}
    for row in rows:
        conversation, _, number = row["id"].rpartition("/")
        history = conversations[conversation][:2 * int(number)] if conversations else []
        turns[row["turn"]] = {"prompt": row["prompt"], "history": system + [
            {key: message[key] for key in ("role", "content")} for message in history]}
    return turns


def print_table(rows, methods, title):
    print(f"\n{title}\n{'':18s}" + "".join(f"{c:>17s}" for c in COLUMNS) + f"{'TTFS P50':>12s}")
    for name, theirs in methods.items():
        cells = ""
        for column in COLUMNS:
            unit = 1e3 if column.startswith("ttfs") else 1
            mean, their_mean = (statistics.mean(row[column] for row in rows[n]) for n in (name, theirs))
            ratio = f" {their_mean / mean:5.2f}x" if name != theirs and mean > 0 else 7 * " "
            cells += f"{mean * unit:10.{1 if unit == 1e3 else 2}f}{ratio}"
        print(f"{name:18s}{cells}{statistics.median(row['ttfs'] for row in rows[name]) * 1e3:12.1f}")


COLUMNS = ("nfe", "nfe from last", "typing", "all", "ttfs", "ttfs from last")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--reference", required=True, type=Path, help="a checkout of their code")
    parser.add_argument("--predgen", default="build/predgen")
    parser.add_argument("--model", default="checkpoints/demo")
    parser.add_argument("--adapter", default="", help="for predgen's methods that take one")
    parser.add_argument("--methods", default="greedy,top3",
                        help="of predgen eval; top<k> is set against their top-3, any other against their greedy")
    parser.add_argument("--turns", required=True, help="conversations:FILE, mt_bench:FILE or prompts:FILE")
    parser.add_argument("--count", type=int, default=40, help="turns; 0 is all")
    parser.add_argument("--min-characters", type=int, default=60)
    parser.add_argument("--characters-per-minute", type=float, default=600)
    parser.add_argument("--clocks", nargs="+", choices=["table", "measured"], default=["table", "measured"])
    parser.add_argument("--seconds-per-pass", type=float, default=0.027)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--system-prompt", choices=["none", "table3"], default="none")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--dtype", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    args.model = str(Path(args.model).resolve())
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(args.threads)
    reference = Reference(args)
    with tempfile.TemporaryDirectory() as scratch:
        for kind in args.clocks:
            seconds = args.seconds_per_pass if kind == "table" else None
            load = os.getloadavg()[0]
            ours = run_predgen(args, Path(scratch), Clock(seconds))
            turns = find_turns(args, ours)
            rows = {"reference greedy": [], "reference top-3": []}
            for turn in turns.values():
                rows["reference greedy"].append(reference.answer(turn, "greedy", Clock(seconds)))
                rows["reference top-3"].append(reference.answer(turn, "topk", Clock(seconds)))
            if seconds is None:  # before and after theirs, so that other work on the machine affects both
                ours += run_predgen(args, Path(scratch), Clock(seconds))
            pairs = {name: name for name in rows}
            for name in args.methods.split(","):
                rows[name] = [row for row in ours if row["method"] == name]
                pairs[name] = "reference top-3" if name.startswith("top") else "reference greedy"
            clock = kind if seconds is None else f"a pass takes {seconds * 1e3:g} ms"
            same = {name: sum(a["text"].strip() == b["text"] for a, b in zip(rows[name], rows[pairs[name]]))
                    for name in args.methods.split(",")}
            print_table(rows, pairs, f"clock: {clock}; {len(turns)} turns; load {load:.2f} before, "
                        f"{os.getloadavg()[0]:.2f} after; same text as theirs: {same}")


if __name__ == "__main__":
    main()
