#!/usr/bin/env python3
"""Makes conversations with the assistants of invented homes, to teach a small model the calls of Home Assistant's
functions: commands, several devices, questions about states, devices that do not exist, ambiguous requests, failures,
and small talk that is no command.

usage: home_data.py --output FILE [--homes 1000] [--seed 0] [--tools FILE] [--sentences DIR] [--not-in FILE..]

  --tools FILE      a request as your Home Assistant sends it to a server (the body, or its field `tools` alone): those
                    of its functions that are named below, and in half of the homes what its system message says before
                    the list of devices. Without it: functions with the same arguments, and instructions of our own
  --sentences DIR   a half of the requests follow the sentence templates of Home Assistant's own intents; DIR is where pip has
                    installed hassil and home-assistant-intents (scripts/train_home.sh does it)
  --not-in FILE..   no request is a line of these files (evaluations, say), or a text quoted in them, but for case and marks

A row is {"conversation_id": .., "tools": [..], "messages": [..]}, as OpenAI has them: a home with 18 to 26 requests, each of
which stands alone, so that the long prompt is paid once. Most calls are followed by the next request, a quarter by what the function says and the answer.
Each call is checked against its function's schema and the home. The same arguments give the same file.
"""
import argparse
import json
import random
import re
import sys
from pathlib import Path

import home_words as words
from home_sentences import Sentences
from home_tools import CLOCK, CONTEXT, LOOKS, TIMER, TOOLS, check, given_by, name_of


class Home:
    """Devices as dictionaries of name, aliases, domain, area (or None) and state."""

    def __init__(self, draw, given_tools, given_head="", sentences=None):
        self.draw, self.sentences = draw, sentences
        self.rooms = draw.sample(words.ROOMS, draw.randint(2, 6))
        self.devices, taken = [], set()
        domains = ["light"] + draw.sample([one for one in words.THINGS if one != "light"], draw.randint(2, 7))
        for _ in range(draw.randint(5, 13) if draw.random() < 0.85 else draw.randint(14, 28)):
            domain = draw.choice(domains + ["light"])
            area = draw.choice(self.rooms) if draw.random() < 0.9 else None
            thing = draw.choice(words.THINGS[domain])
            kind = draw.random()
            owner = f"{draw.choice(words.PEOPLE)}'s "
            name = owner + thing if kind < 0.2 or not area else f"{area} {thing}" if kind < 0.8 else thing
            if name.lower() in taken:
                continue
            taken.add(name.lower())
            alias = owner + thing if draw.random() < 0.1 else ""
            aliases = [alias] if alias and alias.lower() not in taken else []
            taken.update(one.lower() for one in aliases)
            self.devices.append({"name": name, "aliases": aliases, "domain": domain, "area": area,
                                 "state": draw.choice(words.STATES[domain])})
        if draw.random() < 0.5:
            self.devices.sort(key=lambda device: device["name"])
        self.has_timers = draw.random() < 0.5
        self.head = given_head if draw.random() < 0.5 else ""
        self.here = draw.choice(self.rooms) if not self.head and draw.random() < 0.4 else None  # the room of who speaks
        there = {device["domain"] for device in self.devices}
        self.tools = [tool for domain, some in TOOLS.items() if domain is None or domain in there for tool in some]
        self.tools += [TIMER] * self.has_timers + [CLOCK] * (draw.random() < 0.5) + [draw.choice(LOOKS)]
        if given_tools:
            self.tools = [given_tools[name] for name in map(name_of, self.tools) if name in given_tools]
        self.names = {name_of(tool) for tool in self.tools}

    def yaml(self, with_state=False, devices=None):
        def scalar(text):
            return f"'{text}'" if re.fullmatch(r"[\d.]+|on|off|yes|no", text) else text
        lines = []
        for device in devices or self.devices:
            lines += [f"- names: {', '.join([device['name'], *device['aliases']])}", f"  domain: {device['domain']}"]
            lines += [f"  state: {scalar(device['state'])}"] if with_state else []
            lines += [f"  areas: {device['area']}"] if device["area"] else []
        return "\n".join(lines)

    def prompt(self):
        if self.head:
            return f"{self.head}{CONTEXT}\n{self.yaml()}\n"
        rules = [rule for rule in words.RULES if self.draw.random() < 0.6]
        if self.here:
            rules.append(f"You are in area {self.here} and all generic commands like 'turn on the lights' should target this area.")
        if not self.has_timers:
            rules.append("This device is not able to start timers.")
        head = (" " if self.draw.random() < 0.5 else "\n").join([self.draw.choice(words.MANNERS), *rules])
        return f"{head}\n{self.draw.choice(['', chr(10)])}{CONTEXT}\n{self.yaml()}\n"


def action_of(draw, device):
    """What can be done with it: the kind of a request, a function, its further arguments, and words for the templates."""
    n = draw.randrange(5, 100, 5)
    colour, item, warm = draw.choice(words.COLOURS), draw.choice(words.ITEMS), draw.randint(16, 25)
    switched = [("on", "HassTurnOn", {}, {}), ("off", "HassTurnOff", {}, {})]
    return draw.choice({
        "light": switched * 2 + [("lit", "HassTurnOn", {}, {}), ("unlit", "HassTurnOff", {}, {}),
                                 ("brightness", "HassLightSet", {"brightness": n}, {"n": n}),
                                 ("colour", "HassLightSet", {"color": colour}, {"colour": colour})],
        "switch": switched,
        "fan": switched + [("speed", "HassFanSetSpeed", {"percentage": n}, {"n": n})],
        "cover": [("open", "HassTurnOn", {}, {}), ("close", "HassTurnOff", {}, {}),
                  ("position", "HassSetPosition", {"position": n}, {"n": n})],
        "lock": [("lock", "HassTurnOn", {}, {}), ("unlock", "HassTurnOff", {}, {})],
        "climate": [("warmth", "HassClimateSetTemperature", {"temperature": warm}, {"n": warm})],
        "media_player": [("pause", "HassMediaPause", {}, {}), ("resume", "HassMediaUnpause", {}, {}),
                         ("volume", "HassSetVolume", {"volume_level": n}, {"n": n})],
        "vacuum": [("clean", "HassVacuumStart", {}, {}), ("dock", "HassVacuumReturnToBase", {}, {})],
        "todo": [("add", "HassListAddItem", {"item": item}, {"item": item})],
    }.get(device["domain"], [None]))


def call(home, function_name, arguments):
    tool = next(tool for tool in home.tools if name_of(tool) == function_name)
    schema = tool["function"]["parameters"]
    # In the schema's order, as a server that holds calls to it has them written.
    arguments = {key: arguments[key] for key in schema["properties"] if key in arguments}
    check(arguments, schema, function_name)
    known = {name for device in home.devices for name in [device["name"], *device["aliases"]]} | set(home.rooms)
    for key in ("name", "area"):
        if arguments.get(key, next(iter(known))) not in known:
            sys.exit(f"home_data: {function_name}: {arguments[key]} is not in the home")
    return {"type": "function", "function": {"name": function_name, "arguments": arguments}}


def said(home, device):
    """A device as somebody says it."""
    draw = home.draw
    name, area = draw.choice([device["name"], *device["aliases"]]), device["area"]
    others = {one["name"] for one in home.devices}
    if area and name.startswith(area + " ") and name[len(area) + 1:] not in others and draw.random() < 0.25:
        return f"the {name[len(area) + 1:].lower()} in the {area.lower()}"
    if draw.random() < 0.7:
        name = name if "'s " in name and draw.random() < 0.5 else name.lower()
    return name if "'s " in name or draw.random() < 0.15 else f"the {name}"


def slug(name):
    return re.sub(r"\W+", "_", name.lower())


def result(devices, why="", area=""):
    if why:
        return json.dumps({"error": "MatchFailedError", "error_text": why})
    found = [{"name": device["name"], "type": "entity", "id": f"{device['domain']}.{slug(device['name'])}"} for device in devices]
    if area:
        found.insert(0, {"name": area, "type": "area", "id": slug(area)})
    return json.dumps({"speech": {}, "response_type": "action_done", "data": {"targets": [], "success": found, "failed": []}})


def spoken(text):
    return text[:1].upper() + text[1:]


def asked(draw, text):
    """A request as a recogniser or somebody who types has it."""
    around = draw.choice(words.AROUND)
    text = spoken(around.format(ask=spoken(text) if around.startswith("{") else text[:1].lower() + text[1:]))
    return text.lower().rstrip(".?!") if draw.random() < 0.25 else text


def exchange(home):
    """A request and what follows until the assistant's last word; None: this home has nothing for it."""
    draw = home.draw
    if home.sentences and draw.random() < 0.5:
        return exchange_of_sentences(home)
    kind = draw.choices(["device", "area", "here", "two", "state", "absent", "which", "timer", "talk"],
                        [10, 4, 2, 1.5, 3, 3, 0.7, 0.7, 2])[0]
    if kind == "talk":
        return [list(draw.choice(words.TALK))]
    if kind == "absent":
        known = " ".join(one.lower() for device in home.devices for one in [device["name"], *device["aliases"]])
        domain = draw.choice(["light", "switch", "fan", "cover", "media_player"])
        thing, room = draw.choice(words.ABSENT + words.THINGS[domain]), draw.choice(words.ROOMS)
        if draw.random() < 0.5 and room not in home.rooms:
            thing = draw.choice([f"{room} {thing}", f"{thing} in the {room}"])
        elif thing.split()[-1].lower() in known:
            return None
        ask = draw.choice(words.ASK[draw.choice(["on", "off"])] + ["Is {thing} on?"])
        return [[asked(draw, ask.format(thing=f"the {thing.lower()}")), draw.choice(words.NO_SUCH).format(thing=thing.lower())]]
    if kind == "timer":
        n = draw.randint(2, 55)
        ask = draw.choice(words.ASK["timer"]).format(n=n)
        if not home.has_timers or "HassStartTimer" not in home.names:
            return [[ask, "I have no timers here, sorry."]]
        return [[ask, [call(home, "HassStartTimer", {"minutes": n})]], [[result([])], words.DONE["timer"].format(n=n)]]
    if kind == "area":
        return area_exchange(home, draw.choice(home.rooms))
    if kind == "here":
        return area_exchange(home, home.here, is_here=True) if home.here else None
    device = draw.choice(home.devices)
    if kind == "which":
        same = [one for one in home.devices if one["domain"] == device["domain"] and one["name"].split()[-1] == device["name"].split()[-1]]
        action = action_of(draw, device)
        if len(same) < 2 or not action:
            return None
        thing = f"the {device['name'].split()[-1].lower()}"
        ask = draw.choice(words.ASK[action[0]]).format(thing=thing, **action[3])
        return [[asked(draw, ask), draw.choice(words.WHICH).format(names=", ".join(one["name"] for one in same))]]
    if kind == "state":
        if "GetLiveContext" not in home.names:
            return None
        thing = said(home, device)
        ask = draw.choice(words.ASK_STATE[device["domain"]]).format(thing=thing)
        return looked_up(home, asked(draw, ask), device, thing)
    return device_exchange(home, draw.sample(home.devices, 2) if kind == "two" else [device])


def looked_up(home, ask, device, thing):
    """The answer to a question about a device's state."""
    state = words.STATE_WORDS.get((device["domain"], device["state"]), device["state"])
    looks = call(home, "GetLiveContext", {"name": device["name"]})
    result_text = json.dumps({"success": True, "result": "Live Context: An overview of the areas and the devices in this smart home:\n"
                              + home.yaml(with_state=True, devices=[device] if looks["function"]["arguments"] else None) + "\n"})
    says = f"{thing} has {state} things." if device["domain"] == "todo" else f"{thing} says {state}." \
        if device["domain"] == "sensor" else f"{thing} is {state}."
    return [[ask, [looks]], [[result_text], spoken(says)]]


def exchange_of_sentences(home):
    drawn = home.sentences.draw(home, words.ITEMS, said)
    if drawn is None:
        return None
    text, name, arguments, devices = drawn
    ask = asked(home.draw, text + home.draw.choice(["", "."]))
    if name == "GetLiveContext" and len(devices) == 1:
        return looked_up(home, ask, devices[0], said(home, devices[0]))
    calls = [[ask, [call(home, name, arguments)]]]
    if name == "GetLiveContext" or len(devices) != 1:
        return calls
    kind = words.KIND_OF.get((name, devices[0]["domain"])) or words.KIND_OF.get(name)
    values = {"n": next((one for one in arguments.values() if isinstance(one, int)), None), "colour": arguments.get("color"),
              "item": arguments.get("item")}
    kind = "colour" if values["colour"] else kind
    return calls if kind is None else calls + [[[result(devices)], spoken(words.DONE[kind].format(thing=said(home, devices[0]), **values))]]


def device_exchange(home, devices):
    draw, asks, calls, says = home.draw, [], [], []
    for device in devices:
        action = action_of(draw, device)
        if not action or action[1] not in home.names:
            return None
        kind, name, arguments, more = action
        thing = said(home, device)
        asks.append(draw.choice(words.ASK[kind]).format(thing=thing, **more))
        calls.append(call(home, name, {"name": device["name"], **arguments}))
        says.append(spoken(words.DONE[kind].format(thing=thing, **more)))
    ask = asks[0] if len(asks) == 1 else f"{asks[0].rstrip('.?!')} and {asks[1][:1].lower()}{asks[1][1:]}"
    why = "the device does not answer" if draw.random() < 0.08 else ""
    results = [result([device], why) for device in devices]
    answer = draw.choice(words.FAILED).format(why=why) if why else " ".join(says)
    return [[asked(draw, ask), calls], [results, answer]]


def area_exchange(home, area, is_here=False):
    draw = home.draw
    domains = sorted({device["domain"] for device in home.devices if device["area"] == area and device["domain"] in words.PLURALS})
    if not domains:
        return None
    domain, lower = draw.choice(domains), area.lower() if area.isascii() else area
    action = action_of(draw, {"domain": domain})
    if action[1] not in home.names:
        return None
    several = words.PLURALS[domain]
    thing = draw.choice([f"the {several}", several, f"all {several}", f"the {several} here"] if is_here else
                        [f"the {several} in the {lower}", f"the {lower} {several}", f"all {several} in the {lower}",
                         f"every {several[:-1]} in the {lower}", f"{lower} {several}"])
    ask = draw.choice(words.ASK[action[0]]).format(thing=thing, **action[3])
    ask = ask if "every" in thing else ask.replace(f"{thing} is ", f"{thing} are ")
    says = words.DONE[action[0]].format(thing=thing, **action[3])
    for one, more in () if "every" in thing else ((" is ", " are "), (" opens", " open"), (" closes", " close"), (" moves", " move"), (" runs", " run")):
        says = says.replace(one, more)
    devices = [one for one in home.devices if one["area"] == area and one["domain"] == domain]
    calls = [call(home, action[1], {"area": area, "domain": [domain], **action[2]})]
    return [[asked(draw, ask), calls], [[result(devices, area=area)], spoken(says)]]


def bare(text):
    return " ".join(re.findall(r"\w+", text.casefold()))


def known_requests(files):
    known = set()
    for file in files:
        for line in Path(file).read_text(encoding="utf-8").splitlines():
            quoted = [part for pair in re.findall(r'"((?:[^"\\]|\\.)*)"|\'([^\']*)\'', line) for part in pair]
            known.update(map(bare, [line, line.split(":", 1)[-1], *quoted]))
    return known - {""}


def conversation(home, number, forbidden, counts):
    messages, left = [{"role": "system", "content": home.prompt()}], home.draw.randint(18, 26)
    while left:
        turns = exchange(home)
        if turns is None:
            continue
        if bare(turns[0][0]) in forbidden:
            counts["left out"] += 1
            continue
        left -= 1
        if len(turns) > 1 and home.draw.random() < 0.75:
            turns = turns[:1]
        counts["requests"] += 1
        for i, (ask, answer) in enumerate(turns):
            messages += [{"role": "tool", "content": one} for one in ask] if i else [{"role": "user", "content": ask}]
            is_call = isinstance(answer, list)
            messages.append({"role": "assistant", "content": "" if is_call else answer} | ({"tool_calls": answer} if is_call else {}))
            counts["calls"] += is_call and len(answer)
    return {"conversation_id": f"home-{number}", "tools": home.tools, "messages": messages}


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--homes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--sentences", type=Path)
    parser.add_argument("--not-in", nargs="*", default=[])
    if {"-h", "--help"} & set(sys.argv):
        sys.exit(print(__doc__))
    options = parser.parse_args()
    given = given_by(json.loads(options.tools.read_text(encoding="utf-8"))) if options.tools else ({},)
    sentences = Sentences(options.sentences) if options.sentences else None
    forbidden, counts = known_requests(options.not_in), {"requests": 0, "calls": 0, "left out": 0}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", encoding="utf-8") as file:
        for number in range(options.homes):
            home = Home(random.Random(f"{options.seed} {number}"), *given, sentences=sentences)
            file.write(json.dumps(conversation(home, number, forbidden, counts), ensure_ascii=False) + "\n")
    print(f"home_data: {options.homes} homes in {options.output}: {counts['requests']} requests, {counts['calls']} calls, each as its "
          f"function's schema says; {counts['left out']} left out for --not-in")


if __name__ == "__main__":
    main()
