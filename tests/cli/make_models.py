"""Makes the random models that tiny_model.py hands out: make_models.py FOLDER"""

import json
import subprocess
import sys
from pathlib import Path

from program import REPOSITORY
from reference_models import make_config, make_model
from tiny_model import WORDS
import tiny_zonos
from peft import LoraConfig, get_peft_model

VOCABULARY = 300
DEMO_VOCABULARY = json.loads((REPOSITORY / "checkpoints/demo/config.json").read_text())["vocab_size"]


def train_tokenizer(folder):
    conversations = folder / "words.jsonl"
    conversations.write_text("".join(
        json.dumps({"conversation": [{"role": "user", "content": words},
                                     {"role": "assistant", "content": words}]}) + "\n"
        for words in WORDS))
    subprocess.run([sys.executable, REPOSITORY / "scripts" / "train_tokenizer.py", "--input",
                    conversations, "--output", folder / "model", "--vocab-size", str(VOCABULARY)], check=True)


def make_conversing():
    return make_model(make_config(vocab_size=VOCABULARY, num_hidden_layers=2, max_position_embeddings=1024))


def main(folder):
    train_tokenizer(folder)
    make_conversing().save_pretrained(folder / "model")
    lora = LoraConfig(r=2, target_modules=["q_proj", "down_proj"], init_lora_weights=False)
    get_peft_model(make_conversing(), lora).save_pretrained(folder / "adapter")
    for size in (VOCABULARY, DEMO_VOCABULARY):
        make_model(make_config(vocab_size=size, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                               num_attention_heads=2, num_key_value_heads=1)).save_pretrained(folder / f"draft-{size}")
    tiny_zonos.make_voice(folder / "zonos")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
