"""Compares `predgen tokenize` with PyPI `tokenizers`, `sentencepiece`, `mistral-common` and
`transformers`, live, on tokenizers of every supported form.

The vocabularies are the real sentencepiece models and the Tekken of Mistral (inside mistral-common), Qwen2's
where the reference data has it, and small ones that are trained here. The
texts are random Unicode: all code points, assigned or not, with long runs, joined emoji,
right-to-left text and control characters. Faults are planted in the files that predgen reads, each
kind in the first forms where it can occur, and must be noticed.
"""

import collections
import copy
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tokenizer_parity import PREDGEN, compare, make_tekken, predgen_tokenize, shared_vocabularies

os.environ.setdefault("RAYON_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import mistral_common  # noqa: E402
import sentencepiece  # noqa: E402
from mistral_common.tokens.tokenizers.sentencepiece import SentencePieceTokenizer  # noqa: E402
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers  # noqa: E402
from tokenizers import processors, trainers  # noqa: E402

NUM_TEXTS = int(os.environ.get("PREDGEN_TOKENIZER_TEXTS", "10000"))  # for the real vocabularies
NUM_SMALL = NUM_TEXTS // 10  # for every other form
IS_SAMPLE = NUM_TEXTS < 10000  # then fewer faults are planted, too: each is a start of the program

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MISTRAL_MODELS = {
    "v1": "tokenizer.model.v1",
    "v2": "mistral_instruct_tokenizer_240216.model.v2",
    "v3": "mistral_instruct_tokenizer_240323.model.v3",
}
WORDS = (
    "the of and weather in Paris is 21 degrees, isn't it? I'd say we'll see 3,456,789 tokens; "
    "don't worry. naïve café Größe año 你好 世界 こんにちは 안녕하세요 привет мир שלום עולם مرحبا "
    "नमस्ते ไทย ½ ² ٣ Ⅷ 🙂 👩‍👩‍👧‍👦 🇩🇪 e\u0301 \u212b ﬁ ſ"
)


# Texts


def random_texts(generator, count):
    """Strings of all kinds. Ill-formed UTF-8 is not among them: predgen refuses it."""
    scripts = [
        range(0x20, 0x7F), range(0xA0, 0x250), range(0x370, 0x530), range(0x590, 0x700), range(0x900, 0xE00),
        range(0x1100, 0x1200), range(0x2000, 0x2070), range(0x3040, 0x3100), range(0x4E00, 0x5000), range(0xAC00, 0xAD00),
        range(0x1F300, 0x1F650), range(0x300, 0x370), range(0x0, 0x20), range(0x80, 0xA0), range(0xFB00, 0xFE10),
    ]
    anything = list(range(0xD800)) + list(range(0xE000, 0x110000))
    # Characters that later versions of Unicode added: marks that move in normal forms, letters, digits.
    newer = [(0x897, 0x8A0), (0x8CA, 0x8D4), (0x1ABF, 0x1ACF), (0x1C89, 0x1C8B), (0x1DF6, 0x1DFB), (0x10D40, 0x10D90)]
    newer += [(0x10EAB, 0x10EAD), (0x10EFC, 0x10F00), (0x10F46, 0x10F51), (0x10F82, 0x10F86), (0x11930, 0x11944)]
    newer += [(0x11F00, 0x11F5B), (0x13460, 0x13470), (0x1CCF0, 0x1CCFA), (0x1E030, 0x1E090), (0x1E130, 0x1E137)]
    newer += [(0x1E2AE, 0x1E2AF), (0x1E2EC, 0x1E2F0), (0x1E4D0, 0x1E4FA), (0x1E5D0, 0x1E5FB), (0x1FBF0, 0x1FBFA), (0x300, 0x330)]
    newer = [character for first, last in newer for character in range(first, last)] + list(map(ord, "aA1 '.")) * 5
    emoji = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "🇫🇷", "1️⃣", "☃️", "🧑🏿‍🚀"]
    tricky = "\r\n\t \u0085\u00a0\u180e\u200b\u2028\u3000\u0301\u0327\ufb01\u212b\u1100\u1161'\u017fstdmrevl<|>½²٣aZé中🙂\u200d\ufe0f▁_."
    words = WORDS.split(" ")
    texts = []
    for _ in range(count):
        kind = generator.randrange(8)
        if kind == 0:
            text = "".join(map(chr, generator.choices(anything, k=generator.randint(1, 60))))
        elif kind == 1:
            script = generator.choice(scripts)
            text = "".join(map(chr, generator.choices(script, k=generator.randint(1, 80))))
        elif kind == 2:
            text = "".join(generator.choices(tricky, k=generator.randint(1, 60)))
        elif kind == 3:
            text = "".join(generator.choices(emoji + ["\u200d", "\ufe0f", " "], k=generator.randint(1, 20)))
        elif kind == 4:  # a right-to-left text with marks, digits and direction controls
            pool = [chr(c) for c in range(0x5B0, 0x5F0)] + [chr(c) for c in range(0x620, 0x660)] + list(" 123\u200e\u200f\u202b\u202c")
            text = "".join(generator.choices(pool, k=generator.randint(1, 60)))
        elif kind == 5:
            text = "".join(map(chr, generator.choices(newer, k=generator.randint(1, 40))))
        elif kind == 6:
            run = generator.choice(list(tricky) + words + [" ", "  ", "\n", chr(generator.choice(anything))])
            text = generator.choice(words) + run * generator.choice([2, 3, 5, 17, 100, 1000]) + generator.choice(words)
        else:
            text = generator.choice([" ", "", "  "]).join(generator.choices(words, k=generator.randint(1, 30)))
        texts.append(text)
    return ["", " ", "  ", "\n", " leading", "trailing ", "\0", "▁", "▁▁ a"] + texts


# Tokenizers in all the forms that tokenizer.json has


def train(tokenizer, alphabet, size, special):
    """On pairs of words, so that merges go across every place where a pre-tokenizer may cut."""
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=list(special), show_progress=False, limit_alphabet=400
    )
    words = (WORDS + " " + WORDS.upper()).split(" ")
    pairs = [left + space + right for left, right in zip(words, words[1:]) for space in (" ", "  ", "\n", "", " ")]
    tokenizer.train_from_iterator(pairs * 2, trainer)
    return json.loads(tokenizer.to_str())


def byte_level(pre_tokenizer, normalizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    made = train(tokenizer, pre_tokenizers.ByteLevel.alphabet(), 900, ["<|begin|>", "<|end|>"])
    return shaped(made, normalizer, pre_tokenizer, tokenizer.decoder)


def shaped(made, normalizer, pre_tokenizer, decoder):
    shape = Tokenizer(models.BPE())
    if normalizer:
        shape.normalizer = normalizer
    if pre_tokenizer:
        shape.pre_tokenizer = pre_tokenizer
    shape.decoder = decoder
    shape = json.loads(shape.to_str())
    return made | {key: shape[key] for key in ("normalizer", "pre_tokenizer", "decoder")}


def sequence(*steps, use_regex=False, add_prefix_space=False):
    last = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=use_regex)
    return pre_tokenizers.Sequence([*steps, last])


SPM_DECODER = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
LLAMA2_NORMALIZER = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])


def characters(normalizer=None, pre_tokenizer=None, bytes_too=True, **fields):
    """As sentencepiece vocabularies look in tokenizer.json."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=bytes_too))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
    special = ["<unk>", "<s>", "</s>"]
    made = train(tokenizer, ["▁"], 900, special + ([f"<0x{b:02X}>" for b in range(256)] if bytes_too else []))
    made["added_tokens"] = [t for t in made["added_tokens"] if t["content"] in special]
    made = shaped(made, normalizer, pre_tokenizer, decoders.Sequence(SPM_DECODER))
    made["model"].update(fields)
    return made


def with_whole_words(made):
    """Words of the vocabulary that no merge leads to: only "ignore_merges" finds them."""
    made["model"]["vocab"]["Ġzebra"] = max(made["model"]["vocab"].values()) + 50
    made["model"]["ignore_merges"] = True
    return made


def with_processor(made, processor):
    made = copy.deepcopy(made)
    tokenizer = Tokenizer.from_str(json.dumps(made))
    tokenizer.post_processor = processor
    return json.loads(tokenizer.to_str())


def llama3_processor(made):
    ids = {token["content"]: token["id"] for token in made["added_tokens"]}
    template = processors.TemplateProcessing(
        single="<|begin|> $A <|end|>", special_tokens=[("<|begin|>", ids["<|begin|>"]), ("<|end|>", ids["<|end|>"])]
    )
    return with_processor(made, processors.Sequence([processors.ByteLevel(trim_offsets=False), template]))


def with_added_tokens(made, special=True, **flags):
    made = copy.deepcopy(made)
    first = 1 + max(*made["model"]["vocab"].values(), *(token["id"] for token in made["added_tokens"]))
    for index, content in enumerate(["[ADDED]", "add", "xÅ", " mid "]):
        token = {"id": first + index, "content": content, "special": special and index == 0, "normalized": False}
        token |= {"single_word": False, "lstrip": False, "rstrip": False} | flags
        made["added_tokens"].append(token)
    return made


def gemma():
    """Spaces become letters, none is put in front, and runs of line ends and spaces are tokens."""
    split = pre_tokenizers.Split(" ", "merged_with_previous")
    made = characters(normalizers.Replace(" ", "▁"), split)
    made["decoder"] = json.loads(decoders.Sequence(SPM_DECODER[:3]).__getstate__())
    first = 1 + max(made["model"]["vocab"].values())
    runs = ["\n" * count for count in range(1, 6)] + ["▁" * count for count in range(2, 6)] + ["<table>", "<start_of_turn>"]
    for index, content in enumerate(runs):
        made["model"]["vocab"].setdefault(content, first + index)
        made["added_tokens"].append({
            "id": made["model"]["vocab"][content], "content": content, "special": content == "<start_of_turn>",
            "normalized": False, "single_word": False, "lstrip": False, "rstrip": False})
    made["added_tokens"].sort(key=lambda token: token["id"])
    template = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return with_processor(made, template)


def split_forms():
    for behavior in ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            for pattern in ("e", Regex(r"\d|\s+|\p{L}+"))[invert:]:
                name = f"Split {behavior} {'inverted ' if invert else ''}{pattern if isinstance(pattern, str) else 'regex'}"
                yield name, byte_level(sequence(pre_tokenizers.Split(pattern, behavior, invert)))


def all_forms():
    """Name and tokenizer.json of every form."""
    llama3 = byte_level(sequence(pre_tokenizers.Split(Regex(LLAMA3), "isolated")))
    yield "Llama 3", llama3_processor(with_whole_words(copy.deepcopy(llama3)))
    yield "OLMo 2", byte_level(sequence(pre_tokenizers.Split(Regex(LLAMA3), "isolated")), normalizers.NFC())
    yield "GPT-2", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "GPT-2 with prefix", byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    yield "Prefix after split", byte_level(sequence(pre_tokenizers.Split("a", "isolated"), add_prefix_space=True))
    for individual in (False, True):
        digits = pre_tokenizers.Digits(individual)
        yield f"Digits {individual}", byte_level(sequence(digits, use_regex=True))
    for normalizer in (normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()):
        yield type(normalizer).__name__, byte_level(sequence(), normalizer)
    yield "Replace regex", byte_level(sequence(), normalizers.Replace(Regex(r"\s+|e"), "_"))
    yield from split_forms()
    for flags in ({}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"lstrip": True, "rstrip": True}, {"normalized": True}):
        made = byte_level(sequence(pre_tokenizers.Split(Regex(LLAMA3), "isolated")), normalizers.NFC())
        yield f"added tokens {flags}", with_added_tokens(made, **flags)
    yield "Llama 2", characters(LLAMA2_NORMALIZER)
    yield "Llama 2 with added tokens", with_added_tokens(characters(LLAMA2_NORMALIZER), special=False, normalized=True)
    for scheme in ("always", "first", "never"):
        for split in (False, True):
            space = pre_tokenizers.Metaspace("▁", scheme, split)
            yield f"Metaspace {scheme} {split}", with_added_tokens(characters(pre_tokenizer=space), rstrip=True)
    yield "Gemma 3", gemma()
    for fuse in (False, True):
        unknown = characters(LLAMA2_NORMALIZER, bytes_too=False, fuse_unk=fuse)
        yield f"unk, fused: {fuse}", unknown
    template = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    yield "Llama 2 framed", with_processor(characters(LLAMA2_NORMALIZER), template)


# Faults


def faults(made):
    def change(name, edit):
        faulty = copy.deepcopy(made)
        edit(faulty)
        return name, faulty

    model, words = made["model"], made.get("pre_tokenizer") or {}
    steps = words.get("pretokenizers", [words])
    for index, step in enumerate(steps):
        def edit_step(faulty, key, value, index=index):
            target = faulty["pre_tokenizer"]
            (target["pretokenizers"][index] if "pretokenizers" in target else target)[key] = value

        if step.get("type") == "Split":
            other = "Removed" if step["behavior"] != "Removed" else "Isolated"
            yield change("behavior", lambda f: edit_step(f, "behavior", other))
        if step.get("type") == "ByteLevel":
            yield change("add_prefix_space", lambda f: edit_step(f, "add_prefix_space", not step["add_prefix_space"]))
        if step.get("type") == "Digits":
            yield change("individual_digits", lambda f: edit_step(f, "individual_digits", not step["individual_digits"]))
        if step.get("type") == "Metaspace":
            other = {"always": "first", "first": "never", "never": "always"}[step["prepend_scheme"]]
            yield change("prepend_scheme", lambda f: edit_step(f, "prepend_scheme", other))
    if made.get("normalizer"):
        yield change("normalizer", lambda f: f.update(normalizer=None))
    if model.get("ignore_merges"):
        yield change("ignore_merges", lambda f: f["model"].update(ignore_merges=False))
    if model.get("byte_fallback"):
        yield change("byte_fallback", lambda f: f["model"].update(byte_fallback=False))
    elif model.get("unk_token"):
        yield change("fuse_unk", lambda f: f["model"].update(fuse_unk=not model["fuse_unk"]))
    for flag in ("lstrip", "rstrip", "single_word", "normalized"):
        if made["added_tokens"][-1].get(flag):
            yield change(flag, lambda f: [token.update({flag: False}) for token in f["added_tokens"]])
    if made.get("post_processor"):
        yield change("post_processor", lambda f: f.update(post_processor=None))


# Comparisons


def write_json(folder, made):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(made), encoding="utf-8")
    return folder


def spell(made, generator, texts):
    """Puts added tokens into texts."""
    tokens = [token["content"] for token in made["added_tokens"]] + ["address", "_add", "add ", " xÅ ", " xA\u030a ", " zebra"]
    return [text[: len(text) // 2] + generator.choice(tokens) + generator.choice(["", " ", "  x", "y"]) + text[len(text) // 2 :] for text in texts]


def differences(folder, made, texts, name):
    """Text with tokens named in it, framed by the post-processor, and what is decoded from it."""
    reference = Tokenizer.from_str(json.dumps(made))
    rows = [{"prompt": text} for text in texts]
    ours = predgen_tokenize(folder, rows, "--parse-special", "--add-special")
    expected = [encoding.ids for encoding in reference.encode_batch(texts, add_special_tokens=True)]
    errors = compare(name, texts, [row["token_ids"] for row in ours], expected)
    decoded = [reference.decode(ids) for ids in expected]
    return errors + compare(f"{name}, decoded", texts, [row["text"] for row in ours], decoded)


def check_forms(generator, work):
    errors = 0
    planted = collections.Counter()
    texts = random_texts(generator, NUM_SMALL)
    for index, (name, made) in enumerate(all_forms()):
        spelt = spell(made, generator, texts)
        errors += differences(write_json(work / f"form{index}", made), made, texts + spelt, name)
        unseen = []
        for fault, faulty in faults(made):
            planted[fault] += 1
            if planted[fault] > (1 if IS_SAMPLE else 2):
                continue
            folder = write_json(work / f"fault{index}", faulty)
            ours = predgen_tokenize(folder, [{"prompt": text} for text in spelt], "--parse-special", "--add-special")
            expected = [e.ids for e in Tokenizer.from_str(json.dumps(made)).encode_batch(spelt)]
            if [row["token_ids"] for row in ours] == expected:
                unseen.append(fault)
        if unseen:
            print(f"  {name}: planted faults not noticed: {unseen}")
            errors += len(unseen)
    print(f"planted faults: {', '.join(sorted(planted))}")
    return errors


def check_large(generator, folder):
    name = folder.name
    reference = Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = random_texts(generator, NUM_TEXTS)
    ours = predgen_tokenize(folder, [{"prompt": text} for text in texts])
    ids = [e.ids for e in reference.encode_batch(texts, add_special_tokens=False)]
    errors = compare(name, texts, [row["token_ids"] for row in ours], ids)
    return errors + compare(f"{name}, decoded", texts, [row["text"] for row in ours], reference.decode_batch(ids))


def sentencepiece_folder(work, name, **config):
    folder = work / f"{name}-{len(list(work.iterdir()))}"
    folder.mkdir(parents=True)
    models_folder = Path(mistral_common.__file__).parent / "data"
    shutil.copy(models_folder / MISTRAL_MODELS[name], folder / "tokenizer.model")
    config = {"add_bos_token": True, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"} | config
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def check_sentencepiece(generator, work):
    errors = 0
    texts = random_texts(generator, NUM_TEXTS)
    rows = [{"prompt": text} for text in texts]
    for name in MISTRAL_MODELS:
        folder = sentencepiece_folder(work, name)
        library = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        mistral = SentencePieceTokenizer(str(folder / "tokenizer.model"))
        ours = predgen_tokenize(folder, rows, "--add-special")
        plain = [row["token_ids"][1:] for row in ours]
        errors += compare(f"sentencepiece {name}", texts, plain, library.encode(texts))
        decoded = [library.decode(ids) for ids in plain]
        errors += compare(f"sentencepiece {name}, decoded", texts, [row["text"] for row in ours], decoded)
        expected = [mistral.encode(text, bos=True, eos=False) for text in texts[:NUM_SMALL]]
        errors += compare(f"mistral-common {name}", texts[:NUM_SMALL], [row["token_ids"] for row in ours[:NUM_SMALL]], expected)
    # A fault: the model of another version has other ids.
    folder = sentencepiece_folder(work, "v1")
    library = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    faulty = predgen_tokenize(sentencepiece_folder(work, "v3"), rows[:100])
    if [row["token_ids"] for row in faulty] == library.encode(texts[:100]):
        print("  sentencepiece: the planted fault was not noticed")
        errors += 1
    return errors


def check_beside_special_tokens(work):
    """After a special token `transformers` puts a space in front only with "legacy": true. (Left out
    here, as predgen follows sentencepiece itself: transformers adds no second space to a text that
    opens with one, and its merges, made without the model's scores, join runs of spaces otherwise.)"""
    from transformers import LlamaTokenizer

    texts = ["plain", "<s>[INST] Hello there [/INST] Hi.</s>", "a</s>b</s> c<s> d", "</s>", "<s>▁x"]
    errors = 0
    for legacy in (True, False):
        for ends in ({"add_bos_token": True}, {"add_bos_token": True, "add_eos_token": True}, {"add_bos_token": False}):
            folder = sentencepiece_folder(work, "v1", legacy=legacy, tokenizer_class="LlamaTokenizer", **ends)
            reference = LlamaTokenizer.from_pretrained(folder)
            ours = predgen_tokenize(folder, [{"prompt": text} for text in texts], "--parse-special", "--add-special")
            expected = [list(reference(text)["input_ids"]) for text in texts]
            errors += compare(f"LlamaTokenizer, legacy {legacy}, {ends}", texts, [r["token_ids"] for r in ours], expected)
    return errors


def main():
    generator = random.Random(7)
    print(f"{PREDGEN}, {NUM_TEXTS} random texts")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        errors = check_forms(generator, work)
        errors += check_sentencepiece(generator, work)
        errors += check_beside_special_tokens(work)
        for vocabulary in [make_tekken(work / "tekken"), *shared_vocabularies()]:
            errors += check_large(generator, vocabulary)
    print(f"{errors} differences")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
