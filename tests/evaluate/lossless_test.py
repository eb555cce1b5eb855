"""The shipped model and adapter on shipped dialogues: speculation and Jacobi decoding give the text of
plain decoding on a CPU, in fp32, bf16 and int8. `--turns N FILE`: on N turns of a larger set."""

import json
import os
import subprocess
import sys
import tempfile

PREDGEN = os.environ["PREDGEN"]
METHODS = ["baseline", "prefill", "greedy", "base_jacobi", "cllm_ar", "cllm", "cllm_jacobi",
           "tree", "ngram", "branches", "branches+jacobi", "economy", "best", "cllm_best",
           "draft_model", "cllm+draft_model", "best+draft_model"]
CONFIG = """
model: checkpoints/demo
adapter: checkpoints/demo-cllm
draft_model: checkpoints/demo-draft
output: {output}
methods: [{methods}]
turns: {{kind: conversations, file: {file}, count: {count}, min_characters: 20, seed: 0}}
clock: {{kind: virtual, cost: table}}
generation: {{max_new_tokens: {max_new_tokens}}}
threads: 1
device: cpu
"""
PRECISIONS = (["dtype=fp32"], ["dtype=bf16"], ["quantize=int8"])


def compare(config, overrides):
    """Number of texts that differ from plain decoding's, and of turns, in results.json's words."""
    run = subprocess.run([PREDGEN, "eval", "--config", config, "--json", *overrides],
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{overrides}: {run.stderr}")
    results = json.loads(run.stdout)
    texts = {(row["turn"], row["method"]): row["text"] for row in results["turns"]}
    if len({text for (_, method), text in texts.items() if method == "baseline"}) < 2:
        sys.exit(f"{overrides}: the answers are all the same")
    equal = {name: entry["equal_text"] for name, entry in results["comparisons"].items()
             if "equal_text" in entry}
    if sorted([*equal, "baseline", "cllm_ar"]) != sorted(METHODS):
        sys.exit(f"{overrides}: {sorted(equal)} were compared")
    return equal


def main():
    large = sys.argv[1:2] == ["--turns"]
    count, file = (sys.argv[2:4] if large else (8, "data/samples/dialogues.jsonl"))
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        config = f"{scratch}/eval.yaml"
        with open(config, "w", encoding="utf-8") as stream:
            stream.write(CONFIG.format(output=f"{scratch}/out", methods=", ".join(METHODS), file=file,
                                       count=count, max_new_tokens=128 if large else 32))
        for overrides in PRECISIONS:
            for name, equal in compare(config, overrides).items():
                flips = ", ".join(f"{flip['margin']:.4f}" for flip in equal["flips"])
                print(f"{' '.join(overrides)}: {name} {equal['count']} of {equal['n']} texts are those of "
                      f"{equal['against']}" + (f"; margins {flips}" if flips else ""), flush=True)
                failed |= equal["count"] < equal["n"]
    sys.exit("texts differ" if failed else 0)


if __name__ == "__main__":
    main()
