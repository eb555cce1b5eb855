"""Adapters and merged checkpoints against `peft` and `transformers`; files against `safetensors`.

Argument: the program rewrite_weights.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from reference_models import (  # noqa: E402
   THREADS, TOLERANCE, check, load_reference, make_config, make_model,
                              predgen, predgen_logits, random_rows, reference_logits)
from safetensors.torch import load_file, save_file

try:
    from peft import LoraConfig, PeftModel, get_peft_model
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

REWRITE = sys.argv[1]
ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# The scaling stays small: with alpha 16 and r 2 peft's own merge is 3e-4 away from its adapter.
ADAPTERS = {
    "every layer": dict(r=4, lora_alpha=8, target_modules=ALL),
    "pattern and rsLoRA": dict(r=3, lora_alpha=5, use_rslora=True,
                               target_modules=r".*\.[02]\.self_attn\.(q|v)_proj"),
    "all-linear": dict(r=2, lora_alpha=4, target_modules="all-linear"),
    "attention": dict(r=2, lora_alpha=4, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]),
    "one projection": dict(r=8, lora_alpha=4, target_modules=["mlp.down_proj"]),
    # Names, suffixes and patterns as keys; the first that fits counts, in the order of the file.
    "ranks": dict(r=4, lora_alpha=4, target_modules=ALL,
                  rank_pattern={"down_proj": 2, r"layers\.[12]\.self_attn.*": 3, "q_proj": 1}),
    "alphas": dict(r=2, lora_alpha=2, target_modules=ALL,
                   alpha_pattern={r"^model.layers.0.mlp.up_proj": 6, r".*\.k_proj": 1.5, "o_proj": 3}),
    "ranks, alphas, rsLoRA": dict(r=4, lora_alpha=2, use_rslora=True, target_modules=ALL,
                                  rank_pattern={"v_proj": 2, r"1\.mlp\.\w+": 5},
                                  alpha_pattern={"mlp.gate_proj": 4, "v_proj": 1}),
    "some layers": dict(r=2, lora_alpha=4, target_modules=["q_proj", "up_proj"],
                        layers_to_transform=[0, 2], layers_pattern="layers"),
    "one layer": dict(r=2, lora_alpha=4, target_modules=["q_proj", "model.layers.0.mlp.up_proj"],
                      layers_to_transform=1),
    "exceptions": dict(r=2, lora_alpha=4, target_modules=ALL,
                       exclude_modules=["k_proj", "model.layers.1.mlp.up_proj"]),
    "exceptions by pattern": dict(r=2, lora_alpha=4, target_modules="all-linear",
                                  exclude_modules=r".*\.1\..*"),
    "bfloat16": dict(r=4, lora_alpha=8, target_modules=ALL),
}


def rewrite(*arguments):
    subprocess.run([REWRITE, *map(str, arguments)], check=True)


def difference(left, right):
    return (left - right).abs().max().item()


def check_adapter(name, base, ids, scratch):
    theirs, ours, merged = scratch / "theirs", scratch / "ours", scratch / "merged"
    torch.manual_seed(5)
    # False: B is random too, so that the adapter does something.
    config = LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, **ADAPTERS[name])
    model = get_peft_model(load_reference(base), config).eval()
    if name == "bfloat16":
        to_bfloat16(model)
    model.save_pretrained(theirs)
    if name == "bfloat16":
        for parameter in model.parameters():  # as both sides compute
            parameter.data = parameter.data.float()
    written = load_file(theirs / "adapter_model.safetensors")
    plain = reference_logits(load_reference(base), ids)
    expected = reference_logits(model, ids)
    check(difference(plain, expected) > 1000 * TOLERANCE, f"{name}: the adapter matters")

    found, _ = predgen_logits(base, ids, scratch, theirs)
    check(difference(found, expected) <= TOLERANCE,
          f"{name}: peft's adapter, our logits differ by {difference(found, expected):.1e}")

    rewrite("adapter", base, theirs, ours)
    loaded = PeftModel.from_pretrained(load_reference(base), str(ours)).eval()
    again = reference_logits(loaded, ids)
    check(difference(again, expected) <= 1e-5,
          f"{name}: our adapter in peft, logits differ by {difference(again, expected):.1e}")
    file = "adapter_model.safetensors"
    check((ours / file).read_bytes() == (theirs / file).read_bytes(), f"{name}: same bytes")
    kinds = {tensor.dtype for tensor in written.values()}
    check(kinds == {torch.bfloat16 if name == "bfloat16" else torch.float32}, f"{name}: {kinds}")
    fields = json.loads((theirs / "adapter_config.json").read_text())
    again = json.loads((ours / "adapter_config.json").read_text())
    kept = ["rank_pattern", "alpha_pattern", "use_rslora", "r", "lora_alpha", "exclude_modules",
            "layers_to_transform", "layers_pattern"]
    check(all((again.get(key) or None) == (fields[key] or None) for key in kept),
          f"{name}: patterns are kept")

    predgen("export", "--model", base, "--adapter", theirs, "--output", merged, "--dtype", "fp32",
            "--device", "cpu", *THREADS)
    again = reference_logits(load_reference(merged), ids)
    check(difference(again, expected) <= TOLERANCE,
          f"{name}: our merge in transformers, logits differ by {difference(again, expected):.1e}")
    weights = load_file(merged / "model.safetensors")
    check(all(tensor.dtype == torch.float32 for tensor in weights.values()), f"{name}: float32")
    for key, weight in model.merge_and_unload().state_dict().items():
        if key in weights:
            assert difference(weights[key], weight) <= 1e-6, key

    # Planted fault: another alpha.
    config_file = theirs / "adapter_config.json"
    changed = json.loads(config_file.read_text())
    changed["lora_alpha"] *= 2
    changed["alpha_pattern"] = {key: value * 2 for key, value in changed["alpha_pattern"].items()}
    config_file.write_text(json.dumps(changed))
    found, _ = predgen_logits(base, ids, scratch, theirs)
    check(difference(found, expected) > 100 * TOLERANCE, f"{name}: planted fault is seen: alpha")
    for folder in (theirs, ours, merged):
        shutil.rmtree(folder)


def to_bfloat16(model):
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = parameter.data.bfloat16()


def check_order_of_patterns(base, ids, scratch):
    """Two keys fit one layer: the first of the file counts, whatever the alphabet says."""
    for keys in (["q_proj", "0.self_attn.q_proj"], ["0.self_attn.q_proj", "q_proj"]):
        torch.manual_seed(8)
        config = LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, r=2, lora_alpha=2,
                            target_modules=["q_proj"], alpha_pattern=dict(zip(keys, (8, 1))))
        model = get_peft_model(load_reference(base), config).eval()
        folder, ours = scratch / "ordered", scratch / "ordered_again"
        model.save_pretrained(folder)
        file = folder / "adapter_config.json"
        fields = json.loads(file.read_text())
        fields["alpha_pattern"] = dict(zip(keys, (8, 1)))  # peft sorts what it writes
        file.write_text(json.dumps(fields))
        expected = reference_logits(PeftModel.from_pretrained(load_reference(base), folder).eval(), ids)
        found, _ = predgen_logits(base, ids, scratch, folder)
        check(difference(found, expected) <= TOLERANCE, f"order of patterns {keys}: logits")
        rewrite("adapter", base, folder, ours)
        again = reference_logits(PeftModel.from_pretrained(load_reference(base), str(ours)).eval(), ids)
        check(difference(again, expected) <= 1e-5, f"order of patterns {keys}: written again")
        for path in (folder, ours):
            shutil.rmtree(path)


def check_resized(ids, scratch, tied):
    """An adapter with whole embeddings, as peft saves it when the vocabulary was resized."""
    base, folder, merged = scratch / "base2", scratch / "resized", scratch / "merged"
    make_model(make_config(tie_word_embeddings=tied)).save_pretrained(base)
    torch.manual_seed(9)
    model = load_reference(base)
    model.resize_token_embeddings(205)
    torch.nn.init.normal_(model.get_input_embeddings().weight[199:], 0, 0.3)
    if not tied:
        torch.nn.init.normal_(model.get_output_embeddings().weight[199:], 0, 0.3)
    config = LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, r=2, lora_alpha=4,
                        target_modules=["q_proj", "down_proj"])
    model = get_peft_model(model, config).eval()
    model.base_model.model.config.name_or_path = str(base)
    model.peft_config["default"].base_model_name_or_path = str(base)
    model.save_pretrained(folder)
    names = load_file(folder / "adapter_model.safetensors").keys()
    check("base_model.model.model.embed_tokens.weight" in names, "peft saves resized embeddings")
    ids = torch.cat([ids, torch.arange(199, 205)])
    expected = reference_logits(model, ids)
    kind = "tied" if tied else "untied"
    found, _ = predgen_logits(base, ids, scratch, folder)
    check(difference(found, expected) <= TOLERANCE,
          f"resized, {kind}: peft's adapter, our logits differ by {difference(found, expected):.1e}")
    (folder / "tokenizer.json").write_text("of the adapter")
    report = json.loads(predgen("export", "--model", base, "--adapter", folder, "--output", merged,
                                "--dtype", "fp32", "--device", "cpu", "--json", *THREADS))
    check(report["resized_vocabulary"] == 205 and report["tokenizer_from"] == "adapter",
          f"resized, {kind}: reported")
    check((merged / "tokenizer.json").read_text() == "of the adapter", "its tokenizer is written")
    again = reference_logits(load_reference(merged), ids)
    check(difference(again, expected) <= TOLERANCE,
          f"resized, {kind}: our merge in transformers, logits differ by {difference(again, expected):.1e}")
    found, _ = predgen_logits(merged, ids, scratch)
    check(difference(found, expected) <= TOLERANCE, f"resized, {kind}: our merge, our logits")
    for path in (base, folder, merged):
        shutil.rmtree(path)


def check_whole_modules(ids, scratch, modules, **tying):
    """modules_to_save: embeddings or head trained whole beside the LoRA layers."""
    base, folder, merged = scratch / "base3", scratch / "whole", scratch / "merged"
    make_model(make_config(tie_word_embeddings=bool(tying))).save_pretrained(base)
    torch.manual_seed(10)
    config = LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, r=2, lora_alpha=4,
                        target_modules=["q_proj", "down_proj"], modules_to_save=list(modules), **tying)
    model = get_peft_model(load_reference(base), config).eval()
    plain = reference_logits(model, ids)
    for key, parameter in model.named_parameters():
        if "modules_to_save" in key:
            torch.nn.init.normal_(parameter, 0, 0.3)
    model.save_pretrained(folder)
    expected = reference_logits(model, ids)
    name = f"modules_to_save {modules} {tying or ''}"
    check(difference(plain, expected) > 1000 * TOLERANCE, f"{name}: they matter")
    found, _ = predgen_logits(base, ids, scratch, folder)
    check(difference(found, expected) <= TOLERANCE, f"{name}: logits differ by {difference(found, expected):.1e}")
    predgen("export", "--model", base, "--adapter", folder, "--output", merged, "--dtype", "fp32", "--device",
            "cpu", *THREADS)
    again = reference_logits(load_reference(merged), ids)
    check(difference(again, expected) <= TOLERANCE, f"{name}: merged, logits differ by {difference(again, expected):.1e}")
    for path in (base, folder, merged):
        shutil.rmtree(path)


def check_exports(base, ids, scratch):
    """Conversions without an adapter, and our shards, as transformers reads them."""
    expected = reference_logits(load_reference(base), ids)
    half = scratch / "half"
    report = json.loads(predgen("export", "--model", base, "--output", half, "--dtype", "bf16",
                                "--device", "cpu", "--json", *THREADS))
    before, after = load_file(base / "model.safetensors"), load_file(half / "model.safetensors")
    check(before.keys() == after.keys() and all(
        after[name].dtype == torch.bfloat16 and torch.equal(after[name], weight.bfloat16())
        for name, weight in before.items()), "bf16 export is the model rounded once")
    rounded = {name: weight.float() for name, weight in after.items()}
    reference = load_reference(base)
    reference.load_state_dict(rounded, strict=False)  # the tied head is not stored
    found = reference_logits(load_reference(half), ids)
    check(difference(found, reference_logits(reference, ids)) <= 1e-6, "transformers reads it")
    check(json.loads((half / "config.json").read_text())["dtype"] == "bfloat16", "dtype is written")
    logits = report["logits"]
    check(0 < logits["max_logit_difference"] < 1 and logits["num_positions"] >= 200,
          "the report shows what rounding cost")
    check(report["weights"]["num_merged"] == 0 and 0.5 < report["weights"]["worst_rounding"] <= 1,
          "and that it was rounding")

    shards = scratch / "shards"
    rewrite("shard", base, shards, 60000)
    check(len(list(shards.glob("model-*.safetensors"))) > 1, "our writer splits")
    check(difference(reference_logits(load_reference(shards), ids), expected) == 0.0,
          "transformers reads our shards")
    theirs = scratch / "their_shards"
    load_reference(base).save_pretrained(theirs, max_shard_size=60000)
    maps = [json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
            for folder in (shards, theirs)]
    check(maps[0] == maps[1], "tensors are in the same shards as in transformers' own")


def check_files(scratch):
    """Byte for byte what the official writer writes."""
    torch.manual_seed(6)
    types = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32,
             torch.int16, torch.int8, torch.uint8, torch.bool]
    theirs, ours = scratch / "theirs.safetensors", scratch / "ours.safetensors"
    for seed in range(20):
        torch.manual_seed(seed)
        tensors = {}
        for i in range(seed):
            shape = torch.randint(0, 4, (int(torch.randint(0, 4, ())),)).tolist()
            name = ["a", "Z", "ä", "a.b", 'q"\\', "\t"][i % 6] + str(i)
            tensors[name] = (torch.randn(shape) * 50).to(types[i % len(types)])
        save_file(tensors, theirs, {"format": "pt"} if seed % 2 else None)
        rewrite("file", theirs, ours)
        assert ours.read_bytes() == theirs.read_bytes(), f"file {seed}"
    check(True, "20 random files have the official bytes")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        base = scratch / "base"
        make_model(make_config()).save_pretrained(base)
        ids = random_rows(199, 1, 80, seed=7)[0]
        check_files(scratch)
        for adapter in ADAPTERS:
            check_adapter(adapter, base, ids, scratch)
        experts = scratch / "experts"  # no modules in transformers: they have no adapters
        for arch in ("qwen3_moe", "gpt_oss"):
            make_model(make_config(arch)).save_pretrained(experts)
            check_adapter("attention", experts, ids, scratch)
            shutil.rmtree(experts)
        gemma = scratch / "gemma"
        make_model(make_config("gemma3", sliding_window=16, sliding_window_pattern=2)).save_pretrained(gemma)
        check_adapter("every layer", gemma, ids, scratch)
        check_order_of_patterns(base, ids, scratch)
        for tied in (True, False):
            check_resized(ids, scratch, tied)
        for modules in (["lm_head"], ["embed_tokens"], ["embed_tokens", "lm_head"]):
            check_whole_modules(ids, scratch, modules)
        check_whole_modules(ids, scratch, ["embed_tokens"], ensure_weight_tying=True)
        check_exports(base, ids, scratch)


if __name__ == "__main__":
    main()
