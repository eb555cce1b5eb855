"""The Zonos voice in predgen chat, eval, bench and doctor, on small random weights."""

import importlib.util
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlparse

from program import ESPEAK, PREDGEN, REPOSITORY, check, run
from tiny_model import make_voice

DEMO = REPOSITORY / "checkpoints" / "demo"
CONFIG = """
model: {model}
output: {output}
methods: [baseline, greedy]
turns: {{kind: prompts, file: {prompts}, count: 12}}
clock: {{kind: virtual, cost: measured}}
speech: {{voice: zonos, zonos: {{model: {voice}, max_new_frames: 60}}}}
generation: {{max_new_tokens: 40}}
threads: 1
"""


def check_chat(scratch, voice):
    chat = ["chat", "--model", DEMO, "--threads", "1", "--max-new-tokens", "24", "--tts", "zonos"]
    wav = scratch / "answer.wav"
    config = scratch / "voice.yaml"
    config.write_text(f"model: {voice}\nmax_new_frames: 60\n")
    spoken = run(*chat, "--tts-config", config, "--audio-out", wav, "--json", input="hello\n")
    check(spoken.returncode == 0, f"chat speaks {spoken.stderr[-300:]}")
    turn = json.loads(spoken.stdout)["turns"][0]
    check(turn["audio_latency"] > 0, "its audio has a latency")
    with wave.open(str(wav)) as audio:
        check(audio.getframerate() == 44100 and audio.getnframes() > 4000, "the WAV holds speech")
    at_16k = run(*chat, "--tts-config", config, "--audio-out", wav, "--overwrite", "--audio-rate", "16000",
                 input="hello\n")
    with wave.open(str(wav)) as audio:
        check(audio.getframerate() == 16000, f"and at another rate {at_16k.stderr[-200:]}")

    raw = run(*chat, "--tts-config", config, "--audio-out", "-", input="hello\n", binary_output=True)
    check(raw.returncode == 0 and len(raw.stdout) > 8000 and len(raw.stdout) % 2 == 0,
          "stdout takes raw samples")
    check(turn["text"].encode() in raw.stderr, "the text then goes to stderr")

    if not Path("/dev/snd").exists():  # no sound device
        here = scratch / "here"
        here.mkdir()
        unheard = run(*chat, "--tts-config", config, input="hello\n", cwd=here)
        left = [str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()]
        check(unheard.returncode == 0 and left == ["runs/predgen_answers.wav"],
              f"what no device plays goes to runs/: {left} {unheard.stderr[-300:]}")
        there = scratch / "there"
        there.mkdir()
        (there / "runs").write_text("")  # no folder can be made
        unheard = run(*chat, "--tts-config", config, input="hello\n", cwd=there)
        check(unheard.returncode == 0 and unheard.stdout.strip() and "going on without sound" in unheard.stderr,
              f"and where no file can be written, it goes on: {unheard.returncode} {unheard.stderr[-300:]}")

    chat_line = shlex.join(map(str, [PREDGEN, *chat, "--tts-config", config, "--audio-out", "-"]))
    for command, why in ((f"{chat_line} | head -c 1000 > /dev/null", "Broken pipe"),
                         (f"{chat_line} --audio-rate 16000 > /dev/full", "No space left")):
        lost = subprocess.run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"], text=True,
                              input="hello\nhello\n", capture_output=True, errors="replace")
        check(lost.returncode == 2 and lost.stderr.count(f"audio output failed: cannot write audio: {why}") >= 2
              and "2 of 2 turns failed" in lost.stderr, f"a sink that is gone ends its turn, no other: {why}")

    for more, part in ((["--tts-model", scratch / "none"], "none"),
                       (["--tts-model", voice, "--tts-language", "en-uk"], "en-uk"),
                       (["--tts-model", voice, "--tts-codec", voice], "config.json"),
                       (["--tts-model", voice, "--voice", scratch / "no.wav"], "no.wav"),
                       ([], "--tts-model")):
        bad = run(*chat, *more, input="hello\n")
        check(bad.returncode == 2 and part in bad.stderr and bad.stderr.count("\n") == 1,
              f"{more} is refused in a line: {bad.stderr.strip()}")
    bad = run(*chat, "--tts-model", voice, "--audio-out", "-", "--json", input="hello\n")
    check(bad.returncode == 2 and "stdout" in bad.stderr, "stdout is not for sound and JSON")
    silent = scratch / "silent.wav"
    with wave.open(str(silent), "wb") as audio:
        audio.setnchannels(1), audio.setsampwidth(2), audio.setframerate(16000)
    bad = run(*chat, "--tts-model", voice, "--voice", silent, input="hello\n")
    check(bad.returncode == 2, f"a speaker without sound is refused: {bad.stderr.strip()}")
    broken = scratch / "broken"
    shutil.copytree(voice, broken)
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    bad = run(*chat, "--tts-model", broken, input="hello\n")
    check(bad.returncode == 2 and "model.safetensors" in bad.stderr, "truncated weights are refused")


def check_eval(scratch, voice):
    output = scratch / "eval"
    config = scratch / "eval.yaml"
    config.write_text(CONFIG.format(model=DEMO, output=output, voice=voice,
                                    prompts=REPOSITORY / "data" / "samples" / "prompts.jsonl"))
    result = run("eval", "--config", config)
    check(result.returncode == 0, f"eval speaks {result.stderr[-300:]}")
    rows = json.loads((output / "results.json").read_text())["turns"]
    by_method = {name: [row for row in rows if row["method"] == name and row["ttfs"] is not None]
                 for name in ("baseline", "greedy")}

    def voice_delays(rows):  # from the confirmed sentence to its first sound
        return [row["audio_latency"] - row["ttfs"] for row in rows]
    ready = [row for row in by_method["greedy"] if row["lead_time"] > 0]
    check(len(ready) > 0, f"{len(ready)} sentences had their sound ready")
    hand_over, synthesis = max(voice_delays(ready)), min(voice_delays(by_method["baseline"]))
    check(hand_over < synthesis / 4, f"a ready sentence is heard after {hand_over * 1e3:.2f} ms, "
          f"one that is not after {synthesis * 1e3:.2f} ms")
    with wave.open(str(output / "answer.wav")) as audio:
        check(audio.getframerate() == 44100 and audio.getnframes() > 4000, "answer.wav holds speech")


def check_bench_and_doctor(scratch, voice):
    config = scratch / "bench.yaml"
    config.write_text(f"model: {voice}\nmax_new_frames: 60\n")
    report = run("bench", "--tts", "zonos", "--tts-config", config, "--runs", "2", "--json")
    check(report.returncode == 0, f"bench runs {report.stderr[-300:]}")
    figures = json.loads(report.stdout)["voice"]
    check(0 < figures["first_audio"]["mean"] < figures["buffer_ready"]["mean"]
          and figures["real_time_factor"]["p90"] > 0 and figures["seconds_per_column"] > 0
          and figures["codec_real_time_factor"] > 0, "its figures are in order")
    check(run("bench").returncode == 2, "bench without a voice says what to give")
    doctor = run("doctor", "--tts-model", voice)
    check(doctor.returncode == 0 and "codec" in doctor.stdout, f"doctor knows it {doctor.stderr}")
    for part in (voice, voice / "dac_44khz"):
        weights = part / "model.safetensors"
        whole = weights.read_bytes()
        weights.write_bytes(whole[:-100])
        doctor = run("doctor", "--tts-model", voice)
        weights.write_bytes(whole)
        check(doctor.returncode == 2 and "truncated" in doctor.stdout, f"and a cut {weights}")
    shutil.rmtree(voice / "dac_44khz")
    doctor = run("doctor", "--tts-model", voice)
    check(doctor.returncode == 2 and "dac_44khz" in doctor.stdout, "and misses its codec")


def check_serve(voice):
    """Clients at the same time, each of whom hears what it would hear alone; the weights are there once."""
    if importlib.util.find_spec("openai") is None:
        return print("skipped: serve (no openai)")
    import openai
    from serving import client, server
    config = voice / "voice.yaml"
    config.write_text(f"model: {voice}\nmax_new_frames: 60\n")
    texts = ["Hello, world.", "Something else is said here.", "And a third one!"]
    with server("--tts", "zonos", "--tts-config", config, "--wyoming-port", "0") as process:
        def speak(text, name="nova"):
            return client(process).audio.speech.create(model="demo", voice=name, input=text, response_format="pcm").content
        alone = [speak(text) for text in texts]
        check(len(set(alone)) == 3 and min(map(len, alone)) > 8000, f"each is spoken: {list(map(len, alone))}")
        with ThreadPoolExecutor() as clients:
            check(list(clients.map(speak, texts)) == alone, "together as alone")
        check(speak(texts[0], "zonos") == alone[0], "by its own name")
        try:
            speak(texts[0], "en-us")
            check(False, "espeak's names are not Zonos'")
        except openai.BadRequestError as error:
            check("there is no voice 'en-us' here: choose one of zonos" in error.body["message"], f"{error.body}")
        with socket.create_connection(process_address(process.stdout.readline())) as wyoming:
            wyoming.sendall(b'{"type": "describe"}\n')
            lines = wyoming.makefile("rb")
            head = json.loads(lines.readline())
            info = head.get("data") or json.loads(lines.read(head["data_length"]))
        spoken = [(one["name"], one["languages"]) for one in info["tts"][0]["voices"]]
        check(spoken == [("zonos", ["en-us"])], f"Wyoming lists it: {spoken}")


def process_address(line):
    url = urlparse(line.strip())
    return url.hostname, url.port


def main(scratch):
    if not ESPEAK:
        print("skipped: speech (no predgen-espeak)")
        return 77
    voice = make_voice(scratch / "zonos")
    check_chat(scratch, voice)
    check_eval(scratch, voice)
    check_serve(voice)
    check_bench_and_doctor(scratch, voice)
    return 0


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    sys.exit(main(Path(folder)))
