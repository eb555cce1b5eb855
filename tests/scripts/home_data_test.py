"""scripts/home_data.py: the same file each time, calls that `jsonschema` takes, names of the home alone, and no
request of a given evaluation. Planted faults stop it."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "home_data.py"
sys.path[:0] = [str(SCRIPT.parent), str(ROOT / "tests/cli")]
sys.dont_write_bytecode = True

import home_data  # noqa: E402
import other_clients  # noqa: E402

folder = Path(tempfile.mkdtemp())


def check(is_right, what):
    if not is_right:
        sys.exit(f"FAILED: {what}")


def make(*arguments):
    file = folder / "homes.jsonl"
    run = subprocess.run([sys.executable, SCRIPT, "--output", file, *map(str, arguments)], capture_output=True, text=True)
    check(run.returncode == 0, run.stderr)
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


rows = make("--homes", 60)
check(rows == make("--homes", 60), "the same homes")
check(rows != make("--homes", 60, "--seed", 1), "other homes by another seed")

# Half of these requests follow the sentences of Home Assistant's own intents.
of_sentences = make("--homes", 60, "--seed", 2, "--sentences", other_clients.FOLDER)
check(of_sentences == make("--homes", 60, "--seed", 2, "--sentences", other_clients.FOLDER), "the same homes with sentences")
check(of_sentences != make("--homes", 60, "--seed", 2), "sentences make a difference")

kinds = {"calls": 0, "pairs": 0, "silent": 0}
for row in rows + of_sentences:
    messages, tools = row["messages"], row["tools"]
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    for message in messages[1:]:
        for call in message.get("tool_calls", []):
            function = call["function"]
            schema = schemas[function["name"]]
            jsonschema.validate(function["arguments"], {**schema, "additionalProperties": False})
            in_order = [name for name in schema["properties"] if name in function["arguments"]]
            check(list(function["arguments"]) == in_order, f"in the schema's order: {function}")
            check("name" not in function["arguments"] or "area" not in function["arguments"], f"one way to say which: {function}")
            for key in ("name", "area"):
                check(function["arguments"].get(key, "") in messages[0]["content"], f"a name of the home: {function}")
        kinds["calls"] += len(message.get("tool_calls", []))
        kinds["pairs"] += len(message.get("tool_calls", [])) == 2
        kinds["silent"] += message["role"] == "assistant" and "tool_calls" not in message
check(all(count > 20 for count in kinds.values()), f"some of each kind: {kinds}")

asks = {one["content"] for row in rows for one in row["messages"][1:] if one["role"] == "user"}
known = next(ask for ask in sorted(asks) if ask.startswith("Turn on"))
(folder / "evaluation.yaml").write_text(f'- sentences:\n  - "{known.upper()}!"\n')
left = {one["content"] for row in make("--homes", 60, "--not-in", folder / "evaluation.yaml") for one in row["messages"]}
check(known not in left and len(left & asks) > 100, f"an evaluation's request is left out: {known}")

# What is meant is there: every template, drawn until it fits, says the device or the area that its call names.
sentences = home_data.Sentences(other_clients.FOLDER)
unused = set(sentences.entries)
for number in range(400):
    home = home_data.Home(home_data.random.Random(f"fit {number}"), {}, sentences=sentences)
    drawn = sentences.draw(home, ["soap"], lambda home, device: device["name"])
    if drawn is None:
        continue
    text, function, arguments, devices = drawn
    unused.discard({"GetLiveContext": "HassGetState"}.get(function, function))
    if "name" in arguments:
        check(arguments["name"] in text or len([one for one in home.devices if one["domain"] == devices[0]["domain"]]) == 1
              or devices == [one for one in home.devices if one["area"] == devices[0]["area"] and one["domain"] == devices[0]["domain"]],
              f"{text!r} names {arguments}")
    if "area" in arguments:
        check(arguments["area"].lower() in text.lower() or arguments["area"] == home.here, f"{text!r} is in {arguments}")
        check(devices and all(one["area"] == arguments["area"] and one["domain"] in arguments["domain"] for one in devices), f"{drawn}")
    for value in arguments.values():
        check(not isinstance(value, int) or str(value) in text or value in (1, 100), f"{text!r} has {value}")
check(unused <= {"HassClimateGetTemperature", "HassStartTimer"}, f"every intent comes: {unused}")

# A request as a client sends it, in responses: its functions, and in half of the homes its instructions.
known = {home_data.name_of(tool): tool["function"] for tool in sum(home_data.TOOLS.values(), [])}
sent = {"tools": [{"type": "function", **known[name]} for name in ("HassTurnOn", "HassTurnOff", "HassLightSet")],
        "input": [{"role": "developer", "content": f"As it is sent.\n\n{home_data.CONTEXT}\n- names: Another Lamp\n"}]}
(folder / "request.json").write_text(json.dumps(sent))
given = make("--homes", 30, "--tools", folder / "request.json")
systems = [row["messages"][0]["content"] for row in given]
check(5 < sum(one.startswith(f"As it is sent.\n\n{home_data.CONTEXT}\n- names: ") for one in systems) < 25, "its instructions in half")
check(not any("Another Lamp" in one for one in systems), "and not its home")
check({home_data.name_of(tool) for row in given for tool in row["tools"]} <= set(known) & {"HassTurnOn", "HassTurnOff", "HassLightSet"},
      "nor other functions")

# Planted faults: an argument out of range, one that is unknown, and a device that there is not.
home = home_data.Home(home_data.random.Random("0 0"), {})
for arguments in ({"name": home.devices[0]["name"], "brightness": 101}, {"name": "Nobody's Lamp"}, {"name": 3}):
    try:
        home_data.call(home, "HassLightSet", arguments)
        check(False, f"{arguments} is refused")
    except SystemExit as stop:
        check("home_data:" in str(stop), f"{stop}")
print(f"ok: {kinds}")
