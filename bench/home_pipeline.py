"""Home Assistant's pipeline whose ears, agent and voice are predgen's, as Home Assistant's own page runs it, and its MCP
server, by which predgen acts. Runs in Home Assistant's Python."""
import asyncio
import contextlib
import itertools
import json
import sys
import time
from datetime import timedelta

import aiohttp
import numpy
from homeassistant.auth.models import TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN
from homeassistant.components import tts
from homeassistant.setup import async_setup_component

RATE, PIECE = 16000, 480  # samples: 30 ms
AGENT = "conversation.home_assistant"


def samples_of(path):
    """16-bit samples at RATE of some at 24,000 a second."""
    sound = numpy.fromfile(path, "<i2")
    return numpy.interp(numpy.arange(0, len(sound), 24000 / RATE), numpy.arange(len(sound)), sound).astype("<i2").tobytes()


async def add(hass, domain, data):
    flow = await hass.config_entries.flow.async_init(domain, context={"source": "user"}, data=data)
    if flow["type"] != "create_entry":
        sys.exit(f"{domain}: {flow}")
    await hass.async_block_till_done()


class Page:
    """Home Assistant's page, that is its WebSocket."""

    def __init__(self, hass, socket, session):
        self.hass, self.socket, self.session, self.number = hass, socket, session, 0

    async def begin(self, **command):
        self.number += 1
        await self.socket.send_json({"id": self.number, **command})
        told = await self.socket.receive_json()
        if not told["success"]:
            sys.exit(f"{command}: {told}")
        return told["result"]

    async def add_predgen(self, port, speaks):
        """Adds the Wyoming service at this port, and a pipeline of its parts, whose id it gives back."""
        await add(self.hass, "wyoming", {"host": "127.0.0.1", "port": port})
        ids = {state.domain: state.entity_id for state in self.hass.states.async_all(["conversation", "stt", "tts"])
               if state.entity_id != AGENT}
        voice = {"tts_engine": None, "tts_language": None}
        if speaks:
            tts._DEFAULT_FORMAT = "wav"  # as it comes: MP3 needs ffmpeg
            voice = {"tts_engine": ids["tts"], "tts_language": self.hass.data["tts"].get_entity(ids["tts"]).supported_languages[0]}
        return (await self.begin(
            type="assist_pipeline/pipeline/create", name="predgen", language="en", conversation_engine=ids["conversation"],
            conversation_language="en", stt_engine=ids["stt"], stt_language="en", **voice, tts_voice=None,
            wake_word_entity=None, wake_word_id=None))["id"]

    async def send(self, handler, sound, live):
        """16-bit samples, at once; or `live`, in real time with silence behind them, until it is cancelled."""
        began, silence = time.monotonic(), bytes(2 * PIECE)
        pieces = [sound[at:at + 2 * PIECE] for at in range(0, len(sound), 2 * PIECE)]
        for number in itertools.count() if live else range(len(pieces)):
            await self.socket.send_bytes(handler + (pieces[number] if number < len(pieces) else silence))
            if live:
                await asyncio.sleep(began + (number + 1) * PIECE / RATE - time.monotonic())
        await self.socket.send_bytes(handler)

    async def run(self, pipeline, sound=b"", live=False, **given):
        """A request: a text, or sound, which `live` comes in real time, ends by Home Assistant's own voice detection and is
        answered aloud. What was said and heard, an error, and when (time.monotonic()) each event came and, as "sound", the
        answer's sound was there."""
        await self.begin(type="assist_pipeline/run", start_stage="stt" if sound else "intent", end_stage="tts" if live else "intent",
                         pipeline=pipeline, timeout=60, input={"sample_rate": RATE, "no_vad": not live} if sound else given)
        told, sending = {"said": "", "error": "", "heard": "", "moments": {}}, None
        while True:
            event = (await self.socket.receive_json())["event"]
            data = event["data"] or {}
            told["moments"][event["type"]] = time.monotonic()
            if event["type"] == "run-start" and sound:
                handler = bytes([data["runner_data"]["stt_binary_handler_id"]])
                sending = asyncio.create_task(self.send(handler, sound, live))
            elif event["type"] == "stt-end":
                told["heard"] = data["stt_output"]["text"]
                sending.cancel()
            elif event["type"] == "intent-end":
                response = data["intent_output"]["response"]
                told["said"] = response["speech"].get("plain", {}).get("speech", "")
                told["error"] = told["said"] if response["response_type"] == "error" else ""
            elif event["type"] == "tts-end":
                async with self.session.get(data["tts_output"]["url"]) as answer:
                    told["sound_bytes"] = len(await answer.read())
                    told["moments"]["sound"] = time.monotonic()
            elif event["type"] == "error":
                told["error"] = data["message"]
            elif event["type"] == "run-end":
                if sending:
                    sending.cancel()
                return told


async def owner_of(hass):
    owners = [user for user in await hass.auth.async_get_users() if user.name == "Owner"]
    return owners[0] if owners else await hass.auth.async_create_user("Owner", group_ids=["system-admin"])


async def token_for_tools(hass):
    """Sets up Home Assistant's MCP server and prints its address with a token; gives back what the token stands on."""
    await add(hass, "mcp_server", {"llm_hass_api": "assist"})
    refresh = await hass.auth.async_create_refresh_token(
        await owner_of(hass), client_name="predgen", access_token_expiration=timedelta(days=1),
        token_type=TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN)
    url, token = f"http://127.0.0.1:{hass.http.server_port}", hass.auth.async_create_access_token(refresh)
    print(json.dumps({"url": url, "token": token}), flush=True)
    return refresh


@contextlib.asynccontextmanager
async def page_of(hass):
    await async_setup_component(hass, "websocket_api", {})
    refresh = await hass.auth.async_create_refresh_token(await owner_of(hass), client_id="http://localhost/")
    async with aiohttp.ClientSession(f"http://127.0.0.1:{hass.http.server_port}") as session, session.ws_connect("/api/websocket") as socket:
        await socket.receive_json()
        await socket.send_json({"type": "auth", "access_token": hass.auth.async_create_access_token(refresh)})
        await socket.receive_json()
        yield Page(hass, socket, session)
