"""Hugging Face folders in 4 bits, as bitsandbytes (NF4, FP4, nested scales) and OpenAI (MXFP4) store them, against
`transformers` on the same values: by the published formula, by bitsandbytes itself where it is there, and for MXFP4 by
transformers' own function.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "model"))
import torch  # noqa: E402
from reference_models import (THREADS, TOLERANCE, change_config, check, load_reference, make_config,  # noqa: E402
                              make_model, predgen, predgen_logits, random_rows, reference_logits)
from safetensors.torch import load_file, save_file  # noqa: E402
from transformers.integrations.mxfp4 import convert_moe_packed_tensors  # noqa: E402

# functional.py of bitsandbytes.
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
FP4 = [0, 0.0625 / 12, 8 / 12, 1, 4 / 12, 6 / 12, 2 / 12, 3 / 12]
BOOKS = {"nf4": torch.tensor(NF4), "fp4": torch.tensor(FP4 + [-value for value in FP4])}
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def nearest(values, book):
    return (values.unsqueeze(-1) - book).abs().argmin(-1).to(torch.uint8)


def in_bitsandbytes(name, weight, kind, block, is_nested):
    """The tensors, and the values that they stand for."""
    blocks = weight.reshape(-1, block)
    scales = blocks.abs().amax(1)
    state = {"quant_type": kind, "blocksize": block, "dtype": "bfloat16", "shape": list(weight.shape)}
    tensors = {f"{name}.quant_map": BOOKS[kind].clone()}
    if is_nested:
        offset = scales.mean()
        groups = torch.nn.functional.pad(scales - offset, (0, -len(scales) % 256)).reshape(-1, 256)
        outer = groups.abs().amax(1)
        inner_map = torch.linspace(-1, 1, 256)
        codes = nearest(groups / outer[:, None], inner_map).flatten()[:len(scales)]
        state |= {"nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": offset.item()}
        tensors |= {f"{name}.absmax": codes, f"{name}.nested_absmax": outer, f"{name}.nested_quant_map": inner_map}
        scales = inner_map[codes.long()] * outer.repeat_interleave(256)[:len(scales)] + offset
    else:
        tensors[f"{name}.absmax"] = scales
    codes = nearest(blocks / scales[:, None], BOOKS[kind])
    pairs = codes.reshape(-1, 2)
    tensors[name] = (pairs[:, :1] << 4 | pairs[:, 1:]).contiguous()
    tensors[f"{name}.quant_state.bitsandbytes__{kind}"] = torch.tensor(list(json.dumps(state).encode()),
                                                                       dtype=torch.uint8)
    return tensors, (BOOKS[kind][codes.long()] * scales[:, None]).reshape(weight.shape)


def in_mxfp4(name, weight):
    groups = weight.reshape(weight.shape[0], -1, 32)
    exponents = groups.abs().amax(2).clamp_min(1e-30).log2().floor() - 2
    codes = nearest(groups / exponents.exp2()[..., None], E2M1)
    tensors = {f"{name}_blocks": (codes[..., 0::2] | codes[..., 1::2] << 4).contiguous(),
               f"{name}_scales": (exponents + 127).to(torch.uint8)}
    experts = convert_moe_packed_tensors(tensors[f"{name}_blocks"][None], tensors[f"{name}_scales"][None],
                                         dtype=torch.float32)  # [experts,in,out]
    return tensors, experts[0].T


def write(model, folder, pack, config):
    """The model in `folder`, whose linears become what they stand for there."""
    model.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("_proj.weight"):
                del tensors[name]
                packed, values = pack(name, weight)
                tensors |= packed
                weight.copy_(values)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    change_config(folder, quantization_config=config)


def bitsandbytes_config(kind, is_nested):
    return {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False, "bnb_4bit_quant_type": kind,
            "bnb_4bit_use_double_quant": is_nested, "bnb_4bit_compute_dtype": "bfloat16",
            "bnb_4bit_quant_storage": "uint8", "llm_int8_skip_modules": None}


def check_against_bitsandbytes(packed, name, values, kind):
    try:
        from bitsandbytes.functional import QuantState, dequantize_4bit
    except ImportError:
        return
    state = QuantState.from_dict({key[len(name) + 1:]: value for key, value in packed.items() if key != name},
                                 device=torch.device("cpu"))
    found = dequantize_4bit(packed[name], state).float()
    check((found - values).abs().max() <= values.abs().max() / 256, f"{kind}: the formula is that of bitsandbytes")


def difference(left, right):
    return (left - right).abs().max().item()


def check_folder(scratch, title, pack, config, sizes):
    ids = random_rows(199, 1, 100, seed=4)[0]
    model, folder = make_model(make_config("llama", **sizes)), scratch / title
    plain = reference_logits(model, ids)
    write(model, folder, pack, config)
    expected = reference_logits(model, ids)
    lost = difference(plain, expected)
    wrong = difference(predgen_logits(folder, ids, scratch)[0], expected)
    check(wrong <= TOLERANCE < lost, f"{title}: logits differ by {wrong:.1e} (its rounding: {lost:.1e})")
    # Both round the inputs of products to bfloat16; only unpacked weights are rounded, too.
    stored, unpacked = ((predgen_logits(folder, ids, scratch, dtype=dtype)[0] - expected).norm() / expected.norm()
                        for dtype in ("auto", "bf16"))
    check(TOLERANCE < stored <= 1.25 * unpacked,
          f"{title}: as stored they are off by {stored:.1e} of their norm, in bf16 by {unpacked:.1e}")
    return model, folder, ids, expected


def check_experts(scratch):
    """gpt-oss, whose experts are in MXFP4, all of a layer in one tensor."""
    ids = random_rows(199, 1, 100, seed=4)[0]
    model, folder = make_model(make_config("gpt_oss")), scratch / "experts"
    plain = reference_logits(model, ids)
    model.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not name.endswith(("gate_up_proj", "down_proj")):
                continue
            del tensors[name]
            packed = [in_mxfp4(name, one.T.detach()) for one in weight]  # [in,out] of each expert
            tensors |= {part: torch.stack([one[part] for one, _ in packed]) for part in packed[0][0]}
            weight.copy_(torch.stack([values.T for _, values in packed]))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    change_config(folder, quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": None})
    expected = reference_logits(model, ids)
    lost = difference(plain, expected)
    wrong = difference(predgen_logits(folder, ids, scratch)[0], expected)
    check(wrong <= TOLERANCE < lost, f"gpt-oss in MXFP4: logits differ by {wrong:.1e} (its rounding: {lost:.1e})")
    stored, unpacked = ((predgen_logits(folder, ids, scratch, dtype=dtype)[0] - expected).norm() / expected.norm()
                        for dtype in ("auto", "bf16"))
    check(TOLERANCE < stored <= 2 * unpacked,
          f"gpt-oss in MXFP4: as stored off by {stored:.1e} of their norm, in bf16 by {unpacked:.1e}")


def main():
    scratch = Path(tempfile.mkdtemp())
    try:
        for kind, block, is_nested in [("nf4", 64, False), ("nf4", 64, True), ("fp4", 64, False), ("nf4", 128, True)]:
            def pack(name, weight, kind=kind, block=block, is_nested=is_nested):
                packed, values = in_bitsandbytes(name, weight.detach(), kind, block, is_nested)
                check_against_bitsandbytes(packed, name, values, kind)
                return packed, values
            title = f"{kind} by {block}{', nested' if is_nested else ''}"
            last = check_folder(scratch, title, pack, bitsandbytes_config(kind, is_nested),
                                dict(hidden_size=128, intermediate_size=192))
        check_folder(scratch, "mxfp4", lambda name, weight: in_mxfp4(name, weight.detach()),
                     {"quant_method": "mxfp4", "modules_to_not_convert": None}, {})

        check_experts(scratch)
        model, folder, ids, expected = last
        exported = scratch / "exported"
        predgen("export", "--model", folder, "--output", exported, "--dtype", "fp32", *THREADS)
        wrong = difference(reference_logits(load_reference(exported), ids), expected)
        check(wrong <= TOLERANCE, f"exported to a folder: logits of transformers differ by {wrong:.1e}")

        tensors = load_file(folder / "model.safetensors")
        name = "model.layers.1.mlp.up_proj.weight"
        tensors[name] = tensors[name] << 4 | tensors[name] >> 4
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        found = difference(predgen_logits(folder, ids, scratch)[0], expected)
        check(found > 100 * TOLERANCE, f"planted fault is seen: codes in the other order ({found:.1e})")
    finally:
        shutil.rmtree(scratch)


main()
