"""What recognisers make of recordings, and what that takes: words wrong, and processor time, which a shared machine
does not change. bench/talk_waits.py measures the waits of whole turns, on an idle one.

usage: recognised_words.py PREDGEN-EARS MODELS RECORDINGS [--count N] [--half even|odd] [--noise DB] [--slower TIMES]
                           [WAY ..]

  MODELS      the folder with silero, whisper-base and moonshine-tiny (predgen models get)
  RECORDINGS  a folder of WAV files, with the words of FILE.wav in FILE.txt where they are known; N of them, evenly
              spread (60); --half: of every second one by name, counted from 0
  DB          adds noise as of a fan, quieter than the voice by so many decibels
  TIMES       sound comes so many times slower than it was spoken (1), for a machine that has other work
  WAY         base, moonshine or base+moonshine, as --recogniser of predgen has them (all three)

Prints a row for each way: words wrong, where they are known; the processor time from the last voiced sample until the
words are settled, as the median and the 95th percentile; that of a turn, and of a second of its sound.
"""
import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import threading
import time
import wave

import numpy

import talk_waits

RATE, BLOCK = 16000, 512
WAYS = {"base": ["--recogniser", "whisper-base"],
        "moonshine": ["--recogniser", "moonshine-tiny"],
        "base+moonshine": ["--recogniser", "whisper-base", "--fast-recogniser", "moonshine-tiny"]}


class Ears:
    def __init__(self, program, models, way):
        arguments = [value if value.startswith("--") else models / value for value in WAYS[way]]
        self.program = subprocess.Popen([program, *arguments, "--voice-activity", models / "silero"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.stream = 0
        if self.read()[0] != b"R":
            sys.exit(f"{program} does not start")

    def read(self):
        head = self.program.stdout.read(9)
        if len(head) < 9:
            sys.exit("predgen-ears has ended")
        size = struct.unpack("<I", head[5:])[0]
        return head[:1], self.program.stdout.read(size)

    def write(self, kind, payload=b""):
        self.program.stdin.write(kind + struct.pack("<II", self.stream, len(payload)) + payload)
        self.program.stdin.flush()

    def seconds(self):
        """Of all processors, that it has used."""
        tasks = pathlib.Path(f"/proc/{self.program.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def close(self):
        self.program.stdin.close()
        self.program.wait()


def hear(ears, sound, slower):
    """The text, the processor seconds of all, and those from the last voiced sample until the words were settled."""
    ears.stream += 1
    begin = time.monotonic()
    used = [ears.seconds()]  # when each block was sent

    def send():
        for i in range(0, len(sound), BLOCK):
            time.sleep(max(0, begin + slower * (i + BLOCK) / RATE - time.monotonic()))
            used.append(ears.seconds())
            ears.write(b"S", sound[i:i + BLOCK].astype("<f4").tobytes())
        ears.write(b"E")

    sender = threading.Thread(target=send)
    sender.start()
    texts, settled = {}, None
    while True:
        kind, payload = ears.read()
        if kind == b"F":
            sys.exit(payload.decode())
        if kind == b"D":
            break
        if kind != b"H":
            continue
        heard = json.loads(payload)
        texts[heard["segment"]] = heard["text"]
        voice = heard.get("voice") or {}
        if voice.get("active"):
            settled = None
        elif voice.get("in_words") and heard["text"] and settled is None:
            settled = ears.seconds() - used[min(len(used) - 1, voice["until"] // BLOCK)]
    sender.join()
    return " ".join(texts.values()), ears.seconds() - used[0], settled


def sound_of(path, decibels, seed):
    with tempfile.TemporaryDirectory() as folder:
        if decibels is not None:
            copy = pathlib.Path(folder) / "noisy.wav"
            copy.write_bytes(path.read_bytes())
            talk_waits.add_noise(copy, decibels, seed)
            path = copy
        with wave.open(str(path)) as file:
            rate, samples = file.getframerate(), numpy.frombuffer(file.readframes(file.getnframes()), "<i2")
    if rate != RATE:
        size = len(samples) * RATE // rate
        bins = numpy.zeros(size // 2 + 1, complex)
        of = numpy.fft.rfft(samples)[:len(bins)]
        bins[:len(of)] = of
        samples = numpy.fft.irfft(bins, size) * RATE / rate
    return numpy.concatenate([samples / 32768, numpy.zeros(RATE)])


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("program")
    arguments.add_argument("models", type=pathlib.Path)
    arguments.add_argument("recordings", type=pathlib.Path)
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("--half", choices=["even", "odd"])
    arguments.add_argument("--noise", type=float)
    arguments.add_argument("--slower", type=float, default=1)
    arguments.add_argument("ways", nargs="*", choices=[*WAYS, []])
    given = arguments.parse_intermixed_args()
    files = sorted(given.recordings.glob("*.wav"))
    if given.half:
        files = files[given.half == "odd"::2]
    files = talk_waits.evenly(files, given.count)
    if not files:
        sys.exit(f"{given.recordings}: holds no WAV files")
    sounds = [sound_of(file, given.noise, i) for i, file in enumerate(files)]
    for way in given.ways or WAYS:
        ears = Ears(given.program, given.models, way)
        errors = count = 0
        used, waits = [], []
        for file, sound in zip(files, sounds):
            text, seconds, settled = hear(ears, sound, given.slower)
            used.append(seconds)
            waits += [settled] if settled is not None else []
            if file.with_suffix(".txt").exists():
                said = talk_waits.words(file.with_suffix(".txt").read_text())
                errors += talk_waits.word_errors(talk_waits.words(text), said)
                count += len(said)
        ears.close()
        wrong = f"{100 * errors / count:.1f} % of {count} words wrong" if count else "words unknown"
        spoken = sum(len(sound) for sound in sounds) / RATE
        print(f"{way}: {len(files)} turns, {wrong}; processor time until the words are settled P50 "
              f"{1e3 * talk_waits.percentile(waits, 0.5):.0f} ms, P95 {1e3 * talk_waits.percentile(waits, 0.95):.0f} ms; "
              f"{sum(used) / len(used):.2f} s a turn, {sum(used) / spoken:.2f} a second of sound", flush=True)


if __name__ == "__main__":
    main()
