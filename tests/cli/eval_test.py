"""predgen eval on a small random model: the files it writes and what they promise."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report_pages import Page, drawn_pictures, page_data
from program import PREDGEN, check, run
from tiny_model import WORDS, make_adapter, make_draft_model, make_folder

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


def results_of(output):
    """results.json without what a machine or a folder decides."""
    results = json.loads((output / "results.json").read_text())
    for key in ("environment", "config"):
        results.pop(key)
    return results


def several_costs_and_models(scratch, config, model):
    output = scratch / "several"
    done = run("eval", "--config", config, f"output={output}", "methods=[baseline,greedy]",
               "clock.costs=[a5000,h100,this_machine]")
    check(done.returncode == 0, f"several costs run {done.stderr[-500:]}")
    results = json.loads((output / "results.json").read_text())
    costs = [entry["cost"] for entry in results["runs"]]
    check([cost["name"] for cost in costs] == ["a5000", "h100", "this_machine"], "a run for each cost")
    check(costs[0]["seconds_per_pass"] == 0.027 and costs[0]["seconds_per_token"] == 0, "the paper's cost is flat")
    check("roofline" in costs[1]["basis"] and costs[1]["seconds_per_token"] > 0, "a roofline says so")
    check(results["methods"] == results["runs"][0]["methods"], "the first run stands beside them")
    check(len(results["turns"]) == 3 * 2 * len(WORDS), "every run has its rows")
    ttfs = [entry["methods"]["baseline"]["ttfs"]["mean"] for entry in results["runs"]]
    check(ttfs[1] < ttfs[0], "a small model on an H100 is sooner than 27 ms a pass")

    twin = scratch / "twin"
    shutil.copytree(model, twin)
    done = run("eval", "--config", write_config(scratch, models=f"[{model}, {twin}]", output=output))
    check(done.returncode == 0, f"several models run {done.stderr[-500:]}")
    runs = json.loads((output / "results.json").read_text())["runs"]
    check([entry["model"] for entry in runs] == [str(model), str(twin)], "a run for each model")
    check(runs[0]["methods"] == runs[1]["methods"], "the same weights give the same figures")


def write_config(scratch, models, output):
    file = scratch / "models.yaml"
    file.write_text(f"models: {models}\noutput: {output}\nmethods: [baseline, greedy]\n"
                    f"turns: {{kind: prompts, file: {scratch / 'prompts.jsonl'}}}\nclock: {{cost: table}}\n"
                    "generation: {max_new_tokens: 24}\ndtype: fp32\nthreads: 1\n")
    return file


def where_it_pays(scratch, config):
    prompts = scratch / "sources.jsonl"
    prompts.write_text("".join(json.dumps({"text": words, "source": f"set{i % 2}"}) + "\n"
                               for i, words in enumerate(WORDS)))
    common = ["eval", "--config", config, f"turns.file={prompts}", f"output={scratch / 'groups'}",
              "methods=[baseline,greedy,preemptive]", "input.end_of_turn_wait=0.9"]
    done = run(*common, "--by", "source")
    check(done.returncode == 0, f"turns by their source {done.stderr[-500:]}")
    table = done.stdout[done.stdout.index("Where it pays"):]
    for part in ("set0: 2 turns", "set1: 1 turn", "preemptive", "ready %", "95 % interval"):
        check(part in table, f"{part} is in {table}")
    groups = json.loads((scratch / "groups" / "results.json").read_text())["runs"][0]["groups"]
    check([group["group"] for group in groups["source"]] == ["set0", "set1"], "results.json has them, too")
    tables = page_data((scratch / "groups" / "report.html").read_text())["tables"][0]["groups"]
    check([table["title"] for table in tables if table["groups"]][-1].startswith("By where"), "and the page")
    for arguments, part in ((["--by", "sauce"], "last_change"), (["--by", "length", "--json"], "leave out --json")):
        bad = run(*common, *arguments)
        check(bad.returncode == 2 and part in bad.stderr, f"{arguments} is refused: {bad.stderr.strip()}")


def kills_and_workers(scratch, config):
    """Killed at every turn, and by several workers: the same results to the byte."""
    prompts = scratch / "many.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"{words} {i}"}) + "\n" for i in range(8) for words in WORDS))
    common = ["eval", "--config", config, f"turns.file={prompts}", "generation.max_new_tokens=100"]
    check(run(*common, f"output={scratch / 'whole'}").returncode == 0, "an undisturbed run")
    whole = results_of(scratch / "whole")

    killed, kills = scratch / "killed", 0
    journal = killed / "journal.jsonl"
    while not (killed / "results.json").exists():
        lines = journal.read_bytes().count(b"\n") if journal.exists() else 0
        process = subprocess.Popen([PREDGEN, *map(str, common), f"output={killed}"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        while process.poll() is None and kills < 5:
            if journal.exists() and journal.read_bytes().count(b"\n") > max(lines, 2):
                process.kill()
                kills += 1
                break
            time.sleep(0.001)
        process.communicate(timeout=120)
        check(process.returncode in (0, -signal.SIGKILL), f"it goes on: {process.returncode}")
        if kills == 2 and journal.exists():  # as if a line had been torn
            journal.write_bytes(journal.read_bytes()[:-7])
    check(kills >= 2, f"it was killed {kills} times")
    check(results_of(killed) == whole, f"after {kills} kills the results are the same")

    check(run(*common, f"output={scratch / 'shared'}", "workers=3").returncode == 0, "three workers")
    check(results_of(scratch / "shared") == whole, "three workers find what one finds")

    unfinished = scratch / "unfinished"
    unfinished.mkdir()
    (unfinished / "journal.jsonl").write_text('{"key":"identity","value":"other"}\n')
    refused = run(*common, f"output={unfinished}")
    check(refused.returncode == 2 and "--restart" in refused.stderr and len(refused.stderr.strip().splitlines()) == 1,
          f"the journal of another run is refused: {refused.stderr}")
    check(run(*common, f"output={unfinished}", "--restart").returncode == 0, "unless it is dropped")


def mask_tokens(scratch, config, model, adapter):
    """An adapter that counts for mask tokens alone changes no text, and is used in no other way."""
    masked = scratch / "masked"
    shutil.copytree(adapter, masked)
    settings = json.loads((masked / "adapter_config.json").read_text())
    (masked / "adapter_config.json").write_text(json.dumps({**settings, "mask_tokens": [290, 291, 292]}))
    methods = ["mtp", "mtp+ngram", "greedy+mtp", "best+mtp"]
    done = run("eval", "--config", config, f"output={scratch}/mtp", f"adapter={masked}",
               f"methods=[baseline,{','.join(methods)}]")
    check(done.returncode == 0, f"mask tokens run {done.stderr[-500:]}")
    comparisons = json.loads((scratch / "mtp" / "results.json").read_text())["comparisons"]
    for method in methods:
        equal = comparisons[method]["equal_text"]
        check(equal["count"] == len(WORDS) and equal["against"] == "baseline", f"{method}: {equal}")
    for arguments, part in ((["eval", "--config", config, "methods=[cllm]", f"adapter={masked}"],
                             "counts for mask tokens alone: use mtp"),
                            (["eval", "--config", config, "methods=[greedy+mtp]"], "has no mask tokens"),
                            (["generate", "--model", model, "--adapter", masked, "--decoder", "jacobi",
                              "--prompt", "a"], "choose the decoder 'ar'"),
                            (["bench", "--model", model, "--adapter", masked], "compare the methods baseline and mtp"),
                            (["export", "--model", model, "--adapter", masked, "--output", scratch / "merged"],
                             "cannot be merged")):
        bad = run(*arguments)
        check(bad.returncode == 2 and part in bad.stderr and bad.stdout == "", f"{arguments}: {bad.stderr.strip()}")
    check(not (scratch / "merged").exists(), "nothing is written")


def comparisons_of_outputs(scratch, config, output):
    same = run("eval", "--compare", output, output, "--max-slower", "0%", "--min-equal-text", "100%")
    check(same.returncode == 0 and "100.0 %" in same.stdout, f"equal outputs: {same.stdout} {same.stderr}")
    slower = scratch / "slower"
    check(run("eval", "--config", config, f"output={slower}", "clock.seconds_per_pass=0.03").returncode == 0,
          "a slower run")
    crossed = run("eval", "--compare", output, slower / "results.json", "--max-slower", "5%", "--json")
    comparison = json.loads(crossed.stdout)
    check(crossed.returncode == 1 and len(comparison["crossed"]) > 0, "a bound is crossed")
    check(comparison["runs"][0]["methods"]["baseline"]["ttfs"]["difference"]["low"] > 0, "with its interval")
    for arguments, part in ((["--compare", output, scratch / "whole"], "sets differ"),
                            (["--compare", output, scratch / "missing"], "missing"),
                            (["--compare", output, output, "--max-slower", "3"], "3%"),
                            (["--compare", output, output, "--config", config], "either"), ([], "either")):
        bad = run("eval", *arguments)
        check(bad.returncode == 2 and part in bad.stderr, f"{arguments} is refused: {bad.stderr.strip()}")


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
    cost = results["runs"][0]["cost"]
    check(cost["name"] == "given" and 0 < cost["seconds_per_draft_pass"] < 0.027,
          f"the cost is stated, a smaller model is cheaper: {cost}")
    with open(output / "turns.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    check([row["text"] for row in rows] == [row["text"] for row in results["turns"]], "turns.csv")
    page = (output / "report.html").read_text()
    check(not Page(page).faults, f"report.html is well-formed and needs nothing else: {Page(page).faults[:3]}")
    pictures = drawn_pictures(output / "report.html")
    check(pictures is None or {"speed_up", "trade_off", "waterfall", "waste", "timeline_typical"} <= set(pictures), f"pictures: {pictures}")
    check(run("report", output).returncode == 0 and (output / "report.html").read_text() == page,
          "the page is made again from results.json")
    timelines = results["runs"][0]["timelines"]
    check({one["method"] for one in timelines} == set(methods), "every method has the timeline of a turn")
    for one in timelines:
        kinds = [event[1] for event in one["events"]]
        times = [event[0] for event in one["events"]]
        check(kinds[-1] == "done" and "final" in kinds, f"from the first word to the end: {kinds}")
        check(("draft" in kinds) == (one["method"] in ("greedy", "top3", "cllm", "draft_model")), f"drafts: {one['method']}")
        check(min(times) > 0 and one["against"] == "greedy", "times count from when the user began")
    for row in results["turns"]:
        check(0 <= row["ttft"] <= row["ttfs"] and "trace" not in row, f"the first text is before the first sentence: {row}")

    check(not (output / "journal.jsonl").exists(), "a finished run leaves no journal")
    (output / "mine.txt").write_text("kept")
    check("Where it pays" not in first.stdout, "turns are grouped when it is asked for")
    again = run("eval", "--config", config, "--json")
    check(json.loads(again.stdout) == results, "a cost table gives the same figures again; --json")
    check((output / "mine.txt").read_text() == "kept", "other files in the folder stay")

    for overrides, part in ((["turns.cuont=3"], 'did you mean "count"'), (["methods=[fastest]"], "baseline"),
                            (["adapter="], "adapter"), (["draft_model="], "draft_model"),
                            (["draft_model=checkpoints/demo"], "checkpoints/demo has another tokenizer"), (["turns.count=9"], "3 turns"),
                            ([f"turns.file={scratch}/none.jsonl"], "PREDGEN_DATA"),
                            (["clock.kind=real"], "virtual"), (["clock.costs=[a5001]"], "a5000"),
                            (["clock.cost=measured", "workers=2"], "wall clock"),
                            (["methods=[top3+reflection]"], "a verifier already")):
        bad = run("eval", "--config", config, f"output={scratch}/bad", *overrides)
        check(bad.returncode == 2 and part in bad.stderr and bad.stdout == "",
              f"{overrides} is refused: {bad.stderr.strip()}")
    check(not (scratch / "bad" / "results.json").exists(), "a refused run leaves no results")

    several_costs_and_models(scratch, config, model)
    where_it_pays(scratch, config)
    kills_and_workers(scratch, config)
    mask_tokens(scratch, config, model, scratch / "adapter")
    comparisons_of_outputs(scratch, config, output)

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
