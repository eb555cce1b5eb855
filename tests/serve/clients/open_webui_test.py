"""Requests as Open WebUI sends them by default, written after its published source: it needs a Python of its own."""

import json
import sys
import urllib.error
import urllib.request

from clients import CANNOT_HEAR, ESPEAK, FULL, KEY, PROMPTS, QUESTION, check, server, user


def ask(process, path, body=None, headers=None):
    request = urllib.request.Request(process.url + "/v1" + path, headers={"Authorization": f"Bearer {KEY}", **(headers or {})},
                                     data=body if body is None or isinstance(body, bytes) else json.dumps(body).encode())
    if isinstance(body, dict):
        request.add_header("Content-Type", "application/json")
    try:
        return urllib.request.urlopen(request, timeout=60).read()
    except urllib.error.HTTPError as error:
        check(False, f"{path}: {error.read().decode()}")


def check_chat(process):
    check(json.loads(ask(process, "/models"))["data"][0]["id"] == "demo", "its list of models")
    # A chat, with what its page adds: usage of the stream, and an answer that was cut as an empty message.
    stream = ask(process, "/chat/completions", {
        "stream": True, "model": "demo", "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "Be brief."}, *user(PROMPTS[0]),
                     {"role": "assistant", "content": ""}, *user([{"type": "text", "text": PROMPTS[1]}])]}).decode()
    check(stream.rstrip().endswith("data: [DONE]") and '"usage"' in stream, "a chat")
    # The title that it asks for in the background.
    title = json.loads(ask(process, "/chat/completions", {
        "model": "demo", "messages": user("### Task:\nGenerate a title"), "stream": False, "max_completion_tokens": 1000}))
    check(title["choices"][0]["message"]["content"], f"a title: {title}")


def check_sound(process):
    if not ESPEAK:
        print("skipped: speech (PREDGEN_ESPEAK=OFF)")
        return
    sound = ask(process, "/audio/speech", {"input": QUESTION, "voice": "alloy", "model": "tts-1"})
    check(sound[:2] in (b"\xff\xf3", b"\xff\xfb"), "MP3, which it keeps as .mp3")
    if CANNOT_HEAR:
        print(f"skipped: transcriptions ({CANNOT_HEAR})")
        return
    boundary = "----WebUiBoundary"
    fields = [f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
              for name, value in (("model", "whisper-1"), ("language", "en"))]
    file = (f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\n'
            "Content-Type: audio/mpeg\r\n\r\n").encode() + sound + f"\r\n--{boundary}--\r\n".encode()
    heard = json.loads(ask(process, "/audio/transcriptions", b"".join(fields) + file,
                           {"Content-Type": f"multipart/form-data; boundary={boundary}"}))
    check("weather like in london" in heard["text"].lower(), f"its recording is heard: {heard}")


with server(*FULL) as process:
    check_chat(process)
    check_sound(process)
sys.exit(0)
