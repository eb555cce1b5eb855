"""Zonos codes and logits against the reference in Python, `../reference/zonos_model.py`.

Argument: the program zonos_codes. Random models of several shapes; then the same with a fault
planted into the reference, which must be seen.
"""

import json
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from zonos_models import make_config, make_weights

PROGRAM = sys.argv[1]
REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "zonos_model.py"
TOLERANCE = 1e-4
FRAMES = 200
FEWEST_CODES = 20
IDS = [2, 61, 94, 65, 167, 68, 146, 6, 21, 76, 167, 98, 169, 65, 57, 8, 3]

# Text of the reference and what takes its place.
FAULTS = {
    "rotary pairs": ("r[..., 0::2] = e * c - o * s; r[..., 1::2] = o * c + e * s",
                     "h = xf.shape[-1] // 2; e, o = xf[..., :h], xf[..., h:]; "
                     "r[..., :h] = e * c - o * s; r[..., h:] = o * c + e * s"),
    "gate order": ("F.linear(up * F.silu(gate)", "F.linear(gate * F.silu(up)"),
    "sign of guidance": ("return u + (c - u) * cfg_scale", "return u - (c - u) * cfg_scale"),
    "mask off by one": ("<= pos[:, None]", "< pos[:, None].clamp_min(1)"),
    "head groups": ('cache["k"][l][:, :S].repeat_interleave(self.H // self.G, 2)',
                    'cache["k"][l][:, :S].repeat(1, 1, self.H // self.G, 1)'),
}


def load_reference(fault=None):
    source = REFERENCE.read_text()
    if fault:
        before, after = FAULTS[fault]
        assert source.count(before) == 1, f"the reference has changed: {before}"
        source = source.replace(before, after)
    module = types.ModuleType(REFERENCE.stem)
    exec(compile(source, str(REFERENCE), "exec"), module.__dict__)
    return module


def reference_values(config, given):
    known = {part["name"] for part in config["prefix_conditioner"]["conditioners"]}
    values = {"espeak": given["phoneme_ids"]}
    if "speaker" in given:
        values["speaker"] = torch.tensor(given["speaker"]).view(1, 1, 128)
    if "emotion" in given:
        emotion = torch.tensor(given["emotion"])
        values["emotion"] = (emotion / emotion.sum()).view(1, 1, 8)
    for name in ("fmax", "pitch_std", "speaking_rate"):
        if name in given:
            values[name] = torch.tensor([[[given[name]]]])
    if "language_id" in given:
        values["language_id"] = torch.tensor(given["language_id"])
    assert set(values) <= known
    return values


def reference(module, config, weights, request):
    model = module.Model(config, weights)
    prefix = model.prefix(reference_values(config, request["conditioning"]))
    logits, inner = [], model.logits

    def record(*arguments):
        logits.append(inner(*arguments))
        return logits[-1].clone()  # the generation bans EOS in place

    model.logits = record
    audio = torch.tensor(request["audio_prefix"]) if "audio_prefix" in request else None
    torch.manual_seed(request.get("seed", 0))
    sampling = {"temperature": request["temperature"], "min_p": request.get("min_p", 0.0)}
    generation = module.Gen(model, prefix, audio, request["max_new_frames"], request["cfg_scale"],
                            ref_tail_quirk=False, **sampling)
    while generation.step():
        pass
    return prefix, generation.codes(), torch.cat(logits)


def largest(left, right):
    return (left - right).abs().max().item() if left.shape == right.shape else float("inf")


def differences(ours, theirs):
    prefix, codes, logits = theirs
    count = len(ours["logits"])
    return (largest(ours["prefix"], prefix), largest(ours["logits"], logits[:count]),
            int((ours["codes"] != codes).sum()) if ours["codes"].shape == codes.shape else -1)


FULL = {"phoneme_ids": IDS, "speaker": [((i * 37) % 128) / 64 - 1 for i in range(128)],
        "emotion": [0.3, 0.1, 0.0, 0.1, 0.05, 0.05, 0.2, 0.2], "fmax": 22050.0, "pitch_std": 45.0,
        "speaking_rate": 15.0, "language_id": 24}
SOME = {"phoneme_ids": IDS[:9], "fmax": 11025.0, "speaking_rate": 20.0}
AUDIO = [[(131 * k + 57 * i) % 1024 for i in range(12)] for k in range(9)]
CASES = {
    "greedy": (make_config(3, 64, 8, 2, 96), {"conditioning": FULL, "temperature": 0.0}),
    "one key head, a part of the values": (
        make_config(3, 64, 4, 1, 80, "mlp"), {"conditioning": SOME, "temperature": 0.0, "cfg_scale": 3.0}),
    "as many key heads, other conditioners": (
        make_config(2, 48, 6, 6, 64, "linear", ("espeak", "fmax", "speaking_rate")),
        {"conditioning": SOME, "temperature": 0.0}),
    "drawn, after audio": (make_config(3, 64, 8, 4, 96),
                            {"conditioning": FULL, "temperature": 1.0, "min_p": 0.1, "seed": 7,
                             "audio_prefix": AUDIO}),
}


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    plain, failures = load_reference(), []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for seed, (name, (config, request)) in enumerate(CASES.items()):
            request = {"cfg_scale": 2.0, "max_new_frames": FRAMES, **request}
            weights = make_weights(config, seed)
            (folder / "config.json").write_text(json.dumps(config))
            save_file(weights, folder / "model.safetensors")
            (folder / "request.json").write_text(json.dumps(request))
            subprocess.run([PROGRAM, folder, folder / "request.json", folder / "out.safetensors"], check=True,
                           stdout=subprocess.DEVNULL)
            ours = load_file(folder / "out.safetensors")
            distinct = len(ours["codes"].unique())
            prefix, logits, codes = differences(ours, reference(plain, config, weights, request))
            print(f"{name}: prefix {prefix:.1e}, logits {logits:.1e}, {codes} other codes of "
                  f"{ours['codes'].numel()}, {distinct} distinct")
            if not (prefix <= TOLERANCE and logits <= TOLERANCE and codes == 0 and distinct >= FEWEST_CODES):
                failures.append(name)
            if name == "greedy":
                for fault in FAULTS:
                    wrong = differences(ours, reference(load_reference(fault), config, weights, request))
                    print(f"  planted: {fault}: logits {wrong[1]:.1e}, {wrong[2]} other codes")
                    if wrong[1] <= TOLERANCE or wrong[2] == 0:
                        failures.append(f"{fault} was not seen")
    if failures:
        sys.exit("zonos_parity failed: " + "; ".join(failures))


if __name__ == "__main__":
    main()
