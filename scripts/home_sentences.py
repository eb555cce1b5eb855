"""Requests drawn from the sentence templates of Home Assistant's own intents, for home_data.py: English, from PyPI's
home-assistant-intents (CC BY 4.0), read by hassil.

A request fits the home that it is drawn for: its device, room and numbers are the home's. Templates whose words cannot be
found in such a home (floors, zones, people, device classes of sensors) are left out.
"""
import json
import re
import sys

# What a template's list stands for: values, and the argument that holds them. {name} and {area} are the home's own.
NUMBERS = {"brightness": range(5, 101, 5), "position": range(5, 101, 5), "volume": range(5, 101, 5), "temperature": range(16, 26),
           "timer_minutes": range(2, 59)}
COLOURS = ["white", "red", "orange", "yellow", "green", "blue", "purple", "pink", "turquoise"]
CLASSES = {"blind": "blinds", "shutter": "shutters", "curtain": "curtains", "awning": "awnings", "shade": "shades", "gate": "gates"}
ASKED_STATES = {"on_off_states": ["on", "off"], "cover_states": ["open", "closed"], "lock_states": ["locked", "unlocked"]}
ASKED_DOMAINS = {"lights": "light", "fans": "fan", "switches": "switch"}
# Of what a function is meant that says no domain, and which devices a name may be where the template says none.
OF = {"HassLightSet": "light", "HassSetVolume": "media_player", "HassMediaPause": "media_player", "HassMediaUnpause": "media_player",
      "HassMediaNext": "media_player", "HassMediaPrevious": "media_player", "HassClimateSetTemperature": "climate",
      "HassVacuumStart": "vacuum", "HassVacuumReturnToBase": "vacuum", "HassListAddItem": "todo", "HassSetPosition": "cover"}
SWITCHED = {"light", "switch", "fan", "media_player"}
DOMAINS = {*SWITCHED, "cover", "lock", "climate", "vacuum", "todo"}
# How often each intent comes.
WEIGHTS = {"HassTurnOn": 6, "HassTurnOff": 6, "HassLightSet": 4, "HassGetState": 4, "HassClimateSetTemperature": 2, "HassSetVolume": 2,
           "HassSetPosition": 2, "HassMediaPause": 1, "HassMediaUnpause": 1, "HassMediaNext": 1, "HassMediaPrevious": 1, "HassVacuumStart": 1,
           "HassVacuumReturnToBase": 1, "HassListAddItem": 2, "HassStartTimer": 1, "HassClimateGetTemperature": 1}
LOOKS = {"HassGetState": "GetLiveContext", "HassClimateGetTemperature": "GetLiveContext"}


class DoesNotFit(Exception):
    """What is drawn is nothing that this home has."""


class Sentences:
    """The templates below `folder`, into which both packages were installed."""

    def __init__(self, folder):
        sys.path.insert(0, str(folder))
        from hassil import expression, parse_sentence
        self.kinds, self.parse = expression, parse_sentence
        given = json.loads((folder / "home_assistant_intents/data/en.json").read_text(encoding="utf-8"))
        self.rules = {name: parse_sentence(body) for name, body in given["expansion_rules"].items()}
        self.entries = {name: [self.read(entry) for entry in given["intents"][name]["data"] if fits(entry)] for name in WEIGHTS}

    def read(self, entry):
        return entry | {"sentences": [self.parse(one) for one in entry["sentences"]],
                        "rules": {name: self.parse(body) for name, body in entry.get("expansion_rules", {}).items()}}

    def draw(self, home, items, said):
        """(request, function, arguments, the devices that are meant) for a home of home_data.py; None where what was drawn does
        not fit it. `items` are things for a list; said(home, device) is a device as somebody says it."""
        names = [name for name in WEIGHTS if LOOKS.get(name, name) in home.names and self.entries[name]]
        intent = home.draw.choices(names, [WEIGHTS[name] for name in names])[0]
        try:
            return Request(self, home, intent, home.draw.choice(self.entries[intent]), items, said).result()
        except DoesNotFit:
            return None


def fits(entry):
    """Whether the homes of home_data.py have what the template speaks of."""
    needs, slots = entry.get("requires_context", {}), entry.get("slots", {})
    domains = {one["domain"] for one in (needs, slots) if isinstance(one.get("domain"), str)}
    words = " ".join(entry["sentences"]).replace("area_floor>", "")
    return domains <= DOMAINS and "device_class" not in needs | slots and not re.search(r"floor>|{zone|_half|{timer_(name|command)|bs_|lockable", words)


class Request:
    """One sentence of one template, word by word."""

    def __init__(self, sentences, home, intent, entry, items, said):
        self.of, self.home, self.intent, self.entry, self.items, self.said = sentences, home, intent, entry, items, said
        self.draw, self.slots, self.device = home.draw, {}, None

    def result(self):
        needs = self.entry.get("requires_context", {})
        domain = needs.get("domain") or self.entry.get("slots", {}).get("domain") or OF.get(self.intent)
        self.domains = {domain} if isinstance(domain, str) else set(domain or SWITCHED)
        text = " ".join(self.walk(self.draw.choice(self.entry["sentences"])).split())
        if needs.get("area"):
            self.slots["area"] = self.home.here or self.give_up()
        return (text, *self.call())

    def give_up(self):
        raise DoesNotFit

    def walk(self, one):
        kinds = self.of.kinds
        if isinstance(one, kinds.TextChunk):
            return one.text
        if isinstance(one, kinds.ListReference):
            return self.fill(one.list_name, one.slot_name)
        if isinstance(one, kinds.RuleReference):
            rule = self.entry["rules"].get(one.rule_name) or self.of.rules[one.rule_name]
            if one.rule_name == "area_floor":  # homes have no floors
                rule = self.of.rules["area"]
            return self.walk(rule)
        if one.type == kinds.SequenceType.ALTERNATIVE:
            return self.walk(self.draw.choice(one.items))
        return "".join(map(self.walk, one.items))

    def fill(self, name, slot):
        if name == "name":
            known = [one for one in self.home.devices if one["domain"] in self.domains]
            if "excludes_context" in self.entry:
                known = [one for one in known if one["domain"] not in self.entry["excludes_context"]["domain"]]
            self.device = self.draw.choice(known) if known else self.give_up()
            return re.sub("^the ", "", self.said(self.home, self.device))
        if name == "area":
            self.slots["area"] = self.device["area"] if self.device else self.draw.choice(self.home.rooms)
            area = self.slots["area"] or self.give_up()
            return area.lower() if area.isascii() else area
        if name in NUMBERS:
            value = self.slots[slot] = self.draw.choice(NUMBERS[name])
            return str(value)
        if name == "brightness_level":
            word, self.slots["brightness"] = self.draw.choice([("maximum", 100), ("minimum", 1), ("max", 100), ("highest", 100), ("lowest", 1)])
            return word
        if name == "color":
            self.slots["color"] = self.draw.choice(COLOURS)
            return self.slots["color"]
        if name == "cover_classes":
            self.slots["device_class"] = self.draw.choice(list(CLASSES))
            return CLASSES[self.slots["device_class"]]
        if name == "on_off_domains":
            word = self.draw.choice(list(ASKED_DOMAINS))
            self.slots["domain"] = ASKED_DOMAINS[word]
            return word
        if name in ASKED_STATES:
            return self.draw.choice(ASKED_STATES[name])
        if name == "shopping_list_item":
            self.slots["item"] = self.draw.choice(self.items)
            return self.slots["item"]
        return self.give_up()

    def call(self):
        """The function, its arguments, and the devices that are meant."""
        if self.device and self.slots.get("area", self.device["area"]) != self.device["area"]:
            self.give_up()
        function = LOOKS.get(self.intent, self.intent)
        values = {key: value for key, value in self.slots.items() if key not in ("area", "device_class", "domain", "state")}
        if function == "GetLiveContext":
            return function, {"name": self.device["name"]} if self.device else {}, [self.device] if self.device else self.home.devices
        if self.device:
            return function, {"name": self.device["name"], **values}, [self.device]
        if self.intent == "HassStartTimer":
            return function, values, []
        domain = self.entry.get("slots", {}).get("domain") or OF.get(self.intent) or self.give_up()
        there = [one for one in self.home.devices if one["domain"] == domain and one["area"] == self.slots.get("area", one["area"])]
        if not there or self.slots.get("device_class") and any(self.slots["device_class"] not in one["name"].lower() for one in there):
            self.give_up()
        if "area" not in self.slots and (values or len(there) == 1):  # the one that there is
            return (function, {"name": there[0]["name"], **values}, there) if len(there) == 1 else self.give_up()
        where = {"area": self.slots["area"]} if "area" in self.slots else {}
        return function, {**where, "domain": [domain], **values}, there
