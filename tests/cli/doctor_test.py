"""predgen doctor: what it says of a whole model folder and of a broken one."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "model"))
from reference_models import PREDGEN, REPOSITORY, check  # noqa: E402

DEMO = REPOSITORY / "checkpoints" / "demo"


def doctor(*arguments):
    return subprocess.run([PREDGEN, "doctor", *map(str, arguments)], capture_output=True, text=True)


def main():
    machine = doctor()
    check(machine.returncode == 0 and "cores" in machine.stdout, "the machine alone")
    whole = doctor("--model", DEMO)
    check(whole.returncode == 0, f"a whole model: {whole.stderr}")
    for part in ("5.5 M parameters", "context of 1024", "4096 ids", "with 1024 tokens", "yes"):
        check(part in whole.stdout, f"it says {part}")
    small = doctor("--model", DEMO, "--memory", "4")
    check("no" in small.stdout.split("fits into 4 GiB")[1], "it does not fit beside Zonos")
    for arguments in (["--memory", "0"], ["--context", "-1"]):
        check(doctor("--model", DEMO, *arguments).returncode == 2, f"{arguments} are refused")
    with tempfile.TemporaryDirectory() as scratch:
        broken = Path(scratch) / "model"
        for name, part in (("model.safetensors", "MISSING"), ("tokenizer.json", "MISSING"),
                           ("tokenizer_config.json", "chat_template")):
            shutil.copytree(DEMO, broken)
            (broken / name).unlink()
            result = doctor("--model", broken)
            check(result.returncode == 2 and part in result.stdout, f"without {name}")
            shutil.rmtree(broken)
        result = doctor("--model", broken)
        check(result.returncode == 2 and "not a model folder" in result.stderr, "no folder")


if __name__ == "__main__":
    main()
