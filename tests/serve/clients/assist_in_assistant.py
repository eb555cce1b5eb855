"""The part of assist_test.py that runs in Home Assistant's Python: a home, its MCP server, and a pipeline of predgen's.

Prints a line of JSON: its address and a token. Then it reads lines, and answers each with one: {"wyoming": PORT} adds
predgen and a pipeline; {"text"} or {"loud": seconds of sound} runs it, {"off"} switches a device off, {"remove"} takes one
away, {"revoke": true} ends the token. An answer is {"said", "error", "states"}.
"""
import asyncio
import json
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

import aiohttp  # noqa: E402
from homeassistant.auth.models import TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN  # noqa: E402
from homeassistant.helpers import entity_registry  # noqa: E402
from homeassistant.setup import async_setup_component  # noqa: E402

from home_in_assistant import furnish, start, states  # noqa: E402

HOME = {"rooms": ["Kitchen"], "devices": [{"name": name, "domain": "light", "area": "Kitchen", "state": "off"}
                                          for name in ("Kitchen Light", "Table Lamp")]}
RATE, PIECE = 16000, 1600


class Commands:
    """Home Assistant's WebSocket, as its own page speaks to it."""

    def __init__(self, socket):
        self.socket, self.number = socket, 0

    async def begin(self, **command):
        self.number += 1
        await self.socket.send_json({"id": self.number, **command})
        told = await self.socket.receive_json()
        if not told["success"]:
            sys.exit(f"{command}: {told}")
        return told["result"]

    async def pipeline(self, pipeline, loud=0, **given):
        stage = "stt" if loud else "intent"
        await self.begin(type="assist_pipeline/run", start_stage=stage, end_stage="intent", pipeline=pipeline, timeout=60,
                         input={"sample_rate": RATE, "no_vad": True} if loud else given)
        said, error, heard = "", "", ""
        while True:
            event = (await self.socket.receive_json())["event"]
            data = event["data"] or {}
            if event["type"] == "run-start" and loud:
                handler = bytes([data["runner_data"]["stt_binary_handler_id"]])
                for piece in [b"\x40\x1f" * PIECE] * round(loud * RATE / PIECE) + [b""]:
                    await self.socket.send_bytes(handler + piece)
            elif event["type"] == "stt-end":
                heard = data["stt_output"]["text"]
            elif event["type"] == "intent-end":
                response = data["intent_output"]["response"]
                said = response["speech"].get("plain", {}).get("speech", "")
                error = said if response["response_type"] == "error" else ""
            elif event["type"] == "error":
                error = data["message"]
            elif event["type"] == "run-end":
                return {"said": said, "error": error, "heard": heard}


async def add(hass, domain, data):
    flow = await hass.config_entries.flow.async_init(domain, context={"source": "user"}, data=data)
    if flow["type"] != "create_entry":
        sys.exit(f"{domain}: {flow}")
    await hass.async_block_till_done()


async def main():
    with tempfile.TemporaryDirectory() as folder:
        hass = await start(folder)
        await async_setup_component(hass, "websocket_api", {})
        devices = await furnish(hass, HOME)
        await add(hass, "mcp_server", {"llm_hass_api": "assist"})
        owner = await hass.auth.async_create_user("Owner", group_ids=["system-admin"])
        refresh = await hass.auth.async_create_refresh_token(owner, client_name="predgen", access_token_expiration=timedelta(days=1),
                                                             token_type=TOKEN_TYPE_LONG_LIVED_ACCESS_TOKEN)
        url, token = f"http://127.0.0.1:{hass.http.server_port}", hass.auth.async_create_access_token(refresh)
        page = await hass.auth.async_create_refresh_token(owner, client_id="http://localhost/")
        print(json.dumps({"url": url, "token": token}), flush=True)
        async with aiohttp.ClientSession() as session, session.ws_connect(url + "/api/websocket") as socket:
            await socket.receive_json()
            await socket.send_json({"type": "auth", "access_token": hass.auth.async_create_access_token(page)})
            await socket.receive_json()
            commands, pipeline = Commands(socket), None
            while line := await hass.async_add_executor_job(sys.stdin.readline):
                given, told = json.loads(line), {}
                if "wyoming" in given:
                    await add(hass, "wyoming", {"host": "127.0.0.1", "port": given["wyoming"]})
                    ids = {state.domain: state.entity_id for state in hass.states.async_all(["conversation", "stt"])
                           if state.entity_id != "conversation.home_assistant"}
                    pipeline = (await commands.begin(
                        type="assist_pipeline/pipeline/create", name="predgen", language="en", conversation_engine=ids["conversation"],
                        conversation_language="en", stt_engine=ids["stt"], stt_language="en", tts_engine=None, tts_language=None,
                        tts_voice=None, wake_word_entity=None, wake_word_id=None))["id"]
                elif "off" in given:
                    next(one for one in devices.values() if one.name == given["off"]).put(is_on=False)
                elif "remove" in given:
                    gone = next(id for id, one in devices.items() if one.name == given["remove"])
                    entity_registry.async_get(hass).async_remove(gone)
                    devices.pop(gone)
                elif "revoke" in given:
                    hass.auth.async_remove_refresh_token(refresh)
                else:
                    told = await commands.pipeline(pipeline, **given)
                await hass.async_block_till_done()
                now = {name: state["state"] for name, state in states(hass, devices).items()}
                print(json.dumps(told | {"states": now}), flush=True)
        await hass.async_stop(force=True)


asyncio.run(main())
