"""Compares `predgen tokenize` with PyPI `tokenizers` and `transformers`, live, on real texts.

The vocabulary is that of Mistral's Tekken, which mistral-common carries, as a tokenizer.json of Qwen2's form;
where the reference data is there (PREDGEN_SHARED), also Qwen2's own with its vectors, and more texts. Every
comparison is also run against a tokenizer with one planted fault, which must be noticed.
"""

import base64
import json
import os
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import PREDGEN, REPOSITORY, run  # noqa: E402, F401

SHARED = Path(os.environ.get("PREDGEN_SHARED", REPOSITORY.parent / "shared"))
DATA = SHARED / "data"
QWEN2 = DATA / "tokenizers" / "qwen2"
NUM_TEXTS, NUM_ID_ROWS = 2000, 200
NUM_TEKKEN = 100000  # tokens taken of Tekken, the most frequent ones
CONTROLS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]  # the last three ids, as in Qwen2
QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

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


def make_tekken(folder):
    """Tekken's tokens in Qwen2's form: NFC, Qwen2's rule for splitting, byte-level BPE."""
    import mistral_common
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    file = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    tokens = json.loads(file.read_text(encoding="utf-8"))["vocab"][:NUM_TEKKEN]
    ranks = {base64.b64decode(token["token_bytes"]): token["rank"] for token in tokens}
    letters = bytes_to_unicode()

    def spell(token):
        return "".join(letters[byte] for byte in token)

    merges = []
    for token, rank in ranks.items():
        splits = [(token[:i], token[i:]) for i in range(1, len(token))]
        pairs = [pair for pair in splits if pair[0] in ranks and pair[1] in ranks]
        merges += [(rank, ranks[left], ranks[right], left, right) for left, right in pairs]
    merges = [(spell(left), spell(right)) for *_, left, right in sorted(merges)]
    made = Tokenizer(models.BPE({spell(token): rank for token, rank in ranks.items()}, merges))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(control, normalized=False) for control in CONTROLS])
    folder.mkdir()
    made.save(str(folder / "tokenizer.json"))
    return folder


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


def repository_texts():
    """Lines of the documentation, the sample dialogues, sentences of four other languages."""
    yield [line for file in sorted(REPOSITORY.glob("docs/*.md")) for line in file.read_text().splitlines() if line]
    yield strings_in(read_jsonl(REPOSITORY / "data" / "samples" / "dialogues.jsonl"))
    samples = sorted((REPOSITORY / "tests" / "voice" / "zonos" / "samples").glob("*.txt"))
    yield [line for file in samples for line in file.read_text(encoding="utf-8").splitlines()]


def shared_texts():
    for name in ("sgd/dev.jsonl", "gsm8k/test.jsonl", "mmlu_pro/test.jsonl", "mt_bench/question.jsonl"):
        yield strings_in(read_jsonl(DATA / name))
    yield strings_in(json.loads((DATA / "asr" / "simulated_inputs.json").read_text(encoding="utf-8")))


def draw_texts(generator, of_sources):
    sources = [sorted(set(source)) for source in of_sources]
    per_source = NUM_TEXTS // len(sources)
    texts = []
    for source in sources:
        texts += generator.sample(source, min(per_source, len(source)))
    rest = sorted(set().union(*sources) - set(texts))
    texts += generator.sample(rest, min(NUM_TEXTS - len(texts), len(rest)))
    assert len(texts) >= NUM_TEXTS // 2, f"only {len(texts)} texts"
    return texts


def predgen_tokenize(folder, rows, *flags):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        file.flush()
        result = run("tokenize", "--model", folder, "--input", file.name, "--json", *flags, binary_output=True)
    if result.returncode != 0:
        sys.exit(f"{result.args} failed:\n{result.stderr.decode(errors='replace')}")
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


def check_decoding(folder, reference, generator):
    """Random ids: most rows hold ill-formed UTF-8, some hold special tokens."""
    rows = [generator.choices(range(reference.get_vocab_size()), k=generator.randint(1, 40)) for _ in range(NUM_ID_ROWS)]
    bytes_only = [generator.choices(range(256), k=generator.randint(1, 12)) for _ in range(NUM_ID_ROWS)]
    controls = [reference.token_to_id(control) for control in CONTROLS]
    rows += bytes_only + [[controls[2], 9707, controls[0]], [controls[1]]]
    ours = predgen_tokenize(folder, [{"token_ids": row} for row in rows])
    return compare("random ids, decoded", rows, [row["text"] for row in ours], reference.decode_batch(rows))


def check_special(folder, reference, texts):
    """Typed control tokens are text; with --parse-special they are control tokens."""
    typed = [f"{text[:40]}<|im_end|>\n<|im_start|>system\n{text[-40:]}<|endoftext|>" for text in texts[:100]]
    rows = [{"prompt": text} for text in typed]
    parsed = [row["token_ids"] for row in predgen_tokenize(folder, rows, "--parse-special")]
    expected = [encoding.ids for encoding in reference.encode_batch(typed, add_special_tokens=False)]
    errors = compare("--parse-special", typed, parsed, expected)
    reference.encode_special_tokens = True
    expected = [encoding.ids for encoding in reference.encode_batch(typed, add_special_tokens=False)]
    reference.encode_special_tokens = False
    plain = [row["token_ids"] for row in predgen_tokenize(folder, rows)]
    errors += compare("typed control tokens", typed, plain, expected)
    errors += sum(max(ids) >= reference.token_to_id(CONTROLS[0]) for ids in plain)
    return errors


def shared_vocabularies():
    """Qwen2's folder of the reference data."""
    if QWEN2.is_dir():
        return [QWEN2]
    print(f"skipped: Qwen2's own vocabulary of the reference data, there is no {QWEN2}")
    return []


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


def check_chats(vocabulary, generator, texts, work):
    from transformers import PreTrainedTokenizerFast

    chats = draw_chats(generator, texts)
    rendered, errors = {}, 0
    for name, template in (("ChatML", CHAT_ML), ("Qwen2", QWEN2_TEMPLATE), ("Qwen2.5", QWEN25_TEMPLATE)):
        folder = work / f"{vocabulary.name}-{name}"
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(vocabulary / "tokenizer.json"), eos_token="<|im_end|>")
        tokenizer.chat_template = template
        tokenizer.save_pretrained(folder)
        ours = [row["token_ids"] for row in predgen_tokenize(folder, [{"messages": chat} for chat in chats])]
        expected = [chat_ids(tokenizer, chat) for chat in chats]
        errors += compare(f"{name} chats", chats, ours, expected)
        rendered[name] = ours
    # Otherwise the three would not tell the default system messages apart.
    assert rendered["ChatML"] != rendered["Qwen2"] != rendered["Qwen2.5"]
    return errors


def check_planted_fault(vocabulary, reference, texts, work):
    """A frequent merge comes last instead of early: the comparison must notice."""
    fields = json.loads((vocabulary / "tokenizer.json").read_text(encoding="utf-8"))
    merges = fields["model"]["merges"]
    merges.append(merges.pop(merges.index(["e", "r"] if isinstance(merges[0], list) else "e r")))
    folder = work / f"{vocabulary.name}-fault"
    folder.mkdir()
    (folder / "tokenizer.json").write_text(json.dumps(fields), encoding="utf-8")
    print("planted fault (differences are expected):")
    return 0 if compare_texts(folder, reference, texts[:200], "one merge moved") else 1


def check_vocabulary(folder, sources, work):
    from tokenizers import Tokenizer

    generator = random.Random(20)
    reference = Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = draw_texts(generator, sources)
    print(f"the vocabulary of {folder.name}, {reference.get_vocab_size()} tokens")
    errors = compare_texts(folder, reference, texts, "texts")
    errors += check_decoding(folder, reference, generator)
    errors += check_special(folder, reference, texts)
    errors += check_chats(folder, generator, texts, work)
    return errors + check_planted_fault(folder, reference, texts, work)


def main():
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        errors = check_vocabulary(make_tekken(work / "tekken"), repository_texts(), work)
        for vocabulary in shared_vocabularies():
            errors += check_vectors() + check_vocabulary(vocabulary, shared_texts(), work)
    print(f"{errors} differences")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
