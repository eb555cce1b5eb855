"""Functions that a model calls, with predgen serve, asked by the `openai` client as it comes."""

import hashlib
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Literal

from skipping import skip_without

skip_without("websockets", "openai's realtime connection")

import openai  # noqa: E402
import pydantic  # noqa: E402

from serving import KEY, check, client, server, take_until, user  # noqa: E402
from program import ESPEAK  # noqa: E402
from tool_model import AFTER, ARGUMENTS, BEFORE_CALL, FUNCTION, TALK, make_tool_model  # noqa: E402

TOOLS = [{"type": "function", "function": FUNCTION}]
SWITCH = "Switch the lamp on, please."


def check_chat(process):
    api = client(process)
    messages = user(SWITCH)
    ask = {"model": "lamp", "tools": TOOLS}
    answer = api.chat.completions.create(messages=messages, **ask).choices[0]
    check(answer.finish_reason == "tool_calls" and answer.message.content == BEFORE_CALL, f"a call: {answer}")
    call = answer.message.tool_calls[0]
    check(call.function.name == "switch_lamp" and json.loads(call.function.arguments) == ARGUMENTS, f"{call}")
    messages += [answer.message, {"role": "tool", "tool_call_id": call.id, "content": "done"}]
    after = api.chat.completions.create(messages=messages, **ask).choices[0]
    check(after.message.content == AFTER and after.finish_reason == "stop" and not after.message.tool_calls,
          f"an answer after it: {after}")
    check(api.chat.completions.create(messages=user("Hi"), **ask).choices[0].message.content == TALK, "no call")
    none = api.chat.completions.create(messages=user(SWITCH), tool_choice="none", **ask).choices[0]
    check(none.message.content == TALK, f"no function is shown: {none}")
    broken = api.chat.completions.create(messages=user("the oven"), max_tokens=40, **ask).choices[0].message
    check("oven" not in str(broken), f"it would call a function that does not exist: {broken}")
    rooms = {"type": "object", "properties": {"room": {"enum": ["kitchen", "hall"]}}, "required": ["room"],
             "additionalProperties": False}
    ask["tools"] = [{"type": "function", "function": FUNCTION | {"parameters": rooms}}]
    for choice in ["required", {"type": "function", "function": {"name": "switch_lamp"}}]:
        called = api.chat.completions.create(messages=user("Hi"), tool_choice=choice, **ask).choices[0]
        check(called.message.tool_calls and not called.message.content, f"{choice}: {called}")
        call = called.message.tool_calls[0].function
        check(call.name == "switch_lamp" and json.loads(call.arguments)["room"] in ("kitchen", "hall"),
              f"{choice}: {call}")
    try:
        api.chat.completions.create(messages=user("Hi"), tool_choice={"type": "function", "function": {"name": "oven"}}, **ask)
        check(False, "there is no such function")
    except openai.BadRequestError as error:
        check(error.param == "tool_choice", f"{error}")


class Lamp(pydantic.BaseModel):
    room: Literal["kitchen", "hall"]
    on: bool


def check_forms(process):
    """Answers in the form of a pydantic model, by the client's own parse()."""
    api = client(process)
    said = api.chat.completions.parse(model="lamp", messages=user("Hi"), response_format=Lamp).choices[0]
    check(isinstance(said.message.parsed, Lamp) and said.finish_reason == "stop", f"{said}")
    said = api.responses.parse(model="lamp", input="Hi", text_format=Lamp)
    check(isinstance(said.output_parsed, Lamp), f"{said}")
    said = api.chat.completions.create(model="lamp", messages=user("Hi"), extra_body={"guided_choice": ["on", "off"]})
    check(said.choices[0].message.content in ("on", "off"), f"{said}")
    calls = api.chat.completions.parse(model="lamp", messages=user("Hi"), tool_choice="required",
                                       tools=[openai.pydantic_function_tool(Lamp, name="switch")]).choices[0].message.tool_calls
    check(calls and all(isinstance(call.function.parsed_arguments, Lamp) for call in calls), f"{calls}")
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    for name, bad in (("uniqueItems", schema), ("maxLength", {"type": "string", "maxLength": 10**9})):
        try:
            form = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": bad}}
            api.chat.completions.create(model="lamp", messages=user("Hi"), response_format=form)
            check(False, f"nobody can promise {bad}")
        except openai.BadRequestError as error:
            check(name in error.message and "\n" not in error.message, f"{error}")


def check_stream(process):
    chunks = list(client(process).chat.completions.create(model="lamp", messages=user(SWITCH), tools=TOOLS, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    check("".join(delta.content or "" for delta in deltas) == BEFORE_CALL, "nothing of the call is text")
    calls = [delta.tool_calls[0] for delta in deltas if delta.tool_calls]
    check(calls[0].function.name == "switch_lamp" and calls[0].id and all(one.index == 0 for one in calls), f"{calls}")
    arguments = "".join(one.function.arguments or "" for one in calls)
    check(json.loads(arguments) == ARGUMENTS, f"its arguments: {arguments}")
    check(chunks[-1].choices[0].finish_reason == "tool_calls", "says why it ended")
    # The client's own way to put them together.
    tools = [openai.pydantic_function_tool(SwitchLamp, name="switch_lamp")]
    with client(process).chat.completions.stream(model="lamp", messages=user(SWITCH), tools=tools) as stream:
        final = stream.get_final_completion().choices[0].message
    check(final.tool_calls[0].function.parsed_arguments == SwitchLamp(**ARGUMENTS), f"{final}")
    check(final.content == BEFORE_CALL, f"{final}")


def check_demo():
    """Its template shows no functions, so the system message does."""
    with server() as process:
        ask = partial(client(process).chat.completions.create, model="demo", messages=user("Hi"), max_tokens=1)
        plain, told = (ask(**more).usage.prompt_tokens for more in ({}, {"tools": TOOLS}))
        check(told > plain + 50, f"functions are in the prompt: {told} tokens, {plain} without")


def begin(connection, **more):
    connection.recv()
    connection.session.update(session={"type": "realtime", "tools": [{"type": "function", **FUNCTION}], **more})
    updated = take_until(connection, "session.updated")[-1]
    check(updated.session.tools[0].name == "switch_lamp", f"{updated}")


def go_on(connection, call_id):
    connection.conversation.item.create(item={"type": "function_call_output", "call_id": call_id, "output": "done"})
    connection.response.create()
    return take_until(connection, "response.done")


def text_of(response):
    part = response.output[0].content[0]
    return part.text or part.transcript


def check_realtime(process, words):
    """`words` as they come; none: a message."""
    with client(process).realtime.connect(model="lamp") as connection:
        begin(connection)
        for count, text in enumerate(words):
            connection.send({"type": "predgen.transcript.update", "text": text, "end_of_turn": count == len(words) - 1})
        if not words:
            connection.conversation.item.create(
                item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": SWITCH}]})
            connection.response.create()
        events = take_until(connection, "response.done")
        said = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        check(said == BEFORE_CALL, f"nothing of the call is text: {said}")
        done = [event for event in events if event.type == "response.function_call_arguments.done"]
        check(len(done) == 1 and json.loads(done[0].arguments) == ARGUMENTS, f"one call: {done}")
        kinds = [item.type for item in events[-1].response.output]
        check(kinds == ["message", "function_call"], f"{kinds}")
        after = go_on(connection, done[0].call_id)[-1].response
        check(text_of(after) == AFTER, f"an answer after it: {after}")


def check_sound(process):
    with client(process).realtime.connect(model="lamp") as connection:
        begin(connection)

        def seconds(text):
            connection.conversation.item.create(
                item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
            connection.response.create()
            events = take_until(connection, "response.done")
            sound = sum(len(event.delta) * 3 / 4 for event in events if event.type == "response.output_audio.delta")
            return sound / 2 / 24000, events[-1].response

        plain, _ = seconds("Hi")
        called, response = seconds(SWITCH)
        check(response.output[-1].type == "function_call", f"{response}")
        check(plain / 2 < called < 3 * plain, f"a call is not spoken: {called} s of sound, {plain} without one")
        check(text_of(go_on(connection, response.output[-1].call_id)[-1].response) == AFTER, "said after it")


def main(scratch):
    model = make_tool_model(scratch / "lamp")
    key = f"api_keys_sha256=[{hashlib.sha256(KEY.encode()).hexdigest()}]"
    with server(key, model=model) as process:
        check_chat(process)
        check_stream(process)
        check_forms(process)
        check_realtime(process, [])
        check_realtime(process, ["Switch", "Switch the lamp", "Switch the lamp on", SWITCH])
    check_demo()
    if ESPEAK:
        with server(key, "--tts", "espeak", model=model) as process:
            check_sound(process)
    else:
        print("skipped: sound (no predgen-espeak)")


class SwitchLamp(openai.BaseModel):
    room: str
    on: bool


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
