"""Clients of predgen serve byte by byte, for tests of what no client's library would send."""

import asyncio
import base64
import json
import random
import re
import socket
import struct

from serving import KEY

BODY = {"model": "demo", "max_tokens": 24, "temperature": 0}


def chat(prompt, **more):
    return {**BODY, "messages": [{"role": "user", "content": prompt}], **more}


def request(path, body=None, key=KEY, headers="", host="127.0.0.1", is_last=True):
    """Bytes of a request, the last one of its connection unless that is to go on."""
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    end = "Connection: close\r\n" if is_last else ""
    return (f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: {host}\r\n{end}"
            f"{authorization}{headers}Content-Length: {len(text)}\r\n\r\n{text}").encode()


def handshake(key=KEY, host="127.0.0.1"):
    nonce = base64.b64encode(random.randbytes(16)).decode()
    return (f"GET /v1/realtime HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\nAuthorization: Bearer {key}\r\n\r\n").encode()


def frame(payload, opcode=1, masked=True):
    """Of a WebSocket."""
    size = len(payload)
    code = size if size < 126 else 126 if size < 1 << 16 else 127
    head = bytes([128 | opcode, code | 128 * masked]) + {126: struct.pack(">H", size & 0xffff), 127: struct.pack(">Q", size)}.get(code, b"")
    if not masked:
        return head + payload
    mask = random.randbytes(4)
    whole = (mask * (size // 4 + 1))[:size]
    return head + mask + (int.from_bytes(payload, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big")


def event(kind, **fields):
    return json.dumps({"type": kind, **fields})


def words(text, **more):
    return event("predgen.transcript.update", text=text, **more)


class Answer:
    """Of HTTP, whole or cut."""

    def __init__(self, raw):
        while raw.startswith(b"HTTP/1.1 100 "):
            raw = raw.partition(b"\r\n\r\n")[2]
        head, _, self.body = raw.partition(b"\r\n\r\n")
        self.is_there = raw.startswith(b"HTTP/1.1 ")
        self.status = int(raw[9:12]) if self.is_there else 0
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        if length:
            self.is_whole = len(self.body) == int(length[1])
        else:
            self.is_whole = self.body.endswith(b"0\r\n\r\n")
            self.body = b"".join(re.findall(rb"data: [^\n]*\n", self.body))

    def text(self):
        if not self.body.startswith(b"data: "):
            return json.loads(self.body)["choices"][0]["message"]["content"]
        chunks = [json.loads(line[6:]) for line in self.body.split(b"\n") if line.startswith(b"data: {")]
        return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)

    def code(self):
        return json.loads(self.body)["error"]["code"]


class Client:
    """Bytes to the server, and from it; `cut` ends it without a word."""

    def __init__(self, port, window=0, segment=0):
        self.port, self.window, self.segment = port, window, segment

    async def __aenter__(self):
        own = socket.socket()
        own.setblocking(False)
        if self.window:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.window)
        if self.segment:  # short ones give the server little room for what is not read
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, self.segment)
        await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", self.port))
        self.reader, self.writer = await asyncio.open_connection(sock=own, limit=1 << 22)
        return self

    async def __aexit__(self, *_):
        self.writer.transport.abort()

    def reset(self):
        own = self.writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def read(self, seconds=60):
        """Everything until the server closes."""
        return await asyncio.wait_for(self.reader.read(-1), seconds)

    async def ask(self, data):
        try:
            await self.send(data)
            return Answer(await self.read())
        except ConnectionError:
            return Answer(b"")


def resident(process):
    """MB."""
    with open(f"/proc/{process.pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024
