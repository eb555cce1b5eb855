"""Greedy decoding of the same folder by predgen and by transformers, in one run.

python bench/generate_vs_transformers.py --predgen build/predgen --model checkpoints/demo
Prints seconds per token of each and the ratio (above 1: predgen is faster). Start-up and loading
are taken out by timing a long and a short answer and dividing their difference.
"""
import argparse
import json
import subprocess
import time

import torch
import transformers

SHORT, LONG, ROUNDS = 8, 136, 3


def predgen_seconds(args, ids, new_tokens):
    command = [args.predgen, "generate", "--model", args.model, "--token-ids", ",".join(map(str, ids)),
               "--max-new-tokens", str(new_tokens), "--threads", str(args.threads), "--dtype", "fp32",
               "--device", "cpu", "--json"]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    return seconds, json.loads(done.stdout)["results"][0]["token_ids"]


def transformers_seconds(model, ids, new_tokens):
    start = time.perf_counter()
    output = model.generate(torch.tensor([ids]), max_new_tokens=new_tokens, do_sample=False)
    return time.perf_counter() - start, output[0, len(ids):].tolist()


def per_token(run):
    """Between the short and the long answer, the best of several rounds of each."""
    best, answers = {SHORT: float("inf"), LONG: float("inf")}, {}
    for _ in range(ROUNDS):
        for new_tokens in best:
            seconds, answers[new_tokens] = run(new_tokens)
            best[new_tokens] = min(best[new_tokens], seconds)
    num_more = len(answers[LONG]) - len(answers[SHORT])
    if num_more <= 0:
        raise SystemExit("the answer stopped early; choose another prompt with --token-ids")
    if best[LONG] <= best[SHORT]:
        raise SystemExit("the long answer took no longer than the short one: the machine is too busy to measure")
    return (best[LONG] - best[SHORT]) / num_more, answers[LONG]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--predgen", default="build/predgen")
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--token-ids", default=",".join(str(i) for i in range(300, 364)))
    args = parser.parse_args()
    ids = [int(i) for i in args.token_ids.split(",")]
    torch.set_num_threads(args.threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32)
    ours, our_ids = per_token(lambda n: predgen_seconds(args, ids, n))
    theirs, their_ids = per_token(lambda n: transformers_seconds(model, ids, n))
    print(f"predgen      {ours * 1e3:8.3f} ms/token")
    print(f"transformers {theirs * 1e3:8.3f} ms/token")
    print(f"ratio        {theirs / ours:8.2f}   same tokens: {our_ids == their_ids}")


if __name__ == "__main__":
    main()
