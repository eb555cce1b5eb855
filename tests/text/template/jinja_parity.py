"""Compares our Jinja with Jinja2, set up as transformers sets it up: expressions and small templates
(jinja_expressions.py), whole templates of families with several conversations (jinja_families.py), the models' own
templates that set-up fetches, and what no budget allows (jinja_bombs.py).

usage: jinja_parity.py [--verbose]      RENDER_TEMPLATES names the program that renders
"""
import json
import os
import pathlib
import subprocess
import sys

from jinja2.exceptions import TemplateError
from transformers.utils.chat_template_utils import _compile_jinja_template

import jinja_bombs
import jinja_conversations
import jinja_expressions
import jinja_families

# What we refuse by name, though Jinja2 renders it: its meaning is another machine's, or it is of HTML.
REFUSED = {"2 ** 200", "lipsum()", "{{ \"\\N{BULLET}\" }}", "html | striptags", "'abc'.encode()",
           "{% autoescape true %}{{ html }}{% endautoescape %}", "{{ self.b() }}{% block b %}x{% endblock %}"}


FORMS_OF_CALLS = {
    "Qwen-Qwen2.5-7B-Instruct": "hermes", "Qwen-Qwen3-0.6B": "hermes",
    "Qwen3-Coder": "xml", "Qwen3.5-4B": "xml", "meta-llama-Llama-3.1-8B-Instruct": "llama",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral", "Mistral-Small-3.2-24B-Instruct-2506": "mistral",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "LFM2-8B-A1B": "python", "LFM2.5-8B-A1B": "python", "LFM2.5-Instruct": "python",
    "HuggingFaceTB-SmolLM3-3B": "hermes",  # as Unsloth changed it: it shows no tools
    "google-gemma-4-31B-it": "gemma", "google-gemma-4-31B-it-interleaved": "gemma", "openai-gpt-oss-120b": "harmony",
    "google-gemma-2-2b-it": "hermes"}  # it shows no tools: they are told of in the system message


class Renderer:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["RENDER_TEMPLATES"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, encoding="utf-8")

    def render(self, template, variables, ms=60_000):
        """Other work on the machine is no reason to fail: only bombs are given less time."""
        return self.ask({"template": template, "variables": variables, "ms": ms})

    def form_of_calls(self, template, tokens):
        return self.ask({"template": template, "tokens": tokens}).get("calls")

    def ask(self, line):
        template = line["template"]
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the program ended at {template[:500]!r}"
        return json.loads(line)


def by_jinja2(template, variables):
    """The text, or None and why."""
    try:
        return _compile_jinja_template(template).render(**variables), None
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RuntimeError, AssertionError,
            SyntaxError) as error:
        return None, f"{type(error).__name__}: {error}"


def differs(renderer, name, template, variables):
    """Prints a difference; a refusal of what Jinja2 renders is one unless REFUSED has it."""
    expected, why = by_jinja2(template, variables)
    ours = renderer.render(template, variables)
    text = ours.get("text")
    if text == expected and (text is not None or "error" in ours):
        assert "\n" not in ours.get("error", ""), ours
        return 0
    if text is None and name in REFUSED and "support" in ours["error"] or name in REFUSED and "128 bits" in ours.get("error", ""):
        return 0
    print(f"DIFFERENT {name[:300]}\n  Jinja2 {expected!r} {why or ''}\n  here   {text!r} {ours.get('error', '')}"[:3000])
    return 1


def check_expressions(renderer):
    errors = 0
    for expression in jinja_expressions.EXPRESSIONS:
        errors += differs(renderer, expression, "{{ " + expression + " }}", jinja_expressions.VARIABLES)
    for template in jinja_expressions.TEMPLATES:
        errors += differs(renderer, template, template, jinja_expressions.VARIABLES)
    return errors, len(jinja_expressions.EXPRESSIONS) + len(jinja_expressions.TEMPLATES)


def own_templates():
    """The models' own templates in the environment: name -> text."""
    folders = sorted(pathlib.Path(sys.prefix, "share").glob("llama-jinja-*/templates"))
    return {path.stem: path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.glob("*.jinja"))}


def check_families(renderer, templates, kind):
    errors = count = 0
    for name, template in templates.items():
        num_rendered = 0
        for case, variables in jinja_conversations.cases():
            if kind == "their" and not variables["add_generation_prompt"]:
                continue
            count += 1
            num_rendered += by_jinja2(template, variables)[0] is not None
            errors += differs(renderer, f"{kind} {name}, {case}", template, variables)
        # Some of the fetched ones want what only their own programs give them.
        assert num_rendered >= 3 or kind == "their", f"{name} renders only {num_rendered} of the conversations"
    return errors, count


def check_calls(renderer):
    """The form in which models' own templates show calls of functions."""
    templates, errors = own_templates(), 0
    for name, form in FORMS_OF_CALLS.items():
        found = renderer.form_of_calls(templates[name], ["<|tool_call_start|>", "<|tool_call_end|>"] if name.startswith("LFM") else [])
        if found != form:
            print(f"CALLS {name}: {found}, not {form}")
        errors += found != form
    return errors, len(FORMS_OF_CALLS)


def check_bombs(renderer):
    """Each ends soon, with the kind of error that is for it; the program goes on."""
    errors = 0
    for name, template in jinja_bombs.BOMBS.items():
        ours = renderer.render(template, jinja_expressions.VARIABLES, ms=150)
        is_right = ours.get("kind") in ("costly", "refused") and ours["seconds"] < 2 and "\n" not in ours["error"]
        if not is_right:
            print(f"BOMB {name}: {str(ours)[:300]}")
        errors += not is_right
    peak = pathlib.Path(f"/proc/{renderer.process.pid}/status").read_text()
    megabytes = int(next(line.split()[1] for line in peak.splitlines() if line.startswith("VmHWM"))) // 1024
    if megabytes > 700:
        print(f"BOMBS took {megabytes} MB")
        errors += 1
    return errors, len(jinja_bombs.BOMBS)


def main():
    renderer = Renderer()
    # A planted fault: what differs must be seen.
    assert differs(renderer, "planted", "{{ 1 }}{{ strftime_now('%Y') }}", {}) == 0
    assert by_jinja2("{{ 'x' }}", {})[0] != renderer.render("{{ 'y' }}", {})["text"]
    assert len(jinja_expressions.EXPRESSIONS) + len(jinja_expressions.TEMPLATES) >= 200
    assert len(jinja_families.TEMPLATES) >= 40
    errors = 0
    for name, check in [("small templates", lambda: check_expressions(renderer)),
                        ("families", lambda: check_families(renderer, jinja_families.TEMPLATES, "our")),
                        ("fetched templates", lambda: check_families(renderer, own_templates(), "their")),
                        ("forms of calls", lambda: check_calls(renderer)),
                        ("bombs", lambda: check_bombs(renderer))]:
        wrong, count = check()
        print(f"{name}: {count} rendered, {wrong} differ")
        errors += wrong
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
