"""Makes a language model folder with random weights of a published shape, for timing where the real one
is not available: the time of a pass depends only on sizes. How much of a draft it accepts says nothing.

usage: random_model.py FOLDER SHAPE TOKENIZER    (SHAPE: 7b, 0.5b, 135m or tiny; a3b: 8 layers of Qwen3-30B-A3B,
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


def main(folder, shape, tokenizer):
    hidden, intermediate, layers, heads, kv_heads, vocabulary, tied = SHAPES[shape]
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
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
    weight_map, size = {}, 0
    for number, shapes in enumerate(shards, 1):  # one after the other: memory holds one layer
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        tensors = {name: random_weight(name, sizes, device) for name, sizes in shapes.items()}
        save_file(tensors, folder / file)
        weight_map.update(dict.fromkeys(tensors, file))
        size += sum(tensor.nbytes for tensor in tensors.values())
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": size}, "weight_map": weight_map}))
    (folder / "config.json").write_text(json.dumps({
        **family_fields(shape), "hidden_act": "silu",
        "hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": vocabulary,
        "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
        "tie_word_embeddings": tied, "torch_dtype": "bfloat16", "use_sliding_window": False}))
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        if (tokenizer / name).exists():
            shutil.copy(tokenizer / name, folder / name)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[2] not in SHAPES:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]))
