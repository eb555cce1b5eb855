"""Requests to a real Home Assistant whose agent is predgen: what they do to invented homes.

home.py PREDGEN [--half choosing] [--requests 20] [--rows FILE] [--speech] "rules" ["NAME=OPTIONS of predgen serve" ..]

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

With --speech each request is said by predgen's voice, in real time, to Home Assistant's pipeline, whose ears, agent and voice
are predgen's over Wyoming; predgen acts by Home Assistant's MCP server. Seconds are from the end of the turn, as Home
Assistant's own voice detection hears it, to the first change, and until the answer's sound is there.
"""
import argparse
import contextlib
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
    if not shutil.which("python3.13") or subprocess.run(["python3.13", "--version"], capture_output=True).returncode:
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


def servers_file(file, url, token):
    """Writes what predgen needs to call a Home Assistant's functions."""
    json.dump({"mcpServers": {"home": {"url": url + "/mcp_server/sse", "prompt": "Assist", "headers": {"Authorization": f"Bearer {token}"},
                                       "tools": {"GetLiveContext": {"effects": "read"}}}}}, file)
    file.flush()


class Server:
    """predgen serve with these options, or nothing for "rules"; `tools` is the address and token of a home's MCP server."""

    def __init__(self, predgen, options, tools=None):
        self.process, self.url, self.model = None, None, "rules"
        if options is None:
            return
        command = [predgen, "serve", "--port", "0", *(["--wyoming-port", "0"] if tools else ["--recogniser", "none"])]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            if tools:
                servers_file(file, **tools)
                command += ["--mcp", file.name]
            self.process = subprocess.Popen([*command, *shlex.split(options)], text=True, stdout=subprocess.PIPE)
            lines = [self.process.stdout.readline().strip() for _ in range(2 if tools else 1)]
        self.url = lines[0]
        if not self.url.startswith("http"):
            sys.exit(f"home.py: predgen serve {options} did not start")
        self.wyoming = int(lines[1].rsplit(":", 1)[1]) if tools else None
        models = json.load(urllib.request.urlopen(self.url + "/v1/models"))
        self.model = models["data"][0]["id"]

    def say(self, text):
        """The sound of a text: samples of 16 bits, 24,000 a second."""
        body = json.dumps({"model": self.model, "input": text, "voice": "alloy", "response_format": "pcm"}).encode()
        return urllib.request.urlopen(urllib.request.Request(self.url + "/v1/audio/speech", body, {"Content-Type": "application/json"})).read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()


class Home:
    """Home Assistant with a home's devices and an agent (None: predgen's own, asked aloud), in a process of its own."""

    def __init__(self, python, home, agent, temperature):
        given = {"home": home, "agent": agent.model if agent else None,
                 "options": {"temperature": temperature, "top_p": 1.0, "max_tokens": 150}}
        env = dict(os.environ) | ({"OPENAI_BASE_URL": agent.url + "/v1"} if agent and agent.url else {})
        self.errors, self.sound = tempfile.TemporaryFile("w+"), tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen([python, HERE / "home_in_assistant.py"], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, env=env)
        self.put(given)

    def put(self, value):
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def told(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            sys.exit(f"home.py: Home Assistant stopped:\n{self.errors.read()[-3000:]}")
        return json.loads(line)

    def ask(self, request, devices, sound=b""):
        Path(self.sound.name).write_bytes(sound)
        self.put({"ask": request["ask"], "sound": self.sound.name, "states": {device["name"]: device["state"] for device in devices}})
        return self.told()

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
    parser.add_argument("--speech", action="store_true")
    options = parser.parse_args()
    if options.speech and "rules" in options.ways:
        parser.error("Home Assistant's rules have no ears: leave \"rules\" out with --speech")
    python = environment()
    if python is None:
        sys.exit("skipped: Home Assistant needs Python 3.13 (python3.13)")
    kept = options.rows.open("w", encoding="utf-8") if options.rows else None
    width = max(len(way.split("=", 1)[0]) for way in options.ways)
    print(f"{'way':{width}}  " + "  ".join(f"{one:>7}" for one in RESULTS) + "  calls  passes  s to a change  s to the end (P50)")
    for way in options.ways:
        name, _, serve = way.partition("=")
        taken = []
        with contextlib.ExitStack() as stack:
            server = None if options.speech else stack.enter_context(Server(options.predgen, serve if serve or way != "rules" else None))
            for home, requests in homes(options.half, options.requests):
                house = Home(python, home, server, options.temperature)
                if options.speech:  # which acts in this home alone
                    server = stack.enter_context(Server(options.predgen, serve, house.told()))
                    house.put(server.wyoming)
                for devices, request in requests:
                    sound, before = server.say(request["ask"]) if options.speech else b"", num_passes(server)
                    row = house.ask(request, devices, sound)
                    taken.append({"way": name, **request, **row, "passes": num_passes(server) - before, "result": result_of(request, row)})
                    if kept:
                        print(json.dumps(taken[-1], ensure_ascii=False), file=kept, flush=True)
                house.close()
                if options.speech:
                    stack.close()
                    server = None
        shares = "  ".join(f"{sum(row['result'] == one for row in taken):7}" for one in RESULTS)
        changes, ends = ([row[key] for row in taken if row[key] is not None] or [float("nan")] for key in ("changed_after", "seconds"))
        print(f"{name:{width}}  {shares}  {sum(len(row['calls']) for row in taken):5}  {sum(row['passes'] for row in taken):6.0f}  "
              f"{median(changes):13.2f}  {median(ends):12.2f}", flush=True)


if __name__ == "__main__":
    main()
