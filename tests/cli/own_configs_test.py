"""The shipped configurations for one's own chats, on a file of rows of every kind and a small random
model: examples, trajectories, a few training steps. Only sizes are overridden. The shipped prompts are
such a file."""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from program import REPOSITORY, check, run
from tiny_model import WORDS, make_folder

CONFIGS, SAMPLES = REPOSITORY / "configs", REPOSITORY / "data" / "samples"


def own_rows():
    rows = []
    for i in range(24):
        question, answer = f"question {i} of {7 * i}, {WORDS[i % 3]}", f"{WORDS[(i + 1) % 3]} and {i}"
        as_openai = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        as_sharegpt = [{"from": "human", "value": question}, {"from": "gpt", "value": answer}]
        rows.append([{"conversation": as_openai}, {"messages": as_openai}, {"conversations": as_sharegpt},
                     {"messages": as_openai[:1]}, {"prompt": question}, {"text": question}][i % 6])
    return rows


def command(*arguments):
    result = run(*arguments)
    check(result.returncode == 0, f"{' '.join(map(str, arguments))}: {result.stderr[-500:]}")
    return result


def failure(*arguments):
    result = run(*arguments)
    check(result.returncode == 2, f"{' '.join(map(str, arguments))} is refused: {result.stderr[-500:]}")
    return result.stderr


def check_own_chats(scratch):
    file = scratch / "chats.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in own_rows()))
    os.environ["PREDGEN_CHATS"] = str(file)
    build = ["data", "build", "--config", CONFIGS / "data" / "own.yaml", "--json"]
    error = failure(*build, "filters.languages=[English]")
    check(error.splitlines()[-1] == f"predgen: {file}: the dataset would be empty: 24 of 24 rows were "
          'dropped by filters.languages: they have no "language"', f"one plain line says why: {error}")

    summary = json.loads(command(*build, "held_out.fraction=0.2").stdout)
    counters = summary["counters"]
    check(counters["rows_read"] == 24 and not any(counters["dropped"].values()) and
          counters["records"] + counters["held_out_records"] == 4 * 24, f"every kind of row: {counters}")

    trajectories = ["data", "trajectories", "--config", CONFIGS / "data" / "own_trajectories.yaml",
                    "max_new_tokens=10", "max_records=24", "device=cpu", "threads=1", "--json"]
    error = failure(*trajectories, "ar_labels=dataset")
    check("prompts without an answer" in error, f"no labels, and said so: {error}")
    summary = json.loads(command(*trajectories).stdout)
    check(summary["counters"]["records_read"] == 24 and summary["num_records"] > 0, f"{summary}")

    train = ["train", "--config", CONFIGS / "train" / "own.yaml", "device=cpu", "threads=1"]
    error = failure(*train, "objective={kind: autoregressive}", f"dataset={scratch / 'run' / 'dataset'}",
                    f"output={scratch / 'ar'}")
    check("prompts without an answer" in error, f"an objective that needs answers: {error}")
    command(*train, "max_steps=2", "watch.max_new_tokens=8")
    check((scratch / "run" / "cllm" / "final" / "adapter_config.json").is_file(), "an adapter is trained")


def check_answers(scratch):
    """One configuration makes the examples of whole chats, with their own system messages, and learns them."""
    file = scratch / "answers.jsonl"
    rows = [{"messages": [{"role": "system", "content": f"{WORDS[i % 2]}, kindly."},
                          {"role": "user", "content": f"question {i} of {7 * i}?"},
                          {"role": "assistant", "content": f"{WORDS[(i + 1) % 3]} at {i}."}]} for i in range(28)]
    rows += [{"prompt": "please book a table", "completion": "for two people"}, {"messages": [
        {"role": "user", "content": "the weather"}, {"role": "assistant", "content": None, "tool_calls": [{}]}]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.environ["PREDGEN_CHATS"] = str(file)
    config = CONFIGS / "train" / "own_answers.yaml"
    counters = json.loads(command("data", "build", "--config", config, "--json").stdout)["counters"]
    check(counters["records"] == 26 and counters["held_out_records"] == 3 and
          counters["dropped"]["tool_calls"] == 1, f"a tenth of the 29 usable chats is held out: {counters}")
    dataset, model = scratch / "run" / "answers_data", os.environ["PREDGEN_MODEL"]
    shown = json.loads(command("data", "show", dataset, "--tokenizer", model, "--json", "-n", "1").stdout)["rows"][0]
    check("kindly" in "".join(shown["pieces"]), f"the row's own system message: {shown['pieces']}")
    lost = command("data", "build", "--config", config, "build.system_prompt=none", f"dataset={scratch / 'none'}")
    check("28 of 30 rows have a system message of their own" in lost.stderr and "system_prompt=row" in lost.stderr,
          f"a loss is said: {lost.stderr}")

    train = ["train", "--config", config, "device=cpu", "threads=1", "watch.max_new_tokens=8"]
    result = command(*train, "max_steps=2")
    check("held-out" in result.stderr and "made before" in result.stderr, f"the loss on held-out chats: {result.stderr}")
    check((scratch / "run" / "answers" / "final" / "adapter_config.json").is_file(), "an adapter is trained")
    error = failure(*train, "--resume", "auto")
    check("max_steps: 2 there, not set now" in error, f"what differs, in words: {error}")
    # Neither held-out chats nor a watch.
    command(*train, "epochs=null", "max_steps=1", "build.held_out.fraction=0", "held_out=", "watch.every=0",
            f"dataset={scratch / 'all'}", f"output={scratch / 'all_answers'}", f"watch.dataset={scratch / 'nothing'}")


def check_samples(scratch):
    texts = {}
    for name, count in (("spoken_prompts", 200), ("spoken_questions", 12)):
        rows = [json.loads(line) for line in (SAMPLES / f"{name}.jsonl").read_text().splitlines()]
        check(len(rows) == count and len({row["id"] for row in rows}) == count, f"{name}: ids")
        for row in rows:
            check(set(row) == {"id", "text"} and 4 <= len(row["text"].split()) <= 35 and
                  re.fullmatch(r"[A-Z].*[.?!]", row["text"]), f"{name}: {row}")
        texts[name] = rows
    summary = json.loads(command(
        "data", "build", "--config", CONFIGS / "data" / "own.yaml",
        f"sources=[{SAMPLES / 'spoken_prompts.jsonl'}]", f"output={scratch}/samples\udcff",
        f"held_out={{fraction: 0, files: [{SAMPLES / 'spoken_questions.jsonl'}]}}",
        "examples_per_conversation=1", "--json").stdout)
    check(summary["counters"]["records"] == 200 and summary["counters"]["held_out_prompts"] == 12,
          f"200 prompts, none twice, and none of them or nearly a question: {summary}")
    check(summary["output"] == f"{scratch}/samples\ufffd", f"a path that is no UTF-8: {summary['output']}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["PREDGEN_MODEL"], os.environ["PREDGEN_RUN"] = str(make_folder(folder)), str(folder / "run")
        check_own_chats(folder)
        check_answers(folder)
        check_samples(folder)
    print("ok")
    sys.exit(0)
