"""A home that goes wrong now and then, as tool servers: lamps over HTTP, and fans over stdio (faulty_home.py FILE SEED).
Both write the number of what is switched into a file, and when they were asked to."""

import contextlib
import json
import os
import random
import secrets
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Seconds: --act-within, how long a call may take to arrive on a busy machine, and what a call that switches has.
ACT_WITHIN, LATE, PATIENCE = 3, 5, 1.5
HANG, SLOW_LOOK = 2 * PATIENCE, ACT_WITHIN + LATE + 1
CHANGED = b'data: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n'


def tool(name, **hints):
    number = {"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}}
    return {"name": name, "inputSchema": number, "annotations": hints}


LOOK, LAMP, FAN = tool("look", readOnlyHint=True), tool("switch_lamp"), tool("switch_fan")


class Fault(Exception):
    """Instead of an answer."""


class Things:
    def __init__(self, file, seed, tools, fault_rate=0.2):
        self.file, self.random, self.tools, self.fault_rate = Path(file), random.Random(seed), tools, fault_rate

    def result_of(self, message):
        method, params, now = message["method"], message.get("params", {}), time.monotonic()
        if method == "initialize":
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "home", "version": "1"}}
        if method == "tools/list":
            return {"tools": self.tools}
        number = params["arguments"]["number"]
        if params["name"] not in [one["name"] for one in self.tools]:
            text, is_error = "there is no such tool", True
        elif params["name"] == "look":
            text, is_error = f"lamp {number}", False
            time.sleep(SLOW_LOOK if self.random.random() < 2 * self.fault_rate else 0)
        else:
            is_error = self.switch(number, now)
            text = "it is broken" if is_error else f"done {number}"
        return {"content": [{"type": "text", "text": text}], "isError": is_error}

    def switch(self, number, now):
        """Whether it says no. It may be done all the same when there is no answer, or one that comes late."""
        has_fault = self.random.random() < self.fault_rate
        fault = self.random.choice(["no", "hang", "cut", "status 500"]) if has_fault else ""
        if not fault or (fault != "no" and self.random.random() < 0.5):
            with self.file.open("a") as effects:
                effects.write(f"{number} {now}\n")
        if fault == "hang":
            time.sleep(HANG)
        if fault in ("cut", "status 500"):
            raise Fault(fault)
        return fault == "no"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        home, message = self.server.home, json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message["method"] != "initialize" and self.headers["Mcp-Session-Id"] != home.session:
            return self.begin(404)
        if "id" not in message:
            return self.begin(202)
        try:
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": home.things.result_of(message)}).encode()
        except Fault as fault:
            if str(fault) == "status 500":
                return self.begin(500)
            body = b'{"jsonrpc": "2.0", "id"'
        self.begin(200, "application/json", home.session)
        self.wfile.write(body)

    def do_GET(self):
        """Tells when the tools change, and every second that it is there."""
        home = self.server.home
        if self.headers["Mcp-Session-Id"] != home.session:
            return self.begin(404)
        self.begin(200, "text/event-stream", home.session)
        tools = home.things.tools
        while True:
            self.wfile.write(b": \n\n" if tools is home.things.tools else CHANGED)
            tools = home.things.tools
            home.changed.wait(1)

    def do_DELETE(self):
        self.begin(200)

    def begin(self, status, kind="text/plain", session=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()

    def log_message(self, *ignored):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 64

    def get_request(self):
        connection, peer = super().get_request()
        self.connections.add(connection)
        return connection, peer

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, *ignored):  # who asked has gone
        pass


class Home:
    def __init__(self, things):
        self.things, self.changed, self.port = things, threading.Event(), 0
        self.start()

    def start(self):
        self.session = secrets.token_hex(8)
        self.server = Server(("127.0.0.1", self.port), Handler)
        self.server.home, self.server.connections, self.port = self, set(), self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=[0.05], daemon=True).start()

    def stop(self):
        """As if it were killed."""
        self.server.shutdown()
        self.server.server_close()
        for connection in list(self.server.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def forget(self):
        self.session = secrets.token_hex(8)

    def offer(self, tools):
        self.things.tools = tools
        self.changed.set()
        self.changed.clear()


def answer(things, message):
    try:
        line = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": things.result_of(message)})
    except Fault:
        os._exit(1)
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    with open(sys.argv[1] + ".starts", "a") as starts:
        starts.write(f"{os.getpid()}\n")
    fans = Things(sys.argv[1], f"{sys.argv[2]} {time.time()}", [FAN])
    for line in sys.stdin:
        if "id" in (message := json.loads(line)):
            threading.Thread(target=answer, args=[fans, message], daemon=True).start()
