"""What a config.json does not say, predgen takes as `transformers` does: logits of every architecture, with keys left out.

Argument: sample leaves out all keys at once that may be missing beside the sizes; whole also each key alone, the sizes
among them.
"""

import json
import sys
import tempfile
from pathlib import Path

from reference_models import (ARCHITECTURES, TOLERANCE, check, make_config, make_model, predgen_logits,  # noqa: E402
                              random_rows, reference_logits)

SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
KEPT = ("architectures", "model_type", "dtype", "transformers_version", "use_sliding_window", "bos_token_id",
        "eos_token_id", "pad_token_id", "vocab_size_per_layer_input")
LISTS = ("layer_types", "no_rope_layers", "per_layer_config")  # by layer
# The default is then another number than what this test would take instead.
HEADS = {"qwen2": 64, "qwen3": 64, "mistral": 16, "gemma3": 8, "smollm3": 8, "qwen3_moe": 8, "gpt_oss": 16,
         "ministral3": 16, "lfm2": 16, "lfm2_moe": 16, "gemma4": 8}
# Alternating, which is not what the architecture takes by itself.
KINDS = {"qwen3_5": ("linear_attention", "full_attention"), "lfm2": ("conv", "full_attention")}
# The default of 128 or 256 experts takes long, and is for the whole test.
KEPT_IN_SAMPLE = ("num_local_experts", "num_experts")
# transformers itself fails without the layers of lfm2_moe; a second embedding of gemma4 has as many rows as words.
# Rounding in 32 random delta nets is too large to compare.
NEEDED = {"lfm2_moe": ("layer_types", "num_hidden_layers"), "gemma4": ("vocab_size",),
          "qwen3_5": ("num_hidden_layers",), "qwen3_5_moe": ("num_hidden_layers",)}


def said_by(arch):
    """A config.json as transformers writes it, without what means nothing here."""
    heads = HEADS.get(arch, 4)
    kinds = KINDS.get(arch.removesuffix("_moe"))
    changes = {"layer_types": [*kinds, *kinds]} if kinds else {}
    changes["norm_eps" if arch.startswith("lfm2") else "rms_norm_eps"] = 1e-3
    config = make_config(arch, num_attention_heads=heads, num_key_value_heads=heads // 2, num_hidden_layers=4,
                         hidden_size=128, rope_theta=3e3, **changes)
    return json.loads(config.to_json_string(use_diff=False)) | {"architectures": [architecture(arch)]}


def architecture(arch):
    return ARCHITECTURES[arch].__name__.removesuffix("Config").removesuffix("Text") + "ForCausalLM"


def compare(arch, said, left_out, scratch):
    said = {key: value for key, value in said.items() if key not in left_out and not key.startswith("_")}
    config = ARCHITECTURES[arch].from_dict(said)
    config.architectures = [architecture(arch)]
    model = make_model(config)
    model.save_pretrained(scratch)
    (scratch / "config.json").write_text(json.dumps(said))
    ids = random_rows(199, 1, 40, seed=1)[0]
    found, _ = predgen_logits(scratch, ids, scratch)
    expected = reference_logits(model, ids)
    wrong = (found - expected).abs().max().item()
    limit = TOLERANCE * max(1.0, expected.abs().max().item() / 10)
    name = left_out[0] if len(left_out) < 5 else f"any of {len(left_out)} keys"
    check(wrong <= limit, f"{arch} without {name}: logits differ by {wrong:.1e}")


def main(how_much):
    for arch in ARCHITECTURES:
        said = said_by(arch)
        kept = KEPT + NEEDED.get(arch, ())
        optional = [key for key in said if key not in SIZES + kept and not key.startswith("_")]
        at_once = [key for key in optional if key not in KEPT_IN_SAMPLE]
        with tempfile.TemporaryDirectory() as scratch:
            compare(arch, said, at_once, Path(scratch))
            if how_much == "sample":
                continue
            for key in (*(size for size in SIZES if size not in ("hidden_size", *kept)), *optional):  # too wide to compare
                compare(arch, said, [key, *(LISTS if key == "num_hidden_layers" else ())], Path(scratch))


main(sys.argv[1])
