"""bench/voice_to_voice.py against a server that answers a stated time after what it hears."""
import asyncio
import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import wave

import numpy
import websockets

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "voice_to_voice.py"
LOUD = (8000 * numpy.sin(numpy.arange(2400))).astype("<i2").tobytes()  # 0.1 s


class Server:
    """Answers after so many seconds of silence, with a silence in front of its answer's sound. It turns the first
    conversations away, and begins the others with the event FIRST."""

    def __init__(self, wait=0.2, silence=0.1, first="session.created", turned_away=0):
        self.wait, self.silence, self.first, self.turned_away = wait, silence, first, turned_away
        self.started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True).start()
        self.started.wait()

    async def run(self):
        async with websockets.serve(self.converse, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            self.started.set()
            await asyncio.Future()

    async def converse(self, socket):
        if self.turned_away:
            self.turned_away -= 1
            return await socket.send(json.dumps({"type": "error", "error": {"message": "no room"}}))
        if self.first:
            await socket.send(json.dumps({"type": self.first}))
        quiet = -1.0  # seconds since the voice; below 0: none was heard
        async for line in socket:
            event = json.loads(line)
            sound = numpy.frombuffer(base64.b64decode(event["audio"]), "<i2")
            quiet = 0 if numpy.abs(sound).max(initial=0) > 1000 else quiet + len(sound) / 24000 if quiet >= 0 else quiet
            if quiet >= self.wait - 1e-6:
                await self.answer(socket)
                quiet = -1.0

    async def answer(self, socket):
        answer = base64.b64encode(bytes(2 * int(24000 * self.silence)) + LOUD).decode()
        for event in ({"type": "input_audio_buffer.speech_stopped"},
                      {"type": "conversation.item.input_audio_transcription.completed", "transcript": "Turn it off."},
                      {"type": "response.created"}, {"type": "response.output_audio.delta", "delta": answer},
                      {"type": "response.done"}):
            await socket.send(json.dumps(event))


class VoiceToVoice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def record(self, sound, text):
        with wave.open(str(self.folder / "a.wav"), "wb") as file:
            file.setparams((1, 2, 24000, 0, "NONE", ""))
            file.writeframes(sound)
        (self.folder / "a.txt").write_text(text)

    def run_against(self, server):
        return subprocess.run([sys.executable, str(SCRIPT), f"ws://127.0.0.1:{server.port}/v1/realtime",
                               str(self.folder), "--seconds", "3"], capture_output=True, text=True, timeout=60)

    def test_waits_are_from_voice_to_voice(self):
        self.record(LOUD + bytes(9600), "turn it off now")
        row = self.run_against(Server()).stdout
        wait = float(re.search(r"P50 (\d+) ms", row)[1])
        self.assertGreaterEqual(wait, 260, row)  # two windows less than 200 ms of silence, and 100 ms in the answer
        self.assertLess(wait, 900, row)
        self.assertIn("0 of 1 cut off, 0 without an answer, 25.0 % of words wrong", row)

    def test_a_turn_that_goes_on_is_cut_off(self):
        self.record(LOUD + bytes(28800) + LOUD, "turn it off")
        row = self.run_against(Server(silence=0)).stdout
        self.assertIn("0 turns", row)
        self.assertIn("1 of 1 cut off", row)

    def test_a_server_that_is_not_done_with_the_last_turn_is_asked_again(self):
        self.record(LOUD, "turn it off")
        self.assertIn("1 turns", self.run_against(Server(turned_away=2)).stdout)

    def test_a_server_that_says_nothing_is_not_waited_for_for_ever(self):
        self.record(LOUD, "turn it off")
        done = self.run_against(Server(first=None))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("says nothing in 3 s", done.stderr)

    def test_what_cannot_be_measured_is_one_line(self):
        self.record(LOUD, "")
        done = self.run_against(type("Nobody", (), {"port": 9}))
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        (self.folder / "a.wav").write_bytes(b"RIFF")
        done = self.run_against(type("Nobody", (), {"port": 9}))
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
