#!/usr/bin/env python3
"""Turns pickled weights (.bin, .pt) of a Hugging Face model or a PEFT adapter into safetensors.

    python scripts/convert_pickled.py --input FOLDER --output NEW_FOLDER
    python scripts/convert_pickled.py --input FILE.pt --output FILE.safetensors

A folder with adapter_config.json is an adapter: adapter_model.bin, or a pytorch_model.bin with the
state dict of a PEFT model. It becomes adapter_model.safetensors with PEFT's names: LoRA matrices, and
embeddings if the vocabulary was resized; the base model's own weights are left out.
Any other folder with config.json is a model: pytorch_model.bin, or shards with their index. It
becomes model.safetensors, or shards of 5 GB with an index. All other files are copied.
A single file keeps its names, as Zonos' speaker network needs: ResNet293_SimAM_ASP_base.pt and
ResNet293_SimAM_ASP_base_LDA-128.pt.

Pickles are read with weights_only=True: they cannot run code. Needs `torch`, `safetensors` and
`huggingface_hub`, no network. Exit code 2 and one line say what is wrong with the input.
"""

import argparse
import json
import os
import re
import shutil
import sys
from pathlib import Path

import torch
from huggingface_hub import split_torch_state_dict_into_shards
from safetensors.torch import save_file

PREFIX = "base_model.model."
EMBEDDINGS = ("embed_tokens.weight", "lm_head.weight")
ADAPTER_FILES = ("adapter_model.bin", "pytorch_model.bin")
WEIGHTS = (".bin", ".pt", ".pth", ".safetensors", ".bin.index.json", ".safetensors.index.json")


class BadInput(Exception):
    pass


def load_pickle(file):
    if not file.exists():
        raise BadInput(f"{file}: no such file")
    with file.open("rb") as stream:
        is_zip = stream.read(2) == b"PK"
    try:
        # Only the zip format can be mapped instead of read.
        weights = torch.load(file, map_location="cpu", weights_only=True, mmap=is_zip)
    except Exception as error:  # torch raises many kinds for a broken or unsafe file
        found = re.search(r"GLOBAL (\S+)", str(error))
        reason = f"it wants to run {found[1]}" if found else "it is damaged or no pickle"
        raise BadInput(f"{file}: cannot be read as tensors only: {reason}") from None
    if not isinstance(weights, dict):
        raise BadInput(f"{file}: holds a {type(weights).__name__}, not tensors by name")
    for nested in ("state_dict", "module"):
        if isinstance(weights.get(nested), dict):
            weights = weights[nested]
    for name, value in weights.items():
        if not isinstance(name, str) or not isinstance(value, torch.Tensor):
            raise BadInput(f"{file}: {name!r} is a {type(value).__name__}, not a tensor")
        if value.is_sparse or value.is_quantized or value.is_meta:
            raise BadInput(f"{file}: tensor {name} is sparse, quantised or empty")
    if not weights:
        raise BadInput(f"{file}: holds no tensors")
    return dict(weights)


def read_json(file):
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: {error}") from None


def own_memory(weights):
    """safetensors refuses tensors that share memory, so each gets its own. Views of a larger tensor and
    transposed tensors are copied."""
    seen = set()
    for name, tensor in weights.items():
        storage = tensor.untyped_storage().data_ptr()
        whole = tensor.is_contiguous() and tensor.untyped_storage().nbytes() == (
            tensor.numel() * tensor.element_size())
        if not whole or (tensor.numel() and storage in seen):
            weights[name] = tensor.clone(memory_format=torch.contiguous_format)
        seen.add(storage)
    return weights


def adapter_names(weights, file):
    """PEFT's names on disk, from those on disk or those in a live model."""
    live = sorted({found[1] for name in weights
                   if (found := re.search(r"\.lora_[AB]\.([^.]+)\.weight$", name))})
    if len(live) > 1:
        raise BadInput(f"{file}: holds several adapters: {', '.join(live)}; save one of them")
    kinds = r"(\.lora_(?:[AB]|embedding_[AB]|magnitude_vector))\."
    named = re.compile(kinds + re.escape(live[0]) + r"(?=\.|$)") if live else None
    kept, left_out = {}, []
    for name, tensor in weights.items():
        saved = name.removeprefix("module.")
        if named:
            saved = named.sub(r"\1", saved)
        if not saved.startswith(PREFIX):
            saved = PREFIX + saved
        if ".modules_to_save." in saved:
            raise BadInput(f"{file}: tensor {name} belongs to \"modules_to_save\", which is not supported")
        if ".lora_" in saved or saved.endswith(EMBEDDINGS):
            if saved in kept:
                raise BadInput(f"{file}: {name} is there twice under different names")
            kept[saved] = tensor
        else:
            left_out.append(name)
    if not any(".lora_" in name for name in kept):
        raise BadInput(f"{file}: has no tensor whose name contains lora_A; is it an adapter?")
    return kept, left_out


def vocabulary_was_resized(weights, base):
    """Whether the embeddings belong in the adapter. A state dict of the whole model always has them;
    PEFT writes them only when their number of rows differs from the base model's."""
    rows = {tensor.shape[0] for name, tensor in weights.items() if name.endswith(EMBEDDINGS)}
    return not base or rows != {read_json(base / "config.json").get("vocab_size")}


def convert_adapter(source, output, base):
    file = next((source / name for name in ADAPTER_FILES if (source / name).exists()), None)
    if file is None:
        raise BadInput(f"{source}: has neither {' nor '.join(ADAPTER_FILES)}")
    kept, left_out = adapter_names(load_pickle(file), file)
    embeddings = [name for name in kept if name.endswith(EMBEDDINGS)]
    if embeddings and left_out and not base:
        raise BadInput(f"{file}: holds the whole base model; name it with --base FOLDER, to tell whether "
                       "the vocabulary was resized")
    if embeddings and not vocabulary_was_resized(kept, base):
        left_out += embeddings
        for name in embeddings:
            del kept[name]
        embeddings = []
    kept = own_memory(kept)
    save_file(kept, output / "adapter_model.safetensors", {"format": "pt"})
    return (f"{len(kept)} tensors, {len(embeddings)} of them whole embeddings; "
            f"{len(left_out)} of the base model left out")


def load_model_weights(source):
    index = source / "pytorch_model.bin.index.json"
    if not index.exists():
        return load_pickle(source / "pytorch_model.bin")
    weight_map = read_json(index).get("weight_map")
    if not isinstance(weight_map, dict):
        raise BadInput(f"{index}: \"weight_map\" must map tensor names to files")
    weights = {}
    for shard in sorted(set(weight_map.values())):
        if Path(shard).name != shard:
            raise BadInput(f"{index}: {shard!r} is not a file name")
        weights.update(load_pickle(source / shard))
    missing = sorted(set(weight_map) - set(weights))
    if missing:
        raise BadInput(f"{index}: tensor {missing[0]} is in none of the files")
    return weights


def convert_model(source, output):
    weights = load_model_weights(source)
    head, embedding = weights.get("lm_head.weight"), weights.get("model.embed_tokens.weight")
    tied = read_json(source / "config.json").get("tie_word_embeddings")
    if tied and head is not None and embedding is not None and torch.equal(head, embedding):
        del weights["lm_head.weight"]
    plan = split_torch_state_dict_into_shards(weights, max_shard_size="5GB")
    for file, names in plan.filename_to_tensors.items():
        save_file(own_memory({name: weights[name] for name in names}), output / file, {"format": "pt"})
    if plan.is_sharded:
        index = {"metadata": plan.metadata, "weight_map": plan.tensor_to_filename}
        (output / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    return f"{len(weights)} tensors in {len(plan.filename_to_tensors)} files"


def convert_file(source, output):
    if output.suffix != ".safetensors":
        raise BadInput(f"{output}: must end in .safetensors")
    if output.exists():
        raise BadInput(f"{output}: exists already")
    weights = own_memory(load_pickle(source))
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.parent / f".{output.name}.partial-{os.getpid()}"
    try:
        save_file(weights, partial, {"format": "pt"})
        partial.rename(output)
    finally:
        partial.unlink(missing_ok=True)
    print(f"{output}: {len(weights)} tensors")


def convert(source, output, base):
    if source.is_file():
        return convert_file(source, output)
    is_adapter = (source / "adapter_config.json").exists()
    if not is_adapter and not (source / "config.json").exists():
        raise BadInput(f"{source}: has neither adapter_config.json nor config.json")
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise BadInput(f"{output}: is not an empty or new folder")
    partial = output.parent / f".{output.name}.partial-{os.getpid()}"
    partial.mkdir(parents=True)
    try:
        summary = (convert_adapter(source, partial, base) if is_adapter
                   else convert_model(source, partial))
        for file in source.iterdir():
            if file.is_file() and not file.name.endswith(WEIGHTS):
                shutil.copyfile(file, partial / file.name)
        if output.exists():
            output.rmdir()
        partial.rename(output)
        print(f"{output}: {summary}")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="folder with the pickled weights, or one file")
    parser.add_argument("--output", type=Path, required=True, help="new folder, or new file")
    parser.add_argument("--base", type=Path,
                        help="the adapter's base model: tells whether the vocabulary was resized")
    arguments = parser.parse_args(arguments)
    try:
        convert(arguments.input, arguments.output.absolute(), arguments.base)
    except BadInput as error:
        print(f"convert_pickled.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
