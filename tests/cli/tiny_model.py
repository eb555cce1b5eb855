"""Copies of random models: a folder that can hold a conversation, a LoRA adapter for it, smaller models to draft for
it, and a voice. make_models.py makes them once for all tests of a build, because LibTorch alone takes seconds to
import."""

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

from program import ESPEAK, PREDGEN, REPOSITORY, check, missing_for, run  # noqa: F401

WORDS = ["please book a table for two people tonight", "what is the weather like in the city",
         "play some music. turn it up! is that ok?"]
MAKERS = [REPOSITORY / "scripts/train_tokenizer.py", REPOSITORY / "tests/cli/make_models.py", Path(__file__),
          REPOSITORY / "tests/cli/tiny_zonos.py", REPOSITORY / "tests/model/reference_models.py",
          REPOSITORY / "tests/voice/zonos/zonos_models.py"]


def made_models():
    """The folder that make_models.py made, which belongs to these versions of what makes it."""
    version = hashlib.sha256(b"".join(file.read_bytes() for file in MAKERS)).hexdigest()[:12]
    folder = Path(PREDGEN).parent / "test-models" / version
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another test may be making it
        if not folder.exists():
            making = folder.with_suffix(".making")
            shutil.rmtree(making, ignore_errors=True)  # of one that was interrupted
            making.mkdir()
            made = subprocess.run([sys.executable, REPOSITORY / "tests/cli/make_models.py", making],
                                  capture_output=True, text=True)
            if made.returncode == 77:  # a package is missing
                print(made.stdout)
                sys.exit(77)
            check(made.returncode == 0, f"random models are made: {made.stderr}")
            making.rename(folder)
    return folder


def make_folder(scratch):
    return Path(shutil.copytree(made_models() / "model", scratch / "model"))


def make_draft_model(scratch, model):
    """A random smaller model with the tokenizer of the folder `model`."""
    size = json.loads((model / "config.json").read_text())["vocab_size"]
    folder = Path(shutil.copytree(made_models() / f"draft-{size}", scratch / "draft"))
    for file in model.glob("tokenizer*"):
        shutil.copy(file, folder)
    return folder


def make_adapter(scratch):
    return Path(shutil.copytree(made_models() / "adapter", scratch / "adapter"))


def make_voice(folder):
    """A small Zonos voice."""
    return Path(shutil.copytree(made_models() / "zonos", folder))
