"""Assistants of others that call functions, `openai-agents` and `pipecat-ai` as they come, with predgen serve."""

import asyncio
import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Literal

from skipping import skip_without

for name in ("agents", "pipecat"):
    skip_without(name, "one of the assistants")
os.environ.update(OPENAI_AGENTS_DISABLE_TRACING="1", OMP_NUM_THREADS="1", LOGURU_LEVEL="WARNING")

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool  # noqa: E402
from agents.realtime import RealtimeAgent, RealtimeRunner  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema  # noqa: E402
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema  # noqa: E402
from pipecat.frames.frames import LLMRunFrame, LLMTextFrame  # noqa: E402
from pipecat.pipeline.pipeline import Pipeline  # noqa: E402
from pipecat.pipeline.worker import PipelineWorker  # noqa: E402
from pipecat.pipeline.runner import WorkerRunner  # noqa: E402
from pipecat.processors.aggregators.llm_context import LLMContext  # noqa: E402
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair  # noqa: E402
from pipecat.processors.frame_processor import FrameProcessor  # noqa: E402
from pipecat.services.openai.llm import OpenAILLMService  # noqa: E402
from pipecat.services.openai.realtime import events  # noqa: E402
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from serving import KEY, check, server  # noqa: E402
from tool_model import AFTER, ARGUMENTS, BEFORE_CALL, FUNCTION, make_tool_model  # noqa: E402

SWITCH = "Switch the lamp on, please."
PATIENCE = 60


class Lamp(BaseModel):
    room: Literal["kitchen", "hall"]
    on: bool


def make_function(called):
    @function_tool
    def switch_lamp(room: str, on: bool) -> str:
        """Switches a lamp on or off."""
        called.append({"room": room, "on": on})
        return "done"

    return switch_lamp


async def check_agent(process):
    """An agent of openai-agents on chat completions, whole and in a stream."""
    called = []
    model = OpenAIChatCompletionsModel("lamp", AsyncOpenAI(base_url=process.url + "/v1", api_key=KEY))
    agent = Agent("home", instructions="Be brief.", tools=[make_function(called)], model=model,
                  model_settings=ModelSettings(temperature=0))
    result = await Runner.run(agent, SWITCH)
    check(called == [ARGUMENTS] and result.final_output == AFTER, f"{called} {result.final_output}")
    streamed = Runner.run_streamed(agent, SWITCH)
    async for _ in streamed.stream_events():
        pass
    check(called == 2 * [ARGUMENTS] and streamed.final_output == AFTER, f"{called} {streamed.final_output}")
    formed = await Runner.run(Agent("form", model=model, output_type=Lamp), "Hello.")
    check(isinstance(formed.final_output, Lamp), f"an answer in a form: {formed.final_output}")


async def check_realtime_agent(process):
    """A RealtimeSession of openai-agents. What it asks for by default needs a recogniser."""
    called, kinds = [], []
    agent = RealtimeAgent("home", instructions="Be brief.", tools=[make_function(called)])
    settings = {"model_name": "lamp", "modalities": ["text"], "voice": None, "tracing": None,
                "input_audio_transcription": None, "turn_detection": None}
    session = await RealtimeRunner(agent).run(model_config={
        "url": process.url.replace("http", "ws") + "/v1/realtime?model=lamp", "api_key": KEY,
        "initial_model_settings": settings})
    texts = []
    async with session:
        await session.send_message(SWITCH)
        async for event in session:
            kinds.append(event.type)
            if event.type == "error":
                check(False, f"{event}")
            if event.type == "history_updated":
                texts = [part.text for item in event.history if item.type == "message" and item.role == "assistant"
                         for part in item.content]
            if texts[-1:] == [AFTER]:
                break
    check(called == [ARGUMENTS] and texts == [BEFORE_CALL, AFTER], f"{called} {texts} {kinds}")
    check("tool_start" in kinds and "tool_end" in kinds, f"{kinds}")


class Listener(FrameProcessor):
    """Keeps what is said."""

    def __init__(self):
        super().__init__()
        self.text = ""

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMTextFrame):
            self.text += frame.text
        await self.push_frame(frame, direction)


async def run_pipeline(service, called):
    async def switch_lamp(params):
        called.append(dict(params.arguments))
        await params.result_callback({"status": "done"})

    function = FunctionSchema(FUNCTION["name"], FUNCTION["description"], FUNCTION["parameters"]["properties"],
                              FUNCTION["parameters"]["required"])
    context = LLMContext(messages=[{"role": "user", "content": SWITCH}], tools=ToolsSchema([function]))
    service.register_function("switch_lamp", switch_lamp)
    aggregators = LLMContextAggregatorPair(context)
    listener = Listener()
    worker = PipelineWorker(Pipeline([aggregators.user(), service, listener, aggregators.assistant()]),
                            cancel_on_idle_timeout=False)
    await worker.queue_frames([LLMRunFrame()])

    @worker.event_handler("on_pipeline_error")
    async def fail(_, frame):
        check(False, f"{frame}")

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    while not listener.text.endswith(AFTER) and not running.done():
        await asyncio.sleep(0.02)
    await worker.cancel()
    await running
    return listener.text


async def check_pipecat(process):
    called = []
    service = OpenAILLMService(api_key=KEY, base_url=process.url + "/v1",
                               settings=OpenAILLMService.Settings(model="lamp", temperature=0))
    text = await run_pipeline(service, called)
    check(called == [ARGUMENTS] and text == BEFORE_CALL + AFTER, f"{called} {text}")


async def check_pipecat_realtime(process):
    called = []
    properties = events.SessionProperties(output_modalities=["text"])
    service = OpenAIRealtimeLLMService(
        api_key=KEY, base_url=process.url.replace("http", "ws") + "/v1/realtime",
        settings=OpenAIRealtimeLLMService.Settings(model="lamp", session_properties=properties))
    text = await run_pipeline(service, called)
    check(called == [ARGUMENTS] and text == BEFORE_CALL + AFTER, f"{called} {text}")


def main(scratch):
    model = make_tool_model(scratch / "lamp")
    key = f"api_keys_sha256=[{hashlib.sha256(KEY.encode()).hexdigest()}]"
    with server(key, model=model) as process:
        for one in (check_agent, check_realtime_agent, check_pipecat, check_pipecat_realtime):
            asyncio.run(asyncio.wait_for(one(process), PATIENCE))
            print(one.__name__, "ok")


with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
