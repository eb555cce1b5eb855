"""predgen serve as a Wyoming service, by the `wyoming` package's own client."""

import asyncio
import contextlib
import json
import os
import signal
import socket
from random import Random
from urllib.parse import urlparse

from skipping import skip_without

skip_without("wyoming", "the client")

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop  # noqa: E402
from wyoming.audio import AudioChunk, AudioStart, AudioStop  # noqa: E402
from wyoming.client import AsyncClient  # noqa: E402
from wyoming.error import Error  # noqa: E402
from wyoming.event import Event  # noqa: E402
from wyoming.handle import Handled, HandledChunk, HandledStart, HandledStop, NotHandled  # noqa: E402
from wyoming.info import Describe, Info  # noqa: E402
from wyoming.ping import Ping, Pong  # noqa: E402
from wyoming.tts import (Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop,  # noqa: E402
                         SynthesizeStopped, SynthesizeVoice)

from fake_recogniser import SECONDS_PER_WORD, Recogniser  # noqa: E402
from serving import PROMPTS, check, client, metric, server, user  # noqa: E402
from program import ESPEAK  # noqa: E402

WYOMING = ["--wyoming-port", "0"]


@contextlib.contextmanager
def service(*arguments):
    with server(*WYOMING, *arguments) as process:
        process.uri = process.stdout.readline().strip()
        check(process.uri.startswith("tcp://127.0.0.1:"), f"prints its second address: {process.uri}")
        yield process


def connect(process):
    return AsyncClient.from_uri(process.uri, read_timeout=60)


def text_of_request(process, messages):
    return client(process).chat.completions.create(model="demo", messages=messages, temperature=0) \
        .choices[0].message.content


async def until(connection, kind):
    events = []
    while not events or not kind.is_type(events[-1].type):
        event = await connection.read_event()
        if event is None or (Error.is_type(event.type) and kind is not Error):
            check(False, f"{kind.__name__} comes, not {event} after {[one.type for one in events]}")
        events.append(event)
    return events


async def ask(process, text, **context):
    """What Home Assistant does for each turn."""
    async with connect(process) as connection:
        await connection.write_event(Transcript(text, context=context or None, language="en").event())
        return Handled.from_event((await until(connection, Handled))[-1])


async def check_info(process, has_voice):
    async with connect(process) as connection:
        await connection.write_event(Describe().event())
        info = Info.from_event((await until(connection, Info))[-1])
        program = info.handle[0]
        check(program.installed and program.models[0].name == "demo" and program.supports_handled_streaming, f"{info}")
        check(program.models[0].languages == ["en"], f"{info}")
        check(bool(info.tts) == has_voice and not info.asr and not info.wake, f"{info}")
        if has_voice:
            voices = info.tts[0].voices
            check(voices[0].languages and info.tts[0].supports_synthesize_streaming, f"{info}")
            check(voices[0].name == "en-us" and len(voices) > 50 and "de" in [voice.name for voice in voices], f"{voices}")
        await connection.write_event(Ping("hi").event())
        check(Pong.from_event((await until(connection, Pong))[-1]).text == "hi", "pong")


async def check_answers(process):
    first, second = PROMPTS[:2]
    texts = [text_of_request(process, user(first))]
    texts.append(text_of_request(process, [*user(first), {"role": "assistant", "content": texts[0]}, *user(second)]))
    one = await ask(process, first, conversation_id="c", satellite_id="kitchen")
    check(one.text == texts[0], f"the text of a request: {one.text!r}, not {texts[0]!r}")
    check(one.context == {"conversation_id": "c", "satellite_id": "kitchen"}, f"its context: {one.context}")
    check((await ask(process, second, conversation_id="c")).text == texts[1], "a conversation goes on")
    check((await ask(process, first, conversation_id="d")).text == texts[0], "another one begins")
    new = await ask(process, first)
    check((await ask(process, second, **new.context)).text == texts[1], "one without an id is given one")


async def check_stream(process):
    """Words as a streaming recogniser passes them on, and the answer in pieces."""
    speculative = metric(process, "predgen_speculative_passes_total")
    for prompt in PROMPTS:
        expected = text_of_request(process, user(prompt))
        async with connect(process) as connection:
            await connection.write_event(TranscriptStart(language="en").event())
            for word in prompt.split():
                await connection.write_event(TranscriptChunk(word + " ").event())
                await asyncio.sleep(0.02)
            await connection.write_event(Transcript(prompt).event())
            await connection.write_event(TranscriptStop().event())
            events = await until(connection, HandledStop)
            check(HandledStart.is_type(events[0].type), f"a stream: {events[0]}")
            pieces = [HandledChunk.from_event(event).text for event in events if HandledChunk.is_type(event.type)]
            check("".join(pieces) == expected, f"{pieces} for {expected!r}")
            check(Handled.from_event(events[-2]).text == expected, "and the whole for older clients")
    check(metric(process, "predgen_speculative_passes_total") > speculative, "drafts were made")


async def check_not_handled(process):
    async with connect(process) as connection:
        await connection.write_event(Transcript("  ").event())
        check(NotHandled.from_event((await until(connection, NotHandled))[-1]).text, "nothing was said")
        await connection.write_event(Transcript(PROMPTS[0]).event())
        await until(connection, HandledStop)


async def check_errors(process):
    for event, word in ((Event("transcript"), "text"), (Event("synthesize-chunk", {"text": "x"}), "synthesize-start"),
                        (Transcribe().event(), "--recogniser"),
                        (AudioChunk(16000, 2, 1, b"\0" * (4 << 20)).event(), "payload_length")):
        is_told = False
        # The connection may end while a large one is still being sent, here or at the client's end of it.
        with contextlib.suppress(ConnectionError):
            async with connect(process) as connection:
                with contextlib.suppress(ConnectionError):
                    await connection.write_event(event)
                error = Error.from_event((await until(connection, Error))[-1])
                check(word in error.text and error.code == "invalid_event", f"{word}: {error}")
                check(await connection.read_event() is None, "and the connection ends")
                is_told = True
        check(is_told, f"{word}: it is told")
    address = urlparse(process.uri)
    for line in (b"GET / HTTP/1.1\r\n\r\n", b"\n", b"{}\n", b"\0" * 100000):
        with socket.create_connection((address.hostname, address.port), timeout=60) as raw:
            raw.sendall(line)
            answer = b"".join(iter(lambda: raw.recv(4096), b""))
            check(json.loads(answer.splitlines()[0])["type"] == "error", f"{line[:20]}: {answer}")


async def check_limits(process):
    # One connection holds one of the two conversations, another one the other.
    async with connect(process) as one, connect(process) as other, connect(process) as third:
        for connection, name in ((one, "x"), (other, "y")):
            await connection.write_event(TranscriptStart(context={"conversation_id": name}).event())
            await connection.write_event(Ping().event())
            await until(connection, Pong)
        await third.write_event(Transcript(PROMPTS[0], context={"conversation_id": "z"}).event())
        told = NotHandled.from_event((await until(third, NotHandled))[-1])
        check("limit" in told.text and told.context == {"conversation_id": "z"}, f"{told}")
        async with connect(process) as fourth:
            refused = Error.from_event((await until(fourth, Error))[-1])
            check(refused.code == "overloaded", f"{refused}")
    for _ in range(100):  # until the three have ended; who is refused may be cut while it writes
        with contextlib.suppress(ConnectionError):
            async with connect(process) as connection:
                await connection.write_event(Transcript(PROMPTS[0], context={"conversation_id": "z"}).event())
                event = await connection.read_event()
                if event is not None and HandledStart.is_type(event.type):
                    break
        await asyncio.sleep(0.05)
    else:
        check(False, "there is room again")


async def check_cut_connections(process):
    """Clients that send anything in any order, and are gone in the middle of it."""
    random = Random(1)
    prompt = PROMPTS[0]
    events = [TranscriptStart(context={"conversation_id": "cut"}), TranscriptChunk("Find"), TranscriptChunk(" me"),
              Transcript(prompt, context={"conversation_id": "cut"}), Transcript(prompt), TranscriptStop(),
              Describe(), Synthesize(prompt), SynthesizeStart(), SynthesizeChunk(prompt), SynthesizeStop()]

    async def talk(steps):
        with contextlib.suppress(ConnectionError):
            async with connect(process) as connection:
                for event, wait in steps:
                    await connection.write_event(event.event())
                    await asyncio.sleep(wait)

    talks = [[(random.choice(events), random.choice((0, 0.005, 0.03))) for _ in range(random.randint(0, 6))]
             for _ in range(100)]
    for i in range(0, len(talks), 3):
        await asyncio.gather(*(talk(steps) for steps in talks[i:i + 3]))
    expected = text_of_request(process, user(prompt))
    for _ in range(200):  # until the last of them is over
        with contextlib.suppress(ConnectionError):
            async with connect(process) as connection:
                await connection.write_event(Transcript(prompt, context={"conversation_id": "new"}).event())
                event = await connection.read_event()
                if event is not None and HandledStart.is_type(event.type):
                    answer = Handled.from_event((await until(connection, Handled))[-1])
                    return check(answer.text == expected, f"the next client gets its answer: {answer}")
        await asyncio.sleep(0.05)
    check(False, "the next client gets its answer")


async def check_sound(process):
    text = "The first sentence is here. And this is the second one."
    async with connect(process) as connection:
        await connection.write_event(Synthesize(text).event())
        events = await until(connection, AudioStop)
        check(AudioStart.from_event(events[0]).rate == 22050, f"{events[0]}")
        whole = b"".join(AudioChunk.from_event(event).audio for event in events[1:-1])
        check(0.02 * len(text) < len(whole) / 2 / 22050 < 0.3 * len(text), f"{len(whole)} bytes of sound")
        check(max(abs(int.from_bytes(whole[i:i + 2], "little", signed=True)) for i in range(0, len(whole), 2)) > 1000,
              "it is not silent")
    async with connect(process) as connection:
        await connection.write_event(SynthesizeStart().event())
        await connection.write_event(SynthesizeChunk(text[:35]).event())
        early = [await connection.read_event() for _ in range(2)]
        check(AudioChunk.is_type(early[1].type), "the first sentence is spoken before the text has ended")
        await connection.write_event(SynthesizeChunk(text[35:]).event())
        await connection.write_event(Synthesize(text).event())  # for older services
        await connection.write_event(SynthesizeStop().event())
        events = early + await until(connection, SynthesizeStopped)
        pieces = b"".join(AudioChunk.from_event(event).audio for event in events if AudioChunk.is_type(event.type))
        check(pieces == whole, "the same sound, in pieces")
        await connection.write_event(Synthesize("Hallo.", voice=SynthesizeVoice(name="de")).event())
        await until(connection, AudioStop)
        await connection.write_event(Synthesize("x", voice=SynthesizeVoice(name="nobody")).event())
        events = await until(connection, Error)
        said = Error.from_event(events[-1]).text
        check("nobody" in said and "choose one of en-us, " in said, said)


async def heard(process, recogniser, text, loudness=8000):
    """The transcript of a sound in which `text` is said, as Home Assistant asks for it: over a connection of its own."""
    recogniser.says = text
    async with connect(process) as connection:
        await connection.write_event(Transcribe(language="en").event())
        await connection.write_event(AudioStart(16000, 2, 1).event())
        for _ in range(round(10 * SECONDS_PER_WORD * len(text.split()))):  # 100 ms each
            await connection.write_event(AudioChunk(16000, 2, 1, loudness.to_bytes(2, "little", signed=True) * 1600).event())
            await asyncio.sleep(0.01)
        await connection.write_event(AudioStop().event())
        return Transcript.from_event((await until(connection, Transcript))[-1])


async def check_pipeline(process, recogniser, has_voice):
    """Speech to text, the answer and its sound, one after the other, as Home Assistant's pipeline asks for them."""
    async with connect(process) as connection:
        await connection.write_event(Describe().event())
        info = Info.from_event((await until(connection, Info))[-1])
    check(info.asr[0].models[0].languages == ["en"] and info.asr[0].installed, f"{info.asr}")
    said = []
    for prompt in PROMPTS:
        said += user(prompt)
        expected = text_of_request(process, said)
        said.append({"role": "assistant", "content": expected})
        speculative = metric(process, "predgen_speculative_passes_total")
        transcript = await heard(process, recogniser, prompt)
        check(transcript.text == prompt and transcript.language == "en", f"heard: {transcript}")
        turns = metric(process, "predgen_turns_total")
        answer = await ask(process, transcript.text, conversation_id="kitchen")
        check(answer.text == expected, f"{answer.text!r} for {prompt!r}, not {expected!r}")
        check(metric(process, "predgen_turns_total") == turns + 1, "one turn, which was heard")
        check(metric(process, "predgen_speculative_passes_total") > speculative, "and drafted while the sound came")
        if has_voice:
            async with connect(process) as connection:
                await connection.write_event(Synthesize(answer.text).event())
                check(AudioChunk.is_type((await until(connection, AudioStop))[1].type), "its sound")
    # Parts that are served by others: a transcript that nobody asks to answer, and words that were heard elsewhere.
    await heard(process, recogniser, "never mind")
    expected = text_of_request(process, user(PROMPTS[0]))
    check((await ask(process, PROMPTS[0], conversation_id="other")).text == expected, "words that were heard elsewhere")
    check((await heard(process, recogniser, "hello", loudness=0)).text == "", "silence")


async def check_stop():
    with service() as process:
        async with connect(process) as idle, connect(process) as asking:
            await asking.write_event(Transcript(PROMPTS[0]).event())
            await until(asking, HandledStart)
            process.send_signal(signal.SIGTERM)
            check(await idle.read_event() is None, "a stop closes idle connections")
            await until(asking, HandledStop)
            check(await asking.read_event() is None, "and others after their answer")


async def main():
    with service() as process:
        await check_info(process, has_voice=False)
        await check_answers(process)
        await check_stream(process)
        await check_not_handled(process)
        await check_errors(process)
        await check_cut_connections(process)
    check(not any(prompt in process.log for prompt in PROMPTS), "no text of users in the log")
    with service("wyoming.max_conversations=2", "wyoming.connections=3") as process:
        await check_limits(process)
    await check_stop()
    recogniser = Recogniser()
    voice = ["--tts", "espeak"] if ESPEAK else []
    with service("realtime.system_prompt=none", "--recogniser", recogniser.url, *voice) as process:
        await check_pipeline(process, recogniser, bool(voice))
    with server("wyoming.host=0.0.0.0", exit_code=130):  # without the service nothing is wrong with it
        pass
    if ESPEAK:
        with service("realtime.system_prompt=none", "--tts", "espeak") as process:
            await check_info(process, has_voice=True)
            await check_answers(process)
            await check_sound(process)
    else:
        print("skipped: sound (no predgen-espeak)")


os.environ.setdefault("OMP_NUM_THREADS", "1")
asyncio.run(main())
