"""How well a language model detects from the words alone that a request is over: by what it expects next, and by a
readout trained for this (scripts/train_end_readout.py).

usage: end_by_words.py MODEL.gguf PROMPTS [COUNT [READOUT.safetensors]]

  MODEL.gguf   with ChatML's template, as smollm2 has
  PROMPTS      JSON lines with "text" and "source"; COUNT of them, chosen at random, are used (1500; 0: all)

Every request is examined after each of its words, in lower case and without punctuation, as an eager recogniser writes,
and again as it is written, without the punctuation at its end. What the model expects next is the likeliest of the
tokens that may end a message: <|im_end|>, a full stop, a question or exclamation mark. Prints how well that tells ends
from other places (area under the ROC curve, and the share of ends found if 5 % of the other places are taken for one),
by source, and the log-odds fitted to it: the two numbers of EndByWords (runtime/converse/words_end.cpp).
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
from end_places import hidden_states, load, plain, requests, unended  # noqa: E402

ENDS = ("<|im_end|>", "?", ".", "!")


def likeliest_end(logits, tokenizer):
    ends = [tokenizer.encode(end, add_special_tokens=False)[0] for end in ENDS]
    return logits.log_softmax(-1)[:, ends].max(-1).values


def by_readout(logits, readout):
    """As EndReadout (runtime/converse/words_end.h); log-odds."""
    inner = torch.nn.functional.gelu(logits[:, readout["tokens"]] @ readout["first.weight"].T + readout["first.bias"])
    return inner @ readout["last.weight"][0] + readout["last.bias"]


def fit(score, is_end):
    """Log-odds of an end, as if there were as many ends as other places."""
    slope, bias = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([slope, bias], max_iter=100, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = torch.nn.functional.binary_cross_entropy_with_logits(slope * score + bias, is_end.float())
        value.backward()
        return value

    optimizer.step(loss)
    share = is_end.float().mean()
    print(f"log-odds {bias.item() - (share / (1 - share)).log().item():.2f} + {slope.item():.2f} * ln p")


@torch.no_grad()
def scores(model, tokenizer, texts, readout):
    """Places, and how likely each is an end, by the name of the method."""
    places, states = hidden_states(model, tokenizer, texts)
    parts = {}
    for some in states.split(4096):  # all logits at once are too large
        logits = model.lm_head(some).float()
        parts.setdefault("expected", []).append(likeliest_end(logits, tokenizer))
        if readout:
            parts.setdefault("readout", []).append(by_readout(logits, readout))
    return places, {name: torch.cat(part) for name, part in parts.items()}


def separation(score, is_end):
    """Area under the ROC curve, and the share of ends found if 5 % of the other places are taken for one."""
    rank = score.argsort().argsort().double() + 1
    num_ends, num_others = int(is_end.sum()), int((~is_end).sum())
    area = (rank[is_end].sum() - num_ends * (num_ends + 1) / 2) / (num_ends * num_others)
    bound = score[~is_end].quantile(0.95)
    return area.item(), (score[is_end] > bound).float().mean().item()


def describe(places, found):
    is_end = torch.tensor([place.is_end for place in places])
    for source in ["all", *sorted({place.source for place in places})]:
        chosen = torch.tensor([source in ("all", place.source) for place in places])
        line = f"  {source:14} {int(is_end[chosen].sum()):5} ends {int((~is_end[chosen]).sum()):6} others"
        for name, score in found.items():
            area, share = separation(score[chosen], is_end[chosen])
            line += f"   {name}: area {area:.3f}, found {100 * share:.0f} %"
        print(line)
    return is_end


def main(model_file, prompts, count=1500, readout=None):
    model, tokenizer = load(model_file)
    rows = requests(prompts, int(count))
    readout = readout and load_file(readout)
    for title, write in (("as it is written", unended), ("lower case, no marks", plain)):
        print(title)
        places, found = scores(model, tokenizer, [(line, source, write(text)) for line, source, text in rows], readout)
        is_end = describe(places, found)
    fit(found["expected"], is_end)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
