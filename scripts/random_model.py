"""Makes a language model folder with random weights of a published shape, for timing where the real one
is not available: the time of a pass depends only on sizes. How much of a draft it accepts says nothing.

usage: random_model.py FOLDER SHAPE TOKENIZER    (SHAPE: 7b, 0.5b, 135m, tiny, qwen3.5-0.8b or lfm2-350m;
                                                 a3b: 8 layers of Qwen3-30B-A3B,
                                                 whose folder takes 11 GB, tiny-a3b; TOKENIZER: a folder, whose
                                                 tokenizer is copied: its vocabulary may be smaller)
"""
import ctypes
import json
import pathlib
import shutil
import sys

import torch

# hidden, intermediate, layers, heads, key/value heads, vocabulary, tied
SHAPES = {"7b": (3584, 18944, 28, 28, 4, 152064, False),  # Qwen2.5-7B
          "0.5b": (896, 4864, 24, 14, 2, 151936, True),  # Qwen2.5-0.5B
          "135m": (576, 1536, 30, 9, 3, 49152, True),  # SmolLM2-135M
          "tiny": (256, 512, 2, 4, 2, 4096, True),
          "a3b": (2048, 6144, 8, 32, 4, 151936, False),  # of Qwen3-30B-A3B's 48 layers
          "tiny-a3b": (256, 512, 2, 4, 2, 4096, False)}
# experts, those of a token, their width, head size
EXPERTS = {"a3b": (128, 8, 768, 128), "tiny-a3b": (16, 4, 128, 64)}


# Of which most layers keep a state: their own fields of config.json.
HYBRIDS = {
    "qwen3.5-0.8b": {
        "architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text", "hidden_size": 1024,
        "intermediate_size": 3584, "num_hidden_layers": 24, "num_attention_heads": 8, "num_key_value_heads": 2,
        "head_dim": 256, "vocab_size": 248320, "linear_num_key_heads": 16, "linear_num_value_heads": 16,
        "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 6, "rms_norm_eps": 1e-6,
        "rope_theta": 1e7, "partial_rotary_factor": 0.25, "mtp_num_hidden_layers": 1},
    "lfm2-350m": {
        "architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2", "hidden_size": 1024, "intermediate_size": 4608,
        "block_auto_adjust_ff_dim": False, "num_hidden_layers": 16, "num_attention_heads": 16,
        "num_key_value_heads": 8, "vocab_size": 65536, "conv_L_cache": 3, "norm_eps": 1e-5, "rope_theta": 1e6,
        "layer_types": ["full_attention" if i in (2, 5, 8, 10, 12, 14) else "conv" for i in range(16)]}}


def delta_net_shapes(config, i):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {"input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden],
              "mlp.gate_proj.weight": [inner, hidden], "mlp.up_proj.weight": [inner, hidden],
              "mlp.down_proj.weight": [hidden, inner]}
    if config["layer_types"][i] == "full_attention":
        head, heads, kv_heads = config["head_dim"], config["num_attention_heads"], config["num_key_value_heads"]
        return shapes | {"self_attn.q_proj.weight": [2 * heads * head, hidden],
                         "self_attn.k_proj.weight": [kv_heads * head, hidden],
                         "self_attn.v_proj.weight": [kv_heads * head, hidden],
                         "self_attn.o_proj.weight": [hidden, heads * head],
                         "self_attn.q_norm.weight": [head], "self_attn.k_norm.weight": [head]}
    heads, size = config["linear_num_value_heads"], config["linear_value_head_dim"]
    channels = 2 * config["linear_num_key_heads"] * config["linear_key_head_dim"] + heads * size
    own = {"dt_bias": [heads], "A_log": [heads], "conv1d.weight": [channels, 1, config["linear_conv_kernel_dim"]],
           "norm.weight": [size], "out_proj.weight": [hidden, heads * size], "in_proj_qkv.weight": [channels, hidden],
           "in_proj_z.weight": [heads * size, hidden], "in_proj_b.weight": [heads, hidden],
           "in_proj_a.weight": [heads, hidden]}
    return shapes | {f"linear_attn.{name}": shape for name, shape in own.items()}


def mtp_shapes(config):
    hidden = config["hidden_size"]
    layer = delta_net_shapes(config, config["layer_types"].index("full_attention"))
    own = {"fc.weight": [hidden, 2 * hidden], "norm.weight": [hidden], "pre_fc_norm_embedding.weight": [hidden],
           "pre_fc_norm_hidden.weight": [hidden]}
    return {f"mtp.{name}": shape for name, shape in own.items()} | {
        f"mtp.layers.0.{name}": shape for name, shape in layer.items()}


def convolution_shapes(config, i):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {"operator_norm.weight": [hidden], "ffn_norm.weight": [hidden], "feed_forward.w1.weight": [inner, hidden],
              "feed_forward.w3.weight": [inner, hidden], "feed_forward.w2.weight": [hidden, inner]}
    if config["layer_types"][i] == "conv":
        return shapes | {"conv.conv.weight": [hidden, 1, config["conv_L_cache"]],
                         "conv.in_proj.weight": [3 * hidden, hidden], "conv.out_proj.weight": [hidden, hidden]}
    head = hidden // config["num_attention_heads"]
    width = config["num_key_value_heads"] * head
    return shapes | {"self_attn.q_proj.weight": [hidden, hidden], "self_attn.k_proj.weight": [width, hidden],
                     "self_attn.v_proj.weight": [width, hidden], "self_attn.out_proj.weight": [hidden, hidden],
                     "self_attn.q_layernorm.weight": [head], "self_attn.k_layernorm.weight": [head]}


def layer_shapes(hidden, intermediate, heads, kv_heads):
    head = hidden // heads
    shapes = {"input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden],
              "mlp.gate_proj.weight": [intermediate, hidden], "mlp.up_proj.weight": [intermediate, hidden],
              "mlp.down_proj.weight": [hidden, intermediate], "self_attn.o_proj.weight": [hidden, hidden]}
    for name, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
        shapes[f"self_attn.{name}_proj.weight"] = [count * head, hidden]
        shapes[f"self_attn.{name}_proj.bias"] = [count * head]
    return shapes


def expert_shapes(hidden, heads, kv_heads, count, width, head):
    """Qwen3's, with experts in place of the MLP."""
    shapes = {"input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden],
              "self_attn.o_proj.weight": [hidden, heads * head], "mlp.gate.weight": [count, hidden],
              "self_attn.q_norm.weight": [head], "self_attn.k_norm.weight": [head]}
    for name, heads_of in (("q", heads), ("k", kv_heads), ("v", kv_heads)):
        shapes[f"self_attn.{name}_proj.weight"] = [heads_of * head, hidden]
    for expert in range(count):
        for name in ("gate", "up"):
            shapes[f"mlp.experts.{expert}.{name}_proj.weight"] = [width, hidden]
        shapes[f"mlp.experts.{expert}.down_proj.weight"] = [hidden, width]
    return shapes


def family_fields(shape):
    if shape not in EXPERTS:
        return {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
    count, chosen, width, head = EXPERTS[shape]
    return {"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_experts": count,
            "num_experts_per_tok": chosen, "moe_intermediate_size": width, "head_dim": head, "norm_topk_prob": True,
            "decoder_sparse_step": 1, "mlp_only_layers": []}


def random_weight(name, shape, device):
    if "norm" in name:
        return torch.ones(shape, dtype=torch.bfloat16)
    return (torch.randn(shape, dtype=torch.bfloat16, device=device) * 0.02).cpu()


def save_file(tensors, file):
    """Writes safetensors without its package, which a GPU machine may lack; bfloat16 only."""
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [end, end + tensor.nbytes]}
        end += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # aligns the tensors
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            out.write((ctypes.c_char * tensor.nbytes).from_address(tensor.data_ptr()))


def shards_and_config(shape):
    if shape in HYBRIDS:
        config = {"max_position_embeddings": 32768, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
                  **HYBRIDS[shape]}
        is_delta = config["model_type"] != "lfm2"
        norm = "model.norm.weight" if is_delta else "model.embedding_norm.weight"
        shards = [{"model.embed_tokens.weight": [config["vocab_size"], config["hidden_size"]],
                   norm: [config["hidden_size"]]}]
        shapes = delta_net_shapes if is_delta else convolution_shapes
        shards += [{f"model.layers.{i}.{name}": sizes for name, sizes in shapes(config, i).items()}
                   for i in range(config["num_hidden_layers"])]
        return shards + ([mtp_shapes(config)] if is_delta else []), config
    hidden, intermediate, layers, heads, kv_heads, vocabulary, tied = SHAPES[shape]
    shards = [{"model.embed_tokens.weight": [vocabulary, hidden], "model.norm.weight": [hidden]}]
    if not tied:
        shards.append({"lm_head.weight": [vocabulary, hidden]})
    for layer in range(layers):
        if shape in EXPERTS:
            count, _, width, head = EXPERTS[shape]
            shapes = expert_shapes(hidden, heads, kv_heads, count, width, head)
        else:
            shapes = layer_shapes(hidden, intermediate, heads, kv_heads)
        shards.append({f"model.layers.{layer}.{name}": sizes for name, sizes in shapes.items()})
    return shards, {
        **family_fields(shape), "hidden_act": "silu",
        "hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": vocabulary,
        "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
        "tie_word_embeddings": tied, "torch_dtype": "bfloat16", "use_sliding_window": False}


def main(folder, shape, tokenizer):
    shards, config = shards_and_config(shape)
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weight_map, size = {}, 0
    for number, shapes in enumerate(shards, 1):  # one after the other: memory holds one layer
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        tensors = {name: random_weight(name, sizes, device) for name, sizes in shapes.items()}
        save_file(tensors, folder / file)
        weight_map.update(dict.fromkeys(tensors, file))
        size += sum(tensor.nbytes for tensor in tensors.values())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": size}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        if (tokenizer / name).exists():
            shutil.copy(tokenizer / name, folder / name)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in SHAPES | HYBRIDS:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
