"""The shipped configurations for LMSYS-Chat-1M, on a made-up corpus in its layout and a small random
model: examples, trajectories, a few training steps. Only paths and sizes are overridden."""

import json
import os
import sys
import tempfile
from pathlib import Path

from tiny_model import REPOSITORY, WORDS, check, make_folder, run

try:
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq
    from tokenizers import Tokenizer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CONFIGS = REPOSITORY / "configs"
MODERATION = ["harassment", "hate", "self-harm", "sexual", "violence"]


def make_rows(first, count):
    """Rows with the columns of the corpus; what becomes of each follows from its number."""
    rows = []
    for i in range(first, first + count):
        messages = []
        for turn in range(1 + i % 3):
            messages += [{"content": f"number {i}, turn {turn}: {WORDS[i % 3]}", "role": "user"},
                         {"content": f"{WORDS[(i + turn) % 3]}. that was {i}", "role": "assistant"}]
        moderation = [{"categories": {name: i % 11 == 5 for name in MODERATION},
                       "category_scores": {name: 0.25 for name in MODERATION},
                       "flagged": i % 11 == 5} for _ in messages]
        rows.append({"conversation_id": f"{i:032x}", "model": "vicuna-13b", "conversation": messages,
                     "turn": len(messages) // 2, "language": "Portuguese" if i % 10 == 3 else "English",
                     "openai_moderation": moderation, "redacted": i % 13 == 7})
    return rows


def command(*arguments):
    result = run(*arguments)
    check(result.returncode == 0, f"{' '.join(map(str, arguments))}: {result.stderr[-500:]}")
    return result.stdout


def main(scratch):
    model = make_folder(scratch)
    folder = scratch / "lmsys-chat-1m" / "data"
    folder.mkdir(parents=True)
    rows = []
    for shard in range(2):
        part = make_rows(100 * shard, 100)
        pq.write_table(pa.Table.from_pylist(part), folder / f"train-{shard:05}-of-00002-abc.parquet",
                       compression="snappy", row_group_size=32)
        rows += part
    os.environ["PREDGEN_DATA"], os.environ["PREDGEN_QWEN"] = str(scratch), str(model)

    dataset = scratch / "dataset"
    summary = json.loads(command("data", "build", "--config", CONFIGS / "data" / "lmsys.yaml",
                                 f"output={dataset}", "--json"))
    counters, dropped = summary["counters"], summary["counters"]["dropped"]
    foreign = [row for row in rows if row["language"] != "English"]
    redacted = [row for row in rows if row["language"] == "English" and row["redacted"]]
    flagged = [row for row in rows if row["language"] == "English" and not row["redacted"] and
               row["openai_moderation"][0]["flagged"]]
    check(counters["rows_read"] == len(rows) == 200, f"every row of both shards: {counters}")
    check((dropped["language"], dropped["redacted"], dropped["flagged"]) ==
          (len(foreign), len(redacted), len(flagged)), f"filters as configured: {dropped}")
    kept = len(rows) - len(foreign) - len(redacted) - len(flagged)
    check(counters["records"] + counters["held_out_records"] == kept and
          0 < counters["held_out_records"] < 20, f"one example of each other row: {counters}")
    with h5py.File(dataset / "shard-00000.h5") as shard:
        text = Tokenizer.from_file(str(model / "tokenizer.json")).decode(
            shard["tokens"][: shard["token_offsets"][1]].tolist())
    check("Do not complain about incomplete prompts" in text, "with the system prompt of Table 3")

    trajectories = scratch / "trajectories"
    summary = json.loads(command(
        "data", "trajectories", "--config", CONFIGS / "data" / "lmsys_trajectories.yaml",
        f"dataset={dataset}", f"output={trajectories}", "max_records=24", "max_answer_tokens=10",
        "device=cpu", "threads=1", "--json"))
    check(summary["counters"]["records_read"] == 24 and summary["num_records"] > 0,
          f"trajectories: {summary}")

    command("train", "--config", CONFIGS / "train" / "lmsys_cllm.yaml", f"dataset={trajectories}",
            f"watch.dataset={dataset / 'held_out'}", "watch.max_new_tokens=8",
            f"output={scratch / 'cllm'}", "max_steps=2", "device=cpu", "threads=1")
    adapter = json.loads((scratch / "cllm" / "final" / "adapter_config.json").read_text())
    check((adapter["r"], adapter["lora_alpha"]) == (32, 16), "the adapter has the configured rank")
    steps = [json.loads(line) for line in (scratch / "cllm" / "metrics.jsonl").read_text().splitlines()]
    trained = [row for row in steps if "train/ar" in row]
    check(trained and all("train/consistency" in row for row in trained),
          f"both terms are trained: {steps}")
    watched = [row for row in steps if "watch/tokens_per_pass" in row]
    check([row["step"] for row in watched] == [0, 2], f"it is watched before and after: {watched}")
    check(watched[0]["watch/start_agreement"] == 1 and watched[0]["watch/tokens_per_pass"] >= 1,
          f"bfloat16 answers: {watched}")


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as name:
    main(Path(name))
