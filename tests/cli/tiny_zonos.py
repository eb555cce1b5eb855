"""A Zonos voice folder, its codec inside, with random weights."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import DacConfig, DacModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "voice" / "zonos"))
from zonos_models import make_config, make_weights  # noqa: E402

SMALL = {"layers": 2, "width": 32, "heads": 4, "kv_heads": 2, "mlp": 48}
SMALL_CODEC = {"encoder_hidden_size": 4, "decoder_hidden_size": 64}


def make_voice(folder, sizes=SMALL, codec=SMALL_CODEC, dtype=torch.float32):
    torch.manual_seed(0)
    folder.mkdir(parents=True)
    config = make_config(**sizes)
    (folder / "config.json").write_text(json.dumps(config))
    weights = {name: tensor.to(dtype) for name, tensor in make_weights(config, seed=0).items()}
    save_file(weights, folder / "model.safetensors")
    DacModel(DacConfig(sampling_rate=44100, **codec)).save_pretrained(folder / "dac_44khz")
    return folder


if __name__ == "__main__":  # FOLDER [LAYERS]: with these, the released widths and codec
    released = {"width": 2048, "heads": 16, "kv_heads": 4, "mlp": 8192}
    if len(sys.argv) > 2:
        make_voice(Path(sys.argv[1]), released | {"layers": int(sys.argv[2])}, codec={}, dtype=torch.bfloat16)
    else:
        make_voice(Path(sys.argv[1]))
