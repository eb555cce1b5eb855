"""A home with ten who speak to it, in which the servers of its devices fail and predgen serve is killed: what is asked
for is done once or not at all, and everybody is told which.

usage: home_soak_test.py [MINUTES]     (of SECONDS each, in which everybody asks once; 3 if absent)
"""

import asyncio
import collections
import contextlib
import itertools
import json
import os
import random
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

from skipping import skip_without

skip_without("wyoming", "the satellites")

from fake_recogniser import Recogniser  # noqa: E402
from faulty_home import ACT_WITHIN, LAMP, LATE, LOOK, PATIENCE, SLOW_LOOK, Home, Things  # noqa: E402
from home_clients import (NUM_CLIENTS, YES, Pipeline, Satellite, Typist, kind_of, words_of,  # noqa: E402
                          words_of_sound)
from program import ESPEAK, check  # noqa: E402
from serving import server  # noqa: E402
from tool_model import TEMPLATE, make_tool_model  # noqa: E402

MINUTES = int(sys.argv[1]) if len(sys.argv) > 1 else 3
IS_LONG = MINUTES > 60
SECONDS = 4 if IS_LONG else 2
MORE = {"MB": 60, "threads": 20, "files": 20}  # than after a tenth of the time
TROUBLES = ["none", "home stops", "none", "home forgets", "none", "lamps vanish", "fans die"]  # one a minute
NOT_DONE = ["Sorry, that did not work.", "Sorry, that was not done: there is no connection to home.",
            "Sorry, that was not done: there is no connection to fans.", "That cannot be done.",
            "Shall I call switch N with number N?",
            "another turn of this conversation is under way: wait for its answer"]
UNKNOWN = ["Sorry, I got no answer, so I do not know whether that was done.", "left", "cut"]

# The model calls a function by the last word, whose device the template begins the answer with.
ANSWERS = {"<|talk|>": ["What", " do you mean?"], "<|none|>": ["That cannot", " be done."]}
for number in range(YES):
    call = {"arguments": {"number": number}}
    ANSWERS[f"<|look{number}|>"] = [json.dumps({"name": "look", **call})[:-2], "}}"]
    ANSWERS[f"<|{kind_of(number)}{number}|>"] = [json.dumps({"name": f"switch_{kind_of(number)}", **call})[:-2], "}}"]
    ANSWERS[f"<|done{number}|>"] = [f"Number {number}", " is on", "."]
CHOICE = """{%- set words = ('it is ' ~ messages[-1].content).split() %}
{%- set kind, number = words[-2], words[-1] %}
{%- if kind == 'done' %}{{ '<|done' ~ number ~ '|>' }}
{%- elif messages[-1].role == 'tool' and kind != 'lamp' %}<|none|>
{%- elif kind not in ['lamp', 'fan'] %}<|talk|>
{%- elif ('switch_' ~ kind) not in (tools | tojson) %}<|none|>
{%- else %}{{ '<|' ~ ('look' if words[-3] == 'Check' else kind) ~ number ~ '|>' }}{% endif %}
{%- endif %}"""


def plain(answer):
    return re.sub(r"\d+|lamp,|fan,", "N", answer)


def mistakes(requests, effects, deaths):
    """What is wrong with the effects (numbers and times) of these requests, if serve was dead in these spans of time."""
    found, done, longest = [], collections.Counter(), ACT_WITHIN + LATE
    for number, at in effects:
        own = [one for one in requests if one.number == number and one.said and one.said <= at <= (
            one.end if one.answer.startswith("Number") else one.said + longest)]
        if len(own) != 1:
            found.append(f"number {number} at {at:.2f} was asked for by {len(own)}")
        for one in own:
            done[one] += 1
    for one in requests:
        what = f"number {one.number}, {one.answer!r}"
        if one.answer in UNKNOWN:
            counts = (0, 1)
        elif one.answer == "unsaid" or plain(one.answer) in NOT_DONE:
            counts = (0,)
        else:
            counts = (1,)
            if one.answer != f"Number {one.number} is on.":
                found.append(f"{what}: is no answer")
        if done[one] not in counts:
            found.append(f"{what}: {done[one]} effects")
        if one.answer == "cut" and not any(begin < one.end and one.begin < end for begin, end in deaths):
            found.append(f"{what}: though serve was there")
    return found


def check_judge(requests, effects, deaths):
    """It would see what must not be."""
    one = next(one for one in requests if one.answer == f"Number {one.number} is on.")
    own = next(effect for effect in effects if effect[0] == one.number and one.said <= effect[1] <= one.end)
    others = [effect for effect in effects if effect != own]
    for what, planted in {"done twice": [*effects, own], "not done": others, "done for nobody": [*effects, (YES, own[1])],
                          "done too early": [*others, (one.number, one.said - 0.01)],
                          "done too late": [*others, (one.number, one.said + ACT_WITHIN + LATE + 0.01)]}.items():
        check(mistakes(requests, planted, deaths), f"what is {what} would be seen")
    for answer in ("lost", "unsaid", "cut", NOT_DONE[0], f"Number {one.number + 1} is on."):
        kept, one.answer = one.answer, answer
        check(mistakes(requests, effects, [] if answer == "cut" else deaths), f"{answer!r} would be seen")
        one.answer = kept


class World:
    def __init__(self, scratch):
        self.requests, self.deaths, self.is_over = [], [], threading.Event()
        self.begin, self.counts, self.random, self.log = None, collections.Counter(), random.Random(51), []
        self.troubles = itertools.cycle(TROUBLES)
        self.recogniser = Recogniser()
        self.recogniser.says = words_of_sound
        self.file = scratch / "effects"
        self.home = Home(Things(self.file, 51, [LOOK, LAMP]))
        rules = {"*": {"timeout": PATIENCE}}
        fans = [str(Path(__file__).with_name("faulty_home.py")), str(self.file), "51"]
        (scratch / "home.json").write_text(json.dumps({"mcpServers": {
            "home": {"url": f"http://127.0.0.1:{self.home.port}/mcp", "tools": {**rules, "look": {"timeout": 2 * SLOW_LOOK}}},
            "fans": {"command": sys.executable, "args": fans, "tools": rules}}}))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.uri = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self.clients = [[Satellite, Typist, Satellite, Pipeline, Satellite][i % 5](self, i) for i in range(NUM_CLIENTS)]
        satellites = [f"--satellite=127.0.0.1:{one.port}" for one in self.clients if isinstance(one, Satellite)]
        template = TEMPLATE.partition("{%- if messages[-1].role")[0] + CHOICE
        model = make_tool_model(scratch / "model", ANSWERS, template)
        self.serve = partial(server, "--mcp", scratch / "home.json", f"tools.act_within={ACT_WITHIN}", "--tts", "espeak" if ESPEAK else "none",
                             "--recogniser", self.recogniser.url, "--wyoming-port", self.uri.rpartition(":")[2], "--prefix-cache",
                             scratch / "prefixes", "max_context=1024", "wyoming.max_conversations=16", *satellites, model=model)

    def live(self):
        """Of serve, which is killed in the first part of the time."""
        early = range(1, max(2, MINUTES * 2 // 5))
        kills = sorted(self.random.sample(early, min(5, len(early))))
        for kill in [*kills, None]:
            with self.serve(exit_code=130 if kill is None else -signal.SIGKILL) as process:
                process.stdout.readline()
                if self.deaths:
                    self.deaths[-1][1] = time.monotonic()
                self.begin = self.begin or time.monotonic()
                self.usage = [usage(process)]
                self.watch(process, kill)
                if kill is not None:
                    self.deaths.append([time.monotonic(), float("inf")])
                    process.kill()
            self.log += process.log.splitlines()

    def watch(self, process, kill):
        while not self.is_over.is_set():
            minute = int((time.monotonic() - self.begin) / SECONDS) + 1
            self.is_over.wait(self.begin + minute * SECONDS - time.monotonic())
            if kill is not None and minute >= kill:
                return time.sleep(0.3 * self.random.random())
            if process.poll() is not None:
                return
            self.usage.append(usage(process))
            self.trouble()

    def trouble(self):
        what = next(self.troubles)
        self.counts[what] += 1
        if what == "home stops":
            self.home.stop()
            time.sleep(1.5 * SECONDS * self.random.random())
            self.home.start()
        elif what == "home forgets":
            self.home.forget()
        elif what == "lamps vanish":
            self.home.offer([LOOK])
            time.sleep(0.5 * SECONDS)
            self.home.offer([LOOK, LAMP])
        elif what == "fans die":
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(Path(f"{self.file}.starts").read_text().split()[-1]), signal.SIGKILL)

    async def run(self):
        for client in self.clients:
            await client.start()
        serving = asyncio.create_task(asyncio.to_thread(self.live))
        while not self.begin and not serving.done():
            await asyncio.sleep(0.1)
        await asyncio.gather(*(client.live(MINUTES, SECONDS) for client in self.clients))
        await asyncio.sleep(1)  # for what comes late
        self.is_over.set()
        await serving


def usage(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return {"MB": int(re.search(r"VmRSS:\s+(\d+)", status)[1]) // 1024, "threads": int(re.search(r"Threads:\s+(\d+)", status)[1]),
            "files": len(os.listdir(f"/proc/{process.pid}/fd"))}


def check_log(log, counts, num_restarts):
    """A line for what is lost, and none that repeats itself."""
    known = "info: |warning: the tool server '(home|fans)' |warning: the satellite \\S+ |predgen: interrupted$|$"
    check(not [line for line in log if not re.match(known, line) or len(line) > 200], "the log tells what is lost")
    num_lost = sum(line.startswith("warning: ") for line in log)
    most = counts["home stops"] + counts["home forgets"] + counts["satellites gone"] + num_restarts
    check(num_lost <= most, f"once: {num_lost} lines, {most} losses")


def check_usage(usage):
    """Of the last process, which lives longest."""
    for what, more in MORE.items():
        early, last = max(one[what] for one in usage[:len(usage) // 10 + 2]), usage[-1][what]
        check(last <= early + more, f"{what} are bounded: {early}, and at the end {last}")


def main(scratch):
    world = World(scratch)
    asyncio.run(world.run())
    effects = [(int(number), float(at)) for number, at in map(str.split, world.file.read_text().splitlines())]
    answers = collections.Counter(plain(one.answer) for one in world.requests)
    print(f"{len(world.requests)} requests, {len(effects)} effects, {len(world.deaths)} deaths, {dict(world.counts)}")
    print(*answers.most_common(), sep="\n")
    found = mistakes(world.requests, effects, world.deaths)
    check(not found, f"what was asked for is done once or not at all, and each is told which: {found}")
    check(answers["Number N is on."] > len(world.requests) / 10, "much is done")
    if IS_LONG:
        check({*NOT_DONE, *UNKNOWN, "unsaid"} <= {*answers} and world.counts["yes"], "everything has happened")
        check_usage(world.usage)
    check_judge(world.requests, effects, world.deaths)
    # A serve that is killed may have told that it lost its tool server, and not have started it again.
    num_starts = len(Path(f"{world.file}.starts").read_text().splitlines())
    check_log(world.log, world.counts, num_starts - 1)


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
