"""Compares the Hibari voice with its own Python package, hibari-tts: ids and samples from the same phonemes and the same
noise, and how near the phonemes that espeak-ng makes are to those of the package's front end.

`hibari_parity.py SAY_PHONEMES`. Exit code 77: the package, or espeak-ng's helper, is not there. The package needs no
other than numpy and onnxruntime: PYTHONPATH may name the folder in which its wheel was unpacked.
"""
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clauses"))
from phoneme_tool import ask, skip  # noqa: E402

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
TOLERANCE = 1e-3  # of samples; the loudest is near 0.4
MOST_PHONEMES_APART = 0.06  # of the package's, without stress

# What both front ends say the same; a clause alone, several, a question, marks, a long sentence.
SPOKEN = [
    "Hello there.",
    "What kind of food do you want?",
    "Sure, what city should I search in?",
    "It will be sunny tomorrow, with a light breeze from the west; it stays dry.",
    "Wait! The table is for two people, isn't it?",
]

try:
    import numpy
    import onnxruntime
    from hibari import dsp
    from hibari.tts import ASSETS, Hibari
except ImportError as missing:
    skip(f"the Hibari voice's own package hibari-tts: {missing}")


def sentences():
    """Of the sample dialogues, without what the program puts into words before a voice sees it."""
    found = set()
    for line in (REPOSITORY / "data" / "samples" / "dialogues.jsonl").open():
        for message in json.loads(line)["conversation"]:
            found.update(Hibari.split_sentences(message["content"]))
    return sorted(s for s in found if re.fullmatch(r"[A-Za-z ,.?!']+", s) and not re.search(r"\b(Dr|St|Mr|Mrs)\.", s))


def distance(one, other):
    """Of Levenshtein."""
    row = list(range(len(other) + 1))
    for i, x in enumerate(one, 1):
        above, row[0] = row[0], i
        for j, y in enumerate(other, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


def without_stress(phonemes):
    return phonemes.replace("\u02c8", "").replace("\u02cc", "")


def check_phonemes(tool, voice):
    texts = sentences()
    assert len(texts) >= 100, f"{len(texts)} sentences"
    pieces = [answer["pieces"] for answer in ask(tool, [{"text": text, "longest": 300} for text in texts])]
    letters = ask(tool, [{"hibari": ASSETS, "phonemes": " ".join(piece)} for piece in pieces])
    apart = total = 0
    for text, answer in zip(texts, letters):
        assert answer["ids"] == voice.ids(answer["letters"]), f"{text!r}: {answer}"
        expected = without_stress(voice.g2p(text))
        apart += distance(without_stress(answer["letters"]), expected)
        total += len(expected)
    print(f"{len(texts)} sentences, ids as the package's; {apart / total:.1%} of {total} phonemes differ from its front end's")
    return apart / total <= MOST_PHONEMES_APART


def run_network(voice, ids):
    """In Python: five parts [601, frames], and the pitch."""
    feed = {"ids": numpy.asarray([ids], numpy.int64), "speed": numpy.ones(1, numpy.float32)}
    return [part[0] for part in voice.sess.run(None, feed)]


def check_samples(tool, voice, pieces, scratch, library):
    """With the package's own ONNX Runtime: the sound of both. Others compute in 8 bits with other last bits, and the pitch
    adds up what differs."""
    network = {"hibari": ASSETS, "library": library}
    requests, expected = [], []
    for number, phonemes in enumerate(pieces):
        [answer] = ask(tool, [network | {"phonemes": phonemes}])
        parts = run_network(voice, answer["ids"])
        noise = numpy.random.default_rng(number).standard_normal((601, 2 * parts[0].shape[1]), numpy.float32)
        file = scratch / f"{number}.noise"
        file.write_bytes(numpy.ascontiguousarray(noise.view(numpy.complex64).T).tobytes())
        expected.append(dsp.synth(*parts, numpy.random.default_rng(number)))
        requests.append(network | {"phonemes": phonemes, "noise": str(file), "output": str(scratch / f"{number}.sound")})
    ask(tool, requests)
    worst = 0
    for number, sound in enumerate(expected):
        ours = numpy.fromfile(scratch / f"{number}.sound", numpy.float32)
        if ours.shape != sound.shape:
            print(f"{SPOKEN[number]!r}: {ours.shape[0]} samples instead of {sound.shape[0]}")
            return False
        worst = max(worst, abs(ours - sound).max())
    loudest = max(abs(sound).max() for sound in expected)
    print(f"{len(pieces)} texts, {sum(map(len, expected)) / dsp.SR:.1f} s: samples differ by {worst:.1e} at most, the loudest is {loudest:.2f}")
    # A fault that this must see: other noise, which is the softest part of the sound.
    assert abs(dsp.synth(*parts, numpy.random.default_rng(99)) - expected[-1]).max() > TOLERANCE, "the noise does not matter here"
    assert loudest > 0.1
    return worst <= TOLERANCE


def check_frames(tool, voice, pieces, scratch):
    """With our ONNX Runtime: the same moments, nearly the same spectrum and pitch."""
    files = [scratch / f"{number}.frames" for number in range(len(pieces))]
    answers = ask(tool, [{"hibari": ASSETS, "phonemes": phonemes, "frames": str(file)} for phonemes, file in zip(pieces, files)])
    apart, pitch_apart = [], []
    for answer, file in zip(answers, files):
        *parts, pitch = run_network(voice, answer["ids"])
        ours = numpy.fromfile(file, numpy.float32).reshape(5 * 601 + 1, -1)
        if ours.shape[1] != len(pitch):
            print(f"{answer['letters']}: {ours.shape[1]} frames instead of {len(pitch)}")
            return False
        apart.append(abs(ours[:-1] - numpy.concatenate(parts)).mean())
        pitch_apart.append(abs(ours[-1] - pitch).max())
    print(f"{len(pieces)} texts with our ONNX Runtime: as many frames; parts differ by {max(apart):.3f} on average, the pitch by {max(pitch_apart):.2f} Hz at most")
    return max(apart) <= 0.1 and max(pitch_apart) <= 5


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else "build/say_phonemes"
    voice = Hibari(threads=1)
    pieces = [" ".join(answer["pieces"]) for answer in ask(tool, [{"text": text, "longest": 300} for text in SPOKEN])]
    libraries = sorted((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"))
    with tempfile.TemporaryDirectory() as folder:
        good = [check_phonemes(tool, voice), check_frames(tool, voice, pieces, Path(folder))]
        if libraries:
            good.append(check_samples(tool, voice, pieces, Path(folder), str(libraries[0])))
        else:
            print("skipped: samples of the Hibari voice: Python's onnxruntime has no library for other programs")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
