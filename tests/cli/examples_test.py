"""examples/realtime_client.py, as its page says, and the Python of examples/README.md, against a server."""

import array
import math
import re
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

from skipping import skip_without

skip_without("websockets", "openai's realtime connection")

from fake_recogniser import SECONDS_PER_WORD, Recogniser  # noqa: E402
from serving import PROMPTS, check, client, server, user  # noqa: E402
from program import ESPEAK, REPOSITORY  # noqa: E402

CLIENT = REPOSITORY / "examples" / "realtime_client.py"


def run_client(process, folder, *arguments):
    done = subprocess.run([sys.executable, CLIENT, "--url", process.url + "/v1", "--model", "demo", *arguments],
                          cwd=folder, capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"the example ends well: {done.stdout} {done.stderr}")
    return done.stdout


def write_tone(file, seconds, rate=24000, channels=1, width=2):
    samples = array.array("h", (int(9000 * math.sin(2 * math.pi * 440 * (i // channels) / rate))
                                for i in range(int(seconds * rate) * channels)))
    with wave.open(str(file), "wb") as tone:
        tone.setparams((channels, width, rate, 0, "NONE", ""))
        tone.writeframes(samples.tobytes())
    return file


def check_refusal(what, *arguments, part):
    done = subprocess.run([sys.executable, CLIENT, *arguments], capture_output=True, text=True, timeout=120)
    check(done.returncode == 1 and done.stderr.count("\n") == 1 and part in done.stderr, f"{what}: {done.returncode} {done.stderr}")


def check_recording(folder):
    """--wav: what the recogniser hears is shown and answered; what cannot be is refused in a line."""
    recogniser = Recogniser()
    recogniser.says = PROMPTS[0]
    tone = write_tone(folder / "tone.wav", len(PROMPTS[0].split()) * SECONDS_PER_WORD)
    with server(f"realtime.recogniser={recogniser.url}") as process:
        text = client(process).chat.completions.create(model="demo", messages=user(PROMPTS[0]), temperature=0)
        printed = run_client(process, folder, "--wav", tone)
        check(printed == f"heard: {PROMPTS[0]}\n{text.choices[0].message.content}\n", f"heard and answered: {printed}")
        other = write_tone(folder / "other.wav", len(PROMPTS[0].split()) * SECONDS_PER_WORD, rate=44100, channels=2)
        printed = run_client(process, folder, "--wav", other)
        check(printed.startswith(f"heard: {PROMPTS[0]}\n"), f"whatever its rate and channels: {printed}")
        check_refusal("has no model 'gpt'", "--url", process.url + "/v1", "--model", "gpt", "--text", "Hello", part="'gpt' is not here")
    check_refusal("there is no server", "--url", "http://127.0.0.1:1/v1", "--text", "Hello", part="is predgen serve running there?")
    for wrong, part in ((write_tone(folder / "coarse.wav", 0.5, width=1), "8 bits"), (CLIENT, "RIFF"), (folder / "none.wav", "No such file")):
        check_refusal(wrong, "--wav", wrong, part=part)
    shown = re.search(r"--wav (\S+)", (REPOSITORY / "examples" / "README.md").read_text())[1]
    with wave.open(str(REPOSITORY / shown)) as sample:
        check((sample.getnchannels(), sample.getsampwidth(), sample.getframerate()) == (1, 2, 24000), f"{shown} is such a recording")


def main(folder):
    with server() as process:
        text = client(process).chat.completions.create(model="demo", messages=user(PROMPTS[0]), temperature=0)
        printed = run_client(process, folder, "--text", PROMPTS[0])
        check(printed.startswith(text.choices[0].message.content + "\n"), f"the text of a request: {printed}")
        check(re.search(r"\[the answer began -?\d+ ms after the last word\]", printed), f"and its wait: {printed}")

        page = (REPOSITORY / "examples" / "README.md").read_text()
        code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
        code = code.replace("http://127.0.0.1:8080", process.url).replace("smollm2", "demo")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        check(done.returncode == 0 and done.stdout.strip(), f"the page's request is answered: {done.stderr}")
    check_recording(folder)
    if not ESPEAK:
        print("skipped: the sound of an answer (no predgen-espeak)")
        return
    with server("--tts", "espeak") as process:
        printed = run_client(process, folder, "--text", PROMPTS[0], "--output", "said.wav")
        check("sound: said.wav" in printed, f"it says where the sound is: {printed}")
        with wave.open(str(folder / "said.wav")) as said:
            check(said.getframerate() == 24000 and said.getnframes() > 12000, "and there is some")


with tempfile.TemporaryDirectory() as scratch:
    main(Path(scratch))
print("examples: ok")
