"""LiveKit's agents with their OpenAI plugin, as they come by default, with predgen serve."""

import asyncio
import wave

import other_clients  # noqa: F401, the packages of requirements-clients.txt

from livekit import rtc
from livekit.agents import llm
from livekit.plugins import openai

from program import REPOSITORY
from serving import KEY, PROMPTS, check, run_checks, texts_of_requests

QUESTION = REPOSITORY / "data/samples/question.wav"


async def said(generation):
    """The text of a reply, and how many samples of sound it has."""
    text, num_samples = "", 0
    async for message in generation.message_stream:
        async for part in message.text_stream:
            text += part
        async for frame in message.audio_stream:
            num_samples += frame.samples_per_channel
    return text, num_samples


def errors_of(session):
    errors = []
    session.on("error", lambda event: errors.append(event.error))
    return errors


async def check_llm(process):
    texts = texts_of_requests(process)
    model = openai.LLM(model="demo", base_url=process.url + "/v1", api_key=KEY)
    chat = llm.ChatContext.empty()
    chat.add_message(role="user", content=PROMPTS[0])
    answer = ""
    async with model.chat(chat_ctx=chat) as stream:
        async for chunk in stream:
            answer += (chunk.delta and chunk.delta.content) or ""
    check(answer == texts[PROMPTS[0]], f"a chat: {answer}")


async def check_text(process):
    texts = texts_of_requests(process)
    model = openai.realtime.RealtimeModel(base_url=process.url + "/v1", api_key=KEY)
    session = model.session()
    errors = errors_of(session)
    greeting, _ = await said(await session.generate_reply(instructions="Greet the caller."))
    check(greeting, "the assistant speaks first")
    chat = llm.ChatContext.empty()
    await session.update_chat_ctx(chat)  # the greeting goes
    chat.add_message(role="user", content=PROMPTS[0])
    await session.update_chat_ctx(chat)
    answer, _ = await said(await session.generate_reply())
    check(answer == texts[PROMPTS[0]], f"the text of a request: {answer}")
    await session.update_instructions("You answer the phone of a bakery.")
    session.update_options(tool_choice="required", speed=1.5, tracing="auto")  # what cannot be done harms nothing
    again, _ = await said(await session.generate_reply(instructions="Ask whether there is anything else."))
    check(again and not errors, f"{again!r} {errors}")
    await session.aclose()
    await model.aclose()


async def check_sound(process):
    model = openai.realtime.RealtimeModel(base_url=process.url + "/v1", api_key=KEY)
    session = model.session()
    errors = errors_of(session)
    heard, replies = asyncio.Future(), asyncio.Future()
    session.on("input_audio_transcription_completed",
               lambda event: event.is_final and not heard.done() and heard.set_result(event.transcript))
    session.on("generation_created", lambda event: replies.done() or replies.set_result(event))
    with wave.open(str(QUESTION)) as question:
        rate, samples = question.getframerate(), question.readframes(question.getnframes())
    samples += bytes(2 * 2 * rate)  # the pause that ends the turn
    step = rate // 50
    for begin in range(0, len(samples) // 2, step):  # much faster than it was spoken
        part = samples[2 * begin:2 * (begin + step)]
        session.push_audio(rtc.AudioFrame(part, rate, 1, len(part) // 2))
    check("capital of france" in (await heard).lower(), f"what was said is heard: {heard.result()}")
    text, num_samples = await said(await replies)
    check(text and num_samples > 2400 and not errors, f"and answered: {text} {num_samples} {errors}")
    await session.aclose()
    await model.aclose()


async def check_voice_and_ears(process):
    """The plugins for speech alone, whose requests are those of OpenAI's own models."""
    with wave.open(str(QUESTION)) as question:
        rate, samples = question.getframerate(), question.readframes(question.getnframes())
    ears = openai.STT(base_url=process.url + "/v1", api_key=KEY)
    event = await ears.recognize(rtc.AudioFrame(samples, rate, 1, len(samples) // 2))
    heard = event.alternatives[0].text
    check("capital of france" in heard.lower(), f"a recording is heard: {heard}")
    voice = openai.TTS(base_url=process.url + "/v1", api_key=KEY)
    num_samples = 0
    async with voice.synthesize("Good evening.") as stream:
        async for spoken in stream:
            num_samples += spoken.frame.samples_per_channel
    check(num_samples > 12000, f"a text is spoken: {num_samples}")


run_checks(of_text=[check_llm, check_text], of_sound=[check_sound, check_voice_and_ears])
