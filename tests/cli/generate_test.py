"""`predgen generate` against transformers' greedy decoding: stop tokens, decoders, sampling, errors."""

import json
import re
import sys
import tempfile
from pathlib import Path

from program import REPOSITORY, run
from reference_models import make_config, make_model
from tiny_model import make_draft_model, make_folder
from tool_model import ARGUMENTS, FUNCTION, make_tool_model
import torch


DEMO = REPOSITORY / "checkpoints" / "demo"


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def generate(folder, *arguments):
    result = run("generate", "--model", folder, "--threads", "2", "--json", *arguments)
    check(result.returncode == 0, result.stderr)
    return json.loads(result.stdout)["results"]


def expected_ids(model, prompt, num_new, stop):
    ids = list(prompt)
    with torch.no_grad():
        for _ in range(num_new):
            ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
            if ids[-1] in stop:
                break
    return ids[len(prompt):]


def without_tokenizer(scratch):
    folder = scratch / "bare"
    model = make_model(make_config(num_hidden_layers=2, eos_token_id=5))
    model.save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [11, 12]}))
    rows = scratch / "rows.jsonl"
    prompts = [[(7 * i + j * j) % 199 for j in range(1 + i)] for i in range(12)]
    rows.write_text("".join(json.dumps({"token_ids": prompt}) + "\n" for prompt in prompts))
    distinct = set()
    plain = generate(folder, "--input", rows, "--max-new-tokens", "24")
    jacobi = generate(folder, "--input", rows, "--max-new-tokens", "24", "--decoder", "jacobi",
                      "--block-size", "6")
    for prompt, result, other in zip(prompts, plain, jacobi, strict=True):
        want = expected_ids(model, prompt, 24, {11, 12})
        check(result["token_ids"] == want, f"{result} is not {want}")
        check(other["token_ids"] == want, f"jacobi: {other} is not {want}")
        check(result["num_forward_passes"] == len(want), str(result))
        check(other["num_forward_passes"] <= len(want), str(other))
        ended = want[-1] in (11, 12)
        check(result["stop_reason"] == ("stop_token" if ended else "max_new_tokens"), str(result))
        check(list(result) == ["token_ids", "text", "num_forward_passes", "num_draft_model_passes",
                               "stop_reason"], str(result))
        distinct.update(want)
    check(len(distinct) >= 20, f"only {len(distinct)} distinct tokens")

    # The stop ids of generation_config.json, and without it those of config.json.
    # A prompt whose answer begins with different tokens, so that a stop id stops where it should.
    start, first = next((prompt, ids) for prompt in ([i, i + 1, i + 2] for i in range(190))
                        for ids in [expected_ids(model, prompt, 24, set())]
                        if len(set(ids[:4])) == 4)
    start = ",".join(map(str, start))
    for file, stop in (("generation_config.json", first[3]), ("config.json", first[2])):
        content = json.loads((folder / file).read_text())
        content["eos_token_id"] = stop
        (folder / file).write_text(json.dumps(content))
        result = generate(folder, "--token-ids", start)[0]
        check(result["token_ids"] == first[: first.index(stop) + 1], f"{file}: {result}")
        check(result["stop_reason"] == "stop_token", str(result))
        (folder / "generation_config.json").unlink(missing_ok=True)

    full = generate(folder, "--token-ids", ",".join(["9"] * 250), "--max-new-tokens", "50")[0]
    check(len(full["token_ids"]) == 7 or full["stop_reason"] == "stop_token", str(full))

    sampling = ["--token-ids", start, "--max-new-tokens", "16", "--temperature", "5"]
    once = generate(folder, *sampling, "--seed", "1")
    check(once == generate(folder, *sampling, "--seed", "1"), "the same seed draws the same")
    check(once != generate(folder, *sampling, "--seed", "2"), "another seed draws otherwise")
    guessed = generate(folder, *sampling, "--seed", "1", "--decoder", "jacobi")
    check(guessed[0]["token_ids"] == once[0]["token_ids"], "Jacobi decoding draws the same")
    cold = generate(folder, "--token-ids", start, "--top-k", "1", "--max-new-tokens", "3")
    check(cold[0]["token_ids"] == first[:3], f"top-k 1 is greedy: {cold[0]}, {first[:3]}")

    # What Qwen2.5 ships: nothing to greedy decoding, the defaults of sampling.
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(dict(config, eos_token_id=None)))
    greedy = ["--token-ids", start, "--max-new-tokens", "20"]
    (folder / "generation_config.json").write_text(json.dumps(
        {"do_sample": True, "repetition_penalty": 1e9, "temperature": 0.01, "top_k": 20}))
    check(generate(folder, *greedy)[0]["token_ids"] == first[:20], "greedy has no penalty")
    drawn = generate(folder, *greedy, "--top-k", "1")[0]
    ids = [int(id) for id in start.split(",")] + drawn["token_ids"]
    check(len(set(ids)) == len(ids), f"a penalty without end lets nothing repeat: {ids}")
    kept = generate(folder, "--token-ids", start, "--top-k", "1", "--repetition-penalty", "1",
                    "--max-new-tokens", "3")[0]
    check(kept["token_ids"] == first[:3], "the flag is stronger than the file")
    (folder / "generation_config.json").write_text(json.dumps({"typical_p": 0.1}))
    check(generate(folder, *greedy)[0]["token_ids"] == first[:20], "greedy needs no typical_p")
    refused = run("generate", "--model", folder, "--token-ids", "1", "--temperature", "1")
    check(refused.returncode == 2 and "typical_p" in refused.stderr, refused.stderr)
    (folder / "generation_config.json").unlink()
    return folder


def with_tokenizer(scratch):
    folder = make_folder(scratch)
    messages = scratch / "messages.json"
    messages.write_text(json.dumps([{"role": "user", "content": "play some music"}]))
    for arguments in (["--messages", messages], ["--user", "play some music"], ["--prompt", "play some"]):
        result = generate(folder, *arguments, "--max-new-tokens", "12")[0]
        check(0 < len(result["token_ids"]) <= 12, str(result))
        check(isinstance(result["text"], str), str(result))
    said = ["--user", "play some music", "--max-new-tokens", "12"]
    check(generate(folder, *said) == generate(folder, "--messages", messages, "--max-new-tokens", "12"),
          "--user is a message")
    shown = run("generate", "--model", folder, "--prompt", "play some", "--max-new-tokens", "12")
    check(shown.stdout == result["text"] + "\n", f"{shown.stdout!r} is not {result['text']!r}")
    special = generate(folder, "--prompt", "<|im_end|>", "--parse-special", "--max-new-tokens", "4")
    check(special != generate(folder, "--prompt", "<|im_end|>", "--max-new-tokens", "4"),
          "--parse-special makes no difference")


def with_draft_model(scratch):
    demo = REPOSITORY / "checkpoints" / "demo"
    draft = make_draft_model(scratch, demo)
    prompt = ["--prompt", "I want to book a table for two", "--max-new-tokens", "24"]
    drafted = 0  # by costs that are measured, so it may be nothing on a busy machine
    for more in ([], ["--decoder", "jacobi"], ["--temperature", "1", "--seed", "3"], ["--seed", "4"],
                 ["--repetition-penalty", "1.5"]):
        want = generate(demo, *prompt, *more)[0]
        got = generate(demo, *prompt, *more, "--draft-model", draft)[0]
        check(got["token_ids"] == want["token_ids"], f"{more}: a draft model changes the text")
        check(want["num_draft_model_passes"] == 0, f"{more}: {want}")
        drafted += got["num_draft_model_passes"]
    check(drafted > 0, "a draft model never drafts")
    for folder, parts in ((scratch / "model", ("another tokenizer", f"{scratch}/model", str(demo))),
                          (scratch / "none", (f"{scratch}/none",))):
        refused = run("generate", "--model", demo, *prompt, "--draft-model", folder)
        check(refused.returncode == 2 and refused.stdout == "" and refused.stderr.count("\n") == 1 and
              all(part in refused.stderr for part in parts), refused.stderr)


def bad_options(folder):
    for arguments, part in (
            ([], "one of --user, --prompt"),
            (["--token-ids", "1", "--prompt", "a"], "one of --user, --prompt"),
            (["--user", "a", "--prompt", "a"], "one of --user, --prompt"),
            (["--token-ids", "1,500"], "500"),
            (["--token-ids", "1", "--decoder", "beam"], "{ar,jacobi}"),
            (["--token-ids", "1", "--top-p", "2"], "top-p"),
            (["--token-ids", "1", "--min-p", "2"], "min-p"),
            (["--token-ids", "1", "--repetition-penalty", "0"], "repetition penalty"),
            (["--token-ids", "1", "--max-new-tokens", "0"], "max-new-tokens"),
            (["--token-ids", ",".join(["1"] * 300)], "256"),
            (["--prompt", "hello"], "tokenizer")):
        result = run("generate", "--model", folder, *arguments)
        check(result.returncode == 2, f"{arguments}: exit code {result.returncode}")
        check(part in result.stderr and result.stderr.count("\n") == 1, result.stderr)
        check(result.stdout == "", result.stdout)


def as_clients_send_them(scratch):
    """Messages as a chat request has them, in the commands that read files of them."""
    folder = make_tool_model(scratch / "tools")
    call = {"id": "c", "type": "function", "function": {"name": "switch_lamp", "arguments": json.dumps(ARGUMENTS)}}
    tools = [{"type": "function", "function": FUNCTION}]
    result = {"role": "tool", "content": "done", "tool_call_id": "c"}

    def written(request):
        file = scratch / "request.json"
        file.write_text(json.dumps(request))
        return file

    def ids(request):
        shown = run("tokenize", "--model", folder, "--messages", written(request), "--json")
        rows = scratch / "rows.jsonl"
        rows.write_text(json.dumps(request if isinstance(request, dict) else {"messages": request}) + "\n")
        listed = run("tokenize", "--model", folder, "--input", rows, "--json")
        check(shown.returncode == 0 and listed.returncode == 0, shown.stderr + listed.stderr)
        check(shown.stdout == listed.stdout, "a file of messages and a row are the same")
        return json.loads(shown.stdout)["results"][0]["token_ids"]

    plain = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "one two"},
             {"role": "assistant", "content": "", "tool_calls": [call]}, result]
    sent = [{"role": "developer", "content": "Be short."},
            {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    check(ids(sent) == ids(plain), "developer, parts of text, null beside calls")
    by_hand = {"name": "switch_lamp", "arguments": ARGUMENTS}
    check(ids([*plain[:2], {"role": "assistant", "tool_calls": [{"function": by_hand}]},
               {"role": "tool", "content": "done"}]) == ids(plain), "written by hand")
    logged = {"model": "lamp", "temperature": 0, "messages": plain[:2], "tools": tools}
    check(len(ids(logged)) > len(ids(plain[:2])), "the tools of a request are shown")
    check(ids({**logged, "tool_choice": "none"}) == ids(plain[:2]), "unless it asks for no calls")
    said = generate(folder, "--messages", written({"messages": [{"role": "user", "content": "lamp"}], "tools": tools}))[0]
    check("switch_lamp" in said["text"], f"the model calls: {said}")
    for wrong, part in (([{"role": "narrator", "content": "x"}], "messages[0].role"),
                        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content"),
                        ({"messages": plain[:2], "tools": 3}, "tools")):
        refused = run("tokenize", "--model", folder, "--messages", written(wrong))
        check(refused.returncode == 2 and "request.json: " in refused.stderr and part in refused.stderr and
              refused.stderr.count("\n") == 1, refused.stderr)


def in_a_form(scratch):
    """Answers within a schema, an expression, a grammar; the same text with every decoder."""
    schema, grammar = scratch / "lamp.json", scratch / "sum.gbnf"
    lamp = {"type": "object", "properties": {"room": {"enum": ["kitchen", "hall"]}, "on": {"type": "boolean"}},
            "required": ["room", "on"], "additionalProperties": False}
    schema.write_text(json.dumps(lamp))
    grammar.write_text('root ::= [0-9] " + " [0-9]\n')
    forms = {("--json-schema", schema): r'\{"room": "(kitchen|hall)", "on": (true|false)\}',
             ("--regex", "(north|south)-[a-f]{3}"): r"(north|south)-[a-f]{3}",
             ("--grammar", grammar): r"[0-9] \+ [0-9]"}
    for form, pattern in forms.items():
        said = [generate(DEMO, "--user", "Hi", "--max-new-tokens", "60", *form, *more)[0]
                for more in ((), ("--decoder", "jacobi"), ("--temperature", "1", "--seed", "3"))]
        check(all(re.fullmatch(pattern, one["text"]) for one in said), f"{form}: {said}")
        check(said[0]["text"] == said[1]["text"], f"{form}: another decoder, the same text")
        check(said[0]["num_forward_passes"] < len(said[0]["token_ids"]) or form[0] != "--json-schema",
              f"what must come takes no pass: {said[0]}")
    schema.write_text('{"type": "array", "uniqueItems": true}')
    for arguments, part in ((("--json-schema", schema), "uniqueItems"), (("--regex", "(a"), "--regex"),
                            (("--json-schema", scratch / "none"), "none"),
                            (("--regex", "a", "--grammar", grammar), "one of")):
        result = run("generate", "--model", DEMO, "--user", "Hi", *arguments)
        check(result.returncode == 2 and part in result.stderr and result.stderr.count("\n") == 1, result.stderr)


with tempfile.TemporaryDirectory() as name:
    in_a_form(Path(name))
    as_clients_send_them(Path(name))
    bad_options(without_tokenizer(Path(name)))
    with_tokenizer(Path(name))
    with_draft_model(Path(name))
print("generate: ok")
