"""Measures the table of 28 sample requests in docs/measurements.md again, in less than 15 minutes on two idle cores.

usage: "$(scripts/setup.sh)" bench/readme_table.py PREDGEN [PROMPTS]

  PROMPTS  JSON lines with "text", of which 28 are taken, evenly spread (data/samples/spoken_prompts.jsonl)
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from talk_waits import measure, percentile, read_aloud, texts_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
COUNT = 28
FIXED_PAUSE = "--shortest-wait 0.8 --longest-wait 0.8"
WAYS = {"without drafts": f"--verifier off {FIXED_PAUSE}", "preemptive": f"--preemptive {FIXED_PAUSE}", "predgen": ""}
METHODS = ["baseline", "preemptive", "ngram"]  # of the same columns


def spoken(predgen, texts, folder):
    subprocess.run([sys.executable, ROOT / "scripts/fetch_model.py", "joe"], check=True, stdout=subprocess.DEVNULL)
    read_aloud(predgen, ["--tts", "piper", "--voice", "joe"], texts, folder)
    rows = measure(predgen, WAYS, texts, folder)
    waits = [[f"{1e3 * percentile(row.waits, share):,.0f} ms" for row in rows] for share in (0.5, 0.95)]
    return [["spoken turn, median wait", *waits[0]], ["spoken turn, the wait that 1 in 20 exceeds", *waits[1]],
            [f"spoken turns in which you were cut off, of {COUNT}", *(row.cut for row in rows)]]


def typed(predgen, prompts, folder):
    subprocess.run([predgen, "eval", "--config", ROOT / "configs/eval/smollm2.yaml", "past_answers=", f"turns.file={prompts}",
                    f"turns.count={COUNT}", f"methods=[{','.join(METHODS)}]", f"output={folder}"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    results = json.loads((folder / "results.json").read_text())
    means = [results["methods"][method] for method in METHODS]
    changed = [0, *(COUNT - results["comparisons"][method]["equal_text"]["count"] for method in METHODS[1:])]
    ready = [f"{100 * of['ready_before_end']['mean']:.0f} %" for of in means]
    passes = [f"{of['speculative_nfe']['mean']:.0f}" for of in means]
    return [["typed: turns whose first sentence is ready before the system knows that you have finished", *ready],
            ["typed: passes before the system knows that, for one turn", *passes],
            [f"typed: answers whose text changed, of {COUNT}", *changed]]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    predgen = pathlib.Path(sys.argv[1]).resolve()
    prompts = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else ROOT / "data/samples/spoken_prompts.jsonl").resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        rows = spoken(predgen, texts_of(prompts, COUNT), folder) + typed(predgen, prompts, folder / "typed")
    for row in [["what", *WAYS], ["---"] * 4, *rows]:
        print("|", " | ".join(map(str, row)), "|")


if __name__ == "__main__":
    main()
