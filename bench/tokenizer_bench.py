#!/usr/bin/env python3
"""Speed of `predgen tokenize` against PyPI `tokenizers` (folders with tokenizer.json) or
`sentencepiece` (with tokenizer.model only), all on one thread, in one run.

    python bench/tokenizer_bench.py --model FOLDER --texts FILE.jsonl

Whole runs of the program are timed on the texts once and five times over; the difference leaves
out start-up and loading. It still includes decoding and our reading of JSONL and writing of JSON,
so each ratio is a lower bound, and that against encoding alone a low one. Every side keeps its own
word cache.
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


def load_reference(model):
    """Its name, and functions that encode a text and decode ids."""
    if (model / "tokenizer.json").exists():
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        return "tokenizers", lambda text: tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.decode
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(model / "tokenizer.model"))
    return "sentencepiece", processor.encode, processor.decode


def main():
    repository = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder with tokenizer.json or tokenizer.model")
    parser.add_argument("--texts", type=Path, required=True, help="JSONL; every string in it counts")
    parser.add_argument("--predgen", default=os.environ.get("PREDGEN", str(repository / "build" / "predgen")))
    args = parser.parse_args()
    with open(args.texts, encoding="utf-8") as lines:
        texts = [text for line in lines for text in strings_in(json.loads(line))]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    name, encode, decode = load_reference(args.model)
    ids = [encode(text) for text in texts]  # fills its cache
    ours = time_predgen(args.predgen, args.model, texts)
    if ours <= 0:
        raise SystemExit(f"{megabytes:.2f} MB of texts cannot be told from start-up: give more (some MB)")
    encoding = median_seconds(lambda: [encode(text) for text in texts])
    decoding = median_seconds(lambda: [decode(row) for row in ids])
    print(f"{len(texts)} texts, {megabytes:.2f} MB, one thread")
    print(f"predgen, both ways and JSON: {megabytes / ours:.2f} MB/s")
    print(f"{name}, encoding: {megabytes / encoding:.2f} MB/s, both ways: {megabytes / (encoding + decoding):.2f} MB/s")
    print(f"ratio to its encoding alone: {encoding / ours:.2f}, to both ways: {(encoding + decoding) / ours:.2f}")


if __name__ == "__main__":
    main()
