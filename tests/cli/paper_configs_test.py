"""The configurations of the paper's table and figures.

usage: paper_configs_test.py sample|whole

sample: with a small random model on a few made-up turns, only paths and sizes overridden. whole: as they
are shipped, with the demo model on the data sets in PREDGEN_DATA, each in under ten minutes of one core;
skipped where these are not there."""

import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

from report_pages import Page, drawn_pictures
from program import REPOSITORY, check, run
from tiny_model import WORDS, make_adapter, make_folder

MOST_SECONDS = 600
# What the page of each is for, and has to show.
FIGURES = {"table1": ["speed_up", "rounds", "trade_off"], "figure3a": ["models"], "figure3b": ["rounds"],
           "figure4": ["top_k_quality", "top_k_speed"], "asr": ["revised_words"]}


def check_page(name, output):
    page = (output / "report.html").read_text()
    check(not Page(page).faults, f"{name}: {Page(page).faults[:3]}")
    pictures = drawn_pictures(output / "report.html")
    check(pictures is None or set(FIGURES[name]) <= set(pictures), f"{name} has its figures: {FIGURES[name]}")
    results = json.loads((output / "results.json").read_text())
    check(not results["failed"], f"{name}: every turn is answered: {results['failed'][:1]}")
    return results


def sample(scratch):
    model = make_folder(scratch)
    questions = scratch / "question.jsonl"
    questions.write_text("".join(json.dumps({"question_id": i, "category": "talk", "turns": [words, words + "?"]}) + "\n"
                                 for i, words in enumerate(WORDS)))
    talks = scratch / "talks.jsonl"
    talks.write_text("".join(json.dumps({"conversation_id": str(i), "conversation": [
        {"role": role, "content": f"{WORDS[(i + turn) % 3]} by Ann at 12."} for turn in range(2)
        for role in ("user", "assistant")]}) + "\n" for i in range(9)))
    heard = scratch / "heard.json"
    heard.write_text(json.dumps({str(i): [["please hook", 0.3], ["please book a", 0.6], [WORDS[0], 1.0]]
                                 for i in range(4)}))
    twin = scratch / "twin"
    shutil.copytree(model, twin)
    # The tiny model cannot say "yes", from which reflection reads its judgement.
    without_reflection = {"table1": "methods=[baseline,greedy,top3,cllm]", "asr": "methods=[baseline,greedy,top3,cllm]",
                          "figure3b": "methods=[baseline,greedy,top3]"}
    sizes = ["dtype=fp32", "threads=1", "generation.max_new_tokens=24"]
    own = {"table1": [f"turns.file={questions}", f"adapter={make_adapter(scratch)}", "turns.count=6"],
           "figure3a": [f"turns.file={talks}", f"models=[{model},{twin}]", "turns.count=9"],
           "figure3b": [f"turns.file={talks}", "turns.count=12"],
           "figure4": [f"turns.file={talks}", "turns.count=9"],
           "asr": [f"turns.file={heard}", f"adapter={scratch / 'adapter'}", "turns.count=4"]}
    for name, overrides in own.items():
        output = scratch / "out" / name
        base = [] if name == "figure3a" else [f"model={model}"]
        done = run("eval", "--config", REPOSITORY / "configs/eval" / f"{name}.yaml", f"output={output}", *base,
                   *sizes, *overrides, *([without_reflection[name]] if name in without_reflection else []))
        check(done.returncode == 0, f"{name} runs: {done.stderr[-500:]}")
        results = check_page(name, output)
        if name == "asr":
            # "hook" is taken back, of please hook, book a and the eight that follow "a".
            shares = {row["revised_share"] for row in results["turns"]}
            check(len(shares) == 1 and 0 < shares.pop() < 0.2, "words that were taken back are counted")
        if name == "figure3b":
            check({row["round"] for row in results["turns"]} == {1, 2}, "rounds are told apart")
        if name == "figure4":
            check([method["top_k"] for method in results["methods"].values()] == [None, None, 2, 3, 5, 10], "k")


def whole(scratch):
    if not (Path(os.environ.get("PREDGEN_DATA", "")) / "mt_bench/question.jsonl").exists():
        print("skipped: PREDGEN_DATA has no mt_bench/question.jsonl")
        sys.exit(77)
    for name in FIGURES:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run("eval", "--config", REPOSITORY / "configs/eval" / f"{name}.yaml", f"output={scratch / name}",
                   "threads=1", cwd=REPOSITORY)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        check(done.returncode == 0, f"{name} runs: {done.stderr[-500:]}")
        check(seconds < MOST_SECONDS, f"{name} takes {seconds:.0f} s of a core")
        check_page(name, scratch / name)


os.environ["OMP_NUM_THREADS"] = "1"
with tempfile.TemporaryDirectory() as folder:
    {"sample": sample, "whole": whole}[sys.argv[1]](Path(folder))
