#!/usr/bin/env python3
"""A judge grades the answers of an evaluation as MT-Bench does: each alone, from 1 to 10, and each beside the baseline's,
in both orders. The judge is any model behind OpenAI's chat completions API; it is asked by the Python package openai,
which the environment's HTTPS_PROXY and the like tell of a proxy.

Writes the columns judge_grade and judge_against_baseline (win, tie, loss), and why one is missing, into results.json and
turns.csv; they replace those of an earlier judge. Afterwards `predgen report OUTPUT` draws the page again.

The highest cost is said first, and nothing is asked unless --yes or --max-calls allows it. Each reply is kept at once in
OUTPUT/judge_cache, by the endpoint, the model's name and the request: the same command goes on after it was stopped, and
asks again only about what could not be judged. results.json changes at the very end.

Example:
  %(prog)s runs/eval/mt_bench --endpoint https://api.openai.com/v1 --model gpt-4o --key-variable OPENAI_API_KEY \\
    --prompts data_sets/mt_bench/judge_prompts.jsonl --references data_sets/mt_bench/reference_answer/gpt-4.jsonl --yes

A model of your own: `predgen serve --model JUDGE --port 8081`, then --endpoint http://127.0.0.1:8081/v1 --model JUDGE.
"""
import argparse
import json
import os
import pathlib
import signal
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True  # nothing is left where a package is removed

import judge_columns  # noqa: E402
from judge_client import JudgeClient, connect, kept_file, request_body, write_file  # noqa: E402
from judge_prompts import BadInput, Prompts, read_references  # noqa: E402

SECONDS_BETWEEN_LINES = 10


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise BadInput(f"{message}; see --help")


def number(kind, lowest, highest):
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(f"a number from {lowest:,} to {highest:,}, not {text}")
        return value

    return read


def address(text):
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(f"begins with http:// or https://: {text}")
    if parts.password:
        raise argparse.ArgumentTypeError("has a password in it, which would be written into results.json")
    return text.rstrip("/")


def parse(arguments):
    about, _, rest = __doc__.partition("\n\n")
    parser = Parser(prog=pathlib.Path(sys.argv[0]).name, description=about, epilog=rest, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("results", metavar="OUTPUT", type=pathlib.Path, help="output folder of predgen eval, or its results.json")
    add("--endpoint", metavar="URL", type=address, required=True, help="of the API, such as https://api.openai.com/v1")
    add("--model", metavar="NAME", required=True, help="as the endpoint names it")
    add("--key-variable", metavar="NAME", help="environment variable that holds the key; without it no key is sent")
    add("--prompts", metavar="FILE", required=True, help="rows as in FastChat's judge_prompts.jsonl")
    add("--references", metavar="FILE", help="rows as in FastChat's reference_answer/gpt-4.jsonl")
    add("--no-grades", dest="grades", action="store_false", help="only compare with the baseline's answers")
    add("--no-pairs", dest="pairs", action="store_false", help="only grade")
    add("--yes", action="store_true", help="call the judge however often is said")
    add("--max-calls", metavar="N", type=number(int, 0, 1_000_000), default=0, help="calls that are allowed without --yes")
    add("--calls-per-minute", metavar="N", type=number(float, 0, 1_000_000), default=0, help="0: one after the other (default)")
    add("--max-reply-tokens", metavar="N", type=number(int, 1, 100_000), default=2048, help="(default: %(default)s)")
    add("--retries", metavar="N", type=number(int, 0, 20), default=5, help="of a call that fails for a time (default: 5)")
    add("--timeout", metavar="SECONDS", type=number(float, 0.1, 3600), default=120, help="of a call (default: 120)")
    add("--cache", metavar="FOLDER", type=pathlib.Path, help="of replies (default: judge_cache in the output)")
    options = parser.parse_args(arguments)
    if not options.grades and not options.pairs:
        raise BadInput("--no-grades and --no-pairs leave nothing to ask")
    if options.results.is_dir():
        options.results /= "results.json"
    if options.cache is None:
        options.cache = options.results.parent / "judge_cache"
    return options


def read_key(options):
    if not options.key_variable:
        return ""
    key = os.environ.get(options.key_variable, "").strip()
    if not key:
        raise BadInput(f"--key-variable: the environment has no {options.key_variable}")
    return key


def check_cost(options, requests):
    """What is still to be asked must be allowed."""
    bodies = [request_body(options, request) for request in requests]
    calls = [request for request, body in zip(requests, bodies) if not kept_file(options, body).exists()]
    tokens = sum(len(text.encode()) for request in calls for text in request) // 4  # as usual for English
    cost = (f"the judge {options.model} may be called {len(calls)} times, for about {tokens} tokens to read and at most "
            f"{len(calls) * options.max_reply_tokens} to write")
    if not options.yes and len(calls) > options.max_calls:
        raise BadInput(f"{cost}: allow it with --yes or --max-calls {len(calls)}")
    say(cost)
    return len(calls)


def say(line):
    print(f"judge: {line}", file=sys.stderr)


def ask_all(cases, client):
    said = time.monotonic()
    for at, case in enumerate(cases, 1):
        judge_columns.judge(case, client)
        if time.monotonic() - said > SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            say(f"{at} of {len(cases)} answers")


def read_results(options):
    """The text of results.json, its content, and a Case of every answer."""
    prompts = Prompts(options.prompts)
    references = read_references(options.references) if options.references else {}
    try:
        text = options.results.read_text(encoding="utf-8")
        results = json.loads(text)
        judge_columns.accept_old_names(results)
        return text, results, judge_columns.make_cases(results, prompts, references, options.grades, options.pairs)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{options.results}: not as this version of predgen eval writes it: "
                       f"{type(error).__name__}: {error}") from error


def grade(options):
    """Returns the graded results."""
    text, results, cases = read_results(options)
    key, post = "", None
    if check_cost(options, judge_columns.requests_of(cases)):
        key = read_key(options)
        post = connect(options.endpoint, key, options.timeout)
    options.cache.mkdir(parents=True, exist_ok=True)
    client = JudgeClient(options, key, post, say=say)
    ask_all(cases, client)
    judge_columns.summarize(results)
    results["environment"]["judge"] = {"model": options.model, "endpoint": options.endpoint, "usage": client.usage}
    if options.results.read_text(encoding="utf-8") != text:
        raise BadInput(f"{options.results}: has changed meanwhile and stays; run the same command again, replies are kept")
    write_file(options.results.with_name("turns.csv"), judge_columns.csv_text(results))
    write_file(options.results, json.dumps(results, ensure_ascii=False, indent=1) + "\n")
    return results


def interrupt(*_):
    raise KeyboardInterrupt


def main(arguments):
    signal.signal(signal.SIGTERM, interrupt)
    options = parse(arguments)
    results = grade(options)
    print(judge_columns.table(results), judge_columns.problems(results), sep="\n")
    print(f"Results: {options.results}\nThe page: predgen report {options.results}")


def run():
    try:
        main(sys.argv[1:])
    except BadInput as error:
        say(error)
        sys.exit(2)
    except OSError as error:
        say(f"{error.filename or 'cannot write'}: {error.strerror or error}")
        sys.exit(2)
    except KeyboardInterrupt:
        say("interrupted; replies are kept, and the same command goes on")
        sys.exit(130)


if __name__ == "__main__":
    run()
