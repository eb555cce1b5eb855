"""predgen serve with a satellite that speaks Wyoming's protocol, by the `wyoming` package's own server."""

import asyncio
import os
import socket
from functools import partial

from skipping import skip_without

skip_without("wyoming", "the satellite")

from wyoming.audio import AudioChunk, AudioStart, AudioStop  # noqa: E402
from wyoming.asr import Transcript  # noqa: E402
from wyoming.error import Error  # noqa: E402
from wyoming.pipeline import PipelineStage, RunPipeline  # noqa: E402
from wyoming.ping import Ping, Pong  # noqa: E402
from wyoming.satellite import RunSatellite  # noqa: E402
from wyoming.server import AsyncEventHandler, AsyncTcpServer  # noqa: E402
from wyoming.tts import Synthesize  # noqa: E402
from wyoming.wake import Detection  # noqa: E402

from fake_recogniser import SECONDS_PER_WORD, Recogniser  # noqa: E402
from program import ESPEAK  # noqa: E402
from serving import PROMPTS, check, client, server, user  # noqa: E402


class Satellite(AsyncEventHandler):
    """As wyoming-satellite: one server at a time, which tells it to run."""

    def __init__(self, home, *args):
        super().__init__(*args)
        self.home = home

    async def handle_event(self, event):
        if RunSatellite.is_type(event.type):
            await self.home["connections"].put(self)
        elif Ping.is_type(event.type):
            await self.write_event(Pong().event())
        else:
            await self.home["events"].put(event)
        return True


class Home:
    def __init__(self, recogniser):
        self.recogniser = recogniser
        self.queues = {"connections": asyncio.Queue(), "events": asyncio.Queue()}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    async def start(self):
        self.server = AsyncTcpServer("127.0.0.1", self.port)
        await self.server.start(partial(Satellite, self.queues))

    async def connected(self):
        return await asyncio.wait_for(self.queues["connections"].get(), 60)

    async def ask(self, connection, words, start=PipelineStage.ASR):
        """Speaks after the wake phrase until it is told what was heard; all that comes then."""
        self.recogniser.says = words
        await connection.write_event(Detection(name="hey").event())
        await connection.write_event(RunPipeline(start, PipelineStage.TTS).event())

        async def speak():
            loud = int((len(words.split()) * SECONDS_PER_WORD + 0.3) * 10)
            for i in range(10 ** 6):  # 100 ms each
                sample = (1000 if i < loud else 0).to_bytes(2, "little")
                await connection.write_event(AudioChunk(16000, 2, 1, sample * 1600).event())
                await asyncio.sleep(0.02)

        speaking, events = asyncio.create_task(speak()), []
        while not events or not (AudioStop.is_type(events[-1].type) or Error.is_type(events[-1].type)):
            events.append(await asyncio.wait_for(self.queues["events"].get(), 60))
            if Transcript.is_type(events[-1].type):
                speaking.cancel()
        speaking.cancel()
        return events


def text_of_request(process, messages):
    return client(process).chat.completions.create(model="demo", messages=messages, temperature=0) \
        .choices[0].message.content


async def check_turns(process, home):
    said = []
    connection = await home.connected()
    for i, prompt in enumerate(PROMPTS[:3]):
        if i == 2:  # it is gone for a moment, and the conversation goes on
            await home.server.stop()
            await home.start()
            connection = await home.connected()
        said += user(prompt)
        expected = text_of_request(process, said)
        said.append({"role": "assistant", "content": expected})
        events = await home.ask(connection, prompt)
        kinds = [event.type for event in events]
        heard = [Transcript.from_event(event).text for event in events if Transcript.is_type(event.type)]
        check(heard == [prompt], f"heard: {heard}")
        answer = [Synthesize.from_event(event).text for event in events if Synthesize.is_type(event.type)]
        check(answer == [expected], f"{answer}, not {expected!r}")
        check(kinds.count("audio-start") == 1 and AudioStart.from_event(events[kinds.index("audio-start")]).rate == 24000, f"{kinds}")
        sound = sum(len(event.payload) for event in events if AudioChunk.is_type(event.type))
        check(sound > 24000, f"half a second of sound at least: {sound} bytes")
    refused = await home.ask(connection, PROMPTS[0], start=PipelineStage.WAKE)
    check("--wake-uri" in Error.from_event(refused[-1]).text, f"it finds its wake phrase itself: {refused[-1]}")


async def main():
    recogniser = Recogniser()
    home = Home(recogniser)
    await home.start()
    with server("realtime.system_prompt=none", "--recogniser", recogniser.url, "--tts", "espeak",
                "--satellite", f"127.0.0.1:{home.port}") as process:
        await check_turns(process, home)
    check("is there" in process.log and "tried again" in process.log, f"it says what becomes of it: {process.log}")


os.environ.setdefault("OMP_NUM_THREADS", "1")
if ESPEAK:
    asyncio.run(main())
else:
    print("skipped: a satellite (no predgen-espeak)")
