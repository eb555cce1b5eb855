"""Compares the tokens that a JSON schema allows, at every place of a random text, with XGrammar's own masks, live:
200 schemas over the demo model's vocabulary. The texts of tokens are found by `tokenizers`, not by predgen."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SETUP = (ROOT / "scripts" / "setup.sh").read_text()
ORACLE = Path(sys.prefix) / re.search(r"^oracle=(\S+)", SETUP, re.MULTILINE)[1]
if not ORACLE.is_dir():
    print(f"skipped: no {ORACLE}; scripts/setup.sh --with-tests adds it")
    sys.exit(77)
sys.path.insert(0, str(ORACLE))

import numpy  # noqa: E402
import xgrammar  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

MODEL = ROOT / "checkpoints" / "demo"
COUNT, STEPS = 200, 16


def scalar(dice):
    kind = dice.randrange(9)
    low = dice.randint(-50, 50)
    return [
        {"type": "string"}, {"type": "string", "minLength": dice.randint(0, 3), "maxLength": dice.randint(3, 40)},
        {"type": "string", "format": dice.choice(["date", "time", "email", "uuid", "ipv4"])},
        {"type": "string", "pattern": dice.choice(["^[A-Z]{2}[0-9]{4}$", "^(north|south) [a-z]+$", "^\\+?[0-9 ]{3,9}$"])},
        {"type": "integer"}, {"type": "integer", "minimum": low, "maximum": low + dice.randint(0, 3000)},
        {"type": "number"}, {"type": dice.choice(["boolean", "null"])},
        {"enum": dice.sample(["on", "off", "é", "a \"b\"", 1, 2.5, None, True, "north-west"], 3)}][kind]


def schema(dice, depth=0):
    kind = dice.randrange(8) if depth < 3 else 0
    if kind < 2 and depth > 0:
        return scalar(dice)
    if kind == 2 and depth > 0:
        low = dice.randint(0, 2)
        return {"type": "array", "items": schema(dice, depth + 1), "minItems": low, "maxItems": low + dice.randint(0, 3)}
    if kind == 3 and depth > 0:
        return {"anyOf": [schema(dice, depth + 1) for _ in range(dice.randint(1, 3))]}
    if kind == 4 and depth > 0:
        return {"type": ["string", "null"]}
    names = dice.sample(["city", "days", "unit", "room", "on", "name with blanks", "naïve"], dice.randint(1, 4))
    properties = {name: schema(dice, depth + 1) for name in names}
    required = [name for name in names if dice.random() < 0.7]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": dice.random() < 0.1}


def vocabulary():
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    names = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special}
    eos = json.loads((MODEL / "config.json").read_text()).get("eos_token_id")
    stops = set(eos if isinstance(eos, list) else [eos]) - {None}
    generation = json.loads((MODEL / "generation_config.json").read_text()).get("eos_token_id")
    stops |= set(generation if isinstance(generation, list) else [generation]) - {None}
    # As bytes are written there: control characters, which no answer of JSON has.
    controls = {chr(256 + byte) for byte in range(32)} - {chr(256 + byte) for byte in b"\n\r"}
    texts = ["" if name in special or controls & set(name) else name for name in names]
    return xgrammar.TokenizerInfo(texts, vocab_type=xgrammar.VocabType.BYTE_LEVEL, stop_token_ids=sorted(stops)), stops


def words_of(matcher, size, stops):
    mask = xgrammar.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(mask)
    words = mask[0].numpy().view(numpy.uint32).copy()
    for token in stops:
        words[token // 32] &= ~numpy.uint32(1 << token % 32)
    allowed = numpy.flatnonzero(numpy.unpackbits(words.view(numpy.uint8), bitorder="little")[:size])
    return allowed, words.astype(">u4").tobytes().hex()


def main():
    info, stops = vocabulary()
    texts = info.decoded_vocab
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)
    dice = random.Random(5)
    lines, expected = [], []
    while len(lines) < COUNT:
        one = schema(dice)
        compiled = compiler.compile_json_schema(json.dumps(one), any_whitespace=False)
        matcher = xgrammar.GrammarMatcher(compiled)
        masks, ends, forced, tokens = [], [], [], []
        for _ in range(STEPS):
            allowed, words = words_of(matcher, info.vocab_size, stops)
            masks.append(words)
            ends.append(matcher.is_completed())
            forced.append(matcher.find_jump_forward_string())
            if not len(allowed):
                break
            # Rather the marks of JSON than long texts.
            some = [int(allowed[dice.randrange(len(allowed))]) for _ in range(8)]
            tokens.append(min(some, key=lambda token: len(texts[token])))
            matcher.accept_token(tokens[-1])
        lines.append(json.dumps({"schema": one, "tokens": tokens[:len(masks) - 1]}))
        expected.append((masks, ends, forced))
    done = subprocess.run([os.environ["GRAMMAR_MASKS"], MODEL], input="\n".join(lines) + "\n", capture_output=True,
                          text=True, check=True)
    places = 0
    for line, (masks, ends, forced), got in zip(lines, expected, done.stdout.splitlines(), strict=True):
        ours = json.loads(got)
        assert "error" not in ours, f"{line}: {ours['error']}"
        assert ours["ends"] == ends, line
        assert ours["masks"] == masks, line
        plain = [(one, other) for one, other in zip(ours["forced"], forced, strict=True) if "\ufffd" not in one]
        assert all(one == other for one, other in plain), f"{line}: {plain}"
        places += len(masks)
    print(f"{COUNT} schemas, {places} places: the same tokens")


main()
