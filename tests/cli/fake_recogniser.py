"""A recogniser that speaks as sherpa-onnx's streaming server does."""

import array
import asyncio
import contextlib
import json
import threading

import websockets.asyncio.server

from program import check

SECONDS_PER_WORD, PAUSE = 0.25, 0.3
RESULT = {"tokens": [], "timestamps": [], "ys_probs": [], "lm_probs": [], "context_scores": [], "words": [],
          "start_time": 0.0, "is_eof": False}


class Recogniser:
    """A word of `says` for each quarter of a second that is not silent; a pause ends a segment. Where several speak,
    `says` is a function of the loudest sample. `fault` is what goes wrong with it."""

    def __init__(self):
        self.says, self.fault, self.num_connections = "", "", 0
        self.port = None
        self.is_up = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True).start()
        check(self.is_up.wait(20), "the recogniser starts")

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}"

    async def run(self):
        async with websockets.asyncio.server.serve(self.hear, "127.0.0.1", 0, max_size=None, max_queue=1) as listening:
            self.port = listening.sockets[0].getsockname()[1]
            self.is_up.set()
            await asyncio.Future()

    async def hear(self, connection):
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            await self.recognise(connection)

    async def recognise(self, connection):
        self.num_connections += 1
        if self.fault == "asleep":
            return await asyncio.sleep(600)
        words = [] if callable(self.says) else self.says.split()
        begin, loud, silent, segment, loudest = 0, 0, 0, 0, 0

        async def tell(count, **more):
            text = " " + " ".join(words[begin:count])
            await connection.send(json.dumps(RESULT | {"text": text, "segment": segment, "is_final": False} | more))

        async for message in connection:
            count = min(len(words), int(loud / SECONDS_PER_WORD + 0.2))
            if message == "Done":
                if self.fault != "python":
                    await tell(count, is_final=True, is_eof=True)
                    return await connection.send("Done!")
                return await tell(count)
            samples = array.array("f", message)
            seconds = len(samples) / 16000
            loudness = max(map(abs, samples))
            loudest = max(loudest, loudness)
            if callable(self.says):
                words = self.says(loudest).split()
            if loudness > 0.01:
                loud, silent = loud + seconds, 0
            else:
                silent += seconds
            if self.fault == "gone" and loud > 0.5:
                return connection.transport.abort()
            if self.fault == "nonsense" and loud > 0.5:
                return await connection.send("Hello, " + self.says)
            count = min(len(words), int(loud / SECONDS_PER_WORD + 0.2))
            is_over = silent >= PAUSE and count > begin
            await tell(count, is_final=is_over)
            if is_over:
                begin, silent, segment = count, 0, segment + 1
