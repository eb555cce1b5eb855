"""Models that think before they answer: only on request, and apart from what is said."""

import json
import sys
import tempfile
from pathlib import Path

from program import check, run
from serving import MODEL, PROMPTS, client, server, user

# As Qwen3's, which closes an empty thought if there is to be none; and, as others', one that begins the thought.
CLOSES = """{%- for m in messages -%}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' -}}{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}
{%- if enable_thinking is defined and not enable_thinking -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}{%- endif -%}"""
OPENS = CLOSES.replace("enable_thinking is defined and not enable_thinking", "enable_thinking") \
              .replace("<think>\\n\\n</think>\\n\\n", "<think>\\n")


def chat(template, *arguments):
    result = run("chat", *MODEL, "--chat-template", template, "--max-new-tokens", "24", *arguments, "--json",
                 input=PROMPTS[0] + "\n" + PROMPTS[1] + "\n")
    check(result.returncode == 0, f"chat {result.stderr[-300:]}")
    return json.loads(result.stdout)["turns"]


def main(scratch):
    closes, opens = scratch / "closes.jinja", scratch / "opens.jinja"
    closes.write_text(CLOSES)
    opens.write_text(OPENS)

    # The demo model never closes a thought that the prompt has begun.
    silent = chat(opens, "--think")
    check(all(turn["thought"] and not turn["text"] and not turn["first_sentence"] and turn["ttfs"] is None
              for turn in silent), f"what is thought is not said: {silent}")
    spoken = chat(opens)
    check(all(turn["text"] and not turn["thought"] for turn in spoken), f"by default nothing is thought: {spoken}")
    for template, arguments in ((opens, []), (opens, ["--think"]), (closes, [])):
        drafted, plain = chat(template, *arguments), chat(template, *arguments, "--verifier", "off")
        check([turn["token_ids"] for turn in drafted] == [turn["token_ids"] for turn in plain],
              "drafts change nothing")

    with server("--chat-template", opens) as process:
        api = client(process)
        ask = {"model": "demo", "messages": user(PROMPTS[0]), "max_tokens": 24}

        def answer(**more):
            return api.chat.completions.create(**ask, **more).choices[0].message

        plain = answer()
        check(plain.content and not hasattr(plain, "reasoning_content"), f"{plain}")
        for off in ({"reasoning_effort": "none"}, {"extra_body": {"enable_thinking": False}},
                    {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}):
            check(answer(**off) == plain, f"{off}")
        thought = answer(reasoning_effort="low")
        check(thought.content == "" and thought.reasoning_content, f"{thought}")
        for on in ({"extra_body": {"think": True}}, {"extra_body": {"chat_template_kwargs": {"enable_thinking": True}}}):
            check(answer(**on) == thought, f"{on}")
        chunks = list(api.chat.completions.create(**ask, reasoning_effort="low", stream=True))
        streamed = "".join(getattr(chunk.choices[0].delta, "reasoning_content", "") for chunk in chunks)
        check(streamed == thought.reasoning_content, f"{streamed}")
        usage = api.chat.completions.create(**ask, reasoning_effort="low").usage
        check(usage.completion_tokens_details.reasoning_tokens > 0, f"{usage}")
    with server("--chat-template", opens, "think=true") as process:
        check(client(process).chat.completions.create(**ask).choices[0].message == thought, "by the configuration")


with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
