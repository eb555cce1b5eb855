"""A predgen serve that somebody attacks while another client wants its answers: how long these take, and what memory the
server takes meanwhile."""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import socket
import threading
import time

from raw_client import Answer, chat, event, frame, handshake, request, resident
from serving import DEMO, KEY, PROMPTS, server
from program import PREDGEN

OTHER_KEY = "of-another-client"
OTHER_ADDRESS = "127.0.0.2"  # the attacker's is 127.0.0.1
SECRET = "Xanadu"  # what attackers say, so the log must not
MEGABYTES = 50  # that the server may grow by
measured = []  # a line for each server that was attacked


def is_sanitised():
    with open(PREDGEN, "rb") as file:
        return re.search(rb"__[atu]b?san_|libasan\.so|libtsan\.so", file.read()) is not None


SANITISED = is_sanitised()
LOADED = os.getloadavg()[0] > 0.5 * os.cpu_count()
FLOOD_SECONDS = float(os.environ.get("PREDGEN_FLOOD_SECONDS", "3"))
ANSWER_SECONDS = (10 if SANITISED else 1) * (1 if LOADED else 0.5)


def ask(port, data, address=OTHER_ADDRESS, patience=40):
    """The answer to a request's bytes, or what has come of it in time."""
    raw = b""
    with contextlib.suppress(ConnectionError, TimeoutError):
        with socket.create_connection(("127.0.0.1", port), timeout=patience, source_address=(address, 0)) as own:
            own.sendall(data)
            while not (raw and Answer(raw).is_whole) and (more := own.recv(1 << 16)):
                raw += more
    return Answer(raw)


class Witness(threading.Thread):
    """Another client, who asks for two tokens again and again."""

    def __init__(self, at):
        super().__init__(daemon=True)
        self.at, self.is_over = at, threading.Event()
        self.data = request("/v1/chat/completions", chat(PROMPTS[1], max_tokens=2), OTHER_KEY)
        self.bad, self.count, self.worst = [], 0, 0.0
        self.text = None

    def ask_once(self):
        begin = time.monotonic()
        answer = ask(self.at.port, self.data)
        self.worst = max(self.worst, time.monotonic() - begin)
        self.count += 1
        if answer.status != 200 or not answer.is_whole or self.text not in (None, answer.text()):
            self.bad.append(f"{answer.status} {answer.body[:300]}")
        else:
            self.text = answer.text()

    def run(self):
        while not self.is_over.wait(0.02):
            self.ask_once()


class Attacked:
    """A server under attack. What went wrong about it is in `faults`."""

    def __init__(self, process, has_wyoming):
        self.process, self.port = process, int(process.url.rsplit(":", 1)[1])
        self.wyoming_port = int(process.stdout.readline().rsplit(":", 1)[1]) if has_wyoming else None
        self.witness = Witness(self)
        for _ in range(3):
            self.witness.ask_once()
        self.alone, self.witness.worst = self.witness.worst, 0.0
        self.before = self.most = resident(process)
        self.faults, self.is_judged = [], False
        self.secret = SECRET

    def must(self, condition, what):
        if not condition and what not in self.faults:
            self.faults.append(what)

    async def measure(self):
        while True:
            if self.process.poll() is None:
                self.most = max(self.most, resident(self.process))
            await asyncio.sleep(0.02)

    def run(self, *attackers, patience=60):
        """Attackers side by side, and the witness beside them."""
        async def all_of_them():
            measuring = asyncio.create_task(self.measure())
            begin = time.monotonic()
            await asyncio.wait_for(asyncio.gather(*attackers), patience)
            # Who waits for an answer yet is a witness, too.
            self.witness.is_over.set()
            while self.witness.is_alive() and time.monotonic() < begin + patience:
                await asyncio.sleep(0.02)
            measuring.cancel()

        self.witness.start()
        try:
            asyncio.run(all_of_them())
        except TimeoutError:
            self.must(False, f"the attack is over after {patience} s")
        self.judge()

    def judge(self):
        """Lives, and answers as before."""
        self.witness.is_over.set()
        self.must(self.process.poll() is None, f"it lives: exit code {self.process.poll()}")
        if self.process.poll() is None:
            self.witness.ask_once()
        worst, grown = self.witness.worst, self.most - self.before
        self.must(not self.witness.bad, f"the other client gets its own answers: {self.witness.bad[:1]}")
        self.must(worst < ANSWER_SECONDS, f"the other client waits {worst:.2f} s")
        self.must(SANITISED or grown < MEGABYTES, f"it grows by {grown:.0f} MB")
        self.is_judged = True
        measured.append(f"worst of {self.witness.count} answers {worst:.3f} s (alone {self.alone:.3f}), memory {grown:+.1f} MB")

    def metric(self, name, key=OTHER_KEY):
        text = ask(self.port, request("/metrics", key=key)).body.decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])


def need(condition, what):
    """What an attack cannot go on without."""
    if not condition:
        raise RuntimeError(what)


def hashes(*keys):
    return "api_keys_sha256=[" + ",".join(hashlib.sha256(key.encode()).hexdigest() for key in keys) + "]"


@contextlib.contextmanager
def attacked(*arguments, has_keys=True, more_keys=(), model=DEMO, prefix=()):
    keys = [hashes(KEY, OTHER_KEY, *more_keys)] if has_keys else []
    at = None
    with server("model_name=demo", *keys, *arguments, model=model, prefix=prefix) as process:
        at = Attacked(process, "--wyoming-port" in arguments)
        yield at
        if not at.is_judged:
            at.judge()
        if process.poll() is not None:
            _, log = process.communicate()
            need(False, f"{'; '.join(at.faults)}; its log: {log.strip()[-300:]}")
    at.must(at.secret not in process.log, f"no text of users in the log: {process.log[:200]}")
    need(not at.faults, "; ".join(at.faults))


def wyoming(kind, **data):
    """The bytes of an event."""
    body = json.dumps(data).encode()
    return json.dumps({"type": kind, "version": "1", "data_length": len(body)}).encode() + b"\n" + body


async def drop(reader, first):
    """What comes is read and forgotten, but for its beginning."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            if not first:
                first.append(data)


async def open_web_socket(reader, writer):
    writer.write(handshake())
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    need(head.startswith(b"HTTP/1.1 101"), f"a WebSocket opens: {head}")


async def flood(port, pieces, first=b"", seconds=FLOOD_SECONDS, bytes_a_second=None, begins=b"", is_web_socket=False):
    """Sends `pieces` in turn, as often as the server takes them; connects again if it is cut. Checks that what comes
    begins with `begins`."""
    end, sent, seen = time.monotonic() + seconds, 0, []
    while time.monotonic() < end:
        taking = writer = None
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if is_web_socket:
                await open_web_socket(reader, writer)
            taking = asyncio.create_task(drop(reader, seen))
            writer.write(first)
            while time.monotonic() < end and not taking.done():
                piece = pieces[sent % len(pieces)]
                writer.write(piece)
                await asyncio.wait_for(writer.drain(), max(0.01, end - time.monotonic()))
                sent += 1
                await asyncio.sleep(len(piece) / bytes_a_second if bytes_a_second else 0)
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.01)
        finally:
            if writer:
                writer.transport.abort()
        if taking:
            await taking
    need(sent > 0 and (not begins or seen and seen[0].startswith(begins)), f"the attack comes in: {sent} {seen[:1]}")


async def until(reader, marks, patience=20):
    """Whether one of them has come; what comes is forgotten. False: the connection has ended, or nothing came in time."""
    tail, end = b"", time.monotonic() + patience
    try:
        while not any(mark in tail for mark in marks):
            data = await asyncio.wait_for(reader.read(1 << 16), max(0.01, end - time.monotonic()))
            if not data:
                return False
            tail = tail[-64:] + data
    except (ConnectionError, TimeoutError):
        return False
    return True


def item(text, role="user"):
    content = {"type": "input_text" if role == "user" else "output_text", "text": text}
    return frame(event("conversation.item.create", item={"type": "message", "role": role, "content": [content]}).encode())
