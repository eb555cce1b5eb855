"""predgen bench --model: the figures agree with each other; what is refused; Ctrl-C."""

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from program import ESPEAK, PREDGEN, REPOSITORY, check, run
from tiny_model import make_adapter

DEMO = REPOSITORY / "checkpoints" / "demo"
SMALL = ["--prompt", "40", "--generate", "12", "--draft", "4,8", "--runs", "2", "--threads", "1"]


def check_report(scratch):
    result = run("bench", "--model", DEMO, "--adapter", f"{DEMO}-cllm", *SMALL, "--json")
    check(result.returncode == 0, f"bench runs {result.stderr[-300:]}")
    report = json.loads(result.stdout)
    check(list(report) == ["model"], "the model alone")
    report = report["model"]
    check(0 < report["load"] < report["first_token"] < 600, f"the first token comes after {report['first_token']} s")
    check(0 <= report["weights_in_memory_before"] <= 1, "what was in memory before")
    decode = report["decode"]
    for name, figure in (("prefill", report["prefill"]["seconds"]), ("step", report["step"]["seconds"]),
                         ("decode", decode["tokens_per_second"])):
        check(len(figure["values"]) == 2 and 0 < figure["min"] <= figure["median"] <= figure["max"],
              f"{name} has its two runs: {figure}")
    sizes = decode["bytes_per_token"]
    check(sizes["adapter"] > 0 and sizes["total"] == sizes["weights"] + sizes["adapter"]
          + sizes["keys_and_values"], f"the bytes add up: {sizes}")
    check(sizes["weights"] == 4 * report["parameters"], "float32 weights, tied embeddings")
    share = sizes["total"] / decode["seconds_per_token"]["min"] / report["memory_bandwidth"]["bytes_per_second"]
    check(math.isclose(decode["share_of_bandwidth"]["max"], share, rel_tol=1e-9), "so does the share")
    allocated = decode["allocated_bytes_per_token"]
    check(0 < allocated["min"] <= allocated["max"] < 4e3, f"a step allocates the engine's notes alone: {allocated}")
    check([verify["draft"] for verify in report["verify"]] == [4, 8], "two drafts")
    check([answer["block"] for answer in report["answers"]] == [1, 4, 8], "and blocks")
    for answer in report["answers"]:
        passes = answer["passes_per_token"]
        check(passes["max"] <= 1 and (answer["block"] > 1) == (passes["min"] < 1),
              f"blocks of {answer['block']} take {passes['values']} passes a token")
    buffer = report["memory_bandwidth"]["buffer_bytes"]
    if buffer > 1 << 30:  # clearly more than the program itself
        check(report["peak_memory"]["process"] < buffer, "the buffer is not part of the peak")

    rows = scratch / "rows.jsonl"
    rows.write_text('{"token_ids": [1, 2, 3]}\n{"messages": [{"role": "user", "content": "hello"}]}\n')
    table = run("bench", "--model", DEMO, "--quantize", "int8", "--input", rows, *SMALL)
    check(table.returncode == 0, f"in 8 bits {table.stderr[-300:]}")
    for part in ("int8", "prefill of 40", "verify a draft of 8", "Jacobi, blocks of 4",
                 "% of memory bandwidth", "peak memory", "after the start of the program", "What this means", "checking 8 tokens",
                 "% of the weight files in memory before"):
        check(part in table.stdout, f"the table has: {part}")


def check_refusals(scratch):
    model = ["--model", DEMO]
    for arguments, part in (([], "--tts"), (["--model", scratch / "none"], "none"),
                            ([*model, "--draft", "16,1"], "--draft 1"),
                            ([*model, "--prompt", "0"], "--prompt 0"),
                            ([*model, "--generate", "1"], "--generate 1"),
                            ([*model, "--prompt", "1000"], "1128 tokens do not fit into the 1024"),
                            ([*model, "--prompt", "500", "--draft", "600"], "--draft 600"),
                            ([*model, "--adapter", make_adapter(scratch)], "adapter"),
                            ([*model, "--adapter", DEMO], "adapter_config.json"),
                            ([*model, "--input", scratch / "rows"], "rows"),
                            ([*model, "--text", "hello"], "--text needs --tts"),
                            (["--tts", "espeak", "--draft", "8"], "--draft needs --model")):
        bad = run("bench", *arguments)
        check(bad.returncode == 2 and part in bad.stderr and bad.stderr.count("\n") == 1
              and not bad.stdout, f"{arguments[2:]} is refused in a line: {bad.stderr.strip()}")


def check_interrupt():
    process = subprocess.Popen([PREDGEN, "bench", "--model", DEMO, "--runs", "100000", "--threads", "1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.read(process.stderr.fileno(), 1)  # of its progress: by now it listens
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    check(process.returncode == 130 and "interrupted" in errors and not output, f"Ctrl-C {errors}")


def check_voice():
    if not ESPEAK:
        print("skipped: bench --model --tts (no predgen-espeak)")
        return
    both = run("bench", "--model", DEMO, "--tts", "espeak", *SMALL, "--json")
    check(both.returncode == 0, f"both halves {both.stderr[-300:]}")
    report = json.loads(both.stdout)
    check(sorted(report) == ["model", "voice"] and report["voice"]["first_audio"]["mean"] > 0,
          "one document for both")


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    check_refusals(Path(folder))
    check_report(Path(folder))
    check_interrupt()
    check_voice()
sys.exit(0)
