"""Compares `predgen tokenize` with PyPI `tokenizers` and `transformers`, live, on real texts.

They and the Qwen2 vocabulary come from the shared data folder (PREDGEN_SHARED). Every
comparison is also run against a tokenizer with one planted fault, which must be noticed.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("PREDGEN_SHARED", REPOSITORY.parent / "shared"))
PREDGEN = os.environ.get("PREDGEN", str(REPOSITORY / "build" / "predgen"))
DATA = SHARED / "data"
QWEN2 = DATA / "tokenizers" / "qwen2"
NUM_TEXTS, NUM_ID_ROWS = 2000, 200

CHAT_ML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
QWEN2_TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
QWEN25_TEMPLATE = r"""{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'You are Qwen, created by Alibaba Cloud. You are a helpful assistant.' }}
    {%- endif %}
    {{- "\n\n# Tools\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools>\n<tool_call>\n{\"name\": <function-name>}\n</tool_call><|im_end|>\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\n' + message.content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' }}
        {{- message.content }}
        {{- '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def read_jsonl(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def strings_in(value):
    """Every string inside a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from strings_in(item)


def draw_texts(generator):
    files = ["sgd/dev.jsonl", "gsm8k/test.jsonl", "mmlu_pro/test.jsonl", "mt_bench/question.jsonl"]
    sources = [sorted(set(strings_in(read_jsonl(DATA / name)))) for name in files]
    asr = json.loads((DATA / "asr" / "simulated_inputs.json").read_text(encoding="utf-8"))
    sources.append(sorted(set(strings_in(asr))))
    per_source = NUM_TEXTS // len(sources)
    texts = []
    for source in sources:
        texts += generator.sample(source, min(per_source, len(source)))
    rest = sorted(set().union(*sources) - set(texts))
    return texts + generator.sample(rest, NUM_TEXTS - len(texts))


def predgen_tokenize(folder, rows, *flags):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        file.flush()
        command = [PREDGEN, "tokenize", "--model", str(folder), "--input", file.name, "--json", *flags]
        result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{result.stderr.decode(errors='replace')}")
    results = json.loads(result.stdout)["results"]
    assert len(results) == len(rows), f"{len(rows)} rows gave {len(results)} results"
    return results


def compare(name, inputs, ours, expected):
    """The number of differences, the first three printed."""
    different = [i for i, (a, b) in enumerate(zip(ours, expected, strict=True)) if a != b]
    for i in different[:3]:
        print(f"  {name}: {str(inputs[i])[:300]!r}\n    ours     {str(ours[i])[:500]}\n    expected {str(expected[i])[:500]}")
    print(f"{name}: {len(inputs) - len(different)} of {len(inputs)} equal")
    return len(different)


def compare_texts(folder, reference, texts, name):
    ours = predgen_tokenize(folder, [{"prompt": text} for text in texts])
    ids = [encoding.ids for encoding in reference.encode_batch(texts, add_special_tokens=False)]
    encoded = compare(f"{name}, encoded", texts, [row["token_ids"] for row in ours], ids)
    decoded = compare(f"{name}, decoded", texts, [row["text"] for row in ours], reference.decode_batch(ids))
    return encoded + decoded


def check_vectors():
    vectors = read_jsonl(QWEN2 / "vectors.jsonl")
    assert len(vectors) == 47, f"{len(vectors)} vectors"
    ours = predgen_tokenize(QWEN2, [{"prompt": vector["text"]} for vector in vectors])
    texts = [vector["text"] for vector in vectors]
    return compare("vectors", texts, [row["token_ids"] for row in ours], [v["ids"] for v in vectors])


def check_decoding(reference, generator):
    """Random ids: most rows hold ill-formed UTF-8, some hold special tokens."""
    rows = [generator.choices(range(reference.get_vocab_size()), k=generator.randint(1, 40)) for _ in range(NUM_ID_ROWS)]
    bytes_only = [generator.choices(range(256), k=generator.randint(1, 12)) for _ in range(NUM_ID_ROWS)]
    rows += bytes_only + [[151645, 9707, 151643], [151644]]
    ours = predgen_tokenize(QWEN2, [{"token_ids": row} for row in rows])
    return compare("random ids, decoded", rows, [row["text"] for row in ours], reference.decode_batch(rows))


def check_special(reference, texts):
    """Typed control tokens are text; with --parse-special they are control tokens."""
    typed = [f"{text[:40]}<|im_end|>\n<|im_start|>system\n{text[-40:]}<|endoftext|>" for text in texts[:100]]
    rows = [{"prompt": text} for text in typed]
    parsed = [row["token_ids"] for row in predgen_tokenize(QWEN2, rows, "--parse-special")]
    expected = [encoding.ids for encoding in reference.encode_batch(typed, add_special_tokens=False)]
    errors = compare("--parse-special", typed, parsed, expected)
    reference.encode_special_tokens = True
    expected = [encoding.ids for encoding in reference.encode_batch(typed, add_special_tokens=False)]
    reference.encode_special_tokens = False
    plain = [row["token_ids"] for row in predgen_tokenize(QWEN2, rows)]
    errors += compare("typed control tokens", typed, plain, expected)
    errors += sum(max(ids) >= 151643 for ids in plain)
    return errors


def draw_chats(generator, texts):
    chats = []
    for index in range(60):
        turns = [generator.choice(texts) for _ in range(2 * generator.randint(0, 3) + 1)]
        roles = ["user", "assistant"] * len(turns)
        messages = [{"role": role, "content": turn} for role, turn in zip(roles, turns)]
        if index % 3 == 0:
            messages.insert(0, {"role": "system", "content": generator.choice(texts)})
        if index % 10 == 0:
            messages[-1]["content"] = generator.choice(["", "\n", " leading", "trailing \n\n", "\u0301mark"])
        chats.append(messages)
    return chats


def chat_ids(tokenizer, chat):
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=True)
    return list(ids if isinstance(ids, list) else ids["input_ids"])


def check_chats(generator, texts, work):
    from transformers import PreTrainedTokenizerFast

    chats = draw_chats(generator, texts)
    rendered, errors = {}, 0
    for name, template in (("ChatML", CHAT_ML), ("Qwen2", QWEN2_TEMPLATE), ("Qwen2.5", QWEN25_TEMPLATE)):
        folder = work / name
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(QWEN2 / "tokenizer.json"), eos_token="<|im_end|>")
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)
        ours = [row["token_ids"] for row in predgen_tokenize(folder, [{"messages": chat} for chat in chats])]
        expected = [chat_ids(tokenizer, chat) for chat in chats]
        errors += compare(f"{name} chats", chats, ours, expected)
        rendered[name] = ours
    # Otherwise the three would not tell the default system messages apart.
    assert rendered["ChatML"] != rendered["Qwen2"] != rendered["Qwen2.5"]
    return errors


def check_planted_fault(reference, texts, work):
    """One merge comes last instead of early: the comparison must notice."""
    fields = json.loads((QWEN2 / "tokenizer.json").read_text(encoding="utf-8"))
    merges = fields["model"]["merges"]
    merges.append(merges.pop(5))
    folder = work / "fault"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(fields), encoding="utf-8")
    print("planted fault (differences are expected):")
    return 0 if compare_texts(folder, reference, texts[:200], "one merge moved") else 1


def main():
    if not QWEN2.is_dir():
        skip(f"no {QWEN2}; set PREDGEN_SHARED")
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    from tokenizers import Tokenizer

    generator = random.Random(20)
    reference = Tokenizer.from_file(str(QWEN2 / "tokenizer.json"))
    texts = draw_texts(generator)
    with tempfile.TemporaryDirectory() as work:
        errors = check_vectors()
        errors += compare_texts(QWEN2, reference, texts, "shared texts")
        errors += check_decoding(reference, generator)
        errors += check_special(reference, texts)
        errors += check_chats(generator, texts, Path(work))
        errors += check_planted_fault(reference, texts, Path(work))
    print(f"{errors} differences")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
