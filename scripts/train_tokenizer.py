#!/usr/bin/env python3
"""Makes a tokenizer folder for a small model: byte-level BPE, Qwen2's word pattern, ChatML.

    python scripts/train_tokenizer.py --input train-*.parquet --output checkpoints/demo

Inputs are Lmsys-style conversations, Parquet or JSONL. Writes tokenizer.json,
tokenizer_config.json and generation_config.json; `transformers` and predgen read the folder.
Needs PyPI `tokenizers`, and `pyarrow` for Parquet. The same input gives the same bytes.
"""

import argparse
import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
PAD, START, END = SPECIAL_TOKENS
QWEN2_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# ChatML without a default system message.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def read_conversations(path):
    """Yields the message lists of one file."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(columns=["conversation"]):
            yield from batch.column(0).to_pylist()
        return
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)["conversation"]
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                sys.exit(f"{path}: row {number}: no conversation: {error!r}")


def training_texts(paths):
    """The text between control tokens, as the chat template joins it."""
    for path in paths:
        for conversation in read_conversations(path):
            for message in conversation:
                yield message["role"] + "\n" + message["content"]


def train(paths, vocab_size):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(training_texts(paths), trainer)
    return tokenizer


def write_json(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_folder(folder, tokenizer):
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = {token: tokenizer.token_to_id(token) for token in SPECIAL_TOKENS}
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "added_tokens_decoder": {str(ids[token]): {"content": token, **flags} for token in SPECIAL_TOKENS},
        "bos_token": None,
        "eos_token": END,
        "pad_token": PAD,
        "unk_token": None,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    write_json(folder / "tokenizer_config.json", config)
    write_json(folder / "generation_config.json", {"eos_token_id": ids[END], "pad_token_id": ids[PAD]})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--vocab-size", type=int, default=4096, help="special tokens included (default 4096)")
    args = parser.parse_args()
    missing = [str(path) for path in args.input if not path.is_file()]
    if missing:
        sys.exit(f"no such file: {', '.join(missing)}")
    smallest = 256 + len(SPECIAL_TOKENS)
    if args.vocab_size < smallest:
        sys.exit(f"--vocab-size must be at least {smallest}: 256 bytes and {len(SPECIAL_TOKENS)} special tokens")
    tokenizer = train(args.input, args.vocab_size)
    if tokenizer.get_vocab_size() != args.vocab_size:
        sys.exit(f"the input gives only {tokenizer.get_vocab_size()} tokens: lower --vocab-size")
    write_folder(args.output, tokenizer)
    print(f"{args.output}: {args.vocab_size} tokens")


if __name__ == "__main__":
    main()
