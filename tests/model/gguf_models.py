"""GGUF files of models that `transformers` made, written by PyPI `gguf` as llama.cpp's conversion writes them."""

import sys

try:
    import gguf
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MAPS = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "olmo2": "olmo2", "smollm3": "smollm3",
        "gemma3_text": "gemma3", "qwen3_moe": "qwen3moe", "gpt_oss": "gpt-oss", "olmo3": "olmo2", "ministral3": "mistral3",
        "qwen3_5_text": "qwen35", "lfm2": "lfm2", "gemma4_text": "gemma4", "qwen3_5_moe_text": "qwen35moe",
        "lfm2_moe": "lfm2moe"}
QWEN35, LFM2 = ("qwen35", "qwen35moe"), ("lfm2", "lfm2moe")
MODULES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
           "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
           "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate": "ffn_gate_inp", "mlp.router": "ffn_gate_inp",
           "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
           "linear_attn.dt_bias": "ssm_dt.bias", "linear_attn.A_log": "ssm_a", "linear_attn.conv1d": "ssm_conv1d",
           "linear_attn.norm": "ssm_norm", "linear_attn.out_proj": "ssm_out", "linear_attn.in_proj_qkv": "attn_qkv",
           "linear_attn.in_proj_z": "attn_gate", "linear_attn.in_proj_b": "ssm_beta",
           "linear_attn.in_proj_a": "ssm_alpha", "self_attn.out_proj": "attn_output",
           "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm", "conv.conv": "shortconv.conv",
           "conv.in_proj": "shortconv.in_proj", "conv.out_proj": "shortconv.out_proj", "operator_norm": "attn_norm",
           "ffn_norm": "ffn_norm", "feed_forward.w1": "ffn_gate", "feed_forward.w3": "ffn_up", "feed_forward.w2": "ffn_down",
           "per_layer_input_gate": "inp_gate", "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
           "layer_scalar": "layer_output_scale.weight", "router.proj": "ffn_gate_inp",
           "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
           "mlp.shared_expert.down_proj": "ffn_down_shexp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
           "feed_forward.gate": "ffn_gate_inp", "feed_forward.expert_bias": "exp_probs_b.bias",
           "router.scale": "ffn_gate_inp.scale", "router.per_expert_scale": "ffn_down_exps.scale"}
# Norms after attention and MLP, which Llama's kin do not have.
OTHER_NORMS = {"qwen35": {"post_attention_layernorm": "post_attention_norm"},
               "gpt-oss": {"post_attention_layernorm": "post_attention_norm"},
               "olmo2": {"post_attention_layernorm": "post_attention_norm",
                         "post_feedforward_layernorm": "post_ffw_norm"},
               "gemma3": {"input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
                          "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm"}}
OTHER_NORMS["qwen35moe"] = OTHER_NORMS["qwen35"]
OTHER_NORMS["gemma4"] = OTHER_NORMS["gemma3"] | {
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2", "post_feedforward_layernorm_1": "post_ffw_norm_1",
    "post_feedforward_layernorm_2": "post_ffw_norm_2"}
WHOLE = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight",
         "lm_head.weight": "output.weight", "model.embedding_norm.weight": "token_embd_norm.weight",
         "model.embed_tokens_per_layer.weight": "per_layer_token_embd.weight",
         "model.per_layer_model_projection.weight": "per_layer_model_proj.weight",
         "model.per_layer_projection_norm.weight": "per_layer_proj_norm.weight"}
PAIRS = {"llama", "smollm3", "mistral3"}  # whose rotary pairs lie beside each other
NO_SPLIT = 1 << 60


def gguf_name(name, arch):
    if name in WHOLE:
        return WHOLE[name]
    _, _, layer, module = name.split(".", 3)
    if module in MODULES:  # no module's weight
        return f"blk.{layer}.{MODULES[module]}"
    module, end = module.rsplit(".", 1)
    if end == "sinks":
        return f"blk.{layer}.attn_sinks.weight"
    return f"blk.{layer}.{(MODULES | OTHER_NORMS.get(arch, {}))[module]}.{end}"


def parts_of(name, weight, arch):
    """What a file has of a weight, by name: views of it. Of experts, outputs before inputs, gates and products apart,
    but not Gemma 4's."""
    _, found, module = name.rpartition(".experts.")
    if not found:
        return {gguf_name(name, arch): weight}
    block, is_bias = f"blk.{name.split('.')[2]}", module.endswith("_bias")
    end = "bias" if is_bias else "weight"
    if arch == "gpt-oss":
        weight = weight if is_bias else weight.transpose(1, 2)
        halves = weight[:, ::2], weight[:, 1::2]
    else:
        halves = weight.chunk(2, 1)
    if module.startswith("down") or arch == "gemma4":
        return {f"{block}.ffn_{'down' if module.startswith('down') else 'gate_up'}_exps.{end}": weight}
    return {f"{block}.ffn_{part}_exps.{end}": half for part, half in zip(("gate", "up"), halves)}


def is_matrix(name, weight):
    kept = (".bias", "ssm_conv1d.weight", "shortconv.conv.weight")
    return weight.dim() > 1 and not name.endswith(kept) and "ffn_gate_inp" not in name


def in_pairs(weight, heads):
    """llama.cpp turns rows 2j and 2j + 1 of a head together, transformers j and j + half."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def by_turns(weight, config, dim=0, head=None, first=0):
    """A delta net's value heads, which transformers has by key head, as llama.cpp has them."""
    keys = config.linear_num_key_heads
    head = head or config.linear_value_head_dim
    kept, heads = weight.narrow(dim, 0, first), weight.narrow(dim, first, weight.shape[dim] - first)
    split = heads.unflatten(dim, (keys, config.linear_num_value_heads // keys, head))
    return torch.cat([kept, split.transpose(dim, dim + 1).flatten(dim, dim + 2)], dim)


def of_delta_net(name, weight, config):
    first = 2 * config.linear_num_key_heads * config.linear_key_head_dim
    if name.endswith((".A_log", ".dt_bias", ".in_proj_a.weight", ".in_proj_b.weight")):
        weight = by_turns(weight, config, head=1)
    elif name.endswith((".in_proj_qkv.weight", ".conv1d.weight")):
        weight = by_turns(weight, config, first=first)
    elif name.endswith(".in_proj_z.weight"):
        weight = by_turns(weight, config)
    elif name.endswith(".linear_attn.out_proj.weight"):
        weight = by_turns(weight, config, dim=1)
    if name.endswith(".A_log"):
        return -weight.exp()
    if name.endswith("norm.weight") and not name.endswith("linear_attn.norm.weight"):
        return weight + 1
    return weight.squeeze(1) if "conv1d" in name else weight


def llama3_divisors(rope, head_dim):
    frequencies = rope["rope_theta"] ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
    original, factor = rope["original_max_position_embeddings"], rope["factor"]
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    wave = 2 * torch.pi / frequencies
    smooth = ((original / wave - low) / (high - low)).clamp(0, 1)
    return (1 / ((1 - smooth) / factor + smooth)).float()


def head_dim(config):
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def gemma4_hyperparameters(writer, config):
    slides = [kind == "sliding_attention" for kind in config.layer_types]
    full, sliding = config.per_layer_config[len(slides) - 1], config.per_layer_config[slides.index(True)]
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_sliding_window(config.sliding_window)
    writer.add_sliding_window_pattern(slides)
    writer.add_shared_kv_layers(config.num_kv_shared_layers)
    writer.add_embedding_length_per_layer_input(config.hidden_size_per_layer_input)
    for add, size in ((writer.add_key_length, full.head_dim), (writer.add_value_length, full.head_dim),
                      (writer.add_key_length_swa, sliding.head_dim), (writer.add_value_length_swa, sliding.head_dim),
                      (writer.add_rope_dimension_count, full.head_dim),
                      (writer.add_rope_dimension_count_swa, sliding.head_dim)):
        add(size)
    kv_heads = [config.per_layer_config[i].num_key_value_heads for i in range(len(slides))]
    writer.add_head_count_kv(kv_heads if len(set(kv_heads)) > 1 else kv_heads[0])
    width, num_own = config.intermediate_size, config.num_hidden_layers - config.num_kv_shared_layers
    widths = [width * (2 if i >= num_own and config.use_double_wide_mlp else 1) for i in range(len(slides))]
    writer.add_feed_forward_length(widths if len(set(widths)) > 1 else width)
    if config.final_logit_softcapping:
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if config.enable_moe_block:
        writer.add_expert_count(config.num_experts)
        writer.add_expert_used_count(config.top_k_experts)
        writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    rope = config.rope_parameters
    writer.add_rope_freq_base(rope["full_attention"]["rope_theta"])
    writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
    turned = int(full.head_dim * rope["full_attention"]["partial_rotary_factor"] / 2)
    writer.add_tensor("rope_freqs.weight", np.array([1.0] * turned + [1e30] * (full.head_dim // 2 - turned), np.float32))


def hyperparameters(writer, config, arch):
    if arch == "gemma4":
        gemma4_hyperparameters(writer, config)
        return
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if arch in LFM2:
        writer.add_head_count_kv([config.num_key_value_heads if kind == "full_attention" else 0
                                  for kind in config.layer_types])
        writer.add_shortconv_l_cache(config.conv_L_cache)
    else:
        writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.norm_eps if arch in LFM2 else config.rms_norm_eps)
    share = 1.0
    if arch in QWEN35:
        share = config.rope_parameters["partial_rotary_factor"]
        writer.add_ssm_conv_kernel(config.linear_conv_kernel_dim)
        writer.add_ssm_state_size(config.linear_key_head_dim)
        writer.add_ssm_group_count(config.linear_num_key_heads)
        writer.add_ssm_time_step_rank(config.linear_num_value_heads)
        writer.add_ssm_inner_size(config.linear_value_head_dim * config.linear_num_value_heads)
        writer.add_full_attention_interval(4)
        writer.add_rope_dimension_sections([11, 11, 10, 0])
    writer.add_key_length(head_dim(config))
    writer.add_value_length(head_dim(config))
    writer.add_vocab_size(config.vocab_size)
    rope = config.rope_parameters
    if arch == "qwen35moe":
        writer.add_expert_shared_feed_forward_length(config.shared_expert_intermediate_size)
    if arch == "lfm2moe":
        writer.add_leading_dense_block_count(config.num_dense_layers)
        writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    if arch in ("qwen3moe", "gpt-oss", "qwen35moe", "lfm2moe"):
        writer.add_expert_count(config.num_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        writer.add_expert_feed_forward_length(getattr(config, "moe_intermediate_size", config.intermediate_size))
    if arch == "gpt-oss":
        writer.add_sliding_window(config.sliding_window)
    if arch == "gemma3":
        writer.add_sliding_window(config.sliding_window)
        if config.final_logit_softcapping:
            writer.add_final_logit_softcapping(config.final_logit_softcapping)
        rope = rope["full_attention"]
    elif config.model_type == "olmo3":
        writer.add_sliding_window(config.sliding_window)
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config.layer_types])
        rope = rope["full_attention"]
    elif config.model_type == "mistral" and config.sliding_window:
        writer.add_sliding_window(config.sliding_window)
    writer.add_rope_dimension_count(int(head_dim(config) * share))
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        kind = gguf.RopeScalingType.LINEAR if rope["rope_type"] == "linear" else gguf.RopeScalingType.YARN
        writer.add_rope_scaling_type(kind)
        writer.add_rope_scaling_factor(rope["factor"])
    if rope["rope_type"] == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        if rope.get("attention_factor") is not None:
            writer.add_rope_scaling_yarn_attn_factor(rope["attention_factor"])
    if arch == "mistral3":
        writer.add_rope_scaling_yarn_log_mul(rope["mscale_all_dim"])
        writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
    if rope["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(rope, head_dim(config)).numpy())


def write(model, file, kind="F32", tokens=None, tensor_kind=None, split=NO_SPLIT, plant=None, **metadata):
    """`kind`: of the matrices; `tensor_kind`: others, by their name in the file. `plant(name, weight)`: a fault."""
    config = model.config
    arch = MAPS[config.model_type]
    writer = gguf.GGUFWriter(str(file), arch, split_max_tensors=split if split != NO_SPLIT else 0)
    hyperparameters(writer, config, arch)
    for key, value in metadata.items():
        writer.add_string(key.replace("__", "."), value)
    if tokens:
        tokens(writer)
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        weight = weight.detach().float()
        if arch in PAIRS and ".q_proj." in name:
            weight = in_pairs(weight, config.num_attention_heads)
        if arch in PAIRS and ".k_proj." in name:
            weight = in_pairs(weight, config.num_key_value_heads)
        if arch == "gemma3" and name.endswith("norm.weight"):
            weight = weight + 1
        if arch in QWEN35:
            weight = of_delta_net(name, weight, config)
        if arch in LFM2 and "conv.conv" in name:
            weight = weight.squeeze(1)
        for name, part in parts_of(name, weight, arch).items():
            if plant:
                part = plant(name, part)
            type_name = (tensor_kind or {}).get(name, kind) if is_matrix(name, part) else "F32"
            stored = gguf.GGMLQuantizationType[type_name]
            data = gguf.quants.quantize(np.ascontiguousarray(part.numpy()), stored)
            writer.add_tensor(name, data, raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
