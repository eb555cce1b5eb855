"""Sound for predgen serve, from the `openai` client's realtime connection to a recogniser that speaks as sherpa-onnx's
streaming server does."""

import array
import base64
import contextlib
import math
import os
import time

from skipping import skip_without

skip_without("websockets", "openai's realtime connection")

from fake_recogniser import SECONDS_PER_WORD, Recogniser  # noqa: E402
from serving import KEY, PROMPTS, check, client, server, take_until, text_of, texts_of_requests, user  # noqa: E402

RATE, CHUNK = 24000, 0.1


def sound(seconds, loudness=0.3):
    samples = array.array("h", (int(32767 * loudness * math.sin(2 * math.pi * 440 * i / RATE))
                                for i in range(int(seconds * RATE))))
    return base64.b64encode(samples.tobytes()).decode()


LOUD, SILENT = sound(CHUNK), sound(CHUNK, 0)


@contextlib.contextmanager
def conversation(process, turn_detection=None, events=()):
    with client(process, KEY).realtime.connect(model="demo") as connection:
        created = connection.recv()
        check(created.session.audio.input.turn_detection.type == "server_vad", f"says who detects turns: {created}")
        connection.session.update(session={
            "type": "realtime", "predgen": {"events": list(events)},
            "audio": {"input": {"format": {"type": "audio/pcm", "rate": RATE}, "turn_detection": turn_detection}}})
        check(connection.recv().type == "session.updated", "is taken")
        yield connection


def speak(connection, text, pace=0.0):
    for _ in range(round(len(text.split()) * SECONDS_PER_WORD / CHUNK + 0.5)):
        connection.input_audio_buffer.append(audio=LOUD)
        time.sleep(pace)


def check_commits(process, recogniser, texts):
    for fault in ("", "python"):  # the server that is written in Python ends without "Done!"
        recogniser.fault = fault
        for prompt, text in texts.items():
            recogniser.says = prompt
            with conversation(process, events=["speculation"]) as connection:
                speak(connection, prompt, pace=0.02)
                drafts = take_until(connection, "predgen.speculation.draft")
                connection.input_audio_buffer.commit()
                connection.response.create()
                events = take_until(connection, "response.done")
                kinds = [event.type for event in drafts + events]
                check("response.created" not in kinds[:len(drafts)], f"it is drafted before the end: {kinds}")
                plain = [kind for kind in kinds if not kind.startswith("predgen.")]
                check(plain[:6] == ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done",
                                    "conversation.item.input_audio_transcription.delta",
                                    "conversation.item.input_audio_transcription.completed", "response.created"],
                      f"the order of the protocol: {plain}")
                item = next(event.item for event in events if event.type == "conversation.item.done")
                check(item.content[0].type == "input_audio" and item.content[0].transcript == prompt, f"{item}")
                check(text_of(events) == text, f"the text of a request: {text_of(events)!r}, not {text!r}")
                check("predgen.speculation.kept" in kinds, f"of the draft: {kinds}")
    recogniser.fault = ""


def check_turns(process, recogniser, texts):
    prompts = list(texts)[:2]
    recogniser.says = " ".join(prompts)
    connections = recogniser.num_connections
    with conversation(process, {"type": "server_vad", "silence_duration_ms": 400}) as connection:
        said = []
        for prompt in prompts:
            # Exactly its words: what is too much counts for the next one.
            connection.input_audio_buffer.append(audio=sound(len(prompt.split()) * SECONDS_PER_WORD))
            for _ in range(12):
                connection.input_audio_buffer.append(audio=SILENT)
                time.sleep(0.02)
            events = take_until(connection, "response.done")
            kinds = [event.type for event in events]
            check(kinds[:7] == ["input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped",
                                "input_audio_buffer.committed", "conversation.item.added", "conversation.item.done",
                                "conversation.item.input_audio_transcription.delta",
                                "conversation.item.input_audio_transcription.completed"], f"{kinds}")
            check(events[6].transcript == prompt, f"the turn's words: {events[6]}")
            check(events[0].item_id == events[1].item_id == events[2].item_id == events[4].item.id, "of one item")
            check(events[0].audio_start_ms < events[1].audio_end_ms, "in the order of time")
            said.append(text_of(events))
        check(said[0] == texts[prompts[0]], f"the text of a request: {said[0]!r}")
        check(recogniser.num_connections == connections + 1, "a connection for all of the conversation")
    recogniser.says = prompts[0]
    with conversation(process, {"type": "server_vad", "create_response": False}) as connection:
        speak(connection, prompts[0])
        for _ in range(12):
            connection.input_audio_buffer.append(audio=SILENT)
            time.sleep(0.02)
        take_until(connection, "conversation.item.input_audio_transcription.completed")
        connection.input_audio_buffer.clear()
        check(connection.recv().type == "input_audio_buffer.cleared", "nothing is answered that is not asked for")
        connection.response.create()
        check(text_of(take_until(connection, "response.done")) == texts[prompts[0]], "until it is")


def check_interruption(process, recogniser):
    """An answer is short: several may be over before they are interrupted."""
    for _ in range(20):
        recogniser.says = PROMPTS[0]
        with conversation(process, {"type": "server_vad"}) as connection:
            connection.conversation.item.create(
                item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPTS[1]}]})
            connection.response.create()
            connection.input_audio_buffer.append(audio=sound(1))
            events = take_until(connection, "response.done")
            response = events[-1].response
            if response.status == "completed":
                continue
            kinds = [event.type for event in events]
            check(response.status == "cancelled" and response.status_details.reason == "turn_detected", f"{response}")
            check("input_audio_buffer.speech_started" in kinds, f"{kinds}")
            speak(connection, PROMPTS[0])
            for _ in range(12):
                connection.input_audio_buffer.append(audio=SILENT)
                time.sleep(0.02)
            check(take_until(connection, "response.done")[-1].response.status == "completed", "the next turn is answered")
            return
    check(False, "no answer was interrupted")


def error_of(connection, code):
    error = take_until(connection, "error")[-1].error
    check(error.code == code, f"{code}: {error}")
    return error.message


def ask(connection, prompt):
    connection.conversation.item.create(
        item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]})
    connection.response.create()
    return text_of(take_until(connection, "response.done"))


def check_faults(process, recogniser, texts):
    prompt, text = next(iter(texts.items()))
    recogniser.says = prompt
    for fault, part in (("gone", "has gone away"), ("nonsense", "no result")):
        with conversation(process) as connection:
            recogniser.fault = fault
            speak(connection, prompt)
            message = error_of(connection, "recogniser_failed")
            check(part in message and prompt not in message, f"{fault}: {message}")
            check(ask(connection, prompt) == text, f"{fault}: text still works")
            recogniser.fault = ""
            connection.input_audio_buffer.clear()
            take_until(connection, "input_audio_buffer.cleared")
            speak(connection, prompt)
            connection.input_audio_buffer.commit()
            check(take_until(connection, "conversation.item.input_audio_transcription.completed")[-1].transcript == prompt,
                  f"{fault}: it hears again")
    with conversation(process) as connection:
        recogniser.fault = "asleep"
        four_seconds = sound(4)
        for _ in range(100):
            connection.input_audio_buffer.append(audio=four_seconds)
        check("too slow" in error_of(connection, "recogniser_failed"), "what is not taken is not kept")
        check(ask(connection, prompt) == text, "slow: text still works")
        recogniser.fault = ""
    with conversation(process) as connection:
        for send, code in ((lambda: connection.input_audio_buffer.append(audio="no sound!"), "invalid_value"),
                           (lambda: connection.input_audio_buffer.commit(), "input_audio_buffer_commit_empty")):
            send()
            error_of(connection, code)
        connection.session.update(session={"type": "realtime", "audio": {"input": {"turn_detection": {"type": "push_to_talk"}}}})
        take_until(connection, "predgen.warning")
        take_until(connection, "session.updated")


def check_absence(texts):
    prompt, text = next(iter(texts.items()))
    with server("realtime.recogniser=ws://127.0.0.1:1") as process, conversation(process) as connection:
        connection.input_audio_buffer.append(audio=LOUD)
        check("is not there" in error_of(connection, "recogniser_failed"), "it says that nobody listens")
        check(ask(connection, prompt) == text, "absent: text still works")


def main():
    recogniser = Recogniser()
    with server(f"realtime.recogniser={recogniser.url}") as process:
        texts = texts_of_requests(process)
        check_commits(process, recogniser, texts)
        check_turns(process, recogniser, texts)
        check_interruption(process, recogniser)
        check_faults(process, recogniser, texts)
    check(not any(prompt in process.log for prompt in PROMPTS), "no text of users in the log")
    check_absence(texts)


os.environ.setdefault("OMP_NUM_THREADS", "1")
main()
