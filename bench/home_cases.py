"""Invented homes and requests for bench/home.py. Sentences, rooms and owners are its own, none of them those of
scripts/home_words.py: half of them for choosing, the other half for reporting.

A request is {"kind", "ask", "expected": {device: {attribute: value}}, "says"}: what has to change, and nothing else; `says`
are words of which the answer to a question must have one.
"""
import copy
import itertools
import random
import re

HALVES = ("choosing", "reporting")
ROOMS = (["Kitchen", "Den", "Main Bedroom", "Hallway", "Porch", "Playroom", "Utility Room", "Veranda"],
         ["Kitchen", "Lounge", "Back Bedroom", "Landing", "Shed", "Study", "Music Room", "Conservatory"])
OWNERS = (["Amara", "Bjarne", "Cosima", "Dario"], ["Esra", "Fergus", "Ginevra", "Hamid"])
THINGS = {"light": (["Floor Lamp", "Downlights", "Ceiling Light"], ["Table Lamp", "Wall Lights", "Ceiling Light"]),
          "switch": (["Dehumidifier", "Heated Towel Rail"], ["Slow Cooker", "Electric Blanket"]),
          "fan": (["Ceiling Fan"], ["Tower Fan"]), "cover": (["Roller Blind"], ["Drapes"]), "lock": (["Front Door"], ["Patio Door"]),
          "climate": (["Underfloor Heating"], ["Convector"]), "media_player": (["Hi-Fi"], ["Smart Speaker"]),
          "vacuum": (["Robot Cleaner"], ["Dusty"]), "sensor": (["Humidity Sensor"], ["Thermometer"])}
STATES = {"light": ["on", "off"], "switch": ["on", "off"], "fan": ["on", "off"], "cover": ["open", "closed"],
          "lock": ["locked", "unlocked"], "climate": ["heat"], "media_player": ["playing"], "vacuum": ["docked"],
          "sensor": ["17.5", "22.5", "41.0"]}
PLURALS = {"light": "lights"}
ABSENT = (["sewing machine", "wine cooler", "mirror ball"], ["leaf blower", "ice cream maker", "weather vane"])
TALK = (["How old is the universe?", "My day was awful.", "Say something in French."],
        ["What do penguins eat?", "I got promoted today!", "Recommend me a film."])
COLOURS = {"red": [255, 0, 0], "blue": [0, 0, 255], "lime": [0, 255, 0]}
# What is done: sentences of each half.
ASK = {
    "on": (["Turn the {thing} on, would you?", "Can I have the {thing} on?", "Please enable the {thing}."],
           ["Could you turn on the {thing}?", "The {thing} should be on.", "Put the {thing} on."]),
    "off": (["Turn the {thing} off now.", "I no longer want the {thing} on.", "Please disable the {thing}."],
            ["Could you turn off the {thing}?", "The {thing} should be off.", "Take the {thing} off, we are leaving."]),
    "open": (["Would you open the {thing}?"], ["Open up the {thing} for me."]),
    "closed": (["Would you close the {thing}?"], ["Close up the {thing} for me."]),
    "locked": (["I want the {thing} locked."], ["Please lock the {thing}."]),
    "unlocked": (["I want the {thing} unlocked."], ["Please unlock the {thing}."]),
    "brightness": (["Bring the {thing} to {n} percent."], ["Adjust the {thing} to {n} percent brightness."]),
    "colour": (["Switch the {thing} to {colour}."], ["The {thing} in {colour}, please."]),
    "speed": (["Let the {thing} run at {n} percent."], ["Adjust the {thing} to {n} percent."]),
    "position": (["Get the {thing} to {n} percent."], ["Adjust the {thing} to {n} percent."]),
    "warmth": (["I would like {n} degrees from the {thing}."], ["Adjust the {thing} to {n} degrees."]),
    "pause": (["Can you pause the {thing}?"], ["Make a pause on the {thing}."]),
    "volume": (["Turn the {thing} to {n} percent volume."], ["Adjust the volume of the {thing} to {n} percent."]),
    "clean": (["Get the {thing} to clean up."], ["Please start the {thing}."]),
    "question": (["Tell me whether the {thing} is {state}."], ["Can you check if the {thing} is {state}?"]),
    "reading": (["Read me the {thing}."], ["What is on the {thing} right now?"]),
}
# How often each kind comes, of 20.
KINDS = ["on"] * 3 + ["off"] * 3 + ["room"] * 3 + ["level"] * 3 + ["other"] * 3 + ["two", "question", "reading", "absent", "talk"]


def invent(draw, half):
    """A home of ten to fifteen devices; names are unique."""
    rooms, home = draw.sample(ROOMS[half], 4), {}
    home["rooms"], devices = rooms, {}
    for domain, things in THINGS.items():
        for _ in range(4 if domain == "light" else draw.randint(1, 2)):
            room, thing = draw.choice(rooms), draw.choice(things[half])
            name = draw.choice([f"{room} {thing}", f"{room} {thing}", f"{draw.choice(OWNERS[half])}'s {thing}", thing])
            devices.setdefault(name, {"name": name, "domain": domain, "area": room, "state": draw.choice(STATES[domain])})
    return home | {"devices": list(devices.values())}


def said(device):
    return device["name"] if "'s " in device["name"] else device["name"].lower()


def pick(draw, home, *domains):
    return draw.choice([one for one in home["devices"] if one["domain"] in domains])


def switched(draw, home, half, kind):
    device = pick(draw, home, "light", "switch", "fan")
    device["state"] = "off" if kind == "on" else "on"
    return device, ask(draw, kind, half, device), {"state": kind}


def ask(draw, kind, half, device, **more):
    owned = re.compile(f"the {device['name']}", re.IGNORECASE)
    text = draw.choice(ASK[kind][half]).format(thing=said(device), **more)
    return owned.sub(device["name"], text) if "'s " in device["name"] else text


def change(draw, home, half, kind):
    """A device, what is asked and what it then is."""
    if kind in ("on", "off"):
        return switched(draw, home, half, kind)
    n = draw.choice([20, 40, 60, 80])
    if kind == "level":
        device = pick(draw, home, "light", "light", "fan", "cover", "media_player")
        if device["domain"] == "light" and draw.random() < 0.4:
            colour = draw.choice(list(COLOURS))
            return device, ask(draw, "colour", half, device, colour=colour), {"state": "on", "rgb_color": COLOURS[colour]}
        how, expected = {"light": ("brightness", {"state": "on", "brightness": round(n * 2.55)}), "fan": ("speed", {"percentage": n}),
                         "cover": ("position", {"current_position": n}), "media_player": ("volume", {"volume_level": n / 100})}[device["domain"]]
        return device, ask(draw, how, half, device, n=n), expected
    device = pick(draw, home, "cover", "lock", "climate", "media_player", "vacuum")
    if device["domain"] in ("cover", "lock"):
        a, b = STATES[device["domain"]]
        wanted = draw.choice([a, b])
        device["state"] = b if wanted == a else a
        return device, ask(draw, wanted, half, device), {"state": wanted}
    n = draw.randint(20, 24)
    how, expected = {"climate": ("warmth", {"temperature": n}), "media_player": ("pause", {"state": "paused"}),
                     "vacuum": ("clean", {"state": "cleaning"})}[device["domain"]]
    return device, ask(draw, how, half, device, n=n), expected


def request(draw, home, half, kind):
    if kind == "talk":
        return {"ask": draw.choice(TALK[half]), "expected": {}}
    if kind == "absent":
        return {"ask": draw.choice(ASK["on"][half]).format(thing=draw.choice(ABSENT[half])), "expected": {}}
    if kind == "question":
        device = pick(draw, home, "light", "switch", "cover", "lock")
        return {"ask": ask(draw, "question", half, device, state=draw.choice(STATES[device["domain"]])), "expected": {}, "says": [device["state"]]}
    if kind == "reading":
        device = pick(draw, home, "sensor")
        return {"ask": ask(draw, "reading", half, device), "expected": {}, "says": [device["state"], device["state"].removesuffix(".0")]}
    if kind == "room":
        state, room = draw.choice(["on", "off"]), pick(draw, home, "light")["area"]
        lights = [one for one in home["devices"] if one["domain"] == "light" and one["area"] == room]
        for light in lights:
            light["state"] = "off" if state == "on" else "on"
        return {"ask": draw.choice(ASK[state][half]).format(thing=f"lights in the {room.lower()}").replace(" is ", " are "),
                "expected": {one["name"]: {"state": state} for one in lights}}
    if kind == "two":
        first, second = change(draw, home, half, "on"), change(draw, home, half, "other")
        if first[0]["name"] == second[0]["name"]:
            return None
        return {"ask": f"{first[1].rstrip('?.')} and {second[1][:1].lower()}{second[1][1:]}",
                "expected": {one[0]["name"]: one[2] for one in (first, second)}}
    device, text, expected = change(draw, home, half, kind)
    return {"ask": text, "expected": {device["name"]: expected}}


def homes(half, count, seed=0):
    """`count` requests of a half ("choosing" or "reporting"), ten to a home: pairs of a home and of its requests, each with
    the devices in the states that it begins with."""
    at = HALVES.index(half)
    for first in range(0, count, 10):
        home, requests = invent(random.Random(f"{half} {seed} {first}"), at), []
        for number in range(first, min(first + 10, count)):
            kind, one = KINDS[number * 7 % len(KINDS)], None
            for attempt in itertools.count():
                now = copy.deepcopy(home)
                one = request(random.Random(f"{half} {seed} {number} {attempt}"), now, at, kind)
                if one:
                    break
            requests.append((now["devices"], {"kind": kind, **one}))
        yield home, requests
