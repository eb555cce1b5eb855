"""The conversations that jinja_parity.py renders with each whole template."""

TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": "The weather \"now\" in a city: 'é', <b> & 世界",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "A city", "enum": ["Rome", "Köln"]},
        "days": {"type": ["integer", "null"], "default": 1, "minimum": 0.5},
        "where": {"type": "array", "items": {"type": "string"}},
        "deep": {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}}},
    "return": {"type": "object", "description": "what it found"}}},
    {"type": "function", "function": {"name": "lamp", "description": "Switches a lamp.", "parameters": {"type": "object", "properties": {}}}}]


def call(index, name, arguments):
    return {"id": f"call{index:05}", "type": "function", "function": {"name": name, "arguments": arguments}}


SYSTEM = {"role": "system", "content": "You are brief.\nToday's \"rules\": none. "}
USER = {"role": "user", "content": " What is the weather in Köln? \U0001f642\n"}
ANSWER = {"role": "assistant", "content": "\n\nIt is fine. "}
MORE = {"role": "user", "content": "And <b>\"tomorrow\"</b> & then?"}
CALLS = {"role": "assistant", "content": "", "tool_calls": [call(1, "weather", {"city": "Köln", "days": 2, "deep": {"a": None}, "where": ["x", 1.5]})]}
TWO_CALLS = {**CALLS, "content": "Let me see.", "tool_calls": [*CALLS["tool_calls"], call(2, "lamp", {})]}
RESULT = {"role": "tool", "name": "weather", "tool_call_id": "call00001", "content": "{\"degrees\": 7}"}
OTHER_RESULT = {"role": "tool", "name": "lamp", "tool_call_id": "call00002", "content": "on"}
THOUGHT = {"role": "assistant", "content": "<think>\nThe user greets.\n</think>\n\nHello."}
REASONED = {"role": "assistant", "content": "Hello.", "reasoning_content": "The user greets.", "thinking": "The user greets."}
PARTS = {"role": "user", "content": [{"type": "text", "text": "See "}, {"type": "text", "text": "this."}]}

CHATS = {
    "user": [USER],
    "system": [SYSTEM, USER],
    "turns": [SYSTEM, USER, ANSWER, MORE],
    "no system": [USER, ANSWER, MORE],
    "answer last": [USER, ANSWER],
    "system only": [SYSTEM],
    "two users": [USER, MORE],
    "late system": [USER, ANSWER, SYSTEM, MORE],
    "empty": [],
    "call": [USER, CALLS],
    "result": [SYSTEM, USER, CALLS, RESULT],
    "result and turn": [USER, CALLS, RESULT, ANSWER, MORE],
    "two calls": [SYSTEM, USER, TWO_CALLS, RESULT, OTHER_RESULT, ANSWER, MORE],
    "thoughts": [USER, THOUGHT, MORE],
    "thoughts last": [USER, THOUGHT],
    "reasoning": [SYSTEM, USER, REASONED, MORE, CALLS, RESULT],
    "parts": [SYSTEM, PARTS],
}


def cases():
    base = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "documents": None}
    for name, chat in CHATS.items():
        for tools in (None, TOOLS):
            for more in ({"add_generation_prompt": True}, {"add_generation_prompt": False},
                         {"add_generation_prompt": True, "enable_thinking": False}, {"add_generation_prompt": True, "enable_thinking": True}):
                if "enable_thinking" in more and name not in ("user", "turns", "thoughts", "reasoning", "result"):
                    continue
                yield f"{name}, {len(tools or [])} tools, {more}", {**base, "messages": chat, "tools": tools, **more}
