"""A server on the demo model, for tests of its clients."""

import asyncio
import contextlib
import hashlib
import re
import signal
import subprocess
import time
import urllib.request

import openai

from program import ESPEAK, PREDGEN, REPOSITORY, check, missing_for

DEMO = REPOSITORY / "checkpoints" / "demo"
MODEL = ["--model", DEMO, "--dtype", "fp32", "--threads", "1"]
KEY = "a-key"
PROMPTS = ["Find me a cheap restaurant in San Jose.", "What is the weather like in the city?",
           "Play some music.", "I want to book a table for two people tonight."]


@contextlib.contextmanager
def server(*arguments, exit_code=130, model=DEMO, prefix=(), host="127.0.0.1"):
    arguments = [str(argument) for argument in arguments]
    options = ["--model", model, *MODEL[2:]]
    # By default it would hear and speak, which takes time.
    if "--tts" not in arguments:
        options += ["--tts", "none"]
    if not any("recogniser" in argument for argument in arguments):
        options += ["--recogniser", "none"]
    process = subprocess.Popen([*prefix, PREDGEN, "serve", *map(str, options), "--port", "0", *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        process.url = process.stdout.readline().strip()
        check(process.url.startswith(f"http://{host}:"), f"prints its address: {process.url}")
        process.url = process.url.replace(host, "127.0.0.1")
        yield process
        process.send_signal(signal.SIGTERM)
        _, process.log = process.communicate(timeout=60)
        check(process.returncode == exit_code, f"ends by SIGTERM: {process.returncode} {process.log}")
    finally:
        process.kill()


def client(process, key=KEY):
    return openai.OpenAI(base_url=process.url + "/v1", api_key=key, max_retries=0)


def take_until(connection, kind):
    """The events of a realtime connection up to one of this type. The extensions are no types that the client knows."""
    events = []
    while not events or events[-1].type != kind:
        events.append(connection.recv())
        if events[-1].type == "error" and kind != "error":
            check(False, f"no error: {events[-1]}")
    return events


def text_of(events):
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def user(text):
    return [{"role": "user", "content": text}]


def texts_of_requests(process):
    api = client(process)
    return {prompt: api.chat.completions.create(model="demo", messages=user(prompt), temperature=0)
            .choices[0].message.content for prompt in PROMPTS}


def metric(process, name):
    request = urllib.request.Request(process.url + "/metrics", headers={"Authorization": f"Bearer {KEY}"})
    text = urllib.request.urlopen(request).read().decode()
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])


def wait_for(condition, what):
    """For what another process does: there is nothing to wait on."""
    end = time.monotonic() + 60
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.01)


def run_checks(of_text, of_sound):
    """Coroutines that take a server: one after the other, those of sound where recogniser and voice are."""
    def run(checks, *arguments):
        with server(f"api_keys_sha256=[{hashlib.sha256(KEY.encode()).hexdigest()}]", *arguments) as process:
            for one in checks:
                asyncio.run(asyncio.wait_for(one(process), 120))
                print(one.__name__, "ok")

    run(of_text)
    missing = missing_for("whisper-base", "silero", "smart-turn")
    if not ESPEAK or missing:
        print(f"skipped: sound (no {missing or 'espeak-ng'})")
    else:
        run(of_sound, "realtime.recogniser=base", "--tts", "espeak")
