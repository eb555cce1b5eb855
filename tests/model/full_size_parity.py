"""One layer of each model, or one of each kind, at its real widths against `transformers`, so that no size is wrong.
Only the vocabulary is smaller, which is as large as the disk of a test may be, and the number of experts.

usage: full_size_parity.py sample|whole     (sample: the smaller ones)
"""

import shutil
import sys
import tempfile
from pathlib import Path

import torch
from reference_models import (TOLERANCE, check, load_reference, make_config, norm_mean, predgen_logits,
                              random_rows, reference_logits)
from transformers import AutoModelForCausalLM

LENGTH = 48
SAMPLE = ["Gemma-3-1B", "Llama-3.2-1B", "Qwen3-4B"]
SHAPES = {
    "Qwen2.5-7B": ("qwen2", dict(hidden_size=3584, intermediate_size=18944, num_attention_heads=28,
                                 num_key_value_heads=4, rope_theta=1e6)),
    "Llama-3-8B": ("llama", dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32,
                                 num_key_value_heads=8, rope_theta=5e5, rms_norm_eps=1e-5)),
    "Mistral-7B": ("mistral", dict(hidden_size=4096, intermediate_size=14336,
                                   num_attention_heads=32, num_key_value_heads=8,
                                   sliding_window=32, rms_norm_eps=1e-5)),
    "Gemma-3-1B": ("gemma3", dict(num_hidden_layers=2, hidden_size=1152, intermediate_size=6912,
                                  num_attention_heads=4, num_key_value_heads=1, head_dim=256,
                                  sliding_window=32, sliding_window_pattern=2, local_theta=1e4,
                                  rope_theta=1e6)),
    "SmolLM3-3B": ("smollm3", dict(num_hidden_layers=2, hidden_size=2048, intermediate_size=11008,
                                   num_attention_heads=16, num_key_value_heads=4, rope_theta=5e6,
                                   no_rope_layers=[1, 0])),
    "Llama-3.2-1B": ("llama", dict(hidden_size=2048, intermediate_size=8192, num_attention_heads=32,
                                   num_key_value_heads=8, rope_theta=5e5, rms_norm_eps=1e-5,
                                   rope={"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
                                         "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})),
    "Qwen3-4B": ("qwen3", dict(hidden_size=2560, intermediate_size=9728, num_attention_heads=32,
                               num_key_value_heads=8, head_dim=128, rope_theta=5e6)),
    "OLMo-2-7B": ("olmo2", dict(hidden_size=4096, intermediate_size=11008, num_attention_heads=32,
                                num_key_value_heads=32, rope_theta=5e5)),
    "Qwen3.5-0.8B": ("qwen3_5", dict(num_hidden_layers=2, hidden_size=1024, intermediate_size=3584, num_attention_heads=8,
                                     num_key_value_heads=2, head_dim=256, linear_num_key_heads=16,
                                     linear_num_value_heads=16, linear_key_head_dim=128, linear_value_head_dim=128,
                                     layer_types=["linear_attention", "full_attention"], rope_theta=1e7)),
    "Qwen3-30B-A3B": ("qwen3_moe", dict(hidden_size=2048, moe_intermediate_size=768, num_experts=16,
                                        num_experts_per_tok=8, norm_topk_prob=True, num_attention_heads=32,
                                        num_key_value_heads=4, head_dim=128, rope_theta=1e6)),
    "gpt-oss-20b": ("gpt_oss", dict(num_hidden_layers=2, hidden_size=2880, intermediate_size=2880, num_local_experts=6,
                                    num_experts_per_tok=4, num_attention_heads=64, num_key_value_heads=8, head_dim=64,
                                    sliding_window=32, layer_types=["sliding_attention", "full_attention"],
                                    rope_theta=150000.0, rms_norm_eps=1e-5,
                                    rope={"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                                          "truncate": False, "original_max_position_embeddings": 4096})),
    "LFM2-350M": ("lfm2", dict(num_hidden_layers=2, hidden_size=1024, intermediate_size=4608, num_attention_heads=16,
                               num_key_value_heads=8, layer_types=["conv", "full_attention"], rope_theta=1e6)),
    "LFM2-8B-A1B": ("lfm2_moe", dict(num_hidden_layers=2, hidden_size=2048, intermediate_size=7168,
                                     moe_intermediate_size=1792, num_experts=8, num_experts_per_tok=4, num_dense_layers=1,
                                     num_attention_heads=32, num_key_value_heads=8,
                                     layer_types=["conv", "full_attention"], rope_theta=1e6)),
}


def main():
    for name in SAMPLE if sys.argv[1] == "sample" else SHAPES:
        arch, sizes = SHAPES[name]
        config = make_config(arch, **dict(dict(num_hidden_layers=1, vocab_size=1000,
                                                 tie_word_embeddings=False,
                                                 max_position_embeddings=4096), **sizes))
        torch.manual_seed(0)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        with torch.no_grad():
            for parameter, weight in model.named_parameters():
                if "norm" in parameter:
                    weight.normal_(norm_mean(config, parameter), 0.2)
                elif parameter.endswith("bias"):
                    weight.normal_(0, 0.1)
            for buffer, weight in model.named_buffers():
                if buffer.endswith("expert_bias"):
                    weight.normal_(0, 0.1)
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "model"
            model.save_pretrained(folder)
            del model
            ids = random_rows(1000, 1, LENGTH, seed=1)[0]
            expected = reference_logits(load_reference(folder), ids)
            found, _ = predgen_logits(folder, ids, scratch)
            shutil.rmtree(folder)
        difference = (found - expected).abs().max().item()
        num_distinct = len(set(expected.argmax(-1).tolist()))
        check(num_distinct >= 20, f"{name}: {num_distinct} distinct tokens")
        check(difference <= TOLERANCE,
              f"{name}: logits up to {expected.abs().max():.1f} differ by {difference:.1e}")


if __name__ == "__main__":
    main()
