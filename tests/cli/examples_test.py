"""examples/realtime_client.py, as its page says, and the Python of examples/README.md, against a server."""

import re
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

from skipping import skip_without

skip_without("websockets", "openai's realtime connection")

from serving import PROMPTS, check, client, server, user  # noqa: E402
from tiny_model import ESPEAK, REPOSITORY  # noqa: E402

CLIENT = REPOSITORY / "examples" / "realtime_client.py"


def run_client(process, folder, *arguments):
    done = subprocess.run([sys.executable, CLIENT, "--url", process.url + "/v1", "--model", "demo", *arguments],
                          cwd=folder, capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"the example ends well: {done.stdout} {done.stderr}")
    return done.stdout


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
