"""A random model folder that can hold a conversation, and a LoRA adapter for it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "model"))
from reference_models import ESPEAK, PREDGEN, REPOSITORY, check, make_config, make_model  # noqa: E402, F401
from peft import LoraConfig, get_peft_model  # noqa: E402

WORDS = ["please book a table for two people tonight", "what is the weather like in the city",
         "play some music. turn it up! is that ok?"]


def missing_for(*models):
    """Which of these fetched models are missing, or predgen-ears; empty: nothing is."""
    folder = Path(os.environ.get("PREDGEN_MODELS") or
                  Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "predgen/models")
    missing = [name for name in models if not (folder / name).is_dir()]
    return ", ".join(missing if Path(PREDGEN).with_name("predgen-ears").exists() else [*missing, "predgen-ears"])


def make_folder(scratch):
    folder = scratch / "model"
    conversations = scratch / "words.jsonl"
    conversations.write_text("".join(
        json.dumps({"conversation": [{"role": "user", "content": words},
                                     {"role": "assistant", "content": words}]}) + "\n"
        for words in WORDS))
    subprocess.run([sys.executable, REPOSITORY / "scripts" / "train_tokenizer.py", "--input",
                    conversations, "--output", folder, "--vocab-size", "300"], check=True,
                   capture_output=True)
    config = make_config(vocab_size=300, num_hidden_layers=2, max_position_embeddings=1024)
    make_model(config).save_pretrained(folder)
    return folder


def make_draft_model(scratch, model):
    """A random smaller model with the tokenizer of the folder `model`."""
    folder = scratch / "draft"
    size = json.loads((model / "config.json").read_text())["vocab_size"]
    make_model(make_config(vocab_size=size, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                           num_attention_heads=2, num_key_value_heads=1)).save_pretrained(folder)
    for file in model.glob("tokenizer*"):
        shutil.copy(file, folder)
    return folder


def make_adapter(scratch):
    folder = scratch / "adapter"
    config = LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    model = make_model(make_config(vocab_size=300, num_hidden_layers=2, max_position_embeddings=1024))
    get_peft_model(model, config).save_pretrained(folder)
    return folder


def run(*arguments, binary_output=False, **options):
    if binary_output:
        options["input"] = options["input"].encode()
    return subprocess.run([PREDGEN, *map(str, arguments)], capture_output=True,
                          text=not binary_output, **options)
