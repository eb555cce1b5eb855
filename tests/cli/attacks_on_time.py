"""Attacks on the time and the memory of predgen serve."""

import asyncio
import contextlib
import itertools
import json
import socket
import tempfile
import time

import websockets.asyncio.client

from attacked import ANSWER_SECONDS, OTHER_ADDRESS, SECRET, ask, attacked, flood, item, need, until, wyoming
from raw_client import Client, chat, event, frame, request, words
from serving import KEY, PROMPTS

CHAT = "/v1/chat/completions"


def text_of(size):
    return (f"In {SECRET} a stately dome was seen by some. " * (size // 40 + 1))[:size]


def updates(size):
    """Two of a turn's words, so that each is news to the other."""
    return [frame(words(text_of(size - 5) + end).encode()) for end in (" one.", " two.")]


def updates_by_websocket():
    """Texts of 200 kB, of a turn's bound, and of the length that is drafted on."""
    for has_keys in (True, False):
        with attacked(has_keys=has_keys) as at:
            at.run(*[flood(at.port, updates(size), is_web_socket=True)
                     for size in (200_000, 200_000, 60_000, 2_000)])


def chunks_by_wyoming():
    """Words at 2.5 kB/s, and as fast as they are taken."""
    with attacked("--wyoming-port", "0") as at:
        chunk = [wyoming("transcript-chunk", text=f" {SECRET}")]

        def begin(size):
            return wyoming("transcript-start") + wyoming("transcript-chunk", text=text_of(size))

        at.run(*[flood(at.wyoming_port, chunk, begin(size), bytes_a_second=rate)
                 for size, rate in ((2_000, 2_500), (2_000, 2_500), (60_000, 2_500), (2_000, None), (60_000, None))])


def metrics_in_a_loop():
    for has_keys in (True, False):
        with attacked(has_keys=has_keys) as at:
            piece = request("/metrics", is_last=False) * 8
            at.run(*[flood(at.port, [piece], begins=b"HTTP/1.1 ") for _ in range(24)])


def readers_that_do_not_read():
    """A stop string that holds the whole text back makes one large event of it, with its 20 alternatives a token."""
    with attacked() as at:
        body = chat(PROMPTS[0], max_tokens=400, temperature=2, seed=2)
        begin = time.monotonic()
        answer = ask(at.port, request(CHAT, body, KEY))
        took = time.monotonic() - begin
        need(len(answer.text()) > 1500, f"a long text: {len(answer.text())}")
        body |= {"stream": True, "logprobs": True, "top_logprobs": 20, "stop": [answer.text() + "!"]}

        async def attack():
            async with Client(at.port, window=2048, segment=536) as client:
                client.writer.transport.pause_reading()
                await client.send(request(CHAT, body))
                await asyncio.sleep(min(3 + 5 * took, 40))

        at.run(attack(), attack())


def one_byte_a_chunk():
    """As slowly as each is looked at, behind as much as a turn may have."""
    with attacked("--wyoming-port", "0") as at:
        async def attack():
            async with Client(at.wyoming_port) as client:
                await client.send(wyoming("transcript-start") + wyoming("transcript-chunk", text=text_of(50_000)))
                for _ in range(4000):
                    await client.send(wyoming("transcript-chunk", text="a"))
                    await asyncio.sleep(0.0005)
                await client.send(wyoming("ping", text="over"))
                at.must(await until(client.reader, [b"pong", b"error"]), "it goes on, or says why not")

        at.run(attack(), attack())


def endless_segments():
    """Speech services whose turns have no end."""
    results = event("Results", is_final=True, channel={"alternatives": [{"transcript": text_of(100_000)}]})
    rtvi = [event("user-started-speaking", label="rtvi-ai"),
            event("user-transcription", label="rtvi-ai", data={"text": text_of(100_000), "final": True})]
    with attacked() as at:
        at.run(flood(at.port, [frame(results.encode())], is_web_socket=True),
               flood(at.port, [frame(rtvi[1].encode())], frame(rtvi[0].encode()), is_web_socket=True))


def endless_items():
    with attacked() as at:
        at.run(*[flood(at.port, [item(text_of(200_000))], is_web_socket=True) for _ in range(2)])


def a_long_history():
    """Whose beginning must be left out again for each partial."""
    with attacked() as at:
        history = (item(text_of(60)) + item(text_of(60), "assistant")) * 1000
        at.run(*[flood(at.port, updates(200), history, is_web_socket=True) for _ in range(2)])


async def refused(at, body):
    begin = time.monotonic()
    async with Client(at.port) as client:
        answer = await client.ask(request(CHAT, body))
    took = time.monotonic() - begin
    at.must(answer.status == 400, f"it is refused: {answer.status}")
    at.must(len(answer.body) < 4096, f"nothing is said again: {len(answer.body)} bytes")
    at.must(took < 6 * ANSWER_SECONDS, f"a megabyte is refused in a moment, not {took:.1f} s")


def a_template_without_end():
    """A model's own template, which a longer conversation sets off: its client is refused after the template's second."""
    with tempfile.NamedTemporaryFile("w", suffix=".jinja") as file:
        file.write("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if messages | length > 2 %}"
                   "{% for i in range(99999) %}{% for j in range(999) %}{% set x = 'ab' * 999 == 'ab' * 998 ~ j %}{% endfor %}{% endfor %}"
                   "{% endif %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
        file.flush()
        with attacked("--chat-template", file.name) as at:
            body = chat("x")
            body["messages"] = body["messages"] * 3

            async def attack():
                for _ in range(3):
                    await refused(at, body)

            at.run(attack(), attack())


def names_of_a_megabyte():
    """Nothing is looked for that long, nor said again."""
    name = SECRET * 170_000
    with attacked() as at:
        requests = [chat("x", reasoning_effort=name), chat("x", tools=[{"type": name}]),
                    {**chat("x"), "messages": [{"role": name, "content": "x"}]}]
        part = name[:240_000]
        events = [event(part), event("response.create", **{part: 1}), event("session.update", session={part: 1})]

        async def ask_all():
            for body in requests:
                await refused(at, body)

        async def say_all():
            async with websockets.asyncio.client.connect(
                    f"ws://127.0.0.1:{at.port}/v1/realtime", additional_headers={"Authorization": f"Bearer {KEY}"}) as connection:
                await connection.recv()
                for one in events:
                    await connection.send(one)
                    told = await asyncio.wait_for(connection.recv(), 40)
                    at.must(json.loads(told)["type"] in ("error", "predgen.warning") and len(told) < 4096, f"an error of {len(told)} bytes")

        at.run(ask_all(), say_all(), ask_all(), say_all())


def objects_of_many_keys():
    def body(count, where):
        keys = ",".join(f'"{i:x}":0' for i in range(count))
        return where.replace("KEYS", "{" + keys + "}")

    http = [body(95_000, where) for where in (
        '{"model":"demo","messages":[],"metadata":KEYS}', '{"model":"demo","messages":[KEYS]}', '{"tools":[{"function":KEYS}]}')]
    events = [body(25_000, where) for where in ('{"type":"session.update","session":KEYS}', '{"type":"TurnInfo","x":KEYS}')]
    with attacked("--wyoming-port", "0") as at:
        at.run(*[refused(at, one) for one in http],
               flood(at.port, [frame(one.encode()) for one in events], is_web_socket=True),
               flood(at.wyoming_port, [wyoming("transcript", text="x", context=json.loads(body(20_000, "KEYS")))]), patience=30)


async def hold(port, begun=b"", seconds=3.0):
    """A socket that says nothing, or a header byte by byte; another one when it is closed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(ConnectionError):
            async with Client(port) as client:
                ended = asyncio.create_task(client.reader.read(1))
                for at in itertools.count():
                    if ended.done() or time.monotonic() > end:
                        break
                    await client.send(begun[at:at + 1])
                    await asyncio.wait([ended], timeout=0.1)
        await asyncio.sleep(0.01)


def silent_sockets():
    """As many as it takes at a time, of one address."""
    with attacked() as at:
        at.run(*[hold(at.port, begun) for begun in (b"", request(CHAT, chat("x"))) * 32])


def silent_sockets_by_wyoming():
    with attacked("--wyoming-port", "0") as at:
        async def describe():
            await asyncio.sleep(0.5)
            own = socket.socket()
            own.setblocking(False)
            own.bind((OTHER_ADDRESS, 0))
            await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", at.wyoming_port))
            reader, writer = await asyncio.open_connection(sock=own)
            writer.write(wyoming("describe"))
            at.must(await until(reader, [b"supports_handled_streaming"], 2), "another address is answered by Wyoming")
            writer.transport.abort()

        at.run(*[hold(at.wyoming_port) for _ in range(24)], describe())


def long_streams():
    """Three times as many as it answers at a time, of one client. What is kept of answers that are over is a budget
    of its own (cached_conversations), which they would only fill."""
    with attacked("cached_conversations=1", "max_sessions=8") as at:
        end, statuses = time.monotonic() + 4, set()
        body = chat(PROMPTS[0], stream=True, max_tokens=200, temperature=2)

        async def attack():
            while (left := end - time.monotonic()) > 0:
                with contextlib.suppress(ConnectionError, TimeoutError):
                    async with Client(at.port) as client:
                        await client.send(request(CHAT, body))
                        statuses.add(await asyncio.wait_for(client.reader.read(12), left))
                        await client.read(left)
                await asyncio.sleep(0.05)

        at.run(*[attack() for _ in range(24)])
        at.must(statuses >= {b"HTTP/1.1 200", b"HTTP/1.1 429"}, f"some are answered, some refused: {statuses}")


ATTACKS = [updates_by_websocket, chunks_by_wyoming, metrics_in_a_loop, readers_that_do_not_read, one_byte_a_chunk, endless_segments, endless_items, a_long_history, a_template_without_end, names_of_a_megabyte, objects_of_many_keys, silent_sockets, silent_sockets_by_wyoming, long_streams]
