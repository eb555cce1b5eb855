"""The servers of examples/home_assistant.md and open_webui.md: each of the pages' lines starts one, on the demo model, and
it answers what such a client sends. The clients themselves do not run here."""

import hashlib
import json
import re
import shlex
import socket
import urllib.error
import urllib.request

from serving import KEY, PROMPTS, check, client, server, user
from program import ESPEAK, REPOSITORY

# What differs here: another model, a free port, a voice that is built with predgen, a hash instead of the page's word.
REPLACED = {r"--tts hibari": "--tts espeak" if ESPEAK else "", r"--model \S+": "", r"--adapter \S+": "", r"--wyoming-port 10700": "--wyoming-port 0",
            r"\[64-DIGITS\]": f"[{hashlib.sha256(KEY.encode()).hexdigest()}]"}


def serve_lines(page):
    """The arguments of each "predgen serve" on the page."""
    lines = re.findall(r"^build/predgen serve (.*)$", (REPOSITORY / "examples" / page).read_text(), re.MULTILINE)
    for line in lines:
        for word, ours in REPLACED.items():
            line = re.sub(word, ours, line)
        yield shlex.split(line)


def host_of(arguments, key):
    return next((word.removeprefix(f"{key}=") for word in arguments if word.startswith(f"{key}=")), "127.0.0.1")


class Wyoming:
    """A connection as Home Assistant opens one for each thing that it wants: lines of JSON, with data and sound after them."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def send(self, kind, **data):
        self.socket.sendall(json.dumps({"type": kind, "data": data}).encode() + b"\n")

    def until(self, kind):
        """The last event's data, and all sound up to it."""
        sound = b""
        while True:
            header = json.loads(self.stream.readline())
            data = header.get("data") or {}
            data |= json.loads(self.stream.read(header["data_length"])) if header.get("data_length") else {}
            sound += self.stream.read(header.get("payload_length") or 0)
            if header["type"] == "error":
                check(False, f"no error: {data}")
            if header["type"] == kind:
                return data, sound


def check_home_assistant():
    lines = list(serve_lines("home_assistant.md"))
    check(len(lines) == 3, f"three ways to start it: {lines}")
    for arguments in lines:
        with server(*arguments, "realtime.system_prompt=none", host=host_of(arguments, "host")) as process:
            host, port = process.stdout.readline().strip().removeprefix("tcp://").split(":")
            check(host == host_of(arguments, "wyoming.host"), f"it listens there: {host}")
            with Wyoming(int(port)) as connection:
                connection.send("describe")  # when the integration is added
                info, _ = connection.until("info")
                check(info["handle"][0]["models"][0]["name"] == "demo" and bool(info["tts"]) == bool(ESPEAK), f"what it offers: {info['handle']}")
            text = client(process).chat.completions.create(model="demo", messages=user(PROMPTS[0]), temperature=0)
            with Wyoming(int(port)) as connection:
                connection.send("transcript", text=PROMPTS[0], language="en", context={"conversation_id": "01J"})
                handled, _ = connection.until("handled")
                check(handled["text"] == text.choices[0].message.content, f"the answer of a request: {handled}")
            if ESPEAK:
                with Wyoming(int(port)) as connection:
                    connection.send("synthesize", text=handled["text"])
                    _, sound = connection.until("audio-stop")
                    check(len(sound) > 10000, f"its sound: {len(sound)} bytes")


def post(process, path, body, key):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{process.url}/v1{path}", json.dumps(body).encode() if body else None, headers)
    return urllib.request.urlopen(request, timeout=60).read()


def text_of_stream(answer):
    chunks = [json.loads(line) for line in re.findall(r"^data: (\{.*)$", answer.decode(), re.MULTILINE)]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])


def check_open_webui():
    lines = list(serve_lines("open_webui.md"))
    check(len(lines) == 2, f"two ways to start it: {lines}")
    for arguments in lines:
        needs_key = any(word.startswith("api_keys") for word in arguments)
        key = KEY if needs_key else "none"
        with server(*arguments, host=host_of(arguments, "host")) as process:
            models = json.loads(post(process, "/models", None, key))
            check([one["id"] for one in models["data"]] == ["demo"], f"its models: {models}")
            body = {"model": "demo", "messages": user(PROMPTS[0]), "temperature": 0}
            whole = json.loads(post(process, "/chat/completions", body | {"stream": False, "max_tokens": 50}, key))  # as for a title
            streamed = post(process, "/chat/completions", body | {"stream": True, "stream_options": {"include_usage": True}}, key)
            check(text_of_stream(streamed).startswith(whole["choices"][0]["message"]["content"].strip()), f"a chat: {streamed}")
            check(streamed.rstrip().endswith(b"data: [DONE]"), "to its end")
            if needs_key:
                try:
                    post(process, "/models", None, "another")
                    check(False, "another key is taken")
                except urllib.error.HTTPError as error:
                    check(error.code == 401, f"another key: {error.code}")


check_home_assistant()
check_open_webui()
print("example pages: ok")
