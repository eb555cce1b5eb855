"""People talk to one `predgen serve` at random times; their words come as from a recogniser.

serve_traffic.py PREDGEN MODEL PROMPTS [--people 1,2,4,8,16] [--turns 12] [--seconds 6] [--serve "OPTIONS OF SERVE"]

PROMPTS: JSON lines with "prompt" or "messages". Each person speaks a prompt at 150 words a minute, is answered, and
starts again after an exponential time with a mean of --seconds. Prints by number of people, with the machine's load:
milliseconds from the last word to the first sentence of the answer (P50, P95), without drafts, with all drafts, and
with drafts that yield to answers of others, in turn on fresh servers. Needs the package websockets. bench/traffic/ has
the same in virtual time.
"""

import argparse
import asyncio
import json
import os
import random
import shlex
import subprocess

import websockets.asyncio.client

WORD_SECONDS = 60 / 150
# Whether it drafts, and whether drafts yield.
WAYS = {"no drafts": (False, True), "drafting always": (True, False), "automatic": (True, True)}


def prompts_of(file):
    texts = []
    for line in open(file):
        row = json.loads(line)
        texts.append(row["prompt"] if "prompt" in row
                     else next(m["content"] for m in row["messages"] if m["role"] == "user"))
    return [text for text in texts if 3 <= len(text.split()) <= 25]


async def speak(socket, prompt):
    """Seconds from the last word to the first sentence; None: there was none."""
    words = prompt.split()
    for i in range(1, len(words) + 1):
        await asyncio.sleep(WORD_SECONDS)
        await socket.send(json.dumps({"type": "predgen.transcript.update", "text": " ".join(words[:i]), "revision": i,
                                      "end_of_turn": i == len(words)}))
    first = None
    while True:
        event = json.loads(await socket.recv())
        if event["type"] == "error":
            raise RuntimeError(event)
        if event["type"] == "predgen.metrics":
            first = event["metrics"]["ttfs"]
        if event["type"] == "response.done":
            return first


async def person(url, prompts, number, speculates, options):
    chance, taken = random.Random(f"{options.seed} {number}"), []
    async with websockets.asyncio.client.connect(url, max_size=None) as socket:
        await socket.send(json.dumps({"type": "session.update", "session": {
            "type": "realtime", "predgen": {"speculation": speculates, "events": ["metrics"]}}}))
        for _ in range(options.turns):
            await asyncio.sleep(chance.expovariate(1 / options.seconds))
            taken.append(await speak(socket, chance.choice(prompts)))
    return taken


async def serve_traffic(url, prompts, count, speculates, options):
    people = [person(url, prompts, number, speculates, options) for number in range(count)]
    return [first for taken in await asyncio.gather(*people) for first in taken if first is not None]


def measure(options, prompts, count, speculates, yields):
    server = subprocess.Popen([options.predgen, "serve", "--model", options.model, "--tts", "none", "--recogniser", "none", "--port", "0", *shlex.split(options.serve),
                               "limits.connections=64", "limits.connections_per_address=64", "realtime.max_sessions=96", "max_new_tokens=64",
                               f"realtime.drafts_yield={str(yields).lower()}"],
                              stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().strip().replace("http", "ws") + "/v1/realtime"
        return asyncio.run(serve_traffic(url, prompts, count, speculates, options))
    finally:
        server.terminate()
        server.wait()


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("predgen")
    parser.add_argument("model")
    parser.add_argument("prompts")
    parser.add_argument("--people", default="1,2,4,8,16")
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", default="")
    options = parser.parse_args()
    prompts = prompts_of(options.prompts)
    for count in map(int, options.people.split(",")):
        for name, (speculates, yields) in WAYS.items():
            firsts = [1e3 * first for first in measure(options, prompts, count, speculates, yields)]
            print(f"{count} people, {name}: first sentence after "
                  f"{quantile(firsts, 0.5):.0f} ms (P50), {quantile(firsts, 0.95):.0f} (P95), {len(firsts)} turns, "
                  f"load {os.getloadavg()[0]:.1f}", flush=True)


main()
