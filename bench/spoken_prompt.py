#!/usr/bin/env python3
"""How a system prompt changes answers that are to be heard: how many of 200 easy questions the first sentence answers,
how long the answers are, and how many have marks that cannot be spoken.

usage: spoken_prompt.py PREDGEN MODEL {choose,report} [NAME_OR_TEXT ..]

Every second question of easy_questions.tsv (a question, a tab, a pattern of right answers) is for choosing a prompt,
the others are for reporting. "Unspoken" counts, over 60 requests of data/samples/spoken_prompts.jsonl, likewise
halved, the answers with a list, markdown or several paragraphs, and "words" is the median length of these answers.
A name is spoken, none or table3; without any, spoken and none are compared. Greedy answers of at most 96 tokens; with
SHOW=1 they are printed.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "data" / "samples"
UNSPOKEN = re.compile(r"^\s*([-*+#]|\d+[.)])\s|\*\*|```|\n\s*\n|^\|", re.MULTILINE)


def system_text(program, name):
    """The text of a named prompt, from the program's source."""
    source = (HERE.parent / "runtime" / "converse" / "session_options.cpp").read_text()
    named = re.search(r'\{"' + re.escape(name) + r'",\s*((?:"[^"]*"\s*)+)\}', source) if name.isalnum() else None
    return "".join(re.findall(r'"([^"]*)"', named[1])) if named else name


def answers(program, model, system, questions):
    first = [{"role": "system", "content": system}] if system else []
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as rows:
        for question in questions:
            rows.write(json.dumps({"messages": first + [{"role": "user", "content": question}]}) + "\n")
        rows.flush()
        run = subprocess.run([program, "generate", "--model", model, "--input", rows.name, "--max-new-tokens", "96",
                              "--json"], capture_output=True, text=True, check=True)
    return [result["text"].strip() for result in json.loads(run.stdout)["results"]]


def main():
    if len(sys.argv) < 4 or sys.argv[3] not in ("choose", "report"):
        sys.exit(__doc__)
    program, model, half = sys.argv[1:4]
    offset = 0 if half == "choose" else 1
    easy = [line.split("\t") for line in (HERE / "easy_questions.tsv").read_text().splitlines()][offset::2]
    requests = [json.loads(line)["text"] for line in open(SAMPLES / "spoken_prompts.jsonl")][:60][offset::2]
    print(f"{half}: {len(easy)} easy questions, {len(requests)} requests\nright  words  unspoken  prompt")
    for name in sys.argv[4:] or ["spoken", "none"]:
        system = system_text(program, name)
        texts = answers(program, model, system, [question for question, _ in easy] + requests)
        first = [re.split(r"(?<=[.?!])\s", text)[0] for text in texts]
        right = sum(bool(re.search(pattern, text, re.IGNORECASE)) for text, (_, pattern) in zip(first, easy))
        longer = texts[len(easy):]
        words = statistics.median(len(text.split()) for text in longer)
        unspoken = sum(bool(UNSPOKEN.search(text)) for text in longer)
        if os.environ.get("SHOW"):
            print("\n".join(f"{question}  {text!r}" for (question, _), text in zip(easy, texts)))
        print(f"{right:5}  {words:5.0f}  {unspoken:8}  {name}", flush=True)


if __name__ == "__main__":
    main()
