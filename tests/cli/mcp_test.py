"""Tools that the program itself calls (--mcp), with servers of the `mcp` package: chat, serve and the example."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

from program import PREDGEN, REPOSITORY, check, run
from skipping import skip_without

skip_without("mcp", "a tool server")


from lamp_server import calls_of, write_servers  # noqa: E402
from serving import client, server, take_until, user  # noqa: E402
from tool_model import AFTER, BEFORE_CALL, make_tool_model  # noqa: E402

SWITCH = "Switch the lamp on, please."


def chat(model, *arguments, lines):
    return run("chat", "--model", model, "--threads", "1", *arguments, input="".join(line + "\n" for line in lines))


def check_chat(scratch, model):
    file = write_servers(scratch, "lamps.json")
    result = chat(model, "--mcp", file, "--json", lines=["Hi", SWITCH, "Hi"])
    turns = json.loads(result.stdout)["turns"]
    check([turn["text"] for turn in turns] == ["Hello there.", f"{BEFORE_CALL} {AFTER}", "Hello there."],
          f"the answer goes on after a call: {[turn['text'] for turn in turns]}")
    call = turns[1]["calls"][0]
    check(call["name"] == "switch_lamp" and call["status"] == "done" and not turns[0]["calls"], f"{call}")
    check(calls_of(scratch) == ["kitchen True"], "the tool has run once")
    check("tools: switch_lamp (destructive)" in result.stderr, f"what is offered is told: {result.stderr}")
    check("secret" not in result.stderr + result.stdout, "no result is shown or logged")
    result = chat(model, "--mcp", file, lines=[SWITCH])
    check("[switch_lamp: running]" in result.stderr and "[switch_lamp: done after" in result.stderr
          and AFTER in result.stdout, f"calls are shown: {result.stderr}")
    calls_of(scratch)
    # Words as they come: each has a draft with the whole call, and none is made before the end.
    words = SWITCH.split()
    partial = [json.dumps({"text": " ".join(words[:count]), "final": False}) for count in range(1, len(words) + 1)]
    result = chat(model, "--mcp", file, "--transcripts", "-", "--json", lines=partial)
    calls_of(scratch)
    transcripts = [*partial, json.dumps({"text": SWITCH, "end_of_turn": True})]
    result = chat(model, "--mcp", file, "--transcripts", "-", "--json", lines=transcripts)
    check(calls_of(scratch) == ["kitchen True"], f"one call for all drafts: {result.stdout}")


def check_failure(scratch, model):
    """The model always says that the lamp is on."""
    file = write_servers(scratch, "fails.json", error="Say that it is on")
    result = chat(model, "--mcp", file, "--json", lines=[SWITCH])
    turn = json.loads(result.stdout)["turns"][0]
    check(turn["text"] == f"{BEFORE_CALL} Sorry, that did not work.", f"a failure is said: {turn['text']}")
    check(turn["calls"][0]["status"] == "failed" and calls_of(scratch) == ["kitchen True"], f"after one call: {turn}")


def check_asking(scratch, model):
    file = write_servers(scratch, "asks.json", tools={"switch_lamp": {"ask": True}})
    result = chat(model, "--mcp", file, "--json", lines=[SWITCH, "Hi", SWITCH, "Yes, please."])
    turns = json.loads(result.stdout)["turns"]
    check(turns[0]["text"] == f"{BEFORE_CALL} Shall I call switch lamp, with room kitchen, on true?", f"{turns[0]}")
    check(turns[3]["text"] == AFTER and turns[3]["calls"][0]["status"] == "done", f"a yes calls it: {turns[3]}")
    check(calls_of(scratch) == ["kitchen True"], "and nothing else does")


def check_early(scratch, model):
    """A lamp that only reads, as the file says, runs before the last word: that comes once it has answered."""
    file = write_servers(scratch, "reads.json", tools={"*": {"effects": "read"}})
    arguments = [PREDGEN, "chat", "--model", str(model), "--threads", "1", "--mcp", str(file), "--transcripts", "-",
                 "--early-stable", "0"]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    said = json.dumps({"text": "Quick, the lamp", "final": False})
    process.stdin.write(said + "\n")
    process.stdin.flush()
    log = ""
    while "while you speak" not in log.partition("done after")[2] and (line := process.stderr.readline()):
        log += line
    calls = calls_of(scratch)
    final = json.dumps({"text": "Quick, the lamp!", "end_of_turn": True})
    text, rest = process.communicate(final + "\n")
    watchdog.cancel()
    check("[switch_lamp: running while you speak]" in log and calls == ["kitchen True"], f"it runs early: {log}")
    check("[switch_lamp: kept, done after" in rest and text.strip() == AFTER, f"its result stands: {text} {rest}")
    check(not calls_of(scratch), "it has run once")
    result = chat(model, "--mcp", file, "--early-calls", "0", "--transcripts", "-", lines=[said, final])
    check("while you" not in result.stderr and result.stdout == text, f"not if that is switched off: {result.stderr}")
    calls_of(scratch)


def check_mistakes(scratch, model):
    file = write_servers(scratch, "broken.json", cwd="/no/such/folder")
    for arguments, text in ((("--mcp", scratch / "absent.json"), "absent.json"), (("--mcp", file), "'lamps'")):
        result = chat(model, *arguments, lines=["Hi"])
        check(result.returncode == 2 and text in result.stderr and result.stderr.count("\n") == 1,
              f"one line names it: {result.stderr}")
    strange = scratch / "strange.jinja"
    strange.write_text("{% for m in messages %}<|im_start|>{{ m.role }} {{ m.content }}<|im_end|>{% endfor %}"
                       "{% for t in tools or [] %}{{ t.function.name }}(..)!{% endfor %}")
    result = chat(REPOSITORY / "checkpoints/demo", "--mcp", write_servers(scratch, "lamps.json"), "--chat-template",
                  strange, lines=["Hi"])
    check(result.returncode == 2 and "in an unknown form" in result.stderr, f"an unknown form: {result.stderr}")


def check_serve(scratch, model):
    with server("--mcp", write_servers(scratch, "lamps.json"), model=model) as process:
        api = client(process)
        answer = api.chat.completions.create(model="lamp", messages=user(SWITCH)).choices[0]
        check(answer.finish_reason == "stop" and AFTER in answer.message.content and not answer.message.tool_calls,
              f"the client sees the text: {answer}")
        check(calls_of(scratch) == ["kitchen True"], "the tool has run")
        none = api.chat.completions.create(model="lamp", messages=user(SWITCH), tool_choice="none").choices[0]
        check(none.message.content == "Hello there." and not calls_of(scratch), f"{none}")
        metrics = urllib.request.urlopen(process.url + "/metrics").read().decode()
        check('predgen_tool_calls_total{outcome="done"} 1' in metrics, "calls are counted")
    check("secret" not in process.log, "no result is logged")


def check_realtime(scratch, model):
    """A realtime conversation has them, too, if its key may use them."""
    if importlib.util.find_spec("websockets") is None:
        print("skipped: realtime conversations need websockets")
        return
    known, other = (hashlib.sha256(key.encode()).hexdigest() for key in ("known", "other"))
    with server("--mcp", write_servers(scratch, "lamps.json"), f"api_keys_sha256=[{known},{other}]",
                f"tools.api_keys_sha256=[{known}]", model=model) as process:
        for key, text in (("known", f"{BEFORE_CALL} {AFTER}"), ("other", "Hello there.")):
            with client(process, key).realtime.connect(model="lamp") as connection:
                connection.session.update(session={"type": "realtime", "predgen": {"events": ["tools"]}})
                connection.conversation.item.create(item={
                    "type": "message", "role": "user", "content": [{"type": "input_text", "text": SWITCH}]})
                connection.response.create()
                events = take_until(connection, "response.done")
            output = events[-1].response.output
            check([item.content[0].text for item in output] == [text], f"{key}: the client sees the text: {output}")
            states = [event.state for event in events if event.type == "predgen.tool_call"]
            check(states == (["running", "done"] if key == "known" else []), f"{key}: told what runs: {states}")
            check(calls_of(scratch) == (["kitchen True"] if key == "known" else []), f"{key}: the tool has run")
    check("secret" not in process.log, "no result is logged")


def check_example():
    """The home of examples/, over its own protocol."""
    import asyncio

    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    entry = json.loads((REPOSITORY / "examples/home.json").read_text())["mcpServers"]["home"]
    check(entry["args"] == ["examples/home.py"], f"{entry}")

    async def use():
        parameters = StdioServerParameters(command=sys.executable, args=entry["args"], cwd=str(REPOSITORY),
                                           env={**os.environ, "HOME_PORT": "0"})
        async with Client(stdio_client(parameters)) as home:
            names = {tool.name for tool in (await home.list_tools()).tools}
            await home.call_tool("set_light", {"room": "The kitchen", "on": True})
            await home.call_tool("add_to_shopping_list", {"item": "<milk>"})
            wrong = await home.call_tool("set_temperature", {"celsius": 90})
            state = json.loads((await home.call_tool("get_home", {})).content[0].text)
            return names, wrong.is_error, state

    names, is_error, state = asyncio.run(use())
    check(set(entry["tools"]) - {"*"} <= names, f"the file names its tools: {names}")
    check(is_error and state["lights_on"] == ["kitchen"] and state["shopping_list"] == ["<milk>"], f"{state}")
    spec = importlib.util.spec_from_file_location("home", REPOSITORY / "examples/home.py")
    home = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(home)
    home.shopping.append("<milk>")
    home.lights["bedroom"] = True
    check("&lt;milk>" in home.page().replace("&gt;", ">") and 'light on">bedroom' in home.page(), "its page shows it")


def main(scratch):
    check_example()
    model = make_tool_model(scratch / "lamp")
    check_mistakes(scratch, model)
    check_chat(scratch, model)
    check_failure(scratch, model)
    check_asking(scratch, model)
    check_early(scratch, model)
    check_serve(scratch, model)
    check_realtime(scratch, model)


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
