"""predgen eval on a small random model: the files it writes and what they promise."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tiny_model import PREDGEN, WORDS, check, make_adapter, make_draft_model, make_folder, run

CONFIG = """
model: {model}
adapter: {adapter}
draft_model: {draft_model}
output: {output}
methods: [baseline, prefill, greedy, top3, cllm, cllm_ar, cllm_jacobi, base_jacobi, draft_model]
turns: {{kind: prompts, file: {prompts}}}
clock: {{kind: virtual, cost: table}}
generation: {{max_new_tokens: 24, max_draft_tokens: 12, jacobi_block_size: 8}}
dtype: fp32
threads: 1
"""


def main(scratch):
    prompts = scratch / "prompts.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": words}) + "\n" for words in WORDS))
    output = scratch / "out"
    config = scratch / "eval.yaml"
    model = make_folder(scratch)
    config.write_text(CONFIG.format(model=model, draft_model=make_draft_model(scratch, model),
                                    adapter=make_adapter(scratch),
                                    output=output, prompts=prompts))

    first = run("eval", "--config", config)
    check(first.returncode == 0, f"eval runs {first.stderr[-500:]}")
    check("baseline" in first.stdout and "base_jacobi" in first.stdout, "table on stdout")
    results = json.loads((output / "results.json").read_text())
    methods = ["baseline", "prefill", "greedy", "top3", "cllm", "cllm_ar", "cllm_jacobi",
               "base_jacobi", "draft_model"]
    check(list(results["methods"]) == methods, "every method is summarised")
    check(len(results["turns"]) == len(methods) * len(WORDS), "one row per turn and method")
    for name in methods:
        summary = results["methods"][name]
        check({"mean", "p50", "p90", "p99", "n"} <= set(summary["ttfs"]) and "speedup" in summary,
              f"{name}: fields of the contract")
    texts = {(row["turn"], row["method"]): row["text"] for row in results["turns"]}
    check(len({text for text in texts.values()}) > 3, "answers differ between turns")
    for turn in range(len(WORDS)):
        check(len({texts[turn, name] for name in ("baseline", "prefill", "greedy", "base_jacobi",
                                                       "draft_model")})
              == 1, f"turn {turn}: lossless methods give the baseline's text")
        check(len({texts[turn, name] for name in ("cllm", "cllm_ar", "cllm_jacobi")}) == 1,
              f"turn {turn}: lossless methods on the adapter give its own text")
    check(any(texts[turn, "baseline"] != texts[turn, "cllm_ar"] for turn in range(len(WORDS))),
          "the adapter changes something")
    comparisons = results["comparisons"]
    check(comparisons["greedy"]["equal_text"]["count"] == len(WORDS), "equal texts are counted")
    check(comparisons["greedy"]["nfe_saving"]["n"] == len(WORDS), "savings are paired by turn")
    for row in results["turns"]:
        check(row["first_sentence_logprob"] < 0, "first sentences are scored")
        check((row["draft_model_total_nfe"] > 0) == (row["method"] == "draft_model"),
              f"passes of the draft model are counted: {row}")
    check(0 < results["environment"]["seconds_per_draft_pass"] < 0.027, "a smaller model is cheaper")
    with open(output / "turns.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    check([row["text"] for row in rows] == [row["text"] for row in results["turns"]], "turns.csv")
    check("<table>" in (output / "report.html").read_text(), "report.html")

    (output / "mine.txt").write_text("kept")
    again = run("eval", "--config", config, "--json")
    check(json.loads(again.stdout) == results, "a cost table gives the same figures again; --json")
    check((output / "mine.txt").read_text() == "kept", "other files in the folder stay")

    for overrides, part in ((["turns.cuont=3"], 'did you mean "count"'), (["methods=[fastest]"], "baseline"),
                            (["adapter="], "adapter"), (["draft_model="], "draft_model"),
                            (["draft_model=checkpoints/demo"], "checkpoints/demo has another tokenizer"), (["turns.count=9"], "3 turns"),
                            ([f"turns.file={scratch}/none.jsonl"], "PREDGEN_DATA"),
                            (["clock.kind=real"], "virtual")):
        bad = run("eval", "--config", config, f"output={scratch}/bad", *overrides)
        check(bad.returncode == 2 and part in bad.stderr and bad.stdout == "",
              f"{overrides} is refused: {bad.stderr.strip()}")
    check(not (scratch / "bad" / "results.json").exists(), "a refused run leaves no results")

    # Real time at 10 characters a minute never ends: it is under way once its folder is there.
    slow = scratch / "slow"
    process = subprocess.Popen([PREDGEN, "eval", "--config", config, f"output={slow}",
                                "clock.kind=real", "clock.cost=measured",
                                "input.characters_per_minute=10"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not slow.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    check(process.returncode == 130, "Ctrl-C ends it with 130")
    check(not (slow / "results.json").exists(), "and leaves no results.json")


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
