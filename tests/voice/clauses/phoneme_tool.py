"""The program say_phonemes (say_phonemes.cpp), for the tests that compare voices with their Python packages."""

import json
import subprocess
import sys


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def ask(tool, requests):
    """Its answers to some requests. Skips the test where this build has not what they need."""
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    run = subprocess.run([tool], input=lines, capture_output=True, text=True)
    if run.returncode != 0:
        if "which is missing" in run.stderr or "was built without" in run.stderr:
            skip(run.stderr.strip())
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]
