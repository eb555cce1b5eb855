"""A run of predgen eval is graded by scripts/judge.py: by a judge behind an API, and by predgen serve. What the judge is
asked, and its troubles, are in tests/scripts/judge_test.py."""

import csv
import io
import json
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from program import REPOSITORY, check, run
from serving import DEMO, server

CONFIG = """
model: checkpoints/demo
output: {output}
methods: [baseline, greedy, top3]
turns: {{kind: {kind}, file: {file}}}
clock: {{kind: virtual, cost: table}}
generation: {{max_new_tokens: 24}}
threads: 1
"""
QUESTIONS = ["please book a table for two people tonight", "what is the weather in Fresno like?",
             "this one is slow, where can I see a film?"]
TEMPLATES = [{"type": "single", "system_prompt": "Be fair.", "prompt_template": "{question}|{answer}"},
             {"type": "pairwise", "system_prompt": "", "prompt_template": "{question}|{answer_a}|{answer_b}"},
             {"type": "single", "system_prompt": "", "prompt_template": "{question_1}|{answer_1}|{question_2}|{answer_2}"},
             {"type": "pairwise", "system_prompt": "",
              "prompt_template": "{question_1}|{answer_a_1}|{answer_b_1}|{question_2}|{answer_a_2}|{answer_b_2}"}]
COLUMNS = ["judge_grade", "judge_against_baseline", "judge_grade_problem", "judge_against_baseline_problem"]


class Judge(BaseHTTPRequestHandler):
    """Prefers what is longer."""
    asked = []

    def do_GET(self):
        self.send_error(404)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Judge.asked.append(request["messages"][-1]["content"])
        parts = Judge.asked[-1].split("|")
        longer = len(parts) in (3, 6) and len(parts[-2]) > len(parts[-1])
        text = "[[7]]" if len(parts) in (2, 4) else "[[A]]" if longer else "[[B]]"
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def grade(output, endpoint, prompts, *arguments, model="fair"):
    command = [sys.executable, REPOSITORY / "scripts" / "judge.py", output, "--endpoint", f"{endpoint}/v1", "--model", model,
               "--prompts", prompts, "--yes", *arguments]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def without(text, names):
    """Text of a CSV file without these columns."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    kept = [at for at, name in enumerate(rows[0]) if name not in names]
    return [[row[at] for at in kept] for row in rows]


def by_an_endpoint(output, prompts):
    listener = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    before, table = (output / "results.json").read_text(), (output / "turns.csv").read_bytes().decode()
    plain = json.loads(before)
    check(json.dumps(plain, ensure_ascii=False, indent=1) + "\n" == before, "results.json is written as eval writes it")
    done = grade(output, f"http://127.0.0.1:{listener.server_port}", prompts)
    listener.shutdown()
    check(done.returncode == 0 and "7.00" in done.stdout, f"a judge grades: {done.stderr}")
    graded = json.loads((output / "results.json").read_text())
    rows = {(row["turn"], row["method"]): row for row in graded["turns"]}
    check(all(row["judge_grade"] == 7 for row in rows.values()), "every answer has a grade")
    for (turn, method), row in rows.items():
        base = rows[turn, "baseline"]
        own, other = len(row["text"]), len(base["text"])
        outcome = "win" if own > other else "loss" if own < other else "tie"
        check(row["judge_against_baseline"] == (None if method == "baseline" else outcome), f"{turn} {method}: {outcome}")
    bare = [{name: value for name, value in row.items() if name not in COLUMNS} for row in graded["turns"]]
    check(bare == plain["turns"], "nothing else of an answer has changed")
    check(without((output / "turns.csv").read_bytes().decode(), COLUMNS) == without(table, []), "nor in turns.csv")
    page = run("report", output)
    check(page.returncode == 0, f"a page is made of it: {page.stderr}")
    same = run("eval", "--compare", output, output)
    check(same.returncode == 0, f"graded results are compared: {same.stderr}")


def by_our_server(output, prompts):
    with server() as process:
        done = grade(output, process.url, prompts, "--max-reply-tokens", 16, "--no-pairs", model="demo")
    check(done.returncode == 0 and done.stdout.count("- 3 out") == 3, f"it cannot judge: {done.stderr}{done.stdout}")
    row = json.loads((output / "results.json").read_text())["turns"][0]
    chat = output / "chat.json"
    chat.write_text(json.dumps([{"role": "system", "content": "Be fair."},
                                {"role": "user", "content": f"{row['prompt']}|{row['text']}"}]))
    reply = run("generate", "--model", DEMO, "--messages", chat, "--max-new-tokens", 16, "--json")
    text = json.loads(reply.stdout)["results"][0]["text"].strip()
    check(text and text in row["judge_grade_problem"], f"but says what it always says: {text}, {row['judge_grade_problem']}")


def main(scratch):
    prompts, questions, bench = (scratch / name for name in ("prompts.jsonl", "questions.jsonl", "bench.jsonl"))
    prompts.write_text("".join(json.dumps(row) + "\n" for row in TEMPLATES))
    questions.write_text("".join(json.dumps({"prompt": question}) + "\n" for question in QUESTIONS))
    bench.write_text(json.dumps({"question_id": 81, "turns": ["book a table", "and what about music?"]}) + "\n")
    config = scratch / "eval.yaml"
    for kind, file in (("prompts", questions), ("mt_bench", bench)):
        output = scratch / kind
        config.write_text(CONFIG.format(output=output, kind=kind, file=file))
        done = run("eval", "--config", config)
        check(done.returncode == 0 and "judge" not in done.stdout, f"without a judge there is no column: {done.stdout}{done.stderr}")
        by_an_endpoint(output, prompts)
    by_our_server(scratch / "prompts", prompts)
    config.write_text(config.read_text() + "judge: {endpoint: http://127.0.0.1:9/v1, model: fair, prompts: x}\n")
    old = run("eval", "--config", config)
    check(old.returncode == 2 and old.stderr.count("\n") == 1 and "predgen-judge" in old.stderr, f"the old section: {old.stderr}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
