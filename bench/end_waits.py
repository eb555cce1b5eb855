"""How long the end of a turn is waited for, and how often a turn is cut off, where its end is told by the length of the
pause alone, by how it was said (smart-turn), by its words (the readout of a language model), or by both.

usage: end_waits.py MODEL.gguf READOUT.safetensors SMART_TURN.onnx PROMPTS [COUNT]

  PROMPTS      JSON lines with "text" and "source"; COUNT of them are taken by chance (500)

espeak-ng reads every request and says when each word begins. Behind every word the sound so far and 160 ms of silence
go to smart-turn, and the words so far to the readout. Both make the wait that runtime/listen/end_of_turn.cpp makes of
them. The end of a request is one; behind its other words there is a pause that lasts longer than t with a probability
of exp(-t / 0.4 s): where the wait is shorter than the pause, the turn is cut off. Prints the mean wait at the ends, by
the share of those pauses that cut a turn off: the longest wait is set for each way so that the share is that.
"""
import ctypes
import sys

import numpy as np
import onnxruntime
import torch
from safetensors.torch import load_file
from transformers import WhisperFeatureExtractor

from end_by_words import by_readout
from end_places import hidden_states, load, plain, requests  # behind end_by_words, which knows where it is

RATE, WINDOW, SILENCE = 16000, 128_000, 2560  # Hz; samples that smart-turn hears, and of the pause
PAUSE = 0.4  # seconds: pauses in a turn become rarer by a factor of e
SHORTEST, LONGEST = 0.2, 1.2  # seconds: what predgen talk waits
GRID = np.arange(0, 10, 0.01)
SHARES = (0.02, 0.05, 0.1, 0.2)


class Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("unique", ctypes.c_uint), ("text_position", ctypes.c_int),
                ("length", ctypes.c_int), ("audio_position", ctypes.c_int), ("sample", ctypes.c_int),
                ("user", ctypes.c_void_p), ("id", ctypes.c_char * 8)]


class Voice:
    """espeak-ng. Sound at RATE, and the sample with which each word begins."""

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
        sound = np.concatenate(self.sound).astype(np.float32) / 32768
        resampled = np.interp(np.arange(len(sound) * RATE // self.rate) * self.rate / RATE, np.arange(len(sound)), sound)
        places = [i + 1 for i in range(len(text)) if i == 0 or text[i - 1] == " "]
        begins = [next((seconds for place, seconds in self.words if place >= at), None) for at in places]
        return resampled.astype(np.float32), begins


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


def odds_by_sound(voice, judge, text):
    """Of an end behind each word, as end_of_turn.cpp takes it; nothing where espeak-ng joins words."""
    sound, begins = voice(text + ".")
    loud = np.flatnonzero(np.abs(sound) > 0.01)
    ends = [begin and int(begin * RATE) for begin in begins[1:]] + [int(loud[-1]) + 1 if len(loud) else None]
    return [end and -1.9 + (0.95 + 1.9) * judge(sound[:end]) for end in ends]


def waits(odds, longest):
    """Seconds: the shortest pause that is as long as the wait for the end that is then likely."""
    probability = 1 / (1 + np.exp(-(-0.7 + GRID[None] / PAUSE + np.asarray(odds)[:, None])))
    wait = longest + (SHORTEST - longest) * probability
    return GRID[np.argmax(GRID[None] >= wait, axis=1)]


def fixed(odds, wait):
    return np.full(len(odds), wait)


def at_share(way, odds, is_end, share):
    """The mean wait at the ends where this share of the other pauses cuts the turn off, and the longest wait."""
    low, high = 0.0, 9.0
    for _ in range(40):
        middle = (low + high) / 2
        is_short = np.exp(-way(odds[~is_end], middle) / PAUSE).mean() > share
        low, high = (middle, high) if is_short else (low, middle)
    return way(odds[is_end], high).mean(), high


@torch.no_grad()
def main(model_file, readout, smart_turn, prompts, count=500):
    model, tokenizer = load(model_file)
    readout, voice, judge = load_file(readout), Voice(), SmartTurn(smart_turn)
    texts = [(line, source, plain(text)) for line, source, text in requests(prompts, int(count))]
    places, states = hidden_states(model, tokenizer, texts)
    words = torch.cat([by_readout(model.lm_head(some).float(), readout) for some in states.split(4096)]).clamp(-3, 3)
    by_line, sound = {line: text for line, _, text in texts}, {}
    rows = []
    for place, odds in zip(places, words.tolist()):
        if place.line not in sound:
            sound[place.line] = iter(odds_by_sound(voice, judge, by_line[place.line]))
        said = next(sound[place.line], None)
        if said is not None:
            rows.append((place.is_end, said, odds))
    is_end, said, words = (np.array(column) for column in zip(*rows))
    print(f"{is_end.sum()} ends, {(~is_end).sum()} other places")
    ways = {"the pause alone": (fixed, 0 * said), "smart-turn": (waits, said), "words": (waits, words),
            "both": (waits, said + words)}
    for name, (way, odds) in ways.items():
        cells = [f"{1000 * wait:.0f} ms (longest {1000 * longest:.0f})"
                 for wait, longest in (at_share(way, odds, is_end, share) for share in SHARES)]
        print(f"  {name:16}", " | ".join(cells))
    for name, (way, odds) in list(ways.items())[1:]:
        now = way(odds, LONGEST)
        print(f"  {name} as it is: {1000 * now[is_end].mean():.0f} ms, cut off "
              f"{100 * np.exp(-now[~is_end] / PAUSE).mean():.1f} %")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
