"""scripts/convert_pickled.py: adapters and models as PEFT and transformers pickled them."""

import contextlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests" / "model"), str(REPOSITORY / "scripts")]
import convert_pickled  # noqa: E402
from reference_models import check, load_reference, make_config, make_model  # noqa: E402
from reference_models import random_rows, reference_logits  # noqa: E402
import torch  # noqa: E402
from peft import LoraConfig, PeftModel, get_peft_model  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

IDS = random_rows(199, 1, 40, seed=7)[0]


def convert(source, output, *more):
    """As a program would, but without importing torch anew each time."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = convert_pickled.main(["--input", str(source), "--output", str(output), *map(str, more)])
    return subprocess.CompletedProcess([], code, stdout.getvalue(), stderr.getvalue())


def expect_converted(name, source, output, *more):
    result = convert(source, output, *more)
    check(result.returncode == 0, f"{name}: {result.stdout}{result.stderr}")


def make_adapted(base, rows=None, **options):
    torch.manual_seed(5)
    model = load_reference(base)
    if rows:
        model.resize_token_embeddings(rows)
    config = LoraConfig(task_type="CAUSAL_LM", init_lora_weights=False, r=2, lora_alpha=4,
                        target_modules=["q_proj", "down_proj"], **options)
    return get_peft_model(model, config).eval()


def check_adapter(base, scratch):
    """adapter_model.bin, as PEFT wrote it before safetensors."""
    model, legacy, modern = make_adapted(base), scratch / "legacy", scratch / "modern"
    model.save_pretrained(legacy, safe_serialization=False)
    check((legacy / "adapter_model.bin").exists(), "PEFT pickles")
    expect_converted("adapter_model.bin", legacy, modern)
    check(sorted(file.name for file in modern.iterdir()) ==
          ["README.md", "adapter_config.json", "adapter_model.safetensors"], "its files")
    again = PeftModel.from_pretrained(load_reference(base), modern).eval()
    check(torch.equal(reference_logits(again, IDS), reference_logits(model, IDS)), "PEFT reads it")


def check_whole_state(base, scratch):
    """pytorch_model.bin: the state dict of a live PEFT model, names and base weights included."""
    for rows in (None, 205):
        model, source, output = make_adapted(base, rows), scratch / f"live{rows}", scratch / f"out{rows}"
        model.save_pretrained(source)
        (source / "adapter_model.safetensors").unlink()
        (source / "tokenizer.json").write_text("x")
        torch.save(model.state_dict(), source / "pytorch_model.bin")
        result = convert(source, output)
        check(result.returncode == 2 and "--base" in result.stderr, f"needs --base: {result.stderr}")
        expect_converted("pytorch_model.bin", source, output, "--base", base)
        weights = load_file(output / "adapter_model.safetensors")
        whole = {name for name in weights if ".lora_" not in name}
        wanted = {"base_model.model.model.embed_tokens.weight", "base_model.model.lm_head.weight"}
        check(whole == (wanted if rows else set()), f"embeddings with {rows} rows: {whole}")
        check(not any(".default." in name or "base_layer" in name for name in weights), "PEFT's names")
        check((output / "tokenizer.json").exists() and not (output / "pytorch_model.bin").exists(),
              "other files are copied")
        plain = load_reference(base)
        if rows:
            plain.resize_token_embeddings(rows)
        again = PeftModel.from_pretrained(plain, output).eval()
        check(torch.equal(reference_logits(again, IDS), reference_logits(model, IDS)),
              f"PEFT reads it, rows {rows}")


def check_published_form(base, scratch):
    """Only LoRA matrices of a live model and resized embeddings that share memory; half precision."""
    model, source, output = make_adapted(base, 205), scratch / "published", scratch / "published_out"
    model.save_pretrained(source)
    (source / "adapter_model.safetensors").unlink()
    state = {name: tensor.half() for name, tensor in model.state_dict().items() if ".lora_" in name}
    table = model.get_input_embeddings().weight.data.half()
    state["base_model.model.model.embed_tokens.weight"] = table
    state["base_model.model.lm_head.weight"] = table
    torch.save(state, source / "pytorch_model.bin")
    expect_converted("published form", source, output)
    weights = load_file(output / "adapter_model.safetensors")
    check(len(weights) == len(state) and all(t.dtype == torch.float16 for t in weights.values()),
          "shared tensors are resolved, types kept")


def check_models(scratch):
    for tied in (True, False):
        base, source, output = (scratch / f"{name}{tied}" for name in ("m", "pickled", "safe"))
        model = make_model(make_config(tie_word_embeddings=tied))
        model.save_pretrained(base)
        shutil.copytree(base, source)
        (source / "model.safetensors").unlink()
        torch.save(model.state_dict(), source / "pytorch_model.bin")
        expect_converted("pytorch_model.bin", source, output)
        wanted, found = load_file(base / "model.safetensors"), load_file(output / "model.safetensors")
        check(wanted.keys() == found.keys() and all(torch.equal(wanted[k], found[k]) for k in wanted),
              f"the same tensors, tied {tied}")
    # Shards with an index; the old pickle format, which cannot be mapped; transposed memory.
    names = sorted(wanted)
    parts = {"pytorch_model-00001-of-00002.bin": names[::2], "pytorch_model-00002-of-00002.bin": names[1::2]}
    (source / "pytorch_model.bin").unlink()
    for file, members in parts.items():
        torch.save({name: wanted[name].t().contiguous().t() if wanted[name].dim() == 2 else wanted[name]
                    for name in members}, source / file, _use_new_zipfile_serialization=False)
    index = {"metadata": {}, "weight_map": {n: file for file, members in parts.items() for n in members}}
    (source / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    shutil.rmtree(output)
    expect_converted("shards", source, output)
    found = load_file(output / "model.safetensors")
    check(wanted.keys() == found.keys() and all(torch.equal(wanted[k], found[k]) for k in wanted), "shards")
    check(torch.equal(reference_logits(load_reference(output), IDS),
                      reference_logits(load_reference(base), IDS)), "transformers reads it")


def check_single_file(scratch):
    """A bare state dict, as torch.save keeps a module's: an ordered dict with attributes."""
    torch.manual_seed(3)
    network = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4))
    source, output = scratch / "network.pt", scratch / "new" / "network.safetensors"
    for zipped in (True, False):
        torch.save(network.state_dict(), source, _use_new_zipfile_serialization=zipped)
        expect_converted("single file", source, output)
        found, wanted = load_file(output), network.state_dict()
        check(found.keys() == wanted.keys() and all(torch.equal(found[k], wanted[k]) for k in wanted) and
              found["1.num_batches_tracked"].dtype == torch.int64, "same names, values and types")
        result = convert(source, output)
        check(result.returncode == 2 and "exists already" in result.stderr, f"kept: {result.stderr}")
        output.unlink()
    result = convert(source, scratch / "network.bin")
    check(result.returncode == 2 and ".safetensors" in result.stderr, f"ending: {result.stderr}")
    for content, part in ((network, "wants to run"), ({"a": RunsCode()}, "wants to run"), ([1], "list"),
                          ({}, "no tensors"), ({"a": {"b": torch.ones(1)}}, "'a' is a dict")):
        torch.save(content, source)
        result = convert(source, output)
        lines = result.stderr.strip().splitlines()
        check(result.returncode == 2 and len(lines) == 1 and str(source) in lines[0] and part in lines[0] and
              "code of a pickle runs" not in result.stdout, f"refused: {result.stdout}{result.stderr}")
    source.write_bytes(b"PK\x03\x04 no more")
    result = convert(source, output)
    check(result.returncode == 2 and "damaged" in result.stderr, f"damaged: {result.stderr}")
    check(not any(output.parent.iterdir()), "leaves nothing")


class RunsCode:
    def __reduce__(self):
        return print, ("code of a pickle runs",)


def check_bad_inputs(base, scratch):
    def refused(name, files, *parts):
        source, output = scratch / "bad", scratch / "bad_out"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir()
        for file, content in files.items():
            if isinstance(content, (str, bytes)):
                (source / file).write_bytes(content.encode() if isinstance(content, str) else content)
            else:
                torch.save(content, source / file)
        before = sorted(file.name for file in scratch.iterdir())
        result = convert(source, output)
        lines = result.stderr.strip().splitlines()
        check(result.returncode == 2 and len(lines) == 1 and all(p in lines[0] for p in parts) and
              "code of a pickle runs" not in result.stdout, f"{name}: {result.stdout}{result.stderr}")
        check(sorted(file.name for file in scratch.iterdir()) == before, f"{name}: leaves nothing")

    config = {"adapter_config.json": "{}"}
    A = "base_model.model.model.layers.0.self_attn.q_proj.lora_A"
    refused("no config", {}, "adapter_config.json", "config.json")
    refused("no weights", config, "adapter_model.bin")
    refused("no model weights", {"config.json": "{}"}, "pytorch_model.bin", "no such file")
    refused("not a pickle", {**config, "adapter_model.bin": "x"}, "adapter_model.bin", "cannot be read")
    refused("runs code", {**config, "adapter_model.bin": {"a": RunsCode()}}, "wants to run", "print")
    refused("not tensors", {**config, "adapter_model.bin": {"a": 1}}, "'a' is a int")
    refused("a list", {**config, "adapter_model.bin": [1]}, "list")
    refused("empty", {**config, "adapter_model.bin": {}}, "no tensors")
    refused("not an adapter", {**config, "adapter_model.bin": {"a": torch.ones(1)}}, "lora_A")
    refused("two adapters", {**config, "adapter_model.bin": {f"{A}.x.weight": torch.ones(1),
                                                             f"{A}.y.weight": torch.ones(1)}}, "x, y")
    refused("saved modules", {**config, "adapter_model.bin": {
        f"{A}.weight": torch.ones(1), "base_model.model.lm_head.modules_to_save.default.weight": torch.ones(1)}},
        "modules_to_save")
    refused("missing shard", {"config.json": "{}", "pytorch_model.bin.index.json":
                              '{"weight_map": {"a": "pytorch_model-1.bin"}}'}, "pytorch_model-1.bin")
    refused("index without map", {"config.json": "{}", "pytorch_model.bin.index.json": "{}"}, "weight_map")
    refused("index out of the folder", {"config.json": "{}", "pytorch_model.bin.index.json":
                                        '{"weight_map": {"a": "../x.bin"}}'}, "not a file name")
    program = subprocess.run([sys.executable, REPOSITORY / "scripts" / "convert_pickled.py", "--input",
                              scratch / "none", "--output", scratch / "bad_out"],
                             capture_output=True, text=True)
    check(program.returncode == 2 and "none" in program.stderr, f"as a program: {program.stderr}")
    result = convert(base, base)
    check(result.returncode == 2 and "new folder" in result.stderr, f"output is not empty: {result.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        base = scratch / "base"
        make_model(make_config()).save_pretrained(base)
        check_adapter(base, scratch)
        check_whole_state(base, scratch)
        check_published_form(base, scratch)
        check_models(scratch)
        check_single_file(scratch)
        check_bad_inputs(base, scratch)


if __name__ == "__main__":
    main()
