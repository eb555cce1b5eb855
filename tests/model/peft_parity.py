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
from reference_models import (THREADS, TOLERANCE, check, load_reference, make_config, make_model,
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
    "one projection": dict(r=8, lora_alpha=4, target_modules=["mlp.down_proj"]),
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
    model.save_pretrained(theirs)
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

    predgen("export", "--model", base, "--adapter", theirs, "--output", merged, "--dtype", "fp32",
            "--device", "cpu", *THREADS)
    again = reference_logits(load_reference(merged), ids)
    check(difference(again, expected) <= TOLERANCE,
          f"{name}: our merge in transformers, logits differ by {difference(again, expected):.1e}")
    weights = load_file(merged / "model.safetensors")
    for key, weight in model.merge_and_unload().state_dict().items():
        if key in weights:
            assert difference(weights[key], weight) <= 1e-6, key

    # Planted fault: another alpha.
    config_file = theirs / "adapter_config.json"
    changed = json.loads(config_file.read_text())
    changed["lora_alpha"] *= 2
    config_file.write_text(json.dumps(changed))
    found, _ = predgen_logits(base, ids, scratch, theirs)
    check(difference(found, expected) > 100 * TOLERANCE, f"{name}: planted fault is seen: alpha")
    for folder in (theirs, ours, merged):
        shutil.rmtree(folder)


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
    check(0 < report["max_logit_difference"] < 1, "the report shows what rounding cost")

    shards = scratch / "shards"
    rewrite("shard", base, shards, 60000)
    check(len(list(shards.glob("model-*.safetensors"))) > 1, "our writer splits")
    check(difference(reference_logits(load_reference(shards), ids), expected) == 0.0,
          "transformers reads our shards")


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
        check_exports(base, ids, scratch)


if __name__ == "__main__":
    main()
