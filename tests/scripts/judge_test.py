"""scripts/judge.py: prompts, replies and columns in virtual time, then the whole command against an endpoint on this
machine that is busy, slow, cut off and wrong."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import judge_columns  # noqa: E402
import judge_prompts  # noqa: E402
from judge_client import JudgeClient, Reply, Verdict, seconds_to_wait  # noqa: E402

KEY = "sk-not-to-be-seen"
PROMPTS = [("single", "1 {question} | {answer}"),
           ("single", "1r {question} | {ref_answer_1} | {answer}"),
           ("single", "2 {question_1} | {answer_1} | {question_2} | {answer_2}"),
           ("pairwise", "p {question} | {answer_a} | {answer_b}"),
           ("pairwise", "pr {question} | {ref_answer_1} | {answer_a} | {answer_b}"),
           ("pairwise", "p2 {question_1} {question_2} {answer_a_1} {answer_b_1} | {answer_a_2} | {answer_b_2}")]
TEXTS = [("baseline", "plain", "plain"), ("greedy", "plain", "plain"), ("top3", "good", "bad")]
ASKED = ["1 write | plain", "1 write | good", "p write | plain | good", "p write | good | plain",
         "2 write | plain | again | plain", "2 write | good | again | bad",
         "p2 write again plain good | plain | bad", "p2 write again good plain | bad | plain"]


def verdict_on(asked):
    """A judge that prefers and likes what holds "good"."""
    if asked[0] != "p":
        return "[[9]]" if "good" in asked else "[[5]]"
    last = asked.rindex("|")
    if "good" in asked and asked[1] != "2":
        return "[[B]]" if asked.rindex("good") > last else "[[A]]"
    return "[[A]]" if asked.rfind("bad") > last else "[[B]]"


def make_results():
    """As predgen eval writes it: MT-Bench's question 81, both turns."""
    rows = [{"turn": turn, "id": f"81/{turn}", "method": method, "prompt": ("write", "again")[turn], "text": texts[turn],
             "token_ids": [1, 2], "ttfs": 0.30000000000000004, "flip_token": None, "same_act": True, "round": turn + 1,
             "model": "m", "cost": "given"} for turn in (0, 1) for method, *texts in TEXTS]
    run = {"methods": {method: {"ttfs": {"mean": 0.3}, "judge": None} for method, *_ in TEXTS}, "comparisons": {},
           "model": "m", "cost": {"name": "given"}, "unseen": None}
    turns = [{"id": f"81/{turn}", "history": [], "continues": turn == 1} for turn in (0, 1)]
    return {"runs": [run], "methods": json.loads(json.dumps(run["methods"])), "unseen": None, "questions": turns,
            "environment": {"threads": 1}, "turns": rows}


def write_lines(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


class Scratch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.prompts = self.folder / "prompts.jsonl"
        self.write_prompts(PROMPTS)

    def write_prompts(self, prompts, system=""):
        write_lines(self.prompts, [{"type": kind, "system_prompt": system, "prompt_template": template}
                                   for kind, template in prompts])

    def assert_bad(self, work, *parts):
        with self.assertRaises(judge_prompts.BadInput) as caught:
            work()
        self.assertEqual(len(str(caught.exception).splitlines()), 1)
        for part in parts:
            self.assertIn(part, str(caught.exception))


class PromptRows(Scratch):
    def test_a_prompt_is_chosen_by_its_places(self):
        self.write_prompts([("single", "{answer}"), ("single", "Q {question} {{x}} A {answer}")], system="Be fair.")
        prompts = judge_prompts.Prompts(self.prompts)
        self.assertEqual(prompts.fill("single", {"question": "why {answer}?", "answer": "so"}),
                         ("Be fair.", "Q why {answer}? {x} A so"))
        self.assertEqual(prompts.fill("single", {"answer": "so"}), ("Be fair.", "so"))
        self.assert_bad(lambda: prompts.fill("pairwise", {"question": "", "answer_a": ""}), "prompts.jsonl", '"pairwise"',
                        "{answer_a} {question}")

    def test_faults_name_the_row(self):
        good = '{"type": "single", "system_prompt": "", "prompt_template": "{answer}"}\n'
        for row, part in (('{"type":"single","system_prompt":""}', "prompt_template"), ("[1]", "JSON object"),
                          ('{"type":"single","system_prompt":"","prompt_template":"{answer"}', "brace"),
                          ('{"type":"single","system_prompt":"","prompt_template":"a } b"}', "brace"), ("{", "JSON object")):
            self.prompts.write_text(good + row)
            self.assert_bad(lambda: judge_prompts.Prompts(self.prompts), "prompts.jsonl:2", part)
        self.assert_bad(lambda: judge_prompts.Prompts(self.folder / "absent"), "absent", "docs/data.md")
        references = self.folder / "references.jsonl"
        references.write_text('{"question_id": 81, "choices": []}')
        self.assert_bad(lambda: judge_prompts.read_references(references), "references.jsonl:1", "choices")

    def test_verdicts_are_read_as_fastchat_reads_them(self):
        for reply, grade in (("Good. Rating: [[7]]", 7), ("[3] sources. Rating: [[8.5]] [[2]]", 8.5), ("Rating: [10]", 10),
                             ("[[ 7 ]] or [[seven]]", None), ("[[11]]", None), ("[[0]]", None), ("[[" + "9" * 400 + "]]", None)):
            self.assertEqual(judge_prompts.find_grade(reply), grade, reply)
        for reply, name in (("A is longer, [[B]]", "B"), ("[[C]]", "C"), ("[[A]] rather than [[B]]", "A"), ("Both [A]", None)):
            self.assertEqual(judge_prompts.find_preference(reply), name, reply)


class Clock:
    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def completion(text):
    return Reply(200, json.dumps({"choices": [{"message": {"content": text}}], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}))


class Client(Scratch):
    """An endpoint with replies in store, in virtual time."""

    def start(self, replies, **options):
        self.replies, self.bodies, self.times, self.clock, self.said = list(replies), [], [], Clock(), []
        self.options = types.SimpleNamespace(**{"endpoint": "http://judge", "model": "m", "cache": self.folder, "retries": 5,
                                                "max_reply_tokens": 2048, "calls_per_minute": 0} | options)
        self.client = self.make_client()

    def make_client(self):
        return JudgeClient(self.options, "secret", self.post, self.clock, self.said.append)

    def post(self, body):
        self.bodies.append(body)
        self.times.append(self.clock.now)
        return self.replies.pop(0) if self.replies else Reply(500, "")

    def ask(self, question, client=None, system="Be fair."):
        return (client or self.client).ask((system, question), lambda text: text.startswith("ok"))

    def test_sends_a_chat_and_counts_tokens(self):
        self.start([completion("ok 7")])
        self.assertEqual(self.ask("why?"), Verdict("ok 7"))
        self.assertEqual(self.bodies, [{"model": "m", "messages": [{"role": "system", "content": "Be fair."},
                                                                   {"role": "user", "content": "why?"}],
                                        "temperature": 0, "max_tokens": 2048}])
        self.assertEqual(self.client.usage, {"calls": 1, "from_cache": 0, "prompt_tokens": 10, "reply_tokens": 2})

    def test_repeats_what_may_pass_and_waits_as_asked(self):
        self.start([Reply(500, ""), Reply(0, "Timeout was reached"), Reply(429, "slow down", 30), Reply(200, "<html>"),
                    completion("ok")])
        self.assertEqual(self.ask("why?").text, "ok")
        self.assertEqual(self.times, [0, 1, 3, 33, 41])
        self.assertEqual(self.said[0], 'HTTP 429: "slow down"; asks again in 30 s')

    def test_gives_the_reason(self):
        self.start([Reply(401, "no, secret is not valid\nmore"), Reply(200, "<html>"), Reply(200, "{}"), completion("what?"),
                    Reply(503, "")], retries=1)
        self.assertEqual(self.ask("a").problem, 'HTTP 401: "no, *** is not valid"')
        self.assertEqual(len(self.times), 1)  # it would not pass
        self.assertEqual(self.ask("b").problem, 'the reply is no chat completion: "{}"')
        self.assertEqual(self.ask("c").problem, 'the judge\'s reply has no verdict: "what?"')
        self.assertEqual(self.ask("d").problem, 'HTTP 500: ""')
        self.assertEqual(self.ask("d").problem, 'HTTP 500: ""')
        self.assertEqual(len(self.times), 6)  # about the same only once

    def test_gives_up_after_three_failures_in_a_row(self):
        self.start([Reply(401, ""), completion("ok"), Reply(401, ""), Reply(401, ""), Reply(413, ""), Reply(401, ""),
                    Reply(503, ""), Reply(401, "no")], retries=0)
        for question in "abcdefg":
            self.ask(question)
        self.assert_bad(lambda: self.ask("h"), "three times in a row", 'HTTP 401: "no"')
        self.assertEqual(self.ask("b").text, "ok")  # kept

    def test_keeps_usable_replies_by_what_was_asked(self):
        self.start([completion("ok 1"), completion("no"), completion("ok 2"), completion("ok 3")])
        self.assertEqual(self.ask("a").text, "ok 1")
        self.assertIsNone(self.ask("b").text)
        later = self.make_client()
        self.assertEqual([self.ask(question, later).text for question in "ab"], ["ok 1", "ok 2"])
        self.assertEqual(self.ask("a", later, system="").text, "ok 3")
        self.assertEqual(later.usage["from_cache"], 1)
        for file in self.folder.glob("*.json"):
            file.write_text("{}")
        self.assert_bad(lambda: self.ask("a"), ".json", "remove it")

    def test_takes_what_servers_send(self):
        self.start([Reply(200, json.dumps({"choices": [{"message": {"content": "ok \ud83d"}}], "usage": None}))])
        self.assertEqual(self.ask("half of a surrogate pair").text, "ok ?")

    def test_keeps_to_a_rate(self):
        self.start([completion("ok")] * 3, calls_per_minute=30)
        for question in "abc":
            self.ask(question)
        self.assertEqual(self.times, [0, 2, 4])

    def test_retry_after(self):
        soon = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 100))
        self.assertEqual(seconds_to_wait({"retry-after": "2.5"}), 2.5)
        self.assertAlmostEqual(seconds_to_wait({"retry-after": soon}), 100, delta=5)
        for none in ({}, {"retry-after": "0"}, {"retry-after": "nan"}, {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"},
                     {"retry-after": "later"}):
            self.assertIsNone(seconds_to_wait(none), none)


class Columns(Scratch):
    def setUp(self):
        super().setUp()
        self.results, self.asked, self.verdict = make_results(), [], verdict_on
        self.references = {}

    def ask(self, request, is_usable):
        self.asked.append(request[1])
        text = self.verdict(request[1])
        return Verdict(text) if is_usable(text) else Verdict(None, f"no verdict: {text}")

    def judge(self, **asked):
        cases = judge_columns.make_cases(self.results, judge_prompts.Prompts(self.prompts), self.references,
                                         **{"grades": True, "pairs": True} | asked)
        for case in cases:
            judge_columns.judge(case, types.SimpleNamespace(ask=self.ask))
        judge_columns.summarize(self.results)
        self.rows = self.results["turns"]
        return cases

    def column(self, name):
        return [row[f"judge_{name}"] for row in self.rows]

    def test_grades_and_compares_in_both_orders(self):
        cases = self.judge()
        self.assertEqual(self.column("grade"), [5, 5, 9, 5, 5, 9])
        self.assertEqual(self.column("against_baseline"), [None, "tie", "win", None, "tie", "loss"])
        self.assertEqual(self.column("grade_problem") + self.column("against_baseline_problem"), [""] * 12)
        self.assertEqual([user for _, user in judge_columns.requests_of(cases)], ASKED)
        self.assertEqual(list(dict.fromkeys(self.asked)), ASKED)
        self.assertEqual(list(self.rows[0])[-7:], ["round", *judge_columns.COLUMNS, "model", "cost"])

    def test_a_preference_for_a_place_is_a_tie(self):
        self.verdict = lambda asked: "[[A]]" if asked[0] == "p" else "[[5]]"
        self.judge()
        self.assertEqual(self.column("against_baseline"), [None, "tie", "tie", None, "tie", "tie"])

    def test_what_cannot_be_judged_has_its_reason(self):
        self.verdict = lambda asked: "dunno" if asked[0] == "p" else "eleven"
        self.judge()
        self.assertEqual((self.rows[2]["judge_grade"], self.rows[2]["judge_against_baseline"]), (None, None))
        self.assertIn("eleven", self.rows[2]["judge_grade_problem"])
        self.assertIn("dunno", self.rows[2]["judge_against_baseline_problem"])
        self.assertEqual(self.rows[1]["judge_against_baseline_problem"], "")
        self.assertEqual(self.results["methods"]["top3"]["judge"],
                         {"grade": {"mean": None, "n": 0, "missing": 2}, "pairs": {"wins": 0, "ties": 0, "losses": 0, "missing": 2}})

    def test_references_and_history_are_shown(self):
        self.results["turns"] = [row | {"id": "x", "prompt": "a table"} if row["turn"] else row for row in self.results["turns"]]
        self.results["questions"][1] = {"history": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"}],
                                  "continues": False}
        references = self.folder / "references.jsonl"
        write_lines(references, [{"question_id": 81, "choices": [{"turns": ["so", "and so"]}]}])
        self.references = judge_prompts.read_references(references)
        self.judge(pairs=False)
        self.assertEqual(self.asked[0], "1r write | so | plain")
        self.assertEqual(self.asked[3], "1 User: hi\n\nAssistant: yes?\n\nUser: a table | plain")
        self.assertEqual(self.results["methods"]["baseline"]["judge"], {"grade": {"mean": 5.0, "n": 2, "missing": 0}, "pairs": None})

    def test_each_run_has_its_own_baseline_and_summary(self):
        run = json.loads(json.dumps(self.results["runs"][0])) | {"cost": {"name": "h100"}}
        more = [row | {"cost": "h100", "text": "good" if row["method"] == "baseline" else "plain"}
                for row in self.results["turns"]]
        self.results["runs"].append(run)
        self.results["turns"] += more
        self.judge()
        self.assertEqual(self.results["methods"]["top3"]["judge"]["pairs"], {"wins": 1, "ties": 0, "losses": 1, "missing": 0})
        self.assertEqual(self.results["methods"], self.results["runs"][0]["methods"])
        self.assertEqual(self.rows[8]["judge_against_baseline"], "loss")
        self.assertEqual(run["methods"]["greedy"]["judge"]["grade"], {"mean": 5.0, "n": 2, "missing": 0})
        self.assertEqual(run["methods"]["baseline"]["judge"]["grade"], {"mean": 9.0, "n": 2, "missing": 0})

    def test_turns_of_the_training_data_apart(self):
        for row in self.results["turns"]:
            row["in_training_data"] = "exact" if row["turn"] == 0 else "none"
        unseen = {"methods": {"top3": {"judge": None}}}
        self.results["runs"][0]["unseen"], self.results["unseen"] = unseen, json.loads(json.dumps(unseen))
        self.judge()
        self.assertEqual(unseen["methods"]["top3"]["judge"]["pairs"], {"wins": 0, "ties": 0, "losses": 1, "missing": 0})
        self.assertEqual(self.results["unseen"], unseen)

    def test_an_older_file_does_where_nothing_came_before(self):
        del self.results["questions"]
        self.assert_bad(self.judge, "older predgen")
        self.results["turns"] = [row for row in self.results["turns"] if row["turn"] == 0]
        self.judge()
        self.assertEqual(self.column("grade"), [5, 5, 9])

    def test_says_before_it_asks_what_is_missing(self):
        self.results["turns"] = [row for row in self.results["turns"] if row["method"] != "baseline"]
        self.assert_bad(self.judge, "baseline", "--no-pairs")
        self.judge(pairs=False)
        self.results = make_results()
        self.write_prompts([("single", "{question} {answer}")])
        self.assert_bad(self.judge, "prompts.jsonl", "pairwise", "{answer_a} {answer_b} {question}")

    def test_table_and_problems(self):
        self.judge()
        set_columns = dict(zip(judge_columns.COLUMNS, (None, None, "HTTP 500", "HTTP 503")))
        self.rows[5] |= set_columns
        judge_columns.summarize(self.results)
        self.assertEqual(self.results["methods"]["top3"]["judge"],
                         {"grade": {"mean": 9.0, "n": 1, "missing": 1}, "pairs": {"wins": 1, "ties": 0, "losses": 0, "missing": 1}})
        table = judge_columns.table(self.results).splitlines()
        self.assertEqual([line.split() for line in table[2:]], [["baseline", "5.00", "-"], ["greedy", "5.00", "0/2/0"],
                                                                ["top3", "9.00", "1", "out", "1/0/0", "1", "out"]])
        self.assertEqual(judge_columns.problems(self.results).splitlines()[1:],
                         ["Not judged, and in no mean: 2", "  turn 81/1, top3: HTTP 500", "  turn 81/1, top3: HTTP 503"])


class Endpoint(BaseHTTPRequestHandler):
    seen = []  # requests
    trouble = []  # functions that reply first

    def do_GET(self):
        self.reply(404, "no list of models")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Endpoint.seen.append(request | {"key": self.headers["Authorization"], "path": self.path, "time": time.monotonic()})
        self.asked = request["messages"][-1]["content"]
        (Endpoint.trouble.pop(0) if Endpoint.trouble else Endpoint.judge)(self)

    def judge(self):
        self.reply(200, completion(verdict_on(self.asked)).body)

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

    def cut_off(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices"')
        self.close_connection = True

    def drip(self):
        """Spaces for as long as anybody reads."""
        try:
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        except ConnectionError:
            pass

    def log_message(self, *arguments):
        pass


class Command(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        cls.server.daemon_threads = True
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.endpoint = f"http://127.0.0.1:{cls.server.server_port}/v1/"

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def setUp(self):
        super().setUp()
        Endpoint.seen, Endpoint.trouble = [], []
        self.file = self.folder / "out" / "results.json"
        self.file.parent.mkdir()
        self.before = json.dumps(make_results(), indent=1, ensure_ascii=False) + "\n"
        self.file.write_text(self.before)

    def start(self, *arguments, endpoint=None, environment=(), key=KEY):
        clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        if key:
            clean["PREDGEN_JUDGE_KEY"] = key
        command = [sys.executable, SCRIPTS / "judge.py", self.file.parent, "--endpoint", endpoint or self.endpoint, "--model", "fair",
                   "--key-variable", "PREDGEN_JUDGE_KEY", "--prompts", self.prompts, *arguments]
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=clean | dict(environment))

    def run_judge(self, *arguments, **options):
        process = self.start(*arguments, **options)
        process.out, process.err = process.communicate(timeout=100)
        self.assertNotIn(KEY, process.out + process.err)
        return process

    def assert_refused(self, run, *parts):
        lines = [line for line in run.err.splitlines() if "may be called" not in line or "allow it" in line]
        self.assertEqual((run.returncode, len(lines)), (2, 1), run.err)
        for part in ("judge: ", *parts):
            self.assertIn(part, lines[0])
        self.assertEqual(self.file.read_text(), self.before)

    def asked(self):
        return [request["messages"][-1]["content"] for request in Endpoint.seen]

    def test_refusals(self):
        self.assert_refused(self.run_judge(), "8 times", "--yes", "--max-calls 8")
        self.assert_refused(self.run_judge("--max-calls", 7), "8 times")
        self.assert_refused(self.run_judge("--yes", key=None), "PREDGEN_JUDGE_KEY")
        self.assert_refused(self.run_judge("--yes", endpoint="http://127.0.0.1:9/v1"), "127.0.0.1:9", "reached", "--endpoint")
        self.assert_refused(self.run_judge("--yes", environment={"HTTP_PROXY": "http://127.0.0.1:9"}), "reached")
        self.assert_refused(self.run_judge("--yes", environment={"HTTP_PROXY": "nonsense://x"}), self.endpoint[:-1])
        self.assert_refused(self.run_judge("--prompts", self.folder / "absent"), "absent")
        self.assert_refused(self.run_judge(endpoint="judge"), "http://")
        self.assert_refused(self.run_judge(endpoint="https://me:word@judge"), "password")
        self.assert_refused(self.run_judge("--timeout", "x"), "--timeout", "0.1 to 3,600")
        self.assert_refused(self.run_judge("--judge-yes"), "--judge-yes", "--help")
        self.assert_refused(self.run_judge("--no-grades", "--no-pairs"), "--no-pairs")
        without = self.folder / "without"
        (without / "openai").mkdir(parents=True)
        (without / "openai" / "__init__.py").write_text("import httpx_of_another_version")
        self.assert_refused(self.run_judge("--yes", environment={"PYTHONPATH": str(without)}), "httpx_of_another_version", "pip install openai")
        self.before = "[]"
        self.file.write_text(self.before)
        self.assert_refused(self.run_judge(), "results.json", "predgen eval")
        self.file.write_bytes(b"\xff")
        self.assertEqual(self.run_judge().returncode, 2)
        self.file.unlink()
        missing = self.run_judge()
        self.assertEqual((missing.returncode, missing.err.count("\n")), (2, 1), missing.err)
        self.assertEqual(Endpoint.seen, [])

    def test_columns_are_written_back(self):
        run = self.run_judge("--max-calls", 8)
        self.assertEqual(run.returncode, 0, run.err)
        self.assertEqual(self.asked(), ASKED)
        self.assertEqual({(request["key"], request["path"], request["model"]) for request in Endpoint.seen},
                         {(f"Bearer {KEY}", "/v1/chat/completions", "fair")})
        results = json.loads(self.file.read_text())
        expected = make_results()
        verdicts = [(5.0, None), (5.0, "tie"), (9.0, "win"), (5.0, None), (5.0, "tie"), (9.0, "loss")]
        for row, (grade, outcome) in zip(expected["turns"], verdicts):
            row |= dict(zip(judge_columns.COLUMNS, (grade, outcome, "", "")))
        for method, mean, pairs in (("baseline", 5.0, None), ("greedy", 5.0, (0, 2, 0)), ("top3", 9.0, (1, 0, 1))):
            described = {"grade": {"mean": mean, "n": 2, "missing": 0},
                         "pairs": pairs and dict(zip(("wins", "ties", "losses", "missing"), (*pairs, 0)))}
            for summary in (expected, expected["runs"][0]):
                summary["methods"][method]["judge"] = described
        expected["environment"]["judge"] = {"model": "fair", "endpoint": self.endpoint[:-1],
                                            "usage": {"calls": 8, "from_cache": 2, "prompt_tokens": 80, "reply_tokens": 16}}
        self.assertEqual(results, expected)
        with open(self.file.with_name("turns.csv"), newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([row["judge_against_baseline"] for row in table], ["", "tie", "win", "", "tie", "loss"])
        self.assertEqual((table[2]["judge_grade"], table[2]["ttfs"], table[2]["same_act"]), ("9.0", "0.30000000000000004", "true"))
        self.assertNotIn("token_ids", table[0])
        self.assertNotIn(KEY, "".join(file.read_text() for file in self.file.parent.rglob("*.*") if file.is_file()))
        again = self.run_judge(endpoint=self.endpoint, key=None)  # nothing is asked, so nothing is needed
        self.assertEqual((again.returncode, len(Endpoint.seen)), (0, 8), again.err)
        self.assertEqual(json.loads(self.file.read_text())["turns"], results["turns"])

    def test_no_key_is_sent_unless_named(self):
        command = [sys.executable, SCRIPTS / "judge.py", self.file, "--endpoint", self.endpoint, "--model", "fair", "--prompts", self.prompts,
                   "--yes", "--no-pairs"]
        run = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"OPENAI_API_KEY": KEY, "NO_PROXY": "*"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual({request["key"] for request in Endpoint.seen}, {None})

    def test_trouble_passes(self):
        faults = [lambda to: to.reply(429, "slow down", {"Retry-After": "2"}), lambda to: to.reply(200, "<html>no API</html>"),
                  Endpoint.cut_off, lambda to: to.reply(500, "oops"), Endpoint.drip]
        Endpoint.trouble = [step for fault in faults for step in (fault, Endpoint.judge)]
        run = self.run_judge("--yes", "--timeout", 1)
        self.assertEqual(run.returncode, 0, run.err)
        times = [request["time"] for request in Endpoint.seen]
        self.assertGreater(times[1] - times[0], 1.9, "429 says when to come again")
        self.assertEqual(self.asked(), [asked for asked in ASKED[:5] for _ in range(2)] + ASKED[5:])
        results = json.loads(self.file.read_text())
        self.assertEqual(results["environment"]["judge"]["usage"]["calls"], 13)
        self.assertEqual([row["judge_grade"] for row in results["turns"]], [5, 5, 9, 5, 5, 9])

    def test_a_malformed_grade_is_listed_and_asked_again(self):
        Endpoint.trouble = [lambda to: to.reply(200, completion("I would rather not say").body)]
        run = self.run_judge("--yes")
        self.assertEqual(run.returncode, 0, run.err)
        rows = json.loads(self.file.read_text())["turns"]
        self.assertEqual([row["judge_grade"] for row in rows], [None, None, 9, 5, 5, 9])  # two of the same text
        self.assertIn("rather not", rows[0]["judge_grade_problem"])
        self.assertIn("Not judged, and in no mean: 2\n", run.out)
        self.assertRegex(run.out, r"top3 +9.00 +1/0/1\n")
        run = self.run_judge("--max-calls", 1)
        self.assertEqual((run.returncode, self.asked()[8:]), (0, ASKED[:1]), run.err)
        self.assertEqual(json.loads(self.file.read_text())["turns"][1]["judge_grade"], 5)

    def test_gives_up_and_goes_on(self):
        Endpoint.trouble = [Endpoint.judge, *[lambda to: to.reply(401, f"not {KEY}")] * 3]
        self.assert_refused(self.run_judge("--yes"), "three times", "401", "***")
        run = self.run_judge("--max-calls", 7)
        self.assertEqual(run.returncode, 0, run.err)
        self.assertEqual(self.asked(), ASKED[:3] + ASKED[4:5] + ASKED[1:])

    def test_goes_on_after_it_was_stopped(self):
        for signal_number, code in ((signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 130)):
            with self.subTest(signal=signal_number):
                hold, held = threading.Event(), threading.Event()

                def wait(to):
                    held.set()
                    hold.wait()

                num_seen = len(Endpoint.seen)
                Endpoint.trouble = [Endpoint.judge, wait]
                process = self.start("--yes")
                self.assertTrue(held.wait(60))
                process.send_signal(signal_number)
                err = process.communicate(timeout=60)[1]
                hold.set()
                self.assertEqual(process.returncode, code, err)
                self.assertEqual((self.file.read_text(), self.asked()[num_seen]), (self.before, ASKED[num_seen // 2]))
                self.assertNotIn("Traceback", err)
        num_seen = len(Endpoint.seen)
        self.assertEqual(self.run_judge("--max-calls", 5).returncode, 0)
        self.assertEqual(self.asked()[num_seen:], ASKED[3:])

    def test_newer_results_stay(self):
        Endpoint.trouble = [lambda to: (self.file.write_text(self.before + " "), to.judge())]
        run = self.run_judge("--yes")
        self.assertEqual((run.returncode, self.file.read_text()), (2, self.before + " "))
        self.assertIn("changed meanwhile", run.err)


if __name__ == "__main__":
    unittest.main()
