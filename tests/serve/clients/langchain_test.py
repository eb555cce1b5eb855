"""LangChain's ChatOpenAI as it is by default, by both APIs, with and without tools."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))
import other_clients  # noqa: E402,F401  before anything imports another openai

os.environ["LANGSMITH_TRACING"] = "false"

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from clients import KEY, check, server  # noqa: E402
from tool_model import AFTER, ARGUMENTS, BEFORE_CALL, TALK, make_tool_model  # noqa: E402


@tool
def switch_lamp(room: str, on: bool) -> str:
    """Switches a lamp on or off."""
    return f"{room}: {on}"


def check_model(model):
    said = model.invoke([SystemMessage("Be brief."), HumanMessage("Hello.")])
    check(said.text == TALK and said.usage_metadata["output_tokens"] > 0, f"{said}")
    check("".join(chunk.text for chunk in model.stream("Hello.")) == TALK, "in a stream")
    check([answer.text for answer in model.batch(["Hello.", "Good day."])] == 2 * [TALK], "in a batch")


def check_tools(model):
    model = model.bind_tools([switch_lamp])
    asked = HumanMessage("Switch the lamp on, please.")
    calls = model.invoke([asked])
    check(calls.text == BEFORE_CALL and calls.tool_calls[0]["args"] == ARGUMENTS, f"{calls}")
    done = ToolMessage("done", tool_call_id=calls.tool_calls[0]["id"])
    check(model.invoke([asked, calls, done]).text == AFTER, "and goes on from its result")
    whole = None
    for chunk in model.stream([asked]):
        whole = chunk if whole is None else whole + chunk
    check(isinstance(whole, AIMessage) and whole.tool_calls[0]["args"] == ARGUMENTS, f"in a stream: {whole}")


class Lamp(BaseModel, extra="forbid"):
    room: Literal["kitchen", "hall"]
    on: bool


def check_forms(model):
    for method in ("json_schema", "function_calling"):
        said = model.with_structured_output(Lamp, method=method).invoke("Hello.")
        check(isinstance(said, Lamp), f"{method}: {said}")


with tempfile.TemporaryDirectory() as folder:
    with server(model=make_tool_model(Path(folder) / "lamp")) as process:
        for api in ({}, {"use_responses_api": True}):
            model = ChatOpenAI(model="lamp", base_url=process.url + "/v1", api_key=KEY, max_retries=0, **api)
            check_model(model)
            check_tools(model)
            check_forms(model)
sys.exit(0)
