"""Zonos transformers as Zyphra publishes them, with random weights."""

import torch


def make_config(layers, width, heads, kv_heads, mlp, projection="linear", parts="all"):
    learned = {"uncond_type": "learned"}
    conditioners = [
        {"type": "EspeakPhonemeConditioner", "name": "espeak"},
        {"type": "PassthroughConditioner", "name": "speaker", "cond_dim": 128, "projection": projection,
         **learned},
        {"type": "FourierConditioner", "name": "emotion", "input_dim": 8, **learned},
        {"type": "FourierConditioner", "name": "fmax", "min_val": 0, "max_val": 24000, **learned},
        {"type": "FourierConditioner", "name": "pitch_std", "min_val": 0, "max_val": 400, **learned},
        {"type": "FourierConditioner", "name": "speaking_rate", "min_val": 0, "max_val": 40, **learned},
        {"type": "IntegerConditioner", "name": "language_id", "min_val": -1, "max_val": 126, **learned}]
    if parts != "all":
        conditioners = [part for part in conditioners if part["name"] in parts]
        conditioners[-1].pop("uncond_type")
    attention = {"causal": True, "num_heads": heads, "num_heads_kv": kv_heads,
                 "rotary_emb_dim": width // heads, "rotary_emb_interleaved": True,
                 "qkv_proj_bias": False, "out_proj_bias": False}
    return {"backbone": {"d_model": width, "n_layer": layers, "attn_mlp_d_intermediate": mlp,
                         "ssm_cfg": {}, "attn_layer_idx": list(range(layers)), "attn_cfg": attention,
                         "norm_epsilon": 1e-5},
            "prefix_conditioner": {"projection": projection, "conditioners": conditioners},
            "eos_token_id": 1024, "masked_token_id": 1025}


def make_weights(config, seed):
    generator = torch.Generator().manual_seed(seed)
    backbone = config["backbone"]
    width, mlp, attention = backbone["d_model"], backbone["attn_mlp_d_intermediate"], backbone["attn_cfg"]
    head = width // attention["num_heads"]
    weights = {}

    def add(name, *shape, scale=None, mean=0.0):
        scale = shape[-1] ** -0.5 if scale is None else scale
        weights[name] = torch.randn(shape, generator=generator) * scale + mean

    def norm(name):
        add(f"{name}.weight", width, scale=0.1, mean=1.0)
        add(f"{name}.bias", width, scale=0.1)

    def project(kind, name, inner):
        layers = {"none": [], "linear": [(name, inner)], "mlp": [(f"{name}.0", inner), (f"{name}.2", width)]}
        for layer, columns in layers[kind]:
            add(f"{layer}.weight", width, columns)
            add(f"{layer}.bias", width, scale=0.1)

    for i in range(backbone["n_layer"]):
        layer = f"backbone.layers.{i}"
        norm(f"{layer}.norm")
        norm(f"{layer}.norm2")
        add(f"{layer}.mixer.in_proj.weight", width + 2 * attention["num_heads_kv"] * head, width,
            scale=2 * width ** -0.5)
        add(f"{layer}.mixer.out_proj.weight", width, width)
        add(f"{layer}.mlp.fc1.weight", 2 * mlp, width)
        add(f"{layer}.mlp.fc2.weight", width, mlp)
    norm("backbone.norm_f")
    for k in range(9):
        add(f"embeddings.{k}.weight", 1026, width, scale=1.0)
        add(f"heads.{k}.weight", 1025, width)
    weights["heads.0.weight"][1024] = 0  # never the largest: the speech does not end by itself
    prefix = config["prefix_conditioner"]
    project(prefix["projection"], "prefix_conditioner.project", width)
    norm("prefix_conditioner.norm")
    for i, part in enumerate(prefix["conditioners"]):
        name = f"prefix_conditioner.conditioners.{i}"
        if part["type"].startswith("Espeak"):
            add(f"{name}.phoneme_embedder.weight", 189, width, scale=1.0)
        elif part["type"].startswith("Fourier"):
            add(f"{name}.weight", width // 2, part.get("input_dim", 1), scale=1.0)
        elif part["type"].startswith("Integer"):
            add(f"{name}.int_embedder.weight", part["max_val"] - part["min_val"] + 1, width, scale=1.0)
        if part.get("uncond_type") == "learned":
            add(f"{name}.uncond_vector", width, scale=1.0)
        project(part.get("projection", "none"), f"{name}.project", part.get("cond_dim", width))
    return weights
