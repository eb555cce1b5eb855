"""The `openai` package as it is by default: chats, responses, speech and transcriptions."""

import asyncio
import io
import sys

import openai

from clients import CANNOT_HEAR, ESPEAK, FULL, KEY, PROMPTS, QUESTION, check, client, server, user


def check_chat(api):
    whole = api.chat.completions.create(model="demo", messages=user(PROMPTS[0]))
    text = whole.choices[0].message.content
    check(text and whole.usage.completion_tokens > 0, f"a chat is answered: {text}")
    with api.chat.completions.stream(model="demo", messages=user(PROMPTS[0])) as stream:
        stream.until_done()
        check(stream.get_final_completion().choices[0].message.content == text, "in a stream, too")
    return text


def check_responses(api, text):
    whole = api.responses.create(model="demo", input=PROMPTS[0])
    check(whole.output_text == text and whole.status == "completed", f"a response says the same: {whole.output_text}")
    with api.responses.stream(model="demo", input=PROMPTS[0]) as stream:
        kinds = [event.type for event in stream]
        check(stream.get_final_response().output_text == text, "in a stream, too")
    check(kinds[0] == "response.created" and kinds[-1] == "response.completed", f"with the API's events: {kinds}")
    # Its answer goes back as it came.
    history = [*user(PROMPTS[0]), *whole.output, *user("Thanks!")]
    again = api.responses.create(model="demo", input=history, instructions="Be brief.", store=False, max_output_tokens=8)
    check(again.status in ("completed", "incomplete"), f"a conversation goes on: {again.output_text}")
    try:
        api.responses.create(model="demo", input="Thanks!", previous_response_id=whole.id)
        check(False, "no response is stored")
    except openai.BadRequestError as error:
        check(error.param == "previous_response_id" and "whole conversation" in error.message, f"which is said: {error.message}")


def check_sound(api):
    if not ESPEAK:
        print("skipped: speech (PREDGEN_ESPEAK=OFF)")
        return
    speech = api.audio.speech.create(model="gpt-4o-mini-tts", voice="alloy", input=QUESTION).content
    check(speech[:2] in (b"\xff\xf3", b"\xff\xfb"), "speech is MP3 by default")
    if CANNOT_HEAR:
        print(f"skipped: transcriptions ({CANNOT_HEAR})")
        return
    heard = api.audio.transcriptions.create(model="whisper-1", file=("question.mp3", speech))
    check("weather like in london" in heard.text.lower(), f"which is heard: {heard.text}")
    for form in ("wav", "opus", "flac"):
        sound = api.audio.speech.create(model="tts-1", voice="nova", input=QUESTION, response_format=form).content
        again = api.audio.transcriptions.create(model="gpt-4o-transcribe", file=(f"question.{form}", io.BytesIO(sound)),
                                                response_format="text")
        check("weather like in london" in again.lower(), f"{form} is heard: {again}")
    verbose = api.audio.transcriptions.create(model="whisper-1", file=("question.mp3", speech), response_format="verbose_json",
                                              timestamp_granularities=["segment"])
    check(verbose.segments and 1 < verbose.duration < 5, f"with times: {verbose.duration}")
    stream = api.audio.transcriptions.create(model="gpt-4o-mini-transcribe", file=("question.mp3", speech), stream=True)
    events = list(stream)
    check(events[-1].type == "transcript.text.done" and events[-1].text == heard.text, f"in a stream: {events[-1]}")
    for more, name in (({"language": "fi"}, "language"), ({"file": ("a.m4a", b"\0\0\0\x20ftypM4A ")}, "file")):
        try:
            api.audio.transcriptions.create(**{"model": "whisper-1", "file": ("question.mp3", speech), **more})
            check(False, f"{more} is refused")
        except openai.BadRequestError as error:
            check(error.param == name, f"{name} is refused: {error.message}")


async def check_async(process, text):
    api = openai.AsyncOpenAI(base_url=process.url + "/v1/", api_key=KEY, max_retries=0)
    stream = await api.responses.create(model="demo", input=PROMPTS[0], stream=True)
    said = "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])
    check(said == text, "the asynchronous client, with a slash at the end of its address")


with server(*FULL) as process:
    api = client(process)
    text = check_chat(api)
    check_responses(api, text)
    check_sound(api)
    asyncio.run(check_async(process, text))
sys.exit(0)
