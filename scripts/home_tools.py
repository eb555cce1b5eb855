"""Functions of a home as Home Assistant offers them, for home_data.py: by domain, as given by a request, and whether a value
holds to a schema."""
import json
import sys

CONTEXT = "Static Context: An overview of the areas and the devices in this smart home:"
TEXT, WHERE = {"type": "string"}, ("name", "area", "floor")
WHICH = (*WHERE, "domain", "device_class")
PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}


def function(name, description, places=(), required=(), /, **properties):
    shown = {**{one: DOMAIN if one in ("domain", "device_class") else TEXT for one in places}, **properties}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {
        "type": "object", "properties": shown, "required": list(required)}}}


DOMAIN = {"type": "array", "items": TEXT}
# By domain: the functions that Home Assistant offers once a device of it is there.
TOOLS = {
    None: [function("HassTurnOn", "Switches devices on; opens covers, locks locks.", WHICH),
           function("HassTurnOff", "Switches devices off; closes covers, unlocks locks.", WHICH),
           function("HassCancelAllTimers", "Ends all timers.", ("area",))],
    "light": [function("HassLightSet", "Sets a light's brightness or colour.", WHERE, domain=DOMAIN, color=TEXT, temperature=PERCENT,
                       brightness=PERCENT)],
    "cover": [function("HassSetPosition", "Moves a cover to a position.", WHICH, ["position"], position=PERCENT),
              function("HassStopMoving", "Stops what moves.", WHICH)],
    "climate": [function("HassClimateSetTemperature", "Sets the temperature that a room is heated to.", (), ["temperature"],
                         temperature={"type": "number"}, area=TEXT, name=TEXT, floor=TEXT)],
    "fan": [function("HassFanSetSpeed", "Sets a fan's speed.", WHERE, ["percentage"], domain=DOMAIN, percentage=PERCENT)],
    "media_player": [function("HassMediaUnpause", "Goes on with what was paused.", WHICH),
                     function("HassMediaPause", "Pauses what is playing.", WHICH),
                     function("HassMediaNext", "Skips to what comes next.", WHICH),
                     function("HassMediaPrevious", "Goes back to what came before.", WHICH),
                     function("HassSetVolume", "Sets how loud a player is.", WHICH, ["volume_level"], volume_level=PERCENT)],
    "vacuum": [function("HassVacuumStart", "Lets a vacuum cleaner begin.", (*WHERE, "domain")),
               function("HassVacuumReturnToBase", "Sends a vacuum cleaner to its dock.", (*WHERE, "domain"))],
    "todo": [function("HassListAddItem", "Adds something to a list.", ("item", "name"), ["item", "name"]),
             function("HassListCompleteItem", "Ticks something off.", ("item", "name"), ["item", "name"])],
}
# Of all devices, as until 2025, or of those that are named.
LOOKS = [function("GetLiveContext", "Tells the current states of all devices."),
         function("GetLiveContext", "Tells the current states of devices.", ("name", "area"), domain={"anyOf": [TEXT, DOMAIN]})]
CLOCK = function("GetDateTime", "Tells the date and the time.")
TIMER = function("HassStartTimer", "Starts a timer.", hours=PERCENT, minutes=PERCENT, seconds=PERCENT, name=TEXT)
TIMER["function"]["parameters"]["anyOf"] = [{"required": [unit]} for unit in ("hours", "minutes", "seconds")]


def name_of(tool):
    return tool["function"]["name"]


def given_by(request):
    """A request's functions by their names, and its system message as far as the list of devices."""
    is_list = isinstance(request, list)
    functions = [tool.get("function", tool) for tool in (request if is_list else request["tools"])]  # in chats, in responses
    given = {one["name"]: {"type": "function", "function": one} for one in functions if "name" in one}
    messages = [] if is_list else request.get("messages", request.get("input"))
    heads = [one["content"].split(CONTEXT) for one in messages if one["role"] in ("system", "developer")]
    if heads and len(heads[0]) == 1:
        sys.exit(f"home_data: --tools: the system message has no line '{CONTEXT}', behind which the devices come")
    return given, heads[0][0] if heads else ""


def check(value, schema, where):
    """Stops with what is wrong if `value` does not hold to the part of JSON schemas that such functions have."""
    def expect(is_right):
        if not is_right:
            sys.exit(f"home_data: {where}: {value!r} is not what {json.dumps(schema)} says")
    if "anyOf" in schema and "type" not in schema:
        return expect(any(holds(value, one) for one in schema["anyOf"]))
    expect(holds(value, {"type": schema.get("type", "object")}))
    expect(value in schema["enum"] if "enum" in schema else True)
    if schema.get("type") == "object":
        expect(all(name in value for name in schema.get("required", [])))
        expect(any(all(name in value for name in one["required"]) for one in schema.get("anyOf", [{"required": []}])))
        expect(set(value) <= set(schema["properties"]))
        for name, one in value.items():
            check(one, schema["properties"][name], f"{where}.{name}")
    if schema.get("type") == "array":
        for one in value:
            check(one, schema["items"], where)
    if isinstance(value, (int, float)):
        expect(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def holds(value, schema):
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    return isinstance(value, kinds[schema["type"]])
