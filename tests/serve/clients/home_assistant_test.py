"""Requests of Home Assistant's integrations, written after their published source (Home Assistant needs a newer Python):
openai_conversation's conversation, voice and recogniser, openai_tts, and extended_openai_conversation."""

import io
import json
import sys
import wave

import openai

from clients import CANNOT_HEAR, ESPEAK, FULL, PROMPTS, QUESTION, check, client, server, user


def check_conversation(api):
    """openai_conversation: a stream of responses, which must complete: it takes an incomplete one for an error."""
    messages = [{"type": "message", "role": "developer", "content": "You are a voice assistant for Home Assistant."},
                {"type": "message", "role": "user", "content": PROMPTS[0]}]
    ask = {"model": "demo", "max_output_tokens": 1500, "top_p": 1.0, "temperature": 1.0, "user": "01JCONVERSATION",
           "store": False, "stream": True, "extra_body": {"seed": 1}}  # the seed is ours: the same text each time
    text, kinds = "", []
    for event in api.responses.create(input=messages, **ask):
        kinds.append(event.type)
        text += event.delta if event.type == "response.output_text.delta" else ""
    check(kinds[-1] == "response.completed" and text, f"a conversation: {text} {kinds[-1]}")
    messages += [{"type": "message", "role": "assistant", "content": text},
                 {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None},
                 {"type": "message", "role": "user", "content": PROMPTS[1]}]
    last = list(api.responses.create(input=messages, reasoning={"effort": "low", "summary": "auto"},
                                     include=["reasoning.encrypted_content"], text={"verbosity": "medium"}, **ask))[-1]
    check(last.type == "response.completed", f"which goes on: {last.type}")


def check_extended(api):
    """extended_openai_conversation: chats, streamed or not, by older and newer names of the limit."""
    for more in ({"max_tokens": 150}, {"max_completion_tokens": 150}):
        answer = api.chat.completions.create(model="demo", messages=[{"role": "system", "content": "Be brief."}, *user(PROMPTS[0])],
                                             top_p=1, temperature=0.5, user="01JCONVERSATION", **more)
        check(answer.choices[0].message.content, f"{more}: {answer.choices[0].message.content}")


def check_voice(api):
    if not ESPEAK:
        print("skipped: speech (PREDGEN_ESPEAK=OFF)")
        return
    speech = api.audio.speech.with_streaming_response
    # openai_conversation sends its prompt as it is: "None", if there is none.
    with speech.create(model="gpt-4o-mini-tts", voice="marin", input=QUESTION, instructions="None", speed=1.0,
                       response_format="mp3") as sound:
        check(b"".join(sound.iter_bytes())[:2] in (b"\xff\xf3", b"\xff\xfb"), "its voice")
    # openai_tts
    with speech.create(model="tts-1", voice="shimmer", input=QUESTION, speed=1.25, response_format="mp3") as sound:
        check(sound.headers["content-type"] == "audio/mpeg", "openai_tts' voice")


def check_recogniser(api):
    if CANNOT_HEAR:
        print(f"skipped: transcriptions ({CANNOT_HEAR})")
        return
    samples = api.audio.speech.create(model="demo", voice="alloy", input=QUESTION, response_format="pcm").content
    recording = io.BytesIO()
    with wave.open(recording, "wb") as file:
        file.setparams((1, 2, 24000, 0, "NONE", ""))
        file.writeframes(samples)
    heard = api.audio.transcriptions.create(model="gpt-4o-mini-transcribe", file=("a.wav", recording.getvalue()),
                                            response_format="json", language="en", prompt="The following is a voice command.")
    check("weather like in london" in heard.text.lower(), f"its microphone is heard: {json.dumps(heard.text)}")


with server(*FULL) as process:
    api = client(process)
    check_conversation(api)
    check_extended(api)
    check_voice(api)
    check_recogniser(api)
sys.exit(0)
