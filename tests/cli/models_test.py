"""predgen models: what is in the folder of models, broken ones included, and what can be fetched; and that a name of it
works wherever a model is taken."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PREDGEN = os.environ.get("PREDGEN", str(REPOSITORY / "build" / "predgen"))
DEMO, ADAPTER = REPOSITORY / "checkpoints" / "demo", REPOSITORY / "checkpoints" / "demo-cllm"
sys.path.insert(0, str(REPOSITORY / "scripts"))
import known_models  # noqa: E402


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")


class Folder:
    """A folder of models, as the environment names it."""

    def __init__(self, root):
        self.path = root / "models"
        self.elsewhere = root / "elsewhere"
        self.elsewhere.mkdir()

    def run(self, *arguments, **more):
        environment = os.environ | {"PREDGEN_MODELS": str(self.path), "OMP_NUM_THREADS": "1"} | more
        return subprocess.run([PREDGEN, *map(str, arguments)], capture_output=True, text=True, env=environment,
                              cwd=self.elsewhere, stdin=subprocess.DEVNULL)

    def models(self):
        done = self.run("models", "--json")
        check(done.returncode == 0, f"models --json: {done.stderr}")
        return json.loads(done.stdout)


def check_empty(folder):
    done = folder.run("models")
    check(done.returncode == 0 and str(folder.path) in done.stdout, "no folder yet: it is named")
    check("docs/models.md" in done.stdout and "predgen models get smollm2" in done.stdout, "and how models get there")
    known = folder.models()["can_be_fetched"]
    ours = {name: (model.kind, model.title, model.size, model.licence) for name, model in known_models.MODELS.items()}
    check({one["name"]: (one["kind"], one["title"], one["bytes"], one["licence"]) for one in known} == ours,
          "predgen and fetch_model.py know the same models")
    for one in known:
        (line,) = [line for line in done.stdout.splitlines() if line.split()[:1] == [one["name"]]]
        check(one["kind"] in line and line.endswith(one["command"]), f"{one['name']} has a line: {line}")
    done = folder.run("models", PREDGEN_MODELS="", XDG_CACHE_HOME=str(folder.elsewhere))
    check(f"{folder.elsewhere}/predgen/models" in done.stdout, "otherwise it is in the cache")
    done = folder.run("models", PREDGEN_MODELS="", XDG_CACHE_HOME="", HOME="")
    check(done.returncode == 2 and "PREDGEN_MODELS" in done.stderr, "nowhere: that is said")


def check_list(folder):
    shutil.copytree(DEMO, folder.path / "demo")
    (folder.path / "demo" / "README.md").write_text("---\nlicense: cc-by-sa-4.0\n---\n# The demo\n")
    (folder.path / "broken.gguf").write_bytes(b"no model")
    (folder.path / "empty").mkdir()
    (folder.path / ".fetch-x").mkdir()
    (folder.path / "notes.txt").touch()
    listed = folder.models()
    rows = {row["name"]: row for row in listed["models"]}
    check(list(rows) == ["broken", "demo", "empty"] and listed["folder"] == str(folder.path), "all that may be models")
    demo = rows["demo"]
    size = sum((DEMO / name).stat().st_size for name in ("config.json", "model.safetensors"))
    check(demo == {"name": "demo", "kind": "language model", "path": str(folder.path / "demo"), "architecture": demo["architecture"],
                   "title": "The demo", "parameters": demo["parameters"], "bytes": size, "type": demo["type"],
                   "licence": "cc-by-sa-4.0", "context": 1024}, "a whole one with what it says")
    check(demo["type"] in ("bf16", "fp32") and 5e6 < demo["parameters"] < 6e6, "and what its files say")
    for name, path in (("broken", "broken.gguf"), ("empty", "empty")):
        check(set(rows[name]) == {"name", "kind", "path", "error"} and str(folder.path / path) in rows[name]["error"] and
              "\n" not in rows[name]["error"], f"{name}: its fault")
    text = folder.run("models").stdout
    for row in rows.values():
        (line,) = [line for line in text.splitlines() if line.split()[:1] == [row["name"]]]
        check(row["path"] in line, f"{row['name']} has a line: {line}")
    check(len(text.split("Can be fetched")[0].splitlines()) == 2 + len(rows), "heading, columns, and no line more")
    (folder.path / "smollm2.gguf").write_bytes(b"no model")
    check("smollm2" not in {one["name"] for one in folder.models()["can_be_fetched"]}, "what is there is not to be fetched")
    check('smollm2 is not the one that "predgen models get smollm2" fetches' in folder.run("models").stdout, "and is another one")
    (folder.path / "smollm2.gguf").unlink()


def add_voice(folder, name, content):
    """As scripts/fetch_model.py makes one."""
    (folder.path / name).mkdir()
    (folder.path / name / "voice.onnx").write_bytes(content)
    file = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (folder.path / name / "speech_model.json").write_text(json.dumps(
        {"name": name, "kind": "voice", "title": "A voice", "licence": "MIT", "files": {"voice.onnx": file}}))


def check_speech(folder):
    """Models that hear and speak: listed as such, and never taken as language models."""
    before = folder.models()
    check(before["speech_models"] == [], "none yet")
    add_voice(folder, "hibari", b"sound" * 300000)
    listed = folder.models()
    path = folder.path / "hibari"
    check(listed["speech_models"] == [{"name": "hibari", "path": str(path), "kind": "voice", "title": "A voice",
                                       "bytes": 1500000, "licence": "MIT"}], "one with what it says")
    check(listed["models"] == before["models"], "it is no language model")
    check("hibari" not in {one["name"] for one in listed["can_be_fetched"]}, "and not to be fetched")
    (line,) = [line for line in folder.run("models").stdout.splitlines() if line.split()[:1] == ["hibari"]]
    check(line.split() == ["hibari", "voice", "1.5", "MB", "MIT", "A", "voice", str(path)], f"its line: {line}")
    for model in ("hibari", path, "silero"):
        done = folder.run("chat", "--model", model)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and "is no language model" in done.stderr,
              f"--model {model}: {done.stderr.strip()}")
    done = folder.run("models", "--check")
    check(done.returncode == 0 and "is as it was fetched" in done.stdout, "its hashes are right")
    (path / "voice.onnx").write_bytes(b"noise" * 300000)
    check("holds something else" not in folder.run("models").stdout, "hashes are not looked at by the way")
    check("holds something else" in folder.run("models", "--check").stdout, "but where they are asked for")
    (path / "voice.onnx").write_bytes(b"")
    (row,) = folder.models()["speech_models"]
    check(set(row) == {"name", "path", "error"} and "has 0 bytes" in row["error"] and
          "predgen models get hibari --overwrite fetches it again" in row["error"], f"a damaged one says so: {row}")
    languages = [name for name, model in known_models.MODELS.items() if not model.is_folder]
    for missing in known_models.MODELS:
        if missing in languages:
            (folder.path / f"{missing}.gguf").write_bytes(b"no model")
        elif missing != "hibari":
            add_voice(folder, missing, b"sound")
    check(folder.models()["can_be_fetched"] == [] and "Can be fetched" not in folder.run("models").stdout,
          "nothing is left to fetch")
    for missing in known_models.MODELS:
        shutil.rmtree(folder.path / missing, ignore_errors=True)
        (folder.path / f"{missing}.gguf").unlink(missing_ok=True)


def check_names(folder):
    """A folder of the models' folder, by its name, in every command that takes a model."""
    path = str(folder.path / "demo")
    done = folder.run("doctor", "--model", "demo")
    check(done.returncode == 0 and f"Model {path}" in done.stdout, f"doctor names where it is: {done.stderr}")
    answers = [folder.run("generate", "--model", model, "--prompt", "Hello", "--max-new-tokens", 4, *more).stdout
               for model, more in ((DEMO, []), ("demo", []), ("demo", ["--draft-model", "demo"]))]
    check(answers[0] and len(set(answers)) == 1, "generate, and a draft model")
    done = folder.run("tokenize", "--model", "demo", "--text", "Hello")
    check(done.returncode == 0, f"tokenize: {done.stderr}")
    output = folder.elsewhere / "merged"
    done = folder.run("export", "--model", "demo", "--adapter", ADAPTER, "--output", output)
    check(done.returncode == 0 and (output / "model.safetensors").exists(), f"export: {done.stderr}")
    dataset, run = folder.elsewhere / "dataset", folder.elsewhere / "run"
    (folder.elsewhere / "data").symlink_to(REPOSITORY / "data")
    done = folder.run("data", "build", "--config", REPOSITORY / "configs/data/quickstart.yaml", "tokenizer=demo",
                      "sources=[data/samples/dialogues.jsonl]", f"output={dataset}")
    check(done.returncode == 0, f"data build: {done.stderr}")
    done = folder.run("train", "--config", REPOSITORY / "configs/train/quickstart.yaml", "model=demo", f"dataset={dataset}",
                      f"watch.dataset={dataset}", f"output={run}", "objective={kind: autoregressive}", "max_steps=1")
    check(done.returncode == 0, f"train: {done.stderr}")
    done = folder.run("chat", "--model", "demoo")
    check(done.returncode == 2 and 'did you mean "demo"?' in done.stderr, "a name that is none")


def check_get(folder):
    """It becomes the script, that of the sources or of the installed tree; what is missing is said."""
    done = folder.run("models", "get", "smollm2", "silero", "--into", folder.elsewhere / "here", PIP_NO_INDEX="1")
    check(done.returncode == 2 and all(f"fetch_model: {name}: PIP_NO_INDEX" in done.stderr for name in ("smollm2", "silero")),
          f"the script of the sources is asked for both: {done.stderr}")
    check((folder.elsewhere / "here").is_dir(), "and given the folder")

    program, script = (folder.elsewhere / "tree" / name for name in ("libexec/predgen/predgen", "bin/predgen-fetch-model"))
    for file in (program, script):
        file.parent.mkdir(parents=True)
    shutil.copy(PREDGEN, program)
    script.write_text('#!/bin/sh\necho "$@"\nexit 3\n')
    script.chmod(0o755)

    def get(**environment):
        return subprocess.run([program, "models", "get", "silero", "--into", "a b"], capture_output=True, text=True,
                              env=os.environ | environment)

    done = get()
    check((done.returncode, done.stdout) == (3, "silero --into a b\n"), f"that of an installed tree: {done.stdout} {done.stderr}")
    done = get(PATH="/nowhere")
    check(done.returncode == 2 and done.stderr.count("\n") == 1 and "python3" in done.stderr, f"no Python: {done.stderr.strip()}")
    script.unlink()
    done = get()
    check(done.returncode == 2 and done.stderr.count("\n") == 1 and "predgen-fetch-model" in done.stderr,
          f"no script: {done.stderr.strip()}")


def check_rm(folder):
    """Only what is in the folder of models, by its name, and all names or none."""
    for more in [], ["--json"]:
        check(folder.run("models", "list", *more).stdout == folder.run("models", *more).stdout, "list is the list")
    for part in ("split-00001-of-00002.gguf", "split-00002-of-00002.gguf", "split-0000x-of-00002.txt"):
        (folder.path / part).write_bytes(b"x" * 1500000)
    kept = folder.elsewhere / "kept"
    kept.mkdir()
    (kept / "config.json").write_text("{}")
    (folder.path / "link").symlink_to(kept)
    add_voice(folder, "joe", b"sound")
    done = folder.run("models", "rm", "joe", "split-00003")
    check(done.returncode == 2 and done.stderr.count("\n") == 1 and "split" in done.stderr and (folder.path / "joe").exists(),
          f"a name that is none: {done.stderr.strip()}")
    for name in ("../elsewhere", str(kept), "kept", ".", ""):
        check(folder.run("models", "rm", name).returncode == 2 and kept.exists(), f"rm {name!r}: nothing elsewhere")
    split = [row["name"] for row in folder.models()["models"] if row["name"].startswith("split")]
    (folder.path / ".joined-qwen-coder-0.5b.gguf").write_bytes(b"part")
    done = folder.run("models", "rm", "joe", "link", "qwen-coder-0.5b", *split)
    check(done.returncode == 0 and "(3 MB)" in done.stdout, f"{done.stdout} {done.stderr}")
    check(not list(folder.path.glob(".joined*")), "what was fetched of a model is gone, too")
    check(not list(folder.path.glob("split*.gguf")) and not (folder.path / "joe").exists() and not (folder.path / "link").exists(),
          "they are gone, all parts of the split one, too")
    check((kept / "config.json").exists() and len(list(folder.path.glob("split*"))) == 1, "what a link names stays, and what is no part")
    (folder.path / "split-0000x-of-00002.txt").unlink()


def check_newcomers(folder):
    """What people try first."""
    for model, *parts in (("Qwen/Qwen2.5-7B-Instruct", "hf download Qwen/Qwen2.5-7B-Instruct", "GGUF"),
                          ("smollm2", "predgen models get smollm2"),
                          ("none.gguf", "none.gguf"), (ADAPTER, "is an adapter", "--adapter"),
                          (DEMO / "model.safetensors", "give the folder")):
        done = folder.run("chat", "--model", model)
        check(done.returncode == 2 and done.stderr.count("\n") == 1 and all(part in done.stderr for part in parts),
              f"--model {model}: {done.stderr.strip()}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = Folder(Path(scratch).resolve())
        check_empty(folder)
        check_list(folder)
        check_speech(folder)
        check_get(folder)
        check_rm(folder)
        check_newcomers(folder)
        check_names(folder)


if __name__ == "__main__":
    main()
