"""predgen plan: the memory that a training takes, against what one takes."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "train"))
from hdf5_dataset import half_taught, write_dataset  # noqa: E402
from program import PREDGEN, check, run  # noqa: E402
from reference_models import make_config, make_model  # noqa: E402

GIB = r"([\d.]+) GiB"
SHAPES = {"all that layers compute": ["recompute=none"],
          "inputs of layers": ["recompute=all"],
          "layers in few bits": ["recompute=all", "base.weights=nf4"]}


def planned(*arguments):
    done = run("plan", *arguments, alone=True)  # it measures itself
    check(done.returncode == 0, f"plan {arguments}: {done.stderr}")
    return done.stdout, float(re.search("at the worst moment +" + GIB, done.stdout)[1])


def main():
    import numpy as np

    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        shape = make_config(vocab_size=8192, hidden_size=256, intermediate_size=1024, num_hidden_layers=6,
                            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048)
        make_model(shape).bfloat16().save_pretrained(scratch / "model")
        write_dataset(scratch / "data", half_taught(np.random.default_rng(0).integers(0, 8000, (2, 1024))))
        config = scratch / "train.yaml"
        config.write_text(f"""
model: {scratch / "model"}
dataset: {scratch / "data"}
output: {scratch / "run"}
objective: {{kind: autoregressive}}
batch_size: 2
max_steps: 2
log_every: 1
compute: bf16
device: cpu
""")
        for name, overrides in SHAPES.items():
            text, plan = planned("--config", config, *overrides)
            # From a shell, as a peak begins with that of the process that starts a program.
            command = [PREDGEN, "train", "--config", config, f"output={scratch / name}", *overrides]
            trained = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *map(str, command)],
                                     capture_output=True, text=True)
            check(trained.returncode == 0, f"{name}: {trained.stderr}")
            metrics = (scratch / name / "metrics.jsonl").read_text().splitlines()
            used = max(json.loads(line).get("memory/process_gib", 0) for line in metrics)
            check(abs(plan / used - 1) < 0.1, f"{name}: {plan} GiB planned, {used:.2f} used\n{text}")
            print(f"{name}: {plan} GiB planned, {used:.2f} used")

        elsewhere = ["--config", config, "device=cuda", f"dataset={scratch / 'none'}"]
        unknown = run("plan", *elsewhere, "--memory", "24", alone=True)
        check(unknown.returncode == 2 and "--tokens" in unknown.stderr, "a dataset that is not there")
        large, _ = planned(*elsewhere, "--memory", "1", "--tokens", "100000", "batch_size=8")
        check("Does not fit into 1.00 GiB" in large, large)
        check(large.index("recompute: all") < large.index("batch_size: 4"), "knobs in order")
        auto, _ = planned("--config", config, "recompute=auto", "--memory", "0.1")
        check("runs 6 of 6 layers twice" in auto, auto)


if __name__ == "__main__":
    main()
