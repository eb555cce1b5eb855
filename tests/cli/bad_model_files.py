"""Damaged or unsuitable model folders: exit code 2 and one line on stderr that names the culprit."""

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from program import PREDGEN, run
from reference_models import change_config, make_config, make_model, predgen
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

failures = []


def expect_refused(name, arguments, *parts):
    done = run(*arguments)
    lines = done.stderr.strip().splitlines()
    problem = None
    if done.returncode != 2:
        problem = f"exit code {done.returncode}"
    elif len(lines) != 1 or done.stdout:
        problem = f"{len(lines)} lines on stderr, {len(done.stdout)} characters on stdout"
    elif not all(part in lines[0] for part in parts):
        problem = f"does not name {parts}"
    print("FAILED" if problem else "ok", name, problem or "", "|", done.stderr.strip())
    if problem:
        failures.append(name)


class Workshop:
    """A good model folder, spoiled anew for each case."""

    def __init__(self, scratch):
        self.scratch, self.count = scratch, 0
        self.config = make_config(num_hidden_layers=1, hidden_size=32, intermediate_size=32)

    def model(self, spoil=lambda folder: None):
        self.count += 1
        folder = self.scratch / f"model{self.count}"
        make_model(self.config).save_pretrained(folder)
        spoil(folder)
        return folder

    def adapter(self, spoil=lambda folder: None):
        self.count += 1
        folder = self.scratch / f"adapter{self.count}"
        config = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
        get_peft_model(make_model(self.config), config).save_pretrained(folder)
        spoil(folder)
        return folder


def set_bytes(edit):
    def apply(folder):
        file = folder / "model.safetensors"
        file.write_bytes(edit(file.read_bytes()))
    return apply


def set_weights(edit):
    def apply(folder):
        weights = load_file(folder / "model.safetensors")
        edit(weights)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return apply


def narrow_norm(weights):
    weights["model.norm.weight"] = weights["model.norm.weight"][:31].clone()


def set_adapter(**changes):
    def apply(folder):
        file = folder / "adapter_config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    return apply


def check_models(workshop):
    def refused(name, spoil, *parts):
        folder = workshop.model(spoil)
        expect_refused(name, ["score", "--model", folder, "--token-ids", "1,2"], str(folder), *parts)

    refused("no weights", lambda f: (f / "model.safetensors").unlink(), "model.safetensors")
    refused("truncated", set_bytes(lambda b: b[:-10]), "truncated")
    refused("cut in the header", set_bytes(lambda b: b[:100]), "header", "truncated")
    refused("header beyond the file", set_bytes(lambda b: struct.pack("<Q", 1 << 20) + b[8:]),
            "header of 1048576 bytes")
    refused("absurd header", set_bytes(lambda b: b"\xff" * 8 + b[8:]), "header")
    refused("empty file", set_bytes(lambda b: b""), "empty")
    refused("git-lfs pointer", set_bytes(lambda b: b"version https://git-lfs.github.com/spec/v1\n"),
            "header")
    refused("missing tensor", set_weights(lambda w: w.pop("model.norm.weight")),
            "model.norm.weight", "missing")
    refused("extra tensor", set_weights(lambda w: w.update(extra=w["model.norm.weight"].clone())),
            "tensor extra")
    refused("wrong shape", set_weights(narrow_norm), "model.norm.weight", "[31]", "[32]")
    refused("unknown architecture", lambda f: change_config(f, architectures=["MambaForCausalLM"]),
            "MambaForCausalLM", "Qwen2ForCausalLM")
    refused("unknown window", lambda f: change_config(f, layer_types=["chunked_attention"]),
            "layer_types", "chunked_attention")
    refused("unknown scaling of positions", lambda f: change_config(
        f, rope_parameters={"rope_type": "longrope", "factor": 4.0, "rope_theta": 1e4}), "longrope")
    refused("scaling without its factor", lambda f: change_config(
        f, rope_parameters={"rope_type": "yarn", "rope_theta": 1e4}), "factor")
    refused("no config", lambda f: (f / "config.json").unlink(), "config.json")
    refused("config is not JSON", lambda f: (f / "config.json").write_text("{"), "config.json")
    empty = workshop.scratch / "empty"
    empty.mkdir()
    expect_refused("empty folder", ["score", "--model", empty, "--token-ids", "1"], str(empty))
    expect_refused("no folder", ["score", "--model", empty / "x", "--token-ids", "1"], str(empty))


def check_hybrids(workshop):
    plain, workshop.config = workshop.config, make_config("qwen3_5", num_hidden_layers=4)

    def refused(name, spoil, *parts):
        folder = workshop.model(spoil)
        expect_refused(name, ["score", "--model", folder, "--token-ids", "1,2"], str(folder), *parts)

    log = "model.layers.0.linear_attn.A_log"
    refused("a delta net without its decays", set_weights(lambda w: w.pop(log)), log, "missing")
    refused("decays of another size", set_weights(lambda w: w.update({log: w[log][:3].clone()})), log, "[3]", "[4]")
    refused("an unknown kind of layer", lambda f: change_config(f, layer_types=["mamba"] * 4), "layer_types", "mamba")
    refused("kinds of too few layers", lambda f: change_config(f, layer_types=["full_attention"]), "layer_types")
    refused("no attention", lambda f: change_config(f, layer_types=["linear_attention"] * 4), "layer_types",
            "attention")
    refused("value heads without key heads", lambda f: change_config(f, linear_num_key_heads=3),
            "linear_num_value_heads", "linear_num_key_heads")
    refused("one tap", lambda f: change_config(f, linear_conv_kernel_dim=1), "linear_conv_kernel_dim")
    refused("more than the whole head turns", lambda f: change_config(
        f, rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 2.0}),
            "partial_rotary_factor")
    workshop.config = make_config("lfm2")
    refused("a convolution without its taps", set_weights(lambda w: w.pop("model.layers.0.conv.conv.weight")),
            "model.layers.0.conv.conv.weight", "missing")
    refused("no cache of a convolution", lambda f: change_config(f, conv_L_cache=0), "conv_L_cache")
    workshop.config = plain


def drop(name):
    return set_weights(lambda weights: weights.pop(name))


def cut_rows(name):
    def apply(weights):
        weights[name] = weights[name][:-1].clone()
    return set_weights(apply)


def check_experts(scratch):
    """A wrong number of experts, a wrong shape, a missing one: of matrices apart, and of all in one tensor."""
    apart, stacked = Workshop(scratch / "apart"), Workshop(scratch / "stacked")
    sizes = dict(num_hidden_layers=1, hidden_size=32, intermediate_size=32)
    apart.config, stacked.config = make_config("qwen3_moe", **sizes), make_config("gpt_oss", **sizes)

    def refused(workshop, name, spoil, *parts):
        folder = workshop.model(spoil)
        expect_refused(name, ["score", "--model", folder, "--token-ids", "1,2"], str(folder), *parts)

    down = "model.layers.0.mlp.experts.3.down_proj.weight"
    refused(apart, "a missing expert", drop(down), down, "missing")
    refused(apart, "an expert's shape", cut_rows(down), down, "[31, 32]", "[32, 32]")
    refused(apart, "fewer experts in the configuration", lambda f: change_config(f, num_local_experts=7),
            "mlp.gate.weight", "[8, 32]", "[7, 32]")
    refused(apart, "more experts in the configuration", lambda f: change_config(f, num_local_experts=9),
            "mlp.gate.weight", "[8, 32]", "[9, 32]")
    refused(apart, "more chosen than there are", lambda f: change_config(f, num_experts_per_tok=9),
            "num_experts_per_tok", "(9)", "(8)")
    refused(apart, "none chosen", lambda f: change_config(f, num_experts_per_tok=0), "num_experts_per_tok")
    refused(apart, "layers that are no numbers", lambda f: change_config(f, mlp_only_layers=["x"]), "mlp_only_layers")
    stack = "model.layers.0.mlp.experts.down_proj"
    refused(stacked, "all experts missing", drop(stack), stack, "missing")
    refused(stacked, "one expert fewer", cut_rows(stack), stack, "[5, 32, 32]", "[6, 32, 32]")
    refused(stacked, "sinks missing", drop("model.layers.0.self_attn.sinks"), "sinks", "missing")
    refused(stacked, "another gate", lambda f: change_config(f, swiglu_limit=6.0), "swiglu_limit")


def set_size(key, size):
    """An unsigned number in the metadata of a GGUF file."""
    def apply(raw):
        at = raw.index(key.encode()) + len(key)
        return raw[:at + 4] + struct.pack("<I", size) + raw[at + 8:]
    return apply


def rename(name, other):
    """Of the same length."""
    return lambda raw: raw.replace(name.encode(), other.encode(), 1)


def check_gguf(scratch):
    """Files of known architectures that are not what they say, and of newer versions of them."""
    import gguf_models

    def cases(arch, *cases, **sizes):
        good, spoiled = scratch / f"{arch}.gguf", scratch / f"{arch}-spoiled.gguf"
        gguf_models.write(make_model(make_config(arch, **sizes)), good)
        predgen("score", "--model", good, "--token-ids", "1,2")
        for name, spoil, *parts in cases:
            spoiled.write_bytes(spoil(good.read_bytes()))
            expect_refused(f"{arch} as GGUF: {name}", ["score", "--model", spoiled, "--token-ids", "1,2"],
                           str(spoiled), *parts)

    cases("qwen2", ("fewer layers than there are", set_size("qwen2.block_count", 2), "blk.2."),
          ("more layers than there are", set_size("qwen2.block_count", 4), "layers.3", "missing"),
          ("a key of a newer version", rename("qwen2.vocab_size", "qwen2.gate_scale"), "qwen2.gate_scale"),
          ("a tensor of another name", rename("blk.0.attn_q.bias", "blk.0.attn_q.gate"), "q_proj.bias", "missing"))
    cases("qwen3_moe", ("fewer experts than there are", set_size("qwen3moe.expert_count", 7), "[8,", "[7,"),
          ("more chosen than there are", set_size("qwen3moe.expert_used_count", 9), "(9)", "(8)"),
          ("no experts", set_size("qwen3moe.expert_count", 0), "expert"))
    cases("qwen3_5", ("a delta net without decays", rename("blk.0.ssm_a", "blk.0.ssm_x"), "linear_attn.A_log"),
          ("states of another size", set_size("qwen35.ssm.state_size", 6), "shape"),
          ("no states", rename("qwen35.ssm.group_count", "qwen35.ssm.group_other"), "group_other"))
    cases("lfm2", ("a convolution without taps", rename("blk.0.shortconv.conv.weight", "blk.0.shortconv.conv.others"),
                   "conv.conv.weight", "missing"))


def check_adapters(workshop):
    base = workshop.model()

    def refused(name, spoil, *parts):
        adapter = workshop.adapter(spoil)
        expect_refused(name, ["score", "--model", base, "--adapter", adapter, "--token-ids", "1,2"],
                       str(adapter), *parts)

    refused("adapter matches nothing", set_adapter(target_modules=["c_attn"]), "target_modules")
    refused("left-over tensors", set_adapter(target_modules=["k_proj"]), "adapter_model.safetensors")
    refused("wrong rank", set_adapter(r=3), "\"r\"")
    refused("DoRA", set_adapter(use_dora=True), "use_dora")
    refused("saved modules", set_adapter(modules_to_save=["lm_head"]), "modules_to_save")
    refused("not LoRA", set_adapter(peft_type="IA3"), "IA3")
    refused("no adapter weights", lambda f: (f / "adapter_model.safetensors").unlink(),
            "adapter_model.safetensors")
    refused("no adapter config", lambda f: (f / "adapter_config.json").unlink(),
            "adapter_config.json")


def check_inputs(workshop):
    base = workshop.model()

    def refused(name, arguments, *parts):
        expect_refused(name, ["score", "--model", base, *arguments], *parts)

    refused("id beyond the vocabulary", ["--token-ids", "1,199"], "199")
    refused("negative id", ["--token-ids=-1"], "-1")
    refused("ids that are words", ["--token-ids", "1,x"], "1,x")
    refused("no ids", ["--token-ids", ""], "token")
    refused("longer than the context", ["--token-ids", ",".join(["1"] * 257)], "257", "256")
    refused("neither ids nor input", [], "--token-ids", "--input")
    refused("missing input", ["--input", workshop.scratch / "none.jsonl"], "none.jsonl")
    refused("unknown type", ["--token-ids", "1", "--dtype", "int4"], "int4")
    refused("unknown device", ["--token-ids", "1", "--device", "tpu"], "tpu")
    rows = workshop.scratch / "rows.jsonl"
    rows.write_text('{"token_ids": [1]}\n{"token_ids": "x"}\n')
    refused("malformed row", ["--input", rows], "rows.jsonl", "2")


def check_export(workshop):
    base, adapter = workshop.model(), workshop.adapter()

    def refused(name, output, *parts):
        expect_refused(name, ["export", "--model", base, "--adapter", adapter, "--output", output],
                       *parts)

    refused("output is not empty", base, "not empty")
    refused("output is a file", base / "config.json", "not a folder")
    refused("output below a file", base / "config.json" / "x", "config.json")
    target = workshop.scratch / "target"
    target.mkdir()
    predgen("export", "--model", base, "--adapter", adapter, "--output", target)
    assert (target / "model.safetensors").exists(), "an existing empty folder is used"
    # An export that fails half-way leaves nothing behind: here a file of the source is unreadable.
    broken = workshop.model(lambda f: (f / "note.txt").symlink_to("/proc/self/mem"))
    before = sorted(os.listdir(workshop.scratch))
    done = run("export", "--model", broken, "--output", workshop.scratch / "half")
    left = sorted(os.listdir(workshop.scratch))
    print("ok" if done.returncode and left == before else "FAILED", "failed export |", done.stderr)
    if done.returncode == 0 or left != before:
        failures.append("failed export")
    limited = f"ulimit -f 8; exec '{PREDGEN}' export --model '{base}' --output '{workshop.scratch}/big'"
    done = subprocess.run(["bash", "-c", "trap '' XFSZ; " + limited], capture_output=True, text=True)
    left = sorted(os.listdir(workshop.scratch))
    print("ok" if done.returncode == 1 and left == before else "FAILED", "full disk |", done.stderr)
    if done.returncode != 1 or left != before:
        failures.append("full disk")


def main():
    with tempfile.TemporaryDirectory() as name:
        workshop = Workshop(Path(name))
        check_experts(Path(name))
        check_gguf(Path(name))
        for part in (check_models, check_hybrids, check_adapters, check_inputs, check_export):
            part(workshop)
    if failures:
        print(len(failures), "failed:", failures)
        sys.exit(1)


if __name__ == "__main__":
    main()
