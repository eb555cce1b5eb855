"""What the tests of clients share: the server of tests/cli/serving.py, and sound."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))

from program import ESPEAK, check, missing_for, run  # noqa: E402,F401
from serving import KEY, PROMPTS, client, server, user  # noqa: E402,F401

QUESTION = "What is the weather like in London today?"
# Nothing of what a server does by default is switched off, as far as it is there.
CANNOT_HEAR = missing_for("whisper-base", "silero", "smart-turn", "hibari")
FULL = ["--tts", "espeak" if ESPEAK else "none", "--recogniser", "none"] if CANNOT_HEAR else ["--tts", "hibari", "--recogniser", "auto"]
