#!/usr/bin/env python3
"""Encoding speed of `predgen tokenize` against PyPI `tokenizers`, both on one thread.

    python bench/tokenizer_bench.py --model FOLDER --texts FILE.jsonl

Whole runs of the program are timed on the texts once and five times over; the difference leaves
out start-up and loading. What remains holds our reading of JSONL, decoding and writing of JSON
too, so the ratio is a lower bound. Both sides keep their own word cache.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

REPEATS = 5  # of the texts in the longer run
ROUNDS = 5   # of every timing; the median counts


def strings_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_in(item)


def median_seconds(run):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def time_predgen(program, model, texts):
    seconds = []
    for repeats in (1, REPEATS):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            file.writelines(json.dumps({"prompt": text}) + "\n" for text in texts * repeats)
            file.flush()
            command = [program, "tokenize", "--model", str(model), "--input", file.name, "--json"]
            seconds.append(median_seconds(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, check=True)))
    return (seconds[1] - seconds[0]) / (REPEATS - 1)


def time_reference(model, texts):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))

    def run():
        for text in texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            tokenizer.decode(ids)

    run()  # fills its cache
    return median_seconds(run)


def main():
    repository = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json")
    parser.add_argument("--texts", type=Path, required=True, help="JSONL; every string in it counts")
    parser.add_argument("--predgen", default=os.environ.get("PREDGEN", str(repository / "build" / "predgen")))
    args = parser.parse_args()
    with open(args.texts, encoding="utf-8") as lines:
        texts = [text for line in lines for text in strings_in(json.loads(line))]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    ours = time_predgen(args.predgen, args.model, texts)
    reference = time_reference(args.model, texts)
    print(f"{len(texts)} texts, {megabytes:.2f} MB, one thread, encode and decode")
    print(f"predgen    {megabytes / ours:8.2f} MB/s")
    print(f"tokenizers {megabytes / reference:8.2f} MB/s")
    print(f"ratio      {reference / ours:8.2f}")


if __name__ == "__main__":
    main()
