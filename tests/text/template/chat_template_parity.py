"""Compares `predgen tokenize --messages` with transformers' apply_chat_template, token for token.

The models' own templates come with the Jinja engine in the Python environment (scripts/fetch_jinja.py);
families that are not among them are written out below in their format. All use the demo model's
vocabulary with the control tokens of their family.

Typed control tokens must stay text, which transformers does not do. The reference for them has its
control tokens under other names, in the template and in the tokenizer, so that it cannot see them.
"""

import datetime
import functools
import json
import random
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tokenizer_parity import REPOSITORY, chat_ids, compare, predgen_tokenize, read_jsonl, strings_in  # noqa: E402

TEMPLATES = next(Path(sys.prefix).glob("share/llama-jinja-*/templates"), None)
DEMO = REPOSITORY / "checkpoints" / "demo"
SAMPLES = REPOSITORY / "data" / "samples"
NUM_CHATS = 30

CHAT_ML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_2 = """{%- set has_system = messages[0]['role'] == 'system' -%}
{%- for message in (messages[1:] if has_system else messages) -%}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{%- endif -%}
{%- set content = message['content'] -%}
{%- if loop.first and has_system -%}
{%- set content = '<<SYS>>\\n' + messages[0]['content'] + '\\n<</SYS>>\\n\\n' + content -%}
{%- endif -%}
{%- if message['role'] == 'user' -%}
{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
{%- elif message['role'] == 'assistant' -%}
{{ ' ' + content.strip() + ' ' + eos_token }}
{%- endif -%}
{%- endfor -%}
"""
LLAMA_3 = """{% for message in messages %}
{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' %}
{% if loop.first %}{% set content = bos_token + content %}{% endif %}
{{- content -}}
{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""
MISTRAL_1 = """{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}
{%- elif message['role'] == 'assistant' %}{{ message['content'] + eos_token + ' ' }}
{%- else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}"""
MISTRAL_3 = """{%- set loop_messages = messages %}
{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- endif %}
{%- set ns = namespace(count=0) %}
{%- for message in loop_messages if message["role"] in ["user", "assistant"] %}
    {%- if (message["role"] == "user") != (ns.count % 2 == 0) %}
        {{- raise_exception("After the optional system message, conversation roles must alternate") }}
    {%- endif %}
    {%- set ns.count = ns.count + 1 %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" and loop.last and system_message is defined %}
        {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
    {%- elif message["role"] == "user" %}
        {{- "[INST] " + message["content"] + "[/INST]" }}
    {%- else %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- endif %}
{%- endfor %}
"""
OLMO_2 = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}"
    "{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}"
    "{{ '<|assistant|>\n' + message['content'] + eos_token }}{% if not loop.last %}{{ '\n' }}{% endif %}{% endif %}"
    "{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}{% endfor %}"
)

GEMMA_3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\n'}}
{%- endif -%}
"""

QWEN = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_3 = [*QWEN, "<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
LLAMA = ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|end_of_text|>"]
MISTRAL = ["<s>", "</s>", "<unk>"]
MISTRAL_V3 = [*MISTRAL, "[INST]", "[/INST]", "[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"]
GEMMA = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>"]
GEMMA_4 = ["<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>",
           "<|tool_response>", "<tool_response|>", "<|channel>", "<channel|>", "<|think|>", '<|"|>']
HARMONY = ["<|startoftext|>", "<|endoftext|>", "<|return|>", "<|constrain|>", "<|channel|>", "<|start|>", "<|end|>",
           "<|message|>", "<|call|>"]
# name -> template or its file, control tokens, bos, eos
FAMILIES = {
    "ChatML": (CHAT_ML, QWEN, None, "<|im_end|>"),
    "Qwen2.5": (Path("Qwen-Qwen2.5-7B-Instruct.jinja"), QWEN, None, "<|im_end|>"),
    "Qwen3": (Path("Qwen-Qwen3-0.6B.jinja"), QWEN_3, None, "<|im_end|>"),
    "QwQ": (Path("Qwen-QwQ-32B.jinja"), QWEN_3, None, "<|im_end|>"),
    "Llama-2": (LLAMA_2, MISTRAL, "<s>", "</s>"),
    "Llama-3": (LLAMA_3, LLAMA, "<|begin_of_text|>", "<|eot_id|>"),
    "Llama-3.1": (Path("meta-llama-Llama-3.1-8B-Instruct.jinja"), LLAMA, "<|begin_of_text|>", "<|eot_id|>"),
    "Llama-3.2": (Path("meta-llama-Llama-3.2-3B-Instruct.jinja"), LLAMA, "<|begin_of_text|>", "<|eot_id|>"),
    "Llama-3.3": (Path("meta-llama-Llama-3.3-70B-Instruct.jinja"), LLAMA, "<|begin_of_text|>", "<|eot_id|>"),
    "Mistral-v0.1": (MISTRAL_1, MISTRAL, "<s>", "</s>"),
    "Mistral-v0.3": (MISTRAL_3, MISTRAL_V3, "<s>", "</s>"),
    "Mistral-Nemo": (Path("mistralai-Mistral-Nemo-Instruct-2407.jinja"), MISTRAL_V3, "<s>", "</s>"),
    "Mistral-Small-3.2": (Path("Mistral-Small-3.2-24B-Instruct-2506.jinja"), [*MISTRAL_V3, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"], "<s>", "</s>"),
    "Gemma-2": (Path("google-gemma-2-2b-it.jinja"), GEMMA, "<bos>", "<eos>"),
    "Gemma-3": (GEMMA_3, GEMMA, "<bos>", "<eos>"),
    "Gemma-4": (Path("google-gemma-4-31B-it.jinja"), GEMMA_4, "<bos>", "<eos>"),
    "Qwen3.5": (Path("Qwen3.5-4B.jinja"), QWEN_3, None, "<|im_end|>"),
    "Qwen3-Coder": (Path("Qwen3-Coder.jinja"), [token for token in QWEN_3 if "think" not in token], None, "<|im_end|>"),
    "gpt-oss": (Path("openai-gpt-oss-120b.jinja"), HARMONY, "<|startoftext|>", "<|return|>"),
    "OLMo-2": (OLMO_2, ["<|endoftext|>", "<|pad|>"], "<|endoftext|>", "<|endoftext|>"),
}


@functools.cache
def vocabulary():
    """tokenizer.json without added tokens, and without words that are control tokens of a family."""
    fields = json.loads((DEMO / "tokenizer.json").read_text(encoding="utf-8"))
    model = fields["model"]
    words = {*QWEN_3, *LLAMA, *MISTRAL_V3} & set(model["vocab"])
    model["vocab"] = {word: id for word, id in model["vocab"].items() if word not in words}
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    model["merges"] = [pair for pair in pairs if not words & {*pair, "".join(pair)}]
    return fields


def make_tokenizer(template, control, bos, eos):
    from transformers import PreTrainedTokenizerFast

    first = 1 + max(vocabulary()["model"]["vocab"].values())
    added = [
        {"id": first + index, "content": token, "special": "think" not in token, "normalized": False,
         "single_word": False, "lstrip": False, "rstrip": False}
        for index, token in enumerate(control)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({**vocabulary(), "added_tokens": added}, file)
        file.flush()
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=file.name)
    tokenizer.bos_token, tokenizer.eos_token = bos, eos
    tokenizer.chat_template = template
    return tokenizer


def make_renamed(template, control, bos, eos):
    """The same ids, but the control tokens have names that nobody types."""
    names = {token: f"<<{index:03}>>" for index, token in enumerate(control)}
    for token in sorted(control, key=len, reverse=True):
        template = template.replace(token, names[token])
    return make_tokenizer(template, list(names.values()), names.get(bos), names.get(eos))


def draw_content(generator, texts, control, role):
    """A plain or difficult content; in some a control token is typed."""
    edges = ["", "", " ", "\n", "\n\n", "\t ", "\u00a0", "\u3000\n", "\u0085", "\x1c", "\u2028 ", "\v", "\f\v", "\u200b", "\ue000"]
    kind = generator.random()
    if kind < 0.1:
        return generator.choice(["", " ", "\n", "\u00a0 \n"])
    if kind < 0.2:
        return generator.choice(["Grüße, 世界! 🙂", "e\u0301te\u0301 \u212b", "नमस्ते\u200d", "a\u2003b\u00a0c\vd\x1fe", "'\"\\n{{ x }}{% y %}"])
    text = generator.choice(edges) + generator.choice(texts)[:300] + generator.choice(edges)
    if kind < 0.5:
        # Templates may look for these in answers.
        usable = [token for token in control if role != "assistant" or not any(mark in token for mark in ("think", "channel"))]
        token = generator.choice(usable)
        text = generator.choice([token + text, text + token, f"{text} {token}{token}\n{generator.choice(usable)} {text}"])
    return text


def draw_chats(generator, texts, control):
    chats = []
    for index in range(NUM_CHATS):
        roles = ["user", "assistant"] * 3
        roles = ["system"] * (index % 2) + roles[: generator.choice([1, 1, 3, 3, 5])]
        chats.append([{"role": role, "content": draw_content(generator, texts, control, role)} for role in roles])
    return chats


def reasoning_chats(texts):
    """Answers with the model's own reasoning, which the template sees."""
    chats = []
    for count, text in enumerate(texts[:20]):
        answer = {"role": "assistant", "content": f"<think>\n{text}\n</think>\n\n{text}"}
        user = {"role": "user", "content": text}
        chats.append([user, answer] * (count % 3) + [user])
    return chats


TOOLS = [
    {"type": "function", "function": {
        "name": "weather", "description": "The weather \"now\" in a city: 'é', 世界 \n or <|im_end|> [INST]",
        "parameters": {"type": "object", "required": ["city"], "properties": {
            "city": {"type": "string", "enum": ["Köln", "<|eot_id|>"]},
            "height": {"type": "number", "default": 1.0, "minimum": 1e-7, "maximum": 48.8566130001},
            "days": {"type": "array", "items": {"type": "integer"}, "default": []}}}}},
    {"type": "function", "function": {
        "name": "lamp", "description": "Switches a lamp.", "parameters": {"type": "object", "properties": {}}}},
]


def tool_chats(texts, has_system):
    """Conversations in which functions were called, also several in one message."""
    generator = random.Random(5)

    def call(index, name, arguments):
        return {"id": f"call{index:05}", "type": "function", "function": {"name": name, "arguments": arguments}}

    chats = []
    for index in range(20):
        text = generator.choice(texts)[:80]
        calls = [call(index, "weather", {"city": text + "</s>[INST]", "height": generator.choice([0.1, 2.0, 1e22, 48.8566130001]),
                                         "deep": [{"a": None, "b": [True, -7]}, {}]})]
        if index % 2:
            calls.append(call(100 + index, "lamp", {}))
        chat = [{"role": "user", "content": text}, {"role": "assistant", "content": "", "tool_calls": calls}]
        chat += [{"role": "tool", "content": f'{{"degrees": {n}}} {text}', "tool_call_id": one["id"]}
                 for n, one in enumerate(calls)]
        if index % 3 == 0 and index % 5:
            chat.append({"role": "user", "content": "Never mind."})
        elif index % 3:
            chat += [{"role": "assistant", "content": text}, {"role": "user", "content": "<|im_end|> and [/INST]?"}]
        if has_system and index % 4 == 0:
            chat = [{"role": "system", "content": text}, *chat]
        chats.append(chat if index else [{"role": "user", "content": text}])
    return chats


def with_single_calls(chat):
    result = []
    for message in chat:
        for count, call in enumerate(message.get("tool_calls", [])):
            result.append({**message, "content": message["content"] if count == 0 else "", "tool_calls": [call]})
            result += [other for other in chat if other.get("tool_call_id") == call["id"]]
        if "tool_calls" not in message and message["role"] != "tool":
            result.append(message)
    return result


def with_empty_answers(chat):
    result = []
    for message in chat:
        if message["role"] == "user" and result and result[-1]["role"] == "tool":
            result.append({"role": "assistant", "content": ""})
        result.append(message)
    return result


# Templates that show the first of several calls in a message, and no other.
ONE_CALL = {"gpt-oss"}


def renamed_ids(name, tokenizer, chat):
    """As the template has it; where it refuses that, in the order that it takes."""
    from jinja2.exceptions import TemplateError

    orders = (lambda whole: whole, with_single_calls, with_empty_answers)
    for arrange in orders[1:] if name in ONE_CALL else orders:
        try:
            return rendered_ids(tokenizer, arrange(chat))
        except TemplateError:
            pass
    raise AssertionError(f"no order is taken: {chat}")


def rendered_ids(tokenizer, chat):
    ids = tokenizer.apply_chat_template(chat, tools=TOOLS, add_generation_prompt=True, tokenize=True)
    return list(ids if isinstance(ids, list) else ids["input_ids"])


def check_tools(name, template, folder, renamed, texts):
    """Functions and their calls, as apply_chat_template renders them."""
    if "tools" not in template:
        return 0
    chats = tool_chats(texts, has_system=True)
    expected = [renamed_ids(name, renamed, chat) for chat in chats]
    rows = [{"messages": chat, "tools": TOOLS} for chat in chats]
    ours = [row["token_ids"] for row in predgen_tokenize(folder, rows)]
    spoiled = [row["token_ids"] for row in predgen_tokenize(folder, [{**row, "tools": TOOLS[:1]} for row in rows])]
    return compare(f"{name}, with tools", chats, ours, expected) + sum(a == b for a, b in zip(spoiled, expected))


def with_merged_system(chat):
    """What stands in for a system message that the template refuses."""
    if len(chat) < 2 or chat[0]["role"] != "system":
        return chat
    return [{"role": "user", "content": chat[0]["content"] + "\n\n" + chat[1]["content"]}, *chat[2:]]


def expected_ids(tokenizer, chat):
    from jinja2.exceptions import TemplateError

    try:
        return chat_ids(tokenizer, chat)
    except TemplateError:
        return chat_ids(tokenizer, with_merged_system(chat))


def check_family(name, family, texts, work):
    template, control, bos, eos = family
    if isinstance(template, Path):
        template = (TEMPLATES / template).read_text(encoding="utf-8")
    generator = random.Random(name)
    plain = make_tokenizer(template, control, bos, eos)
    renamed = make_renamed(template, control, bos, eos)
    chats = draw_chats(generator, texts, control)
    expected = [expected_ids(renamed, chat) for chat in chats]
    # Without typed tokens the renamed reference is the real one.
    untyped = [not any(token in message["content"] for token in control for message in chat) for chat in chats]
    assert sum(untyped) >= 3 and len({*map(str, chats)}) >= 20
    errors = compare(
        f"{name}, the renamed reference itself",
        [chat for chat, is_plain in zip(chats, untyped) if is_plain],
        [ids for ids, is_plain in zip(expected, untyped) if is_plain],
        [expected_ids(plain, chat) for chat, is_plain in zip(chats, untyped) if is_plain],
    )
    if "</think>" in control:
        reasoning = reasoning_chats(texts)
        chats += reasoning
        expected += [expected_ids(plain, chat) for chat in reasoning]
    folder = work / name
    plain.save_pretrained(folder)
    rows = [{"messages": chat} for chat in chats]
    ours = [row["token_ids"] for row in predgen_tokenize(folder, rows)]
    errors += compare(name, chats, ours, expected)
    fault = work / "fault.jinja"
    fault.write_text(template + "{{ ' ' }}", encoding="utf-8")  # planted: must change every row
    spoiled = [row["token_ids"] for row in predgen_tokenize(folder, rows, "--chat-template", str(fault))]
    errors += check_tools(name, template, folder, renamed, texts)
    return errors + sum(a == b for a, b in zip(spoiled, expected))


def main():
    assert TEMPLATES, "the environment has no templates; run scripts/setup.sh"
    texts = sorted(set(strings_in([read_jsonl(path) for path in sorted(SAMPLES.glob("*.jsonl"))])))
    random.Random(3).shuffle(texts)
    day = datetime.date.today()
    with tempfile.TemporaryDirectory() as work:
        errors = sum(check_family(name, family, texts, Path(work)) for name, family in FAMILIES.items())
    if day != datetime.date.today():
        return main()  # templates that print the date changed in between
    print(f"{errors} differences")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
