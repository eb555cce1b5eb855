"""Logits and greedy tokens of predgen against `transformers`, on small random models.

usage: transformers_parity.py sample|whole     (sample: of the faults planted in a model only the first)
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from reference_models import (TOLERANCE, change_config, check, load_reference, make_config,
                              make_model, norm_mean, predgen, predgen_greedy, predgen_logits,
                              random_rows, reference_greedy, reference_logits, to_version_4)
from safetensors.torch import load_file, save_file

NUM_PROMPTS, PROMPT_LENGTH, NUM_NEW = 64, 12, 24
FEW_PROMPTS, MANY_NEW = 24, 64  # of each architecture's first case

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}

# name: (arch, changes of the config, type that is stored, shard size, transformers 4 config.json)
CASES = {
    "Qwen2, tied, 4:2 heads": ("qwen2", {}, torch.float32, None, False),
    "Qwen2, untied, 6:1 heads, theta 1e6": (
        "qwen2", dict(tie_word_embeddings=False, num_attention_heads=6, num_key_value_heads=1,
                      hidden_size=96, rope_theta=1e6), torch.float32, None, True),
    "Qwen2, 4:4 heads, sharded": (
        "qwen2", dict(num_key_value_heads=4, tie_word_embeddings=False), torch.float32, "60KB",
        False),
    "Qwen2, bfloat16 on disk, sharded, theta 1e6": (
        "qwen2", dict(rope_theta=1e6), torch.bfloat16, "60KB", True),
    "Qwen2, head size of its own": (
        "qwen2", dict(head_dim=32, rms_norm_eps=1e-5), torch.float32, None, False),
    "Qwen2, yarn": ("qwen2", dict(rope=YARN), torch.float32, None, True),
    "Qwen2, window from layer 1": (
        "qwen2", dict(use_sliding_window=True, sliding_window=16, max_window_layers=1),
        torch.float32, None, True),
    "Qwen3": ("qwen3", dict(head_dim=24), torch.float32, None, False),
    "Qwen3, biases, window, untied": (
        "qwen3", dict(head_dim=16, attention_bias=True, use_sliding_window=True, sliding_window=7,
                      layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                      tie_word_embeddings=False), torch.bfloat16, None, False),
    "Llama 2": ("llama", dict(tie_word_embeddings=False, num_key_value_heads=4), torch.float32,
                None, True),
    "Llama 3.1": ("llama", dict(tie_word_embeddings=False, rope_theta=5e5, rope=LLAMA3),
                  torch.bfloat16, None, True),
    "Llama 3.2, tied, version 5": ("llama", dict(rope_theta=5e5, rope=LLAMA3), torch.float32, None,
                                   False),
    "Llama, biases everywhere": (
        "llama", dict(attention_bias=True, mlp_bias=True, head_dim=32, tie_word_embeddings=False),
        torch.float32, None, False),
    "Llama, linear": ("llama", dict(rope={"rope_type": "linear", "factor": 2.5}), torch.float32,
                      None, True),
    "Llama, dynamic": ("llama", dict(rope={"rope_type": "dynamic", "factor": 2.0}), torch.float32,
                       None, True),
    "Llama, yarn with every field": (
        "llama", dict(rope=dict(YARN, beta_fast=24.0, beta_slow=2.0, truncate=False, mscale=0.7,
                                mscale_all_dim=0.4)), torch.float32, None, False),
    "Llama, yarn, attention factor": (
        "llama", dict(rope=dict(YARN, attention_factor=0.8)), torch.float32, None, False),
    "Mistral v0.1, window": (
        "mistral", dict(sliding_window=16, tie_word_embeddings=False), torch.float32, None, True),
    "Mistral v0.3, head size of its own": (
        "mistral", dict(head_dim=24, rope_theta=1e6), torch.bfloat16, None, True),
    "OLMo 2": ("olmo2", dict(num_key_value_heads=4, tie_word_embeddings=False, rope_theta=5e5),
               torch.float32, None, True),
    "Gemma 3": ("gemma3", dict(sliding_window=16, sliding_window_pattern=2), torch.float32, None,
                False),
    "Gemma 3, version 4": ("gemma3", dict(sliding_window=7, sliding_window_pattern=3, rope_theta=1e6,
                                          query_pre_attn_scalar=20), torch.bfloat16, "60KB", True),
    "Gemma 3, linear, untied, capped logits": (
        "gemma3", dict(sliding_window=16, head_dim=24, rope={"rope_type": "linear", "factor": 8.0},
                       layer_types=["full_attention", "sliding_attention", "full_attention"],
                       attention_bias=True, tie_word_embeddings=False, num_attention_heads=2,
                       num_key_value_heads=1, final_logit_softcapping=4.0), torch.float32, None,
        False),
    "Gemma 4": ("gemma4", dict(num_hidden_layers=6, num_kv_shared_layers=2, use_double_wide_mlp=True,
                               layer_types=["sliding_attention", "full_attention"] * 3), torch.float32, None, False),
    "Gemma 4, values that are keys, no inputs by layer, capped logits, untied": (
        "gemma4", dict(hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1,
                       layer_types=["full_attention", "sliding_attention", "full_attention"], sliding_window=7,
                       final_logit_softcapping=4.0, tie_word_embeddings=False, attention_bias=True,
                       rope={"partial_rotary_factor": 0.5}), torch.bfloat16, "60KB", False),
    "Gemma 4, experts": (
        "gemma4", dict(hidden_size_per_layer_input=0, enable_moe_block=True, attention_k_eq_v=True,
                       num_global_key_value_heads=1,
                       layer_types=["sliding_attention", "sliding_attention", "full_attention"]),
        torch.float32, None, False),
    "SmolLM3": ("smollm3", dict(num_hidden_layers=5, rope_theta=5e3), torch.float32, None, True),
    "SmolLM3, layers listed, biases, untied, yarn": (
        "smollm3", dict(no_rope_layers=[0, 1, 1], attention_bias=True, mlp_bias=True, tie_word_embeddings=False,
                        rope=YARN), torch.bfloat16, None, False),
    "Qwen3 MoE": ("qwen3_moe", {}, torch.float32, None, False),
    "Qwen3 MoE, some layers, normed weights": (
        "qwen3_moe", dict(num_hidden_layers=5, decoder_sparse_step=2, mlp_only_layers=[3], norm_topk_prob=True,
                          attention_bias=True, tie_word_embeddings=False), torch.bfloat16, "60KB", True),
    "gpt-oss": ("gpt_oss", dict(tie_word_embeddings=False, rope_theta=150000.0, rope=dict(
        YARN, beta_fast=32.0, beta_slow=1.0, truncate=False)), torch.float32, None, False),
    "gpt-oss, other windows, version 4": (
        "gpt_oss", dict(num_hidden_layers=3, sliding_window=7, num_experts_per_tok=4, layer_types=[
            "full_attention", "sliding_attention", "sliding_attention"]), torch.bfloat16, None, True),
    "OLMo 3": ("olmo3", dict(num_key_value_heads=4, tie_word_embeddings=False, num_hidden_layers=4,
                             sliding_window=16), torch.float32, None, False),
    "OLMo 3, yarn, layers listed, bases": (
        "olmo3", dict(rope=YARN, local_theta=300.0, sliding_window=7, attention_bias=True, layer_types=[
            "full_attention", "sliding_attention", "sliding_attention"]), torch.bfloat16, "60KB", False),
    "Ministral 3": ("ministral3", {}, torch.float32, None, False),
    "Ministral 3, window, untied, other scales": (
        "ministral3", dict(rope=dict(mscale=0.7, mscale_all_dim=0.4, llama_4_scaling_beta=0.8,
                                     original_max_position_embeddings=32), sliding_window=50,
                           tie_word_embeddings=False, head_dim=24), torch.bfloat16, None, False),
    "Qwen3.5": ("qwen3_5", {}, torch.float32, None, False),
    "Qwen3.5, a value head each, layers listed, untied, biases": (
        "qwen3_5", dict(num_hidden_layers=3, linear_num_value_heads=2, linear_conv_kernel_dim=3, attention_bias=True,
                        layer_types=["full_attention", "linear_attention", "linear_attention"],
                        rope={"partial_rotary_factor": 0.5}, tie_word_embeddings=False), torch.bfloat16, "60KB", True),
    "LFM2": ("lfm2", {}, torch.float32, None, False),
    "LFM2, biases, four taps, a width adjusted, untied": (
        "lfm2", dict(layer_types=None, full_attn_idxs=[1], conv_bias=True, conv_L_cache=4, block_multiple_of=32,
                     block_auto_adjust_ff_dim=True, tie_word_embeddings=False), torch.bfloat16, None, True),
    "Qwen3.5 MoE": ("qwen3_5_moe", {}, torch.float32, None, False),
    "Qwen3.5 MoE, a value head each, one expert a token, untied": (
        "qwen3_5_moe", dict(num_experts_per_tok=1, linear_num_value_heads=2, shared_expert_intermediate_size=40,
                            layer_types=["full_attention", "linear_attention", "linear_attention"],
                            tie_word_embeddings=False), torch.bfloat16, "60KB", True),
    "LFM2 MoE": ("lfm2_moe", dict(routed_scaling_factor=1.5), torch.float32, None, False),
    "LFM2 MoE, without a bias, no layer dense, weights not normed": (
        "lfm2_moe", dict(use_expert_bias=False, norm_topk_prob=False, num_dense_layers=0, conv_bias=True,
                         tie_word_embeddings=False), torch.bfloat16, "60KB", True),
    "OLMo 2, 4:2 heads, biases": ("olmo2", dict(attention_bias=True, tie_word_embeddings=False), torch.bfloat16, None,
                                  False),
}
# In bfloat16 on both sides: every architecture once.
NARROW_CASES = ["Qwen2, tied, 4:2 heads", "Qwen3", "Llama 3.1", "Mistral v0.1, window", "OLMo 2",
                "Gemma 3", "SmolLM3", "OLMo 3", "Ministral 3", "Qwen3.5", "LFM2",
                "Qwen3 MoE", "gpt-oss", "Qwen3.5 MoE", "LFM2 MoE", "Gemma 4", "Gemma 4, experts"]


def save(model, folder, dtype, shard_size, version_4):
    model.to(dtype).save_pretrained(folder, **(dict(max_shard_size=shard_size) if shard_size else {}))
    num_files = len(list(folder.glob("*.safetensors")))
    assert (num_files > 1) == bool(shard_size), f"{num_files} weight files"
    if version_4:
        to_version_4(folder)


def check_stacked(scratch):
    """Qwen's experts in one tensor for each layer, as transformers has them in memory."""
    folder = scratch / "stacked"
    model = make_model(make_config("qwen3_moe"))
    model.save_pretrained(folder, save_original_format=False)
    names = load_file(folder / "model.safetensors")
    assert "model.layers.0.mlp.experts.gate_up_proj" in names, names.keys()
    ids = random_rows(199, 1, 100, seed=1)[0]
    difference = (predgen_logits(folder, ids, scratch)[0] - reference_logits(model, ids)).abs().max().item()
    check(difference <= TOLERANCE, f"Qwen3 MoE, experts in one tensor: logits differ by {difference:.1e}")
    shutil.rmtree(folder)


def check_narrow(name, scratch):
    arch, changes, _, _, _ = CASES[name]
    folder = scratch / "model"
    config = make_config(arch, **dict(changes, tie_word_embeddings=False))
    save(make_model(config), folder, torch.bfloat16, None, False)
    ids = random_rows(199, 1, 250, seed=1)[0]
    wide = reference_logits(load_reference(folder), ids)
    expected = reference_logits(load_reference(folder, torch.bfloat16), ids)
    found, _ = predgen_logits(folder, ids, scratch, dtype="bf16")
    num_distinct = len(set(expected.argmax(-1).tolist()))
    check(num_distinct >= 20, f"{name}: {num_distinct} distinct tokens in bfloat16")

    def apart(left, right):
        # Where a rounding makes a router choose another expert, all of a token's logits change: few tokens, on either side.
        by_token = (left - right).norm(dim=-1)
        return (by_token.median() if hasattr(config, "num_experts_per_tok") else by_token.norm()).item()

    between, norm = apart(found, expected), apart(expected, torch.zeros_like(expected))
    ours, theirs = apart(found, wide), apart(expected, wide)
    check(ours <= 1.2 * theirs, f"{name}: rounding is {ours / theirs:.2f} of the reference's")
    # Two roundings of the same, each its own: as far apart as sqrt(2) of one.
    check(between <= 1.5 * theirs, f"{name}: bfloat16 logits differ by {between / norm:.1e} of their norm, "
                                   f"{between / theirs:.2f} of the reference's rounding")
    shutil.rmtree(folder)


def check_case(name, scratch):
    arch, changes, dtype, shard_size, version_4 = CASES[name]
    folder = scratch / "model"
    save(make_model(make_config(arch, **changes)), folder, dtype, shard_size, version_4)
    reference = load_reference(folder)
    ids = random_rows(199, 1, 200, seed=1)[0]
    expected = reference_logits(reference, ids)
    found, logprobs = predgen_logits(folder, ids, scratch)
    difference = (found - expected).abs().max().item()
    check(difference <= TOLERANCE, f"{name}: logits differ by {difference:.1e}")
    wanted = expected.log_softmax(-1)[:-1].gather(1, ids[1:, None])[:, 0]
    difference = (logprobs - wanted).abs().max().item()
    check(difference <= TOLERANCE, f"{name}: log-probabilities differ by {difference:.1e}")

    is_first = name == next(first for first, case in CASES.items() if case[0] == arch)
    num_prompts, num_new = (FEW_PROMPTS, MANY_NEW) if is_first else (NUM_PROMPTS, NUM_NEW)
    rows = random_rows(199, num_prompts, PROMPT_LENGTH, seed=2)
    expected, margin = reference_greedy(reference, rows, num_new)
    num_distinct = len({token for row in expected for token in row})
    check(num_distinct >= 20, f"{name}: {num_distinct} distinct tokens")
    found = predgen_greedy(folder, rows, num_new, scratch)
    num_equal = sum(a == b for a, b in zip(expected, found))
    check(num_equal == num_prompts and len(found) == num_prompts,
          f"{name}: {num_new} greedy tokens equal on {num_equal} of {num_prompts} prompts "
          f"(smallest lead of a token {margin:.1e})")
    shutil.rmtree(folder)


def swap_kv_heads(weights):
    key = "model.layers.0.self_attn.k_proj.weight"
    heads = weights[key].view(2, 16, -1)
    weights[key] = heads.flip(0).reshape(weights[key].shape).contiguous()


def zero_bias(weights):
    weights["model.layers.1.self_attn.q_proj.bias"].zero_()


def check_faults(scratch):
    """The comparison must turn red when our copy of the model is wrong in one place."""
    good = scratch / "good"
    save(make_model(make_config()), good, torch.float32, None, False)
    reference = load_reference(good)
    ids = random_rows(199, 1, 60, seed=3)[0]
    expected = reference_logits(reference, ids)

    def difference(change):
        bad = scratch / "bad"
        shutil.copytree(good, bad)
        change(bad)
        result = (predgen_logits(bad, ids, scratch)[0] - expected).abs().max().item()
        shutil.rmtree(bad)
        return result

    def weights_changed(change):
        def apply(folder):
            weights = load_file(folder / "model.safetensors")
            change(weights)
            save_file(weights, folder / "model.safetensors", {"format": "pt"})
        return apply

    faults = {
        "rope_theta": lambda f: change_config(
            f, rope_parameters={"rope_type": "default", "rope_theta": 20000.0}),
        "rms_norm_eps": lambda f: change_config(f, rms_norm_eps=1e-2),
        "q bias": weights_changed(zero_bias),
        "key heads swapped": weights_changed(swap_kv_heads),
    }
    check(difference(lambda folder: None) <= TOLERANCE, "without a fault the comparison is green")
    for name, fault in faults.items():
        found = difference(fault)
        check(found > 100 * TOLERANCE, f"planted fault is seen: {name} ({found:.1e})")

    rows = random_rows(199, NUM_PROMPTS, PROMPT_LENGTH, seed=4)
    expected_tokens, _ = reference_greedy(reference, rows, NUM_NEW)
    faults["rope_theta"](good)
    found = predgen_greedy(good, rows, NUM_NEW, scratch)
    check(found != expected_tokens, "planted fault changes greedy tokens: rope_theta")


def check_arch_fault(scratch, case, name, config_change=None, reference_change=None):
    """Wrong in one place, in our config.json or in the reference: the comparison turns red."""
    arch, changes, _, _, _ = CASES[case]
    folder = scratch / "model"
    save(make_model(make_config(arch, **changes)), folder, torch.float32, None, False)
    reference = load_reference(folder)
    ids = random_rows(199, 1, 100, seed=5)[0]
    if reference_change:
        reference_change(reference)
    if config_change:
        config_change(folder)
    found, _ = predgen_logits(folder, ids, scratch)
    difference = (found - reference_logits(reference, ids)).abs().max().item()
    check(difference > 100 * TOLERANCE, f"{case}: planted fault is seen: {name} ({difference:.1e})")
    shutil.rmtree(folder)


def change_rope(**changes):
    def apply(folder):
        file = folder / "config.json"
        config = json.loads(file.read_text())
        config["rope_parameters"].update(changes)
        file.write_text(json.dumps(config))
    return apply


def change_full_rope(**changes):
    def apply(folder):
        file = folder / "config.json"
        config = json.loads(file.read_text())
        config["rope_parameters"]["full_attention"].update(changes)
        file.write_text(json.dumps(config))
    return apply


def drop_value_norm(model):
    for layer in model.model.layers:
        if not layer.self_attn.is_kv_shared_layer:
            layer.self_attn.v_norm = torch.nn.Identity()


def turn_around(part):
    """The values of some vectors in the other order."""
    def apply(model):
        for name, weight in model.named_parameters():
            if part in name:
                weight.data = weight.data.flip(0)
    return apply


class NormByHead(torch.nn.Module):
    """What a norm over the full width is not."""

    def __init__(self, norm, head_dim):
        super().__init__()
        self.norm, self.head_dim = norm, head_dim

    def forward(self, x):
        heads = x.unflatten(-1, (-1, self.head_dim))
        heads = heads * torch.rsqrt(heads.square().mean(-1, True) + self.norm.variance_epsilon)
        return heads.flatten(-2) * self.norm.weight


def norm_by_head(model):
    for layer in model.model.layers:
        layer.self_attn.q_norm = NormByHead(layer.self_attn.q_norm, 16)


def drop_biases(part):
    def apply(model):
        for name, weight in model.named_parameters():
            if name.endswith(f"{part}.bias"):
                weight.data.zero_()
    return apply


def change_local_theta(folder):
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config["rope_parameters"]["sliding_attention"]["rope_theta"] = 150.0
    file.write_text(json.dumps(config))


def open_by_silu(model):
    for layer in model.model.layers:
        layer.mlp.act_fn = torch.nn.SiLU()


def drop_norms(part):
    """A weight of 0 means 1."""
    def apply(model):
        for name, weight in model.named_parameters():
            if name.endswith(f"{part}.weight"):
                weight.data.zero_()
    return apply


def swap_experts(model):
    with torch.no_grad():
        experts = model.model.layers[1].mlp.experts
        experts.down_proj.copy_(experts.down_proj.roll(1, 0))


def drop_expert_bias(model):
    for name, bias in model.named_buffers():
        if name.endswith("expert_bias"):
            bias.zero_()


def drop_sinks(model):
    for layer in model.model.layers:
        layer.self_attn.sinks.data.fill_(-1e4)


def steepen_gates(model):
    for layer in model.model.layers:
        layer.mlp.experts.alpha = 1.6


def zero(part):
    def apply(model):
        for name, weight in model.named_parameters():
            if name.endswith(part):
                weight.data.zero_()
    return apply


def wider_models():
    """Models that also see or hear, small, and which of their weights are the text model's."""
    from transformers import (Gemma3Config, Gemma3ForConditionalGeneration, Gemma4Config,
                              Gemma4ForConditionalGeneration, Gemma4UnifiedConfig,
                              Gemma4UnifiedForConditionalGeneration, Mistral3Config,
                              Mistral3ForConditionalGeneration, Qwen3_5Config, Qwen3_5ForConditionalGeneration)

    def text(arch, **changes):
        return make_config(arch, pad_token_id=0, **changes).to_dict()

    seeing = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=28,
                  patch_size=14)
    unified = text("gemma4", hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1,
                   sliding_window=16, layer_types=["sliding_attention", "full_attention", "full_attention"])
    for key in ("hidden_size_per_layer_input", "vocab_size_per_layer_input", "enable_moe_block", "num_experts",
                "top_k_experts", "moe_intermediate_size"):
        unified.pop(key, None)
    unified["model_type"] = "gemma4_unified_text"
    return {
        "Qwen3.5": lambda: Qwen3_5ForConditionalGeneration(Qwen3_5Config(
            text_config=text("qwen3_5"), tie_word_embeddings=True,
            vision_config=dict(depth=1, hidden_size=32, intermediate_size=32, num_heads=2, out_hidden_size=64,
                               num_position_embeddings=16))),
        "Gemma 3": lambda: Gemma3ForConditionalGeneration(Gemma3Config(
            text_config=text("gemma3", sliding_window=16), vision_config=dict(seeing), mm_tokens_per_image=4)),
        "Gemma 4": lambda: Gemma4ForConditionalGeneration(Gemma4Config(
            text_config=text("gemma4", num_hidden_layers=6, num_kv_shared_layers=2, use_double_wide_mlp=True,
                             layer_types=["sliding_attention", "full_attention"] * 3),
            vision_config=dict(hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
                               num_key_value_heads=2, head_dim=16, position_embedding_size=16),
            audio_config=dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, output_proj_dims=32,
                              subsampling_conv_channels=[4, 4]))),
        "Gemma 4 12B": lambda: Gemma4UnifiedForConditionalGeneration(Gemma4UnifiedConfig(
            text_config=unified,
            vision_config=dict(mm_embed_dim=64, mm_posemb_size=16, patch_size=2, output_proj_dims=64),
            audio_config=dict(audio_embed_dim=32))),
        "Ministral 3": lambda: Mistral3ForConditionalGeneration(Mistral3Config(
            text_config=text("ministral3", tie_word_embeddings=False), tie_word_embeddings=False,
            vision_config=dict(seeing, model_type="pixtral", head_dim=16))),
    }


def check_text_parts(scratch):
    """Of a model that also sees or hears, the text model alone runs."""
    for name, make in wider_models().items():
        torch.manual_seed(0)
        model = make().float().eval()
        with torch.no_grad():
            for weight_name, weight in model.named_parameters():
                if "language_model" in weight_name:
                    mean = norm_mean(model.config.text_config, weight_name) if "norm" in weight_name else 0
                    weight.normal_(mean, 0.3 if "embed" in weight_name else 0.15)
        folder = scratch / "model"
        model.save_pretrained(folder)
        ids = random_rows(199, 1, 100, seed=1)[0]
        expected = reference_logits(model, ids)
        limit = TOLERANCE * max(1.0, expected.abs().max().item() / 5)  # Qwen3.5's logits are large
        difference = (predgen_logits(folder, ids, scratch)[0] - expected).abs().max().item()
        check(difference <= limit, f"{name}, which also sees: logits differ by {difference:.1e}")
        text_folder = scratch / "text"
        predgen("export", "--model", folder, "--output", text_folder, "--dtype", "fp32", "--threads", "2")
        difference = (reference_logits(load_reference(text_folder), ids) - expected).abs().max().item()
        check(difference <= TOLERANCE,
              f"{name}, its text model exported: transformers' logits differ by {difference:.1e}")
        shutil.rmtree(folder)
        shutil.rmtree(text_folder)


def check_arch_faults(scratch, all_of_them):
    planted = set()

    def plant(case, *fault):
        if all_of_them or case not in planted:
            check_arch_fault(scratch, case, *fault)
        planted.add(case)

    plant("Llama 3.1", "llama3 factor", change_rope(factor=7.0))
    plant("Llama 3.1", "llama3 read as default", change_rope(rope_type="default"))
    plant("Llama, linear", "linear factor", change_rope(factor=2.4))
    plant("Qwen2, yarn", "yarn factor", change_rope(factor=3.9))
    plant("Llama, yarn, attention factor", "attention factor", change_rope(attention_factor=0.85))
    for case in ("Mistral v0.1, window", "Qwen2, window from layer 1"):
        for size in (15, 17):
            plant(case, f"window {size} instead of 16",
                  lambda f, size=size: change_config(f, sliding_window=size))
    plant("Llama, biases everywhere", "output bias", None, drop_biases("o_proj"))
    plant("Llama, biases everywhere", "MLP bias", None, drop_biases("down_proj"))
    plant("OLMo 2", "norm of queries by head", None, norm_by_head)
    plant("Gemma 3", "local rope", change_local_theta)
    plant("Gemma 3", "query scale", lambda f: change_config(f, query_pre_attn_scalar=200))
    plant("Gemma 3", "window", lambda f: change_config(f, sliding_window=15))
    plant("Gemma 3", "full and sliding swapped", lambda f: change_config(
        f, layer_types=["full_attention", "sliding_attention", "full_attention"]))
    plant("Gemma 3", "embedding scale", None,
          lambda model: model.model.embed_tokens.embed_scale.fill_(7.5))
    plant("Gemma 3", "SiLU", None, open_by_silu)
    for part in ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                 "post_feedforward_layernorm", "q_norm", "model.norm"):
        plant("Gemma 3", part, None, drop_norms(part))
    plant("Qwen3 MoE", "experts of a token", lambda f: change_config(f, num_experts_per_tok=2))
    plant("Qwen3 MoE", "weights of experts", lambda f: change_config(f, norm_topk_prob=True))
    plant("Qwen3 MoE", "two experts swapped", None, swap_experts)
    plant("gpt-oss", "sinks", None, drop_sinks)
    plant("gpt-oss", "router bias", None, drop_biases("router"))
    plant("gpt-oss", "window", lambda f: change_config(f, sliding_window=17))
    plant("gpt-oss", "YaRN's ramp", change_rope(truncate=True))
    plant("gpt-oss", "gate", None, steepen_gates)
    plant("OLMo 3", "local rope", change_local_theta)
    plant("OLMo 3", "window", lambda f: change_config(f, sliding_window=15))
    plant("Ministral 3", "scale of queries", change_rope(llama_4_scaling_beta=0.2))
    plant("Ministral 3", "where queries begin to grow", change_rope(original_max_position_embeddings=48))
    plant("Qwen3.5", "share of heads that turns", change_rope(partial_rotary_factor=0.5))
    plant("Qwen3.5", "norms' epsilon", lambda f: change_config(f, rms_norm_eps=1e-2))
    for part in ("dt_bias", "A_log", "in_proj_z.weight", "in_proj_b.weight", "linear_attn.norm.weight", "q_norm.weight"):
        plant("Qwen3.5", part, None, zero(part))
    plant("LFM2", "norms' epsilon", lambda f: change_config(f, norm_eps=1e-2))
    plant("LFM2", "embedding norm", None, zero("embedding_norm.weight"))
    plant("LFM2, biases, four taps, a width adjusted, untied", "convolution's bias", None, zero("conv.conv.bias"))
    plant("Qwen3.5 MoE", "the shared expert's gate", None, zero("shared_expert_gate.weight"))
    plant("Qwen3.5 MoE", "the shared expert", None, zero("shared_expert.down_proj.weight"))
    plant("Qwen3.5 MoE", "two experts swapped", None, swap_experts)
    plant("LFM2 MoE", "scores' bias", None, drop_expert_bias)
    plant("LFM2 MoE", "weights' scale", lambda f: change_config(f, routed_scaling_factor=1.0))
    plant("Gemma 4", "proportion that turns", change_full_rope(partial_rotary_factor=0.5))
    plant("Gemma 4", "window", lambda f: change_config(f, sliding_window=15))
    plant("Gemma 4", "scale of a layer", None, lambda model: model.model.layers[1].layer_scalar.mul_(1.1))
    plant("Gemma 4", "norm of inputs by layer", None,
          lambda model: model.model.per_layer_projection_norm.weight.data.mul_(1.2))
    plant("Gemma 4", "embedding of inputs by layer", None,
          lambda model: model.model.embed_tokens_per_layer.embed_scale.mul_(1.2))
    plant("Gemma 4", "norm of values", None, drop_value_norm)
    plant("Gemma 4, experts", "experts of a token", lambda f: change_config(f, top_k_experts=2))
    for part in ("router.scale", "per_expert_scale", "pre_feedforward_layernorm_2", "post_feedforward_layernorm_1",
                 "post_feedforward_layernorm_2"):
        plant("Gemma 4, experts", part, None, turn_around(part))
    plant("Gemma 3, linear, untied, capped logits", "logit softcap",
          lambda f: change_config(f, final_logit_softcapping=4.2))


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for case in CASES:
            check_case(case, scratch)
        check_stacked(scratch)
        for case in NARROW_CASES:
            check_narrow(case, scratch)
        check_text_parts(scratch)
        check_faults(scratch)
        check_arch_faults(scratch, all_of_them=sys.argv[1] == "whole")


if __name__ == "__main__":
    main()
