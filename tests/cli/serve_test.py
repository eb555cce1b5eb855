"""predgen serve, asked by the `openai` client as it comes, and by the lines of docs/serve.md."""

import concurrent.futures
import hashlib
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import wave
from pathlib import Path

import openai

from serving import DEMO, KEY, MODEL, PROMPTS, client, metric, server, user, wait_for
from program import ESPEAK, REPOSITORY, check, run

# The demo's own answers are short. Whoever likes to repeat himself goes on.
LONG = {"temperature": 2, "seed": 1, "extra_body": {"repetition_penalty": 0.3}}
LONG_PROMPTS = ["Play some music for me", "A table for two at seven", "Please book a flight", "The weather is"]


def refused(kind, status, code, ask):
    try:
        ask()
    except kind as error:
        check(error.status_code == status and error.code == code, f"{status} {code}: {error}")
        return
    check(False, f"{status} {code}: taken")


def generated(*arguments):
    """What `predgen generate` says."""
    result = run("generate", *MODEL, *arguments, "--json")
    check(result.returncode == 0, f"generate {result.stderr[-300:]}")
    return json.loads(result.stdout)["results"][0]["text"]


def chat_text(scratch, prompt):
    file = scratch / "messages.json"
    file.write_text(json.dumps(user(prompt)))
    return generated("--messages", file, "--max-new-tokens", "48")


def long_text(prompt):
    return generated("--prompt", prompt, "--max-new-tokens", "300", "--temperature", "2",
                     "--repetition-penalty", "0.3", "--seed", "1")


def check_answers(process, texts):
    api = client(process)
    check([model.id for model in api.models.list()] == ["demo"] and
          api.models.retrieve("demo").id == "demo", "the model is listed")
    ask = {"model": "demo", "max_tokens": 48, "temperature": 0}
    for prompt, text in texts.items():
        whole = api.chat.completions.create(messages=user(prompt), **ask)
        check(whole.choices[0].message.content == text, f"the text of generate: {text}")
        check(whole.choices[0].finish_reason in ("stop", "length"), "says why it ended")
        with api.chat.completions.create(messages=user(prompt), stream=True,
                                         stream_options={"include_usage": True}, **ask) as stream:
            chunks = list(stream)
        check("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == text,
              "the same in a stream")
        check(chunks[-1].usage.completion_tokens == whole.usage.completion_tokens, "with its usage")

    first, prompt = next(iter(texts.values())), next(iter(texts))
    messages = [*user(prompt), {"role": "assistant", "content": first}, *user("Thanks!")]
    again = api.chat.completions.create(messages=messages, **ask)
    cached = again.usage.prompt_tokens_details.cached_tokens
    check(cached > len(first.split()), f"a conversation's prefix is cached: {cached} tokens")
    stopped = api.chat.completions.create(messages=user(prompt), stop=[first[5:8]], **ask)
    check(stopped.choices[0].message.content == first[:first.index(first[5:8])], "ends at a stop string")
    sampled = [api.chat.completions.create(model="demo", messages=user(prompt), max_tokens=24, temperature=1.5,
                                           seed=seed).choices[0].message.content for seed in (1, 1, 2)]
    check(sampled[0] == sampled[1] != sampled[2], "a seed draws its text")

    predicted = api.chat.completions.create(messages=user(prompt), prediction={"type": "content", "content": first}, **ask)
    details = predicted.usage.completion_tokens_details
    check(predicted.choices[0].message.content == first, "the same with a prediction")
    check(details.accepted_prediction_tokens + details.rejected_prediction_tokens > 0, f"which was tried: {details}")

    completion = api.completions.create(model="demo", prompt="The weather", temperature=0)
    check(completion.choices[0].text == generated("--prompt", "The weather", "--max-new-tokens", "16"),
          "completions go on with a text")
    parts = api.completions.create(model="demo", prompt="The weather", temperature=0, stream=True)
    check("".join(part.choices[0].text for part in parts) == completion.choices[0].text, "in a stream, too")


def results_of(*arguments):
    result = run(*arguments, "--json")
    check(result.returncode == 0, f"{arguments}: {result.stderr[-300:]}")
    return json.loads(result.stdout)["results"][0]


def check_probabilities(process):
    """They are what `predgen score` says."""
    api = client(process)
    prompt = results_of("tokenize", *MODEL[:2], "--text", "The weather")["token_ids"]
    answer = results_of("generate", *MODEL, "--token-ids", ",".join(map(str, prompt)), "--max-new-tokens", "8")
    ids = ",".join(map(str, prompt + answer["token_ids"]))
    expected = results_of("score", *MODEL, "--token-ids", ids)["logprobs"][len(prompt):]
    ask = {"model": "demo", "prompt": prompt, "temperature": 0, "max_tokens": 8, "logprobs": 2}
    whole = api.completions.create(**ask).choices[0]
    check("".join(whole.logprobs.tokens) == whole.text, f"all tokens: {whole.logprobs.tokens}")
    check(all(abs(ours - theirs) < 1e-4 for ours, theirs in zip(whole.logprobs.token_logprobs, expected, strict=True)),
          f"{whole.logprobs.token_logprobs} {expected}")
    check(all(len(top) == 2 and abs(max(top.values()) - ours) < 1e-6
              for top, ours in zip(whole.logprobs.top_logprobs, whole.logprobs.token_logprobs)), "the likeliest")
    parts = [part.choices[0].logprobs for part in api.completions.create(stream=True, **ask)]
    streamed = [logprob for part in parts if part for logprob in part.token_logprobs]
    check(streamed == whole.logprobs.token_logprobs, "the same in a stream")
    chat = api.chat.completions.create(model="demo", messages=user(PROMPTS[0]), temperature=0, logprobs=True,
                                       top_logprobs=3).choices[0]
    check("".join(one.token for one in chat.logprobs.content) == chat.message.content, "of chats, too")
    check(all(len(one.top_logprobs) == 3 and bytes(one.bytes).decode() == one.token
              for one in chat.logprobs.content), f"{chat.logprobs.content[0]}")


def check_together(process, texts):
    """As many requests as prompts at a time."""
    before = metric(process, "predgen_forward_passes_total")
    generated_before = metric(process, "predgen_generated_tokens_total")

    def answer(prompt):
        return client(process).completions.create(model="demo", prompt=prompt, max_tokens=300, **LONG)

    with concurrent.futures.ThreadPoolExecutor(len(texts)) as pool:
        answers = list(pool.map(answer, texts))
    check([one.choices[0].text for one in answers] == list(texts.values()),
          "clients at a time get what each gets alone")
    passes = metric(process, "predgen_forward_passes_total") - before
    tokens = metric(process, "predgen_generated_tokens_total") - generated_before
    check(passes < 0.8 * tokens, f"they share passes: {passes} for {tokens} tokens")


def check_errors(process):
    api = client(process)
    ask = {"model": "demo", "messages": user("Hi")}
    bad = openai.BadRequestError
    refused(openai.AuthenticationError, 401, "invalid_api_key", lambda: client(process, "wrong").models.list())
    refused(openai.NotFoundError, 404, "model_not_found",
            lambda: api.chat.completions.create(**{**ask, "model": "gpt"}))
    refused(bad, 400, "unsupported_value",
            lambda: api.chat.completions.create(response_format={"type": "yaml"}, **ask))
    refused(bad, 400, "invalid_type", lambda: api.chat.completions.create(temperature="hot", **ask))
    odd = api.chat.completions.with_raw_response.create(extra_body={"colour": "red"}, max_tokens=-1, n=2, seed=1,
                                                        frequency_penalty=0.5, reasoning_effort="none", **ask)
    check(odd.headers["x-predgen-ignored"] == "colour" and len(odd.parse().choices) == 2, "what others take is taken")
    refused(bad, 400, "context_length_exceeded",
            lambda: api.chat.completions.create(model="demo", messages=user("word " * 2000)))
    refused(openai.APIStatusError, 413, "body_too_large",
            lambda: api.chat.completions.create(model="demo", messages=user("a" * 2_000_000)))
    refused(openai.NotFoundError, 404, "unknown_url", lambda: api.embeddings.create(model="demo", input="a"))


def check_speech(text):
    if not ESPEAK:
        print("skipped: speech (PREDGEN_ESPEAK=OFF)")
        return
    with server("--tts", "espeak") as process:
        speech = client(process).audio.speech
        ask = {"model": "demo", "voice": "alloy", "input": text}
        with wave.open(io.BytesIO(speech.create(response_format="wav", **ask).content)) as sound:
            check((sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) == (24000, 1, 2), "16 bits at 24 kHz")
            samples = sound.readframes(10**9)
        pcm = speech.create(response_format="pcm", **ask).content
        check(len(pcm) > 24000 and pcm == samples, f"the same without a header: {len(pcm)} {len(samples)}")
        with speech.with_streaming_response.create(response_format="pcm", **ask) as parts:
            pieces = list(parts.iter_bytes(4096))
        check(b"".join(pieces) == pcm and len(pieces) > 4, f"in pieces: {len(pieces)}")
        check(speech.create(**ask).content[:2] in (b"\xff\xf3", b"\xff\xfb"), "MP3, unless something else is asked for")
        fast = speech.create(response_format="pcm", speed=2.0, **ask).content
        check(len(fast) < 0.7 * len(pcm), f"twice as fast: {len(fast)} {len(pcm)}")
        german = speech.create(response_format="pcm", **{**ask, "voice": "de"}).content
        check(german != pcm, "voices differ")
        for name in ("nobody", "../voices/!v/f3"):
            try:
                speech.create(**{**ask, "voice": name})
                check(False, f"there is no voice {name}")
            except openai.BadRequestError as error:
                said = error.body["message"]
                check(f"'{name}'" in said and "choose one of en-us, " in said and ", de, " in said and "\n" not in said, said)
        for more, code in (({"response_format": "aac"}, "unsupported_value"), ({"voice": "../voices/!v/f3"}, "invalid_value"),
                           ({"input": "a" * 5000}, "invalid_value"), ({"speed": 4.0}, "unsupported_value")):
            refused(openai.BadRequestError, 400, code, lambda: speech.create(**{**ask, **more}))
        dotted = speech.create(response_format="pcm", **{**ask, "input": "a." * 500 + " Hello!"}).content
        check(len(dotted) > len(pcm), "however many dots there are")
    check(text not in process.log, "no text of users in the log")
    with server() as process:
        refused(openai.NotFoundError, 404, "no_voice", lambda: client(process).audio.speech.create(**ask))


def check_disconnect(process):
    before = metric(process, "predgen_generated_tokens_total")
    stream = client(process).completions.create(model="demo", prompt=LONG_PROMPTS[0], max_tokens=1000,
                                                stream=True, **LONG)
    next(stream)
    check(metric(process, "predgen_active_sessions") == 1, "an answer is under way")
    stream.close()
    wait_for(lambda: metric(process, "predgen_active_sessions") == 0, "it ends when its client leaves")
    tokens = metric(process, "predgen_generated_tokens_total") - before
    check(tokens < 500, f"before its end: {tokens} tokens")


def health(process):
    try:
        answer = urllib.request.urlopen(process.url + "/health")
    except urllib.error.HTTPError as error:
        answer = error
    return answer.status, answer.read()


def check_stop(prompt, text):
    with server() as process:
        stream = client(process).completions.create(model="demo", prompt=prompt, max_tokens=300, stream=True, **LONG)
        heard = next(stream).choices[0].text
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: health(process) == (503, b'{"status":"draining"}'), "a proxy is told")
        refused(openai.InternalServerError, 503, "server_stopping", lambda: client(process).models.list())
        heard += "".join(chunk.choices[0].text for chunk in stream)
        check(heard == text, f"SIGTERM lets an answer end: {heard[-40:]}")
    check(prompt not in process.log and text[:20] not in process.log, "no text of users in the log")


def without_weights(scratch):
    folder = scratch / "without_weights"
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("*.safetensors*"))
    return folder


def check_flags(scratch):
    config = scratch / "serve.yaml"
    config.write_text("porrt: 1\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for more, part in ((["--host", "0.0.0.0"], "--insecure-without-key"), (["--host", "nowhere"], "nowhere"),
                           (["--config", config], "porrt"), (["max_sessions=none"], "max_sessions"),
                           (["--port", "99999"], "--port"), (["--port", port], port),
                           (["--model", scratch / "none"], "none")):
            arguments = MODEL if "--model" not in more else []
            result = run("serve", *arguments, *more)
            check(result.returncode == 2 and part in result.stderr, f"{more}: {result.stderr.strip()}")
        broken = run("serve", "--model", without_weights(scratch), "--port", port)
        check(broken.returncode == 2 and "cannot listen" in broken.stderr, f"before the model: {broken.stderr.strip()}")


def check_linked_model(scratch):
    """A service's model is a link, and what belongs to the model lies beside the model."""
    made = run("export", "--model", DEMO, "--output", scratch / "demo.gguf", "--check", "weights")
    check(made.returncode == 0, f"a GGUF file: {made.stderr}")
    (scratch / "model").symlink_to("demo.gguf")
    (scratch / "demo.ends.safetensors").write_bytes(b"no readout")
    done = run("serve", "--model", scratch / "model", "--port", "0", "realtime.recogniser=base", timeout=120)
    check(done.returncode == 2 and "demo.ends.safetensors" in done.stderr, f"its readout is found: {done.stderr.strip()}")


def check_docs():
    if not shutil.which("curl"):
        print("skipped: the lines of docs/serve.md (no curl)")
        return
    lines = re.findall(r"^curl .*$", (REPOSITORY / "docs" / "serve.md").read_text(), re.MULTILINE)
    check(len(lines) >= 6, f"{len(lines)} lines of curl")
    with server() as process:
        for line in lines:
            line = line.replace("curl ", "curl -sS --fail ").replace("http://127.0.0.1:8080", process.url)
            line = line.replace('"model": "smollm2"', '"model": "demo"')
            result = subprocess.run(line, shell=True, capture_output=True, text=True)
            check(result.returncode == 0 and result.stdout, f"{line}: {result.stderr}")


def main(scratch):
    check_flags(scratch)
    check_linked_model(scratch)
    texts = {prompt: chat_text(scratch, prompt) for prompt in PROMPTS}
    check(len(set(texts.values())) == len(texts) and all(texts.values()), "texts differ")
    long_texts = {prompt: long_text(prompt) for prompt in LONG_PROMPTS}
    with server(f"api_keys_sha256=[{hashlib.sha256(KEY.encode()).hexdigest()}]") as process:
        check(health(process) == (200, b'{"status":"ok","version":"%s"}' % run("--version").stdout.strip().encode()), "is well")
        parts = (f"{process.url}/\n", f"{process.url}/v1", "ws://127.0.0.1", "hears       nothing", "speaks      nothing", "Ctrl-C")
        told = [process.stdout.readline() for _ in parts]
        check(all(part in line for part, line in zip(parts, told)),
              f"what is there: {told}")
        check_answers(process, texts)
        check_probabilities(process)
        check_together(process, long_texts)
        check_errors(process)
        check_disconnect(process)
    check_speech("Hello there. This is a test of the voice.")
    check_stop(*next(iter(long_texts.items())))
    check_docs()


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
