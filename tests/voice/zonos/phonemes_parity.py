"""Compares the phonemes and ids that Zonos is given with the Python reference, sentence by sentence.

`phonemes_parity.py PRINT_PHONEMES`: the English sentences of the sample dialogues (and 500 of the reference data,
where that is there), 100 each of German, French, Spanish and Italian in samples/, texts made of what is
hard, and numbers. Exit code 77: the voice or its library is not there.
"""

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
SHARED = Path(os.environ.get("PREDGEN_SHARED", REPOSITORY.parent / "shared"))
sys.path.insert(0, str(HERE.parent / "reference"))
import zonos_text as reference  # noqa: E402
NUM_ENGLISH, NUM_NUMBERS, NUM_FUZZ = 500, 2000, 500


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def sentences_of(text):
    for sentence in re.split(r"(?<=[.!?])\s+|\n+", text):
        if 10 <= len(sentence.strip()) <= 400:
            yield sentence.strip()


def said_by(role, dialogues):
    for line in dialogues.open():
        for message in json.loads(line)["conversation"]:
            if message["role"] == role:
                yield from sentences_of(message["content"])


def english_sentences():
    samples = REPOSITORY / "data" / "samples" / "dialogues.jsonl"
    return sorted({s for role in ("user", "assistant") for s in said_by(role, samples)})


def shared_sentences():
    """As many of each file of the reference data; which ones is fixed."""
    data = SHARED / "data"
    if not data.is_dir():
        print(f"skipped: sentences of the reference data, there is no {data}")
        return []
    sources = [list(said_by("assistant", data / "sgd" / "dev.jsonl"))]
    sources.append([s for line in (data / "mt_bench" / "question.jsonl").open() for t in json.loads(line)["turns"] for s in sentences_of(t)])
    for name, field in (("gsm8k/train.jsonl", "question"), ("gsm8k/test.jsonl", "answer"), ("mmlu_pro/test.jsonl", "question")):
        sources.append([s for line in (data / name).open() for s in sentences_of(json.loads(line)[field])])
    chosen = []
    for source in sources:
        unique = sorted(set(source))
        chosen += random.Random(1).sample(unique, min(len(unique), NUM_ENGLISH // len(sources)))
    return chosen


def numbers():
    rng = random.Random(2)
    digits = lambda most: str(rng.randrange(10 ** rng.randint(1, most)))
    shapes = [
        lambda: digits(12), lambda: digits(36), lambda: f"{rng.randrange(900, 3200)}", lambda: f"0{digits(6)}",
        lambda: f"{rng.randrange(10**9):,}", lambda: f"{digits(4)}.{digits(3)}", lambda: f"{digits(2)}.{digits(2)}.{digits(2)}",
        lambda: f"${digits(5)}", lambda: f"${rng.randrange(10**7):,}.{rng.randrange(100):02d}", lambda: f"$.{digits(2)}",
        lambda: f"${digits(2)}.{digits(2)}.{digits(1)}", lambda: f"£{rng.randrange(10**6):,}", lambda: f"£{digits(2)}.{digits(2)}",
        lambda: f"{digits(9)}{rng.choice(['st', 'nd', 'rd', 'th'])}", lambda: f"{digits(3)}%", lambda: f"-{digits(4)}",
        lambda: f"{digits(2)}:{digits(2)}", lambda: f"{digits(3)},", lambda: f"$£{digits(2)}", lambda: f"{digits(2)},,{digits(2)}",
    ]
    return [shapes[i % len(shapes)]() for i in range(NUM_NUMBERS)]


def fuzz():
    """Marks, white space, apostrophes, letters of other scripts and digits, in any order."""
    rng = random.Random(3)
    parts = list(";:,.!?¡¿—…\"«»“”()*~-/\\&' \t\n\u00a0\u2003\u2028\u3000’[]{}<>=+%$£€@#_^|") + [
        "the", "And", "isn't", "it's", "I", "a", "l'eau", "Straße", "naïve", "façade", "Ελλάδα", "мир", "你好", "日本", "שלום",
        "12", "3.5", "2nd", "1905", "$5", "x2", "e.g.", "U.S.", "e\u0301", "\U0001f600", "ﬁ", "WiFi", "ALL", "o'clock", "rock'n'roll", "co-op",
    ]  # fmt: skip
    return ["".join(rng.choice(parts) + rng.choice(["", "", " "]) for _ in range(rng.randint(1, 14))) for _ in range(NUM_FUZZ)]


def ours(tool, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    started = time.monotonic()
    run = subprocess.run([tool], input=lines, capture_output=True, text=True)
    seconds = time.monotonic() - started
    if run.returncode != 0:
        if "which is missing" in run.stderr:
            skip(run.stderr.strip())
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.strip("\n").split("\n")], seconds


def main():
    try:
        espeak = reference.Espeak()
    except OSError as error:
        skip(f"the espeak-ng library: {error}")
    english = english_sentences()
    assert len(english) >= 100, f"{len(english)} English sentences"
    requests = [{"text": text, "language": "en-us"} for text in english + shared_sentences() + numbers() + fuzz()]
    for code in ("de", "fr-fr", "es", "it"):
        lines = (HERE / "samples" / f"{code[:2]}.txt").read_text().splitlines()
        assert len(lines) == len(set(lines)) == 100, f"{code}: {len(set(lines))} different sentences"
        requests += [{"text": text, "language": code} for text in lines]
    requests += [{"text": text, "language": code} for code in ("en-gb", "pt-br", "pl", "ru", "tr", "hi", "cmn") for text in fuzz()[:30]]
    answers, seconds = ours(sys.argv[1], requests)
    characters = "".join(chr(code) for code in range(0x20, 0x3000))
    (symbols,), _ = ours(sys.argv[1], [{"symbols": characters}])
    assert symbols["ids"] == reference.ids(characters), "the table of symbols differs"
    assert len(answers) == len(requests), f"{len(answers)} answers to {len(requests)} texts"
    wrong, used = 0, set()
    for request, answer in zip(requests, answers):
        expected = reference.phonemize(espeak, request["text"], request["language"])
        ids = reference.ids(expected)
        used.update(ids)
        if answer.get("phonemes") != expected or answer.get("ids") != ids:
            wrong += 1
            if wrong <= 10:
                print(f"{request}\n  expected {expected!r}\n  got      {answer.get('phonemes', answer)!r}", "" if answer.get("phonemes") != expected else "(other ids)")
    print(f"{len(requests)} texts, {len(used)} different ids, {wrong} differ; {1000 * seconds / len(requests):.2f} ms a text, start included")
    assert len(used) >= 80, "the texts are too much alike"
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
