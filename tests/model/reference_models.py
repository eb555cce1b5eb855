"""Small random models made by `transformers`, and `predgen` run on them."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from program import REPOSITORY, check, run  # noqa: E402, F401

try:
    import torch
    from safetensors.torch import load_file
    from transformers import (AutoModelForCausalLM, Gemma3TextConfig, Gemma4TextConfig, GptOssConfig, Lfm2Config,
                              Lfm2MoeConfig, LlamaConfig, Ministral3Config, MistralConfig, Olmo2Config,
                              Olmo3Config, Qwen2Config, Qwen3_5MoeTextConfig, Qwen3_5TextConfig, Qwen3Config,
                              Qwen3MoeConfig, SmolLM3Config)
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

torch.set_num_threads(2)
TOLERANCE = 1e-4  # of float32 logits
ARCHITECTURES = {"qwen2": Qwen2Config, "qwen3": Qwen3Config, "llama": LlamaConfig,
            "mistral": MistralConfig, "olmo2": Olmo2Config, "gemma3": Gemma3TextConfig,
            "smollm3": SmolLM3Config, "qwen3_moe": Qwen3MoeConfig, "gpt_oss": GptOssConfig,
            "olmo3": Olmo3Config, "ministral3": Ministral3Config,
            "qwen3_5": Qwen3_5TextConfig, "lfm2": Lfm2Config,
            "qwen3_5_moe": Qwen3_5MoeTextConfig, "lfm2_moe": Lfm2MoeConfig, "gemma4": Gemma4TextConfig}
ZERO_CENTRED = {"gemma3_text", "qwen3_5_text", "qwen3_5_moe_text"}  # whose norms multiply by 1 + w
THREADS = ["--threads", "2"]


def make_config(arch="qwen2", **changes):
    sizes = dict(vocab_size=199, hidden_size=64, intermediate_size=96, num_hidden_layers=3,
                 num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
                 tie_word_embeddings=True, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    rope = {"rope_type": "default", "rope_theta": changes.pop("rope_theta", 10000.0)}
    changes_of_rope = changes.pop("rope", {})
    rope.update(changes_of_rope)
    if arch == "gemma3":
        local = {"rope_type": "default", "rope_theta": changes.pop("local_theta", 100.0)}
        rope = {"full_attention": rope, "sliding_attention": local}
        sizes["head_dim"] = 16
    if arch == "gemma4":
        rope = {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                                   "rope_theta": rope["rope_theta"]} | changes_of_rope,
                "sliding_attention": {"rope_type": "default", "rope_theta": changes.pop("local_theta", 100.0)}}
        sizes |= dict(head_dim=16, global_head_dim=32, hidden_size_per_layer_input=8, sliding_window=16,
                      vocab_size_per_layer_input=sizes["vocab_size"])
        if changes.get("enable_moe_block"):
            sizes |= dict(num_experts=8, top_k_experts=3, moe_intermediate_size=32)
    if arch == "olmo3":
        rope = {"full_attention": rope, "sliding_attention": {
            "rope_type": "default", "rope_theta": changes.pop("local_theta", rope["rope_theta"])}}
    if arch == "ministral3":
        rope = {"rope_type": "yarn", "rope_theta": rope["rope_theta"], "factor": 4.0, "beta_fast": 32.0,
                "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.3,
                "original_max_position_embeddings": 64, "max_position_embeddings": 256} | changes_of_rope
        sizes["head_dim"] = 16
    if arch in ("qwen3_5", "qwen3_5_moe"):
        rope.setdefault("partial_rotary_factor", 0.25)
        sizes.update(head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=12,
                     linear_value_head_dim=8, num_hidden_layers=4)
    if arch == "lfm2":
        sizes.update(layer_types=["conv", "full_attention", "conv"], block_auto_adjust_ff_dim=False)
    if arch == "lfm2_moe":
        sizes.update(layer_types=["conv", "full_attention", "conv"], num_dense_layers=1)
    if arch in ("qwen3_5_moe", "lfm2_moe"):
        sizes |= dict(num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32)
    if arch == "qwen3_5_moe":
        # Norms of small values, one after another, would make float32's rounding too large to compare.
        sizes.update(shared_expert_intermediate_size=24, rms_norm_eps=1e-4, num_hidden_layers=3,
                     layer_types=["linear_attention", "full_attention", "linear_attention"])
    if arch == "mistral":
        sizes["sliding_window"] = None
    if arch == "qwen3_moe":
        sizes |= dict(head_dim=16, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=32)
    if arch == "gpt_oss":
        sizes |= dict(head_dim=16, num_local_experts=6, num_experts_per_tok=2, sliding_window=16)
    sizes.update(changes)
    return ARCHITECTURES[arch](rope_parameters=rope, **sizes)


def norm_mean(config, name):
    """What a norm of this name multiplies by when it does nothing. Gemma 4's scores are divided by nothing, so that
    such norms would leave one key of each head."""
    if config.model_type.startswith("gemma4") and name.endswith(("q_norm.weight", "k_norm.weight")):
        return 0.5
    return 0 if config.model_type in ZERO_CENTRED and "linear_attn.norm" not in name else 1


def make_model(config, seed=0, scale=1.0):
    """Weights large enough that outputs vary; biases and norms are not left at 0 and 1, so that
    forgetting one of them shows."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).float().eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                # A norm after a large bias would leave nothing but the bias.
                weight.normal_(0, 0.1 if config.model_type in ("olmo2", "olmo3") else 0.5)
            elif name.endswith("router.scale"):
                weight.normal_(8, 2)
            elif "norm" in name or name.endswith("per_expert_scale"):
                weight.normal_(norm_mean(config, name), 0.2)
            else:
                weight.normal_(0, scale * (0.3 if "embed" in name or "lm_head" in name else 0.15))
        for name, weight in model.named_buffers():
            if name.endswith("expert_bias"):
                weight.normal_(0, 0.2)
            if name.endswith("layer_scalar"):
                weight.uniform_(0.6, 1.4)
    return model


def to_version_4(folder):
    """Rewrites config.json the way transformers 4 wrote it."""
    file = Path(folder) / "config.json"
    config = json.loads(file.read_text())
    rope = config.pop("rope_parameters")
    if config["model_type"] == "gemma3_text":
        config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        config["sliding_window_pattern"] = config.pop("_sliding_window_pattern")
        config.pop("layer_types")
        rope = rope["full_attention"]
    config["rope_theta"] = rope.pop("rope_theta")
    if "partial_rotary_factor" in rope:
        config["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    if rope["rope_type"] != "default":
        config["rope_scaling"] = rope
    config["torch_dtype"] = config.pop("dtype")
    if config["model_type"] == "qwen3_moe":
        config["num_experts"] = config.pop("num_local_experts")
    if config["model_type"] == "qwen2" and not config["use_sliding_window"]:
        config.pop("layer_types", None)
        config["sliding_window"] = 4096
    config["transformers_version"] = "4.43.1"
    file.write_text(json.dumps(config, indent=2))


def change_config(folder, **changes):
    file = Path(folder) / "config.json"
    config = json.loads(file.read_text())
    config.update(changes)
    file.write_text(json.dumps(config))


def load_reference(folder, dtype=torch.float32):
    return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype,
                                                attn_implementation="eager").eval()


def random_rows(vocab_size, num_rows, length, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, vocab_size, (num_rows, length), generator=generator)


def predgen(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, f"predgen {arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def predgen_logits(folder, ids, scratch, adapter=None, dtype="fp32"):
    """Float32 logits [T,V] of one row, and the log-probabilities that --json reports."""
    file = Path(scratch) / "logits.safetensors"
    more = ["--adapter", adapter] if adapter else []
    out = predgen("score", "--model", folder, *more, "--token-ids", ",".join(map(str, ids.tolist())),
                  "--device", "cpu", "--dtype", dtype, "--json", "--logits", file, *THREADS)
    result = json.loads(out)["results"][0]
    assert result["token_ids"] == ids.tolist() and result["logprobs"][0] is None
    return load_file(file)["logits"], torch.tensor(result["logprobs"][1:])


@torch.no_grad()
def reference_logits(model, ids):
    return model(ids[None]).logits[0].float()


def predgen_greedy(folder, rows, num_new, scratch):
    file = Path(scratch) / "rows.jsonl"
    file.write_text("".join(json.dumps({"token_ids": row.tolist()}) + "\n" for row in rows))
    out = predgen("generate", "--model", folder, "--input", file, "--max-new-tokens", num_new,
                  "--device", "cpu", "--dtype", "fp32", "--json", *THREADS)
    return [result["token_ids"] for result in json.loads(out)["results"]]


@torch.no_grad()
def reference_greedy(model, rows, num_new):
    """Plain greedy decoding, and the smallest lead of a chosen token over the next."""
    ids, margin, cache = rows, float("inf"), None
    step = ids
    for _ in range(num_new):
        out = model(step, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        top = out.logits[:, -1].float().topk(2)
        margin = min(margin, (top.values[:, 0] - top.values[:, 1]).min().item())
        step = top.indices[:, :1]
        ids = torch.cat([ids, step], 1)
    return ids[:, rows.shape[1]:].tolist(), margin
