"""Those who ask a home for things over Wyoming: satellites, and what Home Assistant does for its own. Each has devices of
its own, and breaks off, leaves or speaks on now and then."""

import array
import asyncio
import contextlib
import itertools
import math
import random
import socket
import time
from functools import partial

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.pipeline import PipelineStage, RunPipeline
from wyoming.satellite import RunSatellite
from wyoming.server import AsyncEventHandler, AsyncTcpServer

from fake_recogniser import SECONDS_PER_WORD
from program import ESPEAK

NUM_CLIENTS, NUM_EACH = 10, 12  # each has so many devices, and asks for one after the other
YES = NUM_CLIENTS * NUM_EACH
SPOKEN_TO = {5, 7, 9} if ESPEAK else {}  # of the clients
WAYS = {"waits": 14, "breaks off": 2, "leaves": 2, "speaks on": 2}  # and how often


def words_of(number):
    if number == YES:
        return "Yes please"
    # Where answers are spoken, JSON behind a result is no call, and the calls of this model have no mark.
    looks = number % 3 == 1 and number // NUM_EACH not in SPOKEN_TO
    return f"{'Check' if looks else 'Switch'} {kind_of(number)} {number}"


def kind_of(number):
    return "lamp" if number % 3 else "fan"


def words_of_sound(loudest):
    """What a recogniser makes of it."""
    return words_of(round((loudest * 32768 - 2000) / 100))


def sound(number):
    """A tone as loud as the number is large, in chunks of 100 ms."""
    wave = array.array("h", [round((2000 + 100 * number) * math.sin(2 * math.pi * i / 80)) for i in range(1600)])
    seconds = len(words_of(number).split()) * SECONDS_PER_WORD + 0.3
    return [AudioChunk(16000, 2, 1, wave.tobytes())] * int(10 * seconds)


class Request:
    """`said`: when its last word began to be said, if it was; `answer`: the text, or how it ended without one."""

    def __init__(self, number):
        self.number, self.begin, self.said, self.answer, self.end = number, time.monotonic(), None, "lost", None


class Client:
    """Asks for its devices, once a minute or twice."""

    def __init__(self, world, index):
        self.world, self.name, self.random = world, f"client {index}", random.Random(index)
        self.numbers = itertools.cycle(range(index * NUM_EACH, (index + 1) * NUM_EACH))

    async def start(self):
        """Before serve is there."""

    async def live(self, minutes, seconds):
        for minute in range(minutes):
            # Some at the same moment as others.
            at = self.world.begin + seconds * (minute + self.random.choice([0, self.random.random()]))
            await asyncio.sleep(at - time.monotonic())
            await asyncio.wait_for(self.is_ready(), 60)
            self.context = {"conversation_id": f"{self.name} {minute // 10}"}
            way = self.random.choices(list(WAYS), WAYS.values())[0]
            await (self.speak_on() if way == "speaks on" else self.ask(way))

    async def ask(self, way):
        request = Request(next(self.numbers))
        self.world.requests.append(request)
        with contextlib.suppress(TimeoutError):
            try:
                request.answer = await asyncio.wait_for(self.converse(request, way), 60)
            except ConnectionError:
                request.answer = "cut"
        request.end = time.monotonic()

    def says_yes(self, answer):
        is_yes = answer.startswith("Shall I call") and self.random.random() < 0.5
        self.world.counts["yes"] += is_yes
        return is_yes


class Typist(Client):
    """Its words come as text, as Home Assistant sends them. Who speaks on asks twice at once in one conversation."""

    def connect(self):
        return AsyncClient.from_uri(self.world.uri)

    async def is_ready(self):
        while True:
            with contextlib.suppress(ConnectionError):
                async with self.connect():
                    return
            await asyncio.sleep(0.1)

    async def speak_on(self):
        await asyncio.gather(self.ask("waits"), self.ask("waits"))

    async def converse(self, request, way):
        words = words_of(request.number)
        async with self.connect() as connection:
            if way == "breaks off" or self.random.random() < 0.5:
                await connection.write_event(TranscriptStart(context=self.context).event())
                for chunk in (*words.split(" "), ""):  # at last without anything new
                    await connection.write_event(TranscriptChunk(chunk + " ").event())
                    await asyncio.sleep(0.05)
                if way == "breaks off":
                    return "unsaid"
            answer = await self.answer(connection, words, request, way)
            return await self.answer(connection, words_of(YES), request, way) if self.says_yes(answer) else answer

    async def answer(self, connection, words, request, way):
        request.said = time.monotonic()
        await connection.write_event(Transcript(words, context=self.context).event())
        if way == "leaves":
            await asyncio.sleep(0.1 * self.random.random())
            return "left"
        while event := await connection.read_event():
            if event.type in ("handled", "not-handled", "error"):
                return event.data["text"]
        return "cut"


class Pipeline(Typist):
    """Has its sound turned into words first, as Home Assistant does."""

    async def converse(self, request, way):
        async with self.connect() as connection:
            for event in (Transcribe(language="en"), AudioStart(16000, 2, 1), *sound(request.number), AudioStop()):
                await connection.write_event(event.event())
                await asyncio.sleep(0.01)
            while (event := await connection.read_event()) and not Transcript.is_type(event.type):
                pass
        if not event:
            return "cut"
        if event.data["text"] != words_of(request.number):
            return f"heard {event.data['text']}"
        return "unsaid" if way == "breaks off" else await super().converse(request, way)


class SatelliteConnection(AsyncEventHandler):
    def __init__(self, satellite, *args):
        super().__init__(*args)
        self.satellite, self.events = satellite, asyncio.Queue()

    async def run(self):
        with contextlib.suppress(ConnectionError):
            await super().run()

    async def handle_event(self, event):
        if RunSatellite.is_type(event.type):
            self.satellite.connection = self
        self.events.put_nowait(event)
        return True

    async def disconnect(self):
        self.satellite.connection = None
        self.events.put_nowait(None)


class Satellite(Client):
    """Which predgen connects to. Who speaks on breaks into the answer."""

    def __init__(self, world, index):
        super().__init__(world, index)
        self.connection = None
        self.last = PipelineStage.TTS if index in SPOKEN_TO else PipelineStage.HANDLE
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    async def start(self):
        await AsyncTcpServer("127.0.0.1", self.port).start(partial(SatelliteConnection, self))

    async def is_ready(self):
        while not self.connection:
            await asyncio.sleep(0.1)

    async def speak_on(self):
        await self.ask("speaks on")
        if self.connection:
            await self.ask("waits")

    async def converse(self, request, way):
        connection = self.connection
        answer = await self.answer(connection, request.number, request, way)
        return await self.answer(connection, YES, request, way) if self.says_yes(answer) else answer

    async def answer(self, connection, number, request, way):
        heard = None
        await connection.write_event(RunPipeline(PipelineStage.ASR, self.last).event())
        speaking = asyncio.create_task(self.speak(connection, number, request, way))
        try:
            if way == "breaks off":
                await speaking
                return "unsaid"
            while event := await connection.events.get():
                if Transcript.is_type(event.type):
                    speaking.cancel()
                    heard = event.data["text"]
                    if heard != words_of(number) or way != "waits":
                        break
                if event.type in ("synthesize", "handled", "error") and heard:
                    return event.data["text"]
            if not event or heard != words_of(number):
                return f"heard {heard}" if event else "cut"
            await asyncio.sleep(0.1 * self.random.random())
            if way == "leaves":
                self.world.counts["satellites gone"] += 1
                connection.writer.close()
            return "left"
        finally:
            speaking.cancel()

    async def speak(self, connection, number, request, way):
        with contextlib.suppress(ConnectionError):
            for chunk in sound(number)[:3 if way == "breaks off" else None]:
                await connection.write_event(chunk.event())
                await asyncio.sleep(0.02)
            if way == "breaks off":
                return
            request.said = time.monotonic()
            while True:
                await connection.write_event(AudioChunk(16000, 2, 1, bytes(3200)).event())
                await asyncio.sleep(0.02)
