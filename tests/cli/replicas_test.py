"""Two replicas of predgen serve behind Debian's HAProxy with the configuration that is shipped."""

import concurrent.futures
import contextlib
import http.client
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
if HAPROXY is None:
    print("skipped: replicas need haproxy")
    sys.exit(77)

import httpx2  # noqa: E402
import openai  # noqa: E402
import websockets.exceptions  # noqa: E402
import websockets.sync.client  # noqa: E402

from serving import PROMPTS, server, user, wait_for  # noqa: E402
from program import REPOSITORY, check  # noqa: E402

SHIPPED = (REPOSITORY / "configs" / "deploy" / "haproxy.cfg").read_text()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def proxy(folder, replicas):
    """The shipped configuration, with these addresses and without TLS."""
    port, text = free_port(), SHIPPED
    changes = {"bind :443 ssl crt /etc/haproxy/predgen.pem": f"bind 127.0.0.1:{port}"}
    for name, place, replica in zip(("one", "two"), (8081, 8082), replicas):
        changes[f"server {name} 127.0.0.1:{place}"] = f"server {name} {replica.url[len('http://'):]}"
    for before, after in changes.items():
        check(text.count(before) == 1, f"the configuration has {before}")
        text = text.replace(before, after)
    (folder / "haproxy.cfg").write_text(text)
    process = subprocess.Popen([HAPROXY, "-q", "-db", "-f", folder / "haproxy.cfg"])
    try:
        wait_for(lambda: status(port) == 200, "the proxy answers")
        yield port
    finally:
        process.terminate()
        process.wait()


def status(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


class Device:
    """A client with an address of its own, by which the proxy chooses its replica."""

    def __init__(self, port, address):
        self.port, self.address = port, address
        self.client = openai.OpenAI(
            base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0,
            http_client=httpx2.Client(transport=httpx2.HTTPTransport(local_address=address)))

    def ask(self, messages):
        answer = self.client.chat.completions.create(model="demo", messages=messages, max_tokens=24)
        return answer.choices[0].message.content

    def connect(self):
        own = socket.create_connection(("127.0.0.1", self.port), source_address=(self.address, 0))
        return websockets.sync.client.connect(f"ws://127.0.0.1:{self.port}/v1/realtime?model=demo", sock=own)


def answers_of(replica):
    """How many requests it has had; not by the proxy."""
    connection = http.client.HTTPConnection(*replica.url[len("http://"):].split(":"), timeout=10)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return sum(float(line.split()[-1]) for line in text.splitlines()
               if line.startswith("predgen_generated_tokens_total"))


def device_of(port, replica):
    for last in range(2, 40):
        device, before = Device(port, f"127.0.0.{last}"), answers_of(replica)
        device.ask(user(PROMPTS[0]))
        if answers_of(replica) > before:
            return device
    return check(False, "some device comes to the replica")


def converse(connection, texts):
    """Items, then the answer to the last one."""
    for role, text in texts:
        kind = "input_text" if role == "user" else "output_text"
        connection.send(json.dumps({"type": "conversation.item.create", "item": {
            "type": "message", "role": role, "content": [{"type": kind, "text": text}]}}))
    connection.send(json.dumps({"type": "response.create"}))
    text = ""
    while True:
        event = json.loads(connection.recv(timeout=30))
        check(event["type"] != "error", f"no error: {event}")
        if event["type"] == "response.output_text.delta":
            text += event["delta"]
        if event["type"] == "response.done":
            check(event["response"]["status"] == "completed", f"completes: {event}")
            return text


def test_a_stop_loses_no_request(folder):
    with server("max_new_tokens=24") as staying, server("max_new_tokens=24") as stopped, \
            proxy(folder, (staying, stopped)) as port:
        devices = [device_of(port, stopped), device_of(port, staying)]
        expected = [devices[1].ask(user(prompt)) for prompt in PROMPTS]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(devices[i % 2].ask, user(PROMPTS[i % len(PROMPTS)])) for i in range(120)]
            wait_for(lambda: sum(one.done() for one in asked) > 30, "some are answered")
            stopped.send_signal(signal.SIGTERM)
            answers = [one.result() for one in asked]  # none was refused
        check(answers == [expected[i % len(PROMPTS)] for i in range(120)], "with the same texts")


def test_clients_of_a_killed_replica_go_on_at_the_other(folder):
    with server("max_new_tokens=24") as staying, contextlib.ExitStack() as stack:
        killed = stack.enter_context(server("max_new_tokens=24", exit_code=-signal.SIGKILL))
        with proxy(folder, (killed, staying)) as port:
            device = device_of(port, killed)
            first = converse(device.connect(), [("user", PROMPTS[0])])
            history = [("user", PROMPTS[0]), ("assistant", first), ("user", PROMPTS[1])]
            expected = converse(device.connect(), history)
            with device.connect() as connection:
                converse(connection, [("user", PROMPTS[0])])
                killed.send_signal(signal.SIGKILL)
                begin = time.monotonic()
                try:
                    connection.recv(timeout=30)
                    check(False, "nothing comes any more")
                except websockets.exceptions.ConnectionClosed:
                    took = time.monotonic() - begin
                check(took < 1, f"the client is told within a second, and not in {took:.2f} s")
            with device.connect() as connection:
                check(converse(connection, history) == expected, "the other one has the same answer")
            check(device.ask(user(PROMPTS[2])) != "", "and requests are answered")


with tempfile.TemporaryDirectory() as name:
    test_a_stop_loses_no_request(Path(name))
    test_clients_of_a_killed_replica_go_on_at_the_other(Path(name))
