"""Attacks on what predgen serve holds, starts and knows."""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import tool_model
from attacked import SECRET, ask, attacked, flood, item, need, open_web_socket, until, wyoming
from raw_client import Answer, Client, chat, event, frame, handshake, request
from serving import KEY, PROMPTS
from program import ESPEAK

CHAT = "/v1/chat/completions"
NO_ESPEAK = "skipped: no predgen-espeak"
# Said 200 letters long it breaks espeak-ng 1.51, whose buffer for a word is smaller.
SMASHING = ".".join("a" * 100)


def children(pid):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found


def inherited_sockets():
    """A helper has its own ends of pipes only, so that who is closed sees it although a helper lives."""
    if not ESPEAK:
        return NO_ESPEAK
    with attacked("--tts", "espeak", "--wyoming-port", "0") as at:
        async def attack():
            async with Client(at.port) as early, Client(at.wyoming_port) as voice:
                await early.send(request("/health", is_last=False))
                at.must(await until(early.reader, [b'"ok"']), "a connection before the helper")
                await voice.send(wyoming("synthesize", text=PROMPTS[0]))
                at.must(await until(voice.reader, [b"audio-stop"]), "the helper speaks")
                tcp = {line.split()[9] for name in ("tcp", "tcp6") if Path(f"/proc/net/{name}").exists()
                       for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]}
                helpers = children(at.process.pid)
                at.must(helpers, "a helper lives")
                for files in (Path(f"/proc/{pid}/fd") for pid in helpers):
                    targets = [os.readlink(file) for file in files.iterdir()]
                    own = [target for target in targets if target[8:-1] in tcp]
                    at.must(not own, f"a helper holds {len(own)} of the server's TCP sockets")
                await early.send(request("/health"))
                at.must(await until(early.reader, [b'"ok"']), "the connection is answered")
                try:
                    await early.read(3)
                except TimeoutError:
                    at.must(False, "a closed connection ends although a helper lives")

        at.run(attack())


def threads_that_cannot_start():
    """In each state of a conversation and of a voice: a user of its own has a limit of tasks, which root does not have."""
    if not ESPEAK:
        return NO_ESPEAK
    if os.getuid() != 0 or not shutil.which("setpriv"):
        return "skipped: needs root and setpriv"
    user = ["setpriv", "--reuid", "61234", "--clear-groups", "--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"]
    with attacked("--tts", "espeak", "--wyoming-port", "0", prefix=user) as at:
        def num_tasks(pid):
            try:
                return len(list(Path(f"/proc/{pid}/task").iterdir()))
            except FileNotFoundError:  # it has ended since
                return 0

        def limit(spare):
            tasks = sum(num_tasks(pid) for pid in [at.process.pid, *children(at.process.pid)])
            subprocess.run([*user, "prlimit", "--pid", str(at.process.pid), f"--nproc={tasks + spare}:"], check=True)

        async def converse():
            async with Client(at.port) as client:
                await open_web_socket(client.reader, client.writer)
                await client.send(item(PROMPTS[0]) + frame(event("response.create").encode()))
                return await until(client.reader, [b"response.done", b'"type":"error"', b"HTTP/1.1 5"], 3)

        async def speak():
            async with Client(at.wyoming_port) as client:
                await client.send(wyoming("synthesize", text=PROMPTS[0]))
                return await until(client.reader, [b"audio-stop", b'"type":"error"'], 3)

        async def attack():
            ends = []
            for spare in range(8):
                for way in (converse, speak):
                    limit(spare)
                    try:
                        ends.append(await way())
                    except (ConnectionError, asyncio.IncompleteReadError):
                        ends.append(False)
                    limit(1000)
                    at.must(at.process.poll() is None, f"it lives with {spare} threads more: {way.__name__}")
                    if at.process.poll() is not None:
                        return
            at.must(all(ends[-2:]), f"with enough of them it answers: {ends}")

        asyncio.run(attack())
    need("cannot" in at.process.log, f"some of them could not start: {at.process.log}")


def words_that_smash_espeak():
    """By Wyoming, and by a model that says them."""
    if not ESPEAK:
        return NO_ESPEAK
    tool_model.ANSWERS["<|talk|>"] = [SMASHING]
    with tempfile.TemporaryDirectory() as folder, attacked(
            "--tts", "espeak", "--wyoming-port", "0", model=tool_model.make_tool_model(Path(folder) / "demo")) as at:
        async def speak():
            async with Client(at.wyoming_port) as client:
                await client.send(wyoming("synthesize", text=SMASHING))
                at.must(await until(client.reader, [b"audio-stop"]), "by Wyoming the words are spoken")

        async def converse():
            async with Client(at.port) as client:
                await open_web_socket(client.reader, client.writer)
                await client.send(item("Hello!") + frame(event("response.create").encode()))
                at.must(await until(client.reader, [b"output_audio.delta"], 5), "by WebSocket the words are spoken")

        at.secret = "a.a.a"
        at.run(speak(), converse())


def probing_the_cache():
    """What one client said, another one must not find out by what is cached."""
    said = f"My name is {SECRET}, and the number of my card is " + " ".join(f"{i * i % 97:02d}" for i in range(40))
    guesses = {"nobody": "The weather in the city is nice today. " * 4, "near": said[:60] + said[60:].replace("4", "5"), "right": said}
    with attacked(more_keys=guesses) as at:
        at.must(ask(at.port, request(CHAT, chat(said), KEY)).status == 200, "the one is answered")
        cached, hits = {}, {}
        for key, guess in guesses.items():
            before = at.metric("predgen_prefix_cache_hits_total", key)
            answer = ask(at.port, request(CHAT, chat(guess, max_tokens=1), key))
            cached[key] = json.loads(answer.body)["usage"].get("prompt_tokens_details", {}).get("cached_tokens", 0)
            hits[key] = at.metric("predgen_prefix_cache_hits_total", key) - before
        at.must(len(set(cached.values())) == 1, f"usage tells nothing: {cached}")
        at.must(len(set(hits.values())) == 1, f"nor do metrics: {hits}")


def other_hosts():
    """A web page whose name has come to mean this machine is of its own origin; without keys nothing else keeps it out."""
    with attacked(has_keys=False) as at:
        for host, is_here in ((f"127.0.0.1:{at.port}", True), (f"localhost:{at.port}", True), (f"evil.example:{at.port}", False),
                              ("evil.example", False)):
            for data, good in ((request("/v1/models", key="", host=host), 200), (request("/metrics", key="", host=host), 200),
                               (request(CHAT, chat("x", max_tokens=1), "", host=host), 200)):
                status = ask(at.port, data).status
                at.must(status == (good if is_here else 403), f"{host}: {data[:24]} {status}")
            if not is_here:
                status = ask(at.port, handshake(host=host), patience=5).status
                at.must(status == 403, f"{host}: WebSocket {status}")
    with attacked() as at:  # a key does
        at.must(ask(at.port, request("/v1/models", host="predgen.example")).status == 200, "with a key any name will do")


def half_closed_clients():
    """Who has said all wants an answer yet."""
    with attacked() as at:
        whole = ask(at.port, request(CHAT, chat(PROMPTS[0]), KEY)).text()

        async def attack(streams):
            async with Client(at.port) as client:
                await client.send(request(CHAT, chat(PROMPTS[0], stream=streams)))
                client.writer.write_eof()
                answer = Answer(await client.read(20))
                at.must(answer.is_whole and answer.text() == whole, f"a half-closed client gets its whole answer: {answer.body}")

        at.run(attack(False), attack(True))


def nobody_without_a_key():
    with attacked() as at:
        def work():
            return [at.metric(f"predgen_{name}_total") for name in ("generated_tokens", "prefix_cache_queries", "turns")]

        each = [value / at.witness.count for value in work()]
        pieces = [request(CHAT, chat(PROMPTS[0]), "", is_last=False), request(CHAT, chat(PROMPTS[0]), KEY + "x", is_last=False),
                  request("/v1/completions", {"model": "demo", "prompt": "x"}, KEY[:-1], is_last=False),
                  request("/v1/models", key="", is_last=False), request("/metrics", key="no", is_last=False), handshake("no")]
        at.run(*[flood(at.port, [piece], begins=b"HTTP/1.1 401", seconds=2) for piece in pieces])
        expected = [value * at.witness.count for value in each]
        at.must(work() == expected, f"no work for them: {work()}, not {expected}")


ATTACKS = [inherited_sockets, threads_that_cannot_start, words_that_smash_espeak, probing_the_cache, other_hosts, half_closed_clients, nobody_without_a_key]
