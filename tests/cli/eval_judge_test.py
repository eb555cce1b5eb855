"""predgen eval with a judge: a local server that is busy, slow, fails and answers nonsense."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PREDGEN = os.environ["PREDGEN"]
KEY = "sk-not-to-be-seen"
CONFIG = """
model: checkpoints/demo
output: {output}
methods: [baseline, greedy, top3]
turns: {{kind: prompts, file: {prompts}}}
clock: {{kind: virtual, cost: table}}
generation: {{max_new_tokens: 24}}
threads: 1
"""
JUDGE = """
judge:
  endpoint: {endpoint}
  model: fair
  key_variable: PREDGEN_JUDGE_KEY
  prompts: {templates}
"""
QUESTIONS = ["please book a table for two people tonight", "what is the weather in Fresno like?",
             "nobody can judge this one, can you?", "this one is slow, where can I see a film?"]
TEMPLATES = [{"type": "single", "system_prompt": "Be fair.", "prompt_template": "{question}|{answer}"},
             {"type": "pairwise", "system_prompt": "", "prompt_template": "{question}|{answer_a}|{answer_b}"}]


class Judge(BaseHTTPRequestHandler):
    seen = []  # requests
    slow = 0  # seconds that one question takes
    trouble = []  # replies that come first

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Judge.seen.append(request | {"key": self.headers["Authorization"], "time": time.monotonic()})
        question, *answers = request["messages"][-1]["content"].split("|")
        if Judge.trouble:
            return self.reply(*Judge.trouble.pop(0))
        if "slow" in question:
            time.sleep(Judge.slow)
        verdict = "[[7]]" if len(answers) == 1 else "[[A]]" if len(answers[0]) > len(answers[1]) else "[[B]]"
        if "nobody" in question:
            verdict = "I would rather not say"
        self.reply(200, json.dumps({"choices": [{"message": {"role": "assistant", "content": verdict}}],
                                    "usage": {"prompt_tokens": 50, "completion_tokens": 5}}))

    def reply(self, status, text, headers=()):
        body = text.encode()
        try:
            self.send_response(status)
            for name, value in dict(headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:  # the client did not wait
            pass

    def log_message(self, *arguments):
        pass


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


def evaluate(config, *arguments, key=KEY):
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    if key:
        environment["PREDGEN_JUDGE_KEY"] = key
    return subprocess.run([PREDGEN, "eval", "--config", config, *arguments], capture_output=True, text=True,
                          env=environment)


def refused(run, *parts):
    lines = [line for line in run.stderr.splitlines() if line.startswith("predgen: ")]
    return run.returncode == 2 and len(lines) == 1 and all(part in lines[0] for part in parts)


def read_results(output):
    results = json.loads((output / "results.json").read_text())
    return results, {(row["prompt"], row["method"]): row for row in results["turns"]}


def main(scratch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    output = scratch / "out"
    prompts, templates, plain, config = (scratch / name for name in ("prompts", "templates", "plain.yaml", "eval.yaml"))
    prompts.write_text("".join(json.dumps({"prompt": question}) + "\n" for question in QUESTIONS))
    templates.write_text("".join(json.dumps(row) + "\n" for row in TEMPLATES))
    plain.write_text(CONFIG.format(output=output, prompts=prompts))
    endpoint = f"http://127.0.0.1:{server.server_port}/v1/"
    config.write_text(plain.read_text() + JUDGE.format(endpoint=endpoint, templates=templates))

    run = evaluate(plain)
    check(run.returncode == 0 and run.stdout.count("no judge") == 3, f"without a judge the table says so {run.stderr}")

    check(refused(evaluate(config), "28 times", "--judge-yes", "max_calls=28"), "the cost is asked for first")
    check(refused(evaluate(config, "judge.max_calls=27"), "28 times"), "one call too many")
    check(refused(evaluate(config, "--judge-yes", key=None), "PREDGEN_JUDGE_KEY"), "no key")
    check(refused(evaluate(config, "--judge-yes", "judge.endpoint=http://127.0.0.1:9"), "127.0.0.1:9", "reached"),
          "nothing listens")
    check(refused(evaluate(config, f"judge.prompts={scratch}/absent"), "absent"), "no prompts")
    check(refused(evaluate(config, "judge.endpoint=judge"), "http://"), "no address")
    check(not Judge.seen, "nothing was asked so far")

    Judge.slow = 1
    run = evaluate(config, "--judge-yes", "judge.timeout_seconds=0.5", "judge.retries=0", "judge.pairs=false")
    check(run.returncode == 0, f"eval runs {run.stderr[-500:]}")
    results, rows = read_results(output)
    check(all(rows[question, "top3"]["judge_grade"] == 7 for question in QUESTIONS[:2]), "grades")
    check("rather not" in rows[QUESTIONS[2], "greedy"]["judge_grade_problem"], "nonsense is no grade")
    check("imeout" in rows[QUESTIONS[3], "baseline"]["judge_grade_problem"], "a slow judge is given up")
    grade = results["methods"]["baseline"]["judge"]["grade"]
    check(grade == {"mean": 7, "n": 2, "missing": 2} and "7.00 2 out" in run.stdout, "what is missing is in no mean")
    check("Not judged" in run.stdout and "rather not" in run.stdout, "and is listed")
    check({seen["key"] for seen in Judge.seen} == {f"Bearer {KEY}"}, "the key is sent")
    check(KEY not in run.stdout + run.stderr + (output / "results.json").read_text() +
          "".join(file.read_text() for file in (output / "judge_cache").iterdir()), "and written nowhere")

    Judge.slow = 0
    Judge.trouble = [(429, "slow down", {"Retry-After": "2"}), (200, "<html>not an API</html>"), (500, "oops")]
    num_seen = len(Judge.seen)
    run = evaluate(config, "judge.max_calls=28", "judge.retries=3")
    results, rows = read_results(output)
    first = Judge.seen[num_seen:][:4]
    check(first[1]["time"] - first[0]["time"] > 1.9, "429 says when to come again")
    check(len({json.dumps(seen["messages"]) for seen in first}) == 1, "what may pass is asked again")
    check(rows[QUESTIONS[3], "baseline"]["judge_grade"] == 7, "and answered")
    asked = [seen["messages"][-1]["content"] for seen in Judge.seen[num_seen:]]
    check(not any(text.startswith(tuple(QUESTIONS[:2])) and text.count("|") == 1 for text in asked),
          "grades that are known are not asked for again")
    check(results["environment"]["judge"]["usage"]["calls"] == len(asked), "calls are counted")
    check(all(rows[question, "greedy"]["judge_against_baseline"] == "tie" for question in QUESTIONS),
          "the same text is a tie")
    for question in QUESTIONS[:2] + QUESTIONS[3:]:
        ours, theirs = (len(rows[question, name]["text"]) for name in ("top3", "baseline"))
        same = rows[question, "top3"]["text"] == rows[question, "baseline"]["text"]
        check(same or rows[question, "top3"]["judge_against_baseline"] ==
              ("win" if ours > theirs else "loss" if ours < theirs else "tie"), "both orders agree")
    server.shutdown()

    local = scratch / "local.yaml"
    local.write_text(plain.read_text() + f"judge: {{folder: checkpoints/demo, prompts: {templates}, max_reply_tokens: 16}}\n")
    run = evaluate(local, key=None)
    check(run.returncode == 0 and "- 4 out" in run.stdout, f"a model that cannot judge {run.stderr[-500:]}")
    row = read_results(output)[1][QUESTIONS[0], "top3"]
    chat = scratch / "chat.json"
    chat.write_text(json.dumps([{"role": "system", "content": "Be fair."},
                                {"role": "user", "content": f"{QUESTIONS[0]}|{row['text']}"}]))
    reply = subprocess.run([PREDGEN, "generate", "--model", "checkpoints/demo", "--messages", chat, "--max-new-tokens",
                            "16", "--json"], capture_output=True, text=True, check=True)
    text = json.loads(reply.stdout)["results"][0]["text"].strip()
    check(text and text in row["judge_grade_problem"], f"a local judge is asked: {text}, {row['judge_grade_problem']}")
    check(refused(evaluate(local, "judge.model=fair", key=None), "folder of a model"), "a folder and a name")
    check(refused(evaluate(local, f"judge.folder={scratch}/absent", key=None), "absent"), "no such folder")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
