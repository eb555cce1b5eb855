"""Conversations with predgen serve by the `openai` client's realtime connection, as it comes."""

import base64
import concurrent.futures
import contextlib
import hashlib
import json
import os
import signal
import socket
import time
import wave
from random import Random

from skipping import skip_without

skip_without("websockets", "openai's realtime connection")

import websockets.sync.client  # noqa: E402

from serving import (KEY, PROMPTS, check, client, metric, server, take_until, text_of,  # noqa: E402
                     texts_of_requests, user, wait_for)
from program import ESPEAK, REPOSITORY, missing_for  # noqa: E402

QUESTION = REPOSITORY / "data/samples/question.wav"


def connect(process, key=KEY):
    return client(process, key).realtime.connect(model="demo")


def say(connection, text):
    connection.conversation.item.create(
        item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    take_until(connection, "conversation.item.done")


def answer(connection, text, status="completed"):
    say(connection, text)
    connection.response.create()
    events = take_until(connection, "response.done")
    check(events[-1].response.status == status, f"{status}: {events[-1].response.status}")
    return events


def transcript(connection, text, **more):
    connection.send({"type": "predgen.transcript.update", "text": text, **more})


def check_text(process, texts):
    with connect(process) as connection:
        created = connection.recv()
        check(created.type == "session.created" and created.session.model == "demo", f"{created}")
        first, second = list(texts)[:2]
        events = answer(connection, first)
        check(text_of(events) == texts[first], f"the text of a request: {text_of(events)}")
        check(events[-1].response.output[0].content[0].text == texts[first], "it is in response.done")
        check(events[-1].response.usage.output_tokens > 0, "with its usage")
        # The next turn of the conversation is that of a request with the same messages.
        expected = client(process).chat.completions.create(
            model="demo", temperature=0, messages=[*user(first), {"role": "assistant", "content": texts[first]},
                                                   *user(second)]).choices[0].message.content
        check(text_of(answer(connection, second)) == expected, "a conversation goes on")
        connection.session.update(session={"type": "realtime", "instructions": "Be brief.",
                                           "output_modalities": ["text"], "max_output_tokens": 2})
        check(take_until(connection, "session.updated")[-1].session.instructions == "Be brief.", "updated")
        cut = answer(connection, "Hello!", status="incomplete")[-1].response
        check(cut.usage.output_tokens == 2, f"cut: {cut.usage}")


def check_words_as_they_come(process, texts):
    for prompt, text in texts.items():
        with connect(process) as connection:
            connection.recv()
            words = prompt.split()
            for count in range(1, len(words)):
                transcript(connection, " ".join(words[:count]), revision=count)
                time.sleep(0.02)
            transcript(connection, prompt, revision=len(words), end_of_turn=True)
            events = take_until(connection, "response.done")
            check(events[0].type == "conversation.item.added", "nothing comes before the turn has ended")
            check(text_of(events) == text, f"the text of a request: {text_of(events)}")
    check(metric(process, "predgen_speculative_passes_total") > 0, "drafts were made")
    with connect(process) as connection:  # a speech service's own messages
        connection.recv()
        prompt, text = next(iter(texts.items()))
        for event, words in (("Update", prompt[:12]), ("EagerEndOfTurn", prompt), ("EndOfTurn", prompt)):
            connection.send({"type": "TurnInfo", "event": event, "turn_index": 0, "transcript": words})
        check(text_of(take_until(connection, "response.done")) == text, "Deepgram's end of a turn begins the answer")


def check_extensions(process):
    with connect(process) as connection:
        connection.recv()
        connection.session.update(session={"type": "realtime", "predgen": {
            "events": ["speculation", "sentence", "metrics"]}})
        prompt = PROMPTS[0]
        transcript(connection, prompt[:20])
        draft = take_until(connection, "predgen.sentence.ready")
        check("predgen.speculation.draft" in [event.type for event in draft], "drafts are shown to who asks")
        transcript(connection, prompt, final=True)
        kinds = [event.type for event in take_until(connection, "response.done")]
        check("predgen.speculation.kept" in kinds and "predgen.metrics" in kinds, f"{kinds}")


def check_sound(process, texts):
    prompt, text = next(iter(texts.items()))
    with connect(process) as connection:
        created = connection.recv()
        check(created.session.output_modalities == ["audio"], "speaks unless it is told not to")
        events = answer(connection, prompt)
        said = "".join(event.delta for event in events if event.type == "response.output_audio_transcript.delta")
        check(said == text, f"the text of a request: {said}")
        pcm = b"".join(base64.b64decode(event.delta) for event in events
                       if event.type == "response.output_audio.delta")
        seconds = len(pcm) / 2 / 24000
        check(0.02 * len(text) < seconds < 0.3 * len(text), f"{seconds} s of sound for {text!r}")
        check(max(abs(int.from_bytes(pcm[i:i + 2], "little", signed=True)) for i in range(0, len(pcm), 2)) > 1000,
              "it is not silent")
        item = events[-1].response.output[0]
        connection.conversation.item.truncate(item_id=item.id, content_index=0, audio_end_ms=int(seconds * 500))
        take_until(connection, "conversation.item.truncated")
        connection.conversation.item.retrieve(item_id=item.id)
        heard = take_until(connection, "conversation.item.retrieved")[-1].item.content[0].transcript
        check(text.startswith(heard) and 0.2 < len(heard) / len(text) < 0.6, f"{heard!r} of {text!r}")
        connection.session.update(session={"type": "realtime", "audio": {"output": {"voice": "de"}}})
        check(take_until(connection, "session.updated")[-1].session.audio.output.voice == "de", "another voice")


def check_errors(process):
    with connect(process) as connection:
        connection.recv()
        for send, code in ((lambda: connection.response.cancel(), "response_cancel_not_active"),
                           (lambda: connection.input_audio_buffer.append(audio="AAAA"), "no_recogniser"),
                           (lambda: connection.send({"type": "response.creat"}), "unknown_event")):
            send()
            error = connection.recv()
            check(error.type == "error" and error.error.code == code, f"{code}: {error}")
        connection.session.update(session={"type": "realtime", "audio": {"output": {"voice": "nobody"}},
                                           "instructions": "You answer the phone."})
        events = take_until(connection, "session.updated")
        check(events[0].type == "predgen.warning" and events[0].warning["refused"][0]["param"] == "session.audio.output.voice",
              f"what cannot be done is named: {events}")
        check(events[1].session.instructions == "You answer the phone.", "and the rest is done")
        connection.response.create(response={"instructions": "Greet the caller."})
        check(text_of(take_until(connection, "response.done")), "the assistant speaks first")
    for model, key, status in (("demo", "wrong", 401), ("gpt", KEY, 404)):
        try:
            with client(process, key).realtime.connect(model=model):
                check(False, f"{status}: let in")
        except websockets.exceptions.InvalidStatus as error:
            check(error.response.status_code == status, f"{status}: {error}")


def check_leaving(process):
    with connect(process) as connection:
        connection.recv()
        wait_for(lambda: metric(process, "predgen_realtime_sessions") == 1, "a session")
        transcript(connection, "Find me")
    wait_for(lambda: metric(process, "predgen_realtime_sessions") == 0, "it ends when its client leaves")
    with connect(process) as one, connect(process) as other:
        one.recv()
        other.recv()
        with connect(process) as third:
            refused = third.recv()
            check(refused.type == "error" and refused.error.code == "session_limit_reached", f"{refused}")


def check_cut_connections(process, texts):
    """Clients that send anything in any order, and are gone in the middle of it."""
    random = Random(1)
    prompt = PROMPTS[0]
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}
    events = [{"type": "predgen.transcript.update", "text": prompt[:n], "end_of_turn": n == len(prompt)}
              for n in (4, 12, len(prompt))]
    events += [{"type": "conversation.item.create", "item": message}, {"type": "response.create"},
               {"type": "response.cancel"}, {"type": "session.update", "session": {"instructions": "Be brief."}},
               {"type": "conversation.item.delete", "item_id": "x"}, {"type": 5}, [], None]
    with connect(process) as connection:  # what these prompts begin with stays in the cache
        connection.recv()
        connection.send(events[6])
        answer(connection, prompt)
    wait_for(lambda: metric(process, "predgen_realtime_sessions") == 0, "those before are over")
    positions = metric(process, "predgen_kv_positions")

    def talk(steps):
        with contextlib.suppress(websockets.exceptions.ConnectionClosed, OSError):
            connection = websockets.sync.client.connect(
                process.url.replace("http", "ws") + "/v1/realtime", max_size=None,
                additional_headers={"Authorization": f"Bearer {KEY}"})
            for event, wait in steps:
                connection.send(b"\xff\x00" if event is None else json.dumps(event))
                time.sleep(wait)
            connection.socket.shutdown(socket.SHUT_RDWR)

    talks = [[(random.choice(events), random.choice((0, 0.005, 0.03))) for _ in range(random.randint(0, 6))]
             for _ in range(100)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(talk, talks))
    wait_for(lambda: metric(process, "predgen_realtime_sessions") == 0, "all of them are over")
    held = metric(process, "predgen_kv_positions")
    check(held == positions, f"and hold nothing: {held} positions, {positions} before")
    with connect(process) as connection:
        connection.recv()
        check(text_of(answer(connection, prompt)) == texts[prompt], "the next client gets its answer")


def check_own_ears():
    """A question sent as fast as it is spoken, to a recogniser on this machine."""
    with wave.open(str(QUESTION)) as file:
        rate, sound = file.getframerate(), file.readframes(file.getnframes())
    check(rate == 24000, "it has the rate of the connection")
    with server("realtime.recogniser=base", "--tts", "hibari") as process, connect(process) as connection:
        detection = connection.recv().session.audio.input.turn_detection
        check(detection.type == "semantic_vad", f"it judges by voice and words: {detection}")
        begin = time.monotonic()
        sent = sound + bytes(2 * 2 * rate)  # two seconds of silence
        for at in range(0, len(sent), 960):
            time.sleep(max(0, begin + at / 2 / rate - time.monotonic()))
            connection.input_audio_buffer.append(audio=base64.b64encode(sent[at:at + 960]).decode())
        events = take_until(connection, "response.done")
        kinds = [event.type for event in events]
        heard = [event.transcript for event in events
                 if event.type == "conversation.item.input_audio_transcription.completed"]
        check(len(heard) == 1 and "capital of france" in heard[0].lower(), f"the words: {heard}")
        stopped = next(event for event in events if event.type == "input_audio_buffer.speech_stopped")
        spoken = 1000 * len(sound) / 2 / rate
        check(spoken - 600 < stopped.audio_end_ms < spoken + 1500, f"{spoken} ms end at {stopped.audio_end_ms}")
        check(kinds.index("input_audio_buffer.speech_started") < kinds.index("input_audio_buffer.speech_stopped")
              < kinds.index("response.output_audio.delta"), f"in order: {kinds}")
        check(events[-1].response.status == "completed", f"answered: {events[-1].response}")


def check_stop():
    with server() as process, connect(process) as connection:
        connection.recv()
        process.send_signal(signal.SIGTERM)
        try:
            connection.recv()
            check(False, "a stop closes idle connections")
        except websockets.exceptions.ConnectionClosed as closed:
            check(closed.rcvd and closed.rcvd.code == 1001, f"with its reason: {closed}")


def main():
    key = f"api_keys_sha256=[{hashlib.sha256(KEY.encode()).hexdigest()}]"
    with server(key, "realtime.max_sessions=2") as process:
        texts = texts_of_requests(process)
        check_text(process, texts)
        check_words_as_they_come(process, texts)
        check_extensions(process)
        check_errors(process)
        check_leaving(process)
        check_cut_connections(process, texts)
    check(not any(prompt in process.log for prompt in PROMPTS), "no text of users in the log")
    check_stop()
    if ESPEAK:
        with server(key, "realtime.system_prompt=none", "--tts", "espeak") as process:
            check_sound(process, texts)
    else:
        print("skipped: sound (no predgen-espeak)")
    missing = missing_for("whisper-base", "silero", "smart-turn", "hibari")
    if missing:
        print(f"skipped: own ears (no {missing})")
    else:
        check_own_ears()


os.environ.setdefault("OMP_NUM_THREADS", "1")
main()
