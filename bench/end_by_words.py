"""How well a language model tells by the words alone whether a request is over, and the two numbers of EndByWords
(runtime/converse/words_end.cpp), by transformers.

usage: end_by_words.py MODEL.gguf PROMPTS [COUNT]

  MODEL.gguf   with ChatML's template, as smollm2 has
  PROMPTS      JSON lines with "text" and "source"; COUNT of them are taken by chance (1500)

Every request is looked at behind each of its words, in lower case and without marks, as an eager recogniser writes
them. What counts is the likeliest of what may end a message: <|im_end|>, a full stop, a question or exclamation mark.
Prints how well that tells ends from other places (area under the curve, and the share of ends that is found where 5 %
of the other places are taken for one), by source, and the log-odds fitted to it.
"""
import json
import random
import re
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

BATCH = 32
ENDS = ("<|im_end|>", "?", ".", "!")
SYSTEM = ("You are a helpful voice assistant. Your words are spoken aloud. Answer in one to three short sentences, the "
          "way people talk. Use no lists, no headings, no markdown, no emoji and no code.")


def plain(text):
    return " ".join(re.sub(r"[^\w\s']", " ", text.lower()).split())


def places(model, tokenizer, rows):
    """Of each word: (source, whether it is the last one, the likeliest end's log-probability)."""
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False)
    before = encode(f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n")
    ends = [encode(end)[0] for end in ENDS]
    rows = sorted(((source, encode(text)) for source, text in rows if text), key=lambda row: len(row[1]))
    found = []
    cache = model(torch.tensor([before]).repeat(BATCH, 1), use_cache=True, logits_to_keep=1).past_key_values
    for first in range(0, len(rows), BATCH):
        part = rows[first:first + BATCH]
        longest = max(len(ids) for _, ids in part)
        batch = torch.zeros(BATCH, longest, dtype=torch.long)  # what is behind a request changes nothing in it
        for i, (_, ids) in enumerate(part):
            batch[i, :len(ids)] = torch.tensor(ids)
        logits = model(batch, past_key_values=cache).logits
        cache.crop(len(before) - cache.get_seq_length())
        logprobs = logits.float().log_softmax(-1)[:, :, ends].max(-1).values
        for i, (source, ids) in enumerate(part):
            tokens = tokenizer.convert_ids_to_tokens(ids)
            found += [(source, at + 1 == len(ids), logprobs[i, at].item()) for at in range(len(ids))
                      if at + 1 == len(ids) or tokens[at + 1].startswith("\u0120")]
    return found


def describe(name, found):
    score = torch.tensor([place[2] for place in found])
    is_end = torch.tensor([place[1] for place in found])
    rank = score.argsort().argsort().double() + 1
    num_ends, num_others = int(is_end.sum()), int((~is_end).sum())
    area = (rank[is_end].sum() - num_ends * (num_ends + 1) / 2) / (num_ends * num_others)
    bound = score[~is_end].quantile(0.95)
    print(f"{name:16} {num_ends:6} ends {num_others:6} others  area {area:.3f}  found at 5 % false "
          f"{100 * (score[is_end] > bound).float().mean():.0f} %")


def fit(found):
    """Log-odds of an end, as if ends and other places were equally many."""
    score = torch.tensor([place[2] for place in found])
    is_end = torch.tensor([float(place[1]) for place in found])
    slope, bias = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([slope, bias], max_iter=100, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = torch.nn.functional.binary_cross_entropy_with_logits(slope * score + bias, is_end)
        value.backward()
        return value

    optimizer.step(loss)
    share = is_end.mean()
    print(f"log-odds {bias.item() - (share / (1 - share)).log().item():.2f} + {slope.item():.2f} * ln p")


def main(model_file, prompts, count=1500):
    folder, name = str(Path(model_file).parent), Path(model_file).name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.bfloat16,
                                                 quantization_config=GgufConfig(dequantize=True))
    rows = [json.loads(line) for line in open(prompts)]
    random.Random(1).shuffle(rows)
    with torch.inference_mode():
        found = places(model, tokenizer, [(row["source"], plain(row["text"])) for row in rows[:int(count)]])
    describe("all", found)
    for source in sorted({place[0] for place in found}):
        describe(source, [place for place in found if place[0] == source])
    fit(found)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
