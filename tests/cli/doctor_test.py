"""predgen doctor: what it says of a whole model folder and of a broken one."""

import ctypes.util
import math
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from program import ESPEAK, PREDGEN, REPOSITORY, check
from tiny_model import make_voice

DEMO = REPOSITORY / "checkpoints" / "demo"


def doctor(*arguments, **more):
    return subprocess.run([PREDGEN, "doctor", *map(str, arguments)], capture_output=True, text=True,
                          env=os.environ | more)


def main():
    machine = doctor()
    check(machine.returncode == 0 and "cores" in machine.stdout, "the machine alone")
    for word, good, cure in (("Sound", "can be played", "--audio-out"), ("espeak", "can be spoken", "predgen-espeak")):
        line = re.search(rf"^  {word} +(.*)$", machine.stdout, re.MULTILINE)
        check(line and (good in line[1] or cure in line[1]), f"{word}: it is there, or what to do")
    for word, good, cure in (("Ears", "is understood", "models get"), ("Voice", "hibari speaks", "models get"),
                             ("Mics", "--input mic:NAME", "--input FILE.wav")):
        line = re.search(rf"^  {word} +(.*)$", machine.stdout, re.MULTILINE)
        check(line and (good in line[1] or cure in line[1] or "setup.sh" in line[1]), f"{word}: {line and line[1]}")
    echo = re.search(r"^  Echo +(.*)$", machine.stdout, re.MULTILINE)
    check(echo and ("can be interrupted" in echo[1] or "--headphones" in echo[1]), "whether there is an echo canceller")
    if ctypes.util.find_library("cuda") is None:
        check("there is no NVIDIA driver here" in machine.stdout, "why no GPU is visible")
    whole = doctor("--model", DEMO)
    check(whole.returncode == 0, f"a whole model: {whole.stderr}")
    for part in ("5.5 M parameters", "context of 1024", "4096 ids", "with 1024 tokens", "yes"):
        check(part in whole.stdout, f"it says {part}")
    if "none visible" in machine.stdout:
        memory = re.search(r"cores, (\S+) GiB of memory", machine.stdout)[1]
        fits = re.search(r"fits into (\S+) GiB, the memory of this machine", whole.stdout)
        check(fits and math.isclose(float(fits[1]), float(memory), rel_tol=0.01), "without a GPU it is the machine's memory")
        check("Zonos" not in whole.stdout.split("Memory, GiB")[1], "that is shared with no voice on a GPU")
    small = doctor("--model", DEMO, "--memory", "4")
    check("no" in small.stdout.split("fits into 4 GiB")[1], "it does not fit beside Zonos")
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "demo.gguf"
        subprocess.run([PREDGEN, "export", "--model", DEMO, "--output", file, "--check", "weights"], check=True,
                       capture_output=True)
        # 5.5 M weights, of 8.5 bits in the file.
        stored = re.search(r"Stored in Q8_0; runs so, in (\S+) GiB", doctor("--model", file).stdout)
        check(stored and 0.0054 < float(stored[1]) < 0.0066, "what a file in few bits takes as it is stored")
    for arguments in (["--memory", "0"], ["--context", "-1"]):
        check(doctor("--model", DEMO, *arguments).returncode == 2, f"{arguments} are refused")
    with tempfile.TemporaryDirectory() as scratch:
        check("To speak with" not in doctor(PREDGEN_MODELS=scratch).stdout, "no models: none suits")
        (Path(scratch) / "demo").symlink_to(DEMO)
        (Path(scratch) / "broken.gguf").write_bytes(b"no model")
        said = doctor(PREDGEN_MODELS=scratch).stdout
        check(re.search(r"^  demo +\d+ MB  about \S+ tokens/s", said, re.MULTILINE) and "broken" not in said and
              "To speak with: predgen talk --model demo" in said and "chat --model demo" in said,
              "which of the models here suit this machine")
    with tempfile.TemporaryDirectory() as scratch:
        broken = Path(scratch) / "model"
        for name, part in (("model.safetensors", "MISSING"), ("tokenizer.json", "MISSING"),
                           ("tokenizer_config.json", "chat_template")):
            shutil.copytree(DEMO, broken)
            (broken / name).unlink()
            result = doctor("--model", broken)
            check(result.returncode == 2 and part in result.stdout, f"without {name}")
            shutil.rmtree(broken)
        result = doctor("--model", broken)
        check(result.returncode == 2 and "no such model folder" in result.stderr, "no folder")


def check_voice():
    """A voice is measured, and the verdict is that of the figures."""
    if not ESPEAK:
        print("skipped: doctor --tts-model (no predgen-espeak)")
        return
    with tempfile.TemporaryDirectory() as scratch:
        voice = make_voice(Path(scratch) / "voice")
        result = doctor("--tts-model", voice)
        check(result.returncode == 0, f"a whole voice: {result.stderr[-300:]}")
        step = re.search(r"step +(\S+) ms, and 86.1 of them speak a second: (\S+) s", result.stdout)
        codec = re.search(r"codec +(\S+) s for a second of sound", result.stdout)
        verdict = re.search(r"Zonos (keeps up|does not keep up) here: (\S+) s of work", result.stdout)
        check(step and codec and verdict, f"step, codec and verdict: {result.stdout}")
        check(math.isclose(float(step[1]) * 1e-3 * 44100 / 512, float(step[2]), rel_tol=0.02), "steps of a second")
        factor = float(verdict[2])
        check(math.isclose(float(step[2]) + float(codec[1]), factor, rel_tol=0.02), "and all work")
        check((factor < 1) == (verdict[1] == "keeps up"), f"{factor} is what it says")
        check((factor < 1) == ("use --tts hibari" not in result.stdout.split("Speed")[1]), "another voice is named")
        (voice / "dac_44khz" / "model.safetensors").unlink()
        result = doctor("--tts-model", voice)
        check(result.returncode == 2 and "Speed" not in result.stdout, "a broken voice is not measured")


if __name__ == "__main__":
    main()
    check_voice()
