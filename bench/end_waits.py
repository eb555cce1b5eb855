"""How long the end of a turn takes to detect, and how often a turn is cut off, by the length of the pause alone, by how
the turn was said (smart-turn), by its words (a language model's readout), or by both.

usage: end_waits.py PREDGEN PIPER_VOICE MODEL.gguf READOUT.safetensors SMART_TURN.onnx PROMPTS [COUNT]

  PROMPTS      JSON lines with "text" and "source"; COUNT of them, chosen at random, are used (500)

The voice reads every request. The start times of its words come from espeak-ng, which gives the voice its phonemes:
espeak-ng's own reading is stretched to the voice's length. After every word, smart-turn gets the sound so far and 160
ms of silence, and the readout gets the words so far. The wait follows from both as in hear/turn_taking.cpp.
After the other words of a request there is a pause that lasts longer than t with a probability of exp(-t / 0.4 s). If
the wait is shorter than the pause, the turn is cut off. Prints the mean wait at the ends of requests, by the share of
those pauses that cut a turn off: each way's threshold for a sure end is set to give that share, and the recogniser's
marks do not count. Then, what predgen talk waits, with them.
"""
import ctypes
import pathlib
import sys
import tempfile
import wave

import numpy as np
import onnxruntime
import torch
from safetensors.torch import load_file
from transformers import WhisperFeatureExtractor

from end_by_words import by_readout
from talk_waits import read_aloud
from end_places import hidden_states, load, plain, requests  # after end_by_words, which finds it

RATE, WINDOW, SILENCE = 16000, 128_000, 2560  # Hz; samples that smart-turn hears, and of the pause
PAUSE = 0.4  # seconds in which longer pauses become rarer by a factor of e
SHORTEST, UNMARKED, LONGEST, MOST = 0.2, 0.3, 1.2, 3.0  # seconds: what predgen talk waits; and here at most
SURE, MARKED, PER_ODDS = 1.5, 0.7, (LONGEST - SHORTEST) / 5  # log-odds; seconds of wait per unit of them
SHARES = (0.02, 0.05, 0.1, 0.2)


class Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("unique", ctypes.c_uint), ("text_position", ctypes.c_int),
                ("length", ctypes.c_int), ("audio_position", ctypes.c_int), ("sample", ctypes.c_int),
                ("user", ctypes.c_void_p), ("id", ctypes.c_char * 8)]


class Espeak:
    """The seconds at which espeak-ng begins each word of a text, and its sound."""

    def __init__(self):
        self.espeak = ctypes.CDLL("libespeak-ng.so.1")
        self.rate = self.espeak.espeak_Initialize(2, 0, None, 0)
        if self.rate <= 0:
            sys.exit("espeak-ng does not start: its data are missing")
        self.espeak.espeak_SetVoiceByName(b"en-us")
        callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(Event))
        self.callback = callback(self.take)
        self.espeak.espeak_SetSynthCallback(self.callback)

    def take(self, samples, count, events):
        if samples and count > 0:
            self.sound.append(np.ctypeslib.as_array(samples, (count,)).copy())
        at = 0
        while events[at].type != 0:
            if events[at].type == 1:
                self.words.append((events[at].text_position, events[at].audio_position / 1000))
            at += 1
        return 0

    def __call__(self, text):
        self.sound, self.words = [], []
        data = text.encode()
        self.espeak.espeak_Synth(data, len(data) + 1, 0, 1, 0, 1, None, None)
        self.espeak.espeak_Synchronize()
        places = [i + 1 for i in range(len(text)) if i == 0 or text[i - 1] == " "]
        begins = [next((seconds for place, seconds in self.words if place >= at), None) for at in places]
        return begins, np.concatenate(self.sound).astype(np.float32) / 32768


def spoken(sound, rate):
    """Start and end of the loud part, in seconds."""
    loud = np.flatnonzero(np.abs(sound) > 0.01)
    return loud[0] / rate, (loud[-1] + 1) / rate


def read_wav(file):
    """At RATE."""
    with wave.open(str(file)) as sound:
        rate = sound.getframerate()
        samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16).astype(np.float32) / 32768
    times = np.arange(len(samples) * RATE // rate) * rate / RATE
    return np.interp(times, np.arange(len(samples)), samples).astype(np.float32)


class SmartTurn:
    def __init__(self, file):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(file, options)
        self.extractor = WhisperFeatureExtractor(feature_size=80, chunk_length=8)

    def __call__(self, sound):
        sound = np.concatenate([np.zeros(WINDOW, np.float32), sound, np.zeros(SILENCE, np.float32)])[-WINDOW:]
        features = self.extractor(sound, sampling_rate=RATE, padding="max_length", max_length=WINDOW, truncation=True,
                                  do_normalize=True, return_tensors="np").input_features
        return float(self.session.run(None, {"input_features": features.astype(np.float32)})[0].reshape(-1)[0])


def ends_of_words(sound, espeak, text):
    """In samples; None where espeak-ng joins words."""
    begins, reading = espeak(text)
    first, last = spoken(sound, RATE)
    own_first, own_last = spoken(reading, espeak.rate)
    scale = (last - first) / (own_last - own_first)
    ends = [begin and first + (begin - own_first) * scale for begin in begins[1:]] + [last]
    return [end and int(end * RATE) for end in ends]


def waits(odds, sure, longest=MOST, shortest=UNMARKED):
    """Seconds, as end_wait_ms(): from `sure` log-odds on the shortest one."""
    return np.clip(SHORTEST + (sure - odds) * PER_ODDS, shortest, longest)


def fixed(odds, wait):
    return np.full(len(odds), wait)


def at_share(way, odds, is_end, share):
    """The mean wait at the ends, in seconds, where this share of the other pauses cuts the turn off."""
    low, high = -20.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        is_short = np.exp(-way(odds[~is_end], middle) / PAUSE).mean() > share
        low, high = (middle, high) if is_short else (low, middle)
    return way(odds[is_end], high).mean()


def signs(voice, model_file, readout, judge, texts):
    """(is it the end, the log-odds of that by its sound, by its words) after each word of `texts`."""
    model, tokenizer = load(model_file)
    with torch.no_grad():
        places, states = hidden_states(model, tokenizer, texts)
        words = torch.cat([by_readout(model.lm_head(some).float(), readout) for some in states.split(4096)])
    espeak, by_line = Espeak(), {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        read_aloud(*voice, [text for _, _, text in texts], folder)
        for number, (line, _, text) in enumerate(texts):
            sound = read_wav(folder / f"{number}.wav")
            by_line[line] = iter([end and -1.9 + 2.85 * judge(sound[:end]) for end in ends_of_words(sound, espeak, text)])
    rows = [(place.is_end, next(by_line[place.line], None), odds) for place, odds in zip(places, words.tolist())]
    return [row for row in rows if row[1] is not None]


def main(predgen, voice, model_file, readout, smart_turn, prompts, count=500):
    texts = [(line, source, plain(text)) for line, source, text in requests(prompts, int(count))]
    rows = signs((predgen, ["--tts", "piper", "--voice", voice]), model_file, load_file(readout), SmartTurn(smart_turn), texts)
    is_end, said, words = (np.array(column) for column in zip(*rows))
    words = words.clip(-3, 3)
    print(f"{is_end.sum()} ends, {(~is_end).sum()} other places; cut off:", *(f"{100 * share:.0f} %" for share in SHARES))
    ways = {"the pause alone": (fixed, 0 * said), "smart-turn": (waits, said - 1), "words": (waits, words),
            "both": (waits, said + words)}
    for name, (way, odds) in ways.items():
        cells = [f"{1000 * at_share(way, odds, is_end, share):6.0f} ms" for share in SHARES]
        print(f"  {name:16}", *cells)
    for name, (way, odds) in list(ways.items())[1:]:
        marked, unmarked = waits(odds + MARKED, SURE, LONGEST, SHORTEST), waits(odds, SURE, LONGEST)
        ends = 1000 * marked[is_end]
        cut_off = (100 * np.exp(-now[~is_end] / PAUSE).mean() for now in (unmarked, marked))
        print(f"  {name} as it is: {ends.mean():.0f} ms, P95 {np.quantile(ends, 0.95):.0f} ms at marked ends; cut off "
              "{:.1f} % of the other places without a mark, {:.1f} % with one".format(*cut_off))


if __name__ == "__main__":
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    main(*sys.argv[1:])
