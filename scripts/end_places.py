"""The states of a language model after each word of requests: for train_end_readout.py, which learns where requests
end, and for bench/end_by_words.py, which measures how well that is detected."""
import dataclasses
import json
import random
import re
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

BATCH = 32
LONGEST = 60  # tokens of a request; longer ones are left out
SYSTEM = "You are a helpful assistant. Answer in plain words, in one to three short sentences."


@dataclasses.dataclass
class Place:
    line: int      # of the file of requests
    source: str
    is_end: bool   # behind the last word


def plain(text):
    """As an eager recogniser writes: lower case, no punctuation."""
    return " ".join(re.sub(r"[^\w\s']", " ", text.lower()).split())


def unended(text):
    """As a careful recogniser writes, without the punctuation at the end."""
    return text.strip().rstrip(".?!…").rstrip()


def load(model_file):
    folder, name = str(Path(model_file).parent), Path(model_file).name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    dtype = torch.bfloat16 if torch.ops.mkldnn._is_mkldnn_bf16_supported() else torch.float32
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=dtype,
                                                 quantization_config=GgufConfig(dequantize=True))
    return model, tokenizer


def requests(file, count, seed=1):
    """(line, source, text) of `count` random requests; all if it is 0."""
    rows = [json.loads(line) for line in open(file)]
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    return [(line, rows[line]["source"], rows[line]["text"]) for line in order[:count or None]]


def said(role, text):
    return f"<|im_start|>{role}\n{text}<|im_end|>\n"


@torch.inference_mode()
def hidden_states(model, tokenizer, texts, earlier=("",), progress=None):
    """`texts`: (line, source, text). `earlier`: what was said before, as the template writes it; batches take these
    in turn. Returns the places, and the final hidden state of each, [P,E]: what the head reads."""
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False)
    befores = [encode(said("system", SYSTEM) + text + "<|im_start|>user\n") for text in earlier]
    caches = [model(torch.tensor([before]), use_cache=True, logits_to_keep=1).past_key_values for before in befores]
    for cache in caches:
        cache.batch_repeat_interleave(BATCH)
    rows = sorted(((line, source, encode(text)) for line, source, text in texts if text), key=lambda row: len(row[2]))
    rows = [row for row in rows if len(row[2]) <= LONGEST]
    places, states = [], []
    for number, first in enumerate(range(0, len(rows), BATCH)):
        part, which = rows[first:first + BATCH], number % len(befores)
        batch = torch.zeros(BATCH, len(part[-1][2]), dtype=torch.long)  # what follows a request changes nothing in it
        for i, (_, _, ids) in enumerate(part):
            batch[i, :len(ids)] = torch.tensor(ids)
        hidden = model.model(batch, past_key_values=caches[which]).last_hidden_state
        caches[which].crop(len(befores[which]) - caches[which].get_seq_length())
        for i, (line, source, ids) in enumerate(part):
            tokens = tokenizer.convert_ids_to_tokens(ids)
            for at in range(len(ids)):
                is_end = at + 1 == len(ids)
                if is_end or tokens[at + 1].startswith("\u0120"):
                    places.append(Place(line, source, is_end))
                    states.append(hidden[i, at].clone())
        if progress:
            progress(min(first + BATCH, len(rows)), len(rows))
    return places, torch.stack(states)
