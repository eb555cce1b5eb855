"""Files and folders of predgen that are damaged or something else, each with what a message about it must name."""

import os
import re
import subprocess
from pathlib import Path

import program
from program import REPOSITORY

DEMO, ADAPTER = REPOSITORY / "checkpoints" / "demo", REPOSITORY / "checkpoints" / "demo-cllm"


# A configuration of each command that takes one.
CONFIGS = {"data build": "data/quickstart", "data trajectories": "data/quickstart_trajectories",
           "eval": "eval/quickstart", "plan": "train/quickstart", "train": "train/quickstart", "serve": "runtime/serve"}


def run(arguments, root, check=False):
    done = program.run(*arguments, binary_output=True, stdin=subprocess.DEVNULL, timeout=60, cwd=root / "cwd")
    if check and done.returncode != 0:
        raise SystemExit(done.stderr.decode())
    return done


class WrongFiles:
    """Good files and wrong ones: `wrong[kind]` lists a path and what is to be named."""

    def __init__(self, root):
        self.root = root
        self.write("good.json", '[{"role": "user", "content": "Hello"}]')
        self.write("good.jsonl", '{"messages": [{"role": "user", "content": "Hello"}]}\n')
        self.write("results/results.json", '{"runs": [], "turns": [], "num_turns": 0}')
        self.write("run/metrics.jsonl", '{"step": 1}\n')
        self.write("run/config.yaml", "max_steps: 1\n")
        self.write("unwritable", "a file, not a folder")
        self.write("zeros", "\0" * 100)
        self.write("unclosed.jinja", "{% for m in messages %}")
        (root / "empty").mkdir()
        (root / "cwd").mkdir()
        (root / "cwd" / "data").symlink_to(REPOSITORY / "data")
        (root / "cwd" / "checkpoints").symlink_to(REPOSITORY / "checkpoints")
        self.configs = {command: self.config(command, name) for command, name in CONFIGS.items()}
        run(["data", "build", "--config", self.configs["data build"], f"output={root}/dataset"], root, check=True)
        run(["data", "trajectories", "--config", self.configs["data trajectories"], f"output={root}/trajectories",
             "max_records=4"], root, check=True)
        self.wrong = {
            "model": [self.spoiled(DEMO, "no-config", "config.json"), self.spoiled(DEMO, "no-weights", "model.safetensors"),
                      self.spoiled(DEMO, "cut-config", "config.json", b"{"),
                      self.spoiled(DEMO, "cut-weights", "model.safetensors", (DEMO / "model.safetensors").read_bytes()[:5000]),
                      *self.wrong_folders()],
            "config.json": [self.spoiled(DEMO, "cut-config2", "config.json", b'{"architectures": 3'), *self.wrong_folders()],
            "tokenizer": [self.spoiled(DEMO, "no-tokenizer", "tokenizer.json"),
                          self.spoiled(DEMO, "cut-tokenizer", "tokenizer.json", b'{"model": {"type": "BPE"'),
                          self.spoiled(DEMO, "cut-tokenizer-config", "tokenizer_config.json", b"[1"), *self.wrong_folders()],
            "adapter": [self.spoiled(ADAPTER, "no-adapter-config", "adapter_config.json"),
                        self.spoiled(ADAPTER, "cut-adapter-config", "adapter_config.json", b"{"),
                        self.spoiled(ADAPTER, "cut-adapter", "adapter_model.safetensors", b"\x10\0\0\0\0\0\0\0{"),
                        *self.wrong_folders()],
            "dataset": [self.spoiled(root / "dataset", "no-manifest", "manifest.json"),
                        self.spoiled(root / "dataset", "cut-manifest", "manifest.json", b'{"num_records": 4,'),
                        self.spoiled(root / "dataset", "empty-manifest", "manifest.json", b"{}"),
                        self.spoiled(root / "dataset", "cut-shard", "shard-00000.h5", b"\x89HDF\r\n\x1a\n" + b"\0" * 50),
                        *self.wrong_folders()],
            "folder": self.wrong_folders(),
            "run": [self.spoiled(root / "results", "cut-results", "results.json", b'{"runs": ['),
                    self.spoiled(root / "results", "other-results", "results.json", b'{"runs": 3}'), *self.wrong_folders()],
            "results": [self.spoiled(root / "results", "cut-results2", "results.json", b'{"runs": ['),
                        self.spoiled(root / "results", "other-results2", "results.json", b'[1]'), *self.wrong_folders()],
            "messages": self.wrong_files("json", '{"role": "user"}', '[{"role": 3, "content": "x"}]', "[1]", "[]",
                                         '[{"role": "user", "content": null}]', '[{"role": "narrator", "content": "x"}]',
                                         '[{"role": "tool", "content": "x", "tool_call_id": 3}]',
                                         '[{"role": "assistant", "content": "x", "tool_calls": [1]}]'),
            "rows": self.wrong_files("jsonl", "[1]\n", '{"prompt": 3}\n', '{"token_ids": ["x"]}\n', '{"text": "x"}\n',
                                     '{"messages": [{"role": "user", "content": "x"}], "tools": 3}\n',
                                     '{"prompt": "x"}\n{"prompt": '),
            "prompts": self.wrong_files("jsonl", "[1]\n", '{"prompt": 3}\n', '{"txt": "x"}\n', '{"prompt": "x"}\n{"prompt": '),
            "transcripts": self.wrong_files("jsonl", "[1]\n", '{"text": 3}\n', '{"text": "x", "time": "y"}\n', '{"text": '),
            "source": [*self.wrong_files("jsonl", "[1]\n", '{"conversation": 3}\n', '{"conversation": [{"role": 3}]}\n', '{"conversation": '),
                       *self.wrong_files("parquet", "PAR1 and no more")],
            "template": [(root / f"{name}.jinja", [root / f"{name}.jinja"]) for name in ("none", "unclosed")],
            "config": self.wrong_files("yaml", "[1, 2]\n", "a: [1\n", "services: {}\nvolumes: {}\nnetworks: {}\n"),
            "output": [(root / "unwritable" / "x", [root / "unwritable"]), (Path("/proc/predgen/x"), ["/proc/predgen"]),
                       (root / "unwritable", [root / "unwritable"])],
        }

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def config(self, command, name):
        text = (REPOSITORY / "configs" / f"{name}.yaml").read_text()
        for old, new in (("${PREDGEN_DATA:-data_sets}/sgd/train-*.parquet", "data/samples/dialogues.jsonl"),
                         ("${PREDGEN_DATA:-data_sets}/sgd/dev.jsonl", "data/samples/prompts.jsonl"),
                         ("model: runs/demo/demo", "model: checkpoints/demo"), ("smollm2", "checkpoints/demo"),
                         ("adapter: runs/quickstart/adapter/final", "adapter: checkpoints/demo-cllm"),
                         ("runs/quickstart/", f"{self.root}/"), ("voice: espeak", "voice: none")):
            text = text.replace(old, new)
        text = re.sub("^output: .*", f"output: {self.root}/new", text, flags=re.MULTILINE)
        return self.write(command.replace(" ", "-") + ".yaml", text)

    def spoiled(self, folder, name, file, content=None):
        """A copy in which `file` is not there, or has this content; the file is to be named."""
        copy = self.root / name
        copy.mkdir()
        for path in folder.iterdir():
            if path.name != file:
                (copy / path.name).symlink_to(path)
        if content is not None:
            (copy / file).write_bytes(content)
        return copy, [copy, file]

    def wrong_folders(self):
        return [(path, [path]) for path in (self.root / "none", self.root / "empty", self.root / "zeros")]

    def wrong_files(self, ending, *contents):
        paths = [self.root / f"none.{ending}", self.root / "empty"]
        for content in ("", "\0\xff\xfe", *contents):
            paths.append(self.write(f"wrong-{len(list(self.root.iterdir()))}.{ending}", content))
        return [(path, [path]) for path in paths]

    def files(self):
        return sorted(self.root.rglob("*"))
