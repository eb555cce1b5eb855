"""The shipped configurations for LMSYS-Chat-1M, on a made-up corpus in its layout and a small random
model: examples, trajectories, a few training steps; a base of each architecture; both stages of Jacobi
forcing, stopped and started again. Only paths and sizes are overridden."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from program import PREDGEN, REPOSITORY, check, run
from reference_models import make_config, make_model
from tiny_model import WORDS, make_folder

try:
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq
    from tokenizers import Tokenizer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

CONFIGS = REPOSITORY / "configs"
FEW_RECORDS = ["max_records=24", "max_new_tokens=10"]
SIZES = dict(vocab_size=300, num_hidden_layers=2, max_position_embeddings=1024)
MODERATION = ["harassment", "hate", "self-harm", "sexual", "violence"]


def make_rows(first, count):
    """Rows with the columns of the corpus; what becomes of each follows from its number."""
    rows = []
    for i in range(first, first + count):
        messages = []
        for turn in range(1 + i % 3):
            messages += [{"content": f"numbers {i} and {7 * i}, turn {turn}: {WORDS[i % 3]}", "role": "user"},
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
    os.environ["PREDGEN_DATA"], os.environ["PREDGEN_MODEL"] = str(scratch), str(model)
    os.environ["PREDGEN_RUN"] = str(scratch / "run")

    dataset = scratch / "run" / "dataset"
    summary = json.loads(command("data", "build", "--config", CONFIGS / "data" / "lmsys.yaml",
                                 "--json"))
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

    summary = json.loads(command(
        "data", "trajectories", "--config", CONFIGS / "data" / "lmsys_trajectories.yaml",
        *FEW_RECORDS, "device=cpu", "threads=1", "--json"))
    check(summary["counters"]["records_read"] == 24 and summary["num_records"] > 0,
          f"trajectories: {summary}")

    train = ["train", "--config", CONFIGS / "train" / "lmsys_cllm.yaml", "device=cpu", "threads=1",
             "watch.max_new_tokens=8"]
    command(*train, "max_steps=2")
    check_adapter(scratch / "run" / "cllm")
    check_watch(scratch / "run" / "cllm")
    for arch in ("llama", "mistral", "olmo2"):
        base = scratch / arch
        shutil.copytree(model, base, ignore=shutil.ignore_patterns("config.json", "*.safetensors"))
        make_model(make_config(arch, **SIZES)).save_pretrained(base)
        command(*train, f"model={base}", f"output={scratch / 'run' / arch}", "max_steps=1",
                "global_batch=1")
        check_adapter(scratch / "run" / arch)
    check_jacobi_forcing(scratch / "run" / "jacobi_forcing")


def check_adapter(output):
    adapter = json.loads((output / "final" / "adapter_config.json").read_text())
    check((adapter["r"], adapter["lora_alpha"], len(adapter["target_modules"])) == (32, 16, 7),
          f"{output.name}: rank, alpha and layers as configured")
    steps = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    trained = [row for row in steps if "train/ar" in row]
    check(trained and all("train/consistency" in row for row in trained),
          f"{output.name}: both terms are trained: {steps}")


def check_watch(output):
    steps = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    watched = [row for row in steps if "watch/tokens_per_pass" in row]
    check([row["step"] for row in watched] == [0, 2], f"it is watched before and after: {watched}")
    check(watched[0]["watch/start_agreement"] == 1 and watched[0]["watch/tokens_per_pass"] >= 1,
          f"bfloat16 answers: {watched}")


def check_jacobi_forcing(runs):
    few = [argument for value in FEW_RECORDS for argument in ("--trajectories", value)]
    for value in ("device=cpu", "threads=1"):
        few += ["--trajectories", value, "--train", value]

    def script(*arguments):
        return subprocess.run([REPOSITORY / "scripts" / "train_jacobi_forcing.sh", *few, *arguments],
                              env={**os.environ, "PREDGEN": str(PREDGEN)}, capture_output=True, text=True)

    stopped = script("--train", "stop_at_step=1")
    check(stopped.returncode != 0 and not (runs / "stage_1" / "final").exists() and
          (runs / "stage_1" / "step-00000001").is_dir(),
          f"stage 1 was stopped after a step: {stopped.stdout[-500:]} {stopped.stderr[-500:]}")
    check("Truncated prompts: " in stopped.stdout, "the prompts are those that were there")
    done = script()
    check(done.returncode == 0, f"it goes on: {done.stdout[-500:]} {done.stderr[-500:]}")
    check("going on after step 1" in done.stderr, f"from its checkpoint: {done.stderr[-500:]}")
    for stage, block_size in ((1, 16), (2, 32)):
        check_adapter(runs / f"stage_{stage}")
        manifest = json.loads((runs / f"trajectories_{block_size}" / "manifest.json").read_text())
        check((manifest["recipe"]["block_size"], manifest["recipe"]["ar_labels"]) ==
              (block_size, "fixed_point"), f"blocks of {block_size} are trained on in stage {stage}")
    models = [json.loads((runs / f"trajectories_{size}" / "manifest.json").read_text())["recipe"]["model"]
              for size in (16, 32)]
    check(models[0] != models[1], "the second trajectories are of the model that stage 1 made")
    config = (runs / "stage_2" / "config.yaml").read_text()
    check(f'start_from: "{runs}/stage_1/final"' in config, "stage 2 goes on from stage 1")
    again = script()
    check(again.returncode == 0 and again.stdout.count(" is there\n") == 5, "nothing is made twice")
    for wrong in (["--nprocs", "2"], ["--nproc"], ["--nproc", "2", "--launch", "srun"]):
        check(script(*wrong).returncode == 2, f"refused: {wrong}")


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as name:
    main(Path(name))
