"""How long a person waits for the first sound of an answer from any server of OpenAI's Realtime API: recordings are
sent in real time, as a microphone would, each in a conversation of its own.

usage: voice_to_voice.py URL RECORDINGS [--count N] [--model NAME] [--key KEY] [--session FILE] [--pid PID] [--seconds S]

  URL         as ws://127.0.0.1:8080/v1/realtime
  RECORDINGS  a folder of WAV files of 16 bits, with the words of FILE.wav in FILE.txt where they are known; N of
              them, evenly spread (60)
  NAME        is asked for as ?model=NAME
  KEY         is sent as a bearer token
  FILE        a JSON object, sent as the "session" of session.update before the first sound; it must ask for 24 kHz,
              both ways, where that is not what the server takes and sends unasked
  PID         a process of the server: its processor seconds and its children's are told
  S           a turn without an answer is given up so long after its last sound (20)

The wait is from the last voiced sample sent to the first voiced one of the answer, if it is played as it comes. A turn
is cut off if the server ended it, or answered, before the last voiced sample, or if another turn follows.
"""
import argparse
import asyncio
import base64
import json
import os
import pathlib
import sys
import time
import wave

import numpy
import websockets

from talk_waits import percentile, recordings_of, word_errors, words

RATE = 24000
CHUNK = RATE // 50  # samples: 20 ms, as phones send
SOUND = {"response.output_audio.delta", "response.audio.delta"}  # today's name and the beta's
PARTS = {"input_audio_buffer.speech_stopped": "end of turn", "response.created": "answer begun",
         "conversation.item.input_audio_transcription.completed": "words",
         "response.output_audio_transcript.delta": "text", "response.audio_transcript.delta": "text"}


def samples_of(path):
    """Mono at RATE, from -1 to 1."""
    try:
        with wave.open(str(path)) as file:
            if file.getsampwidth() != 2:
                sys.exit(f"{path}: has {8 * file.getsampwidth()} bits a sample: 16, please")
            sound = numpy.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float) / 32768
            sound, rate = sound.reshape(-1, file.getnchannels()).mean(1), file.getframerate()
    except (OSError, EOFError, wave.Error) as error:
        sys.exit(f"{path}: {error}")
    return numpy.interp(numpy.arange(0, len(sound), rate / RATE), numpy.arange(len(sound)), sound)


def voiced(sound, loudest):
    """The places of windows of 10 ms with at least 1 % of the loudest one's amplitude."""
    windows = sound[:len(sound) // 240 * 240].reshape(-1, 240)
    return numpy.flatnonzero(numpy.sqrt((windows**2).mean(1)) > 0.01 * loudest) * 240


def processor_seconds(pid):
    """Of a process and its children, living and dead."""
    seconds = 0
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(entry.parent.name) == pid:
            seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        elif int(fields[1]) == pid:
            seconds += processor_seconds(int(entry.parent.name))
    return seconds


class Turn:
    """What came of one recording."""

    def __init__(self):
        self.voice_ended = self.sound_began = None
        self.heard, self.ends, self.parts, self.is_over = [], [], {}, False

    def take(self, event, now):
        kind = event.get("type")
        if kind in PARTS:
            self.parts.setdefault(PARTS[kind], now)
        if kind in SOUND and self.sound_began is None:
            sound = numpy.frombuffer(base64.b64decode(event["delta"]), "<i2").astype(float) / 32768
            audible = voiced(sound, 0.2)
            if len(audible):
                self.sound_began = now + audible[0] / RATE
        elif kind == "conversation.item.input_audio_transcription.completed":
            self.heard.append(event.get("transcript", ""))
        elif kind == "input_audio_buffer.speech_stopped":
            self.ends.append(now)
        elif kind == "response.done":
            self.is_over = self.voice_ended is not None and now >= self.voice_ended
        elif kind == "error":
            raise ValueError(event.get("error", {}).get("message", "an error without a message"))

    def is_cut_off(self):
        began = self.sound_began is not None and self.sound_began < self.voice_ended
        return began or len(self.ends) > 1 or any(end < self.voice_ended for end in self.ends)


async def send(socket, sound, turn, seconds):
    """In real time, then silence until the answer is over."""
    last = voiced(sound, numpy.abs(sound).max())
    last = (last[-1] + 240) / RATE if len(last) else 0
    began = time.monotonic()
    turn.voice_ended = began + last
    at, end = 0, len(sound) + int(seconds * RATE)
    while at < end and not turn.is_over:
        chunk = numpy.zeros(CHUNK)
        have = sound[at:at + CHUNK]
        chunk[:len(have)] = have
        pcm = numpy.clip(32768 * chunk, -32768, 32767).astype("<i2").tobytes()
        await socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()}))
        at += CHUNK
        await asyncio.sleep(max(0, began + at / RATE - time.monotonic()))


async def conversation(given):
    """As soon as the server has room for one: some are not done with the last one at once."""
    url = given.url + (f"?model={given.model}" if given.model else "")
    headers = {"Authorization": f"Bearer {given.key}"} if given.key else {}
    until = time.monotonic() + given.seconds
    while True:
        socket = await websockets.connect(url, additional_headers=headers, max_size=None)
        try:
            first = json.loads(await asyncio.wait_for(socket.recv(), given.seconds))
        except TimeoutError:
            raise ValueError(f"says nothing in {given.seconds:g} s: session.created comes first") from None
        if first.get("type") != "error" or time.monotonic() > until:
            return socket, first
        await socket.close()
        await asyncio.sleep(0.1)


async def one_turn(given, sound):
    turn = Turn()
    socket, first = await conversation(given)
    async with socket:
        turn.take(first, time.monotonic())
        if given.session:
            await socket.send(json.dumps({"type": "session.update", "session": json.loads(given.session.read_text())}))
        sending = asyncio.create_task(send(socket, sound, turn, given.seconds))
        while not sending.done():
            receiving = asyncio.create_task(socket.recv())
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
            if receiving.done():
                turn.take(json.loads(receiving.result()), time.monotonic())
            else:
                receiving.cancel()
        await sending
    return turn


def print_row(turns, texts, spent):
    waits = [turn.sound_began - turn.voice_ended for turn in turns if turn.sound_began and not turn.is_cut_off()]
    errors = sum(word_errors(words(" ".join(turn.heard)), words(text)) for turn, text in zip(turns, texts) if text)
    count = sum(len(words(text)) for text in texts)
    wrong = f"{100 * errors / count:.1f} % of words wrong" if count else "words unknown"
    parts = ", ".join(f"{name} {1e3 * percentile(since, 0.5):.0f}" for name in dict.fromkeys(PARTS.values())
                      if (since := [turn.parts[name] - turn.voice_ended for turn in turns if name in turn.parts]))
    print(f"{len(waits)} turns, wait P50 {1e3 * percentile(waits, 0.5):.0f} ms, P95 {1e3 * percentile(waits, 0.95):.0f} ms"
          f" (medians of what is told before: {parts or 'nothing'}); {sum(turn.is_cut_off() for turn in turns)} of {len(turns)} cut off, "
          f"{sum(turn.sound_began is None for turn in turns)} without an answer, {wrong}"
          f"{f', {spent / len(turns):.2f} processor seconds a turn' if spent else ''}; load {os.getloadavg()[0]:.1f}")


def main():
    arguments = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    arguments.add_argument("url")
    arguments.add_argument("recordings", type=pathlib.Path)
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("--model")
    arguments.add_argument("--key")
    arguments.add_argument("--session", type=pathlib.Path)
    arguments.add_argument("--pid", type=int)
    arguments.add_argument("--seconds", type=float, default=20)
    given = arguments.parse_args()
    files, texts = recordings_of(given.recordings, given.count)
    before = processor_seconds(given.pid) if given.pid else 0
    turns = []
    for file in files:
        try:
            turns.append(asyncio.run(one_turn(given, samples_of(file))))
        except (OSError, ValueError, websockets.WebSocketException) as error:
            sys.exit(f"{given.url}, {file.name}: {error}")
    print_row(turns, texts, processor_seconds(given.pid) - before if given.pid else 0)


if __name__ == "__main__":
    main()
