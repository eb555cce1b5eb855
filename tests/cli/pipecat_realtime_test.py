"""Pipecat's OpenAI services, as they come by default, in conversations with predgen serve."""

import asyncio
import os
import wave

from skipping import skip_without

skip_without("pipecat", "Pipecat")
os.environ.update(LOGURU_LEVEL="WARNING")

from pipecat.frames.frames import InputAudioRawFrame, LLMRunFrame, LLMTextFrame, TranscriptionFrame, TTSAudioRawFrame  # noqa: E402
from pipecat.pipeline.pipeline import Pipeline  # noqa: E402
from pipecat.pipeline.runner import WorkerRunner  # noqa: E402
from pipecat.pipeline.worker import PipelineWorker  # noqa: E402
from pipecat.processors.aggregators.llm_context import LLMContext  # noqa: E402
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair  # noqa: E402
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor  # noqa: E402
from pipecat.services.openai.realtime import events  # noqa: E402
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService  # noqa: E402

from program import REPOSITORY  # noqa: E402
from serving import KEY, PROMPTS, check, run_checks, texts_of_requests  # noqa: E402

QUESTION = REPOSITORY / "data/samples/question.wav"


class Listener(FrameProcessor):
    """Keeps what is said, and what was heard."""

    def __init__(self):
        super().__init__()
        self.text, self.heard, self.num_bytes = "", "", 0

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMTextFrame):
            self.text += frame.text
        if isinstance(frame, TTSAudioRawFrame):
            self.num_bytes += len(frame.audio)
        if isinstance(frame, TranscriptionFrame) and direction == FrameDirection.UPSTREAM:
            self.heard += frame.text
        await self.push_frame(frame, direction)


async def converse(process, messages, is_done, frames=(LLMRunFrame(),), properties=None):
    """A pipeline with the service as it comes, until `is_done` of its listener."""
    settings = OpenAIRealtimeLLMService.Settings(session_properties=properties) if properties else None
    service = OpenAIRealtimeLLMService(api_key=KEY, settings=settings,
                                       base_url=process.url.replace("http", "ws") + "/v1/realtime")
    aggregators = LLMContextAggregatorPair(LLMContext(messages=messages))
    before, after = Listener(), Listener()
    worker = PipelineWorker(Pipeline([aggregators.user(), before, service, after, aggregators.assistant()]),
                            cancel_on_idle_timeout=False)
    failures = []

    @worker.event_handler("on_pipeline_error")
    async def fail(_, frame):
        failures.append(frame)

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    for frame in frames:
        await worker.queue_frames([frame])
        await asyncio.sleep(0.02)  # as from a microphone
    while not is_done(before, after) and not failures and not running.done():
        await asyncio.sleep(0.02)
    await worker.cancel()
    await running
    check(not failures, f"no error: {failures}")
    return before, after


async def check_text(process):
    texts = texts_of_requests(process)
    question = [{"role": "user", "content": PROMPTS[0]}]
    _, answer = await converse(process, question, lambda _, after: len(after.text) >= len(texts[PROMPTS[0]]))
    check(answer.text == texts[PROMPTS[0]], f"the text of a request: {answer.text}")
    # The assistant speaks first; what cannot be done is left out, and the rest counts.
    properties = events.SessionProperties(
        instructions="You answer the phone of a bakery.", tool_choice="required",
        audio=events.AudioConfiguration(
            input=events.AudioInput(transcription=events.InputAudioTranscription(language="fr"),
                                    noise_reduction=events.InputAudioNoiseReduction(type="near_field"),
                                    turn_detection=events.TurnDetection(threshold=0.8)),
            output=events.AudioOutput(voice="marin", speed=1.2)))
    _, greeting = await converse(process, [], lambda _, after: after.text, properties=properties)
    check(greeting.text, "it greets")


async def check_sound(process):
    with wave.open(str(QUESTION)) as question:
        rate, samples = question.getframerate(), question.readframes(question.getnframes())
    samples += bytes(2 * 2 * rate)  # the pause that ends the turn
    step = 2 * (rate // 50)
    frames = [InputAudioRawFrame(samples[begin:begin + step], rate, 1) for begin in range(0, len(samples), step)]
    before, after = await converse(process, [], lambda _, after: after.num_bytes > 4800, frames=frames)
    check(after.text, "what was said is answered")


run_checks(of_text=[check_text], of_sound=[check_sound])
