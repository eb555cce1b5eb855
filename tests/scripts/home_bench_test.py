"""bench/home.py: the same homes each time, requests that name what is there, halves without a sentence in common, and what
counts as right, wrong, nothing and harm. With Home Assistant there (PREDGEN_HOME_ASSISTANT or ~/.cache/predgen), its own
rules are asked, too."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "home.py"
sys.path.insert(0, str(BENCH.parent))
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import home  # noqa: E402
import home_cases  # noqa: E402
import home_words  # noqa: E402


def check(is_right, what):
    if not is_right:
        sys.exit(f"FAILED: {what}")


for half in home_cases.HALVES:
    made = list(home_cases.homes(half, 40))
    check(made == list(home_cases.homes(half, 40)), "the same homes")
    kinds = [request["kind"] for _, requests in made for _, request in requests]
    check(len(kinds) == 40 and set(kinds) == set(home_cases.KINDS), f"all kinds: {kinds}")
    for invented, requests in made:
        for devices, request in requests:
            names = {device["name"] for device in devices}
            check(names == {device["name"] for device in invented["devices"]}, "the same devices with other states")
            check(set(request["expected"]) <= names, f"what is there: {request}")
            begun = {device["name"]: device["state"] for device in devices}
            for name, wanted in request["expected"].items():
                check(wanted.get("state") != begun[name] or len(wanted) > 1, f"something has to change: {request}")

for kind, (choosing, reporting) in home_cases.ASK.items():
    taught = {sentence for sentences in home_words.ASK.values() for sentence in sentences}
    check(not set(choosing) & set(reporting), f"halves have no sentence in common: {kind}")
    check(not (set(choosing) | set(reporting)) & taught, f"nor one that is trained on: {kind}")

OFF, ON, DIM = {"state": "off"}, {"state": "on", "brightness": 255}, {"state": "on", "brightness": 51}


def result(expected, before, after, said="", **more):
    return home.result_of({"expected": expected, **more}, {"before": before, "after": after, "said": said})


dim = {"A": {"state": "on", "brightness": 51}}
check(result(dim, {"A": OFF, "B": OFF}, {"A": DIM, "B": OFF}) == "right", "as asked")
check(result(dim, {"A": OFF, "B": OFF}, {"A": ON, "B": OFF}) == "wrong", "too bright")
check(result(dim, {"A": OFF, "B": OFF}, {"A": OFF, "B": OFF}) == "nothing", "nothing done")
check(result(dim, {"A": OFF, "B": OFF}, {"A": DIM, "B": ON}) == "harm", "another one, too")
check(result({}, {"A": OFF}, {"A": OFF}, "There is none.") == "right", "nothing to do")
check(result({}, {"A": OFF}, {"A": ON}) == "harm", "something where nothing was asked")
check(result({}, {"A": OFF}, {"A": OFF}, "It is off.", says=["off"]) == "right", "the state is told")
check(result({}, {"A": OFF}, {"A": OFF}, "It is often on.", says=["off"]) == "wrong", "another state is told")

folder = Path(os.environ.get("PREDGEN_HOME_ASSISTANT", Path.home() / f".cache/predgen/home-assistant-{home.VERSION}"))
if not (folder / "ready").exists():
    sys.exit(print(f"ok; skipped: Home Assistant itself, which is not in {folder}"))
run = subprocess.run([sys.executable, BENCH, "predgen", "--requests", "3", "--rows", "/dev/stderr", "rules"], capture_output=True, text=True)
rows = [json.loads(line) for line in run.stderr.splitlines()]
check(run.returncode == 0 and [row["result"] for row in rows] == ["nothing", "nothing", "right"], run.stdout + run.stderr)
check(rows[2]["said"] == "Paused" and rows[2]["changed_after"] < rows[2]["seconds"], f"a paused player: {rows[2]}")
print("ok")
