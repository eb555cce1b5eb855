"""A tool server that misbehaves in one way, over stdio: hostile_server.py HOW [FILE]."""

import json
import os
import pathlib
import sys
import time

how = sys.argv[1]
TOOL = {"name": "ask", "description": "Answers.", "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True}}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def listed(params):
    if how == "circle":
        return {"tools": [], "nextCursor": "again"}
    if how == "pages":
        page = int(params.get("cursor", 0))
        more = {"nextCursor": str(page + 1)} if page < 2 else {}
        return {"tools": [{**TOOL, "name": f"page{page}"}], **more}
    if how == "twice":
        return {"tools": [TOOL, TOOL, {**TOOL, "name": "an odd name/" + "x" * 100}, {"name": 5}, "none"]}
    if how == "large-schema":
        return {"tools": [TOOL, {**TOOL, "name": "large", "inputSchema": {"type": "object", "x": "x" * 100000}}]}
    if how == "no-list":
        return {"nothing": True}
    return {"tools": [TOOL]}


def answer(id, params):
    result = {"content": [{"type": "text", "text": "fine"}]}
    if how == "dies":
        print("it broke: all is lost", file=sys.stderr)
        os._exit(3)
    if how == "dies-once" and not (mark := pathlib.Path(sys.argv[2])).exists():
        mark.write_text("")
        os._exit(3)
    if how == "slow":
        time.sleep(600)
    if how == "huge":
        print("[" + "1," * 3_000_000 + "1]", flush=True)
    if how == "garbage":
        for line in ("{", "not json", "\x00\x01", "[[[[[", '{"id": 1}', '{"jsonrpc": "2.0", "id": "x", "result": {}}', "[1, 2]"):
            print(line, flush=True)
    if how == "repeats":
        for _ in range(3):
            send({"id": id, "result": {"content": [{"type": "text", "text": "fine"}]}})
        result["content"][0]["text"] = "another answer to the same id"
    if how == "progress":
        token = params["_meta"]["progressToken"]
        while True:
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
    if how == "asks":
        for method in ("ping", "sampling/createMessage", "roots/list", "elicitation/create"):
            send({"id": method, "method": method, "params": {}})
        got = {}
        while len(got) < 4:
            reply = json.loads(sys.stdin.readline())
            got[reply["id"]] = "result" if "result" in reply else reply["error"]["code"]
        result["content"][0]["text"] = json.dumps(got)
    if how == "odd":
        result = {"content": [{"type": "image", "data": "x"}, {"type": "resource", "resource": {"uri": "a", "text": "in a file"}},
                              {"type": "video"}, {"type": "text", "text": "\x1b[31mred\x00"}]}
    send({"id": id, "result": result})


if how == "no-start":
    sys.exit("ModuleNotFoundError: No module named 'mcp'")
if how == "stays":  # whatever happens to its stdin, with a child of its own
    import signal
    import subprocess
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    pathlib.Path(sys.argv[2]).write_text(f"{os.getpid()} {child.pid}")
for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if how == "deaf":
        continue
    if method == "initialize":
        revision = "1999-01-01" if how == "old" else params["protocolVersion"]
        if how in ("stateless", "no-revision"):
            send({"id": id, "error": {"code": -32022, "message": "Unsupported protocol version", "data": {
                "supported": ["2026-07-28" if how == "stateless" else "2030-01-01"]}}})
        else:
            send({"id": id, "result": {"protocolVersion": revision, "capabilities": {"tools": {"listChanged": True}},
                                       "serverInfo": {"name": how, "version": "1"}}})
    elif method == "server/discover":
        send({"id": id, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}})
    elif method == "notifications/cancelled" and len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(json.dumps(params))
    elif how == "stateless" and id is not None and (
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] != "2026-07-28"):
        send({"id": id, "error": {"code": -32602, "message": "no envelope"}})
    elif method == "tools/list":
        send({"id": id, "result": listed(params)})
        if how == "changes":
            for _ in range(500):
                send({"method": "notifications/tools/list_changed"})
    elif method == "tools/call":
        answer(id, params)
if how == "stays":
    time.sleep(600)
