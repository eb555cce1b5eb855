"""The part of bench/home.py that runs in Home Assistant's Python: a home in Home Assistant itself, and requests to it.

Reads lines of JSON from standard input. The first: {"home": {"rooms", "devices": [{"name", "domain", "area", "state"}]},
"agent": "rules" or the model's name, "options": of the agent}; an agent is Home Assistant's own for OpenAI, whose server
OPENAI_BASE_URL names. Each further one is a request, {"ask", "states": {device: state}}, and is answered by a line: what
was said, every device's state before and after it, the calls of functions, and the seconds until the first device changed
and until the end.

Without an agent it prints the address of its MCP server and a token, and reads the port of predgen's Wyoming service, whose
ears, agent and voice it then has. A request also has the path of its sound (16-bit samples, 24,000 a second), and seconds
count from the end of the turn, as Home Assistant hears it, to the first change and until the answer's sound is there.
"""
import asyncio
import contextlib
import json
import socket
import sys
import tempfile
import time

from homeassistant import auth, bootstrap, config_entries, core, loader
from homeassistant.components.binary_sensor import BinarySensorEntity
from homeassistant.components.climate import ClimateEntity, ClimateEntityFeature, HVACMode
from homeassistant.components.conversation import async_converse
from homeassistant.components.cover import CoverEntity, CoverEntityFeature
from homeassistant.components.fan import FanEntity, FanEntityFeature
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.light import ATTR_BRIGHTNESS, ATTR_RGB_COLOR, ColorMode, LightEntity
from homeassistant.components.lock import LockEntity
from homeassistant.components.media_player import MediaPlayerEntity, MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.components.sensor import SensorEntity
from homeassistant.components.switch import SwitchEntity
from homeassistant.components.vacuum import StateVacuumEntity, VacuumActivity, VacuumEntityFeature
from homeassistant.helpers import area_registry, entity_registry, llm
from homeassistant.setup import async_setup_component

from home_pipeline import page_of, samples_of, token_for_tools

changed = []  # when a device was written to, by time.monotonic()
calls = []  # of Home Assistant's functions, by a model


async def counted(self, tool_input, call=llm.APIInstance.async_call_tool):
    calls.append({"name": tool_input.tool_name, "arguments": tool_input.tool_args})
    return await call(self, tool_input)


llm.APIInstance.async_call_tool = counted


class Device:
    """What all have: a name, no polling, and a note of each change."""
    _attr_should_poll = False

    def __init__(self, device):
        self._attr_name, self._attr_unique_id = device["name"], device["name"]
        self.begin(device["state"])

    def put(self, **values):
        for name, value in values.items():
            setattr(self, f"_attr_{name}", value)
        if self.hass:
            changed.append(time.monotonic())
            self.async_write_ha_state()


class Switch(Device, SwitchEntity):
    def begin(self, state):
        self.put(is_on=state == "on")

    async def async_turn_on(self, **_):
        self.put(is_on=True)

    async def async_turn_off(self, **_):
        self.put(is_on=False)


class Light(Switch, LightEntity):
    _attr_supported_color_modes, _attr_color_mode = {ColorMode.RGB}, ColorMode.RGB

    def begin(self, state):
        self.put(is_on=state == "on", brightness=255, rgb_color=(255, 255, 255))

    async def async_turn_on(self, **given):
        self.put(is_on=True, **{name: given[name] for name in (ATTR_BRIGHTNESS, ATTR_RGB_COLOR) if name in given})


class Fan(Switch, FanEntity):
    _attr_supported_features = FanEntityFeature.SET_SPEED | FanEntityFeature.TURN_ON | FanEntityFeature.TURN_OFF

    def begin(self, state):
        self.put(percentage=50 if state == "on" else 0)

    @property
    def is_on(self):
        return self._attr_percentage > 0

    async def async_turn_on(self, percentage=None, preset_mode=None, **_):
        self.put(percentage=percentage or 50)

    async def async_turn_off(self, **_):
        self.put(percentage=0)

    async def async_set_percentage(self, percentage):
        self.put(percentage=percentage)


class Cover(Device, CoverEntity):
    _attr_supported_features = CoverEntityFeature.OPEN | CoverEntityFeature.CLOSE | CoverEntityFeature.SET_POSITION

    def begin(self, state):
        self.move(100 if state == "open" else 0)

    def move(self, position):
        self.put(current_cover_position=position, is_closed=position == 0)

    async def async_open_cover(self, **_):
        self.move(100)

    async def async_close_cover(self, **_):
        self.move(0)

    async def async_set_cover_position(self, position, **_):
        self.move(position)


class Lock(Device, LockEntity):
    def begin(self, state):
        self.put(is_locked=state == "locked")

    async def async_lock(self, **_):
        self.put(is_locked=True)

    async def async_unlock(self, **_):
        self.put(is_locked=False)


class Climate(Device, ClimateEntity):
    _attr_supported_features = ClimateEntityFeature.TARGET_TEMPERATURE
    _attr_hvac_modes, _attr_temperature_unit = [HVACMode.HEAT, HVACMode.OFF], "°C"

    def begin(self, state):
        self.put(hvac_mode=HVACMode(state), target_temperature=19.0)

    async def async_set_temperature(self, temperature=None, **_):
        self.put(target_temperature=temperature)

    async def async_set_hvac_mode(self, hvac_mode):
        self.put(hvac_mode=hvac_mode)


class Player(Device, MediaPlayerEntity):
    _attr_supported_features = (MediaPlayerEntityFeature.PLAY | MediaPlayerEntityFeature.PAUSE | MediaPlayerEntityFeature.VOLUME_SET
                                | MediaPlayerEntityFeature.TURN_ON | MediaPlayerEntityFeature.TURN_OFF)

    def begin(self, state):
        self.put(state=MediaPlayerState(state), volume_level=0.4)

    async def async_media_play(self):
        self.put(state=MediaPlayerState.PLAYING)

    async def async_media_pause(self):
        self.put(state=MediaPlayerState.PAUSED)

    async def async_turn_on(self):
        self.put(state=MediaPlayerState.ON)

    async def async_turn_off(self):
        self.put(state=MediaPlayerState.OFF)

    async def async_set_volume_level(self, volume):
        self.put(volume_level=volume)


class Vacuum(Device, StateVacuumEntity):
    _attr_supported_features = VacuumEntityFeature.START | VacuumEntityFeature.RETURN_HOME | VacuumEntityFeature.STATE

    def begin(self, state):
        self.put(activity=VacuumActivity(state))

    async def async_start(self):
        self.put(activity=VacuumActivity.CLEANING)

    async def async_return_to_base(self, **_):
        self.put(activity=VacuumActivity.RETURNING)


class Sensor(Device, SensorEntity):
    def begin(self, state):
        self.put(native_value=state)


class Contact(Device, BinarySensorEntity):
    def begin(self, state):
        self.put(is_on=state == "on")


KINDS = {"light": Light, "switch": Switch, "fan": Fan, "cover": Cover, "lock": Lock, "climate": Climate, "media_player": Player,
         "vacuum": Vacuum, "sensor": Sensor, "binary_sensor": Contact}
SEEN = ("brightness", "rgb_color", "percentage", "current_position", "temperature", "volume_level")


async def start(folder, port=0):
    """Home Assistant with what a conversation needs, and nothing that a network or a browser does; 0: a free port."""
    hass = core.HomeAssistant(folder)
    loader.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    await loader.async_get_custom_components(hass)
    await bootstrap.async_load_base_functionality(hass)
    hass.config.skip_pip = True
    llm.BASE_PROMPT = ""  # the time; later versions do not begin with it, and nothing behind it could be kept
    hass.config.language, hass.config.country = "en", "GB"
    hass.auth = await auth.auth_manager_from_config(hass, [], [])
    with socket.create_server(("127.0.0.1", port)) as free:
        http = {"http": {"server_host": "127.0.0.1", "server_port": free.getsockname()[1]}}
    kept = {entry.domain for entry in hass.config_entries.async_entries()}  # by an earlier one in this folder
    for component in ("homeassistant", "persistent_notification", "intent", "conversation", *KINDS, *kept):
        if not await async_setup_component(hass, component, http):
            sys.exit(f"Home Assistant's component {component} did not start")
    await hass.async_start()
    return hass


async def furnish(hass, home):
    """The home's rooms and devices; gives back the device of each entity's id."""
    areas = {room: area_registry.async_get(hass).async_get_or_create(room).id for room in home["rooms"]}
    devices, registry = {}, entity_registry.async_get(hass)
    for device in home["devices"]:
        entity = KINDS[device["domain"]](device)
        await hass.data[device["domain"]].async_add_entities([entity])
        await hass.async_block_till_done()
        registry.async_update_entity(entity.entity_id, area_id=areas[device["area"]])
        async_expose_entity(hass, "conversation", entity.entity_id, True)
        devices[entity.entity_id] = entity
    return devices


async def agent_of(hass, given):
    """The id of the agent that is asked, set up as a user does it."""
    if given["agent"] == "rules":
        return "conversation.home_assistant"
    flow = await hass.config_entries.flow.async_init("openai_conversation", context={"source": "user"}, data={"api_key": "none"})
    if flow.get("errors"):
        sys.exit(f"Home Assistant cannot reach the model: {flow['errors']}")
    options = {"recommended": False, "llm_hass_api": "assist", "chat_model": given["agent"], **given["options"]}
    hass.config_entries.async_update_entry(flow["result"], options=options)
    await hass.async_block_till_done()
    return next(state.entity_id for state in hass.states.async_all("conversation") if state.entity_id != "conversation.home_assistant")


def states(hass, devices):
    def shown(value):
        return list(value) if isinstance(value, tuple) else value
    return {devices[state.entity_id].name: {"state": state.state, **{one: shown(state.attributes[one]) for one in SEEN
                                                              if state.attributes.get(one) is not None}}
            for state in hass.states.async_all() if state.entity_id in devices}


async def answer(hass, agent, page, pipeline, request):
    """What a request led to, and when (time.monotonic()) the turn had ended and the answer was there."""
    if pipeline:
        told = await page.run(pipeline, samples_of(request["sound"]), live=True)
        return told, told["moments"].get("stt-vad-end"), told["moments"].get("sound")
    began, said = time.monotonic(), ""
    with contextlib.suppress(AssertionError):  # Home Assistant's own, when a model has called for the tenth time without an answer
        result = await async_converse(hass, request["ask"], None, core.Context(), "en", agent)
        said = result.response.speech.get("plain", {}).get("speech", "")
    return {"said": said}, began, time.monotonic()


async def main():
    given = json.loads(sys.stdin.readline())
    async with contextlib.AsyncExitStack() as stack:
        hass = await start(stack.enter_context(tempfile.TemporaryDirectory()))
        devices = await furnish(hass, given["home"])
        agent = page = pipeline = None
        if given["agent"]:
            agent = await agent_of(hass, given)
        else:
            page = await stack.enter_async_context(page_of(hass))
            await token_for_tools(hass)
            pipeline = await page.add_predgen(int(await hass.async_add_executor_job(sys.stdin.readline)), True)
            await page.run(pipeline, text="Hello")  # by then the home's prompt has been read
        while line := await hass.async_add_executor_job(sys.stdin.readline):
            request = json.loads(line)
            for device in devices.values():
                device.begin(request["states"][device.name])
            await hass.async_block_till_done()
            before = states(hass, devices)
            changed.clear()
            calls.clear()
            told, ended, answered = await answer(hass, agent, page, pipeline, request)
            await hass.async_block_till_done()
            print(json.dumps(told | {"before": before, "after": states(hass, devices), "calls": calls,
                                     "seconds": answered - ended if answered and ended else None,
                                     "changed_after": changed[0] - ended if changed and ended else None}), flush=True)
        await hass.async_stop(force=True)


if __name__ == "__main__":
    asyncio.run(main())
