"""A real Home Assistant's Assist pipeline, whose ears and agent are predgen over Wyoming, and whose hands are Home
Assistant's own MCP server: a light is on after a text and after speech, and again after a restart of Home Assistant;
that a device has gone or a token has ended is said, and nothing hangs. Skipped without Home Assistant
(PREDGEN_HOME_ASSISTANT, or what bench/home.py installs). The model is a written one, the recogniser a fake."""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from clients import check, server
from fake_recogniser import SECONDS_PER_WORD, Recogniser
from tool_model import AFTER, make_tool_model

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True

import home  # noqa: E402

ASKED, LIGHT = "Turn on the kitchen light", "Kitchen Light"


class Assistant:
    def __init__(self, python):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([python, Path(__file__).with_name("assist_in_assistant.py")], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def told(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            sys.exit(f"FAILED: Home Assistant stopped:\n{self.errors.read()[-3000:]}")
        return json.loads(line)

    def put(self, **given):
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()
        return self.told()


def tool_calls(process):
    """How many had each outcome."""
    text = urllib.request.urlopen(process.url + "/metrics").read().decode()
    lines = [line for line in text.splitlines() if line.startswith("predgen_tool_calls_total{")]
    return {line.split('"')[1]: int(line.rsplit(" ", 1)[1]) for line in lines if not line.endswith(" 0")}


def check_requests(process, assistant, recogniser):
    answer = assistant.put(text=ASKED)
    check(answer["states"] == {LIGHT: "on", "Table Lamp": "off"} and answer["said"] == AFTER, f"a text: {answer}")
    assistant.put(off=LIGHT)
    recogniser.says = ASKED
    answer = assistant.put(loud=SECONDS_PER_WORD * len(ASKED.split()) + 0.1)
    check(answer["heard"] == ASKED and answer["states"][LIGHT] == "on" and answer["said"] == AFTER, f"speech: {answer}")
    check(tool_calls(process) == {"done": 2}, f"one call each: {tool_calls(process)}")
    check(not assistant.put(text="Hello")["error"] and tool_calls(process) == {"done": 2}, "no call")


def check_restart(process, assistant):
    assistant.put(off=LIGHT)
    assistant.put(restart=True)
    deadline = time.monotonic() + 90  # predgen tries again ever more seldom
    while (answer := assistant.put(text=ASKED))["said"] != AFTER:
        check(answer["states"][LIGHT] == "off" and time.monotonic() < deadline, f"a home that was restarted: {answer}")
    check(answer["states"][LIGHT] == "on" and tool_calls(process)["done"] == 3, f"one call more: {tool_calls(process)}")


def check_faults(process, assistant):
    before = {"failed": 0, "unavailable": 0} | tool_calls(process)
    assistant.put(remove=LIGHT)
    answer = assistant.put(text=ASKED)
    check(answer["states"] == {"Table Lamp": "off"} and answer["said"] == "Sorry, that did not work.",
          f"a device that has gone: {answer}")
    check(before | tool_calls(process) == before | {"failed": before["failed"] + 1}, f"is no success: {tool_calls(process)}")
    assistant.put(revoke=True)
    answer = assistant.put(text=ASKED)
    check(answer["said"] == "Sorry, that was not done: there is no connection to home.", f"a token that has ended: {answer}")
    after = before | {"failed": before["failed"] + 1, "unavailable": before["unavailable"] + 1}
    check(tool_calls(process) == after, f"is no success: {tool_calls(process)}")


python = Path(os.environ.get("PREDGEN_HOME_ASSISTANT", Path.home() / f".cache/predgen/home-assistant-{home.VERSION}")) / "bin/python"
missing = [one for one in ("homeassistant", "mcp", "aiohttp_sse", "wyoming", "pyspeex_noise")
           if not list(python.parents[1].glob(f"lib/*/site-packages/{one}"))]
if missing:
    print(f"skipped: Home Assistant's {', '.join(missing)} in {python.parents[1]} (bench/home.py installs it)")
    sys.exit(77)
folder = Path(tempfile.mkdtemp())
make_tool_model(folder / "lamp")
assistant, recogniser = Assistant(python), Recogniser()
begun = assistant.told()
os.environ["HOME_TOKEN"] = begun["token"]
with (folder / "home.json").open("w") as file:
    home.servers_file(file, begun["url"], "${HOME_TOKEN}")
with server("--wyoming-port", "0", "--mcp", folder / "home.json", "--constrain-names", "--recogniser", recogniser.url,
            model=folder / "lamp") as process:
    assistant.put(wyoming=int(process.stdout.readline().rsplit(":", 1)[1]))
    check_requests(process, assistant, recogniser)
    check_restart(process, assistant)
    check_faults(process, assistant)
check("refuses the request (401): give it a key" in process.log, f"is told in a line: {process.log}")
assistant.process.stdin.close()
check(assistant.process.wait(60) == 0, "Home Assistant ends")
print("ok")
