"""Processes that are ranks: an environment without any launcher's variables, and who they are."""

import os
from pathlib import Path

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


def environment(**more):
    kept = {key: value for key, value in os.environ.items()
            if key not in VARIABLES and not key.startswith(("SLURM_", "OMPI_", "TORCHELASTIC_"))}
    return {**kept, "OMP_NUM_THREADS": "1", **more}


def children(process):
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in path.read_text().split()]
