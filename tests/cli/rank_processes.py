"""A command of predgen in processes that are ranks, in an environment without any launcher's variables."""

import json
import os
import subprocess
import sys
from pathlib import Path

from program import PREDGEN
from tiny_model import WORDS, make_folder

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def check(condition, message):
    """Quiet unless it fails: `message` may be all that a run has said."""
    if not condition:
        sys.exit(f"FAILED: {message}")


def environment(**more):
    kept = {key: value for key, value in os.environ.items()
            if key not in VARIABLES and not key.startswith(("SLURM_", "OMPI_", "TORCHELASTIC_"))}
    return {**kept, "OMP_NUM_THREADS": "1", **more}


def children(process):
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]


def some_words(i):
    return " ".join(WORDS[i % len(WORDS)].split()[i % 5:])


class RankedCommand:
    """`command` with a small random model, and a dataset of one record for each of `texts`. Who inherits from it writes
    the configuration."""

    def __init__(self, scratch, command, texts, held_out=""):
        self.scratch, self.command = scratch, command
        self.model, self.data, self.config = make_folder(scratch), scratch / "data", scratch / "config.yaml"
        rows = [[{"role": role, "content": text} for role in ("user", "assistant")] for text in texts]
        source = scratch / "chats.jsonl"
        source.write_text("".join(json.dumps({"conversation_id": str(i), "conversation": row}) + "\n"
                                  for i, row in enumerate(rows)))
        config = scratch / "data.yaml"
        config.write_text(f"sources: ['{source}']\ntokenizer: {self.model}\noutput: {self.data}\n"
                          f"seed: 1\nlaw: truncated\nexamples_per_conversation: 1\nthreads: 1\n{held_out}")
        subprocess.run([PREDGEN, "data", "build", "--config", config], check=True, capture_output=True)

    def arguments(self, name, *more):
        return [*self.command, "--config", str(self.config), f"output={self.scratch / name}", *more]

    def start(self, name, *more, **variables):
        return subprocess.Popen([PREDGEN, *self.arguments(name, *more)], env=environment(**variables),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, name, *more, code=0, program=(PREDGEN,), **variables):
        found = subprocess.run([*program, *self.arguments(name, *more)], capture_output=True, text=True,
                               env=environment(**variables), timeout=300)
        check(found.returncode == code, f"{name} {more}: {found.returncode}\n{found.stderr}")
        return found
