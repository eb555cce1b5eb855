"""Whether `predgen talk` hears itself on a loudspeaker, and how well it hears people who speak over it: answers that
Hibari reads, in a simulated room (tests/fakes/echoing_room.h), through the echo canceller, to the real ears.

usage: echo.py PREDGEN ECHO_BENCH [TURNS [PIPER_VOICE [ECHO_DB ..]]]

  ECHO_BENCH    build/predgen_echo_bench (bench/cancel_echo.cpp); PREDGEN's folder has predgen-ears, too
  TURNS         over which nobody speaks (100); somebody speaks over half as many
  PIPER_VOICE   the folder of the user's voice (joe in the models folder)
  ECHO_DB       echo at the microphone, relative to the user's voice there (-10)

Each kind is one stretch of time, and begins with an untrained canceller. False barge-ins: answers over which nobody
spoke, but words that would have ended them were heard from 2 s after the first sample on. Word errors: of what the
user says from 1 s after an answer began, and of the same words without an answer. Before the first answer of either
kind another one is played, so that there is something to learn from.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import wave

import numpy as np

from talk_waits import read_aloud, word_errors, words

ROOT = pathlib.Path(__file__).resolve().parents[1]
RATE = 16000
LOUDNESS = 0.05  # root mean square of voices
NOISE = 3e-4
RAW = 10  # answers that are heard without the canceller, too


def backchannels():
    """English words that only signal listening, by the program's own list."""
    source = (ROOT / "text/words.cpp").read_text()
    lists = [source.split(begin)[1].split("}")[0] for begin in ("kSounds{", '{"en", {')]
    return set(re.findall(r'"(\w+)"', "".join(lists)))


BACKCHANNELS = backchannels()


def answers(count):
    rows = [json.loads(line) for line in open(ROOT / "data/samples/dialogues.jsonl")]
    said = [part["content"] for row in rows for part in row["conversation"] if part["role"] == "assistant"]
    return [text for text in said if 30 < len(text) < 220][:count]


def questions(count):
    rows = [json.loads(line)["text"] for line in open(ROOT / "data/samples/spoken_prompts.jsonl")]
    return rows[::2][:count]


def samples_of(file):
    with wave.open(str(file)) as sound:
        rate, data = sound.getframerate(), np.frombuffer(sound.readframes(sound.getnframes()), "<i2") / 32768
    length = round(len(data) * RATE / rate)
    spectrum = np.zeros(length // 2 + 1, complex)  # of the new rate, which is the lower one
    spectrum[:] = np.fft.rfft(data)[:len(spectrum)]
    data = np.fft.irfft(spectrum, length) * length / len(data)
    return (data * LOUDNESS / np.sqrt((data ** 2).mean())).astype("<f4")


class Ears:
    def __init__(self, program, models):
        command = [program, "--recogniser", models / "whisper-base", "--voice-activity", models / "silero/silero_vad.onnx",
                   "--end-of-turn", models / "smart-turn/smart_turn.onnx"]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stream = 0
        if self.frame()[0] != b"R":
            sys.exit("the ears do not begin")

    def frame(self):
        kind, _, size = struct.unpack("<cII", self.process.stdout.read(9))
        return kind, self.process.stdout.read(size)

    def send(self, kind, body=b""):
        self.process.stdin.write(struct.pack("<cII", kind, self.stream, len(body)) + body)
        self.process.stdin.flush()

    def hear(self, samples):
        """The texts of its segments, each with the sample up to which there is voice in it."""
        self.stream += 1
        for begin in range(0, len(samples), RATE):
            self.send(b"S", samples[begin:begin + RATE].tobytes())
        self.send(b"E")
        segments = {}
        while True:
            kind, body = self.frame()
            if kind == b"F":
                sys.exit(body.decode())
            if kind == b"D":
                return [segments[number] for number in sorted(segments)]
            if kind == b"H":
                heard = json.loads(body)
                segments[heard["segment"]] = (heard["text"], heard["voice"]["until"])


def cancel(tool, echo, lines, folder):
    done = subprocess.run([tool, str(echo), str(NOISE), folder / "cleaned", folder / "raw"], input="\n".join(lines),
                          capture_output=True, text=True, check=True)
    spans = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return np.fromfile(folder / "cleaned", "<f4"), np.fromfile(folder / "raw", "<f4"), spans


def breaks_in(text):
    return any(word not in BACKCHANNELS for word in words(text.replace("-", "")))


def main(predgen, tool, count=100, voice=None, levels=("-10",)):
    models = pathlib.Path(os.environ.get("PREDGEN_MODELS") or
                          pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "predgen/models")
    with tempfile.TemporaryDirectory(prefix="predgen-echo-") as scratch:
        folder = pathlib.Path(scratch)
        texts = {"far": answers(int(count)), "near": questions(int(count) // 2)}
        for kind, speech in (("far", ["--tts", "hibari"]), ("near", ["--tts", "piper", "--voice", voice or models / "joe"])):
            (folder / kind).mkdir()
            read_aloud(predgen, speech, texts[kind], folder / kind)
            for i in range(len(texts[kind])):
                samples_of(folder / kind / f"{i}.wav").tofile(folder / kind / str(i))
        (folder / "silence").write_bytes(bytes(4 * RATE))
        ears = Ears(pathlib.Path(predgen).with_name("predgen-ears"), models)
        far = [folder / "far" / str(i % len(texts["far"])) for i in range(int(count))]
        near = [folder / "near" / str(i) for i in range(len(texts["near"]))]

        def errors(lines, echo):
            cleaned, _, spans = cancel(tool, echo, [f"{far[0]} - 0", *lines], folder)
            wrong = []
            for text, (begin, end, _) in zip(texts["near"], spans[1:]):
                heard = " ".join(part for part, _ in ears.hear(cleaned[begin:end]))
                wrong.append(word_errors(words(heard), words(text)))
            return sum(wrong) / sum(len(words(text)) for text in texts["near"])

        alone = errors([f"{folder / 'silence'} {name} 1" for name in near], 0)
        print(f"word errors alone: {100 * alone:.1f} %", flush=True)
        for level in levels:
            echo = 10 ** (float(level) / 20)
            cleaned, raw, spans = cancel(tool, echo, [f"{name} - 0" for name in far], folder)
            false, before, loss = 0, 0, []
            for begin, end, _ in spans:
                loss.append(10 * np.log10((raw[begin:end] ** 2).mean() / ((cleaned[begin:end] ** 2).mean() + 1e-12)))
                first = max(begin, 2 * RATE)
                words_of_it = [text for text, _ in ears.hear(cleaned[first:end]) if breaks_in(text)]
                false += bool(words_of_it)
                if words_of_it:
                    print("  heard of an answer:", *words_of_it, flush=True)
            for begin, end, _ in spans[:RAW]:
                before += any(breaks_in(text) for text, _ in ears.hear(raw[begin:end]))
            over = errors([f"{a} {b} 1" for a, b in zip(far, near)], echo)
            print(f"echo at {level} dB: {false} of {len(spans)} answers heard as words ({before} of {min(RAW, len(spans))} without the canceller), "
                  f"echo lower by {np.median(loss[1:]):.0f} dB (median); word errors over an answer {100 * over:.1f} %",
                  flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:5], *([sys.argv[5:]] if sys.argv[5:] else []))
