"""Compares the tokenizers of GGUF files, read by `predgen tokenize`, with PyPI `tokenizers`, `sentencepiece` and
`transformers`, live.

The files are written with PyPI `gguf` as llama.cpp's converter does it: from the real vocabularies of Mistral
(inside mistral-common), the demo model's, Qwen2's where the reference data has it, and small ones of every
family that are trained here. SmolLM2's file is its publisher's, where set-up has fetched it. The texts are
those of tests/text. Faults are planted in the files, and must be noticed.
"""

import copy
import io
import itertools
import json
import os
import random
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "text"))

import tokenizer_families_parity as families  # noqa: E402
from tokenizer_parity import QWEN2, QWEN2_SPLIT, QWEN2_TEMPLATE, chat_ids, compare, draw_chats, shared_vocabularies  # noqa: E402
from tokenizer_parity import make_tekken, predgen_tokenize, read_jsonl, repository_texts  # noqa: E402

try:
    import gguf
except ImportError:
    print("skipped: PyPI gguf is not installed; scripts/setup.sh --with-tests does it")
    sys.exit(77)
import mistral_common  # noqa: E402
import sentencepiece  # noqa: E402
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers  # noqa: E402
from tokenizers import processors  # noqa: E402

MODELS = Path(os.environ.get("PREDGEN_MODELS") or
              Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "predgen" / "models")
SMOLLM2 = MODELS / "smollm2.gguf"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


# Files


class Vocabulary:
    """What a GGUF file says about a tokenizer."""

    def __init__(self, model, tokens, types, scores=None, merges=None, **fields):
        self.model, self.tokens, self.types, self.scores, self.merges = model, tokens, types, scores, merges
        self.fields = {"pre": "default"} | fields

    def write(self, path):
        writer = gguf.GGUFWriter(str(path), "llama")
        writer.add_tokenizer_model(self.model)
        writer.add_token_list(self.tokens)
        writer.add_token_types(self.types)
        if self.scores is not None:
            writer.add_token_scores(self.scores)
        if self.merges is not None:
            writer.add_token_merges(self.merges)
        for name, value in self.fields.items():
            add = {str: writer.add_string, bool: writer.add_bool, int: writer.add_uint32}[type(value)]
            add("tokenizer.chat_template" if name == "chat_template" else f"tokenizer.ggml.{name}", value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def changed(self, **fields):
        other = copy.copy(self)
        other.fields = self.fields | fields
        return other


def looks_special(token):
    return token.startswith("<|") and token.endswith("|>")


def from_tokenizer_json(made, pre, padding=3, **fields):
    """As llama.cpp's get_vocab_base(): ids without a token are unused."""
    added = {token["id"]: token for token in made["added_tokens"]}
    by_id = {index: token for token, index in made["model"]["vocab"].items()}
    by_id |= {index: token["content"] for index, token in added.items()}
    tokens, types = [], []
    for index in range(max(by_id) + 1 + padding):
        if index not in by_id:
            tokens.append(f"[PAD{index}]")
            types.append(UNUSED)
            continue
        tokens.append(by_id[index])
        special = index in added and (added[index]["special"] or looks_special(by_id[index]))
        types.append(CONTROL if special else USER_DEFINED if index in added else NORMAL)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in made["model"]["merges"]]
    return Vocabulary("gpt2", tokens, types, merges=merges, pre=pre, **fields)


def from_sentencepiece(library, padding=3, **fields):
    """As llama.cpp's _create_vocab_sentencepiece()."""
    tokens, types, scores = [], [], []
    for index in range(library.vocab_size()):
        tokens.append(library.id_to_piece(index))
        scores.append(library.get_score(index))
        types.append(UNKNOWN if library.is_unknown(index) else CONTROL if library.is_control(index)
                     else UNUSED if library.is_unused(index) else BYTE if library.is_byte(index) else NORMAL)
    for index in range(padding):
        tokens.append(f"[PAD{index}]")
        scores.append(-10000.0)
        types.append(UNUSED)
    fields = {"bos_token_id": library.bos_id(), "eos_token_id": library.eos_id()} | fields
    return Vocabulary("llama", tokens, types, scores=scores, **fields)


# Comparisons


def ids_of(file, texts, *flags):
    return [row["token_ids"] for row in predgen_tokenize(file, [{"prompt": text} for text in texts], *flags)]


def check_ids(name, file, reference, texts):
    """Plain texts to ids, and back."""
    ours = predgen_tokenize(file, [{"prompt": text} for text in texts])
    ids = [encoding.ids for encoding in reference.encode_batch(texts, add_special_tokens=False)]
    errors = compare(name, texts, [row["token_ids"] for row in ours], ids)
    return errors + compare(f"{name}, decoded", texts, [row["text"] for row in ours], reference.decode_batch(ids))


def check_special(name, file, reference, texts):
    """Tokens that are named in texts, with what stands around a text."""
    ours = ids_of(file, texts, "--parse-special", "--add-special")
    return compare(f"{name}, special", texts, ours, [encoding.ids for encoding in reference.encode_batch(texts)])


def check_faults(name, work, reference, texts, faults):
    """Every file of `faults`, in a sample the first, must give other ids than the reference."""
    faults = itertools.islice(faults, 1 if families.IS_SAMPLE else None)
    expected = [encoding.ids for encoding in reference.encode_batch(texts)]
    unseen = [fault for index, (fault, vocabulary) in enumerate(faults)
              if ids_of(vocabulary.write(work / f"fault{index}.gguf"), texts, "--parse-special", "--add-special") == expected]
    if unseen:
        print(f"  {name}: planted faults not noticed: {unseen}")
    return len(unseen)


def byte_level_faults(vocabulary, other_pre):
    moved = copy.copy(vocabulary)
    moved.merges = vocabulary.merges[20:] + vocabulary.merges[:20]
    yield "merges moved", moved
    yield f"pre {other_pre}", vocabulary.changed(pre=other_pre)
    renamed = copy.copy(vocabulary)
    renamed.tokens = [token + "?" if kind == CONTROL else token for token, kind in zip(vocabulary.tokens, vocabulary.types)]
    yield "control tokens of other names", renamed


def family_forms():
    """tokenizer.json and the name that llama.cpp gives to its rules for words."""
    llama3 = families.byte_level(families.sequence(pre_tokenizers.Split(Regex(families.LLAMA3), "isolated")))
    begins = processors.TemplateProcessing(single="<|begin|> $A", special_tokens=[("<|begin|>", 0)])
    whole = families.with_processor(families.with_whole_words(copy.deepcopy(llama3)), begins)
    for name in ("llama-bpe", "llama-v3", "llama3"):
        yield name, whole
    yield "smaug-bpe", llama3
    yield "dbrx", families.with_added_tokens(llama3)
    qwen2 = families.byte_level(families.sequence(pre_tokenizers.Split(Regex(QWEN2_SPLIT), "isolated")), normalizers.NFC())
    yield "qwen2", families.with_added_tokens(qwen2)
    yield "deepseek-r1-qwen", families.with_processor(qwen2, begins)
    yield "smollm", families.byte_level(families.sequence(pre_tokenizers.Digits(True), use_regex=True))
    gpt2 = families.byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "gpt-2", gpt2
    yield "olmo", gpt2 | {"normalizer": {"type": "NFC"}}
    tekken = families.byte_level(families.sequence(pre_tokenizers.Split(Regex(TEKKEN), "isolated")))
    yield "tekken", families.with_processor(families.with_whole_words(tekken), begins)
    o200k = families.byte_level(families.sequence(pre_tokenizers.Split(Regex(O200K), "isolated")))
    yield "gpt-4o", o200k
    yield "llama4", families.with_whole_words(copy.deepcopy(o200k))
    # llama.cpp's own, in the terms of `tokenizers`.
    steps = [r"[\p{P}\$\+<=>\^~\|]+", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)", r"\p{N}+",
             "[0-9][0-9][0-9]"]
    yield "default", families.byte_level(families.sequence(*(pre_tokenizers.Split(Regex(s), "isolated") for s in steps)))


def check_families(generator, work):
    errors = 0
    texts = families.random_texts(generator, families.NUM_SMALL)
    for name, made in family_forms():
        spelt = families.spell(made, generator, texts)
        reference = Tokenizer.from_str(json.dumps(made))
        # That Llama 3 and Tekken begin with a token is known without the flag.
        flags = {"add_bos_token": True} if made.get("post_processor") and name.startswith("deepseek") else {}
        vocabulary = from_tokenizer_json(made, name, bos_token_id=0, eos_token_id=1, **flags)
        file = vocabulary.write(work / f"{name}.gguf")
        errors += check_ids(name, file, reference, texts)
        errors += check_special(name, file, reference, spelt)
        other = "gpt-2" if name != "gpt-2" else "smollm"
        errors += check_faults(name, work, reference, spelt, byte_level_faults(vocabulary, other))
    return errors


def check_real(folder, pre, generator, texts, work, **fields):
    """A real byte-level vocabulary: texts, tokens that are named in them, chats."""
    from transformers import PreTrainedTokenizerFast

    made = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    ids = {token["content"]: token["id"] for token in made["added_tokens"]}
    reference = Tokenizer.from_str(json.dumps(made))
    vocabulary = from_tokenizer_json(made, pre, 270, eos_token_id=ids["<|im_end|>"], padding_token_id=ids["<|endoftext|>"],
                                     chat_template=QWEN2_TEMPLATE, **fields)
    name = f"{folder.name} as GGUF"
    file = vocabulary.write(work / f"{folder.name}.gguf")
    errors = check_ids(name, file, reference, texts)
    errors += check_special(name, file, reference, families.spell(made, generator, texts[: families.NUM_SMALL]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=reference, eos_token="<|im_end|>")
    tokenizer.chat_template = QWEN2_TEMPLATE
    chats = draw_chats(generator, texts)
    ours = [row["token_ids"] for row in predgen_tokenize(file, [{"messages": chat} for chat in chats])]
    errors += compare(f"{name}, chats", chats, ours, [chat_ids(tokenizer, chat) for chat in chats])
    faults = byte_level_faults(vocabulary, "smollm")
    return errors + check_faults(name, work, reference, families.spell(made, generator, texts[:200]), faults)


def check_qwen2_vectors(work):
    made = json.loads((QWEN2 / "tokenizer.json").read_text(encoding="utf-8"))
    vectors = read_jsonl(QWEN2 / "vectors.jsonl")
    texts = [vector["text"] for vector in vectors]
    ours = ids_of(from_tokenizer_json(made, "qwen2").write(work / "vectors.gguf"), texts)
    return compare("vectors", texts, ours, [vector["ids"] for vector in vectors])


def smollm2_reference():
    """Its tokenizer.json, made of the file's own tokens and merges: digits, then GPT-2's words."""
    fields = gguf.GGUFReader(str(SMOLLM2)).fields
    tokens, kinds, merges = (fields[f"tokenizer.ggml.{key}"].contents() for key in ("tokens", "token_type", "merges"))
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(pair.split(" ")) for pair in merges]))
    tokenizer.pre_tokenizer = families.sequence(pre_tokenizers.Digits(True), use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([token for token, kind in zip(tokens, kinds) if kind == CONTROL])
    return tokenizer, fields["tokenizer.chat_template"].contents()


def check_smollm2(generator, texts):
    from transformers import PreTrainedTokenizerFast

    reference, template = smollm2_reference()
    name = "SmolLM2's own GGUF"
    errors = check_ids(name, SMOLLM2, reference, texts)
    made = json.loads(reference.to_str())
    errors += check_special(name, SMOLLM2, reference, families.spell(made, generator, texts[: families.NUM_SMALL]))
    chats = draw_chats(generator, texts)
    ours = [row["token_ids"] for row in predgen_tokenize(SMOLLM2, [{"messages": chat} for chat in chats])]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=reference, bos_token="<|im_start|>", eos_token="<|im_end|>")
    tokenizer.chat_template = template
    return errors + compare(f"{name}, chats", chats, ours, [chat_ids(tokenizer, chat) for chat in chats])


# Sentencepiece


def piece_ids(library, text, has_spaces):
    """Text between special tokens: `library` puts a space in front, or not."""
    ids = library.encode(text)
    if has_spaces or not text:
        return ids
    # A piece that nothing merges with keeps the space apart.
    return library.encode("\n" + text)[len(library.encode("\n")):]


def check_pieces(name, library, vocabulary, texts, work):
    file = vocabulary.write(work / f"{name}.gguf")
    ours = predgen_tokenize(file, [{"prompt": text} for text in texts], "--add-special")
    expected = [[library.bos_id(), *ids] for ids in library.encode(texts)]
    errors = compare(f"{name} as GGUF", texts, [row["token_ids"] for row in ours], expected)
    decoded = [library.decode(ids) for ids in library.encode(texts)]
    return errors + compare(f"{name} as GGUF, decoded", texts, [row["text"] for row in ours], decoded)


def check_beside_tokens(name, library, vocabulary, texts, work, has_spaces):
    """Texts between special tokens; only the first one has a space in front if not `has_spaces`."""
    file = vocabulary.write(work / f"{name}-tokens.gguf")
    texts = [text for text in texts if text]
    ours = ids_of(file, [f"{text}</s>{text}" for text in texts], "--parse-special")
    end = library.eos_id()
    expected = [[*library.encode(text), end, *piece_ids(library, text, has_spaces)] for text in texts]
    return compare(f"{name} as GGUF, beside tokens", texts, ours, expected)


def piece_faults(library, vocabulary):
    yield "add_space_prefix", vocabulary.changed(add_space_prefix=not vocabulary.fields.get("add_space_prefix", True))
    yield "add_bos_token", vocabulary.changed(add_bos_token=False)
    scored = copy.copy(vocabulary)
    normal = [index for index in range(library.vocab_size()) if vocabulary.types[index] == NORMAL]
    scored.scores = list(vocabulary.scores)
    for index, other in zip(normal, reversed(normal)):
        scored.scores[index] = vocabulary.scores[other]
    yield "scores", scored


def check_piece_faults(name, library, vocabulary, texts, work):
    expected = [[library.bos_id(), *ids] for ids in library.encode(texts)]
    unseen = [fault for index, (fault, faulty) in enumerate(piece_faults(library, vocabulary))
              if ids_of(faulty.write(work / f"pieces{index}.gguf"), texts, "--add-special") == expected]
    if unseen:
        print(f"  {name}: planted faults not noticed: {unseen}")
    return len(unseen)


def check_mistral(generator, work):
    errors = 0
    texts = families.random_texts(generator, families.NUM_TEXTS)
    data = Path(mistral_common.__file__).parent / "data"
    for name, model in families.MISTRAL_MODELS.items():
        library = sentencepiece.SentencePieceProcessor(model_file=str(data / model))
        vocabulary = from_sentencepiece(library, add_bos_token=True)
        errors += check_pieces(f"Mistral {name}", library, vocabulary, texts, work)
        # Llama 2 and the first Mistral have "[INST]" as text, and a space behind every special token.
        few = texts[: families.NUM_SMALL]
        errors += check_beside_tokens(f"Mistral {name}", library, vocabulary, few, work, has_spaces=name == "v1")
        errors += check_piece_faults(f"Mistral {name}", library, vocabulary, few, work)
    return errors


def check_gemma(generator, work):
    """Pieces as Gemma has them: runs of spaces and line ends are tokens, no space is put in front."""
    runs = ["▁" * count for count in range(2, 8)] + ["\n" * count for count in range(1, 5)]
    marks = ["<table>", "<end_of_turn>"]
    model = io.BytesIO()
    words = families.WORDS.split(" ")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([" ".join(words[i:] + words[:i]) for i in range(len(words))] * 3), model_writer=model,
        vocab_size=800, model_type="bpe", byte_fallback=True, add_dummy_prefix=False, remove_extra_whitespaces=False,
        normalization_rule_name="identity", character_coverage=1.0, user_defined_symbols=runs + marks,
        hard_vocab_limit=False, minloglevel=2)
    library = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    vocabulary = from_sentencepiece(library, add_space_prefix=False)
    for index, token in enumerate(vocabulary.tokens):
        if token in runs + ["<table>"]:
            vocabulary.tokens[index] = token.replace("▁", " ")
            vocabulary.types[index] = USER_DEFINED
        elif token == "<end_of_turn>":
            vocabulary.types[index] = CONTROL
    texts = families.random_texts(generator, families.NUM_TEXTS) + ["a" + " " * n + "b" + "\n" * n for n in range(12)]
    texts = [text for text in texts if "▁" not in text]  # where neighbours are spaces the library sees one run
    errors = check_pieces("Gemma", library, vocabulary, texts, work)
    errors += check_piece_faults("Gemma", library, vocabulary, texts[: families.NUM_SMALL], work)
    typed = [f"{text}<end_of_turn>\n{text}<table>" for text in texts[: families.NUM_SMALL]]
    parsed = ids_of(work / "Gemma.gguf", typed, "--parse-special")
    errors += compare("Gemma as GGUF, special", typed, parsed, library.encode(typed))
    ends = {library.piece_to_id(mark) for mark in marks}
    escaped = [ids for ids in ids_of(work / "Gemma.gguf", typed) if ends & set(ids)]
    print(f"typed marks that became tokens: {len(escaped)}")
    return errors + len(escaped)


def check_gemma4(generator, work):
    """A BPE of whole texts, whose spaces are U+2581 and whose other characters are bytes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors, trainers
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    words = families.WORDS.split(" ")
    trained.train_from_iterator([" ".join(words[i:] + words[:i]) + "\n\n" for i in range(len(words))],
                                trainers.BpeTrainer(vocab_size=900, show_progress=False))
    made = json.loads(trained.to_str())["model"]
    marks = ["<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>"]
    tokens = marks + [f"<0x{byte:02X}>" for byte in range(256)] + sorted(made["vocab"], key=made["vocab"].get)
    merges = [tuple(merge) for merge in made["merges"]]
    library = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, merges, byte_fallback=True,
                                   fuse_unk=True, unk_token="<unk>"))
    library.normalizer = normalizers.Replace(" ", "▁")
    library.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    library.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    library.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    vocabulary = from_tokenizer_json(json.loads(library.to_str()), "default", bos_token_id=2, eos_token_id=1,
                                     unknown_token_id=3, add_bos_token=True, add_space_prefix=False)
    vocabulary.model = "gemma4"
    vocabulary.types[6:262] = [BYTE] * 256
    file = vocabulary.write(work / "Gemma4.gguf")
    texts = families.random_texts(generator, families.NUM_TEXTS) + ["a" + " " * n + "b" + "\n" * n for n in range(12)]
    texts = [text for text in texts if "▁" not in text]
    typed = [f"<|turn>user\n{text}<turn|>" for text in texts[: families.NUM_SMALL]]
    errors = check_ids("Gemma 4 as GGUF", file, library, texts) + check_special("Gemma 4 as GGUF", file, library, typed)
    return errors


def main():
    generator = random.Random(11)
    print(f"{families.NUM_TEXTS} random texts")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        errors = check_families(generator, work)
        errors += check_mistral(generator, work)
        errors += check_gemma(generator, work)
        errors += check_gemma4(generator, work)
        texts = families.random_texts(generator, families.NUM_TEXTS)
        texts += [text for source in repository_texts() for text in source]
        errors += check_real(REPOSITORY / "checkpoints" / "demo", "qwen2", generator, texts, work)
        errors += check_real(make_tekken(work / "tekken"), "qwen2", generator, texts, work)
        for vocabulary in shared_vocabularies():
            errors += check_qwen2_vectors(work) + check_real(vocabulary, "qwen2", generator, texts, work)
        if SMOLLM2.is_file():
            errors += check_smollm2(generator, texts)
        else:
            print(f"skipped: SmolLM2's own file, there is no {SMOLLM2}; scripts/setup.sh fetches it")
    print(f"{errors} differences")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
