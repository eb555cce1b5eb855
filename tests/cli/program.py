"""The program under test, for scripts that need no model of their own: this imports nothing that is slow."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PREDGEN = os.environ.get("PREDGEN", str(REPOSITORY / "build" / "predgen"))
sys.path.append(str(REPOSITORY / "tests" / "model"))  # for reference_models.py, which imports LibTorch
ESPEAK = (Path(PREDGEN).parent / "predgen-espeak").exists()


def run(*arguments, binary_output=False, **options):
    if binary_output:
        options["input"] = options["input"].encode()
    return subprocess.run([PREDGEN, *map(str, arguments)], capture_output=True,
                          text=not binary_output, **options)


def check(condition, message):
    if not condition:
        print("FAILED:", message)
        sys.exit(1)
    print("ok:", message)


def missing_for(*models):
    """Which of these fetched models are missing, or predgen-ears; empty: nothing is."""
    folder = Path(os.environ.get("PREDGEN_MODELS") or
                  Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "predgen/models")
    missing = [name for name in models if not (folder / name).is_dir()]
    return ", ".join(missing if Path(PREDGEN).with_name("predgen-ears").exists() else [*missing, "predgen-ears"])
