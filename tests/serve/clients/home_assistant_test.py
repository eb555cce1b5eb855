"""Requests of Home Assistant's integrations, written after their published source (Home Assistant needs a newer Python):
openai_conversation's conversation, voice and recogniser, openai_tts, and extended_openai_conversation; and agents that
control a home with its functions."""

import io
import json
import sys
import tempfile
import wave
from pathlib import Path

import openai

from clients import CANNOT_HEAR, ESPEAK, FULL, PROMPTS, QUESTION, check, client, server, user
from tool_model import AFTER, make_tool_model


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


TEXT = {"type": "string"}
PLACES = {"name": TEXT, "area": TEXT, "floor": TEXT, "domain": {"type": "array", "items": TEXT}}
FUNCTIONS = [  # as voluptuous_openapi makes them
    {"name": "HassTurnOn", "description": "Turns on", "parameters": {"type": "object", "properties": PLACES, "required": []}},
    {"name": "HassStartTimer", "description": "Starts a timer", "parameters": {
        "type": "object", "properties": {"hours": {"type": "integer", "minimum": 0}, "minutes": {"type": "integer"}, "name": TEXT},
        "required": [], "anyOf": [{"required": ["hours"]}, {"required": ["minutes"]}]}},
    {"name": "GetDateTime", "description": "The time", "parameters": {"type": "object", "properties": {}, "required": []}}]
HOME = ("You run a home.\nStatic Context: An overview of the areas and the devices in this smart home:\n"
        "- names: Kitchen Light, Spots\n  domain: light\n  areas: Kitchen\n- names: '1'\n  domain: switch\n")
ASKED, MADE = "Turn on the kitchen light", {"name": "Kitchen Light", "domain": ["light"]}
DONE = json.dumps({"speech": {}, "response_type": "action_done", "data": {"success": [{"name": "Kitchen Light"}], "failed": []}})


def check_control(api, made):
    """An agent on chat completions: a call that the model writes into a fence of code is a call, and only that."""
    tools = [{"type": "function", "function": one} for one in FUNCTIONS]
    messages = [{"role": "system", "content": HOME}, *user(ASKED)]
    text, name, call_id, calls = "", "", "", []
    for chunk in api.chat.completions.create(model="lamp", messages=messages, tools=tools, user="01J", stream=True, temperature=0):
        delta = chunk.choices[0].delta
        text += delta.content or ""
        for call in delta.tool_calls or []:
            calls += [call.function.arguments or ""] if call.id else []
            calls[-1] += "" if call.id else call.function.arguments
            name = call.function.name or name
            call_id = call.id or call_id
    check(not text and name == "HassTurnOn" and [json.loads(one) for one in calls] == [made], f"a call: {text!r} {calls}")
    messages += [{"role": "assistant", "content": None, "tool_calls": [
        {"type": "function", "id": call_id, "function": {"name": name, "arguments": calls[0]}}]},
        {"role": "tool", "tool_call_id": call_id, "content": DONE}]
    answer = api.chat.completions.create(model="lamp", messages=messages, tools=tools, temperature=0).choices[0]
    check(answer.message.content == AFTER and answer.finish_reason == "stop", f"and its answer: {answer}")


def check_control_by_responses(api, made):
    """openai_conversation sends the same as responses."""
    tools = [{"type": "function", "strict": False, **one} for one in FUNCTIONS]
    asked = [{"type": "message", "role": "developer", "content": HOME}, {"type": "message", "role": "user", "content": ASKED}]
    events = list(api.responses.create(model="lamp", input=asked, tools=tools, store=False, stream=True, temperature=0, max_output_tokens=3000))
    call = events[-1].response.output[0]
    check(call.type == "function_call" and json.loads(call.arguments) == made, f"a call: {events[-1]}")
    asked += [{"type": "function_call", "name": call.name, "arguments": call.arguments, "call_id": call.call_id},
              {"type": "function_call_output", "call_id": call.call_id, "output": DONE}]
    answer = api.responses.create(model="lamp", input=asked, tools=tools, store=False, temperature=0)
    check(answer.output_text == AFTER, f"and its answer: {answer}")


with tempfile.TemporaryDirectory() as folder:
    model = make_tool_model(Path(folder) / "lamp")
    # A name says which device is meant: nothing has to be beside it.
    for arguments, made in (((), MADE), (("--constrain-names",), {"name": MADE["name"]})):
        with server(*arguments, model=model) as process:
            check_control(client(process), made)
            check_control_by_responses(client(process), made)
with server(*FULL) as process:
    api = client(process)
    check_conversation(api)
    check_extended(api)
    check_voice(api)
    check_recogniser(api)
sys.exit(0)
