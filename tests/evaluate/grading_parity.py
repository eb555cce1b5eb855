"""What evaluate/eval_turn.h finds in texts against the public graders' rules, written down here once more:
lm-evaluation-harness's gsm8k 3.0 (strict-match, flexible-extract, exact_match) and TIGER-AI-Lab's
evaluate_from_local.py for MMLU-Pro, with its three patterns. On more than 200 made texts and on real
ones: the data sets' own answers, GPT-4's for MT-Bench, Qwen's of the paper's published run.

usage: grading_parity.py GRADE_LINES [FILE..]
FILE: a run that TIGER-AI-Lab publishes (eval_results/*.zip), unpacked."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path


def search(pattern, text, flags=0):
    match = re.search(pattern, text, flags)
    return match and (match[1] if match.groups() else match[0])


def strict_number(text):
    return search(r"#### (\-?[0-9\.\,]+)", text)


def flexible_number(text):
    matches = re.findall(r"(-?[$0-9.,]{2,})|(-?[0-9]+)", text)
    return next(part for part in matches[-1] if part).strip() if matches else None


def same_number(found, right):
    for ignored in (",", r"\$", r"(?s).*#### ", r"\.$"):
        found, right = re.sub(ignored, "", found), re.sub(ignored, "", right)
    return found.lower() == right.lower()


def strict_letter(text):
    return search(r"answer is \(?([A-J])\)?", text)


def flexible_letter(text):
    return (strict_letter(text) or search(r".*[aA]nswer:\s*([A-J])", text)
            or search(r"\b[A-J]\b(?!.*\b[A-J]\b)", text, re.DOTALL))


RULES = {"number": (strict_number, flexible_number, same_number),
         "letter": (strict_letter, flexible_letter, lambda found, right: found == right)}
# Rules that are nearly right; some text has to tell each from ours.
FAULTS = {"number": (lambda text: search(r"#### (\-?[0-9]+)", text),
                     lambda text: (re.findall(r"-?[0-9]+(?:\.[0-9]+)?", text) or [None])[-1],
                     lambda found, right: found == right),
          "letter": (lambda text: search(r"answer is \(([A-J])\)", text),
                     lambda text: strict_letter(text) or search(r"\b[A-J]\b", text),
                     lambda found, right: True)}


def graded(case, rules):
    strict, flexible, same = rules[case["kind"]]
    text = case["text"].split("Question:")[0]  # both stop generation there
    found = [strict(text), flexible(text)]
    return found + [value is not None and same(value, case["right"]) for value in found]


def made_cases():
    numbers = ["72", "-3", "1,800", "$1,800.00", "18.0", "18.", "3.5%", "0", "$.50", "..", "1.2.3", "5-3", "half"]
    frames = ["{}", "The answer is {}.", "#### {}", "So\n#### {}\n", "#### {} #### 9", "####{}", "####  {}",
              "x = {}, y = 2\n#### {}", "It costs {} each...", "{}\n\nQuestion: 1 + 1?\n#### 2", "**{}**",
              "{} dollars", "\\boxed{{{}}}", "\u0663 apples, {} pears", "#### -{}"]
    for frame, number in itertools.product(frames, numbers):
        yield {"kind": "number", "text": frame.format(number, number), "right": "1800" if "8" in number else number}
    letters = ["A", "(C)", "J", "K", "(c)", "B)", "E.", "\u00c9"]
    frames = ["The answer is {}", "the answer is {}.", "answer is: {}", "The answer is\n{}", "Answer: {}", "answer:\n{}",
              "Answer:\u00a0{}", "Answer:\x1c{}", "Answer: {} Answer: D", "Answer: {}\nAnswer: D", "A or B? {}", "I think {}", "{}",
              "I am sure", "{}_1 and 2H", "B\u00e9 {}", "the ANSWER IS {}", "H{} \u00c4B", "D. Question: the answer is {}",
              "Not A. {} is better, e.g. F-16", "The answer is (D). No, the answer is {}"]
    for frame, letter in itertools.product(frames, letters):
        yield {"kind": "letter", "text": frame.format(letter), "right": "C"}


def rows(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def real_cases():
    data = Path(os.environ.get("PREDGEN_SHARED", "../shared")) / "data"
    if not data.exists():
        print(f"skipped: real outputs of the reference data, there is no {data}")
        return
    texts = [turn for row in rows(data / "mt_bench/reference_answer/gpt-4.jsonl") for turn in row["choices"][0]["turns"]]
    run = json.loads((data / "published_runs/predgen_lmsys_topk3.json").read_text(encoding="utf-8"))
    texts += [response["gen_text"] for response in run["all_responses"]]
    for row in rows(data / "gsm8k/test.jsonl"):
        yield {"kind": "number", "text": row["answer"], "right": row["answer"].split("#### ")[1]}
        texts.append(row["question"])
    for row in rows(data / "mmlu_pro/test.jsonl"):
        texts.append("\n".join(row["options"]))
    for text, kind in itertools.product(texts, RULES):
        yield {"kind": kind, "text": text, "right": "B" if kind == "letter" else "10"}


def published_cases(files):
    for file in files:
        for row in json.loads(Path(file).read_text(encoding="utf-8")):
            yield {"kind": "letter", "text": row["generated_text"], "right": row["answer"]}


def main(program, *files):
    for name, cases, least in (("made", list(made_cases()), 200), ("real", list(real_cases()), 0),
                               ("published", list(published_cases(files)), 0)):
        if len(cases) < least:
            sys.exit(f"only {len(cases)} {name} texts")
        if not cases:
            continue
        lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
        run = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
        ours = [json.loads(line) for line in run.stdout.splitlines()]
        if len(ours) != len(cases):
            sys.exit(f"{len(ours)} results of {len(cases)} {name} texts")
        for case, result in zip(cases, ours):
            if result != graded(case, RULES):
                sys.exit(f"{case}: {result}, the public rules {graded(case, RULES)}")
        print(f"{len(cases)} {name} texts: {sum(result[3] for result in ours)} right, as by the public rules")
        for kind, index in itertools.product(RULES, range(3)) if name == "made" else ():
            faulty = list(RULES[kind])
            faulty[index] = FAULTS[kind][index]
            if all(graded(case, {kind: faulty}) == result for case, result in zip(cases, ours) if case["kind"] == kind):
                sys.exit(f"no text tells rule {index} of {kind} from a wrong one")


if __name__ == "__main__":
    main(*sys.argv[1:])
