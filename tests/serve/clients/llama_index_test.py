"""LlamaIndex's OpenAILike and OpenAI as they are by default."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))
import other_clients  # noqa: E402,F401  before anything imports another openai

from llama_index.core.llms import ChatMessage  # noqa: E402
from llama_index.llms.openai import OpenAI, OpenAIResponses  # noqa: E402
from llama_index.llms.openai_like import OpenAILike  # noqa: E402

from clients import KEY, PROMPTS, check, server  # noqa: E402

NAME = "gpt-4o-mini"  # OpenAI's class knows only OpenAI's names


def check_llm(llm):
    messages = [ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content=PROMPTS[0])]
    text = llm.chat(messages).message.content
    check(bool(text), f"{type(llm).__name__} gets an answer: {text}")
    parts = list(llm.stream_chat(messages))
    check(parts and parts[-1].message.content, f"in a stream: {parts[-1].message.content}")
    check(llm.complete("I want to book a table").raw is not None, "and completes")


with server(f"model_name={NAME}") as process:
    address = {"api_base": process.url + "/v1", "api_key": KEY, "max_retries": 0}
    for llm in (OpenAILike(model=NAME, is_chat_model=True, **address), OpenAILike(model=NAME, **address),
                OpenAI(model=NAME, **address), OpenAIResponses(model=NAME, **address)):
        check_llm(llm)
sys.exit(0)
