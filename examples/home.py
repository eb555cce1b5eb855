"""A small home as a tool server (Model Context Protocol, over stdin and stdout): lights, a thermostat and a shopping
list. Its state is on a web page, http://127.0.0.1:8090/ (HOME_PORT=0: no page).

    pip install mcp
    predgen talk --model qwen2.5-1.5b-instruct-q4_k_m --mcp examples/home.json
"""

import html
import http.server
import json
import os
import sys
import threading

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

READS = ToolAnnotations(readOnlyHint=True)
SETS = ToolAnnotations(readOnlyHint=False, destructiveHint=False, idempotentHint=True)
ADDS = ToolAnnotations(readOnlyHint=False, destructiveHint=False)
REMOVES = ToolAnnotations(readOnlyHint=False, destructiveHint=True, idempotentHint=True)
ROOMS = ("kitchen", "living room", "bedroom", "bathroom")
COLDEST, WARMEST = 5, 30

server = MCPServer("home")
lock = threading.Lock()  # the page is served by threads
lights = dict.fromkeys(ROOMS, False)
thermostat = {"target": 20.0, "measured": 18.5}
shopping = []


def known(room):
    room = room.strip().lower().removeprefix("the ")
    if room not in lights:
        raise ToolError(f"there is no light in {room!r}; the rooms are {', '.join(ROOMS)}")
    return room


@server.tool(annotations=READS)
def get_home() -> dict:
    """Tells which lights are on, the temperature in degrees Celsius, and what is on the shopping list."""
    with lock:
        return {"lights_on": [room for room, on in lights.items() if on], "thermostat": dict(thermostat),
                "shopping_list": list(shopping)}


@server.tool(annotations=SETS)
def set_light(room: str, on: bool) -> str:
    """Switches the light of a room on or off: kitchen, living room, bedroom or bathroom."""
    with lock:
        lights[known(room)] = on
    return f"The light in the {known(room)} is {'on' if on else 'off'}."


@server.tool(annotations=SETS)
def set_temperature(celsius: float) -> str:
    """Sets the thermostat, in degrees Celsius."""
    if not COLDEST <= celsius <= WARMEST:
        raise ToolError(f"the thermostat goes from {COLDEST} to {WARMEST} degrees")
    with lock:
        thermostat["target"] = celsius
    return f"The thermostat is set to {celsius:g} degrees."


@server.tool(annotations=ADDS)
def add_to_shopping_list(item: str) -> str:
    """Adds an item to the shopping list."""
    item = item.strip()[:60]
    with lock:
        if item and item not in shopping and len(shopping) < 50:
            shopping.append(item)
        return f"On the list: {', '.join(shopping)}."


@server.tool(annotations=REMOVES)
def clear_shopping_list() -> str:
    """Takes everything off the shopping list."""
    with lock:
        count = len(shopping)
        shopping.clear()
    return f"{count} items are off the list."


PAGE = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="1"><title>home</title>
<style>body{font:18px/1.6 sans-serif;max-width:34em;margin:3em auto;padding:0 1em}
.light{display:inline-block;padding:.4em 1em;margin:.2em;border-radius:1em;background:#ddd;color:#333}
.on{background:#ffd54a}</style>"""


def page():
    with lock:
        rooms = "".join(f'<span class="light{" on" if on else ""}">{html.escape(room)}</span>'
                        for room, on in lights.items())
        items = "".join(f"<li>{html.escape(item)}" for item in shopping) or "<li>(nothing)"
        return (f"{PAGE}<h1>Home</h1><p>{rooms}<p>Thermostat: {thermostat['target']:g} °C "
                f"(it is {thermostat['measured']:g})<h2>Shopping list</h2><ul>{items}</ul>")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_json = self.path == "/state"
        body = (json.dumps(get_home()) if is_json else page()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json" if is_json else "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *ignored):
        pass


def serve_page(port):
    try:
        web = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:  # another home is there
        print(f"no page at port {port}: {error}", file=sys.stderr)
        return
    threading.Thread(target=web.serve_forever, daemon=True).start()


if __name__ == "__main__":
    if port := int(os.environ.get("HOME_PORT", "8090")):
        serve_page(port)
    server.run()
