"""Logits and greedy tokens of predgen against `transformers`, on small random models."""

import shutil
import tempfile
from pathlib import Path

import torch
from reference_models import (TOLERANCE, change_config, check, load_reference, make_config,
                              make_model, predgen_greedy, predgen_logits, random_rows,
                              reference_greedy, reference_logits, to_version_4)
from safetensors.torch import load_file, save_file

NUM_PROMPTS, PROMPT_LENGTH, NUM_NEW = 64, 12, 24

# name: (changes of the config, type that is stored, shard size, transformers 4 config.json)
CASES = {
    "tied, 4:2 heads": ({}, torch.float32, None, False),
    "untied, 6:1 heads, theta 1e6": (
        dict(tie_word_embeddings=False, num_attention_heads=6, num_key_value_heads=1,
             hidden_size=96, rope_theta=1e6), torch.float32, None, True),
    "4:4 heads, sharded": (
        dict(num_key_value_heads=4, tie_word_embeddings=False), torch.float32, "60KB", False),
    "bfloat16 on disk, sharded, theta 1e6": (
        dict(rope_theta=1e6), torch.bfloat16, "60KB", True),
    "head size of its own": (
        dict(head_dim=32, rms_norm_eps=1e-5), torch.float32, None, False),
}


def save(model, folder, dtype, shard_size, version_4):
    model.to(dtype).save_pretrained(folder, **(dict(max_shard_size=shard_size) if shard_size else {}))
    num_files = len(list(folder.glob("*.safetensors")))
    assert (num_files > 1) == bool(shard_size), f"{num_files} weight files"
    if version_4:
        to_version_4(folder)


def check_case(name, scratch):
    changes, dtype, shard_size, version_4 = CASES[name]
    folder = scratch / "model"
    save(make_model(make_config(**changes)), folder, dtype, shard_size, version_4)
    reference = load_reference(folder)
    ids = random_rows(199, 1, 200, seed=1)[0]
    expected = reference_logits(reference, ids)
    found, logprobs = predgen_logits(folder, ids, scratch)
    difference = (found - expected).abs().max().item()
    check(difference <= TOLERANCE, f"{name}: logits differ by {difference:.1e}")
    wanted = expected.log_softmax(-1)[:-1].gather(1, ids[1:, None])[:, 0]
    difference = (logprobs - wanted).abs().max().item()
    check(difference <= TOLERANCE, f"{name}: log-probabilities differ by {difference:.1e}")

    rows = random_rows(199, NUM_PROMPTS, PROMPT_LENGTH, seed=2)
    expected, margin = reference_greedy(reference, rows, NUM_NEW)
    num_distinct = len({token for row in expected for token in row})
    check(num_distinct >= 20, f"{name}: {num_distinct} distinct tokens")
    found = predgen_greedy(folder, rows, NUM_NEW, scratch)
    num_equal = sum(a == b for a, b in zip(expected, found))
    check(num_equal == NUM_PROMPTS and len(found) == NUM_PROMPTS,
          f"{name}: greedy tokens equal on {num_equal} of {NUM_PROMPTS} prompts "
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


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for case in CASES:
            check_case(case, scratch)
        check_faults(scratch)


if __name__ == "__main__":
    main()
