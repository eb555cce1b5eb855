"""The voices hibari and piper in predgen chat, bench and serve: what is said where one cannot be had, and where
their models are (scripts/fetch_model.py hibari joe), that they speak."""

import json
import os
import sys
import tempfile
import wave
from pathlib import Path

from program import ESPEAK, REPOSITORY, check, run

CHAT = ["chat", "--model", REPOSITORY / "checkpoints" / "demo", "--threads", "1", "--max-new-tokens", "12"]
MODELS = Path(os.environ.get("PREDGEN_MODELS") or
              Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "predgen" / "models")


def check_errors(scratch):
    nothing = {**os.environ, "PREDGEN_MODELS": str(scratch / "none")}
    empty, two = scratch / "empty", scratch / "two"
    for folder in (empty, two):
        folder.mkdir()
    for name in ("a", "b"):
        (two / f"{name}.onnx").write_bytes(b"no network")
    text = scratch / "text"
    text.mkdir()
    (text / "x.onnx").write_bytes(b"no network")
    (text / "x.onnx.json").write_text(json.dumps({"phoneme_type": "text", "phoneme_id_map": {"a": [1]}}))
    cut = scratch / "cut"
    cut.mkdir()
    (cut / "hibari.onnx").write_bytes(b"no network")
    (cut / "vocab.json").write_text('{"a": 1}')
    config = scratch / "voice.yaml"
    config.write_text("speed: 9\n")
    for more, parts in ((["--tts", "hibari"], ["predgen models get hibari", "--tts espeak"]),
                        (["--tts", "hibari", "--tts-model", empty], [f"{empty}/vocab.json"]),
                        (["--tts", "hibari", "--tts-model", cut], ["hibari.onnx", "ONNX"]),
                        (["--tts", "hibari", "--voice", "en-us"], ["--voice", "--tts piper"]),
                        (["--tts", "hibari", "--tts-config", config], ["speed"]),
                        (["--tts", "hibari", "--tts-codec", empty], ["--tts zonos"]),
                        (["--tts", "piper"], ["--voice", "joe"]),
                        (["--tts", "piper", "--voice", "joe"], ["joe", "predgen models get joe"]),
                        (["--tts", "piper", "--voice", empty], ["no .onnx"]),
                        (["--tts", "piper", "--voice", two], ["a.onnx", "b.onnx"]),
                        (["--tts", "piper", "--voice", text], ["'text'", "espeak"]),
                        (["--tts", "piper", "--voice", two, "--tts-model", empty], ["--tts-model", "--tts hibari"]),
                        (["--tts", "none", "--voice", "joe"], ["--voice", "--tts piper"]),
                        (["--tts", "none", "--tts-config", config], ["--tts-config", "--tts hibari"])):
        bad = run(*CHAT, *more, input="hello\n", env=nothing)
        check(bad.returncode == 2 and bad.stderr.count("\n") == 1 and all(part in bad.stderr for part in parts),
              f"{more} is refused in a line: {bad.returncode} {bad.stderr.strip()}")


def check_voice(scratch, rate, *voice):
    wav = scratch / "answer.wav"
    spoken = run(*CHAT, *voice, "--audio-out", wav, "--overwrite", "--json", input="hello\n")
    check(spoken.returncode == 0, f"chat speaks {spoken.stderr[-300:]}")
    turn = json.loads(spoken.stdout)["turns"][0]
    check(turn["audio_latency"] > 0, "its audio has a latency")
    with wave.open(str(wav)) as audio:
        seconds = audio.getnframes() / audio.getframerate()
        check(audio.getframerate() == rate and 0.3 < seconds < 20, f"the WAV holds {seconds:.1f} s of speech at {rate} Hz")
    report = run("bench", *voice, "--runs", "2", "--json")
    check(report.returncode == 0, f"bench runs {report.stderr[-300:]}")
    check(json.loads(report.stdout)["voice"]["real_time_factor"]["p90"] > 0, "and measures it")


def main(scratch):
    if not ESPEAK:
        print("skipped: small voices (no predgen-espeak)")
        return 77
    without = run(*CHAT, "--tts", "hibari", input="hello\n")
    if "was built without" in without.stderr:
        check(without.returncode == 2 and without.stderr.count("\n") == 1, f"a build without says so: {without.stderr}")
        print("skipped: small voices (built with PREDGEN_SPEECH=OFF)")
        return 0
    check_errors(scratch)
    for name, rate, voice in (("hibari", 24000, ["--tts", "hibari"]), ("joe", 22050, ["--tts", "piper", "--voice", "joe"])):
        if (MODELS / name).is_dir():
            check_voice(scratch, rate, *voice)
        else:
            print(f"skipped: the voice {name} (scripts/fetch_model.py {name})")
    return 0


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    sys.exit(main(Path(folder)))
