"""Requests to a real Home Assistant whose agent is predgen: what they do to invented homes.

home.py PREDGEN [--half choosing] [--requests 20] [--rows FILE] "rules" ["NAME=OPTIONS of predgen serve" ..]

A home's devices are in Home Assistant itself (PyPI, on Python 3.13, in an environment of its own below ~/.cache/predgen),
exposed to its own agent for OpenAI's API with its own functions and prompt; predgen is that agent's server. Each request is
a text in a new conversation, and what the devices then are is compared with what it asked for:

  right     what had to change did, and nothing else; a question's answer names the state; nothing was done where nothing
            can be
  wrong     something that was asked for changed, but not all of it, or not as asked; or an answer without the state
  nothing   nothing changed, where something had to
  harm      something changed that nobody asked for

"rules" is Home Assistant's own agent without a model. --temperature is that of the requests (0; Home Assistant's own is 1).
Seconds are from the request to the first change, and to the end of the answer. --rows keeps each request's row.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from statistics import median

from home_cases import homes

HERE = Path(__file__).resolve().parent
VERSION = "2025.4.4"
# What Home Assistant's agent and conversations need beside it.
FURTHER = ["openai==1.68.2", "hassil==2.2.3", "home-assistant-intents==2025.3.28", "mutagen", "ha-ffmpeg", "pymicro-vad", "numpy",
           # For its pipelines, Wyoming and its own MCP server (tests/serve/clients/assist_test.py).
           "pyspeex-noise", "wyoming==1.5.4", "mcp==1.5.0", "aiohttp_sse==2.2.0"]
RESULTS = ("right", "wrong", "nothing", "harm")


def environment():
    """Home Assistant's Python, made once; None where there is no Python 3.13."""
    folder = Path(os.environ.get("PREDGEN_HOME_ASSISTANT", Path.home() / f".cache/predgen/home-assistant-{VERSION}"))
    python = folder / "bin/python"
    if (folder / "ready").exists():
        return python
    if not shutil.which("python3.13"):
        return None
    print(f"home.py: installing Home Assistant {VERSION} in {folder}", file=sys.stderr)
    subprocess.run(["python3.13", "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "-q"]
    subprocess.run([*pip, "--no-deps", f"homeassistant=={VERSION}"], check=True)
    constraints = next(folder.glob("lib/*/site-packages/homeassistant/package_constraints.txt"))
    subprocess.run([*pip, "-c", constraints, f"homeassistant=={VERSION}", *FURTHER], check=True)
    (folder / "ready").touch()
    return python


def result_of(request, row):
    """One of RESULTS."""
    changed = {name for name, now in row["after"].items() if now != row["before"][name]}
    if changed - set(request["expected"]):
        return "harm"
    if not request["expected"]:
        words = re.findall(r"[\w.]+\w|\w", row["said"].lower())
        return "right" if not request.get("says") or any(one in words for one in request["says"]) else "wrong"
    if not changed:
        return "nothing"
    reached = all(close(row["after"][name].get(key), value) for name, wanted in request["expected"].items() for key, value in wanted.items())
    return "right" if reached else "wrong"


def close(value, wanted):
    if isinstance(wanted, list):
        return isinstance(value, list) and all(map(close, value, wanted))
    return abs(value - wanted) <= 2 if isinstance(value, int) and isinstance(wanted, int) else value == wanted


def num_passes(server):
    if not server.process:
        return 0
    text = urllib.request.urlopen(server.url + "/metrics").read().decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(r"predgen_forward_passes_total[{ ]", line))


class Server:
    """predgen serve with these options, or nothing for "rules"."""

    def __init__(self, predgen, options):
        self.process = None
        if options is None:
            return
        self.process = subprocess.Popen([predgen, "serve", "--port", "0", "--recogniser", "none", *shlex.split(options)], text=True,
                                        stdout=subprocess.PIPE)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http"):
            sys.exit(f"home.py: predgen serve {options} did not start")
        models = json.load(urllib.request.urlopen(self.url + "/v1/models"))
        self.model = models["data"][0]["id"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()


class Home:
    """Home Assistant with a home's devices and its agent, in a process of its own."""

    def __init__(self, python, server, home, temperature):
        given = {"home": home, "agent": server.model if server.process else "rules",
                 "options": {"temperature": temperature, "top_p": 1.0, "max_tokens": 150}}
        env = dict(os.environ) | ({"OPENAI_BASE_URL": server.url + "/v1"} if server.process else {})
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([python, HERE / "home_in_assistant.py"], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=env)
        self.put(given)

    def put(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def ask(self, request, devices):
        self.put({"ask": request["ask"], "states": {device["name"]: device["state"] for device in devices}})
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            sys.exit(f"home.py: Home Assistant stopped:\n{self.errors.read()[-3000:]}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("predgen")
    parser.add_argument("ways", nargs="+")
    parser.add_argument("--half", choices=["choosing", "reporting"], default="choosing")
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--rows", type=Path)
    options = parser.parse_args()
    python = environment()
    if python is None:
        sys.exit("skipped: Home Assistant needs Python 3.13 (python3.13)")
    kept = options.rows.open("w", encoding="utf-8") if options.rows else None
    width = max(len(way.split("=", 1)[0]) for way in options.ways)
    print(f"{'way':{width}}  " + "  ".join(f"{one:>7}" for one in RESULTS) + "  calls  passes  s to a change  s to the end (P50)")
    for way in options.ways:
        name, _, serve = way.partition("=")
        taken = []
        with Server(options.predgen, serve if serve or way != "rules" else None) as server:
            for home, requests in homes(options.half, options.requests):
                house = Home(python, server, home, options.temperature)
                for devices, request in requests:
                    before = num_passes(server)
                    row = house.ask(request, devices)
                    taken.append({"way": name, **request, **row, "passes": num_passes(server) - before, "result": result_of(request, row)})
                    if kept:
                        print(json.dumps(taken[-1], ensure_ascii=False), file=kept, flush=True)
                house.close()
        shares = "  ".join(f"{sum(row['result'] == one for row in taken):7}" for one in RESULTS)
        moments = [row["changed_after"] for row in taken if row["changed_after"] is not None]
        print(f"{name:{width}}  {shares}  {sum(len(row['calls']) for row in taken):5}  {sum(row['passes'] for row in taken):6.0f}  "
              f"{median(moments) if moments else float('nan'):13.2f}  {median(row['seconds'] for row in taken):12.2f}", flush=True)


if __name__ == "__main__":
    main()
