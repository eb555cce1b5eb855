"""The part of assist_test.py that runs in Home Assistant's Python: a home, its MCP server, and a pipeline of predgen's.

Prints a line of JSON: its address and a token. Then it reads lines, and answers each with one: {"wyoming": PORT} adds
predgen and a pipeline; {"text"} or {"loud": seconds of sound} runs it, {"off"} switches a device off, {"remove"} takes one
away, {"revoke": true} ends the token, {"restart": true} ends Home Assistant and begins it again with what it keeps in its
folder. An answer is {"said", "error", "states"}.
"""
import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "bench"))

from homeassistant.helpers import entity_registry  # noqa: E402

from home_in_assistant import furnish, start, states  # noqa: E402
from home_pipeline import RATE, page_of, token_for_tools  # noqa: E402

HOME = {"rooms": ["Kitchen"], "devices": [{"name": name, "domain": "light", "area": "Kitchen", "state": "off"}
                                          for name in ("Kitchen Light", "Table Lamp")]}


class Life:
    """From one start to the next: `port`, `refresh` (the token's) and `pipeline` are kept."""
    port, refresh, pipeline = 0, None, None

    async def live(self, folder):
        """Whether another one follows."""
        hass = await start(folder, self.port)
        self.port = hass.http.server_port
        devices = await furnish(hass, HOME)
        async with page_of(hass) as page:
            if self.refresh:
                print(json.dumps({}), flush=True)
            else:
                self.refresh = await token_for_tools(hass)
            while line := await hass.async_add_executor_job(sys.stdin.readline):
                given, told = json.loads(line), {}
                if "restart" in given:
                    break
                if "wyoming" in given:
                    self.pipeline = await page.add_predgen(given["wyoming"], False)
                elif "off" in given:
                    next(one for one in devices.values() if one.name == given["off"]).put(is_on=False)
                elif "remove" in given:
                    gone = next(id for id, one in devices.items() if one.name == given["remove"])
                    entity_registry.async_get(hass).async_remove(gone)
                    devices.pop(gone)
                elif "revoke" in given:
                    hass.auth.async_remove_refresh_token(hass.auth.async_get_refresh_token(self.refresh.id))
                elif "loud" in given:
                    told = await page.run(self.pipeline, b"\x40\x1f" * round(given["loud"] * RATE))
                else:
                    told = await page.run(self.pipeline, **given)
                await hass.async_block_till_done()
                now = {name: state["state"] for name, state in states(hass, devices).items()}
                print(json.dumps(told | {"states": now}), flush=True)
        await hass.async_stop(force=True)
        return bool(line)


async def main():
    life = Life()
    with tempfile.TemporaryDirectory() as folder:
        while await life.live(folder):
            pass


asyncio.run(main())
