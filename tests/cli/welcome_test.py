"""predgen alone: what to do next, with the models that there are."""

import os
import subprocess
import tempfile
from pathlib import Path

from program import PREDGEN, check


def welcome(models):
    done = subprocess.run([PREDGEN], capture_output=True, text=True, env=os.environ | {"PREDGEN_MODELS": models})
    check((done.returncode, done.stderr) == (2, ""), f"no command was given: {done.stderr}")
    lines = done.stdout.splitlines()
    check(8 <= len(lines) <= 12 and max(map(len, lines)) <= 110, f"about ten lines: {done.stdout}")
    check("predgen --help" in done.stdout and "predgen doctor" in done.stdout, "where help is")
    return done.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        check("predgen models get smollm2" in welcome(folder), "without a model how one is fetched")
        for name, chat in (("mine", "chat --model mine "), ("smollm2", "chat ")):
            Path(folder, f"{name}.gguf").write_bytes(b"not looked at")
            text = welcome(folder)
            check(f"predgen {chat} " in text, f"it is the one to chat with: {text}")
            check("models get" not in text and "mine" in text.splitlines()[-1], f"with one what is there: {text}")
    print("ok")


if __name__ == "__main__":
    main()
