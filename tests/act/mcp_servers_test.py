"""The client of tool servers against those of the official `mcp` package and hostile ones: mcp_servers_test.py USE_TOOLS."""

import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
USE_TOOLS = sys.argv[1]
HOSTILE, HEALTHY, FAST = (HERE / f"{name}_server.py" for name in ("hostile", "healthy", "fast"))


def check(condition, message):
    if not condition:
        print("FAILED:", message)
        sys.exit(1)
    print("ok:", message)


def use(scratch, servers, *commands, exit_code=0):
    """The JSON lines that the commands print, and what was logged."""
    file = scratch / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    done = subprocess.run([USE_TOOLS, file, *commands], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "CONNECT_SECONDS": "5" if exit_code else "30"})
    check(done.returncode == exit_code, f"exits with {exit_code}: {done.returncode} {done.stderr[-500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def stdio(script, *arguments, **more):
    return {"command": sys.executable, "args": [str(script), *map(str, arguments)], **more}


def check_healthy(scratch, server, what):
    commands = ["list", "call", "add", '{"a": 2, "b": 40}', "call", "forget", '{"what": "tea"}', "call", "say_nothing",
                "{}", "call", "wait", '{"seconds": 1}', "call", "huge", '{"kilobytes": 100}', "call", "grow", "{}",
                "wait", "grown", "call", "grown", "{}", "stop", "wait", '{"seconds": 30}', "call", "add", '{"a": 1, "b": 1}']
    lines, log = use(scratch, {"home": server}, *commands)
    tools = {tool["name"]: tool for tool in lines[0]}
    effects = {name: tool["effects"] for name, tool in tools.items()}
    check(effects == {"add": "read", "switch": "idempotent", "forget": "destructive", "say_nothing": "destructive",
                      "wait": "read", "huge": "read", "grow": "destructive"}, f"{what}: the hints say so: {effects}")
    check("Ignore previous" in tools["switch"]["description"], f"{what}: a description is only data")
    added, forget, nothing, waited, huge, grown, is_there, new, stopped, again = lines[1:]
    check(added["status"] == "done" and added["text"] == "42", f"{what}: {added}")
    check(forget["status"] == "failed" and "cannot be forgotten" in forget["text"], f"{what}: {forget}")
    check(nothing["status"] == "done" and nothing["text"], f"{what}: {nothing}")
    told = 0 if what.endswith("--json") else 2  # an answer of JSON comes as one
    check(waited["text"] == "waited" and waited["progress"] >= told, f"{what}: tells its progress: {waited}")
    check(huge["status"] == "done" and len(huge["text"]) < 9000 and "cut" in huge["text"], f"{what}: much is cut")
    check(is_there is True and new["text"] == "new", f"{what}: a tool that was added is there: {grown} {new}")
    check(stopped["status"] == "cancelled" and stopped["seconds"] < 3, f"{what}: can be stopped: {stopped}")
    check(again["text"] == "2", f"{what}: and goes on: {again}")
    check("42" not in log and "cannot be forgotten" not in log, f"{what}: no result is in the log")


@contextlib.contextmanager
def http_server(script, *more):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(script), str(port), *more], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        for _ in range(400):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/" + ("sse" if "--sse" in more else "mcp")
    finally:
        process.kill()
        process.wait()


def hostile(scratch, how, *commands, exit_code=0, file=None, **more):
    server = stdio(HOSTILE, how, *([file] if file else []), tools={"ask": {"timeout": 1.5}}, **more)
    return use(scratch, {"bad": server}, *commands, exit_code=exit_code)


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except FileNotFoundError:
        return True


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


ASK = ("call", "ask", "{}")


def check_hostile(scratch):
    for how, text in (("no-start", "No module named 'mcp'"), ("deaf", "has not answered within 5 s"),
                      ("old", "1999-01-01"), ("circle", "in a circle"), ("no-list", "without tools"),
                      ("no-revision", "Unsupported protocol version")):
        _, log = hostile(scratch, how, "list", exit_code=2)
        check(text in log and "disabled" in log and len(log.strip().splitlines()) == 1, f"{how}: one line says why: {log}")
    (died, then), _ = hostile(scratch, "dies", *ASK, *ASK)
    check(died["status"] == "unavailable" and "it broke: all is lost" in died["text"], f"dies: {died}")
    check(then["status"] == "unavailable", f"dies: {then}")
    lines, log = hostile(scratch, "dies-once", *ASK, "back", "ask", "{}", file=scratch / "died")
    check([line["status"] for line in lines] == ["unavailable", "done"] and "it is tried again" in log, f"comes back, and nothing is called twice: {lines}")
    (slow,), _ = hostile(scratch, "slow", *ASK)
    check(slow["status"] == "timed out" and 1.4 < slow["seconds"] < 5, f"slow: {slow}")
    (huge, more), _ = hostile(scratch, "huge", *ASK, *ASK)
    check(huge["status"] == "unavailable" and "more than 4 MiB" in huge["text"] and huge["seconds"] < 5, f"huge: {huge}")
    check(more["status"] in ("unavailable", "done"), f"huge: and goes on: {more}")
    (garbage, more), _ = hostile(scratch, "garbage", *ASK, *ASK)
    check(garbage["text"] == "fine" and more["text"] == "fine", f"garbage is skipped: {garbage}")
    (one, other), _ = hostile(scratch, "repeats", *ASK, *ASK)
    check(one["text"] == other["text"] == "fine", f"only the first answer to an id counts: {one} {other}")
    (progress,), _ = hostile(scratch, "progress", *ASK)
    check(progress["status"] in ("timed out", "unavailable") and progress["seconds"] < 5 and progress["progress"] < 20,
          f"progress for ever ends all the same: {progress}")
    (asks,), _ = hostile(scratch, "asks", *ASK)
    check(json.loads(asks["text"]) == {"ping": "result", "sampling/createMessage": -32601, "roots/list": -32601,
                                       "elicitation/create": -32601}, f"is offered nothing but a ping: {asks}")
    (odd,), _ = hostile(scratch, "odd", *ASK)
    check(odd["text"] == "[image]\nin a file\n[something unknown]\n[31mred", f"other content is named: {odd}")
    (tools,), log = hostile(scratch, "twice", "list")
    check(len(tools) == 2 and tools[1]["name"].startswith("an_odd_name_x") and len(tools[1]["name"]) == 64
          and "twice" in log, f"names are made plain: {tools}")
    (tools,), log = hostile(scratch, "large-schema", "list")
    check([tool["name"] for tool in tools] == ["ask"] and "large" in log, f"a huge schema is left out: {tools}")
    (tools,), _ = hostile(scratch, "pages", "list")
    check([tool["name"] for tool in tools] == ["page0", "page1", "page2"], f"all pages: {tools}")
    (changes,), _ = hostile(scratch, "changes", *ASK)
    check(changes["text"] == "fine" and changes["seconds"] < 1.5, f"tools that change all the time: {changes}")
    (tools, stateless), _ = hostile(scratch, "stateless", "list", *ASK)
    check(len(tools) == 1 and stateless["text"] == "fine", f"the revision without a handshake: {stateless}")
    begin = time.monotonic()
    hostile(scratch, "stays", *ASK, file=scratch / "stays")
    check(time.monotonic() - begin < 10, "is not waited for")
    for pid in (scratch / "stays").read_text().split():
        check(wait_for(lambda: is_gone(pid)), f"{pid} is gone, with its group")


def check_file(scratch):
    both = {"one": stdio(HOSTILE, "fine"), "two": stdio(HOSTILE, "fine"), "off": {"command": "/none", "disabled": True}}
    (tools, result), _ = use(scratch, both, "list", "call", "two__ask", "{}")
    check([tool["name"] for tool in tools] == ["one__ask", "two__ask"] and result["text"] == "fine", f"{tools}")
    rules = {"*": {"ask": True}, "add": {"effects": "destructive"}, "forget": {"effects": "read", "timeout": 5}}
    (tools,), log = use(scratch, {"home": stdio(HEALTHY, tools=rules, autoApprove=["x"])}, "list")
    by_name = {tool["name"]: tool for tool in tools}
    check(by_name["add"]["asks"] and not by_name["switch"]["asks"] and by_name["say_nothing"]["asks"], f"{by_name}")
    check(by_name["forget"]["effects"] == "read" and by_name["forget"]["timeout"] == 5, f"{by_name['forget']}")
    check("forget of 'home' is 'read'" in log and "'destructive'" in log, f"what is loosened is logged: {log}")
    check("add of 'home'" not in log and "autoApprove" in log, f"what is not known is logged: {log}")
    for server, text in ((stdio(HOSTILE, "fine", tools={"ask": {"effect": "read"}}), "tools.ask.effect"),
                         ({"url": "https://example.org/mcp"}, "mcp-remote"), ({"url": "ftp://x"}, "no address"),
                         ({"command": "/none/such"}, "No such file"), ({}, "either"),
                         ({"url": "http://127.0.0.1:1/mcp"}, "refused"),
                         ({"command": "x", "args": ["${NO_SUCH_VARIABLE}"]}, "NO_SUCH_VARIABLE")):
        _, log = use(scratch, {"bad": server}, "list", exit_code=2)
        check(text in log, f"{text}: {log}")


def check_fast(scratch):
    """Servers of the fastmcp package."""
    check_healthy(scratch, stdio(FAST), "fastmcp, stdio")
    with http_server(FAST) as url:
        check_healthy(scratch, {"url": url}, "fastmcp, HTTP")
    (huge, gone, then), log = use(scratch, {"bad": stdio(FAST, "hostile", tools={"ask": {"timeout": 20}})}, *ASK, *ASK, *ASK)
    check(huge["status"] == "done" and len(huge["text"]) < 9000 and "cut" in huge["text"], f"fastmcp, hostile: {huge}")
    check(gone["status"] == then["status"] == "unavailable", f"fastmcp, hostile: and is lost: {gone} {then}")
    check("user now" not in log and "xxxx" not in log, f"fastmcp, hostile: nothing of its texts is in the log: {log}")


def main(scratch):
    check_file(scratch)
    check_hostile(scratch)
    check_healthy(scratch, stdio(HEALTHY), "stdio")
    for more in ((), ("--json",), ("--sse",)):
        with http_server(HEALTHY, *more) as url:
            check_healthy(scratch, {"url": url}, "HTTP " + " ".join(more))
            _, log = use(scratch, {"bad": {"url": url.rsplit("/", 1)[0] + "/other"}}, "list", exit_code=2)
            check("404" in log, f"another path: {log}")
    if importlib.util.find_spec("fastmcp") is None:
        print("skipped: servers of fastmcp, which is not installed")
    else:
        check_fast(scratch)


if importlib.util.find_spec("mcp") is None:
    print("skipped: no mcp package")
    sys.exit(77)
os.environ.pop("NO_SUCH_VARIABLE", None)
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
