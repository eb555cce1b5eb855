"""predgen talk, from a recorded question to a spoken answer, with the models that set-up fetches."""

import json
import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

from program import PREDGEN, REPOSITORY, check, missing_for, run
from tiny_model import make_folder

QUESTION = REPOSITORY / "data/samples/question.wav"


def refused(words, *arguments):
    result = run("talk", *arguments)
    check(result.returncode == 2 and words in result.stderr and result.stderr.count("\n") == 1 and not result.stdout,
          f"{arguments}: {result.returncode} {result.stderr.strip()}")


def write_wav(file, seconds, rate=16000, channels=1):
    with wave.open(str(file), "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(bytes(2 * channels * int(seconds * rate)))


def bad_input(scratch, model):
    talk = ["--model", model, "--tts", "none"]
    refused("mic", *talk, "--input", "mic:no such microphone")
    refused("nothing.wav", *talk, "--input", scratch / "nothing.wav")
    (scratch / "text.wav").write_text("this is no sound")
    refused("text.wav", *talk, "--input", scratch / "text.wav")
    (scratch / "empty.wav").write_bytes(b"")
    answer = scratch / "untouched.wav"
    refused("empty.wav: is empty", "--model", scratch / "no model", "--input", scratch / "empty.wav", "--output", answer)
    check(not answer.exists(), "what is heard is looked at first")
    refused("--shortest-wait", *talk, "--input", QUESTION, "--shortest-wait", "2")
    refused("a folder for recordings", *talk, "--input", QUESTION, "--record", scratch / "text.wav")
    refused("no such folder", *talk, "--input", QUESTION, "--recogniser", scratch / "no such folder")
    recording, other = scratch / "recording.wav", scratch / "other.wav"
    for file in (recording, other):
        shutil.copy(QUESTION, file)
    speaks = ["--model", model, "--tts", "espeak", "--input", recording]
    refused("is what is heard", *speaks, "--output", recording, "--overwrite")
    refused("--overwrite", *speaks, "--output", other)
    check(recording.read_bytes() == other.read_bytes() == QUESTION.read_bytes(), "no recording is lost")
    refused("--json", "--model", model, "--tts", "espeak", "--input", QUESTION, "--json", "--output", "-")


def conversations(scratch, model):
    talk = ["talk", "--model", model, "--threads", "1", "--max-new-tokens", "24", "--json"]
    result = run(*talk, "--tts", "none", "--input", QUESTION)
    check(result.returncode == 0, f"a recording: {result.stderr[-300:]}")
    turns = json.loads(result.stdout)["turns"]
    check(len(turns) == 1 and "capital of france" in turns[0]["heard"].lower(), f"what was said is heard: {turns}")
    check(turns[0]["text"] and turns[0]["voice_to_voice"] is None, "it is answered, without sound")
    parts = turns[0]["parts"]
    check(parts["voice"] is None and 0 <= parts["recogniser"] < 10 and 0 <= parts["model"] < 10, f"parts: {parts}")
    wait = parts["recogniser"] + parts["end_of_turn"]
    heard = turns[0]["transcripts"]
    check(heard[0][1] == 0 and heard[-1][0] == turns[0]["heard"] and len(heard) > 1, f"what was heard on the way: {heard}")
    check(abs(heard[-1][1] - turns[0]["voice_ended"] - wait) < 1e-6, "its times are those of the parts")
    used = turns[0]["used"]
    check(used["own_seconds"] > 0 and used["helper_seconds"] > 0.1, f"model and recogniser have worked: {used}")
    check(0.15 < wait < 10, f"a pause of at least the shortest wait ends the turn: {wait}")

    answer = scratch / "answer.wav"
    kept = scratch / "kept"
    result = run(*talk, "--tts", "hibari", "--input", QUESTION, "--output", answer, "--record", kept)
    check(result.returncode == 0, f"into a file: {result.stderr[-300:]}")
    turn = json.loads(result.stdout)["turns"][0]
    check(turn["voice_to_voice_ms"] == round(1000 * turn["voice_to_voice"]), "in milliseconds, too")
    check(abs(turn["voice_to_voice"] - sum(turn["parts"].values())) < 1e-6, "the wait is the sum of its parts")
    with wave.open(str(answer)) as sound:
        check(sound.getframerate() == 24000 and sound.getnframes() > 2400, "the answer is sound")
    with wave.open(str(kept / "heard-1.wav")) as sound, wave.open(str(QUESTION)) as question:
        same = sound.readframes(sound.getnframes()).startswith(question.readframes(question.getnframes()))
        check(same and sound.getframerate() == question.getframerate(), "what was heard is kept")

    # The pause at its end lasts long enough to begin an answer, and no word follows.
    result = run(*talk, "--tts", "none", "--input", QUESTION, "--preemptive", "--shortest-wait", "1.5", "--longest-wait", "1.5")
    turn = json.loads(result.stdout)["turns"][0]
    check(turn["first_sentence_kept"] and turn["parts"]["model"] < 0.05, f"an answer begun at the pause: {turn}")

    write_wav(scratch / "silence.wav", 1, rate=48000, channels=2)
    result = run(*talk, "--tts", "none", "--input", scratch / "silence.wav")
    check(result.returncode == 0 and json.loads(result.stdout) == {"turns": []}, "silence alone is no turn")
    result = run(*talk[:-1], "--tts", "none", "--input", scratch / "silence.wav", "--audio-out", "none")
    check(result.returncode == 0 and "no speech was heard" in result.stderr, f"and that is said: {result.stderr[-300:]}")

    with wave.open(str(QUESTION)) as sound:
        rate, samples = sound.getframerate(), sound.readframes(sound.getnframes())
    result = subprocess.run([PREDGEN, *map(str, talk), "--tts", "none", "--input", "-", "--input-rate", str(rate)],
                            input=samples, capture_output=True)
    check(result.returncode == 0 and "capital of france" in json.loads(result.stdout)["turns"][0]["heard"].lower(),
          f"raw samples through a pipe: {result.stderr[-300:]}")


def main(scratch):
    model = make_folder(scratch)
    missing = missing_for("whisper-base", "silero", "smart-turn", "hibari")
    if missing:
        print(f"skipped: talk (no {missing})")
        return
    bad_input(scratch, model)
    conversations(scratch, model)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="predgen-test-") as scratch:
        main(Path(scratch))
    sys.exit(0)
