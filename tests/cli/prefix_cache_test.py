"""predgen serve --prefix-cache: the beginning of a prompt is read once, whatever is restarted between."""

import json
import os
import socket
import tempfile
from pathlib import Path

from program import check
from serving import PROMPTS, client, metric, server, user, wait_for

HOME = "You run a home. " + " ".join(f"There is a lamp {i} in room {i % 7}." for i in range(40))


def ask(process, prompt):
    answer = client(process).chat.completions.create(
        model="demo", messages=[{"role": "system", "content": HOME}, *user(prompt)], temperature=0, max_tokens=20)
    return answer.choices[0].message.content, answer.usage.prompt_tokens_details.cached_tokens, answer.usage.prompt_tokens


def say(process, text):
    """The answer by Wyoming, as the first of this service, and how many tokens the model has read until then."""
    host, port = process.stdout.readline().strip().removeprefix("tcp://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection, connection.makefile("rb") as stream:
        connection.sendall(json.dumps({"type": "transcript", "data": {"text": text}}).encode() + b"\n")
        while True:
            header = json.loads(stream.readline())
            data = json.loads(stream.read(header["data_length"])) if header.get("data_length") else {}
            if header["type"] == "handled":
                return data["text"], metric(process, "predgen_pass_tokens_total")


def prefixes(folder):
    return list(folder.glob("*.safetensors"))


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    kept = Path(folder) / "kept"
    with server() as process:
        expected = [ask(process, prompt)[0] for prompt in PROMPTS[:2]]
    with server("--prefix-cache", kept) as process:
        text, cached, _ = ask(process, PROMPTS[0])
        check(text == expected[0] and cached == 0, f"it is new: {cached}")
    files = prefixes(kept)
    check(len(files) == 1 and kept.stat().st_mode & 0o77 == 0, f"one prefix, for its owner: {files}")
    with server("--prefix-cache", kept) as process:
        text, cached, length = ask(process, PROMPTS[1])
        check(cached > 128 and cached > 0.8 * length, f"its beginning is not read again: {cached} of {length}")
        check(text == expected[1], f"the same text: {text!r}, not {expected[1]!r}")
    files[0].write_bytes(files[0].read_bytes()[:-100])
    with server("--prefix-cache", kept) as process:
        text, cached, _ = ask(process, PROMPTS[1])
        check(text == expected[1] and cached == 0, f"a broken file is not read: {cached}")
    check(process.log.count("left alone") == 1, f"which is said: {process.log}")

    home, spoken = Path(folder) / "home", ["--wyoming-port", "0", f"realtime.system_prompt={HOME}"]
    with server(*spoken) as process:
        expected, length = say(process, PROMPTS[0])
    with server(*spoken, "--prefix-cache", home) as process:
        wait_for(lambda: prefixes(home), "the prompt of conversations is read before anybody speaks")
        check(metric(process, "predgen_pass_tokens_total") > 0.5 * length, "all of it")
    with server(*spoken, "--prefix-cache", home) as process:
        text, num_read = say(process, PROMPTS[0])
        check(text == expected, f"the same text: {text!r}, not {expected!r}")
        check(num_read < 0.5 * length, f"only what is new is read after a restart: {num_read} of {length}")
    check((home / "weights.json").exists(), "and the weights are known")
