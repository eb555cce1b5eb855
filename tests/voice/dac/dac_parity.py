"""Encoding and decoding of the DAC codec against `transformers`' DacModel, on random weights."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "model"))
from reference_models import change_config, check  # noqa: E402

import torch
from safetensors.torch import load_file, save_file
from transformers import DacConfig, DacModel

RUN_CODEC = sys.argv[1] if len(sys.argv) > 1 else "build/run_codec"
TOLERANCE = 1e-5  # of samples
# Of weights, so that the sound is neither silent nor clipped.
SCALES = {r"res_unit.*conv2": 0.3, "conv_t1": 0.5, r"decoder\.conv2": 0.5, "out_proj": 0.3}
SMALL = dict(encoder_hidden_size=4, decoder_hidden_size=64, sampling_rate=44100)

# name: (config, frames to decode, sizes of chunks, samples to encode)
CASES = {
    "44 kHz strides": (SMALL, 60, [1, 7, 17, 60], 512 * 30),
    "16 kHz codec, few codebooks": (
        dict(SMALL, n_codebooks=3, codebook_size=64, codebook_dim=5, sampling_rate=16000), 40, [3],
        512 * 20 + 77),
    "other strides": (dict(SMALL, downsampling_ratios=[4, 2, 6], decoder_hidden_size=48), 50, [11],
                      48 * 100),
    "the released shape": (dict(sampling_rate=44100), 24, [9, 15], 512 * 12),
}


def make_model(config, seed=0):
    """Weights for which no layer drowns or dies; alphas and biases are not left at 1 and 0."""
    torch.manual_seed(seed)
    model = DacModel(DacConfig(**config)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("alpha"):
                weight.uniform_(0.5, 2)
                weight[:, 0] = 0  # what the 1e-9 in the formula is for
            elif name.endswith("bias"):
                weight.normal_(0, 0.1)
            elif "codebook" in name:
                weight.normal_()
            else:
                fan_in = 2 * weight.shape[0] if "conv_t1" in name else weight[0].numel()
                scale = next((scale for part, scale in SCALES.items() if re.search(part, name)), 1)
                weight.normal_(0, scale * fan_in**-0.5)
    return model


def run_codec(*arguments):
    done = subprocess.run([RUN_CODEC, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, f"run_codec {arguments}: {done.returncode} {done.stdout}{done.stderr}"


def decoded(folder, codes, chunks, scratch):
    save_file({"codes": codes}, scratch / "codes.safetensors")
    run_codec("decode", folder, scratch / "codes.safetensors", scratch / "pcm.safetensors", *chunks)
    return load_file(scratch / "pcm.safetensors")


def encoded(folder, samples, rate, scratch):
    save_file({"samples": samples[None], "rate": torch.tensor(rate)}, scratch / "wav.safetensors")
    run_codec("encode", folder, scratch / "wav.safetensors", scratch / "codes.safetensors")
    return load_file(scratch / "codes.safetensors")["codes"]


def random_codes(config, num_frames):
    generator = torch.Generator().manual_seed(1)
    return torch.randint(config.codebook_size, (config.n_codebooks, num_frames), generator=generator)


@torch.no_grad()
def check_case(name, scratch):
    changes, num_frames, chunks, num_samples = CASES[name]
    model = make_model(changes)
    folder = scratch / "codec"
    model.save_pretrained(folder)
    codes = random_codes(model.config, num_frames)
    expected = model.decode(audio_codes=codes[None]).audio_values[0]
    check(expected.std() > 0.05 and expected.abs().mean() < 0.5, f"{name}: there is sound")
    found = decoded(folder, codes, chunks, scratch)
    for kind in ["whole", *(f"stream-{size}" for size in chunks)]:
        check(found[kind].shape == expected.shape, f"{name}: {kind}: {tuple(found[kind].shape)}")
        difference = (found[kind] - expected).abs().max().item()
        check(difference <= TOLERANCE, f"{name}: {kind} differs by {difference:.1e}")

    generator = torch.Generator().manual_seed(2)
    time = torch.arange(num_samples) / 44100
    samples = 0.3 * torch.sin(2 * torch.pi * 220 * time) + 0.1 * torch.randn(num_samples, generator=generator)
    hop = int(torch.tensor(model.config.downsampling_ratios).prod())
    padded = torch.nn.functional.pad(samples, (0, -num_samples % hop))
    expected = model.encode(padded[None, None]).audio_codes[0]
    num_distinct = len(expected.unique())
    check(num_distinct >= 15, f"{name}: {num_distinct} distinct codes")
    found = encoded(folder, samples, model.config.sampling_rate, scratch)
    num_equal = (found == expected).sum().item() if found.shape == expected.shape else 0
    check(num_equal == expected.numel(), f"{name}: {num_equal} of {expected.numel()} codes equal")


@torch.no_grad()
def check_faults(scratch):
    """The comparison must turn red when the reference is changed in one small place."""
    model, folder = make_model(SMALL), scratch / "codec"
    model.save_pretrained(folder)
    codes = random_codes(model.config, 30)
    found = decoded(folder, codes, [7], scratch)

    def difference():
        expected = model.decode(audio_codes=codes[None]).audio_values[0]
        return max((found[kind] - expected).abs().max().item() for kind in found)

    check(difference() <= TOLERANCE, "without a fault the comparison is green")
    widest = model.decoder.block[3].res_unit3.conv1

    def dilate(dilation):
        widest.dilation, widest.padding = (dilation,), (3 * dilation,)

    faults = {
        "dilation": lambda: dilate(8),
        "alpha": lambda: model.decoder.snake1.alpha.mul_(1.01),
        "bias of a transposed convolution": lambda: model.decoder.block[1].conv_t1.bias.add_(0.01),
        "one tap": lambda: model.decoder.block[2].res_unit2.conv1.weight[:, :, 6].mul_(1.05),
        "codebook": lambda: model.quantizer.quantizers[8].codebook.weight.mul_(1.01),
    }
    for name, plant in faults.items():
        model.load_state_dict(load_file(folder / "model.safetensors"))
        dilate(9)
        plant()
        found_difference = difference()
        check(found_difference > 10 * TOLERANCE, f"planted fault is seen: {name} ({found_difference:.1e})")


def check_saved_forms(scratch):
    """config.json as transformers 4 wrote it; half precision on disk; what is refused."""
    model, folder = make_model(SMALL), scratch / "codec"
    model.half().save_pretrained(folder)
    model.float()
    codes = random_codes(model.config, 12)
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config.update(torch_dtype=config.pop("dtype"), transformers_version="4.45.0.dev0", hidden_size=64,
                  upsampling_ratios=[8, 8, 4, 2], hop_length=512)
    file.write_text(json.dumps(config))
    with torch.no_grad():
        expected = model.decode(audio_codes=codes[None]).audio_values[0]
    difference = (decoded(folder, codes, [], scratch)["whole"] - expected).abs().max().item()
    check(difference <= TOLERANCE, f"half precision, transformers 4: differs by {difference:.1e}")
    change_config(folder, codebook_dim=9)
    save_file({"codes": codes}, scratch / "codes.safetensors")
    done = subprocess.run([RUN_CODEC, "decode", folder, scratch / "codes.safetensors", scratch / "x"],
                          capture_output=True, text=True)
    check(done.returncode == 1 and "in_proj" in done.stderr, f"wrong codebook_dim: {done.stderr.strip()}")


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for case in CASES:
            check_case(case, scratch)
        check_faults(scratch)
        check_saved_forms(scratch)


if __name__ == "__main__":
    main()
