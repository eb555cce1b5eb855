"""How long LibTorch's threads look for work before they sleep, as their library says it: bounded unless the user has said."""

import os
import subprocess
import sys
from pathlib import Path

PREDGEN = os.environ.get("PREDGEN", str(Path(__file__).resolve().parents[2] / "build" / "predgen"))


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def spins(**variables):
    kept = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run([PREDGEN, "--version"], capture_output=True, text=True,
                          env={**kept, "OMP_DISPLAY_ENV": "verbose", **variables})
    check(done.returncode == 0 and done.stdout.count("\n") == 1, f"it runs once: {done.stdout} {done.stderr}")
    lines = [line for line in done.stderr.splitlines() if "GOMP_SPINCOUNT" in line]
    check(len(lines) == 1, f"libgomp says it: {done.stderr}")
    return int(lines[0].split("'")[1])


check(spins() == 1000, "bounded")
check(spins(GOMP_SPINCOUNT="7") == 7, "the user's own")
check(spins(OMP_WAIT_POLICY="passive") == 0, "the user's own policy")
