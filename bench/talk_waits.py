"""How long a person waits for the first sound of an answer in `predgen talk`: recordings, each of one prompt, run
through the whole chain of real parts in real time.

usage: talk_waits.py PREDGEN PROMPTS [--count N] [--pause SECONDS] [--noise DB] [--voice VOICE] [--record FILE]
                     [--model MODEL] [--recogniser RECOGNISER] [NAME=OPTIONS ..]

  PROMPTS       JSON lines with "text", which a voice reads, or a folder of WAV files that people spoke, with the
                words of FILE.wav in FILE.txt where they are known; N of them, evenly spread (60)
  SECONDS       each is read in two parts, cut between two random words, with this much silence between them; only
                prompts of six or more words
  DB            adds noise as of a fan (half as strong each octave up), quieter than the voice by so many decibels
  VOICE         the voice that reads: a Piper voice's folder (joe in the models folder), or hibari, which also answers
  FILE          gets what was heard and when, in the first way, for `predgen eval` with turns.kind: recorded_asr
  MODEL, RECOGNISER  as `predgen talk` takes them, a name or a folder of your own, in ways that do not name one
  NAME=OPTIONS  ways to run `predgen talk`, instead of: as it is, by sound alone, and a plain cascade after a fixed pause

Prints a row for each way. The wait is from the last voiced sample to the first that can be played. A turn is cut
off if it ended before the prompt did, so that another turn follows. That does harm if something was heard of the answer
to its first part, and the answer to the whole, asked after a pause of 3 s, does not begin with that.
"""
import argparse
import io
import json
import os
import pathlib
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import wave

import numpy

WAYS = {"talk": "",
        "by sound and pause": "--end-by sound",
        "fixed pause of 0.8 s, no speculation": "--shortest-wait 0.8 --longest-wait 0.8 --verifier off"}
NUMBERS = {word: str(i) for i, word in enumerate("zero one two three four five six seven eight nine ten".split())}
DEMO = pathlib.Path(__file__).resolve().parents[1] / "checkpoints" / "demo"


def evenly(rows, count):
    count = min(count, len(rows))
    return [rows[i * len(rows) // count] for i in range(count)]


def texts_of(prompts, count, fewest_words=1):
    try:
        rows = [json.loads(line)["text"] for line in open(prompts)]
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"{prompts}: must be JSON lines with \"text\": {error}")
    rows = [row for row in rows if len(row.split()) >= fewest_words]
    return evenly(rows, count)


def recordings_of(prompts, count):
    """The WAV files of a folder, and what is said in them, "" where no text is there."""
    recordings = evenly(sorted(pathlib.Path(prompts).glob("*.wav")), count)
    if not recordings:
        sys.exit(f"{prompts}: holds no WAV files")
    texts = [recording.with_suffix(".txt") for recording in recordings]
    return recordings, [text.read_text().strip() if text.exists() else "" for text in texts]


def spoken_by_people(prompts, count, folder):
    """Links the recordings as 0.wav and so on into the folder, and returns their texts."""
    recordings, texts = recordings_of(prompts, count)
    for i, recording in enumerate(recordings):
        (folder / f"{i}.wav").symlink_to(recording.resolve())
    return texts


def parts_of(text, chance):
    """Cut after one of its words, but not after the first or the last one."""
    at = text.split()
    cut = chance.randint(2, len(at) - 2)
    return [" ".join(at[:cut]), " ".join(at[cut:])]


def joined(sounds, pause):
    """WAV files as one, with silence between them."""
    frames = []
    for sound in sounds:
        with wave.open(io.BytesIO(sound)) as file:
            form = file.getparams()
            frames.append(file.readframes(file.getnframes()))
    whole = io.BytesIO()
    with wave.open(whole, "wb") as file:
        file.setparams(form._replace(nframes=0))  # streams do not say how many they have
        file.writeframes(bytes(int(pause * form.framerate) * form.sampwidth).join(frames))
    return whole.getvalue()


def add_noise(path, decibels, seed):
    """To the WAV file, so many decibels below the mean power of its louder half."""
    with wave.open(str(path)) as file:
        form, sound = file.getparams(), numpy.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
    noise = numpy.fft.rfft(numpy.random.default_rng(seed).standard_normal(len(sound)))
    noise /= numpy.maximum(numpy.arange(len(noise)), 50 * len(sound) / form.framerate)
    noise = numpy.fft.irfft(noise, len(sound))
    power = numpy.sort(sound**2)[len(sound) // 2:].mean()
    noise *= numpy.sqrt(power / (noise**2).mean() / 10 ** (decibels / 10))
    with wave.open(str(path), "wb") as file:
        file.setparams(form)
        file.writeframes(numpy.clip(sound + noise, -32768, 32767).astype("<i2").tobytes())


def read_aloud(predgen, speech, texts, folder, pause=0):
    """`speech`: the options of a voice. `pause`: seconds of silence within each text."""
    chance = random.Random(0)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen([predgen, "serve", "--model", DEMO, "--recogniser", "none", *map(str, speech), "--port", str(port)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except OSError:
                time.sleep(0.2)
        for i, text in enumerate(texts):
            parts = parts_of(text, chance) if pause else [text]
            (folder / f"{i}.wav").write_bytes(joined([speech_of(port, part) for part in parts], pause))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def speech_of(port, text):
    body = json.dumps({"model": "demo", "input": text, "response_format": "wav"}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/audio/speech", data=body,
                                     headers={"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=60).read()


def words(text):
    """Small numbers in figures, as one recogniser writes them and another one does not."""
    return [NUMBERS.get(word, word) for word in re.findall(r"[\w']+", text.lower())]


def word_errors(heard, said):
    row = list(range(len(said) + 1))
    for i, word in enumerate(heard, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(said, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (word != other))
    return row[-1]


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def recording(turns, text):
    """A recording of the turn in which the text was heard, or of the first of several."""
    if not turns or turns[0]["voice_ended"] is None:
        return []
    return {"said": text, "voice_ended": max(0, round(turns[0]["voice_ended"], 3)), "cut_off": len(turns) > 1,
            "transcripts": [[heard, round(seconds, 3)] for heard, seconds in turns[0]["transcripts"]]}


def heard_by(predgen, options, path, folder):
    """The turns that `predgen talk` hears in a file."""
    command = [predgen, "talk", "--input", path, "--output", folder / "answer.wav", "--overwrite", "--json",
               "--max-new-tokens", "24", *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)["turns"]


def does_harm(turns, predgen, options, path, folder):
    """Whether what was heard after the first part of a turn is no beginning of the answer to the whole."""
    first = turns[0]["text"].strip()
    if not first:
        return False
    kept, skip = [], 0
    for option in options:
        if skip == 0:
            skip = {"--eager": 1, "--preemptive": 1, "--verifier": 2, "--shortest-wait": 2, "--longest-wait": 2}.get(option, 0)
        if skip == 0:
            kept.append(option)
        skip = max(0, skip - 1)
    whole = heard_by(predgen, [*kept, "--shortest-wait", "3", "--longest-wait", "3"], path, folder)
    return not whole or not whole[0]["text"].strip().startswith(first)


class Row:
    """What the turns of one way gave."""

    def __init__(self, name, options):
        self.name, self.options = name, shlex.split(options)
        self.waits, self.parts, self.used, self.recordings = [], {}, [], {}
        self.errors = self.num_words = self.cut = self.harmful = self.unheard = self.kept = 0

    def hear(self, predgen, i, text, folder):
        path = folder / f"{i}.wav"
        turns = heard_by(predgen, self.options, path, folder)
        self.recordings[str(i + 1)] = recording(turns, text)
        if text:
            heard = words(" ".join(turn["heard"] for turn in turns))
            self.errors += word_errors(heard, words(text))
            self.num_words += len(words(text))
        self.unheard += not turns
        if len(turns) > 1:
            self.cut += 1
            self.harmful += does_harm(turns, predgen, self.options, path, folder)
        if len(turns) != 1 or turns[0]["voice_to_voice"] is None:
            return
        self.kept += turns[0]["first_sentence_kept"]
        self.waits.append(turns[0]["voice_to_voice"])
        self.used.append(turns[0]["used"])
        for part, seconds in turns[0]["parts"].items():
            self.parts.setdefault(part, []).append(seconds)

    def print(self):
        medians = ", ".join(f"{part} {1e3 * percentile(self.parts.get(part, []), 0.5):.0f}" for part in
                            ("recogniser", "end_of_turn", "model", "voice"))
        wrong = f"{100 * self.errors / self.num_words:.1f} % of words wrong" if self.num_words else "words unknown"
        print(f"{self.name}: {len(self.waits)} turns, wait P50 {1e3 * percentile(self.waits, 0.5):.0f} ms, "
              f"P95 {1e3 * percentile(self.waits, 0.95):.0f} ms (medians of its parts: {medians}); "
              f"{self.cut} cut off ({self.harmful} with harm), {self.unheard} not heard, {wrong}, "
              f"{self.kept} first sentences kept from a draft; {self.price()}; load {os.getloadavg()[0]:.1f}", flush=True)

    def price(self):
        own, helpers = ([used[kind] for used in self.used] for kind in ("own_seconds", "helper_seconds"))
        text = f"processor seconds {percentile(own, 0.5):.2f} and {percentile(helpers, 0.5):.2f} of the recogniser"
        joules = [used["joules"] for used in self.used if used["joules"] is not None]
        return f"{text}, {percentile(joules, 0.5):.0f} J" if joules else text


def measure(predgen, ways, texts, folder):
    """Prints the rows of the ways, and returns them. Each text is heard in all of them before the next one is: a
    machine that becomes slower slows them all."""
    rows = [Row(name, options) for name, options in ways.items()]
    for i, text in enumerate(texts):
        for row in rows:
            row.hear(predgen, i, text, folder)
    for row in rows:
        row.print()
    return rows


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    arguments = argparse.ArgumentParser()
    arguments.add_argument("predgen")
    arguments.add_argument("prompts")
    arguments.add_argument("--count", type=int, default=60)
    arguments.add_argument("--pause", type=float, default=0)
    arguments.add_argument("--noise", type=float)
    arguments.add_argument("--voice")
    arguments.add_argument("--record", type=pathlib.Path)
    arguments.add_argument("--model", default="")
    arguments.add_argument("--recogniser", default="")
    arguments.add_argument("ways", nargs="*")
    given = arguments.parse_intermixed_args()
    ways = dict(way.split("=", 1) for way in given.ways) or WAYS
    for option in ("model", "recogniser"):
        if value := getattr(given, option):
            ways = {name: f"{options} --{option} {shlex.quote(value)}" if f"--{option}" not in options else options
                    for name, options in ways.items()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if os.path.isdir(given.prompts):
            if given.pause or given.noise is not None or given.voice:
                sys.exit("--pause, --noise and --voice are for prompts that a voice reads, not for recordings")
            texts = spoken_by_people(given.prompts, given.count, folder)
        else:
            texts = texts_of(given.prompts, given.count, fewest_words=6 if given.pause else 1)
            piper = ["--tts", "piper", "--voice", given.voice or "joe"]
            read_aloud(given.predgen, ["--tts", "hibari"] if given.voice == "hibari" else piper, texts, folder, given.pause)
            if given.noise is not None:
                for i in range(len(texts)):
                    add_noise(folder / f"{i}.wav", given.noise, i)
        first = measure(given.predgen, ways, texts, folder)[0]
        if given.record:
            lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in first.recordings.items()]
            given.record.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
